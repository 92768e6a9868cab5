//! The native types of Amudai: stored values, errors, and types to read them as.

use super::logical::values;
use super::source::{MemorySource, Style};
use super::{node_with, push, styles, to_arrow};
use crate::buffer::Selection;
use crate::column::schema::{self, NativeTypes, SchemaOptions, TypeMapping};
use crate::column::{Chunk, Values, assemble, shred};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BasicType, DataType, ExtendedType};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
#[cfg(feature = "decimal")]
use arrow_buffer::i256;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType as ArrowType, Field, Fields, TimeUnit};
use std::sync::Arc;

pub(super) const AMUDAI: SchemaOptions = SchemaOptions {
    mapping: TypeMapping::Amudai,
    arrow_width_decimals: false,
};

fn node_of(field: &Field) -> DataType {
    node_with(field, &AMUDAI)
}

fn extended(name: &str, arrow: ArrowType, extension: &str) -> Field {
    let metadata = (EXTENSION_TYPE_NAME_KEY.to_owned(), extension.to_owned());
    Field::new(name, arrow, true).with_metadata([metadata].into())
}

/// Returns the stored type of a leaf column, or the error.
fn stored(array: &dyn Array) -> Result<Chunk<Values>> {
    let field = Field::new("c", array.data_type().clone(), true);
    let mut found = None;
    shred(&field, array, &node_of(&field), &mut |_, chunk| {
        found = Some(chunk);
        Ok(())
    })?;
    Ok(found.unwrap())
}

fn words<const N: usize>(chunk: &Chunk<Values>) -> Vec<[u8; N]> {
    match &chunk.values {
        Values::Fixed { width, data } => {
            assert_eq!(*width, N);
            data.as_chunks().0.to_vec()
        }
        other => panic!("{other:?}"),
    }
}

/// Stores an array as a field's native type and reads it as another type.
fn read_as(field: &Field, array: &ArrayRef, wanted: &ArrowType, style: Style) -> Result<ArrayRef> {
    let node = node_of(field);
    let mut source = MemorySource::new(style);
    push(&mut source, field, &node, array)?;
    let rows = Selection::range(0..array.len() as u64);
    let wanted = Field::new("c", wanted.clone(), true);
    let read = assemble(&wanted, &node, &rows, &mut source)?;
    assert_eq!(read.data_type(), wanted.data_type());
    read.to_data().validate_full().unwrap();
    Ok(read)
}

fn refused<T>(result: Result<T>, row: &str) -> Error {
    match result {
        Ok(_) => panic!("expected an error for {row}"),
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::ValueOutOfRange, "{e}");
            assert!(e.message().contains(row), "{e}");
            assert!(e.element().starts_with("field `c`"), "{e}");
            e
        }
    }
}

