//! Shards behind readers and sinks of any kind.

use super::commit::{EditSummary, Naming};
use super::editor::ShardEditor;
use super::place::Place;
use crate::Shard;
use crate::error::Result;
use crate::io::{RelativeUrl, Sink, SinkFactory};
use crate::read::now;

impl ShardEditor {
    /// As `open`, of an open shard, whose directory file is at `url` in the folder that the new directory
    /// will be in. No other directory may be written to that place while one refers to it, if the file
    /// holds rows as well.
    ///
    /// # Errors
    /// Those of the metadata.
    pub fn of_shard(shard: Shard, url: &RelativeUrl) -> Result<Self> {
        now(Self::of(shard, place_of(url)))
    }

    /// As `append`, of an open shard, whose directory file is at `url` in the same folder.
    ///
    /// # Errors
    /// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) for columns of one name whose types are not the
    /// same, [`Unsupported`](crate::ErrorKind::Unsupported) for fixed-size
    /// lists of `Wire::Reference` beside stripes of `Wire::Spec`, and those of the metadata. The editor is then as it was.
    pub fn append_shard(&mut self, shard: Shard, url: &RelativeUrl) -> Result<()> {
        now(self.append_at(shard, place_of(url)))
    }

    /// Writes the directory file to a sink. A file that says which rows are deleted is made in `folder`, the
    /// one that the directory file is in.
    ///
    /// # Errors
    /// Those of the metadata and of the sinks. What was made is then removed.
    pub fn commit_into(
        self,
        directory: &mut dyn Sink,
        folder: &mut dyn SinkFactory,
    ) -> Result<EditSummary> {
        // A name that no file has, because it has a slash.
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
                // There is an error to tell already, and nothing refers to the file.
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

/// Writes a file of a folder.
pub(super) fn create(folder: &mut dyn SinkFactory, name: &str, bytes: &[u8]) -> Result<()> {
    let mut sink = folder.create(name)?;
    sink.write_all(bytes)?;
    sink.commit()
}
