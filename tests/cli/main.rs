//! Tests of the command line, run as a program.
#![expect(
    clippy::unwrap_used,
    reason = "a command that cannot be run is a failed test"
)]

mod advice;
mod append;
mod attach;
mod changed;
#[cfg(feature = "cloud")]
mod cloud;
mod codecs;
mod cole;
#[path = "../support/columns.rs"]
mod columns;
mod compressed;
#[path = "../support/covered.rs"]
mod covered;
mod csv_text;
mod damaged;
mod data;
mod edit;
#[cfg(feature = "cloud")]
mod everywhere;
mod exact;
mod external;
mod files;
mod filter;
mod foreign;
mod formats;
mod inspect;
mod integration;
mod ipc;
mod keyed;
#[cfg(unix)]
mod killed;
mod lance;
mod large_text;
mod look;
#[cfg(unix)]
mod many;
mod matrix;
mod odd;
#[cfg(unix)]
mod odd_names;
mod outputs;
mod pairs;
mod parts;
mod recognized;
mod refused;
mod round_trips;
mod sampled;
mod show;
mod sorted;
#[path = "../support/mod.rs"]
mod support;
#[cfg(target_os = "linux")]
mod terminal;
mod text;
mod types;
mod union;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use data::{nested, plain, union};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// The output of a command, and its exit code.
struct Done {
    code: i32,
    out: Vec<u8>,
    err: String,
}

impl Done {
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        self.text()
    }

    /// Returns the message of a command, which must have failed with this code and a message of one line.
    #[track_caller]
    fn error(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}\n{}", self.err, self.text());
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        self.err.strip_prefix("error: ").unwrap().to_owned()
    }

    fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }
}

/// The working directory of commands.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Creates a folder with a file `t.arrow` of this batch.
    fn with(batch: &RecordBatch) -> Self {
        let folder = Self::new();
        write_ipc(&folder.path("t.arrow"), batch);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Done {
        self.pipe(arguments, &[])
    }

    fn pipe(&self, arguments: &[&str], input: &[u8]) -> Done {
        self.run_with(&[], arguments, input)
    }

    /// Runs a command with these environment variables.
    fn run_with(&self, variables: &[(&str, String)], arguments: &[&str], input: &[u8]) -> Done {
        let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // A command may close its input early.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Done {
            code: output.status.code().unwrap(),
            out: output.stdout,
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the names of all files in the folder.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn write_ipc(path: &Path, batch: &RecordBatch) {
    write_ipc_batches(path, std::slice::from_ref(batch));
}

fn write_ipc_batches(path: &Path, batches: &[RecordBatch]) {
    let file = File::create(path).unwrap();
    let mut writer = FileWriter::try_new(file, &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
}

fn read_ipc(path: &Path) -> RecordBatch {
    let reader = FileReader::try_new(File::open(path).unwrap(), None).unwrap();
    let schema = reader.schema();
    concat_batches(&schema, &reader.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
}

const NAMES: [&str; 6] = [
    "t.shard",
    "t.parquet",
    "t.arrow",
    "t.arrows",
    "t.csv",
    "t.ndjson",
];

#[test]
fn every_format_becomes_every_other_without_loss() {
    let batch = plain(1_000);
    let folder = Folder::with(&batch);
    for name in NAMES {
        if name != "t.arrow" {
            folder.run(&["convert", "t.arrow", name]).ok();
        }
    }
    for from in NAMES {
        for to in NAMES {
            let to = to.replace("t.", "out.");
            folder
                .run(&["convert", "--quiet", "--force", from, &to])
                .ok();
            folder
                .run(&["convert", "--quiet", "--force", &to, "back.arrow"])
                .ok();
            assert_eq!(
                read_ipc(&folder.path("back.arrow")),
                batch,
                "{from} to {to}"
            );
        }
    }
}

#[test]
fn nested_types_survive_shards_parquet_and_ipc() {
    let batch = nested();
    let folder = Folder::with(&batch);
    for name in ["a.shard", "a.parquet", "a.arrows"] {
        folder.run(&["convert", "t.arrow", name]).ok();
        folder.run(&["convert", "--force", name, "back.arrow"]).ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), batch, "{name}");
    }
    let folder = Folder::with(&union());
    folder.run(&["convert", "t.arrow", "a.shard"]).ok();
    folder.run(&["convert", "a.shard", "back.arrow"]).ok();
    assert_eq!(read_ipc(&folder.path("back.arrow")), union());
}

#[test]
fn standard_input_and_output_take_formats_read_from_front_to_back() {
    let batch = plain(100);
    let folder = Folder::with(&batch);
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    for format in ["ipc-stream", "csv", "ndjson"] {
        let done = folder.run(&["convert", "t.shard", "-", "--to", format]);
        assert_eq!(done.code, 0, "{}", done.err);
        let arguments = ["convert", "--force", "--from", format, "-", "back.arrow"];
        folder.pipe(&arguments, &done.out).ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), batch, "{format}");
    }
    let error = folder
        .run(&["convert", "t.shard", "-", "--to", "parquet"])
        .error(2);
    assert!(error.contains("Parquet"), "{error}");
    assert!(
        folder
            .run(&["convert", "-", "x.shard"])
            .error(2)
            .contains("--from")
    );
}

