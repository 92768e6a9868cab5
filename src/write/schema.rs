//! The shard's schema, derived from the schema of the batches, and the plans of its fields.

use super::choose::settings::Settings;
use super::field::plan::FieldPlan;
use super::options::WriterOptions;
use super::shard_columns::ShardColumns;
use crate::arrow::{child_fields, max_entries};
use crate::buffer::Physical;
use crate::column::{SchemaOptions, packed_columns_label, to_shard};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{BasicType, Capabilities, DataType, Field as StoredField, Schema};
use crate::sorting::place_of;
use arrow_schema::{DataType as ArrowType, Field, SchemaRef};
use std::collections::HashSet;
use std::sync::Arc;

/// Returns the shard's schema. Decimals of raw columns keep Arrow's width.
///
/// # Errors
/// Returns [`Unsupported`](ErrorKind::Unsupported), which names the field, for types that the wire cannot store.
pub(super) fn shard_schema(columns: &ShardColumns, options: &WriterOptions) -> Result<Schema> {
    let capabilities = options.wire().capabilities();
    let mut all = Schema::default();
    for column in &columns.columns {
        let field = &column.field;
        if let Some((kind, node)) = &column.internal {
            all.fields.push(StoredField {
                data_type: node.clone(),
                internal_kind: Some(kind.clone()),
            });
            continue;
        }
        let single = arrow_schema::Schema::new(vec![field.clone()]);
        let settings = match column.packed {
            Some(_) => options.of_all(),
            None => options.of_column(field.name()),
        };
        let schema_options = SchemaOptions {
            mapping: options.mapping(),
            arrow_width_decimals: settings.is_raw(),
        };
        let mut mapped = to_shard(&single, &schema_options)?;
        if let (Some(positions), Some(stored)) = (&column.packed, mapped.fields.first_mut()) {
            stored.data_type.extended_type = Some(packed_columns_label(positions));
        }
        all.fields.extend(mapped.fields);
    }
    check_storable(&all, &capabilities)?;
    all.assign_ids();
    Ok(all)
}

/// Refuses columns that readers of the wire do not accept.
///
/// # Errors
/// Returns [`Unsupported`](ErrorKind::Unsupported), which names the column.
pub(crate) fn check_storable(schema: &Schema, capabilities: &Capabilities) -> Result<()> {
    let is_named =
        |field: &&StoredField| field.internal_kind.is_none() || !field.data_type.name.is_empty();
    let named = schema.fields.iter().filter(is_named);
    check_names(named.map(|field| &field.data_type), capabilities)?;
    let columns = schema.fields.iter().filter(|f| f.internal_kind.is_none());
    for column in columns.map(|field| &field.data_type) {
        check_node(column, capabilities).within(|| format!("column `{}`", column.name))?;
    }
    Ok(())
}

/// Returns the schema as the wire stores it: without properties of labels, if the wire does not support them.
pub(crate) fn stored_schema(mut schema: Schema, capabilities: &Capabilities) -> Schema {
    if !capabilities.extended_type_properties {
        for field in &mut schema.fields {
            drop_properties(&mut field.data_type);
        }
    }
    schema
}

/// Refuses a node if readers of the wire do not accept it or a node below it.
fn check_node(node: &DataType, capabilities: &Capabilities) -> Result<()> {
    let storable = match node.basic_type {
        BasicType::Unit => capabilities.units,
        BasicType::Union => capabilities.unions,
        BasicType::FixedSizeList => capabilities.fixed_size_lists,
        BasicType::FixedSizeBinary => node.fixed_size > 0 || capabilities.zero_fixed_sizes,
        BasicType::Struct => !node.children.is_empty() || capabilities.empty_structs,
        _ => true,
    };
    if !storable {
        let kind = match node.basic_type {
            BasicType::FixedSizeBinary => " of 0 bytes",
            BasicType::Struct => " without members",
            _ => "",
        };
        return Err(Error::unsupported(format!(
            "readers of this wire have no {:?}{kind}; convert the column, or write Wire::Spec",
            node.basic_type
        )));
    }
    let is_struct = node.basic_type == BasicType::Struct;
    if is_struct {
        check_names(node.children.iter(), capabilities)?;
    }
    for (i, child) in node.children.iter().enumerate() {
        check_node(child, capabilities).within(|| {
            if is_struct {
                format!("member `{}`", child.name)
            } else {
                format!("child {i}")
            }
        })?;
    }
    Ok(())
}

