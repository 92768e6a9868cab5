//! The command `attach`, and other commands on its shards.

use super::{Folder, Value};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::sync::Arc;

const SHARD: &str = "t.amudai.shard";

/// Writes rows with the numbers `ids` to a Parquet file with row groups of up to 100 rows.
fn write_parquet(folder: &Folder, name: &str, ids: std::ops::Range<i64>) {
    let texts = StringArray::from_iter(ids.clone().map(|i| (i % 5 > 0).then(|| format!("t{i}"))));
    let batch = RecordBatch::try_from_iter([
        (
            "id",
            Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef,
        ),
        ("text", Arc::new(texts)),
    ]);
    let batch = batch.unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .set_data_page_row_count_limit(40)
        .set_write_batch_size(10);
    let file = File::create(folder.path(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Creates a folder with `first.parquet`, of 700 rows, and `lake/a/second.parquet`, of 10 rows.
fn lake() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("lake/a")).unwrap();
    write_parquet(&folder, "first.parquet", 0..700);
    write_parquet(&folder, "lake/a/second.parquet", 700..710);
    std::fs::write(folder.path("lake/_SUCCESS"), "").unwrap();
    folder
}

#[test]
fn files_and_folders_are_attached_in_the_order_of_the_arguments() {
    let folder = lake();
    let attach = ["attach", "first.parquet", "lake", "--output", SHARD];
    let said = folder.run(&attach).ok();
    assert!(
        said.starts_with("t.amudai.shard has 710 rows in 2 stripes; "),
        "{said}"
    );
    assert!(
        said.ends_with("data are in 2 other files; keep them together\n"),
        "{said}"
    );
    let rows = folder.run(&["cat", SHARD, "--format", "csv"]).ok();
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows.len(), 711);
    assert_eq!(rows[..3], ["id,text", "0,", "1,t1"]);
    assert_eq!(rows[701..703], ["700,", "701,t701"]);
    let filter = [
        "cat",
        SHARD,
        "--format",
        "csv",
        "--filter",
        "id = 705 OR id = 6",
    ];
    assert_eq!(folder.run(&filter).ok(), "id,text\n6,t6\n705,\n");
    let verified = folder.run(&["verify", SHARD]).ok();
    assert!(
        verified.contains(SHARD) && verified.contains(" pages, ") && !verified.contains("block"),
        "{verified}"
    );
}

#[test]
fn patterns_are_matched_and_sorted_by_name() {
    let folder = lake();
    std::fs::create_dir_all(folder.path("lake/b[1]")).unwrap();
    write_parquet(&folder, "lake/b[1]/third.parquet", 710..712);
    std::fs::write(folder.path("lake/notes.txt"), "no Parquet").unwrap();
    std::fs::write(folder.path("lake/a/old.amudai.shard"), "no Parquet").unwrap();
    for (pattern, expected) in [
        ("*.parquet", 700),
        ("*", 700),
        (".", 712),
        ("lake/*/*.parquet", 12),
        ("lake/**/*.parquet", 12),
        ("lake/?/s*.parquet", 10),
        ("./lake/a/[r-t]econd.parquet", 10),
        ("lake/b[[]1]/*", 2),
        // A file of this name exists.
        ("lake/b[1]/third.parquet", 2),
        ("**/*d.parquet", 12),
    ] {
        folder.run(&["attach", pattern, "-o", SHARD]).ok();
        let rows = folder.run(&["cat", SHARD, "--format", "csv"]).ok();
        assert_eq!(rows.lines().count(), expected + 1, "{pattern}");
        std::fs::remove_file(folder.path(SHARD)).unwrap();
    }
    folder
        .run(&["attach", "lake/**/*", "*t.parquet", "-o", SHARD])
        .ok();
    let rows = folder.run(&["cat", SHARD, "--format", "csv"]).ok();
    let starts = [1, 11, 13].map(|row| rows.lines().nth(row).unwrap().to_owned());
    assert_eq!(starts, ["700,", "710,", "0,"]);
    std::fs::remove_file(folder.path(SHARD)).unwrap();
    for (pattern, why) in [
        ("*.pq", "matches no Parquet files"),
        ("lake/*.parquet", "matches no Parquet files"),
        ("none/*.parquet", "none"),
        ("lake/notes.txt", "notes.txt"),
    ] {
        let error = folder.run(&["attach", pattern, "-o", SHARD]).error(1);
        assert!(error.contains(why), "{error}");
        assert!(!folder.path(SHARD).exists());
    }
    let error = folder.run(&["attach", "lake/[a", "-o", SHARD]).error(2);
    assert!(error.contains("neither a file nor a pattern"), "{error}");
    assert!(!folder.path(SHARD).exists());
}

