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

/// Several shards as one table: their rows follow each other, and their columns are united by name. Where
/// a shard lacks a column, its rows are null in it.
///
/// Opening reads the metadata of all shards, several shards at a time. They must stay as they are while the
/// table is open: a read of a file that was replaced meanwhile fails with
/// [`Replaced`](ErrorKind::Replaced). Their types must fit each other as [`ShardEditor::append`] says.
///
/// Local files do not stay open, so that a table may have more shards than the process may have open files:
/// see [`PooledFile`](crate::io::PooledFile).
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
    /// A directory over the buffers of all of them, which is in memory only.
    shard: Shard,
    /// The rows of each, by their numbers in the table.
    rows: Vec<Range<u64>>,
    left_out: Vec<LeftOut>,
}

/// Where shards of a table are, by the names from the root of their store.
struct Members {
    editor: ShardEditor,
    places: Vec<Place>,
    rows: Vec<Range<u64>>,
    left_out: Vec<LeftOut>,
}

impl Members {
    /// The table of some shards, in which no row comes twice.
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

    /// The table of one shard.
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

    /// Adds a shard.
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

    /// A directory over all of them, and the names of the folder that holds them.
    async fn directory(self) -> Result<(Bytes, Vec<String>, Vec<Range<u64>>)> {
        let mut folders = self.places.iter().map(Place::folder);
        let mut root: Vec<String> = folders.next().unwrap_or_default().to_vec();
        for folder in folders {
            let same = root.iter().zip(folder).take_while(|(a, b)| a == b).count();
            root.truncate(same);
        }
        // A name that no file has, because it has a slash.
        let target = Place::new(root.iter().cloned().chain(["/".to_owned()]));
        let files = self.editor.files(Some(&target), Naming::AsItIs).await?;
        Ok((files.directory.into(), root, self.rows))
    }
}

impl ShardSet {
    /// The rows of all shards as those of one. What its methods say of files is about a directory that is
    /// in memory only.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// A scan of the rows of all shards, in their order.
    pub fn scan(&self) -> ScanBuilder {
        self.shard.scan()
    }

    /// Number of rows, those that are deleted left out.
    pub fn num_rows(&self) -> u64 {
        self.shard.num_rows()
    }

    /// The numbers that the rows of each shard have in the table, deleted ones included.
    pub fn row_ranges(&self) -> &[Range<u64>] {
        &self.rows
    }

    /// The shards of the folder that are not part of the table, because another one refers to all of their data: a
    /// merged shard holds the shards that it was made of. Empty for shards that were named one by one.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Rows by the ordinal of their shard and their number in it, in the given order.
    ///
    /// # Errors
    /// [`RowOutOfRange`](ErrorKind::RowOutOfRange), and those of [`Shard::take`].
    pub fn take(
        &self,
        rows: &[(usize, u64)],
        projection: impl Into<Projection>,
    ) -> Result<RecordBatch> {
        self.shard.take(&self.numbers(rows)?, projection)
    }

    /// As [`take`](Self::take), of shards behind asynchronous readers.
    ///
    /// # Errors
    /// Those of [`take`](Self::take).
    pub async fn take_async(
        &self,
        rows: &[(usize, u64)],
        projection: impl Into<Projection>,
    ) -> Result<RecordBatch> {
        self.shard
            .take_async(&self.numbers(rows)?, projection)
            .await
    }

