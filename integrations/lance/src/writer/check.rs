//! Which columns a version of Lance keeps.

use crate::LanceVersion;
use crate::failure::from_lance;
use crate::ffi::{column_name, schema_from_lance, schema_to_lance};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrow_shard::{Error, ErrorKind, Result};
use lance_core::datatypes::Schema as LanceSchema;
use std::collections::HashSet;

/// Returns the schema of Lance that a schema becomes.
///
/// # Errors
/// [`Unsupported`](ErrorKind::Unsupported) if a column would not come back; the message names it, and the reason.
pub(super) fn lance_schema(schema: &Schema, version: LanceVersion) -> Result<LanceSchema> {
    let mut names = HashSet::new();
    for field in schema.fields() {
        let checked =
            check_name(field.name(), &mut names).and_then(|()| check_field(field, version));
        checked.map_err(|e| e.within(column_name(field.name())))?;
    }
    to_lance(schema)
}

fn to_lance(schema: &Schema) -> Result<LanceSchema> {
    let theirs = schema_to_lance(schema)?;
    LanceSchema::try_from(&theirs).map_err(|e| from_lance(&e, ErrorKind::Unsupported))
}

fn unsupported(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, why)
}

fn check_name<'a>(name: &'a str, names: &mut HashSet<&'a str>) -> Result<()> {
    if name.contains('.') {
        return Err(unsupported("names of columns have no `.` in Lance"));
    }
    if names.insert(name) {
        Ok(())
    } else {
        Err(unsupported(
            "two columns of Lance cannot have the same name",
        ))
    }
}

fn check_field(field: &FieldRef, version: LanceVersion) -> Result<()> {
    if let Some(kind) = refused(field, version) {
        return Err(unsupported(format!("Lance {version} has no {kind}")));
    }
    if has_json(field) {
        return Err(unsupported(
            "Lance stores JSON in a binary form that does not keep the text; write the column without the extension \
             type `arrow.json`",
        ));
    }
    // Any other property that Lance's schema loses.
    let alone = to_lance(&Schema::new(vec![field.clone()]))?;
    let back = schema_from_lance(&lance_arrow_schema::Schema::from(&alone))?;
    match back.fields().first() {
        Some(back) => compare(field, back),
        None => Ok(()),
    }
}

/// The type within a field that a version does not hold.
fn refused(field: &Field, version: LanceVersion) -> Option<String> {
    let is_before = |other: LanceVersion| (version as u8) < (other as u8);
    let is_refused = match field.data_type() {
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Interval(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::RunEndEncoded(..)
        | DataType::Union(..) => true,
        DataType::Utf8View | DataType::BinaryView => is_before(LanceVersion::V2_1),
        DataType::Map(..) => is_before(LanceVersion::V2_2),
        DataType::Struct(members) if members.is_empty() => {
            return Some("struct without members".to_owned());
        }
        // Version 2.2 has lists of structs, too, and reads some of them back with other rows.
        DataType::FixedSizeList(item, _) => !is_number(item.data_type()),
        _ => false,
    };
    if is_refused {
        return Some(field.data_type().to_string());
    }
    match field.data_type() {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => refused(item, version),
        DataType::Struct(members) => members.iter().find_map(|it| refused(it, version)),
        DataType::Dictionary(_, values) => {
            refused(&Field::new("", values.as_ref().clone(), true), version)
        }
        _ => None,
    }
}

/// Whether a field or one within it is JSON text.
fn has_json(field: &Field) -> bool {
    let is_json = field.extension_type_name() == Some("arrow.json");
    is_json
        || match field.data_type() {
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => has_json(item),
            DataType::Struct(members) => members.iter().any(|it| has_json(it)),
            _ => false,
        }
}

/// Whether Lance holds fixed numbers of such values: the vectors that it is made for.
fn is_number(ty: &DataType) -> bool {
    match ty {
        DataType::FixedSizeList(item, _) => is_number(item.data_type()),
        DataType::Boolean | DataType::FixedSizeBinary(_) => true,
        ty => ty.is_primitive(),
    }
}

/// Compares a field with the one that Lance returns for it.
fn compare(field: &Field, back: &Field) -> Result<()> {
    let changed = |what: &str| Err(unsupported(format!("Lance does not keep {what}")));
    if field.metadata() != back.metadata() {
        return changed(&format!("the metadata of `{}`", field.name()));
    }
    if field.name() != back.name() || field.is_nullable() != back.is_nullable() {
        return changed(&format!("name and nullability of `{}`", field.name()));
    }
    compare_types(field.data_type(), back.data_type())
}

fn compare_types(ours: &DataType, back: &DataType) -> Result<()> {
    match (ours, back) {
        // Views come back as texts and bytes.
        (DataType::Utf8View, DataType::Utf8) | (DataType::BinaryView, DataType::Binary) => Ok(()),
        // The items have neither name, metadata nor nullability of their own.
        (DataType::FixedSizeList(ours, n), DataType::FixedSizeList(back, m)) if n == m => {
            compare_types(ours.data_type(), back.data_type())
        }
        (DataType::List(ours), DataType::List(back))
        | (DataType::LargeList(ours), DataType::LargeList(back)) => compare(ours, back),
        (DataType::Map(ours, n), DataType::Map(back, m)) if n == m => compare(ours, back),
        (DataType::Struct(ours), DataType::Struct(back)) if ours.len() == back.len() => ours
            .iter()
            .zip(back)
            .try_for_each(|(ours, back)| compare(ours, back)),
        _ if ours == back => Ok(()),
        _ => Err(unsupported(format!("Lance makes {back} of {ours}"))),
    }
}
