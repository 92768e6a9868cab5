//! Rows of other formats as a shard that another shard can refer to.

use crate::failure::Failure;
use crate::input::{ColumnArgs, ReadArgs};
use crate::location::{is_url, open_shard};
use crate::progress::Progress;
use arrow_shard::Shard;
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::write::{ShardWriter, WriterOptions};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// A shard with the rows of other formats, which is deleted at the end: the shard that grows refers to it by a second
/// name.
pub(super) struct Part(PathBuf);

impl Part {
    /// Writes the rows of some files next to the shard that grows, in the types of its columns.
    pub(super) fn write(
        number: usize,
        shard: &Path,
        files: &[PathBuf],
        reading: &ReadArgs,
        columns: &ColumnArgs,
        quiet: bool,
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
        let input = reading.open_for(files, columns, shard, &schema)?;
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
