//! Spec: Chapter 6, "Shard and Stripe Indexes".

use super::{DataRef, NameValuePair};

/// Positions of a block of a range index; the last may have fewer.
pub const INDEX_BLOCK: u64 = 256;

/// An index: its type, what it covers, and where it is stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexDescriptor {
    /// Type of the index, which says how to read it.
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
    /// Name of the part, empty where the wire has no place for it.
    pub name: String,
    /// Properties of the part, none where the wire has no place for them.
    pub properties: Vec<NameValuePair>,
    /// Where the part is.
    pub data_ref: Option<DataRef>,
}

/// The indexes of a shard, a stripe or a field.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexCollection(pub Vec<IndexDescriptor>);
