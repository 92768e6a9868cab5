//! The columns of an edited shard.

use super::added_column::AddedColumn;
use super::arrow;
use super::unify::{Compared, Unify};
use super::united_node::{UnitedNode, places};
use super::widening::{SourceColumn, widen};
use crate::Shard;
use crate::column::{ColumnPlace, column_places, has_packed_columns};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BasicType, DELETED_RECORD, DataType, Field as StoredField, Schema};
use crate::read::unknown_column;
use crate::sorting::SortingColumn;
use arrow_schema::{DataType as ArrowType, Field, Fields, Schema as ArrowSchema};
use std::collections::HashSet;
use std::sync::Arc;

/// A column, and its node in each of the sources.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EditedColumn {
    /// The field as readers see it. An internal field has only a name.
    field: Field,
    /// The role of an internal field, which readers do not see.
    internal_kind: Option<String>,
    pub(super) node: UnitedNode,
    /// The values of an added column, unless they are null.
    pub(super) added: Option<AddedColumn>,
}

impl EditedColumn {
    /// Whether this is a struct of packed columns. Readers see the columns instead of the struct.
    fn has_packed(&self) -> bool {
        has_packed_columns(&self.node.stored)
    }

    /// Returns the columns that readers see for this column.
    fn seen(&self) -> Vec<Field> {
        match self.field.data_type() {
            ArrowType::Struct(members) if self.has_packed() => {
                let is_nullable = self.field.is_nullable();
                let seen = |member: &Arc<Field>| {
                    let member = member.as_ref().clone();
                    let is_nullable = is_nullable || member.is_nullable();
                    member.with_nullable(is_nullable)
                };
                members.iter().map(seen).collect()
            }
            _ => vec![self.field.clone()],
        }
    }
}

/// Fails if packed integers are floats in a schema, because a float may not hold them. Packed columns keep their types;
/// the other casts that a schema may ask for are exact.
fn check_packed(columns: &[Field], schema: &ArrowSchema) -> Result<()> {
    for column in columns {
        let wanted = schema.field_with_name(column.name());
        let wanted = wanted.map_or(column.data_type(), |wanted| wanted.data_type());
        if column.data_type().is_integer() && wanted.is_floating() {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!(
                    "column `{}` is {}, and cannot be widened to {wanted}, because it is packed; write the shard \
                     again without packed columns",
                    column.name(),
                    column.data_type()
                ),
            ));
        }
    }
    Ok(())
}

/// The columns of an edited shard.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EditedColumns {
    /// The columns that readers see. Structs of packed columns are last.
    visible: Vec<EditedColumn>,
    /// Internal fields, except for the deleted-record field.
    internal: Vec<EditedColumn>,
    /// The deleted-record field, which not every source has.
    pub(super) deleted: UnitedNode,
}

impl EditedColumns {
    /// Returns the columns of a shard. `source` is its ordinal among the sources.
    pub(super) async fn of(shard: &Shard, source: usize) -> Result<Self> {
        let column = |field, internal_kind, node| EditedColumn {
            field,
            internal_kind,
            node: UnitedNode::of(node, source),
            added: None,
        };
        let visible = shard.stored_columns().await?.into_iter();
        let mut columns = Self {
            visible: visible
                .map(|(field, node)| column(field, None, node))
                .collect(),
            internal: Vec::new(),
            deleted: UnitedNode::new(DataType::new(BasicType::Boolean, "")),
        };
        for field in shard.stored_schema().await?.fields {
            let Some(kind) = field.internal_kind else {
                continue;
            };
            if kind == DELETED_RECORD {
                let at = Compared::internal(&kind);
                columns.deleted.unite(field.data_type, source, at)?;
                continue;
            }
            let shown = Field::new(&kind, ArrowType::Null, true);
            columns
                .internal
                .push(column(shown, Some(kind), field.data_type));
        }
        Ok(columns)
    }

