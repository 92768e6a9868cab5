//! The file source of shards in DataFusion's `FileScanConfig`.

use crate::metrics::ShardMetrics;
use crate::opener::{ShardOpener, without_dynamic};
use crate::options::TableShardOptions;
use crate::ordering::leading_column;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_datasource::file::FileSource;
use datafusion_datasource::file_scan_config::FileScanConfig;
use datafusion_datasource::file_stream::FileOpener;
use datafusion_datasource::{PartitionedFile, TableSchema};
use datafusion_execution::cache::cache_manager::FileMetadataCache;
use datafusion_physical_expr::projection::ProjectionExprs;
use datafusion_physical_expr::{EquivalenceProperties, PhysicalExpr, conjunction};
use datafusion_physical_expr_adapter::DefaultPhysicalExprAdapterFactory;
use datafusion_physical_expr_common::physical_expr::{fmt_sql, is_volatile};
use datafusion_physical_expr_common::sort_expr::{LexOrdering, PhysicalSortExpr};
use datafusion_physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion_physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use object_store::ObjectStore;
use std::cmp::Ordering;
use std::fmt::{self, Formatter};
use std::sync::Arc;

/// Rows of a batch, unless DataFusion sets the number.
const BATCH_SIZE: usize = 8192;

/// A scan of shards, which evaluates projection, filters, order and limit itself.
///
/// ```
/// # use arrow::datatypes::{DataType, Field, Schema};
/// use arrow_shard_datafusion::ShardSource;
/// use datafusion_datasource::file_scan_config::FileScanConfigBuilder;
/// use datafusion_datasource::source::DataSourceExec;
/// use datafusion_datasource::{PartitionedFile, TableSchema};
/// use datafusion_execution::object_store::ObjectStoreUrl;
/// # use std::sync::Arc;
/// # let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, false)]));
/// let source = Arc::new(ShardSource::new(TableSchema::from_file_schema(schema)));
/// let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), source)
///     .with_file(PartitionedFile::new("tables/flights.shard", 1 << 20))
///     .build();
/// let plan = DataSourceExec::from_data_source(config);
/// ```
#[derive(Clone)]
pub struct ShardSource {
    table_schema: TableSchema,
    options: TableShardOptions,
    projection: ProjectionExprs,
    predicate: Option<Arc<dyn PhysicalExpr>>,
    /// Whether the scan evaluates the predicate; otherwise a filter above the scan does.
    evaluates: bool,
    batch_size: Option<usize>,
    order: Option<LexOrdering>,
    reverse: bool,
    cache: Option<Arc<FileMetadataCache>>,
    metrics: ExecutionPlanMetricsSet,
}

impl fmt::Debug for ShardSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardSource")
            .field("table_schema", &self.table_schema)
            .field("predicate", &self.predicate)
            .field("evaluates", &self.evaluates)
            .field("order", &self.order)
            .field("reverse", &self.reverse)
            .finish_non_exhaustive()
    }
}

