//! `count`

use super::{NAMES, all_formats, flights, objects, write};
use crate::Folder;
use serde_json::json;

#[test]
fn rows_of_every_format_are_counted() {
    let folder = all_formats(&flights(0, 100));
    for name in NAMES {
        assert_eq!(folder.run(&["count", name]).ok(), "100\n", "{name}");
        let some = ["count", name, "--filter", "id >= 90 AND origin = 'LIM'"];
        assert_eq!(folder.run(&some).ok(), "3\n", "{name}");
    }
    let csv = std::fs::read(folder.path("t.csv")).unwrap();
    let piped = folder.pipe(&["count", "--from", "csv", "-"], &csv);
    assert_eq!(piped.ok(), "100\n");
}

#[test]
fn deleted_rows_and_empty_files_do_not_count() {
    let folder = Folder::new();
    write(&folder, "t.shard", &flights(0, 100));
    folder.run(&["delete", "t.shard", "--rows", "3,99"]).ok();
    assert_eq!(folder.run(&["count", "t.shard"]).ok(), "98\n");
    let some = ["count", "t.shard", "--where", "id > 95"];
    assert_eq!(folder.run(&some).ok(), "3\n");
    for name in ["e.shard", "e.parquet", "e.arrow"] {
        write(&folder, name, &flights(0, 0));
        assert_eq!(folder.run(&["count", name]).ok(), "0\n", "{name}");
    }
}

#[test]
fn several_files_have_one_sum_and_on_request_a_line_each() {
    let folder = Folder::new();
    write(&folder, "a.shard", &flights(0, 5));
    write(&folder, "b.parquet", &flights(5, 100));
    assert_eq!(folder.run(&["count", "a.shard", "b.parquet"]).ok(), "105\n");
    let by_file = ["count", "--by-file", "a.shard", "b.parquet"];
    assert_eq!(folder.run(&by_file).ok(), "  5 a.shard\n100 b.parquet\n");
    let shown = folder.run(&["count", "--json", "a.shard"]).ok();
    assert_eq!(objects(&shown), [json!({ "rows": 5 })]);
    let shown = folder.run(&[&by_file[..], &["--json"]].concat()).ok();
    let files = json!([
        { "file": "a.shard", "rows": 5 },
        { "file": "b.parquet", "rows": 100 },
    ]);
    assert_eq!(objects(&shown), [json!({ "rows": 105, "files": files })]);
}

/// Only the footer is read, so that damage before it is not noticed.
#[test]
fn metadata_suffice_where_a_format_has_the_number() {
    let folder = all_formats(&flights(0, 10_000));
    for name in ["t.shard", "t.parquet"] {
        let mut bytes = std::fs::read(folder.path(name)).unwrap();
        bytes[20..200].fill(0xA5);
        std::fs::write(folder.path(name), bytes).unwrap();
        assert_eq!(folder.run(&["count", name]).ok(), "10000\n", "{name}");
        assert_ne!(folder.run(&["cat", name]).code, 0, "{name}");
    }
}

#[test]
fn errors_name_the_file_and_the_option() {
    let folder = Folder::new();
    write(&folder, "t.shard", &flights(0, 5));
    std::fs::copy(folder.path("t.shard"), folder.path("t.parquet")).unwrap();
    let error = folder.run(&["count", "t.parquet"]).error(1);
    assert!(error.contains("t.parquet: the content is shard"), "{error}");
    let error = folder.run(&["count", "none.parquet"]).error(1);
    assert!(error.contains("none.parquet"), "{error}");
    let error = folder.run(&["count", "t.shard", "--filter", "dely > 3"]);
    let error = error.error(2);
    assert!(
        error.contains("--filter") && error.contains("did you mean `delay`?"),
        "{error}"
    );
    let error = folder.run(&["count", "t.shard", "--delimiter", ";"]);
    assert!(error.error(2).contains("--delimiter applies only to CSV"));
}

#[test]
fn the_errors_of_counting_are_those_of_reading_and_name_the_file() {
    let folder = Folder::new();
    std::fs::write(folder.path("good.csv"), "a,b\n1,x\n").unwrap();
    std::fs::write(folder.path("bad.csv"), b"a,b\n1,x\n2,\xff\n").unwrap();
    std::fs::write(folder.path("ragged.csv"), "a,b\n1,x\n2\n").unwrap();
    for name in ["bad.csv", "ragged.csv"] {
        let want = folder.run(&["cat", name]).error(1);
        assert!(want.starts_with(name) && want.contains("line 3"), "{want}");
        assert_eq!(folder.run(&["count", name]).error(1), want);
        assert_eq!(folder.run(&["count", "good.csv", name]).error(1), want);
        let text = std::fs::read(folder.path(name)).unwrap();
        let piped = ["count", "-", "--from", "csv"];
        let error = folder.pipe(&piped, &text).error(1);
        assert_eq!(error, want.replace(name, "-"));
    }
    std::fs::write(folder.path("other.csv"), "c\n1\n").unwrap();
    let filter = ["--filter", "b = 'x'"];
    let several = [&["count", "good.csv", "other.csv"], &filter[..]].concat();
    let error = folder.run(&several).error(2);
    assert!(error.starts_with("other.csv: --filter, "), "{error}");
    write(&folder, "t.shard", &flights(0, 3));
    let several = [&["count", "good.csv", "t.shard"], &filter[..]].concat();
    let error = folder.run(&several).error(2);
    assert!(error.starts_with("t.shard: --filter, "), "{error}");
}
