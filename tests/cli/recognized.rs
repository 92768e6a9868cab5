//! CSV and NDJSON that only the content shows.

use super::Folder;
use arrow_array::record_batch;
use arrow_ipc::writer::StreamWriter;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;

const WANT: &str = "id,name\n1,\"x,y\"\n2,z\n";

#[test]
fn csv_is_recognized_with_its_delimiter() {
    let folder = Folder::new();
    for text in [
        "id,name\n1,\"x,y\"\n2,z\n",
        "\u{FEFF}id;name\r\n1;x,y\r\n2;z\r\n",
        "id\tname\n1\tx,y\n2\tz",
        "id|name\n\n1|x,y\n2|z\n",
    ] {
        for name in ["data", "data.txt"] {
            fs::write(folder.path(name), text).unwrap();
            let csv = folder.run(&["cat", name, "--format", "csv"]).ok();
            assert_eq!(csv, WANT, "{text:?}");
            assert_eq!(folder.run(&["count", name]).ok(), "2\n", "{text:?}");
            fs::remove_file(folder.path(name)).unwrap();
        }
        let piped = folder.pipe(&["cat", "-", "--format", "csv"], text.as_bytes());
        assert_eq!(piped.ok(), WANT, "{text:?}");
        for (suffix, bytes) in compressed(text.as_bytes()) {
            fs::write(folder.path("data"), &bytes).unwrap();
            let csv = folder.run(&["cat", "data", "--format", "csv"]).ok();
            assert_eq!(csv, WANT, "{text:?}, {suffix}");
            let piped = folder.pipe(&["cat", "-", "--format", "csv"], &bytes);
            assert_eq!(piped.ok(), WANT, "{text:?}, {suffix}");
        }
    }
}

/// Returns a text in three compressions.
fn compressed(text: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bzip2.write_all(text).unwrap();
    [
        ("gz", gzip.finish().unwrap()),
        ("zst", zstd::encode_all(text, 3).unwrap()),
        ("bz2", bzip2.finish().unwrap()),
    ]
}

