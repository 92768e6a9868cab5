//! Changes the descriptors of stripe fields in shards.

use arrow_shard::format::{
    DataRef, DataRefArray, HEADER, Message, StripeFieldDescriptor, StripeList, Wire, open, seal,
};
use arrow_shard::io::ByteRange;
use arrow_shard::{Limits, Shard};

/// Returns the shard with the descriptors of the first stripe changed by `edit`, which gets the schema id and may
/// append bytes to the file.
pub(crate) fn with_descriptors(
    file: &[u8],
    mut edit: impl FnMut(usize, &mut StripeFieldDescriptor, &mut Vec<u8>),
) -> Vec<u8> {
    let mut file = file.to_vec();
    let (wire, limits) = (Wire::Spec, Limits::default());
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let mut directory = shard.directory().clone();
    let frame = |file: &[u8], reference: &DataRef| {
        let range = reference.range.to_usize().unwrap();
        open(&file[range]).unwrap().to_vec()
    };
    let append = |file: &mut Vec<u8>, payload: &[u8]| {
        let start = file.len() as u64;
        file.extend(seal(payload).unwrap());
        ByteRange::try_new(start, file.len() as u64).unwrap()
    };
    let list = frame(&file, directory.stripe_list_ref.as_ref().unwrap());
    let mut stripes = StripeList::decode(&list, wire, &limits).unwrap();
    let list = frame(&file, stripes.0[0].field_list_ref.as_ref().unwrap());
    let mut fields = DataRefArray::decode(&list, wire, &limits).unwrap();
    for id in 0..fields.len() {
        let Some(reference) = fields.get(id) else {
            continue;
        };
        let payload = frame(&file, &reference);
        let mut field = StripeFieldDescriptor::decode(&payload, wire, &limits).unwrap();
        let pad = file.len().next_multiple_of(64);
        file.resize(pad, 0);
        edit(id, &mut field, &mut file);
        fields.ranges[id] = append(&mut file, &field.encode(wire).unwrap());
    }
    let range = append(&mut file, &fields.encode(wire).unwrap());
    stripes.0[0].field_list_ref = Some(DataRef::this(range));
    let range = append(&mut file, &stripes.encode(wire).unwrap());
    directory.stripe_list_ref = Some(DataRef::this(range));
    let frame = seal(&directory.encode(wire).unwrap()).unwrap();
    file.extend(&frame);
    file.extend(&frame[..4]);
    file.extend(HEADER);
    file
}
