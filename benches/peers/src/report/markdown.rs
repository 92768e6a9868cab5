//! The report as Markdown.

use super::numbers::{date, megabytes, milliseconds, short};
use super::{Answer, Answers, BASELINE, pairs};
use crate::peer::Format;
use crate::question::Question;
use anyhow::Result;
use std::fmt::Write;

/// A column of a table: what is asked, and what of the answer is shown.
struct Column {
    title: &'static str,
    question: Question,
    value: fn(&Answer) -> f64,
}

fn wall(answer: &Answer) -> f64 {
    milliseconds(answer.wall)
}

fn cpu(answer: &Answer) -> f64 {
    milliseconds(answer.cpu)
}

fn peak(answer: &Answer) -> f64 {
    megabytes(answer.peak)
}

fn read(answer: &Answer) -> f64 {
    megabytes(answer.read_bytes)
}

fn requests(answer: &Answer) -> f64 {
    answer.requests as f64
}

const fn column(title: &'static str, question: Question, value: fn(&Answer) -> f64) -> Column {
    Column {
        title,
        question,
        value,
    }
}

const SIZE: Column = column("size", Question::Write, |answer| {
    megabytes(answer.file_bytes)
});

const TIMES: [Column; 16] = [
    column("write", Question::Write, wall),
    column("scan", Question::Scan, wall),
    column("scan as Utf8", Question::ScanUtf8, wall),
    column("map", Question::ScanMap, wall),
    column("map again", Question::ScanMapAgain, wall),
    column("map trusted", Question::ScanMapTrusted, wall),
    column("3 columns", Question::Project3, wall),
    column("3 by name", Question::Names3, wall),
    column("1,000 rows", Question::Take1000, wall),
    column("1,000 rows again", Question::Take1000Again, wall),
    column("1 row", Question::Take1, wall),
    column("1 row again", Question::Take1Again, wall),
    column("range", Question::Range, wall),
    column("range again", Question::RangeAgain, wall),
    column("equal", Question::Equal, wall),
    column("equal again", Question::EqualAgain, wall),
];

const COSTS: [Column; 16] = [
    column("CPU write", Question::Write, cpu),
    column("CPU scan", Question::Scan, cpu),
    column("CPU 3 columns", Question::Project3, cpu),
    column("CPU 1,000 rows", Question::Take1000, cpu),
    column("peak write", Question::Write, peak),
    column("peak scan", Question::Scan, peak),
    column("requests scan", Question::Scan, requests),
    column("MB scan", Question::Scan, read),
    column("requests 3 columns", Question::Project3, requests),
    column("MB 3 columns", Question::Project3, read),
    column("requests 3 by name", Question::Names3, requests),
    column("MB 3 by name", Question::Names3, read),
    column("requests 1,000 rows", Question::Take1000, requests),
    column("MB 1,000 rows", Question::Take1000, read),
    column("requests 1 row", Question::Take1, requests),
    column("MB 1 row", Question::Take1, read),
];

const METHOD: &str = "\
What was measured:

* Every number is of a process that does nothing else, on one thread (another one that Vortex starts waits for
  sockets, and has no work); processes of the formats take turns. Times are medians over all processes. What is short is
  repeated within a process. What is read was read once before.
* The tables come from uncompressed Arrow IPC files, in batches of 8,192 rows. Files are on a disk, and in the page
  cache. Nobody waits for the disk after writing.
* **size**: of the file, in MB of 1,000,000 bytes. **write**: RecordBatches into a file, reading the table not counted.
* **scan**: the file is opened, and all rows are read with positioned reads into RecordBatches of the types that were
  written: 8,192 rows each, but Vortex's own splits, which suit its speed better and need more memory. One byte of every
  page of the result is looked at. **scan as Utf8**: string views are asked for as Utf8; Arrow IPC casts them.
* **map**: the same through a memory map, mapped and opened anew. **map again**: a map that is open and has been read
  before, so that shards do not verify checksums again. **map trusted**: no verification; checksums of shards, offsets
  and UTF-8 of Arrow IPC. Parquet verifies no checksums by default, and Vortex and Arrow IPC have none.
* **3 columns**: the file is opened, and its first, middle and last column are read. **3 by name**: the same by their
  names; Vortex has no other way, and is told the names in both cases. **1,000 rows**, **1 row**: the file is opened, and
  random rows are read by number, all columns; **again**: of a file that is open, other rows each time.
* **range**, **equal**: the file is mapped and opened, and the rows that a filter on one column keeps are read, all
  columns; **again**: of a map that is open. Of lineitem it is March 1995 of `l_shipdate`, which is not sorted but in
  lineitem_sorted; of the log a hundredth of the rows by `time`, or one `host` of 2,000. Parquet skips row groups and
  pages by their statistics, then rows by a row filter; Vortex is given the filter; Arrow IPC reads everything, and filters.
* **CPU**: time of all threads, user and system. **peak**: `VmHWM` of the process after doing it once, pages of
  memory maps included. **requests**, **MB**: reads that are asked of the operating system, when done once.
* Writers have their defaults, but for what the name of a format says. Compression of Parquet is zstd at level 3.
  Parquet finds rows by its page index, Arrow IPC by the number of the batch.
* wide_50000 is not written by vortex-compact, which takes half a minute for a fifth of it. Arrow IPC is not asked for
  columns by name, since its reader takes positions alone.
* The real tables are small ones repeated to a million rows: what repeats helps compressors with a long window.
";

