//! What a reader may be told.

use crate::limits::Limits;
use crate::settings::settings;

/// Options of an open [`Shard`](super::Shard).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardOptions {
    limits: Limits,
    verify_checksums: bool,
    tail_bytes: u64,
    fetch_bytes: u64,
    coalesce_gap: u64,
}

impl Default for ShardOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            verify_checksums: true,
            tail_bytes: 64 << 10,
            fetch_bytes: 8 << 20,
            coalesce_gap: 64,
        }
    }
}

settings! {
    ShardOptions {
        /// Whether checksums of data are verified when bytes are first touched; they are by default.
        /// Those of metadata always are.
        verify_checksums, with_verify_checksums: bool;
        /// Bytes at the end of the file that opening reads; 64 KiB by default.
        tail_bytes, with_tail_bytes: u64;
        /// Bytes that a scan fetches at a time, more or less; 8 MiB by default.
        fetch_bytes, with_fetch_bytes: u64;
        /// Bytes between two ranges up to which they are fetched in one request; 64 by default.
        coalesce_gap, with_coalesce_gap: u64;
    }
}

impl ShardOptions {
    /// What reading may cost.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sets [`limits`](Self::limits).
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}
