//! The place of a literal of any type among the values of another type.

use super::Literal;
use super::advice::advice;
use super::literal::LiteralForm;
use super::number::decimal;
use super::value::{bytes, double, text};
use crate::error::{Error, ErrorKind, Result};
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, PrimitiveArray, StringArray, make_array};
use arrow_array::{FixedSizeBinaryArray, Float64Array};
use arrow_buffer::{Buffer, i256};
use arrow_cast::display::array_value_to_string;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_schema::{DataType, TimeUnit};
use half::f16;
use std::cmp::Ordering;
use std::fmt::Display;
use std::sync::Arc;

/// The place of a literal among the values of a type. Values are arrays of length 1.
#[derive(Debug, Clone)]
pub(super) enum LiteralPlace {
    /// The literal is this value.
    At(ArrayRef),
    /// The literal lies between this value and the next greater one.
    After(ArrayRef),
    /// The literal is less than every value.
    BelowAll,
    /// The literal is greater than every value.
    AboveAll,
}

/// Kinds of exact values; only values of the same kind can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Number,
    Instant { zoned: bool },
    Time,
    Duration,
}

/// A type with the multiples of `step * 10^-scale` as values, in numbers or seconds.
#[derive(Debug, Clone, Copy)]
struct Grid {
    family: Family,
    scale: i32,
    step: i64,
}

impl Grid {
    fn of(data_type: &DataType) -> Option<Self> {
        use DataType::{
            Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256, Duration, Time32, Time64,
            Timestamp,
        };
        let (family, scale, step) = match data_type {
            integer if integer.is_integer() => (Family::Number, 0, 1),
            Decimal32(_, scale)
            | Decimal64(_, scale)
            | Decimal128(_, scale)
            | Decimal256(_, scale) => (Family::Number, i32::from(*scale), 1),
            Timestamp(unit, zone) => {
                let zoned = zone.is_some();
                (Family::Instant { zoned }, digits(*unit), 1)
            }
            Date32 => (Family::Instant { zoned: false }, 0, 86_400),
            Date64 => (Family::Instant { zoned: false }, 3, 1),
            Time32(unit) | Time64(unit) => (Family::Time, digits(*unit), 1),
            Duration(unit) => (Family::Duration, digits(*unit), 1),
            _ => return None,
        };
        Some(Self {
            family,
            scale,
            step,
        })
    }
}

