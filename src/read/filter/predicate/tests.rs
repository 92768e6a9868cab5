//! The place of literals among the values of every type is exact for every type of literal.

use super::member;
use super::place::{LiteralPlace, place_value as place};
use crate::error::ErrorKind;
use arrow_array::types::{Float16Type, Float32Type, Float64Type, Int8Type, Int64Type, UInt8Type};
use arrow_array::*;
use arrow_buffer::NullBuffer;
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Field, SortOptions, TimeUnit};
use half::f16;
use std::cmp::Ordering;
use std::sync::Arc;

/// Returns how value `i` of an array compares with the literal at a place.
fn order(values: &dyn Array, i: usize, place: &LiteralPlace) -> Ordering {
    let compare =
        |at: &ArrayRef| make_comparator(values, at, SortOptions::default()).unwrap()(i, 0);
    match place {
        LiteralPlace::At(at) => compare(at),
        LiteralPlace::After(at) if compare(at) == Ordering::Greater => Ordering::Greater,
        LiteralPlace::After(_) | LiteralPlace::AboveAll => Ordering::Less,
        LiteralPlace::BelowAll => Ordering::Greater,
    }
}

fn check(values: &dyn Array, literal: ArrayRef, expected: impl Fn(usize) -> Ordering) {
    let found = place(&literal, values.data_type()).unwrap();
    for i in 0..values.len() {
        let order = order(values, i, &found);
        assert_eq!(
            order,
            expected(i),
            "{values:?} [{i}] to {literal:?}: {found:?}"
        );
    }
}

fn scalar<T: Array + 'static>(array: T) -> ArrayRef {
    assert_eq!(array.len(), 1);
    Arc::new(array)
}

const DOUBLES: [f64; 24] = [
    f64::NEG_INFINITY,
    f64::MIN,
    -1e10,
    -128.5,
    -128.0,
    -1.5,
    -1e-30,
    -0.0,
    0.0,
    5e-324,
    1e-10,
    0.1,
    1.0,
    1.000_000_1,
    126.999,
    127.0,
    127.5,
    255.0,
    255.5,
    65_504.0,
    65_505.0,
    3.5e38,
    f64::MAX,
    f64::INFINITY,
];

#[test]
fn integers_compare_with_floats_of_any_size() {
    let signed: PrimitiveArray<Int8Type> = (i8::MIN..=i8::MAX).map(Some).collect();
    let unsigned: PrimitiveArray<UInt8Type> = (u8::MIN..=u8::MAX).map(Some).collect();
    for double in DOUBLES {
        let literal = || scalar(Float64Array::from_value(double, 1));
        // Integers have only one zero, so both zeros of a double equal it.
        check(&signed, literal(), |i| {
            f64::from(signed.value(i)).partial_cmp(&double).unwrap()
        });
        check(&unsigned, literal(), |i| {
            f64::from(unsigned.value(i)).partial_cmp(&double).unwrap()
        });
    }
    for (nan, expected) in [(f64::NAN, Ordering::Less), (-f64::NAN, Ordering::Greater)] {
        check(&signed, scalar(Float64Array::from_value(nan, 1)), |_| {
            expected
        });
    }
}

#[test]
fn integers_compare_with_integers_and_decimals_of_any_size() {
    let signed: PrimitiveArray<Int8Type> = (i8::MIN..=i8::MAX).map(Some).collect();
    for literal in [i64::MIN, -129, -128, -1, 0, 1, 127, 128, 1000, i64::MAX] {
        check(&signed, scalar(Int64Array::from_value(literal, 1)), |i| {
            i64::from(signed.value(i)).cmp(&literal)
        });
    }
    check(
        &signed,
        scalar(UInt64Array::from_value(u64::MAX, 1)),
        |_| Ordering::Less,
    );
    for unscaled in [-1_285i128, -15, 0, 5, 10, 1_275, 1_270] {
        let literal = Decimal128Array::from_value(unscaled, 1);
        let literal = literal.with_precision_and_scale(10, 1).unwrap();
        check(&signed, scalar(literal), |i| {
            (i128::from(signed.value(i)) * 10).cmp(&unscaled)
        });
    }
}

