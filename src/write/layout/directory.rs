//! Spec: Chapter 6, "Shard Directory": the metadata after the stripes.
//!
//! ```text
//! field descriptors of each stripe | shard field descriptors | shard field list
//! per stripe: field list | properties
//! schema | properties | URL list | stripe list
//! directory | length of the directory | footer
//! ```
//!
//! Data that every reader needs come last, and small parts follow large ones. One read of the tail therefore opens a
//! typical shard, and locates the remaining metadata of a large one. If the stripes' metadata are too large to keep in
//! memory, they are written between later stripes.

use super::positioned_sink::PositionedSink;
use crate::error::{Error, Result};
use crate::format::{
    DataEncoding, DataRef, DataRefArray, FieldDescriptor, HEADER, Message, Schema, ShardDirectory,
    ShardProperties, StripeDirectory, StripeFieldDescriptor, StripeList, StripeProperties, UrlList,
    Wire, seal,
};
use crate::io::ByteRange;
use crate::stats::ShardStats;
use std::collections::HashSet;

/// A stripe after its buffers have been written.
#[derive(Debug)]
pub(crate) struct StripeRecord {
    /// Rows, including deleted rows.
    pub(crate) rows: u64,
    pub(crate) deleted_rows: u64,
    /// URLs of the files with the buffers, except the directory file.
    pub(crate) urls: Vec<String>,
    /// Descriptors by schema id; `None` if all rows are null.
    pub(crate) fields: Vec<Option<StripeFieldDescriptor>>,
    pub(crate) properties: StripeProperties,
}

/// The metadata of all stripes so far.
#[derive(Debug)]
pub(crate) struct StripesMetadata {
    wire: Wire,
    /// Shard-level statistics of each field, by schema id.
    fields: Vec<ShardStats>,
    /// Shard-level descriptors to use instead of `fields`. They come from the shard that the stripes are copied from,
    /// and have more statistics than the stripes.
    given_fields: Option<Vec<Option<FieldDescriptor>>>,
    rows: u64,
    deleted_rows: u64,
    /// URLs in the order in which stripes first referred to them.
    urls: Vec<String>,
    known_urls: HashSet<String>,
    /// Stripes with metadata already in the directory file.
    placed: Vec<StripeDirectory>,
    /// Later stripes, with metadata still in memory.
    kept: Vec<KeptStripe>,
    kept_bytes: usize,
}

/// The metadata of a stripe, kept encoded to save memory: Bloom filters make descriptors large.
#[derive(Debug)]
struct KeptStripe {
    rows: u64,
    deleted_rows: u64,
    /// `None` if there are values in Parquet files whose size before encoding is not known.
    raw_data_size: Option<u64>,
    /// Frames of the descriptors, by schema id, and the length of each; 0 if the field has none.
    frames: Vec<u8>,
    lens: Vec<u64>,
    properties: StripeProperties,
}

/// Approximate bytes kept per field for all stripes, mostly the sketch.
const FIELD_BYTES: usize = size_of::<ShardStats>() + 256;
/// Approximate bytes kept per stripe after its metadata are written: its list entry and its URL.
const STRIPE_BYTES: usize = size_of::<StripeDirectory>() + size_of::<String>() + 32;

impl StripesMetadata {
    /// Returns metadata without stripes, for a schema with `nodes` nodes.
    pub(crate) fn new(wire: Wire, nodes: usize) -> Self {
        let spec = wire.capabilities().spec_statistics;
        Self {
            wire,
            fields: (0..nodes).map(|_| ShardStats::new(spec)).collect(),
            given_fields: None,
            rows: 0,
            deleted_rows: 0,
            urls: Vec::new(),
            known_urls: HashSet::new(),
            placed: Vec::new(),
            kept: Vec::new(),
            kept_bytes: 0,
        }
    }

    /// Sets the shard-level descriptors, by schema id, of a shard that has the same stripes.
    pub(crate) fn with_fields(mut self, fields: Vec<Option<FieldDescriptor>>) -> Self {
        self.given_fields = Some(fields);
        self
    }

    /// Returns the number of stripes.
    pub(in crate::write) fn len(&self) -> usize {
        self.placed.len() + self.kept.len()
    }

    /// Returns the number of files that stripes refer to, except the directory file.
    pub(crate) fn other_files(&self) -> u64 {
        self.urls.len() as u64
    }

