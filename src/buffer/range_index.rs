//! Spec: docs/format.md, "Range indexes": the range of every few positions of a numeric field.
//!
//! ```text
//! version u16 | basic type u8 | has checksums u8 | positions u64
//! bytes of minimums u64 | bytes of maximums u64 | bytes of invalid counts u64, 0 if all are 0
//! positions of a block u16 | 0 u16 | minimums | maximums | invalid counts | zeros to 64
//! ```
//! Each of the three is one block with an entry for every block of positions. In version 1 it has the little-endian
//! bytes of the entries as u8, in version 2 the minimums and maximums are numbers of the width of a value, except for
//! values wider than 8 bytes. Nulls and NaN are invalid. The range of a block with only invalid values is zeros.

use super::BUFFER_ALIGNMENT;
use super::Chunks;
use super::carried_checksums::checksums_at_ends;
use crate::encoding::{Context, NumberKind, envelope, number};
use crate::error::{Error, Result, Within, to_usize};
use crate::format::{AnyValue, BasicType, DataType, INDEX_BLOCK, ValueKind, decimal128};
use crate::io::ByteRange;
use std::cmp::Ordering;
use std::ops::Range;

/// Bytes of the header, which carries no checksum.
pub const RANGE_INDEX_HEADER: usize = 40;
/// The version with entries of bytes, and the one with entries of numbers.
pub(super) const VERSIONS: [u16; 2] = [1, 2];

/// Type of the entries of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoundKind {
    Signed,
    Unsigned,
    Float,
    /// Two's complement, of any width.
    Integer,
    Decimal128,
}

/// The header of a range index, which determines the sizes of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeIndexHeader {
    kind: BoundKind,
    width: usize,
    /// Whether minimums and maximums are stored as numbers.
    as_numbers: bool,
    positions: u64,
    has_checksums: bool,
    /// Bytes of the minimums, maximums and invalid counts.
    sizes: [u64; 3],
}

impl RangeIndexHeader {
    /// Parses the header at the start of the index of a field of `positions` positions.
    /// `checksums` covers the header, if there are checksums.
    ///
    /// # Errors
    /// Returns the errors of [`RangeIndex::parse`].
    pub fn parse(
        bytes: &[u8],
        node: &DataType,
        positions: u64,
        checksums: Option<&Chunks>,
    ) -> Result<Self> {
        let Some(head) = bytes.first_chunk::<RANGE_INDEX_HEADER>() else {
            return Err(Error::corrupt(format!(
                "expected a header of {RANGE_INDEX_HEADER} bytes, found {} bytes",
                bytes.len()
            )));
        };
        if let Some(chunks) = checksums {
            chunks.verify(&(0..RANGE_INDEX_HEADER as u64), head)?;
        }
        let number = |at: usize, len: usize| {
            let mut word = [0; 8];
            word[..len].copy_from_slice(&head[at..at + len]);
            u64::from_le_bytes(word)
        };
        let [of_bytes, of_numbers] = VERSIONS.map(u64::from);
        let version = number(0, 2);
        if version != of_bytes && version != of_numbers {
            return Err(Error::unsupported(format!(
                "version {version} of range indexes, expected {of_bytes} or {of_numbers}"
            )));
        }
        let expect = |what: &str, found: u64, expected: u64| {
            if found == expected {
                Ok(())
            } else {
                Err(Error::corrupt(format!(
                    "{what}: expected {expected}, found {found}"
                )))
            }
        };
        expect("type of the field", number(2, 1), node.basic_type as u64)?;
        expect("positions of the field", number(4, 8), positions)?;
        // Without a checksum of the header, a wrong number would lose rows unnoticed.
        expect("positions of a block", number(36, 2), INDEX_BLOCK)?;
        expect("padding of the header", number(38, 2), 0)?;
        if positions == 0 {
            return Err(Error::corrupt("an index of no positions"));
        }
        let (kind, width) = bounds_of(node)?;
        Ok(Self {
            kind,
            width,
            as_numbers: version == of_numbers,
            positions,
            has_checksums: head[3] != 0,
            sizes: [number(12, 8), number(20, 8), number(28, 8)],
        })
    }

