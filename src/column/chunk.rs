//! The physical values that travel between Arrow arrays and encoded buffers.

use crate::buffer::Selection;
use crate::error::{Error, Result};
use crate::format::DataType;
use crate::kernels::codes_below;
use arrow_array::ArrayRef;
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_data::ByteView;
use arrow_schema::DataType as ArrowType;
use std::sync::{Arc, Mutex};

/// The values of one schema node that come from one Arrow array, or go to one.
#[derive(Debug, Clone)]
pub struct Chunk<V> {
    /// Number of positions.
    pub len: usize,
    /// Which positions are present; `None` if all are.
    pub nulls: Option<NullBuffer>,
    /// The values; whatever stands at a null position has no meaning.
    pub values: V,
}

/// Values of a schema node on their way into a shard.
#[derive(Debug, Clone)]
pub enum Values {
    /// `Unit`, `Struct`, `FixedSizeList`: nothing but presence. All positions of a `Unit` are null.
    None,
    /// `Boolean`: one bit per position.
    Bits(BooleanBuffer),
    /// Numbers (width 1, 2, 4 or 8 bytes) and fixed-size binaries (any width): exactly
    /// `len * width` bytes, little-endian.
    Fixed {
        /// Bytes per value.
        width: usize,
        /// The values.
        data: Buffer,
    },
    /// `String` and `Binary`.
    Bytes(ByteValues),
    /// `List` and `Map`: `len + 1` ascending offsets into the chunk of the children, first 0.
    Offsets(Vec<u64>),
    /// `Union`: the ordinal of the child at every position (0, and the child null, below a null
    /// parent; a union has no nulls of its own) and, for dense unions, the position
    /// in that child's chunk (per child ascending, each once, from 0).
    Union {
        /// Ordinals of children.
        ordinals: Vec<u8>,
        /// Child positions of a dense union.
        offsets: Option<Vec<u64>>,
    },
    /// Any leaf, dictionary-encoded: a code per position into the entries. A position whose code
    /// names a null entry is null too, and is marked so in the chunk's `nulls`.
    Dictionary {
        /// One code per position; meaningless at null positions.
        codes: ScalarBuffer<u32>,
        /// The entries, a leaf chunk; may hold entries that no code names, and duplicates.
        entries: Arc<Chunk<Values>>,
    },
}

impl Values {
    /// Bytes of the values of a leaf that are not bits, those under nulls included.
    pub fn leaf_bytes(&self) -> usize {
        match self {
            Self::Fixed { data, .. } => data.len(),
            Self::Bytes(values) => values.byte_len(),
            _ => 0,
        }
    }
}

impl Chunk<Values> {
    /// Bytes of what every position has: a value of one size, an offset, a view, or a code.
    pub fn slots_size(&self) -> u64 {
        let bits = match &self.values {
            Values::None => 0,
            Values::Bits(_) => 1,
            Values::Fixed { width, .. } => 8 * width,
            Values::Bytes(ByteValues::Offsets32(..)) | Values::Dictionary { .. } => 32,
            Values::Bytes(ByteValues::Offsets64(..)) | Values::Offsets(_) => 64,
            Values::Bytes(ByteValues::Views(..)) => 128,
            Values::Union { offsets, .. } => 8 + offsets.as_ref().map_or(0, |_| 64),
        };
        (self.len as u64 * bits as u64).div_ceil(8)
    }

    /// Whether the values of a leaf are those of another in the same memory.
    pub fn is_same_memory(&self, other: &Self) -> bool {
        let nulls = |chunk: &Self| chunk.nulls.as_ref().map(|n| n.inner().inner().as_ptr());
        let values = match (&self.values, &other.values) {
            (Values::Fixed { data: a, .. }, Values::Fixed { data: b, .. }) => is_same(a, b),
            (Values::Bytes(a), Values::Bytes(b)) => a.is_same_memory(b),
            _ => false,
        };
        values && self.len == other.len && nulls(self) == nulls(other)
    }
}

