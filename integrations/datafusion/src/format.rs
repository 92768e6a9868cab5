//! The file format of shards for DataFusion's tables.

use crate::by_name::ByName;
use crate::metadata::{self, OpenShard};
use crate::options::TableShardOptions;
use crate::ordering::{holds_across_files, ordering_of, sorting_columns};
use crate::overlap::without_held;
use crate::sink::ShardSink;
use crate::source::ShardSource;
use crate::statistics::statistics_of;
use crate::widening::{union_of, widened};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow_shard::ops::Unify;
use async_trait::async_trait;
use datafusion_common::parsers::CompressionTypeVariant;
use datafusion_common::{DataFusionError, GetExt, Result, Statistics, config_err};
use datafusion_datasource::TableSchema;
use datafusion_datasource::file::FileSource;
use datafusion_datasource::file_compression_type::FileCompressionType;
use datafusion_datasource::file_format::{FileFormat, FileFormatFactory, FileMeta};
use datafusion_datasource::file_scan_config::{FileScanConfig, FileScanConfigBuilder};
use datafusion_datasource::file_sink_config::FileSinkConfig;
use datafusion_datasource::sink::DataSinkExec;
use datafusion_datasource::source::DataSourceExec;
use datafusion_physical_expr::LexRequirement;
use datafusion_physical_expr_common::sort_expr::LexOrdering;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_session::Session;
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStore};
use std::collections::HashMap;
use std::sync::Arc;

/// The extension of files, without a dot, as in `flights.shard` and `flights.amudai.shard`.
const EXTENSION: &str = "shard";

/// Makes [`ShardFormat`]s for `STORED AS SHARD`.
#[derive(Debug, Clone, Default)]
pub struct ShardFormatFactory {
    options: Option<TableShardOptions>,
}

impl ShardFormatFactory {
    /// Creates a factory of formats with the options of the session.
    pub fn new() -> Self {
        Self { options: None }
    }

    /// Creates a factory of formats with these options, which replace the options of the session.
    pub fn new_with_options(options: TableShardOptions) -> Self {
        Self {
            options: Some(options),
        }
    }

    /// Returns the options of [`new_with_options`](Self::new_with_options).
    pub fn options(&self) -> Option<&TableShardOptions> {
        self.options.as_ref()
    }
}

impl GetExt for ShardFormatFactory {
    fn get_ext(&self) -> String {
        EXTENSION.to_owned()
    }
}

impl FileFormatFactory for ShardFormatFactory {
    fn create(
        &self,
        state: &dyn Session,
        format_options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        let defaults = match &self.options {
            Some(options) => options.clone(),
            None => TableShardOptions::of_config(state.config_options()),
        };
        let options = defaults.of_table(state, format_options)?;
        Ok(Arc::new(ShardFormat::new(options)))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(ShardFormat::new(self.options.clone().unwrap_or_default()))
    }
}

/// Shards as the files of a table.
#[derive(Debug, Clone, Default)]
pub struct ShardFormat {
    options: TableShardOptions,
}

impl ShardFormat {
    /// Creates a format with these options.
    pub fn new(options: TableShardOptions) -> Self {
        Self { options }
    }

    /// Returns the options for reading and writing tables.
    pub fn options(&self) -> &TableShardOptions {
        &self.options
    }

    /// Returns the schema of a table with the merged columns of its shards. It has no metadata, because these belong to
    /// single files. Text and binary columns become views, unless the options say otherwise.
    pub fn table_schema(&self, columns: &Schema) -> SchemaRef {
        let fields = if self.options.schema_force_view_types {
            columns.fields().iter().map(as_view).collect()
        } else {
            columns.fields().clone()
        };
        Arc::new(Schema::new(fields))
    }

    async fn open(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
    ) -> Result<OpenShard> {
        let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
        metadata::open(store, object, Some(cache.as_ref())).await
    }

    /// Opens a shard of a table, with the types of the table if they are widened.
    async fn open_in(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
        table: &SchemaRef,
    ) -> Result<OpenShard> {
        let open = self.open(state, store, object).await?;
        match self.options.unify()? {
            Unify::Widen => open.widened(store, object, table).await,
            _ => Ok(open),
        }
    }
}

