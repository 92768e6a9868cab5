//! The limits for shards as command line options.

use crate::external_files::ExternalFileArgs;
use crate::size::size;
use arrow_shard::io::ExternalFiles;
use arrow_shard::read::ShardOptions;
use arrow_shard::{Limits, Result};

/// Maximum number of bytes of metadata of each kind that an open shard keeps: a command reads most stripes once.
const CACHED_BYTES: u64 = 32 << 20;

/// Options of every command that opens shards.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LimitArgs {
    /// Approximate amount of memory for reading a shard, such as 512M or 4G: a shard with batches, blocks, dictionaries
    /// or metadata that need more is an error [default: 16G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_memory: Option<u64>,
    /// Reject shards that need more than ordinary tables in memory (512M, or --max-memory), columns, stripes or
    /// nesting: for files from untrusted sources
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    external_files: ExternalFileArgs,
}

impl LimitArgs {
    /// Returns the limits that the options select.
    pub(crate) fn limits(&self) -> Limits {
        let limits = if self.strict {
            Limits::strict()
        } else {
            Limits::default().with_max_cached_bytes(CACHED_BYTES)
        };
        let Some(memory) = self.max_memory else {
            return limits;
        };
        // The proportions are the same as in `Limits::strict`. The sum is about the whole memory, because there are
        // three kinds of caches.
        limits
            .with_max_batch_bytes(memory / 2)
            .with_max_block_bytes(memory / 8)
            .with_max_dictionary_bytes(memory / 8)
            .with_max_message_bytes(memory / 8)
            .with_max_cached_bytes(memory / 16)
            .with_max_absent_bytes(memory / 16)
    }

    /// Returns the name of the first given option.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let memory = self.max_memory.map(|_| "--max-memory");
        let strict = self.strict.then_some("--strict");
        let external = self.external_files.is_given().then_some("--external-files");
        memory.or(strict).or(external)
    }

    /// Returns options for opening a shard that is read.
    pub(crate) fn shard_options(&self) -> Result<ShardOptions> {
        let files = self.external_files.blocking_folders()?;
        let options = ShardOptions::default().with_limits(self.limits());
        Ok(options.with_external_files(files))
    }

    /// Returns options for opening a shard that is edited.
    pub(crate) fn editing_options(&self) -> Result<ShardOptions> {
        let options = ShardOptions::default().with_limits(self.limits());
        Ok(options.with_external_files(self.external_files()?))
    }

    /// Returns the folders outside of the shard's folder where its Parquet files may be, for edits.
    pub(crate) fn external_files(&self) -> Result<ExternalFiles> {
        self.external_files.folders()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_keeps_its_counts_beside_other_memory() {
        let of = |max_memory, strict| {
            let args = LimitArgs {
                max_memory,
                strict,
                ..LimitArgs::default()
            };
            args.limits()
        };
        let default = Limits::default().with_max_cached_bytes(CACHED_BYTES);
        assert_eq!(of(None, false), default);
        assert_eq!(of(None, true), Limits::strict());
        let memory = of(Some(512 << 20), true);
        assert_eq!(memory, Limits::strict());
        let more = of(Some(1 << 40), true);
        assert_eq!(more.max_stripes(), Limits::strict().max_stripes());
        assert_eq!(more.max_batch_bytes(), 1 << 39);
    }
}
