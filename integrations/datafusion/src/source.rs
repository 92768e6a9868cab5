//! The file source of shards in DataFusion's `FileScanConfig`.

use crate::metrics::ShardMetrics;
use crate::opener::{ScanSpec, ShardOpener, without_dynamic};
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
    spec: ScanSpec,
    metrics: ExecutionPlanMetricsSet,
}

impl fmt::Debug for ShardSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardSource")
            .field("table_schema", &self.spec.table_schema)
            .field("predicate", &self.spec.predicate)
            .field("evaluates", &self.spec.evaluates)
            .field("order", &self.spec.order)
            .field("reverse", &self.spec.reverse)
            .finish_non_exhaustive()
    }
}

impl ShardSource {
    /// Creates a scan of all columns and rows of a table.
    pub fn new(table_schema: impl Into<TableSchema>) -> Self {
        let table_schema = table_schema.into();
        let columns: Vec<usize> = (0..table_schema.table_schema().fields().len()).collect();
        let spec = ScanSpec {
            projection: ProjectionExprs::from_indices(&columns, table_schema.table_schema()),
            table_schema,
            options: TableShardOptions::default(),
            predicate: None,
            evaluates: true,
            batch_size: None,
            order: None,
            reverse: false,
            cache: None,
        };
        Self {
            spec,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Sets the options of the table.
    #[must_use]
    pub fn with_options(mut self, options: TableShardOptions) -> Self {
        self.spec.evaluates = options.pushdown_filters;
        self.spec.options = options;
        self
    }

    /// Returns the options of the table.
    pub fn options(&self) -> &TableShardOptions {
        &self.spec.options
    }

    /// Sets the predicate, on the columns of the table before the projection. The scan returns only rows that match,
    /// or, where [`evaluates`](Self::evaluates) is false, all rows of stripes that may contain a match. Rows that do
    /// not match a part with a dynamic filter may be returned as well.
    #[must_use]
    pub fn with_predicate(mut self, predicate: Arc<dyn PhysicalExpr>) -> Self {
        self.spec.predicate = Some(predicate);
        self
    }

    /// Returns whether the scan omits rows that do not match the predicate, except for its dynamic parts.
    pub fn evaluates(&self) -> bool {
        self.spec.evaluates
    }

    /// Sets whether the scan omits rows that do not match the predicate. For tables, the option
    /// [`pushdown_filters`](TableShardOptions::pushdown_filters) sets this.
    #[must_use]
    pub fn with_evaluates(mut self, evaluates: bool) -> Self {
        self.spec.evaluates = evaluates;
        self
    }

    /// Reads stripes in this order of their bounds. The order of the rows within a stripe stays.
    #[must_use]
    pub fn with_order(mut self, order: Option<LexOrdering>) -> Self {
        self.spec.order = order;
        self
    }

    /// Returns the order in which stripes are read; `None` for the order of the file.
    pub fn order(&self) -> Option<&LexOrdering> {
        self.spec.order.as_ref()
    }

    /// Sets whether stripes are read from the last to the first. The order of the rows within a stripe stays.
    #[must_use]
    pub fn with_reverse(mut self, reverse: bool) -> Self {
        self.spec.reverse = reverse;
        self
    }

    /// Returns whether stripes are read from the last to the first.
    pub fn is_reverse(&self) -> bool {
        self.spec.reverse
    }

    /// Keeps open shards in a cache, such as the runtime's `RuntimeEnv::cache_manager.get_file_metadata_cache()`.
    #[must_use]
    pub fn with_metadata_cache(mut self, cache: Arc<FileMetadataCache>) -> Self {
        self.spec.cache = Some(cache);
        self
    }

    /// Returns the number of rows of a batch, if DataFusion has set it.
    pub fn batch_size(&self) -> Option<usize> {
        self.spec.batch_size
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
        let mut spec = self.spec.clone();
        if base_config.limit.is_some() {
            // The dynamic filters and orders come from joins and sorts above the limit. These see only the rows that
            // the limit keeps, so their filters must not change which rows the scan returns.
            spec.predicate = spec.predicate.and_then(without_dynamic);
            spec.order = None;
            spec.reverse = false;
        }
        let adapter = base_config.expr_adapter_factory.clone();
        Ok(Arc::new(ShardOpener {
            spec: Arc::new(spec),
            store: object_store,
            limit: base_config.limit,
            adapter: adapter.unwrap_or_else(|| Arc::new(DefaultPhysicalExprAdapterFactory)),
            metrics: ShardMetrics::new(partition, &self.metrics),
        }))
    }

    fn table_schema(&self) -> &TableSchema {
        &self.spec.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        let mut source = self.clone();
        source.spec.batch_size = Some(batch_size);
        Arc::new(source)
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.spec.predicate.clone()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.spec.projection)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "shard"
    }

    fn fmt_extra(&self, t: DisplayFormatType, f: &mut Formatter<'_>) -> fmt::Result {
        if t == DisplayFormatType::TreeRender {
            if let Some(predicate) = &self.spec.predicate {
                writeln!(f, "predicate={}", fmt_sql(predicate.as_ref()))?;
            }
            return Ok(());
        }
        if let Some(predicate) = &self.spec.predicate {
            let name = if self.spec.evaluates {
                "predicate"
            } else {
                "pruning"
            };
            write!(f, ", {name}={predicate}")?;
        }
        if let Some(order) = &self.spec.order {
            write!(f, ", stripes_by=[{order}]")?;
        }
        if self.spec.reverse {
            write!(f, ", stripes_reversed=true")?;
        }
        Ok(())
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let evaluates = self.options().pushdown_filters
            && TableShardOptions::of_config(config).pushdown_filters;
        // A volatile filter returns another answer each time, so only the filter above the scan evaluates it.
        let taken: Vec<bool> = filters.iter().map(|filter| !is_volatile(filter)).collect();
        let answer = |&taken: &bool| {
            if taken && evaluates {
                PushedDown::Yes
            } else {
                PushedDown::No
            }
        };
        let answers = FilterPushdownPropagation::with_parent_pushdown_result(
            taken.iter().map(answer).collect(),
        );
        if !taken.contains(&true) {
            return Ok(answers);
        }
        let taken_filters = filters
            .into_iter()
            .zip(taken)
            .filter_map(|(filter, taken)| taken.then_some(filter));
        let mut source = self.clone();
        let before = source.spec.predicate.take();
        source.spec.predicate = Some(conjunction(before.into_iter().chain(taken_filters)));
        source.spec.evaluates = evaluates;
        Ok(answers.with_updated_node(Arc::new(source) as Arc<dyn FileSource>))
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let mut source = self.clone();
        source.spec.projection = self.spec.projection.try_merge(projection)?;
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
            let schema = self.spec.table_schema.file_schema();
            schema.field_with_name(column.name()).is_ok()
        });
        if !is_reverse && !has_bounds {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let mut source = self.clone();
        source.spec.order = has_bounds.then_some(wanted);
        source.spec.reverse = is_reverse;
        Ok(SortOrderPushdownResult::Inexact {
            inner: Arc::new(source),
        })
    }

    fn reorder_files(&self, mut files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        let Some((column, options)) = self.spec.order.as_ref().and_then(leading_column) else {
            return files;
        };
        let table = self.table_schema().table_schema();
        let Ok(ordinal) = table.index_of(column.name()) else {
            return files;
        };
        let bound = |file: &PartitionedFile| -> Option<ScalarValue> {
            let statistics = file.statistics.as_ref()?;
            let column = statistics.column_statistics.get(ordinal)?;
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
        let projected = self.spec.projection.iter().map(|projected| &projected.expr);
        let roots = self.spec.predicate.iter().chain(projected);
        datafusion_physical_plan::apply_expression_roots(roots, f)
    }
}
