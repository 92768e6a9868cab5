//! Writes the report as Markdown.

use crate::queries;
use crate::sample::{self, Sample};
use crate::subject::Subject;
use crate::tables::Tables;
use anyhow::{Context, Result};
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};
use std::fmt::Write;
use std::fs::File;
use std::path::Path;

const PARQUET: [Subject; 2] = [Subject::Parquet, Subject::ParquetPushdown];

/// Goals for shards, as ratios to the time of a peer.
const GOAL_OF_PARQUET: f64 = 0.75;
const GOAL_OF_VORTEX: f64 = 0.9;
const GOAL_OF_SCANS: f64 = 0.4;

/// Medians of one query in milliseconds.
struct Line {
    query: String,
    /// Number of runs.
    runs: usize,
    shard: Times,
    /// Shards with filters above the scan.
    no_pushdown: Option<Times>,
    /// The better of the two ways to run Parquet, for each of the two times.
    parquet: Times,
    /// Whether filters in the scan are the better way.
    pushdown: bool,
    vortex: Option<Times>,
}

#[derive(Clone, Copy)]
struct Times {
    total: f64,
    scans: f64,
}

fn median(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    let middle = values.len() / 2;
    let nanoseconds = match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) as f64 / 2.0,
        _ => values[middle] as f64,
    };
    nanoseconds / 1e6
}

fn times(samples: &[Sample], query: &str, subject: Subject) -> Option<Times> {
    let of = |sample: &&Sample| {
        sample.query == query && sample.subject == subject && sample.error.is_none()
    };
    let samples: Vec<&Sample> = samples.iter().filter(of).collect();
    if samples.is_empty() {
        return None;
    }
    Some(Times {
        total: median(samples.iter().map(|sample| sample.total).collect()),
        scans: median(samples.iter().map(|sample| sample.scans).collect()),
    })
}

fn line(samples: &[Sample], query: &str) -> Option<Line> {
    let shard = times(samples, query, Subject::Shard)?;
    let [above, within] = PARQUET.map(|subject| times(samples, query, subject));
    let (above, within) = (above?, within?);
    Some(Line {
        query: query.to_owned(),
        runs: (samples.iter())
            .filter(|sample| sample.query == query && sample.subject == Subject::Shard)
            .count(),
        shard,
        no_pushdown: times(samples, query, Subject::ShardNoPushdown),
        parquet: Times {
            total: above.total.min(within.total),
            scans: above.scans.min(within.scans),
        },
        pushdown: within.total < above.total,
        vortex: times(samples, query, Subject::Vortex),
    })
}

fn table(text: &mut String, lines: &[Line]) -> Result<()> {
    writeln!(
        text,
        "| | shards | no pushdown | Parquet | Vortex | of Parquet | of Vortex | scans | of Parquet's |\n|-|-:|-:|-:|-:|-:|-:|-:|-:|"
    )?;
    for line in lines {
        let star = if line.pushdown { "*" } else { "" };
        let (vortex, of_vortex) = match line.vortex {
            Some(vortex) => (
                format!("{:.1}", vortex.total),
                format!("{:.2}", line.shard.total / vortex.total),
            ),
            None => ("–".to_owned(), "–".to_owned()),
        };
        let no_pushdown = match line.no_pushdown {
            Some(times) => format!("{:.1}", times.total),
            None => "–".to_owned(),
        };
        let scans = match line.parquet.scans {
            0.0 => "–".to_owned(),
            parquet => format!("{:.2}", line.shard.scans / parquet),
        };
        writeln!(
            text,
            "| {} | {:.1} | {no_pushdown} | {:.1}{star} | {vortex} | {:.2} | {of_vortex} | {:.1} | {scans} |",
            line.query,
            line.shard.total,
            line.parquet.total,
            line.shard.total / line.parquet.total,
            line.shard.scans,
        )?;
    }
    Ok(())
}

/// Writes which goals the lines meet.
fn goals(text: &mut String, lines: &[Line]) -> Result<()> {
    let sum = |value: &dyn Fn(&Line) -> f64| lines.iter().map(value).sum::<f64>();
    let shards = sum(&|line| line.shard.total);
    let parquet = sum(&|line| line.parquet.total);
    let both: Vec<(&Line, Times)> = lines
        .iter()
        .filter_map(|line| Some((line, line.vortex?)))
        .collect();
    let vortex: f64 = both.iter().map(|(_, vortex)| vortex.total).sum();
    let beside_vortex: f64 = both.iter().map(|(line, _)| line.shard.total).sum();
    let scans = sum(&|line| line.shard.scans) / sum(&|line| line.parquet.scans);
    let slower: Vec<String> = lines
        .iter()
        .map(|line| (line, line.shard.total / line.parquet.total))
        // Rounded like the table.
        .filter(|(_, ratio)| (100.0 * ratio).round() > 100.0)
        .map(|(line, ratio)| format!("{} ({ratio:.2})", line.query))
        .collect();
    let slower = match slower.as_slice() {
        [] => "none".to_owned(),
        slower => slower.join(", "),
    };
    let verdict = |value: f64, goal: f64| if value <= goal { "met" } else { "missed" };
    writeln!(
        text,
        "\n| goal | measured | |\n|-|-|-|\n\
         | no query slower than over Parquet | slower: {slower} | {} |\n\
         | sum at most {GOAL_OF_PARQUET} of Parquet's | {shards:.0} ms of {parquet:.0} ms, {:.2} | {} |\n\
         | scans at most {GOAL_OF_SCANS} of Parquet's | {scans:.2} | {} |",
        if slower == "none" { "met" } else { "missed" },
        shards / parquet,
        verdict(shards / parquet, GOAL_OF_PARQUET),
        verdict(scans, GOAL_OF_SCANS),
    )?;
    if !both.is_empty() {
        writeln!(
            text,
            "| sum at most {GOAL_OF_VORTEX} of Vortex's | {beside_vortex:.0} ms of {vortex:.0} ms, {:.2}, {} queries | {} |",
            beside_vortex / vortex,
            both.len(),
            verdict(beside_vortex / vortex, GOAL_OF_VORTEX),
        )?;
    }
    Ok(())
}

