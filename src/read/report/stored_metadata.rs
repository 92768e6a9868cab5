//! The metadata of an open shard as they are stored, for tools that inspect shards.

use crate::buffer::RangeIndex;
use crate::error::Result;
use crate::format::{
    DataType, FieldDescriptor, IndexDescriptor, Schema, ShardDirectory, StripeFieldDescriptor,
};
use crate::read::open_shard::Shard;
use crate::read::shard::metadata::ready;
use crate::read::shard::waiting::ready_now;
use std::sync::Arc;

impl Shard {
    /// Returns the directory as it is stored.
    pub fn directory(&self) -> &ShardDirectory {
        &self.metadata.directory
    }

    /// Returns the schema as it is stored, internal fields included.
    ///
    /// Blocking only: this is for tools that examine local files.
    ///
    /// # Errors
    /// Fails if the schema is damaged or not supported.
    pub fn shard_schema(&self) -> Result<Schema> {
        ready_now(self.stored_schema())
    }

    /// Returns the descriptor of a field over the whole shard; `None` if no stripe has the field.
    ///
    /// Blocking only: this is for tools that examine local files.
    ///
    /// # Errors
    /// Fails if the descriptor is damaged.
    pub fn field_descriptor(&self, schema_id: u32) -> Result<Option<FieldDescriptor>> {
        self.drive(|step| self.metadata.shard_descriptor(step, schema_id))
    }

    /// Returns the descriptor of a field in a stripe, which also locates its data; `None` if the stripe does not have
    /// the field.
    ///
    /// Blocking only: this is for tools that examine local files.
    ///
    /// # Errors
    /// Fails if the descriptor is damaged.
    pub fn stripe_field_descriptor(
        &self,
        stripe: u64,
        schema_id: u32,
    ) -> Result<Option<StripeFieldDescriptor>> {
        let field = self.drive(|step| self.metadata.field(step, (stripe, schema_id)))?;
        Ok(field.described().map(|(_, descriptor)| descriptor.clone()))
    }

    /// Returns the range index of a field of a stripe; `None` if it has none. Reads only the index.
    ///
    /// Blocking only: this is for tools that examine local files.
    ///
    /// # Errors
    /// Fails if the descriptor or the index is damaged.
    pub fn range_index(&self, stripe: u64, node: &DataType) -> Result<Option<Arc<RangeIndex>>> {
        let key = (stripe, node.schema_id);
        self.drive(|step| self.metadata.range_index(step, key, node))
    }

    /// Returns the indexes over the whole shard, as they are stored.
    ///
    /// Blocking only: this is for tools that examine local files.
    ///
    /// # Errors
    /// Fails if they are damaged.
    pub fn indexes(&self) -> Result<Vec<IndexDescriptor>> {
        self.drive(|step| {
            let indexes = ready!(self.metadata.indexes(step));
            Ok(Some(indexes.0))
        })
    }
}
