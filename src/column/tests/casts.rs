//! Casts of leaves to requested types, against `arrow-cast`.

use super::generate::leaf_types;
use super::native::AMUDAI;
use super::representable::representable;
use super::source::{MemorySource, Style};
use super::{node_with, push};
use crate::buffer::Selection;
use crate::column::schema::SchemaOptions;
use crate::column::{ByteLayout, Casts, assemble_as, check_cast};
use crate::error::{ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_buffer::{Buffer, NullBuffer, i256};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_data::ArrayData;
use arrow_schema::{DataType as ArrowType, Field, TimeUnit};
use half::f16;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const TEXTS: [&str; 19] = [
    "",
    "0",
    "-1",
    " 7",
    "1.5",
    "1e300",
    "NaN",
    "ä",
    "true",
    "2024-02-29",
    "12:30:00",
    "2024-02-29T12:30:00.123456789Z",
    "0001-01-01T00:00:00",
    "99999999999999999999",
    "-170141183460469231731687303715884105729",
    "0.00000000000000000000000000000000000000001",
    "1 year 2 days",
    "9223372036854775807 days",
    "9.9999999999999999999e37",
];

const INTEGERS: [i128; 24] = [
    0,
    1,
    -1,
    59,
    127,
    128,
    -129,
    255,
    32_768,
    65_504,
    100_000,
    86_399,
    86_400,
    -86_401,
    999_999_999,
    i32::MAX as i128,
    i32::MIN as i128,
    (1 << 53) + 1,
    86_400_000_000_001,
    i64::MAX as i128 / 1_000 + 1,
    i64::MAX as i128,
    i64::MIN as i128,
    i128::MAX,
    i128::MIN,
];

const FLOATS: [f64; 16] = [
    0.0,
    -0.0,
    0.1,
    1.5,
    -2.5,
    255.5,
    65_520.0,
    1e5,
    2_147_483_648.0,
    9_223_372_036_854_775_808.0,
    -9_223_372_036_854_775_809.0,
    1e39,
    1e300,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Returns arrays of a null and one value that is hard to cast.
fn hostile(data_type: &ArrowType) -> Vec<ArrayRef> {
    let with_null = |value: ArrayRef| -> ArrayRef {
        let null = new_null_array(value.data_type(), 1);
        arrow_select::concat::concat(&[&null, &value]).unwrap()
    };
    let values: Vec<ArrayRef> = match data_type {
        ArrowType::Null => return vec![Arc::new(NullArray::new(2))],
        ArrowType::FixedSizeBinary(0) => {
            let nulls = NullBuffer::from(vec![false, true]);
            let empty = Buffer::from_vec(Vec::<u8>::new());
            let array = FixedSizeBinaryArray::try_new_with_len(0, empty, Some(nulls), 2);
            return vec![Arc::new(array.unwrap())];
        }
        ArrowType::Boolean => vec![
            Arc::new(BooleanArray::from(vec![true])),
            Arc::new(BooleanArray::from(vec![false])),
        ],
        text if text.is_string() => {
            let text = TEXTS.map(|text| Arc::new(StringArray::from(vec![text])) as ArrayRef);
            text.iter()
                .map(|t| arrow_cast::cast(t, data_type).unwrap())
                .collect()
        }
        ArrowType::FixedSizeBinary(size) => {
            let bytes = |byte: u8| vec![byte; usize::try_from(*size).unwrap()];
            let array = |byte| FixedSizeBinaryArray::try_from_iter([bytes(byte)].iter()).unwrap();
            [0, b'a', 0xFF]
                .map(|byte| Arc::new(array(byte)) as ArrayRef)
                .to_vec()
        }
        binary if binary.is_binary() => {
            let values: [&[u8]; 5] = [b"", b"12", b"abcde", &[0xFF; 16], b"\xFF"];
            let values = values.map(|value| BinaryArray::from_vec(vec![value]));
            let cast = |value| arrow_cast::cast(&value, data_type).unwrap();
            values.map(cast).to_vec()
        }
        ArrowType::Float64 => FLOATS
            .map(|v| Arc::new(Float64Array::from(vec![v])) as _)
            .to_vec(),
        ArrowType::Float32 => FLOATS
            .map(|v| Arc::new(Float32Array::from(vec![v as f32])) as _)
            .to_vec(),
        ArrowType::Float16 => FLOATS
            .map(|v| Arc::new(Float16Array::from(vec![f16::from_f64(v)])) as _)
            .to_vec(),
        primitive => {
            let width = primitive.primitive_width().unwrap();
            let integer = |value: &i128| -> ArrayRef {
                let mut wide = i256::from_i128(*value);
                if let ArrowType::Decimal32(p, _)
                | ArrowType::Decimal64(p, _)
                | ArrowType::Decimal128(p, _)
                | ArrowType::Decimal256(p, _) = primitive
                {
                    let most = i256::from_i128(10).checked_pow(u32::from(*p)).unwrap();
                    wide = wide.wrapping_rem(most);
                }
                let bytes = Buffer::from_slice_ref(&wide.to_le_bytes()[..width]);
                let data = ArrayData::builder(primitive.clone())
                    .len(1)
                    .add_buffer(bytes);
                make_array(data.build().unwrap())
            };
            INTEGERS.iter().map(integer).collect()
        }
    };
    values.into_iter().map(with_null).collect()
}

fn arrow_cast_of(array: &ArrayRef, wanted: &ArrowType) -> Option<ArrayRef> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let cast = || cast_with_options(array, wanted, &options).ok();
    catch_unwind(AssertUnwindSafe(cast)).ok().flatten()
}

/// Returns whether the arithmetic of `arrow-cast` wraps around for this cast, where this crate returns an error.
fn wraps(from: &ArrowType, wanted: &ArrowType) -> bool {
    use ArrowType::*;
    match (from, wanted) {
        (Date64, Timestamp(..)) | (Time64(_), Time32(_) | Time64(_)) => true,
        (from, Decimal32(..) | Decimal64(..)) => {
            from.is_integer() || matches!(from, Timestamp(..) | Duration(_))
        }
        _ => false,
    }
}

/// Returns the result of `arrow-cast` for a value as it is stored, unless it has wrapped around.
fn expected(array: &ArrayRef, wanted: &ArrowType) -> Option<ArrayRef> {
    let cast = arrow_cast_of(array, wanted)?;
    let integer = |array: &ArrayRef| {
        let integers = arrow_cast_of(array, &ArrowType::Int64)?;
        Some(integers.as_primitive::<types::Int64Type>().value(1))
    };
    let stays = || {
        let back = arrow_cast_of(&cast, array.data_type())?;
        // Coarser units and scales cut off less than that.
        match (integer(&back), integer(array)) {
            (Some(back), Some(value)) => Some(back.abs_diff(value) < 1_000_000_000),
            _ => Some(&back == array),
        }
    };
    (!wraps(array.data_type(), wanted) || stays() == Some(true)).then_some(cast)
}

/// Returns text and bytes in their stored form, and other types unchanged.
fn stored_type(data_type: &ArrowType) -> ArrowType {
    match data_type {
        text if text.is_string() => ArrowType::LargeUtf8,
        ArrowType::FixedSizeBinary(_) => data_type.clone(),
        binary if binary.is_binary() => ArrowType::LargeBinary,
        other => other.clone(),
    }
}

struct Stored {
    field: Field,
    node: crate::format::DataType,
    source: MemorySource,
}

fn store(array: &ArrayRef, options: &SchemaOptions, style: Style) -> Stored {
    let field = Field::new("c", array.data_type().clone(), true);
    let node = node_with(&field, options);
    let mut source = MemorySource::new(style);
    push(&mut source, &field, &node, array).unwrap();
    Stored {
        field,
        node,
        source,
    }
}

impl Stored {
    fn read(&mut self, wanted: &ArrowType, is_strict: bool) -> Result<ArrayRef> {
        let casts = Casts::new(is_strict, Some(&self.field), &self.node);
        let wanted = Field::new("c", wanted.clone(), true);
        let allowed = check_cast(&wanted, &self.node, &casts);
        let rows = Selection::range(0..2);
        let read = assemble_as(&wanted, &self.node, &casts, &rows, &mut self.source);
        match allowed {
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::SchemaMismatch, "{e}");
                assert!(read.is_err(), "{e}");
                Err(e)
            }
            Ok(()) => read,
        }
    }
}

