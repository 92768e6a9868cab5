//! Properties of a shard that this crate writes.

use crate::error::{Error, Result, Within};
use crate::format::{
    AnyValue, Message, NameValuePair, StripeProperties, WRITERS_PROPERTY, Wire, WriterInfo,
};
use crate::sorting::{SORTING_COLUMNS_PROPERTY, SortingColumn};

/// Name of the property that holds the Arrow schema.
pub const ARROW_SCHEMA_PROPERTY: &str = "ARROW:schema";

/// Returns the properties for the encoded Arrow schema, the sorting columns and the writers, followed by `others`.
pub(crate) fn shard_properties(
    arrow_schema: &[u8],
    sorting_columns: &[SortingColumn],
    writers: &[WriterInfo],
    others: &[NameValuePair],
) -> Vec<NameValuePair> {
    let arrow_schema = AnyValue::from(arrow_schema);
    let mut properties = vec![NameValuePair::new(ARROW_SCHEMA_PROPERTY, arrow_schema)];
    if !sorting_columns.is_empty() {
        let columns: Vec<AnyValue> = sorting_columns.iter().map(sorting_column).collect();
        properties.push(NameValuePair::new(SORTING_COLUMNS_PROPERTY, columns));
    }
    if !writers.is_empty() {
        let writers = WriterInfo::to_value(writers);
        properties.push(NameValuePair::new(WRITERS_PROPERTY, writers));
    }
    properties.extend_from_slice(others);
    properties
}

fn sorting_column(column: &SortingColumn) -> AnyValue {
    vec![
        NameValuePair::new("path", column.path.as_str()),
        NameValuePair::new("descending", column.descending),
        NameValuePair::new("nulls_first", column.nulls_first),
    ]
    .into()
}

/// Whether users cannot set properties of this name.
pub(crate) fn is_reserved_property(name: &str) -> bool {
    name.starts_with("arrow_shard.") || name == ARROW_SCHEMA_PROPERTY
}

/// Refuses a property with a reserved name, or that the metadata cannot encode.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
pub(crate) fn check_property(property: &NameValuePair, wire: Wire) -> Result<()> {
    let name = &property.name;
    if is_reserved_property(name) {
        return Err(Error::invalid(format!(
            "the property name `{name}` is reserved"
        )));
    }
    let alone = StripeProperties {
        standard_properties: Vec::new(),
        custom_properties: vec![property.clone()],
    };
    let encoded = alone.encode(wire);
    encoded.within(|| format!("property `{name}`")).map(drop)
}
