//! Text files with known types, to be read later.

use super::RowWindow;
use super::columns::Needed;
use super::csv;
use super::exact_cast::{exactly, item_of, with_numbers_as_text};
use super::misfit::Rest;
use super::ndjson;
use super::origin::Origin;
use super::row_sizes::Inferred;
use super::source::Input;
use super::text_file::TextFile;
use super::wanted::Wanted;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::isolate::Foreign;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use std::sync::Arc;

/// A CSV or NDJSON file with known types.
pub(super) struct TextPlan {
    text: TextFile,
    /// The file as it is named in errors.
    file: Foreign,
    inferred: Inferred,
    /// The syntax of CSV; `None` for NDJSON.
    style: Option<CsvStyle>,
}

/// Returns the inferred type with text in the place of values that become values of the `wanted` type, in lists and
/// objects, too.
fn as_text(inferred: &DataType, wanted: &DataType) -> DataType {
    use DataType as T;
    let with =
        |field: &FieldRef, data_type| Arc::new(Field::clone(field).with_data_type(data_type));
    match (inferred, wanted) {
        (T::List(item), _) => match item_of(wanted) {
            Some(wanted) => T::List(with(item, as_text(item.data_type(), wanted.data_type()))),
            None => inferred.clone(),
        },
        (T::Struct(members), T::Struct(wanted)) => {
            let text = |member: &FieldRef| match wanted.find(member.name()) {
                Some((_, wanted)) => with(member, as_text(member.data_type(), wanted.data_type())),
                None => member.clone(),
            };
            T::Struct(members.iter().map(text).collect())
        }
        (nested, _) if nested.is_nested() => nested.clone(),
        _ => T::Utf8,
    }
}

impl TextPlan {
    /// Infers the types of at least the needed columns from `sample` rows, or from all rows. Columns with a type that
    /// is wanted are read as text, so that no digit is lost before that type is known.
    pub(super) fn infer(
        origin: Origin,
        file: &Foreign,
        style: Option<CsvStyle>,
        sample: Option<usize>,
        needed: Needed<'_>,
        threads: usize,
        wanted: &Wanted,
    ) -> Result<Self, Failure> {
        let text = TextFile::open(origin)?;
        let mut inferred = match &style {
            Some(style) => csv::infer(&text, style, sample, needed, file, threads)?,
            None => ndjson::infer(&text, sample)?,
        };
        let fields =
            inferred
                .schema
                .fields()
                .iter()
                .map(|field| match wanted.data_type(field.name()) {
                    Some(wanted) => {
                        let text = as_text(field.data_type(), wanted);
                        Arc::new(Field::clone(field).with_data_type(text))
                    }
                    None => field.clone(),
                });
        inferred.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self {
            text,
            file: file.clone(),
            inferred,
            style,
        })
    }

    /// Assumes that the types were inferred from a sample, which later rows may not fit: columns without values are
    /// text, and integers that floats do not hold exactly are errors.
    pub(super) fn of_sample(mut self) -> Self {
        self.inferred.untyped.clear();
        self.inferred.is_sample = true;
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

    /// Fails if the types of all rows cannot be inferred.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match &self.style {
            Some(style) => {
                let all = Needed::default();
                csv::infer(&self.text, style, None, all, &self.file, 1).map(drop)
            }
            None => ndjson::infer(&self.text, None).map(drop),
        }
    }

    /// Closes the file until it is read.
    pub(super) fn closed(self) -> Result<Self, Failure> {
        let text = self.text.closed()?;
        Ok(Self { text, ..self })
    }

    /// Reads at least the needed columns of the file.
    pub(super) fn read(&self, needed: Needed<'_>, rows: RowWindow<'_>) -> Result<Input, Failure> {
        if !self.inferred.is_sample {
            return self.read_as(&self.inferred, needed, rows);
        }
        // Values of other columns have to fit, too.
        let needed = Needed::default();
        if self.style.is_some() {
            return self.read_as(&self.inferred, needed, rows);
        }
        let schema = self.inferred.schema.clone();
        let mut inferred = self.inferred.clone();
        inferred.schema = with_numbers_as_text(&schema);
        let input = self.read_as(&inferred, needed, rows)?;
        let rest = Rest {
            file: self.text.again(),
            schema: schema.clone(),
        };
        let mut first_row = 0;
        let batches = input.batches.map(move |batch| {
            let exact = batch.and_then(|batch| exactly(&batch, &rest.schema));
            // The reader of JSON names neither the line nor, in some cases, the column.
            let batch = exact.map_err(|failure| rest.misfit(first_row).unwrap_or(failure))?;
            first_row += batch.num_rows() as u64;
            Ok(batch)
        });
        Ok(Input {
            schema,
            total: input.total,
            batches: Box::new(batches),
        })
    }

    fn read_as(
        &self,
        inferred: &Inferred,
        needed: Needed<'_>,
        rows: RowWindow<'_>,
    ) -> Result<Input, Failure> {
        match &self.style {
            Some(style) => csv::read(&self.text, inferred, style, needed, rows, &self.file),
            None => ndjson::read(&self.text, inferred, rows),
        }
    }
}
