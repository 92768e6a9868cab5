//! The physical values that are passed between Arrow arrays and encoded buffers.

use super::stored_as::StoredAs;
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

/// The values of one schema node, converted from one Arrow array or to one.
#[derive(Debug, Clone)]
pub struct Chunk<V> {
    /// Number of positions.
    pub len: usize,
    /// Presence of the positions; `None` if all are present.
    pub nulls: Option<NullBuffer>,
    /// The values; arbitrary at null positions.
    pub values: V,
}

/// Values of a schema node to be written to a shard.
#[derive(Debug, Clone)]
pub enum Values {
    /// `Unit`, `Struct`, `FixedSizeList`: only presence. All positions of a `Unit` are null.
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
    /// `List` and `Map`: `len + 1` ascending offsets into the chunk of the children, starting with 0.
    Offsets(Vec<u64>),
    /// `Union`: the ordinal of the child at every position and, for dense unions, the position in that child's chunk
    /// (ascending per child, each once, from 0). A union has no nulls of its own; below a null parent, the ordinal is 0
    /// and the child is null.
    Union {
        /// Ordinals of children.
        ordinals: Vec<u8>,
        /// Child positions of a dense union.
        offsets: Option<Vec<u64>>,
    },
    /// Any leaf, dictionary-encoded: a code per position into the entries. A position with the code of a null entry is
    /// null too, and the chunk's `nulls` mark it.
    Dictionary {
        /// One code per position; meaningless at null positions.
        codes: ScalarBuffer<u32>,
        /// The entries, a leaf chunk; may contain unused entries and duplicates.
        entries: Arc<Chunk<Values>>,
    },
}

impl Values {
    /// Returns the size in bytes of the values of a leaf other than bits, including values at null positions.
    pub fn leaf_bytes(&self) -> usize {
        match self {
            Self::Fixed { data, .. } => data.len(),
            Self::Bytes(values) => values.byte_len(),
            _ => 0,
        }
    }
}

impl Chunk<Values> {
    /// Returns the bytes that positions take without variable-size data: a fixed-size value, an offset, a view, or a
    /// code.
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

    /// Returns whether the values of this leaf and of `other` are in the same memory.
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

/// Returns the size of all values between offsets in bytes.
pub(super) fn spanned<O: ArrowNativeType>(offsets: &[O]) -> usize {
    let ends = offsets.first().zip(offsets.last());
    ends.map_or(0, |(first, last)| last.as_usize() - first.as_usize())
}

/// Returns the size in bytes of all values that views refer to; shared values count each time.
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

    /// Returns the size of all values in bytes; values that views share count each time.
    fn byte_len(&self) -> usize {
        match self {
            Self::Offsets32(offsets, _) => spanned(offsets),
            Self::Offsets64(offsets, _) => spanned(offsets),
            Self::Views(views, _) => usize::try_from(viewed(views)).unwrap_or(usize::MAX),
        }
    }

    /// Returns value `i`, which must exist.
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

/// The Arrow layout to decode variable-size values into.
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
    /// Returns the layout of an Arrow type of strings or variable-size binaries.
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

/// Offsets of a list array, starting with 0; one more than there are lists.
#[derive(Debug, Clone)]
pub enum ListOffsets {
    /// `i32`.
    Bits32(OffsetBuffer<i32>),
    /// `i64`.
    Bits64(OffsetBuffer<i64>),
}

/// Dictionary-encoded values of a leaf, as stored.
#[derive(Debug)]
pub struct DecodedDictionary {
    pub(super) codes: ScalarBuffer<u32>,
    pub(super) nulls: Option<NullBuffer>,
    pub(super) entries: Arc<DictionaryEntries>,
}

impl DecodedDictionary {
    /// Returns values with one code per position and the entries of the stripe. `nulls` must combine null codes and the
    /// PRESENCE buffer.
    ///
    /// # Errors
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the code of a present position has no entry.
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
    /// The Arrow arrays of the entries, shared by all batches of the stripe.
    pub arrays: Mutex<Vec<EntryArray>>,
}

/// The entries of a dictionary as an array of an Arrow type.
#[derive(Debug)]
pub struct EntryArray {
    /// The type.
    pub(super) wanted: ArrowType,
    /// Whether the cast was strict, so that it changed no value.
    pub(super) is_strict: bool,
    /// The array; `None` if an entry cannot be converted to the type.
    pub(super) array: Option<ArrayRef>,
}

/// Decoded lists or maps.
#[derive(Debug)]
pub struct DecodedLists {
    /// Offsets into the selected child positions, starting with 0.
    pub offsets: ListOffsets,
    /// Presence of the lists.
    pub nulls: Option<NullBuffer>,
    /// The child positions that the lists cover.
    pub children: Selection,
}

/// Decoded unions.
#[derive(Debug)]
pub struct DecodedUnions {
    /// Ordinal of the child at every position; each is less than the number of children.
    pub ordinals: Vec<u8>,
    /// Position in the child's selection, for dense unions.
    pub offsets: Option<Vec<i32>>,
    /// Per child, the positions to decode.
    pub children: Vec<Selection>,
}

/// Provides the decoded values of the schema nodes of one stripe.
///
/// Every method takes a node and the requested positions of that node, and returns exactly one value per position. A
/// node without storage returns nulls; a constant node repeats its value.
///
/// A leaf is first requested with [`dictionary`](Self::dictionary); `fixed` and `bytes` are called only after it
/// returned `None`. Leaves of a bit or a byte have no dictionary, so it is not called for them.
///
/// The number of positions may far exceed the bytes of a file, because fixed-size lists multiply it by a number in the
/// schema. A source refuses more than its [`Limits`](crate::Limits) allow. It is called for every node, including
/// `Unit`.
pub trait NodeSource {
    /// Refuses arrays that need `bytes` bytes in addition to the arrays of the source.
    ///
    /// # Errors
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded).
    fn check_bytes(&self, bytes: u64) -> Result<()>;

