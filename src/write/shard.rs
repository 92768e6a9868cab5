//! The synchronous writer of shards.

use super::batch::growth::growth;
use super::batch::order::check_order;
use super::batch::types::check_batch;
use super::choose::candidate::FieldCandidates;
use super::field::plan::FieldPlan;
use super::internal_values::now;
use super::layout::directory::{StripeRecord, StripesMetadata};
use super::layout::positioned_sink::PositionedSink;
use super::layout::stripe::{EncodedStripe, FullStripe, NodeChunk, StripeBuilder, write_stripe};
use super::layout::stripe_files::StripeFiles;
use super::layout::workers::Workers;
use super::options::{Layout, WriterOptions};
use super::schema::{
    check_column_names, check_sorting_columns, field_plans, path_below, shard_schema, stored_schema,
};
use super::shard_columns::ShardColumns;
use super::shard_properties::shard_properties;
use super::summary::ShardSummary;
use crate::arrow::batch_bytes;
use crate::column::{encode_arrow_schema, shred};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{DataType, NameValuePair, Schema, ShardProperties, WINDOW_ROWS, WriterInfo};
use crate::io::{Sink, SinkFactory, check_output_name};
use crate::limits::Limits;
use crate::sorting::OrderCheck;
use arrow_array::{RecordBatch, RecordBatchWriter};
use arrow_schema::{ArrowError, SchemaRef};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Writes RecordBatches to a shard.
///
/// The shard is valid once [`finish`](Self::finish) has returned. A writer that is dropped earlier leaves no file; its
/// threads end after their current encoding job. After a refused batch (see [`write`](Self::write)) the writer stays
/// usable; after any other error, every further call returns [`Poisoned`](ErrorKind::Poisoned).
///
/// ```
/// # use arrow_shard::{Shard, write::{ShardWriter, WriterOptions}};
/// # use arrow_array::{record_batch, RecordBatchReader};
/// let batch = record_batch!(("id", Int32, [1, 2, 3]), ("name", Utf8, ["a", "b", "c"]))?;
/// let mut file = Vec::new();
/// let mut writer = ShardWriter::try_new(&mut file, batch.schema(), WriterOptions::default())?;
/// writer.write(&batch)?;
/// let summary = writer.finish()?;
/// assert_eq!((summary.num_rows(), summary.num_stripes()), (3, 1));
/// # let shard = Shard::from_bytes(file.into())?;
/// # assert_eq!(shard.scan().build()?.next().unwrap()?, batch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ShardWriter<S: Sink> {
    schema: SchemaRef,
    columns: ShardColumns,
    shard_schema: Schema,
    arrow_schema: Vec<u8>,
    plans: Vec<Arc<FieldPlan>>,
    options: WriterOptions,
    sink: S,
    /// Bytes written to `sink`.
    position: u64,
    stripe_files: Option<StripeFiles>,
    stripe: StripeBuilder,
    /// The previous stripe, which threads may still be encoding.
    full: Option<FullStripe>,
    stripes: StripesMetadata,
    /// Most stripes that readers accept.
    most_stripes: usize,
    workers: Workers,
    /// Checks the declared order, if the options request it.
    order: Option<OrderCheck>,
    poisoned: bool,
}

/// The metadata of written stripes that stay in memory take at most `1 / METADATA_SHARE` of the memory limit.
const METADATA_SHARE: u64 = 8;
/// Rows that are shredded together may grow by at most `1 / GROWTH_SHARE` of the memory limit.
const GROWTH_SHARE: u64 = 8;

/// Returns the name of a stripe for errors.
fn format_stripe(ordinal: usize) -> impl FnOnce() -> String {
    move || format!("stripe {ordinal}")
}

impl ShardWriter<Box<dyn Sink>> {
    /// Writes a shard with files that `factory` creates: the directory file `name` and, for [`Layout::TwoLevel`], one
    /// file per stripe.
    ///
    /// # Errors
    /// Returns the errors of the factory, and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the name is
    /// reserved for stripe files or temporary files. Fails if the schema or the options cannot be used.
    pub fn create_in(
        mut factory: Box<dyn SinkFactory>,
        name: &str,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        check_output_name(name).within(|| format!("file `{name}`"))?;
        let sink = factory.create(name)?;
        let factory = (options.layout() == Layout::TwoLevel).then_some(factory);
        Self::build(sink, factory, schema, options)
    }
}

