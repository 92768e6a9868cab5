//! Verification of a whole shard: every checksum, every block, every column.

mod columns;
mod data;
mod deleted_count;
mod external;
mod files;
mod order;
mod report;
mod statistics;
#[cfg(test)]
mod tests;
mod values;

pub use report::{Problem, VerifyReport};

use super::concurrent_parts::PREFETCH;
use super::inspect::child_name;
use crate::column::may_exceed_arrow;
use crate::encoding::Scratch;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{
    DELETED_RECORD, DataRef, DataType, Field, IndexCollection, Message, Schema, UrlList,
};
use crate::progress::{Listener, with_progress};
use crate::read::open_shard::Shard;
use crate::read::shard::column::Column;
use crate::read::shard::columns::InternalFields;
use crate::read::shard::metadata::ready;
use crate::read::shard::projection::Projection;
use crate::read::shard::waiting::{give_way, ready_now_or};
use crate::read::stripe::Stripe;
use crate::settings::{check_threads, settings};
use columns::VisibleColumns;
use report::At;
use statistics::Counts;
use std::collections::HashSet;
use std::iter;
use values::Claims;

/// Most rows to assemble at a time.
const BATCH_ROWS: u32 = 8192;
/// Most rows of a column of a stripe to assemble per byte of its buffers: more than any column has that a writer
/// creates. Equal rows cost the file nothing, so a damaged file may claim any number of them.
const ROWS_PER_BYTE: u64 = 8192;
/// Most bytes of the field of deleted records that count towards the limit on assembled rows.
const COUNTED_BYTES: u64 = 512;
/// Most bytes of values to assemble for a column of a stripe, in addition to [`BYTES_PER_BYTE`] for each byte of its
/// buffers.
const MAX_COLUMN_BYTES: u64 = 64 << 20;
/// Upper bound of the ratio of values to encoded bytes: exceeds the ratio of the longest run of 8-byte values that a
/// writer creates.
const BYTES_PER_BYTE: u64 = 65_536;
/// Number of values in the largest block that a writer creates.
const ORDINARY_BLOCK: u64 = 65_536;
/// Rows of the first batch of a column with larger blocks.
const FIRST_ROWS: u64 = 64;
/// Approximate size of the later batches of a column with larger blocks, in bytes.
const PACED_BYTES: u64 = 4 << 20;
/// Failed batches of a column of a stripe after which the remaining batches are skipped.
const MAX_FAILED_BATCHES: u32 = 64;

/// Options of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyOptions {
    threads: usize,
    prefetch: usize,
    listener: Listener,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            prefetch: PREFETCH,
            listener: Listener::default(),
        }
    }
}

settings! {
    VerifyOptions {
        /// Number of threads that check columns; 1 by default, the calling thread. The report does not depend on it.
        /// Without the feature `threads`, the calling thread does all the work.
        threads, with_threads: usize;
        /// Number of columns, or files, that asynchronous verification fetches concurrently, at least 1; 8 by default.
        /// More of them need more memory and send more requests at a time; the report does not depend on it.
        prefetch, with_prefetch: usize;
    }
}

with_progress! {
    VerifyOptions,
    /// Calls `progress` for every column of every stripe, with its name in [`field`](crate::Progress::field). If it
    /// breaks, the verification stops and returns the report so far.
}