#[test]
fn long_compressed_text_is_recognized_in_a_pipe() {
    let folder = Folder::new();
    let rows = (0..200_000u64).map(|i| format!("{i},{}\n", i.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    let text = format!("a,b\n{}", rows.collect::<String>());
    for (suffix, bytes) in compressed(text.as_bytes()) {
        assert!(bytes.len() > 1 << 20, "{suffix}: {}", bytes.len());
        let piped = folder.pipe(&["count", "-"], &bytes);
        assert_eq!(piped.ok(), "200000\n", "{suffix}");
    }
}

#[test]
fn what_text_compressors_hide_is_refused_in_files_and_pipes() {
    let folder = Folder::new();
    let batch = record_batch!(("a", Int64, [1, 2])).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    let stream = stream.into_inner().unwrap();
    let [(_, once), ..] = compressed(WANT.as_bytes());
    #[cfg(unix)]
    {
        let mut made = std::process::Command::new("mkfifo");
        assert!(made.arg(folder.path("pipe")).status().unwrap().success());
    }
    for (suffix, bytes) in [stream, once].iter().flat_map(|it| compressed(it)) {
        let program = match suffix {
            "gz" => "gzip",
            "zst" => "zstd",
            _ => "bzip2",
        };
        let want = format!("compressed with {program}; decompress them in a pipe: {program} -dc ");
        fs::write(folder.path("t"), &bytes).unwrap();
        let error = folder.run(&["cat", "t"]).error(1);
        assert!(error.contains(&want), "{error}");
        let error = folder.pipe(&["cat", "-"], &bytes).error(1);
        assert!(error.contains(&format!("{want}FILE")), "{error}");
        // The program has to open the pipe, or the test would wait for it.
        #[cfg(unix)]
        {
            let pipe = folder.path("pipe");
            let writer = std::thread::spawn(move || fs::write(pipe, bytes));
            let error = folder.run(&["cat", "pipe"]).error(1);
            assert!(error.contains(&format!("{want}FILE")), "{error}");
            // The program may have closed the pipe first.
            let _ = writer.join().unwrap();
        }
    }
}

#[test]
fn compressed_files_that_are_not_text_are_decompressed_first() {
    let folder = Folder::new();
    for (suffix, bytes) in compressed(b"PAR1\x15\x04\x15") {
        let error = folder.pipe(&["cat", "-"], &bytes).error(1);
        let want = "-d FILE";
        assert!(
            error.contains("decompress them first: ") && error.contains(want),
            "{suffix}: {error}"
        );
        fs::write(folder.path("t"), &bytes).unwrap();
        let error = folder.run(&["cat", "t"]).error(1);
        assert!(error.contains("-d t"), "{suffix}: {error}");
    }
}

#[test]
fn byte_order_marks_are_no_part_of_a_text() {
    let folder = Folder::new();
    for (text, format) in [
        ("\u{FEFF}\u{FEFF}\"a;b\";c\n1;2\n", "CSV"),
        ("\u{FEFF}\u{FEFF}{\"a;b\":1,\"c\":2}\n", "NDJSON"),
    ] {
        fs::write(folder.path("t"), text).unwrap();
        let cat = ["cat", "t", "--format", "csv"];
        assert_eq!(folder.run(&cat).ok(), "a;b,c\n1,2\n", "{format}");
        let piped = folder.pipe(&["cat", "-", "--format", "csv"], text.as_bytes());
        assert_eq!(piped.ok(), "a;b,c\n1,2\n", "{format}");
    }
}

#[test]
fn options_of_csv_apply_to_a_file_that_is_recognized() {
    let folder = Folder::new();
    fs::write(folder.path("data"), "1;2\n3;-\n").unwrap();
    let arguments = ["cat", "data", "--no-header", "--null-value", "-", "--json"];
    assert_eq!(
        folder.run(&arguments).ok(),
        "{\"column_1\":1,\"column_2\":2}\n{\"column_1\":3,\"column_2\":null}\n"
    );
    // The user has the last word.
    let comma = ["schema", "data", "--delimiter", ","];
    assert_eq!(folder.run(&comma).ok(), "1;2: Utf8\n");
    let named = ["schema", "data", "--from", "csv"];
    assert_eq!(folder.run(&named).ok(), "1;2: Utf8\n");
    // The separator of the input is not that of the output.
    folder
        .run(&["convert", "data", "out", "--to", "csv", "--no-header"])
        .ok();
    let out = fs::read_to_string(folder.path("out")).unwrap();
    assert_eq!(out, "1,2\n3,-\n");
}

#[test]
fn other_text_is_not_taken_for_csv() {
    let folder = Folder::new();
    for text in [
        &b"Dear Jane,\nsee below\n"[..],
        b"a,b\n",
        b"a\n1\n",
        b"a,b\n1,2\n3\n",
        b"a,b\n1,\0\n",
        b"a,b\n1,\xE4\n",
    ] {
        fs::write(folder.path("data"), text).unwrap();
        let error = folder.run(&["head", "data"]).error(2);
        assert!(error.contains("--from"), "{text:?}: {error}");
        let error = folder.pipe(&["head", "-"], text).error(2);
        assert!(error.contains("--from"), "{text:?}: {error}");
    }
    // A file of fields, one in each line.
    fs::write(folder.path("fields"), "a int64,\nb utf8,\n").unwrap();
    fs::write(folder.path("t.csv"), "a,b\n1,x\n").unwrap();
    let schema = ["schema", "t.csv", "--schema", "fields"];
    let done = folder.run(&schema);
    assert!(!done.err.contains("CSV"), "{}", done.err);
    // A name that shows another format.
    fs::copy(folder.path("t.csv"), folder.path("t.parquet")).unwrap();
    let error = folder.run(&["head", "t.parquet"]).error(1);
    assert!(
        error.contains("the content is CSV, not Parquet") && error.contains("--from csv"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_header_that_arrives_before_the_rows_is_enough() {
    let folder = Folder::new();
    let pipe = "(printf 'id;name\\n'; sleep 0.5; printf '1;x\\n') | \"$0\" cat - --format csv";
    let done = std::process::Command::new("sh")
        .args(["-c", pipe, env!("CARGO_BIN_EXE_arrow-shard")])
        .current_dir(folder.path("."))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "id,name\n1,x\n");
}

#[test]
fn tabs_separate_the_values_of_tab_files() {
    let folder = Folder::new();
    for name in ["t.tsv", "t.tab", "t.tab.gz"] {
        fs::write(folder.path("in.csv"), WANT).unwrap();
        folder.run(&["convert", "in.csv", name]).ok();
        let csv = folder.run(&["cat", name, "--format", "csv"]).ok();
        assert_eq!(csv, WANT, "{name}");
    }
    let tabs = fs::read_to_string(folder.path("t.tab")).unwrap();
    assert_eq!(tabs, "id\tname\n1\tx,y\n2\tz\n");
}
