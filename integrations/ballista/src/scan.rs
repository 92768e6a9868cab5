//! Converts scans of shards to messages and back.

use crate::options;
use crate::wire::{self, damaged};
use arrow_shard_datafusion::ShardSource;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::{Result, Statistics, not_impl_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion_proto::physical_plan::from_proto::{
    parse_physical_sort_exprs, parse_protobuf_file_scan_config, parse_table_schema_from_proto,
};
use datafusion_proto::physical_plan::to_proto::{
    serialize_file_scan_config, serialize_physical_sort_exprs,
};
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf;
use std::sync::Arc;

/// Returns the message for a scan of the file source `source`.
///
/// A dynamic filter is sent in its current state. If the operator that narrows it is sent in the same plan, and the
/// converter preserves the identity of expressions, the two stay connected. Otherwise the filter keeps the state that
/// was sent, which rules out fewer rows, never more.
///
/// # Errors
/// Returns an error if the scan has a part that cannot be sent: virtual columns, files with extensions, or an
/// expression adapter other than the default.
pub(crate) fn encode(
    config: &FileScanConfig,
    source: &ShardSource,
    codec: &dyn PhysicalExtensionCodec,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<wire::Scan> {
    if !source.table_schema().virtual_columns().is_empty() {
        return not_impl_err!("scans of shards with virtual columns cannot be sent");
    }
    if let Some(factory) = &config.expr_adapter_factory {
        // Only its debug output identifies a factory. A scan without a factory uses the default.
        let name = format!("{factory:?}");
        if name != "DefaultPhysicalExprAdapterFactory" {
            return not_impl_err!(
                "scans of shards with the expression adapter {name} cannot be sent"
            );
        }
    }
    let filter = source.filter();
    let files = config.file_groups.iter().flat_map(FileGroup::iter);
    Ok(wire::Scan {
        base: Some(serialize_file_scan_config(config, codec, converter)?),
        options: options::to_map(source.options()),
        filter: filter
            .map(|filter| converter.physical_expr_to_proto(&filter, codec))
            .transpose()?,
        evaluates: source.evaluates(),
        order: serialize_physical_sort_exprs(
            source.order().into_iter().flatten().cloned(),
            codec,
            converter,
        )?,
        reverse: source.is_reverse(),
        preserve_order: config.preserve_order,
        limit: config.limit.map(|limit| limit as u64),
        files: files
            .map(|file| encode_file(file, codec, converter))
            .collect::<Result<_>>()?,
    })
}

fn encode_file(
    file: &PartitionedFile,
    codec: &dyn PhysicalExtensionCodec,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<wire::File> {
    if !file.extensions.is_empty() {
        return not_impl_err!(
            "scans of shards cannot be sent with extensions of files: {} has some",
            file.object_meta.location
        );
    }
    let ordering = file.ordering.iter().flatten().cloned();
    Ok(wire::File {
        e_tag: file.object_meta.e_tag.clone(),
        version: file.object_meta.version.clone(),
        ordering: serialize_physical_sort_exprs(ordering, codec, converter)?,
        metadata_size_hint: file.metadata_size_hint.map(|bytes| bytes as u64),
    })
}

/// Returns the scan of a message.
///
/// # Errors
/// Returns an error if the message is damaged: a part is missing, or does not fit the schema.
pub(crate) fn decode(
    scan: &wire::Scan,
    context: &PhysicalPlanDecodeContext<'_>,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<FileScanConfig> {
    let Some(base) = &scan.base else {
        return Err(damaged("a scan without its configuration"));
    };
    let table_schema = parse_table_schema_from_proto(base)?;
    let schema = table_schema.table_schema().clone();
    let caches = &context.task_ctx().runtime_env().cache_manager;
    let mut source = ShardSource::new(table_schema.clone())
        .with_options(options::from_map(&scan.options)?)
        .with_evaluates(scan.evaluates)
        .with_order(decode_order(&scan.order, &schema, context, converter)?)
        .with_reverse(scan.reverse)
        .with_metadata_cache(caches.get_file_metadata_cache());
    if let Some(filter) = &scan.filter {
        let filter = converter.proto_to_physical_expr(filter, &schema, context)?;
        check(&filter, &schema)?;
        if filter.data_type(&schema)? != DataType::Boolean {
            return Err(damaged(format!("`{filter}` is no filter")));
        }
        source = source.with_predicate(filter);
    }
    let config = parse_protobuf_file_scan_config(base, context, converter, Arc::new(source))?;
    check_config(&config, &schema)?;
    if let Some(asked) = &base.projection_exprs {
        let columns = config.file_source().projection().map(|p| p.iter().count());
        if columns != Some(asked.projections.len()) {
            return Err(damaged("its projection is not one that scans of shards do"));
        }
    }

    let mut files = scan.files.iter();
    let mut groups = Vec::with_capacity(config.file_groups.len());
    for group in &config.file_groups {
        let mut group = group.clone().into_inner();
        for file in &mut group {
            let Some(more) = files.next() else {
                return Err(damaged("fewer files than its groups have"));
            };
            decode_file(more, file, &table_schema, context, converter)?;
        }
        groups.push(FileGroup::new(group));
    }
    if files.next().is_some() {
        return Err(damaged("more files than its groups have"));
    }
    let limit = scan.limit.map(|limit| size(limit, "limit")).transpose()?;
    let config = FileScanConfigBuilder::from(config)
        .with_file_groups(groups)
        .with_limit(limit)
        .with_preserve_order(scan.preserve_order);
    Ok(config.build())
}

fn decode_file(
    more: &wire::File,
    file: &mut PartitionedFile,
    table: &TableSchema,
    context: &PhysicalPlanDecodeContext<'_>,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<()> {
    let partition = table.table_partition_cols();
    let values = file.partition_values.iter().map(|value| value.data_type());
    if !values.eq(partition.iter().map(|field| field.data_type().clone())) {
        return Err(damaged("values that the partition columns cannot have"));
    }
    let schema = table.table_schema();
    if let Some(statistics) = &file.statistics {
        check_statistics(statistics, schema)?;
    }
    file.object_meta.e_tag.clone_from(&more.e_tag);
    file.object_meta.version.clone_from(&more.version);
    file.ordering = decode_order(&more.ordering, schema, context, converter)?;
    file.metadata_size_hint = more
        .metadata_size_hint
        .map(|bytes| size(bytes, "size hint"))
        .transpose()?;
    Ok(())
}

fn decode_order(
    order: &[protobuf::PhysicalSortExprNode],
    schema: &Schema,
    context: &PhysicalPlanDecodeContext<'_>,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<Option<LexOrdering>> {
    let order = parse_physical_sort_exprs(order, context, schema, converter)?;
    for sort in &order {
        check(&sort.expr, schema)?;
    }
    Ok(LexOrdering::new(order))
}

/// Checks that DataFusion's part of the message fits the table's schema. Plans index columns without checking again.
fn check_config(config: &FileScanConfig, schema: &Schema) -> Result<()> {
    check_statistics(&config.statistics(), schema)?;
    for sort in config.output_ordering.iter().flatten() {
        check(&sort.expr, schema)?;
    }
    for expression in config.file_source().projection().into_iter().flatten() {
        check(&expression.expr, schema)?;
    }
    Ok(())
}

fn check_statistics(statistics: &Statistics, schema: &Schema) -> Result<()> {
    let (of, columns) = (statistics.column_statistics.len(), schema.fields().len());
    if of != columns {
        return Err(damaged(format!(
            "statistics of {of} columns, where there are {columns}"
        )));
    }
    Ok(())
}

/// Checks that an expression has a type in a schema. Columns are found by index, so a missing column has no type.
pub(crate) fn check(expression: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<()> {
    expression.data_type(schema)?;
    for child in expression.children() {
        check(child, schema)?;
    }
    Ok(())
}

/// Converts a number to `usize`; a number that is too large for this machine is an error.
fn size(value: u64, what: &str) -> Result<usize> {
    usize::try_from(value).map_err(|_| damaged(format!("a {what} of {value}")))
}
