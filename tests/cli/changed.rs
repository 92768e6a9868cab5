//! `set` and `add`

use super::Folder;
#[cfg(unix)]
use super::external::with_program;
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
        (&["a=b", "--rename", "y=z"], 1, "`y`"),
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
        assert!(error.contains("2 rows, expected 3"), "{error}");
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
            .error(1);
        assert!(error.contains("plac"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn expressions_are_computed_by_the_program_for_sql() {
    let folder = folder();
    fs::write(folder.path("v.csv"), "y\n5\n6\n7\n").unwrap();
    folder.run(&["convert", "v.csv", "v.arrow"]).ok();
    let values = folder.path("v.arrow").display().to_string();
    // --quiet --threads 1 --command SQL --output FILE
    let script = format!("echo \"$5\" > \"{values}.sql\"; cp \"{values}\" \"$7\"");
    let path = with_program(&folder, "arrow-shard-sql", &script);
    let add = ["add", SHARD, "y=x / 2", "a\"b='c'"];
    folder.run_with(&[("PATH", path)], &add, &[]).ok();
    let sql = fs::read_to_string(folder.path("v.arrow.sql")).unwrap();
    assert_eq!(
        sql.trim(),
        "SELECT (x / 2) AS \"y\", ('c') AS \"a\"\"b\" FROM 't.amudai.shard'"
    );
    assert_eq!(rows(&folder), "id,x,y 1,10,5 2,20,6 3,30,7");
    let path = with_program(&folder, "arrow-shard-sql", "echo wrong >&2; exit 1");
    let failed = folder.run_with(&[("PATH", path)], &["add", SHARD, "z=q"], &[]);
    assert_eq!((failed.code, failed.err.as_str()), (1, "wrong\n"));
    let nowhere = [("PATH", folder.path("nowhere").display().to_string())];
    let error = folder
        .run_with(&nowhere, &["add", SHARD, "z=x"], &[])
        .error(1);
    assert!(error.contains("integrations/sql"), "{error}");
}
