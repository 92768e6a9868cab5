//! Rows cut into pieces that can be read independently.

use crate::error::Result;
use crate::read::shard::metadata::{Metadata, WINDOW_ROWS, ready};
use std::collections::VecDeque;
use std::ops::Range;

/// Rows of a stripe, by number in the shard.
#[derive(Debug)]
struct StripeRows {
    /// Number of the stripe's first row.
    first: u64,
    rows: Range<u64>,
}

impl StripeRows {
    /// Returns the ordinal of the window that contains a row.
    fn window_of(&self, row: u64) -> u64 {
        (row - self.first) / WINDOW_ROWS
    }

    /// Returns the first row of a window, or the end of the rows.
    fn start_of(&self, window: u64) -> u64 {
        self.border_of(window, WINDOW_ROWS)
    }

    /// Returns the first row of a unit of `unit` rows, or the end of the rows.
    fn border_of(&self, ordinal: u64, unit: u64) -> u64 {
        let start = self.first.saturating_add(ordinal.saturating_mul(unit));
        start.min(self.rows.end)
    }
}

/// Returns the stripes with rows of a range, and these rows.
async fn stripes_of(metadata: &Metadata, rows: &Range<u64>) -> Result<VecDeque<StripeRows>> {
    let found = metadata.run(|step| {
        let stripes = ready!(metadata.stripes(step));
        let before =
            stripes.partition_point(|s| s.record_offset + s.total_record_count <= rows.start);
        let started = stripes[before..]
            .iter()
            .take_while(|s| s.record_offset < rows.end);
        let parts = started.map(|s| {
            let end = s.record_offset + s.total_record_count;
            StripeRows {
                first: s.record_offset,
                rows: s.record_offset.max(rows.start)..end.min(rows.end),
            }
        });
        Ok(Some(parts.filter(|s| !s.rows.is_empty()).collect()))
    });
    found.await
}

/// Rows cut at the borders of stripes. Inside of a stripe, they are cut at the first multiple of `batch` rows, counted
/// from the start of the piece, at or after a multiple of `unit` rows. Read in batches of `batch` rows, the pieces
/// result in the same batches as all rows together, unless a batch has to be shorter.
#[derive(Debug)]
pub(in crate::read) struct Windows {
    stripes: VecDeque<StripeRows>,
    unit: u64,
    batch: u64,
}

impl Windows {
    pub(in crate::read) async fn try_new(
        metadata: &Metadata,
        rows: &Range<u64>,
        unit: u64,
        batch: u64,
    ) -> Result<Self> {
        Ok(Self {
            stripes: stripes_of(metadata, rows).await?,
            unit,
            batch,
        })
    }

    /// Drops the remaining pieces.
    #[cfg(feature = "threads")]
    pub(in crate::read) fn clear(&mut self) {
        self.stripes.clear();
    }

    /// Returns the number of the first row of the stripe with the next piece.
    pub(in crate::read) fn next_stripe(&self) -> Option<u64> {
        self.stripes.front().map(|stripe| stripe.first)
    }
}

impl Iterator for Windows {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        let stripe = self.stripes.front_mut()?;
        let Range { start, end } = stripe.rows;
        let border = stripe.border_of((start - stripe.first) / self.unit + 1, self.unit);
        // Batches are cut from the first row on, so a piece must end at the end of a batch.
        let whole = (border - start).div_ceil(self.batch).max(1);
        let whole = whole.saturating_mul(self.batch);
        let next = start.saturating_add(whole).min(end);
        stripe.rows.start = next;
        if next == end {
            self.stripes.pop_front();
        }
        Some(start..next)
    }
}

/// Cuts rows into at most `parts` ranges with about equal numbers of windows.
pub(in crate::read) async fn split(
    metadata: &Metadata,
    rows: &Range<u64>,
    parts: u64,
) -> Result<Vec<Range<u64>>> {
    let stripes = stripes_of(metadata, rows).await?;
    let count = |s: &StripeRows| s.window_of(s.rows.end - 1) - s.window_of(s.rows.start) + 1;
    let total: u64 = stripes.iter().map(count).sum();
    let per_part = total.div_ceil(parts.max(1)).max(1);
    let mut cut = Vec::new();
    let mut start = rows.start;
    let mut left = per_part;
    for stripe in &stripes {
        let last = stripe.window_of(stripe.rows.end - 1);
        let mut window = stripe.window_of(stripe.rows.start);
        while last - window + 1 >= left {
            window += left;
            let end = stripe.start_of(window);
            cut.push(start..end);
            (start, left) = (end, per_part);
            if window > last {
                break;
            }
        }
        left -= (last + 1).saturating_sub(window);
    }
    let end = stripes.back().map_or(start, |stripe| stripe.rows.end);
    if start < end {
        cut.push(start..end);
    }
    Ok(cut)
}
