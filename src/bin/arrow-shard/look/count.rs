//! `arrow-shard count`

use crate::failure::Failure;
use crate::input::{HiveArgs, InputArgs, ReadArgs, TypeArgs, UntypedArgs};
use crate::output::Destination;
use crate::text;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard count flights.amudai.shard
  arrow-shard count --filter \"delay > 60\" --by-file 'days/*.parquet'
  arrow-shard count --json days

Prints one number, the sum over all files. Without --filter, the metadata of shards, Parquet, Arrow IPC files and \
COLE have it; text and IPC streams are read. Deleted rows of shards do not count. In a folder, neither \
do shards that another shard of the folder contains, nor Parquet files that a shard refers to.";

/// Count the rows of files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, folders (with their subfolders), globs in quotes, or URLs; `-` is standard input (IPC stream, CSV,
    /// NDJSON)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    reading: InputArgs,
    #[command(flatten)]
    untyped: UntypedArgs,
    #[command(flatten)]
    folders: HiveArgs,
    #[command(flatten)]
    types: TypeArgs,
    /// Count only the rows that match a condition, as in `cat`
    #[arg(long, visible_alias = "where", value_name = "CONDITION")]
    filter: Option<String>,
    /// Print a line for each file: its number of rows and its name
    #[arg(long)]
    by_file: bool,
    /// Print one JSON object: the sum, and with --by-file the number of rows of each file
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let reading = ReadArgs::plain(&args.reading, &args.untyped)
        .with_folders(&args.folders)
        .with_types(&args.types);
    let files = reading.files(&args.inputs)?.paths;
    reading.check(&files, None)?;
    if args.filter.is_none()
        && let Some(option) = reading.changes_columns()
    {
        return Err(Failure::Usage(format!(
            "{option} applies only to the columns of a --filter, and there is none here"
        )));
    }
    let (mut counts, mut sum) = (Vec::with_capacity(files.len()), 0_u64);
    for file in &files {
        let counted = reading.count(file, args.filter.as_deref(), args.quiet);
        let rows = counted.map_err(|failure| match files.as_slice() {
            [_] => failure.of_file(file),
            _ => failure.of_one_of_many(file),
        })?;
        // Damaged files may declare any number of rows.
        sum = sum.saturating_add(rows);
        counts.push((file.display().to_string(), rows));
    }
    let mut out = Destination::standard();
    if args.json {
        let mut object = json!({ "rows": sum });
        if args.by_file {
            let file = |(file, rows): &(String, u64)| json!({ "file": file, "rows": rows });
            object["files"] = counts.iter().map(file).collect::<Vec<Value>>().into();
        }
        writeln!(out, "{object}")?;
    } else if args.by_file {
        let width = counts.iter().map(|(_, rows)| rows.to_string().len()).max();
        let width = width.unwrap_or_default();
        for (file, rows) in &counts {
            writeln!(out, "{rows:width$} {}", text::shown(file))?;
        }
    } else {
        writeln!(out, "{sum}")?;
    }
    Ok(out.flush()?)
}
