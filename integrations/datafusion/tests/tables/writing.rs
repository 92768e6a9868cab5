//! Files that SQL writes.

use crate::Place;
use crate::common::{Format, query};
use arrow_shard::Shard;
use std::path::{Path, PathBuf};

/// Returns the paths of all files below a folder, ascending.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

async fn copy(place: &Place, sql: &str, target: &Path, rest: &str) -> Result<(), String> {
    let statement = format!(
        "COPY ({sql}) TO '{}' STORED AS {} {rest}",
        target.display(),
        place.format.name()
    );
    match query(&place.context, &statement).await {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

const NUMBERS: &str = "SELECT value AS n, value % 3 AS k FROM generate_series(0, 999)";

#[tokio::test]
async fn inserted_rows_are_in_files_of_their_own() {
    let place = Place::new();
    copy(&place, NUMBERS, &place.file("t", "1"), "")
        .await
        .unwrap();
    place.table("t", "").await;
    let inserted = place
        .rows("INSERT INTO t SELECT n + 1000, k FROM t WHERE n < 10")
        .await;
    assert_eq!(inserted, ["10"]);
    assert_eq!(
        place.rows("SELECT count(*), max(n) FROM t").await,
        ["1010|1009"]
    );
    let inserted = place
        .rows("INSERT INTO t VALUES (5000, 1), (5001, 0)")
        .await;
    assert_eq!(inserted, ["2"]);
    assert_eq!(
        place.rows("SELECT count(*), max(n), count(k) FROM t").await,
        ["1012|5001|1012"]
    );
    assert!(files(&place.folder("t")).len() >= 3);
}

#[tokio::test]
async fn overwriting_replaces_all_rows() {
    let place = Place::new();
    if place.format == Format::Parquet {
        return;
    }
    copy(&place, NUMBERS, &place.file("t", "1"), "")
        .await
        .unwrap();
    place.table("t", "").await;
    let inserted = place
        .rows("INSERT OVERWRITE t SELECT n * 2, k FROM t WHERE n < 10")
        .await;
    assert_eq!(inserted, ["10"]);
    assert_eq!(
        place.rows("SELECT count(*), max(n) FROM t").await,
        ["10|18"]
    );
    // A failed overwrite leaves the old rows.
    let failed = "INSERT OVERWRITE t SELECT 10 / (n - 18), k FROM t";
    assert!(query(&place.context, failed).await.is_err());
    assert_eq!(
        place.rows("SELECT count(*), max(n) FROM t").await,
        ["10|18"]
    );
}

#[tokio::test]
async fn copies_are_partitioned_by_columns() {
    let place = Place::new();
    let folder = place.folder("t");
    copy(&place, NUMBERS, &folder, "PARTITIONED BY (k)")
        .await
        .unwrap();
    place.table("t", "PARTITIONED BY (k)").await;
    for k in 0..3 {
        let sql = format!("SELECT count(*), min(n) FROM t WHERE k = '{k}'");
        let count = if k == 0 { 334 } else { 333 };
        assert_eq!(place.rows(&sql).await, [format!("{count}|{k}")]);
    }
    let plan = place.plan("SELECT n FROM t WHERE k = '1'").await;
    assert!(plan.contains("k=1") && !plan.contains("k=2"), "{plan}");
    let names: Vec<_> = files(&folder);
    assert!(
        names
            .iter()
            .all(|name| name.extension().unwrap() == place.format.extension())
    );
}

#[tokio::test]
async fn rows_are_inserted_into_partitions() {
    let place = Place::new();
    let create = format!(
        "CREATE EXTERNAL TABLE t (n BIGINT, k VARCHAR) STORED AS {} PARTITIONED BY (k) LOCATION '{}/'",
        place.format.name(),
        place.folder("t").display()
    );
    query(&place.context, &create).await.unwrap();
    let insert = "INSERT INTO t VALUES (1, 'a'), (2, 'b c'), (3, 'a'), (4, 'x')";
    assert_eq!(place.rows(insert).await, ["4"]);
    assert_eq!(
        place.rows("SELECT k, sum(n) FROM t GROUP BY k").await,
        ["a|4", "b c|2", "x|4"]
    );
    assert_eq!(place.rows("SELECT n FROM t WHERE k = 'b c'").await, ["2"]);
    let insert = "INSERT INTO t SELECT n + 10, k FROM t";
    assert_eq!(place.rows(insert).await, ["4"]);
    assert_eq!(
        place.rows("SELECT k, count(*) FROM t GROUP BY k").await,
        ["a|4", "b c|2", "x|2"]
    );
}

#[tokio::test]
async fn options_of_a_copy_are_those_of_its_files() {
    let place = Place::new();
    if place.format == Format::Parquet {
        return;
    }
    let path = place.file("t", "1");
    let options = "OPTIONS ('format.profile' 'high_compression', 'shard.stripe_rows' '100', \
                   'format.sorting_columns' 'n')";
    copy(&place, NUMBERS, &path, options).await.unwrap();
    let shard = Shard::open(&path).unwrap();
    assert_eq!(shard.num_rows(), 1000);
    assert_eq!(shard.stripes().unwrap().len(), 10);
    shard.properties().unwrap();
    let sorting = shard.sorting_columns().unwrap();
    assert_eq!(sorting.len(), 1);
    assert_eq!(sorting[0].path, "n");
    for (options, message) in [
        (
            "OPTIONS ('format.profile' 'tiny')",
            "expected plain, fast, balanced",
        ),
        ("OPTIONS ('format.profil' 'fast')", "profil"),
        ("OPTIONS ('shard.profil' 'fast')", "profil"),
        ("OPTIONS ('format.stripe_rows' 'many')", "many"),
        ("OPTIONS ('format.sorting_columns' 'nowhere')", "nowhere"),
    ] {
        let error = copy(&place, NUMBERS, &path, options).await.unwrap_err();
        assert!(error.contains(message), "{options}: {error}");
    }
    assert_eq!(Shard::open(&path).unwrap().stripes().unwrap().len(), 10);
}

#[tokio::test]
async fn a_failed_copy_leaves_no_file() {
    let place = Place::new();
    if place.format == Format::Parquet {
        return;
    }
    let folder = place.folder("t");
    let sql = "SELECT 10 / (value - 60000) FROM generate_series(0, 99999)";
    let error = copy(&place, sql, &folder.join("1.shard"), "")
        .await
        .unwrap_err();
    assert!(error.contains("ivide by zero"), "{error}");
    assert_eq!(files(&folder), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_failed_copy_leaves_the_file_that_was_there() {
    let place = Place::new();
    if place.format == Format::Parquet {
        return;
    }
    let path = place.file("t", "1");
    copy(&place, NUMBERS, &path, "").await.unwrap();
    let before = std::fs::read(&path).unwrap();
    let sql = "SELECT 10 / (value - 60000) FROM generate_series(0, 99999)";
    let error = copy(&place, sql, &path, "").await.unwrap_err();
    assert!(error.contains("ivide by zero"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(files(&place.folder("t")), [path]);
}

#[tokio::test]
async fn a_writer_that_fails_says_why() {
    let place = Place::new();
    if place.format == Format::Parquet {
        return;
    }
    let path = place.file("t", "1");
    let sql = "SELECT value AS n FROM generate_series(0, 999999)";
    let options = "OPTIONS ('format.sorting_columns' 'nowhere')";
    let error = copy(&place, sql, &path, options).await.unwrap_err();
    assert!(error.contains("nowhere"), "{error}");
    assert!(!path.exists());
}

#[tokio::test]
async fn a_copy_of_no_rows_is_an_empty_table_or_none() {
    let place = Place::new();
    let path = place.file("t", "1");
    let sql = "SELECT value AS n, 'x' AS text FROM generate_series(1, 0)";
    copy(&place, sql, &path, "").await.unwrap();
    if path.exists() {
        place.table("t", "").await;
        assert_eq!(
            place
                .rows("SELECT count(*), min(n), max(text) FROM t")
                .await,
            ["0|NULL|NULL"]
        );
    }
}

#[tokio::test]
async fn a_table_that_is_created_with_an_order_writes_it() {
    let place = Place::new();
    let create = format!(
        "CREATE EXTERNAL TABLE t (n BIGINT, k BIGINT) STORED AS {} WITH ORDER (k DESC, n) LOCATION '{}/'",
        place.format.name(),
        place.folder("t").display()
    );
    query(&place.context, &create).await.unwrap();
    place
        .rows(&format!("INSERT INTO t {NUMBERS} ORDER BY random()"))
        .await;
    place.rows("INSERT INTO t VALUES (7, 1), (3, 9)").await;
    let sql = "SELECT k, n FROM t ORDER BY k DESC, n";
    let plan = place.plan(sql).await;
    assert!(!plan.contains("SortExec"), "{plan}");
    let rows = place.ordered(sql).await;
    assert_eq!(rows.len(), 1002);
    assert_eq!(rows[..2], ["9|3", "2|2"]);
    let sorted: Vec<(i64, i64)> = rows
        .iter()
        .map(|row| row.split_once('|').unwrap())
        .map(|(k, n)| (-k.parse::<i64>().unwrap(), n.parse().unwrap()))
        .collect();
    assert!(sorted.is_sorted());
    if place.format == Format::Shard {
        for file in files(&place.folder("t")) {
            let shard = Shard::open(&file).unwrap();
            shard.properties().unwrap();
            let sorting = shard.sorting_columns().unwrap();
            assert_eq!(sorting[0].path, "k");
            assert!(sorting[0].descending);
        }
    }
}