    /// Returns the number of blocks of [`INDEX_BLOCK`] positions.
    pub fn blocks(&self) -> u64 {
        self.positions.div_ceil(INDEX_BLOCK)
    }

    /// Decodes the `len` bytes of a block of the index.
    fn decode(
        &self,
        block: &[u8],
        len: u64,
        as_numbers: bool,
        cx: &mut Context<'_>,
    ) -> Result<Vec<u8>> {
        // The limits are checked first, because few bytes can claim many positions.
        cx.limits.check_block_bytes(len)?;
        cx.limits.check_block_values(len)?;
        let content = if self.has_checksums {
            envelope::strip_checksum(block, true)?
        } else {
            block
        };
        let (len, values) = (to_usize(len)?, envelope::open(content)?.values);
        let kind = match self.kind {
            BoundKind::Signed => NumberKind::Signed,
            BoundKind::Float => NumberKind::Float,
            BoundKind::Unsigned | BoundKind::Integer | BoundKind::Decimal128 => {
                NumberKind::Unsigned
            }
        };
        match self.width {
            2 if as_numbers => number::decode_bytes::<u16>(values, kind, cx, len / 2),
            4 if as_numbers => number::decode_bytes::<u32>(values, kind, cx, len / 4),
            8 if as_numbers => number::decode_bytes::<u64>(values, kind, cx, len / 8),
            _ => number::decode_bytes::<u8>(values, NumberKind::Unsigned, cx, len),
        }
    }
}

/// A range index: the range of every block of positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeIndex {
    kind: BoundKind,
    width: usize,
    positions: u64,
    minimums: Vec<u8>,
    maximums: Vec<u8>,
    /// Counts of invalid values. Empty if all are 0.
    invalid: Vec<u8>,
}

/// A block of a range index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedBlock {
    /// Positions of the block.
    pub positions: Range<u64>,
    /// Number of values that are null or NaN.
    pub invalid: u64,
    /// Smallest and largest value, with the kinds of range statistics. `None` if all values are
    /// invalid.
    pub range: Option<(AnyValue, AnyValue)>,
}

