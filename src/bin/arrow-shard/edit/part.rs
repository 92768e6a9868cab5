//! Rows of other formats as a shard that another shard can refer to.

use crate::failure::Failure;
use crate::input::{ColumnArgs, Input, Provided, ReadArgs};
use crate::location::{is_url, open_shard};
use crate::progress::Progress;
use arrow_shard::Shard;
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::write::{ShardWriter, WriterOptions};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

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
        if shard.to_str().is_some_and(is_url) {
            return Err(Failure::Usage(format!(
                "rows of other formats are appended to local shards only; convert the files into the folder of {}, \
                 and append the resulting shard",
                shard.display()
            )));
        }
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

/// A shard with the rows of other formats, which is deleted at the end: the shard that grows refers to it by a second
/// name.
pub(super) struct Part(PathBuf);

impl Part {
    /// Writes rows next to the shard that grows.
    pub(super) fn write(
        number: usize,
        shard: &Path,
        rows: NewRows,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let NewRows { grown, input, .. } = rows;
        let part = Self(place(shard, number)?);
        let mut writer = ShardWriter::create_with(&part.0, input.schema.clone(), options(&grown)?)?;
        let mut progress = Progress::new(input.total.clone(), quiet);
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

impl Part {
    /// Returns the path of the shard.
    pub(super) fn path(&self) -> &PathBuf {
        &self.0
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
