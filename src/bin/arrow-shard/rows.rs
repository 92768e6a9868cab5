//! Rows on standard output, for `head` and `cat`.

use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{ColumnArgs, Input, InputArgs, RowWindow};
use crate::output::{Destination, Encoder, check_columns};
use crate::text::{self, ShownTexts};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_cast::display::FormatOptions;
use arrow_cast::pretty::pretty_format_batches_with_options;
use arrow_schema::{Schema, SchemaRef};
use clap::ValueEnum;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows of a table whose columns get the same width.
const TABLE_ROWS: usize = 10_000;

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// A drawn table
    Table,
    /// Comma-separated values
    Csv,
    /// One JSON object per line
    Json,
}

/// Arguments that `head` and `cat` share.
#[derive(Debug, clap::Args)]
pub(crate) struct RowArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// Rows to print, by a condition: "delay > 60 AND origin IN ('OSL', 'LIM')", with
    /// = != < <= > >=, BETWEEN, IN, IS NULL, LIKE 'prefix%', NOT, AND, OR and parentheses; dates
    /// and times are written as '2024-02-29', columns of odd names in double quotes
    #[arg(long, value_name = "CONDITION")]
    pub(crate) filter: Option<String>,
    /// Rows to leave out at the start
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    pub(crate) offset: u64,
    /// How to print the rows
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: RowFormat,
}

/// Prints rows of an input.
pub(crate) fn print(args: &RowArgs, limit: Option<u64>) -> Result<(), Failure> {
    let rows = RowWindow {
        filter: args.filter.as_deref(),
        offset: args.offset,
        limit,
    };
    let written = (args.format == RowFormat::Csv).then_some(FileFormat::Csv);
    args.input.check_csv(written)?;
    let input = args.input.open(&args.columns, rows)?;
    let format = match args.format {
        RowFormat::Table => return print_table(input),
        RowFormat::Csv => FileFormat::Csv,
        RowFormat::Json => FileFormat::Ndjson,
    };
    check_columns(format, &input.schema)?;
    let mut encoder = Encoder::start(
        format,
        Destination::standard(),
        &input.schema,
        &args.input.csv.style(Path::new("-")),
    )?;
    for batch in input.batches {
        encoder.write(&batch?)?;
    }
    encoder.finish()?.flush()?;
    Ok(())
}

fn print_table(input: Input) -> Result<(), Failure> {
    let mut out = Destination::standard();
    let (mut kept, mut rows, mut printed) = (Vec::new(), 0, false);
    for batch in input.batches {
        let batch = batch?;
        rows += batch.num_rows();
        kept.push(batch);
        if rows >= TABLE_ROWS {
            table(&mut out, &input.schema, &kept)?;
            kept.clear();
            (rows, printed) = (0, true);
        }
    }
    if rows > 0 || !printed {
        table(&mut out, &input.schema, &kept)?;
    }
    out.flush()?;
    Ok(())
}

fn table(
    out: &mut Destination,
    schema: &SchemaRef,
    batches: &[RecordBatch],
) -> Result<(), Failure> {
    let fields = schema.fields().iter().map(|field| {
        let name = text::shown(field.name()).into_owned();
        field.as_ref().clone().with_name(name)
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut shown = vec![RecordBatch::new_empty(schema.clone())];
    for batch in batches {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        shown.push(RecordBatch::try_new_with_options(
            schema.clone(),
            columns,
            &options,
        )?);
    }
    let options = FormatOptions::default()
        .with_display_error(true)
        .with_formatter_factory(Some(&ShownTexts));
    writeln!(
        out,
        "{}",
        pretty_format_batches_with_options(&shown, &options)?
    )?;
    Ok(())
}
