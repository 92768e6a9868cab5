//! Opens one file of a scan, or a range of a file.

use crate::adapt::{Adapter, FileProjection};
use crate::error::{Context, external};
use crate::metadata::{self, OpenShard};
use crate::metrics::ShardMetrics;
use crate::options::TableShardOptions;
use crate::ordering::{leading_column, sort_stripes};
use crate::predicate::{DynamicFilter, FileFilter};
use crate::pruning::stripes_that_may_match;
use crate::sampler::RowCost;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_shard::ops::Unify;
use arrow_shard::read::{ScanBuilder, ScanMetrics, ShardStream};
use datafusion_common::{Result, ScalarValue};
use datafusion_datasource::file_stream::{FileOpenFuture, FileOpener};
use datafusion_datasource::{FileRange, PartitionedFile, TableSchema};
use datafusion_execution::cache::cache_manager::FileMetadataCache;
use datafusion_physical_expr::projection::ProjectionExprs;
use datafusion_physical_expr::{
    DynamicFilterTracking, PhysicalExpr, conjunction_opt, split_conjunction,
};
use datafusion_physical_expr_adapter::rewrite::rewrite_input_file_name_in_projection;
use datafusion_physical_expr_adapter::{PhysicalExprAdapterFactory, replace_columns_with_literals};
use datafusion_physical_expr_common::sort_expr::LexOrdering;
use datafusion_pruning::FilePruner;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use object_store::ObjectStore;
use std::collections::HashMap;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

/// Ranges of a file begin at multiples of this number of rows in a stripe. Blocks end at these rows, so two ranges
/// never decode the same block.
const RANGE_ALIGNMENT: u64 = 65_536;

/// Rows of a batch, unless DataFusion sets the number.
const BATCH_SIZE: usize = 8192;

/// The columns and rows that a scan of a table reads.
#[derive(Clone)]
pub(crate) struct ScanSpec {
    pub(crate) table_schema: TableSchema,
    pub(crate) options: TableShardOptions,
    pub(crate) projection: ProjectionExprs,
    pub(crate) predicate: Option<Arc<dyn PhysicalExpr>>,
    /// Whether the scan evaluates the predicate; otherwise a filter above the scan does.
    pub(crate) evaluates: bool,
    pub(crate) batch_size: Option<usize>,
    /// The order of the stripes by their bounds; `None` for the order of the file.
    pub(crate) order: Option<LexOrdering>,
    /// Whether stripes are read from the last to the first.
    pub(crate) reverse: bool,
    pub(crate) cache: Option<Arc<FileMetadataCache>>,
}

/// Opens the shards of one partition of a scan.
#[derive(Clone)]
pub struct ShardOpener {
    pub(crate) spec: Arc<ScanSpec>,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) limit: Option<usize>,
    pub(crate) adapter: Arc<dyn PhysicalExprAdapterFactory>,
    pub(crate) metrics: ShardMetrics,
}

impl std::fmt::Debug for ShardOpener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardOpener")
            .field("store", &self.store)
            .field("predicate", &self.spec.predicate)
            .finish_non_exhaustive()
    }
}

impl FileOpener for ShardOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let table_schema = &self.spec.table_schema;
        let mut projection = self.spec.projection.clone();
        let mut predicate = self.spec.predicate.clone();
        let output = Arc::new(projection.project_schema(table_schema.table_schema())?);
        let partitions: HashMap<String, ScalarValue> = table_schema
            .table_partition_cols()
            .iter()
            .zip(&file.partition_values)
            .map(|(field, value)| (field.name().clone(), value.clone()))
            .collect();
        if !partitions.is_empty() {
            let replace = |expr| replace_columns_with_literals(expr, &partitions);
            projection = projection.try_map_exprs(replace)?;
            predicate = predicate.map(replace).transpose()?;
        }
        let projection =
            rewrite_input_file_name_in_projection(projection, file.object_meta.location.as_ref())?;
        if let Some(predicate) = &predicate
            && self.is_ruled_out(predicate, &file)?
        {
            self.metrics.files_pruned.add(1);
            return Ok(Box::pin(async { Ok(stream::empty().boxed()) }));
        }
        let place = place_of(&file);
        let batches = self.clone().read(file, projection, predicate, output);
        Ok(Box::pin(async move { batches.await.context(place) }))
    }
}

impl ShardOpener {
    /// Returns whether the statistics that the planner attached to the file rule out all of its rows.
    fn is_ruled_out(
        &self,
        predicate: &Arc<dyn PhysicalExpr>,
        file: &PartitionedFile,
    ) -> Result<bool> {
        let schema = self.spec.table_schema.file_schema();
        let errors = self.metrics.pruning_errors.clone();
        match FilePruner::try_new(predicate.clone(), schema, file, errors) {
            Some(mut pruner) if self.spec.options.pruning => pruner.should_prune(),
            _ => Ok(false),
        }
    }

