//! Dynamic filters of decoded plans still tighten while the plan runs.

use crate::tables::{answer, create_tables, local, run, write_tables};
use arrow_shard_ballista::ShardPhysicalExtensionCodec;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::snapshot_generation;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion_proto::physical_plan::{
    DeduplicatingProtoConverter, DefaultPhysicalProtoConverter, PhysicalPlanDecodeContext,
    PhysicalProtoConverterExtension,
};
use std::sync::Arc;
use tempfile::TempDir;

/// Returns the filter of the scan at the bottom of a plan.
fn filter(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn PhysicalExpr> {
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        let config = scan.data_source().downcast_ref::<FileScanConfig>();
        return config.unwrap().file_source().filter().unwrap();
    }
    filter(plan.children()[0])
}

#[tokio::test]
async fn scans_meet_the_sort_whose_filter_they_have() {
    let folder = TempDir::new().unwrap();
    let at = format!("{}/", folder.path().display());
    let session = local();
    run(&session, &write_tables(&at, 2, 2000)).await;
    run(&session, &create_tables(&at)).await;
    let sql = "SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 3";
    let expected = answer(&session, sql).await;
    assert_eq!(expected.len(), 3);

    let codec = ShardPhysicalExtensionCodec::default();
    let shared: &dyn PhysicalProtoConverterExtension = &DeduplicatingProtoConverter {};
    let alone: &dyn PhysicalProtoConverterExtension = &DefaultPhysicalProtoConverter {};
    for (converter, tightens) in [(shared, true), (alone, false)] {
        let query = session.sql(sql).await.unwrap();
        let plan = query.create_physical_plan().await.unwrap();
        let node = converter.execution_plan_to_proto(&plan, &codec);
        let context = session.task_ctx();
        let decode = PhysicalPlanDecodeContext::new(&context, &codec);
        let plan = converter.proto_to_execution_plan(&node.unwrap(), &decode);
        let plan = plan.unwrap();
        let filter = filter(&plan);
        let before = snapshot_generation(&filter);
        let rows = collect(plan, session.task_ctx()).await.unwrap();
        assert_eq!(rows.iter().map(|rows| rows.num_rows()).sum::<usize>(), 3);
        assert_eq!(snapshot_generation(&filter) > before, tightens, "{filter}");
    }
}