/// Refuses names that do not identify siblings, if the wire does not allow them.
fn check_names<'a>(
    siblings: impl Iterator<Item = &'a DataType>,
    capabilities: &Capabilities,
) -> Result<()> {
    let mut seen = HashSet::new();
    for (i, node) in siblings.enumerate() {
        let wrong = match node.name.as_str() {
            "" if !capabilities.empty_names => "has no name".to_owned(),
            name if !seen.insert(name) && !capabilities.duplicate_names => {
                format!("has the name `{name}`, as an earlier one")
            }
            _ => continue,
        };
        return Err(Error::unsupported(format!(
            "field {i} {wrong}, which readers of this wire do not take; rename it, or write Wire::Spec"
        )));
    }
    Ok(())
}

fn drop_properties(node: &mut DataType) {
    if let Some(extended) = &mut node.extended_type {
        extended.properties.clear();
    }
    node.children.iter_mut().for_each(drop_properties);
}

pub(super) fn field_plans(
    columns: &ShardColumns,
    shard_schema: &Schema,
    options: &WriterOptions,
) -> Result<Vec<Arc<FieldPlan>>> {
    let mut plans: Vec<FieldPlan> = Vec::new();
    for (column, shard_field) in columns.columns.iter().zip(&shard_schema.fields) {
        let field = &column.field;
        if column.packed.is_some() {
            add_packed(field, &shard_field.data_type, options, &mut plans)?;
            continue;
        }
        let settings = options.of_column(field.name());
        check_blobs(field, &settings)?;
        let first = plans.len();
        add_plans(field, &shard_field.data_type, "", settings, &mut plans)
            .within(|| format!("column `{}`", field.name()))?;
        if let (Some((kind, _)), Some(plan)) = (&column.internal, plans.get_mut(first)) {
            // The node of an internal field has no name.
            plan.path = kind.as_str().into();
        }
    }
    let pool = Arc::default();
    for plan in &mut plans {
        plan.pool = Arc::clone(&pool);
    }
    Ok(plans.into_iter().map(Arc::new).collect())
}

/// Returns the plans of a shard with this column alone.
#[cfg(test)]
pub(in crate::write) fn plans_of_column(column: Field) -> Vec<Arc<FieldPlan>> {
    let schema = Arc::new(arrow_schema::Schema::new(vec![column]));
    let options = WriterOptions::default();
    let columns = ShardColumns::try_new(&schema, &options).unwrap();
    let stored = shard_schema(&columns, &options).unwrap();
    field_plans(&columns, &stored, &options).unwrap()
}

/// Refuses blobs in a column of other types than binary or text.
fn check_blobs(field: &Field, settings: &Settings) -> Result<()> {
    use ArrowType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    let may_have = matches!(
        field.data_type(),
        Binary | LargeBinary | BinaryView | Utf8 | LargeUtf8 | Utf8View
    );
    if settings.blobs.is_some() && !may_have {
        return Err(Error::invalid(format!(
            "column `{}`: blobs are values of binary or text columns, and this one is {}",
            field.name(),
            field.data_type()
        )));
    }
    Ok(())
}

/// Adds the plans of a struct of packed columns. Each column has its own options.
fn add_packed(
    field: &Field,
    node: &DataType,
    options: &WriterOptions,
    plans: &mut Vec<FieldPlan>,
) -> Result<()> {
    let mut plan = FieldPlan::new(node, options.of_all())?;
    let members = packed_members(field, node)
        .map_err(|_| Error::invalid("a packed group has a column that is not nested at least"))?;
    plan.members.clone_from(&members);
    plan.path = node.name.as_str().into();
    plans.push(plan);
    for (column, node) in child_fields(field.data_type()).zip(&node.children) {
        let own = options.of_column(column.name());
        let settings = match members.binary_search(&node.schema_id) {
            Ok(_) => own.of_member(options.packed_values()),
            Err(_) => own,
        };
        add_plans(column, node, "", settings, plans)
            .within(|| format!("column `{}`", column.name()))?;
    }
    Ok(())
}

