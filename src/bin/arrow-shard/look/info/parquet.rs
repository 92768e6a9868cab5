//! Facts about Parquet files.

use super::{Facts, add_index, add_order, add_ratio, add_size, distinct};
use crate::failure::Failure;
use crate::input::Footer;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, SortingColumn};
use std::path::Path;

/// Adds the facts.
pub(super) fn add(facts: &mut Facts, path: &Path) -> Result<(), Failure> {
    let footer = Footer::read(path)?;
    let metadata = footer.metadata();
    facts.add_number("rows", footer.num_rows());
    facts.add_number("columns", footer.schema().fields().len() as u64);
    facts.add_number("row groups", metadata.num_row_groups() as u64);
    add_size(facts, footer.bytes());
    let sum = |of: fn(&ColumnChunkMetaData) -> i64| {
        let sizes = chunks(metadata).map(|chunk| u64::try_from(of(chunk)).unwrap_or(0));
        sizes.fold(0, u64::saturating_add)
    };
    let raw = sum(ColumnChunkMetaData::uncompressed_size);
    let encoded = sum(ColumnChunkMetaData::compressed_size);
    add_ratio(facts, Some(raw), encoded);
    let codec = |chunk: &ColumnChunkMetaData| {
        let codec = chunk.compression_codec().to_string();
        codec.to_lowercase()
    };
    let codecs = distinct(chunks(metadata).map(codec));
    facts.add("codecs", codecs.join(", "), codecs);
    let file = metadata.file_metadata();
    if let Some(writer) = file.created_by() {
        facts.add("created by", writer, writer);
    }
    add_order(facts, &order(metadata));
    let with = |has: fn(&ColumnChunkMetaData) -> bool| {
        let chunks = chunks(metadata).filter(|chunk| has(chunk));
        distinct(chunks.map(|chunk| chunk.column_path().string()))
    };
    let filters = with(|chunk| chunk.bloom_filter_offset().is_some());
    add_index(facts, "bloom filters", filters);
    let pages = with(|chunk| chunk.column_index_offset().is_some());
    add_index(facts, "page indexes", pages);
    let pairs = file.key_value_metadata().into_iter().flatten();
    let pairs = pairs.filter(|pair| pair.key != ARROW_SCHEMA_META_KEY);
    let pair = |pair: &parquet::file::metadata::KeyValue| {
        (pair.key.clone(), pair.value.clone().unwrap_or_default())
    };
    facts.add_entries("key-values", pairs.map(pair).collect());
    Ok(())
}

fn chunks(metadata: &ParquetMetaData) -> impl Iterator<Item = &ColumnChunkMetaData> {
    metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
}

/// Returns the order of the rows, if all row groups declare the same one.
fn order(metadata: &ParquetMetaData) -> Vec<(String, bool, bool)> {
    let mut orders = metadata.row_groups().iter().map(|it| it.sorting_columns());
    let Some(Some(first)) = orders.next() else {
        return Vec::new();
    };
    if !orders.all(|other| other == Some(first)) {
        return Vec::new();
    }
    let schema = metadata.file_metadata().schema_descr();
    let column = |column: &SortingColumn| {
        let leaf = usize::try_from(column.column_idx).ok()?;
        let leaf = schema.columns().get(leaf)?;
        Some((leaf.path().string(), column.descending, column.nulls_first))
    };
    first.iter().map_while(column).collect()
}