impl<S: Sink> ShardWriter<S> {
    /// Writes a single-file shard to `sink`.
    ///
    /// # Errors
    /// Fails if the schema or the options cannot be used. [`Layout::TwoLevel`] needs a place for the stripe files: use
    /// [`create_with`](ShardWriter::create_with) or [`create_in`](ShardWriter::create_in).
    pub fn try_new(sink: S, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        if options.layout() == Layout::TwoLevel {
            return Err(Error::invalid(
                "Layout::TwoLevel needs a place for the stripe files: use \
                 ShardWriter::create_with or ShardWriter::create_in",
            ));
        }
        Self::build(sink, None, schema, options)
    }

    pub(super) fn build(
        sink: S,
        factory: Option<Box<dyn SinkFactory>>,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        options.validate()?;
        check_column_names(&options, &schema)?;
        let columns = ShardColumns::try_new(&schema, &options)?;
        check_sorting_columns(&options, &columns.visible)?;
        let shard_schema = shard_schema(&columns, &options)?;
        let plans = field_plans(&columns, &shard_schema, &options)?;
        let stripes = StripesMetadata::new(options.wire(), plans.len());
        let workers = Workers::try_new(options.threads())?;
        let order = options
            .sorting_columns_checked()
            .then(|| OrderCheck::try_new(options.sorting_columns(), schema.fields()))
            .transpose()?;
        Ok(Self {
            arrow_schema: encode_arrow_schema(&columns.visible)?,
            stripe: StripeBuilder::new(&plans),
            stripe_files: factory.map(StripeFiles::new),
            schema,
            columns,
            shard_schema,
            plans,
            options,
            sink,
            position: 0,
            full: None,
            stripes,
            most_stripes: usize::try_from(Limits::default().max_stripes()).unwrap_or(usize::MAX),
            workers,
            order,
            poisoned: false,
        })
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the approximate memory size in bytes: stripes that are not written yet, metadata, and
    /// data of earlier stripes that the writer keeps for the next one.
    pub fn memory_size(&self) -> usize {
        let files = self.stripe_files.as_ref();
        let files = files.map_or(0, StripeFiles::memory_size);
        self.staged_size() + self.stripes.memory_size() + files
    }

    /// Returns the bytes of stripes that are not written yet, and of data kept for the next stripe.
    fn staged_size(&self) -> usize {
        let kept = self.plans.first().map_or(0, |plan| plan.pool.memory_size());
        let full = self.full.as_ref().map_or(0, FullStripe::memory_size);
        self.stripe.memory_size() + full + kept
    }

    /// Returns the bytes written so far to all files. With several threads, a stripe may be written only after the
    /// caller has appended rows of the next one.
    pub fn bytes_written(&self) -> u64 {
        self.position + self.stripe_files.as_ref().map_or(0, StripeFiles::bytes)
    }

    /// Returns the number of rows that are not written yet.
    pub fn in_progress_rows(&self) -> u64 {
        self.stripe.rows() + self.full.as_ref().map_or(0, FullStripe::rows)
    }

    /// Appends the rows of a batch. Its columns must have the names and the types of the schema, in the same order, and
    /// those that the schema declares without nulls must have none. The metadata of the batch are ignored.
    ///
    /// # Errors
    /// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch) if the batch does not match the schema. With
    /// [`with_sorting_columns_checked`](WriterOptions::with_sorting_columns_checked), returns
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the rows break the declared order. After these errors the
    /// writer stays usable.
    ///
    /// Returns [`ValueOutOfRange`](ErrorKind::ValueOutOfRange) for values that cannot be stored,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) for more stripes than readers accept, or the error of the sink; all
    /// may concern rows of an earlier call. After these errors the writer is unusable.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_poisoned()?;
        self.check_rows(batch)?;
        self.write_some(batch, 0..batch.num_rows())
    }

