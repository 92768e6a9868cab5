//! Text files with known types, to be read later.

use super::RowWindow;
use super::csv;
use super::ndjson;
use super::origin::Origin;
use super::row_sizes::Inferred;
use super::source::Input;
use super::text_file::TextFile;
use super::wanted::Wanted;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// A CSV or NDJSON file with known types.
pub(super) struct TextPlan {
    file: TextFile,
    inferred: Inferred,
    /// The syntax of CSV; `None` for NDJSON.
    style: Option<CsvStyle>,
}

impl TextPlan {
    /// Infers the types from `sample` rows, or from all rows. Columns with a type that is wanted are read as text, so that
    /// no digit is lost before that type is known.
    pub(super) fn infer(
        origin: Origin,
        style: Option<CsvStyle>,
        sample: Option<usize>,
        wanted: &Wanted,
    ) -> Result<Self, Failure> {
        let file = TextFile::open(origin)?;
        let mut inferred = match &style {
            Some(style) => csv::infer(&file, style, sample)?,
            None => ndjson::infer(&file, sample)?,
        };
        let fields = inferred.schema.fields().iter().map(|field| {
            let is_wanted = wanted.data_type(field.name()).is_some();
            if is_wanted && !field.data_type().is_nested() {
                Arc::new(Field::clone(field).with_data_type(DataType::Utf8))
            } else {
                field.clone()
            }
        });
        inferred.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self {
            file,
            inferred,
            style,
        })
    }

    /// Assumes that columns without values in a sample are text.
    pub(super) fn with_unknown_as_text(mut self) -> Self {
        self.inferred.untyped.clear();
        self
    }

    /// Returns the schema in which a column without values has the type Null.
    pub(super) fn schema(&self) -> SchemaRef {
        let known = self.inferred.schema.fields().iter().enumerate();
        let fields = known.map(|(i, field)| {
            if self.inferred.untyped.contains(&i) {
                Arc::new(Field::new(field.name(), DataType::Null, true))
            } else {
                field.clone()
            }
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Closes the file until it is read.
    pub(super) fn closed(self) -> Result<Self, Failure> {
        let file = self.file.closed()?;
        Ok(Self { file, ..self })
    }

    /// Reads the file.
    pub(super) fn read(&self, rows: RowWindow<'_>) -> Result<Input, Failure> {
        match &self.style {
            Some(style) => csv::read(&self.file, &self.inferred, style, rows),
            None => ndjson::read(&self.file, &self.inferred, rows),
        }
    }
}
