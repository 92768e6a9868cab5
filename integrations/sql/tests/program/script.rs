//! Scripts of several statements.

use super::Folder;

const SCRIPT: &str = "\
-- A comment; with a semicolon.
CREATE TABLE t AS VALUES (1, 'a;b'), (2, 'c');
.format csv
SELECT column2 AS text
  FROM t
  ORDER BY column1;
.tables
SELECT count(*) AS n FROM t
";

#[test]
fn a_script_runs_its_statements_in_order() {
    let folder = Folder::new();
    folder.write("s.sql", SCRIPT);
    let want = "text\na;b\nc\nt\nn\n2\n";
    assert_eq!(folder.run(&["-f", "s.sql"]).ok(), want);
    assert_eq!(folder.run(&["-c", SCRIPT]).ok(), want);
    for arguments in [&["-f", "-"][..], &[]] {
        assert_eq!(folder.pipe(arguments, SCRIPT).ok(), want);
    }
    assert_eq!(folder.pipe(&[], "").ok(), "");
}

#[test]
fn an_error_names_its_line_and_ends_the_script() {
    let folder = Folder::new();
    folder.write(
        "s.sql",
        "SELECT 1 AS one;\n\nSELECT x\nFROM (SELECT 2 AS y);\nSELECT 3 AS three;\n",
    );
    let done = folder.run(&["--format", "csv", "-f", "s.sql"]);
    assert_eq!(done.out, "one\n1\n");
    let error = done.error(1);
    assert!(
        error.starts_with("s.sql:3: there is no column `x`"),
        "{error}"
    );
    let error = folder.run(&["-f", "missing.sql"]).error(1);
    assert!(error.contains("missing.sql"), "{error}");
}

#[test]
fn a_script_with_wrong_syntax_does_not_begin() {
    let folder = Folder::new();
    let script = "COPY (SELECT 1 AS a) TO 'out.csv';\n.quit\nSELEC 2;\n";
    let error = folder.pipe(&[], script).error(1);
    assert!(error.starts_with("standard input:3: "), "{error}");
    assert!(folder.names().is_empty());
}

#[test]
fn settings_hold_for_the_statements_after_them() {
    let folder = Folder::new();
    let script = "SET datafusion.execution.batch_size = 100;\nSHOW datafusion.execution.batch_size;\n.quit\nSELECT 1;";
    let out = folder.pipe(&["--format", "csv"], script).ok();
    assert_eq!(out, "name,value\ndatafusion.execution.batch_size,100\n");
}
