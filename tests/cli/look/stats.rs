//! `stats`

use super::{NAMES, all_formats, flights, objects, write};
use crate::data::nested;
use crate::{Folder, write_ipc};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{
    ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt32Array,
};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::statistics::Statistics;
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
    assert!(error.error(2).contains("did you mean `origin`?"));
    let error = folder.run(&["stats", "d/b.parquet", "--columns", "orgin"]);
    let error = error.error(2);
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

/// Replaces the statistics of a column by those of an old writer, which compared all values as signed ones.
fn with_old_statistics(folder: &Folder, name: &str, batch: &RecordBatch, old: &[Statistics]) {
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    let length = u32::from_le_bytes(file[file.len() - 8..][..4].try_into().unwrap());
    let mut reader = ParquetMetaDataReader::new();
    reader.try_parse(&bytes::Bytes::from(file.clone())).unwrap();
    let mut metadata = reader.finish().unwrap().into_builder();
    for group in metadata.take_row_groups() {
        let columns = group.columns().iter().zip(old);
        let columns = columns.map(|(column, old)| {
            let column = column.clone().into_builder();
            column.set_statistics(old.clone()).build().unwrap()
        });
        let group = group.clone().into_builder();
        let group = group.set_column_metadata(columns.collect()).build();
        metadata = metadata.add_row_group(group.unwrap());
    }
    file.truncate(file.len() - 8 - usize::try_from(length).unwrap());
    let metadata = metadata.build();
    ParquetMetaDataWriter::new(&mut file, &metadata)
        .finish()
        .unwrap();
    std::fs::write(folder.path(name), file).unwrap();
}

#[test]
fn bounds_of_old_writers_are_shown_only_where_their_order_is_right() {
    let folder = Folder::new();
    let batch = RecordBatch::try_from_iter([
        (
            "unsigned",
            Arc::new(UInt32Array::from(vec![1, 3_000_000_000])) as ArrayRef,
        ),
        ("text", Arc::new(StringArray::from(vec!["a", "\u{e4}"]))),
        ("signed", Arc::new(Int64Array::from(vec![-5, 7]))),
    ])
    .unwrap();
    let old = [
        Statistics::int32(
            Some(3_000_000_000_u32.cast_signed()),
            Some(1),
            None,
            Some(0),
            true,
        ),
        Statistics::byte_array(Some("\u{e4}".into()), Some("a".into()), None, Some(0), true),
        Statistics::int64(Some(-5), Some(7), None, Some(0), true),
    ];
    with_old_statistics(&folder, "t.parquet", &batch, &old);
    for name in ["unsigned", "text"] {
        let known = column(&folder, &["t.parquet"], name);
        assert_eq!((&known["min"], &known["max"]), (&json!(null), &json!(null)));
        assert_eq!(known["nulls"], 0, "{name}");
    }
    let signed = column(&folder, &["t.parquet"], "signed");
    assert_eq!((&signed["min"], &signed["max"]), (&json!(-5), &json!(7)));
    // The values themselves are as good as ever.
    folder.run(&["convert", "t.parquet", "t.shard"]).ok();
    for arguments in [&["t.parquet", "--scan"][..], &["t.shard"]] {
        let known = column(&folder, arguments, "unsigned");
        assert_eq!(known["max"], 3_000_000_000_u32, "{arguments:?}");
        assert_eq!(column(&folder, arguments, "text")["max"], "\u{e4}");
    }
}

