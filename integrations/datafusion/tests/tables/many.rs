//! Tables of empty shards, of many shards, and with more partitions than rows.

use crate::common::{self, FileOptions, Format, metric, run_plan};
use crate::{Place, stripes_of};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_shard::Shard;
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

/// Returns ascending numbers from `first`, and texts.
fn numbers(first: i64, count: usize) -> RecordBatch {
    let numbers: Vec<i64> = (first..).take(count).collect();
    let texts: Vec<String> = numbers.iter().map(|n| format!("row {n}")).collect();
    RecordBatch::try_from_iter([
        ("n", Arc::new(Int64Array::from(numbers)) as ArrayRef),
        ("text", Arc::new(StringArray::from(texts))),
    ])
    .unwrap()
}

#[tokio::test]
async fn empty_shards_have_columns_and_no_rows() {
    let place = Place::new();
    place.write(
        &place.file("empty", "1"),
        &numbers(0, 0),
        &FileOptions::default(),
    );
    place.write(
        &place.file("some", "1"),
        &numbers(0, 0),
        &FileOptions::default(),
    );
    place.write(
        &place.file("some", "2"),
        &numbers(5, 3),
        &FileOptions::default(),
    );
    place.write(
        &place.file("some", "3"),
        &numbers(0, 0),
        &FileOptions::default(),
    );
    for table in ["empty", "some"] {
        place.table(table, "").await;
    }
    assert_eq!(
        place
            .rows("SELECT count(*), min(n), max(text) FROM empty")
            .await,
        ["0|NULL|NULL"]
    );
    assert_eq!(
        place
            .rows("SELECT * FROM empty WHERE n > 0 OR text LIKE 'r%'")
            .await,
        [""; 0]
    );
    assert_eq!(
        place.rows("SELECT n FROM empty ORDER BY n LIMIT 3").await,
        [""; 0]
    );
    assert_eq!(
        place
            .rows("SELECT count(*), min(n), max(text) FROM some")
            .await,
        ["3|5|row 7"]
    );
    assert_eq!(
        place.rows("SELECT n FROM some WHERE n > 5").await,
        ["6", "7"]
    );
    assert_eq!(
        place
            .ordered("SELECT n FROM some ORDER BY n DESC LIMIT 2")
            .await,
        ["7", "6"]
    );
}

#[tokio::test]
async fn every_row_is_read_once_by_more_partitions_than_there_are() {
    for (rows, stripe_rows) in [
        (1, 1),
        (3, 1),
        (3, 100),
        (70_000, 1 << 20),
        (200_000, 70_000),
    ] {
        for partitions in [1, 2, 7, 64] {
            let config = SessionConfig::new()
                .with_target_partitions(partitions)
                .with_repartition_file_min_size(0)
                .with_collect_statistics(false);
            let place = Place::with(config);
            place.write(
                &place.file("t", "1"),
                &numbers(0, rows),
                &stripes_of(stripe_rows),
            );
            place.table("t", "").await;
            let sum = rows * (rows - 1) / 2;
            let expected = [format!("{rows}|{sum}|{rows}")];
            let all = place
                .rows("SELECT count(*), sum(n), count(DISTINCT n) FROM t")
                .await;
            assert_eq!(all, expected, "{rows} rows, {partitions} partitions");
            let filtered =
                "SELECT count(*), sum(n), count(DISTINCT n) FROM t WHERE text LIKE 'row%'";
            assert_eq!(place.rows(filtered).await, expected);
            let count = place.rows("SELECT count(*) FROM t").await;
            assert_eq!(count, [rows.to_string()]);
        }
    }
}

#[tokio::test]
async fn large_shards_are_divided_among_partitions() {
    let config = SessionConfig::new()
        .with_target_partitions(3)
        .with_repartition_file_min_size(0);
    let place = Place::with(config);
    place.write(
        &place.file("t", "1"),
        &numbers(0, 300_000),
        &FileOptions::default(),
    );
    place.table("t", "").await;
    let plan = place.plan("SELECT sum(n) FROM t WHERE n % 2 = 0").await;
    assert!(plan.contains("file_groups={3 groups:"), "{plan}");
}

