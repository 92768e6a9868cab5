//! Writes shards of numbers to local folders.

#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use super::support::collect;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_shard::Shard;
use arrow_shard::write::{ShardWriter, WriterOptions};
use std::path::Path;
use std::sync::Arc;

pub(crate) fn write(
    path: &Path,
    columns: Vec<(&str, ArrayRef)>,
    options: WriterOptions,
) -> RecordBatch {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ShardWriter::create_with(path, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    batch
}

pub(crate) fn ids(range: std::ops::Range<i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(range))
}

/// Writes a shard with the numbers of a range, in stripes of 10 rows.
pub(crate) fn numbers(path: &Path, range: std::ops::Range<i64>) {
    let options = WriterOptions::default().with_stripe_rows(10);
    write(path, vec![("id", ids(range))], options);
}

pub(crate) fn read(path: &Path) -> Vec<i64> {
    let shard = Shard::open(path).unwrap();
    let rows = collect(shard.scan().with_projection(["id"]).build().unwrap()).unwrap();
    rows.column(0).as_primitive::<Int64Type>().values().to_vec()
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
