//! Columns of a shard by name and index.

use super::column::{Column, ProjectedColumns};
use super::fetch::StepBytes;
use super::metadata::{Metadata, ready};
use super::projection::{ColumnParts, Projection, prune, unknown_column};
use crate::column::{
    ArrowSchemaHint, Casts, ColumnPlace, NativeTypes, check_cast, column_places, complete_labels,
    has_packed_columns, to_arrow,
};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{BasicType, DELETED_RECORD, DataType, NamedFields, SchemaReader};
use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// The treatment of internal fields that are not named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::read) enum InternalFields {
    /// They are not columns.
    #[default]
    Hidden,
    /// They are the last columns.
    Shown,
    /// They are the last columns, with times as ticks, so that any stored value can be written again.
    Stored,
}

/// The columns of a shard as readers see them.
struct Columns<'a> {
    schema: &'a SchemaReader,
    hint: Option<&'a ArrowSchemaHint>,
    native_types: &'a NativeTypes,
    /// The places of the columns; `None` if every field is a column.
    places: Option<Vec<ColumnPlace>>,
    /// The structs of packed columns, by ordinal.
    packed: HashMap<usize, DataType>,
    /// Ordinals and roles of internal fields, which are numbered after the columns. The field that marks deleted
    /// records is not included.
    internal: Vec<(usize, String)>,
    /// The owner of the columns in messages: "the shard" or "the file".
    owner: &'static str,
}

impl<'a> Columns<'a> {
    fn load(metadata: &'a Metadata, step: &StepBytes<'_>) -> Result<Option<Self>> {
        // Request both before returning, so that one round fetches both.
        let schema = metadata.schema(step)?;
        let hint = metadata.hint(step)?;
        let (Some(schema), Some(hint)) = (schema, hint) else {
            return Ok(None);
        };
        // Internal fields and packed columns are last; a schema that ends with neither has none.
        let is_plain = match schema.len() {
            0 => true,
            n => {
                let last = schema.field(n - 1)?;
                last.internal_kind.is_none() && !has_packed_columns(&last.data_type)
            }
        };
        let agrees = hint.is_none_or(|hint| hint.len() == schema.len());
        let (mut places, mut internal, mut packed) = (None, Vec::new(), HashMap::new());
        if !is_plain || !agrees {
            let mut kept = Vec::new();
            for i in 0..schema.len() {
                let field = schema.field(i)?;
                match field.internal_kind {
                    None if has_packed_columns(&field.data_type) => {
                        packed.insert(i, field.data_type);
                        kept.push(i);
                    }
                    None => kept.push(i),
                    Some(kind) if kind == DELETED_RECORD => {}
                    Some(kind) => internal.push((i, kind)),
                }
            }
            let kept: Vec<_> = kept.iter().map(|i| (*i, packed.get(i))).collect();
            places = Some(column_places(&kept));
        }
        Ok(Some(Self {
            schema,
            hint,
            native_types: metadata.artifacts.options().native_types(),
            places,
            packed,
            internal,
            owner: metadata.artifacts.owner(),
        }))
    }

    /// Returns the number of columns, without internal fields.
    fn len(&self) -> usize {
        self.places.as_ref().map_or(self.schema.len(), Vec::len)
    }

    /// Returns the internal field with number `i`; the numbers follow the columns' numbers.
    fn internal(&self, i: usize) -> Option<&(usize, String)> {
        self.internal.get(i.checked_sub(self.len())?)
    }

    /// Returns the place of column `i`, if it exists.
    fn place(&self, i: usize) -> Option<ColumnPlace> {
        match &self.places {
            Some(places) => places.get(i).copied(),
            None => (i < self.schema.len()).then_some(ColumnPlace::of_field(i)),
        }
    }

    /// Returns the node of a packed column.
    fn packed_column(&self, place: ColumnPlace) -> Option<&DataType> {
        let columns = &self.packed.get(&place.field)?.children;
        columns.get(place.member?)
    }

    /// Returns column `i` with all its parts.
    fn column(&self, i: usize) -> Result<Column> {
        let internal = self.internal(i);
        let at = || match internal {
            Some((_, kind)) => kind.clone(),
            None => format!("column {i}"),
        };
        let place = match internal {
            Some((ordinal, _)) => Some(ColumnPlace::of_field(*ordinal)),
            None => self.place(i),
        };
        let place = place.ok_or_else(|| {
            Error::new(
                ErrorKind::UnknownColumn,
                format!("there is no column {i}; {} has {}", self.owner, self.len()),
            )
        })?;
        let mut node = match self.packed_column(place) {
            Some(node) => node.clone(),
            None => self.schema.field(place.field).within(at)?.data_type,
        };
        let hint = self.hint(i, &node);
        if let Some(hint) = &hint {
            complete_labels(&mut node, hint);
        }
        let mut field = to_arrow(&node, hint.as_ref(), self.native_types).within(at)?;
        if let Some((_, kind)) = internal {
            field.set_name(kind);
        }
        let casts = Casts::default();
        Ok(Column::new(field, node, casts))
    }

