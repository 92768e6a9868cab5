//! Offset and limit of the rows that match.

use arrow_array::RecordBatch;

/// The remaining offset and limit of a scan with a filter.
#[derive(Debug, Clone, Default)]
pub(in crate::read) struct OffsetLimit {
    /// Matching rows still to be skipped.
    skip: u64,
    /// Most matching rows still to be returned; `None` without a limit.
    left: Option<u64>,
}

impl OffsetLimit {
    pub(in crate::read) fn new(skip: u64, left: Option<u64>) -> Self {
        Self { skip, left }
    }

    /// Whether the limit has been reached.
    pub(in crate::read) fn is_over(&self) -> bool {
        self.left == Some(0)
    }

    /// Returns the most rows that the scan can return if `rows` more rows match.
    pub(in crate::read) fn most(&self, rows: u64) -> u64 {
        rows.saturating_sub(self.skip)
            .min(self.left.unwrap_or(u64::MAX))
    }

    /// Returns the rows of the next batch that the scan returns; `None` if there are none.
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
