//! The trait that every format of printed rows implements.

use crate::failure::Failure;
use datafusion::arrow::array::RecordBatch;

/// Encodes rows, batch by batch.
pub(super) trait Encoder {
    /// Appends the columns and rows, as far as they can be printed.
    fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), Failure>;

    /// Appends the end.
    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Failure>;
}
