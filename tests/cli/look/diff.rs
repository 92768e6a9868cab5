//! `diff`

use super::{all_formats, flights, objects, write};
use crate::{Folder, write_ipc};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use serde_json::json;
use std::sync::Arc;

fn csv(folder: &Folder, name: &str, text: &str) {
    std::fs::write(folder.path(name), text).unwrap();
}

/// Returns the output of a comparison that must find differences.
fn differences(folder: &Folder, arguments: &[&str]) -> String {
    let done = folder.run(&[&["diff"], arguments].concat());
    assert_eq!((done.code, done.err.as_str()), (1, ""), "{}", done.text());
    done.text()
}

#[test]
fn the_same_rows_in_two_formats_do_not_differ() {
    let folder = all_formats(&flights(0, 20_000));
    for name in ["t.parquet", "t.arrow", "t.arrows", "t.csv"] {
        for options in [&[][..], &["--key", "id"]] {
            let arguments = [&["diff", "t.shard", name], options].concat();
            assert_eq!(folder.run(&arguments).ok(), "", "{arguments:?}");
        }
    }
    // JSON has no dates.
    let some = ["--columns", "id,origin,delay"];
    let arguments = [&["diff", "t.shard", "t.ndjson"][..], &some].concat();
    assert_eq!(folder.run(&arguments).ok(), "");
    let shown = folder.run(&["diff", "--json", "t.shard", "t.csv"]).ok();
    let want = json!({
        "kind": "summary", "columns": 0, "rows_a": 20_000, "rows_b": 20_000,
        "changed": 0, "removed": 0, "added": 0,
    });
    assert_eq!(objects(&shown), [want]);
}

