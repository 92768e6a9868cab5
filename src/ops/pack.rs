//! Combines a shard into one file: the buffers are copied as they are, and only the directory is written again.

use super::commit::EditSummary;
use super::editor::ShardEditor;
use super::opening_options::opening;
use super::progress::WorkProgress;
use super::source::{SourceShard, node_ids};
use crate::Shard;
use crate::error::{Error, Result, Within, to_usize};
use crate::format::{DataEncoding, DataRef, StripeFieldDescriptor};
use crate::io::{AsyncSink, ByteRange, DescriptorUse, ExistingFile, Location, VersionedFile};
use crate::progress::{Listener, with_progress};
use crate::read::{CopyChecks, ShardOptions, ready_now};
use crate::settings::settings;
use crate::write::{BUFFER_ALIGNMENT, PositionedSink, StripeRecord, StripesMetadata};
use std::collections::HashMap;

/// Approximate number of bytes of buffers that are held at a time.
const COPIED: u64 = 4 << 20;

/// Metadata of more bytes than this are written between the stripes, as a writer does.
const KEPT_METADATA: usize = 16 << 20;

/// Options of [`pack`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PackOptions {
    overwrite: bool,
    opening: ShardOptions,
    listener: Listener,
}

settings! {
    PackOptions {
        /// Whether to replace an existing file at the target. Off by default. The target may be the shard itself.
        overwrite, with_overwrite: bool;
    }
}

opening!(PackOptions);

with_progress! {
    PackOptions,
    /// Calls `progress` after every few megabytes with the number of copied rows, which grows by whole stripes. Deleted
    /// rows count. If it breaks, the operation stops, and no target appears.
}