    /// Adds the columns of another shard. `source` is its ordinal among the sources. A column that one of the shards
    /// lacks is null there. `unify` is `None` for an edit, and `name_of` returns the names of the sources.
    pub(super) async fn unite(
        &mut self,
        shard: &Shard,
        source: usize,
        unify: Option<Unify>,
        name_of: &(dyn Fn(usize) -> String + Sync),
    ) -> Result<()> {
        let mut all = self.clone();
        let mut seen = vec![false; all.visible.len()];
        let own: Vec<String> = all.visible.iter().map(|c| c.field.name().clone()).collect();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let others = shard.stored_columns().await?;
        let names: Vec<&str> = others.iter().map(|(_, node)| node.name.as_str()).collect();
        let places = places(&own, &names, "")?;
        for ((field, node), place) in others.into_iter().zip(places) {
            let Some(column) = place.and_then(|place| all.visible.get_mut(place)) else {
                all.visible.push(EditedColumn {
                    field: field.with_nullable(true),
                    internal_kind: None,
                    node: UnitedNode::of(node, source),
                    added: None,
                });
                continue;
            };
            let path = field.name().clone();
            let at = Compared {
                path: &path,
                name_of,
                first: column.node.first_source().unwrap_or_default(),
                advice: Unify::advice(unify, column.field.data_type(), field.data_type()),
            };
            let is_same = column.field.data_type() == field.data_type();
            // Only a table in memory can have stripes that store a column in several forms.
            if unify == Some(Unify::Widen) || (unify.is_some() && is_same) {
                let there = SourceColumn {
                    field,
                    node,
                    source,
                };
                column.field = widen(&mut column.node, &column.field, there, at)?;
            } else {
                column.node.unite(node, source, at)?;
                column.field = arrow::unite(&column.field, &field, at)?;
            }
            if let Some(seen) = place.and_then(|place| seen.get_mut(place)) {
                *seen = true;
            }
        }
        for (column, _) in all.visible.iter_mut().zip(seen).filter(|(_, seen)| !seen) {
            column.field.set_nullable(true);
        }
        for field in shard.stored_schema().await?.fields {
            let Some(kind) = field.internal_kind else {
                continue;
            };
            let mut internal = all.internal.iter_mut();
            if kind == DELETED_RECORD {
                let at = Compared::internal(&kind);
                all.deleted.unite(field.data_type, source, at)?;
            } else if let Some(own) = internal.find(|c| c.internal_kind.as_ref() == Some(&kind)) {
                let at = Compared::internal(&kind);
                own.node.unite(field.data_type, source, at)?;
            } else {
                all.internal.push(EditedColumn {
                    field: Field::new(&kind, ArrowType::Null, true),
                    internal_kind: Some(kind),
                    node: UnitedNode::of(field.data_type, source),
                    added: None,
                });
            }
        }
        all.visible.sort_by_key(EditedColumn::has_packed);
        all.check_packed()?;
        *self = all;
        Ok(())
    }

    /// Widens columns to their types in a schema. `none` is the ordinal of a source that does not exist.
    pub(super) fn widen_to(
        &mut self,
        schema: &ArrowSchema,
        none: usize,
        name_of: &(dyn Fn(usize) -> String + Sync),
    ) -> Result<()> {
        for column in &mut self.visible {
            if column.has_packed() {
                check_packed(&column.seen(), schema)?;
                continue;
            }
            let Ok(wanted) = schema.field_with_name(column.field.name()) else {
                continue;
            };
            if column.field.data_type() == wanted.data_type() {
                continue;
            }
            let path = column.field.name().clone();
            let at = Compared {
                path: &path,
                name_of,
                first: column.node.first_source().unwrap_or_default(),
                advice: Unify::advice(
                    Some(Unify::Widen),
                    column.field.data_type(),
                    wanted.data_type(),
                ),
            };
            let there = SourceColumn::of_no_source(wanted.clone(), none)?;
            column.field = widen(&mut column.node, &column.field, there, at)?;
        }
        Ok(())
    }