impl Shard {
    /// Verifies the whole shard: headers and footers, every message of the metadata, every checksum of data and every
    /// block. Reads every column, and compares the values of columns and of members of structs with their metadata:
    /// null counts, constants, bounds, Bloom filters and range indexes. Compares neighboring rows, without deleted
    /// ones, with the order that the shard declares ([`sorting_columns`](Self::sorting_columns)). Metadata are also
    /// compared with each other. Continues after a problem, so that the report is complete, and keeps only a few
    /// megabytes in memory.
    ///
    /// Checksums are always compared, regardless of [`ShardOptions`](crate::read::ShardOptions), even if they matched
    /// before. If a field has several encodings, only the one that scans read is checked. A value of a native type that
    /// its Arrow type cannot hold is a problem if the shard declares the Arrow type. It is not a problem if the reader
    /// chose the type, because other readers may choose another.
    ///
    /// # Errors
    /// Problems of the shard are in the report; they are not errors. A reader that fails is an error, because it says
    /// nothing about the shard: [`Io`](ErrorKind::Io), [`Replaced`](ErrorKind::Replaced) if a file is not the one that
    /// was opened, or [`InvalidArgument`](ErrorKind::InvalidArgument) at once for a shard behind an asynchronous
    /// reader. A missing file of a stripe is a problem of the shard.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.verify_with(VerifyOptions::default())
    }

    /// Verifies a shard behind an asynchronous reader. The report equals the one that [`verify`](Self::verify) makes of
    /// the same shard behind a blocking reader.
    ///
    /// Fetches [`prefetch`](VerifyOptions::prefetch) columns concurrently. For each of them, a few megabytes of blocks
    /// are in memory, or the rows of about [`fetch_bytes`](crate::read::ShardOptions::fetch_bytes): data are fetched
    /// twice, first buffer by buffer and then as a scan reads them. Each poll of the future decodes, per column, about
    /// 4 MiB of blocks or a batch of rows. It spawns nothing, so dropping it ends all its work.
    ///
    /// # Errors
    /// Returns the same errors as [`verify`](Self::verify).
    pub async fn verify_async(&self) -> Result<VerifyReport> {
        self.verify_with_async(VerifyOptions::default()).await
    }

    /// Verifies the whole shard like [`verify`](Self::verify), with options. If the callback of
    /// [`with_progress`](VerifyOptions::with_progress) stops the verification, the report has the results so far, and
    /// [`is_complete`](VerifyReport::is_complete) is false.
    ///
    /// ```
    /// # use arrow_shard::{Shard, write::ShardWriter};
    /// # use arrow_array::{ArrayRef, Int32Array, RecordBatch};
    /// # use std::sync::Arc;
    /// use arrow_shard::read::VerifyOptions;
    /// use std::ops::ControlFlow;
    /// use std::time::{Duration, Instant};
    /// # let ids = Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
    /// # let batch = RecordBatch::try_from_iter([("id", ids)])?;
    /// # let mut file = Vec::new();
    /// # let mut writer = ShardWriter::try_new(&mut file, batch.schema(), Default::default())?;
    /// # writer.write(&batch)?;
    /// # writer.finish()?;
    /// # let shard = Shard::from_bytes(file.into())?;
    /// let end = Instant::now() + Duration::from_secs(60);
    /// let options = VerifyOptions::default().with_threads(4).with_progress(move |_| {
    ///     if Instant::now() < end {
    ///         ControlFlow::Continue(())
    ///     } else {
    ///         ControlFlow::Break(())
    ///     }
    /// });
    /// let report = shard.verify_with(options)?;
    /// assert!(report.is_complete() && report.is_sound());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`verify`](Self::verify).
    pub fn verify_with(&self, options: VerifyOptions) -> Result<VerifyReport> {
        let verified = async {
            self.metadata.artifacts.check_may_wait()?;
            check_threads(options.threads)?;
            Verifier::new(self).run(&options).await
        };
        ready_now_or("`verify_async` or `verify_with_async`", verified)
    }

    /// Verifies a shard behind an asynchronous reader, with options. Starts no threads;
    /// [`verify_async`](Self::verify_async) describes its concurrency.
    ///
    /// # Errors
    /// Returns the same errors as [`verify_async`](Self::verify_async).
    pub async fn verify_with_async(&self, options: VerifyOptions) -> Result<VerifyReport> {
        check_threads(options.threads)?;
        Verifier::new(self).run(&options.with_threads(1)).await
    }
}

/// Checks parts of a shard, and collects the problems.
struct Verifier<'a> {
    shard: &'a Shard,
    report: VerifyReport,
    scratch: Scratch,
    counts: Counts,
    /// Files of other formats, which have no header of this one.
    external_files: HashSet<u32>,
    /// The first error of a reader, which ends the verification.
    failed: Option<Error>,
}

