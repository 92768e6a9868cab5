//! Changes of a shard, which a new directory makes.

use super::added::{Added, Constant, check_type, encode};
use super::columns::Columns;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
use super::commit::EditSummary;
use super::commit::{Files, Naming, Plan};
use super::constant::constant;
use super::deletes::{RowSets, Stripe};
use super::place::Place;
use super::progress::EditProgress;
use super::source::Source;
use super::wires;
use crate::Shard;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{DataType, NameValuePair, ShardProperties, StripeProperties};
use crate::read::{Predicate, ShardOptions, now};
use crate::sorting::{SORTING_COLUMNS_PROPERTY, SortingColumn};
use crate::write::{ARROW_SCHEMA_PROPERTY, ColumnOptions, Wire};
use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Changes a shard without writing its rows anew: a commit writes a directory that refers to the buffers
/// that are there.
///
/// Changes are made together, by [`commit`](Self::commit) in place of the shard, or by
/// [`commit_to`](Self::commit_to) as another one beside it. Until then nothing is written. Who else
/// changes the same shard meanwhile gets a [`Conflict`](crate::ErrorKind::Conflict), or this one does:
/// no change is lost.
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
    /// The shard that was opened, and those that were appended.
    sources: Vec<Source>,
    columns: Columns,
    /// The columns of the shard that was opened.
    first_columns: Columns,
    /// Metadata of the Arrow schema.
    metadata: HashMap<String, String>,
    stripes: Vec<Stripe>,
    /// Without those that this crate notes.
    properties: ShardProperties,
    sorting_columns: Vec<SortingColumn>,
    wire: Wire,
    /// How appended shards are opened.
    options: ShardOptions,
}

impl ShardEditor {
    /// An editor of an open shard, whose directory file is at `place`.
    pub(super) async fn of(shard: Shard, place: Place) -> Result<Self> {
        Self::of_source(Source::load(shard, place).await?).await
    }

    /// An editor of a shard of which is known what it needs.
    pub(super) async fn of_source(source: Source) -> Result<Self> {
        let shard = &source.shard;
        let columns = Columns::of(shard, 0).await?;
        let metadata = shard.schema_async().await?.metadata().clone();
        let mut properties = shard.properties_async().await?.clone();
        properties.custom_properties.retain(is_foreign);
        Ok(Self {
            first_columns: columns.clone(),
            columns,
            metadata,
            stripes: Stripe::all_of(&source, 0),
            properties,
            sorting_columns: shard.sorting_columns()?,
            wire: shard.wire(),
            options: ShardOptions::default(),
            sources: vec![source],
        })
    }

