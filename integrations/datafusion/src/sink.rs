//! Writes shards for COPY, INSERT and INSERT OVERWRITE.

use crate::error::Context;
use crate::options::TableShardOptions;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_shard::WriterOptions;
use arrow_shard::metadata::SortingColumn;
use arrow_shard::write::AsyncShardWriter;
use async_trait::async_trait;
use datafusion_common::{DataFusionError, Result, not_impl_err};
use datafusion_common_runtime::{JoinSet, SpawnedTask};
use datafusion_datasource::display::FileGroupDisplay;
use datafusion_datasource::file_sink_config::{FileSink, FileSinkConfig};
use datafusion_datasource::sink::DataSink;
use datafusion_datasource::write::demux::DemuxedStreamReceiver;
use datafusion_datasource::write::get_writer_schema;
use datafusion_execution::memory_pool::MemoryConsumer;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_expr::dml::InsertOp;
use datafusion_physical_plan::metrics::{
    ElapsedComputeFutureExt, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion_physical_plan::{DisplayAs, DisplayFormatType};
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;

/// Writes the rows of a plan to shards, one at a time for each partition of the output.
///
/// Shards become visible once the plan has returned all of its rows. If the plan or a shard fails, the sink removes
/// uploaded parts and complete shards. With [`InsertOp::Overwrite`], it removes the old files of the table once all new
/// files are complete: until then, a reader may see both.
#[derive(Debug)]
pub struct ShardSink {
    config: FileSinkConfig,
    options: TableShardOptions,
    sorting_columns: Vec<SortingColumn>,
    metrics: ExecutionPlanMetricsSet,
}

impl ShardSink {
    /// Creates a sink for the files that `config` names.
    pub fn new(config: FileSinkConfig, options: TableShardOptions) -> Self {
        Self {
            config,
            options,
            sorting_columns: Vec::new(),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Sets the columns that the rows are sorted by. The files declare this order, unless the options name another one.
    #[must_use]
    pub fn with_sorting_columns(mut self, columns: Vec<SortingColumn>) -> Self {
        self.sorting_columns = columns;
        self
    }

    /// Returns the columns that the rows are sorted by according to the plan.
    pub fn sorting_columns(&self) -> &[SortingColumn] {
        &self.sorting_columns
    }

    /// Returns the options of the written files.
    pub fn options(&self) -> &TableShardOptions {
        &self.options
    }

    /// Returns the options of a file's writer.
    fn writer_options(&self, partitions: usize) -> Result<WriterOptions> {
        // A statement either asks for an existing file to be replaced, or writes to unique names.
        let options = self
            .options
            .writer_options(partitions)?
            .with_overwrite(true);
        if self.options.sorting_columns.is_some() {
            return Ok(options);
        }
        // Partition columns are not written.
        let schema = get_writer_schema(&self.config);
        let is_written = |column: &&SortingColumn| schema.field_with_name(&column.path).is_ok();
        let columns = self.sorting_columns.iter().take_while(is_written);
        Ok(options.with_sorting_columns(columns.cloned().collect()))
    }

    /// Removes the old files of the table, except for files that were just written under the same name.
    async fn remove_old(&self, store: &Arc<dyn ObjectStore>, new: &HashSet<Path>) -> Result<()> {
        for file in self.config.file_group.iter() {
            let old = &file.object_meta.location;
            if !new.contains(old) {
                match store.delete(old).await {
                    // Another process has removed it, or a retried request of this loop has.
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(error) => {
                        return Err(DataFusionError::from(error).context(format!(
                            "`{old}`, which INSERT OVERWRITE replaces, is still there"
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}

/// A complete file.
struct Written {
    path: Path,
    rows: u64,
    bytes: u64,
}

/// Whether the plan has returned all of its rows; `None` until that is known.
type IsWhole = watch::Receiver<Option<bool>>;

/// Writes a file from its batches; if the plan fails, aborts it and returns `None`.
async fn write_file(
    store: Arc<dyn ObjectStore>,
    path: Path,
    schema: SchemaRef,
    options: WriterOptions,
    mut batches: Receiver<RecordBatch>,
    context: Arc<TaskContext>,
    mut is_whole: IsWhole,
) -> Result<Option<Written>> {
    let place = format!("shard `{path}`");
    let memory = MemoryConsumer::new(format!("ShardSink[{path}]")).register(context.memory_pool());
    let created = AsyncShardWriter::create_object(store, &path, schema, options).await;
    let mut writer = created.context(&place)?;
    while let Some(batch) = batches.recv().await {
        writer.write(&batch).await.context(&place)?;
        if let Err(error) = memory.try_resize(writer.memory_size()) {
            writer.abort().await.context(&place)?;
            return Err(error.context(place));
        }
    }
    // The channel of batches closes when the plan has ended, whether it failed or not.
    let is_whole = is_whole.wait_for(Option::is_some).await;
    if !is_whole.is_ok_and(|is_whole| *is_whole == Some(true)) {
        writer.abort().await.context(&place)?;
        return Ok(None);
    }
    let summary = writer.finish().await.context(&place)?;
    Ok(Some(Written {
        path,
        rows: summary.num_rows(),
        bytes: summary.bytes(),
    }))
}

#[async_trait]
impl FileSink for ShardSink {
    fn config(&self) -> &FileSinkConfig {
        &self.config
    }

    async fn spawn_writer_tasks_and_join(
        &self,
        context: &Arc<TaskContext>,
        demux_task: SpawnedTask<Result<()>>,
        mut file_stream_rx: DemuxedStreamReceiver,
        object_store: Arc<dyn ObjectStore>,
    ) -> Result<u64> {
        let rows = MetricBuilder::new(&self.metrics).global_counter("rows_written");
        let bytes = MetricBuilder::new(&self.metrics).global_counter("bytes_written");
        let elapsed = MetricBuilder::new(&self.metrics).elapsed_compute(0);
        let overwrites = match self.config.insert_op {
            InsertOp::Append => false,
            InsertOp::Overwrite => true,
            InsertOp::Replace => {
                return not_impl_err!("REPLACE INTO a table of shards: their rows have no keys");
            }
        };
        let partitions = context.session_config().target_partitions();
        let options = self.writer_options(partitions)?;
        let schema = get_writer_schema(&self.config);
        let mut tasks = JoinSet::new();
        let (tell, is_whole) = watch::channel(None);
        while let Some((path, batches)) = file_stream_rx.recv().await {
            let written = write_file(
                object_store.clone(),
                path,
                schema.clone(),
                options.clone(),
                batches,
                context.clone(),
                is_whole.clone(),
            );
            tasks.spawn(written.with_elapsed_compute(elapsed.clone()));
        }
        let demuxed = demux_task
            .join_unwind()
            .await
            .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))
            .and_then(|result| result);
        tell.send_replace(Some(demuxed.is_ok()));
        let mut written = Vec::new();
        let mut failed = None;
        while let Some(task) = tasks.join_next().await {
            match task {
                Ok(Ok(file)) => written.extend(file),
                Ok(Err(error)) => failed = failed.or(Some(error)),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => failed = failed.or(Some(DataFusionError::External(error.into()))),
            }
        }
        // If a writer fails, the plan fails too, because its rows have no receiver. So the writer's error comes first.
        if let Some(error) = failed.or(demuxed.err()) {
            let files = futures::stream::iter(written.into_iter().map(|file| Ok(file.path)));
            let removed = object_store.delete_stream(Box::pin(files));
            if let Err(left) = removed.try_collect::<Vec<_>>().await {
                return Err(error.context(format!(
                    "and a shard that was complete is still there: {left}"
                )));
            }
            return Err(error);
        }
        let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        for file in &written {
            rows.add(count(file.rows));
            bytes.add(count(file.bytes));
        }
        if overwrites {
            let new = written.iter().map(|file| file.path.clone()).collect();
            self.remove_old(&object_store, &new).await?;
        }
        Ok(written.iter().map(|file| file.rows).sum())
    }
}

#[async_trait]
impl DataSink for ShardSink {
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn schema(&self) -> &SchemaRef {
        self.config.output_schema()
    }

    async fn write_all(
        &self,
        data: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        FileSink::write_all(self, data, context).await
    }
}

impl DisplayAs for ShardSink {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "ShardSink(file_groups=")?;
                FileGroupDisplay(&self.config.file_group).fmt_as(t, f)?;
                write!(f, ")")
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "format: shard")?;
                write!(f, "file={}", self.config.original_url)
            }
        }
    }
}