    /// Returns the rows of all stripes.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the size in bytes of the metadata that are not in the directory file yet.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Returns the approximate memory size in bytes.
    pub(in crate::write) fn memory_size(&self) -> usize {
        let (fields, stripes) = (self.fields.len(), self.placed.len());
        self.kept_bytes + fields * FIELD_BYTES + stripes * STRIPE_BYTES
    }

    /// Returns the URLs of the stripe files.
    pub(in crate::write) fn into_urls(self) -> Vec<String> {
        self.urls
    }

    /// Adds a stripe.
    pub(crate) fn push(&mut self, stripe: StripeRecord) -> Result<()> {
        let (expected, found) = (self.fields.len(), stripe.fields.len());
        if found != expected {
            return Err(Error::invalid(format!(
                "a stripe has {found} fields, and the schema {expected}"
            )));
        }
        let mut kept = KeptStripe {
            rows: stripe.rows,
            deleted_rows: stripe.deleted_rows,
            raw_data_size: Some(0),
            frames: Vec::new(),
            lens: Vec::with_capacity(stripe.fields.len()),
            properties: stripe.properties,
        };
        for (field, shard) in stripe.fields.into_iter().zip(&mut self.fields) {
            let Some(mut field) = field else {
                kept.lens.push(0);
                continue;
            };
            let descriptor = &mut field.field;
            let is_external =
                |encoding: &DataEncoding| matches!(encoding, DataEncoding::Parquet(_));
            let raw = match descriptor.raw_data_size {
                None if field.encodings.iter().any(is_external) => None,
                // Fields without values of their own, such as structs, state no size.
                raw => Some(raw.unwrap_or(0)),
            };
            let sum = kept.raw_data_size.zip(raw);
            kept.raw_data_size = sum.map(|(sum, raw)| sum.saturating_add(raw));
            shard.add(descriptor);
            if !sketch_pays(descriptor, self.wire) {
                drop_sketch(descriptor);
            }
            let frame = seal(&field.encode(self.wire)?)?;
            kept.lens.push(frame.len() as u64);
            kept.frames.extend(frame);
        }
        kept.frames.shrink_to_fit();
        self.kept_bytes += kept.memory_size();
        self.kept.push(kept);
        self.rows = self.rows.saturating_add(stripe.rows);
        self.deleted_rows = self.deleted_rows.saturating_add(stripe.deleted_rows);
        for url in stripe.urls {
            if self.known_urls.insert(url.clone()) {
                self.urls.push(url);
            }
        }
        Ok(())
    }

    /// Writes the kept metadata to the directory file.
    pub(crate) fn place(&mut self, out: &mut PositionedSink<'_>) -> Result<()> {
        let wire = self.wire;
        let mut writer = MetadataWriter { out, wire };
        let starts = writer.descriptors(&self.kept)?;
        self.list(&starts, out)
    }

    /// Writes the field lists, which refer to the descriptors, and the properties of the kept stripes.
    fn list(&mut self, starts: &[u64], out: &mut PositionedSink<'_>) -> Result<()> {
        let wire = self.wire;
        let mut writer = MetadataWriter { out, wire };
        let last = self.placed.last();
        let mut record_offset = last.map_or(0, |last| last.record_offset + last.total_record_count);
        for (stripe, start) in self.kept.drain(..).zip(starts) {
            let placed = writer.stripe(&stripe, *start, record_offset)?;
            record_offset = record_offset.saturating_add(stripe.rows);
            self.placed.push(placed);
        }
        self.kept_bytes = 0;
        Ok(())
    }

