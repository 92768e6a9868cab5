//! Spec: Chapter 6, "Primitive Variable-Sized Encoding": byte strings, of any size and of one size,
//! out of raw buffers and block streams.

use super::Selection;
use super::block_part::{BlockPart, block_parts};
use super::field_layout::FieldBuffers;
use super::offsets::{OffsetsCache, Spans};
use super::raw_values::{raw_slice, read_raw};
use super::read_context::ReadContext;
use super::stored_buffer::{Body, StoredBuffer};
use super::stream::{BlockCache, NullsBuilder, Numbers, block_bytes, read_numbers};
use crate::encoding::NumberKind;
use crate::encoding::bytes::{self, BytesBuilder, BytesLayout, Decoded};
use crate::encoding::envelope;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::kernels::{checked_offsets, is_ascending, rebase_offsets};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, OffsetBuffer, ScalarBuffer};
use std::ops::Range;

/// Decoded byte strings and, if their blocks hold it, their presence.
#[derive(Debug, Clone)]
pub struct Strings {
    /// The values.
    pub values: Decoded,
    /// Presence of the values. `None` if all are present.
    pub nulls: Option<BooleanBuffer>,
}

/// The block that was decoded last, by layout and ordinal. The layout may change from rows to rows, because values
/// that do not fit 32-bit offsets are decoded as views. `None` if the decoded block is too large to keep.
type StringBlocks = BlockCache<Option<Strings>, (BytesLayout, usize)>;

/// The blocks of a field of byte strings that were decoded last.
#[derive(Debug, Default)]
pub struct StringCache {
    blocks: StringBlocks,
    numbers: BlockCache<Numbers>,
    /// Recently decoded offsets.
    pub offsets: OffsetsCache,
}

impl Strings {
    /// Returns `n` copies of a value.
    ///
    /// # Errors
    /// [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if 32-bit offsets are too narrow.
    pub fn repeated(
        value: &[u8],
        n: usize,
        layout: BytesLayout,
        cx: &mut ReadContext<'_>,
    ) -> Result<Decoded> {
        let mut builder = BytesBuilder::new(layout, n);
        builder.append_repeated(value, n, &cx.decoding())?;
        Ok(builder.finish())
    }

    fn slice(&self, range: &Range<usize>, size: usize) -> Self {
        Self {
            values: self.values.slice(range.clone(), size),
            nulls: self
                .nulls
                .as_ref()
                .map(|nulls| nulls.slice(range.start, range.len())),
        }
    }
}

/// The form of a block of byte strings.
#[derive(Clone, Copy)]
enum BlockForm {
    /// An encoded region of values, and their presence if blocks hold it.
    Region { presence: bool },
    /// Every value after its length.
    Delimited,
}

/// Reads values of one size, `width` bytes each.
///
/// # Errors
/// Returns an error that names the block if bytes are damaged.
pub fn read_fixed(
    data: &StoredBuffer,
    width: usize,
    embedded_presence: bool,
    rows: &Selection,
    cx: &mut ReadContext<'_>,
    cache: &mut StringCache,
) -> Result<Numbers> {
    if let Body::Raw(_) = data.body {
        return Ok(Numbers {
            data: read_raw::<u8>(data, rows, width, cx)?,
            nulls: None,
        });
    }
    cx.check_batch_bytes(rows.len(), width)?;
    let layout = BytesLayout::Fixed(width);
    let form = BlockForm::Region {
        presence: embedded_presence,
    };
    let read = read_blocks(data, layout, form, rows, cx, &mut cache.blocks)?;
    match read.values {
        Decoded::Fixed(data) => Ok(Numbers {
            data,
            nulls: read.nulls,
        }),
        _ => Err(Error::corrupt("values of one size were expected")),
    }
}

/// Reads values of variable size, from blocks that hold their offsets, or from DATA and OFFSETS.
///
/// # Errors
/// Returns an error that names the block if bytes are damaged, and
/// [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if 32-bit offsets are too narrow.
pub fn read_strings(
    buffers: &FieldBuffers,
    positions: u64,
    layout: BytesLayout,
    rows: &Selection,
    cx: &mut ReadContext<'_>,
    cache: &mut StringCache,
) -> Result<Strings> {
    let Some(data) = &buffers.data else {
        return Err(Error::corrupt("the field has no DATA buffer"));
    };
    cx.check_batch_bytes(rows.len(), 16)?;
    match &buffers.offsets {
        Some(offsets) if buffers.has_separate_offsets() => {
            let values = read_separate(data, offsets, positions, layout, rows, cx, cache)?;
            Ok(Strings {
                values,
                nulls: None,
            })
        }
        _ => {
            let form = if buffers.is_delimited() {
                BlockForm::Delimited
            } else {
                BlockForm::Region {
                    presence: buffers.embedded_presence,
                }
            };
            read_blocks(data, layout, form, rows, cx, &mut cache.blocks)
                .within(|| "DATA buffer".to_owned())
        }
    }
}

