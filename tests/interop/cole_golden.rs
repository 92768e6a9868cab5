//! Reads files that `golden.py` wrote by the specification, without sharing code with this crate.

use arrow_shard::arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_shard::arrow_schema::DataType;
use arrow_shard::interop::cole::{Encoding, ReaderBuilder};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/golden")
}

/// Returns the paths of all files.
pub(crate) fn files() -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder()).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|it| it == "cole"));
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    files
}

/// Returns all rows of a file, in one batch.
pub(crate) fn rows(builder: ReaderBuilder) -> arrow_shard::Result<RecordBatch> {
    let schema = builder.schema().clone();
    let batches = builder.build()?.collect::<Result<Vec<_>, _>>()?;
    Ok(arrow_select::concat::concat_batches(&schema, &batches)?)
}

#[test]
fn every_golden_file_reads_as_it_was_written() {
    let files = files();
    assert!(files.len() >= 12);
    for path in files {
        let expected = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let builder = ReaderBuilder::open(&path).unwrap();
        let schema = builder.schema().clone();
        let found = rows(builder).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(expected.as_object().unwrap().len(), schema.fields().len());
        for (field, column) in schema.fields().iter().zip(found.columns()) {
            let values = expected[field.name()].as_array().unwrap().iter();
            let numbers = values.clone().filter_map(Value::as_i64);
            let expected: ArrayRef = match field.data_type() {
                DataType::Int32 => Arc::new(Int32Array::from_iter_values(
                    numbers.map(|value| i32::try_from(value).unwrap()),
                )),
                DataType::Int64 => Arc::new(Int64Array::from_iter_values(numbers)),
                _ => Arc::new(StringArray::from_iter_values(
                    values.filter_map(Value::as_str),
                )),
            };
            assert_eq!(column, &expected, "{}, column {field}", path.display());
        }
    }
}

#[test]
fn golden_files_have_every_encoding() {
    let mut found = std::collections::BTreeSet::new();
    for path in files() {
        let builder = ReaderBuilder::open(path).unwrap();
        let groups = builder.metadata().row_groups.iter();
        let chunks = groups.flat_map(|group| &group.columns);
        found.extend(chunks.flat_map(|chunk| chunk.pages.iter().map(|page| page.encoding)));
    }
    use Encoding::{Delta, Dictionary, Plain, Rle};
    assert_eq!(found, [Plain, Rle, Delta, Dictionary].into());
}
