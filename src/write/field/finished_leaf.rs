//! The finished values of a leaf field.

use super::codes::FinishedEntries;
use crate::buffer::FinishedBuffer;
use crate::encoding::Word;
use crate::stats::{ByteStats, DecimalStats, DistinctStats};

/// The buffers of the values of a leaf.
#[derive(Debug)]
pub(super) struct FinishedLeaf {
    pub(super) buffers: Vec<FinishedBuffer>,
    /// The entries of the dictionary, if there is one.
    pub(super) entries: Option<FinishedEntries>,
    pub(super) distinct: Option<DistinctStats>,
    /// Number of distinct values, if known.
    pub(super) distinct_count: Option<u64>,
}

impl FinishedLeaf {
    /// Returns values without a dictionary.
    pub(super) fn plain(buffers: Vec<FinishedBuffer>) -> Self {
        Self {
            buffers,
            entries: None,
            distinct: None,
            distinct_count: None,
        }
    }

    /// Returns numbers without a dictionary, and counts the distinct ones if they have few bits.
    pub(super) fn of_numbers<W: Word>(
        buffer: FinishedBuffer,
        mut distinct: Option<DistinctStats>,
    ) -> Self {
        let small = distinct.as_mut();
        let distinct_count = small.and_then(DistinctStats::complete_small::<W>);
        Self {
            distinct_count,
            ..Self::plain(vec![buffer]).with_distinct(distinct)
        }
    }

    /// Returns values with a dictionary.
    pub(super) fn with_entries(buffers: Vec<FinishedBuffer>, entries: FinishedEntries) -> Self {
        Self {
            distinct_count: entries.distinct(),
            entries: Some(entries),
            ..Self::plain(buffers)
        }
    }

    /// Sets the statistics of distinct values, after adding the entries of the dictionary.
    pub(super) fn with_distinct(mut self, mut distinct: Option<DistinctStats>) -> Self {
        if let (Some(entries), Some(distinct)) = (&self.entries, &mut distinct) {
            entries.used().for_each(|(entry, _)| distinct.add(entry));
        }
        self.distinct = distinct;
        self
    }
}

/// The buffers of byte values, and statistics of the values.
#[derive(Debug)]
pub(super) struct FinishedBytes {
    pub(super) leaf: FinishedLeaf,
    pub(super) stats: ByteStats,
    pub(super) decimals: Option<DecimalStats>,
}
