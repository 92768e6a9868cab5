//! Runs the queries in one process.

use crate::queries::{self, Query};
use crate::sample::{self, Sample};
use crate::subject::Subject;
use crate::tables::Tables;
use anyhow::{Result, bail};
use arrow::array::{Float64Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use peers::{Load, LoadMeter};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Least total time of a query's runs, per subject. Short queries need many runs for medians that do not depend on
/// other load of the machine.
const MIN_TIME: Duration = Duration::from_millis(300);
/// Most runs of a short query, unless `repeat` is larger.
const MAX_ROUNDS: usize = 1001;

/// Runs every query at least `repeat` times over every subject, after one run to compare the answers, which is not
/// measured.
pub(crate) fn measure(
    data: &Path,
    threads: usize,
    repeat: usize,
    tables: &[Tables],
    names: &[String],
    subjects: &[Subject],
) -> Result<()> {
    // Threads that libraries start must not use additional processors.
    let mut processors = CpuSet::new();
    (0..threads).for_each(|processor| processors.set(processor));
    sched_setaffinity(None, &processors)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()?;
    let sessions: Vec<(Subject, SessionContext)> = subjects
        .iter()
        .map(|&subject| Ok((subject, open(&runtime, subject, data, threads, tables)?)))
        .collect::<Result<_>>()?;
    let mut out = File::create(sample::path(data, threads))?;
    for query in queries::chosen(tables, names) {
        eprintln!("{} with {threads} threads", query.name);
        let failed = compare(&runtime, &sessions, &query);
        let (mut round, begin) = (0, Instant::now());
        let (meter, mut samples) = (LoadMeter::start(), Vec::new());
        let least = MIN_TIME * u32::try_from(sessions.len())?;
        while round < repeat || (begin.elapsed() < least && round < MAX_ROUNDS) {
            for turn in 0..sessions.len() {
                // Every other round goes backwards, so no subject always runs after the same other one.
                let step = match round % 2 {
                    0 => turn,
                    _ => sessions.len() - turn,
                };
                let (subject, session) = &sessions[(round + step) % sessions.len()];
                let error = failed.iter().find(|(failed, _)| failed == subject);
                let mut sample = Sample {
                    query: query.name.clone(),
                    subject: *subject,
                    total: 0,
                    scans: 0,
                    error: error.map(|(_, error)| error.clone()),
                    load: None,
                };
                if sample.error.is_none() {
                    (sample.total, sample.scans) = run(&runtime, session, query.sql)?;
                }
                samples.push(sample);
            }
            round += 1;
        }
        let load = meter.and_then(LoadMeter::stop);
        if let Some(load) = load.filter(Load::is_disturbed) {
            eprintln!("{} with {threads} threads: {load}", query.name);
        }
        for sample in samples {
            let sample = Sample { load, ..sample };
            writeln!(out, "{}", serde_json::to_string(&sample)?)?;
        }
    }
    Ok(())
}

fn open(
    runtime: &Runtime,
    subject: Subject,
    data: &Path,
    threads: usize,
    tables: &[Tables],
) -> Result<SessionContext> {
    let session = subject.session(threads)?;
    for table in tables.iter().flat_map(|tables| tables.names()) {
        let create = format!(
            "CREATE EXTERNAL TABLE {table} STORED AS {} LOCATION '{}'",
            subject.format(),
            subject.file(data, table).display()
        );
        runtime.block_on(session.sql(&create))?;
    }
    Ok(session)
}

/// Returns the subjects that fail or return another answer than Parquet, with a description.
fn compare(
    runtime: &Runtime,
    sessions: &[(Subject, SessionContext)],
    query: &Query,
) -> Vec<(Subject, String)> {
    let answer = |session: &SessionContext| -> Result<Vec<String>> {
        runtime.block_on(async { rows(&session.sql(query.sql).await?.collect().await?) })
    };
    let answers: Vec<_> = sessions
        .iter()
        .map(|(subject, session)| (*subject, answer(session)))
        .collect();
    let parquet = answers
        .iter()
        .find(|(subject, _)| *subject == Subject::Parquet);
    let expected = parquet.and_then(|(_, answer)| answer.as_ref().ok());
    let fault = |(subject, answer): &(Subject, Result<Vec<String>>)| {
        let fault = match (answer, expected) {
            (Err(error), _) => format!("{error:#}"),
            (Ok(answer), Some(expected))
                if query.has_any_rows() && answer.len() == expected.len() =>
            {
                return None;
            }
            (Ok(answer), Some(expected)) if answer != expected => {
                let differs = |(a, b): &(&String, &String)| a != b;
                let first = answer.iter().zip(expected).find(differs);
                format!(
                    "{} rows instead of {}: {first:?}",
                    answer.len(),
                    expected.len()
                )
            }
            _ => return None,
        };
        eprintln!("{} of {subject:?}: {fault}", query.name);
        Some((*subject, fault))
    };
    answers.iter().filter_map(fault).collect()
}

/// Returns sorted rows as text. Doubles are rounded, because their last digits depend on the order of a sum.
fn rows(batches: &[RecordBatch]) -> Result<Vec<String>> {
    let options = FormatOptions::new();
    let mut rows = Vec::new();
    for batch in batches {
        let formatters = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
            .collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().zip(&formatters);
            let values = cells.map(|(column, formatter)| {
                match column.as_any().downcast_ref::<Float64Array>() {
                    Some(doubles) => format!("{:.9e}", doubles.value(row)),
                    None => formatter.value(row).to_string(),
                }
            });
            rows.push(values.collect::<Vec<_>>().join("|"));
        }
    }
    rows.sort();
    Ok(rows)
}

/// Runs a query, and returns the nanoseconds that it and its scans take.
fn run(runtime: &Runtime, session: &SessionContext, sql: &str) -> Result<(u64, u64)> {
    let start = Instant::now();
    let plan = runtime.block_on(async {
        let plan = session.sql(sql).await?.create_physical_plan().await?;
        let collected = tokio::spawn(collect(plan.clone(), session.task_ctx()));
        match collected.await {
            Ok(batches) => batches?,
            Err(error) => bail!("{error}"),
        };
        Ok(plan)
    })?;
    let total = start.elapsed().as_nanos();
    Ok((u64::try_from(total)?, u64::try_from(scans(&plan))?))
}

/// Returns the nanoseconds in the scans of a plan, and in filters directly above them.
fn scans(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let metric = |plan: &Arc<dyn ExecutionPlan>, name: &str| {
        let value = plan.metrics().and_then(|metrics| metrics.sum_by_name(name));
        value.map_or(0, |value| value.as_usize())
    };
    if plan.name() == "DataSourceExec" {
        return metric(plan, "time_elapsed_processing");
    }
    let children = plan.children();
    let below: usize = children.iter().map(|child| scans(child)).sum();
    let filters = plan.downcast_ref::<FilterExec>().is_some()
        && children
            .iter()
            .all(|child| child.name() == "DataSourceExec");
    if filters {
        below + metric(plan, "elapsed_compute")
    } else {
        below
    }
}
