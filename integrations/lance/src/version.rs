//! Versions of the Lance file format.

use arrow_shard::{Error, ErrorKind};
use lance_file::version::ConcreteFileVersion;
use std::fmt;
use std::str::FromStr;

/// A version of the Lance file format that [`LanceWriter`](crate::LanceWriter) writes.
///
/// A later version holds more types, an earlier one has more readers. `docs/conversions.md` has a table of the types of
/// each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LanceVersion {
    /// Version 2.0.
    V2_0,
    /// Version 2.1.
    V2_1,
    /// Version 2.2, which Lance 14 writes by default.
    #[default]
    V2_2,
}

impl LanceVersion {
    /// All versions, the oldest first.
    pub const ALL: [Self; 3] = [Self::V2_0, Self::V2_1, Self::V2_2];

    /// Returns the version as Lance writes it: `2.0`, `2.1` or `2.2`.
    pub fn as_str(self) -> &'static str {
        self.concrete().to_manifest_string()
    }

    pub(crate) fn concrete(self) -> ConcreteFileVersion {
        match self {
            Self::V2_0 => ConcreteFileVersion::V2_0,
            Self::V2_1 => ConcreteFileVersion::V2_1,
            Self::V2_2 => ConcreteFileVersion::V2_2,
        }
    }
}

impl fmt::Display for LanceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LanceVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("Lance version `{text}` cannot be written; use 2.0, 2.1 or 2.2"),
            )
        })
    }
}