    /// Returns the Arrow field that column `i` was written from, if it is known.
    fn hint(&self, i: usize, node: &DataType) -> Option<Field> {
        // An unreadable hint is ignored.
        let hint = self
            .hint
            .filter(|hint| hint.len() == self.len() && i < self.len());
        let hint = hint.and_then(|hint| hint.field(i).ok());
        hint.filter(|field| field.name() == &node.name)
    }

    /// Returns column `i` as a field of another type.
    fn requested(&self, i: usize, field: &Field, is_strict: bool) -> Result<Column> {
        let Column {
            field: own, node, ..
        } = self.column(i)?;
        let hint = self.hint(i, &node).filter(|hint| *hint == own);
        let casts = Casts::new(is_strict, hint.as_ref(), &node);
        if own.data_type() != field.data_type() {
            check_cast(field, &node, &casts)?;
        }
        let field = field.clone();
        Ok(Column::new(field, node, casts))
    }

    /// Returns the fields that are columns, and then the fields with packed columns, as structs.
    fn as_stored(&self) -> Result<Vec<Column>> {
        let is_apart = |i: &usize| self.place(*i).is_some_and(|place| place.member.is_none());
        let apart = (0..self.len()).filter(is_apart);
        let mut stored = apart.map(|i| self.column(i)).collect::<Result<Vec<_>>>()?;
        let mut fields: Vec<usize> = self.packed.keys().copied().collect();
        fields.sort_unstable();
        for field in fields {
            let mut node = self.packed[&field].clone();
            let mut members = Vec::with_capacity(node.children.len());
            for (member, child) in node.children.iter_mut().enumerate() {
                let place = ColumnPlace {
                    field,
                    member: Some(member),
                };
                let i = self
                    .places
                    .iter()
                    .flatten()
                    .position(|other| *other == place);
                let column = self.column(i.unwrap_or(usize::MAX))?;
                members.push(column.field);
                *child = column.node;
            }
            let field = Field::new(&node.name, ArrowType::Struct(members.into()), false);
            let casts = Casts::default();
            stored.push(Column::new(field, node, casts));
        }
        Ok(stored)
    }

    /// Returns the internal field with number `i`, counted after the columns, in a type that holds any stored value.
    fn stored(&self, i: usize) -> Result<Column> {
        let column = self.column(i)?;
        match column.node.basic_type {
            BasicType::DateTime => {
                let ticks = Field::new(column.field.name(), ArrowType::UInt64, true);
                self.requested(i, &ticks, true)
            }
            _ => Ok(column),
        }
    }

    fn name(&self, i: usize) -> Result<&str> {
        let place = self.place(i).unwrap_or(ColumnPlace::of_field(i));
        match self.packed_column(place) {
            Some(node) => Ok(&node.name),
            None => self.schema.name(place.field),
        }
    }

    /// Returns the columns with this name.
    fn of_name(&self, fields: &NamedFields<'_>, name: &str) -> Vec<usize> {
        let ordinals = fields.get(name);
        match &self.places {
            None => ordinals.to_vec(),
            Some(places) if self.packed.is_empty() => ordinals
                .iter()
                .filter_map(|o| places.binary_search_by_key(o, |place| place.field).ok())
                .collect(),
            Some(places) => {
                let has_name = |place: &ColumnPlace| match self.packed_column(*place) {
                    Some(node) => node.name == name,
                    None => ordinals.contains(&place.field),
                };
                (0..places.len())
                    .filter(|&i| has_name(&places[i]))
                    .collect()
            }
        }
    }

    /// Returns the column that each path begins with, and the names of the fields below it.
    fn resolve<'p>(&self, paths: &[&'p str]) -> Result<Vec<(usize, Vec<&'p str>)>> {
        let whole = self.schema.find_all(paths.iter().copied())?;
        let others = paths
            .iter()
            .filter(|path| self.of_name(&whole, path).is_empty());
        let parts = self.schema.find_all(others.flat_map(|path| heads(path)))?;
        let resolve = |&path: &&'p str| {
            for head in std::iter::once(path).chain(heads(path)) {
                let fields = if head.len() == path.len() {
                    &whole
                } else {
                    &parts
                };
                match self.of_name(fields, head).as_slice() {
                    [] => {}
                    [one] => {
                        let below = path.get(head.len() + 1..);
                        let below = below.map(|rest| rest.split('.').collect());
                        return Ok((*one, below.unwrap_or_default()));
                    }
                    many => {
                        return Err(Error::new(
                            ErrorKind::AmbiguousColumn,
                            format!(
                                "{} columns are named `{head}` ({many:?}); project by index",
                                many.len(),
                            ),
                        ));
                    }
                }
            }
            // A column takes precedence over an internal field with the same name.
            if let Some(place) = self.internal.iter().position(|(_, kind)| kind == path) {
                return Ok((self.len() + place, Vec::new()));
            }
            let names = (0..self.len())
                .map(|i| self.name(i))
                .collect::<Result<Vec<_>>>()?;
            Err(unknown_column(path, self.owner, names.into_iter()))
        };
        paths.iter().map(resolve).collect()
    }
}

