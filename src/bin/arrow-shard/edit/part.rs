//! Rows of other formats as a shard that another shard can refer to.

use super::TargetArgs;
use super::editing::Editing;
use crate::failure::Failure;
use crate::input::{ColumnArgs, Input, Provided, ReadArgs};
use crate::location::{Location, open_shard};
use crate::progress::Progress;
use arrow_array::RecordBatch;
use arrow_shard::Shard;
use arrow_shard::ops::SHARD_FILE_SUFFIX;
use arrow_shard::read::inspect::InspectOptions;
#[cfg(feature = "cloud")]
use arrow_shard::write::Layout;
use arrow_shard::write::{ShardWriter, WriterOptions};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
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

    /// Fails if a file lacks a column of the key: its rows would have the key null, and replace the rows that have no key.
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

/// A shard with the rows of other formats, which is deleted at the end: the shard that grows refers to its rows by a
/// second name of the file, or in a store, which has no second names, to its stripe files.
pub(super) struct Part {
    directory: Location,
    /// The stripe files in a store.
    stripes: Vec<Location>,
}

impl Part {
    /// Writes rows next to the shard that grows.
    pub(super) fn write(shard: &Path, rows: NewRows, quiet: bool) -> Result<Self, Failure> {
        let NewRows { grown, input, .. } = rows;
        let mut part = Self {
            directory: place(shard)?,
            stripes: Vec::new(),
        };
        let (schema, options) = (input.schema.clone(), options(&grown)?);
        match &part.directory {
            Location::Local(path) => {
                let mut writer = ShardWriter::create_with(path, schema, options)?;
                write_all(input, quiet, |batch| writer.write(batch))?;
                writer.finish()?;
            }
            #[cfg(feature = "cloud")]
            Location::Object(object) => {
                let options = options.with_layout(Layout::TwoLevel);
                let mut writer = object.shard_writer(&schema, options)?;
                write_all(input, quiet, |batch| writer.write(batch))?;
                let written = writer.finish()?;
                let stripes = written.stripe_files().iter();
                part.stripes = stripes.map(|name| part.directory.beside(name)).collect();
            }
        }
        Ok(part)
    }

    /// Returns the path or URL of the shard.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // A file that cannot be deleted is hidden, and a stripe file that no shard needs is found by `vacuum`.
        for file in std::iter::once(&self.directory).chain(&self.stripes) {
            let _ = file.remove();
        }
    }
}

/// Commits the changes of a shard that refers to the rows of `parts`.
pub(super) fn commit_with(
    mut parts: Vec<Part>,
    target: &TargetArgs,
    editing: Editing,
    shard: &Path,
) -> Result<(), Failure> {
    if !target.dry_run {
        editing.check_commit(target.output.as_deref())?;
        // A commit may be complete although the store's answer is lost: from here on, the stripe files stay.
        parts.iter_mut().for_each(|part| part.stripes.clear());
    }
    target.commit(editing, shard)
}

/// Passes the rows of an input to a writer.
fn write_all(
    input: Input,
    quiet: bool,
    mut write: impl FnMut(&RecordBatch) -> arrow_shard::Result<()>,
) -> Result<(), Failure> {
    let mut progress = Progress::new(input.total.clone(), quiet);
    for batch in input.batches {
        let batch = batch?;
        write(&batch)?;
        progress.add(batch.num_rows());
    }
    progress.finish();
    Ok(())
}

/// Returns a hidden place next to a shard, which no other process chooses.
fn place(shard: &Path) -> Result<Location, Failure> {
    let shard = match Location::of(shard)? {
        // References are relative to the folder of the file, not of a link to it.
        Location::Local(path) if path.is_symlink() => Location::Local(path.canonicalize()?),
        place => place,
    };
    let random = RandomState::new().build_hasher().finish();
    Ok(shard.beside(&format!(".append-{random:016x}{SHARD_FILE_SUFFIX}")))
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
