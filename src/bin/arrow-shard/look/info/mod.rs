//! `arrow-shard info`

mod parquet;
mod shard;

use super::facts::Facts;
use crate::content::is_pipe;
use crate::failure::Failure;
use crate::file_format::{FileFormat, is_standard};
use crate::input::{ColumnArgs, InputArgs, ReadArgs, RowWindow, UntypedArgs};
use crate::location;
use crate::output::Destination;
use crate::text;
use arrow_schema::Schema;
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard info flights.amudai.shard
  arrow-shard info --json flights.parquet
  arrow-shard info 'days/*.parquet'

For shards: rows, columns, stripes, bytes of all files, bytes of the values before and after encoding, wire, type \
mapping, profile, writer, time of creation, sort order, columns with Bloom filters and range indexes, key-values, and the other \
files that the shard needs. For Parquet also the codecs and the writer. `inspect` shows all details of a \
shard, and `stats` its columns.";

/// Describe files: rows, bytes, sort order, key-values, and other files they need
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, folders (with their subfolders), globs in quotes, or URLs; `-` is standard input (IPC stream, CSV,
    /// NDJSON)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    reading: InputArgs,
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let reading = ReadArgs::plain(&args.reading, &UntypedArgs::default());
    let files = reading.files(&args.inputs)?.paths;
    reading.check(&files, None)?;
    let mut out = Destination::standard();
    let mut is_whole = true;
    for (i, file) in files.iter().enumerate() {
        let format = reading.format(file)?;
        let mut facts = Facts::default();
        match format {
            FileFormat::Shard => {
                is_whole &= shard::add(&mut facts, &reading.open_one_of_many(file)?)?;
            }
            FileFormat::Parquet => parquet::add(&mut facts, file)?,
            _ => add_other(&mut facts, file, format, &reading)?,
        }
        let name = file.display().to_string();
        if args.json {
            writeln!(out, "{}", facts.json(&name, &format.option()))?;
        } else {
            if i > 0 {
                writeln!(out)?;
            }
            facts.print(&mut out, &format!("{name}: {format}"))?;
        }
    }
    out.flush()?;
    if is_whole {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// Adds facts about a file of a format with little metadata.
fn add_other(
    facts: &mut Facts,
    file: &Path,
    format: FileFormat,
    reading: &ReadArgs,
) -> Result<(), Failure> {
    let input = reading.open(file, &ColumnArgs::default(), RowWindow::default())?;
    let rows = if format.is_sequential() {
        let mut rows = 0;
        for batch in input.batches {
            rows += batch?.num_rows() as u64;
        }
        rows
    } else {
        reading.count(file, None, true)?
    };
    facts.add_number("rows", rows);
    facts.add_number("columns", input.schema.fields().len() as u64);
    if !is_standard(file) && !is_pipe(file) {
        add_size(facts, location::size(file)?);
    }
    facts.add_entries("key-values", key_values(&input.schema));
    Ok(())
}

fn add_size(facts: &mut Facts, bytes: u64) {
    facts.add("size", text::bytes(bytes), bytes);
}

/// Adds the size of the values before and after encoding.
fn add_ratio(facts: &mut Facts, raw: Option<u64>, encoded: u64) {
    let mut line = text::bytes(encoded);
    if let Some(raw) = raw {
        line = format!("{line} of {} before encoding", text::bytes(raw));
    }
    let ratio = text::ratio(raw, encoded);
    if let Some(ratio) = ratio {
        line = format!("{line} ({ratio:.2}x)");
    }
    facts.add("values", line, encoded);
    facts.add_lines("raw size", Vec::new(), raw);
    facts.add_lines("ratio", Vec::new(), ratio);
}

/// Adds the columns that the rows are sorted by: the path of each, and whether its values descend and nulls come first.
fn add_order(facts: &mut Facts, columns: &[(String, bool, bool)]) {
    let column = |(path, descends, nulls_first): &(String, bool, bool)| {
        let descends = if *descends { " descending" } else { "" };
        let nulls = if *nulls_first { " nulls first" } else { "" };
        format!("{path}{descends}{nulls}")
    };
    let columns: Vec<String> = columns.iter().map(column).collect();
    let line = Some(columns.join(", ")).filter(|line| !line.is_empty());
    facts.add_lines("sorted by", line.into_iter().collect(), columns);
}

/// Adds the columns that have an index of a kind.
fn add_index(facts: &mut Facts, name: &'static str, columns: Vec<String>) {
    let line = Some(columns.join(", ")).filter(|line| !line.is_empty());
    facts.add_lines(name, line.into_iter().collect(), columns);
}

/// Returns each text once, in the order of their first occurrences.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Returns the metadata of a table, sorted.
fn key_values(schema: &Schema) -> Vec<(String, String)> {
    let pairs = schema.metadata().iter();
    let mut pairs: Vec<_> = pairs
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    pairs.sort();
    pairs
}