impl Chunk<ByteValues> {
    /// Some of the values; `None` if there are not so many.
    pub(super) fn slice(&self, start: usize, len: usize) -> Option<Self> {
        let end = start.checked_add(len)?;
        let present = self.nulls.as_ref().map_or(end, NullBuffer::len);
        if end > self.values.len().min(present) {
            return None;
        }
        let values = match &self.values {
            ByteValues::Offsets32(offsets, values) => {
                ByteValues::Offsets32(offsets.slice(start, len), values.clone())
            }
            ByteValues::Offsets64(offsets, values) => {
                ByteValues::Offsets64(offsets.slice(start, len), values.clone())
            }
            ByteValues::Views(views, buffers) => {
                ByteValues::Views(views.slice(start, len), buffers.clone())
            }
        };
        let nulls = self.nulls.as_ref().map(|nulls| nulls.slice(start, len));
        Some(Self { len, nulls, values })
    }
}

fn is_same(a: &Buffer, b: &Buffer) -> bool {
    a.as_ptr() == b.as_ptr() && a.len() == b.len()
}

/// Variable-size values in one of Arrow's layouts.
#[derive(Debug, Clone)]
pub enum ByteValues {
    /// 32-bit offsets; the first need not be 0.
    Offsets32(OffsetBuffer<i32>, Buffer),
    /// 64-bit offsets; the first need not be 0.
    Offsets64(OffsetBuffer<i64>, Buffer),
    /// Views and the buffers that long ones point into.
    Views(ScalarBuffer<u128>, Vec<Buffer>),
}

/// Bytes of all values between offsets.
pub(super) fn spanned<O: ArrowNativeType>(offsets: &[O]) -> usize {
    let ends = offsets.first().zip(offsets.last());
    ends.map_or(0, |(first, last)| last.as_usize() - first.as_usize())
}

/// Bytes of all values that views show; shared ones count each time.
pub(super) fn viewed(views: &[u128]) -> u64 {
    let lengths = views.iter().map(|view| ByteView::from(*view).length);
    lengths.map(u64::from).sum()
}

impl ByteValues {
    fn is_same_memory(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Offsets32(a, values), Self::Offsets32(b, others)) => {
                is_same(a.inner().inner(), b.inner().inner()) && is_same(values, others)
            }
            (Self::Offsets64(a, values), Self::Offsets64(b, others)) => {
                is_same(a.inner().inner(), b.inner().inner()) && is_same(values, others)
            }
            (Self::Views(a, values), Self::Views(b, others)) => {
                let pairs = values.iter().zip(others);
                is_same(a.inner(), b.inner())
                    && values.len() == others.len()
                    && pairs.into_iter().all(|(a, b)| is_same(a, b))
            }
            _ => false,
        }
    }

    /// Bytes of all values; shared ones of views count each time.
    fn byte_len(&self) -> usize {
        match self {
            Self::Offsets32(offsets, _) => spanned(offsets),
            Self::Offsets64(offsets, _) => spanned(offsets),
            Self::Views(views, _) => usize::try_from(viewed(views)).unwrap_or(usize::MAX),
        }
    }

    /// Number of values.
    fn len(&self) -> usize {
        match self {
            Self::Offsets32(offsets, _) => offsets.len() - 1,
            Self::Offsets64(offsets, _) => offsets.len() - 1,
            Self::Views(views, _) => views.len(),
        }
    }

    /// Value `i`, which must exist.
    pub fn value(&self, i: usize) -> &[u8] {
        match self {
            Self::Offsets32(offsets, data) => {
                &data[offsets[i].as_usize()..offsets[i + 1].as_usize()]
            }
            Self::Offsets64(offsets, data) => {
                &data[offsets[i].as_usize()..offsets[i + 1].as_usize()]
            }
            Self::Views(views, buffers) => {
                let view = &views.inner().as_slice()[i * 16..(i + 1) * 16];
                let word = |at: usize| {
                    u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]])
                        .as_usize()
                };
                match word(0) {
                    len @ 0..=12 => &view[4..4 + len],
                    len => &buffers[word(8)][word(12)..word(12) + len],
                }
            }
        }
    }
}

