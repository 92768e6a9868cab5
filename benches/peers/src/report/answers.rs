//! The answers of a run: medians over its processes.

use crate::allocator::Allocator;
use crate::load::{Idleness, Load};
use crate::peer::Format;
use crate::question::Question;
use crate::run::{Header, median};
use crate::worker::Measurement;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The medians of all processes that measured a question.
pub(super) struct Answer {
    /// Median wall time in nanoseconds.
    pub(super) wall: u64,
    /// Median CPU time in nanoseconds.
    pub(super) cpu: u64,
    /// Median of peak memory, in bytes.
    pub(super) peak: u64,
    pub(super) requests: u64,
    pub(super) rounds: u64,
    pub(super) read_bytes: u64,
    pub(super) file_bytes: u64,
    pub(super) rows: u64,
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
pub(super) struct Answers {
    pub(super) header: Header,
    pub(super) idleness: Idleness,
    /// Names of the tables, in the order of the run.
    pub(super) tables: Vec<String>,
    pub(super) answers: BTreeMap<(Allocator, String, Format, Question), Answer>,
    /// Most threads of a format's processes at their end, for questions with one thread.
    pub(super) threads: BTreeMap<Format, u64>,
    /// Median of the peak memory of processes before their first run, in bytes.
    pub(super) idle_peak: u64,
}

impl Answers {
    /// Reads the results of a run.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!(
                "no results in {}; make them with `peers run`",
                path.display()
            )
        })?;
        let mut lines = text.lines();
        let header = lines.next().context("the results are empty")?;
        let mut tables: Vec<String> = Vec::new();
        let mut groups: BTreeMap<_, Vec<Measurement>> = BTreeMap::new();
        let mut threads = BTreeMap::new();
        let mut idle_peaks = Vec::new();
        let mut loads: Vec<Option<Load>> = Vec::new();
        for line in lines {
            let measurement: Measurement = serde_json::from_str(line)?;
            if !tables.contains(&measurement.table) {
                tables.push(measurement.table.clone());
            }
            idle_peaks.push(measurement.peak_before);
            loads.push(measurement.load);
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
            header: serde_json::from_str(header)?,
            idleness: loads.into_iter().collect(),
            tables,
            answers: groups.into_iter().filter_map(answered).collect(),
            threads,
            idle_peak: median(&mut idle_peaks).unwrap_or_default(),
        })
    }

    /// Returns an answer with mimalloc.
    pub(super) fn get(&self, table: &str, format: Format, question: Question) -> Option<&Answer> {
        self.get_of(Allocator::Mimalloc, table, format, question)
    }

    pub(super) fn get_of(
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
    pub(super) fn formats(&self) -> BTreeSet<Format> {
        self.answers.keys().map(|key| key.2).collect()
    }
}
