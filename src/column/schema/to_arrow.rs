//! Spec: docs/format.md, "Arrow types": nodes of a shard schema to Arrow fields.

use super::deeper;
use super::label;
use super::leaf::{arrow_size, natural_leaf};
use super::native::{NativeType, NativeTypes};
use super::to_shard::{SchemaOptions, TypeMapping, type_node};
use crate::error::{Error, Result};
use crate::format::{BasicType, DataType};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, UnionFields, UnionMode};
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the Arrow field of a schema node.
///
/// Without a hint, the field is nullable, with the type for the node's storage and label, with 64-bit offsets; native
/// types become the types in `types`. The hint is the field of the writer. Every part of the hint is used if its own
/// storage matches the node.
///
/// # Errors
/// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if `types` are not valid Arrow types,
/// [`Corrupt`](crate::ErrorKind::Corrupt) if a nested node has the wrong number of children,
/// [`Unsupported`](crate::ErrorKind::Unsupported) if Arrow cannot represent the type, and
/// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if it is nested too deep.
pub fn to_arrow(node: &DataType, hint: Option<&Field>, types: &NativeTypes) -> Result<Field> {
    let hint = hint.filter(|h| h.name() == &node.name);
    match hint {
        Some(hint) => hinted(node, hint, Descent { types, depth: 0 }),
        None => natural(node, &node.name, Descent { types, depth: 0 }),
    }
}

/// Checks that a nested node has the number of children that its type needs: any number for structs and unions, none
/// for leaves.
///
/// # Errors
/// Returns [`Corrupt`](crate::ErrorKind::Corrupt) otherwise.
pub(in crate::column) fn check_children(node: &DataType) -> Result<()> {
    let expected = match node.basic_type {
        BasicType::Struct | BasicType::Union => return Ok(()),
        BasicType::List | BasicType::FixedSizeList => 1,
        BasicType::Map => 2,
        _ => 0,
    };
    if node.children.len() == expected {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "expected {expected} children of the {:?} node {}, found {}",
        node.basic_type,
        node.schema_id,
        node.children.len()
    )))
}

/// The current depth, and the Arrow types for native types.
#[derive(Debug, Clone, Copy)]
struct Descent<'a> {
    types: &'a NativeTypes,
    depth: u32,
}

impl Descent<'_> {
    fn deeper(self) -> Result<Self> {
        let depth = deeper(self.depth)?;
        Ok(Self { depth, ..self })
    }
}

fn natural(node: &DataType, name: &str, at: Descent<'_>) -> Result<Field> {
    let field = Field::new(name, natural_type(node, at)?, true);
    let extension = match (node.basic_type, node.label()) {
        (BasicType::Guid, _) => label::UUID,
        (BasicType::String, label::JSON) => label::JSON,
        (BasicType::Binary, label::KUSTO_DYNAMIC) => label::KUSTO_DYNAMIC,
        _ => return Ok(field),
    };
    Ok(field.with_metadata(HashMap::from([(
        EXTENSION_TYPE_NAME_KEY.to_owned(),
        extension.to_owned(),
    )])))
}

fn natural_type(node: &DataType, at: Descent<'_>) -> Result<ArrowType> {
    let at = at.deeper()?;
    check_children(node)?;
    match (node.basic_type, node.children.as_slice()) {
        (BasicType::List, [item]) => Ok(ArrowType::LargeList(natural_ref(item, "item", at)?)),
        (BasicType::FixedSizeList, [item]) => Ok(ArrowType::FixedSizeList(
            natural_ref(item, "item", at)?,
            arrow_size(node)?,
        )),
        (BasicType::Map, [key, value]) => {
            let key = natural(key, "key", at)?.with_nullable(false);
            let value = natural(value, "value", at)?;
            let entries = ArrowType::Struct(Fields::from(vec![key, value]));
            let sorted = node.label() == label::MAP && node.property("keys_sorted") == Some("true");
            let entries = Field::new("entries", entries, false);
            Ok(ArrowType::Map(Arc::new(entries), sorted))
        }
        (BasicType::Struct, members) => {
            let fields = members.iter().map(|m| natural_ref(m, &m.name, at));
            Ok(ArrowType::Struct(fields.collect::<Result<_>>()?))
        }
        (BasicType::Union, variants) => {
            let fields = variants
                .iter()
                .map(|v| natural_ref(v, &v.name, at))
                .collect::<Result<Vec<_>>>()?;
            natural_union(node, &fields)
        }
        _ => natural_leaf(node, at.types),
    }
}

