//! The formats, as implementations of one trait.

mod ipc;
pub(crate) mod parquet;
pub(crate) mod shard;
mod vortex;

use crate::counted::Reads;
use crate::data::Filter;
use crate::question::{Access, Question};
use ::parquet::basic::{Compression, ZstdLevel};
use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_shard::write::Profile;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

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

/// The columns and rows of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Want<'a> {
    /// All columns, in the written types.
    Written,
    /// All columns, in these types.
    Types(&'a SchemaRef),
    /// Columns by position, in the written types.
    Columns(&'a [usize]),
    /// Columns by name, in the written types.
    Names(&'a [String]),
    /// All columns of the rows that match, in the written types.
    Matching(&'a Filter),
}

/// The file of a table.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a Path,
    /// The written schema. Formats that store it ignore this field.
    pub(crate) schema: &'a SchemaRef,
    pub(crate) reads: &'a Arc<Reads>,
}

/// Batches to write.
pub(crate) type Batches<'a> = dyn Iterator<Item = Result<RecordBatch, ArrowError>> + 'a;

/// A format with writer options. All work runs on the calling thread, except for shards with several threads.
pub(crate) trait Peer {
    /// Writes a file, without waiting for the disk.
    fn write(&self, path: &Path, schema: &SchemaRef, batches: &mut Batches<'_>) -> Result<()>;

    /// Opens a file; `None` if the format does not support the access.
    fn open(&self, source: &Source<'_>, access: Access) -> Result<Option<Box<dyn Opened>>>;
}

/// An open file. It may keep data from earlier reads.
pub(crate) trait Opened {
    /// Reads the wanted rows in their order, as Arrow arrays of the wanted types.
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()>;

    /// Reads all columns of the rows with the given, ascending numbers, in one batch.
    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch>;
}

/// Maps a file into memory.
pub(crate) fn map(path: &Path) -> Result<bytes::Bytes> {
    let file = std::fs::File::open(path)?;
    // SAFETY: the file is complete, and no other process changes it.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(bytes::Bytes::from_owner(map))
}
