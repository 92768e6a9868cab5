//! Edits of a shard: changes that a new directory makes.

mod columns;
mod properties;

use super::commit::EditSummary;
use super::commit::{CommitFiles, DirectoryPlan, Naming};
use super::deletes::{DeleteOptions, EditedStripe, RowSets};
use super::edited_columns::EditedColumns;
use super::progress::WorkProgress;
use super::source::SourceShard;
use super::unify::Unify;
use super::wires;
use crate::Shard;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{
    NameValuePair, ShardProperties, StripeProperties, WRITERS_PROPERTY, Wire, WriterInfo,
};
use crate::io::{Location, Place, Store};
use crate::read::{Predicate, ShardOptions, ready_now_or};
use crate::sorting::{SORTING_COLUMNS_PROPERTY, SortingColumn};
use crate::write::ARROW_SCHEMA_PROPERTY;
use arrow_schema::Schema;
use std::collections::HashMap;
use std::ops::Range;

/// Changes a shard without rewriting its rows: a commit writes a new directory that refers to the existing buffers.
///
/// Nothing is written until [`commit`](Self::commit) applies all changes in place, or [`commit_to`](Self::commit_to)
/// writes them as another shard, in the folder of this one or above it. If two editors change the same shard, the later
/// commit fails with [`Conflict`](crate::ErrorKind::Conflict), so no change is lost.
///
/// ```
/// # use arrow_shard::{Shard, ShardWriter};
/// # use arrow_shard::arrow_array::record_batch;
/// use arrow_shard::ops::ShardEditor;
/// use arrow_shard::read::col;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("flights.amudai.shard");
/// # let batch = record_batch!(("id", Int32, [1, 2, 3]), ("late", Int32, [0, 70, 5]))?;
/// # let mut writer = ShardWriter::create(&path, batch.schema())?;
/// # writer.write(&batch)?;
/// # writer.finish()?;
/// let mut editor = ShardEditor::open(&path)?;
/// editor.rename_column("late", "delay")?;
/// let deleted = editor.delete(&col("late").gt(60))?;
/// editor.commit()?;
/// # assert_eq!(deleted, 1);
///
/// let shard = Shard::open(&path)?;
/// assert_eq!((shard.num_rows(), shard.num_deleted_rows()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ShardEditor {
    /// The shard that was opened, followed by the appended shards.
    sources: Vec<SourceShard>,
    columns: EditedColumns,
    /// The columns of the shard that was opened.
    first_columns: EditedColumns,
    /// Metadata of the Arrow schema.
    metadata: HashMap<String, String>,
    /// The metadata of the shard that was opened.
    first_metadata: HashMap<String, String>,
    stripes: Vec<EditedStripe>,
    /// The number of rows of all stripes, including deleted rows.
    total_rows: u64,
    /// Without the properties that every commit makes again: see `is_foreign`.
    properties: ShardProperties,
    /// The properties of the shard that was opened.
    first_properties: ShardProperties,
    sorting_columns: Vec<SortingColumn>,
    /// The writers of the rows, each once.
    writers: Vec<WriterInfo>,
    wire: Wire,
    /// The options for opening appended shards.
    options: ShardOptions,
    /// How a table unites different types; `None` for an edit, because files need one type.
    unify: Option<Unify>,
}

impl ShardEditor {
    /// Returns an editor for a shard with loaded metadata.
    pub(super) async fn of_source(source: SourceShard) -> Result<Self> {
        let shard = &source.shard;
        let columns = EditedColumns::of(shard, 0).await?;
        let metadata = shard.schema_async().await?.metadata().clone();
        let mut properties = shard.properties_async().await?.clone();
        properties.custom_properties.retain(is_foreign);
        let mut writers = Vec::new();
        WriterInfo::add_new(&mut writers, shard.writers_async().await?);
        let stripes = EditedStripe::all_of(&source, 0);
        Ok(Self {
            first_columns: columns.clone(),
            columns,
            first_metadata: metadata.clone(),
            metadata,
            total_rows: stripes.iter().map(|stripe| stripe.rows).sum(),
            stripes,
            first_properties: properties.clone(),
            properties,
            sorting_columns: shard.sorting_columns_async().await?,
            writers,
            wire: shard.wire(),
            options: ShardOptions::default(),
            unify: None,
            sources: vec![source],
        })
    }