/// Which of Arrow's layouts to decode variable-size values into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteLayout {
    /// 32-bit offsets.
    Offsets32,
    /// 64-bit offsets.
    Offsets64,
    /// Views.
    Views,
}

impl ByteLayout {
    /// The layout of an Arrow type of strings or binaries of any size.
    pub fn of(arrow: &ArrowType) -> Option<Self> {
        match arrow {
            ArrowType::Utf8 | ArrowType::Binary => Some(Self::Offsets32),
            ArrowType::LargeUtf8 | ArrowType::LargeBinary => Some(Self::Offsets64),
            ArrowType::Utf8View | ArrowType::BinaryView => Some(Self::Views),
            _ => None,
        }
    }
}

/// Width of the offsets of a list array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetWidth {
    /// `i32`.
    Bits32,
    /// `i64`.
    Bits64,
}

/// Offsets of a list array, zero-based, one more than there are lists.
#[derive(Debug, Clone)]
pub enum ListOffsets {
    /// `i32`.
    Bits32(OffsetBuffer<i32>),
    /// `i64`.
    Bits64(OffsetBuffer<i64>),
}

/// A place to keep arrays that are made once, by Arrow type, and used by many batches.
pub type ArraySlot = Mutex<Vec<(ArrowType, ArrayRef)>>;

/// Decoded variable-size values.
#[derive(Debug)]
pub struct DecodedBytes {
    /// The values; not yet known to be UTF-8.
    pub chunk: Chunk<ByteValues>,
    /// If set, `chunk` holds more positions than were asked for: make one array of all of it, keep
    /// it in the slot, and return its `len` elements from `start` on.
    pub window: Option<Window>,
}

/// The part of a kept array that was asked for.
#[derive(Debug)]
pub struct Window {
    /// Where the array is kept.
    pub slot: Arc<ArraySlot>,
    /// First element asked for.
    pub start: usize,
    /// Number of elements asked for.
    pub len: usize,
}

/// Dictionary-encoded values of a leaf, as stored.
#[derive(Debug)]
pub struct DecodedDictionary {
    pub(super) codes: ScalarBuffer<u32>,
    pub(super) nulls: Option<NullBuffer>,
    pub(super) entries: Arc<DictionaryEntries>,
}

impl DecodedDictionary {
    /// One code per position, which of them are present, null codes and PRESENCE both taken into
    /// account, and the entries of the stripe.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the code of a present position names no entry.
    pub fn try_new(
        codes: ScalarBuffer<u32>,
        nulls: Option<NullBuffer>,
        entries: Arc<DictionaryEntries>,
    ) -> Result<Self> {
        let count = entries.chunk.len;
        if !codes_below(&codes, count) {
            let present = |i: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i));
            let wrong = |&(i, &code): &(usize, &u32)| code as usize >= count && present(i);
            if let Some((_, code)) = codes.iter().enumerate().find(wrong) {
                return Err(Error::corrupt(format!(
                    "code {code} of a dictionary of {count} entries"
                )));
            }
        }
        Ok(Self {
            codes,
            nulls,
            entries,
        })
    }
}

/// The entries of a stripe's value dictionary, in the order of their codes.
#[derive(Debug)]
pub struct DictionaryEntries {
    /// The values as a leaf chunk (`Fixed` or `Bytes`); the null entry is null.
    pub chunk: Chunk<Values>,
    /// The code of the null entry, if there is one.
    pub null_id: Option<u32>,
    /// The Arrow arrays made of them, shared by all batches of the stripe.
    pub arrays: Mutex<Vec<EntryArray>>,
}

