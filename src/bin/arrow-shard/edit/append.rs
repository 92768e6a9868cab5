//! `arrow-shard append`

use super::TargetArgs;
use super::editing::Editing;
use crate::failure::Failure;
use crate::limits::LimitArgs;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard append flights.amudai.shard monday.amudai.shard tuesday.amudai.shard

No row is copied: the directory of the first shard then refers to the buffers of the others, which must \
be in its folder or below. A shard that was one file becomes several, which have to be kept together; the \
output says how many. `arrow-shard merge --help` says how files get a second name.";

/// Append the rows of shards to another, by reference
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard that grows
    file: PathBuf,
    /// Directory files of the shards to append
    #[arg(required = true)]
    others: Vec<PathBuf>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut editing = Editing::open(&args.file, args.limits.editing_options()?)?;
    editing.append_all(&args.others)?;
    args.target.commit(editing, &args.file)?;
    if !args.target.dry_run {
        super::note_parts(
            args.target.output.as_deref().unwrap_or(&args.file),
            &args.others,
        );
    }
    Ok(())
}
