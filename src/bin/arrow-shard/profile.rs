//! Names of profiles in options.

use arrow_shard::write::Profile;
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