fn natural_ref(node: &DataType, name: &str, at: Descent<'_>) -> Result<FieldRef> {
    natural(node, name, at).map(Arc::new)
}

/// Returns the natural type of a union. Without a label it is dense, because that suits either storage.
fn natural_union(node: &DataType, fields: &[FieldRef]) -> Result<ArrowType> {
    let mode = labeled_mode(node).unwrap_or(UnionMode::Dense);
    let ids = node
        .property("type_ids")
        .filter(|_| node.label() == label::UNION);
    let ids: Option<Vec<i8>> =
        ids.and_then(|ids| ids.split(',').map(|id| id.parse().ok()).collect());
    let with_ids = ids.and_then(|ids| UnionFields::try_new(ids, fields.iter().cloned()).ok());
    if let Some(with_ids) = with_ids {
        return Ok(ArrowType::Union(with_ids, mode));
    }
    if fields.len() > usize::from(i8::MAX.unsigned_abs()) + 1 {
        return Err(Error::unsupported(format!(
            "the union `{}` has {} variants, and Arrow allows 128",
            node.name,
            fields.len()
        )));
    }
    let ids = (0..=i8::MAX).take(fields.len());
    let fields = UnionFields::try_new(ids, fields.iter().cloned())?;
    Ok(ArrowType::Union(fields, mode))
}

fn labeled_mode(node: &DataType) -> Option<UnionMode> {
    match node
        .property("mode")
        .filter(|_| node.label() == label::UNION)?
    {
        "sparse" => Some(UnionMode::Sparse),
        "dense" => Some(UnionMode::Dense),
        _ => None,
    }
}

/// Returns the hint where it agrees with the node, and the natural type of the node elsewhere.
fn hinted(node: &DataType, hint: &Field, at: Descent<'_>) -> Result<Field> {
    let extension = hint.metadata().get(EXTENSION_TYPE_NAME_KEY);
    match hinted_type(node, hint.data_type(), extension.map(String::as_str), at)? {
        Some(agreed) => Ok(hint.clone().with_data_type(agreed)),
        None => natural(node, hint.name(), at),
    }
}

fn hinted_ref(node: &DataType, hint: &FieldRef, at: Descent<'_>) -> Result<FieldRef> {
    let field = hinted(node, hint, at)?;
    Ok(if &field == hint.as_ref() {
        hint.clone()
    } else {
        Arc::new(field)
    })
}

/// Returns the field of a struct member or union variant. A hint with another name belongs to another part, and is
/// ignored.
fn hinted_named(node: &DataType, hint: &FieldRef, at: Descent<'_>) -> Result<FieldRef> {
    if hint.name() == &node.name {
        hinted_ref(node, hint, at)
    } else {
        natural_ref(node, &node.name, at)
    }
}

