//! The result of a finished writer.

/// Facts about a finished shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardSummary {
    pub(super) rows: u64,
    pub(super) stripes: u64,
    pub(super) bytes: u64,
    pub(super) stripe_files: Vec<String>,
}

impl ShardSummary {
    /// Returns the number of rows.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of stripes.
    pub fn num_stripes(&self) -> u64 {
        self.stripes
    }

    /// Returns the total bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the names of the stripe files, which are in the folder of the directory file; empty unless the layout is
    /// [`Layout::TwoLevel`](super::Layout::TwoLevel).
    pub fn stripe_files(&self) -> &[String] {
        &self.stripe_files
    }
}
