//! Literals from text that writes a value of a type.

use super::literal::{Literal, lit};
use super::number::number;
use super::place::{LiteralPlace, place};
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;

impl Literal {
    /// The value of a type that a text writes: a number, TRUE or FALSE, a date or time as in
    /// `2024-02-29T12:30:00.5`, a whole number of a duration's units, or text itself. Values of
    /// dictionaries and runs are those of the types inside them.
    ///
    /// ```
    /// use arrow_schema::DataType;
    /// use arrow_shard::read::Literal;
    /// let day = Literal::parse("2024-02-29", &DataType::Date32)?;
    /// assert_eq!(day.to_string(), "2024-02-29");
    /// assert!(Literal::parse("1.5", &DataType::Int32).is_err());
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the text is no value of the type, or
    /// one that the type does not hold exactly; floats are rounded to the nearest.
    pub fn parse(text: &str, data_type: &DataType) -> Result<Self> {
        parse_as(text, data_type).map(Self::array_of).map_err(|e| {
            let message = format!("expected a value of type {data_type}, found `{text}`");
            Error::invalid(message).caused_by(e)
        })
    }
}

/// The value of a type that a text writes.
fn parse_as(text: &str, data_type: &DataType) -> Result<ArrayRef> {
    let written = || Literal::from(text);
    let literal = match data_type {
        DataType::Dictionary(_, values) => return parse_as(text, values),
        DataType::RunEndEncoded(_, values) => return parse_as(text, values.data_type()),
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