pub(super) fn page(answers: &Answers) -> Result<String> {
    let mut page = String::new();
    let machine = &answers.machine;
    writeln!(page, "# Shards beside Parquet, Vortex and Arrow IPC\n")?;
    writeln!(
        page,
        "Made on {}, processes per answer: {}, on {} ({} cores, {} GB, Linux {}), by\n",
        date(machine.time),
        machine.repeat,
        machine.cpu,
        machine.cores,
        machine.memory_bytes >> 30,
        machine.kernel
    )?;
    writeln!(
        page,
        "```sh\ncd benches/peers\n\
         cargo run --release -- generate --data DIR\n\
         cargo run --release -- run --data DIR --repeat {}\n\
         cargo run --release -- report --data DIR\n```\n",
        machine.repeat
    )?;
    let versions = machine.versions.iter();
    let versions: Vec<_> = versions.map(|(name, v)| format!("{name} {v}")).collect();
    writeln!(page, "Versions: {}.", versions.join(", "))?;
    if machine.load > 0.5 {
        let load = machine.load;
        writeln!(
            page,
            "\n**The machine was not idle (load {load}): these times mean little.**"
        )?;
    }
    let busy = answers.threads.iter().filter(|(_, threads)| **threads > 1);
    for (format, threads) in busy {
        writeln!(
            page,
            "\nProcesses of {} ended with {threads} threads.",
            format.name()
        )?;
    }
    writeln!(page, "\n{METHOD}")?;
    let idle = short(megabytes(answers.idle_peak));
    writeln!(
        page,
        "A process that had not begun had a peak of {idle} MB.\n"
    )?;
    writeln!(
        page,
        "![Size and scan speed of each table](benchmarks.svg)\n"
    )?;
    summary(&mut page, answers)?;
    pairs::sections(&mut page, answers)?;
    for table in &answers.tables {
        details(&mut page, answers, table)?;
    }
    Ok(page)
}

/// Geometric means of the ratios over all tables.
fn summary(page: &mut String, answers: &Answers) -> Result<()> {
    writeln!(page, "## All tables\n")?;
    writeln!(
        page,
        "Geometric means, over the tables that all formats hold, of ratios to {}; less is better.\n",
        BASELINE.name()
    )?;
    let formats = answers.formats();
    let common = |table: &str| {
        let written = |format: &Format| answers.get(table, *format, Question::Write).is_some();
        formats.iter().all(written)
    };
    let columns: Vec<&Column> = std::iter::once(&SIZE).chain(&TIMES).collect();
    header(page, &columns)?;
    for format in answers.formats() {
        write!(page, "| {} |", format.name())?;
        for column in &columns {
            let tables = answers.tables.iter().filter(|table| common(table));
            let ratios: Vec<f64> = tables
                .filter_map(|table| ratio(answers, table, format, column))
                .collect();
            let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
            let mean = if ratios.is_empty() {
                String::new()
            } else {
                short(mean.exp())
            };
            write!(page, " {mean} |")?;
        }
        writeln!(page)?;
    }
    writeln!(page)?;
    Ok(())
}

fn details(page: &mut String, answers: &Answers, table: &str) -> Result<()> {
    let asked = |column: &Column| {
        let mut formats = answers.formats().into_iter();
        formats.any(|format| answers.get(table, format, column.question).is_some())
    };
    let of_table = answers.answers.iter().find(|(key, _)| key.0 == table);
    let rows = of_table.map_or(0, |(_, answer)| answer.rows);
    writeln!(page, "## {table}, {rows} rows\n")?;
    writeln!(
        page,
        "MB and milliseconds, and how many times those of {}; less is better.\n",
        BASELINE.name()
    )?;
    let columns: Vec<&Column> = std::iter::once(&SIZE)
        .chain(&TIMES)
        .filter(|c| asked(c))
        .collect();
    header(page, &columns)?;
    rows_of(page, answers, table, &columns, true)?;
    writeln!(
        page,
        "\nCPU time in milliseconds, peak memory in MB, reads.\n"
    )?;
    let columns: Vec<&Column> = COSTS.iter().filter(|c| asked(c)).collect();
    header(page, &columns)?;
    rows_of(page, answers, table, &columns, false)?;
    writeln!(page)?;
    Ok(())
}

fn header(page: &mut String, columns: &[&Column]) -> Result<()> {
    write!(page, "| |")?;
    for column in columns {
        write!(page, " {} |", column.title)?;
    }
    writeln!(page, "\n|-|{}", "-:|".repeat(columns.len()))?;
    Ok(())
}

fn rows_of(
    page: &mut String,
    answers: &Answers,
    table: &str,
    columns: &[&Column],
    ratios: bool,
) -> Result<()> {
    for format in answers.formats() {
        write!(page, "| {} |", format.name())?;
        for column in columns {
            let answer = answers.get(table, format, column.question);
            let value = answer.map(|answer| short((column.value)(answer)));
            write!(page, " {}", value.unwrap_or_default())?;
            if ratios && let Some(ratio) = ratio(answers, table, format, column) {
                write!(page, " ({})", short(ratio))?;
            }
            write!(page, " |")?;
        }
        writeln!(page)?;
    }
    Ok(())
}

/// How many times that of the baseline. Trusted maps compare with a map of the baseline, of which
/// there is no other.
fn ratio(answers: &Answers, table: &str, format: Format, column: &Column) -> Option<f64> {
    let own = answers.get(table, format, column.question)?;
    let baseline = answers.get(table, BASELINE, column.question);
    let baseline = match column.question {
        Question::ScanMapTrusted => answers.get(table, BASELINE, Question::ScanMap),
        _ => baseline,
    }?;
    Some((column.value)(own) / (column.value)(baseline))
}
