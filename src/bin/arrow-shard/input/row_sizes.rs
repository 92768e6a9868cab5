//! Chooses the number of rows in a batch of text. The reader of JSON allocates memory for every value of a batch before
//! it reads the first row, and no column of a batch can hold 2 GiB of text.

use arrow_schema::SchemaRef;

/// Maximum size of the text in a batch, in bytes. A longer row is a batch of its own.
const BATCH_BYTES: usize = 16 << 20;
/// Maximum number of values in a batch. A row with more is a batch of its own. Each value takes about 40 bytes in the
/// JSON reader, and 8 in the CSV reader.
const BATCH_VALUES: usize = 1 << 19;
/// Number of powers of two up to the maximum number of rows in a batch, 8192.
const LEVELS: usize = 14;

/// The sizes of rows, recorded in order.
#[derive(Debug, Clone, Default)]
pub(super) struct RowSizes {
    /// Number of rows recorded.
    rows: usize,
    /// Size of the largest group of 1, 2, 4, ... rows. A group of `n` rows begins at a multiple of `n`.
    largest: [usize; LEVELS],
    /// Size of the group that waits for its partner. It is complete if `rows` has the bit of its level.
    single: [usize; LEVELS],
}

impl RowSizes {
    /// Records the next row.
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

    /// Returns the number of rows recorded.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the largest power of two so that this many rows have at most [`BATCH_BYTES`], wherever they begin.
    pub(super) fn fitting(&self) -> usize {
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

/// Returns the maximum number of rows in a batch if each row has this many values.
pub(super) fn rows_of_values(values: usize) -> usize {
    (BATCH_VALUES / values.max(1)).max(1)
}

/// A schema that was inferred from rows.
#[derive(Debug, Clone)]
pub(super) struct Inferred {
    pub(super) schema: SchemaRef,
    /// The columns of CSV without values, which are read as text.
    pub(super) untyped: Vec<usize>,
    /// Maximum number of rows in a batch.
    pub(super) batch_rows: usize,
    /// Whether there may be rows that the types were not inferred from.
    pub(super) is_sample: bool,
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
