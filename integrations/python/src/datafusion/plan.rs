//! A plan that runs in a session of its own.

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
    displayable,
};
use std::fmt;
use std::sync::Arc;

/// A planned scan. It is a leaf in the plan of the calling session, which does not know its object stores.
#[derive(Debug)]
pub(super) struct OwnSession {
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
}

impl OwnSession {
    pub(super) fn new(plan: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Self {
        Self { plan, context }
    }
}

impl DisplayAs for OwnSession {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = displayable(self.plan.as_ref()).indent(false).to_string();
        let lines: Vec<&str> = plan.lines().map(str::trim).collect();
        write!(f, "ShardScan: {}", lines.join(" <- "))
    }
}

impl ExecutionPlan for OwnSession {
    fn name(&self) -> &str {
        "ShardScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.plan.execute(partition, self.context.clone())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.plan.metrics()
    }
}
