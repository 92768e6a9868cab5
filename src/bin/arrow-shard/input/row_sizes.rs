//! The number of rows in a batch of text. The readers of CSV and JSON take memory for every value of a
//! batch before they read the first row, and no column of a batch holds 2 GiB of text.

use arrow_schema::Schema;

/// Text in a batch, in bytes; a longer row is a batch of its own.
const BATCH_BYTES: usize = 16 << 20;
/// Values in a batch; a row with more is a batch of its own. Each takes about 40 bytes of the reader
/// of JSON, and 24 of the reader of CSV.
const BATCH_VALUES: usize = 1 << 19;
/// Powers of two up to the most rows of a batch, 8192.
const LEVELS: usize = 14;

/// The sizes of rows, met in their order.
#[derive(Debug, Default)]
pub(super) struct RowSizes {
    /// Rows met.
    rows: usize,
    /// Bytes of the largest group of 1, 2, 4, ... rows. A group of `n` rows begins at a multiple of `n`.
    largest: [usize; LEVELS],
    /// Bytes of a group without a partner, which is complete where `rows` has that bit.
    single: [usize; LEVELS],
}

impl RowSizes {
    /// Meets the next row.
    pub(super) fn meet(&mut self, bytes: usize) {
        let mut group = bytes;
        let levels = self.largest.iter_mut().zip(&mut self.single);
        for (level, (largest, single)) in levels.enumerate() {
            *largest = group.max(*largest);
            if (self.rows >> level) & 1 == 0 {
                *single = group;
                break;
            }
            group += *single;
        }
        self.rows += 1;
    }

    /// The number of rows met.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The most rows, a power of two, that hold no more than [`BATCH_BYTES`] wherever they begin.
    fn fitting(&self) -> usize {
        // The last group of each size is incomplete.
        let mut last = 0;
        let levels = self.largest.iter().zip(&self.single).enumerate();
        let fits = levels.map(|(level, (largest, single))| {
            let fits = last.max(*largest) <= BATCH_BYTES;
            if (self.rows >> level) & 1 == 1 {
                last += single;
            }
            fits
        });
        1 << fits.take_while(|&fits| fits).count().saturating_sub(1)
    }
}

/// A schema, and the sizes of the rows that it was inferred from.
#[derive(Debug)]
pub(super) struct Inferred {
    pub(super) schema: Schema,
    pub(super) sizes: RowSizes,
    /// Whether these are all rows that there are.
    pub(super) is_whole: bool,
    /// Values of a row on average, at most.
    pub(super) values: usize,
}

impl Inferred {
    /// Rows of a batch: `most`, or fewer where they are large.
    pub(super) fn batch_rows(&self, most: usize) -> usize {
        let known = match self.is_whole {
            true => self.sizes.rows(),
            false => most,
        };
        let values = BATCH_VALUES / self.values.max(1);
        let rows = most.min(known).min(values).min(self.sizes.fitting());
        rows.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::repeat_n;

    fn fitting(rows: impl IntoIterator<Item = usize>) -> usize {
        let mut sizes = RowSizes::default();
        rows.into_iter().for_each(|bytes| sizes.meet(bytes));
        sizes.fitting()
    }

    #[test]
    fn no_batch_has_more_bytes_than_fit() {
        const MIB: usize = 1 << 20;
        assert_eq!(fitting([]), 8192);
        assert_eq!(fitting(repeat_n(100, 100_000)), 8192);
        assert_eq!(fitting([3 * MIB; 9]), 4);
        assert_eq!(fitting([17 * MIB]), 1);
        assert_eq!(fitting([1, 17 * MIB, 1]), 1);
        // One group of two is too large, and it is the last, incomplete one of four.
        assert_eq!(fitting([0, 0, 0, 0, 9 * MIB, 9 * MIB]), 1);
        assert_eq!(fitting([0, 0, 0, 0, 0, 9 * MIB, 9 * MIB]), 2);
        for rows in 1..70 {
            let bytes: Vec<usize> = (0..rows).map(|i| (i * 7919 % 13) * MIB).collect();
            let fits = fitting(bytes.iter().copied());
            let most = |n: usize| bytes.chunks(n).map(|it| it.iter().sum::<usize>()).max();
            assert!(fits == 1 || most(fits) <= Some(BATCH_BYTES), "{rows}");
            assert!(fits == 8192 || most(2 * fits) > Some(BATCH_BYTES), "{rows}");
        }
    }
}