#[test]
#[cfg_attr(not(feature = "decimal"), ignore = "needs the feature decimal")]
fn times_durations_and_texts_have_the_native_types_of_the_format() {
    use ArrowType::*;
    let described = |field: Field| {
        let node = node_of(&field);
        let properties = node.extended_type.as_ref().map(|e| e.properties.len());
        assert_eq!(properties.unwrap_or(0), 0);
        let label = node.label().to_owned();
        (node.basic_type, node.signed, node.fixed_size, label)
    };
    let date_time = (BasicType::DateTime, false, 0, String::new());
    let span = (BasicType::Int64, true, 0, "KustoTimeSpan".to_owned());
    let decimal = (BasicType::FixedSizeBinary, false, 16, "KustoDecimal".into());
    let dynamic = (BasicType::Binary, false, 0, "KustoDynamic".to_owned());
    let guid = (BasicType::Guid, false, 16, String::new());
    let plain = |arrow| Field::new("c", arrow, true);
    for (field, expected) in [
        (plain(Timestamp(TimeUnit::Second, None)), &date_time),
        (
            plain(Timestamp(TimeUnit::Nanosecond, Some("+01:00".into()))),
            &date_time,
        ),
        (plain(Date32), &date_time),
        (plain(Date64), &date_time),
        (extended("c", UInt64, "KustoDateTime"), &date_time),
        (plain(Duration(TimeUnit::Millisecond)), &span),
        (extended("c", Int64, "KustoTimeSpan"), &span),
        (plain(Decimal128(38, 2)), &decimal),
        (plain(Decimal32(5, -2)), &decimal),
        (extended("c", FixedSizeBinary(16), "KustoDecimal"), &decimal),
        (extended("c", Utf8View, "arrow.json"), &dynamic),
        (extended("c", LargeBinary, "KustoDynamic"), &dynamic),
        (extended("c", FixedSizeBinary(16), "arrow.uuid"), &guid),
    ] {
        assert_eq!(&described(field.clone()), expected, "{field}");
        // The hint's type is used, although nothing in the node confirms it.
        assert_eq!(to_arrow(&node_of(&field), Some(&field)).unwrap(), field);
        // A type with another meaning is not used, although it has the same storage.
        let other = Field::new("c", field.data_type().clone(), true);
        if other != field {
            let read = to_arrow(&node_of(&field), Some(&other)).unwrap();
            assert_ne!(read, other);
        }
    }
    let lossless = |field: &Field| node_with(field, &SchemaOptions::default());
    for same in [Time64(TimeUnit::Nanosecond), Float16, Utf8, Binary, Int64] {
        assert_eq!(node_of(&plain(same.clone())), lossless(&plain(same)));
    }
}

#[test]
#[cfg_attr(not(feature = "decimal"), ignore = "needs the feature decimal")]
fn what_a_native_type_is_read_as_can_be_chosen() {
    use ArrowType::*;
    let natural = |arrow: ArrowType, types: &NativeTypes| {
        let node = node_of(&Field::new("c", arrow, false));
        schema::to_arrow(&node, None, types)
    };
    let utc = |unit| Timestamp(unit, Some("UTC".into()));
    let types = NativeTypes::default();
    let chosen = NativeTypes {
        time_unit: TimeUnit::Millisecond,
        decimal_precision: 40,
        decimal_scale: 3,
    };
    for (stored, expected, otherwise) in [
        (
            Date32,
            utc(TimeUnit::Nanosecond),
            utc(TimeUnit::Millisecond),
        ),
        (
            Duration(TimeUnit::Second),
            Duration(TimeUnit::Nanosecond),
            Duration(TimeUnit::Millisecond),
        ),
        (Decimal64(3, 1), Decimal128(38, 16), Decimal256(40, 3)),
    ] {
        let field = natural(stored.clone(), &types).unwrap();
        assert_eq!((field.data_type(), field.is_nullable()), (&expected, true));
        let list = List(Arc::new(Field::new("item", stored, true)));
        let nested = natural(list, &chosen).unwrap();
        let item = Field::new("item", otherwise, true);
        assert_eq!(nested.data_type(), &LargeList(Arc::new(item)));
    }
    let forbidden = NativeTypes {
        decimal_scale: 39,
        ..types
    };
    let e = natural(Decimal64(3, 1), &forbidden).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    let dynamic = node_of(&extended("c", Utf8, "arrow.json"));
    let dynamic = to_arrow(&dynamic, None).unwrap();
    assert_eq!(dynamic, extended("c", LargeBinary, "KustoDynamic"));
}

#[test]
fn times_are_stored_as_ticks_since_year_1() {
    let epoch = 621_355_968_000_000_000u64;
    let ticks = |array: &dyn Array| {
        let words: Vec<[u8; 8]> = words(&stored(array).unwrap());
        words
            .into_iter()
            .map(u64::from_le_bytes)
            .collect::<Vec<_>>()
    };
    let nanos = TimestampNanosecondArray::from(vec![Some(-100), Some(1_700), None]);
    assert_eq!(ticks(&nanos), [epoch - 1, epoch + 17, 0]);
    let days = Date32Array::from(vec![-719_162, 0, 1]);
    assert_eq!(ticks(&days), [0, epoch, epoch + 864_000_000_000]);
    let times = Date64Array::from(vec![1]);
    assert_eq!(ticks(&times.slice(0, 1)), [epoch + 10_000]);
    let spans = DurationSecondArray::from(vec![7, 8, -1]).slice(1, 2);
    let spans = ticks(&spans);
    assert_eq!(spans[1].cast_signed(), -10_000_000);
    assert_eq!(spans[0], 80_000_000);
}

