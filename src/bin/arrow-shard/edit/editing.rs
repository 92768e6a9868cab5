//! An editor of a shard, either local or in a store.

use crate::failure::Failure;
use crate::location::{stored, wait};
use crate::progress::{bar, followed};
use arrow_array::ArrayRef;
use arrow_schema::Field;
use arrow_shard::Result;
use arrow_shard::io::{Location, Store};
use arrow_shard::ops::{DeleteOptions, EditSummary, ShardEditor};
use arrow_shard::read::{Predicate, ShardOptions};
use arrow_shard::write::ColumnOptions;
use std::path::{Path, PathBuf};

/// An editor, and the location of its shard.
pub(super) struct Editing {
    editor: ShardEditor,
    shard: Location,
    /// Whether no progress is shown.
    quiet: bool,
}

impl Editing {
    /// Opens the shard at `path`, which may be a URL. Appended shards are opened with the same options.
    pub(super) fn open(path: &Path, options: ShardOptions, quiet: bool) -> Result<Self, Failure> {
        let shard = stored(path)?;
        let editor = wait(&shard, ShardEditor::open_with_async(&shard, options))?;
        Ok(Self {
            editor,
            shard,
            quiet,
        })
    }

    /// Appends the stripes of other shards.
    pub(super) fn append_all(&mut self, paths: &[PathBuf]) -> Result<(), Failure> {
        let bar = bar(paths.len() as u64, "shards", self.quiet);
        for path in paths {
            let other = beside(self.shard.store(), path)?;
            wait(&self.shard, self.editor.append_async(other.name()))?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Deletes the rows that match.
    pub(super) fn delete(&mut self, predicate: &Predicate) -> Result<u64> {
        let (bar, follow) = followed("rows", self.quiet);
        let options = DeleteOptions::default().with_progress(follow);
        let deleted = wait(
            &self.shard,
            self.editor.delete_with_async(predicate, options),
        );
        bar.finish_and_clear();
        deleted
    }

    /// Deletes rows by number.
    pub(super) fn delete_rows(&mut self, rows: &[u64]) -> Result<u64> {
        wait(&self.shard, self.editor.delete_rows_async(rows))
    }

    /// Restores deleted rows by number.
    pub(super) fn undelete_rows(&mut self, rows: &[u64]) -> Result<u64> {
        wait(&self.shard, self.editor.undelete_rows_async(rows))
    }

    /// Adds a last column with one value per row, deleted rows included.
    pub(super) fn add_column_values(&mut self, field: Field, values: Vec<ArrayRef>) -> Result<()> {
        let options = ColumnOptions::default();
        self.editor.add_column_values(field, values, options)
    }

    /// Returns the editor, for changes that need no reads.
    pub(super) fn editor(&mut self) -> &mut ShardEditor {
        &mut self.editor
    }

    /// Fails if a commit, to `output` or in place, would already fail.
    pub(super) fn check_commit(&self, output: Option<&Path>) -> Result<(), Failure> {
        let target = match output {
            Some(output) => Some(beside(self.shard.store(), output)?),
            None => None,
        };
        let name = target.as_ref().map(Location::name);
        let checked = wait(&self.shard, self.editor.check_commit_async(name));
        checked.map_err(|e| super::existing(e, output.unwrap_or(Path::new("")), false))
    }

    /// Commits the changes, to `output` or in place.
    pub(super) fn commit(self, output: Option<&Path>) -> Result<EditSummary, Failure> {
        let Some(output) = output else {
            return Ok(wait(&self.shard, self.editor.commit_async())?);
        };
        let target = beside(self.shard.store(), output)?;
        let done = wait(&self.shard, self.editor.commit_to_async(target.name()));
        done.map_err(|e| super::existing(e, output, false))
    }
}

/// Rows to delete, by number: some at a time, because a list of all of them can be larger than the memory.
pub(super) struct Deletions<'a> {
    editing: &'a mut Editing,
    rows: Vec<u64>,
}

impl<'a> Deletions<'a> {
    /// Number of rows that are deleted at once.
    const ROWS: usize = 1 << 20;

    /// Returns deletions of a shard.
    pub(super) fn of(editing: &'a mut Editing) -> Self {
        let rows = Vec::new();
        Self { editing, rows }
    }

    /// Deletes a row.
    pub(super) fn add(&mut self, row: u64) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() < Self::ROWS {
            return Ok(());
        }
        self.editing.delete_rows(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    /// Deletes the last rows.
    pub(super) fn finish(self) -> Result<()> {
        self.editing.delete_rows(&self.rows).map(drop)
    }
}

/// Returns the location of `path`, which must be in the store of the shard.
pub(super) fn beside(store: &Store, path: &Path) -> Result<Location, Failure> {
    let location = stored(path)?;
    if store.is_same(location.store()) {
        Ok(location)
    } else {
        Err(Failure::new(format!(
            "{} is in another store than the shard; a shard refers to files of its own folder and below",
            path.display()
        )))
    }
}
