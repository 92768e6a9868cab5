//! How hard a writer compresses.

/// How a writer trades size for speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Profile {
    /// No encoding: Arrow's own buffers, which a reader can use in a memory map without copying them.
    /// [`Wire::Reference`](crate::write::Wire::Reference) has no such buffers and gets blocks of plain values.
    Plain,
    /// Only encodings that decode in less time than it takes to copy the values twice.
    Fast,
    /// Lightweight encodings that decode at memory speed, and LZ4.
    #[default]
    Balanced,
    /// Zstandard and Pco where they make data smaller, in larger blocks. Needs the feature `zstd`.
    HighCompression,
    /// The smallest file, however long it takes to write and read. Needs the feature `zstd`.
    MinimalSize,
}

impl Profile {
    /// Whether this build can write it: `HighCompression` and `MinimalSize` need the feature `zstd`.
    pub fn is_available(self) -> bool {
        cfg!(feature = "zstd") || !matches!(self, Self::HighCompression | Self::MinimalSize)
    }

    /// Values of a block, unless the caller says otherwise.
    pub(super) fn block_values(self) -> usize {
        match self {
            Self::Plain | Self::Fast | Self::Balanced => 8192,
            Self::HighCompression => 32_768,
            Self::MinimalSize => 65_536,
        }
    }
}