/// Writes a shard as one file, `target`, with its directory and all buffers that it refers to in other files.
/// Afterwards `target` can be moved, copied or sent on its own. The buffers are copied as they are, not encoded again,
/// so rows, deleted rows, statistics and filters stay the same. Checksums of the buffers are compared, so damaged or
/// swapped files are not copied. Data of dropped columns and other unreferenced bytes are left out. The target may be
/// in another store.
///
/// The file appears when it is complete. The shard and its files stay, unless `target` is the shard itself and
/// [`with_overwrite`](PackOptions::with_overwrite) is set. An object that holds rows is never replaced by itself: other
/// shards may refer to it. If the shard replaces itself and its file has changed meanwhile, `pack` fails with
/// [`Conflict`](crate::ErrorKind::Conflict).
///
/// Uses about 4 MiB of memory for copying and up to 16 MiB for metadata, and holds one dictionary and the directory.
///
/// ```no_run
/// use arrow_shard::ops::{PackOptions, pack};
/// let packed = pack("flights.amudai.shard", "backup/flights.amudai.shard", PackOptions::default())?;
/// println!("{} rows in a file of {} bytes", packed.num_rows(), packed.bytes());
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`Shard::open`]; [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the target exists and
/// [`with_overwrite`](PackOptions::with_overwrite) is off, [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a
/// reserved name, or if a store is asynchronous (use [`pack_async`]), [`Conflict`](crate::ErrorKind::Conflict) if the
/// shard is replaced by itself and was changed meanwhile, [`NotFound`](crate::ErrorKind::NotFound) if a file of the
/// shard is missing, [`Checksum`](crate::ErrorKind::Checksum), [`Corrupt`](crate::ErrorKind::Corrupt) or
/// [`WrongFile`](crate::ErrorKind::WrongFile) if copied bytes are damaged or of another shard's file,
/// [`Unsupported`](crate::ErrorKind::Unsupported) for columns in Parquet files, and for an object that would replace
/// itself but holds rows or has no version, [`Stopped`](crate::ErrorKind::Stopped), or errors of the store. After an
/// error, no new file exists, unless an object store completed it and its answer was lost.
pub fn pack(
    shard: impl Into<Location>,
    target: impl Into<Location>,
    options: PackOptions,
) -> Result<EditSummary> {
    let (shard, target) = (shard.into(), target.into());
    for location in [&shard, &target] {
        location.store().check_near("pack_async")?;
    }
    ready_now(pack_async(shard, target, options))
}

/// Writes a shard as one file, in any store: the asynchronous form of [`pack`].
///
/// # Errors
/// Returns the errors of [`pack`], but accepts asynchronous stores.
pub async fn pack_async(
    shard: impl Into<Location>,
    target: impl Into<Location>,
    options: PackOptions,
) -> Result<EditSummary> {
    let (location, target) = (shard.into(), target.into());
    let home = location.home();
    let place = home.find(location.name())?;
    let opened = home.open(&place, DescriptorUse::Open)?;
    let shard = Shard::of_opened(opened, options.shard_options()).await?;
    // If the target replaces the shard itself, a concurrent edit must not be lost, and no other shard may refer to the
    // replaced file.
    let is_same = location.store().is_same(target.store());
    let replaced = (options.overwrite && is_same)
        .then(|| target.home().find(target.name()).ok())
        .flatten()
        .filter(|target| *target == place);
    let version = replaced.as_ref().and_then(|_| shard.version());
    if replaced.is_some() && !home.has_second_names() {
        if version.is_none() {
            return Err(Error::unsupported(
                "the store does not tell one file from another of the same name",
            ));
        }
        let source = SourceShard::load(shard.clone(), location.store().clone(), place.clone());
        ShardEditor::of_source(source.await?)
            .await?
            .check_replaceable()
            .await?;
    }
    let existing = match &version {
        Some(version) => ExistingFile::ReplacedIf(version.clone()),
        None if options.overwrite => ExistingFile::Replaced,
        None => ExistingFile::Kept,
    };
    let mut sink = target.home().sink(target.name(), existing).await?;
    let copied = async {
        let done = copy(&shard, options.listener, &mut *sink).await?;
        if version.is_some() {
            let found = home.look(&place).await?;
            if found.and_then(|found| found.version) != version {
                return Err(VersionedFile { place, version }.conflict());
            }
        }
        Ok(done)
    };
    let packed = match copied.await {
        Ok(done) => sink.commit().await.map(|()| done),
        Err(error) => Err(error.within(location.to_string())),
    };
    if packed.is_err() {
        // The first error is reported; the bytes are invisible.
        let _ = sink.abort().await;
    }
    packed
}

/// Writes a shard as one file.
async fn copy(
    shard: &Shard,
    listener: Listener,
    target: &mut dyn AsyncSink,
) -> Result<EditSummary> {
    let schema = shard.stored_schema().await?;
    let mut names = HashMap::new();
    for field in &schema.fields {
        field.data_type.walk(&mut |node| {
            names.insert(node.schema_id, node.name.clone());
        });
    }
    let ids = node_ids(shard).await?;
    let directories = shard.stripe_directories().await?;
    let nodes = ids.iter().max().map_or(0, |last| *last as usize + 1);
    let rows = shard.num_rows() + shard.num_deleted_rows();
    let mut copying = Copying {
        shard,
        target,
        work: WorkProgress::new(listener, rows),
        position: 0,
        pieces: Vec::new(),
        known: HashMap::new(),
        unread: HashMap::new(),
        names,
        checks: CopyChecks::default(),
    };
    copying.metadata(|out| out.begin()).await?;
    let fields = shard.shard_descriptors(&ids, nodes).await?;
    let mut metadata = StripesMetadata::new(shard.wire(), nodes).with_fields(fields);
    for (ordinal, directory) in (0..).zip(&directories) {
        let place = || format!("stripe {ordinal}");
        let fields = copying.stripe(ordinal, &ids, nodes).await.within(place)?;
        metadata.push(StripeRecord {
            rows: directory.total_record_count,
            deleted_rows: directory.deleted_record_count,
            urls: Vec::new(),
            fields,
            properties: shard.properties_of(ordinal).await.within(place)?,
        })?;
        if metadata.kept_bytes() > KEPT_METADATA {
            copying.metadata(|out| metadata.place(out)).await?;
        }
        copying.work.add(to_usize(directory.total_record_count)?)?;
    }
    let properties = shard.properties_async().await?;
    copying
        .metadata(|out| metadata.finish(out, &schema, properties))
        .await?;
    Ok(EditSummary::new(
        shard.num_rows(),
        shard.num_deleted_rows(),
        shard.num_stripes(),
        copying.position,
    ))
}

/// The state of a shard that is being copied.
struct Copying<'a> {
    shard: &'a Shard,
    target: &'a mut dyn AsyncSink,
    work: WorkProgress,
    /// Number of bytes written, plus the bytes of `pieces`.
    position: u64,
    /// Ranges to copy next: the artifact, the range in it, and the position in the target.
    pieces: Vec<(u32, ByteRange, u64)>,
    /// The new ranges of buffers. Several fields may refer to one buffer.
    known: HashMap<(u32, ByteRange), ByteRange>,
    /// Number of bytes of each artifact that may still be copied.
    unread: HashMap<u32, u64>,
    /// The names of the schema nodes, by schema id.
    names: HashMap<u32, String>,
    /// The checks of the buffers of the stripe.
    checks: CopyChecks,
}

