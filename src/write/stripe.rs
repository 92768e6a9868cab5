//! One stripe: the encoders of all its fields.

use super::directory::StripeRecord;
use super::explain::Candidate;
use super::field::{EncodedField, FieldEncoder};
use super::output::Output;
use super::plan::FieldPlan;
use super::workers::Workers;
use crate::buffer::ChecksumTable;
use crate::column::{Chunk, Values};
use crate::error::{Error, Result, Within};
use crate::format::{
    Capabilities, DataEncoding, NameValuePair, NativeDataEncoding, StripeFieldDescriptor,
};

/// A chunk of a batch and the schema node that it belongs to.
pub(super) type NodeChunk = (u32, Chunk<Values>);

/// Collects the rows of one stripe.
#[derive(Debug)]
pub(super) struct StripeBuilder {
    rows: u64,
    bytes: u64,
    fields: Vec<FieldEncoder>,
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
    pub(super) fn would_overflow(&self, chunks: &[NodeChunk]) -> bool {
        chunks.iter().any(|(id, chunk)| {
            self.fields
                .get(*id as usize)
                .is_some_and(|field| field.would_overflow(chunk))
        })
    }

    /// Appends rows.
    pub(super) fn push(
        &mut self,
        rows: u64,
        bytes: u64,
        chunks: &[NodeChunk],
        workers: &Workers,
    ) -> Result<()> {
        // Every node is in at most one chunk of the rows.
        let mut by_id: Vec<Option<&Chunk<Values>>> = vec![None; self.fields.len()];
        for (id, chunk) in chunks {
            let place = by_id.get_mut(*id as usize);
            *place.ok_or_else(|| Error::invalid(format!("no schema node {id}")))? = Some(chunk);
        }
        let fields = self.fields.iter_mut().zip(by_id).enumerate();
        let work = fields.filter_map(|(id, (field, chunk))| Some((id, field, chunk?)));
        let weight =
            |(_, field, _): &(usize, &mut FieldEncoder, &Chunk<Values>)| field.memory_size();
        workers.map_heaviest_first(work.collect(), weight, |(id, field, chunk)| {
            field.push(chunk).within(|| format!("schema node {id}"))
        })?;
        self.rows += rows;
        self.bytes += bytes;
        Ok(())
    }

    /// Bytes held in memory.
    pub(super) fn memory_size(&self) -> usize {
        self.fields.iter().map(FieldEncoder::memory_size).sum()
    }

    /// How the staged values of each schema node might be encoded.
    pub(super) fn into_candidates(self) -> Result<Vec<Vec<Candidate>>> {
        let fields = self.fields.into_iter();
        fields.map(FieldEncoder::into_candidates).collect()
    }

    /// Encodes what is still staged.
    pub(super) fn finish(self, workers: &Workers) -> Result<EncodedStripe> {
        Ok(EncodedStripe {
            rows: self.rows,
            fields: workers.map_heaviest_first(
                self.fields,
                FieldEncoder::memory_size,
                FieldEncoder::finish,
            )?,
        })
    }
}

/// Writes the buffers of a stripe to the file with that URL. `properties` are those of the user, by
/// the schema id of their column.
pub(super) fn write_stripe(
    stripe: EncodedStripe,
    url: String,
    out: &mut Output<'_>,
    mut properties: Vec<(usize, Vec<NameValuePair>)>,
    capabilities: &Capabilities,
) -> Result<StripeRecord> {
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
        if let Some((_, own)) = properties.iter_mut().find(|(column, _)| *column == id) {
            descriptor.custom_properties.append(own);
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
