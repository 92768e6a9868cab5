//! `convert --compression`

use super::data::{nested, plain};
use super::{Folder, read_ipc, write_ipc};
use parquet::basic::Compression;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;

#[test]
fn parquet_has_the_compression_that_is_asked_for() {
    let batch = plain(5_000);
    let folder = Folder::with(&batch);
    let zstd = Compression::ZSTD(Default::default());
    for (option, want) in [
        (None, zstd),
        (Some("none"), Compression::UNCOMPRESSED),
        (Some("zstd"), zstd),
        (Some("lz4"), Compression::LZ4_RAW),
        (Some("snappy"), Compression::SNAPPY),
        (Some("gzip"), Compression::GZIP(Default::default())),
    ] {
        let mut arguments = vec!["convert", "--force", "t.arrow", "t.parquet"];
        arguments.extend(option.iter().flat_map(|codec| ["--compression", codec]));
        folder.run(&arguments).ok();
        let file = File::open(folder.path("t.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        for column in reader.metadata().row_group(0).columns() {
            assert_eq!(column.compression(), want, "{option:?}");
        }
        folder
            .run(&["convert", "--force", "t.parquet", "back.arrow"])
            .ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), batch, "{option:?}");
    }
}

#[test]
fn arrow_ipc_has_the_compression_that_is_asked_for() {
    // One batch without a dictionary, and one with a dictionary.
    for batch in [plain(5_000), nested()] {
        let folder = Folder::with(&batch);
        for output in ["u.arrow", "u.arrows"] {
            let size = |codec: &str| {
                let options = ["convert", "--force", "--compression", codec];
                folder
                    .run(&[&options[..], &["t.arrow", output]].concat())
                    .ok();
                folder
                    .run(&["convert", "--force", output, "back.arrow"])
                    .ok();
                assert_eq!(read_ipc(&folder.path("back.arrow")), batch, "{codec}");
                std::fs::read(folder.path(output)).unwrap().len()
            };
            let [none, lz4, zstd] = ["none", "lz4", "zstd"].map(size);
            folder.run(&["convert", "--force", "t.arrow", output]).ok();
            let usual = std::fs::read(folder.path(output)).unwrap().len();
            assert_eq!(usual, none, "{output}");
            if batch.num_rows() > 1_000 {
                assert!(lz4 < none && zstd < lz4, "{output}: {none} {lz4} {zstd}");
            }
        }
    }
}

#[test]
fn a_compression_that_the_format_lacks_is_wrong_usage() {
    let folder = Folder::new();
    write_ipc(&folder.path("t.arrow"), &plain(10));
    for (output, codec, why) in [
        ("u.arrow", "snappy", "has only zstd, lz4 and none"),
        ("u.arrows", "gzip", "has only zstd, lz4 and none"),
        ("u.amudai.shard", "zstd", "--profile"),
        ("u.csv", "gzip", "ends in .gz"),
        ("u.ndjson.zst", "zstd", "ends in .gz, .zst"),
        ("u.cole", "none", "COLE"),
    ] {
        let arguments = ["convert", "t.arrow", output, "--compression", codec];
        let error = folder.run(&arguments).error(2);
        let option = format!("--compression {codec}: the output is");
        assert!(error.contains(&option) && error.contains(why), "{error}");
    }
    assert_eq!(folder.names(), ["t.arrow"]);
}
