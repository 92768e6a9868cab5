//! Properties of a shard that this crate writes.

use super::options::ARROW_SCHEMA_PROPERTY;
use crate::format::{AnyValue, NameValuePair};
use crate::sorting::{SORTING_COLUMNS_PROPERTY, SortingColumn};

/// Returns the properties for the encoded Arrow schema and the sorting columns, followed by `others`.
pub(crate) fn shard_properties(
    arrow_schema: &[u8],
    sorting_columns: &[SortingColumn],
    others: &[NameValuePair],
) -> Vec<NameValuePair> {
    let arrow_schema = AnyValue::from(arrow_schema);
    let mut properties = vec![NameValuePair::new(ARROW_SCHEMA_PROPERTY, arrow_schema)];
    if !sorting_columns.is_empty() {
        let columns: Vec<AnyValue> = sorting_columns.iter().map(sorting_column).collect();
        properties.push(NameValuePair::new(SORTING_COLUMNS_PROPERTY, columns));
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
