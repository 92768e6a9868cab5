//! Queries that metadata can answer, and queries that they must not answer.

use crate::common::{FileOptions, Format};
use crate::{Place, stripes_of};
use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray};
use std::sync::Arc;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, a)| (name, a, true)))
        .unwrap()
}

/// Creates a table of two files, with stripes of two rows.
async fn numbers() -> Place {
    let place = Place::new();
    for (name, numbers) in [
        ("1", [Some(5), None, Some(-3), Some(8)]),
        ("2", [Some(40), Some(2), None, None]),
    ] {
        let texts = numbers.map(|n: Option<i64>| n.map(|n| format!("text {n}")));
        let batch = batch(vec![
            ("n", Arc::new(Int64Array::from(numbers.to_vec()))),
            ("text", Arc::new(StringArray::from(texts.to_vec()))),
            (
                "price",
                Arc::new(Decimal128Array::from_iter(
                    numbers.map(|n| n.map(i128::from)),
                )),
            ),
        ]);
        place.write(&place.file("t", name), &batch, &stripes_of(2));
    }
    place.table("t", "").await;
    place
}

#[tokio::test]
async fn counts_and_bounds_are_answered_without_a_scan() {
    let place = numbers().await;
    for (sql, answer) in [
        ("SELECT count(*) FROM t", "8"),
        ("SELECT count(1) FROM t", "8"),
        ("SELECT count(n) FROM t", "5"),
        ("SELECT count(text) FROM t", "5"),
        ("SELECT min(n), max(n) FROM t", "-3|40"),
        (
            "SELECT min(n), max(n), count(*), count(n) FROM t",
            "-3|40|8|5",
        ),
        ("SELECT max(n) + 1 FROM t", "41"),
    ] {
        assert_eq!(place.rows(sql).await, [answer], "{sql}");
        let plan = place.plan(sql).await;
        assert!(!plan.contains("DataSourceExec"), "{sql}: {plan}");
    }
    for (sql, answer) in [
        ("SELECT min(text), max(text) FROM t", "text -3|text 8"),
        ("SELECT sum(n) FROM t", "52"),
        ("SELECT count(*) FROM t WHERE n > 4", "3"),
        ("SELECT count(DISTINCT n) FROM t", "5"),
        ("SELECT min(n) FROM t WHERE n > 2", "5"),
        (
            "SELECT min(price), max(price) FROM t",
            "-0.0000000003|0.0000000040",
        ),
    ] {
        assert_eq!(place.rows(sql).await, [answer], "{sql}");
    }
}

#[tokio::test]
async fn bounds_of_long_texts_are_not_cut() {
    let place = Place::new();
    let prefix = "long".repeat(200);
    for (name, endings) in [("1", ["b", "c"]), ("2", ["a", "d"])] {
        let texts = endings.map(|ending| format!("{prefix}{ending}"));
        let batch = batch(vec![("text", Arc::new(StringArray::from(texts.to_vec())))]);
        place.write(&place.file("t", name), &batch, &FileOptions::default());
    }
    place.table("t", "").await;
    let answer = place.rows("SELECT min(text), max(text) FROM t").await;
    assert_eq!(answer, [format!("{prefix}a|{prefix}d")]);
    let equal = format!("SELECT count(*) FROM t WHERE text >= '{prefix}d'");
    assert_eq!(place.rows(&equal).await, ["1"]);
    let ordered = place
        .ordered("SELECT text FROM t ORDER BY text DESC LIMIT 1")
        .await;
    assert_eq!(ordered, [format!("{prefix}d")]);
}

#[tokio::test]
async fn bounds_of_floats_mind_what_is_no_number() {
    let place = Place::new();
    let files = [
        ("nan", vec![1.0, f64::NAN, 3.0]),
        ("zeros", vec![0.0, -0.0, 0.0]),
        ("infinite", vec![f64::INFINITY, f64::NEG_INFINITY, 0.5]),
        ("only_nan", vec![f64::NAN, f64::NAN]),
    ];
    for (name, values) in files {
        let array: ArrayRef = Arc::new(Float64Array::from(values.clone()));
        place.write(
            &place.file(name, "1"),
            &batch(vec![("f", array.clone())]),
            &stripes_of(2),
        );
        place.table(name, "").await;
        let memory = format!("memory_{name}");
        let batch = batch(vec![("f", array)]);
        place.context.register_batch(&memory, batch).unwrap();
        for query in [
            "SELECT min(f), max(f) FROM {t}",
            "SELECT f FROM {t} WHERE f > 2",
            "SELECT f FROM {t} WHERE NOT (f <= 2)",
            "SELECT f FROM {t} WHERE f = 0.0",
            "SELECT f FROM {t} WHERE f >= CAST('-0.0' AS DOUBLE)",
            "SELECT f FROM {t} WHERE f < CAST('NaN' AS DOUBLE)",
            "SELECT f FROM {t} WHERE f = CAST('NaN' AS DOUBLE)",
            "SELECT count(*) FROM {t} WHERE f <> f",
            "SELECT f FROM {t} ORDER BY f LIMIT 2",
            "SELECT f FROM {t} ORDER BY f DESC LIMIT 2",
        ] {
            let of = |table: &str| query.replace("{t}", table);
            // -0.0 equals 0.0, so either may come first.
            let unsigned = |rows: Vec<String>| -> Vec<String> {
                rows.iter().map(|row| row.replace("-0.0", "0.0")).collect()
            };
            let expected = unsigned(place.ordered(&of(&memory)).await);
            let rows = unsigned(place.ordered(&of(name)).await);
            assert_eq!(rows, expected, "{query} of {name}");
        }
    }
}

