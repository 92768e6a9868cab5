//! The formats that files are read and written in.

use crate::failure::Failure;
use crate::location;
use clap::ValueEnum;
use std::fmt;
use std::path::Path;

/// A format of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// Amudai shard (.amudai.shard, .shard)
    Shard,
    /// Apache Parquet (.parquet)
    Parquet,
    /// Arrow IPC file (.arrow, .feather, .ipc)
    #[value(name = "ipc", alias = "arrow")]
    IpcFile,
    /// Arrow IPC stream (.arrows)
    #[value(name = "ipc-stream", alias = "arrows")]
    IpcStream,
    /// Comma-separated values with a header row (.csv), or with tabulators (.tsv)
    Csv,
    /// JSON objects, one per line when written (.ndjson, .jsonl, .json)
    #[value(alias = "json")]
    Ndjson,
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shard => "shard",
            Self::Parquet => "Parquet",
            Self::IpcFile => "Arrow IPC file",
            Self::IpcStream => "Arrow IPC stream",
            Self::Csv => "CSV",
            Self::Ndjson => "NDJSON",
        })
    }
}

impl FileFormat {
    /// The format that was asked for, or that of the file name. `option` is the one that names it.
    pub(crate) fn of(path: &Path, asked: Option<Self>, option: &str) -> Result<Self, Failure> {
        location::check(path)?;
        let format = match (asked, Self::by_name(path)) {
            (Some(format), _) | (None, Some(format)) => format,
            (None, None) if is_standard(path) => {
                return Err(Failure::Usage(format!(
                    "name the format of `-` with {option}: ipc-stream, csv or ndjson"
                )));
            }
            (None, None) => {
                return Err(Failure::Usage(format!(
                    "the name `{}` tells no format; name it with {option}",
                    path.display()
                )));
            }
        };
        if is_standard(path) && !format.is_sequential() {
            return Err(Failure::Usage(format!(
                "standard input and output hold no {format}; use a file, or ipc-stream, csv or ndjson"
            )));
        }
        Ok(format)
    }

    fn by_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "shard" => Some(Self::Shard),
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::IpcFile),
            "arrows" => Some(Self::IpcStream),
            "csv" | "tsv" => Some(Self::Csv),
            "ndjson" | "jsonl" | "json" => Some(Self::Ndjson),
            _ => None,
        }
    }

    /// Whether the format is read and written from front to back.
    pub(crate) fn is_sequential(self) -> bool {
        matches!(self, Self::IpcStream | Self::Csv | Self::Ndjson)
    }
}

/// Whether the path stands for standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
