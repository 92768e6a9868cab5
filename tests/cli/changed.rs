//! `set` and `add`

use super::columns::columns;
#[cfg(unix)]
use super::external::with_program;
use super::{Folder, read_ipc, write_ipc};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::array_value_to_string;
use std::fs;

const SHARD: &str = "t.amudai.shard";

fn folder() -> Folder {
    let folder = Folder::new();
    fs::write(folder.path("t.csv"), "id,x\n1,10\n2,20\n3,30\n").unwrap();
    folder.run(&["convert", "t.csv", SHARD]).ok();
    folder
}

fn rows(folder: &Folder) -> String {
    let text = folder.run(&["cat", SHARD, "--format", "csv"]).ok();
    text.lines().collect::<Vec<_>>().join(" ")
}

#[test]
fn key_values_and_properties_are_set_and_removed_without_a_change_of_rows() {
    let folder = folder();
    let set = [
        "set",
        SHARD,
        "owner=a=b",
        "source=x",
        "--property",
        "batch=7",
        "--rename",
        "x=y",
    ];
    let dry = folder.run(&[&set[..], &["--dry-run"]].concat()).ok();
    assert!(dry.contains("would have 3 rows"), "{dry}");
    assert_eq!(rows(&folder), "id,x 1,10 2,20 3,30");
    folder.run(&set).ok();
    let info = folder.run(&["info", SHARD]).ok();
    for line in ["owner = a=b", "source = x", "batch = \"7\""] {
        assert!(info.contains(line), "{line} in {info}");
    }
    assert_eq!(rows(&folder), "id,y 1,10 2,20 3,30");
    let again = folder.run(&["set", SHARD, "source=x"]).ok();
    assert!(again.contains("nothing to do"), "{again}");
    // Other formats keep them.
    folder.run(&["convert", SHARD, "t.parquet"]).ok();
    assert!(
        folder
            .run(&["info", "t.parquet"])
            .ok()
            .contains("owner = a=b")
    );
    let remove = [
        "set",
        SHARD,
        "--remove",
        "owner",
        "--remove-property",
        "batch",
    ];
    folder.run(&remove).ok();
    let info = folder.run(&["info", SHARD]).ok();
    assert!(!info.contains("owner") && !info.contains("batch"), "{info}");
    folder.run(&["verify", SHARD]).ok();
}

#[test]
fn unknown_and_reserved_names_are_errors_and_change_nothing() {
    let folder = folder();
    folder.run(&["set", SHARD, "source=x"]).ok();
    let before = fs::read(folder.path(SHARD)).unwrap();
    for (arguments, code, want) in [
        (&["--remove", "sorce"][..], 1, "did you mean `source`"),
        (&["--remove-property", "a"], 1, "the shard has none"),
        (&["--property", "ARROW:schema=x"], 1, "reserved"),
        (&["--property", "x"], 2, "NAME=VALUE"),
        (&["=x"], 2, "KEY=VALUE"),
        (&["a=b", "--rename", "y=z"], 2, "`y`"),
    ] {
        let error = folder
            .run(&[&["set", SHARD], arguments].concat())
            .error(code);
        assert!(error.contains(want), "{arguments:?}: {error}");
    }
    assert_eq!(folder.run(&["set", SHARD]).code, 2);
    assert_eq!(fs::read(folder.path(SHARD)).unwrap(), before);
}

