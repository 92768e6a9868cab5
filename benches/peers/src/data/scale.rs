//! Sizes of the tables, for tests and for the report.

use clap::ValueEnum;

/// The size of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    /// For tests: thousands of rows, 50 columns where `full` has 10,000.
    Tiny,
    /// For development: a tenth of `full`.
    Small,
    /// The size for the report.
    Full,
}

impl Scale {
    /// Returns the number of rows or columns at this scale, from the number at full scale.
    pub(super) fn of(self, full: usize) -> usize {
        match self {
            Self::Tiny => full / 200,
            Self::Small => full / 10,
            Self::Full => full,
        }
    }

    /// Returns the scale factor of TPC-H.
    pub(super) fn tpch(self) -> f64 {
        match self {
            Self::Tiny => 0.005,
            Self::Small => 0.1,
            Self::Full => 1.0,
        }
    }
}