#[test]
fn an_error_names_its_file_once() {
    let folder = all_formats(&flights(0, 100));
    for name in NAMES {
        let whole = std::fs::read(folder.path(name)).unwrap();
        let damaged = format!("damaged.{}", name.split_once('.').unwrap().1);
        let text: &[u8] = if name == "t.ndjson" {
            b"{\"a\":"
        } else {
            b"a\n\""
        };
        let is_text = matches!(name, "t.csv" | "t.ndjson");
        let cut = if is_text {
            text
        } else {
            &whole[..whole.len() / 2]
        };
        std::fs::write(folder.path(&damaged), cut).unwrap();
        for arguments in [
            &["stats", damaged.as_str()][..],
            &["stats", "t.arrow", &damaged],
            &["stats", "--scan", "t.arrow", &damaged],
            &["stats", "t.arrow", "none.parquet", &damaged],
            &["count", "--filter", "id > 3", "t.arrow", &damaged],
            &["info", "t.arrow", &damaged],
            &["cat", "t.arrow", &damaged],
            &["diff", "t.arrow", &damaged],
            &["tail", &damaged],
            &["sample", "3", "t.arrow", &damaged],
            &["convert", "t.arrow", &damaged, "out.parquet"],
        ] {
            let error = folder.run(arguments).err;
            let missing = if arguments.contains(&"none.parquet") {
                "none.parquet"
            } else {
                &damaged
            };
            assert_eq!(error.matches(missing).count(), 1, "{arguments:?}: {error}");
        }
        let options = ["stats", name, name, "--columns", "orgin"];
        let error = folder.run(&options).error(2);
        assert_eq!(error.matches(name).count(), 1, "{error}");
    }
    for output in ["none/out.parquet", "none/out.shard", "none/out.csv"] {
        let error = folder.run(&["convert", "t.arrow", output]).error(1);
        assert_eq!(error.matches("none/out").count(), 1, "{error}");
    }
}

#[test]
fn the_largest_columns_are_shown_first() {
    let folder = all_formats(&flights(0, 1_000));
    for name in ["t.shard", "t.parquet"] {
        let all = folder.run(&["stats", "--json", name]).ok();
        let mut bytes: Vec<u64> = objects(&all)
            .iter()
            .map(|column| column["bytes"].as_u64().unwrap())
            .collect();
        bytes.sort_unstable_by(|a, b| b.cmp(a));
        bytes.truncate(2);
        let largest = folder
            .run(&["stats", "--json", "--largest", "2", name])
            .ok();
        let found: Vec<u64> = objects(&largest)
            .iter()
            .map(|column| column["bytes"].as_u64().unwrap())
            .collect();
        assert_eq!(found, bytes, "{name}");
    }
    let error = folder.run(&["stats", "--largest", "2", "t.csv"]).error(2);
    assert!(error.contains("--largest"), "{error}");
}

#[test]
fn numbers_of_json_are_exact() {
    let folder = Folder::new();
    let decimals = |last: i128| -> ArrayRef {
        let values = Decimal128Array::from(vec![12_345_678_901_234_567_800 + last]);
        Arc::new(values.with_precision_and_scale(20, 2).unwrap())
    };
    let floats = |value: f64| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
    for (name, last, float) in [("a", 90, 9.014_274_576_114_836e-30), ("b", 91, 0.1)] {
        let columns = [("d", decimals(last)), ("f", floats(float))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        write_ipc(&folder.path("t.arrow"), &batch);
        let out = format!("{name}.amudai.shard");
        folder
            .run(&["convert", "--sort", "d,f", "t.arrow", &out, "-f"])
            .ok();
    }
    let stats = folder.run(&["stats", "--json", "a.amudai.shard"]).ok();
    for exact in ["123456789012345678.90", "9.014274576114836e-30"] {
        let both = stats.matches(exact).count();
        assert_eq!(both, 2, "{exact}: {stats}");
    }
    let arguments = ["diff", "--json", "a.amudai.shard", "b.amudai.shard"];
    let differences = folder.run(&arguments).text();
    let pair = "{\"a\":123456789012345678.90,\"b\":123456789012345678.91}";
    assert!(differences.contains(pair), "{differences}");
    let listed = folder.run(&["ls", "--json", "a.amudai.shard"]).ok();
    assert!(listed.contains("123456789012345678.90"), "{listed}");
}
