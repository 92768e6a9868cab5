//! The columns of an input to read.

use super::RowWindow;
use crate::error_line::chain;
use crate::failure::Failure;
use crate::names::no_column;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_shard::{Error, ErrorKind};
use std::str::FromStr;
use std::sync::Arc;

/// The arguments that select columns of an input.
#[derive(Debug, clap::Args, Default)]
pub(crate) struct ColumnArgs {
    /// Columns to read, separated by commas; put a name with a comma in double quotes: `a,"b,c"`. In shards, also
    /// members of structs: `a,b.c`
    #[arg(long, value_name = "COLUMNS")]
    columns: Vec<ColumnNames>,
}

impl ColumnArgs {
    /// Returns the arguments that select the columns with these names.
    pub(super) fn of(names: Vec<String>) -> Self {
        Self {
            columns: vec![ColumnNames(names)],
        }
    }

    /// Returns the names in the given order. No names mean all columns.
    pub(crate) fn names(&self) -> Vec<String> {
        ColumnNames::all(&self.columns)
    }
}

/// Names separated by commas, quoted as in CSV.
#[derive(Debug, Clone)]
pub(crate) struct ColumnNames(Vec<String>);

impl ColumnNames {
    /// Returns the names of all lists.
    pub(crate) fn all(lists: &[Self]) -> Vec<String> {
        lists.iter().flat_map(|list| list.0.clone()).collect()
    }
}

impl FromStr for ColumnNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut reader = ::csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(text.as_bytes());
        let mut names = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|e| e.to_string())?;
            names.extend(record.iter().map(str::to_owned));
        }
        if names.is_empty() {
            Err("expected names of columns".to_owned())
        } else {
            Ok(Self(names))
        }
    }
}

/// Returns the indices of the columns with these names.
pub(crate) fn indices(schema: &Schema, names: &[String]) -> Result<Vec<usize>, Failure> {
    let index = |name: &String| {
        let same = schema.fields().iter().filter(|it| it.name() == name);
        let count = same.count();
        if count > 1 {
            return Err(Failure::Usage(format!(
                "ambiguous column: {count} columns are named `{name}`"
            )));
        }
        schema.index_of(name).map_err(|_| {
            let known = schema.fields().iter().map(|field| field.name().as_str());
            match struct_of(schema, name) {
                Some(column) => Failure::Usage(format!(
                    "there is no column `{name}`; members of a struct are read one by one only from shards: \
                     read the whole column `{column}`"
                )),
                None => Failure::Usage(no_column(name, known)),
            }
        })
    };
    names.iter().map(index).collect()
}

/// The columns that are read: the columns `names`, and the columns that a condition uses. Without names, all columns
/// are read, unless the rows are only counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Needed<'a> {
    names: &'a [String],
    filter: Option<&'a str>,
    /// Whether the values matter only to the condition.
    is_counted: bool,
}

impl<'a> Needed<'a> {
    pub(super) fn names(names: &'a [String]) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    pub(super) fn for_rows(names: &'a [String], rows: RowWindow<'a>) -> Self {
        Self {
            names,
            filter: rows.filter,
            is_counted: rows.is_counted,
        }
    }

    /// Returns the indices of the columns, or `None` for all of them. If a name is unknown, the error lists all
    /// columns.
    pub(super) fn of(self, schema: &Schema) -> Option<Vec<usize>> {
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        self.among(&names)
    }

    /// Returns the indices among columns with these names, as [`of`](Self::of) does.
    pub(super) fn among(self, columns: &[&str]) -> Option<Vec<usize>> {
        let is_known = |name: &String| columns.contains(&name.as_str());
        let takes_all = self.names.is_empty() && !self.is_counted;
        if takes_all || !self.names.iter().all(is_known) {
            return None;
        }
        // Names that the condition does not contain, it does not use. It may quote parts of a name.
        let bare = |text: &str| text.replace(|c: char| c == '"' || c.is_whitespace(), "");
        let filter = bare(self.filter.unwrap_or_default());
        let is_used = |name: &str| {
            filter.contains(&bare(name)) || self.names.iter().any(|needed| needed == name)
        };
        let used = columns.iter().enumerate().filter(|(_, name)| is_used(name));
        let used: Vec<usize> = used.map(|(i, _)| i).collect();
        (!used.is_empty()).then_some(used)
    }
}

