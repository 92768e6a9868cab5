//! Verification of a whole shard: every checksum, every block, every column.

mod columns;
mod data;
mod deleted;
mod report;
mod statistics;
#[cfg(test)]
mod tests;
mod values;

pub use report::{Problem, VerifyProgress, VerifyReport};

use super::ahead::{PREFETCH, in_order};
use super::inspect::child_name;
use crate::buffer::Place;
use crate::column::may_exceed_arrow;
use crate::encoding::Scratch;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{
    DELETED_RECORD, DataRef, DataType, DirectoryTail, Field, FormatVersion, HEADER_LEN,
    IndexCollection, Message, Schema, UrlList,
};
use crate::io::ByteRange;
use crate::read::open_shard::Shard;
use crate::read::shard::column::Column;
use crate::read::shard::columns::InternalFields;
use crate::read::shard::metadata::ready;
use crate::read::shard::projection::Projection;
use crate::read::shard::waiting::{give_way, now};
use crate::read::stripe::Stripe;
use crate::settings::settings;
use report::At;
use statistics::Counts;
use std::iter;
use std::ops::ControlFlow;
use values::Claims;

/// Rows that are assembled at a time.
const BATCH_ROWS: u32 = 8192;
/// Batches of a column of a stripe that may fail before the others are left alone.
const MAX_FAILED_BATCHES: u32 = 64;

/// How a shard is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyOptions {
    threads: usize,
    prefetch: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            prefetch: PREFETCH,
        }
    }
}

settings! {
    VerifyOptions {
        /// Sets the number of threads that check columns: 1 by default, the calling thread. The
        /// report does not depend on it. Without the feature `threads`, there is only one.
        threads, with_threads: usize;
        /// Columns, or files, that asynchronous verification fetches at the same time, at least 1; 8
        /// by default. Memory and requests grow with it, and the report does not depend on it.
        #[cfg(feature = "async")]
        prefetch, with_prefetch: usize;
    }
}

impl Shard {
    /// Verifies the whole shard: headers and footers, every message of the metadata, every checksum
    /// of data and every block. Reads every column, and compares the values of columns and of members
    /// of structs with their metadata: null counts, constants, bounds, membership filters and range
    /// indexes. Metadata are also compared with each other. Continues after a problem, so that the
    /// report has them all, and holds a few megabytes at a time. Calls `progress` for every column of
    /// every stripe.
    ///
    /// Checksums are compared whatever [`ShardOptions`](crate::read::ShardOptions) say, even if they matched
    /// before. If a field has several encodings, the one that scans read is checked. Values of a native
    /// type that are outside the range of the Arrow type are no problem.
    ///
    /// # Errors
    /// Problems of the shard are no errors: they are in the report.
    pub fn verify(&self, mut progress: impl FnMut(VerifyProgress<'_>)) -> Result<VerifyReport> {
        self.verify_with(&VerifyOptions::default(), |done| {
            progress(done);
            ControlFlow::Continue(())
        })
    }

    /// As [`verify`](Self::verify), of a shard behind an asynchronous reader. The report is the same.
    ///
    /// Fetches [`prefetch`](VerifyOptions::prefetch) columns at the same time. Of each it holds a few
    /// megabytes of blocks, or the rows of about
    /// [`fetch_bytes`](crate::read::ShardOptions::fetch_bytes): data are fetched twice, buffer by buffer
    /// and then as a scan reads them. Whatever polls the future decodes: in a poll about 4 MiB of
    /// blocks, or a batch of rows, of each of these columns. It spawns nothing, so that dropping it ends
    /// everything.
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify). Whatever the reader fails with is a problem in the report.
    #[cfg(feature = "async")]
    pub async fn verify_async(
        &self,
        mut progress: impl FnMut(VerifyProgress<'_>),
    ) -> Result<VerifyReport> {
        let progress = |done: VerifyProgress<'_>| {
            progress(done);
            ControlFlow::Continue(())
        };
        self.verify_with_async(&VerifyOptions::default(), progress)
            .await
    }

    /// Like [`verify`](Self::verify), with options. Stops when `progress` breaks: the report then has
    /// what was found so far, and [`is_complete`](VerifyReport::is_complete) is false.
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
    /// let report = shard.verify_with(&VerifyOptions::default().with_threads(4), |_| {
    ///     match Instant::now() < end {
    ///         true => ControlFlow::Continue(()),
    ///         false => ControlFlow::Break(()),
    ///     }
    /// })?;
    /// assert!(report.is_complete && report.is_sound());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify).
    pub fn verify_with(
        &self,
        options: &VerifyOptions,
        progress: impl FnMut(VerifyProgress<'_>) -> ControlFlow<()>,
    ) -> Result<VerifyReport> {
        now(Verifier::new(self).run(options, progress))
    }

    /// As [`verify_with`](Self::verify_with), of a shard behind an asynchronous reader. Starts no
    /// threads; [`verify_async`](Self::verify_async) says what is done at the same time.
    ///
    /// # Errors
    /// Those of [`verify_async`](Self::verify_async).
    #[cfg(feature = "async")]
    pub async fn verify_with_async(
        &self,
        options: &VerifyOptions,
        progress: impl FnMut(VerifyProgress<'_>) -> ControlFlow<()>,
    ) -> Result<VerifyReport> {
        let options = options.clone().with_threads(1);
        Verifier::new(self).run(&options, progress).await
    }
}

/// Checks parts of a shard, and collects what it finds.
struct Verifier<'a> {
    shard: &'a Shard,
    report: VerifyReport,
    scratch: Scratch,
    counts: Counts,
}

impl<'a> Verifier<'a> {
    fn new(shard: &'a Shard) -> Self {
        Self {
            shard,
            report: VerifyReport::default(),
            scratch: Scratch::default(),
            counts: Counts::default(),
        }
    }

