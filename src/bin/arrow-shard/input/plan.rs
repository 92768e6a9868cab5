//! Files with known columns, to be read later. A command that reads many files holds none of them open, except for
//! shards and pipes.

use super::columns::{ColumnArgs, Needed, projected};
use super::folder_values::FolderValues;
use super::source::Input;
use super::text_plan::TextPlan;
use super::wanted::Wanted;
use super::{ReadArgs, RowWindow, selected};
use crate::failure::Failure;
use crate::file_format::{FileFormat, is_standard};
use crate::isolate::Foreign;
use crate::location::open_one_of_many;
use crate::progress::Total;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use arrow_shard::Shard;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file with known columns.
pub(super) struct Plan {
    pub(super) path: PathBuf,
    pub(super) format: FileFormat,
    /// The columns to read. Columns of text files without values have the type Null.
    pub(super) schema: SchemaRef,
    /// The values of columns in the names of folders.
    pub(super) folders: FolderValues,
    /// Number of rows, if it is known.
    pub(super) rows: Option<u64>,
    /// The names of the columns to read; none for all columns.
    names: Vec<String>,
    state: State,
}

enum State {
    /// A file that is opened by its path.
    Closed,
    Shard(Box<Shard>),
    Text(Box<TextPlan>, Foreign),
    /// A stream in a pipe, which cannot be opened again.
    Stream(Box<Input>, Foreign),
}

impl Plan {
    /// Looks at a file and plans to read all columns.
    pub(super) fn of(
        path: &Path,
        reading: &ReadArgs,
        rows: RowWindow<'_>,
        wanted: &Wanted,
    ) -> Result<Self, Failure> {
        let format = reading.format(path)?;
        let found = Self::find(path, format, reading, rows, wanted);
        found.map_err(|failure| super::mistaken(path, format).unwrap_or(failure))
    }

    fn find(
        path: &Path,
        format: FileFormat,
        reading: &ReadArgs,
        rows: RowWindow<'_>,
        wanted: &Wanted,
    ) -> Result<Self, Failure> {
        let (schema, rows, state) = match format {
            FileFormat::Shard => {
                let shard = open_one_of_many(path, reading.shard_options()?)?;
                let input = reading.scan(&shard, &ColumnArgs::default(), RowWindow::default())?;
                (
                    input.schema,
                    known(&input.total),
                    State::Shard(Box::new(shard)),
                )
            }
            FileFormat::Csv | FileFormat::Ndjson => {
                let (text, file) = reading.text(path, format, Needed::default(), rows, wanted)?;
                (
                    text.schema(),
                    None,
                    State::Text(Box::new(text.closed()?), file),
                )
            }
            _ => {
                let (input, file) = reading.opened(path, format, Needed::default())?;
                let (schema, rows) = (input.schema.clone(), known(&input.total));
                let state = if is_read_once(path) {
                    State::Stream(Box::new(input), file)
                } else {
                    State::Closed
                };
                (schema, rows, state)
            }
        };
        Ok(Self {
            path: path.to_owned(),
            format,
            schema,
            folders: if reading.has_folder_columns() {
                FolderValues::of(path)
            } else {
                FolderValues::default()
            },
            rows,
            names: Vec::new(),
            state,
        })
    }

    /// Selects the columns of these names that the file has.
    pub(super) fn select(&mut self, reading: &ReadArgs, names: &[String]) -> Result<(), Failure> {
        let has_members = matches!(self.format, FileFormat::Shard);
        let has = |name: &String| {
            let whole = |column: &str| self.schema.index_of(column).is_ok();
            let mut ends = name.match_indices('.').map(|(end, _)| end);
            whole(name) || (has_members && ends.any(|end| whole(&name[..end])))
        };
        self.names = names.iter().filter(|name| has(name)).cloned().collect();
        if self.names.is_empty() {
            // The first column is read to count the rows.
            let first = self.schema.fields().first();
            self.names.extend(first.map(|field| field.name().clone()));
            self.schema = Arc::new(Schema::empty());
            return Ok(());
        }
        self.schema = match &self.state {
            State::Shard(shard) => {
                let columns = ColumnArgs::of(self.names.clone());
                reading.scan(shard, &columns, RowWindow::default())?.schema
            }
            _ => projected(&self.schema, &self.names)?,
        };
        Ok(())
    }

    /// Whether the file has a column of this name, or a member of a struct.
    pub(super) fn has(&self, name: &str) -> bool {
        !self.schema.fields().is_empty() && self.names.iter().any(|known| known == name)
    }

    /// Whether the columns have the names and types of another file's columns.
    pub(super) fn has_columns_of(&self, other: &Self) -> bool {
        has_same_columns(&self.schema, &other.schema)
    }

    /// Returns the open shard, if the file is one.
    pub(super) fn shard(&self) -> Option<&Shard> {
        match &self.state {
            State::Shard(shard) => Some(shard),
            _ => None,
        }
    }

    /// Whether the types were inferred from text.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.format, FileFormat::Csv | FileFormat::Ndjson)
    }

    /// Whether a column without values is text.
    pub(super) fn is_csv(&self) -> bool {
        self.format == FileFormat::Csv
    }

    /// Returns the name of the file in messages.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Reads the selected columns of the rows.
    ///
    /// # Errors
    /// Fails if the file has other columns than before.
    pub(super) fn read(self, reading: &ReadArgs, rows: RowWindow<'_>) -> Result<Input, Failure> {
        let columns = ColumnArgs::of(self.names);
        match self.state {
            State::Closed => {
                let input = reading.open(&self.path, &columns, rows)?;
                let is_counted_only = self.schema.fields().is_empty();
                if is_counted_only || has_same_columns(&input.schema, &self.schema) {
                    return Ok(input);
                }
                let changed = Failure::new("the file was replaced while the command ran");
                Err(changed.within(self.path.display()))
            }
            State::Shard(shard) => reading.scan(&shard, &columns, rows),
            State::Text(text, file) => {
                let names = columns.names();
                let open = |needed| {
                    let input = file.isolate(|| text.read(needed, rows))?;
                    selected(input, file.clone(), &names, rows)
                };
                match open(Needed::for_rows(&names, rows)) {
                    // With all columns, the error can list them.
                    Err(Failure::Usage(_)) => open(Needed::default()),
                    other => other,
                }
            }
            State::Stream(input, file) => selected(*input, file, &columns.names(), rows),
        }
    }
}

/// Whether a file cannot be opened again: standard input, or a pipe.
pub(super) fn is_read_once(path: &Path) -> bool {
    is_standard(path) || path.metadata().is_ok_and(|it| !it.is_file())
}

/// Whether the columns have the same names and types.
pub(super) fn has_same_columns(a: &Schema, b: &Schema) -> bool {
    let mut pairs = a.fields().iter().zip(b.fields());
    let is_same =
        |(a, b): (&FieldRef, &FieldRef)| a.name() == b.name() && a.data_type() == b.data_type();
    a.fields().len() == b.fields().len() && pairs.all(is_same)
}

fn known(total: &Total) -> Option<u64> {
    match total {
        Total::Rows(rows) => Some(*rows),
        _ => None,
    }
}
