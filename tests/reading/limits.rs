//! Limits apply to all kinds of files: each of these shards is sound, but has more data than the limit.

use crate::support::{inner, remote, written_bytes};
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Int32Array,
    Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, RunArray, StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_shard::io::NoContainer;
use arrow_shard::metadata::{AnyValue, NameValuePair, ValueKind};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{Profile, WriterOptions};
use arrow_shard::{Error, ErrorKind, Limits, Shard};
use bytes::Bytes;
use std::sync::Arc;

/// Asserts that a batch of all rows of a column, read as a type, exceeds the limit of bytes, and that smaller batches
/// can be read.
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

/// Returns the two values of a dictionary in an order that does not compress well.
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

/// Returns 100 lists of 1,000 items each.
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

/// Returns a shard of two stripes with data for all limits.
fn rich() -> Bytes {
    let texts = (0..6000u32).map(|i| format!("text {}", i.wrapping_mul(0x9E37_79B9)));
    let texts: ArrayRef = Arc::new(LargeStringArray::from_iter_values(texts));
    let codes = coded(Arc::new(LargeStringArray::from_iter_values(["a", "b"])));
    let codes = codes.slice(0, 6000);
    let runs: ArrayRef = Arc::new(Int32Array::from_iter_values((0..6000).map(|i| i / 100)));
    let member = Arc::new(Field::new("member", DataType::Int32, false));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(member, runs)]));
    let columns = [("text", texts), ("code", codes), ("nested", nested)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let list = |items| AnyValue::from(ValueKind::List(items));
    let value = list(vec![list(vec![ValueKind::Null.into()])]);
    let options = WriterOptions::default()
        .with_stripe_rows(3000)
        .with_property(NameValuePair::new("deep", value));
    written_bytes(&[batch], options)
}

/// Opens the shard and reads all of it.
fn read_all(file: &Bytes, limits: Limits) -> Result<usize, Error> {
    let shard = remote(file.clone(), ShardOptions::default().with_limits(limits))?;
    shard.properties()?;
    let batches = shard.scan().build()?.collect::<Result<Vec<_>, _>>()?;
    Ok(batches.iter().map(RecordBatch::num_rows).sum())
}

#[test]
fn errors_name_the_limit_that_is_exceeded() {
    let file = rich();
    let limits = Limits::default;
    assert_eq!(read_all(&file, limits()).unwrap(), 6000);
    for (name, limits) in [
        ("max_message_bytes", limits().with_max_message_bytes(20)),
        ("max_schema_nodes", limits().with_max_schema_nodes(2)),
        ("max_schema_depth", limits().with_max_schema_depth(1)),
        ("max_value_depth", limits().with_max_value_depth(1)),
        ("max_encoding_depth", limits().with_max_encoding_depth(1)),
        ("max_stripes", limits().with_max_stripes(1)),
        ("max_block_values", limits().with_max_block_values(1000)),
        ("max_block_bytes", limits().with_max_block_bytes(1000)),
        (
            "max_dictionary_bytes",
            limits().with_max_dictionary_bytes(10),
        ),
        ("max_batch_bytes", limits().with_max_batch_bytes(1000)),
    ] {
        let error = read_all(&file, limits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{name}: {error}");
        let text = error.to_string();
        assert!(text.contains(&format!("Limits::{name}")), "{name}: {text}");
    }
}

#[test]
fn strict_limits_are_below_the_defaults_and_allow_ordinary_shards() {
    let (strict, default) = (Limits::strict(), Limits::default());
    for (strict, default) in [
        (strict.max_message_bytes(), default.max_message_bytes()),
        (strict.max_stripes(), default.max_stripes()),
        (strict.max_block_bytes(), default.max_block_bytes()),
        (
            strict.max_dictionary_bytes(),
            default.max_dictionary_bytes(),
        ),
        (strict.max_batch_bytes(), default.max_batch_bytes()),
        (strict.max_cached_bytes(), default.max_cached_bytes()),
    ] {
        assert!(strict * 8 <= default);
    }
    assert_eq!(read_all(&rich(), Limits::strict()).unwrap(), 6000);
    // Many columns, and long texts.
    let wide = (0..10_000).map(|i| {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![i, -i, i]));
        (format!("c{i}"), numbers)
    });
    let wide = RecordBatch::try_from_iter(wide).unwrap();
    let texts = (0..40u8).map(|i| vec![i; 1 << 20]);
    let texts: ArrayRef = Arc::new(LargeBinaryArray::from_iter_values(texts));
    let long = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    for batch in [wide, long] {
        for profile in [
            Profile::Plain,
            Profile::Fast,
            Profile::Balanced,
            Profile::HighCompression,
        ] {
            let options = WriterOptions::default().with_profile(profile);
            let file = written_bytes(std::slice::from_ref(&batch), options);
            let read = read_all(&file, Limits::strict()).unwrap();
            assert_eq!(read, batch.num_rows(), "{profile:?}");
        }
    }
}

#[test]
fn blocks_that_are_too_large_are_refused_however_they_are_read() {
    let numbers: Int64Array = (0..20_000i64).map(|i| i.wrapping_mul(i << 40)).collect();
    let batch = RecordBatch::try_from_iter([("a", Arc::new(numbers) as ArrayRef)]).unwrap();
    let file = written_bytes(&[batch], WriterOptions::default());
    let limits = Limits::default().with_max_block_bytes(60_000);
    let options = ShardOptions::default().with_limits(limits);
    let shard = Shard::from_reader(Arc::new(file), Arc::new(NoContainer), options).unwrap();
    // Whole blocks of 8,192 values, and parts of blocks.
    for rows in [8192, 1000, 10_000] {
        let mut reader = shard.scan().with_batch_size(rows).build().unwrap();
        let error = reader.next().unwrap().unwrap_err();
        let error = inner(&error);
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        assert!(error.to_string().contains("block 0"), "{error}");
    }
}
