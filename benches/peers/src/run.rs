//! Measures all questions, each in a process of its own, and stores the results.

use crate::allocator::Allocator;
use crate::data;
use crate::load::{Load, LoadMeter};
use crate::machine::Machine;
use crate::peer::Format;
use crate::question::Question;
use crate::worker::{self, Measurement};
use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the path of the last run's results: one JSON object per line, the [`Header`] first.
pub(crate) fn results(data: &Path) -> PathBuf {
    data.join("results.jsonl")
}

/// The time, the machine and the programs of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Seconds since 1970.
    pub(crate) time: u64,
    #[serde(flatten)]
    pub(crate) machine: Machine,
    pub(crate) repeat: usize,
    pub(crate) versions: BTreeMap<String, String>,
}

/// The crates with versions in the report.
const VERSIONED: [&str; 5] = [
    "arrow-shard",
    "parquet",
    "arrow-ipc",
    "vortex-file",
    "mimalloc",
];

/// Returns the versions of the [`VERSIONED`] crates, from the lock file.
fn versions() -> BTreeMap<String, String> {
    let quoted = |line: &str, key: &str| {
        let value = line.strip_prefix(key)?.strip_prefix(" = \"")?;
        Some(value.strip_suffix('"')?.to_owned())
    };
    let mut versions = BTreeMap::new();
    let mut name = String::new();
    for line in include_str!("../Cargo.lock").lines() {
        if let Some(found) = quoted(line, "name") {
            name = found;
        } else if let Some(version) = quoted(line, "version")
            && VERSIONED.contains(&name.as_str())
        {
            versions.insert(name.clone(), version);
        }
    }
    versions
}

/// The tables, formats and questions to measure.
pub(crate) struct Run {
    data: PathBuf,
    tables: Vec<String>,
    formats: Vec<Format>,
    questions: Vec<Question>,
    repeat: usize,
    keep: bool,
}

impl Run {
    /// Creates a run. An empty list selects all tables, formats or questions.
    pub(crate) fn new(
        data: PathBuf,
        tables: Vec<String>,
        formats: Vec<Format>,
        questions: Vec<Question>,
        repeat: usize,
        keep: bool,
    ) -> Result<Self> {
        let there = data::tables(&data);
        ensure!(
            !there.is_empty(),
            "no table is there; make them with `peers generate`"
        );
        if let Some(table) = tables.iter().find(|table| !there.contains(&table.as_str())) {
            bail!("table {table} is not there; there are {}", there.join(", "));
        }
        let all_tables = || there.iter().map(|&table| table.to_owned()).collect();
        Ok(Self {
            tables: Some(tables)
                .filter(|t| !t.is_empty())
                .unwrap_or_else(all_tables),
            formats: all_if_empty(formats),
            questions: all_if_empty(questions),
            data,
            repeat: repeat.max(1),
            keep,
        })
    }

    /// Measures everything. Files are always rewritten, so the measured files come from this build. They are removed
    /// when their table is done, unless the run keeps them.
    pub(crate) fn all(&self) -> Result<()> {
        let mut out = File::create(results(&self.data))?;
        let header = Header {
            time: SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
            machine: Machine::here(|program| program.arg("spin"))?,
            repeat: self.repeat,
            versions: versions(),
        };
        writeln!(out, "{}", serde_json::to_string(&header)?)?;
        for table in &self.tables {
            let schema = data::open(&self.data, table)?.schema();
            let times = if self.questions.contains(&Question::Write) {
                self.repeat
            } else {
                1
            };
            self.ask(table, Question::Write, times, &mut out)?;
            for &question in &self.questions {
                if question != Question::Write && question.suits(table, &schema) {
                    self.ask(table, question, self.repeat, &mut out)?;
                }
            }
            if !self.keep {
                for format in self.asked(table, Question::Write) {
                    std::fs::remove_file(worker::file(&self.data, table, format))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the formats to measure with a question and a table.
    fn asked(&self, table: &str, question: Question) -> Vec<Format> {
        let formats = self.formats.iter().copied();
        formats
            .filter(|format| format.answers(table, question))
            .collect()
    }

    /// Measures the formats in turn, repeatedly.
    fn ask(&self, table: &str, question: Question, times: usize, out: &mut File) -> Result<()> {
        let allocators = Allocator::of_table(table);
        let asked: Vec<_> = self
            .asked(table, question)
            .into_iter()
            .flat_map(|format| allocators.iter().map(move |&allocator| (format, allocator)))
            .collect();
        let mut answers = Vec::new();
        for _ in 0..times {
            for &(format, allocator) in &asked {
                // Earlier writes go to the disk now, instead of during a measurement.
                rustix::fs::sync();
                let spawned = self.spawn(table, format, question, allocator);
                let answer = spawned.with_context(|| {
                    format!(
                        "{} of table {table} in format {}",
                        question.name(),
                        format.name()
                    )
                })?;
                writeln!(out, "{}", serde_json::to_string(&answer)?)?;
                if let Some(load) = answer.load.filter(Load::is_disturbed) {
                    let (question, format) = (question.name(), format.name());
                    eprintln!("{table} {question} {format}, {allocator:?}: {load}");
                }
                answers.push(answer);
            }
        }
        for (format, allocator) in asked {
            let own =
                |answer: &&Measurement| (answer.format, answer.allocator) == (format, allocator);
            let samples = answers.iter().filter(own);
            let mut times: Vec<u64> = samples
                .flat_map(|a| a.samples.iter().map(|s| s.wall))
                .collect();
            if let Some(median) = median(&mut times) {
                let ms = median as f64 / 1e6;
                let (question, format) = (question.name(), format.name());
                eprintln!("{table} {question} {format}, {allocator:?}: {ms:.3} ms");
            }
        }
        Ok(())
    }

    fn spawn(
        &self,
        table: &str,
        format: Format,
        question: Question,
        allocator: Allocator,
    ) -> Result<Measurement> {
        let meter = LoadMeter::start();
        let output = Command::new(allocator.program()?)
            .arg("worker")
            .arg("--data")
            .arg(&self.data)
            .args(["--table", table, "--format", &format.name()])
            .args(["--question", &question.name()])
            .stderr(Stdio::inherit())
            .output()?;
        let load = meter.and_then(LoadMeter::stop);
        ensure!(
            output.status.success(),
            "the process ended with {}",
            output.status
        );
        Ok(Measurement {
            load,
            ..serde_json::from_slice(&output.stdout)?
        })
    }
}

fn all_if_empty<T: ValueEnum>(chosen: Vec<T>) -> Vec<T> {
    if chosen.is_empty() {
        T::value_variants().to_vec()
    } else {
        chosen
    }
}

/// Returns the median. If the number of values is even, returns the larger middle value.
pub(crate) fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Compares the rows that every format returns with every table.
pub(crate) fn check(data: &Path) -> Result<()> {
    for table in data::tables(data) {
        let formats = Format::value_variants().iter().copied();
        for format in formats.filter(|format| format.answers(table, Question::Write)) {
            worker::check(data, table, format)?;
        }
        eprintln!("{table}: all formats give what was written");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::data::{Scale, generate};
    use std::path::Path;

    #[test]
    fn every_format_gives_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/real");
        generate(folder.path(), Scale::Tiny, &real, &[]).unwrap();
        super::check(folder.path()).unwrap();
    }
}
