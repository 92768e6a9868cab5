//! What is compared: formats, and options of DataFusion for them.

use anyhow::{Result, bail};
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

/// A format of files, with options.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
pub(crate) enum Subject {
    Shard,
    /// Filters above the scan.
    Parquet,
    /// Filters in the scan, in the order that it chooses.
    ParquetPushdown,
    Vortex,
}

impl Subject {
    pub(crate) const ALL: [Self; 4] = [
        Self::Shard,
        Self::Parquet,
        Self::ParquetPushdown,
        Self::Vortex,
    ];

    /// What stands after `STORED AS`, which in small letters is the ending of files as well.
    pub(crate) fn format(self) -> &'static str {
        match self {
            Self::Shard => "SHARD",
            Self::Parquet | Self::ParquetPushdown => "PARQUET",
            Self::Vortex => "VORTEX",
        }
    }

    /// What a table is written with.
    pub(crate) fn copy_options(self) -> &'static str {
        match self {
            Self::Shard => "OPTIONS ('format.profile' 'balanced')",
            Self::Parquet | Self::ParquetPushdown => "OPTIONS ('format.compression' 'zstd(3)')",
            Self::Vortex => "",
        }
    }

    /// A session that reads and writes the format with so many partitions.
    pub(crate) fn session(self, partitions: usize) -> Result<SessionContext> {
        let mut config = SessionConfig::new().with_target_partitions(partitions);
        let parquet = &mut config.options_mut().execution.parquet;
        if self == Self::ParquetPushdown {
            parquet.pushdown_filters = true;
            parquet.reorder_filters = true;
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
        if self == Self::Shard {
            arrow_shard_datafusion::register(&context)?;
        }
        Ok(context)
    }

    /// Where the file of a table is.
    pub(crate) fn file(self, data: &Path, table: &str) -> std::path::PathBuf {
        let ending = self.format().to_lowercase();
        data.join(&ending).join(format!("{table}.{ending}"))
    }
}