#[test]
fn inspect_draws_the_column_chunks() {
    let folder = lake();
    let attach = ["attach", "first.parquet", "lake", "--output", SHARD];
    folder.run(&attach).ok();
    let tree = folder.run(&["inspect", SHARD]).ok();
    let lines: Vec<&str> = tree.lines().filter(|l| l.contains("Parquet: ")).collect();
    // For each column, 4 of 7 chunks and the sum of the others, and a chunk of the second file.
    assert_eq!(lines.len(), 12, "{tree}");
    for part in [
        "row group 0, column 0 of first.parquet: INT64, UNCOMPRESSED, ",
        ", 100 values, 3 pages with a page map, dictionary of ",
    ] {
        assert!(lines[0].contains(part), "{tree}");
    }
    assert!(lines[4].ends_with(", 3 more column chunks"), "{tree}");
    assert!(
        lines[5].contains("BYTE_ARRAY") && lines[5].contains(", 20 nulls, "),
        "{tree}"
    );
    assert!(
        lines[10].contains("column 0 of lake/a/second.parquet: ")
            && lines[10].contains(", 1 page,"),
        "{tree}"
    );
    assert!(
        tree.contains("first.parquet: ") && !tree.contains("PROBLEM"),
        "{tree}"
    );
    let verbose = folder.run(&["inspect", "--verbose", SHARD]).ok();
    let chunks = verbose.lines().filter(|line| line.contains("Parquet: "));
    assert_eq!(chunks.count(), 16, "{verbose}");
}

#[test]
fn inspect_gives_the_column_chunks_as_json() {
    let folder = lake();
    let attach = [
        "attach",
        "lake",
        "first.parquet",
        "--output",
        SHARD,
        "--stripe-rows",
        "300",
    ];
    folder.run(&attach).ok();
    let json = folder.run(&["inspect", "--json", SHARD]).ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    let stripes = json["stripes"].as_array().unwrap();
    assert_eq!(stripes.len(), 4);
    let text = &stripes[2]["fields"][1];
    let chunks = text["parquet_chunks"].as_array().unwrap();
    assert_eq!(chunks.len(), 3);
    let chunk = &chunks[1];
    assert_eq!(chunk["file"], "first.parquet");
    assert_eq!(
        (&chunk["row_group"], &chunk["column"]),
        (&4.into(), &1.into())
    );
    assert_eq!(chunk["physical_type"], "BYTE_ARRAY");
    assert_eq!(chunk["codec"], "UNCOMPRESSED");
    assert_eq!(
        (&chunk["values"], &chunk["nulls"]),
        (&100.into(), &20.into())
    );
    assert_eq!(
        (&chunk["pages"], &chunk["page_map"]),
        (&3.into(), &true.into())
    );
    let encodings = chunk["page_encodings"].as_array().unwrap();
    assert!(encodings.contains(&"RLE_DICTIONARY".into()), "{chunk}");
    let size = |value: &Value| value["bytes"].as_u64().unwrap();
    let parts = size(&chunk["data_pages"]) + size(&chunk["dictionary_page"]);
    assert_eq!(size(chunk), parts);
    let sum: u64 = chunks.iter().map(size).sum();
    assert_eq!(text["encoded_bytes"], sum);
    assert_eq!(text["buffers"].as_array().unwrap().len(), 0);
}