/// Returns the error of a scan. If several columns have a selected name, it says how to read them on the command line.
pub(super) fn unresolved(error: Error) -> Failure {
    if error.kind() != ErrorKind::AmbiguousColumn {
        return error.into();
    }
    let why = chain(&error);
    let (why, _) = why.rsplit_once(" (").unwrap_or((&why, ""));
    Failure::new(format!(
        "{why}, and --columns tells columns apart only by their names; leave --columns out to read all of them"
    ))
}

/// Returns the struct that may have a member with this name: its own name and a dot begin the name.
fn struct_of<'a>(schema: &'a Schema, name: &str) -> Option<&'a str> {
    let is_struct = |field: &&Arc<Field>| {
        let rest = name.strip_prefix(field.name().as_str());
        let is_struct = matches!(field.data_type(), DataType::Struct(_));
        is_struct && rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let column = schema.fields().iter().find(is_struct)?;
    Some(column.name())
}

/// Returns the schema of the columns with these names.
pub(super) fn projected(schema: &Schema, names: &[String]) -> Result<SchemaRef, Failure> {
    Ok(Arc::new(schema.project(&indices(schema, names)?)?))
}

/// Returns the indices of the columns of a shard or a COLE file in the order and number in which they are named, or
/// `None` if no column is named repeatedly. `schema` has each column once. Members of a struct that are named one by
/// one are parts of one column.
pub(super) fn repeated(schema: &Schema, names: &[String]) -> Option<Vec<usize>> {
    let (mut indices, mut parts) = (Vec::new(), Vec::new());
    for name in names {
        match schema.index_of(name) {
            // A whole struct after one of its members adds no column.
            Ok(index) if parts.contains(&index) => {}
            Ok(index) => indices.push(index),
            Err(_) => {
                let ends = name.match_indices('.').map(|(end, _)| end);
                let column = ends
                    .rev()
                    .find_map(|end| schema.index_of(&name[..end]).ok())?;
                if !indices.contains(&column) {
                    indices.push(column);
                }
                parts.push(column);
            }
        }
    }
    (indices.len() > schema.fields().len()).then_some(indices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotes_are_part_of_a_name() {
        let names = |text: &str| text.parse::<ColumnNames>().map(|names| names.0);
        assert_eq!(names("a,\"b,c\",\"d\"\"e\"").unwrap(), ["a", "b,c", "d\"e"]);
        assert_eq!(names("a b,,c.d").unwrap(), ["a b", "", "c.d"]);
        assert_eq!(names("\"a\nb\",c").unwrap(), ["a\nb", "c"]);
        assert_eq!(names("\"\"").unwrap(), [""]);
        assert!(names("").is_err());
    }

    #[test]
    fn a_name_of_two_columns_is_ambiguous() {
        let fields = ["a", "b", "a"].map(|name| Field::new(name, DataType::Null, true));
        let schema = Schema::new(fields.to_vec());
        let found = |name: &str| indices(&schema, &[name.to_owned()]);
        assert_eq!(found("b").unwrap(), [1]);
        assert!(format!("{:?}", found("a").unwrap_err()).contains("2 columns are named `a`"));
    }

    #[test]
    fn members_of_other_formats_are_refused_with_advice() {
        let member = Field::new("c", DataType::Null, true);
        let column = Field::new("b", DataType::Struct(vec![member].into()), true);
        let schema = Schema::new(vec![Field::new("a", DataType::Null, true), column]);
        let error = |name: &str| {
            let found = indices(&schema, &[name.to_owned()]);
            format!("{:?}", found.unwrap_err())
        };
        assert!(error("b.c").contains("read the whole column `b`"));
        for name in ["a.c", "bc", "c"] {
            assert!(error(name).contains("there are a, b"), "{name}");
        }
    }

    #[test]
    fn columns_of_a_shard_come_as_often_as_they_are_named() {
        let field = |name: &str| Field::new(name, DataType::Null, true);
        let schema = Schema::new(vec![field("a"), field("b.c"), field("d")]);
        let repeated = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            repeated(&schema, &names)
        };
        assert_eq!(repeated(&["a", "b.c", "d"]), None);
        assert_eq!(repeated(&["a.x", "b.c.x", "a.y", "d"]), None);
        assert_eq!(repeated(&["a.x", "a", "b.c", "d"]), None);
        assert_eq!(
            repeated(&["a", "b.c", "a", "d.x", "d.y"]),
            Some(vec![0, 1, 0, 2])
        );
    }
}
