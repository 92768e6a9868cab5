//! Several shards as one table.

use super::commit::Naming;
use super::editor::ShardEditor;
use super::members::{Opening, no_shard, no_shard_in, open_all, open_folder};
use super::overlap::{LeftOut, Overlap, settle};
use super::progress::WorkProgress;
use super::set_options::ShardSetOptions;
use super::source::SourceShard;
use crate::Shard;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Container, FileContainer, Location, Place};
use crate::read::{Projection, ScanBuilder, ready_now};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::Field;
use arrow_select::take::take;
use std::ffi::OsString;
use std::ops::Range;
use std::sync::Arc;

/// Several shards as one table: their rows follow each other, and their columns are united by name. If a shard lacks a
/// column, its rows are null in that column.
///
/// Opening a table reads the metadata of all shards, several shards at a time. The files must not change while the
/// table is open: reading a file that has been replaced fails with [`Replaced`](ErrorKind::Replaced), or, if the table
/// reads it for the first time, with [`WrongFile`](ErrorKind::WrongFile), [`Checksum`](ErrorKind::Checksum) or
/// [`Corrupt`](ErrorKind::Corrupt). The types of the columns must fit as [`ShardEditor::append`] describes, unless the
/// option [`Unify::Widen`](super::Unify::Widen) is set.
///
/// Local files do not stay open, so a table may have more shards than the process may have open files: see
/// [`PooledFile`](crate::io::PooledFile).
///
/// ```no_run
/// use arrow_shard::ops::ShardSet;
/// use arrow_shard::read::col;
/// let table = ShardSet::open(["days/1.amudai.shard", "days/2.amudai.shard"])?;
/// for batch in table.scan().with_filter(col("delay").gt(60)).with_threads(4).build()? {
///     println!("{} late flights", batch?.num_rows());
/// }
/// let rows = table.take(&[(0, 17), (1, 3)], ["origin"])?;
/// # Ok::<(), arrow_shard::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ShardSet {
    /// A directory over the buffers of all shards, which exists only in memory.
    shard: Shard,
    /// The directory file of each shard.
    shards: Vec<Location>,
    /// The range of table rows of each shard.
    rows: Vec<Range<u64>>,
    left_out: Vec<LeftOut>,
}

/// A column of a table with one value for all rows of a shard.
#[derive(Debug, Clone)]
pub struct ShardColumn {
    field: Field,
    values: ArrayRef,
}

impl ShardColumn {
    /// Returns a column with a value for each shard of a table, in the order of the shards.
    pub fn new(field: Field, values: ArrayRef) -> Self {
        Self { field, values }
    }

    /// Returns the values of some of the shards.
    fn of_shards(&self, shards: &[usize]) -> Result<ArrayRef> {
        if let Some(shard) = shards.iter().find(|&&shard| shard >= self.values.len()) {
            let (name, values) = (self.field.name(), self.values.len());
            let message =
                format!("column `{name}` has {values} values, and none for shard {shard}");
            return Err(Error::invalid(message));
        }
        let shards: UInt64Array = shards.iter().map(|&shard| shard as u64).collect();
        Ok(take(&self.values, &shards, None)?)
    }
}

/// A function that wraps the container of a table's files.
type Through<'a> = Box<dyn FnOnce(Arc<dyn Container>) -> Arc<dyn Container> + Send + 'a>;

