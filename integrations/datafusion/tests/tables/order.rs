//! Tables of files with sorted rows.

use crate::common::{FileOptions, Format};
use crate::{Place, stripes_of};
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow_shard::metadata::SortingColumn;
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

fn by(path: &str, descending: bool) -> SortingColumn {
    SortingColumn {
        path: path.to_owned(),
        descending,
        nulls_first: descending,
    }
}

fn sorted(columns: Vec<SortingColumn>) -> FileOptions {
    FileOptions {
        sorting_columns: columns,
        ..stripes_of(1000)
    }
}

fn numbers(numbers: impl Iterator<Item = i64>) -> RecordBatch {
    let numbers: Vec<i64> = numbers.collect();
    let thirds: Vec<i64> = numbers.iter().map(|n| n / 3).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(Int64Array::from(numbers)) as ArrayRef, true),
        ("third", Arc::new(Int64Array::from(thirds)), true),
    ])
    .unwrap()
}

#[tokio::test]
async fn sorted_shards_are_not_sorted_again() {
    let place = Place::new();
    if place.format == Format::Parquet {
        return;
    }
    let options = sorted(vec![by("third", false), by("n", false)]);
    place.write(&place.file("t", "1"), &numbers(0..3000), &options);
    place.write(&place.file("t", "2"), &numbers(2000..6000), &options);
    place.table("t", "").await;
    let expected: Vec<String> = {
        let mut all: Vec<i64> = (0..3000).chain(2000..6000).collect();
        all.sort_unstable();
        all.iter().map(i64::to_string).collect()
    };
    for order in ["third, n", "third"] {
        let sql = format!("SELECT n FROM t ORDER BY {order}");
        let plan = place.plan(&sql).await;
        assert!(!plan.contains("SortExec"), "{plan}");
        let rows = place.ordered(&sql).await;
        match order {
            "third" => assert_eq!(rows.len(), expected.len()),
            _ => assert_eq!(rows, expected),
        }
    }
    // Another order needs a sort; a filter makes no difference.
    for (sql, sorts) in [
        ("SELECT n FROM t ORDER BY n", true),
        ("SELECT n FROM t ORDER BY third DESC, n DESC", true),
        ("SELECT n FROM t WHERE n % 7 = 0 ORDER BY third, n", false),
        ("SELECT n FROM t ORDER BY third, n LIMIT 10", false),
    ] {
        let plan = place.plan(sql).await;
        assert_eq!(plan.contains("SortExec"), sorts, "{sql}: {plan}");
    }
    let last = place
        .ordered("SELECT n FROM t ORDER BY third DESC, n DESC LIMIT 3")
        .await;
    assert_eq!(last, ["5999", "5998", "5997"]);
    let first = place
        .ordered("SELECT n FROM t WHERE n % 7 = 0 ORDER BY third, n LIMIT 3")
        .await;
    assert_eq!(first, ["0", "7", "14"]);
}

#[tokio::test]
async fn the_last_rows_of_sorted_shards_are_read_first() {
    let place = Place::new();
    if place.format == Format::Parquet {
        return;
    }
    place.write(
        &place.file("t", "1"),
        &numbers(0..20_000),
        &sorted(vec![by("n", false)]),
    );
    place.table("t", "").await;
    let sql = "SELECT n FROM t ORDER BY n DESC LIMIT 5";
    let plan = place.plan(sql).await;
    assert!(plan.contains("stripes_reversed=true"), "{plan}");
    let (plan, batches) = crate::common::run_plan(&place.context, sql).await.unwrap();
    let rows = crate::common::rows(&batches);
    assert_eq!(rows, ["19999", "19998", "19997", "19996", "19995"]);
    let read = crate::common::metric(&plan, "DataSource", "output_rows");
    assert!(read <= 2000, "{read} rows of 20000 were read");
}

#[tokio::test]
async fn an_order_that_not_all_files_have_is_no_order() {
    let place = Place::new();
    place.write(
        &place.file("t", "1"),
        &numbers(0..2000),
        &sorted(vec![by("n", false)]),
    );
    place.write(
        &place.file("t", "2"),
        &numbers((0..2000).rev()),
        &sorted(vec![by("n", true)]),
    );
    place.write(
        &place.file("t", "3"),
        &numbers((0..2000).rev()),
        &stripes_of(300),
    );
    place.table("t", "").await;
    let rows = place.ordered("SELECT n FROM t ORDER BY n").await;
    let expected: Vec<String> = (0..2000)
        .flat_map(|n| [n; 3])
        .map(|n: i64| n.to_string())
        .collect();
    assert_eq!(rows, expected);
    let rows = place
        .ordered("SELECT n FROM t ORDER BY n DESC LIMIT 4")
        .await;
    assert_eq!(rows, ["1999", "1999", "1999", "1998"]);
}