#[test]
fn floats_compare_with_floats_and_integers_in_total_order() {
    let mut all: Vec<f64> = DOUBLES.to_vec();
    all.extend([f64::NAN, -f64::NAN]);
    #[expect(clippy::cast_possible_truncation, reason = "neighbors of the literals")]
    let singles: PrimitiveArray<Float32Type> = all
        .iter()
        .flat_map(|v| [*v as f32, (*v as f32).next_up(), (*v as f32).next_down()])
        .map(Some)
        .collect();
    let halves: PrimitiveArray<Float16Type> = all.iter().map(|v| Some(f16::from_f64(*v))).collect();
    let doubles: PrimitiveArray<Float64Type> = all.iter().copied().map(Some).collect();
    for double in all {
        let literal = || scalar(Float64Array::from_value(double, 1));
        check(&singles, literal(), |i| {
            f64::from(singles.value(i)).total_cmp(&double)
        });
        check(&halves, literal(), |i| {
            halves.value(i).to_f64().total_cmp(&double)
        });
        check(&doubles, literal(), |i| doubles.value(i).total_cmp(&double));
    }
    let around: Vec<f64> = vec![9_007_199_254_740_992.0, 9_007_199_254_740_994.0, -0.0, 0.0];
    let doubles: PrimitiveArray<Float64Type> = around.into_iter().map(Some).collect();
    let place_of = |v: i64| place(&scalar(Int64Array::from_value(v, 1)), &DataType::Float64);
    // A literal between two doubles.
    let between = place_of(9_007_199_254_740_993).unwrap();
    assert_eq!(order(&doubles, 0, &between), Ordering::Less);
    assert_eq!(order(&doubles, 1, &between), Ordering::Greater);
    let zero = place_of(0).unwrap();
    assert_eq!(order(&doubles, 2, &zero), Ordering::Less);
    assert_eq!(order(&doubles, 3, &zero), Ordering::Equal);
}

#[test]
fn decimals_compare_with_decimals_integers_and_text() {
    let values: PrimitiveArray<types::Decimal32Type> = (-300..300).map(Some).collect();
    let values = values.with_precision_and_scale(5, 2).unwrap();
    for (literal, thousandths) in [
        (scalar(Int64Array::from_value(2, 1)), 2_000),
        (scalar(StringArray::from(vec!["-1.005"])), -1_005),
        (scalar(StringArray::from(vec!["2.50"])), 2_500),
        (scalar(Int64Array::from_value(i64::MAX, 1)), i32::MAX),
    ] {
        check(&values, literal, |i| {
            (values.value(i) * 10).cmp(&thousandths)
        });
    }
    // With a negative scale, there are fewer values than integers.
    let hundreds = DataType::Decimal128(5, -2);
    let found = place(&scalar(Int64Array::from_value(-150, 1)), &hundreds).unwrap();
    assert!(
        matches!(found, LiteralPlace::After(v) if v.as_ref() == &Decimal128Array::from_value(-2, 1)
        .with_data_type(hundreds))
    );
}

#[test]
fn times_compare_across_units_and_with_text() {
    let seconds: PrimitiveArray<types::TimestampSecondType> = (-3..3).map(Some).collect();
    for nanos in [-2_000_000_001i64, -2_000_000_000, -1, 0, 1, 1_999_999_999] {
        let literal = scalar(TimestampNanosecondArray::from_value(nanos, 1));
        check(&seconds, literal, |i| {
            (seconds.value(i) * 1_000_000_000).cmp(&nanos)
        });
    }
    let days: Date32Array = (9370..9380).map(Some).collect();
    let text = |text: &str| scalar(StringArray::from(vec![text]));
    check(&days, text("1995-09-01"), |i| days.value(i).cmp(&9374));
    check(&days, text("1995-09-01T12:00:00"), |i| {
        (days.value(i) * 2).cmp(&(9374 * 2 + 1))
    });
    let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let local = scalar(TimestampSecondArray::from_value(5, 1));
    let error = place(&local, &zoned).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    assert!(place(&text("1995-09-01T00:00:00Z"), &zoned).is_ok());
    assert!(place(&text("tomorrow"), &zoned).is_err());
    // Text with its own offset needs no time zone database.
    let named = DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into()));
    for at in [
        "1995-09-01T00:00:00Z",
        "1995-09-01 02:00:00+02:00",
        "1995-08-31T19:00:00-05:00",
    ] {
        let found = place(&text(at), &named).unwrap();
        let expected =
            TimestampSecondArray::from_value(809_913_600, 1).with_timezone("Europe/Berlin");
        assert!(
            matches!(found, LiteralPlace::At(v) if v.as_ref() == &expected as &dyn Array),
            "{at}"
        );
    }
    let error = place(&text("tomorrow"), &named).unwrap_err();
    assert!(error.message().contains("offset"), "{error}");
}