fn read_separate(
    data: &StoredBuffer,
    offsets: &StoredBuffer,
    positions: u64,
    layout: BytesLayout,
    rows: &Selection,
    cx: &mut ReadContext<'_>,
    cache: &mut StringCache,
) -> Result<Decoded> {
    if let Some(range) = rows.as_range()
        && let Some(decoded) = raw_in_place(data, offsets, positions, layout, &range, cx)?
    {
        return Ok(decoded);
    }
    let mut builder = BytesBuilder::new(layout, to_usize(rows.len())?);
    let Spans { items, ends } = Spans::read(offsets, positions, rows, cx, &mut cache.offsets)?;
    let (kind, cache) = (NumberKind::Unsigned, &mut cache.numbers);
    let read = read_numbers::<u8>(data, kind, false, &items, cx, cache)
        .within(|| "DATA buffer".to_owned())?;
    builder.append_values(&ends, read.data)?;
    Ok(builder.finish())
}

/// Returns raw values in memory without copying them. Offsets of the layout's width are not copied either.
fn raw_in_place(
    data: &StoredBuffer,
    offsets: &StoredBuffer,
    positions: u64,
    layout: BytesLayout,
    rows: &Range<u64>,
    cx: &mut ReadContext<'_>,
) -> Result<Option<Decoded>> {
    let (Body::Raw(_), Body::Raw(_)) = (&data.body, &offsets.body) else {
        return Ok(None);
    };
    let Some(whole) = cx.source.resident(data.place)? else {
        return Ok(None);
    };
    let width = super::offset_width(offsets, positions);
    let elements = rows.start..rows.end + 1;
    let stored = Buffer::from(raw_slice(offsets, &elements, width, cx)?);
    let descend = || Error::corrupt("offsets do not ascend within DATA").within("OFFSETS buffer");
    // Verifies the checksums of the bytes of the values.
    let verify = |first: u64, last: u64, cx: &mut ReadContext<'_>| -> Result<Buffer> {
        if last > data.place.range.len() {
            return Err(descend());
        }
        raw_slice(data, &(first..last), 1, cx).within(|| "DATA buffer".to_owned())?;
        Ok(Buffer::from(whole))
    };
    macro_rules! in_place {
        ($offset:ty, $decoded:expr) => {
            if let Some(offsets) = checked_offsets(super::words::<$offset>(&stored)) {
                let ends = offsets.first().zip(offsets.last());
                let (first, last) = ends.ok_or_else(descend)?;
                let values = verify(first.as_usize() as u64, last.as_usize() as u64, cx)?;
                return Ok(Some($decoded(offsets, values)));
            }
        };
    }
    match (layout, width) {
        (BytesLayout::Offsets64, 8) => in_place!(i64, Decoded::Offsets64),
        (BytesLayout::Offsets32, 4) => in_place!(i32, Decoded::Offsets32),
        _ => {}
    }
    let ends: Vec<u64> = match width {
        4 => super::words::<u32>(&stored)
            .iter()
            .map(|&end| u64::from(end))
            .collect(),
        _ => super::words::<u64>(&stored).to_vec(),
    };
    let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else {
        return Ok(None);
    };
    if !is_ascending(&ends) || i64::try_from(last).is_err() {
        return Err(descend());
    }
    let values = verify(first, last, cx)?;
    let n = ends.len() - 1;
    Ok(Some(match layout {
        BytesLayout::Offsets64 => {
            let mut wide = vec![i64::try_from(first).unwrap_or(i64::MAX)];
            rebase_offsets(&ends, 0..n, first, &mut wide);
            Decoded::Offsets64(OffsetBuffer::new(ScalarBuffer::from(wide)), values)
        }
        _ => {
            let (from, to) = (to_usize(first)?, to_usize(last)?);
            let local: Vec<u64> = ends.iter().map(|end| end - first).collect();
            let mut builder = BytesBuilder::new(layout, n);
            builder.append_values(&local, values.slice_with_length(from, to - from))?;
            builder.finish()
        }
    }))
}