    /// Opens a file, and returns the batches of its rows, with the schema `output`.
    async fn read(
        self,
        file: PartitionedFile,
        projection: ProjectionExprs,
        predicate: Option<Arc<dyn PhysicalExpr>>,
        output: SchemaRef,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let spec = &self.spec;
        let open = metadata::open(&self.store, &file.object_meta, spec.cache.as_deref()).await?;
        let table = spec.table_schema.file_schema();
        let open = match spec.options.unify()? {
            Unify::Widen => open.widened(&self.store, &file.object_meta, table).await?,
            _ => open,
        };
        let adapter = Adapter::try_new(self.adapter.as_ref(), table, &open.schema)?;
        let read_schema = adapter.read_schema.clone();
        let projected = projection.try_map_exprs(|expr| adapter.rewrite(expr))?;
        let projection = FileProjection::try_new(projected, &read_schema, output)?;
        let row_cost = RowCost::of(&projection.schema);
        let filters = spec.filters(predicate.as_ref(), &adapter, row_cost)?;
        if filters.fixed.matches_none {
            return Ok(stream::empty().boxed());
        }
        let found = open.shard.stripes_async().await.context("stripes")?;
        let stripes: Vec<Range<u64>> = found.iter().map(|stripe| stripe.row_range()).collect();
        let rows = match &file.range {
            Some(range) => rows_of(range, file.object_meta.size, &stripes),
            None => 0..stripes.last().map_or(0, |last| last.end),
        };
        if rows.is_empty() {
            return Ok(stream::empty().boxed());
        }
        let mut scan = open
            .shard
            .scan()
            .with_schema(projection.schema.clone())
            .with_batch_size(spec.batch_size.unwrap_or(BATCH_SIZE))
            .with_row_range(rows.clone());
        if spec.options.pruning {
            let errors = &self.metrics.pruning_errors;
            let asked = &filters.asked;
            let kept = stripes_that_may_match(asked, &read_schema, &open, &stripes, errors).await?;
            if let Some(kept) = kept {
                let asked = rows.end - rows.start;
                let pruned = asked.saturating_sub(kept.intersection(&rows.clone().into()).len());
                self.metrics
                    .rows_pruned
                    .add(usize::try_from(pruned).unwrap_or(usize::MAX));
                scan = scan.with_row_selection(kept);
            }
        }
        if let Some(predicate) = filters.fixed.predicate {
            scan = scan.with_filter(predicate);
        }
        if let Some(dynamic) = filters.dynamic {
            scan = scan.with_dynamic_filter(Arc::new(dynamic));
        }
        let parts = spec.parts(&open, &stripes, rows).await?;
        let (metrics, limit) = (self.metrics, self.limit);
        let batches = match parts {
            None => {
                if let Some(limit) = limit {
                    scan = scan.with_limit(limit as u64);
                }
                start(scan, metrics).await?.boxed()
            }
            Some(parts) => {
                let scans = stream::iter(parts).then(move |rows| {
                    let (scan, metrics) = (scan.clone().with_row_range(rows), metrics.clone());
                    start(scan, metrics)
                });
                let all = scans.try_flatten();
                match limit {
                    Some(limit) => limited(all.boxed(), limit),
                    None => all.boxed(),
                }
            }
        };
        let place = place_of(&file);
        Ok(batches
            .map(move |batch| projection.project(&batch.context(&place)?))
            .boxed())
    }
}

impl ScanSpec {
    /// Returns the filters for a predicate on the columns of the table, on the columns of a file.
    fn filters(
        &self,
        predicate: Option<&Arc<dyn PhysicalExpr>>,
        adapter: &Adapter,
        row_cost: RowCost,
    ) -> Result<Filters> {
        let mut filters = Filters::default();
        let Some(predicate) = predicate else {
            return Ok(filters);
        };
        let parts = split_conjunction(predicate).into_iter().cloned();
        let (dynamic, fixed): (Vec<_>, Vec<_>) = parts.partition(is_dynamic);
        if !fixed.is_empty() {
            let fixed = adapter.rewrite(datafusion_physical_expr::conjunction(fixed))?;
            let filter = FileFilter::try_new(&fixed, &adapter.read_schema)?;
            if self.evaluates {
                filters.asked = filter.functions.clone();
                filters.fixed = filter;
            } else {
                filters.asked = split_conjunction(&fixed).into_iter().cloned().collect();
            }
        }
        if !dynamic.is_empty() && self.evaluates {
            let expr = datafusion_physical_expr::conjunction(dynamic);
            let dynamic = DynamicFilter::new(expr, adapter.clone(), row_cost);
            filters.fixed.matches_none |= dynamic.current()?.matches_none;
            filters.dynamic = Some(dynamic);
        }
        Ok(filters)
    }