impl<'a> Verifier<'a> {
    fn new(shard: &'a Shard) -> Self {
        Self {
            shard,
            report: VerifyReport::default(),
            scratch: Scratch::default(),
            counts: Counts::default(),
            external_files: HashSet::new(),
            failed: None,
        }
    }

    /// Adds the results of another verifier.
    fn absorb(&mut self, other: Self) {
        self.report.absorb(other.report);
        self.counts.absorb(other.counts);
        self.external_files.extend(other.external_files);
        self.failed = self.failed.take().or(other.failed);
    }

    /// Adds a problem, or keeps the error if a reader has failed.
    fn add(&mut self, at: At, error: Error) {
        if error.is_of_reader() {
            self.failed = self.failed.take().or(Some(error));
        } else {
            self.report.add(at, &error);
        }
    }

    /// Returns the error of a reader, if one has failed.
    fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    async fn run(mut self, options: &VerifyOptions) -> Result<VerifyReport> {
        self.report.rows = self.shard.num_rows();
        let schema = self.directory().await;
        let stripes = self.shard.stripes_async().await;
        let stripes = self.note(self.root(), stripes);
        self.check()?;
        if let Some(schema) = schema {
            match stripes {
                Some(stripes) => {
                    let flow = self.stripes(&schema, &stripes, options).await?;
                    self.check()?;
                    if flow.is_break() {
                        return Ok(self.report);
                    }
                    self.order(&stripes).await;
                    self.check()?;
                }
                None => self.counts.miss(),
            }
            self.shard_fields(&schema, options).await;
            self.check()?;
        }
        self.urls().await;
        self.files(options).await;
        self.check()?;
        self.report.is_complete = true;
        Ok(self.report)
    }

    /// Returns the directory file as a place.
    fn root(&self) -> At {
        At::file(self.shard.metadata.artifacts.name().to_owned())
    }

    /// Returns a field of a stripe as a place.
    fn at(&self, stripe: &Stripe, path: &str) -> At {
        At {
            stripe: Some(stripe.ordinal()),
            field: Some(path.to_owned()),
            ..self.root()
        }
    }

