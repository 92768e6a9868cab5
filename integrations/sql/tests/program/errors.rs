//! Messages and exit codes.

use super::Folder;

#[test]
fn errors_have_one_line_and_their_exit_code() {
    let folder = Folder::new();
    folder.numbers("flights.csv", 3);
    folder.write("damaged.parquet", "PAR1 nothing");
    for (sql, words) in [
        (
            "SELECT nme FROM 'flights.csv'",
            &["no column `nme`", "did you mean `name`"][..],
        ),
        ("SELECT f.idd FROM 'flights.csv' f", &["did you mean `id`"]),
        (
            "SELECT 1 FROM 'flight.csv'",
            &["flight.csv", "did you mean `flights.csv`"],
        ),
        ("SELECT 1 FROM nowhere", &["no table or file `nowhere`"]),
        (
            "CREATE TABLE days AS SELECT 1; SELECT 1 FROM day",
            &["did you mean `days`"],
        ),
        ("SELECT 1 FROM flights.csv", &["in single quotes"]),
        ("SELECT rond(1.5)", &["rond", "Did you mean"]),
        ("SELEC 1", &["SELEC"]),
        ("SELECT 'a", &["Unterminated"]),
        ("SELECT 1 FROM 'damaged.parquet'", &["arquet"]),
        ("SELECT CAST(name AS INT) FROM 'flights.csv'", &["n1"]),
        ("SELECT 1 FROM 's3:///x.csv'", &["s3"]),
        ("DROP TABLE t", &["t"]),
        (".tables\n.tabels", &["did you mean `.tables`"]),
        (".format xml", &["xml", "markdown"]),
    ] {
        let error = folder.run(&["-c", sql]).error(1);
        for word in words {
            assert!(error.contains(word), "{sql}: {error}");
        }
    }
}

#[test]
fn wrong_usage_has_another_exit_code() {
    let folder = Folder::new();
    for arguments in [
        &["--formt", "csv", "SELECT 1"][..],
        &["--format", "xml", "SELECT 1"],
        &["--memory-limit", "many", "SELECT 1"],
        &["--threads", "0", "SELECT 1"],
        &["-c", "SELECT 1", "-f", "a.sql"],
        &["SELECT 1", "-c", "SELECT 1"],
        &["SELECT 1; SELECT 2", "-o", "t.csv"],
        &["CREATE TABLE t AS SELECT 1", "-o", "t.csv"],
    ] {
        let done = folder.run(arguments);
        assert_eq!(done.code, Some(2), "{arguments:?}: {}", done.err);
        assert!(done.err.starts_with("error: ") && folder.names().is_empty());
    }
    let help = folder.run(&["--help"]).ok();
    assert!(help.contains("Usage: arrow-shard sql ") && help.contains("--memory-limit"));
    assert!(
        folder
            .run(&["--version"])
            .ok()
            .starts_with("arrow-shard-sql ")
    );
}

#[test]
fn a_missing_table_may_be_dropped() {
    let folder = Folder::new();
    folder
        .run(&["DROP TABLE IF EXISTS t; CREATE TABLE t AS SELECT 1; DROP TABLE t"])
        .ok();
}
