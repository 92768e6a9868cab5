//! Folders of Parquet files, and shards over them.

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_shard::ops::attach;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

/// Rows of each of many files.
pub(crate) const ROWS_OF_FILE: usize = 8_000;

pub(crate) struct Lake {
    pub(crate) folder: TempDir,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) shard: PathBuf,
}

impl Lake {
    fn new(write: impl FnOnce(&Path) -> Vec<PathBuf>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = write(folder.path());
        let shard = folder.path().join("lake.amudai.shard");
        attach(&files, &shard).expect("a shard");
        Self {
            folder,
            files,
            shard,
        }
    }

    /// Returns the only file.
    pub(crate) fn file(&self) -> &Path {
        &self.files[0]
    }

    /// Lineitem of TPC-H, in a file with row groups of 131,072 rows.
    pub(crate) fn of_lineitem(rows: usize) -> Self {
        Self::new(|folder| {
            let scale = rows as f64 / 6_000_000.0;
            let batches =
                LineItemArrow::new(LineItemGenerator::new(scale, 1, 1)).with_batch_size(65_536);
            let batches = batches.map(|batch| batch.expect("a batch"));
            let path = folder.join("lineitem.parquet");
            write(&path, batches, 131_072);
            vec![path]
        })
    }

    /// Files of 8 row groups and 16 columns, in the order of their ids.
    pub(crate) fn of_files(count: usize) -> Self {
        Self::new(|folder| {
            let path = |i: usize| folder.join(format!("{i:04}.parquet"));
            for i in 0..count {
                let first = i * ROWS_OF_FILE;
                let ids =
                    Int64Array::from_iter_values((first..first + ROWS_OF_FILE).map(|id| id as i64));
                let texts = (first..first + ROWS_OF_FILE).map(|id| format!("text {}", id % 1_000));
                let mut columns: Vec<(String, ArrayRef)> = vec![
                    ("id".into(), Arc::new(ids.clone())),
                    (
                        "text".into(),
                        Arc::new(StringArray::from_iter_values(texts)),
                    ),
                ];
                columns
                    .extend((2..16).map(|c| (format!("c{c}"), Arc::new(ids.clone()) as ArrayRef)));
                let batch = RecordBatch::try_from_iter(columns).expect("a batch");
                write(&path(i), std::iter::once(batch), ROWS_OF_FILE / 8);
            }
            (0..count).map(path).collect()
        })
    }

    /// A file of many columns.
    pub(crate) fn of_columns(count: usize) -> Self {
        Self::new(|folder| {
            let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..1_000));
            let columns = (0..count).map(|c| (format!("c{c}"), values.clone()));
            let batch = RecordBatch::try_from_iter(columns).expect("a batch");
            let path = folder.join("wide.parquet");
            write(&path, std::iter::once(batch), 1_000);
            vec![path]
        })
    }
}

fn write(path: &Path, batches: impl Iterator<Item = RecordBatch>, group_rows: usize) {
    let mut batches = batches.peekable();
    let schema = batches.peek().expect("rows").schema();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(group_rows));
    let file = File::create(path).expect("a file");
    let mut writer =
        ArrowWriter::try_new(file, schema, Some(properties.build())).expect("a writer");
    batches.for_each(|batch| writer.write(&batch).expect("written"));
    writer.close().expect("written");
}
