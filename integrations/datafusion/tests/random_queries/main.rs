//! Random queries over random tables: with any options, files return the same answers as tables in memory.
//!
//! `RANDOM_QUERIES` is the number of pairs of tables, with 25 queries each. `RANDOM_QUERIES_SEED` is the seed of the
//! first pair; a failure prints its seed.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers of rows are small"
)]

#[path = "../common/mod.rs"]
mod common;
mod data;
mod queries;

use common::{Format, query, rows, sorted_rows};
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use queries::{Answer, Query};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

const QUERIES: usize = 25;

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Returns random options for a query, as keys and values of SQL.
fn options(rng: &mut StdRng) -> Vec<(&'static str, String)> {
    let flag = |rng: &mut StdRng| rng.random_bool(0.5).to_string();
    let most = |rng: &mut StdRng, usual: u32| [0, usual].choose(rng).unwrap().to_string();
    // At 0 bytes and rows, both sides of a join have several partitions, and each partition pushes down its keys.
    let build_side = most(rng, 1 << 20);
    vec![
        (
            "datafusion.optimizer.hash_join_single_partition_threshold",
            build_side.clone(),
        ),
        (
            "datafusion.optimizer.hash_join_single_partition_threshold_rows",
            build_side,
        ),
        // A join with fewer keys pushes down a list instead of a hash table.
        (
            "datafusion.optimizer.hash_join_inlist_pushdown_max_size",
            most(rng, 1 << 17),
        ),
        (
            "datafusion.execution.target_partitions",
            rng.random_range(1..=8).to_string(),
        ),
        (
            "datafusion.execution.batch_size",
            [1, 7, 100, 8192].choose(rng).unwrap().to_string(),
        ),
        (
            "datafusion.optimizer.repartition_file_min_size",
            "0".to_owned(),
        ),
        ("datafusion.execution.collect_statistics", flag(rng)),
        (
            "datafusion.optimizer.enable_dynamic_filter_pushdown",
            flag(rng),
        ),
        ("shard.pushdown_filters", rng.random_bool(0.8).to_string()),
        ("shard.pruning", rng.random_bool(0.8).to_string()),
    ]
}

/// Creates a session over the files in `folder`.
async fn files(format: Format, folder: &Path, options: &[(&str, String)]) -> SessionContext {
    let context = Format::session(SessionConfig::new());
    for (key, value) in options {
        if format == Format::Shard || !key.starts_with("shard.") {
            query(&context, &format!("SET {key} = '{value}'"))
                .await
                .unwrap();
        }
    }
    for table in ["t", "u"] {
        format
            .create_table(&context, table, &folder.join(table), "PARTITIONED BY (p)")
            .await
            .unwrap();
    }
    context
}

/// Creates a session over the same rows in memory.
fn memory(t: &Arc<MemTable>, u: &Arc<MemTable>) -> SessionContext {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
    context.register_table("t", t.clone()).unwrap();
    context.register_table("u", u.clone()).unwrap();
    context
}

/// Compares the answer over files with the answer over memory; a difference is an error that describes it.
async fn compare(
    files: &SessionContext,
    memory: &SessionContext,
    asked: &Query,
) -> Result<(), String> {
    let Ok(expected) = query(memory, &asked.sql).await else {
        // A query that fails over memory has no expected answer.
        return Ok(());
    };
    let answer = query(files, &asked.sql)
        .await
        .map_err(|error| error.to_string())?;
    let (answer, expected) = match asked.answer {
        Answer::Ordered => (rows(&answer), rows(&expected)),
        Answer::AnyOrder => (sorted_rows(&answer), sorted_rows(&expected)),
        Answer::Some => {
            let answer = rows(&answer);
            if answer.len() != rows(&expected).len() {
                return Err(format!(
                    "{} rows, not {}",
                    answer.len(),
                    rows(&expected).len()
                ));
            }
            let all = query(memory, &asked.all).await.unwrap();
            let mut counts = HashMap::new();
            for row in rows(&all) {
                *counts.entry(row).or_insert(0) += 1;
            }
            for row in answer {
                let count = counts.entry(row.clone()).or_insert(0);
                *count -= 1;
                if *count < 0 {
                    return Err(format!("{row} is no row of the query without its limit"));
                }
            }
            return Ok(());
        }
    };
    if answer == expected {
        return Ok(());
    }
    let differs = |(a, b): &(&String, &String)| a != b;
    let first = answer.iter().zip(&expected).find(differs);
    Err(format!(
        "{} rows, and {} in memory; first difference {first:?}",
        answer.len(),
        expected.len()
    ))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_answer_as_tables_in_memory_do() {
    let format = Format::tested();
    let first = variable("RANDOM_QUERIES_SEED", 1);
    let mut failures = Vec::new();
    for seed in first..first + variable("RANDOM_QUERIES", 16) {
        let folder = tempfile::tempdir().unwrap();
        let t = Arc::new(data::table(format, &folder.path().join("t"), seed, 1500));
        let u = Arc::new(data::table(format, &folder.path().join("u"), !seed, 30));
        let rng = &mut StdRng::seed_from_u64(seed);
        let memory = memory(&t, &u);
        for _ in 0..QUERIES {
            let asked = queries::query(rng);
            let options = options(rng);
            let files = files(format, folder.path(), &options).await;
            if let Err(difference) = compare(&files, &memory, &asked).await {
                failures.push(format!(
                    "RANDOM_QUERIES_SEED={seed}\n{}\n{options:?}\n{difference}",
                    asked.sql
                ));
            }
        }
    }
    let count = failures.len();
    assert!(
        failures.is_empty(),
        "{count} failures\n\n{}",
        failures.join("\n\n")
    );
}
