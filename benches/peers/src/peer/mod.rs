//! The formats, as implementations of one trait.

mod ipc;
pub(crate) mod parquet;
pub(crate) mod shard;
mod traits;
mod vortex;

pub(crate) use traits::{Opened, Peer, Source, Want};

use crate::question::Question;
use ::parquet::basic::{Compression, ZstdLevel};
use arrow_shard::write::Profile;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A format with writer options, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    ShardPlain,
    ShardBalanced,
    ShardHigh,
    /// Balanced, with each struct column as a packed group.
    ShardPacked,
    ParquetNone,
    ParquetSnappy,
    ParquetZstd,
    VortexDefault,
    VortexCompact,
    IpcNone,
    IpcZstd,
}

impl Format {
    /// Returns the implementation; only shards use `threads` threads.
    pub(crate) fn peer(self, threads: usize) -> Box<dyn Peer> {
        let shards = |profile| Box::new(shard::Shards::new(profile, threads));
        let zstd = || Compression::ZSTD(ZstdLevel::try_new(3).expect("zstd has a level 3"));
        match self {
            Self::ShardPlain => shards(Profile::Plain),
            Self::ShardBalanced => shards(Profile::Balanced),
            Self::ShardHigh => shards(Profile::HighCompression),
            Self::ShardPacked => Box::new(shard::Shards::packed(threads)),
            Self::ParquetNone => Box::new(parquet::Parquet::new(Compression::UNCOMPRESSED)),
            Self::ParquetSnappy => Box::new(parquet::Parquet::new(Compression::SNAPPY)),
            Self::ParquetZstd => Box::new(parquet::Parquet::new(zstd())),
            Self::VortexDefault => Box::new(vortex::Vortex::standard()),
            Self::VortexCompact => Box::new(vortex::Vortex::compact()),
            Self::IpcNone => Box::new(ipc::Ipc::uncompressed()),
            Self::IpcZstd => Box::new(ipc::Ipc::zstd()),
        }
    }

    /// Returns whether the format is measured with a question and a table.
    pub(crate) fn answers(self, table: &str, question: Question) -> bool {
        let shards = self.is_shard();
        match (self, question) {
            (Self::ShardPacked, _) if table != "records" => false,
            // It takes half a minute to write 10,000 columns.
            (Self::VortexCompact, _) if table == "wide_50000" => false,
            // Its reader selects columns only by position.
            (Self::IpcNone | Self::IpcZstd, Question::Names3) => false,
            (_, Question::WriteHeld) => shards,
            (_, question) => shards || question.threads() == 1,
        }
    }

    /// Returns whether the format is a shard, not a peer.
    pub(crate) fn is_shard(self) -> bool {
        matches!(
            self,
            Self::ShardPlain | Self::ShardBalanced | Self::ShardHigh | Self::ShardPacked
        )
    }

    /// Returns the name on the command line, in files and in the report.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value().expect("no format is hidden");
        value.get_name().to_owned()
    }
}
