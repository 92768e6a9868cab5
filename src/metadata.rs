//! Metadata that writers store and readers return: properties, sorting columns, internal fields, the mapping of
//! types, and the wire form of the metadata.

pub use crate::column::TypeMapping;
pub use crate::format::{
    AnyValue, DataRef, INGESTION_TIMESTAMP, NameValuePair, RECORD_IDENTITY, ShardProperties,
    StripeProperties, ValueKind, Wire, WriterInfo,
};
pub use crate::sorting::SortingColumn;
