//! The codec of logical plans.

use crate::options;
use crate::table::SentTable;
use crate::wire::{self, Body, damaged};
use arrow_shard_datafusion::{ShardFormat, ShardFormatFactory};
use ballista_core::serde::BallistaLogicalExtensionCodec;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{Constraints, Result, TableReference, internal_datafusion_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{
    AggregateUDF, Extension, HigherOrderUDF, LogicalPlan, ScalarUDF, SortExpr, WindowUDF,
};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::logical_plan::from_proto::parse_sorts;
use datafusion_proto::logical_plan::to_proto::serialize_sorts;
use datafusion_proto::protobuf;
use std::sync::Arc;

/// Encodes tables of shards and `COPY ... STORED AS SHARD`, and leaves everything else to another codec, by default
/// Ballista's.
///
/// DataFusion does not call codecs for listing tables, so the sessions of this crate wrap tables of shards before they
/// send a plan.
#[derive(Debug)]
pub struct ShardLogicalExtensionCodec {
    inner: Arc<dyn LogicalExtensionCodec>,
}

impl Default for ShardLogicalExtensionCodec {
    fn default() -> Self {
        Self::new(Arc::new(BallistaLogicalExtensionCodec::default()))
    }
}

impl ShardLogicalExtensionCodec {
    /// Creates a codec that leaves everything except shards to `inner`.
    pub fn new(inner: Arc<dyn LogicalExtensionCodec>) -> Self {
        Self { inner }
    }

    fn encode_table(&self, table: &ListingTable, format: &ShardFormat) -> Result<wire::Table> {
        let options = table.options();
        let paths = table.table_paths().iter().map(|path| wire::TablePath {
            url: path.to_string(),
            glob: path.get_glob().as_ref().map(ToString::to_string),
        });
        let partition_columns = options.table_partition_cols.iter().map(|(name, of)| {
            Ok(protobuf::PartitionColumn {
                name: name.clone(),
                arrow_type: Some(of.try_into()?),
            })
        });
        let sort_orders = options.file_sort_order.iter().map(|order| {
            let sort_expr_nodes = serialize_sorts(order, self)?;
            Ok(protobuf::SortExprNodeCollection { sort_expr_nodes })
        });
        Ok(wire::Table {
            paths: paths.collect(),
            file_extension: options.file_extension.clone(),
            partition_columns: partition_columns.collect::<Result<_>>()?,
            sort_orders: sort_orders.collect::<Result<_>>()?,
            constraints: table.constraints().cloned().map(Into::into),
            options: options::to_map(format.options()),
        })
    }

    /// Returns the table of a message. Its schema ends with the partition columns.
    fn decode_table(
        &self,
        table: &wire::Table,
        schema: &Schema,
        context: &TaskContext,
    ) -> Result<ListingTable> {
        let decoded = table.partition_columns.iter().map(|column| {
            let Some(data_type) = &column.arrow_type else {
                return Err(damaged("a partition column without a type"));
            };
            Ok((column.name.clone(), DataType::try_from(data_type)?))
        });
        let partition_columns: Vec<(String, DataType)> = decoded.collect::<Result<_>>()?;
        let of_files = schema.fields().len().checked_sub(partition_columns.len());
        let Some(of_files) = of_files else {
            return Err(damaged("fewer columns than it is partitioned by"));
        };
        let (fields, last) = schema.fields().split_at(of_files);
        let last_names = last.iter().map(|field| field.name());
        if !last_names.eq(partition_columns.iter().map(|(name, _)| name)) {
            return Err(damaged("it does not end with the partition columns"));
        }
        let file_schema = Schema::new_with_metadata(fields.to_vec(), schema.metadata().clone());

        let paths = table.paths.iter().map(|path| {
            let url = ListingTableUrl::parse(&path.url)?;
            match &path.glob {
                Some(glob) => url.with_glob(glob),
                None => Ok(url),
            }
        });
        let sent = table.sort_orders.iter();
        let orders = sent.map(|order| Ok(parse_sorts(&order.sort_expr_nodes, context, self)?));
        let format = ShardFormat::new(options::from_map(&table.options)?);
        let options = ListingOptions::new(Arc::new(format))
            .with_file_extension(&table.file_extension)
            .with_table_partition_cols(partition_columns)
            .with_file_sort_order(orders.collect::<Result<Vec<Vec<SortExpr>>>>()?);
        let config = ListingTableConfig::new_with_multi_paths(paths.collect::<Result<_>>()?)
            .with_listing_options(options)
            .with_schema(Arc::new(file_schema));
        let constraints = table.constraints.as_ref().map(decode_constraints);
        let cache = context
            .runtime_env()
            .cache_manager
            .get_file_statistic_cache();
        Ok(ListingTable::try_new(config)?
            .with_constraints(constraints.transpose()?.unwrap_or_default())
            .with_cache(cache))
    }
}

/// Decodes constraints; an unknown kind is an error.
fn decode_constraints(
    constraints: &datafusion_proto_common::protobuf_common::Constraints,
) -> Result<Constraints> {
    let mut each = constraints.constraints.iter();
    if each.any(|constraint| constraint.constraint_mode.is_none()) {
        return Err(damaged("a constraint of no kind"));
    }
    Constraints::try_from(constraints)
}

impl LogicalExtensionCodec for ShardLogicalExtensionCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[LogicalPlan],
        ctx: &TaskContext,
    ) -> Result<Extension> {
        self.inner.try_decode(buf, inputs, ctx)
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode(node, buf)
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        table_ref: &TableReference,
        schema: SchemaRef,
        ctx: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        if !wire::is_ours(buf) {
            let inner = &self.inner;
            return inner.try_decode_table_provider(buf, table_ref, schema, ctx);
        }
        match wire::decode(buf)? {
            Body::Table(table) => Ok(Arc::new(self.decode_table(&table, &schema, ctx)?)),
            _ => Err(damaged("it is no table")),
        }
    }

    fn try_encode_table_provider(
        &self,
        table_ref: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(sent) = node.downcast_ref::<SentTable>() else {
            return self.inner.try_encode_table_provider(table_ref, node, buf);
        };
        let (table, format) = sent
            .shards()
            .ok_or_else(|| internal_datafusion_err!("{table_ref} is not a table of shards"))?;
        wire::encode(Body::Table(self.encode_table(table, format)?), buf)
    }

    fn try_decode_file_format(
        &self,
        buf: &[u8],
        ctx: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        if !wire::is_ours(buf) {
            return self.inner.try_decode_file_format(buf, ctx);
        }
        let Body::Format(format) = wire::decode(buf)? else {
            return Err(damaged("it is not a file format"));
        };
        Ok(Arc::new(match &format.options {
            Some(options) => ShardFormatFactory::new_with_options(options::from_map(&options.set)?),
            None => ShardFormatFactory::new(),
        }))
    }

    fn try_encode_file_format(
        &self,
        buf: &mut Vec<u8>,
        node: Arc<dyn FileFormatFactory>,
    ) -> Result<()> {
        let Some(factory) = node.downcast_ref::<ShardFormatFactory>() else {
            return self.inner.try_encode_file_format(buf, node);
        };
        let options = factory.options().map(|options| wire::Options {
            set: options::to_map(options),
        });
        wire::encode(Body::Format(wire::Format { options }), buf)
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.inner.try_decode_udf(name, buf)
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udf(node, buf)
    }

    fn try_decode_higher_order_function(
        &self,
        name: &str,
        buf: &[u8],
    ) -> Result<Arc<HigherOrderUDF>> {
        self.inner.try_decode_higher_order_function(name, buf)
    }

    fn try_encode_higher_order_function(
        &self,
        node: &HigherOrderUDF,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        self.inner.try_encode_higher_order_function(node, buf)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.inner.try_decode_udaf(name, buf)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udaf(node, buf)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.inner.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udwf(node, buf)
    }
}
