//! Several shards as one table.

use super::commit::Naming;
use super::editor::ShardEditor;
use super::overlap::{IdOf, LeftOut, Overlap, settle};
use super::place::Place;
use super::source::Source;
use crate::Shard;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "object_store")]
use crate::read::ShardOptions;
use crate::read::{Projection, ScanBuilder};
use arrow_array::RecordBatch;
use bytes::Bytes;
use std::ops::Range;

/// Several shards as one table: their rows follow each other, and their columns are united by name. If a shard lacks a
/// column, its rows are null in that column.
///
/// Opening a table reads the metadata of all shards, several shards at a time. The files must not change while the
/// table is open: reading a file that has been replaced fails with
/// [`Replaced`](ErrorKind::Replaced). The types of the columns must fit as [`ShardEditor::append`] describes.
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
    /// The range of table rows of each shard.
    rows: Vec<Range<u64>>,
    left_out: Vec<LeftOut>,
}

/// The shards of a table, with their places relative to the root of their store.
struct Members {
    editor: ShardEditor,
    places: Vec<Place>,
    rows: Vec<Range<u64>>,
    left_out: Vec<LeftOut>,
}

impl Members {
    /// Returns the members for these shards, after `overlap` has been applied to shards that share data.
    async fn of_all(sources: Vec<Source>, overlap: Overlap, id_of: IdOf) -> Result<Self> {
        let (sources, left_out) = settle(sources, overlap, id_of).await?;
        let mut sources = sources.into_iter();
        let mut members = Self::of(sources.next().ok_or_else(no_shard)?).await?;
        for source in sources {
            members.add(source).await?;
        }
        members.left_out = left_out;
        Ok(members)
    }

    /// Returns the members for a single shard.
    async fn of(source: Source) -> Result<Self> {
        let place = source.place.clone();
        let editor = ShardEditor::of_source(source).await?;
        let mut members = Self {
            editor,
            places: Vec::new(),
            rows: Vec::new(),
            left_out: Vec::new(),
        };
        members.note(place);
        Ok(members)
    }

    /// Adds a shard after the others.
    async fn add(&mut self, source: Source) -> Result<()> {
        let place = source.place.clone();
        self.editor.append_source(source).await?;
        self.note(place);
        Ok(())
    }

    fn note(&mut self, place: Place) {
        let start = self.rows.last().map_or(0, |rows| rows.end);
        let end = self.editor.num_rows() + self.editor.num_deleted_rows();
        self.rows.push(start..end);
        self.places.push(place);
    }

    /// Returns a directory over all shards, the path of the deepest folder that contains all of them, and the rows of
    /// each shard.
    async fn directory(self) -> Result<(Bytes, Vec<String>, Vec<Range<u64>>)> {
        let mut folders = self.places.iter().map(Place::folder);
        let mut root: Vec<String> = folders.next().unwrap_or_default().to_vec();
        for folder in folders {
            let same = root.iter().zip(folder).take_while(|(a, b)| a == b).count();
            root.truncate(same);
        }
        // The slash makes sure that no file has this name.
        let target = Place::new(root.iter().cloned().chain(["/".to_owned()]));
        let files = self.editor.files(Some(&target), Naming::AsItIs).await?;
        Ok((files.directory.into(), root, self.rows))
    }
}

impl ShardSet {
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

    /// Returns the range of table rows of each shard, deleted rows included.
    pub fn row_ranges(&self) -> &[Range<u64>] {
        &self.rows
    }

    /// Returns the shards of the folder that are not part of the table, because another shard refers to all of their
    /// data: a merged shard holds the shards that it was made from. Empty for shards that were named one by one.
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

fn out_of_range(message: String) -> Error {
    Error::new(ErrorKind::RowOutOfRange, message)
}

fn no_shard() -> Error {
    Error::invalid("there is no shard to make a table of")
}

#[cfg(not(target_family = "wasm"))]
pub use local::held_by_others;
#[cfg(feature = "object_store")]
pub use object::objects_held_by_others;

/// Tables of shards in local folders.
#[cfg(not(target_family = "wasm"))]
mod local {
    use super::{LeftOut, Members, Overlap, Place, Shard, ShardSet, Source, no_shard, settle};
    use crate::error::{Error, Result};
    use crate::io::{Container, LocalFolder, describe_folder};
    use crate::ops::local::{list_shards, open_members};
    use crate::ops::local_path::path_of;
    use crate::ops::overlap::local_id;
    use crate::ops::place::is_of_another_kind;
    use crate::read::{ShardOptions, now};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    impl ShardSet {
        /// Opens the shards with directory files at these paths. A path that is listed several times contributes its
        /// rows each time.
        ///
        /// # Errors
        /// Returns the errors of [`Shard::open`] and of [`ShardEditor::append`](super::ShardEditor::append), or
        /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there are no paths, or if two different shards
        /// refer to the same data, such as a merged shard and one that it was made from.
        pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
            Self::open_through(paths, plain)
        }

