//! What a writer tells at its end.

/// What a finished shard consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardSummary {
    pub(super) rows: u64,
    pub(super) stripes: u64,
    pub(super) bytes: u64,
    pub(super) stripe_files: Vec<String>,
}

impl ShardSummary {
    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of stripes.
    pub fn stripes(&self) -> u64 {
        self.stripes
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Names of the stripe files beside the directory file, for [`Layout::TwoLevel`](super::Layout::TwoLevel).
    pub fn stripe_files(&self) -> &[String] {
        &self.stripe_files
    }
}
