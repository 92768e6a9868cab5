//! Bounds of the values of a column.

use crate::failure::Failure;
use crate::table;
use crate::text;
use crate::values::{self, Json};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use serde_json::Value;

/// Maximum number of characters shown of a bound.
const MAX_CHARS: usize = 40;

/// A bound of the values that are not null.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    /// An array with the bound.
    pub(crate) value: ArrayRef,
    /// Whether the bound is one of the values.
    pub(crate) is_exact: bool,
}

impl Bound {
    /// Returns the least and the greatest value in the statistics of a column, as far as they are known.
    pub(crate) fn both(statistics: &StructArray) -> (Option<Self>, Option<Self>) {
        (
            Self::of(statistics, "min", "min_is_exact"),
            Self::of(statistics, "max", "max_is_exact"),
        )
    }

    fn of(statistics: &StructArray, value: &str, is_exact: &str) -> Option<Self> {
        let value = statistics.column_by_name(value)?;
        value.is_valid(0).then(|| Self {
            value: value.clone(),
            is_exact: is_true(statistics, is_exact),
        })
    }

    /// Returns the bound as text. The sign precedes a bound that may not be a value.
    pub(crate) fn text(&self, sign: &str) -> Result<String, Failure> {
        let sign = if self.is_exact { "" } else { sign };
        let text = text::cut(shown(&self.value)?, MAX_CHARS);
        Ok(format!("{sign}{text}"))
    }

    /// Returns the bounds, and whether they are exact, as members of an object. Unknown ones are null.
    pub(crate) fn json(
        min: Option<&Self>,
        max: Option<&Self>,
    ) -> Result<[(&'static str, Json); 4], Failure> {
        let value = |bound: Option<&Self>| -> Result<Json, Failure> {
            let Some(bound) = bound else {
                return Ok(Json::of(Value::Null));
            };
            let json = values::json(&bound.value, 0);
            json.or_else(|_| Ok(Json::of(shown(&bound.value)?)))
        };
        let is_exact = |bound: Option<&Self>| Json::of(bound.map(|it| it.is_exact));
        Ok([
            ("min", value(min)?),
            ("max", value(max)?),
            ("min_is_exact", is_exact(min)),
            ("max_is_exact", is_exact(max)),
        ])
    }
}

/// Returns a value as text. A time beyond the calendar is shown as its number of units.
fn shown(value: &ArrayRef) -> Result<String, Failure> {
    table::value(value, 0).or_else(|failure| match number_of(value.data_type()) {
        Some(number) => table::value(&cast(value, &number)?, 0),
        None => Err(failure),
    })
}

/// Returns the type of the number that a time is stored as.
fn number_of(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Timestamp(..) | DataType::Date64 => Some(DataType::Int64),
        DataType::Date32 => Some(DataType::Int32),
        _ => None,
    }
}

/// Whether a statistic of a column is known to be true.
pub(crate) fn is_true(statistics: &StructArray, name: &str) -> bool {
    let column = statistics.column_by_name(name);
    let values = column.and_then(|column| column.as_boolean_opt());
    values.is_some_and(|values| values.is_valid(0) && values.value(0))
}