    /// Returns all columns, internal ones last, without the deleted-record field.
    pub(super) fn iter(&self) -> impl Iterator<Item = &EditedColumn> {
        self.visible.iter().chain(&self.internal)
    }

    /// Returns the fields that readers see.
    pub(super) fn fields(&self) -> Fields {
        let stored: Vec<Option<DataType>> = self
            .visible
            .iter()
            .map(|column| {
                let node = &column.node;
                column.has_packed().then(|| node.to_stored())
            })
            .collect();
        let places: Vec<_> = stored.iter().map(Option::as_ref).enumerate().collect();
        let seen: Vec<Vec<Field>> = self.visible.iter().map(EditedColumn::seen).collect();
        let field = |place: ColumnPlace| seen.get(place.field)?.get(place.member.unwrap_or(0));
        let fields = column_places(&places).into_iter().filter_map(field);
        fields.cloned().collect()
    }

    /// Fails if a packed column has the name of another column: one shard stores it packed, and another does not.
    fn check_packed(&self) -> Result<()> {
        let mut names = HashSet::new();
        for column in self.visible.iter().rev() {
            for field in column.seen() {
                let is_new = names.insert(field.name().clone());
                if !is_new && self.is_packed(field.name()) {
                    return Err(Error::new(
                        ErrorKind::SchemaMismatch,
                        format!(
                            "column `{}` is stored side by side with others in one shard, and apart in \
                             another; convert one of them to the form of the other",
                            field.name()
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether a packed column has this name.
    fn is_packed(&self, name: &str) -> bool {
        let mut packed = self.visible.iter().filter(|column| column.has_packed());
        packed.any(|column| column.seen().iter().any(|field| field.name() == name))
    }

    /// Returns the stored schema with numbers. If `has_deleted`, the deleted-record field is last.
    pub(super) fn to_stored(&self, has_deleted: bool) -> Schema {
        let stored = |column: &EditedColumn| StoredField {
            data_type: column.node.to_stored(),
            internal_kind: column.internal_kind.clone(),
        };
        let mut fields: Vec<StoredField> = self.iter().map(stored).collect();
        if has_deleted {
            fields.push(StoredField {
                data_type: self.deleted.to_stored(),
                internal_kind: Some(DELETED_RECORD.to_owned()),
            });
        }
        let mut schema = Schema { fields };
        schema.assign_ids();
        schema
    }

    /// Returns the column of that name.
    fn find(&self, name: &str) -> Result<Option<usize>> {
        let has_name = |column: &EditedColumn| column.field.name() == name && !column.has_packed();
        let mut found = (0..self.visible.len()).filter(|&i| has_name(&self.visible[i]));
        let first = found.next();
        match found.next() {
            None => Ok(first),
            Some(_) => Err(Error::new(
                ErrorKind::AmbiguousColumn,
                format!("several columns are named `{name}`"),
            )),
        }
    }

    /// Returns the column at the beginning of a path, and the names of members after it.
    fn resolve<'p>(&self, path: &'p str) -> Result<(usize, Vec<&'p str>)> {
        let heads = path.rmatch_indices('.').map(|(at, _)| at);
        for end in std::iter::once(path.len()).chain(heads) {
            if let Some(column) = self.find(path.get(..end).unwrap_or_default())? {
                let below = path.get(end + 1..);
                let below = below.map(|below| below.split('.').collect());
                return Ok((column, below.unwrap_or_default()));
            }
        }
        let mut heads = path
            .rmatch_indices('.')
            .filter_map(|(at, _)| path.get(..at));
        if self.is_packed(path) || heads.any(|head| self.is_packed(head)) {
            return Err(Error::unsupported(format!(
                "`{path}` is stored side by side with other columns, which an edit can neither change nor \
                 separate; convert the shard first"
            )));
        }
        let fields = self.fields();
        let names = fields.iter().map(|field| field.name().as_str());
        Err(unknown_column(path, "the shard", names))
    }

    /// Keeps the columns with these names, in this order.
    pub(super) fn select(&mut self, names: &[&str]) -> Result<()> {
        let mut selected: Vec<usize> = Vec::with_capacity(names.len());
        for name in names {
            match self.resolve(name)? {
                (column, below) if below.is_empty() => {
                    if selected.contains(&column) {
                        return Err(Error::invalid(format!("column `{name}` is selected twice")));
                    }
                    selected.push(column);
                }
                _ => {
                    return Err(Error::invalid(format!(
                        "`{name}` is a part of a column; select the column, and drop its other members"
                    )));
                }
            }
        }
        self.visible = selected.iter().map(|&i| self.visible[i].clone()).collect();
        Ok(())
    }

    /// Drops a column, or a member of a struct.
    pub(super) fn drop(&mut self, path: &str) -> Result<()> {
        let (column, below) = self.resolve(path)?;
        match below.split_last() {
            None => {
                self.visible.remove(column);
            }
            Some((name, around)) => {
                let column = &mut self.visible[column];
                at(column, around, path, &mut |data_type, node| {
                    let place = member(data_type, name, path)?;
                    let members = members(data_type, path)?.iter().enumerate();
                    let rest = members.filter(|(i, _)| *i != place);
                    node.children.remove(place);
                    Ok(ArrowType::Struct(
                        rest.map(|(_, field)| field.clone()).collect(),
                    ))
                })?;
            }
        }
        Ok(())
    }

    /// Renames a column, or a member of a struct. Returns the old path as names.
    pub(super) fn rename(&mut self, path: &str, name: &str) -> Result<Vec<String>> {
        let (column, below) = self.resolve(path)?;
        let renamed = self.names_of(column, &below);
        match below.split_last() {
            None => {
                let others: Vec<Field> = (self.visible.iter().enumerate())
                    .filter(|(i, _)| *i != column)
                    .flat_map(|(_, other)| other.seen())
                    .collect();
                check_is_new(name, others.iter().map(Field::name))?;
                let column = &mut self.visible[column];
                column.field.set_name(name);
                name.clone_into(&mut column.node.stored.name);
            }
            Some((old, around)) => {
                let column = &mut self.visible[column];
                at(column, around, path, &mut |data_type, node| {
                    let place = member(data_type, old, path)?;
                    let mut renamed = members(data_type, path)?.to_vec();
                    let others = renamed.iter().enumerate();
                    let others = others.filter(|(i, _)| *i != place);
                    check_is_new(name, others.map(|(_, other)| other.name()))?;
                    if let (Some(field), Some(child)) =
                        (renamed.get_mut(place), node.children.get_mut(place))
                    {
                        *field = Arc::new(field.as_ref().clone().with_name(name));
                        name.clone_into(&mut child.stored.name);
                    }
                    Ok(ArrowType::Struct(renamed.into()))
                })?;
            }
        }
        Ok(renamed)
    }

    /// Fails if another column has the name.
    pub(super) fn check_is_new(&self, name: &str) -> Result<()> {
        check_is_new(name, self.fields().iter().map(|field| field.name()))
    }

    /// Adds a column.
    pub(super) fn add(&mut self, field: Field, node: DataType, added: Option<AddedColumn>) {
        self.visible.push(EditedColumn {
            field,
            internal_kind: None,
            node: UnitedNode::added(node),
            added,
        });
        self.visible.sort_by_key(EditedColumn::has_packed);
    }

    /// Updates the sorting columns after a change. `before` are the columns before it, and `renamed` is the old path
    /// and the new name of a renamed column. Keeps the leading sorting columns that still exist.
    pub(super) fn follow(
        &self,
        before: &Self,
        renamed: Option<(&[String], &str)>,
        sorting_columns: &mut Vec<SortingColumn>,
    ) {
        let mut left = 0;
        for column in &mut *sorting_columns {
            let Some(mut names) = before.names(&column.path) else {
                break;
            };
            if let Some((old, new)) = renamed
                && names.starts_with(old)
                && let Some(name) = names.get_mut(old.len() - 1)
            {
                new.clone_into(name);
            }
            let path = names.join(".");
            if self.names(&path).as_ref() != Some(&names) {
                break;
            }
            column.path = path;
            left += 1;
        }
        sorting_columns.truncate(left);
    }

    /// Returns the names on the path of a column or member, or `None` if it does not exist.
    fn names(&self, path: &str) -> Option<Vec<String>> {
        match self.resolve(path) {
            Ok((column, below)) => has_member(self.visible[column].field.data_type(), &below)
                .then(|| self.names_of(column, &below)),
            Err(_) => self.is_packed(path).then(|| vec![path.to_owned()]),
        }
    }

    fn names_of(&self, column: usize, below: &[&str]) -> Vec<String> {
        let name = self.visible[column].field.name().as_str();
        let below = below.iter().copied();
        std::iter::once(name)
            .chain(below)
            .map(str::to_owned)
            .collect()
    }
}

/// Fails if another column or member has the name.
fn check_is_new<'a>(name: &str, others: impl IntoIterator<Item = &'a String>) -> Result<()> {
    if others.into_iter().any(|other| other == name) {
        Err(Error::invalid(format!(
            "`{name}` is the name of another column already"
        )))
    } else {
        Ok(())
    }
}

/// Changes the struct at the path `around` in a column.
fn at(
    column: &mut EditedColumn,
    around: &[&str],
    path: &str,
    change: &mut dyn FnMut(&ArrowType, &mut UnitedNode) -> Result<ArrowType>,
) -> Result<()> {
    let changed = below(
        column.field.data_type(),
        &mut column.node,
        around,
        path,
        change,
    )?;
    column.field.set_data_type(changed);
    Ok(())
}

fn below(
    data_type: &ArrowType,
    node: &mut UnitedNode,
    around: &[&str],
    path: &str,
    change: &mut dyn FnMut(&ArrowType, &mut UnitedNode) -> Result<ArrowType>,
) -> Result<ArrowType> {
    let Some((name, around)) = around.split_first() else {
        return change(data_type, node);
    };
    let place = member(data_type, name, path)?;
    let mut fields = members(data_type, path)?.to_vec();
    if let (Some(field), Some(child)) = (fields.get_mut(place), node.children.get_mut(place)) {
        let changed = below(field.data_type(), child, around, path, change)?;
        *field = Arc::new(field.as_ref().clone().with_data_type(changed));
    }
    Ok(ArrowType::Struct(fields.into()))
}

fn members<'a>(data_type: &'a ArrowType, path: &str) -> Result<&'a Fields> {
    match data_type {
        ArrowType::Struct(fields) => Ok(fields),
        other => Err(Error::new(
            ErrorKind::UnknownColumn,
            format!("`{path}` leads through a value of type {other}, which has no members"),
        )),
    }
}

/// Returns the ordinal of a member of a struct.
fn member(data_type: &ArrowType, name: &str, path: &str) -> Result<usize> {
    let fields = members(data_type, path)?;
    let mut found = (0..fields.len()).filter(|&i| fields[i].name() == name);
    match (found.next(), found.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(Error::new(
            ErrorKind::AmbiguousColumn,
            format!("several members are named `{name}` in `{path}`"),
        )),
        (None, _) => {
            let names = fields.iter().map(|field| field.name().as_str());
            Err(unknown_column(path, "the shard", names))
        }
    }
}

fn has_member(data_type: &ArrowType, below: &[&str]) -> bool {
    let Some((name, below)) = below.split_first() else {
        return true;
    };
    let ArrowType::Struct(fields) = data_type else {
        return false;
    };
    fields
        .find(name)
        .is_some_and(|(_, field)| has_member(field.data_type(), below))
}