fn read_blocks(
    data: &StoredBuffer,
    layout: BytesLayout,
    form: BlockForm,
    rows: &Selection,
    cx: &mut ReadContext<'_>,
    cache: &mut StringBlocks,
) -> Result<Strings> {
    let Body::Blocks(blocks) = &data.body else {
        return Err(Error::corrupt("raw values without OFFSETS"));
    };
    let map = blocks.loaded_map()?;
    let parts = block_parts(data, map, rows, layout.slot_bytes(), cx.limits)?;
    let size = match layout {
        BytesLayout::Fixed(size) => size,
        _ => 0,
    };
    let read_whole = |part: &BlockPart, cx: &mut ReadContext<'_>| {
        let most = part.most_kept();
        if (part.len as u64).saturating_mul(layout.slot_bytes() as u64) > most {
            return Ok(None);
        }
        let most = most.min(cx.limits.max_block_bytes());
        let limits = cx.limits.clone().with_max_block_bytes(most);
        let mut cx = ReadContext {
            source: cx.source,
            limits: &limits,
            scratch: &mut *cx.scratch,
            dictionaries: cx.dictionaries,
            verify: cx.verify,
            sequential: cx.sequential,
        };
        let whole = part.whole();
        let mut builder = BytesBuilder::new(layout, whole.len);
        let mut nulls = NullsBuilder::default();
        match read_part(
            data,
            &whole,
            layout,
            form,
            &mut cx,
            &mut builder,
            &mut nulls,
        ) {
            // The requested rows may still be within the limits.
            Err(e) if e.kind() == ErrorKind::LimitExceeded => Ok(None),
            read => read.map(|()| {
                Some(Strings {
                    values: builder.finish(),
                    nulls: nulls.finish(),
                })
            }),
        }
    };
    if let [part] = parts.as_slice()
        && let [range] = part.ranges.as_slice()
        && cx.sequential
        && !part.is_whole()
        && let Some(block) =
            cache.get_or_decode((layout, part.block.ordinal), || read_whole(part, cx))?
    {
        return Ok(block.slice(range, size));
    }
    let mut builder = BytesBuilder::new(layout, to_usize(rows.len())?);
    let mut nulls = NullsBuilder::default();
    for part in &parts {
        let kept = if cx.sequential && !part.is_whole() {
            cache
                .get_or_decode((layout, part.block.ordinal), || read_whole(part, cx))?
                .as_ref()
        } else {
            None
        };
        let Some(block) = kept else {
            read_part(data, part, layout, form, cx, &mut builder, &mut nulls)?;
            // The size of each block is limited. This limits all of them together.
            cx.check_batch_bytes(builder.bytes(), 1)?;
            continue;
        };
        builder.append_decoded(&block.values, &part.ranges)?;
        cx.check_batch_bytes(builder.bytes(), 1)?;
        nulls.append_ranges(&part.ranges, block.nulls.as_ref());
    }
    Ok(Strings {
        values: builder.finish(),
        nulls: nulls.finish(),
    })
}

fn read_part(
    data: &StoredBuffer,
    part: &BlockPart,
    layout: BytesLayout,
    form: BlockForm,
    cx: &mut ReadContext<'_>,
    builder: &mut BytesBuilder,
    nulls: &mut NullsBuilder,
) -> Result<()> {
    let Body::Blocks(blocks) = &data.body else {
        return Err(Error::corrupt("blocks were expected"));
    };
    let fixed = match layout {
        BytesLayout::Fixed(size) => Some(size),
        _ => None,
    };
    let mut read = || {
        let bytes = block_bytes(data, blocks, &part.block, cx)?;
        let block = envelope::open(&bytes)?;
        let (values, cx) = (block.values, &mut cx.decoding());
        let BlockForm::Region { presence } = form else {
            bytes::decode_delimited(values, part.len, &part.ranges, cx, builder)?;
            nulls.append(part.selected(), None);
            return Ok(());
        };
        nulls.append_block(block.presence, presence, part, |out| {
            if part.is_whole() {
                bytes::decode(values, part.len, fixed, cx, builder, out)
            } else {
                bytes::decode_selected(values, part.len, fixed, &part.ranges, cx, builder, out)
            }
        })
    };
    read().within(|| format!("block {}", part.block.ordinal))
}

