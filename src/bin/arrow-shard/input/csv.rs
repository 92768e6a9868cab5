//! CSV files.

use super::blocks::{Block, Blocks};
use super::columns::{ColumnNames, Needed};
use super::filter::Condition;
use super::infer_csv;
use super::origin::Origin;
use super::quotes::Quotes;
use super::row_sizes::Inferred;
use super::source::Input;
use super::text_file::TextFile;
use super::{READING, RowWindow};
use crate::content;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::file_format::decompressed_name;
use crate::isolate::Foreign;
use crate::progress::Progress;
use crate::threads::{Results, flattened, in_order};
use arrow_array::RecordBatch;
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Format;
use arrow_schema::SchemaRef;
use regex::Regex;
use std::io::Read;
use std::iter;
use std::path::Path;
use std::sync::Arc;

/// Number of columns that all threads together parse at a time: arrays take memory for each column, however few rows they
/// have.
const PARALLEL_COLUMNS: usize = 1 << 14;

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
    /// Character before a quote within a value in CSV input, such as `\`; doubled quotes are read as well. In values in
    /// quotes it is removed, also where another character follows
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

/// Infers the types of the needed columns of a file from `sample` rows, or from all rows.
pub(super) fn infer(
    text: &TextFile,
    style: &CsvStyle,
    sample: Option<usize>,
    needed: Needed<'_>,
    file: &Foreign,
    threads: usize,
) -> Result<Inferred, Failure> {
    let blocks = Blocks::new(Quotes::new(text.reader()?, style));
    infer_csv::infer(blocks, style, sample, needed, file, threads, &|at| {
        text.line_at(at).unwrap_or_default()
    })
}

/// Returns a reader of the lines of a file.
pub(super) fn lines(
    file: &TextFile,
    style: &CsvStyle,
) -> Result<::csv::Reader<impl Read + use<>>, Failure> {
    let text = Quotes::new(file.reader()?, style);
    Ok(infer_csv::records(text, style.has_header, style))
}

/// Reads the needed columns of a file in the inferred types.
pub(super) fn read(
    text: &TextFile,
    inferred: &Inferred,
    style: &CsvStyle,
    needed: Needed<'_>,
    rows: RowWindow<'_>,
    file: &Foreign,
) -> Result<Input, Failure> {
    let parser = Parser::new(inferred, style, needed, rows.batch_rows())?;
    let schema = parser.schema()?;
    let (counted, total) = text.counted()?;
    let mut blocks = Blocks::new(Quotes::new(counted, style));
    let groups: Results<Vec<RecordBatch>> = match rows.end() {
        Some(mut left) => Box::new(iter::from_fn(move || {
            let block = if left > 0 {
                blocks.next()?
            } else {
                return None;
            };
            let batches = block.and_then(|block| parser.batches(&block, left));
            let read = batches.iter().flatten().map(RecordBatch::num_rows);
            left -= read.sum::<usize>();
            Some(batches)
        })),
        None => {
            let (blocks, file) = (file.guarded(blocks), file.clone());
            let most = PARALLEL_COLUMNS / schema.fields().len().max(1);
            let threads = rows.text_threads().min(most.max(1));
            in_order(blocks, threads, move |block| {
                file.guard(|| parser.batches(&block, usize::MAX))
            })
        }
    };
    Ok(Input {
        schema,
        total,
        batches: flattened(groups),
    })
}

/// Counts the rows that match a condition, while the types are inferred. Assumes that the columns of the condition have
/// the types of the first block, and returns `None` if they have not.
pub(super) fn count_matching(
    origin: Origin,
    style: &CsvStyle,
    filter: &str,
    file: &Foreign,
    quiet: bool,
) -> Result<Option<u64>, Failure> {
    let text = TextFile::open(origin)?;
    let line = |at| text.line_at(at).unwrap_or_default();
    let rows = RowWindow {
        filter: Some(filter),
        is_counted: true,
        ..RowWindow::default()
    };
    let needed = Needed::for_rows(&[], rows);
    let (counted, total) = text.counted()?;
    let mut blocks = Blocks::new(Quotes::new(counted, style));
    let (first, mut types) = infer_csv::Types::begin(&mut blocks, style)?;
    let looker = types.looker(needed);
    types.meet(&looker.see(&first, usize::MAX)?, &line)?;
    let assumed = types.inferred()?;
    let parser = Parser::new(&assumed, style, needed, rows.batch_rows())?;
    let condition = Condition::new(parser.schema()?, filter, file.name())?;
    let blocks = file.guarded(iter::once(Ok(first)).chain(blocks));
    let guard = file.clone();
    let work = move |block: Block| {
        guard.guard(|| {
            let seen = looker.see(&block, usize::MAX)?;
            let batches = parser.batches(&block, usize::MAX);
            let matching = batches.and_then(|batches| {
                let counts = batches.iter().map(|batch| condition.count(batch));
                counts.sum::<Result<u64, _>>()
            });
            Ok((seen, matching))
        })
    };
    let mut progress = Progress::new(total, quiet);
    let mut sum = 0;
    for result in in_order(blocks, rows.text_threads(), work) {
        let (seen, matching) = result?;
        types.meet(&seen, &line)?;
        if !types.are(&assumed.schema) {
            return Ok(None);
        }
        sum += matching?;
        progress.add(0);
    }
    progress.finish();
    Ok(Some(sum))
}

/// Parses blocks of text.
struct Parser {
    schema: SchemaRef,
    /// The columns to return; `None` for all columns.
    columns: Option<Vec<usize>>,
    format: Format,
    has_header: bool,
    /// Maximum number of rows in a batch.
    batch_rows: usize,
}

impl Parser {
    /// Returns a parser for the needed columns, and for batches of at most `batch_rows` rows.
    fn new(
        inferred: &Inferred,
        style: &CsvStyle,
        needed: Needed<'_>,
        batch_rows: usize,
    ) -> Result<Self, Failure> {
        let empty_or_null = format!("^(?:{})?$", regex::escape(&style.null));
        let null_regex = Regex::new(&empty_or_null).map_err(|e| Failure::new(e.to_string()))?;
        let mut format = Format::default()
            .with_header(false)
            .with_delimiter(style.delimiter)
            .with_null_regex(null_regex);
        if let Some(escape) = style.escape {
            format = format.with_escape(escape);
        }
        Ok(Self {
            columns: needed.of(&inferred.schema),
            schema: inferred.schema.clone(),
            format,
            has_header: style.has_header,
            batch_rows: inferred.batch_rows.min(batch_rows),
        })
    }

    /// Returns the schema of the batches.
    fn schema(&self) -> Result<SchemaRef, Failure> {
        Ok(match &self.columns {
            Some(columns) => Arc::new(self.schema.project(columns)?),
            None => self.schema.clone(),
        })
    }

    /// Returns the first `most` rows of a block.
    fn batches(&self, block: &Block, most: usize) -> Result<Vec<RecordBatch>, Failure> {
        let has_header = block.is_first && self.has_header;
        // The reader allocates memory for all values of a batch.
        let rows = block.line_ends() + 1;
        let mut builder = ReaderBuilder::new(self.schema.clone())
            .with_format(self.format.clone().with_header(has_header))
            .with_batch_size(self.batch_rows.min(rows));
        if let Some(columns) = &self.columns {
            builder = builder.with_projection(columns.clone());
        }
        if most < usize::MAX {
            builder = builder.with_bounds(0, most);
        }
        let batches = builder.build_buffered(block.text.as_slice())?;
        Ok(batches.collect::<Result<_, _>>()?)
    }
}
