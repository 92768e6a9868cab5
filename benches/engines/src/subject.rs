//! The compared subjects: formats with options of DataFusion.

use anyhow::{Result, bail};
use arrow_shard_datafusion::TableShardOptions;
use datafusion::common::GetExt;
use datafusion::datasource::provider::DefaultTableFactory;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use vortex::VortexSessionDefault;
use vortex::io::session::RuntimeSessionExt;
use vortex::session::VortexSession;
use vortex_datafusion::VortexFormatFactory;

/// A file format with options.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
pub(crate) enum Subject {
    /// Filters in the scan.
    Shard,
    /// Filters above the scan, which still skips stripes by their statistics.
    ShardNoPushdown,
    /// Shards over the files of `Parquet`, with filters in the scan.
    Attached,
    /// Filters above the scan.
    Parquet,
    /// Filters in the scan, in an order that the scan chooses.
    ParquetPushdown,
    Vortex,
}

impl Subject {
    pub(crate) const ALL: [Self; 6] = [
        Self::Shard,
        Self::ShardNoPushdown,
        Self::Attached,
        Self::Parquet,
        Self::ParquetPushdown,
        Self::Vortex,
    ];

    /// Returns the name for `STORED AS`; in lower case, it is the extension of files.
    pub(crate) fn format(self) -> &'static str {
        match self {
            Self::Shard | Self::ShardNoPushdown | Self::Attached => "SHARD",
            Self::Parquet | Self::ParquetPushdown => "PARQUET",
            Self::Vortex => "VORTEX",
        }
    }

    /// Returns the options for writing a table. Attached tables are not written.
    pub(crate) fn copy_options(self) -> &'static str {
        match self {
            Self::Shard | Self::ShardNoPushdown => "OPTIONS ('format.profile' 'balanced')",
            Self::Parquet | Self::ParquetPushdown => "OPTIONS ('format.compression' 'zstd(3)')",
            Self::Attached | Self::Vortex => "",
        }
    }

    /// Creates a session that reads and writes the format with this number of partitions.
    pub(crate) fn session(self, partitions: usize) -> Result<SessionContext> {
        let mut config = SessionConfig::new().with_target_partitions(partitions);
        let options = config.options_mut();
        if self == Self::ParquetPushdown {
            options.execution.parquet.pushdown_filters = true;
            options.execution.parquet.reorder_filters = true;
        }
        if self == Self::ShardNoPushdown {
            options.extensions.insert(TableShardOptions {
                pushdown_filters: false,
                ..TableShardOptions::default()
            });
        }
        let mut state = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features();
        if self == Self::Vortex {
            let vortex = VortexSession::default().with_tokio();
            let factory = Arc::new(VortexFormatFactory::new_with_session(vortex));
            let name = factory.get_ext().to_uppercase();
            state = state.with_table_factory(name, Arc::new(DefaultTableFactory::new()));
            match state.file_formats() {
                Some(formats) => formats.push(factory),
                None => bail!("the session has no formats"),
            }
        }
        let context = SessionContext::new_with_state(state.build());
        if self.format() == Self::Shard.format() {
            arrow_shard_datafusion::register(&context)?;
        }
        Ok(context)
    }

    /// Returns the path of a table's file.
    pub(crate) fn file(self, data: &Path, table: &str) -> std::path::PathBuf {
        let ending = self.format().to_lowercase();
        let folder = match self {
            // A shard refers to files in its own folder.
            Self::Attached => Self::Parquet.format().to_lowercase(),
            _ => ending.clone(),
        };
        data.join(folder).join(format!("{table}.{ending}"))
    }
}
