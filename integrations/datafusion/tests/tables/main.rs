//! Tables of files that differ, of many, empty or small files, and of files written by SQL. Queries are answered from
//! metadata, read files in order, or skip rows by dynamic filters.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]
#![expect(clippy::panic, reason = "says which case failed")]

#[path = "../common/mod.rs"]
mod common;

mod attached;
mod evolution;
mod filters;
mod many;
mod merged;
mod order;
mod statistics;
mod widened;
mod writing;

use arrow::array::RecordBatch;
use common::{FileOptions, Format};
use datafusion::prelude::{SessionConfig, SessionContext};
use std::path::{Path, PathBuf};

/// A folder for the files of tables, and a session to query them.
struct Place {
    folder: tempfile::TempDir,
    context: SessionContext,
    format: Format,
}

impl Place {
    fn new() -> Self {
        Self::with(SessionConfig::new().with_target_partitions(2))
    }

    fn with(config: SessionConfig) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            context: Format::session(config),
            format: Format::tested(),
        }
    }

    /// Creates a subfolder, named after a table, and returns its path.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Returns the path of a file of a table.
    fn file(&self, table: &str, name: &str) -> PathBuf {
        let name = format!("{name}.{}", self.format.extension());
        self.folder(table).join(name)
    }

    fn write(&self, path: &Path, batch: &RecordBatch, options: &FileOptions) {
        let schema = batch.schema();
        self.format
            .write(path, &schema, std::slice::from_ref(batch), options);
    }

    /// Creates a table of the files in the folder with its name.
    async fn table(&self, table: &str, rest: &str) {
        let folder = self.folder(table);
        let created = self
            .format
            .create_table(&self.context, table, &folder, rest);
        created.await.unwrap();
    }

    /// Returns the rows of a query as sorted text.
    async fn rows(&self, sql: &str) -> Vec<String> {
        let batches = common::query(&self.context, sql).await;
        common::sorted_rows(&batches.unwrap_or_else(|error| panic!("{sql}: {error}")))
    }

    /// Returns the rows of a query in their order.
    async fn ordered(&self, sql: &str) -> Vec<String> {
        let batches = common::query(&self.context, sql).await;
        common::rows(&batches.unwrap_or_else(|error| panic!("{sql}: {error}")))
    }

    /// Returns the plan of a query.
    async fn plan(&self, sql: &str) -> String {
        common::explain(&self.context, sql).await.unwrap()
    }
}

/// Options for stripes with this number of rows.
fn stripes_of(rows: u64) -> FileOptions {
    FileOptions {
        stripe_rows: rows,
        ..FileOptions::default()
    }
}