        /// Opens the shards at these paths, and reads their rows through a container of the caller: for example, one
        /// that counts reads or can be interrupted. `through` wraps the folder that contains all shards, directly or in
        /// subfolders.
        ///
        /// # Errors
        /// Returns the errors of [`open`](Self::open).
        pub fn open_through<P: AsRef<Path>>(
            paths: impl IntoIterator<Item = P>,
            through: impl FnOnce(LocalFolder) -> Arc<dyn Container>,
        ) -> Result<Self> {
            let paths = paths.into_iter().map(|path| path.as_ref().to_path_buf());
            let paths: Vec<PathBuf> = paths.collect();
            finish(opened(&paths, |_, _| false)?, Overlap::Refuse, through)
        }

        /// Opens the shards of a folder, in the order of their names. Other files are skipped, but a file named
        /// `*.amudai.shard` that is not a shard is an error.
        ///
        /// A shard is left out if another shard of the folder refers to all of its data, so that no row appears twice:
        /// see [`left_out`](Self::left_out).
        ///
        /// # Errors
        /// Returns the errors of [`open`](Self::open), and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if
        /// two shards share some data while each of them also refers to other data.
        pub fn open_folder(folder: impl AsRef<Path>) -> Result<Self> {
            let folder = folder.as_ref();
            let sources = sources_of(folder)?;
            if sources.is_empty() {
                return Err(no_shard().within(describe_folder(folder)));
            }
            finish(sources, Overlap::LeaveOut, plain)
        }
    }

    /// Returns the shards that a table of this folder leaves out, because another shard refers to all of their data:
    /// see [`ShardSet::left_out`]. Column types may differ between the shards.
    ///
    /// # Errors
    /// Returns the errors of [`ShardSet::open_folder`], except for types of columns that do not fit.
    pub fn held_by_others(folder: impl AsRef<Path>) -> Result<Vec<LeftOut>> {
        let sources = sources_of(folder.as_ref())?;
        Ok(now(settle(sources, Overlap::LeaveOut, local_id))?.1)
    }

    fn sources_of(folder: &Path) -> Result<Vec<Source>> {
        opened(&list_shards(folder)?, |path, error| {
            is_of_another_kind(&path.to_string_lossy(), error)
        })
    }

    fn plain(folder: LocalFolder) -> Arc<dyn Container> {
        Arc::new(folder)
    }

    /// Opens the shards at these paths. Skips a shard if `is_left_out` accepts the error of opening it.
    fn opened(paths: &[PathBuf], is_left_out: fn(&Path, &Error) -> bool) -> Result<Vec<Source>> {
        let mut sources = Vec::with_capacity(paths.len());
        open_members(paths, &ShardOptions::default(), is_left_out, |source| {
            sources.push(source);
            Ok(())
        })?;
        Ok(sources)
    }

    fn finish(
        sources: Vec<Source>,
        overlap: Overlap,
        through: impl FnOnce(LocalFolder) -> Arc<dyn Container>,
    ) -> Result<ShardSet> {
        let mut members = now(Members::of_all(sources, overlap, local_id))?;
        let left_out = std::mem::take(&mut members.left_out);
        let (directory, root, rows) = now(members.directory())?;
        let folder = LocalFolder::open(path_of(&Place::new(root)))?;
        let name = folder.path().display().to_string();
        let shard = Shard::of_table(directory, name, through(folder))?;
        Ok(ShardSet {
            shard,
            rows,
            left_out,
        })
    }
}

/// Tables of shards in object stores.
#[cfg(feature = "object_store")]
mod object {
    use super::{LeftOut, Members, Overlap, Place, Shard, ShardOptions, ShardSet, Source, settle};
    use crate::error::{Error, Result};
    use crate::io::{AsyncReadAt, BoxFuture, ByteRange, ObjectFolder};
    use crate::ops::object::{AT_ONCE, list_shard_objects, path_of, place_of};
    use crate::ops::overlap::object_id;
    use crate::ops::place::is_of_another_kind;
    use bytes::Bytes;
    use futures_util::{StreamExt, TryStreamExt, stream};
    use object_store::ObjectStore;
    use object_store::path::Path;
    use std::sync::Arc;

    /// Bytes that the first request reads from the end of each object. They are held until the table is open; longer
    /// metadata take one or two more requests.
    const TAIL_BYTES: u64 = 64 << 10;

    impl ShardSet {
        /// Opens the shards with these objects as directory files. The metadata of 32 shards are fetched at a time, in
        /// one or a few requests per shard, for any number of stripes. Values, dictionaries and range indexes are read
        /// when a scan needs them.
        ///
        /// Use the asynchronous methods of the table, such as `ScanBuilder::build_stream`.
        ///
        /// # Errors
        /// Returns the errors of [`Shard::open_object`] and of [`ShardEditor::append`](super::ShardEditor::append), or
        /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there are no paths, or if two different shards
        /// refer to the same data.
        pub async fn open_objects(
            store: Arc<dyn ObjectStore>,
            paths: impl IntoIterator<Item = Path>,
        ) -> Result<Self> {
            let paths = paths.into_iter().collect();
            let sources = open_all(&store, paths, |_, _| false).await?;
            Self::of_sources(store, sources, Overlap::Refuse).await
        }