    /// Adds what another has found.
    fn absorb(&mut self, other: Self) {
        self.report.absorb(other.report);
        self.counts.absorb(other.counts);
    }

    async fn run(
        mut self,
        options: &VerifyOptions,
        progress: impl FnMut(VerifyProgress<'_>) -> ControlFlow<()>,
    ) -> Result<VerifyReport> {
        self.report.rows = self.shard.num_rows();
        let schema = self.directory().await;
        let stripes = self.shard.stripes_async().await;
        let stripes = self.note(self.root(), stripes);
        if let Some(schema) = schema {
            match stripes {
                Some(stripes) => {
                    let checked = self.stripes(&schema, &stripes, options, progress);
                    if checked.await?.is_break() {
                        return Ok(self.report);
                    }
                }
                None => self.counts.miss(),
            }
            self.shard_fields(&schema, options).await;
        }
        self.files(options).await;
        self.report.is_complete = true;
        Ok(self.report)
    }

    /// The directory file as a place.
    fn root(&self) -> At {
        At::file(self.shard.inner.artifacts.name().to_owned())
    }

    /// A field of a stripe as a place.
    fn at(&self, stripe: &Stripe, path: &str) -> At {
        At {
            stripe: Some(stripe.ordinal()),
            field: Some(path.to_owned()),
            ..self.root()
        }
    }

    /// The value, unless there is an error: that is noted.
    fn note<T>(&mut self, at: At, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.report.add(at, &error);
                None
            }
        }
    }

    /// Notes an error, unless a problem tells of it.
    fn note_new(&mut self, at: &At, error: &Error) {
        let mut known = self.report.problems.iter();
        if !known.any(|problem| problem.message.contains(error.message())) {
            self.report.add(at.clone(), error);
        }
    }

