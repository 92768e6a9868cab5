//! Prints the rows of a result.

mod cells;
mod encoder;
mod markdown;
mod stream;
mod table;
mod text;

use crate::failure::Failure;
use clap::ValueEnum;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use encoder::Encoder;
use std::io::{self, IsTerminal, Write};

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A drawn table
    Table,
    /// Comma-separated values with a header row
    Csv,
    /// An array of JSON objects
    Json,
    /// One JSON object per line
    #[value(alias = "jsonl")]
    Ndjson,
    /// A table in Markdown
    #[value(alias = "md")]
    Markdown,
    /// A stream of Arrow IPC, for other programs
    Arrow,
}

/// Most rows of a table on a terminal.
const TERMINAL_ROWS: usize = 40;

/// Settings of the printed rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) format: Format,
    /// Most rows of a table.
    pub(crate) max_rows: Option<usize>,
    width: Option<usize>,
    is_terminal: bool,
}

impl Style {
    /// Returns the settings of standard output, with the bounds of a table that the user chose.
    pub(crate) fn new(format: Format, max_rows: Option<usize>, width: Option<usize>) -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self {
            format,
            max_rows: max_rows.or(is_terminal.then_some(TERMINAL_ROWS)),
            width,
            is_terminal,
        }
    }

    /// Returns the width of tables. The width of a terminal may change between two statements.
    fn width(self) -> Option<usize> {
        let terminal = || {
            let size = terminal_size::terminal_size()?;
            Some(usize::from(size.0.0)).filter(|width| *width > 0)
        };
        self.width
            .or_else(|| terminal().filter(|_| self.is_terminal))
    }
}

/// Prints the rows of one statement on standard output.
pub(crate) struct Printer {
    encoder: Box<dyn Encoder + Send>,
    out: Vec<u8>,
}

impl Printer {
    /// Begins to print rows with these columns.
    pub(crate) fn new(
        style: Style,
        quiet: bool,
        schema: SchemaRef,
        is_plan: bool,
    ) -> Result<Self, Failure> {
        let encoder: Box<dyn Encoder + Send> = match style.format {
            Format::Table if is_plan => Box::new(text::Plan),
            Format::Table => {
                let table = table::Table::new(&schema, style.max_rows, style.width());
                Box::new(if quiet { table } else { table.with_count() })
            }
            Format::Csv => Box::new(text::Csv::default()),
            Format::Json => Box::new(text::Json::array()),
            Format::Ndjson => Box::new(text::Json::lines()),
            Format::Markdown => Box::new(markdown::Markdown::new(&schema)),
            Format::Arrow => Box::new(stream::Stream::new(&schema)?),
        };
        let mut printer = Self {
            encoder,
            out: Vec::new(),
        };
        printer.print(&RecordBatch::new_empty(schema))?;
        Ok(printer)
    }

    /// Prints rows.
    pub(crate) fn print(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.encoder.encode(batch, &mut self.out)?;
        self.write()
    }

    /// Prints the end.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.encoder.finish(&mut self.out)?;
        self.write()
    }

    fn write(&mut self) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(&self.out)?;
        stdout.flush()?;
        self.out.clear();
        Ok(())
    }
}