        /// Opens the shards that [`list_shard_objects`](crate::ops::list_shard_objects) lists, in the order of their
        /// names. Other objects are skipped, but an object named `*.amudai.shard` that is not a shard is an error. A
        /// shard is left out if another shard of the folder refers to all of its data: see
        /// [`left_out`](Self::left_out).
        ///
        /// # Errors
        /// Returns the errors of [`open_objects`](Self::open_objects) and of the store.
        pub async fn open_object_folder(
            store: Arc<dyn ObjectStore>,
            folder: Option<&Path>,
        ) -> Result<Self> {
            let sources = sources_of(store.clone(), folder).await?;
            Self::of_sources(store, sources, Overlap::LeaveOut).await
        }

        async fn of_sources(
            store: Arc<dyn ObjectStore>,
            sources: Vec<Source>,
            overlap: Overlap,
        ) -> Result<Self> {
            let mut members = Members::of_all(sources, overlap, object_id).await?;
            let left_out = std::mem::take(&mut members.left_out);
            let (directory, root, rows) = members.directory().await?;
            let root = path_of(&Place::new(root));
            let folder = ObjectFolder::new(store, root.clone());
            // The tail covers the whole directory, which is in memory, so nothing is fetched in addition.
            let options = ShardOptions::default().with_tail_bytes(directory.len() as u64);
            let (reader, name) = (Arc::new(Held(directory)), root.to_string());
            let shard = Shard::of_object_table(reader, name, Arc::new(folder), options).await?;
            Ok(Self {
                shard,
                rows,
                left_out,
            })
        }
    }

    /// Returns the shards that a table of this folder leaves out, because another shard refers to all of their data:
    /// `held_by_others` for the objects that [`list_shard_objects`](crate::ops::list_shard_objects) lists.
    ///
    /// # Errors
    /// Returns the errors of [`ShardSet::open_object_folder`], except for types of columns that do not fit.
    pub async fn objects_held_by_others(
        store: Arc<dyn ObjectStore>,
        folder: Option<&Path>,
    ) -> Result<Vec<LeftOut>> {
        let sources = sources_of(store, folder).await?;
        Ok(settle(sources, Overlap::LeaveOut, object_id).await?.1)
    }

    async fn sources_of(store: Arc<dyn ObjectStore>, folder: Option<&Path>) -> Result<Vec<Source>> {
        let objects = list_shard_objects(store.clone(), folder).await?;
        let paths = objects.into_iter().map(|object| object.location).collect();
        let is_left_out = |path: &Path, error: &Error| is_of_another_kind(path.as_ref(), error);
        open_all(&store, paths, is_left_out).await
    }

    /// Opens the shards with these objects as directory files. Skips a shard if `is_left_out` accepts the error of
    /// opening it.
    async fn open_all(
        store: &Arc<dyn ObjectStore>,
        paths: Vec<Path>,
        is_left_out: fn(&Path, &Error) -> bool,
    ) -> Result<Vec<Source>> {
        let open = |path: Path| {
            let store = store.clone();
            async move {
                let options = ShardOptions::default().with_tail_bytes(TAIL_BYTES);
                match Shard::open_object(store, &path, options).await {
                    Err(error) if is_left_out(&path, &error) => Ok(None),
                    Err(error) => Err(error),
                    Ok(shard) => Source::load_all(shard, place_of(&path)).await.map(Some),
                }
            }
        };
        let opened = stream::iter(paths).map(open).buffered(AT_ONCE);
        let opened: Vec<Option<Source>> = opened.try_collect().await?;
        Ok(opened.into_iter().flatten().collect())
    }

    /// A file in memory: the directory of a table with all other files in a store.
    #[derive(Debug)]
    struct Held(Bytes);

    impl AsyncReadAt for Held {
        fn read_tail(&self, len: u64) -> BoxFuture<'_, Result<(Bytes, u64)>> {
            let size = self.0.len() as u64;
            let range = ByteRange::try_new(size.saturating_sub(len), size);
            let tail = range.and_then(|range| Ok(self.0.slice(range.to_usize()?)));
            Box::pin(std::future::ready(tail.map(|tail| (tail, size))))
        }

        fn read_ranges(&self, ranges: Vec<ByteRange>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
            let size = self.0.len() as u64;
            let bytes = ranges.iter().map(|range| {
                let range = range.within_size(size)?.to_usize()?;
                Ok(self.0.slice(range))
            });
            Box::pin(std::future::ready(bytes.collect()))
        }

        fn known_size(&self) -> Option<u64> {
            Some(self.0.len() as u64)
        }
    }
}
