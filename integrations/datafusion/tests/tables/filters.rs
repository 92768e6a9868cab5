//! Dynamic filters, and the options of filters.

use crate::common::{self, metric, query, run_plan};
use crate::{Place, stripes_of};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

const ROWS: i64 = 100_000;

/// Creates a table of ascending numbers in two shards of five stripes each, and a small table.
async fn place() -> Place {
    let place = Place::with(SessionConfig::new().with_target_partitions(1));
    for file in 0..2 {
        let numbers: Vec<i64> = (file * ROWS / 2..(file + 1) * ROWS / 2).collect();
        let texts: Vec<String> = numbers
            .iter()
            .map(|n| format!("text {}", n % 100))
            .collect();
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Int64Array::from(numbers)) as ArrayRef),
            ("text", Arc::new(StringArray::from(texts))),
        ]);
        place.write(
            &place.file("t", &file.to_string()),
            &batch.unwrap(),
            &stripes_of(10_000),
        );
    }
    place.table("t", "").await;
    query(
        &place.context,
        "CREATE TABLE few AS VALUES (11), (12), (10005)",
    )
    .await
    .unwrap();
    place
}

/// Returns the number of rows that scans of files returned, and the answer.
async fn scanned(place: &Place, sql: &str) -> (usize, Vec<String>) {
    let (plan, batches) = run_plan(&place.context, sql).await.unwrap();
    (
        metric(&plan, "DataSource", "output_rows"),
        common::rows(&batches),
    )
}

async fn set(place: &Place, option: &str, value: impl std::fmt::Display) {
    let set = format!("SET {option} = {value}");
    query(&place.context, &set).await.unwrap();
}

#[tokio::test]
async fn topk_reads_few_rows() {
    let place = place().await;
    set(
        &place,
        "datafusion.execution.parquet.pushdown_filters",
        true,
    )
    .await;
    for (sql, first) in [
        ("SELECT n FROM t ORDER BY n LIMIT 3", ["0", "1", "2"]),
        (
            "SELECT n FROM t ORDER BY n DESC LIMIT 3",
            ["99999", "99998", "99997"],
        ),
    ] {
        let (read, rows) = scanned(&place, sql).await;
        assert_eq!(rows, first);
        assert!(read < 30_000, "{sql} read {read} rows");
    }
    set(
        &place,
        "datafusion.optimizer.enable_dynamic_filter_pushdown",
        false,
    )
    .await;
    let (read, rows) = scanned(&place, "SELECT n FROM t ORDER BY n DESC LIMIT 1").await;
    assert_eq!(rows, ["99999"]);
    assert_eq!(read, 100_000);
}

