//! The outputs of a conversion.

use super::partitions::Partitions;
use super::writing::{Target, Writing};
use crate::failure::Failure;
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
    /// Starts writing rows with these columns. The values of the columns with the `names` name folders, if there are any.
    pub(super) fn start(
        target: &Target,
        schema: &SchemaRef,
        names: &[String],
    ) -> Result<Self, Failure> {
        if names.is_empty() {
            let writing = Writing::start(target.clone(), 1, schema.clone())?;
            return Ok(Self::InTurn(Box::new(writing)));
        }
        let partitions = Partitions::start(target.clone(), schema, names)?;
        target.check_schema(partitions.schema(), false)?;
        Ok(Self::InFolders(Box::new(partitions)))
    }

    /// Appends the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        match self {
            Self::InTurn(writing) => writing.write(batch),
            Self::InFolders(partitions) => partitions.write(batch),
        }
    }

    /// Completes the outputs. Returns their number.
    pub(super) fn finish(self) -> Result<u64, Failure> {
        match self {
            Self::InTurn(writing) => writing.finish(),
            Self::InFolders(partitions) => partitions.finish(),
        }
    }

    /// Adds the number of complete outputs to an error of the input.
    pub(super) fn interrupted(&self, failure: Failure) -> Failure {
        match self {
            Self::InTurn(writing) => writing.interrupted(failure),
            Self::InFolders(partitions) => partitions.interrupted(failure),
        }
    }
}
