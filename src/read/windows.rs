//! Rows in pieces that can be read apart from each other.

use super::metadata::{WINDOW, ready};
use super::shard::Shard;
use crate::error::Result;
use std::ops::Range;

/// Cuts rows at the borders of stripes, and inside of them where the windows that blocks end at do,
/// or at the next multiple of `batch` rows: read in batches of so many rows, the pieces give the
/// same batches as the rows in one.
pub(super) fn windows(shard: &Shard, rows: Range<u64>, batch: u64) -> Result<Vec<Range<u64>>> {
    let stripes = shard.drive(|bench| {
        let stripes = ready!(shard.inner.stripes(bench));
        let first =
            stripes.partition_point(|s| s.record_offset + s.total_record_count <= rows.start);
        let ranges = stripes[first..]
            .iter()
            .take_while(|s| s.record_offset < rows.end)
            .map(|s| s.record_offset..s.record_offset + s.total_record_count);
        Ok(Some(ranges.collect::<Vec<_>>()))
    })?;
    let mut pieces = Vec::new();
    for stripe in stripes {
        let end = stripe.end.min(rows.end);
        let mut start = stripe.start.max(rows.start);
        while start < end {
            let border = stripe.start + ((start - stripe.start) / WINDOW + 1) * WINDOW;
            // Batches are cut from the first row on, so that a piece ends where a batch does.
            let whole = (border - start)
                .div_ceil(batch)
                .max(1)
                .saturating_mul(batch);
            let next = start.saturating_add(whole).min(end);
            pieces.push(start..next);
            start = next;
        }
    }
    Ok(pieces)
}