/// Returns the decimal digits of a fraction of a second in this unit.
fn digits(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// A literal as `value * 10^-scale`.
#[derive(Debug, Clone, Copy)]
struct Exact {
    family: Family,
    value: i256,
    scale: i32,
}

impl Exact {
    fn of(literal: &ArrayRef) -> Option<Self> {
        let Grid {
            family,
            scale,
            step,
        } = Grid::of(literal.data_type())?;
        let value = integer(literal)?.checked_mul(i256::from(step))?;
        Some(Self {
            family,
            value,
            scale,
        })
    }
}

/// Returns the place of a literal that is not null among the values of a type, which is neither nested nor a dictionary
/// nor runs.
///
/// # Errors
/// [`SchemaMismatch`](ErrorKind::SchemaMismatch) if values of the types cannot be compared, or
/// [`InvalidArgument`](ErrorKind::InvalidArgument) for a number that is not a whole count of a duration's units.
pub(super) fn place(literal: &Literal, data_type: &DataType) -> Result<LiteralPlace> {
    let value = literal.array();
    match (literal.written(), value.data_type(), data_type) {
        // A written number means the nearest float.
        (LiteralForm::Number, DataType::Decimal256(_, 1..), float) if float.is_floating() => {
            let text = array_value_to_string(value, 0)?;
            let nearest: f64 = text.parse().map_err(|_| Error::invalid(text))?;
            #[expect(clippy::cast_possible_truncation, reason = "the nearest is wanted")]
            let own = match float {
                DataType::Float16 => f16::from_f64(nearest).to_f64(),
                DataType::Float32 => f64::from(nearest as f32),
                _ => nearest,
            };
            // Infinity is not near any number: a number beyond the column's type stays a double.
            let nearest = if own.is_finite() { own } else { nearest };
            among_floats(nearest, |v| v.total_cmp(&nearest), data_type)
        }
        (written, number, DataType::Duration(unit))
            if written == LiteralForm::Number || number.is_integer() =>
        {
            match Exact::of(value) {
                Some(Exact {
                    value, scale: 0, ..
                }) => {
                    let (family, scale) = (Family::Duration, digits(*unit));
                    let grid = Grid {
                        family,
                        scale,
                        step: 1,
                    };
                    let exact = Exact {
                        family,
                        value,
                        scale,
                    };
                    on_grid(exact, grid, data_type)
                }
                _ => Err(Error::invalid(format!(
                    "expected a whole number of units of {unit}, found {literal}"
                ))),
            }
        }
        (LiteralForm::Time(word), ..) if !is_time(data_type) => Err(incomparable(
            data_type,
            format_args!("a {}", word.text()),
            "",
        )),
        _ => place_value(value, data_type),
    }
}

/// Whether the type holds points in time or times of a day.
fn is_time(data_type: &DataType) -> bool {
    Grid::of(data_type)
        .is_some_and(|grid| matches!(grid.family, Family::Instant { .. } | Family::Time))
}

fn incomparable(data_type: &DataType, literal: impl Display, advice: &str) -> Error {
    Error::new(
        ErrorKind::SchemaMismatch,
        format!("a column of type {data_type} cannot be compared with {literal}{advice}"),
    )
}

/// Returns the place of a value that is not null among the values of a type.
pub(super) fn place_value(literal: &ArrayRef, data_type: &DataType) -> Result<LiteralPlace> {
    let incompatible = || {
        let advice = advice(literal.data_type(), data_type);
        let literal = format!("a literal of type {}", literal.data_type());
        incomparable(data_type, literal, advice)
    };
    let text = text(literal);
    if data_type.is_string() {
        let text = text.ok_or_else(incompatible)?;
        return binary(text.as_bytes(), data_type).map(LiteralPlace::At);
    }
    if let DataType::FixedSizeBinary(size) = data_type {
        // Text is refused, because text of another length than the values would equal none of them.
        let bytes = bytes(literal).filter(|_| text.is_none());
        let bytes = bytes.ok_or_else(incompatible)?;
        return among_fixed(&bytes, *size);
    }
    if data_type.is_binary() {
        let bytes = bytes(literal).ok_or_else(incompatible)?;
        return binary(&bytes, data_type).map(LiteralPlace::At);
    }
    if data_type.is_floating() {
        let special = text.as_deref().and_then(special_float);
        return match (double(literal).or(special), Exact::of(literal)) {
            (Some(double), _) => among_floats(double, |v| v.total_cmp(&double), data_type),
            (_, Some(exact)) if exact.family == Family::Number && exact.scale == 0 => {
                let text = exact.value.to_string();
                let nearest = text.parse().map_err(|_| incompatible())?;
                among_floats(nearest, |v| compare_integer(v, exact.value), data_type)
            }
            _ => Err(incompatible()),
        };
    }
    let Some(grid) = Grid::of(data_type) else {
        return if literal.data_type() == data_type {
            Ok(LiteralPlace::At(literal.clone()))
        } else {
            Err(incompatible())
        };
    };
    if let (Some(double), true) = (double(literal), data_type.is_integer()) {
        return among_integers(double, data_type);
    }
    let is_read =
        data_type.is_decimal() || !matches!(grid.family, Family::Number | Family::Duration);
    let exact = match text.filter(|_| is_read) {
        Some(text) => parse(&text, data_type, grid).ok_or_else(|| {
            let advice = match grid.family {
                Family::Number => "",
                _ if text.contains('.') && split_fraction(&text).is_none() => {
                    "; seconds have at most nine digits after the point"
                }
                Family::Time => "; write it as `12:30:00`",
                Family::Instant { zoned: true } => {
                    "; text with an offset, such as a `Z` at its end, needs no zone"
                }
                _ => "",
            };
            let message = format!("`{text}` cannot be read as a value of type {data_type}{advice}");
            Error::new(ErrorKind::SchemaMismatch, message)
        })?,
        None => Exact::of(literal).ok_or_else(incompatible)?,
    };
    if exact.family != grid.family {
        return Err(incompatible());
    }
    on_grid(exact, grid, data_type)
}

/// Returns the place of an exact value among the values of a grid.
fn on_grid(exact: Exact, grid: Grid, data_type: &DataType) -> Result<LiteralPlace> {
    let outside = if exact.value.is_negative() {
        LiteralPlace::BelowAll
    } else {
        LiteralPlace::AboveAll
    };
    let shift = i64::from(grid.scale) - i64::from(exact.scale);
    let Some(power) = ten_to(shift.unsigned_abs()) else {
        // The literal is beyond all values, or between zero and its neighbor.
        return match (exact.value == i256::ZERO, shift > 0) {
            (true, _) => found(i256::ZERO, false, outside, data_type),
            (false, true) => Ok(outside),
            (false, false) => {
                let below = i256::from(-i64::from(exact.value.is_negative()));
                found(below, true, outside, data_type)
            }
        };
    };
    let step = i256::from(grid.step);
    let parts = if shift >= 0 {
        exact.value.checked_mul(power).map(|value| (value, step))
    } else {
        power
            .checked_mul(step)
            .map(|divisor| (exact.value, divisor))
    };
    let Some((value, divisor)) = parts else {
        return Ok(outside);
    };
    let quotient = value.wrapping_div(divisor);
    let rest = value.wrapping_rem(divisor);
    let floor = if rest.is_negative() {
        quotient.wrapping_sub(i256::ONE)
    } else {
        quotient
    };
    found(floor, rest != i256::ZERO, outside, data_type)
}

fn found(
    value: i256,
    after: bool,
    outside: LiteralPlace,
    data_type: &DataType,
) -> Result<LiteralPlace> {
    Ok(match (scalar(value, data_type)?, after) {
        (Some(scalar), false) => LiteralPlace::At(scalar),
        (Some(scalar), true) => LiteralPlace::After(scalar),
        (None, _) => outside,
    })
}

fn ten_to(power: u64) -> Option<i256> {
    i256::from(10i64).checked_pow(u32::try_from(power).ok()?)
}

/// Returns the value of an array of one integer, decimal or time.
fn integer(array: &ArrayRef) -> Option<i256> {
    let width = array.data_type().primitive_width()?;
    let data = array.to_data();
    let start = data.offset().checked_mul(width)?;
    let stored = data.buffers().first()?.get(start..start + width)?;
    let negative = !array.data_type().is_unsigned_integer() && stored[width - 1] & 0x80 != 0;
    let mut wide = [if negative { 0xFF } else { 0 }; 32];
    wide[..width].copy_from_slice(stored);
    Some(i256::from_le_bytes(wide))
}

/// Returns an array of one integer, decimal or time; `None` if the type cannot hold it.
fn scalar(value: i256, data_type: &DataType) -> Result<Option<ArrayRef>> {
    let width = data_type.primitive_width().unwrap_or(0);
    let wide = value.to_le_bytes();
    let (stored, rest) = wide.split_at(width);
    let negative = stored.last().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if negative && !data_type.is_unsigned_integer() {
        0xFF
    } else {
        0
    };
    // A 32-byte value has no bytes after the stored ones, so its sign needs no check.
    if rest.iter().any(|byte| *byte != fill) {
        return Ok(None);
    }
    let data = ArrayData::builder(data_type.clone())
        .len(1)
        .add_buffer(Buffer::from_slice_ref(stored))
        .build()?;
    Ok(Some(make_array(data)))
}

/// Parses NaN or an infinity, which predicates write as text.
fn special_float(text: &str) -> Option<f64> {
    let (sign, word) = match text.strip_prefix('-') {
        Some(word) => (-1.0, word),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    if is("nan") {
        return Some(f64::NAN.copysign(sign));
    }
    (is("infinity") || is("inf")).then_some(f64::INFINITY * sign)
}

fn among_integers(double: f64, data_type: &DataType) -> Result<LiteralPlace> {
    let outside = if double.is_sign_negative() {
        LiteralPlace::BelowAll
    } else {
        LiteralPlace::AboveAll
    };
    let floor = double.floor();
    match i256::from_f64(floor) {
        Some(value) if floor.is_finite() => found(value, floor != double, outside, data_type),
        _ => Ok(outside),
    }
}

/// Compares a float that is a whole number or infinite with an integer.
fn compare_integer(float: f64, integer: i256) -> Ordering {
    match i256::from_f64(float) {
        Some(value) if float.is_finite() => {
            // A float has two zeros; the positive one equals the integer 0.
            let order = value.cmp(&integer);
            if float == 0.0 && float.is_sign_negative() {
                order.then(Ordering::Less)
            } else {
                order
            }
        }
        _ => float.total_cmp(&0.0),
    }
}

macro_rules! float_place {
    ($nearest:expr, $ty:ty, $key:ty, $widen:expr, $compare:expr) => {{
        let nearest = $nearest;
        let array = |value| Arc::new(PrimitiveArray::<$ty>::from_value(value, 1)) as ArrayRef;
        match $compare($widen(nearest)) {
            Ordering::Equal => LiteralPlace::At(array(nearest)),
            Ordering::Less => LiteralPlace::After(array(nearest)),
            Ordering::Greater => {
                // Orders the bits as total order does: as signed integers.
                let order = |bits: $key| bits ^ ((bits >> (<$key>::BITS - 1)) & <$key>::MAX);
                match order(nearest.to_bits().cast_signed()).checked_sub(1) {
                    Some(key) => LiteralPlace::After(array(
                        <$ty as arrow_array::ArrowPrimitiveType>::Native::from_bits(
                            order(key).cast_unsigned(),
                        ),
                    )),
                    None => LiteralPlace::BelowAll,
                }
            }
        }
    }};
}

/// Returns the place of a literal, given `nearest`, its nearest double; `compare` orders a double relative to the
/// literal.
fn among_floats(
    nearest: f64,
    compare: impl Fn(f64) -> Ordering,
    data_type: &DataType,
) -> Result<LiteralPlace> {
    if nearest.is_nan() {
        // A NaN is a NaN in every type.
        let double: ArrayRef = Arc::new(Float64Array::from_value(nearest, 1));
        return Ok(LiteralPlace::At(arrow_cast::cast(&double, data_type)?));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what the type cannot hold is compared with what it can"
    )]
    Ok(match data_type {
        DataType::Float16 => {
            float_place!(
                f16::from_f64(nearest),
                Float16Type,
                i16,
                f16::to_f64,
                compare
            )
        }
        DataType::Float32 => {
            float_place!(nearest as f32, Float32Type, i32, f64::from, compare)
        }
        _ => float_place!(nearest, Float64Type, i64, |v| v, compare),
    })
}

/// Returns an array of one value, for text or bytes of any length.
fn binary(bytes: &[u8], data_type: &DataType) -> Result<ArrayRef> {
    let binary = BinaryArray::from_iter_values([bytes]);
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    Ok(cast_with_options(&binary, data_type, &options)?)
}

/// Returns the place of bytes of any length among values of `size` bytes.
fn among_fixed(bytes: &[u8], size: i32) -> Result<LiteralPlace> {
    let width = usize::try_from(size).unwrap_or(0);
    let array = |bytes: Vec<u8>| -> Result<ArrayRef> {
        let values = Buffer::from_vec(bytes);
        let array = FixedSizeBinaryArray::try_new_with_len(size, values, None, 1)?;
        Ok(Arc::new(array))
    };
    if bytes.len() >= width {
        let value = array(bytes[..width].to_vec())?;
        return Ok(if bytes.len() == width {
            LiteralPlace::At(value)
        } else {
            LiteralPlace::After(value)
        });
    }
    // A literal shorter than the values is less than each value that begins with it, and greater than the values
    // before.
    let mut value = bytes.to_vec();
    while let Some(last) = value.pop() {
        if last > 0 {
            value.push(last - 1);
            value.resize(width, 0xFF);
            return Ok(LiteralPlace::After(array(value)?));
        }
    }
    Ok(LiteralPlace::BelowAll)
}

/// Parses a text as a value of the type's kind.
fn parse(text: &str, data_type: &DataType, grid: Grid) -> Option<Exact> {
    let Grid { family, .. } = grid;
    let via = |text: &str, data_type: &DataType| {
        let options = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let array: ArrayRef = Arc::new(StringArray::from_iter_values([text]));
        let array = cast_with_options(&array, data_type, &options).ok()?;
        Exact::of(&array)
    };
    match family {
        Family::Number => {
            let (value, scale) = decimal(text)?;
            let scale = scale.into();
            Some(Exact {
                family,
                value,
                scale,
            })
        }
        Family::Duration => None,
        Family::Time | Family::Instant { .. } => {
            let (whole, fraction) = split_fraction(text)?;
            let seconds = match data_type {
                // A time without a colon would be a number of some unit.
                _ if family == Family::Time => {
                    let nanos = DataType::Time64(TimeUnit::Nanosecond);
                    return via(text, &nanos).filter(|_| text.contains(':'));
                }
                // Reading a time in another named zone takes a time zone database.
                DataType::Timestamp(_, Some(zone)) if is_utc(zone) || has_offset(text) => {
                    DataType::Timestamp(TimeUnit::Second, Some("+00:00".into()))
                }
                DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Second, zone.clone()),
                _ => DataType::Timestamp(TimeUnit::Second, None),
            };
            let seconds = via(&whole, &seconds)?;
            let digits = u32::try_from(fraction.len()).ok()?;
            let unit = i256::from(10i64.checked_pow(digits)?);
            let below = match fraction {
                "" => i256::ZERO,
                digits => i256::from(digits.parse::<i64>().ok()?),
            };
            Some(Exact {
                value: seconds.value.checked_mul(unit)?.checked_add(below)?,
                scale: i32::try_from(digits).ok()?,
                ..seconds
            })
        }
    }
}

/// Most digits after the point of the seconds in the text of a time.
const MAX_FRACTION: usize = 9;

/// Splits the text of a time into the text without the fraction of its seconds, and the digits of the fraction.
fn split_fraction(text: &str) -> Option<(String, &str)> {
    let Some((before, after)) = text.split_once('.') else {
        return Some((text.to_owned(), ""));
    };
    let len = after
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(after.len());
    let (fraction, rest) = after.split_at(len);
    (1..=MAX_FRACTION)
        .contains(&len)
        .then(|| (format!("{before}{rest}"), fraction))
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "Z" | "Etc/UTC")
}

/// Whether the text of a time states its offset from UTC.
fn has_offset(text: &str) -> bool {
    let time = text.get("2000-01-01".len()..).unwrap_or_default();
    time.ends_with(['Z', 'z']) || time.contains(['+', '-'])
}