impl Copying<'_> {
    /// Writes metadata that `write` makes in memory.
    async fn metadata(
        &mut self,
        write: impl FnOnce(&mut PositionedSink<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        write(&mut PositionedSink::new(&mut bytes, &mut self.position))?;
        self.target.write_all(bytes.into()).await
    }

    /// Copies the buffers of a stripe, and returns its field descriptors by node number.
    async fn stripe(
        &mut self,
        ordinal: u64,
        ids: &[u32],
        nodes: usize,
    ) -> Result<Vec<Option<StripeFieldDescriptor>>> {
        let mut lead = |artifact: Option<&crate::io::RelativeUrl>| {
            Ok(artifact.map(ToString::to_string).unwrap_or_default())
        };
        let described = self.shard.descriptors(ordinal, ids, &mut lead).await?;
        let mut fields: Vec<Option<StripeFieldDescriptor>> = vec![None; nodes];
        let start = self.position;
        self.checks = CopyChecks::default();
        for (id, descriptor) in ids.iter().zip(&described) {
            if let Some(descriptor) = descriptor {
                let name = self.names.get(id).map_or("", String::as_str);
                let added = self.checks.add(self.shard, name, descriptor);
                added.within(|| format!("field `{name}`"))?;
            }
        }
        for (&id, mut descriptor) in ids.iter().zip(described) {
            if let Some(descriptor) = &mut descriptor {
                let placed = self.place_field(descriptor).await;
                placed.within(|| format!("field {id}"))?;
            }
            if let Some(field) = fields.get_mut(id as usize) {
                *field = descriptor;
            }
        }
        let buffers = self.pieces.iter();
        let buffers: Vec<_> = buffers.map(|&(file, range, _)| (file, range)).collect();
        self.checks.load_maps(self.shard, &buffers).await?;
        self.copy_pieces(start).await?;
        // A reader may map the last buffer as words.
        self.metadata(|out| out.align()).await?;
        Ok(fields)
    }

    /// Assigns a new place to each buffer of a field.
    async fn place_field(&mut self, descriptor: &mut StripeFieldDescriptor) -> Result<()> {
        for encoding in &mut descriptor.encodings {
            let DataEncoding::Native(native) = encoding else {
                return Err(Error::unsupported(
                    "the values are in files of another format, which are not copied; write the shard again with \
                     `arrow-shard convert`",
                ));
            };
            for buffer in &mut native.buffers {
                let (whole, map) = (buffer.buffer.clone(), &mut buffer.block_map);
                if let Some(reference) = &mut buffer.buffer {
                    self.place(reference).await?;
                }
                match (map, whole, &buffer.buffer) {
                    (Some(map), Some(before), Some(now))
                        if map.url == before.url && before.range.contains(map.range) =>
                    {
                        let start = now.range.start() + (map.range.start() - before.range.start());
                        map.range = ByteRange::with_len(start, map.range.len())?;
                        map.url.clear();
                    }
                    (Some(map), _, _) => self.place(map).await?,
                    (None, _, _) => {}
                }
            }
        }
        let indexes = descriptor.field.indexes.iter_mut();
        let artifacts = indexes.flat_map(|index| &mut index.artifacts);
        for reference in artifacts.filter_map(|artifact| artifact.data_ref.as_mut()) {
            self.place(reference).await?;
        }
        Ok(())
    }

    /// Assigns a new place to referenced bytes, and adds them to `pieces` unless they were placed before.
    async fn place(&mut self, reference: &mut DataRef) -> Result<()> {
        let artifact = self.shard.artifact(&reference.url)?;
        let range = reference.range;
        reference.url.clear();
        if let Some(known) = self.known.get(&(artifact, range)) {
            reference.range = *known;
            return Ok(());
        }
        let left = match self.unread.get(&artifact) {
            Some(left) => *left,
            None => self.shard.artifact_size(artifact).await?,
        };
        // Buffers do not overlap. If this were not checked, a small damaged shard could demand copies of any size.
        let left = left.checked_sub(range.len()).ok_or_else(|| {
            let name = self.shard.artifact_name(artifact);
            Error::corrupt(format!(
                "the buffers in `{name}` overlap, or leave the file"
            ))
        })?;
        self.unread.insert(artifact, left);
        let start = self.position.next_multiple_of(BUFFER_ALIGNMENT as u64);
        reference.range = ByteRange::with_len(start, range.len())?;
        self.position = reference.range.end();
        self.pieces.push((artifact, range, start));
        self.known.insert((artifact, range), reference.range);
        Ok(())
    }

    /// Copies the pieces; `position` is the end of the bytes written before.
    async fn copy_pieces(&mut self, mut position: u64) -> Result<()> {
        let mut batch = Batch::default();
        for (artifact, range, start) in std::mem::take(&mut self.pieces) {
            let mut from = 0;
            while from < range.len() {
                let len = (range.len() - from).min(COPIED - batch.bytes);
                batch
                    .pieces
                    .push((artifact, range.slice(from, from + len)?));
                batch.targets.push((range, start + from));
                batch.bytes += len;
                from += len;
                if batch.bytes == COPIED {
                    position = self.copy_batch(&mut batch, position).await?;
                }
            }
        }
        position = self.copy_batch(&mut batch, position).await?;
        self.fill(position, self.position).await
    }

    /// Writes zeros up to the position `to`.
    async fn fill(&mut self, from: u64, to: u64) -> Result<()> {
        match to_usize(to.saturating_sub(from))? {
            0 => Ok(()),
            len => self.target.write_all(vec![0; len].into()).await,
        }
    }

    /// Copies a batch, and returns the position after it.
    async fn copy_batch(&mut self, batch: &mut Batch, mut position: u64) -> Result<u64> {
        let batch = std::mem::take(batch);
        let read = self.shard.read_artifacts(&batch.pieces).await?;
        let pieces = batch.pieces.iter().zip(batch.targets);
        for (bytes, ((artifact, _), (buffer, start))) in read.into_iter().zip(pieces) {
            self.checks.take(self.shard, (*artifact, buffer), &bytes)?;
            self.fill(position, start).await?;
            position = start + bytes.len() as u64;
            self.target.write_all(bytes).await?;
        }
        self.work.add(0)?;
        Ok(position)
    }
}

/// Bytes that are read together.
#[derive(Default)]
struct Batch {
    pieces: Vec<(u32, ByteRange)>,
    /// For each piece: the range of its buffer, and the position in the target.
    targets: Vec<(ByteRange, u64)>,
    bytes: u64,
}
