//! Reads Lance files and datasets.

mod checked_io;
mod data_file;
mod deletions;
mod footer;
mod fragments;
mod local_reader;
mod plan;

use crate::engine::{Engine, Pending};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_shard::{Error, Result};
use fragments::Fragments;
use plan::Plan;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a batch, by default.
const BATCH_ROWS: u32 = 8192;

/// Options for reading a Lance file or dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanceReadOptions {
    version: Option<u64>,
    batch_rows: u32,
}

impl Default for LanceReadOptions {
    fn default() -> Self {
        Self {
            version: None,
            batch_rows: BATCH_ROWS,
        }
    }
}

impl LanceReadOptions {
    /// Reads this version of a dataset instead of the latest one. Has no meaning for a file.
    pub fn with_version(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }

    /// Most rows of a batch, at least 1; 8,192 by default. Batches of large rows have fewer.
    pub fn with_batch_rows(mut self, rows: u32) -> Self {
        self.batch_rows = rows.max(1);
        self
    }
}

/// A Lance file of version 2.0, 2.1, 2.2 or 2.3, or a dataset of such files, as an iterator of batches.
///
/// Memory is needed for a few batches and a few pages of each column, whatever the number of rows. The next batch is
/// decoded in the background. Deleted rows of a dataset are skipped.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("t.lance");
/// use arrow_array::{RecordBatch, record_batch};
/// use arrow_shard_lance::{LanceReader, LanceWriter};
///
/// let batch = record_batch!(("id", Int64, [1, 2]), ("name", Utf8, [Some("one"), None]))?;
/// let mut writer = LanceWriter::create(&path, batch.schema())?;
/// writer.write(&batch)?;
/// assert_eq!(writer.finish()?, 2);
///
/// let batches: Vec<RecordBatch> = LanceReader::open(&path)?.collect::<Result<_, _>>()?;
/// assert_eq!(batches, [batch]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LanceReader {
    schema: SchemaRef,
    version: String,
    rows: u64,
    next: Option<Pending<(Option<RecordBatch>, Fragments)>>,
    /// The last field, so that its threads end after the work is given up.
    engine: Arc<Engine>,
}

impl LanceReader {
    /// Opens a file, or the latest version of a dataset if the path is a folder.
    ///
    /// # Errors
    /// [`NotFound`](arrow_shard::ErrorKind::NotFound) if there is nothing, or a folder that is not a dataset;
    /// [`Unsupported`](arrow_shard::ErrorKind::Unsupported) for files of version 0.1, datasets that ask for unknown
    /// features, and columns of blobs of version 2;
    /// [`Corrupt`](arrow_shard::ErrorKind::Corrupt) if the file is damaged, or is not of Lance. Errors of the operating
    /// system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &LanceReadOptions::default())
    }

    /// Opens a file or a dataset with options.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open); [`NotFound`](arrow_shard::ErrorKind::NotFound) if the dataset does
    /// not have the version.
    pub fn open_with(path: impl AsRef<Path>, options: &LanceReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let engine = Arc::new(Engine::new()?);
        let plan = engine.run(plan(path.to_path_buf(), options.version))?;
        let schema = plan.schema.clone();
        let (version, rows) = (plan.version.clone(), plan.rows);
        let fragments = Fragments::new(plan, options.batch_rows);
        Ok(Self {
            schema,
            version,
            rows,
            next: Some(engine.start(step(fragments))),
            engine,
        })
    }

    /// Returns the number of rows of the file, or of the dataset without deleted ones.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Returns the version of the Lance format, such as `2.1`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl Iterator for LanceReader {
    type Item = Result<RecordBatch, ArrowError>;

    /// Returns the next batch; nothing after an error.
    fn next(&mut self) -> Option<Self::Item> {
        match self.next.take()?.wait() {
            Ok((Some(batch), fragments)) => {
                self.next = Some(self.engine.start(step(fragments)));
                Some(Ok(batch))
            }
            Ok((None, _)) => None,
            Err(error) => Some(Err(external(error))),
        }
    }
}

impl RecordBatchReader for LanceReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

async fn plan(path: PathBuf, version: Option<u64>) -> Result<Plan> {
    if path.is_dir() {
        let path = path.canonicalize()?;
        Plan::of_dataset(&path, version).await
    } else {
        Plan::of_file(&path).await
    }
}

async fn step(mut fragments: Fragments) -> Result<(Option<RecordBatch>, Fragments)> {
    let batch = fragments.next().await?;
    Ok((batch, fragments))
}

fn external(error: Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}