    /// Returns the ranges of rows to read one after the other; `None` to read all rows in the order of the file.
    async fn parts(
        &self,
        open: &OpenShard,
        stripes: &[Range<u64>],
        rows: Range<u64>,
    ) -> Result<Option<Vec<Range<u64>>>> {
        if self.order.is_none() && !self.reverse {
            return Ok(None);
        }
        let inside = stripes.iter().enumerate().filter_map(|(i, stripe)| {
            let part = stripe.start.max(rows.start)..stripe.end.min(rows.end);
            (!part.is_empty()).then_some((i, part))
        });
        let mut parts: Vec<(usize, Range<u64>)> = inside.collect();
        if self.reverse {
            parts.reverse();
        }
        if let Some((column, options)) = self.order.as_ref().and_then(leading_column)
            && let Ok(ordinal) = open.schema.index_of(column.name())
        {
            sort_stripes(open, ordinal, options, &mut parts).await?;
        }
        Ok(Some(parts.into_iter().map(|(_, rows)| rows).collect()))
    }
}

/// Conditions that the rows of a file must match.
#[derive(Default)]
struct Filters {
    fixed: FileFilter,
    dynamic: Option<DynamicFilter>,
    /// Filters that DataFusion's pruning checks against statistics of stripes, because the library does not.
    asked: Vec<Arc<dyn PhysicalExpr>>,
}

/// Returns the place of a file in errors.
fn place_of(file: &PartitionedFile) -> String {
    format!("shard `{}`", file.object_meta.location)
}

/// Returns a predicate without the parts that may change while the query runs; `None` if no part remains.
pub(crate) fn without_dynamic(predicate: Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let fixed = split_conjunction(&predicate).into_iter();
    conjunction_opt(fixed.filter(|part| !is_dynamic(part)).cloned())
}

/// Returns whether an expression contains a dynamic filter, which may change while the query runs.
fn is_dynamic(expr: &Arc<dyn PhysicalExpr>) -> bool {
    DynamicFilterTracking::classify(expr).contains_dynamic_filter()
}

/// Returns the rows for a range of bytes: the same share of all rows as the range has of all bytes, rounded down to
/// [`RANGE_ALIGNMENT`]. If ranges cover a file without overlap, each row is in exactly one of them.
fn rows_of(range: &FileRange, size: u64, stripes: &[Range<u64>]) -> Range<u64> {
    let total = stripes.last().map_or(0, |last| last.end);
    let row = |byte: i64| {
        let byte = u64::try_from(byte).unwrap_or(0);
        if byte >= size {
            return total;
        }
        let share = u128::from(total) * u128::from(byte) / u128::from(size.max(1));
        let row = u64::try_from(share).unwrap_or(total);
        let stripe = stripes.iter().find(|stripe| stripe.contains(&row));
        let start = stripe.map_or(0, |stripe| stripe.start);
        row - (row - start) % RANGE_ALIGNMENT
    };
    row(range.start)..row(range.end)
}

/// Returns the first `limit` rows of a stream.
fn limited(
    batches: BoxStream<'static, Result<RecordBatch>>,
    limit: usize,
) -> BoxStream<'static, Result<RecordBatch>> {
    let mut left = limit;
    batches
        .scan((), move |(), batch| {
            let taken = (left > 0).then(|| {
                batch.map(|batch| {
                    let taken = batch.slice(0, batch.num_rows().min(left));
                    left -= taken.num_rows();
                    taken
                })
            });
            std::future::ready(taken)
        })
        .boxed()
}

async fn start(scan: ScanBuilder, metrics: ShardMetrics) -> Result<Measured> {
    let stream = scan.build_stream().await.context("scan")?;
    Ok(Measured {
        stream,
        metrics,
        before: ScanMetrics::default(),
        bytes_before: 0,
    })
}

/// A stream of a scan that reports what it read and skipped to the metrics of the plan.
struct Measured {
    stream: ShardStream,
    metrics: ShardMetrics,
    before: ScanMetrics,
    bytes_before: u64,
}

impl Stream for Measured {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let next = Pin::new(&mut this.stream).poll_next(context);
        let bytes = this.stream.bytes_read();
        this.metrics.add_bytes(bytes - this.bytes_before);
        this.bytes_before = bytes;
        if next.is_ready()
            && let Some(now) = this.stream.metrics()
        {
            this.metrics.add(&this.before, &now);
            this.before = now;
        }
        next.map_err(|error| external(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_range_of_bytes() {
        let shards: [&[u64]; 4] = [&[], &[1], &[200_000, 200_001, 600_000], &[1_000_000]];
        for ends in shards {
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let stripes: Vec<Range<u64>> = starts.zip(ends).map(|(a, &b)| a..b).collect();
            let total = stripes.last().map_or(0, |last: &Range<u64>| last.end);
            for (size, parts) in [(1u64, 1i64), (10, 3), (1000, 7), (1 << 40, 64)] {
                let size_of_part = (i64::try_from(size).unwrap() + parts - 1) / parts;
                let mut next = 0;
                for part in 0..parts {
                    let start = part * size_of_part;
                    let end = (start + size_of_part).min(i64::try_from(size).unwrap());
                    let rows = rows_of(&FileRange { start, end }, size, &stripes);
                    if start >= end {
                        continue;
                    }
                    assert_eq!(rows.start, next, "{stripes:?} {size} {parts}");
                    next = rows.end;
                }
                assert_eq!(next, total, "{stripes:?} {size} {parts}");
            }
        }
    }
}