#[test]
fn a_value_that_would_change_is_refused_with_its_column_and_row() {
    use TimeUnit::*;
    let day_before_year_1 = -719_163;
    for (array, row) in [
        (
            Arc::new(TimestampNanosecondArray::from(vec![100, 199])) as ArrayRef,
            "value 1 of these",
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![-1])),
            "value 0 of these",
        ),
        (
            Arc::new(Date32Array::from(vec![0, day_before_year_1])),
            "value 1 of these",
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![
                i64::from(day_before_year_1) * 86_400,
            ])),
            "value 0 of these",
        ),
        (
            Arc::new(Date64Array::from(vec![i64::MIN])),
            "value 0 of these",
        ),
        (
            Arc::new(TimestampMillisecondArray::from(vec![i64::MAX])),
            "value 0 of these",
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN])),
            "value 0 of these",
        ),
        (
            Arc::new(DurationNanosecondArray::from(vec![0, 0, 50])),
            "value 2 of these",
        ),
        (
            Arc::new(DurationSecondArray::from(vec![i64::MAX])),
            "value 0 of these",
        ),
        (
            Arc::new(DurationMicrosecondArray::from(vec![i64::MIN])),
            "value 0 of these",
        ),
    ] {
        let e = refused(stored(&array), row);
        assert!(e.message().contains("lossless"), "{e}");
        // A null hides a value that does not fit.
        let nulls = arrow_buffer::NullBuffer::new_null(array.len());
        let hidden = array.to_data().into_builder().nulls(Some(nulls));
        stored(&make_array(hidden.build().unwrap())).unwrap();
    }
    // In a struct, the error has the path of the member.
    let member = Field::new("t", ArrowType::Timestamp(Nanosecond, None), true);
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![0, 1]));
    let array = StructArray::new(Fields::from(vec![member]), vec![times], None);
    let e = refused(stored(&array), "value 1 of these");
    assert_eq!(e.element(), "field `c`, member `t`");
    // In a dictionary, only entries that rows use must fit.
    let values = Arc::new(DurationNanosecondArray::from(vec![100, 1]));
    let unused = DictionaryArray::new(Int8Array::from(vec![0, 0]), values.clone());
    stored(&unused).unwrap();
    let used = DictionaryArray::new(Int8Array::from(vec![0, 1]), values);
    refused(stored(&used), "value 1 of these");
}

#[cfg(feature = "decimal")]
mod decimals {
    use super::*;
    use crate::format::decimal128::decimal128_text;
    use proptest::prelude::*;

    fn column(precision: u8, scale: i8, values: Vec<Option<i256>>) -> ArrayRef {
        let array = Decimal256Array::from(values);
        Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
    }

    fn field_of(array: &ArrayRef) -> Field {
        Field::new("c", array.data_type().clone(), true)
    }

    #[test]
    fn decimals_are_stored_with_their_scale_as_exponent() {
        let array = Decimal128Array::from(vec![-15, 1230])
            .with_precision_and_scale(4, 1)
            .unwrap();
        let words: [[u8; 16]; 2] = words(&stored(&array).unwrap()).try_into().unwrap();
        let minus_one_and_a_half = [0x15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xC0, 0x07, 0xA2];
        assert_eq!(words[0], minus_one_and_a_half);
        assert_eq!(words.map(decimal128_text), ["-1.5", "123.0"]);
    }

