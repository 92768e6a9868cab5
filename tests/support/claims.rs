//! Creates shards that claim far more rows than their bytes contain.

use super::descriptors::with_descriptors;
use arrow_shard::buffer::{BlockStreamWriter, OwnProperties};
use arrow_shard::format::{
    BufferKind, DataEncoding, DataRef, DataRefArray, FieldDescriptor, HEADER, Message,
    NativeDataEncoding, ShardDirectory, StripeDirectory, StripeFieldDescriptor, StripeList, Wire,
    open, seal,
};
use arrow_shard::io::ByteRange;
use arrow_shard::{Limits, Shard};
use std::sync::Arc;

/// Changes a shard of one stripe, without statistics of the whole shard, to claim `stripes` stripes of `rows` rows,
/// with `deletes` deleted rows each. `edit` gets the schema id of each field.
pub(crate) fn claiming(
    file: &[u8],
    rows: u64,
    stripes: u64,
    deletes: u64,
    mut edit: impl FnMut(usize, &mut StripeFieldDescriptor, &mut Vec<u8>),
) -> Vec<u8> {
    let written = Shard::from_bytes(file.to_vec().into()).unwrap();
    let written = written.num_rows() + written.num_deleted_rows();
    let mut counts = Vec::new();
    let mut file = with_descriptors(file, |id, described, file| {
        let field = &mut described.field;
        let all_null = field.null_count == Some(field.position_count) && field.position_count > 0;
        // Lists keep their number of items per row.
        field.position_count = field.position_count / written * rows;
        field.null_count = Some(if all_null { field.position_count } else { 0 });
        field.raw_data_size = None;
        field.cardinality = None;
        field.type_specific = None;
        edit(id, described, file);
        counts.push(FieldDescriptor {
            position_count: described.field.position_count,
            null_count: described.field.null_count,
            ..FieldDescriptor::default()
        });
    });
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let mut directory = shard.directory().clone();
    let range = directory.stripe_list_ref.as_ref().unwrap().range;
    let list = open(&file[range.to_usize().unwrap()]).unwrap();
    let list = StripeList::decode(list, Wire::Spec, &Limits::default()).unwrap();
    let one = &list.0[0];
    let list = (0..stripes).map(|i| {
        let mut stripe = one.clone();
        stripe.total_record_count = rows;
        stripe.deleted_record_count = deletes;
        stripe.record_offset = rows.wrapping_mul(i);
        stripe
    });
    let list = StripeList(list.collect());
    directory.total_record_count = rows.wrapping_mul(stripes);
    directory.deleted_record_count = deletes * stripes;
    directory.stripe_count = stripes;
    let mut list_of_shard = DataRefArray::default();
    for mut field in counts {
        field.position_count *= stripes;
        field.null_count = field.null_count.map(|nulls| nulls * stripes);
        list_of_shard.push(append(&mut file, &field.encode(Wire::Spec).unwrap()));
    }
    let list_of_shard = list_of_shard.encode(Wire::Spec).unwrap();
    directory.field_list_ref = Some(append(&mut file, &list_of_shard));
    directory.stripe_list_ref = Some(append(&mut file, &list.encode(Wire::Spec).unwrap()));
    end(file, &directory)
}

/// Replaces the values of a field by `count` blocks that each claim `values` values.
pub(crate) fn put_blocks(
    described: &mut StripeFieldDescriptor,
    file: &mut Vec<u8>,
    count: usize,
    values: usize,
    block: &[u8],
) {
    let mut blocks = BlockStreamWriter::new(Arc::default());
    for _ in 0..count {
        let encode = |out: &mut Vec<u8>| {
            out.extend_from_slice(block);
            Ok(())
        };
        blocks.push(values, &[], encode).unwrap();
    }
    let is_text = matches!(
        described
            .field
            .constant_value
            .as_ref()
            .and_then(|v| v.kind.as_ref()),
        Some(arrow_shard::metadata::ValueKind::String(_))
    );
    let buffer = blocks.finish(BufferKind::Data).unwrap();
    let buffer = buffer.with_embedded(is_text, is_text);
    let start = file.len() as u64;
    let write = |bytes: &[u8]| {
        file.extend_from_slice(bytes);
        Ok(())
    };
    buffer.write(write).unwrap();
    let mut notes = OwnProperties::default();
    let buffer = buffer.describe("", start, 0, &mut notes).unwrap();
    described.field.constant_value = None;
    // The old ones are of the buffers that are replaced.
    described.field.custom_properties = notes.to_properties();
    described.encodings = vec![DataEncoding::Native(NativeDataEncoding {
        buffers: vec![buffer],
        packed_group: false,
    })];
}

/// Changes a shard without rows to a shard of one stripe with `rows` rows, and without any of the `nodes` of the
/// schema.
pub(crate) fn all_absent(file: &[u8], nodes: usize, rows: u64) -> Vec<u8> {
    let mut file = file.to_vec();
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let mut directory = shard.directory().clone();
    let fields = append(&mut file, &absent(nodes));
    let stripe = StripeDirectory {
        field_list_ref: Some(fields),
        total_record_count: rows,
        ..StripeDirectory::default()
    };
    let list = StripeList(vec![stripe]).encode(Wire::Spec).unwrap();
    directory.stripe_list_ref = Some(append(&mut file, &list));
    directory.total_record_count = rows;
    directory.stripe_count = 1;
    directory.field_list_ref = Some(append(&mut file, &absent(nodes)));
    end(file, &directory)
}

/// Returns a list of `nodes` absent fields.
fn absent(nodes: usize) -> Vec<u8> {
    let mut list = DataRefArray::default();
    (0..nodes).for_each(|_| list.push(DataRef::default()));
    list.encode(Wire::Spec).unwrap()
}

/// Appends a message.
fn append(file: &mut Vec<u8>, payload: &[u8]) -> DataRef {
    let start = file.len() as u64;
    file.extend(seal(payload).unwrap());
    DataRef::this(ByteRange::try_new(start, file.len() as u64).unwrap())
}

/// Returns the file with another directory.
fn end(mut file: Vec<u8>, directory: &ShardDirectory) -> Vec<u8> {
    let frame = seal(&directory.encode(Wire::Spec).unwrap()).unwrap();
    file.extend(&frame);
    file.extend(&frame[..4]);
    file.extend(HEADER);
    file
}
