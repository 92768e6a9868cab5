//! Large values, read in parts.

use super::open_shard::Shard;
use super::scan::opening::stripe_of;
use super::shard::column::Column;
use super::shard::metadata::{Metadata, ready};
use super::shard::projection::Projection;
use super::shard::waiting::{ready_now, ready_now_or};
use crate::buffer::{Body, Storage, StoredRange, blob_header, wrong_file};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::RunningChecksum;
use crate::io::{AsyncReadAt, BoxFuture, ByteRange, ReadAt};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

impl Shard {
    /// Opens one value of a column of binary values or texts, to read parts of it; `None` if the value is null.
    ///
    /// A blob, see [`ColumnOptions::with_blobs`](crate::write::ColumnOptions::with_blobs), is fetched piece by piece as
    /// the caller reads it. Any other value is read and decoded at once, as by [`take`](Self::take).
    ///
    /// ```no_run
    /// # let shard = arrow_shard::Shard::open("photos.amudai.shard")?;
    /// use std::io::{Read, Seek, SeekFrom};
    /// if let Some(mut image) = shard.open_blob(7, "image")? {
    ///     let mut signature = [0; 8];
    ///     image.read_exact(&mut signature)?;
    ///     image.seek(SeekFrom::End(-4))?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RowOutOfRange`](ErrorKind::RowOutOfRange) for a row that does not exist or is deleted,
    /// [`UnknownColumn`](ErrorKind::UnknownColumn), or [`SchemaMismatch`](ErrorKind::SchemaMismatch) for a column of
    /// another type. [`InvalidArgument`](ErrorKind::InvalidArgument) for a shard behind an asynchronous reader: use
    /// [`open_blob_async`](Self::open_blob_async). Also fails if the shard is damaged.
    pub fn open_blob(&self, row: u64, column: &str) -> Result<Option<Blob>> {
        let opened = async {
            self.metadata.artifacts.check_may_wait()?;
            self.find_blob(row, column).await
        };
        let source = ready_now_or("`open_blob_async`", opened)?;
        Ok(source.map(|source| Blob(Cursor::new(source))))
    }

    /// Opens one value of a column of binary values or texts, for a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`open_blob`](Self::open_blob).
    pub async fn open_blob_async(&self, row: u64, column: &str) -> Result<Option<AsyncBlob>> {
        let source = self.find_blob(row, column).await?;
        Ok(source.map(|source| AsyncBlob(Cursor::new(source))))
    }

    async fn find_blob(&self, row: u64, name: &str) -> Result<Option<BlobSource>> {
        let metadata = &self.metadata;
        let projection = Projection::from([name]);
        let columns = metadata
            .run(|step| metadata.columns(step, &projection))
            .await?;
        let Some(column) = columns.into_iter().next() else {
            return Err(Error::invalid("no column is named"));
        };
        let data_type = column.field.data_type();
        let is_fixed = matches!(data_type, DataType::FixedSizeBinary(_));
        if is_fixed || !(data_type.is_binary() || data_type.is_string()) {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!("column `{name}` is {data_type}; only binary values and texts are opened"),
            ));
        }
        // Fails if the row does not exist or is deleted.
        let none = Projection::Indices(Vec::new());
        self.scan().with_projection(none).take_async(&[row]).await?;
        if let Some(stored) = self.find_stored(row, &column).await? {
            return Ok(Some(BlobSource::Stored(Arc::new(stored))));
        }
        let wanted = Field::new(name, DataType::LargeBinary, true);
        let scan = self.scan().with_schema(Arc::new(Schema::new(vec![wanted])));
        let batch = scan.take_async(&[row]).await?;
        let values = batch.column(0).as_binary::<i64>();
        Ok(values
            .is_valid(0)
            .then(|| BlobSource::Memory(Bytes::copy_from_slice(values.value(0)))))
    }

    /// Locates the value of a row in its file; `None` if it is not a blob.
    async fn find_stored(&self, row: u64, column: &Column) -> Result<Option<StoredBlob>> {
        let metadata = &self.metadata;
        let id = column.node.schema_id;
        let found = metadata.run(|step| {
            let stripes = ready!(metadata.stripes(step));
            let Some((ordinal, stripe)) = stripe_of(stripes, row) else {
                return Err(Error::corrupt(format!("no stripe has row {row}")));
            };
            let field = ready!(metadata.open_field(step, (ordinal, id), &column.node));
            Ok(Some((ordinal, row - stripe.record_offset, field)))
        });
        let (stripe, position, field) = found.await?;
        let at = || format!("stripe {stripe}, field `{}`", column.node.name);
        let find = || {
            let Storage::Buffers(buffers) = &field.layout.storage else {
                return Ok(None);
            };
            let Some(data) = &buffers.data else {
                return Ok(None);
            };
            let Body::Blocks(blocks) = &data.body else {
                return Ok(None);
            };
            let rows = position..position.saturating_add(1);
            let Some(block) = blocks.map().and_then(|map| map.overlapping(rows).next()) else {
                return Ok(None);
            };
            let Some(value) = buffers.blob(&block)? else {
                return Ok(None);
            };
            let range = data.place.range;
            Ok(Some(StoredBlob {
                metadata: metadata.clone(),
                name: format!("{}, row {row}", at()),
                artifact: data.place.artifact,
                value: range.slice(value.start, value.end)?,
                block_end: range.slice(0, block.bytes.end)?.end(),
                has_checksum: blocks.checksums,
                expected: blocks.expected_checksum(block.ordinal),
            }))
        };
        find().within(at).within(|| metadata.artifacts.place())
    }
}

