//! One stripe: the encoders of all its fields.

use super::directory::StripeRecord;
use super::explain::Candidate;
use super::field::{EncodedField, FieldEncoder};
use super::output::Output;
use super::plan::FieldPlan;
use super::settings::WINDOW;
use super::workers::Workers;
use crate::buffer::ChecksumTable;
use crate::column::{Chunk, Values};
use crate::error::{Error, Result, Within};
use crate::format::{
    Capabilities, DataEncoding, NameValuePair, NativeDataEncoding, StripeFieldDescriptor,
};

/// A chunk of a batch and the schema node that it belongs to.
pub(super) type NodeChunk = (u32, Chunk<Values>);

/// Batches that wait for others to be encoded with.
const MOST_PENDING: usize = 64;
/// Bytes of Arrow data that do.
const MOST_PENDING_BYTES: u64 = 32 << 20;

/// Collects the rows of one stripe.
#[derive(Debug)]
pub(super) struct StripeBuilder {
    rows: u64,
    bytes: u64,
    fields: Vec<FieldEncoder>,
    /// Chunks that are not with their fields yet, by schema id, and of how many batches with how
    /// many bytes they are. A field takes those of a window at once: threads wait for each other less
    /// often, and what a field collects is still in the cache when it is encoded.
    pending: Vec<Vec<Chunk<Values>>>,
    pending_batches: usize,
    pending_bytes: u64,
}

/// A finished stripe, not yet written.
#[derive(Debug)]
pub(super) struct EncodedStripe {
    pub(super) rows: u64,
    /// By schema id.
    pub(super) fields: Vec<EncodedField>,
}

