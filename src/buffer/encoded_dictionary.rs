//! Spec: docs/format.md, "Value dictionary": entries that are encoded like the values of a block.

use crate::encoding::bytes::{
    BytesBuilder, BytesLayout, Decoded, NullsOut, decode as decode_strings,
};
use crate::encoding::{Context, NumberKind, number};
use crate::error::{Error, Result};
use crate::format::BasicType;
use arrow_buffer::{BooleanBufferBuilder, Buffer};
use bytes::Bytes;

/// The decoded entries: their bytes, and `count + 1` offsets if they have no fixed size.
pub(super) type Entries = (Bytes, Option<Vec<u64>>);

/// Returns the interpretation of the entries of a dictionary as numbers; `None` for byte strings.
pub(crate) fn number_kind(value_type: BasicType) -> Option<NumberKind> {
    use BasicType as T;
    match value_type {
        T::Float32 | T::Float64 => Some(NumberKind::Float),
        T::Int16 | T::Int32 | T::Int64 | T::DateTime => Some(NumberKind::Unsigned),
        _ => None,
    }
}

/// A buffer that [`Bytes`] keep alive.
struct Shared(Buffer);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Decodes the region of `count` entries; each has `size` bytes, or any number if `size` is 0.
pub(super) fn decode(
    region: &[u8],
    value_type: BasicType,
    count: usize,
    size: usize,
    cx: &mut Context<'_>,
) -> Result<Entries> {
    // Few bytes can encode many entries.
    let most = cx
        .limits
        .max_block_bytes()
        .min(cx.limits.max_dictionary_bytes());
    let limits = cx.limits.clone().with_max_block_bytes(most);
    limits.check_block_values(count as u64)?;
    limits.check_block_bytes((count as u64).saturating_mul(size as u64))?;
    let cx = &mut Context {
        limits: &limits,
        scratch: &mut *cx.scratch,
        dictionaries: cx.dictionaries,
    };
    match (number_kind(value_type), size) {
        (Some(kind), 2) => numbers(number::decode_bytes::<u16>(region, kind, cx, count)),
        (Some(kind), 4) => numbers(number::decode_bytes::<u32>(region, kind, cx, count)),
        (Some(kind), 8) => numbers(number::decode_bytes::<u64>(region, kind, cx, count)),
        (Some(_), size) => Err(Error::corrupt(format!(
            "encoded entries of type {value_type:?} of {size} bytes"
        ))),
        (None, size) => strings(region, count, Some(size).filter(|size| *size > 0), cx),
    }
}

fn numbers(bytes: Result<Vec<u8>>) -> Result<Entries> {
    Ok((bytes?.into(), None))
}

fn strings(
    region: &[u8],
    count: usize,
    fixed: Option<usize>,
    cx: &mut Context<'_>,
) -> Result<Entries> {
    let mut present = BooleanBufferBuilder::new(count);
    present.append_n(count, true);
    let mut nulls = NullsOut::new(&mut present, 0);
    let layout = fixed.map_or(BytesLayout::Offsets64, BytesLayout::Fixed);
    // Entries of one size may be large: their memory is reserved once the region shows that it has them.
    let capacity = if fixed.is_some() { 0 } else { count };
    let mut out = BytesBuilder::new(layout, capacity);
    decode_strings(region, count, fixed, cx, &mut out, &mut nulls)?;
    if present.finish().count_set_bits() < count {
        return Err(Error::corrupt("an encoded entry is null"));
    }
    match out.finish() {
        Decoded::Offsets64(offsets, values) => {
            let offsets = offsets.iter().map(|offset| offset.cast_unsigned());
            Ok((Bytes::from_owner(Shared(values)), Some(offsets.collect())))
        }
        Decoded::Fixed(values) => Ok((Bytes::from_owner(Shared(values)), None)),
        Decoded::Offsets32(..) | Decoded::Views(..) => {
            Err(Error::corrupt("entries of another layout"))
        }
    }
}
