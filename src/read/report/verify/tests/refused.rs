//! Verification reports every shard that a scan refuses.

use super::super::Problem;
use super::{message, verify, written};
use crate::column::{TypeMapping, encode_arrow_schema};
use crate::error::ErrorKind;
use crate::format::{
    DataRef, HEADER, Message, ShardDirectory, ShardProperties, UrlList, Wire, seal,
};
use crate::io::{ByteRange, MemoryFolder};
use crate::read::{Shard, ShardOptions};
use crate::write::{ARROW_SCHEMA_PROPERTY, Layout, ShardWriter, WriterOptions};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
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
    let is_told = |p: &Problem| p.field.as_deref() == Some("c") && p.kind == kind;
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
    assert!(!shard.verify(|_| ()).unwrap().is_sound());
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
        shard.verify(|_| ()).unwrap()
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
