//! Spec: Chapter 6, "Schema": the nodes as a shard stores them, for tools that show them.

use crate::error::Result;
use crate::format::{DataType, Field};
use crate::read::open_shard::Shard;
use crate::read::shard::waiting::ready_now_or;

/// A node of the stored schema: a column, or an element of a nested one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NodeInfo {
    /// Number of the node; the shard's lists of fields are indexed by it.
    pub schema_id: u32,
    /// Name of a column, struct member or union variant; empty elsewhere.
    pub name: String,
    /// The stored type: `Int64`, `Uint8`, `FixedSizeBinary(16)`.
    pub stored_type: String,
    /// Meaning of the values in addition to their storage, for example `arrow.timestamp`.
    pub label: Option<String>,
    /// Parameters of the label, as text for people: values other than text have no fixed form.
    pub properties: Vec<(String, String)>,
    /// Role of an internal field; readers hide such columns.
    pub internal_kind: Option<String>,
    /// The child nodes.
    pub children: Vec<NodeInfo>,
}

impl NodeInfo {
    fn column(field: &Field) -> Self {
        Self {
            internal_kind: field.internal_kind.clone(),
            ..Self::with_children(&field.data_type)
        }
    }

    fn with_children(node: &DataType) -> Self {
        Self {
            children: node.children.iter().map(Self::with_children).collect(),
            ..Self::new(node)
        }
    }

    /// Returns the node without its children.
    pub(super) fn new(node: &DataType) -> Self {
        let extended = node.extended_type.as_ref();
        let properties = extended.map_or(&[][..], |extended| &extended.properties);
        Self {
            schema_id: node.schema_id,
            name: node.name.clone(),
            stored_type: node.stored_type(),
            label: extended.map(|extended| extended.label.clone()),
            properties: properties
                .iter()
                .map(|(name, value)| (name.clone(), value.text()))
                .collect(),
            internal_kind: None,
            children: Vec::new(),
        }
    }

    /// Returns the label with its properties: `arrow.timestamp{unit=us}`; empty without a label.
    pub fn label_text(&self) -> String {
        let label = self.label.as_deref().unwrap_or_default();
        match self.properties.as_slice() {
            [] => label.to_owned(),
            properties => {
                let properties = properties
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"));
                format!("{label}{{{}}}", properties.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Shard {
    /// Returns the columns as they are stored, including internal ones. [`schema`](Self::schema) returns them as Arrow
    /// types.
    ///
    /// # Errors
    /// Fails if the schema is damaged or not supported.
    pub fn schema_nodes(&self) -> Result<Vec<NodeInfo>> {
        ready_now_or("`schema_nodes_async`", self.schema_nodes_async())
    }

    /// Returns the columns as they are stored, for a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`schema_nodes`](Self::schema_nodes).
    pub async fn schema_nodes_async(&self) -> Result<Vec<NodeInfo>> {
        let schema = self.stored_schema().await?;
        Ok(schema.fields.iter().map(NodeInfo::column).collect())
    }
}
