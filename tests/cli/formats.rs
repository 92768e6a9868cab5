//! Formats are detected from the content of files, and messages name the format of a file.

use super::data::plain;
use super::{Folder, NAMES, read_ipc};
use std::fs;

/// The first bytes of compressed files.
const COMPRESSED: [(&str, &str, &[u8]); 5] = [
    ("gzip", "gz", b"\x1F\x8B\x08\0\0\0\0\0"),
    ("zstd", "zst", b"\x28\xB5\x2F\xFD\x24\x0A"),
    ("xz", "xz", b"\xFD7zXZ\0\0\x04"),
    ("bzip2", "bz2", b"BZh91AY&SY\x4E\xEC"),
    ("lz4", "lz4", b"\x04\x22\x4D\x18\x64\x40"),
];

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
        if name == "t.csv" {
            let error = folder.run(&["head", "bare"]).error(2);
            assert!(error.contains("--from"), "{error}");
            continue;
        }
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
fn a_name_that_shows_another_format_than_the_content_is_an_error_with_the_right_one() {
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
fn compressed_text_is_an_error_that_says_how_to_read_it() {
    let folder = Folder::new();
    for (program, suffix, bytes) in COMPRESSED {
        let name = format!("t.csv.{suffix}");
        fs::write(folder.path(&name), bytes).unwrap();
        fs::write(folder.path("t.ndjson"), bytes).unwrap();
        let pipe = format!("{program} -dc {name} | arrow-shard convert --from csv -");
        for arguments in [&["head", &name][..], &["head", "--from", "csv", &name]] {
            let error = folder.run(arguments).error(1);
            assert!(
                error.contains(&format!("compressed with {program}")) && error.contains(&pipe),
                "{error}"
            );
        }
        let json = folder.run(&["head", "t.ndjson"]).error(1);
        let piped = folder.pipe(&["head", "--from", "csv", "-"], bytes).error(1);
        for error in [json, piped] {
            assert!(error.contains(&format!("with {program}")), "{error}");
        }
        let output = format!("out.csv.{suffix}");
        let error = folder.run(&["convert", "t.ndjson", &output]).error(2);
        assert!(
            error.contains(&output) && error.contains(&format!("| {program}")),
            "{error}"
        );
        fs::remove_file(folder.path(&name)).unwrap();
    }
    assert_eq!(folder.names(), ["t.ndjson"]);
    fs::write(folder.path("t.csv"), "BZh,b\n1,x\n").unwrap();
    let csv = folder.run(&["cat", "t.csv", "--format", "csv"]).ok();
    assert_eq!(csv, "BZh,b\n1,x\n");
}

#[test]
fn commands_on_shards_name_the_format_of_other_files() {
    let folder = folder();
    fs::write(
        folder.path("t.gz"),
        [COMPRESSED[0].2, &[0xE9; 100]].concat(),
    )
    .unwrap();
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
        .run(&["convert", "--threads", "2", "a.csv", "c.parquet"])
        .error(2);
    assert!(error.contains("--threads"), "{error}");
    let none = folder.run(&["convert", "--threads", "0", "a.csv", "c.shard"]);
    assert_eq!(none.code, 2);
}