    /// Sets the options for opening appended shards.
    pub(super) fn with_options(mut self, options: ShardOptions) -> Self {
        self.options = options;
        self
    }

    /// Makes the editor one for a table in memory, which unites the types of columns in this way.
    pub(super) fn for_table(mut self, unify: Unify) -> Self {
        self.unify = Some(unify);
        self
    }

    /// Widens columns to their types in a schema, if this is a table that widens types.
    pub(super) fn widen_to(&mut self, schema: &Schema) -> Result<()> {
        if self.unify != Some(Unify::Widen) {
            return Ok(());
        }
        let none = self.sources.len();
        let name_of = |source: usize| match self.sources.get(source) {
            Some(source) => source.place.element(),
            None => "the schema of the table".to_owned(),
        };
        self.columns.widen_to(schema, none, &name_of)
    }

    /// Returns the options for opening appended shards.
    pub(super) fn options(&self) -> &ShardOptions {
        &self.options
    }

    /// Appends the stripes of a shard with loaded metadata. After an error, the editor is unchanged.
    pub(super) async fn append_source(&mut self, source: SourceShard) -> Result<()> {
        let wire = wires::united(self.wire, source.shard.wire());
        // The other shards fit the wire that they have already.
        let others = if wire == self.wire {
            &[]
        } else {
            self.sources.as_slice()
        };
        for source in others.iter().chain([&source]) {
            if source.shard.wire() != wire {
                let schema = source.shard.stored_schema().await?;
                let checked = wires::check(&schema, source.shard.wire(), wire);
                checked.within(|| source.place.element())?;
            }
        }
        let mut rows = source.stripes.iter().map(|s| s.total_record_count);
        let Some(total_rows) = rows.try_fold(self.total_rows, u64::checked_add) else {
            let message = format!(
                "the rows of `{}` and those before it are more than 2^64",
                source.place
            );
            return Err(Error::new(ErrorKind::LimitExceeded, message));
        };
        let theirs = source.shard.properties_async().await?;
        let writers = source.shard.writers_async().await?;
        let ordinal = self.sources.len();
        let name_of = |source: usize| place_of(&self.sources, source);
        let united = self
            .columns
            .unite(&source.shard, ordinal, self.unify, &name_of);
        // No step below can fail, so an error leaves the editor unchanged.
        united.await.within(|| source.place.element())?;
        let own = &mut self.properties;
        let created = own.creation_min.into_iter();
        own.creation_min = created.chain(theirs.creation_min).min();
        own.creation_max = own.creation_max.max(theirs.creation_max);
        add_new(&mut own.standard_properties, &theirs.standard_properties);
        add_new(&mut own.custom_properties, &theirs.custom_properties);
        WriterInfo::add_new(&mut self.writers, writers);
        self.wire = wire;
        if !source.stripes.is_empty() {
            self.sorting_columns.clear();
        }
        self.stripes.extend(EditedStripe::all_of(&source, ordinal));
        self.total_rows = total_rows;
        self.sources.push(source);
        Ok(())
    }

    /// Returns the shard that was opened, followed by the appended shards.
    pub(super) fn sources(&self) -> &[SourceShard] {
        &self.sources
    }

    /// Returns the stripes with the changes applied.
    pub(super) fn stripes(&self) -> &[EditedStripe] {
        &self.stripes
    }

    /// Fails if the directory file also holds rows of stripes, even rows that this editor no longer needs: other shards
    /// may refer to them.
    pub(super) async fn check_replaceable(&self) -> Result<()> {
        let Some(source) = self.sources.first() else {
            return Ok(());
        };
        for stripe in 0..source.stripes.len() as u64 {
            if source.is_in_directory_file(stripe).await? {
                return Err(super::commit::holds_rows());
            }
        }
        Ok(())
    }

