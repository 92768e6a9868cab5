//! Shards of [`arrow_shard`] as tables of [Apache DataFusion](https://datafusion.apache.org/).
//!
//! One call registers the format; everything else is SQL:
//!
//! ```
//! use datafusion::prelude::SessionContext;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().display();
//! let ctx = SessionContext::new();
//! arrow_shard_datafusion::register(&ctx)?;
//!
//! let copy = format!("COPY (VALUES (1, 'Oslo'), (2, 'Lima')) TO '{folder}/cities.shard'");
//! ctx.sql(&copy).await?.collect().await?;
//! let create = format!("CREATE EXTERNAL TABLE cities STORED AS SHARD LOCATION '{folder}/cities.shard'");
//! ctx.sql(&create).await?;
//! let rows = ctx.sql("SELECT column2 FROM cities WHERE column1 > 1").await?.collect().await?;
//! assert_eq!(rows[0].num_rows(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! A scan is DataFusion's own `DataSourceExec` over [`ShardSource`]. Its optimizer rules support this node, and so do
//! engines that distribute plans. A scan evaluates:
//!
//! | | |
//! |-|-|
//! | projection | of columns and members of structs; expressions are evaluated on the values read |
//! | filters | all except volatile ones: as a [`Predicate`](arrow_shard::read::Predicate) with the same meaning, otherwise as a function of the columns, after statistics |
//! | dynamic filters | of joins and TopK, checked again at every stripe and every 65,536 rows |
//! | limit | if no filter is above the scan |
//! | order | from the sorting columns of the files: exact, or in reverse for TopK |
//! | statistics | `count(*)`, `min` and `max` from metadata, where they are exact |
//! | partitions | of about equal numbers of rows, down to 65,536 |
//!
//! Deleted rows stay hidden. [`TableShardOptions`] has the options of sessions and tables.

mod adapt;
mod by_name;
mod error;
mod format;
mod hash_router;
mod metadata;
mod metrics;
mod opener;
mod options;
mod ordering;
mod overlap;
mod predicate;
mod pruning;
#[cfg(feature = "session")]
mod register;
mod sampler;
mod sink;
mod source;
mod statistics;
mod widening;

pub use format::{ShardFormat, ShardFormatFactory};
pub use opener::ShardOpener;
pub use options::TableShardOptions;
#[cfg(feature = "session")]
pub use register::{register, register_state};
pub use sink::ShardSink;
pub use source::ShardSource;

/// Compiles and runs the example of the README as it is shown.
#[cfg(all(doctest, feature = "session"))]
#[doc = include_str!("../README.md")]
struct Readme;
