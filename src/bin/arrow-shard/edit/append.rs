//! `arrow-shard append`

use super::TargetArgs;
use super::editing::Editing;
use super::part::{NewRows, Part, commit_with};
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{ColumnArgs, HiveArgs, InputArgs, ReadArgs, UntypedArgs};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard append flights.amudai.shard monday.amudai.shard tuesday.amudai.shard
  arrow-shard append flights.amudai.shard 'new/*.csv.gz' wednesday.parquet

No row of a shard is copied: the directory of the first shard then refers to the buffers of the others, \
which must be in its folder or below. Files of other formats may be anywhere. Their rows take the types of \
the shard's columns, by name; a column that they lack is null, and a column that the shard lacks, or a \
value that its type does not hold exactly, is an error. All files are appended at once, or none.

A shard that was one file becomes several, which have to be kept together; the output says how many. \
`arrow-shard merge --help` says how files get a second name.";

/// Append rows to a shard: other shards by reference, and files of other formats
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard that grows
    file: PathBuf,
    /// Files, folders and globs to append: directory files of shards, and files of other formats
    #[arg(required = true)]
    others: Vec<PathBuf>,
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
    let reading = ReadArgs::plain(&args.reading, &UntypedArgs::default());
    let reading = &reading.with_folders(&args.folders);
    let files = reading.files(&args.others)?;
    if files.have(&args.file) {
        return Err(Failure::new(format!(
            "{}: the shard is one of the files to append, and would have its rows twice; leave it out",
            args.file.display()
        )));
    }
    // Whatever has no known format is refused as a shard.
    let is_shard = |path: &PathBuf| {
        let format = reading.format(path);
        format.map_or(true, |format| format == FileFormat::Shard)
    };
    if !files.paths.iter().all(is_shard) {
        reading.check_added(&files.paths)?;
    } else if !args.columns.names().is_empty() {
        return Err(Failure::Usage(
            "--columns applies only to rows of other formats, and there are none here".to_owned(),
        ));
    }
    let mut editing = Editing::open(&args.file, reading.editing_options()?, args.target.quiet)?;
    editing.check_commit(args.target.output.as_deref())?;
    let mut parts = Vec::new();
    let alike = |a: &PathBuf, b: &PathBuf| is_shard(a) == is_shard(b);
    for group in files.paths.chunk_by(alike) {
        if group.iter().all(is_shard) {
            editing.append_all(group)?;
        } else {
            let rows = NewRows::open(&args.file, group, reading, &args.columns)?;
            let part = Part::write(&args.file, rows, &args.target)?;
            part.append_to(&mut editing)?;
            parts.push(part);
        }
    }
    commit_with(parts, &args.target, editing, &args.file)?;
    if !args.target.dry_run && !args.target.quiet {
        let shards: Vec<PathBuf> = files
            .paths
            .iter()
            .filter(|it| is_shard(it))
            .cloned()
            .collect();
        super::note_parts(args.target.output.as_deref().unwrap_or(&args.file), &shards);
    }
    Ok(())
}