    /// Returns the shard that holds a run of neighboring stripes, and the range of their rows in it.
    pub(super) fn rows_of(&self, run: &Range<usize>) -> Result<(&Shard, Range<u64>)> {
        let stripes = self.stripes.get(run.clone()).unwrap_or_default();
        let found = stripes
            .first()
            .zip(stripes.last())
            .and_then(|(first, last)| {
                let source = self.sources.get(first.source)?;
                let start = source.first_row(first.ordinal);
                let end = source.first_row(last.ordinal) + last.rows;
                Some((&source.shard, start..end))
            });
        found.ok_or_else(|| Error::invalid("there are no such stripes"))
    }

    /// Replaces a run of stripes by the stripes of an open shard. The file at `place` is never replaced by a directory,
    /// so the new directory can refer to it by its own name.
    pub(super) async fn replace_run(
        &mut self,
        run: Range<usize>,
        shard: Shard,
        place: Place,
    ) -> Result<()> {
        let mut source = SourceShard::load(shard, self.store().clone(), place).await?;
        source.is_artifact = true;
        let ordinal = self.sources.len();
        let name_of = |source: usize| place_of(&self.sources, source);
        let united = self
            .columns
            .unite(&source.shard, ordinal, self.unify, &name_of);
        united.await?;
        let mut common: Option<StripeProperties> = None;
        for stripe in self.stripes.get(run.clone()).unwrap_or_default() {
            if let Some(source) = self.sources.get(stripe.source) {
                let own = source.properties_of(stripe.ordinal).await?;
                common = Some(match common {
                    None => own,
                    Some(common) => in_both(common, &own),
                });
            }
        }
        let mut stripes = EditedStripe::all_of(&source, ordinal);
        for stripe in &mut stripes {
            stripe.properties.clone_from(&common);
        }
        let writers = source.shard.writers_async().await?;
        WriterInfo::add_new(&mut self.writers, writers);
        let rows: u64 = stripes.iter().map(|stripe| stripe.rows).sum();
        let replaced = self.stripes.splice(run, stripes);
        // A rewritten stripe has at most the rows that it had before.
        self.total_rows -= replaced.map(|stripe| stripe.rows).sum::<u64>();
        self.total_rows += rows;
        self.sources.push(source);
        Ok(())
    }

    /// Returns the store of all shards.
    pub(super) fn store(&self) -> &Store {
        &self.sources[0].store
    }

    /// Returns the place of the shard that was opened.
    pub(super) fn place(&self) -> &Place {
        // `of_source` begins with one source, and sources are only added.
        &self.sources[0].place
    }

    /// Returns the version of the directory file at the time when the shard was opened.
    pub(super) fn version(&self) -> Option<String> {
        self.sources.first()?.shard.version()
    }

    /// Returns the files to write for the changed shard with its directory file at `target`.
    pub(super) async fn files(self, target: &Place, naming: Naming) -> Result<CommitFiles> {
        let schema = Schema::new_with_metadata(self.columns.fields(), self.metadata.clone());
        let plan = DirectoryPlan {
            wire: self.wire,
            sources: &self.sources,
            columns: &self.columns,
            schema,
            stripes: &self.stripes,
            properties: self.properties.clone(),
            sorting_columns: self.sorting_columns.clone(),
            writers: self.writers.clone(),
            naming,
            unify: self.unify,
        };
        plan.files(target).await
    }

    /// Returns the Arrow schema with the changes applied.
    pub fn schema(&self) -> Schema {
        Schema::new_with_metadata(self.columns.fields(), self.metadata.clone())
    }

