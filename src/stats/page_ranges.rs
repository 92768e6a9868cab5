//! Spec: docs/format.md, "Range indexes": indexes from the ranges of pages, which another format has computed.

use super::blocks::{BlockRanges, IndexedRanges};
use crate::format::{BasicType, DataType, INDEX_BLOCK};

/// Most bytes of a value.
const MAX_WIDTH: usize = 32;
/// Most bytes of the least values of all blocks. Readers accept no more under the default limits.
const MAX_BOUND_BYTES: u64 = 1 << 20;

/// Nulls of a page, or of other consecutive positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageNulls {
    /// No position is null.
    None,
    /// Some positions may be null.
    Possible,
    /// All positions are null.
    All,
}

/// How the stored values of a field are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueOrder {
    Unsigned,
    Signed,
    Float,
}

/// A value in a form that is ordered by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey([u8; MAX_WIDTH]);

/// Collects the ranges of blocks of positions from the ranges of consecutive pages. A block has the range of all pages
/// in which it has positions.
#[derive(Debug)]
pub(crate) struct PageRanges {
    order: ValueOrder,
    width: usize,
    blocks: BlockRanges<SortKey>,
    open: OpenBlock,
    /// Blocks with values whose bounds are all known, and the others.
    known: usize,
    unknown: usize,
    /// Whether the index can describe each block.
    is_sound: bool,
}

/// The block that is not full yet.
#[derive(Debug, Default)]
struct OpenBlock {
    positions: u64,
    nulls: u64,
    /// Whether other positions may be null or NaN.
    may_be_invalid: bool,
    range: Option<(SortKey, SortKey)>,
    /// Whether the range is that of all values, because no bounds are known.
    is_unknown: bool,
}

impl PageRanges {
    /// Returns an empty collection for a field of `positions` positions. `None` if such a field gets no index.
    pub(crate) fn new(node: &DataType, positions: u64) -> Option<Self> {
        use BasicType as T;
        let integer = if node.signed {
            ValueOrder::Signed
        } else {
            ValueOrder::Unsigned
        };
        let (order, width) = match (node.basic_type, node.label(), node.fixed_size) {
            (T::Int8, _, _) => (integer, 1),
            (T::Int16, label, _) if label != "arrow.float16" => (integer, 2),
            (T::Int32, _, _) => (integer, 4),
            (T::Int64, _, _) => (integer, 8),
            (T::DateTime, _, _) => (ValueOrder::Unsigned, 8),
            (T::Float32, _, _) => (ValueOrder::Float, 4),
            (T::Float64, _, _) => (ValueOrder::Float, 8),
            (T::FixedSizeBinary, "arrow.decimal", 16) => (ValueOrder::Signed, 16),
            (T::FixedSizeBinary, "arrow.decimal", 32) => (ValueOrder::Signed, 32),
            _ => return None,
        };
        let bytes = positions.div_ceil(INDEX_BLOCK).saturating_mul(width as u64);
        (bytes <= MAX_BOUND_BYTES).then(|| Self {
            order,
            width,
            blocks: BlockRanges::default(),
            open: OpenBlock::default(),
            known: 0,
            unknown: 0,
            is_sound: true,
        })
    }