#[test]
fn options_of_the_shard_are_obeyed() {
    let folder = Folder::with(&plain(1_000));
    let options = [
        "--stripe-rows",
        "300",
        "--layout",
        "two-level",
        "--profile",
        "plain",
    ];
    let arguments = [&["convert", "t.arrow", "t.shard"][..], &options].concat();
    folder.run(&arguments).ok();
    let names = folder.names();
    assert_eq!(
        names
            .iter()
            .filter(|name| name.ends_with(".amudai.stripe"))
            .count(),
        4,
        "{names:?}"
    );
    let info: Value =
        serde_json::from_str(&folder.run(&["inspect", "--json", "t.shard"]).ok()).unwrap();
    assert_eq!(info["files"].as_array().unwrap().len(), 5);
    assert_eq!(info["stripes"][3]["rows"], 100);
    assert!(info["stripes"][0]["fields"][0]["buffers"][0]["blocks"].is_null());
    let error = folder
        .run(&["convert", "t.arrow", "t.csv", "--layout", "two-level"])
        .error(2);
    assert!(error.contains("--layout"), "{error}");
}

#[test]
fn shards_are_written_for_the_reader_that_is_asked_for() {
    let batch = plain(1_000);
    let folder = Folder::with(&batch);
    for (name, wire) in [("spec", "Spec"), ("reference", "Reference")] {
        folder
            .run(&["convert", "--force", "--wire", name, "t.arrow", "t.shard"])
            .ok();
        let text = folder.run(&["inspect", "t.shard"]).ok();
        assert!(text.contains(&format!("{wire} wire")), "{text}");
        let info: Value =
            serde_json::from_str(&folder.run(&["inspect", "--json", "t.shard"]).ok()).unwrap();
        assert_eq!(info["wire"], wire);
        folder.run(&["verify", "t.shard"]).ok();
        folder
            .run(&["convert", "--force", "t.shard", "back.arrow"])
            .ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), batch);
    }
    let folder = Folder::with(&union());
    let error = folder
        .run(&["convert", "--wire", "reference", "t.arrow", "t.shard"])
        .error(1);
    assert!(
        error.contains("`either`") && error.contains("Union"),
        "{error}"
    );
    let error = folder
        .run(&["convert", "--wire", "reference", "t.arrow", "t.csv"])
        .error(2);
    assert!(error.contains("--wire"), "{error}");
    assert_eq!(folder.names(), ["t.arrow"]);
}

#[test]
fn a_mapping_is_chosen_and_shown_and_gives_the_data_back() {
    let batch = nested();
    let folder = Folder::with(&batch);
    for (name, shown, price) in [
        ("lossless", "Lossless mapping", "arrow.decimal"),
        ("amudai", "Amudai mapping", "KustoDecimal"),
    ] {
        let arguments = [
            "convert",
            "--mapping",
            name,
            "--force",
            "t.arrow",
            "t.shard",
        ];
        folder.run(&arguments).ok();
        let tree = folder.run(&["inspect", "t.shard"]).ok();
        assert!(tree.contains(shown) && tree.contains(price), "{tree}");
        let json = folder.run(&["inspect", "--json", "t.shard"]).ok();
        let json: Value = serde_json::from_str(&json).unwrap();
        let mapping = json["mapping"].as_str().unwrap();
        assert_eq!(mapping.to_lowercase(), name);
        folder
            .run(&["convert", "--force", "t.shard", "back.arrow"])
            .ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), batch);
    }
    let tree = folder.run(&["inspect", "t.shard"]).ok();
    assert!(tree.contains("-0.01") && tree.contains("123.45"), "{tree}");

    let times = TimestampNanosecondArray::from(vec![0, 100, 1]);
    let batch = RecordBatch::try_from_iter([("time", Arc::new(times) as ArrayRef)]).unwrap();
    let folder = Folder::with(&batch);
    let arguments = ["convert", "--mapping", "amudai", "t.arrow", "t.shard"];
    let error = folder.run(&arguments).error(1);
    assert!(
        error.contains("`time`") && error.contains("value 2 of these"),
        "{error}"
    );
    assert_eq!(folder.names(), ["t.arrow"]);
    let arguments = ["convert", "--mapping", "amudai", "t.arrow", "t.csv"];
    assert!(folder.run(&arguments).error(2).contains("--mapping"));
}

