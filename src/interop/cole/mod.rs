//! COLE files: the columnar format of the COLE specification, version 1.0.
//!
//! A COLE file has columns of 32-bit integers, 64-bit integers and strings, without nulls. Rows are divided into row
//! groups, each column of a row group into pages, and every page is encoded separately. The page `docs/cole.md` of the
//! repository describes how this crate handles the details that the specification leaves open.
//!
//! ```text
//! ┌────────┬────────────────────────────────────────┬─────┬──────────┬────────┐
//! │ header │ row group 0                            │ ... │ metadata │ footer │
//! │        │ column a: header page, header page, .. │     │          │        │
//! │        │ column b: ...                          │     │          │        │
//! └────────┴────────────────────────────────────────┴─────┴──────────┴────────┘
//! ```
//!
//! [`Writer`] writes batches with columns of the types Int32, Int64 and Utf8. [`Reader`] returns all rows, or the
//! columns and rows selected by a [`ReaderBuilder`]. Both are blocking, and have no asynchronous form: COLE files are
//! read and written to convert them. To read an object, implement [`ReadAt`](crate::io::ReadAt) for it.
//!
//! ```
//! use arrow_shard::arrow_array::record_batch;
//! use arrow_shard::bytes::Bytes;
//! use arrow_shard::interop::cole::{ReaderBuilder, Writer, WriterOptions};
//! use arrow_shard::read::col;
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let batch = record_batch!(("id", Int32, [1, 2, 3]), ("name", Utf8, ["Oslo", "Lima", "Linz"]))?;
//! let mut file = Vec::new();
//! let mut writer = Writer::try_new(&mut file, batch.schema(), WriterOptions::default())?;
//! writer.write(&batch)?;
//! writer.finish()?;
//!
//! let builder = ReaderBuilder::try_new(Arc::new(Bytes::from(file)))?;
//! assert_eq!(builder.num_rows(), 3);
//! let reader = builder.with_projection(["name"]).with_filter(col("id").gt(1)).build()?;
//! let rows: usize = reader.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<_, _>>()?;
//! assert_eq!(rows, 2);
//! # Ok(())
//! # }
//! ```

mod chunk_reader;
mod column_schema;
mod cursor;
mod encoding;
mod encoding_type;
mod footer;
mod header;
mod metadata;
mod page_header;
mod reader;
mod reader_builder;
mod row_group;
mod varint;
mod writer;

pub use column_schema::{ColumnSchema, ColumnType};
pub use encoding_type::Encoding;
pub use metadata::FileMetadata;
pub use page_header::{PageHeader, Statistics};
pub use reader::Reader;
pub use reader_builder::ReaderBuilder;
pub use row_group::{ColumnChunkMetadata, RowGroupMetadata};
pub use writer::{Summary, Writer, WriterOptions};
