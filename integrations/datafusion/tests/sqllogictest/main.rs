//! Runs DataFusion's tests of Parquet over shards: the published files of the crate `datafusion-sqllogictest`, with
//! every Parquet table stored as shards. Then runs the files in this folder, with tests of features that only shards
//! have.
//!
//! `skipped.txt` lists the skipped records with reasons. If `SLT_FILE` is set, only files with this text in their names
//! run. `TESTED_FORMAT=parquet` runs the original records.
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

/// The way to run the records of a file.
#[derive(Debug, Clone, Copy)]
enum Mode {
    /// Compares plans with the published ones. Scans evaluate no filters, which is Parquet's default.
    Plans,
    /// Uses the default options of sessions, so scans evaluate filters. This changes plans, so plans are not compared.
    Rows,
}

/// Numbers and failures of the records of a file.
#[derive(Debug, Default)]
struct Outcome {
    passed: usize,
    skipped: usize,
    failures: Vec<String>,
    elapsed: Duration,
}

/// Runs the records of a file, except for the skipped ones.
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

/// Returns whether a query asks for a plan.
fn is_plan(sql: &str) -> bool {
    let word = sql.split_whitespace().next().unwrap_or_default();
    word.eq_ignore_ascii_case("explain")
}

/// Runs the files, or only those with `SLT_FILE` in their names.
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

/// A single test for all files, because records write to the current folder of the process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_for_parquet_pass_over_shards() {
    run_all(files::SHIPPED, files::OWN, Mode::Plans).await;
    run_all(files::SHIPPED, &[], Mode::Rows).await;
}