    /// Refuses a batch that does not match the schema or breaks the declared order.
    pub(super) fn check_rows(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch)?;
        let first = self.stripes.rows() + self.in_progress_rows();
        match &mut self.order {
            Some(order) => check_order(order, batch, first),
            None => Ok(()),
        }
    }

    /// Appends a range of rows of a batch that has been checked.
    pub(super) fn write_some(&mut self, batch: &RecordBatch, some: Range<usize>) -> Result<()> {
        self.or_poison(|writer| writer.write_rows(batch, some))
    }

    /// Runs `work`. If it fails, all later calls fail too, because rows may be missing.
    fn or_poison<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.check_poisoned()?;
        self.poisoned = true;
        let done = work(self);
        self.poisoned = done.is_err();
        done
    }

    fn write_rows(&mut self, batch: &RecordBatch, some: Range<usize>) -> Result<()> {
        let rows = batch.num_rows();
        let (bytes, growth) = (batch_bytes(batch), growth(batch));
        let mut at = some.start;
        while at < some.end {
            let in_stripe = self.stripe.rows();
            let room = (self.options.stripe_rows() - in_stripe)
                .min(WINDOW_ROWS as u64 - in_stripe % WINDOW_ROWS as u64);
            let mut len = usize::try_from(room)
                .unwrap_or(usize::MAX)
                .min(some.end - at);
            if growth > self.most_growth() {
                len = self.rows_at_once(batch, at, len);
            }
            let mut chunks = self.shred(batch, at, len)?;
            while self.would_overflow(&chunks)? {
                if self.stripe.rows() > 0 {
                    self.end_stripe(false)?;
                } else if len > 1 {
                    len /= 2;
                    chunks = self.shred(batch, at, len)?;
                } else {
                    break;
                }
            }
            if self.stripe.rows() == 0 {
                self.check_stripes()?;
            }
            let part = |whole: u64| share_of(whole, len, rows);
            let (bytes, memory) = (part(bytes), part(bytes.saturating_add(growth)));
            let place = format_stripe(self.next_stripe());
            self.stripe
                .push(len as u64, bytes, memory, chunks, &self.workers)
                .within(place)?;
            at += len;
            let limit = self.options.memory_limit();
            let full = self.stripe.rows() >= self.options.stripe_rows()
                || self.stripe.bytes() >= self.options.stripe_bytes()
                || self.stripe.memory_size() as u64 >= limit;
            if full {
                self.end_stripe(false)?;
            }
            let is_due =
                |full: &FullStripe| full.is_encoded() || self.staged_size() as u64 >= limit;
            if self.full.as_ref().is_some_and(is_due) {
                self.place_full_stripe()?;
            }
        }
        Ok(())
    }

    /// Returns the most bytes that rows may grow by when they are shredded together.
    fn most_growth(&self) -> u64 {
        self.options.memory_limit() / GROWTH_SHARE
    }

    /// Returns the number of rows, of `len` from `at` on, to shred together.
    fn rows_at_once(&self, batch: &RecordBatch, at: usize, mut len: usize) -> usize {
        while len > 1 && growth(&batch.slice(at, len)) > self.most_growth() {
            len /= 2;
        }
        len
    }

    /// Refuses to begin a stripe if the shard already has as many as readers accept.
    fn check_stripes(&self) -> Result<()> {
        if self.next_stripe() < self.most_stripes {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::LimitExceeded,
            format!(
                "the shard has {} stripes, and readers take no more; raise stripe_rows, stripe_bytes \
                 or memory_limit, or write another shard",
                self.most_stripes
            ),
        ))
    }

    /// Returns whether these rows must go into a new stripe.
    fn would_overflow(&mut self, chunks: &[NodeChunk]) -> Result<bool> {
        let place = format_stripe(self.next_stripe());
        let overflows = self.stripe.would_overflow(chunks, &self.workers);
        overflows.within(place)
    }

    fn shred(&self, batch: &RecordBatch, at: usize, len: usize) -> Result<Vec<NodeChunk>> {
        let first = self.stripes.rows() + self.in_progress_rows();
        let columns = self.columns.values(batch, at, len, first);
        let mut chunks = Vec::new();
        for (column, node) in columns.zip(&self.shard_schema.fields) {
            let (field, slice) = column?;
            shred(field, &slice, &node.data_type, &mut |id, chunk| {
                chunks.push((id, chunk));
                Ok(())
            })
            .within(|| format!("rows {at}..{} of the batch", at + len))
            .within(|| format!("column `{}`", field.name()))?;
        }
        Ok(chunks)
    }

    /// Returns the ordinal of the stripe that the next rows go to.
    fn next_stripe(&self) -> usize {
        self.stripes.len() + usize::from(self.full.is_some())
    }

    /// Ends the current stripe, if it has rows, and writes it.
    ///
    /// # Errors
    /// Returns the errors of [`write`](Self::write) that concern earlier rows; the writer is then unusable.
    pub fn flush_stripe(&mut self) -> Result<()> {
        self.or_poison(|writer| writer.write_stripes(false))
    }

    fn check_poisoned(&self) -> Result<()> {
        if self.poisoned {
            return Err(Error::new(
                ErrorKind::Poisoned,
                "an earlier write failed; drop the writer and start again",
            ));
        }
        Ok(())
    }

    /// Ends the current stripe, if it has rows. The next stripe can begin while threads encode the staged values of
    /// this one, unless this is the last.
    fn end_stripe(&mut self, is_last: bool) -> Result<()> {
        if self.stripe.rows() == 0 {
            return Ok(());
        }
        let next = if is_last {
            StripeBuilder::new(&[])
        } else {
            self.stripe.next(&self.plans)
        };
        let stripe = std::mem::replace(&mut self.stripe, next);
        let place = format_stripe(self.next_stripe());
        let full = stripe.finish(&self.workers).within(place)?;
        self.place_full_stripe()?;
        self.full = Some(full);
        Ok(())
    }

    /// Writes the previous stripe, if it is not written yet.
    fn place_full_stripe(&mut self) -> Result<()> {
        let Some(full) = self.full.take() else {
            return Ok(());
        };
        let place = format_stripe(self.stripes.len());
        let placed = full.encoded().and_then(|stripe| {
            let mut record = self.place_stripe(stripe)?;
            let properties = self.options.stripe_properties().to_vec();
            record.properties.custom_properties = properties;
            self.stripes.push(record)
        });
        placed.within(place)?;
        // In a two-level shard, this file holds only metadata, so they need not wait for more data.
        let most = self.options.memory_limit() / METADATA_SHARE;
        if self.stripe_files.is_some() || self.stripes.kept_bytes() as u64 > most {
            let mut out = PositionedSink::new(&mut self.sink, &mut self.position);
            out.begin()?;
            self.stripes.place(&mut out)?;
        }
        Ok(())
    }

    /// Ends and writes the current stripe, after the previous one.
    fn write_stripes(&mut self, is_last: bool) -> Result<()> {
        self.end_stripe(is_last)?;
        self.place_full_stripe()
    }

    /// Returns the candidate encodings of the staged values, by field.
    pub(super) fn into_candidates(self) -> Result<Vec<FieldCandidates>> {
        let mut paths = Vec::new();
        for field in &self.shard_schema.fields {
            push_paths(&field.data_type, "", &mut paths);
        }
        let candidates = self.stripe.into_candidates(&self.workers)?;
        let found = paths.into_iter().filter_map(|(id, path)| {
            let candidates = candidates.get(id as usize)?;
            let found = FieldCandidates::new(path, candidates.clone());
            (!candidates.is_empty()).then_some(found)
        });
        Ok(found.collect())
    }

    fn place_stripe(&mut self, stripe: EncodedStripe) -> Result<StripeRecord> {
        let properties = self.column_properties();
        let capabilities = &self.options.wire().capabilities();
        let Some(files) = &mut self.stripe_files else {
            let mut out = PositionedSink::new(&mut self.sink, &mut self.position);
            out.begin()?;
            return write_stripe(stripe, String::new(), &mut out, properties, capabilities);
        };
        files.write(|url, out| write_stripe(stripe, url, out, properties, capabilities))
    }

    /// Returns the user's properties of each column, with the schema id of the column.
    fn column_properties(&self) -> Vec<(usize, Vec<NameValuePair>)> {
        let columns = self.columns.columns.iter();
        columns
            .zip(&self.shard_schema.fields)
            .filter_map(|(column, field)| {
                let options = self.options.columns().get(column.field.name())?;
                let properties = options.properties().to_vec();
                Some((field.data_type.schema_id as usize, properties))
            })
            .collect()
    }

    /// Writes the remaining rows and completes the shard.
    ///
    /// # Errors
    /// Returns the errors of [`write`](Self::write) that concern earlier rows; no shard exists then.
    pub fn finish(self) -> Result<ShardSummary> {
        Ok(self.finish_into()?.1)
    }

    /// Writes the remaining rows, completes the shard and returns the sink.
    /// [`AsyncShardWriter`](super::AsyncShardWriter) has no such method: the sinks of a store are of no use after their
    /// commit.
    ///
    /// # Errors
    /// Returns the errors of [`finish`](Self::finish).
    pub fn finish_into(mut self) -> Result<(S, ShardSummary)> {
        self.check_poisoned()?;
        self.write_stripes(true)?;
        let stripes = self.stripes.len() as u64;
        let creation_time = self.options.creation_time().unwrap_or_else(now);
        let properties = ShardProperties {
            creation_min: Some(creation_time),
            creation_max: Some(creation_time),
            standard_properties: Vec::new(),
            custom_properties: shard_properties(
                &self.arrow_schema,
                self.options.sorting_columns(),
                &[WriterInfo::this(Some(format!(
                    "{:?}",
                    self.options.profile()
                )))],
                self.options.properties(),
            ),
        };
        let capabilities = self.options.wire().capabilities();
        let schema = stored_schema(std::mem::take(&mut self.shard_schema), &capabilities);
        let mut out = PositionedSink::new(&mut self.sink, &mut self.position);
        out.begin()?;
        self.stripes
            .finish(&mut out, &schema, &properties)
            .within(|| "shard directory".to_owned())?;
        self.commit()?;
        let summary = ShardSummary {
            rows: self.stripes.rows(),
            stripes,
            bytes: self.bytes_written(),
            stripe_files: self.stripes.into_urls(),
        };
        Ok((self.sink, summary))
    }

    /// Makes all files visible, the directory file last. If that fails, none stay.
    fn commit(&mut self) -> Result<()> {
        #[cfg(not(target_family = "wasm"))]
        let _together = crate::io::commit_together();
        let stripes = self
            .stripe_files
            .as_mut()
            .map_or(Ok(()), StripeFiles::commit);
        let done = stripes.and_then(|()| self.sink.commit());
        if done.is_err()
            && let Some(files) = &mut self.stripe_files
        {
            files.withdraw();
        }
        done
    }
}