    /// Adds the positions of a page. `bounds` are the least and the greatest value as stored, or values beyond them;
    /// `None` if they are not known.
    pub(crate) fn add(
        &mut self,
        mut positions: u64,
        nulls: PageNulls,
        bounds: Option<(&[u8], &[u8])>,
    ) {
        let known = bounds.and_then(|(least, greatest)| {
            let bounds = (self.key(least)?, self.key(greatest)?);
            (bounds.0 <= bounds.1).then_some(bounds)
        });
        let is_unknown = known.is_none();
        let bounds = known.unwrap_or_else(|| self.widest());
        while positions > 0 {
            let open = &mut self.open;
            let added = positions.min(INDEX_BLOCK - open.positions);
            positions -= added;
            open.positions += added;
            if nulls == PageNulls::All {
                open.nulls += added;
            } else {
                // Parquet does not count NaNs, and bounds leave them out.
                open.may_be_invalid |=
                    nulls == PageNulls::Possible || self.order == ValueOrder::Float;
                open.range = open.range.into_iter().chain([bounds]).reduce(wider);
                open.is_unknown |= is_unknown;
            }
            if open.positions == INDEX_BLOCK {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        let invalid = if open.may_be_invalid {
            open.nulls.max(1)
        } else {
            open.nulls
        };
        // A block of one position that may be null: the index could only say that it is, or is not.
        self.is_sound &= open.range.is_none() || invalid < open.positions;
        self.unknown += usize::from(open.is_unknown);
        self.known += usize::from(open.range.is_some() && !open.is_unknown);
        let count = |positions: u64| usize::try_from(positions).unwrap_or(usize::MAX);
        self.blocks
            .add(count(open.positions), count(invalid), open.range, wider);
    }

    /// Returns the index, if it is useful: the bounds of most blocks must be known.
    pub(crate) fn finish(mut self) -> Option<IndexedRanges> {
        if self.open.positions > 0 {
            self.close();
        }
        let (order, width) = (self.order, self.width);
        let is_sound = self.is_sound && self.unknown <= self.known;
        let store = |key: SortKey, out: &mut Vec<u8>| {
            out.extend(key.value(order, width).into_iter().take(width));
        };
        self.blocks
            .finish(width, |key| key.number(order, width), store)
            .filter(|_| is_sound)
    }

    /// Returns the key of a stored value; `None` for NaN and values of another width.
    fn key(&self, stored: &[u8]) -> Option<SortKey> {
        if stored.len() != self.width {
            return None;
        }
        let is_nan = match (self.order, stored.len()) {
            (ValueOrder::Float, 4) => f32::from_le_bytes(stored.try_into().ok()?).is_nan(),
            (ValueOrder::Float, _) => f64::from_le_bytes(stored.try_into().ok()?).is_nan(),
            _ => false,
        };
        (!is_nan).then(|| SortKey::of(self.order, stored))
    }

    /// Returns bounds of all values.
    fn widest(&self) -> (SortKey, SortKey) {
        let infinities = |least: &[u8], greatest: &[u8]| {
            let key = |stored| SortKey::of(ValueOrder::Float, stored);
            (key(least), key(greatest))
        };
        match (self.order, self.width) {
            (ValueOrder::Float, 4) => infinities(
                &f32::NEG_INFINITY.to_le_bytes(),
                &f32::INFINITY.to_le_bytes(),
            ),
            (ValueOrder::Float, _) => infinities(
                &f64::NEG_INFINITY.to_le_bytes(),
                &f64::INFINITY.to_le_bytes(),
            ),
            _ => (SortKey([0; MAX_WIDTH]), SortKey([0xff; MAX_WIDTH])),
        }
    }
}

fn wider(a: (SortKey, SortKey), b: (SortKey, SortKey)) -> (SortKey, SortKey) {
    (a.0.min(b.0), a.1.max(b.1))
}

impl SortKey {
    /// Returns the key of a value, stored little-endian: its bytes from the most significant one on, with the sign so
    /// that negative values come first.
    fn of(order: ValueOrder, stored: &[u8]) -> Self {
        let mut key = [0; MAX_WIDTH];
        for (to, from) in key.iter_mut().zip(stored.iter().rev()) {
            *to = *from;
        }
        let is_negative = key[0] & 0x80 != 0;
        match order {
            ValueOrder::Unsigned => {}
            ValueOrder::Float if is_negative => {
                let bytes = key.iter_mut().take(stored.len());
                bytes.for_each(|byte| *byte = !*byte);
            }
            ValueOrder::Signed | ValueOrder::Float => key[0] ^= 0x80,
        }
        Self(key)
    }

    /// Returns the value as it is stored, followed by zeros.
    fn value(self, order: ValueOrder, width: usize) -> [u8; MAX_WIDTH] {
        let mut key = self.0;
        let is_negative = key[0] & 0x80 == 0;
        match order {
            ValueOrder::Unsigned => {}
            ValueOrder::Float if is_negative => key.iter_mut().for_each(|byte| *byte = !*byte),
            ValueOrder::Signed | ValueOrder::Float => key[0] ^= 0x80,
        }
        let mut stored = [0; MAX_WIDTH];
        for (to, from) in stored.iter_mut().zip(key.iter().take(width).rev()) {
            *to = *from;
        }
        stored
    }

    /// Returns the value as a number, rounded.
    fn number(self, order: ValueOrder, width: usize) -> f64 {
        let stored = self.value(order, width);
        let digits = stored.iter().take(width).rev();
        match (order, width) {
            (ValueOrder::Float, 4) => f64::from(f32::from_le_bytes([
                stored[0], stored[1], stored[2], stored[3],
            ])),
            (ValueOrder::Float, _) => {
                let word = stored.first_chunk().copied().unwrap_or_default();
                f64::from_le_bytes(word)
            }
            _ => digits.enumerate().fold(0.0, |number, (i, &digit)| {
                // In two's complement, the most significant digit has the sign.
                let digit = if i == 0 && order == ValueOrder::Signed {
                    f64::from(digit.cast_signed())
                } else {
                    f64::from(digit)
                };
                number * 256.0 + digit
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node(basic_type: BasicType, signed: bool) -> DataType {
        DataType {
            signed,
            ..DataType::new(basic_type, "c")
        }
    }

    /// Returns the index of pages of `len` positions with ranges of 100 numbers, and changes of some of them.
    fn index(
        pages: u64,
        len: u64,
        change: impl Fn(u64, &mut PageNulls, &mut Option<(i32, i32)>),
    ) -> Option<IndexedRanges> {
        let node = node(BasicType::Int32, true);
        let mut ranges = PageRanges::new(&node, pages * len).unwrap();
        for page in 0..pages {
            let first = i32::try_from(100 * page).unwrap() - 500;
            let (mut nulls, mut bounds) = (PageNulls::None, Some((first, first + 99)));
            change(page, &mut nulls, &mut bounds);
            let stored = bounds.map(|(a, b)| (a.to_le_bytes(), b.to_le_bytes()));
            let stored = stored.as_ref().map(|(a, b)| (&a[..], &b[..]));
            ranges.add(len, nulls, stored);
        }
        ranges.finish()
    }

    fn bounds_of(index: &IndexedRanges, block: usize) -> (i32, i32) {
        let value = |bytes: &[u8]| i32::from_le_bytes(bytes[4 * block..][..4].try_into().unwrap());
        (value(&index.minimums), value(&index.maximums))
    }

    #[test]
    fn blocks_have_the_ranges_of_all_pages_in_them() {
        let index = index(10, 1000, |_, _, _| {}).unwrap();
        assert_eq!(index.positions, 10_000);
        assert_eq!(bounds_of(&index, 0), (-500, -401));
        // Positions 768 to 1023 are in two pages.
        assert_eq!(bounds_of(&index, 3), (-500, -301));
        assert_eq!(bounds_of(&index, 39), (400, 499));
        assert!(index.invalid.iter().all(|count| *count == 0));
    }

    #[test]
    fn unknown_pages_match_always_and_pages_of_nulls_have_no_values() {
        let changed = index(20, 512, |page, nulls, bounds| match page {
            1 => *bounds = None,
            2 => *bounds = Some((7, 6)),
            3 => *nulls = PageNulls::All,
            4 => *nulls = PageNulls::Possible,
            _ => {}
        });
        let index = changed.unwrap();
        for block in 2..6 {
            assert_eq!(bounds_of(&index, block), (i32::MIN, i32::MAX));
        }
        assert_eq!(index.invalid[4..10], [0, 0, 256, 256, 1, 1]);
    }

    #[test]
    fn a_last_position_that_may_be_null_has_no_index() {
        let last = |nulls: PageNulls, more: u64| {
            let mut ranges = PageRanges::new(&node(BasicType::Int32, true), 8192 + more).unwrap();
            for value in 0..8192 / 64 {
                let value = i32::to_le_bytes(value);
                ranges.add(64, PageNulls::None, Some((&value, &value)));
            }
            ranges.add(more, nulls, Some((&[1, 0, 0, 0], &[2, 0, 0, 0])));
            ranges.finish().is_some()
        };
        assert!(last(PageNulls::None, 1) && last(PageNulls::All, 1));
        assert!(!last(PageNulls::Possible, 1));
        assert!(last(PageNulls::Possible, 2));
    }

    #[test]
    fn fields_with_too_many_positions_get_no_index() {
        let new = |positions| PageRanges::new(&node(BasicType::Int64, true), positions);
        assert!(new(1 << 25).is_some());
        assert!(new((1 << 25) + 1).is_none() && new(u64::MAX).is_none());
        assert!(PageRanges::new(&node(BasicType::String, false), 10).is_none());
    }

    proptest! {
        #[test]
        fn keys_are_ordered_like_values(a: i64, b: i64, x: f64, y: f64) {
            let key = |order, stored: [u8; 8]| SortKey::of(order, &stored);
            let signed = |v: i64| key(ValueOrder::Signed, v.to_le_bytes());
            prop_assert_eq!(signed(a).cmp(&signed(b)), a.cmp(&b));
            let (c, d) = (a.cast_unsigned(), b.cast_unsigned());
            let unsigned = |v: u64| key(ValueOrder::Unsigned, v.to_le_bytes());
            prop_assert_eq!(unsigned(c).cmp(&unsigned(d)), c.cmp(&d));
            let float = |v: f64| key(ValueOrder::Float, v.to_le_bytes());
            prop_assert_eq!(float(x).cmp(&float(y)), x.total_cmp(&y));
            let back = |order, key: SortKey| key.value(order, 8)[..8].to_vec();
            prop_assert_eq!(back(ValueOrder::Signed, signed(a)), a.to_le_bytes());
            prop_assert_eq!(back(ValueOrder::Unsigned, unsigned(c)), c.to_le_bytes());
            prop_assert_eq!(back(ValueOrder::Float, float(x)), x.to_le_bytes());
            #[expect(clippy::cast_precision_loss, reason = "rounded, too")]
            let (a_rounded, c_rounded) = (a as f64, c as f64);
            let close = |one: f64, other: f64| (one - other).abs() <= 1e-12 * other.abs();
            prop_assert!(close(signed(a).number(ValueOrder::Signed, 8), a_rounded));
            prop_assert!(close(unsigned(c).number(ValueOrder::Unsigned, 8), c_rounded));
            prop_assert_eq!(float(x).number(ValueOrder::Float, 8).to_bits(), x.to_bits());
        }
    }
}