#[test]
fn values_in_names_of_folders_are_noted_to_be_no_columns() {
    let folder = lake();
    std::fs::create_dir(folder.path("lake/year=2023")).unwrap();
    write_parquet(&folder, "lake/year=2023/a.parquet", 0..3);
    let done = folder.run(&["attach", "lake", "-o", SHARD, "--index", "\"id\",text"]);
    assert!(
        done.err.contains("`year=2023`") && done.err.contains("--hive makes columns"),
        "{}",
        done.err
    );
    done.ok();
    let done = folder.run(&["attach", "lake/a", "-o", "a.amudai.shard"]);
    assert!(!done.err.contains("note"), "{}", done.err);
}

#[test]
fn values_in_names_of_folders_become_columns_on_request() {
    let folder = Folder::new();
    for (place, ids) in [
        ("lake/year=2023/city=S%C3%A3o", 0..3),
        ("lake/year=2024/city=Rom", 3..8),
        ("lake/year=2025/city=__HIVE_DEFAULT_PARTITION__", 8..9),
        ("lake/other", 9..11),
    ] {
        std::fs::create_dir_all(folder.path(place)).unwrap();
        write_parquet(&folder, &format!("{place}/a.parquet"), ids);
    }
    let attach = ["attach", "lake", "-o", SHARD, "--hive"];
    let before = folder.names();
    let dry = folder.run(&[&attach[..], &["--dry-run"]].concat());
    assert_eq!(dry.err, "");
    assert_eq!(dry.ok(), format!("{SHARD} would have 11 rows\n"));
    assert_eq!(folder.names(), before);
    let done = folder.run(&[&attach[..], &["--quiet"]].concat());
    assert_eq!((done.err.as_str(), done.text().as_str()), ("", ""));
    done.ok();
    let schema = folder.run(&["schema", SHARD]).ok();
    assert!(schema.contains("year: Int64\ncity: Utf8\n"), "{schema}");
    // As a conversion does it.
    let same = ["convert", "--hive", "lake", "t.parquet"];
    folder.run(&same).ok();
    assert_eq!(folder.run(&["diff", SHARD, "t.parquet"]).ok(), "");
    for (filter, rows) in [
        ("year = 2024", "5\n"),
        ("city = 'S\u{e3}o'", "3\n"),
        ("year IS NULL", "2\n"),
        ("city IS NULL AND year > 0", "1\n"),
    ] {
        let counted = folder.run(&["count", "--filter", filter, SHARD]).ok();
        assert_eq!(counted, rows, "{filter}");
    }
    folder.run(&["verify", SHARD]).ok();
    let error = folder.run(&[&attach[..], &["--dry-run"]].concat()).error(1);
    assert!(error.contains("exists"), "{error}");
    // The rewritten rows keep the columns.
    folder.run(&["compact", "--external", SHARD]).ok();
    assert_eq!(folder.run(&["diff", SHARD, "t.parquet"]).ok(), "");
    // Folders above the argument give no columns, as in a conversion.
    let lake = folder.path("run=7/year=1999");
    std::fs::create_dir_all(&lake).unwrap();
    std::fs::rename(folder.path("lake"), lake.join("lake")).unwrap();
    let below = |arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_arrow-shard");
        let mut command = std::process::Command::new(program);
        let output = command.args(arguments).current_dir(&lake).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for argument in ["lake", "lake/", "lake/**/*.parquet"] {
        below(&["attach", argument, "-o", "t.amudai.shard", "--hive", "-q"]);
        assert_eq!(below(&["schema", "t.amudai.shard"]), schema, "{argument}");
        let counted = below(&["count", "--filter", "year = 2024", "t.amudai.shard"]);
        assert_eq!(counted, "5\n");
        std::fs::remove_file(lake.join("t.amudai.shard")).unwrap();
    }
    std::fs::create_dir_all(folder.path("bad/id=7")).unwrap();
    write_parquet(&folder, "bad/id=7/a.parquet", 0..3);
    let error = folder
        .run(&["attach", "bad", "-o", "b.amudai.shard", "--hive"])
        .error(1);
    assert!(error.contains("column `id`"), "{error}");
}

