//! CSV files.

use super::blocks::{Block, Blocks};
use super::columns::{ColumnNames, Needed};
use super::csv_arrays::{Unfit, Values};
use super::csv_rows::{CsvRows, RowFinder};
use super::filter::Condition;
use super::infer_csv;
use super::misfit::unfit;
use super::origin::Origin;
use super::row_sizes::Inferred;
use super::source::Input;
use super::text_file::TextFile;
use super::{READING, RowWindow};
use crate::content;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::file_format::decompressed_name;
use crate::isolate::Foreign;
use crate::progress::InputProgress;
use crate::threads::{Results, flattened, in_order};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, SchemaRef};
use std::iter;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Number of columns that all threads together parse at a time: arrays take memory for each column, however few rows
/// they have.
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
    if style.escape == Some(style.delimiter) {
        return Err(Failure::Usage(
            "the character of --escape separates the values; name another one, or another --delimiter".to_owned(),
        ));
    }
    let blocks = Blocks::new(text.reader()?, style);
    infer_csv::infer(blocks, style, sample, needed, file, threads, &|at| {
        text.line_at(at).unwrap_or_default()
    })
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
    let parser = Parser::new(text.again(), inferred, style, needed, rows.batch_rows())?;
    let schema = parser.schema.clone();
    let (counted, total) = text.counted()?;
    let mut blocks = Blocks::new(counted, style);
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
    let mut blocks = Blocks::new(counted, style);
    let (first, mut types) = infer_csv::Types::begin(&mut blocks, style, &line)?;
    let looker = types.looker(needed);
    types.meet(&looker.see(&first, usize::MAX), &line)?;
    let assumed = types.inferred();
    let parser = Parser::new(text.again(), &assumed, style, needed, rows.batch_rows())?;
    let condition = Condition::new(parser.schema.clone(), filter, file.name())?;
    let blocks = file.guarded(iter::once(Ok(first)).chain(blocks));
    let guard = file.clone();
    let work = move |block: Block| {
        guard.guard(|| {
            let rows = parser.finder.rows(&block, usize::MAX);
            let seen = looker.look(&rows, &block);
            let batches = parser.parse(&block, &rows);
            let matching = batches.and_then(|batches| {
                let counts = batches.iter().map(|batch| condition.count(batch));
                counts.sum::<Result<u64, _>>()
            });
            Ok((seen, matching))
        })
    };
    let mut progress = InputProgress::new(total, quiet);
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
    text: TextFile,
    /// The columns in the text, and the needed ones.
    all: SchemaRef,
    schema: SchemaRef,
    finder: RowFinder,
    null: String,
    /// Maximum number of rows in a batch.
    batch_rows: usize,
    is_sample: bool,
}

impl Parser {
    /// Returns a parser for the needed columns, and for batches of at most `batch_rows` rows.
    fn new(
        text: TextFile,
        inferred: &Inferred,
        style: &CsvStyle,
        needed: Needed<'_>,
        batch_rows: usize,
    ) -> Result<Self, Failure> {
        let all = inferred.schema.clone();
        let needed = needed.of(&all);
        Ok(Self {
            text,
            schema: match &needed {
                Some(needed) => Arc::new(all.project(needed)?),
                None => all.clone(),
            },
            finder: RowFinder::new(style, all.fields().len(), needed),
            all,
            null: style.null.clone(),
            batch_rows: inferred.batch_rows.min(batch_rows),
            is_sample: inferred.is_sample,
        })
    }

    /// Returns the first `most` rows of a block.
    fn batches(&self, block: &Block, most: usize) -> Result<Vec<RecordBatch>, Failure> {
        self.parse(block, &self.finder.rows(block, most))
    }

    /// Parses rows of a block.
    fn parse(&self, block: &Block, rows: &CsvRows<'_>) -> Result<Vec<RecordBatch>, Failure> {
        let line = |at: usize| self.text.line_at(block.start + at as u64);
        let starts = (0..rows.num_rows()).step_by(self.batch_rows);
        let batches = starts.map(|start| {
            let end = rows.num_rows().min(start + self.batch_rows);
            self.batch(rows, start..end, &line)
        });
        let batches = batches.collect::<Result<_, Failure>>()?;
        match rows.wrong() {
            Some((at, why)) => Err(why.failure(line(*at)?, self.all.fields(), None)),
            None => Ok(batches),
        }
    }

    /// Returns rows as a batch, or the error for the first row that does not fit. `line` returns the line of a position
    /// in the block.
    fn batch(
        &self,
        rows: &CsvRows<'_>,
        range: Range<usize>,
        line: &impl Fn(usize) -> Result<u64, Failure>,
    ) -> Result<RecordBatch, Failure> {
        let fields = self.schema.fields();
        let mut arrays = Vec::with_capacity(fields.len());
        let mut first_unfit: Option<(usize, usize, &FieldRef)> = None;
        for (column, field) in fields.iter().enumerate() {
            let values = Values {
                rows,
                column,
                range: range.clone(),
                null: &self.null,
                is_sample: self.is_sample,
            };
            match values.array(field.data_type()) {
                Ok(array) => arrays.push(array),
                Err(Unfit::Value(row)) if first_unfit.is_none_or(|(first, ..)| row < first) => {
                    first_unfit = Some((row, column, field));
                }
                Err(Unfit::Value(_)) => {}
                Err(Unfit::Long) => {
                    let line = line(rows.start_of(column, range.start))?;
                    let name = field.name();
                    return Err(Failure::new(format!(
                        "line {line}, column `{name}`: the values are too long for an array"
                    )));
                }
            }
        }
        if let Some((row, column, field)) = first_unfit {
            let line = line(rows.start_of(column, row))?;
            let value = rows.values(column, row..row + 1).next();
            return Err(if self.is_sample {
                unfit(line, field, &value.unwrap_or_default())
            } else {
                let (name, data_type) = (field.name(), field.data_type());
                Failure::new(format!(
                    "line {line}, column `{name}`: the value is not a {data_type}"
                ))
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(range.len()));
        let schema = self.schema.clone();
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }
}