#[tokio::test]
async fn a_limit_reads_little() {
    let place = Place::with(SessionConfig::new().with_target_partitions(1));
    for file in 0..4 {
        let name = file.to_string();
        place.write(
            &place.file("t", &name),
            &numbers(file * 100_000, 100_000),
            &stripes_of(20_000),
        );
    }
    place.table("t", "").await;
    let (plan, batches) = run_plan(&place.context, "SELECT n FROM t LIMIT 10")
        .await
        .unwrap();
    assert_eq!(common::rows(&batches).len(), 10);
    let read = metric(&plan, "DataSource", "output_rows");
    assert_eq!(read, 10);
    let offset = place.rows("SELECT n FROM t LIMIT 5 OFFSET 399998").await;
    assert_eq!(offset.len(), 2);
}

/// Environment variable that marks the child process with a low limit of open files.
const FEW_FILES: &str = "TABLES_WITH_FEW_FILES";

/// Most open files of that process.
const FILES: u64 = 256;

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_shards_need_few_open_files() {
    use nix::sys::resource::{Resource, setrlimit};
    if std::env::var_os(FEW_FILES).is_none() {
        // The limit applies to a whole process, so the test runs in a process of its own.
        let name = "many::a_thousand_shards_need_few_open_files";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(FEW_FILES, "1")
            .output()
            .unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("1 passed"), "{text}");
        return;
    }
    let config = SessionConfig::new().with_target_partitions(8);
    let place = Place::with(config);
    for file in 0..1000 {
        let name = file.to_string();
        place.write(
            &place.file("t", &name),
            &numbers(file * 10, 10),
            &stripes_of(4),
        );
    }
    setrlimit(Resource::RLIMIT_NOFILE, FILES, FILES).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        place.table("t", "").await;
        assert_eq!(
            place.rows("SELECT count(*), max(n) FROM t").await,
            ["10000|9999"]
        );
        let sum = "SELECT sum(n), count(DISTINCT text) FROM t";
        assert_eq!(place.rows(sum).await, ["49995000|10000"]);
        assert_eq!(
            place.rows("SELECT text FROM t WHERE n = 7777").await,
            ["row 7777"]
        );
        let last = "SELECT n FROM t ORDER BY n DESC LIMIT 3";
        assert_eq!(place.ordered(last).await, ["9999", "9998", "9997"]);
        let joined = "SELECT count(*) FROM t a JOIN t b ON a.n = b.n + 1 WHERE a.text <> b.text";
        assert_eq!(place.rows(joined).await, ["9999"]);
    });
}

#[tokio::test]
async fn files_of_another_format_are_named() {
    let place = Place::new();
    let path = place.file("t", "1");
    std::fs::write(
        &path,
        b"this is no file of any format, but long enough to be read",
    )
    .unwrap();
    let created = place
        .format
        .create_table(&place.context, "t", &path, "")
        .await;
    let message = created.unwrap_err().to_string();
    if place.format == Format::Shard {
        assert!(message.contains("1.shard"), "{message}");
    }
}

#[tokio::test]
async fn the_damaged_file_of_several_is_named() {
    let place = Place::new();
    if place.format != Format::Shard {
        return;
    }
    let path = |name: &str| place.file("t", name);
    for name in ["1", "2", "3"] {
        place.write(&path(name), &numbers(10_000, 2000), &stripes_of(1000));
    }
    // Finds a byte that, when damaged, lets the shard open but makes a scan fail. The table is created after the
    // damage, because an open shard keeps the metadata that it has read.
    let mut bytes = std::fs::read(path("2")).unwrap();
    let ends_a_scan = |bytes: &[u8]| {
        Shard::from_bytes(bytes.to_vec().into()).is_ok_and(|shard| {
            shard
                .scan()
                .build()
                .is_ok_and(|mut scan| scan.any(|batch| batch.is_err()))
        })
    };
    let damaged = (64..bytes.len()).find(|&at| {
        bytes[at] ^= 1;
        let found = ends_a_scan(&bytes);
        bytes[at] ^= u8::from(!found);
        found
    });
    assert!(damaged.is_some());
    std::fs::write(path("2"), bytes).unwrap();
    place.table("t", "").await;
    let read = place.context.sql("SELECT n, text FROM t").await.unwrap();
    let message = read.collect().await.unwrap_err().to_string();
    let shown = path("2").canonicalize().unwrap();
    assert!(message.contains(&shown.display().to_string()), "{message}");
    for name in ["1", "3"] {
        let other = path(name).canonicalize().unwrap();
        assert!(!message.contains(&other.display().to_string()), "{message}");
    }
}
