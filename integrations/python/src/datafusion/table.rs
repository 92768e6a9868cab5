//! A DataFusion table over shards that plans its scans in a session of its own.

use super::plan::OwnSession;
use super::repeated_files::all_of;
use crate::errors::invalid;
use crate::interruptible_file::existing;
use crate::location::Location;
use arrow_schema::{Schema, SchemaRef};
use arrow_shard_datafusion::{ShardFormat, TableShardOptions};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DataFusionError, Result};
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::provider_as_source;
use datafusion::execution::context::SessionContext;
use datafusion::functions::core::get_field;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStoreExt;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Handle;
use url::Url;

/// The name of the table in plans.
const NAME: &str = "shards";

/// Most concurrent requests that check whether objects exist.
const AT_ONCE: usize = 32;

/// A table of files, and the session that plans and runs its scans. The calling session has neither the object stores
/// nor the optimizer rules that push filters and limits into the files.
#[derive(Debug)]
pub(super) struct ShardTable {
    files: Arc<dyn TableProvider>,
    session: OwnedContext,
    runtime: Handle,
}

/// A session with a `Debug` implementation.
#[derive(Clone)]
struct OwnedContext(Arc<SessionContext>);

impl std::fmt::Debug for OwnedContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionContext")
    }
}

impl ShardTable {
    /// Creates a table of the shards at some locations, with the given columns.
    pub(super) async fn open(
        columns: &Schema,
        locations: &[Location],
        runtime: Handle,
    ) -> Result<Self> {
        // The options of shards are not registered: functions of the calling session receive the options of this
        // session, and would reject unknown ones.
        let context = SessionContext::new();
        check_there(locations).await?;
        let urls = locations
            .iter()
            .enumerate()
            .map(|(i, location)| url_of(location, i, &context))
            .collect::<Result<Vec<_>>>()?;
        // The columns have the types of the table, which may be wider than in some of the shards.
        let options = TableShardOptions {
            unify: "widen".to_owned(),
            ..TableShardOptions::default()
        };
        let format = ShardFormat::new(options);
        let schema = format.table_schema(columns);
        let options = ListingOptions::new(Arc::new(format)).with_file_extension("");
        // Inferring the schema opens the first shard, so its errors are raised now. The columns of all shards replace
        // the inferred ones.
        let config = ListingTableConfig::new_with_multi_paths(urls)
            .with_listing_options(options)
            .infer_schema(&context.state())
            .await?
            .with_schema(schema);
        Ok(Self {
            files: all_of(ListingTable::try_new(config)?),
            session: OwnedContext(Arc::new(context)),
            runtime,
        })
    }
}

/// Returns an error for missing objects, because a listing would skip them.
async fn check_there(locations: &[Location]) -> Result<()> {
    let objects = locations.iter().filter_map(Location::object);
    let heads = objects.map(|(store, path)| async move { Ok(store.head(&path).await?) });
    stream::iter(heads)
        .buffer_unordered(AT_ONCE)
        .try_for_each(|_| ready(Ok(())))
        .await
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Returns the URL of a shard, and registers its store under a unique name.
fn url_of(location: &Location, number: usize, context: &SessionContext) -> Result<ListingTableUrl> {
    let parsed = |text: &str| Url::parse(text).map_err(external);
    let url = match location.object() {
        None => {
            let path = existing(Path::new(location.0.name())).map_err(external)?;
            let url = Url::from_file_path(&path).map_err(|()| {
                let message = format!("{} is no path of a URL", path.display());
                external(invalid(message))
            });
            url?
        }
        Some((store, path)) => {
            let root = parsed(&format!("shard://store{number}/"))?;
            context.register_object_store(&root, store);
            let mut url = root;
            url.set_path(path.as_ref());
            url
        }
    };
    ListingTableUrl::try_new(url, None)
}

#[async_trait]
impl TableProvider for ShardTable {
    fn schema(&self) -> SchemaRef {
        self.files.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (files, context) = (self.files.clone(), self.session.0.clone());
        let (projection, filters) = (projection.cloned(), filters.to_vec());
        let planned = async move { plan(files, &context, projection, filters, limit).await };
        // The caller may run outside of a Tokio runtime, which requests to stores need.
        let joined = self.runtime.spawn(planned).await;
        joined.map_err(external)?
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| {
            Ok(if calls_others(filter)? {
                TableProviderFilterPushDown::Unsupported
            } else {
                TableProviderFilterPushDown::Exact
            })
        };
        filters.iter().map(support).collect()
    }
}

/// The function that returns a member of a struct.
const MEMBER: &str = "get_field";

/// Returns whether a filter contains functions of the calling session. Here they would get arrays where they may need
/// scalars, so the calling session evaluates such filters itself.
fn calls_others(filter: &Expr) -> Result<bool> {
    filter.exists(|part| {
        Ok(match part {
            Expr::ScalarFunction(call) => call.name() != MEMBER,
            Expr::AggregateFunction(_) | Expr::WindowFunction(_) => true,
            _ => false,
        })
    })
}

/// Returns the filter with this session's function for members of structs.
fn with_own_members(filter: Expr) -> Result<Expr> {
    let own = |part| match part {
        Expr::ScalarFunction(call) if call.name() == MEMBER => {
            let call = ScalarFunction::new_udf(get_field(), call.args);
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        }
        other => Ok(Transformed::no(other)),
    };
    Ok(filter.transform(own)?.data)
}

/// Plans a scan. The optimizer's rules push filters and limits into the files.
async fn plan(
    files: Arc<dyn TableProvider>,
    context: &SessionContext,
    projection: Option<Vec<usize>>,
    filters: Vec<Expr>,
    limit: Option<usize>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut plan = LogicalPlanBuilder::scan(NAME, provider_as_source(files), None)?;
    for filter in filters {
        plan = plan.filter(with_own_members(filter)?)?;
    }
    if let Some(projection) = projection {
        let schema = plan.schema().clone();
        let column = |i| Expr::Column(Column::from(schema.qualified_field(i)));
        plan = plan.project(projection.into_iter().map(column).collect::<Vec<_>>())?;
    }
    let logical_plan = plan.limit(0, limit)?.build()?;
    let physical_plan = context.state().create_physical_plan(&logical_plan).await?;
    Ok(Arc::new(OwnSession::new(physical_plan, context.task_ctx())))
}
