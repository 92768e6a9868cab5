//! Offset and limit of the rows that match.

use arrow_array::RecordBatch;

/// What offset and limit of a scan with a filter leave out.
#[derive(Debug, Clone, Default)]
pub(in crate::read) struct Cut {
    /// Matching rows that are still to be left out.
    skip: u64,
    /// Matching rows that are still to be given at most.
    left: Option<u64>,
}

impl Cut {
    pub(in crate::read) fn new(skip: u64, left: Option<u64>) -> Self {
        Self { skip, left }
    }

    /// Whether no more rows are given.
    pub(in crate::read) fn is_over(&self) -> bool {
        self.left == Some(0)
    }

    /// How many of so many rows are given at most.
    pub(in crate::read) fn most(&self, rows: u64) -> u64 {
        rows.saturating_sub(self.skip)
            .min(self.left.unwrap_or(u64::MAX))
    }

    /// The rows of the next batch that are given; `None` if none are.
    pub(in crate::read) fn apply(&mut self, batch: RecordBatch) -> Option<RecordBatch> {
        let rows = batch.num_rows() as u64;
        let skipped = self.skip.min(rows);
        let given = (rows - skipped).min(self.left.unwrap_or(u64::MAX));
        self.skip -= skipped;
        self.left = self.left.map(|left| left - given);
        if given == rows {
            return (rows > 0).then_some(batch);
        }
        let cut = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        (given > 0).then(|| batch.slice(cut(skipped), cut(given)))
    }
}
