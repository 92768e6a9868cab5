//! Spec: Chapter 6, "(Shard) Field Descriptor": lengths of strings, binary values and lists.

use crate::format::LengthStats;

/// The lengths of the values seen so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    min: u64,
    min_non_empty: u64,
    max: u64,
}

impl Default for Lengths {
    fn default() -> Self {
        Self {
            min: u64::MAX,
            min_non_empty: u64::MAX,
            max: 0,
        }
    }
}

impl Lengths {
    /// Adds the length of a value that is not null.
    #[inline]
    pub(crate) fn add(&mut self, len: u64) {
        self.min = self.min.min(len);
        self.max = self.max.max(len);
        // One is subtracted, so that the length 0 wraps to the maximum and is never the least.
        self.min_non_empty = self.min_non_empty.min(len.wrapping_sub(1));
    }

    /// Returns the statistics; all 0 if every value was null.
    pub(crate) fn finish(self) -> LengthStats {
        LengthStats {
            min: if self.min == u64::MAX { 0 } else { self.min },
            min_non_empty: self.min_non_empty.checked_add(1),
            max: self.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_length_that_is_not_0_is_told_apart() {
        let of = |lengths: &[u64]| {
            let mut all = Lengths::default();
            lengths.iter().for_each(|&len| all.add(len));
            let stats = all.finish();
            (stats.min, stats.min_non_empty, stats.max)
        };
        assert_eq!(of(&[]), (0, None, 0));
        assert_eq!(of(&[0, 0]), (0, None, 0));
        assert_eq!(of(&[3, 0, 5]), (0, Some(3), 5));
        assert_eq!(of(&[2, 7]), (2, Some(2), 7));
    }
}
