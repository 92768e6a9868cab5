//! The traits of a format and of its open files, and the arguments of their functions.

use crate::counted::Reads;
use crate::data::Filter;
use crate::question::Access;
use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use std::path::Path;
use std::sync::Arc;

/// The columns and rows of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Want<'a> {
    /// All columns, in the written types.
    Written,
    /// All columns, in these types.
    Types(&'a SchemaRef),
    /// Columns by position, in the written types.
    Columns(&'a [usize]),
    /// Columns by name, in the written types.
    Names(&'a [String]),
    /// All columns of the rows that match, in the written types.
    Matching(&'a Filter),
}

/// The file of a table.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a Path,
    /// The written schema. Formats that store it ignore this field.
    pub(crate) schema: &'a SchemaRef,
    pub(crate) reads: &'a Arc<Reads>,
}

/// Batches to write.
pub(crate) type Batches<'a> = dyn Iterator<Item = Result<RecordBatch, ArrowError>> + 'a;

/// A format with writer options. All work runs on the calling thread, except for shards with several threads.
pub(crate) trait Peer {
    /// Writes a file, without waiting for the disk.
    fn write(&self, path: &Path, schema: &SchemaRef, batches: &mut Batches<'_>) -> Result<()>;

    /// Opens a file; `None` if the format does not support the access.
    fn open(&self, source: &Source<'_>, access: Access) -> Result<Option<Box<dyn Opened>>>;
}

/// An open file. It may keep data from earlier reads.
pub(crate) trait Opened {
    /// Reads the wanted rows in their order, as Arrow arrays of the wanted types.
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()>;

    /// Reads all columns of the rows with the given, ascending numbers, in one batch.
    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch>;
}
