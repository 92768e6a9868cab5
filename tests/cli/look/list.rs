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
    let days = json!([{
        "column": "day", "min": "2024-01-01", "max": "2024-01-10",
        "min_is_exact": true, "max_is_exact": true,
    }]);
    assert_eq!(a["sorted_by"], days);
    assert_eq!(
        (&a["rows"], &a["deleted_rows"], &a["stripes"]),
        (&json!(100), &json!(0), &json!(1))
    );
    assert_eq!((&b["rows"], &b["deleted_rows"]), (&json!(99), &json!(1)));
    // The deleted row may be the only one with a bound.
    let is_exact = |side: &str| &b["sorted_by"][0][side];
    assert_eq!(is_exact("min_is_exact"), &json!(false));
    assert_eq!(is_exact("max_is_exact"), &json!(false));
    let table = folder.run(&["ls"]).ok();
    for want in [
        "day 2024-01-01 to 2024-01-10",
        "day >= 2024-01-01 to <= 2024-01-10",
    ] {
        assert!(table.contains(want), "{table}");
    }
    assert_eq!(a["held_by"], "b.amudai.shard");
    assert_eq!(b["held_by"], Value::Null);
    assert_eq!(b["missing_files"], json!([]));
    assert!(!b["files"].as_array().unwrap().is_empty());
}

#[test]
fn a_named_file_that_is_no_shard_is_an_error() {
    let folder = Folder::new();
    write(&folder, "a.shard", &flights(0, 3));
    write(&folder, "t.parquet", &flights(0, 3));
    std::fs::write(folder.path("t.csv"), "a,b\n1,2\n").unwrap();
    for name in ["t.csv", "t.parquet"] {
        for files in [&[name][..], &["a.shard", name]] {
            let done = folder.run(&[&["ls"], files].concat());
            assert_eq!(done.code, 1, "{files:?}");
            let error = done.err.clone();
            assert!(
                error.contains(name) && error.contains("not a shard"),
                "{error}"
            );
            assert_eq!(done.text().contains("1 shard: 3 rows"), files.len() == 2);
        }
    }
    for pattern in [&[][..], &["."], &["*"], &["t.*"]] {
        let text = folder.run(&[&["ls"], pattern].concat()).ok();
        assert!(!text.contains("t.csv"), "{text}");
    }
}

#[test]
fn a_shard_that_is_named_several_times_is_listed_once() {
    let folder = Folder::new();
    write(&folder, "x/a.shard", &flights(0, 3));
    write(&folder, "x/b.shard", &flights(0, 3));
    for arguments in [
        &["x/a.shard", "x/*.shard"][..],
        &["x/*.shard", "x/b.shard", "./x/b.shard"],
        &["x", "x/a.shard"],
        &["x", "x/../x"],
    ] {
        let text = folder.run(&[&["ls"], arguments].concat()).ok();
        let last = "\n2 shards: 6 rows and 0 deleted in 2 stripes\n";
        assert!(text.ends_with(last), "{arguments:?}: {text}");
        assert_eq!(text.lines().count(), 4, "{arguments:?}: {text}");
    }
}

#[test]
fn a_shard_over_files_elsewhere_is_named_and_can_be_allowed() {
    let folder = Folder::new();
    write(&folder, "lake/t.parquet", &flights(0, 3));
    std::fs::create_dir(folder.path("mine")).unwrap();
    let allowed = ["--external-files", "lake"];
    let attach = ["attach", "lake/t.parquet", "-o", "mine/m.shard"];
    folder.run(&[&attach[..], &allowed].concat()).ok();
    write(&folder, "mine/n.shard", &flights(0, 2));
    for arguments in [
        &["mine"][..],
        &["-r", "."],
        &["mine/m.shard"],
        &["mine/*.shard"],
    ] {
        let list = [&["ls"], arguments].concat();
        let done = folder.run(&list);
        let error = done.err.clone();
        let is_said = error.contains("m.shard") && error.contains("external");
        assert!(done.code == 1 && is_said, "{list:?}: {error}");
        let text = folder.run(&[&list[..], &allowed].concat()).ok();
        assert!(text.contains("m.shard "), "{text}");
    }
    // A Parquet file that is missing cannot be packed.
    write(&folder, "near/t.parquet", &flights(0, 3));
    let attach = ["attach", "near/t.parquet", "-o", "near/m.shard"];
    folder.run(&attach).ok();
    std::fs::remove_file(folder.path("near/t.parquet")).unwrap();
    let error = folder.run(&["ls", "near"]).error(1);
    assert!(error.contains("arrow-shard compact --external"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_subfolder_that_cannot_be_read_hides_no_other() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let folder = Folder::new();
    for name in ["a/1.shard", "b/2.shard", "c/3.shard", "_d/4.shard"] {
        write(&folder, name, &flights(0, 3));
    }
    let mode = |name: &str, mode: u32| {
        let mode = PermissionsExt::from_mode(mode);
        std::fs::set_permissions(folder.path(name), mode).unwrap();
    };
    mode(".", 0o755);
    mode("b", 0o000);
    let mut list = std::process::Command::new(env!("CARGO_BIN_EXE_arrow-shard"));
    list.args(["ls", "-r"]).current_dir(folder.path("."));
    // Root reads every folder.
    if folder.path(".").metadata().unwrap().uid() == 0 {
        list.uid(65534);
    }
    let done = list.output().unwrap();
    mode("b", 0o755);
    let (out, error) = (done.stdout, String::from_utf8(done.stderr).unwrap());
    let text = String::from_utf8(out).unwrap();
    assert_eq!(done.status.code(), Some(1), "{error}");
    let is_named = error.lines().count() == 1 && error.contains("b: Permission denied");
    assert!(is_named, "{error}");
    assert!(
        text.contains("a/1.shard") && text.contains("c/3.shard"),
        "{text}"
    );
    assert!(
        text.ends_with("2 shards: 6 rows and 0 deleted in 2 stripes\n"),
        "{text}"
    );
}
