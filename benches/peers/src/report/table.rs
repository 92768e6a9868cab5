//! Writes tables of answers: a row for each question, a column for each format.

use super::answers::{Answer, Answers};
use super::numbers::{megabytes, milliseconds, short};
use crate::allocator::Allocator;
use crate::peer::Format;
use crate::question::Question;
use anyhow::Result;
use std::fmt::Write;

/// A row of a table: a question, and the value of its answer that is shown. Less is better.
struct Row {
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

fn rounds(answer: &Answer) -> f64 {
    answer.rounds as f64
}

const fn row(title: &'static str, question: Question, value: fn(&Answer) -> f64) -> Row {
    Row {
        title,
        question,
        value,
    }
}

const COMPARED: [Row; 17] = [
    row("size, MB", Question::Write, |answer| {
        megabytes(answer.file_bytes)
    }),
    row("write", Question::Write, wall),
    row("scan", Question::Scan, wall),
    row("scan as Utf8", Question::ScanUtf8, wall),
    row("map", Question::ScanMap, wall),
    row("map again", Question::ScanMapAgain, wall),
    row("map trusted", Question::ScanMapTrusted, wall),
    row("3 columns", Question::Project3, wall),
    row("3 by name", Question::Names3, wall),
    row("1,000 rows", Question::Take1000, wall),
    row("1,000 rows again", Question::Take1000Again, wall),
    row("1 row", Question::Take1, wall),
    row("1 row again", Question::Take1Again, wall),
    row("range", Question::Range, wall),
    row("range again", Question::RangeAgain, wall),
    row("equal", Question::Equal, wall),
    row("equal again", Question::EqualAgain, wall),
];

const COSTS: [Row; 16] = [
    row("CPU write", Question::Write, cpu),
    row("CPU scan", Question::Scan, cpu),
    row("CPU 3 columns", Question::Project3, cpu),
    row("CPU 1,000 rows", Question::Take1000, cpu),
    row("peak write", Question::Write, peak),
    row("peak scan", Question::Scan, peak),
    row("requests scan", Question::Scan, requests),
    row("MB scan", Question::Scan, read),
    row("requests 3 columns", Question::Project3, requests),
    row("MB 3 columns", Question::Project3, read),
    row("requests 3 by name", Question::Names3, requests),
    row("MB 3 by name", Question::Names3, read),
    row("requests 1,000 rows", Question::Take1000, requests),
    row("MB 1,000 rows", Question::Take1000, read),
    row("requests 1 row", Question::Take1, requests),
    row("MB 1 row", Question::Take1, read),
];

const STORE_COMPARED: [Row; 6] = [
    row("3 columns", Question::StoreProject3, wall),
    row("scan", Question::StoreScan, wall),
    row("range", Question::StoreRange, wall),
    row("1,000 rows", Question::StoreTake1000, wall),
    row("1 row", Question::StoreTake1, wall),
    row("1 row again", Question::StoreTake1Again, wall),
];

const STORE_COSTS: [Row; 20] = [
    row("rounds 3 columns", Question::StoreProject3, rounds),
    row("requests 3 columns", Question::StoreProject3, requests),
    row("MB 3 columns", Question::StoreProject3, read),
    row("rounds scan", Question::StoreScan, rounds),
    row("requests scan", Question::StoreScan, requests),
    row("MB scan", Question::StoreScan, read),
    row("CPU scan", Question::StoreScan, cpu),
    row("peak scan", Question::StoreScan, peak),
    row("rounds range", Question::StoreRange, rounds),
    row("requests range", Question::StoreRange, requests),
    row("MB range", Question::StoreRange, read),
    row("rounds 1,000 rows", Question::StoreTake1000, rounds),
    row("requests 1,000 rows", Question::StoreTake1000, requests),
    row("MB 1,000 rows", Question::StoreTake1000, read),
    row("rounds 1 row", Question::StoreTake1, rounds),
    row("requests 1 row", Question::StoreTake1, requests),
    row("MB 1 row", Question::StoreTake1, read),
    row("rounds 1 row again", Question::StoreTake1Again, rounds),
    row("requests 1 row again", Question::StoreTake1Again, requests),
    row("MB 1 row again", Question::StoreTake1Again, read),
];

/// The answers for one table with one allocator.
struct Measured<'a> {
    answers: &'a Answers,
    allocator: Allocator,
    table: &'a str,
}