/// Returns the report of the measurements of these tables with these numbers of threads.
pub(crate) fn write(data: &Path, tables: &[Tables], threads: &[usize]) -> Result<String> {
    let options: Vec<&str> = tables.iter().map(|tables| tables.option()).collect();
    let mut text = HEAD.replace("TABLES", &options.join(","));
    writeln!(
        text,
        "Sizes of files in MB:\n\n| | rows | shards | Parquet | Vortex |\n|-|-:|-:|-:|-:|"
    )?;
    for table in tables.iter().flat_map(|tables| tables.names()) {
        let path = Subject::Parquet.file(data, table);
        let parquet = File::open(&path).with_context(|| path.display().to_string())?;
        let parquet = SerializedFileReader::new(parquet)?;
        let rows = parquet.metadata().file_metadata().num_rows();
        write!(text, "| {table} | {rows} |")?;
        for subject in [Subject::Shard, Subject::Parquet, Subject::Vortex] {
            let bytes = std::fs::metadata(subject.file(data, table)).map_or(0, |file| file.len());
            write!(text, " {:.1} |", bytes as f64 / 1e6)?;
        }
        writeln!(text)?;
    }
    for &threads in threads {
        let samples = sample::read(data, threads)?;
        let count = match threads {
            1 => "one thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        let mut all = Vec::new();
        for &set in tables {
            let queries = queries::chosen(&[set], &[]);
            let lines = queries.iter().map(|query| line(&samples, &query.name));
            let lines: Vec<Line> = lines.flatten().collect();
            if lines.is_empty() {
                continue;
            }
            let fewest = lines.iter().map(|line| line.runs).min().unwrap_or(0);
            writeln!(
                text,
                "\n## {}, {count}\n\nMedians of {fewest} runs; short queries run more often.\n",
                set.title()
            )?;
            table(&mut text, &lines)?;
            goals(&mut text, &lines)?;
            all.extend(lines);
        }
        writeln!(text, "\n## All queries, {count}")?;
        goals(&mut text, &all)?;
        let mut faults: Vec<String> = samples
            .iter()
            .filter_map(|s| {
                Some(format!(
                    "{} of {:?}: {}",
                    s.query,
                    s.subject,
                    s.error.as_ref()?
                ))
            })
            .collect();
        faults.dedup();
        for fault in faults {
            let first = fault.lines().next().unwrap_or_default();
            writeln!(text, "* {first}")?;
        }
    }
    Ok(text)
}

const HEAD: &str = "# Shards compared with Parquet and Vortex in DataFusion

Made by

```sh
cd benches/engines
cargo run --release -- --data DIR --tables TABLES --out ../../docs/benchmarks-engines.md
```

How the numbers were measured:

* TPC-H at scale factor 1, one file for each table; the log of four million lines that `benches/peers` makes; and a
  table like ClickBench's `hits`, generated, with its 43 queries. All files are written by `COPY`: shards with the
  profile Balanced, Parquet with Zstandard at level 3 and the page index, Vortex with the defaults of
  `vortex-datafusion`.
* DataFusion 55.2 runs with one partition per thread, on one processor per thread. mimalloc is the allocator. Formats
  take turns, query by query, in one process; every answer is compared with Parquet's first. Files are in the page cache
  of the operating system. A session lasts for all queries, as in a server, so each format has filled its caches before
  the runs that count. Parquet caches footers and the page index; shards also cache dictionaries and block maps that
  were read, and which checksums were verified.
* Times are in milliseconds, from the text of a query to its last row. Short queries are run more often, up to 1001
  times: a query that is answered from metadata takes the same few tenths of a millisecond over any format. A query
  counts as slower if its ratio is above 1 when rounded to two digits. Parquet runs in two ways: with filters above the
  scan, and with `pushdown_filters` and `reorder_filters`. The faster way counts for each query; a star marks the second
  way. **no pushdown** is the time over shards with filters above the scan.
* **scans** is the time that the scans of all partitions took to process the data they read (`time_elapsed_processing`),
  plus the time of filters directly above them (`elapsed_compute`). It is also compared with the better way of Parquet.
  Vortex decodes in its own tasks, which no metric of DataFusion counts. Scans of shards and of Parquet do more than
  read: they compute expressions of a projection. Scans of shards also look up rows in the hash tables that joins push
  down; Parquet without `pushdown_filters` leaves this to the joins.

";
