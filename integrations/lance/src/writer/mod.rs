//! Writing Lance files.

mod check;
mod output;
mod slices;

use crate::LanceVersion;
use crate::engine::Engine;
use crate::failure::{file_name, from_lance};
use crate::ffi::{batch_to_lance, column_name, schema_to_lance};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use arrow_shard::io::{LocalSink, LocalTarget};
use arrow_shard::{Error, ErrorKind, Result};
use lance_core::datatypes::Schema as LanceSchema;
use lance_file::versions::create_writer;
use lance_file::writer::{FileWriter, FileWriterOptions};
use output::Output;
use slices::without_sliced_booleans;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a column that are collected for a page, by the default of Lance.
const COLUMN_BYTES: u64 = 8 << 20;
/// Bytes that are collected for the pages of all columns together, where columns are many.
const COLLECTED_BYTES: u64 = 256 << 20;
/// Fewer bytes make pages that are slow to read.
const MIN_COLUMN_BYTES: u64 = 64 << 10;

/// How a Lance file is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanceWriteOptions {
    version: LanceVersion,
    overwrite: bool,
}

impl LanceWriteOptions {
    /// Writes this version of the format, 2.2 by default.
    pub fn with_version(mut self, version: LanceVersion) -> Self {
        self.version = version;
        self
    }

    /// Replaces a file that has the name, when the new one is complete.
    pub fn with_overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }
}

/// Writes batches to a Lance file.
///
/// The file appears under its name when [`finish`](Self::finish) has written and synced all of it; until then it has a
/// temporary name in the same folder. If the writer is dropped before, or fails, nothing remains.
///
/// Schema and metadata are kept, with the exceptions that the table in `docs/conversions.md` lists. See
/// [`LanceReader`](crate::LanceReader) for an example.
pub struct LanceWriter {
    path: PathBuf,
    schema: SchemaRef,
    lance_schema: Arc<lance_arrow_schema::Schema>,
    version: LanceVersion,
    /// Nothing after an error.
    writer: Option<FileWriter>,
    rows: u64,
    /// The last batch, to find the column that makes the writer fail at the end.
    last: Option<RecordBatch>,
    engine: Engine,
}

