//! An editor of a shard, either local or in a store.

use crate::failure::Failure;
use crate::location::Location;
use crate::progress::{bar, followed};
use arrow_shard::Result;
use arrow_shard::ops::{EditSummary, ShardEditor};
use arrow_shard::read::{Predicate, ShardOptions};
use std::path::{Path, PathBuf};

/// An editor, and the location of its shard.
pub(super) struct Editing {
    editor: ShardEditor,
    location: Location,
}

impl Editing {
    /// Opens the shard at `path`, which may be a URL. Appended shards are opened with the same options.
    pub(super) fn open(path: &Path, options: ShardOptions) -> Result<Self, Failure> {
        let location = Location::of(path)?;
        let editor = match &location {
            Location::Local(path) => ShardEditor::open_with(path, options)?,
            #[cfg(feature = "cloud")]
            Location::Object(object) => object.open_editor(options)?,
        };
        Ok(Self { editor, location })
    }

    /// Appends the stripes of another shard.
    fn append(&mut self, path: &Path) -> Result<(), Failure> {
        match (Location::of(path)?, &self.location) {
            (Location::Local(path), Location::Local(_)) => self.editor.append(path)?,
            #[cfg(feature = "cloud")]
            (Location::Object(other), Location::Object(object)) => {
                object.append(&mut self.editor, &other)?;
            }
            #[cfg(feature = "cloud")]
            _ => return Err(elsewhere(path)),
        }
        Ok(())
    }

    /// Appends the stripes of other shards.
    pub(super) fn append_all(&mut self, paths: &[PathBuf]) -> Result<(), Failure> {
        let bar = bar(paths.len() as u64, "shards");
        for path in paths {
            self.append(path)?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Fails if two shards refer to the same data.
    pub(super) fn check_distinct(&self) -> Result<()> {
        match &self.location {
            Location::Local(_) => self.editor.check_distinct(),
            #[cfg(feature = "cloud")]
            Location::Object(_) => crate::cloud::wait(self.editor.check_distinct_objects()),
        }
    }

    /// Deletes the rows that match.
    pub(super) fn delete(&mut self, predicate: &Predicate) -> Result<u64> {
        let (bar, progress) = followed("rows");
        let deleted = match &self.location {
            Location::Local(_) => self.editor.delete_with(predicate, progress),
            #[cfg(feature = "cloud")]
            Location::Object(_) => {
                crate::cloud::wait(self.editor.delete_with_async(predicate, progress))
            }
        };
        bar.finish_and_clear();
        deleted
    }

    /// Deletes rows by number.
    pub(super) fn delete_rows(&mut self, rows: &[u64]) -> Result<u64> {
        match &self.location {
            Location::Local(_) => self.editor.delete_rows(rows),
            #[cfg(feature = "cloud")]
            Location::Object(_) => crate::cloud::wait(self.editor.delete_rows_async(rows)),
        }
    }

    /// Restores deleted rows by number.
    pub(super) fn undelete_rows(&mut self, rows: &[u64]) -> Result<u64> {
        match &self.location {
            Location::Local(_) => self.editor.undelete_rows(rows),
            #[cfg(feature = "cloud")]
            Location::Object(_) => crate::cloud::wait(self.editor.undelete_rows_async(rows)),
        }
    }

    /// Returns the editor, for changes that need no reads.
    pub(super) fn editor(&mut self) -> &mut ShardEditor {
        &mut self.editor
    }

    /// Commits the changes, to `output` or in place.
    pub(super) fn commit(self, output: Option<&Path>) -> Result<EditSummary, Failure> {
        let Some(output) = output else {
            return Ok(match self.location {
                Location::Local(_) => self.editor.commit()?,
                #[cfg(feature = "cloud")]
                Location::Object(object) => object.commit(self.editor)?,
            });
        };
        Ok(match (Location::of(output)?, self.location) {
            (Location::Local(output), Location::Local(_)) => self.editor.commit_to(output)?,
            #[cfg(feature = "cloud")]
            (Location::Object(output), Location::Object(object)) => {
                object.commit_to(self.editor, &output)?
            }
            #[cfg(feature = "cloud")]
            _ => return Err(elsewhere(output)),
        })
    }
}

#[cfg(feature = "cloud")]
pub(super) fn elsewhere(path: &Path) -> Failure {
    Failure::new(format!(
        "{} is in another store than the shard; a shard refers to files of its own folder and below",
        path.display()
    ))
}
