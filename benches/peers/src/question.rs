//! What is measured.

use crate::data::filtered_column;
use crate::peer::Access;
use arrow_schema::Schema;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What is asked of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Question {
    /// Write the table.
    Write,
    /// Open the file, and read all of it with positioned reads.
    Scan,
    /// The same, with string views asked for as Utf8.
    ScanUtf8,
    /// Map the file, open it, and read all of it.
    ScanMap,
    /// Read all of a memory map that is open and has been read before.
    ScanMapAgain,
    /// Map the file, open it, and read all of it, with no verification at all.
    ScanMapTrusted,
    /// Open the file, and read its first, middle and last column.
    Project3,
    /// Open the file, and read 1,000 random rows.
    #[value(name = "take-1000")]
    #[serde(rename = "take-1000")]
    Take1000,
    /// Open the file, and read one random row.
    #[value(name = "take-1")]
    #[serde(rename = "take-1")]
    Take1,
    /// Read 1,000 random rows of a file that is open and of which rows have been read.
    #[value(name = "take-1000-again")]
    #[serde(rename = "take-1000-again")]
    Take1000Again,
    /// Read one random row of a file that is open and of which rows have been read.
    #[value(name = "take-1-again")]
    #[serde(rename = "take-1-again")]
    Take1Again,
    /// Map the file, open it, and read the rows in a range of a column, all columns.
    Range,
    /// The same of a memory map that is open and has been read before.
    RangeAgain,
    /// Map the file, open it, and read the rows with a value of a column, all columns.
    Equal,
    /// The same of a memory map that is open and has been read before.
    EqualAgain,
}

/// What the rows of a filtered scan have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// A range of dates or times.
    Range,
    /// A host.
    Equal,
}

/// What a reader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Scan,
    ScanUtf8,
    Project3,
    /// That many random rows.
    Take(usize),
    /// The rows that match.
    Filtered(Condition),
}

impl Question {
    /// What is read; `None` for the question that writes.
    pub(crate) fn read(self) -> Option<Read> {
        match self {
            Self::Write => None,
            Self::Scan | Self::ScanMap | Self::ScanMapAgain | Self::ScanMapTrusted => {
                Some(Read::Scan)
            }
            Self::ScanUtf8 => Some(Read::ScanUtf8),
            Self::Project3 => Some(Read::Project3),
            Self::Take1000 | Self::Take1000Again => Some(Read::Take(1000)),
            Self::Take1 | Self::Take1Again => Some(Read::Take(1)),
            Self::Range | Self::RangeAgain => Some(Read::Filtered(Condition::Range)),
            Self::Equal | Self::EqualAgain => Some(Read::Filtered(Condition::Equal)),
        }
    }

    pub(crate) fn access(self) -> Access {
        match self {
            Self::ScanMap
            | Self::ScanMapAgain
            | Self::Range
            | Self::RangeAgain
            | Self::Equal
            | Self::EqualAgain => Access::Map,
            Self::ScanMapTrusted => Access::TrustedMap,
            _ => Access::File,
        }
    }

    /// Whether one open file answers all repetitions.
    pub(crate) fn keeps_open(self) -> bool {
        matches!(
            self,
            Self::ScanMapAgain
                | Self::Take1000Again
                | Self::Take1Again
                | Self::RangeAgain
                | Self::EqualAgain
        )
    }

    /// Whether it can be asked of a table with this schema.
    pub(crate) fn suits(self, schema: &Schema) -> bool {
        match self.read() {
            Some(Read::ScanUtf8) => crate::strings::with_utf8(schema) != *schema,
            Some(Read::Filtered(condition)) => filtered_column(schema, condition).is_some(),
            _ => true,
        }
    }

    /// Name on the command line and in the report.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value().expect("no question is hidden");
        value.get_name().to_owned()
    }
}
