//! Queries with scheduler and executor in the client's process.

use crate::tables::{answer, compare, create_tables, local, run, try_answer, write_tables};
use arrow_shard::ops::{AttachOptions, attach_with, list_parquet_files};
use arrow_shard_ballista::{
    EnvironmentStores, runtime_env, session_config, session_state, standalone_with_state,
};
use ballista_core::extension::SessionConfigExt;
use datafusion::prelude::SessionContext;
use std::sync::Arc;
use tempfile::TempDir;

/// Creates a session with an executor of two slots.
async fn standalone() -> SessionContext {
    let config = session_config()
        .with_target_partitions(4)
        .set_usize("ballista.standalone.parallelism", 2);
    assert_eq!(config.ballista_standalone_parallelism(), 2);
    let runtime = runtime_env(Arc::new(EnvironmentStores::default())).unwrap();
    let state = session_state(config, runtime).unwrap();
    standalone_with_state(state).await.unwrap()
}

/// Creates a folder, and returns it with its path and a final slash.
fn folder() -> (TempDir, String) {
    let folder = TempDir::with_prefix("a table of 1 %").unwrap();
    let at = format!("{}/", folder.path().display());
    (folder, at)
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_are_those_of_one_machine() {
    let (_folder, at) = folder();
    let (one, many) = (local(), standalone().await);
    run(&one, &write_tables(&at, 3, 1500)).await;
    for session in [&one, &many] {
        run(session, &create_tables(&at)).await;
    }
    compare(&one, &many).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_over_attached_files_are_those_of_one_machine() {
    let (_folder, at) = folder();
    let (one, many) = (local(), standalone().await);
    let mut statements = write_tables(&at, 3, 1500);
    // Orders are Parquet files below a shard over them.
    for (file, sql) in statements.iter_mut().take(3).enumerate() {
        let (query, _) = sql.rsplit_once("TO '").unwrap();
        *sql = format!(
            "{query} TO '{at}orders/lake/{file}.parquet' STORED AS PARQUET
             OPTIONS ('format.max_row_group_size' '512')"
        );
    }
    run(&one, &statements).await;
    let files = list_parquet_files(format!("{at}orders/lake")).unwrap();
    let options = AttachOptions::default().with_stripe_rows(512);
    let attached = attach_with(files, format!("{at}orders/all.shard"), options).unwrap();
    assert_eq!((attached.num_rows(), attached.num_stripes()), (4500, 9));
    for session in [&one, &many] {
        run(session, &create_tables(&at)).await;
    }
    compare(&one, &many).await;
    let sql = "SELECT count(*), sum(id) FROM orders WHERE note = 'note 3'";
    let matches = |id: &i64| id % 5 > 0 && id % 17 == 3;
    let ids: Vec<i64> = (0..4500).filter(matches).collect();
    let expected = format!("| {} | {} |", ids.len(), ids.iter().sum::<i64>());
    assert_eq!(answer(&many, sql).await, [expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cluster_writes_is_what_it_was_given() {
    let (_folder, at) = folder();
    let (one, many) = (local(), standalone().await);
    run(&many, &write_tables(&at, 2, 1600)).await;
    for session in [&one, &many] {
        run(session, &create_tables(&at)).await;
    }
    compare(&one, &many).await;

    // The options of COPY reach the executor.
    let shard = arrow_shard::Shard::open(format!("{at}orders/0.shard")).unwrap();
    assert_eq!(shard.num_stripes(), 4);

    let more = "INSERT INTO customers VALUES (200, 'new', 'r9'), (201, NULL, 'r9')";
    assert_eq!(answer(&many, more).await, ["| 2 |"]);
    let more = "INSERT INTO events SELECT id + 5000, 1, 'r7', 2030 FROM orders WHERE id < 10";
    assert_eq!(answer(&many, more).await, ["| 10 |"]);
    let over = "INSERT OVERWRITE orders SELECT * FROM orders WHERE id >= 990";
    assert_eq!(answer(&many, over).await, ["| 2210 |"]);
    let one = local();
    run(&one, &create_tables(&at)).await;
    for (sql, expected) in [
        (
            "SELECT count(*), count(name) FROM customers",
            "| 102 | 101 |",
        ),
        ("SELECT count(*), min(id) FROM orders", "| 2210 | 990 |"),
        (
            "SELECT count(*) FROM events WHERE region = 'r7' AND year = 2030",
            "| 10 |",
        ),
    ] {
        assert_eq!(answer(&one, sql).await, [expected], "{sql}");
        assert_eq!(answer(&many, sql).await, [expected], "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_of_the_session_travel() {
    let (_folder, at) = folder();
    let many = standalone().await;
    let set = |option: &str| [format!("SET shard.{option}")];
    run(&many, &set("stripe_rows = 100")).await;
    let file = format!("{at}x.shard");
    let copy = format!("COPY (SELECT unnest(range(0, 1000)) AS id) TO '{file}' STORED AS SHARD");
    run(&many, std::slice::from_ref(&copy)).await;
    assert_eq!(arrow_shard::Shard::open(&file).unwrap().num_stripes(), 10);

    run(&many, &set("profile = 'nonsense'")).await;
    let error = try_answer(&many, &copy).await.unwrap_err().to_string();
    assert!(error.contains("expected plain, fast"), "{error}");
    run(&many, &set("profile = 'plain'")).await;

    let create = format!("CREATE EXTERNAL TABLE x STORED AS SHARD LOCATION '{file}'");
    run(&many, &[create]).await;
    let explain = "EXPLAIN ANALYZE SELECT id FROM x WHERE id % 7 = 3";
    let plan = answer(&many, explain).await.concat();
    assert!(!plan.contains("FilterExec"), "{plan}");
    run(&many, &set("pushdown_filters = false")).await;
    let plan = answer(&many, explain).await.concat();
    assert!(plan.contains("FilterExec"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_that_would_be_lost_are_refused() {
    let (_folder, at) = folder();
    let many = standalone().await;
    let copy = format!(
        "COPY (VALUES (1, 2)) TO '{at}x/' STORED AS SHARD PARTITIONED BY (column1)
         OPTIONS ('execution.keep_partition_by_columns' 'true')"
    );
    let error = try_answer(&many, &copy).await.unwrap_err().to_string();
    assert!(error.contains("SET datafusion.execution.keep"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_count_once_with_more_partitions_than_slots() {
    let (_folder, at) = folder();
    let many = standalone().await;
    run(&many, &write_tables(&at, 5, 999)).await;
    run(&many, &create_tables(&at)).await;
    for setting in [
        "datafusion.execution.target_partitions = 64",
        "datafusion.optimizer.repartition_file_min_size = 0",
        // Otherwise metadata would answer the queries.
        "datafusion.execution.collect_statistics = false",
    ] {
        run(&many, &[format!("SET {setting}")]).await;
    }
    for sql in [
        "SELECT count(*) FROM orders",
        "SELECT count(*) FROM orders WHERE id >= 0",
        "SELECT count(note) + count(*) - count(note) FROM orders",
        "SELECT count(*) FROM (SELECT DISTINCT id FROM orders)",
    ] {
        assert_eq!(answer(&many, sql).await, ["| 4995 |"], "{sql}");
    }
    let sql = "SELECT count(*) FROM events WHERE region = 'r2'";
    assert_eq!(answer(&many, sql).await, ["| 333 |"]);
}

/// Queries tables that no statement created, files without a table, and paths with patterns.
#[tokio::test(flavor = "multi_thread")]
async fn tables_need_no_statement() {
    let (_folder, at) = folder();
    let many = standalone().await;
    run(&many, &write_tables(&at, 3, 100)).await;
    let format = Arc::new(arrow_shard_datafusion::ShardFormat::default());
    let options = datafusion::datasource::listing::ListingOptions::new(format);
    many.register_listing_table(
        "some",
        format!("{at}orders/[01].shard"),
        options,
        None,
        None,
    )
    .await
    .unwrap();
    let sql = "SELECT count(*), max(id) FROM some";
    assert_eq!(answer(&many, sql).await, ["| 200 | 199 |"]);
    let many = many.enable_url_table();
    let sql = format!("SELECT count(*) FROM '{at}orders/2.shard' WHERE id < 250");
    assert_eq!(answer(&many, &sql).await, ["| 50 |"]);
    // A view over a table, and a subquery in an expression.
    let view = format!("CREATE VIEW v AS SELECT id FROM '{at}orders/2.shard'");
    run(&many, &[view]).await;
    let sql = "SELECT count(*) FROM some WHERE id + 100 IN (SELECT id FROM v)";
    assert_eq!(answer(&many, sql).await, ["| 100 |"]);
}
