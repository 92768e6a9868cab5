//! Commands that answer questions about files.

mod count;
mod diff;
#[cfg(unix)]
mod examples;
mod folders;
mod info;
mod list;
mod manual;
mod options;
mod rows;
mod several;
mod stats;
mod united;

use crate::{Folder, write_ipc};
use arrow_array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
use serde_json::Value;
use std::sync::Arc;

/// Files of the same rows in all formats.
const NAMES: [&str; 7] = [
    "t.shard",
    "t.parquet",
    "t.arrow",
    "t.arrows",
    "t.cole",
    "t.csv",
    "t.ndjson",
];

/// Returns rows with the ids `first..first + rows`. Every fifth has no delay.
fn flights(first: i64, rows: usize) -> RecordBatch {
    let ids = || (first..).take(rows);
    let origins = ids().map(|id| Some(["OSL", "LIM", "SFO"][usize::try_from(id % 3).unwrap()]));
    let delays = ids().map(|id| (id % 5 > 0).then_some(id * 2));
    let days = ids().map(|id| Some(i32::try_from(19_723 + id / 10).unwrap()));
    RecordBatch::try_from_iter_with_nullable([
        (
            "id",
            Arc::new(ids().collect::<Int64Array>()) as ArrayRef,
            false,
        ),
        ("origin", Arc::new(origins.collect::<StringArray>()), false),
        ("delay", Arc::new(delays.collect::<Int64Array>()), true),
        ("day", Arc::new(days.collect::<Date32Array>()), false),
    ])
    .unwrap()
}

/// Creates a folder with a file of the same rows in each format.
fn all_formats(batch: &RecordBatch) -> Folder {
    let folder = Folder::with(batch);
    for name in NAMES.iter().filter(|name| **name != "t.arrow") {
        folder.run(&["convert", "--quiet", "--lossy", "t.arrow", name]);
        if !folder.path(name).exists() {
            folder.run(&["convert", "--quiet", "t.arrow", name]).ok();
        }
    }
    folder
}

/// Parses lines of JSON objects.
fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Writes a shard or a Parquet file of a batch into a subfolder.
fn write(folder: &Folder, name: &str, batch: &RecordBatch) {
    if let Some((parents, _)) = name.rsplit_once('/') {
        std::fs::create_dir_all(folder.path(parents)).unwrap();
    }
    write_ipc(&folder.path("batch.arrow"), batch);
    folder
        .run(&["convert", "--quiet", "batch.arrow", name])
        .ok();
    std::fs::remove_file(folder.path("batch.arrow")).unwrap();
}
