//! The report: tables with ratios, and a plot.

mod markdown;
mod numbers;
mod pairs;
mod plot;
mod table;

use crate::allocator::Allocator;
use crate::load::{Idleness, Load};
use crate::peer::Format;
use crate::question::Question;
use crate::run::{Header, median, results};
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
    header: Header,
    idleness: Idleness,
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
///
/// # Errors
/// Returns an error if the machine is not known to have been idle, unless `although_busy`.
pub(crate) fn write(data: &Path, out: &Path, although_busy: bool) -> Result<()> {
    let answers = Answers::read(&results(data))?;
    answers.idleness.check(although_busy)?;
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

#[cfg(test)]
mod tests {
    use super::write;
    use crate::run::results;
    use std::path::Path;

    const HEADER: &str = r#"{"time":1,"cpu":"Abacus","cores":2,"kernel":"6.1","memory_bytes":1,"load":0.6,"repeat":1,"versions":{}"#;
    const LINE: &str = r#"{"table":"log","format":"shard-balanced","question":"scan","allocator":"mimalloc","rows":1,"file_bytes":2,"samples":[{"wall":3000000,"cpu":1}],"peak":4,"peak_before":5,"threads":1,"requests":6,"rounds":7,"read_bytes":8"#;

    /// Writes the report of a scan with one thread and of one with two, with more fields in each line.
    fn report(header: &str, line: &str, although_busy: bool) -> anyhow::Result<String> {
        let folder = tempfile::tempdir()?;
        let two = LINE.replace("\"scan\"", "\"scan-2-threads\"");
        let text = format!("{HEADER}{header}}}\n{LINE}{line}}}\n{two}{line}}}\n");
        std::fs::write(results(folder.path()), text)?;
        write(folder.path(), folder.path(), although_busy)?;
        let page = |name| std::fs::read_to_string(Path::join(folder.path(), name));
        Ok(page("benchmarks.md")?)
    }

    const IDLE: &str = r#","load":{"average":0.2,"wall":2.0,"others":0.01}"#;
    const BUSY: &str = r#","load":{"average":0.2,"wall":2.0,"others":1.0}"#;

    #[test]
    fn a_run_on_a_busy_machine_is_reported_only_on_request() {
        assert!(report("", BUSY, false).is_err());
        let page = report("", BUSY, true).unwrap();
        assert!(page.contains("**Other programs used 50.0 %"), "{page}");
    }

    #[test]
    fn results_of_earlier_versions_are_reported_only_on_request() {
        let refusal = report("", "", false).unwrap_err().to_string();
        assert!(refusal.contains("--although-busy"), "{refusal}");
        let page = report("", "", true).unwrap();
        assert!(page.contains("on Abacus (2 processors"), "{page}");
        assert!(page.contains("**For 2 of 2 measurements"), "{page}");
    }

    #[test]
    fn two_threads_are_reported_if_the_machine_has_two_processors() {
        let page = report(r#","speed_of_two":1.0"#, IDLE, false).unwrap();
        assert!(page.contains("scan, 2 threads"), "{page}");
        for header in ["", r#","speed_of_two":0.5"#] {
            let page = report(header, IDLE, false).unwrap();
            assert!(!page.contains("scan, 2 threads"), "{page}");
            assert!(page.contains("Left out: "), "{page}");
        }
    }
}
