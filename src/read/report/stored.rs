//! The metadata of an open shard as they are stored, for tools that look inside.

use crate::buffer::RangeIndex;
use crate::error::Result;
use crate::format::{
    DataType, FieldDescriptor, IndexDescriptor, Schema, ShardDirectory, StripeFieldDescriptor,
};
use crate::read::open_shard::Shard;
use crate::read::shard::metadata::ready;
use crate::read::shard::waiting::now;
use std::sync::Arc;

impl Shard {
    /// The directory, as it is stored.
    pub fn directory(&self) -> &ShardDirectory {
        &self.inner.directory
    }

    /// The schema as it is stored, internal fields included.
    ///
    /// # Errors
    /// If the schema is damaged or not supported.
    pub fn shard_schema(&self) -> Result<Schema> {
        now(self.stored_schema())
    }

    /// What is known of a field over the whole shard; `None` if no stripe has it.
    ///
    /// # Errors
    /// If the descriptor is damaged.
    pub fn field_descriptor(&self, schema_id: u32) -> Result<Option<FieldDescriptor>> {
        self.drive(|bench| self.inner.shard_descriptor(bench, schema_id))
    }

    /// What is known of a field of a stripe, and where it is stored; `None` if the stripe does
    /// not have it.
    ///
    /// # Errors
    /// If the descriptor is damaged.
    pub fn stripe_field_descriptor(
        &self,
        stripe: u64,
        schema_id: u32,
    ) -> Result<Option<StripeFieldDescriptor>> {
        let field = self.drive(|bench| self.inner.field(bench, (stripe, schema_id)))?;
        Ok(field.described().map(|(_, descriptor)| descriptor.clone()))
    }

    /// The range index of a field of a stripe; `None` if it has none. Reads the index alone.
    ///
    /// # Errors
    /// If the descriptor or the index is damaged.
    pub fn range_index(&self, stripe: u64, node: &DataType) -> Result<Option<Arc<RangeIndex>>> {
        let key = (stripe, node.schema_id);
        self.drive(|bench| self.inner.range_index(bench, key, node))
    }

    /// The indexes over the whole shard, as they are stored.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn indexes(&self) -> Result<Vec<IndexDescriptor>> {
        self.drive(|bench| {
            let indexes = ready!(self.inner.indexes(bench));
            Ok(Some(indexes.0))
        })
    }
}
