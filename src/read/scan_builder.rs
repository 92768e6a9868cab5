//! Scans: rows of a shard, in order, as RecordBatches.

use super::batches::{BatchReader, RowPlan};
use super::filter::predicate::Predicate;
use super::filter::{Conditions, DynamicPredicate, Filter};
use super::offset_limit::OffsetLimit;
use super::reader::{Batches, ShardReader};
use super::scan::opening::stripe_of;
use super::scan::row_selection::{RowSelection, check_rows};
use super::scan::rows::ScanFormat;
use super::scan::take::take;
use super::scan::windows::split;
use super::shard::blob_form::BlobForm;
use super::shard::column::{Column, ProjectedColumns};
use super::shard::columns::InternalFields;
use super::shard::fetch::StepBytes;
use super::shard::metadata::{Metadata, ready};
use super::shard::projection::Projection;
use super::shard::waiting::ready_now_or;
use super::stream::ShardStream;
#[cfg(feature = "threads")]
use super::threads::ThreadedReader;
use crate::buffer::Selection;
use crate::error::{Error, Result};
use crate::settings::check_threads;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Default number of rows per batch.
const DEFAULT_BATCH_SIZE: usize = 8192;

/// Options of a scan: columns, rows, types, batch size. Created by [`Shard::scan`](crate::Shard::scan).
///
/// Methods of the builder return this crate's [`Error`]. The batches of a running scan are
/// `Result<RecordBatch, ArrowError>`; [`Error::from`] turns such an error back into the original `Error`:
///
/// ```no_run
/// # let shard = arrow_shard::Shard::open("flights.amudai.shard")?;
/// use arrow_shard::{Error, ErrorKind};
/// for batch in shard.scan().build()? {
///     match batch.map_err(Error::from) {
///         Ok(batch) => println!("{} rows", batch.num_rows()),
///         Err(error) if error.kind() == ErrorKind::Checksum => println!("damaged: {error}"),
///         Err(error) => return Err(error),
///     }
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ScanBuilder {
    metadata: Arc<Metadata>,
    projection: Projection,
    schema: Option<SchemaRef>,
    rows: Option<Range<u64>>,
    selection: Option<RowSelection>,
    filter: Option<Predicate>,
    dynamic_filter: Option<Arc<dyn DynamicPredicate>>,
    offset: u64,
    limit: Option<u64>,
    batch_size: usize,
    row_number: Option<String>,
    strict_casts: bool,
    deleted_rows: bool,
    internal_fields: InternalFields,
    blobs: BlobForm,
    threads: usize,
    prefetch: usize,
}

impl ScanBuilder {
    pub(in crate::read) fn new(metadata: Arc<Metadata>) -> Self {
        Self {
            metadata,
            projection: Projection::All,
            schema: None,
            rows: None,
            selection: None,
            filter: None,
            dynamic_filter: None,
            offset: 0,
            limit: None,
            batch_size: DEFAULT_BATCH_SIZE,
            row_number: None,
            strict_casts: false,
            deleted_rows: false,
            internal_fields: InternalFields::Hidden,
            blobs: BlobForm::Values,
            threads: 1,
            prefetch: 4,
        }
    }

    /// Reads only these columns; all by default.
    #[must_use]
    pub fn with_projection(mut self, projection: impl Into<Projection>) -> Self {
        self.projection = projection.into();
        self
    }

    /// Reads the columns that the schema names, in its types. Replaces a projection. The types may be:
    ///
    /// * Text and bytes in every layout, and each as the other if the bytes are UTF-8.
    /// * Lists in every layout; some of the members of a struct; dictionaries and runs, or their values.
    /// * Leaves in every other type to which `arrow_cast` can cast them: between numbers, times, decimals and text,
    ///   such as Int64 to Utf8 and back.
    ///
    /// Values are converted as by `arrow_cast`: fractions that an integer or a coarser time cannot hold are cut off,
    /// decimals are rounded, 1e300 becomes infinite as Float32, and a local time keeps its clock reading in a time
    /// zone. Where `arrow_cast` would return null or its arithmetic would wrap around, the scan ends with an error,
    /// after all rows before that one. Values of rows that the scan does not return are not cast.
    /// [`with_strict_casts`](Self::with_strict_casts) refuses casts that change a value.
    ///
    /// If a shard does not record the Arrow types that it was written from, its DateTime, `KustoTimeSpan` and
    /// `KustoDecimal` values become the requested times, durations and decimals, or integers of ticks; a decimal must
    /// then fit exactly.
    #[must_use]
    pub fn with_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Refuses casts that would change a value; by default, casts do what `arrow_cast` does. A cast is accepted if
    /// casting the result back returns the same value, so a type without a cast back is refused. DateTime and
    /// `KustoTimeSpan` are then not rounded to a time unit coarser than their 100 ns either, whether a schema or
    /// [`with_default_time_unit`](super::ShardOptions::with_default_time_unit) names it.
    #[must_use]
    pub fn with_strict_casts(mut self, strict: bool) -> Self {
        self.strict_casts = strict;
        self
    }

