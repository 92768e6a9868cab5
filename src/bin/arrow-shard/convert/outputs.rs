//! The outputs of a conversion.

use super::partitions::{PartitionBy, Partitions};
use super::writing::{Target, Writing};
use crate::failure::Failure;
use crate::text;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

/// The outputs that rows are written to.
pub(super) enum Outputs {
    /// One after the other.
    InTurn(Box<Writing>),
    /// In folders that are named by values.
    InFolders(Box<Partitions>),
}

impl Outputs {
    /// Starts writing rows with these columns, to folders if there are columns that name them.
    pub(super) fn start(
        target: &Target,
        schema: &SchemaRef,
        by: &PartitionBy,
    ) -> Result<Self, Failure> {
        if by.columns.is_empty() {
            let writing = Writing::start(target.clone(), 1, schema.clone())?;
            return Ok(Self::InTurn(Box::new(writing)));
        }
        let partitions = Partitions::start(target.clone(), schema, by)?;
        target.check_schema(partitions.schema(), false)?;
        Ok(Self::InFolders(Box::new(partitions)))
    }

    /// Appends the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let written = match self {
            Self::InTurn(writing) => writing.write(batch),
            Self::InFolders(partitions) => partitions.write(batch),
        };
        written.map_err(|e| self.interrupted(e))
    }

    /// Completes the outputs, and returns their number. Shows the progress of rows that are written last unless
    /// `quiet`.
    pub(super) fn finish(self, quiet: bool) -> Result<u64, Failure> {
        match self {
            Self::InTurn(writing) => {
                let complete = writing.complete();
                let finished = writing.finish();
                finished.map_err(|e| complete_before(complete, e))
            }
            Self::InFolders(mut partitions) => {
                let finished = partitions.finish(quiet);
                finished.map_err(|e| complete_before(partitions.complete(), e))?;
                Ok(partitions.complete())
            }
        }
    }

    /// Adds the number of complete outputs to an error.
    pub(super) fn interrupted(&self, failure: Failure) -> Failure {
        let complete = match self {
            Self::InTurn(writing) => writing.complete(),
            Self::InFolders(partitions) => partitions.complete(),
        };
        complete_before(complete, failure)
    }
}

/// Adds a number of complete files to an error.
fn complete_before(files: u64, failure: Failure) -> Failure {
    match (files, failure) {
        (0, failure) => failure,
        (files, Failure::Error(why)) => {
            let are = if files == 1 { "is" } else { "are" };
            let files = text::count(files, "file");
            Failure::Error(format!("{why} ({files} before it {are} complete)"))
        }
        (_, failure) => failure,
    }
}
