//! The 22 queries of TPC-H at scale factor 0.1: shards, and shards over Parquet files, return the same answers as the
//! Parquet files, and as DuckDB.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]
#![expect(clippy::panic, reason = "says which case failed")]

#[path = "../common/mod.rs"]
mod common;
mod duckdb;
mod tables;

use common::{Format, query};
use datafusion::prelude::{SessionConfig, SessionContext};
use std::path::Path;
use tables::TABLES;

/// The folder of the queries.
const QUERIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tpch/queries");

/// Creates a session with the tables in the subfolders of `folder`.
async fn session(format: Format, folder: &Path, partitions: usize) -> SessionContext {
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        // Splits small files, too.
        .with_repartition_file_min_size(1 << 16);
    let context = Format::session(config);
    for table in TABLES {
        format
            .create_table(&context, table, &folder.join(table), "")
            .await
            .unwrap();
    }
    context
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_over_shards_have_the_answers_of_parquet_and_duckdb() {
    let folder = tempfile::tempdir().unwrap();
    let parquet_folder = folder.path().join("parquet");
    let tested_folder = folder.path().join("tested");
    let format = Format::tested();
    tables::write(Format::Parquet, &parquet_folder);
    tables::write(format, &tested_folder);
    let duckdb = duckdb::answers(&parquet_folder, QUERIES);
    let parquet = session(Format::Parquet, &parquet_folder, 2).await;
    tables::attach_all(&parquet_folder);
    let attached = session(Format::Shard, &parquet_folder, 2).await;
    let tested = session(format, &tested_folder, 3).await;
    for number in 1..=22 {
        let name = format!("q{number}");
        let sql = std::fs::read_to_string(format!("{QUERIES}/{name}.sql")).unwrap();
        let expected = query(&parquet, &sql).await.unwrap();
        let answer = query(&tested, &sql).await.unwrap();
        assert!(
            expected.iter().any(|batch| batch.num_rows() > 0),
            "{name} is empty"
        );
        assert_eq!(common::rows(&answer), common::rows(&expected), "{name}");
        let attached = query(&attached, &sql).await.unwrap();
        assert_eq!(common::rows(&attached), common::rows(&expected), "{name}");
        if let Some(duckdb) = &duckdb {
            duckdb.compare(&name, &answer);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_copied_to_shards_are_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    let format = Format::tested();
    let generated = folder.path().join("generated");
    tables::write_some(format, &generated, &["supplier", "partsupp", "nation"]);
    let copied = folder.path().join("copied");
    let context = Format::session(SessionConfig::new().with_target_partitions(2));
    for table in ["supplier", "partsupp", "nation"] {
        let source = generated.join(table);
        format
            .create_table(&context, table, &source, "")
            .await
            .unwrap();
        let target = copied.join(table);
        let (name, path) = (format.name(), target.display());
        let copy = format!("COPY {table} TO '{path}/' STORED AS {name}");
        query(&context, &copy).await.unwrap();
        let copy = format!("{table}_copy");
        format
            .create_table(&context, &copy, &target, "")
            .await
            .unwrap();
        for (a, b) in [(table, copy.as_str()), (copy.as_str(), table)] {
            let difference = format!("SELECT * FROM {a} EXCEPT ALL SELECT * FROM {b}");
            let difference = query(&context, &difference).await.unwrap();
            assert_eq!(
                common::rows(&difference),
                Vec::<String>::new(),
                "{a} without {b}"
            );
        }
    }
}
