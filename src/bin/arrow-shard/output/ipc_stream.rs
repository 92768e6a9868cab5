//! Arrow IPC streams, in which a dictionary may replace the previous one.
//!
//! If only a dictionary within another one changes, `arrow_ipc::writer::StreamWriter` writes the inner dictionary alone
//! when the entries of the outer one are equal. Readers that look up the entries of the outer dictionary later, such as
//! pyarrow, then mix its old keys with the new entries. Here all dictionaries are written again in that case.

use crate::failure::Failure;
use arrow_array::{Array, RecordBatch};
use arrow_data::ArrayData;
use arrow_ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_schema::{DataType, SchemaRef};
use std::io::Write;

/// The end of a stream: the mark of a message, and the length 0.
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// Writes batches of one schema.
pub(crate) struct IpcStreamEncoder<W: Write> {
    out: W,
    schema: SchemaRef,
    generator: IpcDataGenerator,
    options: IpcWriteOptions,
    context: IpcWriteContext,
    tracker: DictionaryTracker,
    /// The dictionaries within dictionaries of the last batch.
    inner: Vec<ArrayData>,
}

impl<W: Write> IpcStreamEncoder<W> {
    /// Starts a stream.
    pub(super) fn start(
        mut out: W,
        schema: &SchemaRef,
        options: IpcWriteOptions,
    ) -> Result<Self, Failure> {
        let generator = IpcDataGenerator::default();
        let mut tracker = DictionaryTracker::new(false);
        let message =
            generator.schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options);
        write_message(&mut out, message, &options)?;
        let mut context = IpcWriteContext::default();
        context.set_reserve_scratch(true);
        Ok(Self {
            out,
            schema: schema.clone(),
            generator,
            options,
            context,
            tracker,
            inner: Vec::new(),
        })
    }

    /// Appends the rows of a batch, and flushes, so that the reader of a pipe receives them immediately.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let mut inner = Vec::new();
        for column in batch.columns() {
            inner_dictionaries(&column.to_data(), false, &mut inner);
        }
        let mut pairs = inner.iter().zip(&self.inner);
        if pairs.any(|(new, old)| !new.ptr_eq(old) && new != old) {
            self.tracker.clear();
            // The message is not needed: this call numbers the dictionaries as before.
            let _known = self.generator.schema_to_bytes_with_dictionary_tracker(
                &self.schema,
                &mut self.tracker,
                &self.options,
            );
        }
        self.inner = inner;
        let (dictionaries, batch) =
            self.generator
                .encode(batch, &mut self.tracker, &self.options, &mut self.context)?;
        for message in dictionaries.into_iter().chain([batch]) {
            write_message(&mut self.out, message, &self.options)?;
        }
        Ok(self.out.flush()?)
    }

    /// Writes the remaining bytes and returns the destination.
    pub(super) fn finish(mut self) -> Result<W, Failure> {
        self.out.write_all(&END)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Adds the dictionaries that are within the entries of another one.
fn inner_dictionaries(data: &ArrayData, is_within: bool, found: &mut Vec<ArrayData>) {
    let is_dictionary = matches!(data.data_type(), DataType::Dictionary(..));
    for child in data.child_data() {
        if is_dictionary && is_within {
            found.push(child.clone());
        }
        inner_dictionaries(child, is_within || is_dictionary, found);
    }
}
