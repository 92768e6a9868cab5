//! Orders of rows: converts between sorting columns of shards and DataFusion's orderings, and orders stripes for TopK.

use crate::error::Context;
use crate::metadata::OpenShard;
use arrow::array::{Array, AsArray};
use arrow::compute::{SortOptions, sort_to_indices};
use arrow::datatypes::Schema;
use arrow_shard::metadata::SortingColumn;
use datafusion_common::stats::Precision;
use datafusion_common::{ColumnStatistics, Result};
use datafusion_datasource::PartitionedFile;
use datafusion_datasource::file_groups::FileGroup;
use datafusion_physical_expr::PhysicalSortExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr_common::sort_expr::LexOrdering;
use std::ops::Range;
use std::sync::Arc;

/// Returns the order of the rows of a shard, up to the first sorting column that is not a column of the table.
///
/// # Errors
/// Returns an error if the properties are damaged or cannot be read.
pub(crate) async fn ordering_of(open: &OpenShard, table: &Schema) -> Result<Option<LexOrdering>> {
    let columns = open.shard.sorting_columns_async().await;
    let columns = columns.context("sorting columns")?;
    let mut order = Vec::new();
    for column in columns {
        // Members of structs are not columns of a plan, and a cast may change an order.
        let found = table.column_with_name(&column.path);
        let stored = open.schema.field_with_name(&column.path);
        let Some(((ordinal, field), stored)) = found.zip(stored.ok()) else {
            break;
        };
        if !crate::adapt::are_alike(field.data_type(), stored.data_type()) {
            break;
        }
        order.push(PhysicalSortExpr::new(
            Arc::new(Column::new(&column.path, ordinal)),
            SortOptions {
                descending: column.descending,
                nulls_first: column.nulls_first,
            },
        ));
    }
    Ok(LexOrdering::new(order))
}

/// Returns whether each group of files has an order as a whole. The caller knows that each file has it, and that the
/// files of a group follow each other by their bounds. Bounds do not cover nulls, so a null may break the order.
pub(crate) fn holds_across_files(order: &LexOrdering, groups: &[FileGroup]) -> bool {
    let has_no_null = |sort: &PhysicalSortExpr, group: &FileGroup| {
        let known = |file| known(file, sort);
        group
            .iter()
            .all(|file| known(file).is_some_and(|known| known.null_count == Precision::Exact(0)))
    };
    let (first, others) = order.split_first().unzip();
    let several = groups.iter().filter(|group| group.len() > 1);
    several.into_iter().all(|group| {
        first.is_some_and(|first| {
            has_no_null(first, group) && {
                // The other columns matter only if the last rows of a file and the first rows of the next one may
                // have the same value in the first column.
                let files: Vec<&PartitionedFile> = group.iter().collect();
                let are_apart = files
                    .windows(2)
                    .all(|pair| follows(pair[0], pair[1], first));
                are_apart
                    || others
                        .is_some_and(|others| others.iter().all(|sort| has_no_null(sort, group)))
            }
        })
    })
}

/// Returns the statistics of a file for the column that rows are sorted by.
fn known<'a>(file: &'a PartitionedFile, sort: &PhysicalSortExpr) -> Option<&'a ColumnStatistics> {
    let column = sort.expr.downcast_ref::<Column>()?;
    file.statistics
        .as_ref()?
        .column_statistics
        .get(column.index())
}

/// Returns whether all values of a file come before all values of the next one.
fn follows(file: &PartitionedFile, next: &PartitionedFile, sort: &PhysicalSortExpr) -> bool {
    let (Some(file), Some(next)) = (known(file, sort), known(next, sort)) else {
        return false;
    };
    let (low, high) = if sort.options.descending {
        (&next.max_value, &file.min_value)
    } else {
        (&file.max_value, &next.min_value)
    };
    matches!((low.get_value(), high.get_value()), (Some(low), Some(high)) if low < high)
}

/// Converts an order of written rows to sorting columns, up to the first expression that is not a column.
pub(crate) fn sorting_columns(order: &LexOrdering) -> Vec<SortingColumn> {
    let column = |sort: &PhysicalSortExpr| {
        let column = sort.expr.downcast_ref::<Column>()?;
        Some(SortingColumn {
            path: column.name().to_owned(),
            descending: sort.options.descending,
            nulls_first: sort.options.nulls_first,
        })
    };
    order.iter().map_while(column).collect()
}

/// Returns the first column of an order with its direction, if its first expression is a column.
pub(crate) fn leading_column(order: &LexOrdering) -> Option<(&Column, SortOptions)> {
    let first = order.first();
    Some((first.expr.downcast_ref::<Column>()?, first.options))
}

/// Sorts stripes by their bounds of a column, so that TopK finds its rows early. Stripes without statistics come last.
///
/// # Errors
/// Returns an error if the metadata are damaged or cannot be read.
pub(crate) async fn sort_stripes(
    open: &OpenShard,
    ordinal: usize,
    options: SortOptions,
    stripes: &mut [(usize, Range<u64>)],
) -> Result<()> {
    let answer = open.shard.stripe_statistics_async([ordinal]).await;
    let known = answer.context("statistics of stripes")?;
    let side = if options.descending { "max" } else { "min" };
    let bounds = known.column(1).as_struct_opt();
    let Some(bounds) = bounds.and_then(|bounds| bounds.column_by_name(side)) else {
        return Ok(());
    };
    let options = SortOptions {
        nulls_first: false,
        ..options
    };
    let order = sort_to_indices(bounds, Some(options), None)?;
    let mut ranks = vec![None; bounds.len()];
    for (rank, &stripe) in order.values().iter().enumerate() {
        let stripe = usize::try_from(stripe).ok();
        if let Some(of_stripe) = stripe.and_then(|stripe| ranks.get_mut(stripe)) {
            *of_stripe = Some(rank);
        }
    }
    // Ranks are valid only if there are bounds for every stripe.
    if bounds.len() > stripes.iter().map(|(stripe, _)| *stripe).max().unwrap_or(0) {
        stripes.sort_by_key(|(stripe, _)| ranks.get(*stripe).copied().flatten());
    }
    Ok(())
}
