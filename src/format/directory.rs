//! Spec: Chapter 6, "Shard Directory", "Shard Properties", "URL List" and "Stripe List".

use super::{DataRef, NameValuePair};

/// The root of a shard, the last message of its directory file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardDirectory {
    /// The schema.
    pub schema_ref: Option<DataRef>,
    /// The [`ShardProperties`].
    pub properties_ref: Option<DataRef>,
    /// References to the [`FieldDescriptor`](super::FieldDescriptor)s, by schema id.
    pub field_list_ref: Option<DataRef>,
    /// The [`StripeDirectory`]s.
    pub stripe_list_ref: Option<DataRef>,
    /// URLs of all artifacts.
    pub url_list_ref: Option<DataRef>,
    /// Indexes over the whole shard.
    pub indexes_ref: Option<DataRef>,
    /// Number of records, including deleted ones.
    pub total_record_count: u64,
    /// Number of deleted records.
    pub deleted_record_count: u64,
    /// Number of stripes.
    pub stripe_count: u64,
    /// Size of the data before encoding, in bytes.
    pub raw_data_size: Option<u64>,
}

/// Properties of a shard.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ShardProperties {
    /// Earliest creation time, in 100 ns ticks since 0001-01-01.
    pub creation_min: Option<u64>,
    /// Latest creation time, in 100 ns ticks since 0001-01-01.
    pub creation_max: Option<u64>,
    /// Properties that the format defines.
    pub standard_properties: Vec<NameValuePair>,
    /// Properties of the user and of this crate.
    pub custom_properties: Vec<NameValuePair>,
}

/// One stripe of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StripeDirectory {
    /// The [`StripeProperties`].
    pub properties_ref: Option<DataRef>,
    /// References to the [`StripeFieldDescriptor`](super::StripeFieldDescriptor)s, by schema id.
    pub field_list_ref: Option<DataRef>,
    /// Indexes over this stripe.
    pub indexes_ref: Option<DataRef>,
    /// Number of records, including deleted ones.
    pub total_record_count: u64,
    /// Number of deleted records.
    pub deleted_record_count: u64,
    /// Size of the data before encoding, in bytes.
    pub raw_data_size: Option<u64>,
    /// Number of records in all earlier stripes.
    pub record_offset: u64,
}

/// Properties of a stripe.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct StripeProperties {
    /// Properties that the format defines.
    pub standard_properties: Vec<NameValuePair>,
    /// Properties of the user and of this crate.
    pub custom_properties: Vec<NameValuePair>,
}

/// The stripes of a shard, in the order of their records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StripeList(pub Vec<StripeDirectory>);

/// URLs of all artifacts that a shard refers to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UrlList(pub Vec<String>);
