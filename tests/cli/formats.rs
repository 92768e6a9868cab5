//! Formats are detected from the content of files, and messages name the format of a file.

use super::data::plain;
use super::{Folder, NAMES, read_ipc};
use std::fs;

/// The first bytes of compressed files that are not read, and of files that are.
const LZ4: &[u8] = b"\x04\x22\x4D\x18\x64\x40";
const GZIP: &[u8] = b"\x1F\x8B\x08\0\0\0\0\0";

/// Creates a folder with the same rows in every format.
fn folder() -> Folder {
    let folder = Folder::with(&plain(100));
    for name in NAMES {
        if name != "t.arrow" {
            folder.run(&["convert", "t.arrow", name]).ok();
        }
    }
    folder
}

#[test]
fn the_content_of_a_file_shows_its_format() {
    let folder = folder();
    for name in NAMES {
        fs::copy(folder.path(name), folder.path("bare")).unwrap();
        for command in ["head", "cat", "schema"] {
            let want = folder.run(&[command, name]).ok();
            assert_eq!(folder.run(&[command, "bare"]).ok(), want, "{name}");
        }
        folder
            .run(&["convert", "--force", "bare", "back.arrow"])
            .ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), plain(100), "{name}");
    }
    fs::write(folder.path("bare"), "\u{FEFF}\n [{\"a\":1}]").unwrap();
    let head = folder.run(&["head", "bare", "--format", "csv"]).ok();
    assert_eq!(head, "a\n1\n");
    // Options are checked against the detected format.
    let error = folder.run(&["head", "bare", "--delimiter", ";"]).error(2);
    assert!(error.contains("--delimiter"), "{error}");
}

#[test]
fn a_name_of_the_wrong_format_is_an_error_that_names_the_right_one() {
    let folder = folder();
    for (name, wrong, from) in [
        ("t.parquet", "x.csv", "--from parquet"),
        ("t.arrow", "x.parquet", "--from ipc"),
        ("t.arrows", "x.shard", "--from ipc-stream"),
        ("t.shard", "x.arrow", "--from shard"),
    ] {
        fs::copy(folder.path(name), folder.path(wrong)).unwrap();
        let error = folder.run(&["head", wrong]).error(1);
        assert!(
            error.contains(wrong) && error.contains(from),
            "{name}: {error}"
        );
    }
}

#[test]
fn text_in_other_compressions_is_an_error_that_says_how_to_read_it() {
    let folder = Folder::new();
    fs::write(folder.path("t.csv.lz4"), LZ4).unwrap();
    fs::write(folder.path("t.ndjson"), LZ4).unwrap();
    let pipe = "lz4 -dc t.csv.lz4 | arrow-shard convert --from csv -";
    for arguments in [
        &["head", "t.csv.lz4"][..],
        &["head", "--from", "csv", "t.csv.lz4"],
    ] {
        let error = folder.run(arguments).error(1);
        assert!(
            error.contains("compressed with lz4") && error.contains(pipe),
            "{error}"
        );
    }
    let json = folder.run(&["head", "t.ndjson"]).error(1);
    let piped = folder.pipe(&["head", "--from", "csv", "-"], LZ4).error(1);
    for error in [json, piped] {
        assert!(error.contains("with lz4"), "{error}");
    }
    let error = folder.run(&["convert", "t.ndjson", "out.csv.lz4"]).error(2);
    assert!(
        error.contains("out.csv.lz4") && error.contains("--to"),
        "{error}"
    );
    fs::remove_file(folder.path("t.csv.lz4")).unwrap();
    assert_eq!(folder.names(), ["t.ndjson"]);
    fs::write(folder.path("t.csv"), "BZh,b\n1,x\n").unwrap();
    let csv = folder.run(&["cat", "t.csv", "--format", "csv"]).ok();
    assert_eq!(csv, "BZh,b\n1,x\n");
}

#[test]
fn commands_on_shards_name_the_format_of_other_files() {
    let folder = folder();
    fs::write(folder.path("t.gz"), [GZIP, &[0xE9; 100]].concat()).unwrap();
    for (name, format) in [
        ("t.parquet", "Parquet"),
        ("t.arrow", "Arrow IPC file"),
        ("t.arrows", "Arrow IPC stream"),
        ("t.csv", "CSV"),
        ("t.gz", "gzip"),
    ] {
        for command in [
            &["inspect", name][..],
            &["verify", name],
            &["merge", "t.shard", name, "-o", "m.shard"],
            &["append", "t.shard", name],
            &["delete", name, "--where", "id = 1"],
            &["undelete", name],
            &["select", name, "--columns", "id"],
            &["compact", name],
        ] {
            // Rows of the other formats can be appended.
            if command[0] == "append" && name != "t.gz" {
                continue;
            }
            let done = folder.run(command);
            let said = format!("{}{}", done.err, done.text());
            assert_ne!(done.code, 0, "{command:?}");
            assert!(
                said.contains(name) && said.contains(format) && said.contains("convert"),
                "{command:?}: {said}"
            );
        }
    }
}

#[test]
fn threads_change_nothing_of_a_conversion() {
    let folder = Folder::with(&plain(200_000));
    for (threads, shard, text) in [("1", "a.shard", "a.csv"), ("3", "b.shard", "b.csv")] {
        folder
            .run(&["convert", "--threads", threads, "t.arrow", shard])
            .ok();
        folder
            .run(&["convert", "--threads", threads, shard, text])
            .ok();
    }
    assert!(fs::read(folder.path("a.csv")).unwrap() == fs::read(folder.path("b.csv")).unwrap());
    // Each shard has a unique identifier.
    let size = |name| folder.path(name).metadata().unwrap().len();
    assert_eq!(size("a.shard"), size("b.shard"));
    let error = folder
        .run(&["convert", "--threads", "2", "t.arrow", "c.parquet"])
        .error(2);
    assert!(error.contains("--threads"), "{error}");
    let none = folder.run(&["convert", "--threads", "0", "a.csv", "c.shard"]);
    assert_eq!(none.code, 2);
}
