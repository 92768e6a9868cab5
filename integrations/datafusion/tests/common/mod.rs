//! Helpers of the test programs: files of either format, sessions, and answers as text.

#![allow(dead_code, reason = "every test program uses a part")]

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_shard::metadata::SortingColumn;
use arrow_shard::ops::ShardEditor;
use arrow_shard::write::Profile;
use arrow_shard::{ShardWriter, WriterOptions};
use datafusion::error::Result;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The format of the tested files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Parquet,
    Shard,
}

impl Format {
    /// Returns shards, unless `TESTED_FORMAT` is `parquet`, which checks the tests themselves.
    pub(crate) fn tested() -> Self {
        match std::env::var("TESTED_FORMAT").as_deref() {
            Ok("parquet") => Self::Parquet,
            _ => Self::Shard,
        }
    }

    /// Returns the name for `STORED AS`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Parquet => "PARQUET",
            Self::Shard => "SHARD",
        }
    }

    /// Returns the extension of files.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Shard => "shard",
        }
    }

    /// Creates a session with both formats.
    pub(crate) fn session(config: SessionConfig) -> SessionContext {
        let context = SessionContext::new_with_config(config);
        arrow_shard_datafusion::register(&context).unwrap();
        context
    }

    /// Writes batches to a file.
    pub(crate) fn write(
        self,
        path: &Path,
        schema: &SchemaRef,
        batches: &[RecordBatch],
        options: &FileOptions,
    ) {
        match self {
            Self::Parquet => {
                let rows = usize::try_from(options.stripe_rows).unwrap();
                let properties = WriterProperties::builder()
                    .set_max_row_group_row_count(Some(rows))
                    .build();
                let file = File::create(path).unwrap();
                let mut writer =
                    ArrowWriter::try_new(file, schema.clone(), Some(properties)).unwrap();
                for batch in batches {
                    writer.write(batch).unwrap();
                }
                writer.close().unwrap();
            }
            Self::Shard => {
                let writer_options = WriterOptions::default()
                    .with_profile(options.profile)
                    .with_stripe_rows(options.stripe_rows)
                    .with_sorting_columns(options.sorting_columns.clone());
                let mut writer =
                    ShardWriter::create_with(path, schema.clone(), writer_options).unwrap();
                for batch in batches {
                    writer.write(batch).unwrap();
                }
                writer.finish().unwrap();
            }
        }
    }

    /// Deletes rows of a shard; Parquet files have no deleted rows.
    pub(crate) fn delete_rows(self, path: &Path, rows: &[u64]) {
        assert_eq!(self, Self::Shard);
        let mut editor = ShardEditor::open(path).unwrap();
        editor.delete_rows(rows).unwrap();
        editor.commit().unwrap();
    }

    /// Runs `CREATE EXTERNAL TABLE`, with `rest` after the location.
    pub(crate) async fn create_table(
        self,
        context: &SessionContext,
        table: &str,
        location: &Path,
        rest: &str,
    ) -> Result<()> {
        let slash = if location.is_dir() { "/" } else { "" };
        let statement = format!(
            "CREATE EXTERNAL TABLE {table} STORED AS {} LOCATION '{}{slash}' {rest}",
            self.name(),
            location.display()
        );
        context.sql(&statement).await?.collect().await?;
        Ok(())
    }
}

/// Options for writing a file.
#[derive(Debug, Clone)]
pub(crate) struct FileOptions {
    pub(crate) profile: Profile,
    pub(crate) stripe_rows: u64,
    pub(crate) sorting_columns: Vec<SortingColumn>,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self {
            profile: Profile::Balanced,
            stripe_rows: 1 << 20,
            sorting_columns: Vec::new(),
        }
    }
}

/// Returns the batches of a query.
pub(crate) async fn query(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    context.sql(sql).await?.collect().await
}

/// Runs a query, and returns its plan, with the metrics of the run, and its batches.
pub(crate) async fn run_plan(
    context: &SessionContext,
    sql: &str,
) -> Result<(Arc<dyn ExecutionPlan>, Vec<RecordBatch>)> {
    let plan = context.sql(sql).await?.create_physical_plan().await?;
    let batches = collect(plan.clone(), context.task_ctx()).await?;
    Ok((plan, batches))
}

/// Returns the physical plan of a query as `EXPLAIN` shows it.
pub(crate) async fn explain(context: &SessionContext, sql: &str) -> Result<String> {
    let plan = context.sql(sql).await?.create_physical_plan().await?;
    Ok(displayable(plan.as_ref()).indent(false).to_string())
}

/// Returns every row as text, with bars between values. Nulls and empty texts differ.
pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::new().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let values: Vec<_> = columns.iter().map(|c| c.value(row).to_string()).collect();
            rows.push(values.join("|"));
        }
    }
    rows
}

/// Returns every row as text, sorted, because the order depends on how the query was run.
pub(crate) fn sorted_rows(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows = rows(batches);
    rows.sort();
    rows
}

/// Returns the sum of a metric over all nodes of a plan with `node` in their names.
pub(crate) fn metric(plan: &Arc<dyn ExecutionPlan>, node: &str, name: &str) -> usize {
    let of_children = plan.children().into_iter();
    let below: usize = of_children.map(|child| metric(child, node, name)).sum();
    let metrics = plan.metrics().filter(|_| plan.name().contains(node));
    let own: usize = metrics.map_or(0, |metrics| {
        let named = metrics
            .iter()
            .filter(|metric| metric.value().name() == name);
        named.map(|metric| metric.value().as_usize()).sum()
    });
    own + below
}
