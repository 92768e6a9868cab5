//! Writes the report as Markdown.

use crate::queries;
use crate::sample::{self, Sample};
use crate::subject::Subject;
use crate::tables::Tables;
use anyhow::{Context, Result};
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};
use peers::{Idleness, reason_against_two_threads};
use std::fmt::Write;
use std::fs::File;
use std::path::Path;

const PARQUET: [Subject; 2] = [Subject::Parquet, Subject::ParquetPushdown];

/// The times of a query over some files.
type Column = fn(&Line) -> Option<Times>;

/// A comparison: its name, the times over shards, and the times over a peer.
type Pair = (&'static str, Column, Column);

const PAIRS: [Pair; 3] = [
    (
        "Parquet",
        |line| Some(line.shard),
        |line| Some(line.parquet),
    ),
    ("Vortex", |line| Some(line.shard), |line| line.vortex),
    (
        "Parquet, attached",
        |line| line.attached,
        |line| Some(line.parquet),
    ),
];

/// Medians of one query in milliseconds.
struct Line {
    query: String,
    /// Number of runs.
    runs: usize,
    shard: Times,
    /// Shards with filters above the scan.
    no_pushdown: Option<Times>,
    /// Shards over the Parquet files.
    attached: Option<Times>,
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
        attached: times(samples, query, Subject::Attached),
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
        "| | shards | no pushdown | attached | Parquet | Vortex | of Parquet | of Vortex | attached of Parquet | scans | of Parquet's |\n|-|-:|-:|-:|-:|-:|-:|-:|-:|-:|-:|"
    )?;
    for line in lines {
        let star = if line.pushdown { "*" } else { "" };
        let ratios = PAIRS.map(|(_, ours, peer)| Some(ours(line)?.total / peer(line)?.total));
        let [of_parquet, of_vortex, attached_of_parquet] = ratios;
        let of_peers = [of_parquet, of_vortex];
        let best = of_peers.iter().flatten().copied().fold(0.0, f64::max);
        let [of_parquet, of_vortex] = of_peers.map(|ratio| match ratio {
            Some(ratio) if ratio == best => format!("**{ratio:.2}**"),
            ratio => optional(ratio, 2),
        });
        let total = |times: Option<Times>| optional(times.map(|times| times.total), 1);
        let vortex = total(line.vortex);
        let no_pushdown = total(line.no_pushdown);
        let attached = total(line.attached);
        let attached_of_parquet = optional(attached_of_parquet, 2);
        let scans = match line.parquet.scans {
            0.0 => "–".to_owned(),
            parquet => format!("{:.2}", line.shard.scans / parquet),
        };
        writeln!(
            text,
            "| {} | {:.1} | {no_pushdown} | {attached} | {:.1}{star} | {vortex} | {of_parquet} | {of_vortex} | {attached_of_parquet} | {:.1} | {scans} |",
            line.query, line.shard.total, line.parquet.total, line.shard.scans,
        )?;
    }
    Ok(())
}

/// Returns a number with some decimal places, or a dash.
fn optional(number: Option<f64>, places: usize) -> String {
    number.map_or_else(|| "–".to_owned(), |number| format!("{number:.places$}"))
}

/// Writes sums over the lines, and the queries that take longer over shards than over each peer.
fn sums(text: &mut String, lines: &[Line]) -> Result<()> {
    writeln!(
        text,
        "\n| | queries | shards | peer | ratio | longer over shards |\n|-|-:|-:|-:|-:|-|"
    )?;
    for (name, ours, peer) in PAIRS {
        let both: Vec<(&Line, f64, f64)> = lines
            .iter()
            .filter_map(|line| Some((line, ours(line)?.total, peer(line)?.total)))
            .collect();
        if both.is_empty() {
            continue;
        }
        let shards: f64 = both.iter().map(|(_, ours, _)| ours).sum();
        let peer: f64 = both.iter().map(|(_, _, peer)| peer).sum();
        let longer: Vec<String> = both
            .iter()
            .map(|(line, ours, peer)| (line, ours / peer))
            // Rounded like the table.
            .filter(|(_, ratio)| (100.0 * ratio).round() > 100.0)
            .map(|(line, ratio)| format!("{} ({ratio:.2})", line.query))
            .collect();
        let longer = match longer.as_slice() {
            [] => "none".to_owned(),
            longer => longer.join(", "),
        };
        writeln!(
            text,
            "| {name} | {} | {shards:.0} | {peer:.0} | {:.2} | {longer} |",
            both.len(),
            shards / peer
        )?;
    }
    let sum = |value: fn(&Line) -> f64| lines.iter().map(value).sum::<f64>();
    let scans = sum(|line| line.shard.scans) / sum(|line| line.parquet.scans);
    writeln!(
        text,
        "\nThe scans of shards take {scans:.2} of the time of Parquet's scans."
    )?;
    Ok(())
}

