//! The report: tables with ratios, and a plot.

mod markdown;
mod numbers;
mod pairs;
mod plot;
mod table;

use crate::allocator::Allocator;
use crate::peer::Format;
use crate::question::Question;
use crate::run::{Machine, median, results};
use crate::worker::Measurement;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The medians of all processes that measured a question.
struct Answer {
    /// Median wall time in nanoseconds.
    wall: u64,
    /// Median CPU time in nanoseconds.
    cpu: u64,
    /// Median of peak memory, in bytes.
    peak: u64,
    requests: u64,
    rounds: u64,
    read_bytes: u64,
    file_bytes: u64,
    rows: u64,
}

impl Answer {
    /// Returns `None` if nothing was measured, because the format does not support the question.
    fn of(measurements: &[Measurement]) -> Option<Self> {
        let samples = || measurements.iter().flat_map(|m| &m.samples);
        let mut walls: Vec<u64> = samples().map(|sample| sample.wall).collect();
        let mut cpus: Vec<u64> = samples().map(|sample| sample.cpu).collect();
        let mut peaks: Vec<u64> = measurements.iter().map(|m| m.peak).collect();
        let last = measurements.last()?;
        Some(Self {
            wall: median(&mut walls)?,
            cpu: median(&mut cpus)?,
            peak: median(&mut peaks)?,
            requests: last.requests,
            rounds: last.rounds,
            read_bytes: last.read_bytes,
            file_bytes: last.file_bytes,
            rows: last.rows,
        })
    }
}

/// The answers of a run.
struct Answers {
    machine: Machine,
    /// Names of the tables, in the order of the run.
    tables: Vec<String>,
    answers: BTreeMap<(Allocator, String, Format, Question), Answer>,
    /// Most threads of a format's processes at their end, for questions with one thread.
    threads: BTreeMap<Format, u64>,
    /// Median of the peak memory of processes before their first run, in bytes.
    idle_peak: u64,
}

impl Answers {
    fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!(
                "no results in {}; make them with `peers run`",
                path.display()
            )
        })?;
        let mut lines = text.lines();
        let machine = lines.next().context("the results are empty")?;
        let mut tables: Vec<String> = Vec::new();
        let mut groups: BTreeMap<_, Vec<Measurement>> = BTreeMap::new();
        let mut threads = BTreeMap::new();
        let mut idle_peaks = Vec::new();
        for line in lines {
            let measurement: Measurement = serde_json::from_str(line)?;
            if !tables.contains(&measurement.table) {
                tables.push(measurement.table.clone());
            }
            idle_peaks.push(measurement.peak_before);
            let Measurement {
                allocator,
                format,
                question,
                ..
            } = measurement;
            if question.threads() == 1 {
                let most = threads.entry(format).or_insert(0);
                *most = measurement.threads.max(*most);
            }
            let key = (allocator, measurement.table.clone(), format, question);
            groups.entry(key).or_default().push(measurement);
        }
        let answered =
            |(key, measurements): (_, Vec<Measurement>)| Some((key, Answer::of(&measurements)?));
        Ok(Self {
            machine: serde_json::from_str(machine)?,
            tables,
            answers: groups.into_iter().filter_map(answered).collect(),
            threads,
            idle_peak: median(&mut idle_peaks).unwrap_or_default(),
        })
    }

    /// Returns an answer with mimalloc.
    fn get(&self, table: &str, format: Format, question: Question) -> Option<&Answer> {
        self.get_of(Allocator::Mimalloc, table, format, question)
    }

    fn get_of(
        &self,
        allocator: Allocator,
        table: &str,
        format: Format,
        question: Question,
    ) -> Option<&Answer> {
        let key = (allocator, table.to_owned(), format, question);
        self.answers.get(&key)
    }

    /// Returns the measured formats, in their order.
    fn formats(&self) -> BTreeSet<Format> {
        self.answers.keys().map(|key| key.2).collect()
    }
}

/// Writes `benchmarks.md`, `benchmarks.svg`, and `benchmarks-store.md` if a store was measured, to the folder `out`.
pub(crate) fn write(data: &Path, out: &Path) -> Result<()> {
    let answers = Answers::read(&results(data))?;
    if let Some(page) = markdown::store_page(&answers)? {
        std::fs::write(out.join("benchmarks-store.md"), page)?;
    }
    // A run may have measured nothing but stores.
    let local = |key: &(_, _, _, Question)| key.3 == Question::Scan;
    if answers.answers.keys().any(local) {
        std::fs::write(out.join("benchmarks.svg"), plot::plot(&answers)?)?;
        std::fs::write(out.join("benchmarks.md"), markdown::page(&answers)?)?;
    }
    Ok(())
}
