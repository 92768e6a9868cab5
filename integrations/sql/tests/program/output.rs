//! The formats of printed rows.

use super::Folder;
use serde_json::{Value, json};

const SQL: &str = "SELECT * FROM (VALUES (1, 'a|b'), (20, NULL)) t(id, \"Text\") ORDER BY id";

#[test]
fn every_format_prints_the_same_rows() {
    let folder = Folder::new();
    let printed = |format: &str| folder.run(&["--format", format, SQL]).ok();
    let table = "\
+----+------+
| id | Text |
+----+------+
|  1 | a|b  |
| 20 | NULL |
+----+------+
2 rows
";
    assert_eq!(printed("table"), table);
    assert_eq!(folder.run(&[SQL]).ok(), table);
    assert_eq!(printed("csv"), "id,Text\n1,a|b\n20,\n");
    let rows = json!([{"id": 1, "Text": "a|b"}, {"id": 20, "Text": null}]);
    let array: Value = serde_json::from_str(&printed("json")).unwrap();
    assert_eq!(array, rows);
    let lines = printed("ndjson");
    let lines: Vec<Value> = lines
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(Value::from(lines), rows);
    assert_eq!(
        printed("markdown"),
        "| id | Text |\n|-:|-|\n| 1 | a\\|b |\n| 20 | NULL |\n"
    );
}

#[test]
fn values_of_expressions_come_in_the_order_of_the_rows() {
    let folder = Folder::new();
    folder.write("t.csv", "x\n30\n10\n20\n");
    let rows = "(SELECT *, row_number() OVER () AS row FROM 't.csv')";
    let computed = |expression: &str| {
        let sql = format!("SELECT ({expression}) AS r FROM {rows} ORDER BY row");
        folder
            .run(&["--threads", "1", "--format", "csv", &sql])
            .ok()
    };
    assert_eq!(computed("rank() OVER (ORDER BY x)"), "r\n3\n1\n2\n");
    assert_eq!(
        computed("(SELECT max(u.x) FROM 't.csv' u WHERE u.x = 10 * row)"),
        "r\n10\n20\n30\n"
    );
    assert_eq!(computed("x + max(x) OVER ()"), "r\n60\n40\n50\n");
    // Rows that are in order need no sort.
    let explain = format!("EXPLAIN SELECT (x / 2) AS r FROM {rows} ORDER BY row");
    let plan = folder.run(&["--threads", "1", &explain]).ok();
    assert!(
        !plan.contains("SortExec") && plan.contains("WindowAgg"),
        "{plan}"
    );
}

#[test]
fn results_without_rows_have_their_columns() {
    let folder = Folder::new();
    let sql = format!("SELECT * FROM ({SQL}) WHERE id > 100");
    let printed = |format: &str| folder.run(&["--format", format, &sql]).ok();
    assert!(printed("table").contains("| id | Text |") && printed("table").ends_with("0 rows\n"));
    assert_eq!(printed("csv"), "id,Text\n");
    assert_eq!(printed("json"), "[]\n");
    assert_eq!(printed("ndjson"), "");
    assert_eq!(printed("markdown"), "| id | Text |\n|-:|-|\n");
}

#[test]
fn a_table_is_bounded_and_says_so() {
    let folder = Folder::new();
    let sql = "SELECT value, repeat('x', 100) AS long, value AS last FROM generate_series(1, 5000)";
    let table = folder.run(&["--max-rows", "3", "--width", "45", sql]).ok();
    assert!(
        table.lines().all(|line| line.chars().count() <= 60),
        "{table}"
    );
    assert!(
        table.ends_with("5000 rows, 3 shown, 2 of 3 columns shown\n"),
        "{table}"
    );
    let all = folder.run(&["--quiet", sql]).ok();
    assert_eq!(all.lines().count(), 5004);
}

#[test]
fn counts_and_times_are_not_among_the_rows() {
    let folder = Folder::new();
    let done = folder.run(&["--timing", "--format", "csv", "SELECT 1 AS one"]);
    assert!(
        done.err.starts_with("time: ") && done.err.ends_with(" s\n"),
        "{}",
        done.err
    );
    assert_eq!(done.ok(), "one\n1\n");
}

#[test]
fn a_plan_is_shown_as_it_is() {
    let folder = Folder::new();
    folder.numbers("t.amudai.shard", 10);
    let plan = folder
        .run(&["EXPLAIN SELECT id FROM 't.amudai.shard' WHERE id > 5"])
        .ok();
    assert!(
        plan.contains("DataSourceExec: ") && plan.contains("t.amudai.shard"),
        "{plan}"
    );
    assert!(
        !plan.contains('+') && !plan.contains("logical_plan"),
        "{plan}"
    );
    let plan = folder
        .run(&["EXPLAIN ANALYZE SELECT count(name) FROM 't.amudai.shard'"])
        .ok();
    assert!(plan.contains("output_rows="), "{plan}");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let folder = Folder::new();
    let table = folder.run(&["SELECT chr(27) || '[2J' AS a"]).ok();
    assert!(
        table.contains("\\u{1b}[2J") && !table.contains('\u{1b}'),
        "{table}"
    );
}

#[cfg(unix)]
#[test]
fn a_reader_that_stops_early_ends_the_program_quietly() {
    use std::io::Read;
    use std::process::Stdio;
    let folder = Folder::new();
    let sql = "SELECT value FROM generate_series(1, 100000000)";
    let mut child = folder
        .command(&["--format", "csv", sql])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut start = [0; 8];
    out.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"value\n1\n");
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
}
