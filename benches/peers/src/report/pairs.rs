//! Compares pairs of questions within the same format.

use super::answers::Answers;
use super::numbers::{milliseconds, short};
use crate::machine::reason_against_two_threads;
use crate::peer::Format;
use crate::question::Question;
use anyhow::Result;
use std::fmt::Write;

/// A question, and the question it is compared with.
struct Pair {
    titles: [&'static str; 3],
    questions: [Question; 2],
}

const THREADS: [Pair; 2] = [
    Pair {
        titles: ["write", "write, 2 threads", "times as fast"],
        questions: [Question::WriteHeld, Question::Write2],
    },
    Pair {
        titles: ["scan", "scan, 2 threads", "times as fast"],
        questions: [Question::Scan, Question::Scan2],
    },
];

const FILTERS: [Pair; 2] = [
    Pair {
        titles: ["all rows, in the scan", "after it", "ratio"],
        questions: [Question::FilterAll, Question::FilterAllAfter],
    },
    Pair {
        titles: ["nearly all rows, in the scan", "after it", "ratio"],
        questions: [Question::FilterMost, Question::FilterMostAfter],
    },
];

/// Writes the sections on threads, and on filters that keep most rows.
pub(super) fn sections(page: &mut String, answers: &Answers) -> Result<()> {
    threads(page, answers)?;
    let about = "Milliseconds to read the rows that match a filter on `l_shipdate` from an open memory \
                 map: by a scan with the\nfilter, and by a scan of all rows that filters each batch \
                 by arrow's kernels. All rows are of 1992 to 1998,\nnearly all of February 1992 to \
                 October 1998.";
    section(
        page,
        answers,
        ("Filters that keep nearly all", about),
        &FILTERS,
    )
}

/// Writes the section on threads, or the reason to leave its table out.
fn threads(page: &mut String, answers: &Answers) -> Result<()> {
    let title = "One thread and two";
    let about = "Wall time in milliseconds. The table is in memory before a write starts, so \
                 the clock is never paused to\nread it.";
    let Some(reason) = reason_against_two_threads(Some(&answers.header.machine)) else {
        return section(page, answers, (title, about), &THREADS);
    };
    let two = |key: &(_, _, _, Question)| key.3.threads() == 2;
    if answers.answers.keys().any(two) {
        writeln!(page, "## {title}\n\n{reason}\n")?;
    }
    Ok(())
}

/// Writes a table of the formats with answers to both questions of a pair, unless no format has them.
fn section(
    page: &mut String,
    answers: &Answers,
    (title, about): (&str, &str),
    pairs: &[Pair],
) -> Result<()> {
    let mut rows = Vec::new();
    for table in &answers.tables {
        for format in answers.formats() {
            let cells: Vec<Option<[f64; 2]>> = pairs
                .iter()
                .map(|pair| both(answers, table, format, pair))
                .collect();
            if cells.iter().any(Option::is_some) {
                rows.push((table, format, cells));
            }
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(page, "## {title}\n\n{about}\n")?;
    write!(page, "| | |")?;
    for title in pairs.iter().flat_map(|pair| pair.titles) {
        write!(page, " {title} |")?;
    }
    writeln!(page, "\n|-|-|{}", "-:|".repeat(3 * pairs.len()))?;
    for (table, format, cells) in rows {
        write!(page, "| {table} | {} |", format.name())?;
        for cell in cells {
            match cell {
                Some([one, other]) => {
                    let ratio = short(one / other);
                    write!(page, " {} | {} | {ratio} |", short(one), short(other))?;
                }
                None => write!(page, " | | |")?,
            }
        }
        writeln!(page)?;
    }
    writeln!(page)?;
    Ok(())
}

/// Returns the answers to both questions, in milliseconds.
fn both(answers: &Answers, table: &str, format: Format, pair: &Pair) -> Option<[f64; 2]> {
    let [one, other] = pair.questions;
    let time = |question| Some(milliseconds(answers.get(table, format, question)?.wall));
    Some([time(one)?, time(other)?])
}
