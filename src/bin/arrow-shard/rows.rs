//! Prints rows on standard output, for `head`, `tail`, `sample` and `cat`.

use crate::counts::rows;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{ColumnArgs, Input, ReadArgs, RowWindow};
use crate::output::{Destination, Encoder, check_columns};
use crate::{table, text};
use arrow_array::RecordBatch;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Number of rows of a table that are drawn together, with common column widths.
const TABLE_ROWS: usize = 10_000;

/// The format of printed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// A drawn table
    Table,
    /// A line for each value
    Vertical,
    /// Comma-separated values
    Csv,
    /// One JSON object per line
    Json,
}

/// Arguments of the commands that print rows.
#[derive(Debug, clap::Args)]
pub(crate) struct RowArgs {
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// Rows to print, by a condition: "delay > 60 AND origin IN ('OSL', 'LIM')". A subset of SQL:
    /// = != < <= > >=, BETWEEN, IN, IS NULL, IS TRUE, LIKE, ILIKE, NOT, AND, OR, parentheses, and lower(), upper()
    /// and length() of text. Put dates,
    /// times and text in single quotes, as in '2024-02-29', and unusual column names in double quotes.
    /// Unlike in SQL, -0.0 is below 0.0, and NaN above infinity
    #[arg(long, visible_alias = "where", value_name = "CONDITION")]
    pub(crate) filter: Option<String>,
    /// Maximum width of the table in characters: long values are cut, then columns dropped [default: the width of the
    /// terminal; otherwise unlimited]
    #[arg(long, value_name = "CHARACTERS", conflicts_with = "full")]
    width: Option<usize>,
    /// Cut nothing, even if the table is wide
    #[arg(long)]
    full: bool,
    /// How to print the rows
    #[arg(long, value_enum, default_value = "table")]
    format: RowFormat,
    /// Print one JSON object per line, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// The rows that are skipped at the start.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct OffsetArgs {
    /// Number of rows to skip at the start
    #[arg(long, value_name = "ROWS", default_value_t = 0, value_parser = rows::<u64>)]
    pub(crate) offset: u64,
}

impl RowArgs {
    /// Fails if an option does not apply to the inputs or to the format of the printed rows.
    pub(crate) fn check(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        self.check_width()?;
        let written = (self.format() == RowFormat::Csv).then_some(FileFormat::Csv);
        self.reading.check(inputs, written)
    }

    /// Returns the window of all rows that match the filter.
    pub(crate) fn window(&self) -> RowWindow<'_> {
        RowWindow {
            filter: self.filter.as_deref(),
            ..RowWindow::default()
        }
    }

    /// Opens files as one table. Its first `offset` rows are skipped, and at most `limit` are read.
    pub(crate) fn open(
        &self,
        files: &[PathBuf],
        offset: OffsetArgs,
        limit: Option<u64>,
    ) -> Result<Input, Failure> {
        let rows = RowWindow {
            offset: offset.offset,
            limit,
            ..self.window()
        };
        self.reading.open_all(files, &self.columns, rows)
    }

    /// Returns the format of the printed rows.
    fn format(&self) -> RowFormat {
        if self.json {
            RowFormat::Json
        } else {
            self.format
        }
    }

    fn check_width(&self) -> Result<(), Failure> {
        let option = match (self.width, self.full) {
            (Some(_), _) => "--width",
            (None, true) => "--full",
            (None, false) => return Ok(()),
        };
        if self.format() == RowFormat::Table {
            return Ok(());
        }
        let format = self.format().to_possible_value();
        Err(Failure::Usage(format!(
            "{option} applies only to tables, and --format is {}",
            format.as_ref().map_or("another", PossibleValue::get_name)
        )))
    }

    /// Returns the maximum width of a table, if there is one.
    fn width(&self) -> Option<usize> {
        let terminal = || terminal_size::terminal_size_of(std::io::stdout());
        if self.full {
            None
        } else {
            self.width.or_else(|| Some(terminal()?.0.0.into()))
        }
    }
}

/// Prints the rows of several inputs. Formats for people show a table for each input, under its name; other formats
/// have one table with the rows of all inputs. `open` opens the files of a table. The first row has the number `first`.
pub(crate) fn print_each(
    inputs: &[PathBuf],
    args: &RowArgs,
    first: u64,
    open: impl Fn(&[PathBuf]) -> Result<Input, Failure>,
) -> Result<(), Failure> {
    let is_drawn = matches!(args.format(), RowFormat::Table | RowFormat::Vertical);
    let of_table = if is_drawn { 1 } else { inputs.len() };
    let files = |inputs| Ok(args.reading.files(inputs)?.paths);
    let tables = inputs.chunks(of_table.max(1)).map(files);
    let tables = tables.collect::<Result<Vec<_>, Failure>>()?;
    args.check(&tables.concat())?;
    for (i, (input, files)) in inputs.iter().zip(&tables).enumerate() {
        let opened = open(files)?;
        if tables.len() > 1 {
            let (blank, name) = (if i == 0 { "" } else { "\n" }, input.display().to_string());
            let mut out = Destination::standard();
            writeln!(out, "{blank}==> {} <==", text::shown(&name))?;
            out.flush()?;
        }
        print_input(opened, args, first, files)?;
    }
    Ok(())
}

/// Prints the rows of an input, which was made of `files`. The first row has the number `first`.
pub(crate) fn print_input(
    input: Input,
    args: &RowArgs,
    first: u64,
    files: &[PathBuf],
) -> Result<(), Failure> {
    let note = args.reading.delimiter_note(files, &input.schema);
    print_rows(input, args, first)?;
    if let Some(note) = note {
        eprintln!("note: {}", text::shown(&note));
    }
    Ok(())
}

fn print_rows(input: Input, args: &RowArgs, first: u64) -> Result<(), Failure> {
    let format = match args.format() {
        RowFormat::Table => {
            let (schema, width) = (input.schema.clone(), args.width());
            return print_drawn(input, |out, batches, printed| {
                table::draw(out, &schema, batches, width, first + printed)
            });
        }
        RowFormat::Vertical => {
            let schema = input.schema.clone();
            return print_drawn(input, |out, batches, printed| {
                table::vertical(out, &schema, batches, first + printed)
            });
        }
        RowFormat::Csv => FileFormat::Csv,
        RowFormat::Json => FileFormat::Ndjson,
    };
    check_columns(format, &input.schema)?;
    let mut encoder = Encoder::start(
        format,
        Destination::standard(),
        &input.schema,
        (&args.reading.csv_output_style(Path::new("-")), None),
        1,
    )?;
    for batch in input.batches {
        encoder.write(&batch?)?;
    }
    encoder.finish()?.flush()?;
    Ok(())
}

/// Prints the rows in tables of limited length, so that the beginning of a long file appears soon.
fn print_drawn(
    input: Input,
    draw: impl Fn(&mut Destination, &[RecordBatch], u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut out = Destination::standard();
    let (mut kept, mut rows, mut printed) = (Vec::new(), 0, 0);
    for batch in input.batches {
        let batch = batch?;
        rows += batch.num_rows();
        kept.push(batch);
        if rows >= TABLE_ROWS {
            draw(&mut out, &kept, printed)?;
            kept.clear();
            printed += rows as u64;
            rows = 0;
        }
    }
    if rows > 0 || printed == 0 {
        draw(&mut out, &kept, printed)?;
    }
    out.flush()?;
    Ok(())
}