    /// Refuses items of fixed-size lists that would take too much memory although none is stored.
    ///
    /// # Errors
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded).
    fn check_items(&self, item: &DataType, items: u64) -> Result<()> {
        let _ = (item, items);
        Ok(())
    }

    /// Returns the values of a `Boolean` node.
    fn bits(&mut self, node: &DataType, rows: &Selection) -> Result<Chunk<BooleanBuffer>>;

    /// Returns the values of numbers, DateTime, Guid and fixed-size binaries: `len * width` bytes.
    fn fixed(&mut self, node: &DataType, width: usize, rows: &Selection) -> Result<Chunk<Buffer>>;

    /// Returns how a leaf is stored, if its values have another type than the node. The other methods then expect the
    /// node of [`StoredAs`].
    fn stored_as(&self, node: &DataType) -> Option<Arc<StoredAs>> {
        let _ = node;
        None
    }

    /// Returns whether a leaf is stored in another format, so that its values come from [`external`](Self::external).
    fn is_external(&self, node: &DataType) -> bool {
        let _ = node;
        false
    }

    /// Returns the values of a leaf that is stored in another format, as an array of the type, or of another type of
    /// the same values if they cannot be read as such.
    ///
    /// # Errors
    /// Returns the errors of values that cannot be read.
    fn external(
        &mut self,
        node: &DataType,
        wanted: &ArrowType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let _ = (wanted, rows);
        Err(Error::corrupt(format!(
            "the values of `{}` are in buffers",
            node.name
        )))
    }

    /// Returns the values of a `String` or `Binary` node as part of an array that was made for more rows, if the source
    /// keeps such arrays: they are checked to be UTF-8 only once. `wanted` has offsets.
    ///
    /// # Errors
    /// Returns the errors of a node that cannot be read.
    fn kept_bytes(
        &mut self,
        node: &DataType,
        wanted: &ArrowType,
        rows: &Selection,
    ) -> Result<Option<ArrayRef>> {
        let _ = (node, wanted, rows);
        Ok(None)
    }

    /// Returns the values of a `String` or `Binary` node; not yet checked to be UTF-8.
    ///
    /// # Errors
    /// Returns [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if 32-bit offsets do not suffice.
    fn bytes(
        &mut self,
        node: &DataType,
        layout: ByteLayout,
        rows: &Selection,
    ) -> Result<Chunk<ByteValues>>;

    /// Returns codes and entries of a leaf, if the stripe stores it with a value dictionary.
    fn dictionary(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Option<DecodedDictionary>>;

    /// Returns the presence of a `Unit`, `Struct` or `FixedSizeList` node.
    fn presence(&mut self, node: &DataType, rows: &Selection) -> Result<Option<NullBuffer>>;

    /// Returns the lists of a `List` or `Map` node.
    ///
    /// # Errors
    /// Returns [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if 32-bit offsets do not suffice.
    fn lists(
        &mut self,
        node: &DataType,
        width: OffsetWidth,
        rows: &Selection,
    ) -> Result<DecodedLists>;

    /// Returns the values of a `Union` node.
    fn unions(&mut self, node: &DataType, rows: &Selection) -> Result<DecodedUnions>;
}