/// Returns the type of the hint, with natural types for the parts below the node that disagree with it. Returns `None`
/// if the hint disagrees with the node itself.
fn hinted_type(
    node: &DataType,
    hint: &ArrowType,
    extension: Option<&str>,
    at: Descent<'_>,
) -> Result<Option<ArrowType>> {
    let at = at.deeper()?;
    check_children(node)?;
    let children = node.children.as_slice();
    Ok(match (hint, node.basic_type) {
        (ArrowType::Dictionary(key, value), _) => {
            let value = hinted_type(node, value, extension, at)?;
            value
                .filter(|_| key.is_dictionary_key_type())
                .map(|v| ArrowType::Dictionary(key.clone(), Box::new(v)))
        }
        (ArrowType::RunEndEncoded(ends, values), _) => {
            let inner = values.metadata().get(EXTENSION_TYPE_NAME_KEY);
            let extension = extension.or(inner.map(String::as_str));
            hinted_type(node, values.data_type(), extension, at)?
                .filter(|_| ends.data_type().is_run_ends_type() && !ends.is_nullable())
                .map(|v| {
                    let values = values.as_ref().clone().with_data_type(v);
                    ArrowType::RunEndEncoded(ends.clone(), Arc::new(values))
                })
        }
        (ArrowType::List(f), BasicType::List) => hinted_item(children, f, at)?.map(ArrowType::List),
        (ArrowType::LargeList(f), BasicType::List) => {
            hinted_item(children, f, at)?.map(ArrowType::LargeList)
        }
        (ArrowType::ListView(f), BasicType::List) => {
            hinted_item(children, f, at)?.map(ArrowType::ListView)
        }
        (ArrowType::LargeListView(f), BasicType::List) => {
            hinted_item(children, f, at)?.map(ArrowType::LargeListView)
        }
        (ArrowType::FixedSizeList(f, size), BasicType::FixedSizeList)
            if u64::try_from(*size).is_ok_and(|s| s == node.fixed_size) =>
        {
            hinted_item(children, f, at)?.map(|f| ArrowType::FixedSizeList(f, *size))
        }
        (ArrowType::Struct(fields), BasicType::Struct) if fields.len() == children.len() => {
            let members = children.iter().zip(fields);
            let members = members.map(|(n, f)| hinted_named(n, f, at));
            Some(ArrowType::Struct(members.collect::<Result<_>>()?))
        }
        (ArrowType::Map(entries, sorted), BasicType::Map) => {
            hinted_entries(children, entries, at)?.map(|e| ArrowType::Map(e, *sorted))
        }
        (ArrowType::Union(fields, mode), BasicType::Union)
            if fields.len() == children.len() && labeled_mode(node).is_none_or(|m| m == *mode) =>
        {
            let variants = children.iter().zip(fields.iter());
            let variants = variants
                .map(|(n, (_, f))| hinted_named(n, f, at))
                .collect::<Result<Vec<_>>>()?;
            let ids = fields.iter().map(|(id, _)| id);
            Some(ArrowType::Union(
                UnionFields::try_new(ids, variants)?,
                *mode,
            ))
        }
        _ => leaf_agrees(node, hint, extension).then(|| hint.clone()),
    })
}

fn hinted_item(
    children: &[DataType],
    hint: &FieldRef,
    at: Descent<'_>,
) -> Result<Option<FieldRef>> {
    match children {
        [item] => hinted_ref(item, hint, at).map(Some),
        _ => Ok(None),
    }
}

fn hinted_entries(
    children: &[DataType],
    entries: &FieldRef,
    at: Descent<'_>,
) -> Result<Option<FieldRef>> {
    let ([key, value], ArrowType::Struct(fields)) = (children, entries.data_type()) else {
        return Ok(None);
    };
    let [key_hint, value_hint] = fields.as_ref() else {
        return Ok(None);
    };
    if entries.is_nullable() {
        return Ok(None);
    }
    let key = hinted(key, key_hint, at)?.with_nullable(false);
    let value = hinted_ref(value, value_hint, at)?;
    let fields = Fields::from(vec![Arc::new(key), value]);
    let entries = entries.as_ref().clone();
    Ok(Some(Arc::new(
        entries.with_data_type(ArrowType::Struct(fields)),
    )))
}

/// Returns whether the writer would store a leaf of this type as this node, or as an equivalent one.
fn leaf_agrees(node: &DataType, hint: &ArrowType, extension: Option<&str>) -> bool {
    if hint.is_nested() || !node.children.is_empty() {
        return false;
    }
    let types = NativeTypes::default();
    let Ok(meaning) = natural_leaf(node, &types) else {
        return false;
    };
    [
        (TypeMapping::Lossless, false),
        (TypeMapping::Lossless, true),
        (TypeMapping::Amudai, false),
    ]
    .into_iter()
    .any(|(mapping, arrow_width_decimals)| {
        let options = SchemaOptions {
            mapping,
            arrow_width_decimals,
        };
        type_node(hint, extension, &options, 0).is_ok_and(|written| {
            written.basic_type == node.basic_type
                && written.signed == node.signed
                && written.fixed_size == node.fixed_size
                && NativeType::of(&written) == NativeType::of(node)
                && natural_leaf(&written, &types).is_ok_and(|m| m == meaning)
        })
    })
}
