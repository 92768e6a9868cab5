//! Metadata of an open shard, its files, and the bytes fetched from them.

pub(in crate::read) mod artifacts;
pub(in crate::read) mod blob_form;
pub(in crate::read) mod cache;
pub(in crate::read) mod column;
pub(in crate::read) mod columns;
pub(in crate::read) mod deleted_records;
pub(in crate::read) mod descriptor_stats;
pub(in crate::read) mod dictionary_entries;
pub(in crate::read) mod fetch;
mod fetch_policy;
pub(in crate::read) mod metadata;
pub(in crate::read) mod names;
pub(in crate::read) mod open_field;
pub(in crate::read) mod options;
pub(in crate::read) mod projection;
mod requests;
pub(in crate::read) mod shared_bytes;
pub(in crate::read) mod store;
pub(in crate::read) mod stored_types;
pub(in crate::read) mod waiting;