fn check(array: &ArrayRef, wanted: &ArrowType, stored: &mut Stored) {
    let own = stored_type(array.data_type());
    let is_layout = |t: &ArrowType| ByteLayout::of(t).is_some();
    let array = &arrow_cast::cast(array, &own).unwrap();
    let place = || format!("{array:?} as {wanted}");
    let expected = match can_cast_types(&own, wanted) {
        true => expected(array, wanted),
        // Every text can be read as bytes, in every layout.
        false if is_layout(&own) && is_layout(wanted) => return,
        false => None,
    };
    let read = stored.read(wanted, false);
    match (&read, &expected) {
        (Ok(read), Some(expected)) => assert_eq!(read, expected, "{}", place()),
        (Err(e), None) => {
            let kinds = [ErrorKind::ValueOutOfRange, ErrorKind::SchemaMismatch];
            assert!(kinds.contains(&e.kind()), "{}: {e}", place());
        }
        (read, expected) => panic!("{}: {read:?}, expected {expected:?}", place()),
    }
    let strict = stored.read(wanted, true);
    let back = expected.as_ref().and_then(|cast| arrow_cast_of(cast, &own));
    match (&strict, &expected) {
        _ if own == *wanted => assert_eq!(&strict.unwrap(), array),
        _ if is_layout(&own) && is_layout(wanted) => {
            assert_eq!(strict.ok(), expected, "{}", place());
        }
        (Ok(strict), Some(expected)) => {
            assert_eq!(
                (strict, back.as_ref()),
                (expected, Some(array)),
                "{}",
                place()
            );
        }
        (Ok(strict), None) => panic!("{}: strict {strict:?}", place()),
        (Err(_), _) => assert_ne!(back.as_ref(), Some(array), "{}", place()),
    }
}