#[test]
fn columns_of_another_file_are_added_row_by_row() {
    for suffix in ["csv", "parquet", "amudai.shard"] {
        let folder = folder();
        fs::write(folder.path("v.csv"), "place,score\na,1.5\nb,\n").unwrap();
        let values = format!("values.{suffix}");
        folder.run(&["convert", "v.csv", &values]).ok();
        let add = ["add", SHARD, "--values", &values];
        let error = folder.run(&add).error(1);
        assert!(
            error.contains("2 rows of new values, expected 3"),
            "{error}"
        );
        folder.run(&["delete", SHARD, "--rows", "1"]).ok();
        folder.run(&add).ok();
        assert_eq!(rows(&folder), "id,x,place,score 1,10,a,1.5 3,30,b,");
        folder.run(&["undelete", SHARD]).ok();
        assert_eq!(rows(&folder), "id,x,place,score 1,10,a,1.5 2,20,, 3,30,b,");
        folder.run(&["verify", SHARD]).ok();
        let error = folder.run(&["add", SHARD, "--values", SHARD]).error(1);
        assert!(error.contains("`id`"), "{error}");
        let error = folder
            .run(&["add", SHARD, "--values", &values, "--columns", "plac"])
            .error(2);
        assert!(error.contains("plac"), "{error}");
    }
}

#[test]
fn values_of_every_type_go_to_the_rows_that_are_left() {
    let folder = Folder::new();
    fs::write(folder.path("t.csv"), "id\n0\n1\n2\n3\n4\n5\n").unwrap();
    folder
        .run(&["convert", "t.csv", SHARD, "--stripe-rows", "2"])
        .ok();
    folder.run(&["delete", SHARD, "--rows", "0,3,4"]).ok();
    let names: Vec<String> = (0..columns().len()).map(|i| format!("c{i}")).collect();
    let values = names.iter().map(String::as_str).zip(columns());
    let nullable = values.map(|(name, values)| (name, values, true));
    let values = RecordBatch::try_from_iter_with_nullable(nullable).unwrap();
    write_ipc(&folder.path("values.arrow"), &values);
    folder.run(&["add", SHARD, "--values", "values.arrow"]).ok();
    let read = || {
        folder
            .run(&["convert", "--force", SHARD, "read.arrow"])
            .ok();
        read_ipc(&folder.path("read.arrow"))
    };
    let text = |column: &ArrayRef, row| array_value_to_string(column, row).unwrap();
    let live = read();
    folder.run(&["undelete", SHARD]).ok();
    let all = read();
    for (i, name) in names.iter().enumerate() {
        let [live, all] = [&live, &all].map(|batch| batch.column_by_name(name).unwrap());
        let values = values.column(i);
        assert_eq!(live.data_type(), values.data_type());
        for (value, row) in [1, 2, 5].into_iter().enumerate() {
            assert_eq!(text(live, value), text(values, value), "{name}");
            assert_eq!(text(all, row), text(values, value), "{name}, row {row}");
        }
        let nulls = all.logical_nulls();
        for row in [0, 3, 4] {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            assert!(is_null, "{name}: {}, row {row}", all.data_type());
        }
    }
    folder.run(&["verify", SHARD]).ok();
}

#[test]
fn a_column_comes_from_a_file() {
    let folder = Folder::new();
    fs::write(folder.path("t.csv"), "id\n0\n1\n").unwrap();
    folder.run(&["convert", "t.csv", SHARD]).ok();
    fs::write(folder.path("one.csv"), "x\n7\n8\n").unwrap();
    fs::write(folder.path("two.csv"), "y,z\n1,a\n2,b\n").unwrap();
    folder.run(&["add", SHARD, "a=one.csv"]).ok();
    folder.run(&["add", SHARD, "z=two.csv"]).ok();
    folder.pipe(&["add", SHARD, "p=-"], b"x,p\n0,5\n0,6\n").ok();
    let read = folder.run(&["cat", SHARD, "--format", "csv"]).ok();
    assert_eq!(read, "id,a,z,p\n0,7,a,5\n1,8,b,6\n");
    let error = folder.run(&["add", SHARD, "b=two.csv"]).error(2);
    assert!(
        error.contains("two.csv has 2 columns, and none is `b`"),
        "{error}"
    );
    let error = folder.run(&["add", SHARD, "a=one.csv"]).error(1);
    assert!(error.contains("already has a column `a`"), "{error}");
    let error = folder.run(&["add", SHARD, " =one.csv"]).error(2);
    assert!(error.contains("has no name"), "{error}");
    let error = folder.run(&["add", SHARD, "b=none.csv"]).error(1);
    assert!(error.contains("none.csv: No such file"), "{error}");
    let error = folder.run(&["add", SHARD, "b=one.csv", "c=1"]).error(2);
    assert!(error.contains("added alone"), "{error}");
}

