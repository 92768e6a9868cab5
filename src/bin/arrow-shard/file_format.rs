//! The formats of input and output files.

use arrow_shard::ops::SHARD_FILE_SUFFIX;
use clap::ValueEnum;
use std::fmt;
use std::path::Path;

/// A file format.
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
    /// COLE columnar file (.cole)
    Cole,
    /// Comma-separated values with a header row (.csv), or tab-separated values (.tsv, .tab); also compressed (.csv.gz
    /// .zst .bz2 .xz)
    Csv,
    /// JSON objects, one per line when written (.ndjson, .jsonl, .json); also compressed
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
            Self::Cole => "COLE",
            Self::Csv => "CSV",
            Self::Ndjson => "NDJSON",
        })
    }
}

impl FileFormat {
    /// Returns the name of the format in options.
    pub(crate) fn option(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the usual end of a file name.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Shard => SHARD_FILE_SUFFIX,
            Self::Parquet => ".parquet",
            Self::IpcFile => ".arrow",
            Self::IpcStream => ".arrows",
            Self::Cole => ".cole",
            Self::Csv => ".csv",
            Self::Ndjson => ".ndjson",
        }
    }

    /// Returns the format that a file name shows. Text may be compressed.
    pub(crate) fn by_name(path: &Path) -> Option<Self> {
        if let Some(text) = decompressed_name(path) {
            return Self::by_name(text).filter(|format| format.is_text());
        }
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "shard" => Some(Self::Shard),
            "parquet" | "parq" | "pq" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::IpcFile),
            "arrows" => Some(Self::IpcStream),
            "cole" => Some(Self::Cole),
            "csv" | "tsv" | "tab" => Some(Self::Csv),
            "ndjson" | "jsonl" | "json" => Some(Self::Ndjson),
            _ => None,
        }
    }

    /// Whether the format is text, which may be compressed as a whole.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Ndjson)
    }

    /// Whether the format is read and written from front to back.
    pub(crate) fn is_sequential(self) -> bool {
        matches!(self, Self::IpcStream | Self::Csv | Self::Ndjson)
    }
}

/// Returns the name without the suffix of a compression, if it has one.
pub(crate) fn decompressed_name(path: &Path) -> Option<&Path> {
    let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
    let is_compressed = matches!(suffix.as_str(), "gz" | "zst" | "bz2" | "xz");
    path.file_stem().filter(|_| is_compressed).map(Path::new)
}

/// Whether the path is `-`: standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
