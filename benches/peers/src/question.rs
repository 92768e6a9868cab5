//! The questions: operations that are measured.

use arrow_schema::Schema;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// An operation that is measured for a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Question {
    /// Write the table.
    Write,
    /// Write the table, which is in memory.
    WriteHeld,
    /// Write the table, which is in memory, with two threads.
    #[value(name = "write-2-threads")]
    #[serde(rename = "write-2-threads")]
    Write2,
    /// Open the file, and read all of it with positioned reads.
    Scan,
    /// Open the file, and read all of it with positioned reads, with two threads.
    #[value(name = "scan-2-threads")]
    #[serde(rename = "scan-2-threads")]
    Scan2,
    /// Open the file, and read all of it, with string views as Utf8.
    ScanUtf8,
    /// Map the file, open it, and read all of it.
    ScanMap,
    /// Read all of a memory map that is already open and has been read.
    ScanMapAgain,
    /// Map the file, open it, and read all of it, without any verification.
    ScanMapTrusted,
    /// Open the file, and read its first, middle and last column.
    Project3,
    /// Open the file, and read its first, middle and last column, by their names alone.
    Names3,
    /// Open the file, and read 1,000 random rows.
    #[value(name = "take-1000")]
    #[serde(rename = "take-1000")]
    Take1000,
    /// Open the file, and read one random row.
    #[value(name = "take-1")]
    #[serde(rename = "take-1")]
    Take1,
    /// Read 1,000 random rows of a file that is already open and from which rows have been read.
    #[value(name = "take-1000-again")]
    #[serde(rename = "take-1000-again")]
    Take1000Again,
    /// Read one random row of a file that is already open and from which rows have been read.
    #[value(name = "take-1-again")]
    #[serde(rename = "take-1-again")]
    Take1Again,
    /// Map the file, open it, and read the rows in a range of a column, all columns.
    Range,
    /// Read the rows in a range of a column, all columns, of a memory map that is already open and has been read.
    RangeAgain,
    /// Map the file, open it, and read the rows with a value of a column, all columns.
    Equal,
    /// Read the rows with a value of a column, all columns, of a memory map that is already open and has been read.
    EqualAgain,
    /// Open an object of a remote store, and read its first, middle and last column.
    StoreProject3,
    /// Open an object of a remote store, and read all of it.
    StoreScan,
    /// Open an object of a remote store, and read the rows in a range of a column, all columns.
    StoreRange,
    /// Open an object of a remote store, and read 1,000 random rows.
    #[value(name = "store-take-1000")]
    #[serde(rename = "store-take-1000")]
    StoreTake1000,
    /// Open an object of a remote store, and read one random row.
    #[value(name = "store-take-1")]
    #[serde(rename = "store-take-1")]
    StoreTake1,
    /// Read one random row of an object of a remote store that is already open and from which rows have been read.
    #[value(name = "store-take-1-again")]
    #[serde(rename = "store-take-1-again")]
    StoreTake1Again,
    /// Read the rows in a range that contains all rows, of a memory map that is already open and has been read.
    FilterAll,
    /// Read all rows of a memory map, and filter them afterwards, by a range that contains all rows.
    FilterAllAfter,
    /// Read the rows in a range that contains nearly all rows, of a memory map that is already open and has been read.
    FilterMost,
    /// Read all rows of a memory map, and filter them afterwards, by a range that contains nearly all rows.
    FilterMostAfter,
}

/// The condition of a filtered scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// A range of dates or times.
    Range,
    /// A single host.
    Equal,
    /// A range that contains all dates.
    All,
    /// A range of dates without the first month and the last one.
    Most,
}

/// The way to access the bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Counted, positioned reads.
    File,
    /// A memory map.
    Map,
    /// An object of a remote store, with asynchronous readers.
    Store,
    /// A memory map without verification of checksums, offsets and UTF-8.
    TrustedMap,
}

/// A kind of read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Scan,
    ScanUtf8,
    Project3,
    Names3,
    /// A number of random rows.
    Take(usize),
    /// The rows that match.
    Filtered(Condition),
    /// All rows, filtered afterwards.
    FilteredAfter(Condition),
}

impl Condition {
    /// Returns the ordinal of the column that is compared, if the table has it.
    pub(crate) fn column(self, schema: &Schema) -> Option<usize> {
        let name = match self {
            Self::Range if schema.index_of("l_shipdate").is_ok() => "l_shipdate",
            Self::Range => "time",
            Self::Equal => "host",
            Self::All | Self::Most => "l_shipdate",
        };
        schema.index_of(name).ok()
    }
}

