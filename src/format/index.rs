//! Spec: Chapter 6, "Shard and Stripe Indexes".

use super::{DataRef, NameValuePair};

/// Number of positions per block of a range index. The last block may have fewer.
pub const INDEX_BLOCK: u64 = 256;

/// An index: its type, the indexed fields, and the places where it is stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexDescriptor {
    /// Type of the index, which determines its content.
    pub index_type: String,
    /// Properties that the type defines.
    pub properties: Vec<NameValuePair>,
    /// Keys of the index, each a list of schema ids.
    pub indexed_fields: Vec<Vec<u32>>,
    /// Where the index is stored.
    pub artifacts: Vec<IndexArtifact>,
    /// Estimated size in bytes.
    pub index_size: Option<u64>,
}

/// A stored part of an index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexArtifact {
    /// Name of the part, empty if the wire does not store it.
    pub name: String,
    /// Properties of the part, empty if the wire does not store them.
    pub properties: Vec<NameValuePair>,
    /// Reference to the part.
    pub data_ref: Option<DataRef>,
}

/// The indexes of a shard, a stripe or a field.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexCollection(pub Vec<IndexDescriptor>);
