//! Columns with unusual values or types.

use arrow_array::builder::{
    FixedSizeListBuilder, Int32Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder,
    StringDictionaryBuilder,
};
use arrow_array::types::{Int16Type, Int32Type, TimestampSecondType, UInt8Type};
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use std::sync::Arc;

/// Returns columns of four values each.
pub(crate) fn columns() -> Vec<ArrayRef> {
    [texts(), numbers(), times(), coded(), nested()].concat()
}

fn texts() -> Vec<ArrayRef> {
    let text = |texts: [Option<&str>; 4]| Arc::new(StringArray::from_iter(texts)) as ArrayRef;
    let bytes = [Some(&b""[..]), None, Some(b"\0"), Some(b"\xFF\xFE")];
    vec![
        text([Some(""), None, Some(" "), Some("\t")]),
        text([Some("1"), None, Some("2"), Some("-3")]),
        text([Some("007"), None, Some("1"), Some("")]),
        text([Some("null"), None, Some("NA"), Some("\\N")]),
        text([Some("true"), None, Some("false"), Some("true")]),
        text([
            Some("2024-01-31"),
            None,
            Some("1582-01-01"),
            Some("2024-02-29"),
        ]),
        text([Some("a,b"), None, Some("\"c\""), Some("\"")]),
        text([Some("a\nb"), None, Some("\r\n"), Some("\r")]),
        text([Some("\0"), None, Some("\u{1b}[1m"), Some("\u{feff}x")]),
        text([Some("'"), None, Some("\\"), Some("\\\"")]),
        text([Some("{\"a\":1}"), None, Some("[1]"), Some("😀")]),
        text([None; 4]),
        Arc::new(BinaryArray::from_iter(bytes)),
        Arc::new(BinaryViewArray::from_iter(bytes)),
        new_null_array(&DataType::FixedSizeBinary(0), 4),
    ]
}

fn numbers() -> Vec<ArrayRef> {
    let doubles = |values: [f64; 4]| {
        let present = NullBuffer::from(vec![true, true, false, true]);
        Arc::new(Float64Array::new(values.to_vec().into(), Some(present))) as ArrayRef
    };
    vec![
        doubles([f64::NAN, f64::INFINITY, 0.0, f64::NEG_INFINITY]),
        doubles([-0.0, 5e-324, 0.0, f64::MAX]),
        doubles([0.1 + 0.2, 1e15, 0.0, 9_007_199_254_740_993.0]),
        doubles([1.0, 2.0, 0.0, -3.0]),
        Arc::new(Float32Array::from(vec![
            f32::MAX,
            f32::MIN_POSITIVE,
            16_777_216.0,
            0.1,
        ])),
        Arc::new(Int64Array::from(vec![i64::MAX, i64::MIN, 0, -1])),
        Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1, 1 << 63])),
        Arc::new(
            Decimal128Array::from(vec![i128::MAX / 10_i128.pow(2), 0, -1, 10])
                .with_precision_and_scale(38, 37)
                .unwrap(),
        ),
        Arc::new(
            Decimal128Array::from(vec![Some(12), None, Some(-1), Some(0)])
                .with_precision_and_scale(5, -2)
                .unwrap(),
        ),
        Arc::new(
            Decimal128Array::from(vec![Some(12), None, Some(-1), Some(0)])
                .with_precision_and_scale(38, -38)
                .unwrap(),
        ),
        // Too many digits for text, although its values alone would not show it.
        Arc::new(
            Decimal128Array::from(vec![Some(12), None, Some(-1), Some(0)])
                .with_precision_and_scale(38, -39)
                .unwrap(),
        ),
        Arc::new(
            Decimal64Array::from(vec![Some(12), None, Some(-1), Some(0)])
                .with_precision_and_scale(5, 0)
                .unwrap(),
        ),
    ]
}

fn times() -> Vec<ArrayRef> {
    let seconds = [Some(-1), None, Some(253_402_300_799), Some(-62_135_596_800)];
    let nanos = [
        Some(i64::MIN + 1),
        None,
        Some(i64::MAX),
        Some(1_000_000_000),
    ];
    vec![
        Arc::new(Date32Array::from(vec![-719_162, -1, 0, 2_932_896])),
        Arc::new(Date64Array::from(vec![-86_400_000, -1, 0, 86_399_999])),
        Arc::new(Time32SecondArray::from(vec![0, 1, 86_399, 60])),
        Arc::new(Time64NanosecondArray::from(vec![
            0,
            1,
            86_399_999_999_999,
            60,
        ])),
        Arc::new(TimestampSecondArray::from(seconds.to_vec())),
        Arc::new(TimestampNanosecondArray::from(nanos.to_vec())),
        Arc::new(TimestampNanosecondArray::from(nanos.to_vec()).with_timezone("+05:30")),
        Arc::new(TimestampMillisecondArray::from(vec![-1, 0, 1, 999]).with_timezone("Asia/Tokyo")),
        Arc::new(DurationSecondArray::from(vec![-1, 0, 1, 100_000])),
        Arc::new(DurationNanosecondArray::from(vec![
            -1,
            0,
            i64::MAX,
            i64::MIN + 1,
        ])),
        Arc::new(IntervalYearMonthArray::from(vec![-1, 0, 13, i32::MAX])),
    ]
}