    /// Returns whether there are changes to commit. A change without effect, such as a delete that matches no row, does
    /// not count.
    pub fn has_changes(&self) -> bool {
        let is_there = |(i, stripe): (u64, &EditedStripe)| {
            let first = self.sources.first();
            first.is_some_and(|source| stripe.ordinal == i && stripe.is_as_there(source))
        };
        self.sources.len() != 1
            || self.columns != self.first_columns
            || self.metadata != self.first_metadata
            || self.properties != self.first_properties
            || self.sources[0].stripes.len() != self.stripes.len()
            || !(0..).zip(&self.stripes).all(is_there)
    }

    /// Returns the summary of a commit without changes.
    pub(super) async fn unchanged(&self) -> Result<EditSummary> {
        let (rows, deleted) = (self.num_rows(), self.num_deleted_rows());
        let others = match self.sources.first() {
            Some(source) => source.files().await?.len(),
            None => 0,
        };
        let stripes = self.stripes.len() as u64;
        Ok(EditSummary::unchanged(
            rows,
            deleted,
            stripes,
            others as u64,
        ))
    }

    /// Returns the shards that hold the rows, the shard that was opened and then the appended ones: the location of the
    /// directory file, and the numbers of its rows, deleted rows included.
    pub fn shards(&self) -> Vec<(Location, Range<u64>)> {
        let mut end = 0;
        let shards = self.sources.iter().map(|source| {
            let start = end;
            end += source.num_rows();
            (source.location(), start..end)
        });
        shards.collect()
    }

    /// Returns the number of rows, without deleted rows.
    pub fn num_rows(&self) -> u64 {
        let rows = self.stripes.iter();
        rows.map(|stripe| stripe.rows - stripe.deleted_rows).sum()
    }

