//! The columns and rows that a question asks for, as projections, filters and selections.

use crate::data::Filter;
use crate::peer::traits::Want;
use anyhow::{Context, Result};
use arrow_arith::boolean::and;
use arrow_array::{Array, ArrayRef, BooleanArray, Scalar};
use arrow_ord::cmp::{gt_eq, lt_eq};
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderBuilder, ArrowReaderMetadata, RowFilter, RowSelection, RowSelector,
};

/// Selects columns and rows of a file. The metadata must include the page index if rows are selected.
pub(super) fn wanted<R>(
    builder: ArrowReaderBuilder<R>,
    metadata: &ArrowReaderMetadata,
    want: Want<'_>,
) -> Result<ArrowReaderBuilder<R>> {
    let schema = metadata.parquet_schema();
    Ok(match want {
        Want::Written | Want::Types(_) => builder,
        Want::Matching(filter) => matching(builder, metadata, filter)?,
        Want::Names(names) => {
            let names = names.iter().map(String::as_str);
            builder.with_projection(ProjectionMask::columns(schema, names))
        }
        Want::Columns(columns) => {
            let roots = columns.iter().copied();
            builder.with_projection(ProjectionMask::roots(schema, roots))
        }
    })
}

/// Skips row groups and pages by their statistics, then rows by the filtered column.
fn matching<R>(
    builder: ArrowReaderBuilder<R>,
    metadata: &ArrowReaderMetadata,
    filter: &Filter,
) -> Result<ArrowReaderBuilder<R>> {
    let (groups, selection) = may_match(metadata, filter)?;
    let mask = ProjectionMask::roots(metadata.parquet_schema(), [filter.column]);
    let filter = filter.clone();
    let predicate = ArrowPredicateFn::new(mask, move |batch| {
        let matches = filter.matches(batch.column(0));
        matches.map_err(|e| ArrowError::ExternalError(e.into()))
    });
    Ok(builder
        .with_row_groups(groups)
        .with_row_selection(selection)
        .with_row_filter(RowFilter::new(vec![Box::new(predicate)])))
}

/// Selects rows by their numbers.
pub(super) fn selection(metadata: &ArrowReaderMetadata, rows: &[u64]) -> Result<RowSelection> {
    let total = usize::try_from(metadata.metadata().file_metadata().num_rows())?;
    let ranges = rows.iter().map(|&row| row as usize..row as usize + 1);
    Ok(RowSelection::from_consecutive_ranges(ranges, total))
}

/// Returns the row groups, and their rows, that statistics do not exclude.
fn may_match(
    metadata: &ArrowReaderMetadata,
    filter: &Filter,
) -> Result<(Vec<usize>, RowSelection)> {
    let file = metadata.metadata();
    let (schema, parquet) = (metadata.schema(), metadata.parquet_schema());
    let converter = StatisticsConverter::try_new(&filter.name, schema, parquet)?;
    let overlaps = |least: &ArrayRef, most: &ArrayRef| -> Result<BooleanArray> {
        let below = lt_eq(least, &Scalar::new(&filter.high))?;
        let above = gt_eq(most, &Scalar::new(&filter.low))?;
        Ok(and(&below, &above)?)
    };
    // A page without statistics may match.
    let may = |mask: &BooleanArray, i: usize| mask.is_null(i) || mask.value(i);
    let groups = file.row_groups();
    let least = converter.row_group_mins(groups)?;
    let mask = overlaps(&least, &converter.row_group_maxes(groups)?)?;
    let groups: Vec<usize> = (0..groups.len()).filter(|&i| may(&mask, i)).collect();
    let (Some(columns), Some(offsets)) = (file.column_index(), file.offset_index()) else {
        let rows = groups
            .iter()
            .map(|&g| file.row_group(g).num_rows() as usize);
        let all = rows.map(RowSelector::select).collect::<Vec<_>>();
        return Ok((groups, all.into()));
    };
    let least = converter.data_page_mins(columns, offsets, &groups)?;
    let most = converter.data_page_maxes(columns, offsets, &groups)?;
    let counts = converter
        .data_page_row_counts(offsets, file.row_groups(), &groups)?
        .context("pages do not say how many rows they have")?;
    let mask = overlaps(&least, &most)?;
    let pages = counts
        .values()
        .iter()
        .enumerate()
        .map(|(i, &count)| RowSelector {
            row_count: count as usize,
            skip: !may(&mask, i),
        });
    Ok((groups, pages.collect::<Vec<_>>().into()))
}