    #[test]
    fn a_decimal_of_too_many_digits_is_refused_and_zeros_at_its_end_are_none() {
        let digits = |n: u32| i256::from_string(&"9".repeat(n as usize)).unwrap();
        let ten_to = |n: u32| i256::from_i128(10).checked_pow(n).unwrap();
        let good = [digits(34), digits(34).checked_neg().unwrap(), ten_to(75)];
        let good = column(76, 5, good.map(Some).to_vec());
        let words = words(&stored(&good).unwrap());
        assert_eq!(
            decimal128_text(words[2]),
            "1.000000000000000000000000000000000E+70"
        );
        let read = read_as(&field_of(&good), &good, good.data_type(), Style::default()).unwrap();
        assert_eq!(read.as_ref(), good.as_ref());
        for bad in [digits(35), ten_to(75).wrapping_add(i256::ONE)] {
            let bad = column(76, 5, vec![None, Some(i256::ONE), Some(bad)]);
            let e = refused(stored(&bad), "value 2 of these");
            assert!(e.message().contains("34 digits"), "{e}");
        }
        let array = Decimal32Array::from(vec![1, 100])
            .with_precision_and_scale(2, 0)
            .unwrap();
        let e = refused(stored(&array), "value 1 of these");
        assert!(e.message().contains("more digits"), "{e}");
    }

    #[test]
    fn a_decimal_is_read_as_every_type_that_holds_it_exactly() {
        use ArrowType::*;
        let array: ArrayRef = Arc::new(
            Decimal64Array::from(vec![Some(12_345_600), None, Some(-7_000)])
                .with_precision_and_scale(10, 4)
                .unwrap(),
        );
        let field = field_of(&array);
        for style in styles() {
            let read = |wanted: &ArrowType| read_as(&field, &array, wanted, style);
            for wanted in [
                Decimal32(6, 2),
                Decimal64(18, 12),
                Decimal128(6, 2),
                Decimal128(38, 30),
                Decimal256(76, 72),
            ] {
                let found = read(&wanted).unwrap();
                let expected = arrow_cast::cast(&array, &wanted).unwrap();
                assert_eq!(found.as_ref(), expected.as_ref(), "{wanted}");
            }
            for wanted in [Decimal32(5, 2), Decimal128(38, 1), Decimal64(3, -1)] {
                refused(read(&wanted), "value 0 of these");
            }
            let e = read(&Decimal128(38, 39)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
            assert_eq!(
                read(&Float64).unwrap_err().kind(),
                ErrorKind::SchemaMismatch
            );
            let bytes = read(&FixedSizeBinary(16)).unwrap();
            assert_eq!(bytes.null_count(), 1);
        }
    }

    #[test]
    fn what_is_no_number_is_refused_but_its_bytes_are_not() {
        let nan = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7C];
        let array = FixedSizeBinaryArray::try_from_iter([[0; 16], nan].into_iter()).unwrap();
        let array: ArrayRef = Arc::new(array);
        let field = extended("c", ArrowType::FixedSizeBinary(16), "KustoDecimal");
        let e = read_as(
            &field,
            &array,
            &ArrowType::Decimal128(38, 0),
            Style::default(),
        );
        assert!(refused(e, "value 1 of these").message().contains("NaN"));
        let read = read_as(&field, &array, array.data_type(), Style::default()).unwrap();
        assert_eq!(read.as_ref(), array.as_ref());
    }

    proptest! {
        #[test]
        fn any_decimal_of_34_digits_comes_back_in_any_wide_enough_type(
            number in -(10i128.pow(34) - 1)..10i128.pow(34),
            cut in 0u32..34,
            scale in -30i8..=34,
            more in 0i8..=40,
        ) {
            let number = number / 10i128.pow(cut);
            let array = Decimal128Array::from(vec![number]);
            let array: ArrayRef = Arc::new(array.with_precision_and_scale(38, scale).unwrap());
            let wanted = ArrowType::Decimal256(76, scale + more);
            let read = read_as(&field_of(&array), &array, &wanted, Style::default()).unwrap();
            let factor = i256::from_i128(10).checked_pow(more.unsigned_abs().into()).unwrap();
            let expected = i256::from_i128(number).checked_mul(factor).unwrap();
            prop_assert_eq!(read.as_primitive::<Decimal256Type>().value(0), expected);
            let back = read_as(&field_of(&array), &array, array.data_type(), Style::default());
            prop_assert_eq!(values(&back.unwrap()), values(&array));
        }
    }
}

