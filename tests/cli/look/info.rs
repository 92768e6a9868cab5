//! `info`

use super::{NAMES, all_formats, flights, objects, write};
use crate::{Folder, write_ipc};
use arrow_array::RecordBatch;
use arrow_shard::metadata::{NameValuePair, SortingColumn};
use arrow_shard::write::{ShardWriter, WriterOptions};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

fn write_shard(path: &Path, batch: &RecordBatch, options: WriterOptions) {
    let mut writer = ShardWriter::create_with(path, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

#[test]
fn a_shard_is_described_on_one_screen() {
    let folder = Folder::new();
    let order = ["day", "id"].map(|path| SortingColumn {
        path: path.to_owned(),
        descending: false,
        nulls_first: false,
    });
    let options = WriterOptions::default()
        .with_sorting_columns(order.to_vec())
        .with_property(NameValuePair::new("source", "airport"))
        .with_bloom_filter_enabled(true)
        .with_stripe_rows(3_000);
    let path = folder.path("t.amudai.shard");
    write_shard(&path, &flights(0, 10_000), options);
    folder
        .run(&["delete", "t.amudai.shard", "--rows", "5"])
        .ok();
    let text = folder.run(&["info", "t.amudai.shard"]).ok();
    let line = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(name));
        line.unwrap_or_else(|| unreachable!("{name} in {text}"))
            .trim()
            .to_owned()
    };
    assert!(text.starts_with("t.amudai.shard: shard\n"), "{text}");
    assert!(text.lines().count() < 25, "{text}");
    assert_eq!(line("rows "), "9999 (1 deleted)");
    assert_eq!(line("columns "), "4");
    assert_eq!(line("stripes "), "4");
    assert_eq!(line("sorted by "), "day, id");
    assert_eq!(line("wire "), "spec");
    assert_eq!(line("properties "), "source = \"airport\"");
    assert!(line("bloom filters ").contains("id"), "{text}");
    assert!(line("values ").contains("before encoding ("), "{text}");
    assert!(line("created ").contains('Z'), "{text}");
    let program = concat!("arrow-shard ", env!("CARGO_PKG_VERSION"));
    assert_eq!(line("created by "), program);
    assert_eq!(line("profile "), "Balanced");
    assert!(line("other files ").contains(".amudai.stripe, "), "{text}");
    let json = folder.run(&["info", "--json", "t.amudai.shard"]).ok();
    let json = &objects(&json)[0];
    assert_eq!(json["rows"], 9999);
    assert_eq!(json["deleted_rows"], 1);
    assert_eq!(json["sorted_by"], json!(["day", "id"]));
    assert_eq!(json["properties"], json!({ "source": "airport" }));
    assert_eq!(json["format"], "shard");
    assert_eq!(json["profile"], json!(["Balanced"]));
    assert_eq!(json["created_by"], json!([program]));
    let others = json["other_files"].as_array().unwrap();
    assert!(!others.is_empty());
    for file in others {
        let path = folder.path(file["name"].as_str().unwrap());
        assert_eq!(file["bytes"], std::fs::metadata(path).unwrap().len());
    }
    let encoded = json["values"].as_u64().unwrap();
    assert!(json["size"].as_u64().unwrap() > encoded);
    let ratio = json["raw_size"].as_f64().unwrap() / json["values"].as_f64().unwrap();
    // A number may change in its last digit on the way through text.
    let difference = json["ratio"].as_f64().unwrap() - ratio;
    assert!(difference.abs() < 1e-9 * ratio, "{difference}");
}

#[test]
fn parquet_shows_its_writer_codecs_and_order() {
    use parquet::arrow::ArrowWriter;
    use parquet::basic::Compression;
    use parquet::file::metadata::{KeyValue, SortingColumn};
    use parquet::file::properties::WriterProperties;
    let folder = Folder::new();
    let order = SortingColumn {
        column_idx: 0,
        descending: true,
        nulls_first: false,
    };
    let properties = WriterProperties::builder()
        .set_created_by("test 1.0".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_sorting_columns(Some(vec![order]))
        .set_key_value_metadata(Some(vec![KeyValue::new("a".to_owned(), "b".to_owned())]))
        .set_max_row_group_row_count(Some(60))
        .build();
    let batch = flights(0, 100);
    let file = std::fs::File::create(folder.path("t.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let json = folder.run(&["info", "--json", "t.parquet"]).ok();
    let json = &objects(&json)[0];
    assert_eq!(json["rows"], 100);
    assert_eq!(json["row_groups"], 2);
    assert_eq!(json["created_by"], "test 1.0");
    assert_eq!(json["codecs"], json!(["snappy"]));
    assert_eq!(json["sorted_by"], json!(["id descending"]));
    assert_eq!(json["key_values"], json!({ "a": "b" }));
    let bytes = std::fs::metadata(folder.path("t.parquet")).unwrap().len();
    assert_eq!(json["size"], bytes);
    let text = folder.run(&["info", "t.parquet"]).ok();
    assert!(
        text.contains("  a = b\n") && text.contains("test 1.0"),
        "{text}"
    );
}

#[test]
fn every_format_has_rows_columns_and_a_size() {
    let folder = all_formats(&flights(0, 100));
    let all = folder.run(&[&["info", "--json"][..], &NAMES].concat()).ok();
    let all = objects(&all);
    assert_eq!(all.len(), NAMES.len());
    for (json, name) in all.iter().zip(NAMES) {
        let bytes = std::fs::metadata(folder.path(name)).unwrap().len();
        assert_eq!(json["file"], name);
        assert_eq!(json["rows"], 100, "{name}");
        assert_eq!(json["columns"], 4, "{name}");
        assert_eq!(json["size"], bytes, "{name}");
    }
    let text = folder.run(&["info", "t.csv", "t.shard"]).ok();
    assert!(text.contains("\n\nt.shard: shard\n"), "{text}");
    let csv = std::fs::read(folder.path("t.csv")).unwrap();
    let piped = folder.pipe(&["info", "--from", "csv", "-"], &csv).ok();
    assert!(piped.contains("rows") && !piped.contains("size"), "{piped}");
}

#[test]
fn metadata_of_a_table_are_shown() {
    let metadata = HashMap::from([("owner".to_owned(), "me".to_owned())]);
    let batch = flights(0, 10);
    let schema = batch.schema().as_ref().clone().with_metadata(metadata);
    let batch = batch.with_schema(Arc::new(schema)).unwrap();
    let folder = Folder::new();
    write(&folder, "t.shard", &batch);
    write_ipc(&folder.path("t.arrow"), &batch);
    for name in ["t.shard", "t.arrow"] {
        let json = folder.run(&["info", "--json", name]).ok();
        assert_eq!(
            objects(&json)[0]["key_values"],
            json!({ "owner": "me" }),
            "{name}"
        );
        assert!(folder.run(&["info", name]).ok().contains("  owner = me\n"));
    }
}

#[test]
fn a_shard_that_lacks_files_is_no_success() {
    let folder = Folder::with(&flights(0, 10));
    let options = ["convert", "t.arrow", "t.shard", "--layout", "two-level"];
    folder.run(&options).ok();
    for name in folder.names() {
        if name.ends_with(".amudai.stripe") {
            std::fs::remove_file(folder.path(&name)).unwrap();
        }
    }
    let done = folder.run(&["info", "t.shard"]);
    assert_eq!(done.code, 1);
    let text = done.text();
    assert!(
        text.contains(".amudai.stripe, cannot be opened\n"),
        "{text}"
    );
}
