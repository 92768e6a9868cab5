//! Tables of shards, and the queries that tests compare.

use arrow_shard_datafusion::register;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{SessionConfig, SessionContext};

/// Creates a session of DataFusion alone, to compare with.
pub(crate) fn local() -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(2);
    let session = SessionContext::new_with_config(config);
    register(&session).unwrap();
    session
}

/// Returns the rows of an answer as text, sorted unless the query has an order.
pub(crate) async fn answer(session: &SessionContext, sql: &str) -> Vec<String> {
    match try_answer(session, sql).await {
        Ok(rows) => rows,
        Err(error) => panic!("{sql}: {error}"),
    }
}

pub(crate) async fn try_answer(
    session: &SessionContext,
    sql: &str,
) -> datafusion::error::Result<Vec<String>> {
    let batches = session.sql(sql).await?.collect().await?;
    let text = pretty_format_batches(&batches)?.to_string();
    let rows = text.lines().filter(|line| line.starts_with('|')).skip(1);
    // The printed width of columns depends on their values, so it is removed.
    let mut rows: Vec<String> = rows
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    if !sql.contains("ORDER BY") {
        rows.sort();
    }
    Ok(rows)
}

/// Runs statements, and ignores their answers.
pub(crate) async fn run(session: &SessionContext, statements: &[String]) {
    for sql in statements {
        answer(session, sql).await;
    }
}

/// Returns statements that write `files` shards of orders, one of customers, and events partitioned by region and year.
pub(crate) fn write_tables(at: &str, files: i64, rows: i64) -> Vec<String> {
    let mut statements = Vec::new();
    for file in 0..files {
        let (first, last) = (file * rows, (file + 1) * rows);
        statements.push(format!(
            "COPY (SELECT value AS id, value * 7919 % 101 AS customer,
                 date '2024-01-01' + CAST(value % 400 AS INT) AS day,
                 CAST(value * 31 % 100000 AS DECIMAL(12, 2)) / 100 AS amount,
                 arrow_cast(CASE WHEN value % 5 > 0 THEN 'note ' || (value % 17) END, 'Utf8View') AS note,
                 named_struct('city', 'c' || (value % 13), 'zip', value % 1000) AS place
             FROM (SELECT unnest(range({first}, {last})) AS value))
             TO '{at}orders/{file}.shard' STORED AS SHARD
             OPTIONS ('format.stripe_rows' '512', 'format.sorting_columns' 'id')"
        ));
    }
    statements.push(format!(
        "COPY (SELECT value AS id, 'name ' || value AS name, 'r' || (value % 4) AS region
         FROM (SELECT unnest(range(0, 100)) AS value)) TO '{at}customers/all.shard' STORED AS SHARD"
    ));
    statements.push(format!(
        "COPY (SELECT value AS id, value * 13 % 97 AS measure, 'r' || (value % 3) AS region,
             CAST(2020 + value % 4 AS INT) AS year FROM (SELECT unnest(range(1, 1001)) AS value))
         TO '{at}events/' STORED AS SHARD PARTITIONED BY (region, year)"
    ));
    statements
}

/// Returns statements that create the tables.
pub(crate) fn create_tables(at: &str) -> Vec<String> {
    let table = |name: &str, partitioned: &str| {
        format!("CREATE EXTERNAL TABLE {name} STORED AS SHARD {partitioned} LOCATION '{at}{name}/'")
    };
    vec![
        table("orders", ""),
        table("customers", ""),
        format!(
            "CREATE EXTERNAL TABLE events (id BIGINT, measure BIGINT, region VARCHAR, year INT)
             STORED AS SHARD PARTITIONED BY (region, year) LOCATION '{at}events/'"
        ),
    ]
}

/// Queries that every engine answers identically.
pub(crate) const QUERIES: &[&str] = &[
    "SELECT count(*) FROM orders",
    "SELECT count(*), min(id), max(day), sum(amount) FROM orders WHERE id % 3 = 1",
    "SELECT * FROM orders WHERE id BETWEEN 700 AND 720",
    "SELECT id, note FROM orders WHERE note LIKE '%16' AND amount > 900.5",
    "SELECT count(*) FROM orders WHERE note IS NULL OR customer IN (3, 5, 99)",
    "SELECT place['city'] AS city, max(place['zip']) FROM orders GROUP BY 1",
    "SELECT region, count(*), sum(amount) FROM orders JOIN customers ON customer = customers.id
     WHERE name <> 'name 7' GROUP BY region",
    "SELECT c.name FROM customers c WHERE NOT EXISTS
         (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.amount > 990)",
    "SELECT id, amount FROM orders WHERE amount > (SELECT avg(amount) * 1.9 FROM orders)",
    "SELECT id, day FROM orders ORDER BY day DESC, id LIMIT 7",
    "SELECT id FROM orders ORDER BY id DESC LIMIT 5",
    "SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY id) AS total
     FROM orders WHERE customer < 4 ORDER BY id LIMIT 50",
    "SELECT region, year, count(*), sum(measure) FROM events GROUP BY region, year",
    "SELECT id FROM events WHERE region = 'r1' AND year > 2021 AND measure < 10",
    "SELECT day, count(DISTINCT customer) FROM orders GROUP BY day HAVING count(*) > 4",
    "SELECT id FROM orders WHERE id < 3 UNION ALL SELECT id FROM customers WHERE id > 97",
];

/// Runs all queries in both sessions, and compares the answers.
pub(crate) async fn compare(expected: &SessionContext, session: &SessionContext) {
    for sql in QUERIES {
        let rows = answer(expected, sql).await;
        assert!(!rows.is_empty(), "{sql}");
        assert_eq!(answer(session, sql).await, rows, "{sql}");
    }
}
