//! Results written to files.

use super::Folder;

#[test]
fn a_copy_into_a_shard_gives_the_rows_back() {
    let folder = Folder::new();
    folder.numbers("a.csv", 1_000);
    let sql =
        "COPY (SELECT id, name, id % 7 AS mod FROM 'a.csv' ORDER BY id DESC) TO 'b.amudai.shard'";
    let done = folder.run(&[sql]);
    assert_eq!(done.err, "1000 rows written to b.amudai.shard\n");
    assert_eq!(done.ok(), "");
    let ids = folder.rows("SELECT id, name FROM 'b.amudai.shard'");
    let want: Vec<String> = (1..=1_000).rev().map(|id| format!("{id},n{id}")).collect();
    assert_eq!(ids, want);
    let sql =
        "SELECT count(*) FROM 'a.csv' a JOIN 'b.amudai.shard' b ON a.id = b.id AND a.name = b.name";
    assert_eq!(folder.rows(sql), ["1000"]);
    let shard = arrow_shard::Shard::open(folder.path("b.amudai.shard")).unwrap();
    assert_eq!(shard.num_rows(), 1_000);
}

#[test]
fn the_suffix_of_an_output_decides_its_format() {
    let folder = Folder::new();
    for (name, first) in [
        ("t.amudai.shard", &b"amud"[..]),
        ("t.parquet", b"PAR1"),
        ("t.arrow", b"ARROW1"),
        ("t.csv", b"a,b\n1,x\n"),
        ("t.tsv", b"a\tb\n1\tx\n"),
        ("t.ndjson", b"{\"a\":1,\"b\":\"x\"}\n"),
        ("t.csv.gz", b"\x1F\x8B"),
        ("t.jsonl.zst", b"\x28\xB5\x2F\xFD"),
    ] {
        folder
            .run(&["-q", "SELECT 1 AS a, 'x' AS b", "-o", name])
            .ok();
        let content = std::fs::read(folder.path(name)).unwrap();
        assert!(content.starts_with(first), "{name}: {content:?}");
        assert_eq!(
            folder.rows(&format!("SELECT a, b FROM '{name}'")),
            ["1,x"],
            "{name}"
        );
    }
    let error = folder.run(&["SELECT 1", "-o", "t.txt"]).error(1);
    assert!(
        error.contains("t.txt") && error.contains(".parquet"),
        "{error}"
    );
}

#[test]
fn files_are_replaced_by_force_only() {
    let folder = Folder::new();
    folder.numbers("t.csv", 3);
    let error = folder.run(&["COPY (SELECT 1 AS id) TO 't.csv'"]).error(1);
    assert!(
        error.contains("t.csv") && error.contains("--force"),
        "{error}"
    );
    let error = folder.run(&["SELECT 1 AS id", "-o", "t.csv"]).error(1);
    assert!(error.contains("--force"), "{error}");
    assert_eq!(folder.rows("SELECT count(*) FROM 't.csv'"), ["3"]);
    // The query reads the file that it replaces.
    folder
        .run(&["--force", "SELECT id * 2 AS id FROM 't.csv'", "-o", "t.csv"])
        .ok();
    assert_eq!(folder.rows("SELECT sum(id) FROM 't.csv'"), ["12"]);
    assert_eq!(folder.names(), ["t.csv"]);
}

#[test]
fn a_copy_that_fails_leaves_no_file() {
    let folder = Folder::new();
    for name in ["t.amudai.shard", "t.parquet", "t.csv"] {
        let sql = "SELECT 1 / (value - 100000) FROM generate_series(1, 200000)";
        let error = folder.run(&[sql, "-o", name]).error(1);
        assert!(error.to_lowercase().contains("divide by zero"), "{error}");
        assert!(folder.names().is_empty(), "{name}: {:?}", folder.names());
        // Nor does it replace one.
        folder.run(&["SELECT 1 AS a", "-o", name]).ok();
        folder.run(&["--force", sql, "-o", name]).error(1);
        assert_eq!(folder.rows(&format!("SELECT a FROM '{name}'")), ["1"]);
        std::fs::remove_file(folder.path(name)).unwrap();
    }
}