impl Measured<'_> {
    fn value(&self, format: Format, row: &Row) -> Option<f64> {
        let get = |question| {
            let answers = self.answers;
            answers.get_of(self.allocator, self.table, format, question)
        };
        get(row.question).map(row.value)
    }

    /// Returns the value to compare shards with. Parquet and Vortex do not verify memory maps, so their maps also
    /// count as trusted ones.
    fn of_peer(&self, format: Format, row: &Row) -> Option<f64> {
        let own = self.value(format, row);
        match row.question {
            Question::ScanMapTrusted => own.or_else(|| {
                let question = Question::ScanMap;
                self.value(format, &Row { question, ..*row })
            }),
            _ => own,
        }
    }

    /// Returns the peer with the least value in a row.
    fn best(&self, row: &Row) -> Option<(Format, f64)> {
        let formats = self.answers.formats().into_iter();
        let values = formats
            .filter(|format| !format.is_shard())
            .filter_map(|format| Some((format, self.of_peer(format, row)?)));
        values.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Returns the rows with an answer of any format.
    fn answered(&self, rows: &'static [Row]) -> impl Iterator<Item = &'static Row> {
        let formats = self.answers.formats();
        let any = move |row: &&Row| formats.iter().any(|&f| self.value(f, row).is_some());
        rows.iter().filter(any)
    }

    /// Returns the formats with an answer in any of the rows.
    fn formats(&self, rows: &[Row]) -> Vec<Format> {
        let mut formats: Vec<Format> = self.answers.formats().into_iter().collect();
        formats.retain(|&format| rows.iter().any(|row| self.value(format, row).is_some()));
        formats
    }

    /// Writes the values; after each value of a shard, the ratio to the best peer (bold). Above 1, the shard is better.
    fn compared(&self, page: &mut String, rows: &'static [Row]) -> Result<()> {
        let formats = self.formats(rows);
        header(page, &formats)?;
        for row in self.answered(rows) {
            let best = self.best(row);
            write!(page, "| {} |", row.title)?;
            for &format in &formats {
                let Some(value) = self.value(format, row) else {
                    write!(page, " |")?;
                    continue;
                };
                let shown = short(value);
                match best {
                    Some((_, best)) if format.is_shard() => {
                        write!(page, " {shown} ({}) |", short(best / value))?;
                    }
                    Some((peer, _)) if format == peer => write!(page, " **{shown}** |")?,
                    _ => write!(page, " {shown} |")?,
                }
            }
            writeln!(page)?;
        }
        writeln!(page)?;
        Ok(())
    }
}

const COMPARED_ABOUT: &str = "\
MB and milliseconds. In brackets: the ratio to the best peer (bold). Above 1, the shard is better.
";

/// Writes geometric means over all tables.
pub(super) fn summary(page: &mut String, answers: &Answers) -> Result<()> {
    writeln!(
        page,
        "## All tables\n\n\
         Ratios to the best peer of each table and row: geometric means over the tables that were written\n\
         in all formats. More is better; below 1, a peer is better.\n"
    )?;
    let mut formats: Vec<Format> = answers.formats().into_iter().collect();
    // Only one table is written as a packed group.
    formats.retain(|format| *format != Format::ShardPacked);
    let holds = |table: &&String| {
        let written = |&format: &Format| answers.get(table, format, Question::Write).is_some();
        formats.iter().all(written)
    };
    let held = answers.tables.iter().filter(holds);
    let tables: Vec<_> = held
        .map(|table| Measured {
            answers,
            allocator: Allocator::Mimalloc,
            table,
        })
        .collect();
    header(page, &formats)?;
    for row in &COMPARED {
        write!(page, "| {} |", row.title)?;
        for &format in &formats {
            let ratios = tables.iter().filter_map(|table| {
                let (_, best) = table.best(row)?;
                Some(best / table.value(format, row)?)
            });
            let logarithms: Vec<f64> = ratios.map(f64::ln).collect();
            let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            let shown = if logarithms.is_empty() {
                String::new()
            } else {
                short(mean.exp())
            };
            write!(page, " {shown} |")?;
        }
        writeln!(page)?;
    }
    writeln!(page)?;
    Ok(())
}

/// Writes the tables that were also measured with the system's allocator.
pub(super) fn under_the_system(page: &mut String, answers: &Answers) -> Result<()> {
    for table in &answers.tables {
        let measured = Measured {
            answers,
            allocator: Allocator::System,
            table,
        };
        if measured.answered(&COMPARED).next().is_none() {
            continue;
        }
        writeln!(
            page,
            "## {table}, with the allocator of the system\n\n\
             The same measurements in programs that use the allocator of the C library.\n\
             {COMPARED_ABOUT}"
        )?;
        measured.compared(page, &COMPARED)?;
    }
    Ok(())
}

/// Writes all answers for a table with mimalloc.
pub(super) fn details(page: &mut String, answers: &Answers, table: &str) -> Result<()> {
    let measured = Measured {
        answers,
        allocator: Allocator::Mimalloc,
        table,
    };
    let of_table = answers.answers.iter().find(|(key, _)| key.1 == table);
    let rows = of_table.map_or(0, |(_, answer)| answer.rows);
    writeln!(page, "## {table}, {rows} rows\n\n{COMPARED_ABOUT}")?;
    measured.compared(page, &COMPARED)?;
    writeln!(
        page,
        "CPU time in milliseconds, peak memory in MB, reads.\n"
    )?;
    measured.compared(page, &COSTS)
}

/// Writes the answers for a table in a remote store. Returns `false` if no question was measured.
pub(super) fn behind_a_store(page: &mut String, answers: &Answers, table: &str) -> Result<bool> {
    let measured = Measured {
        answers,
        allocator: Allocator::Mimalloc,
        table,
    };
    if measured.answered(&STORE_COMPARED).next().is_none() {
        return Ok(false);
    }
    writeln!(page, "## {table}\n\n{COMPARED_ABOUT}")?;
    measured.compared(page, &STORE_COMPARED)?;
    writeln!(
        page,
        "Rounds (the longest chain of requests that wait for each other), all requests, MB received; CPU time\n\
         in milliseconds, peak memory in MB.\n"
    )?;
    measured.compared(page, &STORE_COSTS)?;
    Ok(true)
}

fn header(page: &mut String, formats: &[Format]) -> Result<()> {
    write!(page, "| |")?;
    for format in formats {
        write!(page, " {} |", format.name())?;
    }
    writeln!(page, "\n|-|{}", "-:|".repeat(formats.len()))?;
    Ok(())
}