#[tokio::test]
async fn the_bytes_that_scans_read_are_a_metric() {
    let place = Place::with(SessionConfig::new().with_target_partitions(2));
    let mixed = |n: i64| n.wrapping_mul(0x1E37_79B9_7F4A_7C15);
    let noise = (0..ROWS).map(|n| mixed(mixed(n + 1) ^ (mixed(n + 1) >> 29)));
    let columns = [
        ("n", Arc::new((0..ROWS).collect::<Int64Array>()) as ArrayRef),
        ("noise", Arc::new(noise.collect::<Int64Array>())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    place.write(&place.file("t", "0"), &batch, &stripes_of(10_000));
    place.table("t", "").await;
    let set_pushdown = "datafusion.execution.parquet.pushdown_filters";
    set(&place, set_pushdown, true).await;
    let mut bytes = Vec::new();
    for sql in [
        "SELECT n, noise FROM t",
        "SELECT noise FROM t WHERE n < 10000",
        "SELECT noise FROM t WHERE n < 0",
    ] {
        let (plan, _) = run_plan(&place.context, sql).await.unwrap();
        bytes.push(metric(&plan, "DataSource", "bytes_scanned"));
    }
    // Random numbers take eight bytes each; opening the shard has already read the last ones.
    assert!((730_000..2_000_000).contains(&bytes[0]), "{bytes:?}");
    assert!((80_000..200_000).contains(&bytes[1]), "{bytes:?}");
    assert_eq!(bytes[2], 0);
}

#[tokio::test]
async fn joins_read_few_rows() {
    let place = place().await;
    set(
        &place,
        "datafusion.execution.parquet.pushdown_filters",
        true,
    )
    .await;
    let sql = "SELECT t.n, t.text FROM few JOIN t ON few.column1 = t.n ORDER BY t.n";
    let (read, rows) = scanned(&place, sql).await;
    assert_eq!(rows, ["11|text 11", "12|text 12", "10005|text 5"]);
    // The limit includes the rows of `few`.
    assert!(read <= 10, "{read} rows were read");
}

#[tokio::test]
async fn bounds_of_joins_in_one_partition_and_in_several_skip_stripes() {
    let place = Place::with(SessionConfig::new().with_target_partitions(3));
    let few = (0..33).map(|i| Some(40_000 + i * 600));
    let few = few.chain([None]).collect();
    for (table, numbers) in [("many", (0..ROWS).map(Some).collect()), ("few", few)] {
        let numbers: Vec<Option<i64>> = numbers;
        let numbers = Arc::new(Int64Array::from(numbers)) as ArrayRef;
        let batch = RecordBatch::try_from_iter_with_nullable([("n", numbers, true)]).unwrap();
        place.write(&place.file(table, "0"), &batch, &stripes_of(10_000));
        place.table(table, "").await;
    }
    // A join with few keys pushes down a list, which the library evaluates as a predicate.
    let option = "datafusion.optimizer.hash_join_inlist_pushdown_max_size";
    set(&place, option, 0).await;
    for (most, mode) in [(1 << 20, "CollectLeft"), (0, "Partitioned")] {
        for option in ["", "_rows"] {
            let option = format!("hash_join_single_partition_threshold{option}");
            set(&place, &format!("datafusion.optimizer.{option}"), most).await;
        }
        for equals in ["=", "IS NOT DISTINCT FROM"] {
            let sql = format!("SELECT count(*) FROM few JOIN many ON few.n {equals} many.n");
            let (plan, batches) = run_plan(&place.context, &sql).await.unwrap();
            assert_eq!(common::rows(&batches), ["33"]);
            let plan_text = place.plan(&sql).await;
            assert!(plan_text.contains(mode), "{plan_text}");
            if place.format == common::Format::Shard {
                // Keys from 40,000 to 59,200 leave two stripes of ten.
                let skipped = metric(&plan, "DataSource", "rows_skipped_by_statistics");
                assert_eq!(skipped, 80_000, "{equals} {mode}");
            }
        }
    }
}

#[tokio::test]
async fn filters_are_pushed_down_where_the_session_and_the_table_say_so() {
    let place = place().await;
    let sql = "SELECT n FROM t WHERE n % 1000 = 7 AND text LIKE '%7' AND n > 50000";
    let expected: Vec<String> = (50..100).map(|k| (k * 1000 + 7).to_string()).collect();
    for (option, pushed) in [(true, true), (false, false)] {
        for name in [
            "shard.pushdown_filters",
            "datafusion.execution.parquet.pushdown_filters",
        ] {
            set(&place, name, option).await;
        }
        let plan = place.plan(sql).await;
        assert_eq!(!plan.contains("FilterExec"), pushed, "{plan}");
        let (read, rows) = scanned(&place, sql).await;
        assert_eq!(rows, expected);
        if pushed {
            assert_eq!(read, expected.len());
        } else {
            // Statistics still skip stripes without a number above 50,000.
            assert!((expected.len()..=50_000).contains(&read), "{read} rows");
        }
    }
    if place.format == common::Format::Shard {
        set(&place, "shard.pushdown_filters", true).await;
        let folder = place.folder("t");
        let options = "OPTIONS ('format.pushdown_filters' 'false')";
        let format = place.format;
        format
            .create_table(&place.context, "off", &folder, options)
            .await
            .unwrap();
        let sql = sql.replace("FROM t", "FROM off");
        let plan = place.plan(&sql).await;
        assert!(plan.contains("FilterExec"), "{plan}");
        assert_eq!(scanned(&place, &sql).await.1, expected);
    }
}

#[tokio::test]
async fn volatile_filters_are_asked_once_for_each_row() {
    let place = place().await;
    let rows = place
        .rows("SELECT count(*) FROM t WHERE random() >= 0 AND n < 10")
        .await;
    assert_eq!(rows, ["10"]);
    let rows = place
        .rows("SELECT count(*) FROM t WHERE random() < 0.5")
        .await;
    let count: i64 = rows[0].parse().unwrap();
    assert!((40_000..60_000).contains(&count), "{count}");
}

#[tokio::test]
async fn errors_of_filters_and_projections_are_errors_of_the_query() {
    let place = place().await;
    for sql in [
        "SELECT n FROM t WHERE 1 / (n - 5) = 7",
        "SELECT 10 / (n - 99999) FROM t",
        "SELECT n FROM t WHERE CAST(text AS INT) = 7",
    ] {
        let error = query(&place.context, sql).await.unwrap_err().to_string();
        let known = error.contains("ivide by zero") || error.contains("Cannot cast string");
        assert!(known, "{sql}: {error}");
    }
}
