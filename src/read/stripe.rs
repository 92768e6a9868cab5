//! One stripe of an open shard.

use super::scan_builder::ScanBuilder;
use super::shard::deleted_records::live_rows;
use super::shard::metadata::Metadata;
use super::shard::waiting::ready_now_or;
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

    /// Returns the ordinal of the stripe in its shard.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Returns the number of rows without the deleted ones.
    pub fn num_rows(&self) -> u64 {
        live_rows(&self.directory)
    }

    /// Returns the number of deleted rows.
    pub fn num_deleted_rows(&self) -> u64 {
        self.directory.deleted_record_count
    }

    /// Returns the numbers of the stripe's rows in the shard, including deleted rows.
    pub fn row_range(&self) -> Range<u64> {
        let start = self.directory.record_offset;
        start..start + self.directory.total_record_count
    }

    /// Returns the number of rows, including deleted ones.
    pub(super) fn all_rows(&self) -> u64 {
        self.directory.total_record_count
    }

    /// Returns the size of the data before encoding, in bytes, if it is known.
    pub fn raw_data_size(&self) -> Option<u64> {
        self.directory.raw_data_size
    }

    /// Returns the properties of the stripe.
    ///
    /// # Errors
    /// Fails if they are damaged.
    pub fn properties(&self) -> Result<StripeProperties> {
        ready_now_or("`properties_async`", self.properties_async())
    }

    /// Returns the properties of the stripe, for a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`properties`](Self::properties).
    pub async fn properties_async(&self) -> Result<StripeProperties> {
        let metadata = &self.metadata;
        let properties = metadata.run(|step| metadata.stripe_properties(step, self.ordinal));
        properties.await
    }

    /// Returns the value of the property `name`, or `None` if there is no such property or it has no value. A property
    /// set by the user takes precedence over one that the format defines.
    ///
    /// # Errors
    /// Fails if the properties are damaged.
    pub fn property(&self, name: &str) -> Result<Option<AnyValue>> {
        ready_now_or("`property_async`", self.property_async(name))
    }

    /// Returns the value of the property `name`, for a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`property`](Self::property).
    pub async fn property_async(&self, name: &str) -> Result<Option<AnyValue>> {
        let properties = self.properties_async().await?;
        Ok(find_property(&properties.custom_properties, name)
            .or_else(|| find_property(&properties.standard_properties, name))
            .cloned())
    }

    /// Returns the place of the stripe's indexes.
    pub(super) fn indexes_ref(&self) -> Option<&DataRef> {
        self.directory.indexes_ref.as_ref()
    }

    /// Starts to build a scan of the stripe's rows, in order.
    pub fn scan(&self) -> ScanBuilder {
        ScanBuilder::new(self.metadata.clone()).with_row_range(self.row_range())
    }
}
