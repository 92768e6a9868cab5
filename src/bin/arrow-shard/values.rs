//! Single values of columns, as JSON.

use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::output::{Encoder, check_columns};
use crate::table;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Name of the column that a value is put into.
const VALUE: &str = "value";

/// JSON with values of columns as they are. A [`Value`] would round decimals and the last bits of floats.
#[derive(Debug, Clone)]
pub(crate) enum Json {
    /// A value of a column.
    Exact(Box<RawValue>),
    /// Anything else.
    Plain(Value),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Returns a value that is not of a column.
    pub(crate) fn of(value: impl Into<Value>) -> Self {
        Self::Plain(value.into())
    }

    /// Returns an object.
    pub(crate) fn object<N: Into<String>>(members: impl IntoIterator<Item = (N, Self)>) -> Self {
        let members = members.into_iter();
        Self::Object(members.map(|(name, value)| (name.into(), value)).collect())
    }

    /// Adds a member to an object.
    pub(crate) fn with(mut self, name: &str, value: Self) -> Self {
        if let Self::Object(members) = &mut self {
            members.insert(name.to_owned(), value);
        }
        self
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Exact(value) => value.serialize(serializer),
            Self::Plain(value) => value.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
            Self::Object(members) => members.serialize(serializer),
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

/// Returns a value as `cat --json` prints it, or as text if its type has no JSON form.
pub(crate) fn json(array: &ArrayRef, row: usize) -> Result<Json, Failure> {
    let field = Field::new(VALUE, array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    if check_columns(FileFormat::Ndjson, &schema).is_err() {
        return Ok(Json::of(table::value(array, row)?));
    }
    let batch = RecordBatch::try_new(schema.clone(), vec![array.slice(row, 1)])?;
    let mut encoder = Encoder::start(
        FileFormat::Ndjson,
        Vec::<u8>::new(),
        &schema,
        (&CsvStyle::default(), None),
        1,
    )?;
    encoder.write(&batch)?;
    let line = encoder.finish()?;
    let mut object: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(&line)?;
    let value = object.remove(VALUE);
    Ok(value.map_or_else(|| Json::of(Value::Null), Json::Exact))
}
