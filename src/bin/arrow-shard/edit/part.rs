//! Rows of other formats as a shard that another shard can refer to.

use super::TargetArgs;
use super::editing::Editing;
use crate::failure::Failure;
use crate::input::{ColumnArgs, Input, Provided, ReadArgs};
use crate::location::{PathLocation, open_shard};
use crate::progress::InputProgress;
use crate::temporary::TemporaryShard;
use arrow_array::RecordBatch;
use arrow_shard::Shard;
use arrow_shard::io::{LocalFolder, SinkFactory, random_stripe_file_name};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{ShardWriter, WriterOptions};
use std::path::{Path, PathBuf};

/// Rows of other formats in the types of the shard that grows.
pub(super) struct NewRows {
    grown: Shard,
    input: Input,
    files: Vec<Provided>,
}

impl NewRows {
    /// Opens the files with the rows.
    pub(super) fn open(
        shard: &Path,
        files: &[PathBuf],
        reading: &ReadArgs,
        columns: &ColumnArgs,
    ) -> Result<Self, Failure> {
        let grown = open_shard(shard, reading.shard_options()?)?;
        let schema = grown.schema()?;
        let (input, files) = reading.open_for(files, columns, shard, &schema)?;
        Ok(Self {
            grown,
            input,
            files,
        })
    }

    /// Fails if a file lacks a column of the key: its rows would have the key null, and replace the rows that have no
    /// key.
    pub(super) fn check_key(&self, key: &[String]) -> Result<(), Failure> {
        for file in &self.files {
            let Some(column) = key.iter().find(|column| !file.is_read(column)) else {
                continue;
            };
            let advice = if file.has(column) {
                "name it with --columns, too"
            } else {
                "add it to the file, or name other columns with --key"
            };
            let why = format!("the new rows lack the key column `{column}`; {advice}");
            return Err(Failure::new(why).within(&file.file));
        }
        Ok(())
    }

    /// Returns the columns that some of the files lack: they become null.
    pub(super) fn lacking(&self) -> Vec<String> {
        let is_lacking = |name: &&String| self.files.iter().any(|file| !file.is_read(name));
        let fields = self.input.schema.fields().iter();
        let lacking = fields.map(|field| field.name()).filter(is_lacking);
        lacking.cloned().collect()
    }
}

/// A shard with the rows of other formats.
pub(super) enum Part {
    /// A file next to the shard that grows, named as the files with rows that shards refer to. It is deleted at the
    /// end, unless a commit refers to it.
    File {
        place: PathLocation,
        is_needed: bool,
    },
    /// A temporary file, in a dry run.
    Temporary(Box<Shard>),
}

impl Part {
    /// Writes rows next to the shard that grows, or to a temporary file if nothing is to be written.
    pub(super) fn write(shard: &Path, rows: NewRows, target: &TargetArgs) -> Result<Self, Failure> {
        let NewRows { grown, input, .. } = rows;
        let quiet = target.quiet;
        let (schema, options) = (input.schema.clone(), options(&grown)?);
        if target.dry_run {
            let mut file = TemporaryShard::create(schema, options)?;
            write_all(input, quiet, |batch| file.write(batch))?;
            let shard = file.open("the new rows".to_owned())?;
            return Ok(Self::Temporary(Box::new(shard)));
        }
        let name = random_stripe_file_name();
        let place = match PathLocation::of(shard)? {
            // References are relative to the folder of the file, not of a link to it.
            PathLocation::Local(path) if path.is_symlink() => {
                PathLocation::Local(path.canonicalize()?)
            }
            place => place,
        };
        let place = place.beside(&name);
        match &place {
            PathLocation::Local(path) => {
                let sink = LocalFolder::of_file(path)?.create(&name)?;
                let mut writer = ShardWriter::try_new(sink, schema, options)?;
                write_all(input, quiet, |batch| Ok(writer.write(batch)?))?;
                writer.finish()?;
            }
            #[cfg(feature = "cloud")]
            PathLocation::Object(object) => {
                let mut writer = object.part_writer(&schema, options)?;
                write_all(input, quiet, |batch| Ok(writer.write(batch)?))?;
                writer.finish()?;
            }
        }
        Ok(Self::File {
            place,
            is_needed: false,
        })
    }

    /// Opens the shard.
    pub(super) fn open(&self, options: ShardOptions) -> Result<Shard, Failure> {
        Ok(match self {
            Self::File { place, .. } => open_shard(&place.path(), options)?,
            Self::Temporary(shard) => shard.as_ref().clone(),
        })
    }

    /// Appends the rows to the shard that grows, unless nothing is to be written.
    pub(super) fn append_to(&self, editing: &mut Editing) -> Result<(), Failure> {
        match self {
            Self::File { place, .. } => editing.append_all(&[place.path()]),
            Self::Temporary(_) => Ok(()),
        }
    }

    /// Returns the number of rows that are not appended because nothing is to be written.
    fn left_out(&self) -> u64 {
        match self {
            Self::File { .. } => 0,
            Self::Temporary(shard) => shard.num_rows(),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Self::File {
            place,
            is_needed: false,
        } = self
        {
            // `vacuum` finds a file that cannot be deleted.
            let _ = place.remove();
        }
    }
}

/// Commits the changes of a shard that refers to the rows of `parts`.
pub(super) fn commit_with(
    mut parts: Vec<Part>,
    target: &TargetArgs,
    mut editing: Editing,
    shard: &Path,
) -> Result<(), Failure> {
    editing.check_commit(target.output.as_deref())?;
    if target.dry_run {
        let (editor, shown) = (editing.editor(), target.output.as_deref().unwrap_or(shard));
        let rows = editor.num_rows() + parts.iter().map(Part::left_out).sum::<u64>();
        return super::say(shown, "would have", rows, editor.num_deleted_rows(), "");
    }
    for part in &mut parts {
        if let Part::File { is_needed, .. } = part {
            // A commit may be complete although the store's answer is lost.
            *is_needed = true;
        }
    }
    target.commit(editing, shard)
}

/// Passes the rows of an input to a writer.
fn write_all(
    input: Input,
    quiet: bool,
    mut write: impl FnMut(&RecordBatch) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut progress = InputProgress::new(input.total.clone(), quiet);
    for batch in input.batches {
        let batch = batch?;
        write(&batch)?;
        progress.add(batch.num_rows());
    }
    progress.finish();
    Ok(())
}

/// Returns options for a shard that can be appended to `grown` by reference.
fn options(grown: &Shard) -> Result<WriterOptions, Failure> {
    let options = WriterOptions::default().with_wire(grown.wire());
    Ok(match grown.type_mapping()? {
        Some(mapping) => options.with_mapping(mapping),
        None => options,
    })
}