impl StripeBuilder {
    pub(super) fn new(plans: &[FieldPlan]) -> Self {
        Self {
            rows: 0,
            bytes: 0,
            fields: plans.iter().cloned().map(FieldEncoder::new).collect(),
            pending: plans.iter().map(|_| Vec::new()).collect(),
            pending_batches: 0,
            pending_bytes: 0,
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of Arrow data so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether these rows must go into another stripe.
    ///
    /// # Errors
    /// Those of the rows before.
    pub(super) fn would_overflow(
        &mut self,
        chunks: &[NodeChunk],
        workers: &Workers,
    ) -> Result<bool> {
        let is_dictionary =
            |(_, chunk): &NodeChunk| matches!(chunk.values, Values::Dictionary { .. });
        if !chunks.iter().any(is_dictionary) {
            return Ok(false);
        }
        self.settle(workers)?;
        Ok(chunks.iter().any(|(id, chunk)| {
            self.fields
                .get(*id as usize)
                .is_some_and(|field| field.would_overflow(chunk))
        }))
    }

    /// Appends rows, which end at the end of a window or before.
    ///
    /// # Errors
    /// Those of these rows or of rows before.
    pub(super) fn push(
        &mut self,
        rows: u64,
        bytes: u64,
        chunks: Vec<NodeChunk>,
        workers: &Workers,
    ) -> Result<()> {
        for (id, chunk) in chunks {
            let place = self.pending.get_mut(id as usize);
            place
                .ok_or_else(|| Error::invalid(format!("no schema node {id}")))?
                .push(chunk);
        }
        self.rows += rows;
        self.bytes += bytes;
        self.pending_batches += 1;
        self.pending_bytes += bytes;
        let full = self.rows.is_multiple_of(WINDOW as u64)
            || self.pending_batches >= MOST_PENDING
            || self.pending_bytes >= MOST_PENDING_BYTES;
        match full {
            true => self.settle(workers),
            false => Ok(()),
        }
    }

    /// Gives all fields their chunks.
    fn settle(&mut self, workers: &Workers) -> Result<()> {
        (self.pending_batches, self.pending_bytes) = (0, 0);
        let fields = self.fields.iter_mut().zip(&mut self.pending);
        let work: Vec<_> = fields.filter(|(_, chunks)| !chunks.is_empty()).collect();
        type Work<'a> = (&'a mut FieldEncoder, &'a mut Vec<Chunk<Values>>);
        let weight = |(field, _): &Work<'_>| field.memory_size();
        workers.map_heaviest_first(work, weight, |(field, chunks)| {
            let path = field.path();
            let mut chunks = chunks.drain(..);
            chunks
                .try_for_each(|chunk| field.push(&chunk))
                .within(|| column(&path))
        })?;
        Ok(())
    }

    /// Bytes held in memory.
    pub(super) fn memory_size(&self) -> usize {
        let pending = usize::try_from(self.pending_bytes).unwrap_or(usize::MAX);
        let fields: usize = self.fields.iter().map(FieldEncoder::memory_size).sum();
        fields.saturating_add(pending)
    }

    /// How the staged values of each schema node might be encoded.
    pub(super) fn into_candidates(mut self, workers: &Workers) -> Result<Vec<Vec<Candidate>>> {
        self.settle(workers)?;
        let fields = self.fields.into_iter();
        let candidates = |field: FieldEncoder| {
            let path = field.path();
            field.into_candidates().within(|| column(&path))
        };
        fields.map(candidates).collect()
    }

    /// Encodes what is still staged.
    pub(super) fn finish(mut self, workers: &Workers) -> Result<EncodedStripe> {
        self.settle(workers)?;
        let finish = |field: FieldEncoder| {
            let path = field.path();
            field.finish().within(|| column(&path))
        };
        Ok(EncodedStripe {
            rows: self.rows,
            fields: workers.map_heaviest_first(self.fields, FieldEncoder::memory_size, finish)?,
        })
    }
}

/// Where a field is, for errors.
fn column(path: &str) -> String {
    format!("column `{path}`")
}

/// Writes the buffers of a stripe to the file with that URL. `properties` are those of the user, in
/// the order of the schema ids of their columns.
pub(super) fn write_stripe(
    stripe: EncodedStripe,
    url: String,
    out: &mut Output<'_>,
    properties: Vec<(usize, Vec<NameValuePair>)>,
    capabilities: &Capabilities,
) -> Result<StripeRecord> {
    let mut properties = properties.into_iter().peekable();
    let mut fields = Vec::with_capacity(stripe.fields.len());
    for (id, field) in stripe.fields.into_iter().enumerate() {
        let mut checksums = ChecksumTable::default();
        let mut native = NativeDataEncoding::default();
        for (ordinal, buffer) in (0u16..).zip(field.buffers) {
            out.align()?;
            let start = out.position();
            buffer.write(|bytes| out.write(bytes))?;
            let described = buffer.describe(&url, start, ordinal, &mut checksums)?;
            native.buffers.push(described);
        }
        let mut descriptor = field.descriptor;
        if !checksums.is_empty() && capabilities.checksum_properties {
            descriptor.custom_properties.push(checksums.to_property());
        }
        if let Some((_, own)) = properties.next_if(|(column, _)| *column == id) {
            descriptor.custom_properties.extend(own);
        }
        fields.push(StripeFieldDescriptor {
            field: descriptor,
            encodings: vec![DataEncoding::Native(native)],
        });
    }
    // Raw buffers are padded to a multiple of 64 as well.
    out.align()?;
    Ok(StripeRecord {
        rows: stripe.rows,
        url,
        fields,
    })
}

#[cfg(test)]
mod tests {
    use super::super::options::WriterOptions;
    use super::super::schema::{field_plans, shard_schema};
    use super::*;
    use arrow_schema::{DataType, Field, Schema};
    use std::sync::Arc;

    #[test]
    fn a_chunk_that_cannot_be_encoded_is_of_a_column() {
        let member = Field::new("b", DataType::Int32, true);
        let column = Field::new("a", DataType::Struct(vec![member].into()), true);
        let schema = Arc::new(Schema::new(vec![column]));
        let options = WriterOptions::default();
        let stored = shard_schema(&schema, &options).unwrap();
        let plans = field_plans(&schema, &stored, &options).unwrap();
        let workers = Workers::try_new(1).unwrap();
        let mut stripe = StripeBuilder::new(&plans);
        let wrong = Chunk {
            len: 1,
            nulls: None,
            values: Values::Bits(vec![true].into()),
        };
        stripe.push(1, 1, vec![(1, wrong)], &workers).unwrap();
        let error = stripe.finish(&workers).unwrap_err().to_string();
        assert!(error.contains("column `a.b`"), "{error}");
    }
}
