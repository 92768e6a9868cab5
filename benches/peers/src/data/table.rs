//! A table while it is made, batch by batch.

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};
use std::fs::File;
use std::path::Path;

/// Rows of every batch but the last one of a table: in the input of writers, and in the output of readers with an
/// option for it.
pub(crate) const BATCH_ROWS: usize = 8192;

/// The key of the number of rows in the metadata of a file.
pub(super) const ROWS: &str = "rows";

/// Batches of [`BATCH_ROWS`] rows, made one after the other.
pub(super) struct Table {
    pub(super) schema: SchemaRef,
    pub(super) batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
}

impl Table {
    /// Creates a table of `rows` rows; `make` creates a batch with a number of rows.
    pub(super) fn of_rows(
        schema: SchemaRef,
        rows: usize,
        mut make: impl FnMut(usize) -> Result<RecordBatch, ArrowError> + 'static,
    ) -> Self {
        let starts = (0..rows).step_by(BATCH_ROWS);
        Self {
            schema,
            batches: Box::new(starts.map(move |start| make(BATCH_ROWS.min(rows - start)))),
        }
    }

    /// Writes the table as an Arrow IPC file, and returns the number of rows.
    pub(super) fn write(self, path: &Path) -> Result<usize> {
        let mut rows = 0;
        let mut writer = FileWriter::try_new_buffered(File::create(path)?, &self.schema)?;
        for batch in self.batches {
            let batch = batch?;
            rows += batch.num_rows();
            writer.write(&batch)?;
        }
        writer.write_metadata(ROWS, rows.to_string());
        writer.finish()?;
        Ok(rows)
    }
}
