//! `dedupe` and `upsert`

use super::Folder;
use std::fs;

const SHARD: &str = "t.amudai.shard";

fn folder() -> Folder {
    let folder = Folder::new();
    let text = "id,row,x\n1,a,1.5\n2,b,\n1,c,1.5\n,d,4.0\n,d,4.0\n3,e,5.0\n";
    fs::write(folder.path("t.csv"), text).unwrap();
    folder.run(&["convert", "t.csv", SHARD]).ok();
    folder
}

fn rows(folder: &Folder) -> String {
    let text = folder.run(&["cat", SHARD, "--format", "csv"]).ok();
    text.lines().skip(1).collect::<Vec<_>>().join(" ")
}

#[test]
fn rows_with_a_key_that_another_row_has_are_deleted() {
    for (options, want) in [
        (&[][..], "1,a,1.5 2,b, 1,c,1.5 ,d,4.0 3,e,5.0"),
        (&["--key", "id"], "1,a,1.5 2,b, ,d,4.0 3,e,5.0"),
        (
            &["--key", "id", "--keep", "last"],
            "2,b, 1,c,1.5 ,d,4.0 3,e,5.0",
        ),
        (&["--key", "id,row"], "1,a,1.5 2,b, 1,c,1.5 ,d,4.0 3,e,5.0"),
    ] {
        let folder = folder();
        let before = rows(&folder);
        let dry = [&["dedupe", SHARD, "--dry-run"], options].concat();
        let shown = folder.run(&dry).ok();
        let deleted = 6 - want.split(' ').count();
        assert!(shown.contains(&format!("and {deleted} row")), "{shown}");
        assert_eq!(rows(&folder), before);
        folder.run(&[&["dedupe", SHARD], options].concat()).ok();
        assert_eq!(rows(&folder), want, "{options:?}");
        folder.run(&["verify", SHARD]).ok();
        // There is nothing more to delete, and `undelete` brings the rows back.
        let again = folder.run(&[&["dedupe", SHARD], options].concat()).ok();
        assert!(again.contains("nothing to do"), "{again}");
        folder.run(&["undelete", SHARD]).ok();
        assert_eq!(rows(&folder), before);
    }
    let folder = folder();
    let error = folder.run(&["dedupe", SHARD, "--key", "idd"]).error(2);
    assert!(error.contains("idd"), "{error}");
}

#[test]
fn rows_are_replaced_by_key_in_one_change() {
    for suffix in ["csv", "ndjson", "parquet", "amudai.shard"] {
        let folder = folder();
        folder
            .run(&["dedupe", "--quiet", SHARD, "--key", "id"])
            .ok();
        fs::write(folder.path("n.csv"), "x,id\n9,3\n7,8\n6,\n").unwrap();
        let new = format!("new.{suffix}");
        let schema = ["--schema", "x float64, id int64"];
        folder
            .run(&[&["convert", "n.csv", &new], &schema[..]].concat())
            .ok();
        let names = folder.names();
        let before = rows(&folder);
        let dry = folder
            .run(&["upsert", "--key", "id", SHARD, &new, "--dry-run"])
            .ok();
        assert!(dry.contains("would have 5 rows"), "{dry}");
        assert_eq!((rows(&folder), folder.names()), (before, names));
        folder.run(&["upsert", "--key", "id", SHARD, &new]).ok();
        assert_eq!(
            rows(&folder),
            "1,a,1.5 2,b, 3,,9.0 8,,7.0 ,,6.0",
            "{suffix}"
        );
        folder.run(&["verify", SHARD]).ok();
        folder.run(&["upsert", "--key", "id", SHARD, &new]).ok();
        assert_eq!(
            rows(&folder),
            "1,a,1.5 2,b, 3,,9.0 8,,7.0 ,,6.0",
            "{suffix}"
        );
        assert!(!folder.names().iter().any(|name| name.contains("append")));
    }
}

