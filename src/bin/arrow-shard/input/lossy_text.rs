//! Values of other types in text that are cut or rounded to the types, as values of other formats are.

use super::exact_text::{self, no_value};
use crate::failure::Failure;
use crate::leaves::cast_array;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_cast::{can_cast_types, cast};
use arrow_schema::{DECIMAL256_MAX_PRECISION, DataType, TimeUnit};
use arrow_select::nullif::nullif;
use arrow_select::zip::zip;

/// Parses a column of text as another type. If a text is a value of a wider type only, it is cast from that type, which
/// cuts or rounds it.
///
/// # Errors
/// Fails if none of these types has a value for a text, or if the value is out of the range of the type.
pub(super) fn parsed(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Failure> {
    let value = match to {
        DataType::Dictionary(_, value) => value.as_ref(),
        other => other,
    };
    if value.is_string() || value.is_nested() {
        return cast_array(column, to);
    }
    use DataType as T;
    if matches!(
        value,
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) | T::Duration(_)
    ) {
        return exact_text::parsed(column, to);
    }
    let text = cast_array(column, &DataType::Utf8)?;
    // Other texts become null.
    let mut found = cast(&text, value)?;
    for wide in wider(value) {
        let missing = missing(&text, &found);
        if missing.true_count() == 0 {
            break;
        }
        if !can_cast_types(&wide, value) {
            continue;
        }
        let others = nullif(&text, &arrow_arith::boolean::not(&missing)?)?;
        let cut = cast_array(&cast(&others, &wide)?, value)?;
        found = zip(&missing, &cut, &found)?;
    }
    if missing(&text, &found).true_count() > 0 {
        return Err(no_value(to));
    }
    cast_array(&found, to)
}

/// Returns the rows that have a text, but no value yet.
fn missing(text: &ArrayRef, found: &ArrayRef) -> BooleanArray {
    let rows = 0..text.len();
    rows.map(|row| Some(text.is_valid(row) && found.is_null(row)))
        .collect()
}

/// Returns the types from which values are cut or rounded to a type, the most exact one first.
fn wider(ty: &DataType) -> Vec<DataType> {
    use DataType as T;
    // The widest decimal: as many digits before the point as after it.
    let decimal = T::Decimal256(DECIMAL256_MAX_PRECISION, 38);
    match ty {
        T::Date32 | T::Date64 => vec![T::Timestamp(TimeUnit::Second, None)],
        T::Time32(_) | T::Time64(_) => vec![T::Time64(TimeUnit::Nanosecond)],
        T::Boolean => vec![decimal, T::Float64],
        number if number.is_numeric() => vec![decimal, T::Float64],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;
    use arrow_cast::display::array_value_to_string;
    use std::sync::Arc;

    #[test]
    fn values_are_cut_as_those_of_other_types() {
        for (text, to, want) in [
            ("1.5", "Int64", Some("1")),
            ("-1.9", "Int64", Some("-1")),
            ("9007199254740993.7", "Int64", Some("9007199254740993")),
            ("1.5e1", "Int8", Some("15")),
            ("300", "Int8", None),
            ("-0.5", "UInt8", Some("0")),
            ("2", "Boolean", Some("true")),
            ("1.55", "Decimal128(3, 1)", Some("1.6")),
            ("1.5e1", "Decimal128(3, 1)", Some("15.0")),
            ("9007199254740993", "Float64", Some("9007199254740992.0")),
            ("2024-02-29T12:00:00", "Date32", Some("2024-02-29")),
            (
                "2024-02-29T12:00:00.5",
                "Timestamp(s)",
                Some("2024-02-29T12:00:00"),
            ),
            ("12:00:00.5", "Time32(s)", Some("12:00:00")),
            ("1.5", "Dictionary(Int8, Int64)", Some("1")),
            ("x", "Int64", None),
            ("2024-02-30", "Date32", None),
        ] {
            let column: ArrayRef = Arc::new(StringArray::from(vec![None, Some(text), Some("1")]));
            let column = column.slice(0, 2);
            let found = parsed(&column, &to.parse().unwrap()).ok();
            let found = found.map(|found| array_value_to_string(&found, 1).unwrap());
            assert_eq!(found.as_deref(), want, "{text} as {to}");
        }
    }
}