#[test]
fn bytes_compare_with_those_of_any_length() {
    let values: Vec<[u8; 2]> = vec![[0, 0], [0, 1], [1, 0], [1, 255], [2, 0], [255, 255]];
    let array = FixedSizeBinaryArray::try_from_iter(values.iter()).unwrap();
    for literal in [
        &[][..],
        &[0],
        &[0, 0],
        &[0, 0, 0],
        &[1],
        &[2],
        &[1, 255, 255],
        &[255, 255, 0],
    ] {
        let binary = scalar(BinaryArray::from_iter_values([literal]));
        check(&array, binary, |i| values[i].as_slice().cmp(literal));
    }
    for data_type in [
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::BinaryView,
    ] {
        let found = place(&scalar(StringArray::from(vec!["é"])), &data_type).unwrap();
        assert!(matches!(found, LiteralPlace::At(v) if *v.data_type() == data_type));
    }
}

#[test]
fn what_cannot_be_compared_is_an_error_that_names_both_types() {
    let number = scalar(PrimitiveArray::<Int64Type>::from_value(1, 1));
    let text = scalar(StringArray::from(vec!["1"]));
    let double = scalar(Float64Array::from_value(0.5, 1));
    for (literal, data_type) in [
        (&number, DataType::Utf8),
        (&text, DataType::Int32),
        (&number, DataType::Boolean),
        (&number, DataType::Date32),
        (&double, DataType::Decimal128(10, 2)),
    ] {
        let error = place(literal, &data_type).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
        let message = error.message();
        assert!(
            message.contains(&literal.data_type().to_string()),
            "{message}"
        );
        assert!(message.contains(&data_type.to_string()), "{message}");
    }
}

#[test]
fn members_are_null_where_a_struct_is_and_share_their_values() {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]));
    let field = Arc::new(Field::new("m", DataType::Int64, true));
    let nulls = NullBuffer::from(vec![true, true, false, true]);
    let array: ArrayRef = Arc::new(StructArray::new(
        vec![field].into(),
        vec![values.clone()],
        Some(nulls),
    ));
    let expected = Int64Array::from(vec![Some(1), None, None, Some(4)]);
    let found = member(&array, 1).unwrap();
    assert_eq!(found.as_ref(), &expected as &dyn Array);
    let start = |array: &ArrayRef| array.to_data().buffers()[0].as_ptr();
    assert_eq!(start(&found), start(&values));
    let sliced = member(&array.slice(1, 3), 1).unwrap();
    assert_eq!(sliced.as_ref(), &expected.slice(1, 3) as &dyn Array);
    assert_eq!(&member(&array, 0).unwrap(), &array);
    assert!(member(&array, 2).is_err());
}

#[test]
fn texts_of_times_keep_every_digit_of_their_seconds_or_are_refused() {
    let text = |text: &str| scalar(StringArray::from(vec![text]));
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let found = place(&text("1970-01-01T00:00:01.000001999"), &micros).unwrap();
    let expected = TimestampMicrosecondArray::from_value(1_000_001, 1);
    assert!(matches!(found, LiteralPlace::After(v) if v.as_ref() == &expected as &dyn Array));
    // Digits count for times outside of the range of nanoseconds, too.
    let found = place(&text("0001-01-01T00:00:00.0000009Z"), &micros).unwrap();
    let expected = TimestampMicrosecondArray::from_value(-62_135_596_800_000_000, 1);
    assert!(matches!(found, LiteralPlace::After(v) if v.as_ref() == &expected as &dyn Array));
    let nanos = DataType::Time64(TimeUnit::Nanosecond);
    assert!(place(&text("12:30:00.123456789"), &nanos).is_ok());
    for (written, data_type) in [
        ("1970-01-01T00:00:01.0000000001", &micros),
        ("12:30:00.1234567891", &nanos),
        ("1", &nanos),
        ("86399", &nanos),
        ("1970-01-01T00:00:01.", &micros),
    ] {
        let error = place(&text(written), data_type).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
        assert!(error.message().contains(written), "{error}");
    }
}