#[test]
fn every_value_of_every_type_becomes_what_arrow_cast_gives_or_is_an_error() {
    let dictionaries = Style {
        dictionaries: true,
        ..Style::default()
    };
    for from in leaf_types() {
        for array in hostile(&from) {
            for style in [Style::default(), dictionaries] {
                let mut stored = store(&array, &SchemaOptions::default(), style);
                for wanted in leaf_types() {
                    check(&array, &wanted, &mut stored);
                }
            }
        }
    }
}

#[test]
fn native_types_become_what_arrow_cast_gives_of_the_type_that_was_written() {
    for from in leaf_types() {
        let may_be_stored = !from.is_decimal() || cfg!(feature = "decimal");
        if may_be_stored
            && crate::column::may_exceed_arrow(&node_with(
                &Field::new("c", from.clone(), true),
                &AMUDAI,
            ))
        {
            for array in hostile(&from) {
                let array = representable(&array);
                let mut stored = store(&array, &AMUDAI, Style::default());
                for wanted in leaf_types() {
                    check(&array, &wanted, &mut stored);
                }
            }
        }
    }
}

#[test]
fn values_that_no_row_asks_for_are_not_cast() {
    let texts: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"12", b"\xFF", b"12"]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![12, 1 << 40, 12]));
    for (array, wanted) in [
        (&texts, ArrowType::Utf8),
        (&texts, ArrowType::Utf8View),
        (&numbers, ArrowType::Int32),
    ] {
        for style in super::styles() {
            let mut stored = store(array, &SchemaOptions::default(), style);
            let coded = ArrowType::Dictionary(Box::new(ArrowType::Int8), Box::new(wanted.clone()));
            for wanted in [&wanted, &coded] {
                let field = Field::new("c", wanted.clone(), true);
                let casts = Casts::default();
                let mut read = |rows: &[u64]| {
                    let rows = rows.iter().map(|row| *row..row + 1).collect();
                    assemble_as(&field, &stored.node, &casts, &rows, &mut stored.source)
                };
                for rows in [&[0, 2][..], &[0], &[2]] {
                    let read = read(rows).unwrap_or_else(|e| panic!("{style:?}, {wanted}: {e}"));
                    assert_eq!(read.null_count(), 0);
                }
                for rows in [&[0, 1, 2][..], &[1], &[0, 1]] {
                    let e = read(rows).unwrap_err();
                    assert_eq!(
                        e.kind(),
                        ErrorKind::ValueOutOfRange,
                        "{style:?}, {wanted}: {e}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_strict_cast_names_the_value_and_what_would_become_of_it() {
    let array: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 0.1]));
    let mut stored = store(&array, &SchemaOptions::default(), Style::default());
    let e = stored.read(&ArrowType::Float32, true).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ValueOutOfRange);
    assert!(e.message().starts_with("value 1 of these: "), "{e}");
    assert!(e.message().contains("would change `0.1`"), "{e}");
    // Text is cast from LargeUtf8, regardless of the column's text type.
    let array: ArrayRef = Arc::new(StringArray::from(vec!["5", "x"]));
    let mut stored = store(&array, &SchemaOptions::default(), Style::default());
    let e = stored.read(&ArrowType::Int32, false).unwrap_err();
    assert!(
        e.message().starts_with("text cannot be cast to Int32: ") && e.message().contains("'x'"),
        "{e}"
    );
}

