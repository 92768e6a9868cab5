//! Unites columns of different types: the column of a table gets the narrowest type that holds the values of all
//! shards.

use super::arrow::{self, item_of, with_item};
use super::unify::Compared;
use super::united_node::{LeafType, UnitedNode, places};
use crate::arrow::{child_fields, value_type, widened_type};
use crate::column::{SchemaOptions, to_shard};
use crate::error::{Error, Result};
use crate::format::{BasicType, DataType};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Schema};
use std::sync::Arc;

/// A column of a source.
pub(super) struct SourceColumn {
    pub(super) field: Field,
    pub(super) node: DataType,
    pub(super) source: usize,
}

impl SourceColumn {
    /// Returns a column that no source has. `none` is the ordinal of a source that does not exist.
    pub(super) fn of_no_source(field: Field, none: usize) -> Result<Self> {
        Ok(Self {
            node: stored_column(field.clone())?,
            field,
            source: none,
        })
    }
}

/// Adds a column of a source to a column of the table, and returns the field that holds the values of both. `own` is
/// the field of `node` so far.
///
/// A source with a column of the type Null is treated as one without the column.
///
/// # Errors
/// Returns [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if no type holds the values of both, or
/// [`AmbiguousColumn`](crate::ErrorKind::AmbiguousColumn) if several members have the same name.
pub(super) fn widen(
    node: &mut UnitedNode,
    own: &Field,
    there: SourceColumn,
    at: Compared<'_>,
) -> Result<Field> {
    let is_nullable = own.is_nullable() || there.field.is_nullable();
    let united = |data_type| {
        own.clone()
            .with_data_type(data_type)
            .with_nullable(is_nullable)
    };
    if own.data_type() == there.field.data_type() {
        unite_forms(node, own, there, at)?;
        return Ok(united(own.data_type().clone()));
    }
    let kinds = (node.stored.basic_type, there.node.basic_type);
    Ok(match kinds {
        (_, BasicType::Unit) => own.clone().with_nullable(true),
        (BasicType::Unit, _) => {
            *node = UnitedNode::of(there.node, there.source);
            let field = there.field.with_name(own.name());
            field.with_nullable(true)
        }
        (BasicType::Struct, BasicType::Struct) => united(members(node, own, there, at)?),
        (BasicType::List, BasicType::List) => united(list(node, own, there, at)?),
        (own_kind, kind) if is_nested(own_kind) || is_nested(kind) => {
            node.unite(there.node, there.source, at)?;
            arrow::unite(own, &there.field, at)?
        }
        _ => united(leaf(node, own, there, at)?),
    })
}

/// Unites columns of the same Arrow type, which may be stored in other forms: profile `Plain` stores short decimals as
/// bytes, and the others as integers.
pub(super) fn unite_forms(
    node: &mut UnitedNode,
    own: &Field,
    there: SourceColumn,
    at: Compared<'_>,
) -> Result<()> {
    if is_stored_alike(node, &there.node) {
        note_types(node, own.data_type(), there.source);
        return node.unite(there.node, there.source, at);
    }
    if node.children.is_empty() && there.node.children.is_empty() {
        leaf(node, own, there, at)?;
        return Ok(());
    }
    let fields: Vec<&FieldRef> = child_fields(own.data_type()).collect();
    let counts = [node.children.len(), there.node.children.len()];
    if !node.has_type(&there.node) || counts != [fields.len(); 2] {
        return Err(node.mismatch(&there.node, at));
    }
    node.set_id(there.source, there.node.schema_id);
    let children = node.children.iter_mut().zip(there.node.children);
    for ((child, other), field) in children.zip(fields) {
        let column = SourceColumn {
            field: field.as_ref().clone(),
            node: other,
            source: there.source,
        };
        unite_forms(child, field, column, at)?;
    }
    Ok(())
}

/// Whether a node and its descendants are stored as those of a source.
fn is_stored_alike(node: &UnitedNode, there: &DataType) -> bool {
    let mut children = node.children.iter().zip(&there.children);
    node.has_type(there)
        && node.children.len() == there.children.len()
        && children.all(|(own, other)| own.name() == other.name && is_stored_alike(own, other))
}

/// Notes that a source has the type of the node in all leaves that have other types elsewhere.
fn note_types(node: &mut UnitedNode, own: &ArrowType, source: usize) {
    let own = value_type(own);
    if !node.types().is_empty() {
        let here = LeafType::new(&node.stored, own);
        node.note_type(source, here.clone(), &here);
    }
    for (child, field) in node.children.iter_mut().zip(child_fields(own)) {
        note_types(child, field.data_type(), source);
    }
}

fn is_nested(kind: BasicType) -> bool {
    use BasicType::{FixedSizeList, List, Map, Struct, Union};
    matches!(kind, FixedSizeList | List | Map | Struct | Union)
}