#[test]
fn literals_come_from_integers_of_every_width_and_from_scalars_of_text() {
    let shown = |literal: super::Literal| literal.to_string();
    assert_eq!(shown(7usize.into()), "7");
    assert_eq!(shown((&-7isize).into()), "-7");
    assert_eq!(shown(i128::MIN.into()), i128::MIN.to_string());
    assert_eq!(shown(StringArray::new_scalar("a").into()), "'a'");
    assert_eq!(shown(LargeStringArray::new_scalar("b").into()), "'b'");
    assert_eq!(shown(StringViewArray::new_scalar("c").into()), "'c'");
    assert_eq!(shown(BooleanArray::new_scalar(true).into()), "true");
    assert_eq!(
        shown(Date32Array::new_scalar(19_782).into()),
        "DATE '2024-02-29'"
    );
    let noon = Time32SecondArray::new_scalar(43_200);
    assert_eq!(shown(noon.into()), "TIME '12:00:00'");
    let time = TimestampSecondArray::from(vec![0]).with_timezone("+01:00");
    let time = super::Literal::try_new(&time).unwrap();
    assert_eq!(shown(time), "TIMESTAMP '1970-01-01T01:00:00+01:00'");
    // A named zone needs a database.
    let zoned = TimestampSecondArray::from(vec![0]).with_timezone("Nowhere/Atlantis");
    assert!(shown(super::Literal::try_new(&zoned).unwrap()).contains("Atlantis"));
    assert_eq!(shown(b"a\xff".into()), "x'61ff'");
    assert_eq!(shown(f64::NAN.into()), "'NaN'");
    assert_eq!(shown((-f32::NAN).into()), "'-NaN'");
    assert_eq!(shown(f64::NEG_INFINITY.into()), "'-inf'");
    let integers = Int64Array::from(vec![i64::MIN, 0, i64::MAX]);
    for literal in [i128::MIN, i128::from(i64::MAX), i128::MAX] {
        check(
            &integers,
            super::Literal::from(literal).array().clone(),
            |i| i128::from(integers.value(i)).cmp(&literal),
        );
    }
}

#[test]
fn whole_numbers_count_the_units_of_durations() {
    use super::place::place;
    use super::{Literal, lit};
    let values: PrimitiveArray<types::DurationMillisecondType> = (-3..3).map(Some).collect();
    let decimal = Decimal128Array::from_value(20, 1);
    let decimal = decimal.with_precision_and_scale(9, 1).unwrap();
    let decimal = Literal::try_new(&Scalar::new(decimal)).unwrap();
    for (literal, units) in [
        (lit(1u8), 1),
        (lit(-2i64), -2),
        (lit(i64::MAX), i64::MAX),
        (DurationMicrosecondArray::new_scalar(1_000).into(), 1),
    ] {
        let found = place(&literal, values.data_type()).unwrap();
        for i in 0..values.len() {
            assert_eq!(
                order(&values, i, &found),
                values.value(i).cmp(&units),
                "{literal}"
            );
        }
    }
    for (literal, what) in [
        (decimal, "whole numbers of their unit"),
        (lit(1.5), "whole numbers of their unit"),
        (lit("1"), "whole numbers of their unit"),
    ] {
        let error = place(&literal, values.data_type()).unwrap_err();
        assert!(error.message().contains(what), "{error}");
    }
}

#[test]
fn an_error_says_what_to_write_instead() {
    let zoned = DataType::Timestamp(TimeUnit::Second, Some("UTC".into()));
    let number = || super::lit(1500);
    for (literal, data_type, advice) in [
        (number(), DataType::Date32, "such as '2024-02-29'"),
        (number(), zoned.clone(), "such as '2024-02-29 12:30:00'"),
        (
            number(),
            DataType::Time32(TimeUnit::Second),
            "such as '12:30:00'",
        ),
        (number(), DataType::Utf8View, "in quotes"),
        (super::lit("1500"), DataType::UInt8, "without quotes"),
        (super::lit(1.5), DataType::Decimal64(9, 2), "such as '1.50'"),
        (Date32Array::new_scalar(0).into(), zoned, "a time zone"),
    ] {
        let error = super::place::place(&literal, &data_type).unwrap_err();
        assert!(error.message().contains(advice), "{error}");
    }
}