#[tokio::test]
async fn deleted_rows_count_for_nothing() {
    let place = Place::new();
    if place.format == Format::Parquet {
        return;
    }
    let path = place.file("t", "1");
    let numbers = batch(vec![
        (
            "n",
            Arc::new(Int64Array::from(vec![
                Some(1),
                None,
                Some(9),
                Some(4),
                None,
                Some(2),
            ])),
        ),
        (
            "text",
            Arc::new(StringArray::from(vec![
                Some("a"),
                Some("b"),
                None,
                Some("z"),
                None,
                Some("c"),
            ])),
        ),
    ]);
    place.write(&path, &numbers, &stripes_of(3));
    // The minimum, a null and the maximum are deleted: 4, null and 2 remain.
    place.format.delete_rows(&path, &[0, 1, 2]);
    place.table("t", "").await;
    for (sql, answer) in [
        ("SELECT count(*) FROM t", "3"),
        ("SELECT count(n), count(text) FROM t", "2|2"),
        ("SELECT min(n), max(n) FROM t", "2|4"),
        ("SELECT min(text), max(text) FROM t", "c|z"),
        ("SELECT count(*) FROM t WHERE n IS NULL", "1"),
        ("SELECT count(*) FROM t WHERE n >= 1", "2"),
        (
            "SELECT count(DISTINCT n), count(DISTINCT text) FROM t",
            "2|2",
        ),
        ("SELECT count(*) FROM t WHERE n = 9 OR text = 'a'", "0"),
        ("SELECT sum(n) FROM t", "6"),
    ] {
        assert_eq!(place.rows(sql).await, [answer], "{sql}");
    }
    assert_eq!(
        place
            .ordered("SELECT n FROM t ORDER BY n DESC NULLS LAST LIMIT 1")
            .await,
        ["4"]
    );
    assert_eq!(
        place
            .ordered("SELECT n FROM t LIMIT 1 OFFSET 1")
            .await
            .len(),
        1
    );

    // All rows of a file are deleted.
    place.format.delete_rows(&path, &[3, 4, 5]);
    let folder = place.folder("t");
    let created = place
        .format
        .create_table(&place.context, "u", &folder, "")
        .await;
    created.unwrap();
    assert_eq!(
        place
            .rows("SELECT count(*), min(n), max(text) FROM u")
            .await,
        ["0|NULL|NULL"]
    );
    assert_eq!(place.rows("SELECT n FROM u WHERE n > 0").await, [""; 0]);
    // The existing table returns the rows of the changed file.
    assert_eq!(place.rows("SELECT n FROM t WHERE n > 0").await, [""; 0]);
}

#[tokio::test]
async fn bounds_that_a_cast_changes_are_not_believed() {
    let place = Place::new();
    let texts = batch(vec![(
        "v",
        Arc::new(StringArray::from(vec!["9", "10", "-1"])),
    )]);
    place.write(&place.file("t", "1"), &texts, &FileOptions::default());
    let create = format!(
        "CREATE EXTERNAL TABLE t (v BIGINT) STORED AS {} LOCATION '{}/'",
        place.format.name(),
        place.folder("t").display()
    );
    crate::common::query(&place.context, &create).await.unwrap();
    assert_eq!(
        place.rows("SELECT min(v), max(v), count(*) FROM t").await,
        ["-1|10|3"]
    );
    assert_eq!(place.rows("SELECT v FROM t WHERE v > 9").await, ["10"]);
    assert_eq!(
        place.ordered("SELECT v FROM t ORDER BY v LIMIT 1").await,
        ["-1"]
    );
}

#[tokio::test]
async fn the_statistics_of_a_struct_are_not_those_of_the_next_column() {
    let place = Place::new();
    let sql = "SELECT {a: 100, b: {c: 'x', d: -5}} AS s, n FROM (VALUES (1), (2)) AS v (n)";
    let copy = format!(
        "COPY ({sql}) TO '{}' STORED AS {}",
        place.file("t", "1").display(),
        place.format.name()
    );
    crate::common::query(&place.context, &copy).await.unwrap();
    place.table("t", "").await;
    assert_eq!(
        place
            .rows("SELECT min(n), max(n), count(n), count(s) FROM t")
            .await,
        ["1|2|2|2"]
    );
    assert_eq!(
        place
            .rows("SELECT s['b']['d'], n FROM t WHERE s['a'] = 100 AND n > 1")
            .await,
        ["-5|2"]
    );
}
