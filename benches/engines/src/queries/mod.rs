//! The queries.

use crate::tables::Tables;

/// A query and its name.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) name: String,
    pub(crate) sql: &'static str,
}

macro_rules! tpch {
    ($($number:literal)*) => {
        [$(include_str!(concat!(
            "../../../../integrations/datafusion/tests/tpch/queries/q",
            $number,
            ".sql"
        ))),*]
    };
}

/// The queries of TPC-H, in order.
const TPCH: [&str; 22] = tpch!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22);

/// Queries of the log, similar to the queries of ClickBench.
const LOG: [&str; 26] = [
    "SELECT count(*) FROM log",
    "SELECT count(*) FROM log WHERE status <> 200",
    "SELECT sum(bytes), count(*), avg(latency_ms) FROM log",
    "SELECT avg(user_id) FROM log",
    "SELECT count(DISTINCT user_id) FROM log",
    "SELECT count(DISTINCT host) FROM log",
    "SELECT min(time), max(time) FROM log",
    "SELECT status, count(*) AS c FROM log WHERE status <> 200 GROUP BY status ORDER BY c DESC, status",
    "SELECT service, count(DISTINCT user_id) AS u FROM log GROUP BY service ORDER BY u DESC, service LIMIT 10",
    "SELECT host, sum(bytes), count(*) AS c, count(DISTINCT user_id) FROM log GROUP BY host ORDER BY c DESC, host LIMIT 10",
    "SELECT level, status, count(*) AS c FROM log GROUP BY level, status ORDER BY c DESC, level, status LIMIT 10",
    "SELECT user_id, count(*) AS c FROM log GROUP BY user_id ORDER BY c DESC, user_id LIMIT 10",
    "SELECT user_id, service, count(*) AS c FROM log GROUP BY user_id, service ORDER BY c DESC, user_id, service LIMIT 10",
    "SELECT user_id, date_trunc('minute', time) AS m, count(*) AS c FROM log WHERE user_id < 20000 GROUP BY user_id, m ORDER BY c DESC, user_id, m LIMIT 10",
    "SELECT user_id FROM log WHERE user_id = 43598",
    "SELECT count(*) FROM log WHERE message LIKE '%attempt 2 of 5, job 77%'",
    "SELECT service, min(message), count(*) AS c FROM log WHERE message LIKE '%shard 63%' AND host <> '' GROUP BY service ORDER BY c DESC, service LIMIT 10",
    "SELECT time, level, service, host, message, latency_ms, status, bytes, user_id FROM log WHERE message LIKE 'transaction 1%' ORDER BY time, message LIMIT 10",
    "SELECT message FROM log WHERE level = 'ERROR' ORDER BY time, message LIMIT 10",
    "SELECT message FROM log WHERE level = 'ERROR' ORDER BY message LIMIT 10",
    "SELECT service, avg(length(message)) AS l, count(*) AS c FROM log WHERE level IN ('WARN', 'ERROR') GROUP BY service HAVING count(*) > 1000 ORDER BY l DESC LIMIT 25",
    "SELECT sum(bytes), sum(bytes + 1), sum(bytes + 2), sum(bytes + 3), sum(bytes + 4), sum(bytes + 5) FROM log",
    "SELECT date_trunc('minute', time) AS m, count(*) AS c FROM log WHERE time >= '2025-01-01T00:05:00Z' AND time < '2025-01-01T00:08:00Z' AND status >= 400 GROUP BY m ORDER BY m",
    "SELECT host, latency_ms, message FROM log WHERE latency_ms > 890 ORDER BY latency_ms DESC, message LIMIT 20",
    "SELECT count(*) FROM log WHERE array_has(tags, 'canary') AND service = 'payment'",
    "SELECT service, level, max(latency_ms), min(bytes) FROM log WHERE host LIKE 'node-00%' AND user_id IS NOT NULL GROUP BY service, level ORDER BY service, level",
];

/// The queries of ClickBench.
const HITS: &str = include_str!("hits.sql");

/// Returns the queries over these tables: all of them, or only the queries with the given names.
pub(crate) fn chosen(tables: &[Tables], names: &[String]) -> Vec<Query> {
    let mut all: Vec<Query> = tables.iter().flat_map(|&tables| over(tables)).collect();
    all.retain(|query| names.is_empty() || names.contains(&query.name));
    all
}

fn over(tables: Tables) -> Vec<Query> {
    let (prefix, texts) = match tables {
        Tables::Tpch => ("q", TPCH.to_vec()),
        Tables::Log => ("log-", LOG.to_vec()),
        Tables::Hits => ("hits-", HITS.trim_end().split_terminator(';').collect()),
    };
    let numbered = |(i, sql)| Query {
        name: format!("{prefix}{}", i + 1),
        sql,
    };
    texts.into_iter().enumerate().map(numbered).collect()
}

impl Query {
    /// Returns whether any rows of the result are an answer, because a limit has no order.
    pub(crate) fn has_any_rows(&self) -> bool {
        self.sql.contains("LIMIT") && !self.sql.contains("ORDER BY")
    }
}