/// The bytes of a value, in memory or in a file.
#[derive(Debug, Clone)]
enum BlobSource {
    Memory(Bytes),
    Stored(Arc<StoredBlob>),
}

/// A blob in a file.
#[derive(Debug)]
struct StoredBlob {
    metadata: Arc<Metadata>,
    /// Names the value in errors.
    name: String,
    artifact: u32,
    value: ByteRange,
    block_end: u64,
    has_checksum: bool,
    /// The checksum that the block must carry, if it is known.
    expected: Option<u32>,
}

impl BlobSource {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Stored(stored) => stored.value.len(),
        }
    }

    /// Reads a range of the value's bytes.
    async fn read(&self, range: ByteRange) -> Result<Bytes> {
        let range = range.within_size(self.len())?;
        match self {
            Self::Memory(bytes) => Ok(bytes.slice(range.to_usize()?)),
            Self::Stored(stored) => {
                let range = stored.value.slice(range.start(), range.end())?;
                stored.read(range).await
            }
        }
    }
}

impl StoredBlob {
    async fn read(&self, range: ByteRange) -> Result<Bytes> {
        let artifact = self.artifact;
        let artifacts = &self.metadata.artifacts;
        let read = artifacts.read(&[StoredRange { artifact, range }]).await;
        let bytes = read.within(|| self.name.clone())?.into_iter().next();
        bytes.ok_or_else(|| Error::new(ErrorKind::Io, "the reader gave nothing"))
    }

    /// Whether to compare the block's checksum once the value has been read completely and in order.
    fn is_checked(&self) -> bool {
        self.has_checksum && self.metadata.artifacts.options().verify_checksums()
    }

    /// Compares the checksum of a block with its bytes, and with the checksum that the descriptor repeats. `computed`
    /// covers its header and the whole value; `behind` is the rest of the block: padding and the stored checksum.
    fn check(&self, mut computed: RunningChecksum, behind: &[u8]) -> Result<()> {
        let Some((padding, stored)) = behind.split_last_chunk::<4>() else {
            return Err(Error::corrupt("the block is too short for a checksum"));
        };
        computed.update(padding);
        let (stored, computed) = (u32::from_le_bytes(*stored), computed.value());
        let error = if stored != computed {
            Error::new(
                ErrorKind::Checksum,
                format!("expected {stored:08x}, computed {computed:08x}: the value was damaged"),
            )
        } else if self.expected.is_some_and(|expected| expected != stored) {
            wrong_file(self.expected, Some(stored))
        } else {
            return Ok(());
        };
        let place = self.metadata.artifacts.place_of(self.artifact);
        Err(error.within(self.name.clone()).within(place))
    }
}

/// A value and the position of the next read.
#[derive(Debug, Clone)]
struct Cursor {
    source: BlobSource,
    position: u64,
    /// Checksum of the block up to a position of the value; `None` once a read has skipped bytes.
    running: Option<(RunningChecksum, u64)>,
}

impl Cursor {
    fn new(source: BlobSource) -> Self {
        Self {
            source,
            position: 0,
            running: None,
        }
    }

    fn left(&self) -> u64 {
        self.source.len().saturating_sub(self.position)
    }

    /// Returns the next bytes, at most `most`; none at the end. If all bytes of a blob were read in order, its checksum
    /// is compared before the last ones are returned.
    async fn next(&mut self, most: u64) -> Result<Bytes> {
        let len = most.min(self.left());
        if len == 0 {
            return Ok(Bytes::new());
        }
        let range = ByteRange::with_len(self.position, len)?;
        let bytes = match &self.source {
            BlobSource::Stored(stored) if stored.is_checked() => {
                // A copy, because the next read starts from the same checksum if this one fails or is cancelled.
                let mut running = match &self.running {
                    _ if self.position == 0 => {
                        let mut running = RunningChecksum::default();
                        running.update(&blob_header(stored.value.len()));
                        Some(running)
                    }
                    Some((running, at)) if *at == self.position => Some(running.clone()),
                    _ => None,
                };
                let is_last = len == self.left();
                let mut wanted = stored.value.slice(range.start(), range.end())?;
                if is_last && running.is_some() {
                    wanted = ByteRange::try_new(wanted.start(), stored.block_end)?;
                }
                let mut bytes = stored.read(wanted).await?;
                let behind = bytes.split_off(ByteRange::with_len(0, len)?.to_usize()?.end);
                if let Some(running) = &mut running {
                    running.update(&bytes);
                }
                if is_last && let Some(running) = &running {
                    stored.check(running.clone(), &behind)?;
                }
                self.running = running.map(|running| (running, range.end()));
                bytes
            }
            source => source.read(range).await?,
        };
        self.position = range.end();
        Ok(bytes)
    }

    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(from) => self.source.len().checked_add_signed(from),
            SeekFrom::Current(from) => self.position.checked_add_signed(from),
        };
        self.position = position.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "a position before the start of the value, or beyond 64 bits",
            )
        })?;
        Ok(self.position)
    }
}