#[test]
fn rows_that_cannot_be_inserted_leave_the_shard_as_it_is() {
    let folder = folder();
    for (text, word) in [
        ("id,x\n3,1\n3,2\n", "rows 0 and 1 have the same key"),
        ("id,x\n3.5,1\n", "`id`, row 0"),
        ("id,y\n3,1\n", "`y`"),
    ] {
        fs::write(folder.path("new.csv"), text).unwrap();
        let before = (fs::read(folder.path(SHARD)).unwrap(), folder.names());
        let error = folder
            .run(&["upsert", "--key", "id", SHARD, "new.csv"])
            .error(1);
        assert!(error.contains(word), "{error}");
        let after = (fs::read(folder.path(SHARD)).unwrap(), folder.names());
        assert_eq!(after, before);
    }
    let error = folder
        .run(&["upsert", "--key", "id", SHARD, SHARD])
        .error(1);
    assert!(error.contains("new rows"), "{error}");
    assert_eq!(folder.run(&["upsert", SHARD, "new.csv"]).code, 2);
}

#[test]
fn quiet_edits_print_nothing() {
    let folder = folder();
    fs::copy(folder.path(SHARD), folder.path("u.amudai.shard")).unwrap();
    for arguments in [
        &["merge", SHARD, "u.amudai.shard", "-o", "m.amudai.shard"][..],
        &["append", SHARD, "t.csv"],
        &["delete", SHARD, "--rows", "0"],
        &["undelete", SHARD],
        &["select", SHARD, "--drop", "x"],
        &["dedupe", SHARD],
    ] {
        let done = folder.run(&[arguments, &["--quiet"]].concat());
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{arguments:?}");
        assert_eq!(done.text(), "", "{arguments:?}");
    }
    assert_eq!(folder.run(&["count", "m.amudai.shard"]).ok(), "12\n");
}

#[test]
fn new_rows_without_the_key_change_nothing() {
    let folder = folder();
    fs::create_dir(folder.path("new")).unwrap();
    fs::write(folder.path("new/1.csv"), "id,x\n7,1\n").unwrap();
    fs::write(folder.path("new/2.csv"), "x\n8\n").unwrap();
    fs::write(folder.path("new.csv"), "row,x\nz,9\n").unwrap();
    let before = (fs::read(folder.path(SHARD)).unwrap(), folder.names());
    for (arguments, file) in [
        (&["new.csv"][..], "new.csv"),
        (&["new"], "new/2.csv"),
        (&["new/1.csv", "--columns", "x"], "new/1.csv"),
    ] {
        for dry in [&[][..], &["--dry-run"]] {
            let arguments = [&["upsert", "--key", "id", SHARD], arguments, dry].concat();
            let error = folder.run(&arguments).error(1);
            let want = format!("{file}: the new rows lack the key column `id`");
            assert!(error.starts_with(&want), "{arguments:?}: {error}");
            let after = (fs::read(folder.path(SHARD)).unwrap(), folder.names());
            assert!(after == before, "{arguments:?}");
        }
    }
    for command in [&["upsert", SHARD, "new/1.csv"][..], &["dedupe", SHARD]] {
        let error = folder.run(&[command, &["--key", "idd"]].concat()).error(2);
        let is_advised = error.contains(SHARD) && error.contains("did you mean `id`?");
        assert!(is_advised && !error.contains(".append"), "{error}");
    }
}

#[test]
fn columns_that_new_rows_lack_are_null_and_named_in_a_note() {
    let folder = folder();
    folder.run(&["dedupe", "-q", SHARD, "--key", "id"]).ok();
    fs::write(folder.path("new.csv"), "id,x\n3,9\n").unwrap();
    let upsert = ["upsert", "--key", "id", SHARD, "new.csv"];
    let note = "note: columns that the new rows lack are null, also in replaced rows: row\n";
    let dry = folder.run(&[&upsert[..], &["--dry-run"]].concat());
    assert_eq!((dry.code, dry.err.as_str()), (0, note));
    let done = folder.run(&upsert);
    assert_eq!((done.code, done.err.as_str()), (0, note));
    assert_eq!(rows(&folder), "1,a,1.5 2,b, ,d,4.0 3,,9.0");
    let quiet = folder.run(&[&upsert[..], &["--quiet"]].concat());
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
    fs::write(folder.path("new.csv"), "x,id,row\n9,3,e\n").unwrap();
    let done = folder.run(&upsert);
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    let help = folder.run(&["upsert", "--help"]).ok();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("A column that the new rows lack becomes null, also in replaced rows"));
}
