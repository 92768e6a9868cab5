//! `arrow-shard upsert`

use super::TargetArgs;
use super::editing::{Deletions, Editing};
use super::keys::Keys;
use super::part::{NewRows, Part, commit_with};
use crate::failure::Failure;
use crate::input::{ColumnArgs, ColumnNames, HiveArgs, InputArgs, ReadArgs, UntypedArgs};
use crate::location::open_shard;
use crate::names::listed;
use crate::text;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard upsert --key time,origin flights.amudai.shard changed.csv
  arrow-shard upsert --key time,origin,destination flights.amudai.shard 'new/*.parquet' --dry-run

Rows of the shard with the key of a new row are marked as deleted, and the new rows are appended, in one change: \
readers see all of it or nothing. The new rows take the types of the shard's columns, by name, as in `append`. \
A column that the new rows lack becomes null, also in replaced rows; a column of the key must not be missing. \
Two new rows with the same key are an error. A hash of 16 bytes for each new row is kept in memory. Nulls are \
equal.";

/// Replace rows by key, and append the others
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard that changes
    file: PathBuf,
    /// Files, folders and globs with the new rows, of any format
    #[arg(required = true)]
    others: Vec<PathBuf>,
    /// Columns that identify a row, separated by commas, or members of structs: `a,b.c`
    #[arg(long, required = true, value_name = "COLUMNS")]
    key: Vec<ColumnNames>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    reading: InputArgs,
    #[command(flatten)]
    folders: HiveArgs,
    #[command(flatten)]
    columns: ColumnArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let quiet = args.target.quiet;
    let reading = ReadArgs::plain(&args.reading, &UntypedArgs::default());
    let reading = reading.with_folders(&args.folders);
    let files = reading.files(&args.others)?;
    if files.have(&args.file) {
        return Err(Failure::new(format!(
            "{}: the shard is one of the files with new rows",
            args.file.display()
        )));
    }
    reading.check_added(&files.paths)?;
    let mut editing = Editing::open(&args.file, reading.editing_options()?, quiet)?;
    editing.check_commit(args.target.output.as_deref())?;
    let shard = open_shard(&args.file, reading.shard_options()?)?;
    let key = ColumnNames::all(&args.key);
    let keys = Keys::new(&shard, &key).map_err(|failure| failure.of_file(&args.file))?;
    let rows = NewRows::open(&args.file, &files.paths, &reading, &args.columns)?;
    rows.check_key(&key)?;
    let lacking = rows.lacking();
    let part = Part::write(&args.file, rows, &args.target)?;
    let new = keys.unique(&part.open(reading.shard_options()?)?, quiet)?;
    let mut replaced = Deletions::of(&mut editing);
    keys.each(&shard, quiet, |number, key| {
        if new.contains_key(&key) {
            replaced.add(number)?;
        }
        Ok(())
    })?;
    replaced.finish()?;
    part.append_to(&mut editing)?;
    commit_with(vec![part], &args.target, editing, &args.file)?;
    if !quiet && !lacking.is_empty() {
        let columns = listed(lacking.iter().map(String::as_str));
        eprintln!(
            "note: columns that the new rows lack are null, also in replaced rows: {}",
            text::shown(&columns)
        );
    }
    Ok(())
}
