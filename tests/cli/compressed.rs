//! Compressed CSV and NDJSON, in and out.

use super::data::plain;
use super::{Folder, read_ipc};
use std::fs;

/// Suffixes, and the first bytes of their files.
const ALL: [(&str, &[u8]); 4] = [
    ("gz", b"\x1F\x8B"),
    ("zst", b"\x28\xB5\x2F\xFD"),
    ("bz2", b"BZh"),
    ("xz", b"\xFD7zXZ\0"),
];

#[test]
fn compressed_text_comes_back() {
    let batch = plain(20_000);
    let folder = Folder::with(&batch);
    for (suffix, magic) in ALL {
        for format in ["csv", "tsv", "ndjson"] {
            let name = format!("t.{format}.{suffix}");
            folder.run(&["convert", "t.arrow", &name]).ok();
            let bytes = fs::read(folder.path(&name)).unwrap();
            assert!(bytes.starts_with(magic), "{name}");
            folder
                .run(&["convert", "--force", &name, "back.arrow"])
                .ok();
            assert_eq!(read_ipc(&folder.path("back.arrow")), batch, "{name}");
            if format == "tsv" {
                continue;
            }
            // The content shows the compression, whatever the name is.
            fs::copy(folder.path(&name), folder.path("bare.txt")).unwrap();
            let from = [
                "convert",
                "--force",
                "--from",
                format,
                "bare.txt",
                "back.arrow",
            ];
            folder.run(&from).ok();
            assert_eq!(read_ipc(&folder.path("back.arrow")), batch, "{name}");
            let piped = ["convert", "--force", "--from", format, "-", "back.arrow"];
            folder.pipe(&piped, &bytes).ok();
            assert_eq!(read_ipc(&folder.path("back.arrow")), batch, "{name}");
        }
        fs::copy(
            folder.path(&format!("t.ndjson.{suffix}")),
            folder.path("bare"),
        )
        .unwrap();
        let head = folder.run(&[
            "head",
            "-n",
            "1",
            "bare",
            "--columns",
            "name",
            "--format",
            "csv",
        ]);
        assert_eq!(head.ok(), "name\n\"\"\n");
    }
    let text = fs::read(folder.path("t.csv.gz")).unwrap().len();
    folder.run(&["convert", "t.arrow", "t.csv"]).ok();
    assert!(text * 2 < fs::read(folder.path("t.csv")).unwrap().len());
}

#[test]
fn archives_of_several_parts_are_read_as_a_whole() {
    let folder = Folder::new();
    for (suffix, _) in ALL {
        let parts = ["a,b\n1,x\n", "2,y\n"].map(|part| {
            fs::write(folder.path("p.csv"), part).unwrap();
            // Text of one column passes unchanged.
            let name = format!("p.csv.{suffix}");
            let options = [
                "convert",
                "--force",
                "--no-header",
                "--schema-rows",
                "0",
                "--delimiter",
                "|",
            ];
            folder.run(&[&options[..], &["p.csv", &name]].concat()).ok();
            fs::read(folder.path(&name)).unwrap()
        });
        let name = format!("t.csv.{suffix}");
        fs::write(folder.path(&name), parts.concat()).unwrap();
        let rows = folder.run(&["cat", "--format", "csv", &name]).ok();
        assert_eq!(rows, "a,b\n1,x\n2,y\n", "{suffix}");
    }
    let mark = zstd::encode_all("\u{FEFF}a,b\n1,x\n".as_bytes(), 0).unwrap();
    fs::write(folder.path("t.csv"), mark).unwrap();
    assert_eq!(
        folder.run(&["cat", "--format", "csv", "t.csv"]).ok(),
        "a,b\n1,x\n"
    );
}

#[test]
fn damaged_archives_are_errors_that_name_the_file_and_leave_no_output() {
    let folder = Folder::with(&plain(3_000));
    for (suffix, _) in ALL {
        let name = format!("t.csv.{suffix}");
        folder.run(&["convert", "--force", "t.arrow", &name]).ok();
        let whole = fs::read(folder.path(&name)).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 0x40;
        let trailing = [&whole[..], b"xx"].concat();
        let cut = [whole.len() / 2, whole.len() - 1, 12].map(|end| whole[..end].to_vec());
        for bytes in cut.into_iter().chain([flipped, trailing]) {
            fs::write(folder.path(&name), &bytes).unwrap();
            for output in ["x.shard", "x.csv.gz"] {
                let error = folder.run(&["convert", &name, output]).error(1);
                assert!(error.contains(&name), "{error}");
            }
        }
        fs::remove_file(folder.path(&name)).unwrap();
        assert_eq!(folder.names(), ["t.arrow"]);
    }
    fs::write(folder.path("t.csv.gz"), b"a,b\n1,2\n").unwrap();
    // A name is no promise.
    assert_eq!(
        folder.run(&["cat", "t.csv.gz", "--format", "csv"]).ok(),
        "a,b\n1,2\n"
    );
}

#[test]
fn only_text_is_compressed_as_a_whole() {
    let folder = Folder::with(&plain(10));
    for name in ["t.parquet.gz", "t.amudai.shard.zst", "t.arrows.xz"] {
        let error = folder.run(&["convert", "t.arrow", name]).error(2);
        assert!(
            error.contains(name) && error.contains("CSV and NDJSON"),
            "{error}"
        );
    }
    let error = folder.run(&["convert", "t.arrow", "t.gz"]).error(2);
    assert!(error.contains("--to"), "{error}");
    folder
        .run(&["convert", "t.arrow", "t.gz", "--to", "csv"])
        .ok();
    for from in [&[][..], &["--from", "csv"]] {
        let head = [&["head", "t.gz", "--format", "csv"], from].concat();
        assert_eq!(folder.run(&head).ok().lines().count(), 11);
    }
    // Other formats in compressed files.
    folder
        .run(&["convert", "t.gz", "u.csv.gz", "--from", "csv"])
        .ok();
    fs::rename(folder.path("u.csv.gz"), folder.path("u.parquet")).unwrap();
    let error = folder.run(&["head", "u.parquet"]).error(1);
    assert!(error.contains("gzip"), "{error}");
    assert_eq!(folder.names(), ["t.arrow", "t.gz", "u.parquet"]);
}
