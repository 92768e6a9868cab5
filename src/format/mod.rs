//! The metadata elements of the format, one file each, as plain data.

mod any_value;
mod checksum;
mod data_encoding;
mod data_ref;
pub(crate) mod decimal128;
mod directory;
mod field_descriptor;
pub(crate) mod flat;
mod foreign;
mod frame;
mod generated;
mod header;
mod index;
mod schema;
mod schema_reader;
mod schema_writer;
mod tail;
mod wire;
mod writer_info;

pub use any_value::{AnyValue, NameValuePair, ValueKind, find_property};
pub use checksum::{RunningChecksum, checksum};
pub(crate) use data_encoding::parquet_type_name;
pub use data_encoding::{
    BufferKind, DataEncoding, EncodedBuffer, NativeDataEncoding, ParquetColumnChunkRef,
    ParquetFileColumnRef,
};
pub use data_ref::{DataRef, DataRefArray};
#[cfg(feature = "experimental")]
pub use decimal128::decimal128_text;
pub use directory::{
    ShardDirectory, ShardProperties, StripeDirectory, StripeList, StripeProperties, UrlList,
};
pub use field_descriptor::{
    CardinalityInfo, FieldDescriptor, HllSketch, LengthStats, RangeStats, SignStats, Sketch,
    SplitBlockBloomFilter, StripeFieldDescriptor, TypeStats,
};
pub use frame::{FRAME_OVERHEAD, open, seal};
pub use header::{FormatVersion, HEADER, HEADER_LEN, MAGIC};
pub use index::{INDEX_BLOCK, IndexArtifact, IndexCollection, IndexDescriptor};
pub use schema::{BasicType, DataType, ExtendedType, Field, PropertyValue, Schema};
pub use schema::{DELETED_RECORD, INGESTION_TIMESTAMP, RECORD_IDENTITY};
pub use schema_reader::{NamedFields, SchemaReader};
pub use tail::DirectoryTail;
pub use wire::{Capabilities, DataRefs, Message, Wire};
pub use writer_info::{WRITERS_PROPERTY, WriterInfo};

/// Rows per window of a stripe, or positions of a field inside of a list. The writer ends blocks at window borders and
/// chooses the encodings of each window separately. The reader tests, shares out and caches rows by window, so that it
/// rarely decodes a block twice. The format does not define windows: other writers may end their blocks elsewhere.
pub(crate) const WINDOW_ROWS: usize = 65_536;