    /// Writes the remaining metadata, up to the footer.
    pub(crate) fn finish(
        &mut self,
        out: &mut PositionedSink<'_>,
        schema: &Schema,
        properties: &ShardProperties,
    ) -> Result<()> {
        let wire = self.wire;
        let mut writer = MetadataWriter { out, wire };
        let starts = writer.descriptors(&self.kept)?;
        let fields = std::mem::take(&mut self.fields);
        let merged = || fields.into_iter().map(ShardStats::finish).collect();
        let fields = self.given_fields.take().unwrap_or_else(merged);
        let field_list_ref = writer.shard_fields(fields)?;
        self.list(&starts, out)?;
        let mut writer = MetadataWriter { out, wire };
        let stripes = std::mem::take(&mut self.placed);
        let stripe_count = stripes.len() as u64;
        let raw_data_size = stripes.iter().map(|stripe| stripe.raw_data_size).sum();
        let schema_ref = writer.frame(&schema.encode(wire)?)?;
        let properties_ref = writer.message(properties)?;
        let url_list_ref = writer.message(&UrlList(self.urls.clone()))?;
        let stripe_list_ref = writer.message(&StripeList(stripes))?;
        let directory = ShardDirectory {
            schema_ref: Some(schema_ref),
            properties_ref: Some(properties_ref),
            field_list_ref: Some(field_list_ref),
            stripe_list_ref: Some(stripe_list_ref),
            url_list_ref: Some(url_list_ref),
            indexes_ref: None,
            total_record_count: self.rows,
            deleted_record_count: self.deleted_rows,
            stripe_count,
            raw_data_size,
        };
        let frame = seal(&directory.encode(wire)?)?;
        out.write(&frame)?;
        // The length precedes the directory, and follows it for readers that start at the end of the file.
        out.write(&frame[..4])?;
        out.write(&HEADER)
    }
}

impl KeptStripe {
    fn memory_size(&self) -> usize {
        size_of::<Self>() + self.frames.len() + size_of_val(self.lens.as_slice())
    }
}

struct MetadataWriter<'a, 'b> {
    out: &'a mut PositionedSink<'b>,
    wire: Wire,
}

impl MetadataWriter<'_, '_> {
    fn frame(&mut self, payload: &[u8]) -> Result<DataRef> {
        Ok(DataRef::this(self.out.append(&seal(payload)?)?))
    }

    fn message(&mut self, message: &impl Message) -> Result<DataRef> {
        let payload = message.encode(self.wire)?;
        self.frame(&payload)
    }

    /// Writes the descriptors of stripes, and returns the start of each stripe's descriptors.
    fn descriptors(&mut self, stripes: &[KeptStripe]) -> Result<Vec<u64>> {
        let append = |stripe: &KeptStripe| Ok(self.out.append(&stripe.frames)?.start());
        stripes.iter().map(append).collect()
    }

    /// Writes the field list and the properties of a stripe. Its descriptors begin at `start`.
    fn stripe(
        &mut self,
        stripe: &KeptStripe,
        mut start: u64,
        record_offset: u64,
    ) -> Result<StripeDirectory> {
        let mut list = DataRefArray::default();
        for len in &stripe.lens {
            list.push(match len {
                0 => DataRef::default(),
                _ => DataRef::this(ByteRange::with_len(start, *len)?),
            });
            start += len;
        }
        let field_list_ref = self.message(&list)?;
        let properties_ref = if stripe.properties == StripeProperties::default() {
            None
        } else {
            Some(self.message(&stripe.properties)?)
        };
        Ok(StripeDirectory {
            properties_ref,
            field_list_ref: Some(field_list_ref),
            indexes_ref: None,
            total_record_count: stripe.rows,
            deleted_record_count: stripe.deleted_rows,
            raw_data_size: stripe.raw_data_size,
            record_offset,
        })
    }

    fn shard_fields(&mut self, fields: Vec<Option<FieldDescriptor>>) -> Result<DataRef> {
        let mut list = DataRefArray::default();
        for field in fields {
            match field {
                Some(mut descriptor) => {
                    if !sketch_pays(&descriptor, self.wire) {
                        drop_sketch(&mut descriptor);
                    }
                    list.push(self.message(&descriptor)?);
                }
                None => list.push(DataRef::default()),
            }
        }
        self.message(&list)
    }
}

/// Fewest positions for which the sketch of a field is stored. A sketch takes 200 bytes, and the values of a smaller
/// stripe can be read about as fast. Statistics of the shard use the sketches of all stripes, stored or not.
const MIN_SKETCHED_POSITIONS: u64 = 4096;

fn sketch_pays(descriptor: &FieldDescriptor, wire: Wire) -> bool {
    descriptor.position_count >= MIN_SKETCHED_POSITIONS || !wire.capabilities().spec_statistics
}

fn drop_sketch(descriptor: &mut FieldDescriptor) {
    if let Some(cardinality) = &mut descriptor.cardinality {
        cardinality.sketch = None;
    }
}
