//! The format of a file, by its suffix or its first bytes.

use datafusion::common::Result;
use datafusion::datasource::file_format::FileFormat;
use datafusion::execution::SessionState;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Format {
    Shard,
    Parquet,
    Arrow,
    Csv,
    Json,
}

impl Format {
    /// Returns the name after `STORED AS`.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Shard => "SHARD",
            Self::Parquet => "PARQUET",
            Self::Arrow => "ARROW",
            Self::Csv => "CSV",
            Self::Json => "JSON",
        }
    }

    /// Whether the columns and types of a file are inferred from its rows.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shard => "shard",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::Csv => "CSV",
            Self::Json => "JSON",
        })
    }
}

/// A format with the properties that its suffix or content shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) format: Format,
    /// The compression of the whole file, if it is text.
    pub(crate) compression: Option<&'static str>,
    /// Whether tabulators separate the values of CSV.
    tabs: bool,
    /// Whether the JSON objects are in an array.
    array: bool,
}

/// Suffixes that are recognized, for messages.
pub(crate) const SUFFIXES: &str = ".shard, .parquet, .parq, .pq, .arrow, .feather, .ipc, .arrows, .csv, .tsv, .ndjson, \
     .jsonl and .json; CSV and JSON also with .gz, .zst, .bz2 or .xz";

/// Number of bytes that show the format of a file, unless more white space precedes it.
pub(crate) const HEAD_BYTES: u64 = 4096;

impl Kind {
    fn new(format: Format) -> Self {
        Self {
            format,
            compression: None,
            tabs: false,
            array: false,
        }
    }

    /// Returns the kind that a name shows, and the suffix that shows it.
    pub(crate) fn by_name(name: &str) -> Option<(Self, &str)> {
        let name = name.rsplit(['/', std::path::MAIN_SEPARATOR]).next()?;
        let (stem, last) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        let compression = match last.to_ascii_lowercase().as_str() {
            "gz" => "gzip",
            "zst" => "zstd",
            "bz2" => "bzip2",
            "xz" => "xz",
            last => {
                let kind = Self::by_extension(last)?;
                return Some((kind, &name[stem.len()..]));
            }
        };
        let (inner, extension) = stem.rsplit_once('.')?;
        let kind = Self::by_extension(&extension.to_ascii_lowercase())?;
        let compressed = Self {
            compression: Some(compression),
            ..kind
        };
        kind.format
            .is_text()
            .then_some((compressed, &name[inner.len()..]))
    }

    fn by_extension(extension: &str) -> Option<Self> {
        let format = match extension {
            "shard" => Format::Shard,
            "parquet" | "parq" | "pq" => Format::Parquet,
            "arrow" | "feather" | "ipc" | "arrows" => Format::Arrow,
            "csv" | "tsv" => Format::Csv,
            "ndjson" | "jsonl" | "json" => Format::Json,
            _ => return None,
        };
        Some(Self {
            tabs: extension == "tsv",
            ..Self::new(format)
        })
    }

    /// Returns the kind that the first bytes of a file show. CSV cannot be recognized.
    pub(crate) fn by_content(head: &[u8]) -> Option<Self> {
        let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        let first = text.trim_ascii_start().first();
        let format = match head {
            [b'a', b'm', b'u', b'd', ..] => Format::Shard,
            [b'P', b'A', b'R', b'1', ..] => Format::Parquet,
            _ if head.starts_with(b"ARROW1\0\0") => Format::Arrow,
            _ if head.starts_with(b"\xFF\xFF\xFF\xFF") => Format::Arrow,
            _ if matches!(first, Some(b'{' | b'[')) => Format::Json,
            _ => return None,
        };
        Some(Self::new(format).with_content(head))
    }

    /// Completes the kind of JSON by the content of the file.
    pub(crate) fn with_content(self, head: &[u8]) -> Self {
        let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        let is_array = text.trim_ascii_start().first() == Some(&b'[');
        Self {
            array: self.format == Format::Json && is_array,
            ..self
        }
    }

    /// Returns DataFusion's format for files of this kind.
    pub(crate) fn file_format(
        self,
        state: &SessionState,
        infer_rows: usize,
    ) -> Result<Arc<dyn FileFormat>> {
        let name = self.format.sql().to_ascii_lowercase();
        let Some(factory) = state.get_file_format_factory(&name) else {
            return datafusion::common::internal_err!(
                "the format {} is not registered",
                self.format
            );
        };
        let mut options = HashMap::new();
        let mut set = |key: &str, value: String| options.insert(format!("format.{key}"), value);
        if self.format.is_text() {
            set("schema_infer_max_rec", infer_rows.to_string());
        }
        if let Some(compression) = self.compression {
            set("compression", compression.to_owned());
        }
        if self.format == Format::Csv {
            set("has_header", "true".to_owned());
            // Without it, a file is split at line breaks, which may be in a value.
            set("newlines_in_values", "true".to_owned());
        }
        if self.tabs {
            set("delimiter", "\t".to_owned());
        }
        if self.array {
            set("newline_delimited", "false".to_owned());
        }
        factory.create(state, &options)
    }

    /// Returns the options of `COPY` for files of this kind.
    pub(crate) fn copy_options(self) -> Vec<(&'static str, &'static str)> {
        let compression = self.compression.map(|it| ("format.compression", it));
        let tabs = self.tabs.then_some(("format.delimiter", "\t"));
        compression.into_iter().chain(tabs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_formats() {
        for (name, format, compression, suffix) in [
            ("a/b.amudai.shard", Format::Shard, None, ".shard"),
            ("b.PARQUET", Format::Parquet, None, ".PARQUET"),
            ("x.y.csv.gz", Format::Csv, Some("gzip"), ".csv.gz"),
            ("x.tsv", Format::Csv, None, ".tsv"),
            ("x.jsonl.zst", Format::Json, Some("zstd"), ".jsonl.zst"),
        ] {
            let (kind, found) = Kind::by_name(name).unwrap();
            assert_eq!(
                (kind.format, kind.compression, found),
                (format, compression, suffix)
            );
        }
        for name in [
            "a",
            ".csv",
            "a.txt",
            "a.parquet.gz",
            "a.gz",
            "csv/a",
            "a.csv/b",
        ] {
            assert_eq!(Kind::by_name(name), None, "{name}");
        }
        assert!(Kind::by_name("x.tsv").unwrap().0.tabs);
    }

    #[test]
    fn first_bytes_show_formats() {
        let format = |head: &[u8]| Kind::by_content(head).map(|kind| kind.format);
        assert_eq!(format(b"amud\0\x01\0\0"), Some(Format::Shard));
        assert_eq!(format(b"PAR1"), Some(Format::Parquet));
        assert_eq!(format(b"ARROW1\0\0"), Some(Format::Arrow));
        assert_eq!(format(b"\xEF\xBB\xBF {\"a\":1}"), Some(Format::Json));
        assert_eq!(format(b"a,b\n1,2\n"), None);
        assert!(Kind::by_content(b"\n[{}]").unwrap().array);
        assert!(!Kind::by_content(b"{}").unwrap().array);
    }
}
