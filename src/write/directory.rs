//! Spec: Chapter 6, "Shard Directory": the metadata after the stripes.
//!
//! ```text
//! per stripe: field descriptors | field list | properties
//! stripe list | URL list | shard field descriptors | field list | properties | schema
//! directory | length of the directory | footer
//! ```
//!
//! What every reader needs stands last, so that one read of the tail opens a usual shard.

use super::options::WriterOptions;
use super::output::Output;
use crate::error::Result;
use crate::format::{
    DataRef, DataRefArray, FieldDescriptor, HEADER, Message, NameValuePair, Schema, ShardDirectory,
    ShardProperties, StripeDirectory, StripeFieldDescriptor, StripeList, StripeProperties, UrlList,
    Wire, seal,
};
use crate::stats::ShardStats;

/// A stripe that has been written.
#[derive(Debug)]
pub(super) struct StripeRecord {
    pub(super) rows: u64,
    /// URL of the file that holds the buffers; empty for the directory file.
    pub(super) url: String,
    /// By schema id.
    pub(super) fields: Vec<StripeFieldDescriptor>,
}

impl StripeRecord {
    fn raw_data_size(&self) -> u64 {
        let sizes = self.fields.iter().filter_map(|f| f.field.raw_data_size);
        sizes.fold(0, u64::saturating_add)
    }
}

/// Writes all metadata, up to the footer.
pub(super) fn write_directory(
    out: &mut Output<'_>,
    schema: &Schema,
    stripes: &[StripeRecord],
    properties: Vec<NameValuePair>,
    options: &WriterOptions,
    creation_time: u64,
) -> Result<()> {
    let wire = options.wire();
    let mut writer = MetadataWriter { out, wire };
    let mut stripe_list = Vec::with_capacity(stripes.len());
    let mut record_offset = 0;
    for stripe in stripes {
        stripe_list.push(writer.stripe(stripe, record_offset, options)?);
        record_offset += stripe.rows;
    }
    let raw_data_size = stripe_list.iter().filter_map(|s| s.raw_data_size).sum();
    let stripe_list_ref = writer.message(&StripeList(stripe_list))?;
    let mut urls: Vec<String> = stripes.iter().map(|s| s.url.clone()).collect();
    urls.retain(|url| !url.is_empty());
    let url_list_ref = writer.message(&UrlList(urls))?;
    let field_list_ref = writer.shard_fields(schema, stripes)?;
    let properties_ref = writer.message(&ShardProperties {
        creation_min: Some(creation_time),
        creation_max: Some(creation_time),
        standard_properties: Vec::new(),
        custom_properties: properties,
    })?;
    let schema_ref = writer.frame(&schema.encode(wire)?)?;
    let directory = ShardDirectory {
        schema_ref: Some(schema_ref),
        properties_ref: Some(properties_ref),
        field_list_ref: Some(field_list_ref),
        stripe_list_ref: Some(stripe_list_ref),
        url_list_ref: Some(url_list_ref),
        indexes_ref: None,
        total_record_count: record_offset,
        deleted_record_count: 0,
        stripe_count: stripes.len() as u64,
        raw_data_size: Some(raw_data_size),
    };
    let frame = seal(&directory.encode(wire)?)?;
    out.write(&frame)?;
    // The length stands before the directory and, for readers that come from the end, after it.
    out.write(&frame[..4])?;
    out.write(&HEADER)
}

struct MetadataWriter<'a, 'b> {
    out: &'a mut Output<'b>,
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

    fn stripe(
        &mut self,
        stripe: &StripeRecord,
        record_offset: u64,
        options: &WriterOptions,
    ) -> Result<StripeDirectory> {
        let mut list = DataRefArray::default();
        for field in &stripe.fields {
            if sketch_pays(&field.field, self.wire) {
                list.push(self.message(field)?);
            } else {
                let mut field = field.clone();
                drop_sketch(&mut field.field);
                list.push(self.message(&field)?);
            }
        }
        let field_list_ref = self.message(&list)?;
        let custom_properties = options.stripe_properties().to_vec();
        let properties_ref = if custom_properties.is_empty() {
            None
        } else {
            Some(self.message(&StripeProperties {
                standard_properties: Vec::new(),
                custom_properties,
            })?)
        };
        Ok(StripeDirectory {
            properties_ref,
            field_list_ref: Some(field_list_ref),
            indexes_ref: None,
            total_record_count: stripe.rows,
            deleted_record_count: 0,
            raw_data_size: Some(stripe.raw_data_size()),
            record_offset,
        })
    }

    fn shard_fields(&mut self, schema: &Schema, stripes: &[StripeRecord]) -> Result<DataRef> {
        let mut nodes = 0;
        for field in &schema.fields {
            field.data_type.walk(&mut |_| nodes += 1);
        }
        let mut list = DataRefArray::default();
        for id in 0..nodes {
            match shard_field(id, stripes, self.wire) {
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

/// Positions from which on the sketch of a field is stored: it takes 200 bytes, and is of no use
/// where a stripe is as soon read. What the shard says of all stripes is made of every sketch.
const FEWEST_SKETCHED: u64 = 4096;

fn sketch_pays(descriptor: &FieldDescriptor, wire: Wire) -> bool {
    descriptor.position_count >= FEWEST_SKETCHED || !wire.capabilities().spec_statistics
}

fn drop_sketch(descriptor: &mut FieldDescriptor) {
    if let Some(cardinality) = &mut descriptor.cardinality {
        cardinality.sketch = None;
    }
}

fn shard_field(id: usize, stripes: &[StripeRecord], wire: Wire) -> Option<FieldDescriptor> {
    let mut stats = ShardStats::new(wire.capabilities().spec_statistics);
    for stripe in stripes {
        stats.add(&stripe.fields.get(id)?.field);
    }
    stats.finish()
}
