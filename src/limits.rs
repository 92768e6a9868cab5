//! Limits on the resources that a file may demand of a reader.

use crate::error::{Error, ErrorKind, Result};
use crate::settings::settings;
use std::fmt::Display;

/// Upper bounds that a reader enforces on every input, so that a damaged or hostile file causes an error instead of
/// exhausting the machine. The defaults are far above the needs of ordinary shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    max_message_bytes: u64,
    max_schema_nodes: u32,
    max_schema_depth: u32,
    max_value_depth: u32,
    max_encoding_depth: u32,
    max_stripes: u64,
    max_block_values: u32,
    max_block_bytes: u64,
    max_dictionary_bytes: u64,
    max_batch_bytes: u64,
    max_absent_bytes: u64,
    max_cached_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 1 << 30,
            max_schema_nodes: 4_000_000,
            max_schema_depth: 64,
            max_value_depth: 32,
            max_encoding_depth: 8,
            max_stripes: 1 << 22,
            max_block_values: 1 << 20,
            max_block_bytes: 1 << 32,
            max_dictionary_bytes: 1 << 32,
            max_batch_bytes: 1 << 33,
            max_absent_bytes: 1 << 28,
            max_cached_bytes: 1 << 28,
        }
    }
}

settings! {
    Limits {
        /// Maximum size in bytes of a metadata message, block map or range index: 1 GiB by default.
        max_message_bytes, with_max_message_bytes: u64;
        /// Maximum number of schema nodes, nested ones included: 4,000,000 by default.
        max_schema_nodes, with_max_schema_nodes: u32;
        /// Maximum nesting of schema nodes, in levels: 64 by default.
        max_schema_depth, with_max_schema_depth: u32;
        /// Maximum nesting of a property value, in levels: 32 by default.
        max_value_depth, with_max_value_depth: u32;
        /// Maximum nesting of block encodings, in levels: 8 by default.
        max_encoding_depth, with_max_encoding_depth: u32;
        /// Maximum number of stripes in a shard: 4,194,304 by default.
        max_stripes, with_max_stripes: u64;
        /// Maximum number of values in a block: 1,048,576 by default, 16 times the largest block of known writers.
        /// Without a limit, a few bytes could encode any number of equal values.
        max_block_values, with_max_block_values: u32;
        /// Maximum number of decoded bytes of a block: 4 GiB by default. The same limit applies to the bytes of the
        /// numbers that all levels of its encodings hold together during decoding.
        max_block_bytes, with_max_block_bytes: u64;
        /// Maximum size in bytes of a value dictionary, and of all compressor dictionaries of a stripe field together:
        /// 4 GiB by default. Encoded entries of a value dictionary also have the limits of a block.
        max_dictionary_bytes, with_max_dictionary_bytes: u64;
        /// Maximum number of bytes of Arrow data in a batch: 8 GiB by default. A larger batch is an error; for smaller
        /// batches, use [`ScanBuilder::with_batch_size`](crate::read::ScanBuilder::with_batch_size).
        max_batch_bytes, with_max_batch_bytes: u64;
        /// Maximum number of bytes in a batch for items of fixed-size lists that the file does not store, because they
        /// are null or all equal: 256 MiB by default. A null list takes no bytes in the file, but as much memory as the
        /// list size in the schema demands.
        max_absent_bytes, with_max_absent_bytes: u64;
        /// Maximum number of bytes that an open shard caches of each kind of parsed element: 256 MiB by default. The
        /// kinds are: lists of fields; fields of stripes with their statistics, block maps, dictionaries and range
        /// indexes; and arrays of text in memory. A full cache drops the oldest elements, which are parsed again when
        /// they are needed.
        max_cached_bytes, with_max_cached_bytes: u64;
    }
}

/// Returns the error for a file that exceeds a limit. It names the limit that the caller can raise.
#[cold]
pub(crate) fn exceeded(limit: &str, allowed: u64, found: impl Display) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        format!("{found}, and Limits::{limit} allows {allowed}"),
    )
}

