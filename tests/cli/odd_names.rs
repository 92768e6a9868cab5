//! Names that are not UTF-8, and links that lead in circles.

use super::Folder;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

#[test]
fn globs_match_names_that_are_not_utf8() {
    let folder = Folder::new();
    fs::create_dir(folder.path("d")).unwrap();
    for (name, text) in [
        (&b"d/a\xFF.csv"[..], "a\n1\n"),
        (b"d/b.csv", "a\n2\n"),
        (b"d/\xFE/c.csv", "a\n3\n"),
        (b"d/\xFE/.\xFF.csv", "a\n4\n"),
        (b"d/_\xFF.csv", "a\n5\n"),
    ] {
        let path = folder.path(".").join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for (glob, want) in [
        ("d/*.csv", "3\n"),
        ("d/a?.csv", "1\n"),
        ("d/*/c.csv", "3\n"),
        ("d/**/*.csv", "6\n"),
        ("**/c.csv", "3\n"),
        ("d", "6\n"),
    ] {
        let sum = folder.run(&["cat", glob, "--format", "csv"]).ok();
        let sum: i64 = sum
            .lines()
            .skip(1)
            .map(|line| line.parse::<i64>().unwrap())
            .sum();
        assert_eq!(format!("{sum}\n"), want, "{glob}");
    }
    folder.run(&["convert", "d/*.csv", "out.parquet"]).ok();
    assert_eq!(folder.run(&["count", "out.parquet"]).ok(), "2\n");
    let shown = folder.run(&["stats", "d/**/*.csv"]).ok();
    assert!(shown.contains("| a "), "{shown}");
}

#[test]
fn links_in_a_circle_are_skipped() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("d/e")).unwrap();
    for (name, text) in [("d/1.csv", "a\n1\n"), ("d/e/2.ndjson", "{\"a\":2}\n")] {
        fs::write(folder.path(name), text).unwrap();
    }
    // To a folder above, to each other, and to itself.
    symlink("..", folder.path("d/e/up")).unwrap();
    symlink("y", folder.path("d/x")).unwrap();
    symlink("x", folder.path("d/y")).unwrap();
    symlink("self", folder.path("d/self")).unwrap();
    // Locks of editors lead nowhere, and are hidden.
    symlink("user@host.123", folder.path("d/.#1.csv")).unwrap();
    for input in ["d", "d/**/*.csv", "**/*son", "d/e/up"] {
        let want = match input {
            "d/**/*.csv" | "**/*son" => "1\n",
            _ => "2\n",
        };
        assert_eq!(folder.run(&["count", input]).ok(), want, "{input}");
    }
    folder.run(&["convert", "d/1.csv", "d/s.amudai.shard"]).ok();
    let listed = folder.run(&["ls", "--recursive", "d"]).ok();
    assert!(listed.contains("1 shard:"), "{listed}");
    folder.run(&["vacuum", "d"]).ok();
    // A link to a missing file is not a circle: its rows would be missed.
    symlink("gone.csv", folder.path("d/3.csv")).unwrap();
    let error = folder.run(&["count", "d"]).error(1);
    assert!(error.contains("d/3.csv"), "{error}");
}
