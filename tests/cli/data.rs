//! Batches for tests of the command line.

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Float64Array, Int64Array,
    RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, UnionArray,
};
use arrow_schema::{DataType, Field, Fields, UnionFields, UnionMode};
use std::sync::Arc;

/// Returns values of types that every format distinguishes, with nulls.
pub(crate) fn plain(rows: usize) -> RecordBatch {
    let words = ["a", "b,c", "d \"e\"", "ä"];
    let ids: Int64Array = (0i64..)
        .take(rows)
        .map(|i| (i % 5 > 0).then_some(i * 7 - 3))
        .collect();
    let names: StringArray = (0..rows)
        .map(|i| (i % 7 > 0).then_some(words[i % 4]))
        .collect();
    let sizes: Float64Array = (0..rows)
        .map(|i| (i % 3 > 0).then_some(i as f64 + 0.25))
        .collect();
    let flags: BooleanArray = (0..rows)
        .map(|i| (i % 4 > 0).then_some(i % 3 == 0))
        .collect();
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(ids) as ArrayRef, true),
        ("name", Arc::new(names), true),
        ("size", Arc::new(sizes), true),
        ("flag", Arc::new(flags), true),
    ])
    .unwrap()
}

/// Returns nested and other types, including types that CSV, NDJSON and Parquet do not support.
pub(crate) fn nested() -> RecordBatch {
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None]);
    lists.append_null();
    lists.append_value([]);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..3 {
        maps.keys().append_value("k");
        maps.values().append_value(row);
        maps.append(row != 1).unwrap();
    }
    let members = Fields::from(vec![
        Field::new("x", DataType::Int64, true),
        Field::new("y", DataType::Utf8, true),
    ]);
    let x = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])) as ArrayRef;
    let y = Arc::new(StringArray::from(vec![None, Some("u"), Some("v")]));
    let points = StructArray::new(members, vec![x, y], None);
    let keys: DictionaryArray<Int32Type> = [Some("p"), None, Some("q")].into_iter().collect();
    let times = TimestampMicrosecondArray::from(vec![Some(1), None, Some(-1)]);
    let decimals = Decimal128Array::from(vec![Some(12_345), None, Some(-1)]);
    RecordBatch::try_from_iter_with_nullable([
        ("list", Arc::new(lists.finish()) as ArrayRef, true),
        ("map", Arc::new(maps.finish()), true),
        ("point", Arc::new(points), true),
        ("key", Arc::new(keys), true),
        ("time", Arc::new(times.with_timezone("Europe/Oslo")), true),
        (
            "price",
            Arc::new(decimals.with_precision_and_scale(20, 2).unwrap()),
            true,
        ),
    ])
    .unwrap()
}

pub(crate) fn union() -> RecordBatch {
    let fields = UnionFields::try_new(
        [0, 1],
        [
            Field::new("i", DataType::Int64, true),
            Field::new("s", DataType::Utf8, true),
        ],
    )
    .unwrap();
    let children: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])),
        Arc::new(StringArray::from(vec![None, Some("u"), None])),
    ];
    let union = UnionArray::try_new(fields, vec![0, 1, 0].into(), None, children).unwrap();
    assert!(matches!(
        union.data_type(),
        DataType::Union(_, UnionMode::Sparse)
    ));
    let ids = Int64Array::from(vec![1, 2, 3]);
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(ids) as ArrayRef, true),
        ("either", Arc::new(union), true),
    ])
    .unwrap()
}
