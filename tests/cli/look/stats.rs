//! `stats`

use super::{NAMES, all_formats, flights, objects, write};
use crate::data::nested;
use crate::{Folder, write_ipc};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Decimal128Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use serde_json::{Value, json};
use std::sync::Arc;

/// Returns the statistics of a column.
fn column(folder: &Folder, arguments: &[&str], name: &str) -> Value {
    let all = folder.run(&[&["stats", "--json"], arguments].concat()).ok();
    let found = objects(&all).into_iter().find(|it| it["column"] == name);
    found.unwrap_or_else(|| unreachable!("{name} in {all}"))
}

#[test]
fn nulls_bounds_and_lengths_are_known_for_every_format() {
    let folder = all_formats(&flights(0, 1_000));
    // COLE has neither nulls nor dates.
    for name in NAMES.into_iter().filter(|name| *name != "t.cole") {
        for options in [&[][..], &["--scan"]] {
            let of = |column_name| column(&folder, &[&[name], options].concat(), column_name);
            let place = format!("{name} {options:?}");
            let delay = of("delay");
            assert_eq!(delay["nulls"], 200, "{place}");
            assert_eq!(
                (&delay["min"], &delay["max"]),
                (&json!(2), &json!(1998)),
                "{place}"
            );
            assert_eq!(delay["type"], "Int64");
            let day = of("day");
            assert_eq!(day["min"], "2024-01-01", "{place}");
            assert_eq!(day["max"], "2024-04-09", "{place}");
            let origin = of("origin");
            assert_eq!(origin["min"], "LIM", "{place}");
            assert_eq!(origin["nulls"], 0);
            if name != "t.parquet" || !options.is_empty() {
                assert_eq!(origin["mean_length"], 3.0, "{place}");
                assert_eq!(origin["distinct"], 3, "{place}");
            }
            let has_bytes = matches!(name, "t.shard" | "t.parquet") && options.is_empty();
            assert_eq!(origin["bytes"].is_u64(), has_bytes, "{place}");
        }
    }
    assert_eq!(column(&folder, &["t.cole"], "id")["max"], 999);
}

#[test]
fn values_are_shown_as_tables_show_them() {
    let prices = Decimal128Array::from(vec![Some(-150), None, Some(1_234_567)]);
    let times = TimestampMicrosecondArray::from(vec![0, 1_500_000, 86_400_000_000]);
    let long = "x".repeat(100);
    let batch = RecordBatch::try_from_iter_with_nullable([
        (
            "price",
            Arc::new(prices.with_precision_and_scale(12, 2).unwrap()) as ArrayRef,
            true,
        ),
        ("time", Arc::new(times.with_timezone("UTC")), false),
        (
            "text",
            Arc::new(StringArray::from(vec!["a\u{1b}b", "b", long.as_str()])),
            false,
        ),
    ])
    .unwrap();
    let folder = all_but_text(&batch);
    for name in ["t.shard", "t.parquet", "t.arrow"] {
        let text = folder.run(&["stats", name]).ok();
        assert!(text.contains("| -1.50 "), "{name}: {text}");
        assert!(text.contains("| 12345.67 "), "{name}: {text}");
        assert!(text.contains("| 1970-01-01T00:00:00Z "), "{name}: {text}");
        assert!(text.contains("1970-01-02T00:00:00Z "), "{name}: {text}");
        assert!(text.contains("a\\u{1b}b"), "{name}: {text}");
        assert!(text.contains("xxx…"), "{name}: {text}");
        assert!(text.contains("Decimal128(12, 2)"), "{name}: {text}");
        assert_eq!(text.lines().count(), 7, "{text}");
    }
}

fn all_but_text(batch: &RecordBatch) -> Folder {
    let folder = Folder::with(batch);
    for name in ["t.shard", "t.parquet"] {
        folder.run(&["convert", "t.arrow", name]).ok();
    }
    folder
}

#[test]
fn members_of_structs_and_lengths_of_lists_are_shown() {
    let folder = Folder::new();
    write(&folder, "t.shard", &nested());
    assert_eq!(column(&folder, &["t.shard"], "point.x")["max"], 3);
    assert_eq!(column(&folder, &["t.shard"], "point.y")["nulls"], 1);
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None, Some(3)]);
    lists.append_null();
    lists.append_value([]);
    let lists: ArrayRef = Arc::new(lists.finish());
    write_ipc(
        &folder.path("t.arrow"),
        &RecordBatch::try_from_iter_with_nullable([("list", lists, true)]).unwrap(),
    );
    let list = column(&folder, &["t.arrow"], "list");
    assert_eq!(list["mean_length"], 1.5);
    assert_eq!(list["nulls"], 1);
    let some = ["t.shard", "--columns", "time,point.x"];
    let shown = folder.run(&[&["stats"][..], &some].concat()).ok();
    assert!(
        shown.contains("| point.x ") && !shown.contains("price"),
        "{shown}"
    );
}

#[test]
fn statistics_of_several_files_are_united() {
    let folder = Folder::new();
    write(&folder, "d/a.shard", &flights(100, 50));
    write(&folder, "d/b.parquet", &flights(0, 10));
    write(&folder, "d/c.arrow", &flights(7, 1));
    let id = column(&folder, &["d"], "id");
    assert_eq!(
        (&id["min"], &id["max"], &id["nulls"]),
        (&json!(0), &json!(149), &json!(0))
    );
    assert_eq!(id["distinct"], Value::Null);
    assert_eq!(column(&folder, &["d"], "delay")["nulls"], 12);
    let scanned = column(&folder, &["d", "--scan"], "origin");
    assert_eq!(scanned["mean_length"], 3.0);
    std::fs::write(folder.path("d/e.csv"), "id,origin,delay,day\nx,y,1,2\n").unwrap();
    let error = folder.run(&["stats", "d"]).error(1);
    assert!(
        error.contains("d/e.csv: column `id` is Utf8, and Int64 in the files before"),
        "{error}"
    );
    let error = folder.run(&["stats", "d/a.shard", "--columns", "orgin"]);
    assert!(error.error(1).contains("did you mean `origin`?"));
    let error = folder.run(&["stats", "d/b.parquet", "--columns", "orgin"]);
    let error = error.error(1);
    assert!(
        error.contains("d/b.parquet") && error.contains("did you mean `origin`?"),
        "{error}"
    );
}

#[test]
fn a_bound_that_may_not_be_a_value_is_marked() {
    let folder = Folder::new();
    write(&folder, "t.shard", &flights(0, 100));
    folder.run(&["delete", "t.shard", "--rows", "99"]).ok();
    let id = column(&folder, &["t.shard"], "id");
    assert_eq!(
        (&id["max"], &id["max_is_exact"]),
        (&json!(99), &json!(false))
    );
    let text = folder.run(&["stats", "t.shard"]).ok();
    assert!(text.contains("<= 99 "), "{text}");
    let id = column(&folder, &["t.shard", "--scan"], "id");
    assert_eq!(
        (&id["max"], &id["max_is_exact"]),
        (&json!(98), &json!(true))
    );
}
