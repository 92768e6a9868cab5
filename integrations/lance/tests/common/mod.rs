//! Tables for tests.

#![allow(dead_code, reason = "each test program uses some of it")]

use arrow_array::builder::{
    FixedSizeListBuilder, Int32Builder, LargeListBuilder, ListBuilder, MapBuilder, StringBuilder,
    StructBuilder,
};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, OffsetBuffer, i256};
use arrow_schema::{ArrowError, DataType, Field, Schema, UnionFields};
use arrow_shard_lance::{LanceReader, LanceVersion, LanceWriteOptions, LanceWriter};
use half::f16;
use std::path::Path;
use std::sync::Arc;

/// Rows of each column of [`columns`].
pub(crate) const ROWS: usize = 3;

/// A column of every Arrow type, with a null where the type has some.
pub(crate) fn columns() -> Vec<ArrayRef> {
    let texts = [Some("a"), None, Some("ä")];
    let bytes = [Some(&b"a"[..]), None, Some(b"\xFF")];
    let strings = StringArray::from_iter(texts);
    let numbers = Int32Array::from(vec![Some(1), None, Some(3)]);
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None]);
    lists.append_null();
    lists.append_value([]);
    let item = Arc::new(Field::new("item", DataType::Int32, true));
    let views = |offsets: [i32; 3]| {
        let sizes = vec![1, 0, 2].into();
        let items = Arc::new(numbers.clone());
        ListViewArray::new(item.clone(), offsets.to_vec().into(), sizes, items, None)
    };
    let large_views = LargeListViewArray::new(
        item.clone(),
        vec![1, 0, 0].into(),
        vec![1, 0, 2].into(),
        Arc::new(numbers.clone()),
        None,
    );
    let fixed = FixedSizeListArray::new(item.clone(), 1, Arc::new(numbers.clone()), None);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..3 {
        maps.keys().append_value("k");
        maps.values().append_value(row);
        maps.append(row != 1).unwrap();
    }
    let member =
        |name: &str, array: &ArrayRef| Arc::new(Field::new(name, array.data_type().clone(), true));
    let members: Vec<ArrayRef> = vec![Arc::new(numbers.clone()), Arc::new(strings.clone())];
    let point = StructArray::from(vec![
        (member("x", &members[0]), members[0].clone()),
        (member("y", &members[1]), members[1].clone()),
    ]);
    let keys: DictionaryArray<Int32Type> = texts.into_iter().collect();
    let ends = Int32Array::from(vec![2, 3]);
    let runs =
        RunArray::<Int32Type>::try_new(&ends, &StringArray::from(vec![Some("r"), None])).unwrap();
    let variants = [
        (0, Field::new("i", DataType::Int32, true)),
        (1, Field::new("s", DataType::Utf8, true)),
    ];
    let variants: UnionFields = variants
        .into_iter()
        .map(|(id, field)| (id, Arc::new(field)))
        .collect();
    let chosen = StringArray::from(vec![None, Some("u"), None]);
    let chosen: Vec<ArrayRef> = vec![members[0].clone(), Arc::new(chosen)];
    let sparse = UnionArray::try_new(variants.clone(), vec![0, 1, 0].into(), None, chosen).unwrap();
    let dense = UnionArray::try_new(
        variants,
        vec![0, 1, 0].into(),
        Some(vec![0, 0, 2].into()),
        members.clone(),
    );
    let large = LargeListArray::new(
        item.clone(),
        OffsetBuffer::from_lengths([1, 0, 2]),
        Arc::new(numbers.clone()),
        None,
    );
    let time = vec![Some(1), None, Some(3)];
    let time64 = vec![Some(1i64), None, Some(3)];
    vec![
        Arc::new(NullArray::new(3)),
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        Arc::new(Int8Array::from(vec![Some(1), None, Some(-3)])),
        Arc::new(Int16Array::from(vec![Some(1), None, Some(-3)])),
        Arc::new(Int32Array::from(vec![Some(1), None, Some(-3)])),
        Arc::new(Int64Array::from(vec![Some(1), None, Some(i64::MIN)])),
        Arc::new(UInt8Array::from(vec![Some(1), None, Some(3)])),
        Arc::new(UInt16Array::from(vec![Some(1), None, Some(3)])),
        Arc::new(UInt32Array::from(vec![Some(1), None, Some(3)])),
        Arc::new(UInt64Array::from(vec![Some(1), None, Some(u64::MAX)])),
        Arc::new(Float16Array::from(vec![
            Some(f16::from_f32(0.5)),
            None,
            Some(f16::INFINITY),
        ])),
        Arc::new(Float32Array::from(vec![Some(0.1), None, Some(1e30)])),
        Arc::new(Float64Array::from(vec![Some(0.1), None, Some(1e300)])),
        Arc::new(strings),
        Arc::new(LargeStringArray::from_iter(texts)),
        Arc::new(StringViewArray::from_iter(texts)),
        Arc::new(BinaryArray::from_iter(bytes)),
        Arc::new(LargeBinaryArray::from_iter(bytes)),
        Arc::new(BinaryViewArray::from_iter(bytes)),
        Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes.into_iter(), 1).unwrap(),
        ),
        Arc::new(Date32Array::from(time.clone())),
        Arc::new(Date64Array::from(vec![Some(86_400_000), None, Some(1)])),
        Arc::new(Time32SecondArray::from(time.clone())),
        Arc::new(Time32MillisecondArray::from(time.clone())),
        Arc::new(Time64MicrosecondArray::from(time64.clone())),
        Arc::new(Time64NanosecondArray::from(time64.clone())),
        Arc::new(TimestampSecondArray::from(time64.clone())),
        Arc::new(TimestampMillisecondArray::from(time64.clone())),
        Arc::new(TimestampMicrosecondArray::from(time64.clone())),
        Arc::new(TimestampNanosecondArray::from(time64.clone())),
        Arc::new(TimestampSecondArray::from(time64.clone()).with_timezone("Europe/Oslo")),
        Arc::new(TimestampMicrosecondArray::from(time64.clone()).with_timezone("UTC")),
        Arc::new(TimestampNanosecondArray::from(time64.clone()).with_timezone("+02:00")),
        Arc::new(DurationSecondArray::from(time64.clone())),
        Arc::new(DurationMillisecondArray::from(time64.clone())),
        Arc::new(DurationMicrosecondArray::from(time64.clone())),
        Arc::new(DurationNanosecondArray::from(time64.clone())),
        Arc::new(IntervalYearMonthArray::from(time.clone())),
        Arc::new(IntervalDayTimeArray::from(vec![
            Some(IntervalDayTime::new(1, 2)),
            None,
            None,
        ])),
        Arc::new(IntervalMonthDayNanoArray::from(vec![
            Some(IntervalMonthDayNano::new(1, 2, 3)),
            None,
            None,
        ])),
        Arc::new(
            Decimal32Array::from(time)
                .with_precision_and_scale(9, 2)
                .unwrap(),
        ),
        Arc::new(
            Decimal64Array::from(time64)
                .with_precision_and_scale(18, 2)
                .unwrap(),
        ),
        Arc::new(Decimal128Array::from(vec![Some(1), None, Some(-3)])),
        Arc::new(Decimal256Array::from(vec![
            Some(i256::ONE),
            None,
            Some(i256::MINUS_ONE),
        ])),
        Arc::new(lists.finish()),
        Arc::new(large),
        Arc::new(views([1, 0, 0])),
        Arc::new(large_views),
        Arc::new(fixed),
        Arc::new(point),
        Arc::new(maps.finish()),
        Arc::new(keys),
        Arc::new(runs),
        Arc::new(sparse),
        Arc::new(dense.unwrap()),
    ]
}