/// Returns the report of the measurements of these tables with these numbers of threads.
///
/// # Errors
/// Returns an error if the machine is not known to have been idle, unless `although_busy`.
pub(crate) fn write(
    data: &Path,
    tables: &[Tables],
    threads: &[usize],
    although_busy: bool,
) -> Result<String> {
    let measured: Vec<(usize, Vec<Sample>)> = threads
        .iter()
        .map(|&threads| Ok((threads, sample::read(data, threads)?)))
        .collect::<Result<_>>()?;
    // All runs of a query have the same load.
    let idleness: Idleness = measured
        .iter()
        .flat_map(|(_, samples)| samples.chunk_by(|a, b| a.query == b.query))
        .map(|runs| runs.first()?.load)
        .collect();
    idleness.check(although_busy)?;
    let machine = sample::read_machine(data)?;
    let made = match &machine {
        Some(machine) => format!("Made on {machine} by"),
        None => "Made by".to_owned(),
    };
    let options: Vec<&str> = tables.iter().map(|tables| tables.option()).collect();
    let mut text = HEAD
        .replace("MADE", &made)
        .replace("TABLES", &options.join(","))
        .replace("IDLENESS", &idleness.note());
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
    for (threads, samples) in &measured {
        let count = match threads {
            1 => "one thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        match reason_against_two_threads(machine.as_ref()) {
            Some(reason) if *threads > 1 => {
                writeln!(text, "\n## All queries, {count}\n\n{reason}")?;
            }
            _ => sections(&mut text, tables, samples, &count)?,
        }
        faults(&mut text, samples)?;
    }
    Ok(text)
}

/// Writes the queries of each set of tables, and sums over all of them.
fn sections(text: &mut String, tables: &[Tables], samples: &[Sample], count: &str) -> Result<()> {
    let mut all = Vec::new();
    for &set in tables {
        let queries = queries::chosen(&[set], &[]);
        let lines = queries.iter().map(|query| line(samples, &query.name));
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
        table(text, &lines)?;
        sums(text, &lines)?;
        all.extend(lines);
    }
    writeln!(text, "\n## All queries, {count}")?;
    sums(text, &all)
}

/// Writes which queries had errors or other answers than over Parquet.
fn faults(text: &mut String, samples: &[Sample]) -> Result<()> {
    let described = samples.iter().filter_map(|sample| {
        let error = sample.error.as_ref()?;
        Some(format!("{} of {:?}: {error}", sample.query, sample.subject))
    });
    let mut faults: Vec<String> = described.collect();
    faults.dedup();
    for fault in faults {
        let first = fault.lines().next().unwrap_or_default();
        writeln!(text, "* {first}")?;
    }
    Ok(())
}

const HEAD: &str = "# Shards compared with Parquet and Vortex in DataFusion

MADE

```sh
cd benches/engines
cargo run --release -- --data DIR --tables TABLES --out ../../docs/benchmarks-engines.md
```

IDLENESS

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
  times: a query that is answered from metadata takes the same few tenths of a millisecond over any format. Parquet runs
  in two ways: with filters above the scan, and with `pushdown_filters` and `reorder_filters`. The faster way counts for
  each query; a star marks the second way. **no pushdown** is the time over shards with filters above the scan.
* **of Parquet**, **of Vortex**: the time over shards divided by the time over the peer. The ratio to the best peer is
  bold. Below 1, shards are faster. A query takes longer over shards if its ratio is above 1 when rounded to two digits.
* **attached** is the time over shards that `ops::attach` makes over the Parquet files, and **attached of Parquet** is
  that time divided by the time over these files.
* **scans** is the time that the scans of all partitions took to process the data they read (`time_elapsed_processing`),
  plus the time of filters directly above them (`elapsed_compute`). It is also compared with the better way of Parquet.
  Vortex decodes in its own tasks, which no metric of DataFusion counts. Scans of shards and of Parquet do more than
  read: they compute expressions of a projection. Scans of shards also look up rows in the hash tables that joins push
  down; Parquet without `pushdown_filters` leaves this to the joins.

";
