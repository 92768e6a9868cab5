//! Verification of a whole shard: every checksum, every block, every column.

mod columns;
mod data;
mod report;
mod statistics;
#[cfg(test)]
mod tests;
mod values;

pub use report::{Problem, VerifyProgress, VerifyReport};

use super::inspect::child_name;
use crate::buffer::Place;
use crate::column::may_exceed_arrow;
use crate::encoding::Scratch;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{
    DataRef, DataType, DirectoryTail, Field, FormatVersion, HEADER_LEN, IndexCollection, Message,
    Schema, UrlList,
};
use crate::io::ByteRange;
use crate::read::open_shard::Shard;
use crate::read::shard::column::Column;
use crate::read::shard::metadata::ready;
use crate::read::shard::projection::Projection;
use crate::read::stripe::Stripe;
use crate::settings::settings;
use report::At;
use statistics::Counts;
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
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self { threads: 1 }
    }
}

settings! {
    VerifyOptions {
        /// Sets the number of threads that check columns: 1 by default, the calling thread. The
        /// report does not depend on it. Without the feature `threads`, there is only one.
        threads, with_threads: usize;
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
        let mut verifier = Verifier::new(self);
        verifier.report.is_complete = verifier.run(options, progress).is_continue();
        Ok(verifier.report)
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

    fn run(
        &mut self,
        options: &VerifyOptions,
        progress: impl FnMut(VerifyProgress<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.report.rows = self.shard.num_rows();
        let schema = self.directory();
        let stripes = self.note(self.root(), self.shard.stripes());
        if let Some(schema) = schema {
            match stripes {
                Some(stripes) => self.stripes(&schema, &stripes, options, progress)?,
                None => self.counts.miss(),
            }
            self.shard_fields(&schema);
        }
        self.files();
        ControlFlow::Continue(())
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

    /// Checks the messages of the directory; gives the schema if it is sound.
    fn directory(&mut self) -> Option<Schema> {
        let shard = self.shard;
        let directory = &shard.inner.directory;
        let properties = shard.properties().map(|_| ());
        self.note(self.root(), properties);
        let urls = self.message::<UrlList>(directory.url_list_ref.as_ref(), "URL list");
        self.note(self.root(), urls);
        let indexes = self.message::<IndexCollection>(directory.indexes_ref.as_ref(), "indexes");
        self.note(self.root(), indexes);
        self.note(self.root(), shard.stored_schema())
    }

    fn message<M: Message>(&self, reference: Option<&DataRef>, name: &str) -> Result<()> {
        let (Some(reference), inner) = (reference, &self.shard.inner) else {
            return Ok(());
        };
        let payload = self.shard.drive(|bench| {
            let payload = bench.frame(0, reference).within(|| name.to_owned());
            Ok(Some(ready!(payload)))
        })?;
        M::decode(&payload, inner.wire, inner.artifacts.limits()).within(|| name.to_owned())?;
        Ok(())
    }

    /// The columns that readers see, each by itself if there is something wrong with one.
    fn columns(&mut self) -> Vec<Column> {
        let (shard, inner) = (self.shard, &self.shard.inner);
        let all = shard.drive(|bench| inner.columns(bench, &Projection::All));
        if let Ok(columns) = all {
            return columns;
        }
        let mut columns = Vec::new();
        let most = shard
            .stored_schema()
            .map_or(0, |schema| schema.fields.len());
        for i in 0..most {
            let one = Projection::Indices(vec![i]);
            match shard.drive(|bench| inner.columns(bench, &one)) {
                Ok(column) => columns.extend(column),
                Err(error) if error.kind() == crate::ErrorKind::UnknownColumn => break,
                Err(error) => self.report.add(self.root(), &error),
            }
        }
        columns
    }

    /// Checks the messages of a stripe; false if its fields cannot be found.
    fn stripe_messages(&mut self, stripe: &Stripe) -> bool {
        let at = At {
            stripe: Some(stripe.ordinal()),
            ..self.root()
        };
        let properties = stripe.properties().map(|_| ());
        self.note(at.clone(), properties);
        let indexes = self.message::<IndexCollection>(stripe.indexes_ref(), "indexes");
        self.note(at.clone(), indexes);
        let inner = &self.shard.inner;
        let list = self
            .shard
            .drive(|bench| inner.field_list(bench, stripe.ordinal()));
        self.note(at, list).is_some()
    }

    /// Checks a column of a stripe: its buffers, and then what they give together.
    fn column(&mut self, stripe: &Stripe, field: &Field, columns: &[Column]) {
        let node = &field.data_type;
        let sound = self.fields(stripe, node, node.name.clone());
        let id = node.schema_id;
        if sound.readable
            && let Ok(ordinal) = columns.binary_search_by_key(&id, |column| column.node.schema_id)
        {
            let mut claims = self.claims(stripe, &columns[ordinal]);
            let nulls = self.assemble(stripe, node, ordinal, sound.stored, &mut claims);
            self.nulls(stripe, node, nulls);
            if nulls.is_some() {
                self.member_nulls(stripe, &claims);
            }
        }
    }

    /// Checks the buffers of a field and of everything below it.
    fn fields(&mut self, stripe: &Stripe, node: &DataType, path: String) -> Checked {
        self.report.fields += 1;
        let at = self.at(stripe, &path);
        let mut checked = self.field_data(stripe.ordinal(), node, &at);
        for (ordinal, child) in node.children.iter().enumerate() {
            let below = format!("{path}.{}", child_name(node, ordinal, child));
            let child = self.fields(stripe, child, below);
            checked.readable &= child.readable;
            checked.stored |= child.stored;
        }
        checked
    }

    /// Reads a column of a stripe, batch by batch, and holds it against what is said of it; gives
    /// the number of its nulls if all rows were read. What its buffers told is not said again.
    fn assemble(
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
                .with_row_range(rows.clone());
            let mut reader = match scan.with_batch_size(BATCH_ROWS as usize).build() {
                Ok(reader) => reader,
                Err(error) => {
                    self.report.add(at, &error);
                    return None;
                }
            };
            let failed = loop {
                let left = reader.remaining_rows();
                match reader.next() {
                    None => return nulls,
                    Some(Ok(batch)) => {
                        for column in batch.columns() {
                            nulls = nulls.map(|nulls| nulls + column.logical_null_count() as u64);
                            self.values(stripe, claims, column, rows.end - left - first);
                        }
                    }
                    Some(Err(error)) => break (rows.end - left, Error::from(error)),
                }
            };
            let (row, error) = failed;
            nulls = None;
            rows.start = row + u64::from(BATCH_ROWS).min(rows.end - row);
            if error.kind() == ErrorKind::ValueOutOfRange && may_exceed_arrow(node) {
                continue;
            }
            failures += 1;
            let known = &self.report.problems;
            if !known
                .iter()
                .any(|problem| problem.message.contains(error.message()))
            {
                self.report.add(at.clone(), &error);
            }
        }
        nulls
    }

    /// Checks headers and footers of all files that references have led to.
    fn files(&mut self) {
        let artifacts = &self.shard.inner.artifacts;
        let count = artifacts.count();
        for artifact in 0..count {
            self.report.files += 1;
            let at = At::file(artifacts.name_of(artifact));
            let ends = self.ends(artifact);
            self.note(at, ends);
        }
    }

    fn ends(&self, artifact: u32) -> Result<()> {
        let size = self.shard.inner.artifacts.size_of(artifact)?;
        let bytes = |start: u64| {
            self.shard.bytes_at(Place {
                artifact,
                range: ByteRange::with_len(start, HEADER_LEN as u64)?,
            })
        };
        FormatVersion::parse(&bytes(0)?, "header")?;
        let footer = size.checked_sub(HEADER_LEN as u64);
        let footer = footer.ok_or_else(|| Error::corrupt("the file has no footer"))?;
        FormatVersion::parse(&bytes(footer)?, "footer")?;
        if artifact == 0 {
            let tail = size.saturating_sub(DirectoryTail::LEN as u64);
            let tail = self.shard.bytes_at(Place {
                artifact,
                range: ByteRange::try_new(tail, size)?,
            })?;
            DirectoryTail::locate(&tail, size, self.shard.inner.artifacts.limits())?;
        }
        Ok(())
    }
}

/// What is known of a field after its buffers were checked.
#[derive(Debug, Clone, Copy)]
struct Checked {
    /// Whether the buffers can be found at all.
    readable: bool,
    /// Whether there are any.
    stored: bool,
}
