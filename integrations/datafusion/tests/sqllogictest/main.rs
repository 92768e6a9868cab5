//! The tests that DataFusion ships for Parquet, over shards: the files of the crate
//! `datafusion-sqllogictest` as they are published, with every table of Parquet stored as shards. Then
//! the files beside this one, which hold what only shards do.
//!
//! `skipped.txt` names the records that are left out, and why. `SLT_FILE` runs the files alone whose
//! name contains it. `TESTED_FORMAT=parquet` runs the records as they are shipped.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

#[path = "../common/mod.rs"]
mod common;
mod compare;
mod files;
mod rewrite;
mod skipped;

use common::Format;
use datafusion_sqllogictest::{
    DFColumnType, DataFusion, TestContext, setup_scratch_dir, value_normalizer,
};
use indicatif::ProgressBar;
use rewrite::Rewrite;
use skipped::Skipped;
use sqllogictest::{Record, Runner, strict_column_validator};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How the records of a file are run.
#[derive(Debug, Clone, Copy)]
enum Mode {
    /// With plans as they are shipped: Parquet evaluates no filter unless it is told to.
    Plans,
    /// With the options that sessions have by themselves, so that scans evaluate filters. Plans are then
    /// others, and left out.
    Rows,
}

/// What became of the records of a file.
#[derive(Debug, Default)]
struct Outcome {
    passed: usize,
    skipped: usize,
    failures: Vec<String>,
    elapsed: Duration,
}

/// Runs the records of a file, but those that are to be skipped.
async fn run(path: &Path, name: &str, skipped: &Skipped, rewrite: Rewrite, mode: Mode) -> Outcome {
    let start = Instant::now();
    let mut outcome = Outcome::default();
    let relative = PathBuf::from(name);
    setup_scratch_dir(&relative).unwrap();
    let context = TestContext::try_new_for_test_file(&relative).await.unwrap();
    arrow_shard_datafusion::register(context.session_ctx()).unwrap();
    if let Mode::Plans = mode {
        for statement in rewrite.first() {
            let done = common::query(context.session_ctx(), statement).await;
            done.unwrap();
        }
    }
    let mut runner = Runner::new(|| async {
        let context = context.session_ctx().clone();
        Ok(DataFusion::new(
            context,
            relative.clone(),
            ProgressBar::hidden(),
        ))
    });
    runner.add_label("Datafusion");
    runner.with_column_validator(strict_column_validator);
    runner.with_normalizer(value_normalizer);
    runner.with_validator(compare::validator);
    let text = std::fs::read_to_string(path).unwrap();
    let records = sqllogictest::parse_with_name::<DFColumnType>(&text, name).unwrap();
    for record in records {
        let line = match &record {
            Record::Halt { .. } => break,
            Record::Query { sql, .. } if matches!(mode, Mode::Rows) && is_plan(sql) => continue,
            Record::Statement { loc, .. } | Record::Query { loc, .. } => loc.line(),
            _ => {
                runner.run_async(record).await.unwrap();
                continue;
            }
        };
        if skipped.has(name, line) {
            outcome.skipped += 1;
            continue;
        }
        match runner.run_async(rewrite.record(record)).await {
            Ok(_) => outcome.passed += 1,
            Err(error) => outcome.failures.push(format!("{name}:{line}: {error}")),
        }
    }
    outcome.elapsed = start.elapsed();
    outcome
}

/// Whether a query asks for a plan.
fn is_plan(sql: &str) -> bool {
    let word = sql.split_whitespace().next().unwrap_or_default();
    word.eq_ignore_ascii_case("explain")
}

/// Runs the files, or those whose names contain `SLT_FILE`.
async fn run_all(shipped: &[&str], own: &[&str], mode: Mode) {
    let folder = tempfile::tempdir().unwrap();
    let format = Format::tested();
    files::enter(folder.path(), format);
    let chosen = std::env::var("SLT_FILE").unwrap_or_default();
    let skipped = Skipped::read(format);
    let (mut passed, mut left_out, mut failures) = (0, 0, Vec::new());
    let shipped = shipped.iter().map(|name| {
        let path = files::shipped().join("test_files").join(name);
        (path, *name, Rewrite::of_format(format))
    });
    let own = own
        .iter()
        .map(|name| (files::own().join(name), *name, Rewrite::nothing()));
    for (path, name, rewrite) in shipped.chain(own) {
        if !name.contains(&chosen) {
            continue;
        }
        let outcome = run(&path, name, &skipped, rewrite, mode).await;
        let (failed, elapsed) = (outcome.failures.len(), outcome.elapsed);
        println!(
            "{name}: {} passed, {} skipped, {failed} failed in {elapsed:.1?}",
            outcome.passed, outcome.skipped
        );
        passed += outcome.passed;
        left_out += outcome.skipped;
        failures.extend(outcome.failures);
    }
    println!("{mode:?}: {passed} records passed, {left_out} skipped");
    let count = failures.len();
    assert!(
        failures.is_empty(),
        "{count} failures\n{}",
        failures.join("\n\n")
    );
}

/// One test for all, since the folder in which records write is that of the process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_for_parquet_pass_over_shards() {
    run_all(files::SHIPPED, files::OWN, Mode::Plans).await;
    run_all(files::SHIPPED, &[], Mode::Rows).await;
}
