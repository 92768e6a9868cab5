//! How much a reader allows a file to ask for.

use crate::error::{Error, ErrorKind, Result};
use crate::settings::settings;
use std::fmt::Display;

/// Upper bounds that a reader enforces on every input, so that a damaged or hostile file costs an
/// error and not the machine. The defaults are far above what any sound shard needs.
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
        /// Largest metadata message, block map or range index, in bytes; 1 GiB by default.
        max_message_bytes, with_max_message_bytes: u64;
        /// Most schema nodes, nested ones included; 4,000,000 by default.
        max_schema_nodes, with_max_schema_nodes: u32;
        /// Deepest nesting of schema nodes, in levels; 64 by default.
        max_schema_depth, with_max_schema_depth: u32;
        /// Deepest nesting of a property value, in levels; 32 by default.
        max_value_depth, with_max_value_depth: u32;
        /// Deepest nesting of block encodings, in levels; 8 by default.
        max_encoding_depth, with_max_encoding_depth: u32;
        /// Most stripes of a shard; 4,194,304 by default.
        max_stripes, with_max_stripes: u64;
        /// Most values of one block; 1,048,576 by default, 16 times the largest block of known writers. A few
        /// bytes may stand for any number of equal values.
        max_block_values, with_max_block_values: u32;
        /// Most decoded bytes of one block, and most bytes of the numbers that all levels of its
        /// encodings together hold while it is decoded; 4 GiB by default.
        max_block_bytes, with_max_block_bytes: u64;
        /// Largest value dictionary, and most that the compressor dictionaries of a stripe field
        /// come to, in bytes; 4 GiB by default.
        max_dictionary_bytes, with_max_dictionary_bytes: u64;
        /// Most bytes of Arrow data in one batch; 8 GiB by default.
        max_batch_bytes, with_max_batch_bytes: u64;
        /// Most bytes in one batch of items that the file does not store, because they are null or all the
        /// same, in lists of a fixed size; 256 MiB by default. A null list takes as much memory as its size in the
        /// schema says, and not a byte of the file.
        max_absent_bytes, with_max_absent_bytes: u64;
        /// Most bytes that an open shard caches of each kind of parsed element; 256 MiB by default. The
        /// kinds are lists of fields; fields of stripes with their statistics, block maps,
        /// dictionaries and range indexes; and arrays of text in memory. Beyond that it drops the
        /// oldest, and parses them again when they are needed.
        max_cached_bytes, with_max_cached_bytes: u64;
    }
}

/// The error of a file that asks for more than a limit allows: it names the limit, as the caller
/// would raise it.
#[cold]
pub(crate) fn exceeded(limit: &str, allowed: u64, found: impl Display) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        format!("{found}, and Limits::{limit} allows {allowed}"),
    )
}

impl Limits {
    /// Limits for files of strangers: far below the defaults, yet above what shards of ordinary
    /// tables need, so that the worst file costs a service some hundred megabytes and no more.
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

    /// Refuses metadata messages that are larger than the limits allow.
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

    /// Refuses more stripes than the limits allow.
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

    /// Refuses blocks of more values than the limits allow.
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

    /// Refuses blocks that decode to more bytes than the limits allow.
    pub(crate) fn check_block_bytes(&self, bytes: u64) -> Result<()> {
        let limit = self.max_block_bytes;
        if bytes > limit {
            let found = format_args!("a block decodes to {bytes} bytes");
            return Err(exceeded("max_block_bytes", limit, found));
        }
        Ok(())
    }

    /// Refuses unstored items of fixed-size lists that would take more memory than the limits allow.
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

    /// Refuses batches that hold more than the limits allow.
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