impl RangeIndex {
    /// Parses the index of a field of `positions` positions. `checksums` covers the header, if there are
    /// checksums.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) or [`Checksum`](crate::ErrorKind::Checksum) if the bytes are
    /// damaged or belong to another field, [`Unsupported`](crate::ErrorKind::Unsupported) for another version,
    /// or for a type without a supported order.
    pub fn parse(
        bytes: &[u8],
        node: &DataType,
        positions: u64,
        checksums: Option<&Chunks>,
        cx: &mut Context<'_>,
    ) -> Result<Self> {
        let header = RangeIndexHeader::parse(bytes, node, positions, checksums)?;
        let mut rest = &bytes[RANGE_INDEX_HEADER..];
        let mut part = |size: u64, entry: usize, as_number, name: &'static str| {
            let size = to_usize(size)?;
            let (block, after) = rest.split_at_checked(size).ok_or_else(|| {
                Error::corrupt(format!("expected {size} bytes, found {}", rest.len())).within(name)
            })?;
            rest = after;
            let len = header.blocks().saturating_mul(entry as u64);
            header
                .decode(block, len, as_number, cx)
                .within(|| name.into())
        };
        let (kind, width) = (header.kind, header.width);
        let [min_size, max_size, invalid_size] = header.sizes;
        let minimums = part(min_size, width, header.as_numbers, "minimums")?;
        let maximums = part(max_size, width, header.as_numbers, "maximums")?;
        let invalid = match invalid_size {
            0 => Vec::new(),
            size => part(size, 2, false, "invalid counts")?,
        };
        // If the header left out a part, its bytes would be here.
        if rest.len() >= BUFFER_ALIGNMENT || rest.iter().any(|&byte| byte != 0) {
            return Err(Error::corrupt(format!(
                "{} bytes follow the range index, expected zeros up to a multiple of {BUFFER_ALIGNMENT}",
                rest.len()
            )));
        }
        let index = Self {
            kind,
            width,
            positions,
            minimums,
            maximums,
            invalid,
        };
        index.check()?;
        Ok(index)
    }

    /// Returns the stored checksums of the parts of an index.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if there are too few bytes.
    pub fn carried_checksums(bytes: &[u8]) -> Result<Vec<u32>> {
        let header = bytes.first_chunk::<RANGE_INDEX_HEADER>();
        let header = header.ok_or_else(|| Error::corrupt("a range index without a header"))?;
        if header[3] == 0 {
            return Ok(Vec::new());
        }
        let mut parts = Vec::with_capacity(3);
        let mut start = RANGE_INDEX_HEADER as u64;
        for size in header[12..36].as_chunks().0 {
            let part = ByteRange::with_len(start, u64::from_le_bytes(*size))?;
            start = part.end();
            parts.push(part);
        }
        checksums_at_ends(bytes, parts)
    }

    fn check(&self) -> Result<()> {
        for (i, block) in self.blocks().enumerate() {
            let (len, invalid) = (block.positions.end - block.positions.start, block.invalid);
            let ascends = block.range.is_none_or(|(min, max)| {
                min.compare(&max)
                    .is_some_and(|order| order != Ordering::Greater)
            });
            if invalid > len || !ascends {
                return Err(Error::corrupt(format!(
                    "entry {i}: {invalid} invalid values of {len}, or a minimum above the maximum"
                )));
            }
        }
        Ok(())
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.minimums.len() / self.width
    }

    /// Returns the memory that the index takes, in bytes.
    pub fn memory_size(&self) -> u64 {
        (self.minimums.len() + self.maximums.len() + self.invalid.len()) as u64
    }

    /// Returns the number of positions of the field.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Returns the smallest value of each block, as the field stores values. It has no meaning for blocks with only
    /// invalid values.
    pub fn minimums(&self) -> &[u8] {
        &self.minimums
    }

    /// Returns the largest value of each block, as the field stores values. It has no meaning for blocks with only
    /// invalid values.
    pub fn maximums(&self) -> &[u8] {
        &self.maximums
    }

    /// Returns the number of values of block `i` that are null or NaN.
    pub fn invalid(&self, i: usize) -> u64 {
        let count = self.invalid.get(2 * i..2 * i + 2);
        count.map_or(0, |c| u64::from(u16::from_le_bytes([c[0], c[1]])))
    }

    #[cfg(any(test, feature = "experimental"))]
    /// Returns whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = IndexedBlock> {
        (0..self.len()).map(|i| {
            let start = i as u64 * INDEX_BLOCK;
            self.block(i, start..self.positions.min(start + INDEX_BLOCK))
        })
    }

    fn block(&self, i: usize, positions: Range<u64>) -> IndexedBlock {
        let invalid = self.invalid(i);
        let bytes = i * self.width..(i + 1) * self.width;
        let range = if invalid == positions.end - positions.start {
            None
        } else {
            self.minimums
                .get(bytes.clone())
                .zip(self.maximums.get(bytes))
                .map(|(min, max)| (self.value(min), self.value(max)))
        };
        IndexedBlock {
            positions,
            invalid,
            range,
        }
    }

    fn value(&self, bytes: &[u8]) -> AnyValue {
        let mut word = [0; 8];
        let len = bytes.len().min(8);
        word[..len].copy_from_slice(&bytes[..len]);
        let word = u64::from_le_bytes(word);
        match self.kind {
            BoundKind::Unsigned => word.into(),
            BoundKind::Signed => {
                let unused = 64 - 8 * len;
                ((word << unused).cast_signed() >> unused).into()
            }
            BoundKind::Float if len == 4 => {
                f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).into()
            }
            BoundKind::Float => f64::from_bits(word).into(),
            BoundKind::Integer => AnyValue::from(bytes).with_annotation("arrow.decimal"),
            BoundKind::Decimal128 => {
                ValueKind::Decimal(bytes.try_into().unwrap_or_default()).into()
            }
        }
    }
}

