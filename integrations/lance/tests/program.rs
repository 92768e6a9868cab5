//! The program `arrow-shard-lance`.
#![expect(
    clippy::unwrap_used,
    reason = "a table that cannot be made is a failed test"
)]

mod common;

use arrow_array::RecordBatchReader;
use arrow_shard::{Shard, ShardWriter};
use arrow_shard_lance::{LanceReader, LanceVersion};
use common::{flat, read, write};
use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_arrow-shard-lance");
    Command::new(program)
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn ok(output: Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// Returns the message of a command that must fail as wrong usage.
#[track_caller]
fn usage(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    error
}

fn names(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().file_name());
    let mut names: Vec<_> = names.map(|it| it.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_go_to_shards_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let batch = flat(10_000);
    write(
        &folder.path().join("a.lance"),
        std::slice::from_ref(&batch),
        LanceVersion::V2_1,
    )
    .unwrap();
    ok(run(
        folder.path(),
        &["convert", "a.lance", "a.amudai.shard", "--quiet"],
    ));
    let shard = Shard::open(folder.path().join("a.amudai.shard")).unwrap();
    let reader = shard.scan().build().unwrap();
    let schema = reader.schema();
    let batches: Vec<_> = reader.map(Result::unwrap).collect();
    assert_eq!(
        arrow_select::concat::concat_batches(&schema, &batches).unwrap(),
        batch
    );
    for version in ["2.0", "2.1", "2.2"] {
        let args = [
            "convert",
            "a.amudai.shard",
            "b.lance",
            "--force",
            "--lance-version",
            version,
        ];
        ok(run(folder.path(), &args));
        let path = folder.path().join("b.lance");
        assert_eq!(LanceReader::open(&path).unwrap().version(), version);
        assert_eq!(read(&path).unwrap(), batch);
    }
    assert_eq!(
        names(folder.path()),
        ["a.amudai.shard", "a.lance", "b.lance"]
    );
}

#[test]
fn files_are_replaced_on_demand_alone() {
    let folder = tempfile::tempdir().unwrap();
    write(
        &folder.path().join("a.lance"),
        &[flat(10)],
        LanceVersion::V2_2,
    )
    .unwrap();
    std::fs::write(folder.path().join("b.shard"), "something else").unwrap();
    let refused = error(&run(folder.path(), &["convert", "a.lance", "b.shard"]));
    assert!(
        refused.contains("b.shard") && refused.contains("exists"),
        "{refused}"
    );
    assert_eq!(
        std::fs::read(folder.path().join("b.shard")).unwrap(),
        b"something else"
    );
    ok(run(
        folder.path(),
        &["convert", "--force", "a.lance", "b.shard"],
    ));
    let refused = error(&run(folder.path(), &["convert", "b.shard", "a.lance"]));
    assert!(
        refused.contains("a.lance") && refused.contains("exists"),
        "{refused}"
    );
}

#[test]
fn failed_conversions_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.lance"), [7; 1000]).unwrap();
    let failed = error(&run(folder.path(), &["convert", "a.lance", "b.shard"]));
    assert!(
        failed.contains("a.lance") && !failed.contains(".rs:"),
        "{failed}"
    );
    let column = arrow_schema::Field::new("d", arrow_schema::DataType::Decimal32(5, 1), true);
    let array = arrow_array::new_null_array(column.data_type(), 3);
    let batch = common::table_of(column, array);
    let mut writer = ShardWriter::create(folder.path().join("d.shard"), batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let failed = error(&run(folder.path(), &["convert", "d.shard", "d.lance"]));
    assert!(
        failed.contains("column `d`") && failed.contains("d.lance"),
        "{failed}"
    );
    let failed = error(&run(
        folder.path(),
        &["convert", "s3://b/d.lance", "e.shard"],
    ));
    assert!(failed.contains("local"), "{failed}");
    assert_eq!(names(folder.path()), ["a.lance", "d.shard"]);
}

#[test]
fn lance_is_converted_to_and_from_shards_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lance");
    write(&path, &[flat(10)], LanceVersion::V2_2).unwrap();
    for name in [
        "b.parquet",
        "b.arrow",
        "b.arrows",
        "b.ipc",
        "b.feather",
        "b.CSV",
        "b.tsv",
        "b.ndjson",
        "b.jsonl",
        "b.json",
        "b.cole",
        "b.lance",
        "-",
    ] {
        let refused = usage(folder.path(), &["convert", "a.lance", name]);
        assert!(
            refused.contains(&format!("`{name}`")) && refused.contains("shard"),
            "{refused}"
        );
    }
    let refused = usage(folder.path(), &["convert", "b.parquet", "c.lance"]);
    assert!(refused.contains("Parquet"), "{refused}");
    let refused = usage(folder.path(), &["convert", "d.shard", "e.shard"]);
    assert!(refused.contains(".lance"), "{refused}");
    assert_eq!(names(folder.path()), ["a.lance"]);
    ok(run(folder.path(), &["convert", "a.lance", "b.any"]));
}

