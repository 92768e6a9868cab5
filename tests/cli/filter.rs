//! Commands that select rows by a condition.

use super::data::{nested, plain};
use super::{Folder, Value};
use arrow_array::{ArrayRef, BinaryArray, FixedSizeBinaryArray, Float32Array, RecordBatch};
use std::sync::Arc;

#[test]
fn cat_and_head_print_the_rows_that_match() {
    let folder = Folder::with(&plain(100));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    let ids = |arguments: &[&str]| {
        let options = ["t.shard", "--columns", "id", "--format", "csv"];
        folder.run(&[arguments, &options].concat()).ok()
    };
    let filter = "name = 'b,c' AND size BETWEEN 10 AND 50 AND id IS NOT NULL";
    let found = ids(&["cat", "--filter", filter]);
    assert_eq!(found, "id\n88\n116\n200\n256\n284\n");
    let filter = ["--filter", "id > 600 AND NOT flag = TRUE"];
    let found = ids(&[&["cat"][..], &filter].concat());
    let cut = [&["cat", "--offset", "1", "--limit", "2"][..], &filter].concat();
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines.len() > 4, "{found}");
    assert_eq!(ids(&cut).lines().collect::<Vec<_>>()[1..], lines[2..4]);
    let head = ids(&[&["head", "-n", "1"][..], &filter].concat());
    assert_eq!(head.lines().collect::<Vec<_>>(), lines[..2]);
    assert_eq!(ids(&["cat", "--filter", "id IN (5)"]), "id\n");
}

#[test]
fn times_decimals_and_members_are_compared_with_text_and_numbers() {
    let folder = Folder::with(&nested());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    for (filter, found) in [
        ("time > '1970-01-01T01:00:00'", 1),
        ("time >= '1969-12-31T23:59:59.999999Z'", 2),
        ("price = 123.45", 1),
        ("point.y LIKE 'u%' OR key = 'q'", 2),
        ("list IS NULL", 1),
    ] {
        let arguments = ["cat", "t.shard", "--format", "json", "--filter", filter];
        let json = folder.run(&arguments).ok();
        let rows = json
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert_eq!(rows.count(), found, "{filter}\n{json}");
    }
}

#[test]
fn filters_that_make_no_sense_say_where() {
    let folder = Folder::with(&plain(10));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    let error = folder
        .run(&["cat", "t.shard", "--filter", "id = 1 OR"])
        .error(2);
    assert!(
        error.starts_with("--filter, character 10: expected a column"),
        "{error}"
    );
    let error = folder
        .run(&["head", "t.shard", "--filter", "id > 0 AND nme IS NULL"])
        .error(2);
    assert!(
        error.starts_with("--filter, character 12: ") && error.contains("`name`"),
        "{error}"
    );
}

#[test]
fn a_filter_means_the_same_for_every_format() {
    let folder = Folder::with(&plain(20_000));
    let filter = "name = 'b,c' AND size BETWEEN 10 AND 50000 AND id IS NOT NULL";
    for name in ["t.shard", "t.parquet", "t.arrows", "t.csv", "t.ndjson"] {
        folder.run(&["convert", "t.arrow", name]).ok();
    }
    let found = |file: &str| {
        let columns = ["--columns", "id", "--format", "csv", "--offset", "3"];
        let arguments = [&["cat", file, "--filter", filter][..], &columns].concat();
        folder.run(&arguments).ok()
    };
    let want = found("t.shard");
    assert!(want.lines().count() > 1_000, "{want}");
    for file in super::NAMES {
        assert_eq!(found(file), want, "{file}");
        let arguments = ["convert", "--force", "--filter", filter, file, "some.csv"];
        folder.run(&arguments).ok();
        let rows = folder.run(&["cat", "some.csv", "--columns", "id", "--format", "csv"]);
        assert_eq!(
            rows.ok().lines().count(),
            want.lines().count() + 3,
            "{file}"
        );
        let wrong = ["head", file, "--filter", "nme IS NULL"];
        assert!(folder.run(&wrong).error(2).contains("`name`"), "{file}");
    }
}

#[test]
fn a_number_with_a_point_is_compared_exactly() {
    let folder = Folder::new();
    let rows = "c\n9007199254740992\n9007199254740993\n";
    std::fs::write(folder.path("t.csv"), rows).unwrap();
    let arguments = [
        "cat",
        "t.csv",
        "--format",
        "csv",
        "--filter",
        "c = 9007199254740993.0",
    ];
    assert_eq!(folder.run(&arguments).ok(), "c\n9007199254740993\n");
}

#[test]
fn patterns_are_for_text_and_filters_name_the_file() {
    let bytes = BinaryArray::from(vec![&b"abc"[..], b"\xFFabc"]);
    let ids = FixedSizeBinaryArray::try_from_iter([[7u8; 16], [8; 16]].into_iter()).unwrap();
    let columns = [
        ("b", Arc::new(bytes) as ArrayRef),
        ("u", Arc::new(ids)),
        ("f", Arc::new(Float32Array::from(vec![0.1, 0.2]))),
    ];
    let folder = Folder::with(&RecordBatch::try_from_iter(columns).unwrap());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    for file in ["t.arrow", "t.shard"] {
        let filtered = |filter: &str| {
            let options = ["cat", file, "--columns", "f", "--format", "csv", "--filter"];
            folder.run(&[&options[..], &[filter]].concat())
        };
        for (filter, place) in [
            ("b LIKE '%abc'", "character 8"),
            ("f > 0 AND u LIKE 'a%'", "character 18"),
            ("f = u", "character 5"),
        ] {
            let error = filtered(filter).error(2);
            assert!(error.contains(place), "{filter}: {error}");
        }
        assert_eq!(filtered("b LIKE 'ab%'").ok(), "f\n0.1\n");
        assert_eq!(filtered("f = 0.1").ok(), "f\n0.1\n");
        assert_eq!(filtered("f <= 0.1").ok(), "f\n0.1\n");
        assert_eq!(filtered("f <> 0.1 AND f < 1e300").ok(), "f\n0.2\n");
    }
}
