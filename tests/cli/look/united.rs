//! Files with different columns, and options that change columns.

use super::{flights, write};
use crate::Folder;
use std::fs;

/// Returns a folder with a Parquet file, a CSV file that lacks columns and has others, and folders that are values.
fn folder() -> Folder {
    let folder = Folder::new();
    write(&folder, "a.parquet", &flights(0, 4));
    fs::write(folder.path("b.csv"), "id,note\n4,x\n5,y\n6,z\n").unwrap();
    for (place, rows) in [("lake/year=2024", 0..3), ("lake/year=2025", 3..5)] {
        fs::create_dir_all(folder.path(place)).unwrap();
        let lines: String = rows.map(|id| format!("{id}e0\n")).collect();
        fs::write(
            folder.path(&format!("{place}/t.csv")),
            format!("id\n{lines}"),
        )
        .unwrap();
    }
    folder
}

fn csv(folder: &Folder, arguments: &[&str]) -> String {
    folder.run(&[arguments, &["--format", "csv"]].concat()).ok()
}

#[test]
fn the_last_rows_of_files_with_different_columns_are_those_of_their_union() {
    let folder = folder();
    let files = ["a.parquet", "b.csv", "--unify"];
    let columns = ["--columns", "id,note,origin"];
    let all = csv(&folder, &[&["cat"], &files[..], &columns].concat());
    let last = |rows: usize| {
        let lines: Vec<&str> = all.lines().collect();
        let rows = &lines[lines.len() - rows..];
        [&lines[..1], rows].concat().join("\n") + "\n"
    };
    for rows in [1, 3, 5, 7] {
        let number = rows.to_string();
        let tail = [&["tail", "-n", &number], &files[..], &columns].concat();
        assert_eq!(csv(&folder, &tail), last(rows), "{rows}");
    }
    let filter = ["--filter", "id = 2 OR note = 'x'"];
    let tail = [&["tail"], &files[..], &columns, &filter].concat();
    assert_eq!(csv(&folder, &tail), "id,note,origin\n2,,SFO\n4,x,\n");
    // Without rows from the first file, its columns still appear.
    let tail = csv(&folder, &[&["tail", "-n", "1"], &files[..]].concat());
    assert!(tail.starts_with("id,origin,delay,day,note\n"), "{tail}");
    // Standard input is read once.
    let piped = [
        "tail",
        "-n",
        "4",
        "a.parquet",
        "-",
        "--unify",
        "--format",
        "csv",
    ];
    let piped = [&piped[..], &columns].concat();
    let json = b"{\"id\":4,\"note\":\"x\"}";
    assert_eq!(folder.pipe(&piped, json).ok().lines().last(), Some("4,x,"));
}

#[test]
fn a_sample_is_of_the_union_of_files() {
    let folder = folder();
    let files = ["a.parquet", "b.csv", "--unify"];
    let all = csv(&folder, &[&["cat"], &files[..]].concat());
    let sample = |size: &str| {
        csv(
            &folder,
            &[&["sample", size, "--seed", "3"], &files[..]].concat(),
        )
    };
    assert_eq!(sample("7"), all);
    assert_eq!(sample("100"), all);
    let some = sample("4");
    assert_eq!(some.lines().count(), 5);
    let mut lines = all.lines();
    assert!(
        some.lines().all(|line| lines.any(|other| line == other)),
        "{some}"
    );
    assert_eq!(sample("0").lines().count(), 1);
}

#[test]
fn options_for_columns_apply_to_the_rows_that_are_printed() {
    let folder = folder();
    let text = ["--cast", "id=utf8"];
    for command in [
        &["head"][..],
        &["cat"],
        &["tail", "-n", "9"],
        &["sample", "9"],
    ] {
        let one = [command, &["lake/year=2025/t.csv"], &text].concat();
        assert_eq!(csv(&folder, &one), "id\n3e0\n4e0\n", "{command:?}");
        let all = [command, &["lake", "--hive"]].concat();
        let want = "id,year\n0.0,2024\n1.0,2024\n2.0,2024\n3.0,2025\n4.0,2025\n";
        assert_eq!(csv(&folder, &all), want, "{command:?}");
    }
    let last = ["tail", "-n", "3", "lake", "--hive"];
    assert_eq!(
        csv(&folder, &last),
        "id,year\n2.0,2024\n3.0,2025\n4.0,2025\n"
    );
    let diff = ["diff", "lake/year=2025", "lake/year=2025/t.csv"];
    assert_eq!(folder.run(&[&diff[..], &["--hive"]].concat()).ok(), "");
    let count = [
        "count",
        "lake",
        "--hive",
        "--filter",
        "year = 2025 AND id > 3",
    ];
    assert_eq!(folder.run(&count).ok(), "1\n");
    for command in ["count", "stats", "info"] {
        for option in [&["--hive"][..], &["--unify"], &text] {
            let done = folder.run(&[&[command, "lake"], option].concat());
            assert_eq!(done.code, 2, "{}", done.err);
            assert!(done.err.contains(option[0]), "{}", done.err);
        }
    }
}