    /// Returns the number of deleted rows.
    pub fn num_deleted_rows(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.deleted_rows).sum()
    }

    /// Deletes the rows that match, and returns their number. The predicate uses the column names that are stored in
    /// each shard, not the names that this editor has given to columns.
    ///
    /// # Errors
    /// Returns the errors of a scan with the predicate.
    pub fn delete(&mut self, predicate: &Predicate) -> Result<u64> {
        self.delete_with(predicate, DeleteOptions::default())
    }

    /// Deletes the rows that match, and returns their number, like [`delete`](Self::delete), with options.
    ///
    /// # Errors
    /// Returns the errors of [`delete`](Self::delete), and [`Stopped`](crate::ErrorKind::Stopped).
    pub fn delete_with(&mut self, predicate: &Predicate, options: DeleteOptions) -> Result<u64> {
        let deleted = self.delete_with_async(predicate, options);
        ready_now_or("`delete_async` or `delete_with_async`", deleted)
    }

    /// Deletes the rows that match, and returns their number: [`delete`](Self::delete) for asynchronous readers.
    ///
    /// # Errors
    /// Returns the errors of [`delete`](Self::delete).
    pub async fn delete_async(&mut self, predicate: &Predicate) -> Result<u64> {
        self.delete_with_async(predicate, DeleteOptions::default())
            .await
    }

    /// Deletes the rows that match, with options: [`delete_with`](Self::delete_with) for asynchronous readers.
    ///
    /// # Errors
    /// Returns the errors of [`delete_with`](Self::delete_with).
    pub async fn delete_with_async(
        &mut self,
        predicate: &Predicate,
        options: DeleteOptions,
    ) -> Result<u64> {
        let mut after = self.stripes.clone();
        let mut deleted = 0;
        let total = self.sources.iter().map(SourceShard::num_rows).sum();
        let mut work = WorkProgress::new(options.listener, total);
        let mut before = 0;
        for (ordinal, source) in self.sources.iter().enumerate() {
            let place = || source.place.element();
            before += source.num_rows();
            let left = |left: u64| work.set(before.saturating_sub(left));
            let found = RowSets::matching(source, predicate, left).await;
            let found = found.within(place)?.finish();
            for stripe in after.iter_mut().filter(|s| s.source == ordinal) {
                let rows = usize::try_from(stripe.ordinal)
                    .ok()
                    .and_then(|i| found.get(&i));
                if let Some(rows) = rows {
                    deleted += stripe.set(source, rows, true).await.within(place)?;
                }
            }
        }
        self.stripes = after;
        Ok(deleted)
    }

    /// Deletes rows by number, and returns the number of rows that were not deleted before. Rows are numbered as by
    /// [`ScanBuilder::with_row_number`](crate::read::ScanBuilder::with_row_number): deleted rows count, and the rows of
    /// appended shards follow.
    ///
    /// # Errors
    /// Returns [`RowOutOfRange`](crate::ErrorKind::RowOutOfRange) for a row that does not exist; no row is deleted
    /// then.
    pub fn delete_rows(&mut self, rows: &[u64]) -> Result<u64> {
        ready_now_or("`delete_rows_async`", self.set_rows(rows, true))
    }

    /// Deletes rows by number: [`delete_rows`](Self::delete_rows) for asynchronous readers.
    ///
    /// # Errors
    /// Returns the errors of [`delete_rows`](Self::delete_rows).
    pub async fn delete_rows_async(&mut self, rows: &[u64]) -> Result<u64> {
        self.set_rows(rows, true).await
    }

    /// Restores deleted rows by number, and returns the number of rows that were deleted before.
    ///
    /// # Errors
    /// Returns [`RowOutOfRange`](crate::ErrorKind::RowOutOfRange) for a row that does not exist; no row is restored
    /// then.
    pub fn undelete_rows(&mut self, rows: &[u64]) -> Result<u64> {
        ready_now_or("`undelete_rows_async`", self.set_rows(rows, false))
    }

    /// Restores deleted rows by number: [`undelete_rows`](Self::undelete_rows) for asynchronous readers.
    ///
    /// # Errors
    /// Returns the errors of [`undelete_rows`](Self::undelete_rows).
    pub async fn undelete_rows_async(&mut self, rows: &[u64]) -> Result<u64> {
        self.set_rows(rows, false).await
    }

    /// Restores all deleted rows, and returns their number.
    pub fn undelete(&mut self) -> u64 {
        self.stripes.iter_mut().map(EditedStripe::undelete).sum()
    }

    async fn set_rows(&mut self, rows: &[u64], is_deleted: bool) -> Result<u64> {
        let mut start = 0;
        let starts = self.stripes.iter().map(|stripe| {
            let first = start;
            start += stripe.rows;
            (first, stripe.rows)
        });
        let starts: Vec<(u64, u64)> = starts.collect();
        let sets = RowSets::of_rows(&starts, rows)?.finish();
        let mut after = self.stripes.clone();
        let mut changed = 0;
        for (ordinal, rows) in sets {
            if let Some(stripe) = after.get_mut(ordinal)
                && let Some(source) = self.sources.get(stripe.source)
            {
                let set = stripe.set(source, &rows, is_deleted).await;
                changed += set.within(|| source.place.element())?;
            }
        }
        self.stripes = after;
        Ok(changed)
    }
}

/// Returns the place of a source for errors.
fn place_of(sources: &[SourceShard], source: usize) -> String {
    let found = sources.get(source);
    found.map_or_else(|| "another shard".to_owned(), |found| found.place.element())
}

/// Returns the properties that two stripes have in common.
fn in_both(mut a: StripeProperties, b: &StripeProperties) -> StripeProperties {
    a.standard_properties
        .retain(|p| b.standard_properties.contains(p));
    a.custom_properties
        .retain(|p| b.custom_properties.contains(p));
    a
}

/// Whether a property is kept by a commit. The writer generates all others itself.
fn is_foreign(property: &NameValuePair) -> bool {
    let own = [
        ARROW_SCHEMA_PROPERTY,
        SORTING_COLUMNS_PROPERTY,
        WRITERS_PROPERTY,
    ];
    !own.contains(&property.name.as_str())
}

/// Adds the properties with new names.
fn add_new(own: &mut Vec<NameValuePair>, others: &[NameValuePair]) {
    for property in others.iter().filter(|property| is_foreign(property)) {
        if own.iter().all(|own| own.name != property.name) {
            own.push(property.clone());
        }
    }
}
