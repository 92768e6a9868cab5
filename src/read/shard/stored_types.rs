//! Fields of a table of several shards that some of the shards store with another type than the table has.

use crate::column::StoredAs;
use crate::format::DataType;
use std::collections::HashMap;
use std::sync::Arc;

/// The fields of stripes that are stored with another type than the table has, by ordinal of the stripe and schema id.
/// No file has such fields: the directory of a table exists only in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredTypes(HashMap<(u64, u32), Arc<StoredAs>>);

impl StoredTypes {
    /// Adds a field of a stripe.
    pub(crate) fn add(&mut self, stripe: u64, stored: StoredAs) {
        let key = (stripe, stored.node.schema_id);
        self.0.insert(key, Arc::new(stored));
    }

    /// Returns whether every field has the type of its node.
    pub(in crate::read) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how a field of a stripe is stored, if it has another type than the node of the field.
    pub(in crate::read) fn get(&self, key: (u64, u32)) -> Option<&Arc<StoredAs>> {
        if self.is_empty() {
            return None;
        }
        self.0.get(&key)
    }

    /// Returns the node that the values of a field of a stripe are stored as: `node`, unless they have another type.
    pub(in crate::read) fn node<'a>(&'a self, key: (u64, u32), node: &'a DataType) -> &'a DataType {
        self.get(key).map_or(node, |stored| &stored.node)
    }
}
