//! Prepares plans before a session sends them.

use crate::table::SentTable;
use arrow_shard_datafusion::{ShardFormat, ShardFormatFactory};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::file_format::{file_type_to_format, format_as_file_type};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::dml::CopyTo;
use datafusion::logical_expr::{DmlStatement, LogicalPlan, TableScan, TableSource};
use datafusion::physical_plan::ExecutionPlan;
use std::collections::HashMap;
use std::sync::Arc;

/// Replaces tables and formats of shards in a plan by forms that can be sent, then calls the planner that sends it.
#[derive(Debug)]
pub(crate) struct SendingPlanner {
    inner: Arc<dyn QueryPlanner + Send + Sync>,
}

impl SendingPlanner {
    pub(crate) fn new(inner: Arc<dyn QueryPlanner + Send + Sync>) -> Self {
        Self { inner }
    }
}

#[async_trait]
impl QueryPlanner for SendingPlanner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = logical_plan
            .clone()
            .transform_down_with_subqueries(|node| prepare(node, session))?;
        self.inner.create_physical_plan(&plan.data, session).await
    }
}

fn prepare(node: LogicalPlan, session: &dyn Session) -> Result<Transformed<LogicalPlan>> {
    match node {
        LogicalPlan::TableScan(scan) => match sent(&scan.source) {
            Some(source) => Ok(Transformed::yes(LogicalPlan::TableScan(TableScan {
                source,
                ..scan
            }))),
            None => Ok(Transformed::no(LogicalPlan::TableScan(scan))),
        },
        LogicalPlan::Dml(statement) => match sent(&statement.target) {
            Some(target) => Ok(Transformed::yes(LogicalPlan::Dml(DmlStatement {
                target,
                ..statement
            }))),
            None => Ok(Transformed::no(LogicalPlan::Dml(statement))),
        },
        LogicalPlan::Copy(copy) => prepare_copy(copy, session),
        node => Ok(Transformed::no(node)),
    }
}

/// Returns a source that can be sent, if the table is one of shards.
fn sent(source: &Arc<dyn TableSource>) -> Option<Arc<dyn TableSource>> {
    // A source without a table provider, such as another engine's, is not a table of shards.
    let provider = source_as_provider(source).ok()?;
    let sent = SentTable::of(&provider)?;
    Some(provider_as_source(Arc::new(sent)))
}

/// Moves the options of a `COPY` into its format, because the message of the statement omits them.
fn prepare_copy(copy: CopyTo, session: &dyn Session) -> Result<Transformed<LogicalPlan>> {
    let Ok(factory) = file_type_to_format(&copy.file_type) else {
        return Ok(Transformed::no(LogicalPlan::Copy(copy)));
    };
    if !factory.is::<ShardFormatFactory>() {
        return Ok(Transformed::no(LogicalPlan::Copy(copy)));
    }
    for (key, set) in [
        ("single_file_output", None),
        (
            "execution.keep_partition_by_columns",
            Some("datafusion.execution.keep_partition_by_columns"),
        ),
    ] {
        if copy.options.contains_key(key) {
            let instead = set.map(|set| format!("; SET {set} does the same"));
            return plan_err!(
                "COPY on a cluster cannot have the option {key}{}",
                instead.unwrap_or_default()
            );
        }
    }
    let format = factory.create(session, &copy.options)?;
    let Some(format) = format.downcast_ref::<ShardFormat>() else {
        return Ok(Transformed::no(LogicalPlan::Copy(copy)));
    };
    let factory = ShardFormatFactory::new_with_options(format.options().clone());
    Ok(Transformed::yes(LogicalPlan::Copy(CopyTo {
        file_type: format_as_file_type(Arc::new(factory)),
        options: HashMap::new(),
        ..copy
    })))
}