#[tokio::test]
async fn nulls_stand_where_the_order_says() {
    for (nulls_first, order) in [(true, "n NULLS FIRST"), (false, "n NULLS LAST")] {
        let place = Place::new();
        let mut values: Vec<Option<i64>> = (0..50).map(Some).collect();
        let at = if nulls_first { 0 } else { values.len() };
        values.splice(at..at, [None, None]);
        let array: ArrayRef = Arc::new(Int64Array::from(values.clone()));
        let batch = RecordBatch::try_from_iter_with_nullable([("n", array, true)]).unwrap();
        let options = FileOptions {
            sorting_columns: vec![SortingColumn {
                nulls_first,
                ..by("n", false)
            }],
            ..stripes_of(10)
        };
        place.write(&place.file("t", "1"), &batch, &options);
        place.table("t", "").await;
        let text = |value: &Option<i64>| value.map_or("NULL".to_owned(), |n| n.to_string());
        let expected: Vec<String> = values.iter().map(text).collect();
        let rows = place
            .ordered(&format!("SELECT n FROM t ORDER BY {order}"))
            .await;
        assert_eq!(rows, expected);
        for (order, first) in [
            ("n NULLS FIRST", ["NULL", "NULL", "0"]),
            ("n NULLS LAST", ["0", "1", "2"]),
            ("n DESC NULLS FIRST", ["NULL", "NULL", "49"]),
            ("n DESC NULLS LAST", ["49", "48", "47"]),
        ] {
            let rows = place
                .ordered(&format!("SELECT n FROM t ORDER BY {order} LIMIT 3"))
                .await;
            assert_eq!(rows, first, "{order}");
        }
    }
}

fn nullable(values: &[Option<i64>]) -> RecordBatch {
    let array: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    RecordBatch::try_from_iter_with_nullable([("n", array, true)]).unwrap()
}

#[tokio::test]
async fn nulls_of_several_files_come_together() {
    for partitions in [1, 2, 5] {
        let place = Place::with(SessionConfig::new().with_target_partitions(partitions));
        let files: [&[Option<i64>]; 3] = [
            &[Some(1), Some(2), None],
            &[Some(3), Some(4), None],
            &[Some(5), Some(6)],
        ];
        for (i, values) in files.iter().enumerate() {
            let options = sorted(vec![by("n", false)]);
            place.write(
                &place.file("t", &i.to_string()),
                &nullable(values),
                &options,
            );
        }
        place.table("t", "").await;
        for (order, expected) in [
            ("n NULLS LAST", "1 2 3 4 5 6 NULL NULL"),
            ("n DESC NULLS FIRST", "NULL NULL 6 5 4 3 2 1"),
            ("n NULLS FIRST", "NULL NULL 1 2 3 4 5 6"),
        ] {
            let rows = place
                .ordered(&format!("SELECT n FROM t ORDER BY {order}"))
                .await;
            assert_eq!(rows.join(" "), expected, "{order}, {partitions} partitions");
        }
    }
}

#[tokio::test]
async fn what_is_above_a_limit_chooses_among_no_other_rows() {
    for partitions in [1, 2] {
        let place = Place::with(SessionConfig::new().with_target_partitions(partitions));
        let options = sorted(vec![by("n", false)]);
        place.write(&place.file("t", "1"), &numbers(0..20_000), &options);
        place.write(
            &place.file("keys", "1"),
            &numbers(5000..5010),
            &stripes_of(1000),
        );
        place.table("t", "").await;
        place.table("keys", "").await;
        let first = "SELECT n FROM t ORDER BY n LIMIT 1000";
        let joined = format!("SELECT k.n FROM keys k JOIN ({first}) s ON k.n = s.n");
        assert_eq!(place.rows(&joined).await, Vec::<String>::new());
        let last = format!("SELECT n FROM ({first}) ORDER BY n DESC LIMIT 2");
        assert_eq!(place.ordered(&last).await, ["999", "998"]);
        let matching = format!("SELECT n FROM ({first}) WHERE n % 400 = 1 ORDER BY n DESC");
        assert_eq!(place.ordered(&matching).await, ["801", "401", "1"]);
    }
}