    /// The value of what was checked before. What is wrong with it was noted then, unless the reader
    /// fails only now.
    fn again<T>(&mut self, at: &At, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                if error.kind() == ErrorKind::Io {
                    self.note_new(at, &error);
                }
                None
            }
        }
    }

    /// Checks the messages of the directory; gives the schema if it is sound.
    async fn directory(&mut self) -> Option<Schema> {
        let shard = self.shard;
        let directory = &shard.inner.directory;
        let properties = shard.properties_async().await.map(|_| ());
        self.note(self.root(), properties);
        let urls = message::<UrlList>(shard, directory.url_list_ref.as_ref(), "URL list").await;
        self.note(self.root(), urls);
        let indexes = directory.indexes_ref.as_ref();
        let indexes = message::<IndexCollection>(shard, indexes, "indexes").await;
        self.note(self.root(), indexes);
        let schema = shard.stored_schema().await;
        if schema.is_ok() && shard.inner.has_deleted() {
            let deleted = shard.inner.run(|bench| shard.inner.deleted_column(bench));
            let deleted = deleted.await.map(|_| ());
            self.note(self.root(), deleted);
        }
        self.note(self.root(), schema)
    }

    /// The columns that readers may see, each by itself if there is something wrong with one.
    async fn columns(&mut self, schema: &Schema) -> Vec<Column> {
        let inner = &self.shard.inner;
        let all =
            inner.run(|bench| inner.columns_with(bench, &Projection::All, InternalFields::Shown));
        if let Ok(columns) = all.await {
            return columns;
        }
        let mut columns = Vec::new();
        for i in 0..schema.fields.len() {
            let one = Projection::Indices(vec![i]);
            match inner
                .run(|bench| inner.columns_with(bench, &one, InternalFields::Shown))
                .await
            {
                Ok(column) => columns.extend(column),
                Err(error) if error.kind() == crate::ErrorKind::UnknownColumn => break,
                Err(error) => self.report.add(self.root(), &error),
            }
        }
        columns
    }

    /// Checks the messages of a stripe; false if its fields cannot be found.
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
        let inner = &self.shard.inner;
        let list = inner.run(|bench| inner.field_list(bench, stripe.ordinal()));
        let list = list.await;
        self.note(at, list).is_some()
    }

    /// Checks a column of a stripe: its buffers, and then what they give together.
    async fn column(&mut self, stripe: &Stripe, field: &Field, columns: &[Column]) {
        let node = &field.data_type;
        let sound = self.fields(stripe, node).await;
        let id = node.schema_id;
        if sound.readable && field.internal_kind.as_deref() == Some(DELETED_RECORD) {
            self.deleted(stripe, node).await;
        }
        if sound.readable
            && let Ok(ordinal) = columns.binary_search_by_key(&id, |column| column.node.schema_id)
        {
            let mut claims = self.claims(stripe, &columns[ordinal]).await;
            let assembled = self.assemble(stripe, node, ordinal, sound.stored, &mut claims);
            let nulls = assembled.await;
            self.nulls(stripe, node, nulls).await;
            if nulls.is_some() {
                self.member_nulls(stripe, &claims);
            }
        }
    }

    /// Checks the buffers of a field and of everything below it.
    async fn fields(&mut self, stripe: &Stripe, column: &DataType) -> Checked {
        let mut all = Checked {
            readable: true,
            stored: false,
        };
        for (node, path) in nodes_of(column) {
            self.report.fields += 1;
            let at = self.at(stripe, &path);
            let checked = self.field_data(stripe.ordinal(), node, &at).await;
            all.readable &= checked.readable;
            all.stored |= checked.stored;
        }
        all
    }

    /// Reads a column of a stripe, batch by batch, and holds it against what is said of it; gives
    /// the number of its nulls if all rows were read. What its buffers told is not said again.
    async fn assemble(
        &mut self,
        stripe: &Stripe,
        node: &DataType,
        ordinal: usize,
        stored: bool,
        claims: &mut [Claims],
    ) -> Option<u64> {
        let at = self.at(stripe, &node.name);
        let mut rows = stripe.row_range();
        let first = rows.start;
        if !stored {
            // Rows that are all alike cost the file nothing, so there may be any number of them.
            rows.end = rows.end.min(rows.start + u64::from(BATCH_ROWS));
        }
        let mut nulls = (rows.end == stripe.row_range().end).then_some(0);
        let mut failures = 0;
        while !rows.is_empty() && failures < MAX_FAILED_BATCHES {
            let scan = self
                .shard
                .scan()
                .with_projection([ordinal])
                .with_internal_fields(true)
                .with_deleted_rows(true)
                .with_row_range(rows.clone());
            let planned = scan.with_batch_size(BATCH_ROWS as usize).planned(false);
            let mut reader = match planned.await {
                Ok((reader, _, _)) => reader,
                Err(error) => {
                    self.report.add(at, &error);
                    return None;
                }
            };
            let failed = loop {
                let left = reader.remaining_rows();
                match reader.next_batch().await {
                    None => return nulls,
                    Some(Ok(batch)) => {
                        for column in batch.columns() {
                            nulls = nulls.map(|nulls| nulls + column.logical_null_count() as u64);
                            let first = rows.end - left - first;
                            self.values(stripe, claims, column, first).await;
                        }
                        give_way().await;
                    }
                    Some(Err(error)) => break (rows.end - left, error),
                }
            };
            let (row, error) = failed;
            nulls = None;
            rows.start = row + u64::from(BATCH_ROWS).min(rows.end - row);
            if error.kind() == ErrorKind::ValueOutOfRange && may_exceed_arrow(node) {
                continue;
            }
            failures += 1;
            self.note_new(&at, &error);
        }
        nulls
    }

    /// Checks headers and footers of all files that references have led to.
    async fn files(&mut self, options: &VerifyOptions) {
        let shard = self.shard;
        let artifacts = &shard.inner.artifacts;
        let files = (0..artifacts.count())
            .map(|artifact| async move { (artifact, ends(shard, artifact).await) });
        in_order(files, options.prefetch, |(artifact, ends)| {
            self.report.files += 1;
            self.note(At::file(artifacts.name_of(artifact)), ends);
        })
        .await;
    }
}

/// A node and all below it, each with its path, in the order of the schema.
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
    let (Some(reference), inner) = (reference, &shard.inner) else {
        return Ok(());
    };
    let payload = inner.run(|bench| {
        let payload = bench.frame(0, reference).within(|| name.to_owned());
        Ok(Some(ready!(payload)))
    });
    M::decode(&payload.await?, inner.wire, inner.artifacts.limits()).within(|| name.to_owned())?;
    Ok(())
}

/// Checks header and footer of a file.
async fn ends(shard: &Shard, artifact: u32) -> Result<()> {
    let size = shard.inner.artifacts.size_of(artifact).await?;
    let bytes = async |start: u64, len: u64| {
        let range = ByteRange::with_len(start, len)?;
        shard.bytes_at(Place { artifact, range }).await
    };
    let len = HEADER_LEN as u64;
    FormatVersion::parse(&bytes(0, len).await?, "header")?;
    let footer = size.checked_sub(len);
    let footer = footer.ok_or_else(|| Error::corrupt("the file has no footer"))?;
    FormatVersion::parse(&bytes(footer, len).await?, "footer")?;
    if artifact == 0 {
        let len = size.min(DirectoryTail::LEN as u64);
        let tail = bytes(size - len, len).await?;
        DirectoryTail::locate(&tail, size, shard.inner.artifacts.limits())?;
    }
    Ok(())
}

/// What is known of a field after its buffers were checked.
#[derive(Debug, Clone, Copy)]
struct Checked {
    /// Whether the buffers can be found at all.
    readable: bool,
    /// Whether there are any.
    stored: bool,
}
