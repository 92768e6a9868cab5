//! Edits of open shards, written to sinks of the caller.

use super::commit::{EditSummary, Naming};
use super::editor::ShardEditor;
use super::place::Place;
use crate::Shard;
use crate::error::Result;
use crate::io::{RelativeUrl, Sink, SinkFactory};
use crate::read::now;

impl ShardEditor {
    /// Returns an editor for an open shard. `url` is the path of its directory file, relative to the folder of the new
    /// directory. If that file also holds rows, no other directory may replace it while a directory refers to it.
    ///
    /// # Errors
    /// Returns the errors of the metadata.
    pub fn of_shard(shard: Shard, url: &RelativeUrl) -> Result<Self> {
        now(Self::of(shard, place_of(url)))
    }

    /// Appends the stripes of an open shard, like `append`. `url` is the path of its directory file, relative to the
    /// folder of the new directory.
    ///
    /// # Errors
    /// Returns [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if columns of the same name have different types,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if fixed-size lists of `Wire::Reference` would be combined with
    /// stripes of `Wire::Spec`, and the errors of the metadata. After an error, the editor is unchanged.
    pub fn append_shard(&mut self, shard: Shard, url: &RelativeUrl) -> Result<()> {
        now(self.append_at(shard, place_of(url)))
    }

    /// Writes the directory file to `directory`, and other new files, such as the one with the deleted rows, to
    /// `folder`, the folder of the directory file.
    ///
    /// # Errors
    /// Returns the errors of the metadata and of the sinks. After an error, the new files are removed.
    pub fn commit_into(
        self,
        directory: &mut dyn Sink,
        folder: &mut dyn SinkFactory,
    ) -> Result<EditSummary> {
        // The slash makes sure that no file has this name.
        let target = Place::new(["/".to_owned()]);
        let files = now(self.files(Some(&target), Naming::AsItIs))?;
        let mut written = Vec::new();
        let mut finish = || -> Result<()> {
            for (name, bytes) in &files.others {
                create(folder, name, bytes)?;
                written.push(name);
            }
            directory.write_all(&files.directory)?;
            directory.commit()
        };
        if let Err(error) = finish() {
            for name in written {
                // The first error is reported, and nothing refers to the file.
                let _ = folder.remove(name);
            }
            return Err(error);
        }
        Ok(files.summary)
    }
}

fn place_of(url: &RelativeUrl) -> Place {
    Place::new(url.segments().map(str::to_owned))
}

/// Writes a file in a folder.
pub(super) fn create(folder: &mut dyn SinkFactory, name: &str, bytes: &[u8]) -> Result<()> {
    let mut sink = folder.create(name)?;
    sink.write_all(bytes)?;
    sink.commit()
}