/// Returns the share of `whole` that belongs to `len` of `rows` rows.
fn share_of(whole: u64, len: usize, rows: usize) -> u64 {
    let part = u128::from(whole) * len as u128 / rows as u128;
    u64::try_from(part).unwrap_or(u64::MAX)
}

impl<S: Sink> fmt::Debug for ShardWriter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardWriter")
            .field("schema", &self.schema)
            .field("options", &self.options)
            .field("stripes", &self.stripes.len())
            .field("in_progress_rows", &self.in_progress_rows())
            .field("bytes_written", &self.bytes_written())
            .field("poisoned", &self.poisoned)
            .finish_non_exhaustive()
    }
}

/// The trait's methods return [`ArrowError::ExternalError`]s that hold errors of this crate.
impl<S: Sink> RecordBatchWriter for ShardWriter<S> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        Ok(Self::write(self, batch)?)
    }

    /// Finishes the shard.
    fn close(self) -> Result<(), ArrowError> {
        self.finish()?;
        Ok(())
    }
}

/// Appends the schema ids and paths of a node and of all nodes below it.
fn push_paths(node: &DataType, above: &str, paths: &mut Vec<(u32, String)>) {
    let path = path_below(above, &node.name);
    for child in &node.children {
        push_paths(child, &path, paths);
    }
    paths.push((node.schema_id, path));
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, Int32Array};
    use std::sync::Arc;

    #[test]
    fn a_batch_whose_dictionary_is_too_large_goes_into_several_stripes() {
        let texts = (0..10).map(|i| format!("{i}").repeat(100));
        let column: DictionaryArray<Int32Type> = texts
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect();
        let column = Arc::new(column) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let options = WriterOptions::default();
        let mut file = Vec::new();
        let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
        // An offset and a sorted id take 12 bytes.
        Arc::make_mut(&mut writer.plans[0]).most_dictionary_bytes = 3 * (100 + 12);
        writer.stripe = StripeBuilder::new(&writer.plans);
        writer.write(&batch).unwrap();
        // Two stripes of 2 rows (10 and 8 rows do not fit and are halved until they do), then two of 3 rows.
        assert_eq!(writer.finish().unwrap().num_stripes(), 4);
        let shard = crate::Shard::from_bytes(file.into()).unwrap();
        let read: Vec<_> = shard.scan().build().unwrap().map(|b| b.unwrap()).collect();
        let read = arrow_select::concat::concat_batches(&batch.schema(), &read).unwrap();
        assert_eq!(read, batch);
    }

    #[test]
    fn a_stripe_that_readers_would_not_take_is_refused_when_its_rows_come() {
        let column = Arc::new(Int32Array::from_iter_values(0..10)) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let options = WriterOptions::default().with_stripe_rows(5);
        let mut file = Vec::new();
        let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
        writer.most_stripes = 2;
        writer.write(&batch).unwrap();
        let error = writer.write(&batch.slice(0, 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(error.message().contains("2 stripes"), "{error}");
    }
}
