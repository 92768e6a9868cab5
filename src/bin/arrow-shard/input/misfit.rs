//! Values of text files that do not fit the types of the first rows.

use super::exact_cast::{exactly, with_numbers_as_text};
use super::infer_json::at_its_line;
use super::ndjson;
use super::text_file::TextFile;
use crate::failure::Failure;
use crate::text;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;

/// Maximum number of characters of a value in an error.
const MAX_CHARS: usize = 80;

/// An NDJSON file with the types of its first rows.
pub(super) struct Rest {
    pub(super) file: TextFile,
    pub(super) schema: SchemaRef,
}

impl Rest {
    /// Returns the error for the first row that does not fit, with its line. Skips `rows` rows, which fit. Returns
    /// `None` if all rows fit.
    pub(super) fn misfit(&self, rows: u64) -> Option<Failure> {
        self.find(rows).unwrap_or_else(Some)
    }

    fn find(&self, rows: u64) -> Result<Option<Failure>, Failure> {
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

/// Returns the error for a value on a line.
pub(super) fn unfit(line: u64, field: &FieldRef, value: &str) -> Failure {
    Failure::new(format!(
        "line {line}, column `{}`: `{}` does not fit {}, the type in the rows that --schema-rows reads; {ADVICE}",
        field.name(),
        text::cut(value.to_owned(), MAX_CHARS),
        field.data_type()
    ))
}

/// Whether a value in JSON is read as a value of a field.
fn is_read(field: &FieldRef, value: &RawValue) -> Result<bool, Failure> {
    let name = serde_json::to_string(field.name())?;
    let object = format!("{{{name}:{}}}", value.get());
    let schema = Arc::new(Schema::new(vec![field.clone()]));
    let mut decoder = ndjson::decoder(&with_numbers_as_text(&schema), 1)?;
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