    /// Numbers of rows in the table.
    fn numbers(&self, rows: &[(usize, u64)]) -> Result<Vec<u64>> {
        let number = |&(shard, row): &(usize, u64)| {
            let range = self.rows.get(shard).ok_or_else(|| {
                let count = self.rows.len();
                out_of_range(format!("shard {shard} of a table of {count} shards"))
            })?;
            match row < range.end - range.start {
                true => Ok(range.start + row),
                false => {
                    let rows = range.end - range.start;
                    Err(out_of_range(format!(
                        "row {row} of shard {shard}, which has {rows} rows"
                    )))
                }
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

/// Opens the table of some shards of a local folder.
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
        /// Opens the shards whose directory files are at these paths. The rows of a path that is named several times
        /// count as often.
        ///
        /// # Errors
        /// Those of [`Shard::open`] and of [`ShardEditor::append`](super::ShardEditor::append), or
        /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for no shard, and for two different shards that refer
        /// to the same data, such as a merged shard and one that it was made of.
        pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
            Self::open_through(paths, plain)
        }

        /// As [`open`](Self::open), with rows read through a container that `through` makes of the folder that
        /// holds the shards, or folders with them: one that counts reads, or can be interrupted.
        ///
        /// # Errors
        /// Those of [`open`](Self::open).
        pub fn open_through<P: AsRef<Path>>(
            paths: impl IntoIterator<Item = P>,
            through: impl FnOnce(LocalFolder) -> Arc<dyn Container>,
        ) -> Result<Self> {
            let paths = paths.into_iter().map(|path| path.as_ref().to_path_buf());
            let paths: Vec<PathBuf> = paths.collect();
            finish(opened(&paths, |_, _| false)?, Overlap::Refuse, through)
        }

        /// Opens the shards of a folder, by the order of their names. Files of other kinds are left out, but
        /// none whose name ends in `.amudai.shard`.
        ///
        /// A shard is left out if another one of the folder refers to all of its data, so that no row comes twice:
        /// see [`left_out`](Self::left_out).
        ///
        /// # Errors
        /// Returns the errors of [`open`](Self::open), and
        /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for two shards that
        /// have some data in common, while each refers to others of its own.
        pub fn open_folder(folder: impl AsRef<Path>) -> Result<Self> {
            let folder = folder.as_ref();
            let sources = sources_of(folder)?;
            if sources.is_empty() {
                return Err(no_shard().within(describe_folder(folder)));
            }
            finish(sources, Overlap::LeaveOut, plain)
        }
    }

    /// The shards that a table of a folder leaves out, because another one refers to all of their data: see
    /// [`ShardSet::left_out`]. Their columns need not fit each other.
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

    /// Opens the shards at these paths, without those that cannot be opened for a reason that `is_left_out`
    /// knows.
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

/// Opens the table of some shards of an object store.
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

    /// Bytes that are read first of each object: all are held until the table is open, and metadata of more
    /// bytes take another request or two.
    const TAIL_BYTES: u64 = 64 << 10;

    impl ShardSet {
        /// Opens the shards whose directory files are these objects. The metadata of 32 shards are fetched
        /// at a time, each in a request or a few, however many stripes it has. Values, dictionaries and
        /// range indexes are read when a scan needs them.
        ///
        /// Then use the asynchronous methods, such as `ScanBuilder::build_stream`.
        ///
        /// # Errors
        /// Those of [`Shard::open_object`] and of [`ShardEditor::append`](super::ShardEditor::append), or
        /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for no shard.
        pub async fn open_objects(
            store: Arc<dyn ObjectStore>,
            paths: impl IntoIterator<Item = Path>,
        ) -> Result<Self> {
            let paths = paths.into_iter().collect();
            let sources = open_all(&store, paths, |_, _| false).await?;
            Self::of_sources(store, sources, Overlap::Refuse).await
        }

        /// As [`open_objects`](Self::open_objects), of the shards that
        /// [`list_shard_objects`](crate::ops::list_shard_objects) gives, by the order of their names. Objects of
        /// other kinds are left out, but none whose name ends in `.amudai.shard`. So are shards of which another one of
        /// the folder refers to all data: see [`left_out`](Self::left_out).
        ///
        /// # Errors
        /// Those of [`open_objects`](Self::open_objects) and of the store.
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
            // All of the directory is there at once, so that nothing is fetched along with what it says.
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

    /// As `held_by_others`, of the shards that [`list_shard_objects`](crate::ops::list_shard_objects) gives.
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

    /// Opens the shards whose directory files are these objects, without those that cannot be opened for
    /// a reason that `is_left_out` knows.
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

    /// A file in memory, for a shard whose other files are not.
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
