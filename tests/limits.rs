//! What a file asks for is held to the limits, whatever it is made of: each of these shards is
//! sound, and of more data than the limit that it is read with.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod support;

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Int32Array,
    Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, RunArray, StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::WriterOptions;
use arrow_shard::{ErrorKind, Limits};
use std::sync::Arc;
use support::{inner, remote, written_bytes};

/// Asserts that a batch of all rows of the column, read as that type, is refused for its bytes, and
/// that smaller ones are read.
#[track_caller]
fn assert_bounded(column: &ArrayRef, wanted: &DataType, bytes: u64, batch_size: usize) {
    let rows = column.len();
    let batch = RecordBatch::try_from_iter([("c", column.clone())]).unwrap();
    let file = written_bytes(&[batch], WriterOptions::default());
    let schema = Arc::new(Schema::new(vec![Field::new("c", wanted.clone(), true)]));
    let rows_read = |max_batch_bytes: u64, batch_size: usize| -> Result<usize, ArrowError> {
        let limits = Limits::default().with_max_batch_bytes(max_batch_bytes);
        let options = ShardOptions::default().with_limits(limits);
        let scan = remote(file.clone(), options)?.scan();
        let scan = scan.with_schema(schema.clone()).with_batch_size(batch_size);
        let batches = scan.build()?.collect::<Result<Vec<_>, _>>()?;
        Ok(batches.iter().map(RecordBatch::num_rows).sum())
    };
    assert_eq!(rows_read(1 << 30, rows).unwrap(), rows);
    assert_eq!(rows_read(bytes, batch_size).unwrap(), rows);
    let error = rows_read(bytes, rows).unwrap_err();
    let error = inner(&error);
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    let text = error.to_string();
    assert!(text.contains("max_batch_bytes"), "{text}");
    assert!(text.contains("`c`"), "{text}");
}

/// The two values of a dictionary in an order that does not compress away.
fn coded(values: ArrayRef) -> ArrayRef {
    let keys = (0..8192i64).map(|i| i.wrapping_mul(0x9E37_79B9) >> 13 & 1);
    let keys = Int32Array::from_iter_values(keys.map(|key| i32::from(key == 1)));
    Arc::new(DictionaryArray::<Int32Type>::new(keys, values))
}

#[test]
fn gathered_values_of_a_dictionary_are() {
    let texts = ["a", "b"].map(|text| text.repeat(4000));
    let texts = coded(Arc::new(LargeStringArray::from_iter_values(texts)));
    for wanted in [DataType::LargeUtf8, DataType::Utf8] {
        assert_bounded(&texts, &wanted, 1 << 20, 100);
    }
    let sized = FixedSizeBinaryArray::try_from_iter([[1; 2000], [2; 2000]].iter()).unwrap();
    let wanted = sized.data_type().clone();
    assert_bounded(&coded(Arc::new(sized)), &wanted, 1 << 20, 100);
}

#[test]
fn values_of_several_blocks_are() {
    let values = (0..4000u32).map(|i| i.to_le_bytes().repeat(250));
    let values: ArrayRef = Arc::new(LargeBinaryArray::from_iter_values(values));
    for wanted in [
        DataType::LargeBinary,
        DataType::Binary,
        DataType::BinaryView,
    ] {
        assert_bounded(&values, &wanted, 5 << 19, 100);
    }
}

/// 100 lists of 1,000 of the items each.
fn lists(items: ArrayRef) -> ArrayRef {
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    Arc::new(FixedSizeListArray::new(item, 1000, items, None))
}

#[test]
fn structs_without_members_are() {
    let items = lists(Arc::new(StructArray::new_empty_fields(100_000, None)));
    assert_bounded(&items, &items.data_type().clone(), 1000, 1);
}

#[test]
fn runs_and_dictionaries_of_what_costs_no_bytes_are() {
    let one: ArrayRef = Arc::new(StructArray::new_empty_fields(1, None));
    let runs = RunArray::<Int64Type>::try_new(&Int64Array::from(vec![100_000]), &one).unwrap();
    let runs = lists(Arc::new(runs));
    assert_bounded(&runs, &runs.data_type().clone(), 100_000, 1);
    let keys = Int32Array::from(vec![0; 100_000]);
    let coded = lists(Arc::new(DictionaryArray::<Int32Type>::new(keys, one)));
    assert_bounded(&coded, &coded.data_type().clone(), 600_000, 1);
}