/// Returns the proper prefixes of a path that may name a column, the longest first.
fn heads(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('.').map(|(at, _)| &path[..at])
}

impl Metadata {
    /// Returns the Arrow schema of all columns.
    pub(in crate::read) fn arrow_schema(&self, step: &StepBytes<'_>) -> Result<Option<SchemaRef>> {
        let all = ready!(self.projected(step, &Projection::All, InternalFields::Hidden));
        Ok(Some(all.1))
    }

    /// Returns the columns of a projection, and their Arrow schema.
    pub(in crate::read) fn projected(
        &self,
        step: &StepBytes<'_>,
        projection: &Projection,
        internal: InternalFields,
    ) -> Result<Option<ProjectedColumns>> {
        let is_all = matches!(projection, Projection::All) && internal == InternalFields::Hidden;
        if let (true, Some(all)) = (is_all, self.all_columns.get()) {
            return Ok(Some(all.clone()));
        }
        let columns = ready!(self.columns_with(step, projection, internal));
        let schema = ready!(self.schema_of(step, &columns));
        let projected = (columns.into(), schema);
        if is_all {
            return Ok(Some(self.all_columns.get_or_init(|| projected).clone()));
        }
        Ok(Some(projected))
    }

    /// Returns the Arrow schema of columns, with the metadata of the shard's schema.
    fn schema_of(&self, step: &StepBytes<'_>, columns: &[Column]) -> Result<Option<SchemaRef>> {
        let metadata = match ready!(self.hint(step)) {
            Some(hint) => hint.metadata().unwrap_or_default(),
            None => HashMap::new(),
        };
        let fields: Vec<Field> = columns.iter().map(|column| column.field.clone()).collect();
        Ok(Some(Arc::new(Schema::new_with_metadata(fields, metadata))))
    }

    /// Returns the fields that are columns, and the fields with packed columns.
    pub(in crate::read) fn stored_columns(
        &self,
        step: &StepBytes<'_>,
    ) -> Result<Option<Vec<Column>>> {
        ready!(Columns::load(self, step)).as_stored().map(Some)
    }

    /// Returns the columns of a projection. Internal fields are included only if it names them.
    pub(in crate::read) fn columns(
        &self,
        step: &StepBytes<'_>,
        projection: &Projection,
    ) -> Result<Option<Vec<Column>>> {
        self.columns_with(step, projection, InternalFields::Hidden)
    }

    /// Returns the columns of a projection.
    pub(in crate::read) fn columns_with(
        &self,
        step: &StepBytes<'_>,
        projection: &Projection,
        internal: InternalFields,
    ) -> Result<Option<Vec<Column>>> {
        let columns = ready!(Columns::load(self, step));
        let len = match internal {
            InternalFields::Hidden => columns.len(),
            InternalFields::Shown | InternalFields::Stored => {
                columns.len() + columns.internal.len()
            }
        };
        let mut wanted: Vec<(usize, ColumnParts)> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut add = |column: usize, below: &[&str]| {
            let place = *places.entry(column).or_insert_with(|| {
                wanted.push((column, ColumnParts::default()));
                wanted.len() - 1
            });
            wanted[place].1.add(below);
        };
        match projection {
            Projection::All => (0..len).for_each(|i| add(i, &[])),
            Projection::Indices(indices) => {
                if let Some(i) = indices.iter().find(|&&i| i >= len) {
                    return Err(Error::new(
                        ErrorKind::UnknownColumn,
                        format!("there is no column {i}; {} has {len}", columns.owner),
                    ));
                }
                indices.iter().for_each(|&i| add(i, &[]));
            }
            Projection::Paths(paths) => {
                let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                for (column, below) in columns.resolve(&paths)? {
                    add(column, &below);
                }
            }
        }
        let read = |(i, parts): (usize, ColumnParts)| {
            let column = match internal {
                InternalFields::Stored if i >= columns.len() => columns.stored(i)?,
                _ => columns.column(i)?,
            };
            let (field, node) = prune(&column.field, &column.node, &parts)?;
            let casts = column.casts;
            Ok(Column::new(field, node, casts))
        };
        wanted
            .into_iter()
            .map(read)
            .collect::<Result<_>>()
            .map(Some)
    }

    /// Returns the columns that a requested schema names, in its types.
    ///
    /// # Errors
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch) for a type that no value could become.
    pub(in crate::read) fn requested_columns(
        &self,
        step: &StepBytes<'_>,
        requested: &Schema,
        is_strict: bool,
    ) -> Result<Option<Vec<Column>>> {
        let columns = ready!(Columns::load(self, step));
        let fields = requested.fields();
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let read = |(field, (column, below)): (&Arc<Field>, (usize, Vec<&str>))| {
            if !below.is_empty() {
                return Err(Error::new(
                    ErrorKind::UnknownColumn,
                    format!(
                        "there is no column `{}`; a part of a column is asked for by its type",
                        field.name()
                    ),
                ));
            }
            columns.requested(column, field, is_strict)
        };
        let places = columns.resolve(&names)?;
        fields
            .iter()
            .zip(places)
            .map(read)
            .collect::<Result<_>>()
            .map(Some)
    }
}