    /// Reads only the rows of this range, by number; all by default. Deleted rows have numbers, too.
    #[must_use]
    pub fn with_row_range(mut self, rows: Range<u64>) -> Self {
        self.rows = Some(rows);
        self
    }

    /// Reads only the rows that match the predicate; a second predicate narrows the first. The columns of the predicate
    /// need not be projected. It sees them in the types of [`Shard::schema`](crate::Shard::schema), even if the scan
    /// requests another schema.
    ///
    /// The scan checks statistics and dictionaries first, so that stripes without a match cost almost nothing. Then it
    /// reads the columns of the predicate, and the other columns only where rows match. [`ShardReader::metrics`]
    /// reports how much it could skip.
    ///
    /// ```no_run
    /// # let shard = arrow_shard::Shard::open("flights.amudai.shard")?;
    /// use arrow_shard::read::col;
    /// let late = col("delay").gt(60).and(col("origin").is_in(["OSL", "LIM"]));
    /// for batch in shard.scan().with_projection(["flight"]).with_filter(late).build()? {
    ///     println!("{} late flights", batch?.num_rows());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_filter(mut self, predicate: Predicate) -> Self {
        self.filter = Some(predicate.narrowing(self.filter.take()));
        self
    }

    /// Also skips rows that this predicate rules out; a second call replaces it. The predicate may become narrower
    /// while the scan runs, so the scan may return rows that only an earlier version of it matched. It never returns
    /// rows that [`with_filter`](Self::with_filter) excludes.
    #[must_use]
    pub fn with_dynamic_filter(mut self, predicate: Arc<dyn DynamicPredicate>) -> Self {
        self.dynamic_filter = Some(predicate);
        self
    }

    /// Reads only these rows, by number; a second selection narrows the first.
    #[must_use]
    pub fn with_row_selection(mut self, rows: impl Into<RowSelection>) -> Self {
        let rows: RowSelection = rows.into();
        self.selection = Some(rows.narrowing(self.selection.take()));
        self
    }

    /// Skips this many of the selected and matching rows; 0 by default.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Reads at most this many of the selected and matching rows, counted after the [offset](Self::with_offset); all by
    /// default.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the number of rows per batch; 8,192 by default. A batch is shorter at the end of a stripe, where offsets or
    /// keys of an Arrow type would overflow, and where rows are skipped. The first batch of a scan with a filter or a
    /// selection may be shorter, too.
    #[must_use]
    pub fn with_batch_size(mut self, rows: usize) -> Self {
        self.batch_size = rows;
        self
    }

    /// Adds a last column of this name: the number of each row in the shard, as UInt64.
    #[must_use]
    pub fn with_row_number(mut self, name: impl Into<String>) -> Self {
        self.row_number = Some(name.into());
        self
    }

    /// Also returns deleted rows; by default, they are skipped as by a filter. Row numbers count them either way.
    #[must_use]
    pub fn with_deleted_rows(mut self, deleted_rows: bool) -> Self {
        self.deleted_rows = deleted_rows;
        self
    }

    /// Also reads internal fields, as if they were the last columns of the shard:
    /// [`INGESTION_TIMESTAMP`](crate::metadata::INGESTION_TIMESTAMP) and
    /// [`RECORD_IDENTITY`](crate::metadata::RECORD_IDENTITY), if the shard has them. By default, the scan reads only
    /// internal fields that a projection, a filter or a schema names.
    #[must_use]
    pub fn with_internal_fields(mut self, internal_fields: bool) -> Self {
        self.internal_fields = if internal_fields {
            InternalFields::Shown
        } else {
            InternalFields::Hidden
        };
        self
    }

    /// Also reads internal fields, in types that hold any stored value.
    pub(crate) fn with_stored_internal_fields(mut self) -> Self {
        self.internal_fields = InternalFields::Stored;
        self
    }

    /// Sets the form of all columns of the types Binary, LargeBinary and BinaryView: values (the default), or
    /// descriptions, for which no blob is read. Binary values nested in other columns are always returned as values.
    /// Conditions always test the values.
    #[must_use]
    pub fn with_blobs_as(mut self, form: BlobForm) -> Self {
        self.blobs = form;
        self
    }

    /// Whether the rows of the result are known only after reading values.
    fn is_filtered(&self) -> bool {
        self.filter.is_some() || self.dynamic_filter.is_some() || self.hides_rows()
    }

    /// Whether the scan skips deleted rows.
    fn hides_rows(&self) -> bool {
        self.metadata.has_deleted() && !self.deleted_rows
    }

    /// Decodes on up to this many threads; 1 by default. One of them is the thread that asks for the batches. The
    /// others belong to rayon's pool and work ahead of it, so at most one more thread decodes than the pool has. Up to
    /// twice as many pieces of the rows as threads are in memory. Only [`build`](Self::build) uses the threads: to
    /// decode a stream on several, [`split`](Self::split) the scan. The rows and their order are the same as with one
    /// thread. Batches may begin at other rows if the scan skips rows, or if offsets or keys of an Arrow type would
    /// overflow. Without the feature `threads`, the calling thread does all the work.
    ///
    /// A scan with 0 threads fails with [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when it is built.
    ///
    /// While a thread of the pool waits for a batch, it may work on other tasks of the pool. It must not hold a lock
    /// that such a task may need.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Splits the scan, for several threads or machines, into at most `parts` scans with about equal numbers of rows,
    /// in the order of the rows. The scans meet where stripes begin, and at multiples of 65,536 rows in a stripe.
    ///
    /// # Errors
    /// [`RowOutOfRange`](crate::ErrorKind::RowOutOfRange), or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for an offset or a limit together with a filter or
    /// deleted rows, because the matching rows are not known yet. Also fails if the list of stripes is damaged.
    pub fn split(&self, parts: usize) -> Result<Vec<Self>> {
        ready_now_or("`split_async`", self.split_async(parts))
    }

    /// Splits the scan of a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`split`](Self::split).
    pub async fn split_async(&self, parts: usize) -> Result<Vec<Self>> {
        if self.is_filtered() && (self.offset > 0 || self.limit.is_some()) {
            return Err(Error::invalid(
                "a scan with an offset or a limit cannot be split beside a filter or deleted rows; limit \
                 its parts",
            ));
        }
        let WantedRows {
            rows, selection, ..
        } = self.wanted()?;
        let part = |rows: Range<u64>| {
            let mut part = self.clone();
            part.rows = Some(rows);
            (part.offset, part.limit) = (0, None);
            part.selection = selection.clone().map(RowSelection::from);
            part
        };
        let parts = split(&self.metadata, &rows, parts as u64).await?;
        Ok(parts.into_iter().map(part).collect())
    }

    /// Starts the scan. This reads the schema but no data. With several threads it also reads the stripe list and the
    /// metadata of the first stripe, and the threads start to read rows.
    ///
    /// # Errors
    /// * [`UnknownColumn`](crate::ErrorKind::UnknownColumn), [`AmbiguousColumn`](crate::ErrorKind::AmbiguousColumn) or
    ///   [`RowOutOfRange`](crate::ErrorKind::RowOutOfRange).
    /// * [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) for a schema with types that no value could become, or a
    ///   filter that compares incomparable types.
    /// * [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for row numbers with the name of a column, for 0
    ///   threads or 0 rows per batch, or for a shard behind an asynchronous reader.
    /// * An error of the file if the schema or, with several threads, the list of stripes is damaged.
    pub fn build(self) -> Result<ShardReader> {
        let planned = async {
            self.metadata.artifacts.check_may_wait()?;
            self.plan().await
        };
        let PlannedScan { plan, wanted } = ready_now_or("`ScanBuilder::build_stream`", planned)?;
        let filter = plan.filter.clone();
        Ok(ShardReader {
            schema: plan.format.schema.clone(),
            filter,
            cut: wanted.cut,
            bytes_read: plan.format.bytes_read.clone(),
            batches: match self.threads {
                #[cfg(feature = "threads")]
                2.. => Batches::Threads(ThreadedReader::try_new(plan, wanted.rows, self.threads)?),
                _ => Batches::Inline(plan.read(wanted.rows)),
            },
        })
    }

    /// Plans the scan: its columns, filter and rows.
    async fn plan(&self) -> Result<PlannedScan> {
        if self.batch_size == 0 {
            return Err(Error::invalid("a batch must have at least one row"));
        }
        check_threads(self.threads)?;
        let mut wanted = self.wanted()?;
        let format = self.format(wanted.rows.clone()).await?;
        let metadata = &self.metadata;
        let directory = &metadata.directory;
        if directory.total_record_count == 0
            && (directory.stripe_list_ref.is_some() || directory.stripe_count > 0)
        {
            // Check the stripe list, because no row will lead to it: its stripes may claim rows that the directory
            // denies.
            metadata
                .run(|step| Ok(metadata.stripes(step)?.map(|_| ())))
                .await?;
        }
        let conditions = Conditions {
            predicate: self.filter.clone(),
            dynamic: self.dynamic_filter.clone(),
            hides_deleted: self.hides_rows(),
        };
        let filter = Filter::load(metadata, conditions).await?;
        let selection = wanted.selection.take();
        let is_filtered = filter.may_skip() || selection.is_some();
        let plan = RowPlan {
            format,
            filter: is_filtered.then(|| Arc::new(filter)),
            selection: selection.map(Arc::new),
        };
        Ok(PlannedScan { plan, wanted })
    }

    /// Starts the scan as a stream, for a shard behind an asynchronous reader. This reads the schema and the stripe
    /// list, and the metadata of the first stripe unless the shard fits in one fetch.
    ///
    /// While the caller works on a batch, the stream fetches the bytes of the next rows:
    /// [`with_prefetch`](Self::with_prefetch) windows of about [`fetch_bytes`](super::ShardOptions::with_fetch_bytes)
    /// each. It makes progress only while it is polled, needs no particular runtime, and spawns nothing, so dropping it
    /// ends all its work. Near files, such as local ones, are read when their rows are requested. A poll decodes one
    /// batch, and tests at most 65,536 rows of a near file, or 16 times as many of each fetched piece.
    ///
    /// # Errors
    /// Returns the same errors as [`build`](Self::build).
    pub async fn build_stream(self) -> Result<ShardStream> {
        let PlannedScan { plan, wanted } = self.plan().await?;
        ShardStream::start(plan, wanted.rows, wanted.cut, self.prefetch).await
    }

    /// Whether this is a scan of the shard with these metadata.
    pub(super) fn is_of(&self, metadata: &Arc<Metadata>) -> bool {
        Arc::ptr_eq(&self.metadata, metadata)
    }

    /// Returns a reader of the whole scan on one thread, its offset and limit, and the schema. With `gives_way`, the
    /// reader yields to other tasks while it looks for matching rows.
    pub(super) async fn planned(
        self,
        gives_way: bool,
    ) -> Result<(BatchReader, OffsetLimit, SchemaRef)> {
        let PlannedScan { mut plan, wanted } = self.plan().await?;
        plan.format.gives_way = gives_way;
        let schema = plan.format.schema.clone();
        Ok((plan.read(wanted.rows), wanted.cut, schema))
    }

    /// Fetches this many windows of rows ahead, at least 1; 4 by default. Memory and requests at a time grow with it.
    #[must_use]
    pub fn with_prefetch(mut self, windows: usize) -> Self {
        self.prefetch = windows.max(1);
        self
    }

    /// Returns the rows with the given numbers, in the given order, in the columns and types of the scan, with row
    /// numbers if the scan adds them. A row may be named more than once.
    ///
    /// ```no_run
    /// # let shard = arrow_shard::Shard::open("flights.amudai.shard")?;
    /// # let schema = shard.schema()?;
    /// let rows = shard.scan().with_schema(schema).with_row_number("row").take(&[7, 3, 7])?;
    /// assert_eq!(rows.num_rows(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`build`](Self::build), [`RowOutOfRange`](crate::ErrorKind::RowOutOfRange) for a row
    /// that does not exist or is deleted, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more bytes than
    /// [`Limits::max_batch_bytes`](crate::Limits::max_batch_bytes), or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a scan that selects rows in other ways. Also fails if
    /// the data are damaged.
    pub fn take(self, rows: &[u64]) -> Result<RecordBatch> {
        let taken = async {
            self.metadata.artifacts.check_may_wait()?;
            self.taken(rows).await
        };
        ready_now_or("`take_async`", taken)
    }

    /// Returns the rows with the given numbers, in the given order, for a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`take`](Self::take).
    pub async fn take_async(self, rows: &[u64]) -> Result<RecordBatch> {
        self.taken(rows).await
    }

    async fn taken(&self, rows: &[u64]) -> Result<RecordBatch> {
        check_threads(self.threads)?;
        let is_narrowed = self.rows.is_some()
            || self.selection.is_some()
            || self.filter.is_some()
            || self.dynamic_filter.is_some()
            || self.offset > 0
            || self.limit.is_some();
        if is_narrowed {
            return Err(Error::invalid(
                "rows are taken by number, without a range, selection, filter, offset or limit",
            ));
        }
        let all = 0..self.metadata.directory.total_record_count;
        let format = self.format(all).await?;
        let metadata = &self.metadata;
        let deleted = if self.hides_rows() {
            Some(metadata.run(|step| metadata.deleted_column(step)).await?)
        } else {
            None
        };
        take(&format, rows, deleted).await
    }

    /// Returns the columns that the scan reads, and the format of its batches.
    async fn format(&self, rows: Range<u64>) -> Result<ScanFormat> {
        let columns = self.metadata.run(|step| {
            let columns = self.columns(step)?;
            if !self.metadata.artifacts.are_near() {
                // Request the stripe list in the same round as the schema, or the first field list if the stripes are
                // known. The result is not used here; the step that needs it reports its errors.
                if let Ok(Some(stripes)) = self.metadata.stripes(step)
                    && let Some((stripe, _)) = stripe_of(stripes, rows.start)
                {
                    drop(self.metadata.field_list(step, stripe));
                }
            }
            Ok(columns)
        });
        let (columns, schema) = columns.await?;
        Ok(ScanFormat {
            metadata: self.metadata.clone(),
            columns,
            schema,
            row_number: self.row_number.is_some(),
            batch_size: self.batch_size as u64,
            most_matches: self
                .limit
                .map_or(u64::MAX, |limit| limit.saturating_add(self.offset)),
            rows,
            shared: None,
            bytes_read: Arc::default(),
            gives_way: false,
        })
    }

    /// Returns the rows to read, by number. Offset and limit are applied here unless the scan is filtered; then `cut`
    /// holds them.
    fn wanted(&self) -> Result<WantedRows> {
        let total = self.metadata.directory.total_record_count;
        let rows = self.rows.clone().unwrap_or(0..total);
        let last = self.selection.as_ref().and_then(|s| s.ranges().last());
        for range in std::iter::once(&rows).chain(last) {
            check_rows(range, total, "shard")?;
        }
        let selection = self.selection.clone();
        let selection = selection.map(|selection| selection.into_inner().within(&rows));
        if self.is_filtered() {
            return Ok(WantedRows {
                rows,
                selection,
                cut: OffsetLimit::new(self.offset, self.limit),
            });
        }
        let cut = |start: u64, end: u64| {
            let start = start.saturating_add(self.offset).min(end);
            let end = self
                .limit
                .map_or(end, |limit| start.saturating_add(limit).min(end));
            start..end
        };
        let (rows, selection) = match selection {
            None => (cut(rows.start, rows.end), None),
            Some(selection) => {
                let selection = selection.slice(cut(0, selection.len()));
                let first = selection.ranges().first().map_or(0, |range| range.start);
                (first..selection.end(), Some(selection))
            }
        };
        Ok(WantedRows {
            rows,
            selection,
            cut: OffsetLimit::default(),
        })
    }

    fn columns(&self, step: &StepBytes<'_>) -> Result<Option<ProjectedColumns>> {
        let metadata = &self.metadata;
        let (mut columns, mut schema) = match &self.schema {
            Some(schema) => {
                let strict = self.strict_casts;
                let columns = ready!(metadata.requested_columns(step, schema, strict));
                (columns.into(), schema.clone())
            }
            None => {
                let projected = metadata.projected(step, &self.projection, self.internal_fields);
                let (columns, schema) = ready!(projected);
                if self.strict_casts {
                    (columns.iter().map(Column::strict).collect(), schema)
                } else {
                    (columns, schema)
                }
            }
        };
        if self.blobs != BlobForm::Values {
            let mut own = columns.to_vec();
            self.blobs.apply(&mut own);
            let fields: Vec<Field> = own.iter().map(|column| column.field.clone()).collect();
            schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
            columns = own.into();
        }
        if let Some(name) = &self.row_number {
            if schema.fields().find(name).is_some() {
                return Err(Error::invalid(format!(
                    "row numbers cannot be the column `{name}`, because there is one of that name"
                )));
            }
            let mut fields = schema.fields().to_vec();
            fields.push(Arc::new(Field::new(name, DataType::UInt64, false)));
            schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        }
        Ok(Some((columns, schema)))
    }
}

/// The columns, filter and rows of a scan.
struct PlannedScan {
    plan: RowPlan,
    wanted: WantedRows,
}

/// The rows that a scan reads.
struct WantedRows {
    rows: Range<u64>,
    selection: Option<Selection>,
    cut: OffsetLimit,
}