/// Returns the type of the entries for a field, and their width in bytes.
fn bounds_of(node: &DataType) -> Result<(BoundKind, usize)> {
    use BasicType as T;
    let integer = if node.signed {
        BoundKind::Signed
    } else {
        BoundKind::Unsigned
    };
    Ok(match (node.basic_type, node.label(), node.fixed_size) {
        (T::Int8, _, _) => (integer, 1),
        (T::Int16, label, _) if label != "arrow.float16" => (integer, 2),
        (T::Int32, _, _) => (integer, 4),
        (T::Int64, _, _) => (integer, 8),
        (T::DateTime, _, _) => (BoundKind::Unsigned, 8),
        (T::Float32, _, _) => (BoundKind::Float, 4),
        (T::Float64, _, _) => (BoundKind::Float, 8),
        (T::FixedSizeBinary, decimal128::LABEL, 16) => {
            decimal128::check_supported()?;
            (BoundKind::Decimal128, 16)
        }
        (T::FixedSizeBinary, "arrow.decimal", 16) => (BoundKind::Integer, 16),
        (T::FixedSizeBinary, "arrow.decimal", 32) => (BoundKind::Integer, 32),
        (other, label, _) => {
            return Err(Error::unsupported(format!(
                "a range index of a {other:?} field labeled `{label}`"
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::range_index_input::{EntryPlans, RangeIndexInput};
    use super::*;
    use crate::buffer::checksums::{ChecksumTable, CoveredPart};
    use crate::encoding::{Scratch, Word};
    use crate::format::ExtendedType;
    use crate::limits::Limits;

    fn int32() -> DataType {
        let mut node = DataType::new(BasicType::Int32, "a");
        node.signed = true;
        node
    }

    fn parse(bytes: &[u8], node: &DataType, positions: u64) -> Result<RangeIndex> {
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let cx = &mut Context::new(&limits, &mut scratch);
        RangeIndex::parse(bytes, node, positions, None, cx)
    }

    fn plain(basic_type: BasicType, minimums: &[u8], maximums: &[u8], invalid: &[u16]) -> Vec<u8> {
        encoded(basic_type, false, [minimums, maximums], invalid)
    }

    struct Stored;

    impl EntryPlans for Stored {
        fn plan<W: Word>(&self, _: &[W], _: NumberKind) -> number::Plan {
            number::Plan::Plain
        }
    }

    fn encoded(
        basic_type: BasicType,
        as_numbers: bool,
        [minimums, maximums]: [&[u8]; 2],
        invalid: &[u16],
    ) -> Vec<u8> {
        let input = RangeIndexInput {
            basic_type,
            signed: true,
            as_numbers,
            positions: 1000,
            minimums,
            maximums,
            invalid,
        };
        input.encode(&Stored).unwrap()
    }

    fn words(values: [i32; 4]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn bytes_are_those_of_the_reference() {
        let (min, max) = (words([1, 257, 513, 769]), words([256, 512, 768, 1000]));
        let bytes = plain(BasicType::Int32, &min, &max, &[0; 4]);
        let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let start = "01000401e80300000000000020000000000000002000000000000000\
            00000000000000000001000000000000120000000100010000000101000001020000010300000000\
            3ba7e350";
        assert!(text.starts_with(start), "{text}");
        assert_eq!(bytes.len(), 128);
        let index = parse(&bytes, &int32(), 1000).unwrap();
        let blocks: Vec<IndexedBlock> = index.blocks().collect();
        assert_eq!((index.len(), blocks.len()), (4, 4));
        assert_eq!(blocks[3].positions, 768..1000);
        assert_eq!(blocks[3].range, Some((769i64.into(), 1000i64.into())));
    }

    #[test]
    fn blocks_have_a_range_unless_all_values_are_invalid() {
        let (min, max) = (words([-9, 0, 0, 50]), words([5, 10, 0, 90]));
        let bytes = plain(BasicType::Int32, &min, &max, &[0, 255, 256, 3]);
        let index = parse(&bytes, &int32(), 1000).unwrap();
        let range = |min: i64, max: i64| Some((min.into(), max.into()));
        let block = |positions, invalid, range| IndexedBlock {
            positions,
            invalid,
            range,
        };
        let expected = [
            block(0..256, 0, range(-9, 5)),
            block(256..512, 255, range(0, 10)),
            block(512..768, 256, None),
            block(768..1000, 3, range(50, 90)),
        ];
        assert!(index.blocks().eq(expected));
        assert_eq!((index.minimums(), index.maximums()), (&min[..], &max[..]));
    }

    #[test]
    fn entries_of_every_width_are_stored_as_numbers() {
        for (basic_type, label, size, width) in [
            (BasicType::Int8, "", 0, 1),
            (BasicType::Int16, "", 0, 2),
            (BasicType::Int32, "", 0, 4),
            (BasicType::Int64, "", 0, 8),
            (BasicType::DateTime, "", 0, 8),
            (BasicType::Float32, "", 0, 4),
            (BasicType::Float64, "", 0, 8),
            (BasicType::FixedSizeBinary, "arrow.decimal", 16, 16),
            (BasicType::FixedSizeBinary, "arrow.decimal", 32, 32),
        ] {
            let mut node = DataType::new(basic_type, "a");
            node.signed = true;
            node.fixed_size = size;
            if !label.is_empty() {
                node.extended_type = Some(ExtendedType {
                    label: label.to_owned(),
                    properties: Vec::new(),
                });
            }
            let bounds: Vec<u8> = (0..4 * width).map(|i| i % 64).collect();
            let invalid = [0, 1, 0, 3];
            let indexes = [false, true].map(|as_numbers| {
                let bytes = encoded(basic_type, as_numbers, [&bounds; 2], &invalid);
                assert_eq!(bytes[0], 1 + u8::from(as_numbers));
                parse(&bytes, &node, 1000).unwrap()
            });
            assert_eq!(indexes[0], indexes[1], "{basic_type:?}");
            assert_eq!(indexes[1].minimums(), bounds);
        }
    }

    #[test]
    fn ranges_of_floats_are_numbers() {
        let bytes: Vec<u8> = [1f32, 2.5, 3.0, 4.0]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        let encoded = plain(BasicType::Float32, &bytes, &bytes, &[0, 1, 0, 232]);
        let index = parse(&encoded, &DataType::new(BasicType::Float32, "f"), 1000).unwrap();
        let ranges: Vec<_> = index.blocks().map(|block| block.range).collect();
        let one = |v: f64| Some((v.into(), v.into()));
        assert_eq!(ranges, [one(1.0), one(2.5), one(3.0), None]);
    }

    #[test]
    fn damage_is_found() {
        let (min, max) = (words([1, 257, 513, 769]), words([256, 512, 768, 1000]));
        let bytes = plain(BasicType::Int32, &min, &max, &[0, 0, 1, 0]);
        let mut table = ChecksumTable::default();
        let header = &bytes[..RANGE_INDEX_HEADER];
        table.add(0, 0, CoveredPart::RangeIndexHeader, header);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            let (limits, mut scratch) = (Limits::default(), Scratch::default());
            let cx = &mut Context::new(&limits, &mut scratch);
            let chunks = table.find(0, 0, CoveredPart::RangeIndexHeader, 40).unwrap();
            let found = RangeIndex::parse(&damaged, &int32(), 1000, chunks.as_ref(), cx);
            assert!(found.is_err(), "byte {at}");
        }
        let mut without_counts = bytes.clone();
        without_counts[28..36].fill(0);
        parse(&without_counts, &int32(), 1000).unwrap_err();
        for len in 0..bytes.len() - 64 {
            parse(&bytes[..len], &int32(), 1000).unwrap_err();
        }
        // With another block size, the entries would describe other values.
        for bit in 0..8 {
            let mut other = bytes.clone();
            other[36] ^= 1 << bit;
            let error = parse(&other, &int32(), 1000).unwrap_err();
            assert!(error.to_string().contains("expected 256"), "{error}");
        }
        parse(&bytes, &int32(), 999).unwrap_err();
        parse(&bytes, &DataType::new(BasicType::Int64, "b"), 1000).unwrap_err();
        let swapped = plain(BasicType::Int32, &max, &min, &[0; 4]);
        parse(&swapped, &int32(), 1000).unwrap_err();
        let too_many = plain(BasicType::Int32, &min, &max, &[257, 0, 0, 0]);
        parse(&too_many, &int32(), 1000).unwrap_err();
    }
}