#[async_trait]
impl FileFormat for ShardFormat {
    fn get_ext(&self) -> String {
        EXTENSION.to_owned()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        match compression.get_variant() {
            CompressionTypeVariant::UNCOMPRESSED => Ok(self.get_ext()),
            _ => config_err!("shards are not compressed as a whole: choose a profile"),
        }
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let at_once = state.config_options().execution.meta_fetch_concurrency;
        let opening = futures::stream::iter(objects).map(|object| async move {
            let open = self.open(state, store, object).await?;
            Ok::<_, DataFusionError>((&object.location, open.schema))
        });
        let found = opening.boxed().buffer_unordered(at_once.get());
        let mut schemas: Vec<_> = found.try_collect().await?;
        // Files are merged in the order of their names, so the order of columns does not depend on the listing.
        schemas.sort_unstable_by_key(|(location, _)| *location);
        let widens = self.options.unify()? == Unify::Widen;
        let wide = widens.then(|| {
            let files: Vec<&Fields> = schemas.iter().map(|(_, s)| s.fields()).collect();
            union_of(&files)
        });
        let mut merged: Option<Schema> = None;
        for (location, schema) in schemas {
            let schema = match &wide {
                Some(wide) => Arc::new(Schema::new(widened(schema.fields(), wide))),
                None => schema,
            };
            let Some(before) = merged.take() else {
                merged = Some(schema.as_ref().clone());
                continue;
            };
            if before == *schema {
                merged = Some(before);
                continue;
            }
            let both = [
                nullable_where_missing(before.fields(), schema.fields()),
                nullable_where_missing(schema.fields(), before.fields()),
            ];
            let united = Schema::try_merge(both.map(Schema::new)).map_err(|error| {
                DataFusionError::from(error).context(format!(
                    "the columns of shard `{location}` differ from those of other files of the table; name \
                     the columns of the table and their types when it is created, or widen the types with the \
                     option 'format.unify' 'widen'"
                ))
            })?;
            merged = Some(united);
        }
        Ok(self.table_schema(&merged.unwrap_or_else(Schema::empty)))
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        let open = self.open_in(state, store, object, &table_schema).await?;
        statistics_of(&open, &table_schema).await
    }

    async fn infer_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Option<LexOrdering>> {
        let open = self.open_in(state, store, object, &table_schema).await?;
        ordering_of(&open, &table_schema).await
    }

    async fn infer_stats_and_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<FileMeta> {
        let open = self.open_in(state, store, object, &table_schema).await?;
        let statistics = statistics_of(&open, &table_schema).await?;
        let ordering = ordering_of(&open, &table_schema).await?;
        Ok(FileMeta::new(statistics).with_ordering(ordering))
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        conf: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let conf = without_held(state, conf).await?;
        let Some(source) = conf.file_source().downcast_ref::<ShardSource>() else {
            return datafusion_common::internal_err!("a scan of shards has another source");
        };
        let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
        let source = source.clone().with_metadata_cache(cache);
        let mut orders = conf.output_ordering.clone();
        orders.retain(|order| holds_across_files(order, &conf.file_groups));
        let conf = FileScanConfigBuilder::from(conf)
            .with_source(Arc::new(source))
            .with_output_ordering(orders)
            .build();
        Ok(DataSourceExec::from_data_source(conf))
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        _state: &dyn Session,
        conf: FileSinkConfig,
        order_requirements: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut sink = ShardSink::new(conf, self.options.clone());
        if let Some(order) = &order_requirements {
            let order: LexOrdering = order.clone().into();
            sink = sink.with_sorting_columns(sorting_columns(&order));
        }
        let sink = Arc::new(sink);
        Ok(Arc::new(DataSinkExec::new(input, sink, order_requirements)))
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(ShardSource::new(table_schema).with_options(self.options.clone()))
    }
}

/// Returns the fields, made nullable where `others` lacks them: rows of the other files are null there.
fn nullable_where_missing(fields: &Fields, others: &Fields) -> Fields {
    let others = ByName::new(others);
    let fields = fields.iter().map(|field| {
        let Some((_, other)) = others.find(field.name()) else {
            return Arc::new(field.as_ref().clone().with_nullable(true));
        };
        match (field.data_type(), other.data_type()) {
            (DataType::Struct(members), DataType::Struct(others)) => {
                let members = nullable_where_missing(members, others);
                let field = field.as_ref().clone();
                Arc::new(field.with_data_type(DataType::Struct(members)))
            }
            _ => field.clone(),
        }
    });
    fields.collect()
}

/// Returns a column with a text or binary type replaced by its view type.
fn as_view(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        _ => return field.clone(),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

impl From<ShardFormat> for Arc<dyn FileFormat> {
    fn from(format: ShardFormat) -> Self {
        Arc::new(format)
    }
}
