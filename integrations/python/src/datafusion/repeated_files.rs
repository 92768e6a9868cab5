//! Tables that contain the same shard several times.

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::listing::{ListingTable, ListingTableUrl, PartitionedFile};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use object_store::path::Path;
use std::collections::HashMap;
use std::iter::repeat_n;
use std::sync::Arc;

/// A table that reads each file of a listing table as many times as its path was given. The listing table itself lists
/// each file once.
#[derive(Debug)]
struct RepeatedFiles {
    listing: ListingTable,
    times: HashMap<Path, usize>,
}

/// Returns a table that reads repeated paths of a listing repeatedly.
pub(super) fn all_of(listing: ListingTable) -> Arc<dyn TableProvider> {
    let mut times = HashMap::new();
    for url in listing.table_paths() {
        *times.entry(url.prefix().clone()).or_default() += 1;
    }
    if times.len() < listing.table_paths().len() {
        Arc::new(RepeatedFiles { listing, times })
    } else {
        Arc::new(listing)
    }
}

impl RepeatedFiles {
    /// Returns the merged statistics of files.
    fn statistics<'a>(
        &self,
        files: impl IntoIterator<Item = &'a PartitionedFile>,
    ) -> Result<Statistics> {
        let schema = self.schema();
        let unknown = Statistics::new_unknown(&schema);
        let known = files
            .into_iter()
            .map(|file| file.statistics.as_deref().unwrap_or(&unknown));
        Statistics::try_merge_iter(known, &schema)
    }
}

#[async_trait]
impl TableProvider for RepeatedFiles {
    fn schema(&self) -> SchemaRef {
        self.listing.schema()
    }

    fn table_type(&self) -> TableType {
        self.listing.table_type()
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let listed = self.listing.list_files_for_scan(session, &[], None).await?;
        let files: Vec<PartitionedFile> = listed
            .file_groups
            .into_iter()
            .flat_map(FileGroup::into_inner)
            .flat_map(|file| {
                let times = self.times.get(&file.object_meta.location).copied();
                repeat_n(file, times.unwrap_or(1))
            })
            .collect();
        let statistics = self.statistics(&files)?;
        let groups = FileGroup::new(files)
            .split_files(session.config().target_partitions())
            .into_iter()
            .map(|group| {
                let statistics = self.statistics(group.iter())?;
                Ok(group.with_statistics(Arc::new(statistics)))
            })
            .collect::<Result<Vec<_>>>()?;
        let ordering = self
            .listing
            .try_create_output_ordering(session.execution_props(), &groups)?;
        let format = &self.listing.options().format;
        let source = format.file_source(self.schema().into());
        let path = self.listing.table_paths().first();
        let store = path.map_or_else(
            ObjectStoreUrl::local_filesystem,
            ListingTableUrl::object_store,
        );
        let config = FileScanConfigBuilder::new(store, source)
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .with_output_ordering(ordering)
            .build();
        format.create_physical_plan(session, config).await
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.listing.supports_filters_pushdown(filters)
    }
}