/// Adds the plans of a node and everything below it, in the order of their schema ids.
fn add_plans(
    field: &Field,
    node: &DataType,
    above: &str,
    settings: Settings,
    plans: &mut Vec<FieldPlan>,
) -> Result<()> {
    let is_ordered = values_of(field).dict_is_ordered() == Some(true);
    let mut plan = FieldPlan::new(
        node,
        Settings {
            delimited: settings.delimited && !is_ordered,
            ..settings
        },
    )?;
    let path = path_below(above, &node.name);
    plan.path = path.as_str().into();
    let mut field = values_of(field);
    let values;
    if let ArrowType::Dictionary(key, value) = field.data_type() {
        plan.max_entries = max_entries(key);
        plan.ordered = field.dict_is_ordered() == Some(true);
        values = Field::new("", (**value).clone(), true);
        field = &values;
    }
    plan.wide_offsets = matches!(
        field.data_type(),
        ArrowType::LargeUtf8
            | ArrowType::LargeBinary
            | ArrowType::LargeList(_)
            | ArrowType::LargeListView(_)
    );
    let values = settings.packed_group;
    if values.is_some() {
        plan.members = packed_members(field, node)?;
    }
    let members = plan.members.clone();
    plans.push(plan);
    for (child, node) in child_fields(field.data_type()).zip(&node.children) {
        let settings = match values.filter(|_| members.binary_search(&node.schema_id).is_ok()) {
            Some(values) => settings.of_member(values),
            None => Settings {
                packed_group: None,
                ..settings
            },
        };
        add_plans(child, node, &path, settings, plans)?;
    }
    Ok(())
}

/// Returns the field of the stored values: run-end encoded arrays are stored as their values.
fn values_of(mut field: &Field) -> &Field {
    while let ArrowType::RunEndEncoded(_, value) = field.data_type() {
        field = value;
    }
    field
}

/// Returns the schema ids of the leaves that a packed group of this node's members holds. Ordered dictionaries are not
/// members, because they keep their dictionary.
fn packed_members(field: &Field, node: &DataType) -> Result<Vec<u32>> {
    let mut members = Vec::new();
    if node.basic_type == BasicType::Struct {
        for (field, child) in child_fields(field.data_type()).zip(&node.children) {
            let is_leaf = Physical::of(child)?.is_leaf();
            if is_leaf && values_of(field).dict_is_ordered() != Some(true) {
                members.push(child.schema_id);
            }
        }
    }
    if members.is_empty() {
        Err(Error::invalid(format!(
            "a packed group is of a struct with members that are not nested, and this is {}",
            node.stored_type()
        )))
    } else {
        Ok(members)
    }
}

/// Returns the path of a node below another; the path above columns is "".
pub(super) fn path_below(above: &str, name: &str) -> String {
    match above {
        "" => name.to_owned(),
        above => format!("{above}.{name}"),
    }
}

pub(super) fn check_column_names(options: &WriterOptions, schema: &SchemaRef) -> Result<()> {
    for name in options.columns().keys() {
        if schema.fields().iter().all(|field| field.name() != name) {
            return Err(Error::new(
                ErrorKind::UnknownColumn,
                format!("options were given for `{name}`, which is no column of the schema"),
            ));
        }
    }
    Ok(())
}

/// Refuses sorting columns that the schema does not have.
pub(super) fn check_sorting_columns(options: &WriterOptions, schema: &SchemaRef) -> Result<()> {
    for column in options.sorting_columns() {
        if place_of(schema.fields(), &column.path).is_none() {
            return Err(Error::new(
                ErrorKind::UnknownColumn,
                format!(
                    "the sorting column `{}` is neither a column of the schema nor a member of a struct",
                    column.path
                ),
            ));
        }
    }
    Ok(())
}