#[test]
fn types_that_a_format_lacks_are_an_error_with_the_column_and_no_file() {
    let folder = Folder::with(&nested());
    let before = folder.names();
    let error = folder.run(&["convert", "t.arrow", "t.csv"]).error(1);
    assert!(
        error.contains("`list`") && error.contains("--columns"),
        "{error}"
    );
    folder
        .run(&["convert", "t.arrow", "t.csv", "--columns", "time,key"])
        .ok();
    let csv = std::fs::read_to_string(folder.path("t.csv")).unwrap();
    assert!(
        csv.starts_with("time,key\n1970-01-01T01:00:00.000001+01:00,p\n"),
        "{csv}"
    );
    std::fs::remove_file(folder.path("t.csv")).unwrap();
    assert_eq!(folder.names(), before);
    let folder = Folder::with(&union());
    for name in ["t.parquet", "t.csv"] {
        let error = folder.run(&["convert", "t.arrow", name]).error(1);
        assert!(error.contains("`either`"), "{error}");
    }
    assert_eq!(folder.names(), ["t.arrow"]);
}

#[test]
fn a_failed_conversion_leaves_no_file() {
    let folder = Folder::new();
    std::fs::write(folder.path("bad.csv"), "a,b\n1,2\n3\n").unwrap();
    std::fs::write(folder.path("late.ndjson"), "{\"a\":1}\n{\"b\":2}\n").unwrap();
    for to in ["x.shard", "x.parquet", "x.arrow", "x.ndjson"] {
        let error = folder.run(&["convert", "bad.csv", to]).error(1);
        assert!(error.contains("bad.csv"), "{error}");
        folder
            .run(&["convert", "--schema-rows", "1", "late.ndjson", to])
            .error(1);
    }
    assert_eq!(folder.names(), ["bad.csv", "late.ndjson"]);
}

#[test]
fn an_existing_file_is_replaced_with_force_only() {
    let folder = Folder::with(&plain(10));
    for name in ["t.shard", "t.csv"] {
        std::fs::write(folder.path(name), "mine").unwrap();
        let error = folder.run(&["convert", "t.arrow", name]).error(1);
        assert!(error.contains("--force"), "{error}");
        assert_eq!(std::fs::read(folder.path(name)).unwrap(), b"mine");
        folder.run(&["convert", "--force", "t.arrow", name]).ok();
        assert_ne!(std::fs::read(folder.path(name)).unwrap(), b"mine");
    }
}

#[test]
fn csv_columns_keep_values_that_a_sample_did_not_show() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.csv"), "a,b\n,1\nx,2\n").unwrap();
    folder
        .run(&["convert", "--schema-rows", "1", "t.csv", "t.arrow"])
        .ok();
    let batch = read_ipc(&folder.path("t.arrow"));
    assert_eq!(
        batch.column(0).as_ref(),
        &StringArray::from(vec![None, Some("x")]) as &dyn Array
    );
    folder
        .run(&["convert", "--schema-rows", "0", "t.csv", "text.arrow"])
        .ok();
    let schema = read_ipc(&folder.path("text.arrow")).schema();
    assert!(
        schema
            .fields()
            .iter()
            .all(|field| field.data_type() == &DataType::Utf8)
    );
}

#[test]
fn wrong_usage_ends_with_code_2() {
    let folder = Folder::with(&plain(10));
    assert_eq!(folder.run(&[]).code, 2);
    assert_eq!(folder.run(&["convert", "t.arrow"]).code, 2);
    assert_eq!(folder.run(&["head", "--format", "xml", "t.arrow"]).code, 2);
    assert_eq!(
        folder
            .run(&["convert", "--stripe-rows", "0", "t.arrow", "t.shard"])
            .code,
        2
    );
    assert!(
        folder
            .run(&["convert", "t.arrow", "t.xyz"])
            .error(2)
            .contains("--to")
    );
    std::fs::write(folder.path("t.xyz"), "a\n1\n").unwrap();
    assert!(folder.run(&["head", "t.xyz"]).error(2).contains("--from"));
}

#[test]
fn a_missing_file_is_named_whether_or_not_its_name_shows_a_format() {
    let folder = Folder::new();
    let names = [&NAMES[..], &["t.cole", "none", "t.xyz"]].concat();
    for name in names {
        for command in [
            &["head", name][..],
            &["schema", name],
            &["convert", name, "out.shard"],
        ] {
            let error = folder.run(command).error(1);
            let is_missing = error.contains("not found") || error.contains("No such file");
            assert!(error.contains(name) && is_missing, "{command:?}: {error}");
        }
    }
    assert!(folder.names().is_empty());
}

#[test]
fn the_help_of_every_command_has_examples_of_it() {
    let folder = Folder::new();
    let help = folder.run(&["--help"]).ok();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let commands = commands.filter(|line| !line.starts_with("   "));
    let names: Vec<&str> = commands
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert!(names.len() > 13 && names.contains(&"undelete"), "{help}");
    // `sql --help` is the help of the program arrow-shard-sql.
    let own = |name: &&str| !["help", "sql"].contains(name);
    for name in names.into_iter().filter(own) {
        let help = folder.run(&[name, "--help"]).ok();
        let (_, examples) = help.split_once("Examples:\n").unwrap_or_default();
        let example = examples.lines().find(|line| line.contains(name));
        assert!(
            example.is_some_and(|line| line.contains("arrow-shard")),
            "{help}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::with(&plain(200_000));
    let arguments = ["cat", "--format", "json", "t.arrow"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(arguments)
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}
