//! The formats of input and output files.

use crate::content::{self, Content};
use crate::failure::Failure;
use crate::lance;
use crate::location::{self, Location};
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
    /// Comma-separated values with a header row (.csv), or tab-separated values (.tsv)
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
            Self::Cole => "COLE",
            Self::Csv => "CSV",
            Self::Ndjson => "NDJSON",
        })
    }
}

impl FileFormat {
    /// Returns the format of an input: the requested one, or the one that its name or content shows.
    pub(crate) fn of_input(path: &Path, asked: Option<Self>) -> Result<Self, Failure> {
        Self::known(path, asked, "--from", || {
            if lance::is_lance(path) {
                return Err(Failure::Usage(format!(
                    "`{0}` is Lance; convert it first: arrow-shard convert {0} out.amudai.shard",
                    path.display()
                )));
            }
            let content = match Location::of(path)? {
                Location::Local(path) => Content::of_file(&path),
                #[cfg(feature = "cloud")]
                Location::Object(_) => None,
            };
            match content {
                Some(Content::Format(format)) => Ok(format),
                Some(Content::Compressed(program)) => {
                    let advice = content::decompressed(program, path);
                    Err(Failure::new(advice).within(path.display()))
                }
                None => Err(Failure::Usage(format!(
                    "neither the name `{}` nor the content shows a format; name it with --from (CSV \
                     has no mark that shows it)",
                    path.display()
                ))),
            }
        })
    }

    /// Returns the format of an output: the requested one, or the one that its name shows.
    pub(crate) fn of_output(path: &Path, asked: Option<Self>) -> Result<Self, Failure> {
        Self::known(path, asked, "--to", || {
            Err(Failure::Usage(match content::compressor(path) {
                Some(program) => format!(
                    "`{}`: files are not compressed with {program} here; write to a pipe: arrow-shard \
                     convert ... - --to FORMAT | {program} -c > FILE",
                    path.display()
                ),
                None => format!(
                    "the name `{}` shows no format; name it with --to",
                    path.display()
                ),
            }))
        })
    }

    /// Returns the requested format, the one that the name shows, or the result of `find`.
    fn known(
        path: &Path,
        asked: Option<Self>,
        option: &str,
        find: impl FnOnce() -> Result<Self, Failure>,
    ) -> Result<Self, Failure> {
        location::check(path)?;
        let format = match asked.or_else(|| Self::by_name(path)) {
            Some(format) => format,
            None if is_standard(path) => {
                return Err(Failure::Usage(format!(
                    "name the format of `-` with {option}: ipc-stream, csv or ndjson"
                )));
            }
            None => find()?,
        };
        if is_standard(path) && !format.is_sequential() {
            return Err(Failure::Usage(format!(
                "standard input and output hold no {format}; use a file, or ipc-stream, csv or ndjson"
            )));
        }
        Ok(format)
    }

    /// Returns the name of the format in options.
    pub(crate) fn option(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the format that a file name shows.
    pub(crate) fn by_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "shard" => Some(Self::Shard),
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::IpcFile),
            "arrows" => Some(Self::IpcStream),
            "cole" => Some(Self::Cole),
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

/// Whether the path is `-`: standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
