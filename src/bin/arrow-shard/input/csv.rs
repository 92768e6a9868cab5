//! CSV files.

use super::columns::ColumnNames;
use super::infer_csv;
use super::quotes::Quotes;
use super::row_sizes::Inferred;
use super::source::{Input, batches};
use super::text_file::TextFile;
use super::{BUFFER_BYTES, READING, RowWindow};
use crate::content;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::file_format::decompressed_name;
use arrow_csv::reader::Format;
use regex::Regex;
use std::io::{BufReader, Read};
use std::path::Path;

/// The syntax of CSV files that are read or written.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct CsvArgs {
    /// Separator of the values in CSV: one ASCII character, or `\t` [default: `,`, a tab in .tsv and .tab, and for
    /// files whose names show no format, the separator in their first lines]
    #[arg(long, help_heading = READING, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// CSV has no line with column names; in CSV input, the columns become column_1, ..., or have the --names
    #[arg(long, help_heading = READING)]
    no_header: bool,
    /// Names of the columns in CSV input that has no line with them, separated by commas. CSV output begins with them,
    /// unless --no-header is given, too
    #[arg(long, help_heading = READING, value_name = "COLUMNS")]
    names: Option<ColumnNames>,
    /// Character before a quote within a value in CSV input, such as `\`; doubled quotes are read as well
    #[arg(long, help_heading = READING, value_name = "CHARACTER", value_parser = escape)]
    escape: Option<u8>,
    /// Text that represents null in CSV, in addition to empty text
    #[arg(long, help_heading = READING, value_name = "TEXT")]
    null_value: Option<String>,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("expected neither a quote nor a line end".to_owned()),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one ASCII character, or \\t".to_owned()),
    }
}

fn escape(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [b'"' | b'\n' | b'\r'] => Err("expected neither a quote nor a line end".to_owned()),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one ASCII character".to_owned()),
    }
}

impl CsvArgs {
    /// Returns the syntax of the file at `path`, which is written.
    pub(crate) fn style(&self, path: &Path) -> CsvStyle {
        let plain = decompressed_name(path).unwrap_or(path);
        let extension = plain.extension().and_then(|extension| extension.to_str());
        let has_tabs = extension
            .is_some_and(|it| it.eq_ignore_ascii_case("tsv") || it.eq_ignore_ascii_case("tab"));
        CsvStyle {
            delimiter: self
                .delimiter
                .unwrap_or(if has_tabs { b'\t' } else { b',' }),
            has_header: !self.no_header,
            names: Vec::new(),
            null: self.null_value.clone().unwrap_or_default(),
            escape: self.escape,
        }
    }

    /// Returns the syntax of the file at `path`, which is read. `is_recognized` says whether only the content shows
    /// that it is CSV.
    pub(crate) fn style_of_input(&self, path: &Path, is_recognized: bool) -> CsvStyle {
        let mut style = self.style(path);
        if is_recognized
            && self.delimiter.is_none()
            && let Some(delimiter) = content::delimiter_of(path)
        {
            style.delimiter = delimiter;
        }
        style.names = ColumnNames::all(self.names.as_slice());
        style.has_header &= style.names.is_empty();
        style
    }

    /// Fails if the escape character is also the delimiter.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.escape {
            Some(escape) if escape == self.delimiter.unwrap_or(b',') => Err(Failure::Usage(
                "--escape and --delimiter name the same character".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Returns the name of a given option that is only for input.
    pub(crate) fn given_to_read(&self) -> Option<&'static str> {
        let names = self.names.as_ref().map(|_| "--names");
        names.or(self.escape.map(|_| "--escape"))
    }

    /// Returns the name of the first given option that is for input or output.
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

/// Infers the types of a file from `sample` rows, or from all rows.
pub(super) fn infer(
    file: &TextFile,
    style: &CsvStyle,
    sample: Option<usize>,
) -> Result<Inferred, Failure> {
    infer_csv::infer(&mut lines(file, style)?, style, sample, &|at| {
        file.line_of(at)
    })
}

/// Returns a reader of the lines of a file.
pub(super) fn lines(
    file: &TextFile,
    style: &CsvStyle,
) -> Result<::csv::Reader<impl Read + use<>>, Failure> {
    Ok(::csv::ReaderBuilder::new()
        .delimiter(style.delimiter)
        .has_headers(style.has_header)
        .escape(style.escape)
        .from_reader(Quotes::new(file.reader()?, style)))
}

/// Reads a file in the inferred types.
pub(super) fn read(
    file: &TextFile,
    inferred: &Inferred,
    style: &CsvStyle,
    rows: RowWindow<'_>,
) -> Result<Input, Failure> {
    let schema = inferred.schema.clone();
    let empty_or_null = format!("^(?:{})?$", regex::escape(&style.null));
    let null_regex = Regex::new(&empty_or_null).map_err(|e| Failure::new(e.to_string()))?;
    let mut format = Format::default()
        .with_header(style.has_header)
        .with_delimiter(style.delimiter)
        .with_null_regex(null_regex);
    if let Some(escape) = style.escape {
        format = format.with_escape(escape);
    }
    let (counted, total) = file.counted()?;
    let mut builder = arrow_csv::ReaderBuilder::new(schema.clone())
        .with_format(format)
        .with_batch_size(inferred.batch_rows(rows.batch_rows()));
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