#[test]
fn a_copy_that_fails_leaves_no_file_in_a_folder() {
    let folder = Folder::new();
    for format in ["SHARD", "PARQUET", "CSV", "JSON", "ARROW"] {
        for partitions in ["", "PARTITIONED BY (k)"] {
            let sql = format!(
                "COPY (SELECT 1 / (value - 100000) AS a, value % 3 AS k FROM generate_series(1, 200000)) TO 'out/' \
                 STORED AS {format} {partitions}"
            );
            let error = folder.run(&[&sql]).error(1);
            assert!(error.to_lowercase().contains("divide by zero"), "{error}");
            let files = folder.files();
            assert!(files.is_empty(), "{sql}: {files:?}");
            let sql = sql.replace("- 100000", "+ 1");
            folder.run(&[&sql]).ok();
            assert_eq!(
                folder.rows("SELECT count(*) FROM 'out/'"),
                ["200000"],
                "{sql}"
            );
            std::fs::remove_dir_all(folder.path("out")).unwrap();
        }
    }
}

#[test]
fn a_plan_of_a_copy_writes_nothing() {
    let folder = Folder::new();
    folder
        .run(&["EXPLAIN COPY (SELECT 1 AS a) TO 'out.csv'"])
        .ok();
    let error = folder.run(&["EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO 'out.csv'"]);
    let error = error.error(1);
    assert!(error.contains("takes only queries"), "{error}");
    assert!(folder.files().is_empty());
}

#[test]
fn an_insert_that_fails_leaves_no_file() {
    let folder = Folder::new();
    for format in ["SHARD", "PARQUET", "CSV"] {
        std::fs::create_dir(folder.path("t")).unwrap();
        let sql = format!(
            "CREATE EXTERNAL TABLE t (a BIGINT) STORED AS {format} LOCATION 't/'; INSERT INTO t SELECT 1 / (value - \
             100000) FROM generate_series(1, 200000)"
        );
        let error = folder.run(&[&sql]).error(1);
        assert!(error.to_lowercase().contains("divide by zero"), "{error}");
        let files = folder.files();
        assert!(files.is_empty(), "{sql}: {files:?}");
        let sql = sql.replace("- 100000", "+ 1");
        // The store is itself again after a statement.
        let done = folder.run(&[
            "--format",
            "csv",
            &format!("{sql}; {sql}; SELECT count(*) FROM t").replacen(
                "; CREATE",
                "; CREATE OR REPLACE",
                1,
            ),
        ]);
        assert!(done.ok().ends_with("\n400000\n"));
        std::fs::remove_dir_all(folder.path("t")).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("real.csv", "a\n1\n");
    let mode = PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(folder.path("real.csv"), mode).unwrap();
    std::os::unix::fs::symlink("real.csv", folder.path("link.csv")).unwrap();
    folder
        .run(&["--force", "SELECT 2 AS a", "-o", "link.csv"])
        .ok();
    assert!(folder.path("link.csv").is_symlink());
    assert_eq!(folder.rows("SELECT a FROM 'real.csv'"), ["2"]);
    let mode = folder
        .path("real.csv")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    folder.run(&["SELECT 3 AS a", "-o", "a [1]*.parquet"]).ok();
    assert_eq!(folder.names(), ["a [1]*.parquet", "link.csv", "real.csv"]);
}

#[test]
fn a_copy_partitions_by_columns() {
    let folder = Folder::new();
    folder.numbers("t.parquet", 10);
    let sql = "COPY (SELECT *, id % 2 AS odd FROM 't.parquet') TO 'out/' STORED AS SHARD PARTITIONED BY (odd)";
    folder.run(&[sql]).ok();
    assert_eq!(
        folder.rows("SELECT sum(id) FROM 'out/' WHERE odd = '1'"),
        ["25"]
    );
    let error = folder.run(&[sql]).error(1);
    assert!(error.contains("`out/` exists"), "{error}");
}

#[test]
fn rows_are_not_inserted_into_files() {
    let folder = Folder::new();
    folder.numbers("t.csv", 3);
    let error = folder
        .run(&["INSERT INTO 't.csv' VALUES (4, 'x')"])
        .error(1);
    assert!(error.contains("COPY"), "{error}");
    let sql = "CREATE TABLE t AS SELECT * FROM 't.csv'; INSERT INTO t VALUES (4, 'x'); SELECT sum(id) FROM t";
    let done = folder.run(&["--format", "csv", sql]);
    assert_eq!(done.err, "1 row inserted\n");
    assert!(done.ok().ends_with("\n10\n"));
}