#[test]
fn rows_are_compared_by_position() {
    let folder = Folder::new();
    csv(&folder, "a.csv", "id,x,y\n1,a,1\n2,b,2\n3,c,3\n4,d,\n");
    csv(&folder, "b.csv", "id,x,y\n1,a,1\n2,B,7\n3,c,3\n");
    let shown = differences(&folder, &["a.csv", "b.csv"]);
    assert_eq!(
        shown,
        "--- a.csv\n+++ b.csv\n~ row 1: x b -> B, y 2 -> 7\n- row 3: id 4, x d, y null\n\
         0 columns and 2 rows differ: 1 changed, 1 only in the first, 0 only in the second; there are 4 and 3 rows\n"
    );
    let shown = differences(&folder, &["--json", "b.csv", "a.csv"]);
    let row = json!({
        "kind": "row", "change": "changed", "row": 1,
        "columns": { "x": { "a": "B", "b": "b" }, "y": { "a": 7, "b": 2 } },
    });
    let lines = objects(&shown);
    assert_eq!(lines[0], row);
    assert_eq!(
        (&lines[2]["added"], &lines[2]["removed"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(differences(&folder, &["--quiet", "a.csv", "b.csv"]), "");
    let few = differences(&folder, &["-n", "0", "a.csv", "b.csv"]);
    assert!(!few.contains("~ row") && few.contains("1 changed"), "{few}");
    let same = ["diff", "a.csv", "b.csv", "--columns", "id"];
    let done = folder.run(&same);
    assert!(done.text().contains("0 changed, 1 only"), "{}", done.text());
}

#[test]
fn rows_are_compared_by_key() {
    let folder = Folder::new();
    csv(&folder, "a.csv", "id,x,y\n5,e,5\n1,a,1\n2,b,2\n3,c,\n");
    csv(&folder, "b.csv", "y,id,x\n2,2,b\n9,3,c\n1,1,A\n6,6,f\n");
    let shown = differences(&folder, &["--key", "id", "a.csv", "b.csv"]);
    assert_eq!(
        shown,
        "--- a.csv\n+++ b.csv\n- id = 5: x e, y 5\n~ id = 1: x a -> A\n~ id = 3: y null -> 9\n+ id = 6: y 6, x f\n\
         0 columns and 4 rows differ: 2 changed, 1 only in the first, 1 only in the second; there are 4 and 4 rows\n"
    );
    let shown = differences(&folder, &["--key", "id", "--json", "a.csv", "b.csv"]);
    let lines = objects(&shown);
    assert_eq!(lines[0]["key"], json!({ "id": 5 }));
    let removed = json!({ "x": { "a": "e" }, "y": { "a": 5 } });
    assert_eq!(lines[0]["columns"], removed);
    let added = json!({ "x": { "b": "f" }, "y": { "b": 6 } });
    assert_eq!(lines[3]["columns"], added);
    assert_eq!(lines[1]["columns"], json!({ "x": { "a": "a", "b": "A" } }));
    let few = differences(&folder, &["--key", "id", "-n", "1", "a.csv", "b.csv"]);
    assert!(
        few.contains("- id = 5: x e, y 5\n") && !few.contains("id = 1"),
        "{few}"
    );
    // All columns of the key are shown.
    let both = differences(&folder, &["--key", "id,x", "a.csv", "b.csv"]);
    assert!(
        both.contains("- id = 1, x = a: y 1\n") && both.contains("+ id = 1, x = A: y 1\n"),
        "{both}"
    );
    csv(&folder, "c.csv", "id,x,y\n1,a,1\n1,b,2\n");
    for files in [["a.csv", "c.csv"], ["c.csv", "a.csv"]] {
        let error = folder.run(&["diff", "--key", "id", files[0], files[1]]);
        let error = error.error(1);
        assert!(
            error.starts_with("c.csv: rows 0 and 1 have the same key"),
            "{error}"
        );
    }
    let error = folder
        .run(&["diff", "--key", "idd", "a.csv", "b.csv"])
        .error(2);
    assert!(
        error.contains("--key") && error.contains("did you mean `id`?"),
        "{error}"
    );
}

#[test]
fn columns_of_other_types_differ_and_are_compared_if_possible() {
    let folder = Folder::new();
    let batch = |ids: ArrayRef, third: (&str, ArrayRef)| {
        let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        RecordBatch::try_from_iter([("id", ids), ("name", names), third]).unwrap()
    };
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1", "2"]));
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    write(
        &folder,
        "a.shard",
        &batch(narrow.clone(), ("x", narrow.clone())),
    );
    csv(&folder, "b.csv", "id,name,z\n1,a,1\n3,b,2\n");
    let shown = differences(&folder, &["a.shard", "b.csv"]);
    assert!(
        shown.contains("~ column id: Int32 -> Int64\n- column x: Int32\n+ column z: Int64\n"),
        "{shown}"
    );
    assert!(
        shown.contains("~ row 1: id 2 -> 3\n3 columns and 1 row"),
        "{shown}"
    );
    let lines = objects(&differences(&folder, &["--json", "a.shard", "b.csv"]));
    let want = json!({
        "kind": "column", "change": "changed", "column": "id", "a": "Int32", "b": "Int64",
    });
    assert_eq!(lines[0], want);
    write(&folder, "t.shard", &batch(texts.clone(), ("x", texts)));
    let shown = differences(&folder, &["a.shard", "t.shard"]);
    assert!(shown.contains("~ column id: Int32 -> Utf8\n"), "{shown}");
    assert!(shown.contains("2 columns and 0 rows differ"), "{shown}");
}

#[test]
fn nested_values_are_compared() {
    let folder = Folder::new();
    let lists = |changed: i32| {
        let mut lists = ListBuilder::new(Int32Builder::new());
        for row in 0..100 {
            lists.append_value([Some(if row == 70 { changed } else { row }), None]);
        }
        let ids: ArrayRef = Arc::new((0..100).collect::<Int32Array>());
        let lists: ArrayRef = Arc::new(lists.finish());
        RecordBatch::try_from_iter([("id", ids), ("list", lists)]).unwrap()
    };
    write_ipc(&folder.path("a.arrow"), &lists(70));
    write_ipc(&folder.path("b.arrow"), &lists(7));
    write(&folder, "a.shard", &lists(70));
    assert_eq!(folder.run(&["diff", "a.arrow", "a.shard"]).ok(), "");
    let shown = differences(&folder, &["b.arrow", "a.shard"]);
    assert!(
        shown.contains("~ row 70: list [7, ] -> [70, ]\n"),
        "{shown}"
    );
    let shown = differences(&folder, &["--key", "id", "b.arrow", "a.shard"]);
    assert!(
        shown.contains("~ id = 70: list [7, ] -> [70, ]\n"),
        "{shown}"
    );
}

#[test]
fn folders_and_standard_input_are_compared() {
    let folder = Folder::new();
    write(&folder, "days/1.shard", &flights(0, 30));
    write(&folder, "days/2.parquet", &flights(30, 40));
    write(&folder, "all.shard", &flights(0, 70));
    assert_eq!(folder.run(&["diff", "days", "all.shard"]).ok(), "");
    assert_eq!(
        folder
            .run(&["diff", "all.shard", "days/*", "--key", "id"])
            .ok(),
        ""
    );
    let rows = folder.run(&["cat", "all.shard", "--format", "csv"]).ok();
    let piped = ["diff", "--from", "csv", "-", "all.csv"];
    std::fs::write(folder.path("all.csv"), &rows).unwrap();
    assert_eq!(folder.pipe(&piped, rows.as_bytes()).ok(), "");
    for arguments in [&["-", "-"][..], &["-", "all.csv", "--key", "id"]] {
        let command = [&["diff", "--from", "csv"], arguments].concat();
        assert!(folder.run(&command).error(2).contains("standard input"));
    }
}

#[test]
fn rows_that_only_one_side_has_are_shown_by_position() {
    let folder = Folder::new();
    write(&folder, "a.parquet", &flights(0, 3));
    write(&folder, "b.shard", &flights(0, 20_001));
    csv(
        &folder,
        "a.csv",
        &folder.run(&["cat", "--format", "csv", "a.parquet"]).ok(),
    );
    for a in ["a.parquet", "a.csv"] {
        let shown = differences(&folder, &["-n", "2", a, "b.shard"]);
        assert_eq!(
            shown,
            format!(
                "--- {a}\n+++ b.shard\n+ row 3: id 3, origin OSL, delay 6, day 2024-01-01\n\
                 + row 4: id 4, origin LIM, delay 8, day 2024-01-01\n\
                 0 columns and 19998 rows differ: 0 changed, 0 only in the first, 19998 only in the second; \
                 there are 3 and 20001 rows\n"
            )
        );
        let shown = differences(&folder, &["-n", "1", "--json", "b.shard", a]);
        let row = json!({
            "kind": "row", "change": "removed", "row": 3,
            "columns": {
                "id": { "a": 3 }, "origin": { "a": "OSL" }, "delay": { "a": 6 }, "day": { "a": "2024-01-01" },
            },
        });
        assert_eq!(objects(&shown)[0], row);
        assert_eq!(objects(&shown).len(), 2);
    }
}

#[test]
fn a_second_column_with_the_name_of_the_key_is_compared() {
    let folder = Folder::new();
    let batch = |second: [i32; 2]| {
        let fields = ["id", "id", "x"].map(|name| Field::new(name, DataType::Int32, false));
        let columns = [[1, 2], second, [5, 6]];
        let columns = columns.map(|values| Arc::new(Int32Array::from(values.to_vec())) as ArrayRef);
        let schema = Arc::new(Schema::new(fields.to_vec()));
        RecordBatch::try_new(schema, columns.to_vec()).unwrap()
    };
    write_ipc(&folder.path("a.arrow"), &batch([3, 4]));
    write_ipc(&folder.path("b.arrow"), &batch([3, 9]));
    write_ipc(&folder.path("same.arrow"), &batch([3, 4]));
    folder.run(&["convert", "b.arrow", "b.arrows"]).ok();
    for b in ["b.arrow", "b.arrows"] {
        let shown = differences(&folder, &["--key", "id", "a.arrow", b]);
        assert!(shown.contains("~ id = 2: id 4 -> 9\n"), "{shown}");
    }
    let same = ["diff", "--key", "id", "a.arrow", "same.arrow"];
    assert_eq!(folder.run(&same).ok(), "");
}
