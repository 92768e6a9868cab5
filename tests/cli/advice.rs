//! Errors that say what was expected, and what to do.

use super::Folder;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use std::fs;
use std::sync::Arc;

const TEXT: &str = "time,delay,origin\n2024-01-01T10:00:00,5,OSL\n2024-01-02T11:30:00,,LIM\n";

fn folder() -> Folder {
    let folder = Folder::new();
    fs::write(folder.path("f.csv"), TEXT).unwrap();
    for name in ["f.shard", "f.parquet"] {
        folder.run(&["convert", "-q", "f.csv", name]).ok();
    }
    folder
}

#[test]
fn a_filter_of_another_format_is_about_the_input() {
    let folder = folder();
    fs::write(folder.path("g.csv"), "day\n1\n").unwrap();
    for (files, place) in [
        (&["f.csv"][..], "in f.csv;"),
        (&["f.parquet"], "in f.parquet;"),
        (&["f.csv", "g.csv"], "in the united files;"),
        (&["f.shard"], "in the shard;"),
    ] {
        let arguments = [&["cat", "--filter", "dely > 3"], files].concat();
        let error = folder.run(&arguments).error(2);
        let is_advised = error.contains(place) && error.contains("did you mean `delay`?");
        assert!(is_advised, "{arguments:?}: {error}");
    }
}

#[test]
fn a_file_that_is_not_parquet_is_not_attached() {
    let folder = folder();
    let attach = ["attach", "f.csv", "-o", "x.shard"];
    let error = folder.run(&attach).error(1);
    assert!(
        error.contains("f.csv") && error.contains("not a Parquet file"),
        "{error}"
    );
    let exists = ["attach", "f.parquet", "-o", "f.shard"];
    let error = folder.run(&exists).error(1);
    assert!(
        error.contains("choose another name, or delete it"),
        "{error}"
    );
}

#[test]
fn casts_name_the_column_and_the_option_that_is_meant() {
    let folder = folder();
    let error = folder.run(&["cat", "f.csv", "--cast", "dely=int32"]);
    assert!(error.error(2).contains("did you mean `delay`?"));
    for file in ["f.csv", "f.parquet", "f.shard"] {
        for types in [&["--cast", "time=date32"][..], &["--schema", "time date32"]] {
            let cast = [
                &["cat", file, "--format", "csv", "--columns", "time"],
                types,
            ]
            .concat();
            let error = folder.run(&cast).error(1);
            assert!(error.contains("--lossy"), "{cast:?}: {error}");
            let dates = folder.run(&[&cast[..], &["--lossy"]].concat()).ok();
            assert_eq!(dates, "time\n2024-01-01\n2024-01-02\n", "{cast:?}");
        }
    }
    // No option makes a number of text.
    let error = folder.run(&["cat", "f.csv", "--cast", "origin=int64"]);
    assert!(!error.error(1).contains("--lossy"));
    // The command has no such option.
    fs::write(folder.path("g.csv"), "delay\n1.5\n").unwrap();
    let error = folder.run(&["append", "f.shard", "g.csv"]).error(1);
    assert!(
        error.contains("`delay`") && !error.contains("--lossy"),
        "{error}"
    );
}

#[test]
fn names_of_sql_types_are_read() {
    let folder = folder();
    for (name, want) in [
        ("int", "Int32"),
        ("INTEGER", "Int32"),
        ("bigint", "Int64"),
        ("smallint", "Int16"),
        ("tinyint", "Int8"),
        ("real", "Float32"),
    ] {
        let cast = format!("delay={name}");
        let schema = folder.run(&["schema", "f.csv", "--cast", &cast]).ok();
        assert!(schema.contains(&format!("delay: {want}")), "{schema}");
        let given = format!("delay {name}, time timestamp, origin text");
        let schema = folder.run(&["schema", "f.csv", "--schema", &given]).ok();
        assert!(schema.contains(&format!("delay: {want}")), "{schema}");
    }
}

