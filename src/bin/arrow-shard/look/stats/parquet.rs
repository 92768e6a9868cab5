//! Statistics in the footers of Parquet files.

use super::column::{ColumnStats, Lengths, outer};
use crate::bounds::Bound;
use crate::failure::Failure;
use crate::input::{Footer, indices};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::{DataType, Field};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::{ColumnOrder, SortOrder, Type as PhysicalType};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;
use std::cmp::Ordering;
use std::path::Path;

/// Returns the statistics of the columns with these names, or of all columns.
pub(super) fn stats(path: &Path, names: &[String]) -> Result<Vec<ColumnStats>, Failure> {
    let footer = Footer::read(path)?;
    let schema = footer.schema();
    let wanted = match names {
        [] => (0..schema.fields().len()).collect(),
        names => indices(schema, names).map_err(|e| e.within(path.display()))?,
    };
    let descriptors = footer.metadata().file_metadata().schema_descr();
    let mut leaves = vec![Vec::new(); schema.fields().len()];
    for leaf in 0..descriptors.num_columns() {
        if let Some(leaves) = leaves.get_mut(descriptors.get_column_root_idx(leaf)) {
            leaves.push(leaf);
        }
    }
    let columns = wanted.into_iter().map(|root| {
        let field = schema.field(root);
        let leaves = leaves.get(root).map_or(&[][..], Vec::as_slice);
        footer.file().isolate(|| {
            let found = column(footer.metadata(), field, leaves, footer.num_rows());
            found.map_err(|e| e.within(format!("column `{}`", field.name())))
        })
    });
    columns.collect()
}

/// Returns the statistics of the column with these leaves.
fn column(
    metadata: &ParquetMetaData,
    field: &Field,
    leaves: &[usize],
    rows: u64,
) -> Result<ColumnStats, Failure> {
    let schema = metadata.file_metadata().schema_descr();
    let groups = metadata.row_groups();
    let chunks = |leaf: usize| {
        groups
            .iter()
            .filter_map(move |group| group.columns().get(leaf))
    };
    let bytes = leaves.iter().flat_map(|&leaf| chunks(leaf));
    let bytes = bytes.map(|chunk| positive(chunk.compressed_size()));
    let mut stats = ColumnStats::unknown(field.name().clone(), field.data_type().clone());
    stats.bytes = Some(bytes.fold(0, u64::saturating_add));
    // The statistics of members and items say nothing about the rows.
    let &[leaf] = leaves else {
        return Ok(stats);
    };
    if field.data_type().is_nested() && !matches!(field.data_type(), DataType::Dictionary(..)) {
        return Ok(stats);
    }
    let known = StatisticsConverter::from_column_index(leaf, field, schema)?
        .with_missing_null_counts_as_zero(false);
    let nulls = known.row_group_null_counts(groups)?;
    let sum = || nulls.values().iter().copied().fold(0, u64::saturating_add);
    stats.nulls = (nulls.null_count() == 0).then(sum);
    stats.is_null = stats.nulls == Some(rows);
    let is_null = |group: usize| {
        let rows = groups
            .get(group)
            .map_or(0, |group| positive(group.num_rows()));
        nulls.is_valid(group) && nulls.value(group) == rows
    };
    if has_bounds(metadata, leaf) {
        let min = known.row_group_mins(groups)?;
        let exact = known.row_group_is_min_value_exact(groups)?;
        stats.min = outermost(&min, &exact, is_null, Ordering::Less)?;
        let max = known.row_group_maxes(groups)?;
        let exact = known.row_group_is_max_value_exact(groups)?;
        stats.max = outermost(&max, &exact, is_null, Ordering::Greater)?;
    }
    if let [group] = groups
        && let Some(found) = group.column(leaf).statistics()
    {
        stats.distinct = found.distinct_count_opt().map(|count| (count, true));
    }
    let lengths = chunks(leaf).map(|chunk| lengths(chunk, stats.nulls, rows));
    let sums = lengths.collect::<Option<Vec<u64>>>();
    stats.lengths = sums.zip(stats.nulls).map(|(sums, nulls)| Lengths {
        sum: sums.into_iter().fold(0, u64::saturating_add),
        count: rows.saturating_sub(nulls),
    });
    Ok(stats)
}

/// Whether the least and greatest values in the statistics of a leaf are its bounds.
fn has_bounds(metadata: &ParquetMetaData, leaf: usize) -> bool {
    let file = metadata.file_metadata();
    let column = file.schema_descr().column(leaf);
    let kind = column.physical_type();
    let is_bytes = matches!(
        kind,
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY
    );
    // Old writers compared unsigned numbers as signed ones, and so the bytes of text.
    let is_signed = column.sort_order() == SortOrder::SIGNED && !is_bytes;
    let has_order = match file.column_orders() {
        None => is_signed,
        Some(orders) => matches!(
            orders.get(leaf),
            Some(ColumnOrder::TYPE_DEFINED_ORDER(
                SortOrder::SIGNED | SortOrder::UNSIGNED
            ))
        ),
    };
    // The crate takes statistics without bounds, as of nulls alone, for old ones.
    let is_old = |found: &Statistics| {
        found.min_bytes_opt().or(found.max_bytes_opt()).is_some() && found.is_min_max_deprecated()
    };
    let mut chunks = metadata.row_groups().iter().filter_map(|group| {
        let chunk = group.columns().get(leaf)?;
        chunk.statistics()
    });
    kind != PhysicalType::INT96 && has_order && (is_signed || !chunks.any(is_old))
}

/// Returns the number of bytes of the values of a chunk, if they have lengths.
fn lengths(chunk: &ColumnChunkMetaData, nulls: Option<u64>, rows: u64) -> Option<u64> {
    if nulls == Some(rows) {
        return Some(0);
    }
    chunk.unencoded_byte_array_data_bytes().map(positive)
}

/// Returns the outermost bound of row groups, if each of them has one or is null throughout.
fn outermost(
    bounds: &ArrayRef,
    exact: &BooleanArray,
    is_null: impl Fn(usize) -> bool,
    wanted: Ordering,
) -> Result<Option<Bound>, Failure> {
    // Only the bounds of bytes are cut; old writers do not say whether.
    let is_cut = has_bytes(bounds.data_type());
    let mut found = None;
    for group in 0..bounds.len() {
        if bounds.is_null(group) {
            if is_null(group) {
                continue;
            }
            return Ok(None);
        }
        let bound = Bound {
            value: bounds.slice(group, 1),
            is_exact: if exact.is_valid(group) {
                exact.value(group)
            } else {
                !is_cut
            },
        };
        found = Some(match found {
            Some(before) => outer(before, bound, wanted)?,
            None => bound,
        });
    }
    Ok(found)
}

fn has_bytes(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Dictionary(_, values) => has_bytes(values),
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Binary | T::LargeBinary | T::BinaryView => true,
        _ => false,
    }
}

fn positive(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
