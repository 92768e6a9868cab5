//! CSV files.

use super::infer_csv;
use super::origin::Origin;
use super::quotes::Quotes;
use super::source::{Input, batches};
use super::text_file::TextFile;
use super::{BUFFER_BYTES, RowWindow};
use crate::failure::Failure;
use crate::output::CsvStyle;
use arrow_csv::reader::Format;
use regex::Regex;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// What CSV files look like, those that are read and those that are written.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct CsvArgs {
    /// What stands between the values of CSV: one ASCII character, or `\t` [default: `,`, and a
    /// tabulator in .tsv]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// CSV has no line with the names of columns; in those that are read they become column_1, ...
    #[arg(long)]
    no_header: bool,
    /// Character before a quote within a value of CSV that is read, such as `\`; quotes that are
    /// written twice are read, too
    #[arg(long, value_name = "CHARACTER", value_parser = escape)]
    escape: Option<u8>,
    /// Text that is a null in CSV, beside the empty one
    #[arg(long, value_name = "TEXT")]
    null_value: Option<String>,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("quotes and line ends have a meaning already".to_owned()),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one ASCII character, or \\t".to_owned()),
    }
}

fn escape(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [b'"' | b'\n' | b'\r'] => Err("quotes and line ends have a meaning already".to_owned()),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one ASCII character".to_owned()),
    }
}

impl CsvArgs {
    /// What the file at `path` looks like.
    pub(crate) fn style(&self, path: &Path) -> CsvStyle {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_tsv = extension.is_some_and(|it| it.eq_ignore_ascii_case("tsv"));
        CsvStyle {
            delimiter: self.delimiter.unwrap_or(if is_tsv { b'\t' } else { b',' }),
            has_header: !self.no_header,
            null: self.null_value.clone().unwrap_or_default(),
            escape: self.escape,
        }
    }

    /// Refuses an escape that separates values.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.escape {
            Some(escape) if escape == self.delimiter.unwrap_or(b',') => Err(Failure::Usage(
                "--escape and --delimiter name the same character".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// The name of the option for files that are read, if it was given.
    pub(crate) fn given_to_read(&self) -> Option<&'static str> {
        self.escape.map(|_| "--escape")
    }

    /// The first option that was given for files that are read or written, if any was.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--delimiter", self.delimiter.is_some()),
            ("--no-header", self.no_header),
            ("--null-value", self.null_value.is_some()),
        ];
        options
            .into_iter()
            .find(|(_, given)| *given)
            .map(|(name, _)| name)
    }
}

/// Opens a file whose types are inferred from `sample` rows, or from all.
pub(super) fn open(
    origin: Origin,
    style: &CsvStyle,
    sample: Option<usize>,
    rows: RowWindow<'_>,
) -> Result<Input, Failure> {
    let file = TextFile::open(origin)?;
    let &CsvStyle {
        delimiter,
        has_header,
        ref null,
        escape,
    } = style;
    let mut reader = ::csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(has_header)
        .escape(escape)
        .from_reader(Quotes::new(file.reader()?, style));
    let inferred = infer_csv::infer(&mut reader, style, sample)?;
    let batch_rows = inferred.batch_rows(rows.batch_rows());
    let schema = Arc::new(inferred.schema);
    let null = format!("^(?:{})?$", regex::escape(null));
    let null = Regex::new(&null).map_err(|e| Failure::new(e.to_string()))?;
    let mut format = Format::default()
        .with_header(has_header)
        .with_delimiter(delimiter)
        .with_null_regex(null);
    if let Some(escape) = escape {
        format = format.with_escape(escape);
    }
    let (counted, total) = file.counted()?;
    let mut builder = arrow_csv::ReaderBuilder::new(schema.clone())
        .with_format(format)
        .with_batch_size(batch_rows);
    if let Some(end) = rows.end() {
        builder = builder.with_bounds(0, end);
    }
    let reader = builder.build_buffered(BufReader::with_capacity(
        BUFFER_BYTES,
        Quotes::new(counted, style),
    ))?;
    Ok(Input {
        schema,
        total,
        batches: batches(reader),
    })
}
