//! Scans of the columns and rows that a question asks for.

use crate::data::BATCH_ROWS;
use crate::peer::traits::Want;
use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_shard::Shard;
use arrow_shard::read::{Literal, ScanBuilder, col};

/// Returns a scan of the wanted columns and rows.
pub(super) fn wanted(shard: &Shard, want: Want<'_>) -> Result<ScanBuilder> {
    let scan = shard.scan().with_batch_size(BATCH_ROWS);
    Ok(match want {
        Want::Written => scan,
        Want::Types(schema) => scan.with_schema(schema.clone()),
        Want::Columns(columns) => scan.with_projection(columns.to_vec()),
        Want::Names(names) => scan.with_projection(names.to_vec()),
        Want::Matching(filter) => {
            let literal = |value: &ArrayRef| Literal::try_new(value);
            let (low, high) = (literal(&filter.low)?, literal(&filter.high)?);
            scan.with_filter(col(&filter.name).between(low, high))
        }
    })
}
