//! From names and indexes to the columns of a shard.

use super::fetch::Bench;
use super::metadata::{Metadata, ready};
use super::projection::{Parts, Projection, prune, unknown_column};
use crate::column::{ArrowSchemaHint, NativeTypes, complete_labels, to_arrow};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{DataType, SchemaReader};
use arrow_schema::{Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// Paths from which on names are looked up in a table of all columns.
const MANY_PATHS: usize = 16;

/// A column of a shard, or the part of it that is read.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) field: Field,
    pub(super) node: DataType,
}

/// Columns and their Arrow schema.
pub(super) type ProjectedColumns = (Arc<[Column]>, SchemaRef);

/// The columns of a shard as its readers see them: internal fields are left out.
struct Columns<'a> {
    schema: &'a SchemaReader,
    hint: Option<&'a ArrowSchemaHint>,
    native_types: &'a NativeTypes,
    /// Ordinals of the fields that are columns; `None` if all are.
    visible: Option<Vec<usize>>,
}

impl<'a> Columns<'a> {
    fn load(metadata: &'a Metadata, bench: &Bench<'_>) -> Result<Option<Self>> {
        // Both are asked for before either is missed, so that one round fetches both.
        let schema = metadata.schema(bench)?;
        let hint = metadata.hint(bench)?;
        let (Some(schema), Some(hint)) = (schema, hint) else {
            return Ok(None);
        };
        // Internal fields are nameless or stand last; a schema that ends with neither has none.
        let last_is_internal = match schema.len() {
            0 => false,
            n => schema.field(n - 1)?.internal_kind.is_some(),
        };
        let agrees = hint.is_none_or(|hint| hint.len() == schema.len());
        let mut visible = None;
        if last_is_internal || !agrees {
            let mut kept = Vec::new();
            for i in 0..schema.len() {
                if schema.field(i)?.internal_kind.is_none() {
                    kept.push(i);
                }
            }
            visible = Some(kept);
        }
        Ok(Some(Self {
            schema,
            hint,
            native_types: metadata.artifacts.options().native_types(),
            visible,
        }))
    }

    fn len(&self) -> usize {
        self.visible.as_ref().map_or(self.schema.len(), Vec::len)
    }

    /// Column `i`, whole.
    fn column(&self, i: usize) -> Result<Column> {
        let place = || format!("column {i}");
        let ordinal = match &self.visible {
            Some(visible) => visible.get(i).copied(),
            None => (i < self.schema.len()).then_some(i),
        };
        let ordinal = ordinal.ok_or_else(|| {
            Error::new(
                ErrorKind::UnknownColumn,
                format!("there is no column {i}; the shard has {}", self.len()),
            )
        })?;
        let mut node = self.schema.field(ordinal).within(place)?.data_type;
        // What cannot be read of a hint is no hint.
        let hint = self.hint.filter(|hint| hint.len() == self.len());
        let hint = hint.and_then(|hint| hint.field(i).ok());
        let hint = hint.filter(|field| field.name() == &node.name);
        if let Some(hint) = &hint {
            complete_labels(&mut node, hint);
        }
        let field = to_arrow(&node, hint.as_ref(), self.native_types).within(place)?;
        Ok(Column { field, node })
    }

    fn name(&self, i: usize) -> Result<&str> {
        let ordinal = self.visible.as_ref().map_or(i, |visible| visible[i]);
        self.schema.name(ordinal)
    }

    /// Columns of that name.
    fn find(&self, name: &str, table: &HashMap<&str, Vec<usize>>) -> Result<Vec<usize>> {
        if !table.is_empty() {
            return Ok(table.get(name).cloned().unwrap_or_default());
        }
        let ordinals = self.schema.find(name)?;
        Ok(match &self.visible {
            None => ordinals,
            Some(visible) => ordinals
                .iter()
                .filter_map(|o| visible.binary_search(o).ok())
                .collect(),
        })
    }

    fn table(&self, paths: usize) -> Result<HashMap<&str, Vec<usize>>> {
        let mut table: HashMap<&str, Vec<usize>> = HashMap::new();
        if paths >= MANY_PATHS {
            for i in 0..self.len() {
                table.entry(self.name(i)?).or_default().push(i);
            }
        }
        Ok(table)
    }