impl FieldBuffers {
    /// Returns whether values of variable size have their offsets in a separate buffer.
    pub fn has_separate_offsets(&self) -> bool {
        !self.embedded_offsets && self.offsets.is_some() && self.dictionary.is_none()
    }

    /// Returns whether values of variable size are stored after their lengths.
    pub fn is_delimited(&self) -> bool {
        !self.embedded_offsets && self.offsets.is_none() && self.dictionary.is_none()
    }

    /// Returns whether values of variable size are stored as raw bytes and raw offsets.
    pub fn is_raw_bytes(&self) -> bool {
        let raw = |buffer: &Option<StoredBuffer>| {
            buffer
                .as_ref()
                .is_some_and(|b| matches!(b.body, Body::Raw(_)))
        };
        self.has_separate_offsets() && raw(&self.data) && raw(&self.offsets)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_source::TestSource;
    use super::super::{BlockMap, FieldLayout, Storage};
    use super::*;
    use crate::encoding::Scratch;
    use crate::format::{
        BasicType, BufferKind, DataEncoding, DataRef, DataType, EncodedBuffer, FieldDescriptor,
        NativeDataEncoding, StripeFieldDescriptor,
    };
    use crate::io::ByteRange;
    use crate::{ErrorKind, Limits};

    /// Size of the block, in bytes.
    const BLOCK: usize = 24;
    /// Number of values that it claims to hold, the most that a block may hold.
    const CLAIMED: u32 = 1 << 20;

    /// Returns a DATA buffer of one block that claims very many values of the node, and its bytes.
    fn claimed(node: &DataType) -> (StoredBuffer, TestSource) {
        let mut map = BlockMap::default();
        map.push(CLAIMED, u32::try_from(BLOCK).unwrap());
        let mut bytes = vec![0; BLOCK];
        map.encode(&mut bytes).unwrap();
        let place =
            |start| DataRef::this(ByteRange::try_new(start as u64, bytes.len() as u64).unwrap());
        let data = EncodedBuffer {
            block_map: Some(place(BLOCK)),
            block_count: Some(1),
            ..EncodedBuffer::new(BufferKind::Data, place(0))
        };
        let descriptor = StripeFieldDescriptor {
            field: FieldDescriptor {
                position_count: CLAIMED.into(),
                null_count: Some(0),
                ..FieldDescriptor::default()
            },
            encodings: vec![DataEncoding::Native(NativeDataEncoding {
                buffers: vec![data],
                packed_group: false,
            })],
        };
        let layout =
            FieldLayout::try_new(node, &descriptor, None, &mut |_| Ok(0), &mut |_, _, _| {
                Err(Error::unsupported("Parquet"))
            })
            .unwrap();
        let Storage::Buffers(buffers) = layout.storage else {
            panic!("buffers");
        };
        let data = buffers.data.unwrap();
        let Body::Blocks(blocks) = &data.body else {
            panic!("blocks");
        };
        let map = &bytes[BLOCK..];
        blocks.load_map(data.place.range, map, false).unwrap();
        (data, TestSource::fetched(bytes))
    }

    #[test]
    fn a_block_is_held_to_the_limits_before_there_is_room_for_it() {
        let size = 1 << 20;
        let node = DataType {
            fixed_size: size as u64,
            ..DataType::new(BasicType::FixedSizeBinary, "a")
        };
        let (data, source) = claimed(&node);
        let limits = Limits::default();
        let mut scratch = Scratch::default();
        let mut cx = ReadContext {
            source: &source,
            limits: &limits,
            scratch: &mut scratch,
            dictionaries: crate::encoding::Dictionaries::none(),
            verify: true,
            sequential: true,
        };
        let rows = Selection::range(0..5);
        let mut cache = StringCache::default();
        let error = read_fixed(&data, size, false, &rows, &mut cx, &mut cache).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        assert!(error.to_string().contains("block 0"), "{error}");

        let limits = Limits::default().with_max_block_bytes(1 << 20);
        cx.limits = &limits;
        let (kind, mut cache) = (NumberKind::Unsigned, BlockCache::default());
        let node = DataType::new(BasicType::Int64, "a");
        let (data, source) = claimed(&node);
        cx.source = &source;
        let error = read_numbers::<u64>(&data, kind, false, &rows, &mut cx, &mut cache);
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    }
}
