//! Arrow IPC files that every reader of the format supports.
//!
//! In a file, all batches share the dictionary of a column. It may grow from batch to batch (a delta dictionary), but
//! polars does not read such files, and pyarrow does not read them for a dictionary within the entries of another one.
//! So batches wait in a temporary file until all entries are known.

use super::dictionaries::Dictionaries;
use crate::failure::Failure;
use crate::temporary;
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use std::io::{BufReader, BufWriter, IntoInnerError, Seek, Write};
use tempfile::{SpooledTempFile, spooled_tempfile};

/// Maximum number of bytes of waiting batches in memory.
const IN_MEMORY: usize = 64 << 20;

/// Writes batches of one schema.
pub(crate) enum IpcFileEncoder<W: Write> {
    /// Without dictionaries: batches are written immediately.
    Direct(Box<FileWriter<W>>),
    /// With dictionaries.
    Spooled(Box<SpooledBatches<W>>),
}

/// Batches that wait until the dictionaries are complete.
pub(crate) struct SpooledBatches<W> {
    out: W,
    schema: SchemaRef,
    options: IpcWriteOptions,
    dictionaries: Dictionaries,
    batches: StreamWriter<BufWriter<SpooledTempFile>>,
}

impl<W: Write> IpcFileEncoder<W> {
    /// Starts a file.
    pub(super) fn start(
        out: W,
        schema: &SchemaRef,
        options: IpcWriteOptions,
    ) -> Result<Self, Failure> {
        let dictionaries = Dictionaries::new(schema)?;
        if dictionaries.is_empty() {
            let writer = FileWriter::try_new_with_options(out, schema, options)?;
            return Ok(Self::Direct(Box::new(writer)));
        }
        let spool = BufWriter::new(spooled_tempfile(IN_MEMORY));
        Ok(Self::Spooled(Box::new(SpooledBatches {
            out,
            schema: schema.clone(),
            options,
            dictionaries,
            batches: StreamWriter::try_new(spool, schema).map_err(spool_failed)?,
        })))
    }

    /// Appends the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        match self {
            Self::Direct(writer) => Ok(writer.write(batch)?),
            Self::Spooled(spooled) => {
                spooled.dictionaries.add(batch)?;
                spooled.batches.write(batch).map_err(spool_failed)
            }
        }
    }

    /// Writes the remaining bytes and returns the destination.
    pub(super) fn finish(self) -> Result<W, Failure> {
        match self {
            Self::Direct(writer) => Ok(writer.into_inner()?),
            Self::Spooled(spooled) => spooled.finish(),
        }
    }
}

impl<W: Write> SpooledBatches<W> {
    fn finish(mut self) -> Result<W, Failure> {
        let buffered = self.batches.into_inner().map_err(spool_failed)?;
        let flushed = buffered.into_inner().map_err(IntoInnerError::into_error);
        let mut spool = flushed.map_err(|e| spool_failed(e.into()))?;
        spool.rewind().map_err(|e| spool_failed(e.into()))?;
        let mut writer = FileWriter::try_new_with_options(self.out, &self.schema, self.options)?;
        let waiting = StreamReader::try_new(BufReader::new(spool), None);
        for batch in waiting.map_err(spool_failed)? {
            let batch = batch.map_err(spool_failed)?;
            writer.write(&self.dictionaries.apply(&batch)?)?;
        }
        Ok(writer.into_inner()?)
    }
}

/// Names the folder of the waiting batches in errors of I/O: otherwise the output would seem to be full.
fn spool_failed(error: ArrowError) -> Failure {
    let is_io = matches!(error, ArrowError::IoError(..));
    let failure = Failure::from(error);
    if is_io {
        failure.within(temporary::place())
    } else {
        failure
    }
}