#[test]
fn strict_casts_do_not_round_native_times() {
    use TimeUnit::{Microsecond, Millisecond, Second};
    let second = 1_000_000;
    let instants: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![
        -3 * second,
        second + 500_000,
    ]));
    let spans: ArrayRef = Arc::new(DurationMicrosecondArray::from(vec![
        -3 * second,
        second + 500_000,
    ]));
    let day = 86_400 * second;
    let days: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![-day, day + 1]));
    let timestamp = |unit| ArrowType::Timestamp(unit, None);
    for (array, exact, coarse) in [
        (&instants, timestamp(Millisecond), timestamp(Second)),
        (&instants, ArrowType::Date64, ArrowType::Date32),
        (
            &spans,
            ArrowType::Duration(Millisecond),
            ArrowType::Duration(Second),
        ),
        (&days, timestamp(Microsecond), ArrowType::Date32),
        (&days, timestamp(Microsecond), ArrowType::Date64),
    ] {
        let mut stored = store(array, &AMUDAI, Style::default());
        // Shards of other writers do not store the Arrow types of their times.
        let mut read = |wanted: &ArrowType, is_strict| {
            let casts = Casts::new(is_strict, None, &stored.node);
            let wanted = Field::new("c", wanted.clone(), true);
            let rows = Selection::range(0..2);
            assemble_as(&wanted, &stored.node, &casts, &rows, &mut stored.source)
        };
        assert_eq!(&read(&exact, true).unwrap(), &read(&exact, false).unwrap());
        read(&coarse, false).unwrap();
        let first_is_exact = coarse != ArrowType::Date32 || Arc::ptr_eq(array, &days);
        let e = read(&coarse, true).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ValueOutOfRange);
        let row = format!("value {} of these: ", u8::from(first_is_exact));
        assert!(e.message().starts_with(&row), "{coarse}: {e}");
        assert!(e.message().contains("would be rounded"), "{e}");
    }
}