/// Unites structs: members of one name become one member, and a member that a source lacks is null there.
fn members(
    node: &mut UnitedNode,
    own: &Field,
    there: SourceColumn,
    at: Compared<'_>,
) -> Result<ArrowType> {
    let types = (
        value_type(own.data_type()),
        value_type(there.field.data_type()),
    );
    let (ArrowType::Struct(own_members), ArrowType::Struct(members)) = types else {
        return Err(node.mismatch(&there.node, at));
    };
    let is_parallel =
        own_members.len() == node.children.len() && members.len() == there.node.children.len();
    if !node.has_type(&there.node) || !is_parallel {
        return Err(node.mismatch(&there.node, at));
    }
    node.set_id(there.source, there.node.schema_id);
    let own_names: Vec<&str> = node.children.iter().map(UnitedNode::name).collect();
    let children = there.node.children.iter();
    let names: Vec<&str> = children.map(|child| child.name.as_str()).collect();
    let places = places(&own_names, &names, at.path)?;
    let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
    let mut fields: Vec<FieldRef> = own_members.to_vec();
    for (i, field) in fields.iter_mut().enumerate() {
        if !places.contains(&Some(i)) {
            *field = nullable(field);
        }
    }
    let children = there.node.children.into_iter().zip(members);
    for (place, (child, member)) in places.into_iter().zip(children) {
        let place = place.and_then(|i| Some((node.children.get_mut(i)?, fields.get_mut(i)?)));
        let Some((own, field)) = place else {
            node.children.push(UnitedNode::of(child, there.source));
            fields.push(nullable(member));
            continue;
        };
        let path = format!("{}.{}", at.path, child.name);
        let there = SourceColumn {
            field: member.as_ref().clone(),
            node: child,
            source: there.source,
        };
        *field = Arc::new(widen(own, field, there, at.at(&path))?);
    }
    Ok(ArrowType::Struct(fields.into()))
}

/// Unites lists by their items.
fn list(
    node: &mut UnitedNode,
    own: &Field,
    mut there: SourceColumn,
    at: Compared<'_>,
) -> Result<ArrowType> {
    let (own_type, their_type) = (
        value_type(own.data_type()),
        value_type(there.field.data_type()),
    );
    let (Some(own_item), Some(item)) = (item_of(own_type), item_of(their_type)) else {
        return Err(node.mismatch(&there.node, at));
    };
    if !node.has_type(&there.node) {
        return Err(node.mismatch(&there.node, at));
    }
    let children = there.node.children.pop().zip(node.children.first_mut());
    let (child, own_child) = children.ok_or_else(|| Error::corrupt("a list has no items"))?;
    let column = SourceColumn {
        field: item.as_ref().clone(),
        node: child,
        source: there.source,
    };
    let item = widen(own_child, own_item, column, at)?;
    node.set_id(there.source, there.node.schema_id);
    let is_larger = matches!(
        (own_type, their_type),
        (ArrowType::List(_), ArrowType::LargeList(_))
    );
    let kind = if is_larger { their_type } else { own_type };
    Ok(with_item(kind, Arc::new(item)))
}

/// Unites leaves.
fn leaf(
    node: &mut UnitedNode,
    own: &Field,
    there: SourceColumn,
    at: Compared<'_>,
) -> Result<ArrowType> {
    let (a, b) = (
        value_type(own.data_type()),
        value_type(there.field.data_type()),
    );
    let is_stored_alike = node.has_type(&there.node);
    let extension = |field: &Field| field.metadata().get(EXTENSION_TYPE_NAME_KEY).cloned();
    // Texts and bytes have one form, so another one means something else: JSON, a UUID.
    let are_cast = [a, b].iter().all(|ty| ty.is_numeric() || ty.is_temporal());
    let is_other = !are_cast || extension(own) != extension(&there.field);
    if !is_stored_alike && is_other {
        return Err(at.mismatch(a, b, node.first_source()));
    }
    let before = LeafType::new(&node.stored, a);
    node.note_type(there.source, LeafType::new(&there.node, b), &before);
    let types = node.types().iter().map(|ty| &ty.arrow);
    let wide = widened_type(types).ok_or_else(|| at.mismatch(a, b, node.first_source()))?;
    node.set_id(there.source, there.node.schema_id);
    node.arrow = Some(wide.clone());
    let are_alike = node.types().iter().all(|ty| node.has_type(&ty.stored));
    if wide != before.arrow && !are_alike {
        let mut known = node.types().iter();
        let stored = match known.find(|ty| ty.arrow == wide) {
            Some(known) => known.stored.clone(),
            None => stored_column(Field::new("", wide.clone(), true))?,
        };
        node.stored = DataType {
            name: node.name().to_owned(),
            ..stored
        };
    }
    Ok(wide)
}

/// Returns the node that a writer stores a column with.
fn stored_column(field: Field) -> Result<DataType> {
    let schema = to_shard(&Schema::new(vec![field]), &SchemaOptions::default())?;
    match schema.fields.into_iter().next() {
        Some(stored) => Ok(stored.data_type),
        None => Err(Error::corrupt("a schema of one column has none")),
    }
}
