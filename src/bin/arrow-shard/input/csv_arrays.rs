//! Arrays of the values of CSV, in the types that are inferred from text.

use super::csv_rows::CsvRows;
use super::infer_csv::fits;
use super::times::Instant;
use arrow_array::builder::StringBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, Date32Type, Float64Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray};
use arrow_cast::parse::Parser;
use arrow_schema::{DataType, TimeUnit};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The values of a column in some rows.
pub(super) struct Values<'a> {
    pub(super) rows: &'a CsvRows<'a>,
    /// The index of the column among those that the rows have.
    pub(super) column: usize,
    pub(super) range: Range<usize>,
    /// The text for null, in addition to empty text.
    pub(super) null: &'a str,
    /// Whether the type was inferred from other values, so that each value has to be examined.
    pub(super) is_sample: bool,
}

/// Why values do not become an array.
pub(super) enum Unfit {
    /// The index of the first row with a value that the type does not have.
    Value(usize),
    /// The texts take more than 2 GiB.
    Long,
}

impl Values<'_> {
    /// Returns the values as an array.
    ///
    /// # Errors
    /// Fails if the type does not have a value, or if texts are too long.
    pub(super) fn array(&self, data_type: &DataType) -> Result<ArrayRef, Unfit> {
        use DataType as T;
        if self.is_sample {
            let mut values = self.range.clone().zip(self.values());
            let fits =
                |value: &Option<Cow<'_, str>>| value.as_ref().is_none_or(|it| fits(it, data_type));
            if let Some((row, _)) = values.find(|(_, value)| !fits(value)) {
                return Err(Unfit::Value(row));
            }
        }
        Ok(match data_type {
            T::Boolean => Arc::new(self.parsed::<_, BooleanArray>(boolean)?),
            T::Int64 => self.primitive::<Int64Type>()?,
            T::UInt64 => self.primitive::<UInt64Type>()?,
            T::Float64 => self.primitive::<Float64Type>()?,
            T::Date32 => self.primitive::<Date32Type>()?,
            T::Timestamp(unit, zone) => {
                let zone = zone.clone();
                match unit {
                    TimeUnit::Second => self.times::<TimestampSecondType>(zone)?,
                    TimeUnit::Millisecond => self.times::<TimestampMillisecondType>(zone)?,
                    TimeUnit::Microsecond => self.times::<TimestampMicrosecondType>(zone)?,
                    TimeUnit::Nanosecond => self.times::<TimestampNanosecondType>(zone)?,
                }
            }
            _ => self.texts()?,
        })
    }

    fn values(&self) -> impl Iterator<Item = Option<Cow<'_, str>>> {
        let values = self.rows.values(self.column, self.range.clone());
        values.map(|value| (!value.is_empty() && value != self.null).then_some(value))
    }

    /// Parses the values. Fails at the first one that `parse` does not take.
    fn parsed<T, C: FromIterator<Option<T>>>(
        &self,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<C, Unfit> {
        let values = self.range.clone().zip(self.values());
        let parsed = values.map(|(row, value)| match value {
            Some(value) => parse(&value).map(Some).ok_or(Unfit::Value(row)),
            None => Ok(None),
        });
        parsed.collect()
    }

    fn primitive<T: ArrowPrimitiveType + Parser>(&self) -> Result<ArrayRef, Unfit> {
        Ok(Arc::new(self.parsed::<_, PrimitiveArray<T>>(T::parse)?))
    }

    fn times<T: ArrowTimestampType>(&self, zone: Option<Arc<str>>) -> Result<ArrayRef, Unfit> {
        let parse = |text: &str| Instant::parse(text)?.units(T::UNIT);
        let times: PrimitiveArray<T> = self.parsed(parse)?;
        Ok(Arc::new(times.with_timezone_opt(zone)))
    }

    fn texts(&self) -> Result<ArrayRef, Unfit> {
        let is_long = |bytes: usize| i32::try_from(bytes).is_err();
        let mut bytes = self.rows.text_bytes(self.column, self.range.clone());
        if is_long(bytes) {
            // Some of these bytes may be quotes.
            bytes = self.values().flatten().map(|value| value.len()).sum();
            if is_long(bytes) {
                return Err(Unfit::Long);
            }
        }
        let mut texts = StringBuilder::with_capacity(self.range.len(), bytes);
        self.values().for_each(|value| texts.append_option(value));
        Ok(Arc::new(texts.finish()))
    }
}

fn boolean(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else {
        text.eq_ignore_ascii_case("false").then_some(false)
    }
}