    /// Opens appended shards with these options.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(super) fn with_options(mut self, options: ShardOptions) -> Self {
        self.options = options;
        self
    }

    /// How appended shards are opened.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(super) fn options(&self) -> &ShardOptions {
        &self.options
    }

    /// Appends the stripes of an open shard, whose directory file is at `place`.
    pub(super) async fn append_at(&mut self, shard: Shard, place: Place) -> Result<()> {
        self.append_source(Source::load(shard, place).await?).await
    }

    /// Appends the stripes of a shard of which is known what the editor needs.
    pub(super) async fn append_source(&mut self, source: Source) -> Result<()> {
        let wire = wires::united(self.wire, source.shard.wire());
        for source in self.sources.iter().chain([&source]) {
            if source.shard.wire() != wire {
                let schema = source.shard.stored_schema().await?;
                let checked = wires::check(&schema, source.shard.wire(), wire);
                checked.within(|| source.place.element())?;
            }
        }
        let own = self.stripes.iter().map(|stripe| stripe.rows);
        let mut all = own.chain(source.stripes.iter().map(|s| s.total_record_count));
        if all.try_fold(0u64, u64::checked_add).is_none() {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "the rows of `{}` and those before it are more than 2^64",
                    source.place
                ),
            ));
        }
        let ordinal = self.sources.len();
        let mut columns = self.columns.clone();
        let united = columns.unite(&source.shard, ordinal).await;
        united.within(|| source.place.element())?;
        let theirs = source.shard.properties_async().await?;
        let own = &mut self.properties;
        let created = own.creation_min.into_iter();
        own.creation_min = created.chain(theirs.creation_min).min();
        own.creation_max = own.creation_max.max(theirs.creation_max);
        add_new(&mut own.standard_properties, &theirs.standard_properties);
        add_new(&mut own.custom_properties, &theirs.custom_properties);
        self.columns = columns;
        self.wire = wire;
        if !source.stripes.is_empty() {
            self.sorting_columns.clear();
        }
        self.stripes.extend(Stripe::all_of(&source, ordinal));
        self.sources.push(source);
        Ok(())
    }

    /// The shard that was opened, and those that were appended.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(super) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The stripes as they are now.
    pub(super) fn stripes(&self) -> &[Stripe] {
        &self.stripes
    }

    /// Refuses a directory file that holds rows of stripes, whether they are still needed here or not: other
    /// shards may refer to them.
    #[cfg(feature = "object_store")]
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

    /// The shard that holds a run of stripes, which are neighbours there, and their rows in it.
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

    /// Puts the stripes of an open shard in the place of a run. No directory is ever written to where that
    /// shard is.
    pub(super) async fn replace_run(
        &mut self,
        run: Range<usize>,
        shard: Shard,
        place: Place,
    ) -> Result<()> {
        let mut source = Source::load(shard, place).await?;
        source.is_artifact = true;
        let ordinal = self.sources.len();
        self.columns.unite(&source.shard, ordinal).await?;
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
        let mut stripes = Stripe::all_of(&source, ordinal);
        for stripe in &mut stripes {
            stripe.properties.clone_from(&common);
        }
        self.stripes.splice(run, stripes);
        self.sources.push(source);
        Ok(())
    }

    /// Where the shard that was opened is.
    pub(super) fn place(&self) -> &Place {
        // There is one from the beginning.
        &self.sources[0].place
    }

    /// Which file the directory file was when the shard was opened.
    pub(super) fn version(&self) -> Option<String> {
        self.sources.first()?.shard.version()
    }

    /// The files of the shard as it is now: in place of the one that was opened, or at `target`.
    pub(super) async fn files(self, target: Option<&Place>, naming: Naming) -> Result<Files> {
        let schema = Schema::new_with_metadata(self.columns.fields(), self.metadata.clone());
        let plan = Plan {
            wire: self.wire,
            sources: &self.sources,
            columns: &self.columns,
            schema,
            stripes: &self.stripes,
            properties: self.properties.clone(),
            sorting_columns: self.sorting_columns.clone(),
            naming,
        };
        plan.files(target.unwrap_or(self.place())).await
    }

    /// The Arrow schema as it is now.
    pub fn schema(&self) -> Schema {
        Schema::new_with_metadata(self.columns.fields(), self.metadata.clone())
    }

    /// Whether there are changes to commit: not before the first one, and not if changes had no effect, such as a
    /// delete that matched no row.
    pub fn has_changes(&self) -> bool {
        let is_there = |(i, stripe): (u64, &Stripe)| {
            let first = self.sources.first();
            first.is_some_and(|source| stripe.ordinal == i && stripe.is_as_there(source))
        };
        self.sources.len() != 1
            || self.columns != self.first_columns
            || self.sources[0].stripes.len() != self.stripes.len()
            || !(0..).zip(&self.stripes).all(is_there)
    }

    /// The summary of a commit that has nothing to do.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
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

    /// Number of rows, those that are deleted left out.
    pub fn num_rows(&self) -> u64 {
        let rows = self.stripes.iter();
        rows.map(|stripe| stripe.rows - stripe.deleted_rows).sum()
    }

    /// Number of rows that are deleted.
    pub fn num_deleted_rows(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.deleted_rows).sum()
    }

    /// Deletes the rows that match, and gives how many they are. The predicate names columns as they are
    /// stored in each of the shards, whatever they have been renamed to.
    ///
    /// # Errors
    /// Those of a scan with the predicate.
    pub fn delete(&mut self, predicate: &Predicate) -> Result<u64> {
        self.delete_with(predicate, |_| {})
    }

    /// As [`delete`](Self::delete); `progress` is called now and then.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete).
    pub fn delete_with(
        &mut self,
        predicate: &Predicate,
        progress: impl FnMut(EditProgress),
    ) -> Result<u64> {
        now(self.delete_with_async(predicate, progress))
    }

    /// As [`delete`](Self::delete), of shards behind asynchronous readers.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete).
    pub async fn delete_async(&mut self, predicate: &Predicate) -> Result<u64> {
        self.delete_with_async(predicate, |_| {}).await
    }

    /// As [`delete_with`](Self::delete_with), of shards behind asynchronous readers.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete).
    pub async fn delete_with_async(
        &mut self,
        predicate: &Predicate,
        mut progress: impl FnMut(EditProgress),
    ) -> Result<u64> {
        let mut after = self.stripes.clone();
        let mut deleted = 0;
        let rows = |source: &Source| source.starts_and_lens().map(|(_, rows)| rows).sum::<u64>();
        let total: u64 = self.sources.iter().map(rows).sum();
        let mut before = 0;
        for (ordinal, source) in self.sources.iter().enumerate() {
            let place = || source.place.element();
            before += rows(source);
            let left = |left: u64| {
                let done = before.saturating_sub(left);
                progress(EditProgress { done, total });
            };
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

    /// Deletes rows by number, as [`ScanBuilder::with_row_number`](crate::read::ScanBuilder::with_row_number)
    /// gives them: deleted rows count, and appended rows follow. Gives how many were not deleted yet.
    ///
    /// # Errors
    /// [`RowOutOfRange`](crate::ErrorKind::RowOutOfRange), and then none is deleted.
    pub fn delete_rows(&mut self, rows: &[u64]) -> Result<u64> {
        now(self.set_rows(rows, true))
    }

    /// As [`delete_rows`](Self::delete_rows), of shards behind asynchronous readers.
    ///
    /// # Errors
    /// Those of [`delete_rows`](Self::delete_rows).
    pub async fn delete_rows_async(&mut self, rows: &[u64]) -> Result<u64> {
        self.set_rows(rows, true).await
    }

    /// Takes the delete of rows back, by number. Gives how many were deleted.
    ///
    /// # Errors
    /// [`RowOutOfRange`](crate::ErrorKind::RowOutOfRange), and then all stay as they are.
    pub fn undelete_rows(&mut self, rows: &[u64]) -> Result<u64> {
        now(self.set_rows(rows, false))
    }

    /// As [`undelete_rows`](Self::undelete_rows), of shards behind asynchronous readers.
    ///
    /// # Errors
    /// Those of [`undelete_rows`](Self::undelete_rows).
    pub async fn undelete_rows_async(&mut self, rows: &[u64]) -> Result<u64> {
        self.set_rows(rows, false).await
    }

    /// Takes all deletes back. Gives how many rows were deleted.
    pub fn undelete(&mut self) -> u64 {
        self.stripes.iter_mut().map(Stripe::undelete).sum()
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

    /// Keeps the columns with these names, in this order.
    ///
    /// # Errors
    /// [`UnknownColumn`](crate::ErrorKind::UnknownColumn),
    /// [`AmbiguousColumn`](crate::ErrorKind::AmbiguousColumn), or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a name that is given twice.
    pub fn select_columns<S: AsRef<str>>(
        &mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<()> {
        let names: Vec<S> = names.into_iter().collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let mut columns = self.columns.clone();
        columns.select(&names)?;
        self.set_columns(columns, None);
        Ok(())
    }

    /// Leaves out columns, or members of structs by their paths.
    ///
    /// # Errors
    /// [`UnknownColumn`](crate::ErrorKind::UnknownColumn) or
    /// [`AmbiguousColumn`](crate::ErrorKind::AmbiguousColumn), and then all stay.
    pub fn drop_columns<S: AsRef<str>>(
        &mut self,
        paths: impl IntoIterator<Item = S>,
    ) -> Result<()> {
        let mut columns = self.columns.clone();
        for path in paths {
            columns.drop(path.as_ref())?;
        }
        self.set_columns(columns, None);
        Ok(())
    }

    /// Gives a column, or a member of a struct by its path, another name.
    ///
    /// # Errors
    /// [`UnknownColumn`](crate::ErrorKind::UnknownColumn),
    /// [`AmbiguousColumn`](crate::ErrorKind::AmbiguousColumn), or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a name that another column or member has.
    pub fn rename_column(&mut self, path: &str, name: &str) -> Result<()> {
        let mut columns = self.columns.clone();
        let old = columns.rename(path, name)?;
        self.set_columns(columns, Some((&old, name)));
        Ok(())
    }

    /// Adds a last column, in which all rows have the one value of an array.
    ///
    /// ```no_run
    /// # use arrow_shard::ops::ShardEditor;
    /// # let mut editor = ShardEditor::open("flights.amudai.shard")?;
    /// use arrow_shard::arrow_array::{ArrayRef, StringArray};
    /// use arrow_shard::arrow_schema::{DataType, Field};
    /// use std::sync::Arc;
    /// let source = Arc::new(StringArray::from(vec!["2026-11"])) as ArrayRef;
    /// editor.add_column(Field::new("source", DataType::Utf8, false), &source)?;
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the array has not one value or there is a
    /// column of that name, [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if it is not of the field's
    /// type, [`Unsupported`](crate::ErrorKind::Unsupported) for nested values that are not null.
    pub fn add_column(&mut self, field: Field, value: &ArrayRef) -> Result<()> {
        self.columns.check_is_new(field.name())?;
        let place = || format!("column `{}`", field.name());
        check_type(&field, value).within(place)?;
        let (node, constant) = now(constant(&field, value, self.wire)).within(place)?;
        let sources = self.sources.len();
        let constant =
            constant.map(|of_one| Added::Constant(Arc::new(Constant { of_one, sources })));
        self.add(field, node, constant);
        Ok(())
    }

    /// Adds a last column of values of its own: one for each row, deleted ones included, in arrays of any
    /// lengths. They are encoded at once, and held until a commit writes them to a file beside the directory.
    ///
    /// ```no_run
    /// # use arrow_shard::ops::ShardEditor;
    /// # let mut editor = ShardEditor::open("flights.amudai.shard")?;
    /// use arrow_shard::arrow_array::{ArrayRef, Int32Array};
    /// use arrow_shard::arrow_schema::{DataType, Field};
    /// use arrow_shard::write::ColumnOptions;
    /// use std::sync::Arc;
    /// let places = Arc::new(Int32Array::from(vec![2, 1, 3])) as ArrayRef;
    /// let field = Field::new("place", DataType::Int32, false);
    /// editor.add_column_values(field, [places], &ColumnOptions::default())?;
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for more or fewer values than rows, or if there is
    /// a column of that name; [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if they are not of the
    /// field's type; [`Unsupported`](crate::ErrorKind::Unsupported) if those of a stripe do not fit into one;
    /// and those of a writer. The editor is then as it was.
    pub fn add_column_values(
        &mut self,
        field: Field,
        values: impl IntoIterator<Item = ArrayRef>,
        options: &ColumnOptions,
    ) -> Result<()> {
        self.columns.check_is_new(field.name())?;
        let place = || format!("column `{}`", field.name());
        let encoded = encode(&field, values, options, &self.stripes, self.wire);
        let (node, values) = encoded.within(place)?;
        let added = Added::Values(Arc::new(values));
        self.add(field, node, Some(added));
        Ok(())
    }

    fn add(&mut self, field: Field, node: DataType, added: Option<Added>) {
        let mut columns = self.columns.clone();
        columns.add(field, node, added);
        self.set_columns(columns, None);
    }

    /// Takes changed columns, of which one may have got another name.
    fn set_columns(&mut self, columns: Columns, renamed: Option<(&[String], &str)>) {
        columns.follow(&self.columns, renamed, &mut self.sorting_columns);
        self.columns = columns;
    }
}

/// The properties that stripes have in common.
fn in_both(mut a: StripeProperties, b: &StripeProperties) -> StripeProperties {
    a.standard_properties
        .retain(|p| b.standard_properties.contains(p));
    a.custom_properties
        .retain(|p| b.custom_properties.contains(p));
    a
}

/// Whether a property is none of those that a writer makes anew.
fn is_foreign(property: &NameValuePair) -> bool {
    ![ARROW_SCHEMA_PROPERTY, SORTING_COLUMNS_PROPERTY].contains(&property.name.as_str())
}

/// Adds the properties of names that are not there yet.
fn add_new(own: &mut Vec<NameValuePair>, others: &[NameValuePair]) {
    for property in others.iter().filter(|property| is_foreign(property)) {
        if own.iter().all(|own| own.name != property.name) {
            own.push(property.clone());
        }
    }
}
