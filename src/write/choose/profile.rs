//! Compression profiles of writers.

/// A trade-off between size and speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Profile {
    /// No encoding: Arrow's own buffers, which a reader can use in a memory map without copying them.
    /// [`Wire::Reference`](crate::metadata::Wire::Reference) has no such buffers and gets blocks of plain values.
    Plain,
    /// Only encodings that decode in less time than it takes to copy the values twice.
    Fast,
    /// Lightweight encodings that decode at memory speed, and LZ4.
    #[default]
    Balanced,
    /// Zstandard and Pco where they save bytes, in larger blocks. Needs the feature `zstd`.
    HighCompression,
    /// The smallest file, regardless of the time to write and read it. Needs the feature `zstd`.
    MinimalSize,
}

impl Profile {
    /// Returns whether this build can write the profile: `HighCompression` and `MinimalSize` need the feature `zstd`.
    pub fn is_available(self) -> bool {
        cfg!(feature = "zstd") || !matches!(self, Self::HighCompression | Self::MinimalSize)
    }

    /// Returns the bytes per nanosecond at which the writer weighs size against decoding time: an encoding is preferred
    /// if each nanosecond that it takes longer saves as many bytes. `Balanced` thus chooses as if each byte were read
    /// at 250 MB/s, about as fast as one connection to an object store. Infinite for `Plain`, which encodes nothing.
    pub fn bytes_per_nanosecond(self) -> f64 {
        match self {
            Self::Plain => f64::INFINITY,
            Self::Fast => 0.5,
            Self::Balanced => 0.25,
            Self::HighCompression => 0.08,
            Self::MinimalSize => 0.0005,
        }
    }

    /// Returns the default number of values per block.
    pub(in crate::write) fn block_values(self) -> usize {
        match self {
            Self::Plain | Self::Fast | Self::Balanced => 8192,
            Self::HighCompression => 32_768,
            Self::MinimalSize => 65_536,
        }
    }
}
