//! Statistics of stripes for DataFusion's pruning. It checks filters that the library does not check itself: functions,
//! and filters that are evaluated above the scan.

use crate::error::Context;
use crate::metadata::OpenShard;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::SchemaRef;
use arrow_shard::read::RowSelection;
use datafusion_common::pruning::PruningStatistics;
use datafusion_common::{Column, Result, ScalarValue};
use datafusion_physical_expr::{PhysicalExpr, conjunction};
use datafusion_physical_plan::metrics::Count;
use datafusion_pruning::PruningPredicateBuilder;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Statistics of the columns of a filter, one value for each stripe.
struct StripeStatistics {
    stripes: usize,
    row_counts: ArrayRef,
    columns: HashMap<String, ColumnBounds>,
}

struct ColumnBounds {
    min: ArrayRef,
    max: ArrayRef,
    null_count: ArrayRef,
}

impl PruningStatistics for StripeStatistics {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        Some(self.columns.get(column.name())?.min.clone())
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        Some(self.columns.get(column.name())?.max.clone())
    }

    fn num_containers(&self) -> usize {
        self.stripes
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        Some(self.columns.get(column.name())?.null_count.clone())
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(self.row_counts.clone())
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

/// Returns the rows of all stripes that may contain a match of the filters; `None` if every stripe may.
///
/// # Errors
/// Returns an error if the metadata are damaged or cannot be read.
pub(crate) async fn stripes_that_may_match(
    filters: &[Arc<dyn PhysicalExpr>],
    schema: &SchemaRef,
    open: &OpenShard,
    stripes: &[Range<u64>],
    errors: &Count,
) -> Result<Option<RowSelection>> {
    if filters.is_empty() || stripes.is_empty() {
        return Ok(None);
    }
    let builder = PruningPredicateBuilder::new()
        .with_file_schema(schema.clone())
        .with_error_counter(errors);
    let Some(predicate) = builder.build(conjunction(filters.iter().cloned())) else {
        return Ok(None);
    };
    let mut statistics = None;
    let mut columns = HashMap::new();
    for name in predicate.literal_columns().into_iter().chain(
        datafusion_physical_expr::utils::collect_columns(predicate.orig_expr())
            .iter()
            .map(|column| column.name().to_owned()),
    ) {
        let Ok(ordinal) = schema.index_of(&name) else {
            continue;
        };
        let answer = open.shard.stripe_statistics_async([ordinal]).await;
        let known = answer.context("statistics of stripes")?;
        // Columns of the result: the number of rows, the column, and its members.
        if let Some(bounds) = known.column(1).as_struct_opt()
            && let (Some(min), Some(max), Some(null_count)) = (
                bounds.column_by_name("min"),
                bounds.column_by_name("max"),
                bounds.column_by_name("null_count"),
            )
        {
            columns.insert(
                name,
                ColumnBounds {
                    min: min.clone(),
                    max: max.clone(),
                    null_count: null_count.clone(),
                },
            );
        }
        statistics.get_or_insert_with(|| known.column(0).clone());
    }
    let Some(row_counts) = statistics.filter(|counts| counts.len() == stripes.len()) else {
        return Ok(None);
    };
    let statistics = StripeStatistics {
        stripes: stripes.len(),
        row_counts,
        columns,
    };
    let kept = match predicate.prune(&statistics) {
        Ok(kept) => kept,
        // Statistics cannot decide this filter.
        Err(_) => {
            errors.add(1);
            return Ok(None);
        }
    };
    if kept.iter().all(|&kept| kept) {
        return Ok(None);
    }
    let kept = stripes.iter().zip(kept).filter(|(_, kept)| *kept);
    let rows: Vec<Range<u64>> = kept.map(|(rows, _)| rows.clone()).collect();
    Ok(Some(RowSelection::from(rows)))
}
