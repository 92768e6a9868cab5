//! Converts sinks of shards to messages and back.

use crate::options;
use crate::scan::check;
use crate::wire::{self, damaged};
use arrow_shard::metadata::SortingColumn;
use arrow_shard_datafusion::ShardSink;
use datafusion::common::Result;
use datafusion::datasource::physical_plan::{FileSink, FileSinkConfig};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::physical_expr::{LexRequirement, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::from_proto::parse_physical_sort_exprs;
use datafusion_proto::physical_plan::to_proto::serialize_physical_sort_exprs;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use std::sync::Arc;

/// Returns the message for a plan that writes to `sink`.
pub(crate) fn encode(
    plan: &DataSinkExec,
    sink: &ShardSink,
    codec: &dyn PhysicalExtensionCodec,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<wire::Sink> {
    let config = sink.config();
    let order = plan
        .sort_order()
        .iter()
        .flatten()
        .map(|requirement| PhysicalSortExpr::from(requirement.clone()));
    let sorted = sink.sorting_columns().iter();
    let sorting_columns = sorted.map(|column| wire::SortingColumn {
        path: column.path.clone(),
        descending: column.descending,
        nulls_first: column.nulls_first,
    });
    Ok(wire::Sink {
        base: Some(config.try_into()?),
        original_url: config.original_url.clone(),
        options: options::to_map(sink.options()),
        sort_order: serialize_physical_sort_exprs(order, codec, converter)?,
        sorting_columns: sorting_columns.collect(),
    })
}

/// Returns the plan of a message, which writes the rows of its only input.
///
/// # Errors
/// Returns an error if the message is damaged, or if `inputs` is not exactly one plan.
pub(crate) fn decode(
    sink: &wire::Sink,
    inputs: &[Arc<dyn ExecutionPlan>],
    context: &PhysicalPlanDecodeContext<'_>,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<DataSinkExec> {
    let [input] = inputs else {
        return Err(damaged(format!("a sink with {} inputs", inputs.len())));
    };
    let Some(base) = &sink.base else {
        return Err(damaged("a sink without its configuration"));
    };
    let config = FileSinkConfig {
        original_url: sink.original_url.clone(),
        ..FileSinkConfig::try_from(base)?
    };
    let schema = input.schema();
    let order = parse_physical_sort_exprs(&sink.sort_order, context, &schema, converter)?;
    for sort in &order {
        check(&sort.expr, &schema)?;
    }
    let order = LexRequirement::new(order.into_iter().map(Into::into));
    let sorting_columns = sink.sorting_columns.iter().map(|column| SortingColumn {
        path: column.path.clone(),
        descending: column.descending,
        nulls_first: column.nulls_first,
    });
    let sink = ShardSink::new(config, options::from_map(&sink.options)?)
        .with_sorting_columns(sorting_columns.collect());
    Ok(DataSinkExec::new(Arc::clone(input), Arc::new(sink), order))
}