/// The entries of a dictionary in an Arrow type.
#[derive(Debug)]
pub struct EntryArray {
    /// The type.
    pub(super) wanted: ArrowType,
    /// Whether no cast may have changed a value.
    pub(super) is_strict: bool,
    /// `None` if one of the entries has no value of the type.
    pub(super) array: Option<ArrayRef>,
}

/// Decoded lists or maps.
#[derive(Debug)]
pub struct DecodedLists {
    /// Offsets into the selected child positions, first 0.
    pub offsets: ListOffsets,
    /// Which lists are present.
    pub nulls: Option<NullBuffer>,
    /// The child positions that the lists cover.
    pub children: Selection,
}

/// Decoded unions.
#[derive(Debug)]
pub struct DecodedUnions {
    /// Ordinal of the child at every position; each is below the number of children.
    pub ordinals: Vec<u8>,
    /// Position in the child's selection, for dense storage.
    pub offsets: Option<Vec<i32>>,
    /// Per child, the positions to decode.
    pub children: Vec<Selection>,
}

/// Gives the decoded values of the schema nodes of one stripe.
///
/// Every method takes the node and the positions of that node that are wanted, and returns exactly
/// as many values. A node without storage yields nulls, a constant one its value.
///
/// Values of a leaf with a value dictionary are asked for with [`dictionary`](Self::dictionary)
/// alone: `fixed` and `bytes` are called only after it gave `None`. It is not called for leaves of
/// a bit or a byte.
///
/// The positions may be far more than a file has bytes, because fixed-size lists multiply them by a
/// number in the schema; a source refuses more than its [`Limits`](crate::Limits) allow. It is
/// asked about every node, `Unit` included.
pub trait NodeSource {
    /// Refuses arrays that need so many bytes beside those that the source gives.
    ///
    /// # Errors
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded).
    fn check_bytes(&self, bytes: u64) -> Result<()>;

    /// Refuses items of lists of a fixed size that would take too much memory although none is stored.
    ///
    /// # Errors
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded).
    fn check_items(&self, item: &DataType, items: u64) -> Result<()> {
        let _ = (item, items);
        Ok(())
    }

    /// `Boolean`.
    fn bits(&mut self, node: &DataType, rows: &Selection) -> Result<Chunk<BooleanBuffer>>;

    /// Numbers, DateTime, Guid and fixed-size binaries: `len * width` bytes.
    fn fixed(&mut self, node: &DataType, width: usize, rows: &Selection) -> Result<Chunk<Buffer>>;

    /// The rows of an array of that type that was kept before, see [`Window`].
    ///
    /// # Errors
    /// Those of a node that cannot be read.
    fn kept(
        &mut self,
        node: &DataType,
        wanted: &ArrowType,
        rows: &Selection,
    ) -> Result<Option<ArrayRef>> {
        let _ = (node, wanted, rows);
        Ok(None)
    }

    /// `String` and `Binary`.
    ///
    /// # Errors
    /// [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if 32-bit offsets do not suffice.
    fn bytes(
        &mut self,
        node: &DataType,
        layout: ByteLayout,
        rows: &Selection,
    ) -> Result<DecodedBytes>;

    /// Codes and entries of a leaf, if the stripe stores it with a value dictionary.
    fn dictionary(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Option<DecodedDictionary>>;

    /// Presence alone: `Unit`, `Struct`, `FixedSizeList`.
    fn presence(&mut self, node: &DataType, rows: &Selection) -> Result<Option<NullBuffer>>;

    /// `List` and `Map`.
    ///
    /// # Errors
    /// [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if 32-bit offsets do not suffice.
    fn lists(
        &mut self,
        node: &DataType,
        width: OffsetWidth,
        rows: &Selection,
    ) -> Result<DecodedLists>;

    /// `Union`.
    fn unions(&mut self, node: &DataType, rows: &Selection) -> Result<DecodedUnions>;
}
