//! Names of profiles and layouts in options. The program `arrow-shard-lance` compiles this file, too.

use arrow_shard::write::{Layout, Profile};
use clap::ValueEnum;

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum ProfileName {
    /// Arrow's own buffers, not compressed
    Plain,
    /// Lightweight encodings, none slower than copying the values twice
    Fast,
    /// Lightweight encodings
    #[default]
    Balanced,
    /// Zstandard and Pco where they save enough space
    HighCompression,
    /// The smallest size, at any cost
    MinimalSize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LayoutName {
    /// One file
    SingleFile,
    /// A directory file, and next to it a file per stripe
    TwoLevel,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Plain => Self::Plain,
            ProfileName::Fast => Self::Fast,
            ProfileName::Balanced => Self::Balanced,
            ProfileName::HighCompression => Self::HighCompression,
            ProfileName::MinimalSize => Self::MinimalSize,
        }
    }
}

impl From<LayoutName> for Layout {
    fn from(name: LayoutName) -> Self {
        match name {
            LayoutName::SingleFile => Self::SingleFile,
            LayoutName::TwoLevel => Self::TwoLevel,
        }
    }
}