impl ShardSet {
    /// Opens the shards with directory files at these locations: paths of local files, or files of one
    /// [`Store`](crate::io::Store). A shard that is listed several times contributes its rows each time.
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open`] and of [`ShardEditor::append`], or
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if `shards` is empty, if two different shards refer to the
    /// same data, such as a merged shard and one of its sources, or if the store is asynchronous: use
    /// [`open_async`](Self::open_async).
    pub fn open<L: Into<Location>>(shards: impl IntoIterator<Item = L>) -> Result<Self> {
        Self::open_with(shards, ShardSetOptions::default())
    }

    /// Opens shards as a table, like [`open`](Self::open), with options such as limits for shards that you do not
    /// trust. The limits hold for each shard, and for the whole table. The number of bytes that the first read of a
    /// shard takes is chosen for many shards:
    /// [`with_tail_bytes`](crate::read::ShardOptions::with_tail_bytes) has no effect.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn open_with<L: Into<Location>>(
        shards: impl IntoIterator<Item = L>,
        options: impl Into<ShardSetOptions>,
    ) -> Result<Self> {
        let shards: Vec<Location> = shards.into_iter().map(Into::into).collect();
        check_near(&shards, "ShardSet::open_async or open_with_async")?;
        ready_now(Self::of_shards(
            shards,
            Overlap::Refuse,
            &[],
            options.into(),
            None,
        ))
    }

    /// Opens shards as a table, in any store: the asynchronous form of [`open`](Self::open).
    ///
    /// If the store is asynchronous, the metadata of 32 shards are fetched at a time, in one or a few requests per
    /// shard, for any number of stripes. Values, dictionaries and range indexes are read when a scan needs them. Use
    /// the asynchronous methods of the table, such as `ScanBuilder::build_stream`.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub async fn open_async<L: Into<Location>>(
        shards: impl IntoIterator<Item = L>,
    ) -> Result<Self> {
        Self::open_with_async(shards, ShardSetOptions::default()).await
    }

    /// Opens shards as a table, with options, in any store: the asynchronous form of [`open_with`](Self::open_with).
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub async fn open_with_async<L: Into<Location>>(
        shards: impl IntoIterator<Item = L>,
        options: impl Into<ShardSetOptions>,
    ) -> Result<Self> {
        let shards = shards.into_iter().map(Into::into).collect();
        Self::of_shards(shards, Overlap::Refuse, &[], options.into(), None).await
    }

    /// Opens shards as a table with additional last columns, each of which has one value for all rows of a shard, such
    /// as the day in the name of the shard's folder, or the name of its file. Filters on them skip whole shards.
    ///
    /// With [`Overlap::LeaveOut`], shards that another one contains are left out, as by
    /// [`open_folder`](Self::open_folder), and so are their values.
    ///
    /// `through` wraps the folder that contains all shards, as in [`open_through`](Self::open_through), if the store
    /// is blocking.
    ///
    /// ```no_run
    /// use arrow_shard::arrow_array::{ArrayRef, Int64Array};
    /// use arrow_shard::arrow_schema::{DataType, Field};
    /// use arrow_shard::ops::{Overlap, ShardColumn, ShardSet};
    /// use arrow_shard::read::ShardOptions;
    /// use std::sync::Arc;
    /// let field = Field::new("year", DataType::Int64, false);
    /// let years = Arc::new(Int64Array::from(vec![2025, 2026])) as ArrayRef;
    /// let shards = ["year=2025/1.amudai.shard", "year=2026/1.amudai.shard"];
    /// let columns = [ShardColumn::new(field, years)];
    /// let (overlap, options) = (Overlap::Refuse, ShardOptions::default());
    /// let table = ShardSet::open_with_columns(shards, overlap, &columns, |folder| folder, options)?;
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open) and of [`ShardEditor::add_column`], and
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if a column does not have a value for each shard.
    pub fn open_with_columns<L: Into<Location>>(
        shards: impl IntoIterator<Item = L>,
        overlap: Overlap,
        columns: &[ShardColumn],
        through: impl FnOnce(Arc<dyn Container>) -> Arc<dyn Container> + Send,
        options: impl Into<ShardSetOptions>,
    ) -> Result<Self> {
        let shards: Vec<Location> = shards.into_iter().map(Into::into).collect();
        check_near(&shards, "ShardSet::open_with_columns_async")?;
        ready_now(Self::open_with_columns_async(
            shards, overlap, columns, through, options,
        ))
    }

    /// Opens shards as a table with additional columns, in any store: the asynchronous form of
    /// [`open_with_columns`](Self::open_with_columns).
    ///
    /// # Errors
    /// Returns the errors of [`open_with_columns`](Self::open_with_columns).
    pub async fn open_with_columns_async<L: Into<Location>>(
        shards: impl IntoIterator<Item = L>,
        overlap: Overlap,
        columns: &[ShardColumn],
        through: impl FnOnce(Arc<dyn Container>) -> Arc<dyn Container> + Send,
        options: impl Into<ShardSetOptions>,
    ) -> Result<Self> {
        let shards = shards.into_iter().map(Into::into).collect();
        Self::of_shards(
            shards,
            overlap,
            columns,
            options.into(),
            Some(Box::new(through)),
        )
        .await
    }

    /// Opens near shards, and reads their rows through a container of the caller: for example, one that counts reads or
    /// can be interrupted. `through` wraps the folder that contains all shards, directly or in subfolders. It has no
    /// asynchronous form: the containers of other stores are asynchronous.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn open_through<L: Into<Location>>(
        shards: impl IntoIterator<Item = L>,
        through: impl FnOnce(Arc<dyn Container>) -> Arc<dyn Container> + Send,
        options: impl Into<ShardSetOptions>,
    ) -> Result<Self> {
        let shards: Vec<Location> = shards.into_iter().map(Into::into).collect();
        check_near(&shards, "ShardSet::open_async")?;
        ready_now(Self::of_shards(
            shards,
            Overlap::Refuse,
            &[],
            options.into(),
            Some(Box::new(through)),
        ))
    }

    /// Opens the shards of a folder, in the order of their names. Other files are skipped, but a file named
    /// `*.amudai.shard` that is not a shard is an error. Subfolders are not searched.
    ///
    /// A shard is left out if another shard of the folder refers to all of its data, so that no row appears twice: see
    /// [`left_out`](Self::left_out). Shards are compared by the bytes that they refer to. A shard that stores no bytes
    /// of values is never left out. In such a shard, each column has a single value, and the shard is all null, was
    /// written for the reference implementation, or is large and has the profile `Plain`. Remove it once it is merged.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open), and [`InvalidArgument`](ErrorKind::InvalidArgument) if the folder
    /// has no shard, or if two shards share some data while each of them also refers to other data or has other rows
    /// deleted.
    pub fn open_folder(folder: impl Into<Location>) -> Result<Self> {
        Self::open_folder_with(folder, ShardSetOptions::default())
    }

    /// Opens the shards of a folder, like [`open_folder`](Self::open_folder), with the options of
    /// [`open_with`](Self::open_with).
    ///
    /// # Errors
    /// Returns the errors of [`open_folder`](Self::open_folder).
    pub fn open_folder_with(
        folder: impl Into<Location>,
        options: impl Into<ShardSetOptions>,
    ) -> Result<Self> {
        let folder = folder.into();
        let instead = "ShardSet::open_folder_async or open_folder_with_async";
        folder.store().check_near(instead)?;
        ready_now(Self::open_folder_with_async(folder, options))
    }

    /// Opens the shards of a folder, in any store: the asynchronous form of [`open_folder`](Self::open_folder).
    ///
    /// # Errors
    /// Returns the errors of [`open_folder`](Self::open_folder).
    pub async fn open_folder_async(folder: impl Into<Location>) -> Result<Self> {
        Self::open_folder_with_async(folder, ShardSetOptions::default()).await
    }

    /// Opens the shards of a folder, with options, in any store: the asynchronous form of
    /// [`open_folder_with`](Self::open_folder_with).
    ///
    /// # Errors
    /// Returns the errors of [`open_folder`](Self::open_folder).
    pub async fn open_folder_with_async(
        folder: impl Into<Location>,
        options: impl Into<ShardSetOptions>,
    ) -> Result<Self> {
        let (folder, options) = (folder.into(), options.into());
        let sources = open_folder(&folder, options.shard_options().clone()).await?;
        if sources.is_empty() {
            return Err(no_shard_in(&folder));
        }
        Self::of_sources(sources, Overlap::LeaveOut, &[], options, None).await
    }

    async fn of_shards(
        shards: Vec<Location>,
        overlap: Overlap,
        columns: &[ShardColumn],
        options: ShardSetOptions,
        through: Option<Through<'_>>,
    ) -> Result<Self> {
        let first = shards.first().ok_or_else(no_shard)?;
        for other in &shards {
            first.store().check_same(other)?;
        }
        let (opening, mut work) = (
            Opening::table(options.shard_options().clone()),
            WorkProgress::default(),
        );
        let sources = open_all(&shards, &opening, |_, _| false, &mut work).await?;
        Self::of_sources(sources, overlap, columns, options, through).await
    }

    async fn of_sources(
        sources: Vec<SourceShard>,
        overlap: Overlap,
        columns: &[ShardColumn],
        options: ShardSetOptions,
        through: Option<Through<'_>>,
    ) -> Result<Self> {
        let (sources, left_out) = settle(sources, overlap).await?;
        let (kept, sources): (Vec<usize>, Vec<SourceShard>) = sources.into_iter().unzip();
        let mut sources = sources.into_iter();
        let editor = ShardEditor::of_source(sources.next().ok_or_else(no_shard)?).await?;
        let mut editor = editor.for_table(options.unify());
        for source in sources {
            editor.append_source(source).await?;
        }
        if let Some(schema) = options.schema() {
            editor.widen_to(schema)?;
        }
        for column in columns {
            let values = column.of_shards(&kept)?;
            editor.add_column_of_shards(column.field.clone(), &values)?;
        }
        let store = editor.store().clone();
        let home = store.home();
        let root = root_of(editor.sources());
        let (shards, rows) = editor.shards().into_iter().unzip();
        // The slash makes sure that no file has this name.
        let target = Place::memory(root.iter().cloned().chain(["/".into()]));
        let files = editor.files(&target, Naming::AsItIs).await?;
        let folder = home.container(&root)?;
        let folder = match (folder, through) {
            (FileContainer::Blocking(folder), Some(through)) => {
                FileContainer::Blocking(through(folder))
            }
            (folder, _) => folder,
        };
        let name = home.name_of(&home.folder(&root));
        let name = name.to_string_lossy().into_owned();
        let directory = files.directory.into();
        let options = options.shard_options().clone();
        let stored_types = files.stored_types;
        let shard = Shard::of_table(directory, stored_types, name, folder, options).await?;
        Ok(Self {
            shard,
            shards,
            rows,
            left_out,
        })
    }

    /// Returns the table as one shard. Its directory exists only in memory, so methods about the files of a shard
    /// describe that directory.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// Returns a scan of the rows of all shards, in the order of the shards.
    pub fn scan(&self) -> ScanBuilder {
        self.shard.scan()
    }

    /// Returns the number of rows, without deleted rows.
    pub fn num_rows(&self) -> u64 {
        self.shard.num_rows()
    }

    /// Returns the locations of the shards' directory files, in the order of the rows.
    pub fn shards(&self) -> &[Location] {
        &self.shards
    }

    /// Returns the range of table rows of each of the [`shards`](Self::shards), deleted rows included.
    pub fn row_ranges(&self) -> &[Range<u64>] {
        &self.rows
    }

    /// Returns the ordinal of the shard that holds a row of the table, and the number of the row in it, as
    /// [`take`](Self::take) expects them; `None` if the table has no such row. The rows of the table are numbered
    /// as by [`ScanBuilder::with_row_number`].
    ///
    /// ```no_run
    /// # let table = arrow_shard::ops::ShardSet::open_folder("days")?;
    /// if let Some((shard, row)) = table.locate(1_000_000) {
    ///     println!("row {row} of {}", table.shards()[shard]);
    /// }
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    pub fn locate(&self, row: u64) -> Option<(usize, u64)> {
        let shard = self.rows.partition_point(|rows| rows.end <= row);
        let rows = self.rows.get(shard)?;
        Some((shard, row - rows.start))
    }

    /// Returns the shards of the folder that are not part of the table, because another shard refers to all of their
    /// data: a merged shard holds the shards that it was made from. Empty for shards that were named one by one, unless
    /// they were opened with [`Overlap::LeaveOut`].
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Reads rows by the ordinal of their shard and their number in it, in the given order.
    ///
    /// # Errors
    /// Returns [`RowOutOfRange`](ErrorKind::RowOutOfRange), and the errors of [`Shard::take`].
    pub fn take(
        &self,
        rows: &[(usize, u64)],
        projection: impl Into<Projection>,
    ) -> Result<RecordBatch> {
        self.shard.take(&self.numbers(rows)?, projection)
    }

    /// Reads rows by the ordinal of their shard and their number in it: [`take`](Self::take) for asynchronous readers.
    ///
    /// # Errors
    /// Returns the errors of [`take`](Self::take).
    pub async fn take_async(
        &self,
        rows: &[(usize, u64)],
        projection: impl Into<Projection>,
    ) -> Result<RecordBatch> {
        self.shard
            .take_async(&self.numbers(rows)?, projection)
            .await
    }

    /// Returns the row numbers in the table.
    fn numbers(&self, rows: &[(usize, u64)]) -> Result<Vec<u64>> {
        let number = |&(shard, row): &(usize, u64)| {
            let range = self.rows.get(shard).ok_or_else(|| {
                let count = self.rows.len();
                out_of_range(format!("shard {shard} of a table of {count} shards"))
            })?;
            if row < range.end - range.start {
                Ok(range.start + row)
            } else {
                let rows = range.end - range.start;
                Err(out_of_range(format!(
                    "row {row} of shard {shard}, which has {rows} rows"
                )))
            }
        };
        rows.iter().map(number).collect()
    }
}

/// Returns the path of the deepest folder that contains all shards.
fn root_of(shards: &[SourceShard]) -> Vec<OsString> {
    let mut folders = shards.iter().map(|shard| shard.place.folder());
    let mut root = folders.next().unwrap_or_default().to_vec();
    for folder in folders {
        let same = root.iter().zip(folder).take_while(|(a, b)| a == b).count();
        root.truncate(same);
    }
    root
}

fn check_near(shards: &[Location], instead: &str) -> Result<()> {
    shards
        .iter()
        .try_for_each(|shard| shard.store().check_near(instead))
}

fn out_of_range(message: String) -> Error {
    Error::new(ErrorKind::RowOutOfRange, message)
}
