//! `ls`

use super::{flights, objects, write};
use crate::Folder;
use arrow_shard::metadata::SortingColumn;
use arrow_shard::write::{ShardWriter, WriterOptions};
use serde_json::{Value, json};

fn names(lines: &[Value]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line["shard"].as_str().unwrap())
        .collect()
}

#[test]
fn subfolders_are_listed_on_request_and_the_working_folder_by_default() {
    let folder = Folder::new();
    for name in ["b.shard", "x/a.shard", "x/y/c.amudai.shard", "_x/d.shard"] {
        write(&folder, name, &flights(0, 3));
    }
    write(&folder, "x/e.parquet", &flights(0, 3));
    std::fs::write(folder.path("x/notes"), "no shard").unwrap();
    let list = |arguments: &[&str]| {
        let arguments = [&["ls", "--json"], arguments].concat();
        objects(&folder.run(&arguments).ok())
    };
    assert_eq!(names(&list(&[])), ["b.shard"]);
    let all = ["b.shard", "x/a.shard", "x/y/c.amudai.shard"];
    assert_eq!(names(&list(&["-r"])), all);
    assert_eq!(
        names(&list(&["--recursive", "x"])),
        ["a.shard", "y/c.amudai.shard"]
    );
    assert_eq!(names(&list(&["x"])), ["a.shard"]);
    // Files, globs and several arguments.
    assert_eq!(
        names(&list(&["x/y/c.amudai.shard"])),
        ["x/y/c.amudai.shard"]
    );
    assert_eq!(names(&list(&["*.shard"])), ["b.shard"]);
    let several = ["b.shard", "x/a.shard", "x/y/c.amudai.shard"];
    assert_eq!(names(&list(&["b.shard", "x", "x/*/*.shard"])), several);
    let error = folder.run(&["ls", "*.nothing"]).error(1);
    assert!(error.contains("no file matches `*.nothing`"), "{error}");
    let error = folder.run(&["ls", "nowhere.shard"]).error(1);
    assert!(error.contains("not found"), "{error}");
    let table = folder.run(&["ls", "-r"]).ok();
    assert!(
        table.ends_with("\n3 shards: 9 rows and 0 deleted in 3 stripes\n"),
        "{table}"
    );
    // A damaged shard is an error, and the others are listed.
    std::fs::write(folder.path("x/y/bad.amudai.shard"), "bad").unwrap();
    let done = folder.run(&["ls", "-r"]);
    assert!(
        done.code == 1 && done.err.contains("bad.amudai.shard"),
        "{}",
        done.err
    );
    assert!(done.text().contains("3 shards: 9 rows"));
}

#[test]
fn an_object_has_the_facts_of_a_shard() {
    let folder = Folder::new();
    let order = SortingColumn {
        path: "day".to_owned(),
        descending: false,
        nulls_first: false,
    };
    let options = WriterOptions::default().with_sorting_columns(vec![order]);
    let batch = flights(0, 100);
    let path = folder.path("a.amudai.shard");
    let mut writer = ShardWriter::create_with(&path, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    folder
        .run(&["merge", "a.amudai.shard", "--output", "b.amudai.shard"])
        .ok();
    folder
        .run(&["delete", "b.amudai.shard", "--rows", "1"])
        .ok();
    let lines = objects(&folder.run(&["ls", "--json"]).ok());
    assert_eq!(names(&lines), ["a.amudai.shard", "b.amudai.shard"]);
    let [a, b] = lines.as_slice() else {
        unreachable!("{lines:?}");
    };
    let days = json!([{ "column": "day", "min": "2024-01-01", "max": "2024-01-10" }]);
    assert_eq!(a["sorted_by"], days);
    assert_eq!(
        (&a["rows"], &a["deleted_rows"], &a["stripes"]),
        (&json!(100), &json!(0), &json!(1))
    );
    assert_eq!((&b["rows"], &b["deleted_rows"]), (&json!(99), &json!(1)));
    assert_eq!(a["held_by"], "b.amudai.shard");
    assert_eq!(b["held_by"], Value::Null);
    assert_eq!(b["missing_files"], json!([]));
    assert!(!b["files"].as_array().unwrap().is_empty());
}
