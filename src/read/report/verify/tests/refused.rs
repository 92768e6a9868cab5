//! Verification reports every shard that a scan refuses.

use super::super::Problem;
use super::super::data::native_buffers;
use super::{message, patch, verify, written};
use crate::column::{TypeMapping, encode_arrow_schema};
use crate::error::ErrorKind;
use crate::format::{
    BufferKind, DataRef, HEADER, Message, ShardDirectory, ShardProperties, StripeFieldDescriptor,
    UrlList, Wire, checksum, seal,
};
use crate::io::{ByteRange, MemoryFolder};
use crate::read::{Shard, ShardOptions};
use crate::write::{
    ARROW_SCHEMA_PROPERTY, ColumnOptions, Layout, Profile, ShardWriter, WriterOptions,
};
#[cfg(feature = "decimal")]
use arrow_array::Decimal128Array;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;

/// Returns the file with another directory, and a message that the directory refers to.
fn with_message(
    file: &[u8],
    payload: &impl Message,
    refer: impl FnOnce(&mut ShardDirectory, DataRef),
) -> Vec<u8> {
    let mut file = file.to_vec();
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let mut directory = shard.directory().clone();
    let start = file.len() as u64;
    file.extend(seal(&payload.encode(Wire::Spec).unwrap()).unwrap());
    let range = ByteRange::try_new(start, file.len() as u64).unwrap();
    refer(&mut directory, DataRef::this(range));
    let frame = seal(&directory.encode(Wire::Spec).unwrap()).unwrap();
    file.extend(&frame);
    file.extend(&frame[..4]);
    file.extend(HEADER);
    file
}

/// Returns a shard with one column that declares the Arrow type of `field`.
fn said_to_be(column: ArrayRef, field: Field) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable([("c", column, true)]).unwrap();
    let options = WriterOptions::default().with_mapping(TypeMapping::Amudai);
    let file = written(&batch, options);
    assert_eq!(verify(file.clone()).unwrap().problems, []);
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let reference = shard.directory().properties_ref.clone().unwrap();
    let mut properties: ShardProperties = message(&file, &reference);
    let schema = encode_arrow_schema(&Schema::new(vec![field])).unwrap();
    for property in &mut properties.custom_properties {
        if property.name == ARROW_SCHEMA_PROPERTY {
            property.value = Some(schema.as_slice().into());
        }
    }
    with_message(&file, &properties, |directory, reference| {
        directory.properties_ref = Some(reference);
    })
}

/// Asserts that a scan refuses the shard, and that verification names the column and the kind of error.
#[track_caller]
fn assert_refused(file: Vec<u8>, kind: ErrorKind) {
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let scan = shard.scan().build().unwrap();
    assert!(
        scan.collect::<Result<Vec<_>, _>>().is_err(),
        "a scan takes it"
    );
    let report = verify(file).unwrap();
    let is_told = |p: &Problem| p.kind == kind && p.field.as_deref().unwrap().starts_with('c');
    assert!(!report.problems.is_empty(), "verified as sound");
    assert!(report.problems.iter().all(is_told), "{:?}", report.problems);
}

#[test]
fn nulls_of_a_column_without_nulls_are_a_problem() {
    let without = || Field::new("c", DataType::Int64, false);
    let some: Int64Array = (0..30_000).map(|i| (i < 29_999).then_some(i)).collect();
    assert_refused(
        said_to_be(Arc::new(some), without()),
        ErrorKind::SchemaMismatch,
    );
    let none = Arc::new(Int64Array::new_null(300));
    assert_refused(said_to_be(none, without()), ErrorKind::SchemaMismatch);
}