/// Returns dictionaries and run-end encoded columns.
fn coded() -> Vec<ArrayRef> {
    let mut words = StringDictionaryBuilder::<UInt8Type>::new();
    for word in [Some("1"), None, Some("x"), Some("1")] {
        words.append_option(word);
    }
    // A null entry, and an unused entry.
    let entries = Arc::new(StringArray::from(vec![None, Some("e"), Some("unused")]));
    let keys = Int32Array::from(vec![Some(0), Some(1), None, Some(1)]);
    let numbers = Arc::new(Int64Array::from(vec![7, -7]));
    let instants = PrimitiveArray::<TimestampSecondType>::from(vec![0, -1]);
    let instants = Arc::new(instants.with_timezone("Europe/Oslo"));
    let two = || Int16Array::from(vec![Some(0), None, Some(1), Some(0)]);
    let ends = Int32Array::from(vec![1, 3, 4]);
    let runs = Int64Array::from(vec![Some(5), None, Some(-5)]);
    let flags = BooleanArray::from(vec![Some(true), None, Some(false)]);
    vec![
        Arc::new(words.finish()),
        Arc::new(DictionaryArray::<Int32Type>::new(keys, entries)),
        Arc::new(DictionaryArray::<Int16Type>::new(two(), numbers)),
        Arc::new(DictionaryArray::<Int16Type>::new(two(), instants)),
        Arc::new(RunArray::<Int32Type>::try_new(&ends, &runs).unwrap()),
        Arc::new(RunArray::<Int32Type>::try_new(&ends, &flags).unwrap()),
    ]
}

fn structs(members: Vec<(&str, ArrayRef)>, present: [bool; 4]) -> ArrayRef {
    let fields = members.iter();
    let fields: Fields = fields
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrays = members.into_iter().map(|(_, array)| array).collect();
    let present = Some(NullBuffer::from(present.to_vec()));
    Arc::new(StructArray::new(fields, arrays, present))
}

/// Returns a list of each value, with an empty one in second-to-last place.
fn lists(values: &ArrayRef) -> ArrayRef {
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([1, 2, 0, 1]);
    let present = NullBuffer::from(vec![true, true, true, false]);
    Arc::new(ListArray::new(item, offsets, values.clone(), Some(present)))
}

fn nested() -> Vec<ArrayRef> {
    let x = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), None])) as ArrayRef;
    let y = Arc::new(StringArray::from(vec![Some("1"), None, None, Some("")])) as ArrayRef;
    let some = [true, false, true, true];
    let point = structs(vec![("x", x.clone()), ("y", y.clone())], some);
    let deep = structs(
        vec![("p", point.clone()), ("l", lists(&x))],
        [true, true, false, true],
    );
    let mut maps = MapBuilder::new(None, Int64Builder::new(), StringBuilder::new());
    let mut fixed = FixedSizeListBuilder::new(Int32Builder::new(), 0);
    let mut words = ListBuilder::new(StringDictionaryBuilder::<Int32Type>::new());
    for row in 0..4 {
        maps.keys().append_value(row);
        maps.values().append_option((row > 0).then_some("v"));
        maps.append(row != 2).unwrap();
        fixed.append(row != 1);
        words.values().append_option((row != 1).then_some("w"));
        words.append(row != 3);
    }
    let nothing = StructArray::new_empty_fields(4, None);
    let nulls = new_null_array(&DataType::Null, 4);
    let dictionary = coded().swap_remove(0);
    vec![
        lists(&point),
        lists(&lists(&y)),
        lists(&nulls),
        structs(vec![("n", nulls)], [true; 4]),
        structs(vec![("k", dictionary)], some),
        point,
        deep,
        Arc::new(maps.finish()),
        Arc::new(fixed.finish()),
        Arc::new(words.finish()),
        Arc::new(nothing),
    ]
}