impl Limits {
    /// Returns limits for untrusted files: far below the defaults, but above the needs of ordinary tables. The worst
    /// file costs a scan on one thread a few hundred megabytes of memory.
    ///
    /// | limit | strict | default |
    /// |-|-:|-:|
    /// | [`max_message_bytes`](Self::max_message_bytes) | 64 MiB | 1 GiB |
    /// | [`max_schema_nodes`](Self::max_schema_nodes) | 100,000 | 4,000,000 |
    /// | [`max_schema_depth`](Self::max_schema_depth) | 32 | 64 |
    /// | [`max_value_depth`](Self::max_value_depth) | 8 | 32 |
    /// | [`max_encoding_depth`](Self::max_encoding_depth) | 8 | 8 |
    /// | [`max_stripes`](Self::max_stripes) | 65,536 | 4,194,304 |
    /// | [`max_block_values`](Self::max_block_values) | 262,144 | 1,048,576 |
    /// | [`max_block_bytes`](Self::max_block_bytes) | 64 MiB | 4 GiB |
    /// | [`max_dictionary_bytes`](Self::max_dictionary_bytes) | 64 MiB | 4 GiB |
    /// | [`max_batch_bytes`](Self::max_batch_bytes) | 256 MiB | 8 GiB |
    /// | [`max_absent_bytes`](Self::max_absent_bytes) | 32 MiB | 256 MiB |
    /// | [`max_cached_bytes`](Self::max_cached_bytes) | 32 MiB | 256 MiB |
    ///
    /// ```
    /// use arrow_shard::Limits;
    /// use arrow_shard::read::ShardOptions;
    /// let options = ShardOptions::default().with_limits(Limits::strict());
    /// assert_eq!(options.limits().max_batch_bytes(), 256 << 20);
    /// ```
    pub fn strict() -> Self {
        Self {
            max_message_bytes: 64 << 20,
            max_schema_nodes: 100_000,
            max_schema_depth: 32,
            max_value_depth: 8,
            max_encoding_depth: 8,
            max_stripes: 1 << 16,
            max_block_values: 1 << 18,
            max_block_bytes: 64 << 20,
            max_dictionary_bytes: 64 << 20,
            max_batch_bytes: 256 << 20,
            max_absent_bytes: 32 << 20,
            max_cached_bytes: 32 << 20,
        }
    }

    /// Fails if a metadata message is larger than the limits allow.
    pub(crate) fn check_message_bytes(&self, bytes: u64) -> Result<()> {
        match self.max_message_bytes {
            limit if bytes > limit => Err(exceeded(
                "max_message_bytes",
                limit,
                format_args!("the message has {bytes} bytes"),
            )),
            _ => Ok(()),
        }
    }

    /// Fails if there are more stripes than the limits allow.
    pub(crate) fn check_stripes(&self, count: u64) -> Result<()> {
        match self.max_stripes {
            limit if count > limit => Err(exceeded(
                "max_stripes",
                limit,
                format_args!("there are {count} stripes"),
            )),
            _ => Ok(()),
        }
    }

    /// Fails if a block has more values than the limits allow.
    pub(crate) fn check_block_values(&self, count: u64) -> Result<()> {
        match u64::from(self.max_block_values) {
            limit if count > limit => Err(exceeded(
                "max_block_values",
                limit,
                format_args!("a block holds {count} values"),
            )),
            _ => Ok(()),
        }
    }

    /// Fails if a block decodes to more bytes than the limits allow.
    pub(crate) fn check_block_bytes(&self, bytes: u64) -> Result<()> {
        let limit = self.max_block_bytes;
        if bytes > limit {
            let found = format_args!("a block decodes to {bytes} bytes");
            return Err(exceeded("max_block_bytes", limit, found));
        }
        Ok(())
    }

    /// Fails if items of fixed-size lists that are not stored would take more memory than the limits allow.
    pub(crate) fn check_absent_bytes(&self, bytes: u64) -> Result<()> {
        let limit = self.max_absent_bytes;
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::LimitExceeded,
            format!(
                "{bytes} bytes for items that are not stored exceed Limits::max_absent_bytes ({limit}); \
                 read fewer rows at a time, leave the column out, or raise the limit"
            ),
        ))
    }

    /// Fails if a batch would have more bytes than the limits allow.
    pub(crate) fn check_batch_bytes(&self, elements: u64, width: usize) -> Result<()> {
        let (bytes, limit) = (elements.saturating_mul(width as u64), self.max_batch_bytes);
        if bytes > limit {
            let found = match width {
                1 => format!("{bytes} bytes"),
                _ => format!("{elements} elements of {width} bytes"),
            };
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "{found} exceed Limits::max_batch_bytes ({limit}); \
                     read smaller batches or raise the limit"
                ),
            ));
        }
        Ok(())
    }
}