#[test]
fn long_stretches_of_deleted_rows_are_null() {
    let folder = Folder::new();
    let ids: String = (0..20_000).map(|i| format!("{i}\n")).collect();
    fs::write(folder.path("t.csv"), format!("id\n{ids}")).unwrap();
    folder
        .run(&["convert", "t.csv", SHARD, "--stripe-rows", "6000"])
        .ok();
    let gone = "id < 3000 OR (id >= 5000 AND id < 15000) OR id IN (16000, 16001) OR id >= 19000";
    folder.run(&["delete", SHARD, "--filter", gone]).ok();
    folder.run(&["convert", SHARD, "v.parquet"]).ok();
    folder.run(&["set", SHARD, "--rename", "id=number"]).ok();
    folder.run(&["add", SHARD, "--values", "v.parquet"]).ok();
    folder.run(&["undelete", SHARD]).ok();
    let wrong = "number <> id";
    let count = |filter: &str| {
        let counted = folder.run(&["count", SHARD, "--filter", filter]).ok();
        counted.trim().parse::<u64>().unwrap()
    };
    assert_eq!(count(wrong), 0);
    assert_eq!(count("id IS NULL"), 14_002);
    assert_eq!(count("number = id"), 5998);
}

#[test]
fn what_cannot_be_added_is_found_before_anything_is_written() {
    let folder = folder();
    fs::write(folder.path("v.csv"), "y\n1\n2\n3\n").unwrap();
    fs::write(folder.path("taken.amudai.shard"), "x").unwrap();
    let before = fs::read(folder.path(SHARD)).unwrap();
    let files = folder.names();
    let values = ["--values", "v.csv"];
    for (arguments, code, want) in [
        (&["x=1"][..], 1, "already has a column `x`"),
        (&["=1"], 2, "COLUMN=EXPRESSION"),
        (&["y"], 2, "COLUMN=EXPRESSION"),
        (&[" =1"], 2, "has no name"),
        (&["y=1", "--delimiter", ";"], 2, "--delimiter is for"),
        (&["y=1", "--from", "csv"], 2, "--from is for"),
        (&["y=1", "--strict"], 2, "--strict is for"),
        (
            &["y=1", "--output", "taken.amudai.shard"],
            1,
            "taken.amudai.shard",
        ),
        (
            &[values[0], values[1], "-o", "taken.amudai.shard"],
            1,
            "exists",
        ),
        (
            &[
                values[0],
                values[1],
                "-o",
                "taken.amudai.shard",
                "--dry-run",
            ],
            1,
            "exists",
        ),
    ] {
        let error = folder
            .run(&[&["add", SHARD], arguments].concat())
            .error(code);
        assert!(error.contains(want), "{arguments:?}: {error}");
    }
    let dry = [&["add", SHARD, "--dry-run"], &values[..]].concat();
    assert!(folder.run(&dry).ok().contains("would have 3 rows"));
    let error = folder.run(&["set", SHARD, "a=1", "a=2"]).error(2);
    assert!(error.contains("`a` is set twice"), "{error}");
    assert_eq!(fs::read(folder.path(SHARD)).unwrap(), before);
    assert_eq!(folder.names(), files);
}