    /// Returns the value; adds the error, if there is one.
    fn note<T>(&mut self, at: At, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(at, error);
                None
            }
        }
    }

    /// Adds an error, unless a problem already has its message.
    fn note_new(&mut self, at: &At, error: Error) {
        let mut known = self.report.problems.iter();
        if !known.any(|problem| problem.message.contains(error.message())) {
            self.add(at.clone(), error);
        }
    }

    /// Returns the value of a check that ran before. Its errors were added then, so only a new failure of the reader is
    /// added.
    fn again<T>(&mut self, at: &At, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                if error.is_of_reader() {
                    self.add(at.clone(), error);
                }
                None
            }
        }
    }

    /// Checks the messages of the directory. Returns the schema if it is sound.
    async fn directory(&mut self) -> Option<Schema> {
        let shard = self.shard;
        let directory = &shard.metadata.directory;
        let properties = shard.properties_async().await.map(|_| ());
        self.note(self.root(), properties);
        let urls = message::<UrlList>(shard, directory.url_list_ref.as_ref(), "URL list").await;
        self.note(self.root(), urls);
        let indexes = directory.indexes_ref.as_ref();
        let indexes = message::<IndexCollection>(shard, indexes, "indexes").await;
        self.note(self.root(), indexes);
        let schema = shard.stored_schema().await;
        if schema.is_ok() && shard.metadata.has_deleted() {
            let deleted = shard
                .metadata
                .run(|step| shard.metadata.deleted_column(step));
            let deleted = deleted.await.map(|_| ());
            self.note(self.root(), deleted);
        }
        self.note(self.root(), schema)
    }

    /// Returns the columns that readers may see. If one of them is damaged, loads each on its own.
    async fn columns(&mut self, schema: &Schema) -> VisibleColumns {
        let metadata = &self.shard.metadata;
        let all = metadata
            .run(|step| metadata.columns_with(step, &Projection::All, InternalFields::Shown));
        if let Ok(columns) = all.await {
            return VisibleColumns::new(columns);
        }
        let mut columns = Vec::new();
        for i in 0..schema.fields.len() {
            let one = Projection::Indices(vec![i]);
            match metadata
                .run(|step| metadata.columns_with(step, &one, InternalFields::Shown))
                .await
            {
                Ok(column) => columns.extend(column),
                Err(error) if error.kind() == crate::ErrorKind::UnknownColumn => break,
                Err(error) => self.add(self.root(), error),
            }
        }
        VisibleColumns::new(columns)
    }

    /// Checks the messages of a stripe. Returns false if its fields cannot be found.
    async fn stripe_messages(&mut self, stripe: &Stripe) -> bool {
        let at = At {
            stripe: Some(stripe.ordinal()),
            ..self.root()
        };
        let properties = stripe.properties_async().await.map(|_| ());
        self.note(at.clone(), properties);
        let indexes = message::<IndexCollection>(self.shard, stripe.indexes_ref(), "indexes");
        let indexes = indexes.await;
        self.note(at.clone(), indexes);
        let metadata = &self.shard.metadata;
        let list = metadata.run(|step| metadata.field_list(step, stripe.ordinal()));
        let list = list.await;
        self.note(at, list).is_some()
    }

    /// Checks a column of a stripe: first its buffers, then the assembled values.
    async fn column(&mut self, stripe: &Stripe, field: &Field, columns: &VisibleColumns) {
        let node = &field.data_type;
        let mut sound = self.fields(stripe, node).await;
        let id = node.schema_id;
        let is_deleted = field.internal_kind.as_deref() == Some(DELETED_RECORD);
        if sound.readable && is_deleted {
            self.deleted(stripe, node).await;
            // Its bits have been read before, and long runs of them take few bytes.
            sound.bytes = sound.bytes.min(COUNTED_BYTES);
        }
        if !sound.readable {
            return;
        }
        let mut last = id;
        node.walk(&mut |below| last = last.max(below.schema_id));
        // A struct with packed members has several columns.
        for (ordinal, column) in columns.of_nodes(id..=last) {
            let mut claims = self.claims(stripe, column).await;
            let node = &column.node;
            let assembled = self.assemble(stripe, node, ordinal, sound, &mut claims);
            let nulls = assembled.await;
            self.nulls(stripe, node, nulls).await;
            if nulls.is_some() {
                self.member_nulls(stripe, &claims);
            }
        }
    }

    /// Checks the buffers of a field and of all its descendants.
    async fn fields(&mut self, stripe: &Stripe, column: &DataType) -> Checked {
        let mut all = Checked::readable(0);
        for (node, path) in nodes_of(column) {
            self.report.fields += 1;
            let at = self.at(stripe, &path);
            let checked = self.field_data(stripe.ordinal(), node, &at).await;
            all.readable &= checked.readable;
            all.bytes = all.bytes.saturating_add(checked.bytes);
            all.largest_block = all.largest_block.max(checked.largest_block);
        }
        all
    }

    /// Reads a column of a stripe, batch by batch, and compares it with its metadata. Returns the number of its nulls
    /// if all rows were read. Does not repeat problems of its buffers. The size of the buffers limits the
    /// number of rows that are read.
    async fn assemble(
        &mut self,
        stripe: &Stripe,
        node: &DataType,
        ordinal: usize,
        checked: Checked,
        claims: &mut [Claims],
    ) -> Option<u64> {
        let bytes = checked.bytes;
        let at = self.at(stripe, &node.name);
        let mut rows = stripe.row_range();
        let first = rows.start;
        let most = bytes.saturating_mul(ROWS_PER_BYTE).max(BATCH_ROWS.into());
        rows.end = rows.end.min(rows.start.saturating_add(most));
        let mut nulls = (rows.end == stripe.row_range().end).then_some(0);
        let mut left_bytes = MAX_COLUMN_BYTES.saturating_add(bytes.saturating_mul(BYTES_PER_BYTE));
        let mut batch_rows = if checked.largest_block > ORDINARY_BLOCK {
            FIRST_ROWS
        } else {
            BATCH_ROWS.into()
        };
        let mut failures = 0;
        while !rows.is_empty() && failures < MAX_FAILED_BATCHES && self.failed.is_none() {
            let scan = self
                .shard
                .scan()
                .with_projection([ordinal])
                .with_internal_fields(true)
                .with_deleted_rows(true)
                .with_row_range(rows.clone());
            let size = usize::try_from(batch_rows).unwrap_or(usize::MAX);
            let planned = scan.with_batch_size(size).planned(false);
            let mut reader = match planned.await {
                Ok((reader, _, _)) => reader,
                Err(error) => {
                    self.add(at, error);
                    return None;
                }
            };
            let failed = loop {
                let left = reader.remaining_rows();
                match reader.next_batch().await {
                    None => return nulls,
                    Some(Ok(batch)) => {
                        let mut size = 0;
                        for column in batch.columns() {
                            let bytes = column.to_data().get_slice_memory_size();
                            size += bytes.unwrap_or(0) as u64;
                            nulls = nulls.map(|nulls| nulls + column.logical_null_count() as u64);
                            let first = rows.end - left - first;
                            self.values(stripe, claims, column, first).await;
                        }
                        give_way().await;
                        left_bytes = left_bytes.saturating_sub(size);
                        if left_bytes == 0 && reader.remaining_rows() > 0 {
                            return None;
                        }
                        let of_row = (size / (batch.num_rows() as u64).max(1)).max(1);
                        let paced = (PACED_BYTES / of_row).clamp(1, BATCH_ROWS.into());
                        let is_off = paced < batch_rows / 2 || paced / 2 > batch_rows;
                        if checked.largest_block > ORDINARY_BLOCK && is_off {
                            batch_rows = paced;
                            rows.start = rows.end - reader.remaining_rows();
                            break None;
                        }
                    }
                    Some(Err(error)) => break Some((rows.end - left, error)),
                }
            };
            let Some((row, error)) = failed else {
                continue;
            };
            nulls = None;
            rows.start = row + batch_rows.min(rows.end - row);
            let is_excused = error.kind() == ErrorKind::ValueOutOfRange && may_exceed_arrow(node);
            if is_excused && !self.says_arrow_types().await {
                continue;
            }
            failures += 1;
            self.note_new(&at, error);
        }
        nulls
    }

    /// Whether the shard declares the Arrow types of its columns. Otherwise, the reader chose them.
    async fn says_arrow_types(&self) -> bool {
        let metadata = &self.shard.metadata;
        let hint = metadata.run(|step| Ok(metadata.hint(step)?.map(|hint| hint.is_some())));
        hint.await.unwrap_or(false)
    }
}