#[test]
fn an_order_as_in_sql_is_answered_with_a_sign() {
    let folder = folder();
    for (order, want) in [
        ("delay desc", "write `-delay`"),
        ("origin,delay DESC", "write `-delay`"),
        ("delay asc", "write `delay`"),
        ("dely desc", "there is no column `dely desc`"),
    ] {
        let arguments = ["convert", "f.csv", "x.csv", "--sort", order];
        let error = folder.run(&arguments).error(2);
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn values_of_options_that_are_no_numbers_are_told_what_is_expected() {
    let folder = folder();
    for (arguments, want) in [
        (
            &["head", "-n", "abc", "f.csv"][..],
            "expected a number of rows",
        ),
        (&["tail", "-n", "1.5", "f.csv"], "expected a number of rows"),
        (
            &["cat", "--offset", "x", "f.csv"],
            "expected a number of rows",
        ),
        (&["sample", "10%", "f.csv"], "not a share of the rows"),
        (&["sample", "ten", "f.csv"], "expected a number of rows"),
        (
            &["convert", "--rows-per-file", "0", "f.csv", "x.csv"],
            "rows of 1 or more",
        ),
        (
            &["convert", "--threads", "0", "f.csv", "x.shard"],
            "threads from 1 to 1024",
        ),
        (
            &["verify", "--threads", "0", "f.shard"],
            "threads from 1 to 1024",
        ),
        (
            &["compact", "--threads", "x", "f.shard"],
            "threads from 1 to 1024",
        ),
        (
            &["delete", "--rows", "one", "f.shard"],
            "the first row is 0",
        ),
    ] {
        let done = folder.run(arguments);
        let is_said = done.code == 2 && done.err.contains(want);
        assert!(is_said, "{arguments:?}: {}", done.err);
    }
}

#[test]
fn an_unknown_option_is_not_recommended_as_a_value() {
    let folder = folder();
    let done = folder.run(&["stats", "--unify", "f.csv"]);
    let is_plain =
        done.err.contains("unexpected argument '--unify'") && !done.err.contains("-- --");
    assert!(done.code == 2 && is_plain, "{}", done.err);
    let done = folder.run(&["stats", "--larget", "3", "f.csv"]);
    assert!(done.err.contains("'--largest'"), "{}", done.err);
    let done = folder.run(&["cont"]);
    assert!(done.err.contains("'count'"), "{}", done.err);
}

#[test]
fn columns_with_one_name_are_read_together() {
    let folder = Folder::new();
    let values = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let field = || Field::new("a", DataType::Int64, true);
    let schema = Arc::new(Schema::new(vec![field(), field()]));
    let batch = RecordBatch::try_new(schema, vec![values(), values()]).unwrap();
    super::write_ipc(&folder.path("t.arrow"), &batch);
    folder.run(&["convert", "-q", "t.arrow", "t.shard"]).ok();
    for command in [&["head"][..], &["cat"], &["tail"], &["sample", "1"]] {
        let read = [command, &["t.shard", "--format", "csv"]].concat();
        let error = folder
            .run(&[&read[..], &["--columns", "a"]].concat())
            .error(1);
        let is_advised = error.contains("`a`") && error.contains("leave --columns out");
        assert!(is_advised && !error.contains("by index"), "{error}");
        assert_eq!(folder.run(&read).ok(), "a,a\n1,1\n");
    }
}

#[test]
fn formats_that_hold_a_column_are_named() {
    let folder = Folder::new();
    fs::write(folder.path("t.ndjson"), "{\"l\":[1,2]}\n").unwrap();
    let error = folder.run(&["convert", "t.ndjson", "t.csv"]).error(1);
    assert!(
        error.contains("another format (parquet, ndjson, ipc, ipc-stream)"),
        "{error}"
    );
}

#[test]
fn known_keys_are_named() {
    let folder = folder();
    folder.run(&["set", "f.shard", "owner=o", "batch=1"]).ok();
    let error = folder
        .run(&["set", "f.shard", "--remove", "nokey"])
        .error(1);
    assert!(
        error.contains("the shard has no key `nokey`; it has `batch`, `owner`"),
        "{error}"
    );
}

#[test]
fn a_misspelt_column_is_wrong_usage_in_every_command() {
    let folder = folder();
    for file in ["f.csv", "f.parquet", "f.shard"] {
        for command in [
            &["cat", file, "--columns", "dely"][..],
            &["head", file, file, "--columns", "dely"],
            &["tail", file, "--columns", "dely"],
            &["stats", file, "--columns", "dely"],
            &["cat", file, "--filter", "dely > 3"],
            &["count", file, "--filter", "dely > 3"],
            &["convert", file, "x.shard", "--columns", "dely"],
            &["convert", file, "x.shard", "--cast", "dely=int8"],
            &["convert", file, "x.shard", "--sort", "dely"],
            &["convert", file, "x", "--partition-by", "dely"],
            &["diff", file, file, "--key", "dely"],
            &["diff", file, file, "--columns", "dely"],
        ] {
            let error = folder.run(command).error(2);
            assert!(
                error.contains("did you mean `delay`?"),
                "{command:?}: {error}"
            );
        }
    }
    for command in [
        &["dedupe", "f.shard", "--key", "dely"][..],
        &["upsert", "f.shard", "f.csv", "--key", "dely"],
        &["delete", "f.shard", "--where", "dely > 3"],
        &["select", "f.shard", "--columns", "dely"],
        &["select", "f.shard", "--drop", "dely"],
        &["select", "f.shard", "--rename", "dely=x"],
        &["inspect", "f.shard", "--columns", "dely"],
    ] {
        let error = folder.run(command).error(2);
        assert!(
            error.contains("`dely`") && error.contains("delay"),
            "{command:?}: {error}"
        );
    }
}