impl ShardSource {
    /// Creates a scan of all columns and rows of a table.
    pub fn new(table_schema: impl Into<TableSchema>) -> Self {
        let table_schema = table_schema.into();
        let columns: Vec<usize> = (0..table_schema.table_schema().fields().len()).collect();
        Self {
            projection: ProjectionExprs::from_indices(&columns, table_schema.table_schema()),
            table_schema,
            options: TableShardOptions::default(),
            predicate: None,
            evaluates: true,
            batch_size: None,
            order: None,
            reverse: false,
            cache: None,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Sets the options of the table.
    #[must_use]
    pub fn with_options(mut self, options: TableShardOptions) -> Self {
        self.evaluates = options.pushdown_filters;
        self.options = options;
        self
    }

    /// Returns the options of the table.
    pub fn options(&self) -> &TableShardOptions {
        &self.options
    }

    /// Sets the predicate, on the columns of the table before the projection. The scan returns only rows that match,
    /// or, where [`evaluates`](Self::evaluates) is false, all rows of stripes that may contain a match. Rows that do
    /// not match a part with a dynamic filter may be returned as well.
    #[must_use]
    pub fn with_predicate(mut self, predicate: Arc<dyn PhysicalExpr>) -> Self {
        self.predicate = Some(predicate);
        self
    }

    /// Returns whether the scan omits rows that do not match the predicate, except for its dynamic parts.
    pub fn evaluates(&self) -> bool {
        self.evaluates
    }

    /// Sets whether the scan omits rows that do not match the predicate. For tables, the option
    /// [`pushdown_filters`](TableShardOptions::pushdown_filters) sets this.
    #[must_use]
    pub fn with_evaluates(mut self, evaluates: bool) -> Self {
        self.evaluates = evaluates;
        self
    }

    /// Reads stripes in this order of their bounds. The order of the rows within a stripe stays.
    #[must_use]
    pub fn with_order(mut self, order: Option<LexOrdering>) -> Self {
        self.order = order;
        self
    }

    /// Returns the order in which stripes are read; `None` for the order of the file.
    pub fn order(&self) -> Option<&LexOrdering> {
        self.order.as_ref()
    }

    /// Sets whether stripes are read from the last to the first. The order of the rows within a stripe stays.
    #[must_use]
    pub fn with_reverse(mut self, reverse: bool) -> Self {
        self.reverse = reverse;
        self
    }

    /// Returns whether stripes are read from the last to the first.
    pub fn is_reverse(&self) -> bool {
        self.reverse
    }

    /// Keeps open shards in a cache, such as the runtime's `RuntimeEnv::cache_manager.get_file_metadata_cache()`.
    #[must_use]
    pub fn with_metadata_cache(mut self, cache: Arc<FileMetadataCache>) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Returns the number of rows of a batch, if DataFusion has set it.
    pub fn batch_size(&self) -> Option<usize> {
        self.batch_size
    }
}

impl From<ShardSource> for Arc<dyn FileSource> {
    fn from(source: ShardSource) -> Self {
        Arc::new(source)
    }
}

impl FileSource for ShardSource {
    fn create_file_opener(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let adapter = base_config.expr_adapter_factory.clone();
        // With a limit in the scan, the dynamic filters and orders come from joins and sorts above the limit. These see
        // only the rows that the limit keeps, so their filters must not change which rows the scan returns.
        let is_whole = base_config.limit.is_none();
        let predicate = if is_whole {
            self.predicate.clone()
        } else {
            self.predicate.clone().and_then(without_dynamic)
        };
        Ok(Arc::new(ShardOpener {
            store: object_store,
            cache: self.cache.clone(),
            table_schema: self.table_schema.clone(),
            projection: self.projection.clone(),
            predicate,
            evaluates: self.evaluates,
            prunes: self.options.pruning,
            limit: base_config.limit,
            batch_size: self.batch_size.unwrap_or(BATCH_SIZE),
            order: self.order.clone().filter(|_| is_whole),
            reverse: self.reverse && is_whole,
            adapter: adapter.unwrap_or_else(|| Arc::new(DefaultPhysicalExprAdapterFactory)),
            metrics: ShardMetrics::new(partition, &self.metrics),
        }))
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        let mut source = self.clone();
        source.batch_size = Some(batch_size);
        Arc::new(source)
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.predicate.clone()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "shard"
    }

    fn fmt_extra(&self, t: DisplayFormatType, f: &mut Formatter<'_>) -> fmt::Result {
        if t == DisplayFormatType::TreeRender {
            if let Some(predicate) = &self.predicate {
                writeln!(f, "predicate={}", fmt_sql(predicate.as_ref()))?;
            }
            return Ok(());
        }
        if let Some(predicate) = &self.predicate {
            let name = if self.evaluates {
                "predicate"
            } else {
                "pruning"
            };
            write!(f, ", {name}={predicate}")?;
        }
        if let Some(order) = &self.order {
            write!(f, ", stripes_by=[{order}]")?;
        }
        if self.reverse {
            write!(f, ", stripes_reversed=true")?;
        }
        Ok(())
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let evaluates =
            self.options.pushdown_filters && TableShardOptions::of_config(config).pushdown_filters;
        // A volatile filter returns another answer each time, so only the filter above the scan evaluates it.
        let taken: Vec<bool> = filters.iter().map(|filter| !is_volatile(filter)).collect();
        let answers = taken.iter().map(|&taken| {
            if taken && evaluates {
                PushedDown::Yes
            } else {
                PushedDown::No
            }
        });
        let answers = FilterPushdownPropagation::with_parent_pushdown_result(answers.collect());
        if !taken.contains(&true) {
            return Ok(answers);
        }
        let filters = filters.into_iter().zip(taken);
        let filters = filters.filter_map(|(filter, taken)| taken.then_some(filter));
        let mut source = self.clone();
        let before = source.predicate.take();
        source.predicate = Some(conjunction(before.into_iter().chain(filters)));
        source.evaluates = evaluates;
        Ok(answers.with_updated_node(Arc::new(source) as Arc<dyn FileSource>))
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let mut source = self.clone();
        source.projection = self.projection.try_merge(projection)?;
        Ok(Some(Arc::new(source)))
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        eq_properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        let Some(wanted) = LexOrdering::new(order.iter().cloned()) else {
            return Ok(SortOrderPushdownResult::Unsupported);
        };
        if eq_properties.ordering_satisfy(order.iter().cloned())? {
            return Ok(SortOrderPushdownResult::Exact {
                inner: Arc::new(self.clone()),
            });
        }
        // If rows are already sorted by the first expressions, the sort can stop early. Another order of stripes
        // would prevent that.
        for len in 1..order.len() {
            if eq_properties.ordering_satisfy(order[..len].iter().cloned())? {
                return Ok(SortOrderPushdownResult::Unsupported);
            }
        }
        let mut reversed = eq_properties.clone();
        reversed.clear_orderings();
        let orders = eq_properties.oeq_class().iter();
        reversed.add_orderings(orders.map(|order| {
            let order = order.iter().map(PhysicalSortExpr::reverse);
            order.collect::<Vec<_>>()
        }));
        let is_reverse = reversed.ordering_satisfy(order.iter().cloned())?;
        let has_bounds = leading_column(&wanted).is_some_and(|(column, _)| {
            let schema = self.table_schema.file_schema();
            schema.field_with_name(column.name()).is_ok()
        });
        if !is_reverse && !has_bounds {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let mut source = self.clone();
        source.order = has_bounds.then_some(wanted);
        source.reverse = is_reverse;
        Ok(SortOrderPushdownResult::Inexact {
            inner: Arc::new(source),
        })
    }

    fn reorder_files(&self, mut files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        let Some((column, options)) = self.order.as_ref().and_then(leading_column) else {
            return files;
        };
        let Ok(ordinal) = self.table_schema.table_schema().index_of(column.name()) else {
            return files;
        };
        let bound = |file: &PartitionedFile| -> Option<ScalarValue> {
            let column = file.statistics.as_ref()?;
            let column = column.column_statistics.get(ordinal)?;
            let bound = if options.descending {
                &column.max_value
            } else {
                &column.min_value
            };
            bound.get_value().filter(|value| !value.is_null()).cloned()
        };
        // Files without statistics come last.
        files.sort_by(|a, b| match (bound(a), bound(b)) {
            (Some(a), Some(b)) => {
                let order = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
                if options.descending {
                    order.reverse()
                } else {
                    order
                }
            }
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        files
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion, DataFusionError> {
        let projected = self.projection.iter().map(|projected| &projected.expr);
        datafusion_physical_plan::apply_expression_roots(self.predicate.iter().chain(projected), f)
    }
}