#[cfg(unix)]
#[test]
fn a_shard_that_changes_meanwhile_gets_no_values_of_the_old_version() {
    let folder = folder();
    folder.run(&["set", SHARD, "a=1"]).ok();
    fs::write(folder.path("v.csv"), "y\n5\n6\n7\n").unwrap();
    folder.run(&["convert", "v.csv", "v.arrows"]).ok();
    folder.run(&["convert", "t.csv", "other.amudai.shard"]).ok();
    let [values, other, shard] = ["v.arrows", "other.amudai.shard", SHARD]
        .map(|name| folder.path(name).display().to_string());
    let script = format!("mv \"{other}\" \"{shard}\"; cat \"{values}\"");
    let path = with_program(&folder, "arrow-shard-sql", &script);
    let add = ["add", SHARD, "y=1", "-o", "new.amudai.shard"];
    let error = folder.run_with(&[("PATH", path)], &add, &[]).error(1);
    assert!(error.contains("was replaced"), "{error}");
    assert!(!folder.names().contains(&"new.amudai.shard".to_owned()));
}

#[cfg(unix)]
#[test]
fn a_program_that_fails_or_is_killed_is_an_error() {
    let folder = folder();
    fs::write(folder.path("v.csv"), "y\n5\n").unwrap();
    folder.run(&["convert", "v.csv", "v.arrows"]).ok();
    let values = folder.path("v.arrows").display().to_string();
    for (script, want) in [
        (
            "kill -KILL $$".to_owned(),
            "a signal has ended arrow-shard-sql",
        ),
        (
            format!("cat \"{values}\"; sleep 60"),
            "1 row of new values, expected 3",
        ),
        ("echo nonsense".to_owned(), "arrow-shard-sql"),
        ("echo \"error: q\" >&2; exit 1".to_owned(), "q"),
    ] {
        let path = with_program(&folder, "arrow-shard-sql", &script);
        let done = folder.run_with(&[("PATH", path)], &["add", SHARD, "y=1"], &[]);
        let error = done.error(1);
        assert!(error.contains(want), "{script}: {error}");
    }
    assert_eq!(rows(&folder), "id,x 1,10 2,20 3,30");
}

#[cfg(unix)]
#[test]
fn expressions_are_computed_by_the_program_for_sql() {
    let folder = folder();
    fs::write(folder.path("v.csv"), "y\n5\n6\n7\n").unwrap();
    folder.run(&["convert", "v.csv", "v.arrows"]).ok();
    let values = folder.path("v.arrows").display().to_string();
    // --quiet --threads 1 --format arrow --command SQL
    let script = format!("echo \"$7\" > \"{values}.sql\"; cat \"{values}\"");
    let path = with_program(&folder, "arrow-shard-sql", &script);
    let add = ["add", SHARD, " y =x / 2", "a\"b='c'"];
    folder.run_with(&[("PATH", path)], &add, &[]).ok();
    let sql = fs::read_to_string(folder.path("v.arrows.sql")).unwrap();
    assert_eq!(
        sql.trim(),
        "SELECT (x / 2) AS \"y\", ('c') AS \"a\"\"b\" FROM (SELECT *, row_number() OVER () AS \"row\" FROM \
         't.amudai.shard') ORDER BY \"row\""
    );
    assert_eq!(rows(&folder), "id,x,y 1,10,5 2,20,6 3,30,7");
    // The number of a row has another name than the new column.
    let script = format!("echo \"$7\" > \"{values}.sql\"; exit 1");
    let path = with_program(&folder, "arrow-shard-sql", &script);
    let failed = folder.run_with(&[("PATH", path)], &["add", SHARD, "row=x"], &[]);
    assert_eq!(failed.code, 1);
    let sql = fs::read_to_string(folder.path("v.arrows.sql")).unwrap();
    assert!(sql.trim().ends_with("ORDER BY \"row_\""), "{sql}");
    let path = with_program(&folder, "arrow-shard-sql", "echo wrong >&2; exit 1");
    let failed = folder.run_with(&[("PATH", path)], &["add", SHARD, "z=q"], &[]);
    assert_eq!((failed.code, failed.err.as_str()), (1, "wrong\n"));
    let nowhere = [("PATH", folder.path("nowhere").display().to_string())];
    let error = folder
        .run_with(&nowhere, &["add", SHARD, "z=x"], &[])
        .error(1);
    assert!(error.contains("integrations/sql"), "{error}");
}