#[cfg(not(feature = "decimal"))]
#[test]
fn decimals_need_the_feature() {
    let field = Field::new("c", ArrowType::Decimal128(5, 2), true);
    let schema = arrow_schema::Schema::new(vec![field]);
    let e = schema::to_shard(&schema, &AMUDAI).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert!(e.message().contains("\"decimal\""), "{e}");
}

#[test]
fn time_spans_become_durations_of_any_unit() {
    use TimeUnit::*;
    let array: ArrayRef = Arc::new(DurationMicrosecondArray::from(vec![
        Some(1_500_000),
        None,
        Some(-1_500_000),
    ]));
    let field = Field::new("c", array.data_type().clone(), true);
    for style in styles() {
        let read = |wanted: &ArrowType| read_as(&field, &array, wanted, style).unwrap();
        let seconds = read(&ArrowType::Duration(Second));
        assert_eq!(
            seconds.as_primitive::<DurationSecondType>(),
            &DurationSecondArray::from(vec![Some(1), None, Some(-1)])
        );
        let nanos = read(&ArrowType::Duration(Nanosecond));
        let expected = [Some(1_500_000_000), None, Some(-1_500_000_000)];
        let expected = DurationNanosecondArray::from(expected.to_vec());
        assert_eq!(nanos.as_primitive::<DurationNanosecondType>(), &expected);
        let ticks = read(&ArrowType::Int32);
        assert_eq!(ticks.as_primitive::<Int32Type>().value(2), -15_000_000);
    }
    let long: ArrayRef = Arc::new(DurationSecondArray::from(vec![0, i64::MAX / 10_000_000]));
    let field = Field::new("c", long.data_type().clone(), true);
    let e = read_as(
        &field,
        &long,
        &ArrowType::Duration(Nanosecond),
        Style::default(),
    );
    assert!(refused(e, "value 1 of these").message().contains("coarser"));
    let e = read_as(&field, &long, &ArrowType::Float64, Style::default());
    assert_eq!(e.unwrap_err().kind(), ErrorKind::SchemaMismatch);
}

#[test]
fn dynamic_values_are_read_as_text_where_they_are_text() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("{}"), None, Some("[1]")]));
    let field = extended("c", ArrowType::Utf8, "arrow.json");
    for style in styles() {
        for wanted in [
            ArrowType::Utf8,
            ArrowType::Utf8View,
            ArrowType::LargeUtf8,
            ArrowType::LargeBinary,
        ] {
            let read = read_as(&field, &texts, &wanted, style).unwrap();
            assert_eq!(values(&read), values(&texts));
        }
    }
    let bytes: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"\xFF"]));
    let field = extended("c", ArrowType::Binary, "KustoDynamic");
    let e = read_as(&field, &bytes, &ArrowType::Utf8, Style::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ValueOutOfRange);
}

#[test]
fn labels_of_native_types_that_do_not_go_with_the_storage_are_ignored() {
    let labeled = |node: DataType, label: &str| DataType {
        extended_type: Some(ExtendedType {
            label: label.into(),
            properties: Vec::new(),
        }),
        ..node
    };
    for (basic_type, fixed_size, label, expected) in [
        (BasicType::Int64, 0, "KustoTimeSpan", ArrowType::UInt64),
        (
            BasicType::FixedSizeBinary,
            8,
            "KustoDecimal",
            ArrowType::FixedSizeBinary(8),
        ),
        (BasicType::String, 0, "KustoDynamic", ArrowType::LargeUtf8),
        (BasicType::Int64, 0, "KustoDateTime", ArrowType::UInt64),
    ] {
        let node = DataType {
            fixed_size,
            ..DataType::new(basic_type, "c")
        };
        let natural = to_arrow(&labeled(node, label), None).unwrap();
        assert_eq!(natural, Field::new("c", expected, true));
    }
}
