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
    let error = folder.run(&["dedupe", SHARD, "--key", "idd"]).error(1);
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
