//! Descriptors with duplicate entries.

use super::*;
use crate::ErrorKind;
use crate::buffer::checksums::CHECKSUMS_PROPERTY;
use crate::format::{BasicType, DataRef, FieldDescriptor, NameValuePair};
use crate::io::ByteRange;
use std::time::{Duration, Instant};

/// Returns a buffer of 16 bytes.
fn buffer(kind: BufferKind, start: u64) -> EncodedBuffer {
    EncodedBuffer::new(kind, DataRef::this(ByteRange::with_len(start, 16).unwrap()))
}

fn native(buffers: Vec<EncodedBuffer>) -> DataEncoding {
    DataEncoding::Native(NativeDataEncoding {
        buffers,
        packed_group: false,
    })
}

/// Returns the layout of an Int32 field of four positions.
fn layout(encodings: Vec<DataEncoding>, checksums: Option<Vec<u8>>) -> Result<FieldLayout> {
    let checksums = checksums.map(|bytes| NameValuePair::new(CHECKSUMS_PROPERTY, bytes));
    let descriptor = StripeFieldDescriptor {
        field: FieldDescriptor {
            position_count: 4,
            null_count: Some(0),
            custom_properties: checksums.into_iter().collect(),
            ..FieldDescriptor::default()
        },
        encodings,
    };
    layout_of(&DataType::new(BasicType::Int32, "a"), &descriptor)
}

fn layout_of(node: &DataType, descriptor: &StripeFieldDescriptor) -> Result<FieldLayout> {
    FieldLayout::try_new(node, descriptor, None, &mut |_| Ok(0), &mut |_, _, _| {
        Err(Error::unsupported("Parquet"))
    })
}

#[test]
fn the_first_of_several_range_indexes_is_used() {
    let buffers = [
        (BufferKind::Data, 0),
        (BufferKind::RangeIndex, 64),
        (BufferKind::RangeIndex, 128),
    ];
    let buffers = buffers.map(|(kind, start)| buffer(kind, start)).to_vec();
    let layout = layout(vec![native(buffers)], None).unwrap();
    let Storage::Buffers(buffers) = layout.storage else {
        panic!("buffers")
    };
    assert_eq!(buffers.range_index.unwrap().place.range.start(), 64);
}

#[test]
fn two_dictionaries_are_an_error() {
    let dictionary = |start| buffer(BufferKind::ValueDictionary, start);
    let buffers = vec![buffer(BufferKind::Data, 0), dictionary(64), dictionary(128)];
    let error = layout(vec![native(buffers)], None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("two ValueDictionary buffers"));
}

#[test]
fn many_encodings_beside_many_checksums_are_refused_in_time() {
    const MANY: u16 = 60_000;
    // Entries without a checksum, for buffers that do not exist.
    let entry = |ordinal: u16| {
        let fields = [u16::MAX, ordinal, 1, 0, 1, 0, 0, 0];
        fields.map(u16::to_le_bytes).concat()
    };
    let checksums = (0..MANY).flat_map(entry).collect();
    let unsupported = vec![
        buffer(BufferKind::Data, 0),
        buffer(BufferKind::Other(77), 64),
    ];
    let encodings = vec![native(unsupported); MANY.into()];
    let start = Instant::now();
    let error = layout(encodings, Some(checksums)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn the_mark_of_absent_fields_is_no_number_of_positions() {
    let mut descriptor = StripeFieldDescriptor {
        encodings: vec![native(vec![buffer(BufferKind::Data, 0)])],
        ..StripeFieldDescriptor::default()
    };
    let node = DataType::new(BasicType::Int32, "a");
    for (positions, nulls) in [(u64::MAX, None), (u64::MAX, Some(u64::MAX))] {
        descriptor.field.position_count = positions;
        descriptor.field.null_count = nulls;
        let error = layout_of(&node, &descriptor).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("positions"), "{error}");
    }
}