/// A table of nested columns of many rows, with nulls at every level.
pub(crate) fn nested(rows: usize) -> RecordBatch {
    let mut lists = ListBuilder::new(StringBuilder::new());
    let mut deep = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    let mut large = LargeListBuilder::new(Int32Builder::new());
    let mut fixed = FixedSizeListBuilder::new(Int32Builder::new(), 3);
    let inner = vec![
        Field::new("x", DataType::Int32, true),
        Field::new("y", DataType::Utf8, true),
    ];
    let mut structs = ListBuilder::new(StructBuilder::from_fields(inner, rows));
    for row in 0..rows {
        if row % 7 != 3 {
            for i in 0..row % 4 {
                lists
                    .values()
                    .append_option((i != 1).then(|| format!("text {row} {i}")));
                let numbers = deep.values();
                for j in 0..i {
                    let number = i32::try_from(row * j).unwrap();
                    numbers.values().append_option((j != 1).then_some(number));
                }
                numbers.append(i != 2);
                let members = structs.values();
                let x = members.field_builder::<Int32Builder>(0).unwrap();
                x.append_option((i != 0).then_some(i32::try_from(row).unwrap()));
                let y = members.field_builder::<StringBuilder>(1).unwrap();
                y.append_option((row % 5 != 0).then(|| format!("y{i}")));
                members.append(true);
            }
        }
        lists.append(row % 7 != 3);
        deep.append(row % 7 != 3);
        structs.append(row % 7 != 3);
        large.values().append_value(i32::try_from(row).unwrap());
        large.append(true);
        for i in 0..3 {
            fixed.values().append_value(i);
        }
        fixed.append(true);
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("lists", Arc::new(lists.finish())),
        ("deep", Arc::new(deep.finish())),
        ("structs", Arc::new(structs.finish())),
        ("large", Arc::new(large.finish())),
        ("fixed", Arc::new(fixed.finish())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .unwrap()
}

/// A struct of a number and a text, a third of them null.
pub(crate) fn null_structs(rows: usize) -> RecordBatch {
    let fields = vec![
        Field::new("x", DataType::Int32, true),
        Field::new("y", DataType::Utf8, true),
    ];
    let mut structs = StructBuilder::from_fields(fields, rows);
    for row in 0..rows {
        let x = structs.field_builder::<Int32Builder>(0).unwrap();
        x.append_option((row % 3 != 0).then_some(i32::try_from(row).unwrap()));
        let y = structs.field_builder::<StringBuilder>(1).unwrap();
        y.append_option((row % 3 != 0 && row % 2 == 0).then(|| format!("y{row}")));
        structs.append(row % 3 != 0);
    }
    RecordBatch::try_from_iter_with_nullable([("s", Arc::new(structs.finish()) as ArrayRef, true)])
        .unwrap()
}

/// Dictionaries of some kinds of keys and values, with nulls.
pub(crate) fn dictionaries(rows: usize) -> RecordBatch {
    let texts = (0..rows).map(|row| (row % 5 != 2).then_some(["red", "green", "blue"][row % 3]));
    let small: DictionaryArray<Int8Type> = texts.clone().collect();
    let plain: DictionaryArray<Int32Type> = texts.collect();
    let keys = (0..rows).map(|row| Some(u8::try_from(row % 3).unwrap()));
    let large = DictionaryArray::new(
        UInt8Array::from_iter(keys),
        Arc::new(LargeStringArray::from(vec!["one", "two", "three"])),
    );
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("small", Arc::new(small), true),
        ("plain", Arc::new(plain), true),
        ("large", Arc::new(large), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Plain columns of many rows.
pub(crate) fn flat(rows: usize) -> RecordBatch {
    let ids = Int64Array::from_iter_values((0..rows).map(|row| i64::try_from(row).unwrap()));
    let texts = (0..rows).map(|row| (row % 11 != 5).then(|| format!("value {}", row % 1000)));
    let floats = (0..rows).map(|row| (row % 4 != 1).then_some(row as f64 / 7.0));
    let bits = (0..rows).map(|row| (row % 6 != 2).then_some(row % 5 == 0));
    let columns: [(&str, ArrayRef, bool); 4] = [
        ("id", Arc::new(ids), false),
        ("text", Arc::new(StringArray::from_iter(texts)), true),
        ("number", Arc::new(Float64Array::from_iter(floats)), true),
        ("bit", Arc::new(BooleanArray::from_iter(bits)), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Writes a file of some batches.
pub(crate) fn write(
    path: &Path,
    batches: &[RecordBatch],
    version: LanceVersion,
) -> arrow_shard::Result<u64> {
    let options = LanceWriteOptions::default()
        .with_version(version)
        .with_overwrite(true);
    let mut writer = LanceWriter::create_with(path, batches[0].schema(), &options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()
}

/// Reads a file as one batch.
pub(crate) fn read(path: &Path) -> Result<RecordBatch, ArrowError> {
    let reader = LanceReader::open(path)?;
    let schema = RecordBatchReader::schema(&reader);
    let rows = reader.num_rows();
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    let batch = arrow_select::concat::concat_batches(&schema, &batches)?;
    assert_eq!(
        batch.num_rows() as u64,
        rows,
        "the rows that the file announces"
    );
    Ok(batch)
}

/// A table of one column.
pub(crate) fn table_of(field: Field, column: ArrayRef) -> RecordBatch {
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap()
}
