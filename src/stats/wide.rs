//! Spec: Chapter 6, "(Shard) Field Descriptor": constants of byte values, ranges of wide decimals.

use crate::format::{AnyValue, RangeStats};
use arrow_buffer::i256;

/// Longest byte value that a descriptor repeats as a constant.
const MAX_CONSTANT_BYTES: usize = 1024;

/// Size of a decimal that is stored as two's complement bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecimalWidth {
    /// 16 bytes.
    Bits128,
    /// 32 bytes.
    Bits256,
}

/// Whether byte values are all the same, and the range of those that are decimals.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByteStats {
    decimals: Option<DecimalWidth>,
    range: Option<(i256, i256)>,
    first: Option<Vec<u8>>,
    differ: bool,
}

impl ByteStats {
    pub(crate) fn new(decimals: Option<DecimalWidth>) -> Self {
        Self {
            decimals,
            ..Self::default()
        }
    }

    /// Whether every value so far is the same, so that further ones have to be looked at.
    pub(crate) fn may_be_constant(&self) -> bool {
        !self.differ
    }

    /// Takes note of a value that is not null.
    pub(crate) fn update(&mut self, value: &[u8]) {
        if !self.differ {
            match &self.first {
                Some(first) => self.differ = first != value,
                None if value.len() <= MAX_CONSTANT_BYTES => self.first = Some(value.to_vec()),
                None => self.differ = true,
            }
        }
        let number = match self.decimals {
            Some(DecimalWidth::Bits128) => value
                .try_into()
                .ok()
                .map(|v| i256::from_i128(i128::from_le_bytes(v))),
            Some(DecimalWidth::Bits256) => value.try_into().ok().map(i256::from_le_bytes),
            None => None,
        };
        if let Some(number) = number {
            let (min, max) = self.range.unwrap_or((number, number));
            self.range = Some((min.min(number), max.max(number)));
        }
    }

    /// Whether every value has to be passed to [`update`](Self::update) until the end.
    pub(crate) fn needs_all(&self) -> bool {
        self.decimals.is_some()
    }

    /// The range of decimals, as unscaled little-endian integers.
    pub(crate) fn range(&self) -> Option<RangeStats> {
        let (min, max) = self.range?;
        let bytes = |v: i256| {
            let wide = v.to_le_bytes();
            let stored = match self.decimals {
                Some(DecimalWidth::Bits128) => &wide[..16],
                _ => &wide[..],
            };
            AnyValue::from(stored).with_annotation("arrow.decimal")
        };
        Some(RangeStats {
            min_value: Some(bytes(min)),
            min_inclusive: true,
            max_value: Some(bytes(max)),
            max_inclusive: true,
        })
    }

    /// The bytes that all values have.
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        self.first.as_deref().filter(|_| !self.differ)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ValueKind;

    #[test]
    fn decimals_compare_as_numbers() {
        let mut stats = ByteStats::new(Some(DecimalWidth::Bits128));
        for v in [5i128, -300, 7] {
            stats.update(&v.to_le_bytes());
        }
        let range = stats.range().unwrap();
        let bytes = |v: Option<AnyValue>| match v.unwrap().kind {
            Some(ValueKind::Bytes(b)) => i128::from_le_bytes(b.try_into().unwrap()),
            other => panic!("{other:?}"),
        };
        assert_eq!((bytes(range.min_value), bytes(range.max_value)), (-300, 7));
        assert_eq!(stats.constant(), None);
    }

    #[test]
    fn a_constant_is_kept_until_values_differ() {
        let mut stats = ByteStats::new(None);
        stats.update(b"a");
        stats.update(b"a");
        assert_eq!(stats.constant(), Some(&b"a"[..]));
        stats.update(b"");
        assert_eq!(stats.constant(), None);
    }
}