/// Most bytes that one request fetches when the caller reads to the end.
const CHUNK: u64 = 8 << 20;

/// One value of a shard, read like a file at any position. Opened by [`Shard::open_blob`].
///
/// Each read of a blob requests just those bytes from the store; wrap the blob in a [`BufReader`](std::io::BufReader)
/// for small reads. A blob has one checksum. If checksums are verified, it is compared when the last byte is read after
/// all others in order; if it does not match, an error takes the place of the last bytes. A value that is read only in
/// part is not checked. Errors of reads are [`Error`]s inside of `io::Error`; [`Error::from`] unwraps them.
#[derive(Debug, Clone)]
pub struct Blob(Cursor);

impl Blob {
    /// Returns the number of bytes of the value.
    pub fn len(&self) -> u64 {
        self.0.source.len()
    }

    /// Whether the value has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Read for Blob {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = ready_now(self.0.next(out.len() as u64)).map_err(io::Error::other)?;
        let (start, _) = out.split_at_mut(bytes.len());
        start.copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    /// Requests 8 MiB at a time.
    fn read_to_end(&mut self, out: &mut Vec<u8>) -> io::Result<usize> {
        let before = out.len();
        loop {
            let bytes = ready_now(self.0.next(CHUNK)).map_err(io::Error::other)?;
            if bytes.is_empty() {
                return Ok(out.len() - before);
            }
            out.extend_from_slice(&bytes);
        }
    }
}

impl Seek for Blob {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// Reads ranges of the value, independently of the position, without comparing the checksum.
impl ReadAt for Blob {
    fn size(&self) -> Result<u64> {
        Ok(self.len())
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        ready_now(self.0.source.read(range))
    }
}

/// One value of a shard behind an asynchronous reader, opened by [`Shard::open_blob_async`]. Each read of a blob
/// requests just those bytes, and a blob that is read to its end in order is checked, as a [`Blob`] is.
///
/// It is an [`AsyncReadAt`], too, so a value that is itself a shard can be opened as one.
#[derive(Debug, Clone)]
pub struct AsyncBlob(Cursor);

impl AsyncBlob {
    /// Returns the number of bytes of the value.
    pub fn len(&self) -> u64 {
        self.0.source.len()
    }

    /// Whether the value has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the next bytes, at most `most`, and none only at the end.
    ///
    /// # Errors
    /// Returns the errors of the store, [`Checksum`](ErrorKind::Checksum) if a value that was read in order is damaged,
    /// or [`WrongFile`](ErrorKind::WrongFile) if it is of another file. After an error, the
    /// same bytes can be read again.
    pub async fn read(&mut self, most: u64) -> Result<Bytes> {
        self.0.next(most).await
    }

    /// Moves to another position.
    ///
    /// # Errors
    /// Fails for a position before the start or beyond 64 bits.
    pub fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }

    /// Reads a range of the value, independently of the position.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the range ends after the value, or an error of the store.
    pub async fn read_range(&self, range: Range<u64>) -> Result<Bytes> {
        let range = ByteRange::try_new(range.start, range.end)?;
        self.0.source.read(range).await
    }
}

impl AsyncReadAt for AsyncBlob {
    fn read_tail(&self, len: u64) -> BoxFuture<'_, Result<(Bytes, u64)>> {
        Box::pin(async move {
            let size = self.len();
            let tail = self.read_range(size.saturating_sub(len)..size).await?;
            Ok((tail, size))
        })
    }

    fn read_ranges(&self, ranges: Vec<ByteRange>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        Box::pin(async move {
            let len = self.len();
            match &self.0.source {
                BlobSource::Memory(_) => {
                    let mut all = Vec::with_capacity(ranges.len());
                    for range in ranges {
                        all.push(self.0.source.read(range).await?);
                    }
                    Ok(all)
                }
                BlobSource::Stored(stored) => {
                    let mut places = Vec::with_capacity(ranges.len());
                    for range in ranges {
                        let range = range.within_size(len)?;
                        places.push(StoredRange {
                            artifact: stored.artifact,
                            range: stored.value.slice(range.start(), range.end())?,
                        });
                    }
                    let read = stored.metadata.artifacts.read(&places).await;
                    read.within(|| stored.name.clone())
                }
            }
        })
    }

    fn known_size(&self) -> Option<u64> {
        Some(self.len())
    }
}