#[test]
fn bytes_of_packed_members_that_are_not_utf8_are_a_problem() {
    let texts: StringArray = (0..40).map(|i| Some(format!("name {i}"))).collect();
    let numbers = Int64Array::from_iter_values(0..40);
    let members: [(&str, ArrayRef); 2] = [("text", Arc::new(texts)), ("number", Arc::new(numbers))];
    let members = members.map(|(name, array)| {
        let field = Field::new(name, array.data_type().clone(), true);
        (Arc::new(field), array)
    });
    let members = StructArray::from(members.to_vec());
    let batch =
        RecordBatch::try_from_iter_with_nullable([("c", Arc::new(members) as ArrayRef, true)]);
    let packed = ColumnOptions::default().with_packed_group(true);
    let options = WriterOptions::default()
        .with_profile(Profile::Plain)
        .with_column("c", packed);
    let mut file = written(&batch.unwrap(), options);
    assert!(verify(file.clone()).unwrap().is_sound());

    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let node = shard.shard_schema().unwrap().fields[0].data_type.clone();
    let descriptor = shard.stripe_field_descriptor(0, node.schema_id);
    let descriptor = descriptor.unwrap().unwrap();
    let mut buffers = native_buffers(&descriptor);
    let buffer = buffers.find(|buffer| buffer.kind == BufferKind::Data);
    let buffer = buffer.unwrap();
    let range = |reference: &Option<DataRef>| reference.as_ref().unwrap().range.to_usize().unwrap();
    // The only block, and the checksum at its end, lie before the block map.
    let block = range(&buffer.buffer).start..range(&buffer.block_map).start - 4;
    let written = checksum(&file[block.clone()]).to_le_bytes();
    assert_eq!(written, file[block.end..block.end + 4]);
    let text = file[block.clone()].windows(7).position(|w| w == b"name 17");
    file[block.start + text.unwrap() + 2] = 0xFF;
    let mended = checksum(&file[block.clone()]).to_le_bytes();
    file[block.end..block.end + 4].copy_from_slice(&mended);
    // The descriptor repeats the checksum.
    patch(
        &mut file,
        Some(0),
        &node,
        |d: &mut StripeFieldDescriptor| {
            for value in d.field.custom_properties.iter_mut() {
                let mut bytes = value.value.as_ref().unwrap().as_bytes().unwrap().to_vec();
                if let Some(at) = bytes.windows(4).position(|w| w == written) {
                    bytes[at..at + 4].copy_from_slice(&mended);
                }
                value.value = Some(bytes.as_slice().into());
            }
        },
    );
    assert_refused(file, ErrorKind::Corrupt);
}

#[cfg(feature = "decimal")]
#[test]
fn decimals_beyond_their_type_are_a_problem() {
    let decimals = Decimal128Array::from(vec![Some(12_345), None, Some(123_456_789)]);
    let decimals = decimals.with_precision_and_scale(20, 4).unwrap();
    let narrow = Field::new("c", DataType::Decimal128(8, 4), true);
    assert_refused(
        said_to_be(Arc::new(decimals), narrow),
        ErrorKind::ValueOutOfRange,
    );
}

#[test]
fn rows_of_stripes_in_a_shard_without_rows_are_an_error() {
    let batch =
        RecordBatch::try_from_iter([("c", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)]);
    let file = written(&batch.unwrap(), WriterOptions::default());
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let properties =
        message::<ShardProperties>(&file, shard.directory().properties_ref.as_ref().unwrap());
    let file = with_message(&file, &properties, |directory, _| {
        directory.total_record_count = 0
    });
    let shard = Shard::from_bytes(file.into()).unwrap();
    assert!(!shard.verify().unwrap().is_sound());
    let error = shard.scan().build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("hold 2 records"), "{error}");
}

#[test]
fn files_that_the_url_list_lacks_are_a_problem() {
    let folder = MemoryFolder::new();
    let batch =
        RecordBatch::try_from_iter([("c", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)]);
    let batch = batch.unwrap();
    let options = WriterOptions::default().with_layout(Layout::TwoLevel);
    let factory = Box::new(folder.clone());
    let mut writer = ShardWriter::create_in(factory, "d.shard", batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    let stripes = writer.finish().unwrap().stripe_files().to_vec();
    let root = folder.get("d.shard").unwrap();
    let report = |root: Vec<u8>| {
        let (root, options) = (Arc::new(bytes::Bytes::from(root)), ShardOptions::default());
        let shard = Shard::from_reader(root, Arc::new(folder.clone()), options).unwrap();
        shard.verify().unwrap()
    };
    assert!(report(root.to_vec()).is_sound());
    for urls in [vec![], vec![format!("{}x", stripes[0])]] {
        let forged = with_message(&root, &UrlList(urls), |directory, reference| {
            directory.url_list_ref = Some(reference);
        });
        let report = report(forged);
        let problems: Vec<_> = report.problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].contains(&format!("the URL list lacks `{}`", stripes[0])),
            "{problems:?}"
        );
    }
}
