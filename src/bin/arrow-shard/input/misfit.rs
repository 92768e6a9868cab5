//! Values in the rest of a text file that do not fit the types of its first rows.

use super::csv;
use super::exact_cast::{exactly, with_numbers_as_text};
use super::exact_text;
use super::infer_csv::{not_text, ragged};
use super::infer_json::at_its_line;
use super::ndjson;
use super::text_file::TextFile;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::text;
use ::csv::{ByteRecord, Position};
use arrow_array::timezone::Tz;
use arrow_array::types::{Date32Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, StringArray};
use arrow_cast::parse::{Parser, string_to_datetime};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;

/// Maximum number of characters of a value in an error.
const MAX_CHARS: usize = 80;

/// A text file with the types of its first rows.
pub(super) struct Rest {
    pub(super) file: TextFile,
    /// The syntax of CSV; `None` for NDJSON.
    pub(super) style: Option<CsvStyle>,
    pub(super) schema: SchemaRef,
}

impl Rest {
    /// Returns the error for the first row that does not fit, with its line. Skips `rows` rows, which fit. Returns
    /// `None` if all rows fit.
    pub(super) fn misfit(&self, rows: u64) -> Option<Failure> {
        let found = match &self.style {
            Some(style) => self.in_csv(style, rows),
            None => self.in_json(rows),
        };
        found.unwrap_or_else(Some)
    }

    fn in_csv(&self, style: &CsvStyle, rows: u64) -> Result<Option<Failure>, Failure> {
        let mut reader = csv::lines(&self.file, style)?;
        let line = |at: &Position| self.file.line_of(at);
        let (mut record, mut row) = (ByteRecord::new(), 0);
        let columns = self.schema.fields().len();
        while reader
            .read_byte_record(&mut record)
            .map_err(io::Error::from)?
        {
            if record.len() != columns {
                let line = record.position().map_or(0, line);
                return Ok(Some(ragged(line, columns, record.len(), None)));
            }
            row += 1;
            if row <= rows {
                continue;
            }
            for (field, value) in self.schema.fields().iter().zip(&record) {
                let line = || record.position().map_or(0, line);
                let Ok(value) = std::str::from_utf8(value) else {
                    return Ok(Some(not_text(line(), field.name())));
                };
                let is_null = value.is_empty() || value == style.null;
                if !is_null && !is_value(value, field.data_type()) {
                    return Ok(Some(unfit(line(), field, value)));
                }
            }
        }
        Ok(None)
    }

    fn in_json(&self, rows: u64) -> Result<Option<Failure>, Failure> {
        let lines = Rc::new(Cell::new(1));
        let objects = Lines {
            inner: ndjson::objects(&self.file)?,
            line: lines.clone(),
        };
        let (mut json, mut row) = (serde_json::Deserializer::from_reader(objects), 0);
        // `end` reads the blanks before the next object, and fails unless the text has ended.
        while json.end().is_err() {
            let line = lines.get();
            let object = BTreeMap::<String, Box<RawValue>>::deserialize(&mut json);
            let object = object.map_err(|e| at_its_line(&e))?;
            row += 1;
            if row <= rows {
                continue;
            }
            for (name, value) in &object {
                let Some((_, field)) = self.schema.fields().find(name) else {
                    return Ok(Some(Failure::new(format!(
                        "line {line}: no row that --schema-rows reads has the field `{name}`; {ADVICE}"
                    ))));
                };
                if !is_read(field, value)? {
                    return Ok(Some(unfit(line, field, value.get())));
                }
            }
        }
        Ok(None)
    }
}

const ADVICE: &str = "raise --schema-rows, or leave it out to read all rows";

fn unfit(line: u64, field: &FieldRef, value: &str) -> Failure {
    Failure::new(format!(
        "line {line}, column `{}`: `{}` does not fit {}, the type in the rows that --schema-rows reads; {ADVICE}",
        field.name(),
        text::cut(value.to_owned(), MAX_CHARS),
        field.data_type()
    ))
}

/// Whether a text in CSV is read as a value of an inferred type.
fn is_value(text: &str, data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean => {
            text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
        }
        DataType::Int64 => Int64Type::parse(text).is_some(),
        DataType::UInt64 => UInt64Type::parse(text).is_some(),
        DataType::Date32 => Date32Type::parse(text).is_some(),
        DataType::Timestamp(unit, _) => {
            let utc = "UTC".parse::<Tz>();
            let time = utc.and_then(|utc| string_to_datetime(&utc, text));
            let is_in_range = |nanos: Option<i64>| *unit != TimeUnit::Nanosecond || nanos.is_some();
            time.is_ok_and(|time| is_in_range(time.timestamp_nanos_opt()))
        }
        floats if floats.is_floating() => {
            let column: ArrayRef = Arc::new(StringArray::from(vec![text]));
            exact_text::parsed(&column, floats).is_ok()
        }
        _ => true,
    }
}

/// Whether a value in JSON is read as a value of a field.
fn is_read(field: &FieldRef, value: &RawValue) -> Result<bool, Failure> {
    let name = serde_json::to_string(field.name())?;
    let object = format!("{{{name}:{}}}", value.get());
    let schema = Arc::new(Schema::new(vec![field.clone()]));
    let mut decoder = ndjson::decoder(&with_numbers_as_text(&schema, true), 1)?;
    let batch = decoder.decode(object.as_bytes());
    Ok(match batch.and_then(|_| decoder.flush()) {
        Ok(Some(batch)) => exactly(&batch, &schema).is_ok(),
        Ok(None) | Err(_) => false,
    })
}

/// Counts the lines of a text that is read byte by byte.
struct Lines<R> {
    inner: R,
    /// The number of the current line, from 1.
    line: Rc<Cell<u64>>,
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        let ends = buf.iter().take(read).filter(|byte| **byte == b'\n');
        self.line.set(self.line.get() + ends.count() as u64);
        Ok(read)
    }
}
