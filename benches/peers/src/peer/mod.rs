//! The formats, behind one trait.

mod ipc;
mod parquet;
mod shard;
mod vortex;

use crate::counted::Reads;
use crate::data::Filter;
use crate::question::Question;
use ::parquet::basic::{Compression, ZstdLevel};
use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_shard::write::Profile;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// A format and how it is written; the order is that of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    ShardPlain,
    ShardBalanced,
    ShardHigh,
    /// Balanced, with a packed group of each column that is a struct.
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
    /// The format, written and read by that many threads if it is one of shards.
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

    /// Whether the question about that table is put to the format.
    pub(crate) fn answers(self, table: &str, question: Question) -> bool {
        let shards = self.is_shard();
        match (self, question) {
            (Self::ShardPacked, _) if table != "records" => false,
            // It writes 10,000 columns in half a minute.
            (Self::VortexCompact, _) if table == "wide_50000" => false,
            // Its reader takes positions alone.
            (Self::IpcNone | Self::IpcZstd, Question::Names3) => false,
            (_, Question::WriteHeld) => shards,
            (_, question) => shards || question.threads() == 1,
        }
    }

    /// Whether it is one of ours, and not a peer.
    pub(crate) fn is_shard(self) -> bool {
        matches!(
            self,
            Self::ShardPlain | Self::ShardBalanced | Self::ShardHigh | Self::ShardPacked
        )
    }

    /// Name on the command line, in files and in the report.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value().expect("no format is hidden");
        value.get_name().to_owned()
    }
}

/// How the bytes of a file are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// By positioned reads, which are counted.
    File,
    /// Through a memory map.
    Map,
    /// As an object of a store that is far away, by asynchronous readers.
    Store,
    /// Through a memory map, and nothing is verified: no checksum, no offset, no UTF-8.
    TrustedMap,
}

/// What a scan reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Want<'a> {
    /// All columns, in the types that were written.
    Written,
    /// All columns, in these types.
    Types(&'a SchemaRef),
    /// Columns by position, in the types that were written.
    Columns(&'a [usize]),
    /// Columns by name, in the types that were written.
    Names(&'a [String]),
    /// The rows that match, all columns, in the types that were written.
    Matching(&'a Filter),
}

/// The file of a table.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a Path,
    /// The schema that was written. Formats that keep it do not look at it.
    pub(crate) schema: &'a SchemaRef,
    pub(crate) reads: &'a Arc<Reads>,
}

/// Batches that are written.
pub(crate) type Batches<'a> = dyn Iterator<Item = Result<RecordBatch, ArrowError>> + 'a;

/// A format, written in one way. All that it does is done by the calling thread, but what shards do
/// with more of them.
pub(crate) trait Peer {
    /// Writes a file. Nobody waits for the disk.
    fn write(&self, path: &Path, schema: &SchemaRef, batches: &mut Batches<'_>) -> Result<()>;

    /// Opens a file; `None` if the format has no such access.
    fn open(&self, source: &Source<'_>, access: Access) -> Result<Option<Box<dyn Opened>>>;
}

/// A file that is open. What was read of it before may be kept.
pub(crate) trait Opened {
    /// Reads the wanted rows in their order, as Arrow arrays of the wanted types.
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()>;

    /// Reads the rows with the given numbers, which ascend: all columns, in one batch.
    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch>;
}

/// Maps a file into memory.
pub(crate) fn map(path: &Path) -> Result<bytes::Bytes> {
    let file = std::fs::File::open(path)?;
    // SAFETY: the file was written before, and nobody else knows it.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(bytes::Bytes::from_owner(map))
}
