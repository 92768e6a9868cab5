//! Literals from the text of a value.

use super::literal::{Literal, LiteralForm, lit};
use super::number::number;
use super::place::{LiteralPlace, place};
use super::time_word::TimeWord;
use crate::arrow::value_type;
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};

/// Returns the literal of a text after a keyword. A comparison reads the text again as a value of its column, so that a
/// time without an offset is in the time zone of the column.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the text is not of that kind.
pub(super) fn time_literal(word: TimeWord, text: &str) -> Result<Literal> {
    let (data_type, example) = match word {
        TimeWord::Date => (DataType::Date32, "2024-02-29"),
        TimeWord::Time => (DataType::Time64(TimeUnit::Nanosecond), "12:30:00"),
        TimeWord::Timestamp => (
            DataType::Timestamp(TimeUnit::Second, None),
            "2024-02-29 12:30:00",
        ),
    };
    let literal = lit(text);
    let is_date = |place: &LiteralPlace| matches!(place, LiteralPlace::At(_));
    match place(&literal, &data_type) {
        Ok(place) if word != TimeWord::Date || is_date(&place) => {
            Ok(literal.with_written(LiteralForm::Time(word)))
        }
        _ => Err(Error::invalid(format!(
            "expected {} '{example}', found '{text}'",
            word.text()
        ))),
    }
}

impl Literal {
    /// Parses a text as a value of a type: a number, TRUE or FALSE, a date or time as in `2024-02-29T12:30:00.5`, a
    /// whole number of a duration's units, or text itself. For dictionaries and runs, it is a value of the type inside
    /// them.
    ///
    /// ```
    /// use arrow_schema::DataType;
    /// use arrow_shard::read::Literal;
    /// let day = Literal::parse("2024-02-29", &DataType::Date32)?;
    /// assert_eq!(day.to_string(), "DATE '2024-02-29'");
    /// assert!(Literal::parse("1.5", &DataType::Int32).is_err());
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the text is not a value of the type, or if the type
    /// cannot hold it exactly; floats are rounded to the nearest.
    pub fn parse(text: &str, data_type: &DataType) -> Result<Self> {
        let parsed = parse_as(text, value_type(data_type));
        parsed.map(Self::array_of).map_err(|e| {
            let message = format!("expected a value of type {data_type}, found `{text}`");
            Error::invalid(message).caused_by(e)
        })
    }
}

/// Parses a text as a value of a type.
fn parse_as(text: &str, data_type: &DataType) -> Result<ArrayRef> {
    let written = || Literal::from(text);
    let literal = match data_type {
        DataType::Boolean if text.eq_ignore_ascii_case("TRUE") => lit(true),
        DataType::Boolean if text.eq_ignore_ascii_case("FALSE") => lit(false),
        integer if integer.is_integer() => number(text)?,
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Duration(_) => number(text)?,
        DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Interval(_) => {
            let options = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            return Ok(cast_with_options(written().array(), data_type, &options)?);
        }
        _ => written(),
    };
    match place(&literal, data_type)? {
        LiteralPlace::At(value) => Ok(value),
        LiteralPlace::After(_) | LiteralPlace::BelowAll | LiteralPlace::AboveAll => Err(
            Error::invalid(format!("no value of type {data_type} is exactly `{text}`")),
        ),
    }
}
