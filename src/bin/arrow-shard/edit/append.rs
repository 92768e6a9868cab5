//! `arrow-shard append`

use super::TargetArgs;
use super::editing::Editing;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{ColumnArgs, ReadArgs};
use crate::location::{is_url, open_shard};
use crate::progress::Progress;
use arrow_shard::Shard;
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::write::{ShardWriter, WriterOptions};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

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
    reading: ReadArgs,
    #[command(flatten)]
    columns: ColumnArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let reading = &args.reading;
    let files = reading.files(&args.others)?;
    if files.have(&args.file) {
        return Err(Failure::new(format!(
            "{}: the shard is one of the files in the folder or glob that is appended",
            args.file.display()
        )));
    }
    // Whatever has no known format is refused as a shard.
    let is_shard = |path: &PathBuf| {
        let format = reading.format(path);
        format.map_or(true, |format| format == FileFormat::Shard)
    };
    if !files.paths.iter().all(is_shard) {
        reading.check(&files.paths, None)?;
    } else if !args.columns.names().is_empty() {
        return Err(Failure::Usage(
            "--columns applies only to rows of other formats, and there are none here".to_owned(),
        ));
    }
    let mut editing = Editing::open(&args.file, reading.editing_options()?)?;
    let mut parts = Vec::new();
    let alike = |a: &PathBuf, b: &PathBuf| is_shard(a) == is_shard(b);
    for group in files.paths.chunk_by(alike) {
        if group.iter().all(is_shard) {
            editing.append_all(group)?;
        } else {
            let part = Part::write(parts.len(), group, args)?;
            editing.append_all(std::slice::from_ref(&part.0))?;
            parts.push(part);
        }
    }
    args.target.commit(editing, &args.file)?;
    if !args.target.dry_run {
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

/// A shard with the rows of other formats, which is deleted at the end: the shard that grows refers to it by a second
/// name.
struct Part(PathBuf);

impl Part {
    /// Writes the rows of some files next to the shard that grows, in the types of its columns.
    fn write(number: usize, files: &[PathBuf], args: &Args) -> Result<Self, Failure> {
        let (shard, reading) = (args.file.as_path(), &args.reading);
        if shard.to_str().is_some_and(is_url) {
            return Err(Failure::Usage(format!(
                "rows of other formats are appended to local shards only; convert the files into the folder of {}, \
                 and append the resulting shard",
                shard.display()
            )));
        }
        let grown = open_shard(shard, reading.shard_options()?)?;
        let schema = grown.schema()?;
        let input = reading.open_for(files, &args.columns, shard, &schema)?;
        let part = Self(place(shard, number)?);
        let mut writer = ShardWriter::create_with(&part.0, input.schema.clone(), options(&grown)?)?;
        let mut progress = Progress::new(input.total.clone(), false);
        for batch in input.batches {
            let batch = batch?;
            writer.write(&batch)?;
            progress.add(batch.num_rows());
        }
        writer.finish()?;
        progress.finish();
        Ok(part)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // A file that cannot be deleted is hidden, and holds no rows of its own.
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the path of a hidden file next to a shard.
fn place(shard: &Path, number: usize) -> Result<PathBuf, Failure> {
    // References are relative to the folder of the file, not of a link to it.
    let file = if shard.is_symlink() {
        shard.canonicalize()?
    } else {
        shard.to_owned()
    };
    let name = format!(".append-{}-{number}.amudai.shard", process::id());
    Ok(file.with_file_name(name))
}

/// Returns options for a shard that can be appended to `grown` by reference.
fn options(grown: &Shard) -> Result<WriterOptions, Failure> {
    let options = WriterOptions::default().with_wire(grown.wire());
    let info = grown.inspect(InspectOptions::default().with_encodings(false))?;
    Ok(match info.mapping {
        Some(mapping) => options.with_mapping(mapping),
        None => options,
    })
}