    /// The column that a path begins with, and the names of the fields below it.
    fn resolve<'p>(
        &self,
        path: &'p str,
        table: &HashMap<&str, Vec<usize>>,
    ) -> Result<(usize, Vec<&'p str>)> {
        let dots = path.match_indices('.').map(|(at, _)| at);
        let ends: Vec<usize> = dots.chain([path.len()]).collect();
        for end in ends.into_iter().rev() {
            let below: Vec<&str> = match path.get(end + 1..) {
                Some(rest) => rest.split('.').collect(),
                None => Vec::new(),
            };
            match self.find(&path[..end], table)?.as_slice() {
                [] => {}
                [one] => return Ok((*one, below)),
                many => {
                    return Err(Error::new(
                        ErrorKind::AmbiguousColumn,
                        format!(
                            "{} columns are named `{}` ({many:?}); project by index",
                            many.len(),
                            &path[..end]
                        ),
                    ));
                }
            }
        }
        let names = (0..self.len())
            .map(|i| self.name(i))
            .collect::<Result<Vec<_>>>()?;
        Err(unknown_column(path, names.into_iter()))
    }
}

impl Metadata {
    /// The Arrow schema of all columns.
    pub(super) fn arrow_schema(&self, bench: &Bench<'_>) -> Result<Option<SchemaRef>> {
        let all = ready!(self.projected(bench, &Projection::All));
        Ok(Some(all.1))
    }

    /// The columns that a projection names, and their Arrow schema.
    pub(super) fn projected(
        &self,
        bench: &Bench<'_>,
        projection: &Projection,
    ) -> Result<Option<ProjectedColumns>> {
        let is_all = matches!(projection, Projection::All);
        if let (true, Some(all)) = (is_all, self.all_columns.get()) {
            return Ok(Some(all.clone()));
        }
        let columns = ready!(self.columns(bench, projection));
        let schema = ready!(self.schema_of(bench, &columns));
        let projected = (columns.into(), schema);
        if is_all {
            return Ok(Some(self.all_columns.get_or_init(|| projected).clone()));
        }
        Ok(Some(projected))
    }

    /// The Arrow schema of columns, with the metadata of the shard's.
    fn schema_of(&self, bench: &Bench<'_>, columns: &[Column]) -> Result<Option<SchemaRef>> {
        let metadata = match ready!(self.hint(bench)) {
            Some(hint) => hint.metadata().unwrap_or_default(),
            None => HashMap::new(),
        };
        let fields: Vec<Field> = columns.iter().map(|column| column.field.clone()).collect();
        Ok(Some(Arc::new(Schema::new_with_metadata(fields, metadata))))
    }

    /// The columns that a projection names.
    pub(super) fn columns(
        &self,
        bench: &Bench<'_>,
        projection: &Projection,
    ) -> Result<Option<Vec<Column>>> {
        let columns = ready!(Columns::load(self, bench));
        let mut wanted: Vec<(usize, Parts)> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut add = |column: usize, below: &[&str]| {
            let place = *places.entry(column).or_insert_with(|| {
                wanted.push((column, Parts::default()));
                wanted.len() - 1
            });
            wanted[place].1.add(below);
        };
        match projection {
            Projection::All => (0..columns.len()).for_each(|i| add(i, &[])),
            Projection::Indices(indices) => indices.iter().for_each(|&i| add(i, &[])),
            Projection::Paths(paths) => {
                let table = columns.table(paths.len())?;
                for path in paths {
                    let (column, below) = columns.resolve(path, &table)?;
                    add(column, &below);
                }
            }
        }
        let read = |(i, parts): (usize, Parts)| {
            let column = columns.column(i)?;
            let (field, node) = prune(&column.field, &column.node, &parts)?;
            Ok(Column { field, node })
        };
        wanted
            .into_iter()
            .map(read)
            .collect::<Result<_>>()
            .map(Some)
    }

    /// The columns of a requested schema: those of its names, in its types.
    pub(super) fn requested_columns(
        &self,
        bench: &Bench<'_>,
        requested: &Schema,
    ) -> Result<Option<Vec<Column>>> {
        let columns = ready!(Columns::load(self, bench));
        let table = columns.table(requested.fields().len())?;
        let read = |field: &Arc<Field>| {
            let column = match columns.find(field.name(), &table)?.as_slice() {
                [one] => columns.column(*one)?,
                // The path of a name that is none gives the error with the nearest name.
                _ => columns.column(columns.resolve(field.name(), &table)?.0)?,
            };
            Ok(Column {
                field: field.as_ref().clone(),
                node: column.node,
            })
        };
        requested
            .fields()
            .iter()
            .map(read)
            .collect::<Result<_>>()
            .map(Some)
    }
}
