//! Statements that need more memory than they may use.

use super::Folder;

#[test]
fn a_sort_of_more_data_than_the_limit_uses_files() {
    let folder = Folder::new();
    // Some 80 MB of text in an order that sorting changes.
    let rows = "SELECT value * 7919 % 800011 AS id, repeat(md5(CAST(value AS VARCHAR)), 3) AS text \
                FROM generate_series(1, 800000)";
    folder
        .run(&["--threads", "2", rows, "-o", "t.parquet"])
        .ok();
    let sorted = "SELECT * FROM 't.parquet' ORDER BY text, id";
    let limits = ["--threads", "2", "--memory-limit", "64M"];
    let plan = format!("SET datafusion.explain.analyze_level = 'dev'; EXPLAIN ANALYZE {sorted}");
    let plan = folder.run(&[&limits[..], &[&plan]].concat()).ok();
    let spilled = plan
        .lines()
        .find(|line| line.contains("SortExec") && line.contains("spill_count="));
    let spilled = spilled.unwrap_or_default();
    assert!(
        !spilled.is_empty() && !spilled.contains("spill_count=0,"),
        "{plan}"
    );
    folder
        .run(&[&limits[..], &[sorted, "-o", "sorted.amudai.shard"]].concat())
        .ok();
    let sql = "SET datafusion.execution.target_partitions = 1; SELECT count(*), sum(id) = (SELECT sum(id) FROM 't.parquet'), bool_and(before <= text) FROM \
               (SELECT id, text, lag(text) OVER () AS before FROM 'sorted.amudai.shard')";
    assert_eq!(folder.rows(sql), ["800000,true,true"]);
}

#[test]
fn a_statement_without_enough_memory_fails_in_one_line() {
    let folder = Folder::new();
    let sql = "SELECT array_agg(repeat('x', 1000) || value) FROM generate_series(1, 1000000)";
    let error = folder.run(&["--memory-limit", "16M", sql]).error(1);
    assert!(error.contains("Resources exhausted"), "{error}");
}
