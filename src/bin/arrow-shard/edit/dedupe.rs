//! `arrow-shard dedupe`

use super::TargetArgs;
use super::editing::{Deletions, Editing};
use super::kept_rows::KeptRows;
use super::keys::Keys;
use crate::failure::Failure;
use crate::input::ColumnNames;
use crate::limits::LimitArgs;
use crate::location::open_shard;
use clap::ValueEnum;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard dedupe flights.amudai.shard
  arrow-shard dedupe --key time,origin --keep last flights.amudai.shard --dry-run

The rows are marked as deleted, as `delete` does: `undelete` brings them back. Keys are compared by hashes of 16 bytes: \
two million of them are held in memory, and others wait in temporary files. Nulls are equal.";

/// Delete rows with the key of another row
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Columns that identify a row, separated by commas, or members of structs: `a,b.c` [default: all columns]
    #[arg(long, value_name = "COLUMNS")]
    key: Vec<ColumnNames>,
    /// Which of the rows with the same key stays
    #[arg(long, value_enum, default_value = "first")]
    keep: Keep,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Keep {
    First,
    Last,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let quiet = args.target.quiet;
    let mut editing = Editing::open(&args.file, args.limits.editing_options()?, quiet)?;
    let shard = open_shard(&args.file, args.limits.shard_options()?)?;
    let keys = Keys::new(&shard, &ColumnNames::all(&args.key));
    let keys = keys.map_err(|failure| failure.of_file(&args.file))?;
    let mut repeated = Deletions::of(&mut editing);
    let mut known = KeptRows::new(shard.num_rows(), args.keep == Keep::Last);
    keys.each(&shard, quiet, |number, key| {
        match known.meet(number, key)? {
            Some(row) => Ok(repeated.add(row)?),
            None => Ok(()),
        }
    })?;
    known.finish(|row| Ok(repeated.add(row)?))?;
    repeated.finish()?;
    args.target.commit(editing, &args.file)
}