impl Question {
    /// Returns the kind of read; `None` for questions that write.
    pub(crate) fn read(self) -> Option<Read> {
        match self {
            Self::Write | Self::WriteHeld | Self::Write2 => None,
            Self::Scan
            | Self::Scan2
            | Self::ScanMap
            | Self::ScanMapAgain
            | Self::ScanMapTrusted
            | Self::StoreScan => Some(Read::Scan),
            Self::ScanUtf8 => Some(Read::ScanUtf8),
            Self::Project3 | Self::StoreProject3 => Some(Read::Project3),
            Self::Names3 => Some(Read::Names3),
            Self::Take1000 | Self::Take1000Again | Self::StoreTake1000 => Some(Read::Take(1000)),
            Self::Take1 | Self::Take1Again | Self::StoreTake1 | Self::StoreTake1Again => {
                Some(Read::Take(1))
            }
            Self::Range | Self::RangeAgain | Self::StoreRange => {
                Some(Read::Filtered(Condition::Range))
            }
            Self::Equal | Self::EqualAgain => Some(Read::Filtered(Condition::Equal)),
            Self::FilterAll => Some(Read::Filtered(Condition::All)),
            Self::FilterAllAfter => Some(Read::FilteredAfter(Condition::All)),
            Self::FilterMost => Some(Read::Filtered(Condition::Most)),
            Self::FilterMostAfter => Some(Read::FilteredAfter(Condition::Most)),
        }
    }

    pub(crate) fn access(self) -> Access {
        match self {
            Self::ScanMap
            | Self::ScanMapAgain
            | Self::Range
            | Self::RangeAgain
            | Self::Equal
            | Self::EqualAgain
            | Self::FilterAll
            | Self::FilterAllAfter
            | Self::FilterMost
            | Self::FilterMostAfter => Access::Map,
            Self::ScanMapTrusted => Access::TrustedMap,
            Self::StoreProject3
            | Self::StoreScan
            | Self::StoreRange
            | Self::StoreTake1000
            | Self::StoreTake1
            | Self::StoreTake1Again => Access::Store,
            _ => Access::File,
        }
    }

    /// Returns whether all repetitions read the same open file.
    pub(crate) fn keeps_open(self) -> bool {
        matches!(
            self,
            Self::ScanMapAgain
                | Self::Take1000Again
                | Self::Take1Again
                | Self::StoreTake1Again
                | Self::RangeAgain
                | Self::EqualAgain
                | Self::FilterAll
                | Self::FilterAllAfter
                | Self::FilterMost
                | Self::FilterMostAfter
        )
    }

    /// Returns the number of threads.
    pub(crate) fn threads(self) -> usize {
        match self {
            Self::Write2 | Self::Scan2 => 2,
            _ => 1,
        }
    }

    /// Returns whether a table with a schema is measured with this question.
    pub(crate) fn suits(self, table: &str, schema: &Schema) -> bool {
        let of_table = match table {
            "lineitem_sorted" => matches!(
                self,
                Self::Write | Self::Range | Self::RangeAgain | Self::StoreRange
            ),
            "records" => self.read().is_none() || self.access() == Access::Store,
            "wide_50000" => matches!(self, Self::Write | Self::Project3 | Self::Names3),
            _ if self.access() == Access::Store => {
                matches!(
                    table,
                    "lineitem" | "log" | "wide" | "embeddings" | "records"
                )
            }
            _ => match self {
                Self::WriteHeld | Self::Write2 | Self::Scan2 => {
                    matches!(table, "lineitem" | "log")
                }
                Self::Names3 => table == "wide",
                Self::FilterAll
                | Self::FilterAllAfter
                | Self::FilterMost
                | Self::FilterMostAfter => table == "lineitem",
                _ => true,
            },
        };
        let possible = match self.read() {
            Some(Read::ScanUtf8) => crate::strings::with_utf8(schema) != *schema,
            Some(Read::Filtered(condition) | Read::FilteredAfter(condition)) => {
                condition.column(schema).is_some()
            }
            _ => true,
        };
        of_table && possible
    }

    /// Returns the name on the command line and in the report.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value().expect("no question is hidden");
        value.get_name().to_owned()
    }
}