impl fmt::Debug for LanceWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LanceWriter")
            .field("path", &self.path)
            .field("version", &self.version)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl LanceWriter {
    /// Starts a file of version 2.2 that does not exist yet.
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) if Lance does not keep a column; the message names the column and the
    /// reason. [`AlreadyExists`](ErrorKind::AlreadyExists) if there is a file or a folder of the name. Errors of the
    /// operating system.
    pub fn create(path: impl AsRef<Path>, schema: SchemaRef) -> Result<Self> {
        Self::create_with(path, schema, &LanceWriteOptions::default())
    }

    /// Starts a file with options.
    ///
    /// # Errors
    /// Returns the errors of [`create`](Self::create).
    pub fn create_with(
        path: impl AsRef<Path>,
        schema: SchemaRef,
        options: &LanceWriteOptions,
    ) -> Result<Self> {
        let path = path.as_ref();
        let version = options.version;
        let engine = Engine::new()?;
        let within = |e: Error| e.within(file_name(path));
        if schema.fields().is_empty() {
            let error = Error::new(
                ErrorKind::Unsupported,
                "Lance has no tables without columns",
            );
            return Err(within(error));
        }
        // The Lance crates panic on some types that they do not know, which the engine catches.
        let checked = schema.clone();
        let columns = engine
            .run(async move { check::lance_schema(&checked, version) })
            .map_err(within)?;
        try_start(&engine, &columns, version).map_err(within)?;
        let target = LocalTarget::find(path)?.into_path()?;
        let sink = if options.overwrite {
            LocalSink::create_or_replace(target)?
        } else {
            LocalSink::create(target)?
        };
        let writer = engine.run(start(Output::file(sink), columns, version));
        Ok(Self {
            path: path.to_path_buf(),
            lance_schema: Arc::new(schema_to_lance(&schema)?),
            schema,
            version,
            writer: Some(writer.map_err(within)?),
            rows: 0,
            last: None,
            engine,
        })
    }

    /// Appends the rows of a batch that has the schema of the writer.
    ///
    /// # Errors
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch) for another schema, which does no harm. After any other error
    /// nothing more can be written: [`Unsupported`](ErrorKind::Unsupported) if Lance does not hold the values of a
    /// column, such as a null struct in version 2.0; errors of the operating system.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let within = |e: Error| e.within(file_name(&self.path));
        if batch.schema().fields() != self.schema.fields() {
            let error = Error::new(
                ErrorKind::SchemaMismatch,
                "the batch has other columns than the writer",
            );
            return Err(within(error));
        }
        let Some(mut writer) = self.writer.take() else {
            return Err(within(poisoned()));
        };
        if batch.num_rows() == 0 {
            self.writer = Some(writer);
            return Ok(());
        }
        let whole = without_sliced_booleans(batch).map_err(|e| within(e.into()))?;
        let theirs = batch_to_lance(&whole, &self.lance_schema).map_err(within)?;
        let written = self.engine.run(async move {
            let written = writer.write_batch(&theirs).await;
            written.map_err(|e| failed(&e))?;
            Ok(writer)
        });
        match written {
            Ok(writer) => {
                self.writer = Some(writer);
                self.rows += batch.num_rows() as u64;
                self.last = Some(batch.clone());
                Ok(())
            }
            Err(error) => Err(within(self.blame(batch, error))),
        }
    }

    /// Rows that were written.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Writes the metadata, gives the file its name, and returns the number of rows.
    ///
    /// # Errors
    /// [`Poisoned`](ErrorKind::Poisoned) if an earlier write failed. [`AlreadyExists`](ErrorKind::AlreadyExists) if a
    /// file of the name has appeared meanwhile. Errors of the operating system.
    pub fn finish(mut self) -> Result<u64> {
        let within = |e: Error| e.within(file_name(&self.path));
        let Some(mut writer) = self.writer.take() else {
            return Err(within(poisoned()));
        };
        let finished = self.engine.run(async move {
            let finished = writer.finish().await;
            finished.map_err(|e| failed(&e))
        });
        let summary = finished.map_err(|error| {
            within(match &self.last {
                Some(last) => self.blame(last, error),
                None => error,
            })
        })?;
        if summary.num_rows != self.rows {
            let why = format!("{} of {} rows were written", summary.num_rows, self.rows);
            return Err(within(Error::new(ErrorKind::Io, why)));
        }
        Ok(self.rows)
    }

    /// Finds the column that made a write fail: writes each column of the batch alone, to nowhere.
    fn blame(&self, batch: &RecordBatch, error: Error) -> Error {
        let error = match error.kind() {
            ErrorKind::Unsupported => error,
            // A panic of the encoder says nothing about a file.
            ErrorKind::Corrupt => Error::new(ErrorKind::Unsupported, error.to_string()),
            // Other errors are about the output: another file has its name, or the folder is gone.
            _ => return error,
        };
        let named = |name: &str, error: Error| {
            let why = format!("Lance {} does not hold the values", self.version);
            Error::new(ErrorKind::Unsupported, why)
                .caused_by(error)
                .within(column_name(name))
        };
        let schema = batch.schema();
        if let [field] = schema.fields().as_ref() {
            return named(field.name(), error);
        }
        for (at, field) in schema.fields().iter().enumerate() {
            let Ok(alone) = batch.project(&[at]) else {
                continue;
            };
            if let Err(error) = self.try_alone(&alone) {
                return named(field.name(), error);
            }
        }
        error
    }

    fn try_alone(&self, batch: &RecordBatch) -> Result<()> {
        let columns =
            check::lance_schema(&Schema::new(batch.schema().fields().clone()), self.version)?;
        let schema = Arc::new(schema_to_lance(&batch.schema())?);
        let theirs = batch_to_lance(&without_sliced_booleans(batch)?, &schema)?;
        let version = self.version;
        self.engine.run(async move {
            let mut writer = start(Output::nowhere(), columns, version).await?;
            writer.write_batch(&theirs).await.map_err(|e| failed(&e))?;
            writer.finish().await.map_err(|e| failed(&e))?;
            Ok(())
        })
    }
}

async fn start(output: Output, columns: LanceSchema, version: LanceVersion) -> Result<FileWriter> {
    let count = columns.fields.len().max(1) as u64;
    let collected = (count * COLUMN_BYTES).min(COLLECTED_BYTES);
    let options = FileWriterOptions {
        data_cache_bytes: Some(collected.max(count * MIN_COLUMN_BYTES)),
        ..FileWriterOptions::default()
    };
    create_writer(version.concrete(), Box::new(output), columns, options).map_err(|e| failed(&e))
}

/// Starts a writer for each column, to nowhere: its encoders refuse some types, and the message is to name the column.
fn try_start(engine: &Engine, columns: &LanceSchema, version: LanceVersion) -> Result<()> {
    for field in &columns.fields {
        let alone = LanceSchema {
            fields: vec![field.clone()],
            ..LanceSchema::default()
        };
        engine
            .run(async move { start(Output::nowhere(), alone, version).await.map(drop) })
            .map_err(|e| e.within(column_name(&field.name)))?;
    }
    Ok(())
}

fn poisoned() -> Error {
    Error::new(
        ErrorKind::Poisoned,
        "an earlier write failed, and nothing more can be written",
    )
}

/// Returns an error of a Lance writer as ours. An error of the output keeps its kind.
fn failed(error: &lance_core::Error) -> Error {
    let mut below = std::error::Error::source(error);
    while let Some(source) = below {
        if let Some(ours) = source.downcast_ref::<Error>() {
            return Error::new(ours.kind(), ours.to_string());
        }
        below = source.source();
    }
    from_lance(error, ErrorKind::Unsupported)
}
