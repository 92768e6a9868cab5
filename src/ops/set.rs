//! Several shards as one table.

use super::commit::Naming;
use super::editor::ShardEditor;
use super::place::Place;
use super::source::Source;
use crate::Shard;
use crate::error::{Error, ErrorKind, Result};
use crate::read::{Projection, ScanBuilder, ShardOptions};
use arrow_array::RecordBatch;
use bytes::Bytes;
use std::ops::Range;

/// Several shards as one table: their rows follow each other, and their columns are united by name. Where
/// a shard lacks a column, its rows are null in it.
///
/// Opening reads the metadata of all shards. They must stay as they are while the table is open, and
/// their types must fit each other as [`ShardEditor::append`] says.
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
}

/// Where shards of a table are, by the names from the root of their store.
struct Members {
    editor: ShardEditor,
    places: Vec<Place>,
    rows: Vec<Range<u64>>,
}

impl Members {
    /// The table of one shard.
    async fn of(source: Source) -> Result<Self> {
        let place = source.place.clone();
        let editor = ShardEditor::of_source(source).await?;
        let mut members = Self {
            editor,
            places: Vec::new(),
            rows: Vec::new(),
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

/// Opens the table of some shards of a local folder.
#[cfg(not(target_family = "wasm"))]
mod local {
    use super::{Members, Place, Shard, ShardOptions, ShardSet, Source, no_shard};
    use crate::error::Result;
    use crate::io::{Container, LocalFolder};
    use crate::ops::local::{existing, list_shards, path_of, place_of};
    use crate::ops::place::is_of_another_kind;
    use crate::read::now;
    use std::path::Path;
    use std::sync::Arc;

    impl ShardSet {
        /// Opens the shards whose directory files are at these paths.
        ///
        /// # Errors
        /// Those of [`Shard::open`] and of [`ShardEditor::append`](super::ShardEditor::append), or
        /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for no shard.
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
            let mut members: Option<Members> = None;
            for path in paths {
                let path = existing(path.as_ref())?;
                add(&mut members, Shard::open(&path)?, place_of(&path)?)?;
            }
            finish(members, through)
        }

        /// Opens the shards of a folder, by the order of their names. Files of other kinds are left out, but
        /// none whose name ends in `.amudai.shard`.
        ///
        /// # Errors
        /// Those of [`open`](Self::open).
        pub fn open_folder(folder: impl AsRef<Path>) -> Result<Self> {
            let mut members: Option<Members> = None;
            for listed in list_shards(folder)? {
                let path = existing(&listed)?;
                match Shard::open(&path) {
                    Ok(shard) => add(&mut members, shard, place_of(&path)?)?,
                    Err(error) if is_of_another_kind(&listed.to_string_lossy(), &error) => {}
                    Err(error) => return Err(error),
                }
            }
            finish(members, plain)
        }
    }

    fn plain(folder: LocalFolder) -> Arc<dyn Container> {
        Arc::new(folder)
    }

    fn add(members: &mut Option<Members>, shard: Shard, place: Place) -> Result<()> {
        let source = now(Source::load(shard, place))?;
        match members {
            Some(members) => now(members.add(source)),
            None => {
                *members = Some(now(Members::of(source))?);
                Ok(())
            }
        }
    }

    fn finish(
        members: Option<Members>,
        through: impl FnOnce(LocalFolder) -> Arc<dyn Container>,
    ) -> Result<ShardSet> {
        let members = members.ok_or_else(no_shard)?;
        let (directory, root, rows) = now(members.directory())?;
        let folder = LocalFolder::open(path_of(&Place::new(root)))?;
        let options = ShardOptions::default();
        let shard = Shard::from_reader(Arc::new(directory), through(folder), options)?;
        Ok(ShardSet { shard, rows })
    }
}

/// Opens the table of some shards of an object store.
#[cfg(feature = "object_store")]
mod object {
    use super::{Members, Place, Shard, ShardOptions, ShardSet, Source, no_shard};
    use crate::error::{Error, Result};
    use crate::io::{AsyncReadAt, BoxFuture, ByteRange, ObjectFolder};
    use crate::ops::object::{AT_ONCE, list_shard_objects, path_of, place_of};
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
            Self::open_all(store, paths, |_, _| false).await
        }

        /// As [`open_objects`](Self::open_objects), of the shards that
        /// [`list_shard_objects`](crate::ops::list_shard_objects) gives, by the order of their names. Objects of
        /// other kinds are left out, but none whose name ends in `.amudai.shard`.
        ///
        /// # Errors
        /// Those of [`open_objects`](Self::open_objects) and of the store.
        pub async fn open_object_folder(
            store: Arc<dyn ObjectStore>,
            folder: Option<&Path>,
        ) -> Result<Self> {
            let objects = list_shard_objects(store.clone(), folder).await?;
            let paths = objects.into_iter().map(|object| object.location).collect();
            let is_left_out = |path: &Path, error: &Error| is_of_another_kind(path.as_ref(), error);
            Self::open_all(store, paths, is_left_out).await
        }

        /// Opens the shards whose directory files are these objects, without those that cannot be opened for
        /// a reason that `is_left_out` knows.
        async fn open_all(
            store: Arc<dyn ObjectStore>,
            paths: Vec<Path>,
            is_left_out: fn(&Path, &Error) -> bool,
        ) -> Result<Self> {
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
            let mut opened = opened.into_iter().flatten();
            let mut members = Members::of(opened.next().ok_or_else(no_shard)?).await?;
            for source in opened {
                members.add(source).await?;
            }
            let (directory, root, rows) = members.directory().await?;
            let folder = ObjectFolder::new(store, path_of(&Place::new(root)));
            // All of the directory is there at once, so that nothing is fetched along with what it says.
            let options = ShardOptions::default().with_tail_bytes(directory.len() as u64);
            let reader = Arc::new(Held(directory));
            let shard = Shard::open_async(reader, Arc::new(folder), options).await?;
            Ok(Self { shard, rows })
        }
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
