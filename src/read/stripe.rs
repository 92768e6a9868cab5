//! One stripe of an open shard.

use super::scan_builder::ScanBuilder;
use super::shard::deleted::live_rows;
use super::shard::metadata::Metadata;
use super::shard::waiting::now_or;
use crate::error::Result;
use crate::format::{AnyValue, DataRef, StripeDirectory, StripeProperties, find_property};
use std::ops::Range;
use std::sync::Arc;

/// A stripe: a horizontal slice of the shard, stored together.
#[derive(Debug, Clone)]
pub struct Stripe {
    metadata: Arc<Metadata>,
    ordinal: u64,
    directory: StripeDirectory,
}

impl Stripe {
    pub(super) fn new(metadata: Arc<Metadata>, ordinal: u64, directory: StripeDirectory) -> Self {
        Self {
            metadata,
            ordinal,
            directory,
        }
    }

    /// Ordinal of the stripe in its shard.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Number of rows, those that are deleted left out.
    pub fn num_rows(&self) -> u64 {
        live_rows(&self.directory)
    }

    /// Number of rows that are deleted.
    pub fn num_deleted_rows(&self) -> u64 {
        self.directory.deleted_record_count
    }

    /// Numbers of the stripe's rows in the shard, those of deleted ones included.
    pub fn row_range(&self) -> Range<u64> {
        let start = self.directory.record_offset;
        start..start + self.directory.total_record_count
    }

    /// Number of rows, those that are deleted included.
    pub(super) fn all_rows(&self) -> u64 {
        self.directory.total_record_count
    }

    /// Bytes of the data before encoding, if they are known.
    pub fn raw_data_size(&self) -> Option<u64> {
        self.directory.raw_data_size
    }

    /// The properties of the stripe.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn properties(&self) -> Result<StripeProperties> {
        now_or("`properties_async`", self.properties_async())
    }

    /// As [`properties`](Self::properties), of a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Those of [`properties`](Self::properties).
    pub async fn properties_async(&self) -> Result<StripeProperties> {
        let metadata = &self.metadata;
        let properties = metadata.run(|bench| metadata.stripe_properties(bench, self.ordinal));
        properties.await
    }

    /// The value of the property `name`; `None` if there is no such property, or it has no value. A
    /// property that the user set comes before one that the format defines.
    ///
    /// # Errors
    /// If the properties are damaged.
    pub fn property(&self, name: &str) -> Result<Option<AnyValue>> {
        let properties = self.properties()?;
        Ok(find_property(&properties.custom_properties, name)
            .or_else(|| find_property(&properties.standard_properties, name))
            .cloned())
    }

    /// Where the indexes of the stripe are.
    pub(super) fn indexes_ref(&self) -> Option<&DataRef> {
        self.directory.indexes_ref.as_ref()
    }

    /// A scan of the stripe's rows, in order.
    pub fn scan(&self) -> ScanBuilder {
        ScanBuilder::new(self.metadata.clone()).with_row_range(self.row_range())
    }
}
