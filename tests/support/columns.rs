//! A column of every Arrow type. The tests of the crate for Lance compile this file, too.

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, OffsetBuffer, i256};
use arrow_schema::{DataType, Field, UnionFields};
use half::f16;
use std::sync::Arc;

/// Returns a column of every type, with a null if the type has nulls.
pub(crate) fn columns() -> Vec<ArrayRef> {
    let texts = [Some("a"), None, Some("ä")];
    let bytes = [Some(&b"a"[..]), None, Some(b"\xFF")];
    let strings = StringArray::from_iter(texts);
    let numbers = Int32Array::from(vec![Some(1), None, Some(3)]);
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None]);
    lists.append_null();
    lists.append_value([]);
    let lists = lists.finish();
    let item = Arc::new(Field::new("item", DataType::Int32, true));
    let views = |offsets: [i32; 3]| {
        let sizes = vec![1, 0, 2].into();
        ListViewArray::new(
            item.clone(),
            offsets.to_vec().into(),
            sizes,
            Arc::new(numbers.clone()),
            None,
        )
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
    // Values of the other children are not preserved.
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
    let time = [Some(1), None, Some(3)];
    let time64 = [Some(1i64), None, Some(3)];
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
        Arc::new(Date32Array::from(time.to_vec())),
        Arc::new(Date64Array::from(vec![Some(86_400_000), None, Some(1)])),
        Arc::new(Time32SecondArray::from(time.to_vec())),
        Arc::new(Time32MillisecondArray::from(time.to_vec())),
        Arc::new(Time64MicrosecondArray::from(time64.to_vec())),
        Arc::new(Time64NanosecondArray::from(time64.to_vec())),
        Arc::new(TimestampSecondArray::from(time64.to_vec())),
        Arc::new(TimestampMillisecondArray::from(time64.to_vec())),
        Arc::new(TimestampMicrosecondArray::from(time64.to_vec())),
        Arc::new(TimestampNanosecondArray::from(time64.to_vec())),
        Arc::new(TimestampSecondArray::from(time64.to_vec()).with_timezone("Europe/Oslo")),
        Arc::new(TimestampMicrosecondArray::from(time64.to_vec()).with_timezone("UTC")),
        Arc::new(DurationSecondArray::from(time64.to_vec())),
        Arc::new(DurationMillisecondArray::from(time64.to_vec())),
        Arc::new(DurationMicrosecondArray::from(time64.to_vec())),
        Arc::new(DurationNanosecondArray::from(time64.to_vec())),
        Arc::new(IntervalYearMonthArray::from(time.to_vec())),
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
            Decimal32Array::from(time.to_vec())
                .with_precision_and_scale(9, 2)
                .unwrap(),
        ),
        Arc::new(
            Decimal64Array::from(time64.to_vec())
                .with_precision_and_scale(18, 2)
                .unwrap(),
        ),
        Arc::new(Decimal128Array::from(vec![Some(1), None, Some(-3)])),
        Arc::new(Decimal256Array::from(vec![
            Some(i256::ONE),
            None,
            Some(i256::MINUS_ONE),
        ])),
        Arc::new(lists),
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