/// Returns a node and all its descendants, each with its path, in the order of the schema.
fn nodes_of(column: &DataType) -> impl Iterator<Item = (&DataType, String)> {
    let mut left = vec![(column, column.name.clone())];
    iter::from_fn(move || {
        let (node, path) = left.pop()?;
        let children = node.children.iter().enumerate().rev();
        left.extend(children.map(|(ordinal, child)| {
            let name = child_name(node, ordinal, child);
            (child, format!("{path}.{name}"))
        }));
        Some((node, path))
    })
}

/// Checks a message of the directory file.
async fn message<M: Message>(shard: &Shard, reference: Option<&DataRef>, name: &str) -> Result<()> {
    let (Some(reference), metadata) = (reference, &shard.metadata) else {
        return Ok(());
    };
    let payload = metadata.run(|step| {
        let payload = step.frame(0, reference).within(|| name.to_owned());
        Ok(Some(ready!(payload)))
    });
    M::decode(&payload.await?, metadata.wire, metadata.artifacts.limits())
        .within(|| name.to_owned())?;
    Ok(())
}

/// The result of checking the buffers of a field.
#[derive(Debug, Clone, Copy, Default)]
struct Checked {
    /// Whether the field's values can be located.
    readable: bool,
    /// Size of the buffers in bytes.
    bytes: u64,
    /// Number of values in the largest block.
    largest_block: u64,
}

impl Checked {
    fn readable(bytes: u64) -> Self {
        Self {
            readable: true,
            bytes,
            largest_block: 0,
        }
    }
}
