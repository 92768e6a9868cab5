//! Amudai shards on a cluster of [Ballista](https://datafusion.apache.org/ballista/).
//!
//! ```text
//! client             scheduler                    executors
//! SQL ─► logical ──► tables of shards, ─► stages ──► scans of shards,
//!        plan        physical plan                   sinks of shards
//!            └─ ShardLogicalExtensionCodec   └─ ShardPhysicalExtensionCodec
//! ```
//!
//! [`remote`] returns a session that runs queries on a cluster of the programs `shard-scheduler` and `shard-executor`;
//! [`standalone`] returns a session with both in its own process. SQL creates tables, as on one machine:
//!
//! ```no_run
//! # async fn run() -> datafusion::error::Result<()> {
//! let session = arrow_shard_ballista::remote("df://localhost:50050").await?;
//! session
//!     .sql("CREATE EXTERNAL TABLE trips STORED AS SHARD LOCATION 's3://bucket/trips/'")
//!     .await?;
//! session
//!     .sql("SELECT day, count(*) FROM trips GROUP BY day")
//!     .await?
//!     .show()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! Every process opens files itself: at the same paths on all machines, or in a store that the environment variables
//! `AWS_*` describe. A program that needs other stores registers them in its own processes, which [`process`]
//! configures.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod process;

mod logical;
mod options;
mod physical;
mod planner;
mod scan;
mod session;
mod sink;
mod stores;
mod table;
mod wire;

pub use logical::ShardLogicalExtensionCodec;
pub use physical::ShardPhysicalExtensionCodec;
pub use session::{
    remote, remote_with_state, runtime_env, session_config, session_state, standalone,
    standalone_with_state,
};
pub use stores::EnvironmentStores;
