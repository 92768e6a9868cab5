//! Spec: Chapter 6, "External Parquet Encoding": values in column chunks of Parquet files.
//!
//! The descriptor of the stripe field says where the chunks are and how they are encoded, so that the footers of their
//! files are not read. Pages are checked before the crate `parquet` decodes them.

mod bloom_filter;
mod chunk_feed;
mod column;
mod compression;
mod cursor;
mod decoder;
mod deltas;
mod description;
mod entries;
mod footer;
mod leaf;
mod page;
mod page_checksums;
mod page_feed;
mod page_header;
mod row_group;
mod runs;
mod text;
mod thrift;
mod values;

/// The pages of a column chunk: their rows, and their bytes from the first page on.
pub(crate) use crate::buffer::BlockMap as PageMap;
pub(crate) use bloom_filter::BloomFilterHeader;
pub(crate) use column::{physical_code, walk_pages};
pub(crate) use description::{
    Codec, DescribedChunk, DescribedFile, PARQUET_PROPERTY, ParquetDescription,
};
pub(crate) use footer::Footers;
pub(crate) use leaf::{MAX_GROUPS, guarded, message_of, places_of_leaves};
pub(crate) use page_header::{PageHeader, PageKind};
pub(crate) use row_group::CheckedColumns;
pub(crate) use thrift::{check_footer, has_field, is_struct};
pub(crate) use values::ParquetValues;