#[test]
fn options_without_effect_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lance");
    write(&path, &[flat(10)], LanceVersion::V2_2).unwrap();
    ok(run(folder.path(), &["convert", "a.lance", "a.shard"]));
    for (input, output, option, value) in [
        ("a.shard", "b.lance", "--profile", "fast"),
        ("a.shard", "b.lance", "--stripe-rows", "5"),
        ("a.shard", "b.lance", "--layout", "two-level"),
        ("a.shard", "b.lance", "--dataset-version", "1"),
        ("a.lance", "b.shard", "--lance-version", "2.2"),
        ("a.lance", "b.shard", "--dataset-version", "1"),
    ] {
        let refused = usage(folder.path(), &["convert", input, output, option, value]);
        assert!(refused.contains(option), "{refused}");
    }
    let refused = usage(
        folder.path(),
        &["schema", "a.lance", "--dataset-version", "1"],
    );
    assert!(refused.contains("--dataset-version"), "{refused}");
    assert_eq!(names(folder.path()), ["a.lance", "a.shard"]);
}

/// Returns a command that runs the program in a shell, after `before`.
#[cfg(unix)]
fn below_shell(folder: &Path, before: &str, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{before}\nexec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_arrow-shard-lance"))
        .args(args)
        .current_dir(folder);
    command
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_grow_is_named_and_does_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lance");
    write(&path, &[flat(100_000)], LanceVersion::V2_2).unwrap();
    ok(run(folder.path(), &["convert", "a.lance", "a.shard"]));
    for (input, output) in [("a.lance", "b.shard"), ("a.shard", "b.lance")] {
        let args = ["convert", input, output];
        let mut command = below_shell(folder.path(), "ulimit -f 8", &args);
        let failed = error(&command.output().unwrap());
        assert!(failed.contains(output), "{failed}");
        assert_eq!(names(folder.path()), ["a.lance", "a.shard"]);
    }
}

#[cfg(unix)]
#[test]
fn a_hangup_that_nohup_ignores_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lance");
    write(&path, &[flat(100_000)], LanceVersion::V2_2).unwrap();
    // Hangups arrive all the time until the conversion ends.
    let script = "trap '' HUP; (while kill -HUP $$; do :; done) >/dev/null 2>&1 &";
    let args = ["convert", "a.lance", "b.shard"];
    let mut command = below_shell(folder.path(), script, &args);
    ok(command.output().unwrap());
    assert_eq!(names(folder.path()), ["a.lance", "b.shard"]);
}

#[test]
fn the_schema_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    write(
        &folder.path().join("a.lance"),
        &[flat(10)],
        LanceVersion::V2_1,
    )
    .unwrap();
    let shown = ok(run(folder.path(), &["schema", "a.lance"]));
    let expected = "Lance 2.1, 10 rows\n  id: Int64 not null\n  text: Utf8\n  number: Float64\n  bit: Boolean\n";
    assert_eq!(shown, expected);
}
