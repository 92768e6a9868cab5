//! The codec of physical plans.

use crate::wire::{self, Body, damaged};
use crate::{scan, sink};
use arrow_shard_datafusion::{ShardSink, ShardSource};
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::Result;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, WindowUDF};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion::physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Encodes scans and sinks of shards, and leaves everything else to another codec.
///
/// By default, the other codec is Ballista's, which encodes the nodes that a cluster adds to plans. Other engines that
/// send plans of DataFusion, such as `datafusion-distributed`, may use another one.
#[derive(Debug)]
pub struct ShardPhysicalExtensionCodec {
    inner: Arc<dyn PhysicalExtensionCodec>,
}

impl Default for ShardPhysicalExtensionCodec {
    fn default() -> Self {
        Self::new(Arc::new(BallistaPhysicalExtensionCodec::default()))
    }
}

impl ShardPhysicalExtensionCodec {
    /// Creates a codec that leaves everything except shards to `inner`.
    pub fn new(inner: Arc<dyn PhysicalExtensionCodec>) -> Self {
        Self { inner }
    }

    fn encode_ours(
        &self,
        node: &dyn ExecutionPlan,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Option<Body>> {
        if let Some(plan) = node.downcast_ref::<DataSourceExec>()
            && let Some(config) = plan.data_source().downcast_ref::<FileScanConfig>()
            && let Some(source) = config.file_source().downcast_ref::<ShardSource>()
        {
            let scan = scan::encode(config, source, self, converter)?;
            return Ok(Some(Body::Scan(Box::new(scan))));
        }
        if let Some(plan) = node.downcast_ref::<DataSinkExec>()
            && let Some(shards) = plan.sink().downcast_ref::<ShardSink>()
        {
            let sink = sink::encode(plan, shards, self, converter)?;
            return Ok(Some(Body::Sink(Box::new(sink))));
        }
        Ok(None)
    }

    fn decode_ours(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let context = PhysicalPlanDecodeContext::new(context, self);
        match wire::decode(bytes)? {
            Body::Scan(scan) if inputs.is_empty() => {
                let config = scan::decode(&scan, &context, converter)?;
                Ok(DataSourceExec::from_data_source(config))
            }
            Body::Scan(_) => Err(damaged("a scan with inputs")),
            Body::Sink(sink) => Ok(Arc::new(sink::decode(&sink, inputs, &context, converter)?)),
            Body::Table(_) | Body::Format(_) => Err(damaged("it belongs to a logical plan")),
        }
    }
}

impl PhysicalExtensionCodec for ShardPhysicalExtensionCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !wire::is_ours(buf) {
            return self.inner.try_decode(buf, inputs, ctx, proto_converter);
        }
        // DataFusion's decoders panic on some messages that DataFusion never writes, such as a constraint without a
        // kind. A damaged message must not end the process.
        let decode = || self.decode_ours(buf, inputs, ctx, proto_converter);
        catch_unwind(AssertUnwindSafe(decode))
            .unwrap_or_else(|_| Err(damaged("DataFusion cannot read a part of it")))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        match self.encode_ours(node.as_ref(), proto_converter)? {
            Some(body) => wire::encode(body, buf),
            None => self.inner.try_encode(node, buf, proto_converter),
        }
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

    fn try_decode_expr(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        ctx: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        self.inner.try_decode_expr(buf, inputs, ctx)
    }

    fn try_encode_expr(
        &self,
        node: &Arc<dyn PhysicalExpr>,
        buf: &mut Vec<u8>,
        ctx: &PhysicalExprEncodeCtx<'_>,
    ) -> Result<()> {
        self.inner.try_encode_expr(node, buf, ctx)
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
