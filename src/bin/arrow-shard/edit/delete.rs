//! `arrow-shard delete`

use super::TargetArgs;
use super::editing::Editing;
use crate::counts::row_number;
use crate::failure::Failure;
use crate::input::{predicate, with_matches};
use crate::limits::LimitArgs;
use crate::location::{NamedFiles, open_shard, stored};
use crate::output::Destination;
use crate::progress::bar;
use crate::text;
use arrow_shard::read::Predicate;
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard delete --where \"delay IS NULL OR origin = 'OSL'\" flights.amudai.shard
  arrow-shard delete --rows 17,1000 flights.amudai.shard --dry-run
  arrow-shard delete --where \"destination = 'LIM'\" 'lake/*.amudai.shard'

Deleted rows are marked, and their data stay: `undelete` brings them back, and `compact` leaves them \
out for good. If no row matches, the shard stays as it is. Several shards are changed one after the other; \
a condition that does not suit one of them changes none. A shard that was one file becomes several, \
which have to be kept together; the output says how many, and `arrow-shard pack` makes one file of them.";

/// Delete rows
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory files of the shards, or globs in quotes
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Rows to delete, by a condition as in `cat --filter`
    #[arg(
        long = "where",
        visible_alias = "filter",
        value_name = "CONDITION",
        conflicts_with = "rows",
        required_unless_present = "rows"
    )]
    condition: Option<String>,
    /// Rows to delete, by number, separated by commas: the first row is 0, and deleted rows count. Only for a single
    /// shard
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = row_number)]
    rows: Vec<u64>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut named = NamedFiles::default();
    let mut files = Vec::new();
    for file in with_matches(&args.files)? {
        if named.insert(&stored(&file)?) {
            files.push(file);
        }
    }
    let [file] = files.as_slice() else {
        return run_many(args, &files);
    };
    let (editing, _) = deleted(args, file, args.target.quiet)?;
    args.target.commit(editing, file)
}

/// Deletes the rows of several shards that match, and shows the shards that have some.
fn run_many(args: &Args, files: &[PathBuf]) -> Result<(), Failure> {
    for (option, is_given) in [
        ("--rows", !args.rows.is_empty()),
        ("--output", args.target.output.is_some()),
    ] {
        if is_given {
            return Err(Failure::Usage(format!(
                "{option} is for one shard, and there are {} here",
                files.len()
            )));
        }
    }
    // A condition that does not suit one of them changes none.
    for file in files {
        condition(args, file).map_err(|failure| failure.of_one_of_many(file))?;
    }
    let (mut rows, mut shards) = (0, 0);
    let bar = bar(files.len() as u64, "shards", args.target.quiet);
    for file in files {
        let change = || {
            let (editing, matches) = deleted(args, file, true)?;
            if matches > 0 {
                bar.suspend(|| args.target.commit(editing, file))?;
            }
            Ok(matches)
        };
        let matches = change().map_err(|failure: Failure| failure.of_file(file))?;
        rows += matches;
        shards += u64::from(matches > 0);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if !args.target.quiet {
        let mut out = Destination::standard();
        let would = if args.target.dry_run {
            "would be"
        } else {
            "are"
        };
        writeln!(
            out,
            "{} in {} of {} {would} deleted",
            text::count(rows, "row"),
            shards,
            text::count(files.len() as u64, "shard"),
        )?;
        out.flush()?;
    }
    Ok(())
}

/// Returns an editor of the shard that has the rows deleted, and their number.
fn deleted(args: &Args, file: &Path, is_quiet: bool) -> Result<(Editing, u64), Failure> {
    let mut editing = Editing::open(file, args.limits.editing_options()?, is_quiet)?;
    let rows = match condition(args, file)? {
        Some(condition) => editing.delete(&condition)?,
        None => editing.delete_rows(&args.rows)?,
    };
    Ok((editing, rows))
}

/// Returns the condition for the columns of a shard.
fn condition(args: &Args, file: &Path) -> Result<Option<Predicate>, Failure> {
    let Some(condition) = &args.condition else {
        return Ok(None);
    };
    let shard = open_shard(file, args.limits.shard_options()?)?;
    let parsed = shard.parse_predicate(condition);
    Ok(Some(predicate("--where", parsed)?))
}