#[test]
fn what_cannot_be_attached_is_an_error_and_no_file() {
    let folder = lake();
    std::fs::create_dir(folder.path("empty")).unwrap();
    std::fs::write(folder.path("t.csv"), "id\n1\n").unwrap();
    let before = folder.names();
    let error = folder.run(&["attach", "empty", "-o", SHARD]).error(1);
    assert!(
        error.contains("`empty`") && error.contains("no Parquet files"),
        "{error}"
    );
    let error = folder.run(&["attach", "t.csv", "-o", SHARD]).error(1);
    assert!(error.contains("t.csv"), "{error}");
    let error = folder
        .run(&["attach", "none.parquet", "-o", SHARD])
        .error(1);
    assert!(error.contains("none.parquet"), "{error}");
    let outside = ["attach", "first.parquet", "-o", "lake/t.amudai.shard"];
    let error = folder.run(&outside).error(1);
    assert!(error.contains("first.parquet"), "{error}");
    assert_eq!(folder.names(), before);
    std::fs::write(folder.path(SHARD), "mine").unwrap();
    let error = folder.run(&["attach", "lake", "-o", SHARD]).error(1);
    assert!(error.contains(SHARD), "{error}");
    assert_eq!(std::fs::read(folder.path(SHARD)).unwrap(), b"mine");
    assert_eq!(folder.run(&["attach", "-o", SHARD]).code, 2);
    let done = folder.run(&["attach", "lake", "-o", "-"]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("a shard is a file"), "{}", done.err);
    let twice = [
        "attach",
        "lake/a/second.parquet",
        "lake",
        "-o",
        "u.amudai.shard",
    ];
    let error = folder.run(&twice).error(1);
    assert!(
        error.contains("second.parquet") && error.contains("named twice"),
        "{error}"
    );
    assert!(!folder.path("u.amudai.shard").exists());
}

#[test]
fn files_elsewhere_need_an_option_of_each_command() {
    let folder = lake();
    std::fs::create_dir(folder.path("mine")).unwrap();
    let target = "mine/t.amudai.shard";
    let error = folder.run(&["attach", "lake", "-o", target]).error(1);
    assert!(error.contains("--external-files"), "{error}");
    let allow = ["--external-files", "lake"];
    let attach = [&["attach", "lake", "-o", target][..], &allow].concat();
    folder.run(&attach).ok();
    for command in [
        &["cat"][..],
        &["verify"],
        &["inspect"],
        &["delete", "--rows", "3"],
    ] {
        let run = [command, &[target]].concat();
        let done = folder.run(&run);
        let said = done.text() + &done.err;
        assert!(said.contains("--external-files"), "{command:?}: {said}");
        folder.run(&[&run[..], &allow].concat()).ok();
    }
    let rows = folder
        .run(&[&["cat", target, "--format", "csv"][..], &allow].concat())
        .ok();
    assert_eq!(rows.lines().count(), 10);
    let error = folder.run(&["compact", "--external", target]).error(1);
    assert!(error.contains("--external-files"), "{error}");
    folder
        .run(&[&["compact", "--external", target][..], &allow].concat())
        .ok();
    assert_eq!(folder.run(&["cat", target, "--format", "csv"]).ok(), rows);
}

#[test]
fn a_changed_file_is_named_by_cat_and_verify() {
    let folder = lake();
    folder.run(&["attach", "lake", "-o", SHARD]).ok();
    write_parquet(&folder, "lake/a/second.parquet", 800..810);
    let error = folder.run(&["cat", SHARD]).error(1);
    assert!(error.contains("second.parquet"), "{error}");
    let done = folder.run(&["verify", SHARD]);
    assert_eq!(done.code, 1, "{}", done.text());
    let said = done.text() + &done.err;
    assert_eq!(said.matches("second.parquet").count(), 1, "{said}");
    std::fs::remove_file(folder.path("lake/a/second.parquet")).unwrap();
    let error = folder.run(&["cat", SHARD]).error(1);
    assert_eq!(error.matches("ot found").count(), 1, "{error}");
    assert!(error.contains("`t.amudai.shard` refers to"), "{error}");
    folder.run(&["inspect", SHARD]).ok();
}
