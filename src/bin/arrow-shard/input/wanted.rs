//! Types of columns that the user asks for.

use super::columns::ColumnArgs;
use super::type_args::{Cast, TypeArgs};
use super::{ReadArgs, RowWindow};
use crate::failure::Failure;
use crate::file_format::{FileFormat, is_standard};
use crate::names::no_column;
use crate::schema_text::{parse_schema, schema_of_json};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrow_shard::io::is_url;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Maximum number of bytes of a schema in a text file.
const MAX_SCHEMA_BYTES: u64 = 16 << 20;

/// The types that were asked for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    casts: Vec<Cast>,
    /// All columns, in order.
    fields: Option<Vec<FieldRef>>,
    /// Where the columns are listed, for errors.
    list: String,
    /// Whether columns that are not selected are null instead of being left out.
    is_complete: bool,
}

impl Wanted {
    /// Reads the options.
    pub(super) fn of(types: &TypeArgs, reading: &ReadArgs) -> Result<Self, Failure> {
        let schema = types.schema.as_ref().map(|text| schema(text, reading));
        Ok(Self {
            casts: types.casts(),
            fields: schema.transpose()?.map(|schema| schema.fields().to_vec()),
            list: "--schema".to_owned(),
            is_complete: false,
        })
    }

    /// Returns the columns of a shard.
    pub(super) fn of_shard(shard: &Path, schema: &Schema) -> Self {
        Self {
            casts: Vec::new(),
            fields: Some(schema.fields().to_vec()),
            list: shard.display().to_string(),
            is_complete: true,
        }
    }

    /// Whether no types were asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.casts.is_empty() && self.fields.is_none()
    }

    /// Whether a schema lists all columns.
    pub(super) fn lists_columns(&self) -> bool {
        self.fields.is_some()
    }

    /// Returns the type of a column.
    pub(super) fn data_type(&self, name: &str) -> Option<&DataType> {
        let cast = self.casts.iter().rfind(|cast| cast.column == name);
        let field = || self.field(name).map(|field| field.data_type());
        cast.map(|cast| &cast.data_type).or_else(field)
    }

    fn field(&self, name: &str) -> Option<&FieldRef> {
        self.fields
            .iter()
            .flatten()
            .find(|field| field.name() == name)
    }

    /// Applies the types to the columns of the input. `names` are the selected columns, if not all are.
    ///
    /// # Errors
    /// Fails for casts of unknown columns, and for columns that the schema does not list.
    pub(super) fn apply(
        &self,
        columns: Vec<Field>,
        names: &[String],
    ) -> Result<Vec<Field>, Failure> {
        let known = |name: &str| columns.iter().any(|column| column.name() == name);
        if let Some(cast) = self.casts.iter().find(|cast| !known(&cast.column)) {
            let all = columns.iter().map(|column| column.name().as_str());
            let why = no_column(&cast.column, all);
            return Err(Failure::Usage(format!("--cast: {why}")));
        }
        let Some(fields) = &self.fields else {
            let typed = |column: Field| match self.data_type(column.name()) {
                Some(data_type) => column.clone().with_data_type(data_type.clone()),
                None => column,
            };
            return Ok(columns.into_iter().map(typed).collect());
        };
        if let Some(other) = columns
            .iter()
            .find(|column| self.field(column.name()).is_none())
        {
            return Err(Failure::new(format!(
                "the input has a column `{}`, which {} does not have; leave it out with --columns",
                other.name(),
                self.list
            )));
        }
        let takes_all = names.is_empty() || self.is_complete;
        let is_selected = |field: &&FieldRef| takes_all || names.contains(field.name());
        let selected = fields.iter().filter(is_selected);
        selected
            .map(|field| {
                if !known(field.name()) && !field.is_nullable() {
                    return Err(Failure::new(format!(
                        "the input has no column `{}`, which {} declares not null",
                        field.name(),
                        self.list
                    )));
                }
                let data_type = self.data_type(field.name()).unwrap_or(field.data_type());
                Ok(Field::clone(field).with_data_type(data_type.clone()))
            })
            .collect()
    }
}

/// Reads a schema: from a table, from a text file, or from the text itself.
fn schema(text: &str, reading: &ReadArgs) -> Result<Schema, Failure> {
    let path = Path::new(text);
    let invalid = |why: String| Failure::Usage(format!("--schema: {why}"));
    if is_standard(path) {
        return Err(invalid(
            "the schema cannot be read from standard input".to_owned(),
        ));
    }
    if !is_url(text) && !path.exists() {
        if !text.contains([' ', ':']) {
            return Err(invalid(format!(
                "there is no file `{text}`, and fields look like this: a int64, b utf8"
            )));
        }
        return parse_schema(text).map_err(invalid);
    }
    let in_file = |why: String| Failure::new(format!("--schema: {why}")).within(text);
    // Lines of fields look like CSV.
    let is_csv = |format: &FileFormat| *format == FileFormat::Csv;
    let format = FileFormat::of_input(path, None).ok();
    let format = format.filter(|it| !is_csv(it) || FileFormat::by_name(path).is_some());
    if let Some(json) = saved(path, format)? {
        if let Some(schema) = serde_json::from_str(&json)
            .ok()
            .as_ref()
            .and_then(schema_of_json)
        {
            return schema.map_err(in_file);
        }
        if format.is_none() {
            return parse_schema(&json).map_err(in_file);
        }
    }
    // Not in the format of the inputs.
    let reading = reading.clone().with_format(format);
    let table = reading.open(path, &ColumnArgs::default(), RowWindow::default())?;
    Ok(Schema::clone(&table.schema))
}

/// Returns the text of a file that may be a schema.
fn saved(path: &Path, format: Option<FileFormat>) -> Result<Option<String>, Failure> {
    let may_be_text = matches!(format, None | Some(FileFormat::Ndjson));
    // A pipe may have the output of the command `schema`.
    if !may_be_text || is_url(&path.to_string_lossy()) || path.is_dir() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let mut file = File::open(path)?.take(MAX_SCHEMA_BYTES);
    file.read_to_end(&mut text)
        .map_err(|e| Failure::from(e).within(path.display()))?;
    Ok(String::from_utf8(text).ok())
}
