//! Rows of other formats that are appended to a shard.

use super::Folder;
use super::data::plain;
use std::fs;

const SHARD: &str = "t.amudai.shard";

fn rows(folder: &Folder) -> String {
    folder.run(&["cat", SHARD, "--format", "csv"]).ok()
}

#[test]
fn rows_of_all_formats_are_appended_in_the_types_of_the_shard() {
    for options in [
        &[][..],
        &["--mapping", "amudai"],
        &["--wire", "reference"],
        &["--layout", "two-level"],
    ] {
        let folder = Folder::with(&plain(100));
        folder
            .run(&[&["convert", "t.arrow", SHARD], options].concat())
            .ok();
        folder.run(&["convert", "t.arrow", "u.parquet"]).ok();
        folder.run(&["convert", "t.arrow", "v.amudai.shard"]).ok();
        fs::create_dir(folder.path("new")).unwrap();
        fs::write(folder.path("new/a.csv"), "size,id\n7,1\n").unwrap();
        fs::write(folder.path("new/b.ndjson"), "{\"name\":\"x\"}\n").unwrap();
        let (before, names) = (rows(&folder), folder.names());
        let dry = folder.run(&["append", "--dry-run", SHARD, "new"]).ok();
        assert!(dry.contains("would have 102 rows"), "{dry}");
        assert_eq!(folder.names(), names);
        folder
            .run(&["append", SHARD, "new", "v.amudai.shard", "u.parquet"])
            .ok();
        let lines = before.split_once('\n').unwrap().1;
        assert_eq!(
            rows(&folder),
            format!("{before}1,,7.0,\n,x,,\n{lines}{lines}"),
            "{options:?}"
        );
        assert!(
            !folder.names().iter().any(|name| name.contains("append")),
            "{:?}",
            folder.names()
        );
        folder.run(&["verify", SHARD, "v.amudai.shard"]).ok();
        let schema = |name: &str| folder.run(&["schema", name]).ok();
        assert_eq!(schema(SHARD), schema("t.arrow"));
    }
}

#[test]
fn rows_that_do_not_fit_leave_the_shard_as_it_is() {
    let folder = Folder::with(&plain(10));
    folder.run(&["convert", "t.arrow", SHARD]).ok();
    fs::write(folder.path("good.csv"), "id\n1\n").unwrap();
    for (text, word) in [
        ("id\n1.5\n", "`id`, row 0, `1.5`"),
        ("id,other\n1,2\n", "`other`"),
        ("id,name\n1,\"x\n", "bad.csv"),
    ] {
        fs::write(folder.path("bad.csv"), text).unwrap();
        let before = (fs::read(folder.path(SHARD)).unwrap(), folder.names());
        let error = folder
            .run(&["append", SHARD, "good.csv", "bad.csv"])
            .error(1);
        assert!(error.contains(word), "{error}");
        assert_eq!(
            (fs::read(folder.path(SHARD)).unwrap(), folder.names()),
            before
        );
    }
    fs::write(folder.path("bad.csv"), "id,other\n1,2\n").unwrap();
    folder
        .run(&["append", SHARD, "bad.csv", "--columns", "id"])
        .ok();
    assert_eq!(rows(&folder).lines().last(), Some("1,,,"));
    let error = folder.run(&["append", SHARD, "."]).error(1);
    assert!(error.contains(SHARD), "{error}");
}
