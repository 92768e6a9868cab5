//! Wraps tables of shards in plans that are about to be sent.

use arrow_shard_datafusion::ShardFormat;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Constraints, Result};
use datafusion::datasource::listing::ListingTable;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// A listing table of shards in a type that DataFusion passes to codecs.
///
/// DataFusion encodes listing tables of its own formats itself, and rejects listing tables of other formats without
/// calling the codec. It does not know this type, so it calls the codec.
#[derive(Debug)]
pub(crate) struct SentTable(Arc<dyn TableProvider>);

impl SentTable {
    /// Wraps a table, if it is a listing table of shards.
    pub(crate) fn of(table: &Arc<dyn TableProvider>) -> Option<Self> {
        let sent = Self(Arc::clone(table));
        sent.shards().is_some().then_some(sent)
    }

    /// Returns the listing table and its format.
    pub(crate) fn shards(&self) -> Option<(&ListingTable, &ShardFormat)> {
        let table = self.0.downcast_ref::<ListingTable>()?;
        let format = table.options().format.downcast_ref::<ShardFormat>()?;
        Some((table, format))
    }
}

#[async_trait]
impl TableProvider for SentTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.0.constraints()
    }

    fn table_type(&self) -> TableType {
        self.0.table_type()
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.0.supports_filters_pushdown(filters)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.scan(state, projection, filters, limit).await
    }
}
