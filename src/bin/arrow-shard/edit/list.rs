//! `arrow-shard ls`

use super::local;
use crate::failure::Failure;
use crate::output::Destination;
use crate::text;
use arrow_array::cast::AsArray;
use arrow_cast::display::array_value_to_string;
use arrow_shard::ops::list_shards;
use arrow_shard::{ErrorKind, Shard};
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard ls tables

A line for each shard: rows, deleted rows, stripes, size of the directory file, and the least and \
greatest values of the columns that it is sorted by.";

/// List the shards of a folder
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder
    folder: PathBuf,
}

/// A shard, as a line of the list.
struct Line {
    name: String,
    rows: u64,
    deleted: u64,
    stripes: u64,
    bytes: u64,
    spans: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut lines = Vec::new();
    let mut is_whole = true;
    for path in list_shards(local(&args.folder)?)? {
        match line(&path) {
            Ok(line) => lines.push(line),
            Err(error) if error.kind() == ErrorKind::NotAShard => {}
            Err(error) => {
                is_whole = false;
                Failure::from(error).report();
            }
        }
    }
    let mut out = Destination::standard();
    let width = lines.iter().map(|line| line.name.chars().count()).max();
    let width = width.unwrap_or(0).max("shard".len());
    writeln!(
        out,
        "{:width$} {:>12} {:>10} {:>8} {:>11}  sorted by",
        "shard", "rows", "deleted", "stripes", "directory"
    )?;
    for line in &lines {
        let Line {
            name,
            rows,
            deleted,
            stripes,
            bytes,
            spans,
        } = line;
        let (bytes, spans) = (text::bytes(*bytes), spans.join(", "));
        let row =
            format!("{name:width$} {rows:>12} {deleted:>10} {stripes:>8} {bytes:>11}  {spans}");
        writeln!(out, "{}", row.trim_end())?;
    }
    let total = |of: fn(&Line) -> u64| lines.iter().map(of).sum::<u64>();
    writeln!(
        out,
        "{}: {} and {} deleted in {}",
        text::count(lines.len() as u64, "shard"),
        text::count(total(|line| line.rows), "row"),
        total(|line| line.deleted),
        text::count(total(|line| line.stripes), "stripe"),
    )?;
    out.flush()?;
    match is_whole {
        true => Ok(()),
        false => Err(Failure::Reported),
    }
}

fn line(path: &Path) -> arrow_shard::Result<Line> {
    let shard = Shard::open(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut spans = Vec::new();
    for column in shard.sorting_columns()? {
        let statistics = shard.statistics([column.path.as_str()])?;
        let known = statistics.column(1).as_struct();
        let bound = |name: &str| {
            let value = array_value_to_string(known.column_by_name(name)?, 0).ok()?;
            (!value.is_empty()).then(|| text::shown(&value).into_owned())
        };
        let path = text::shown(&column.path).into_owned();
        spans.push(match (bound("min"), bound("max")) {
            (Some(min), Some(max)) => format!("{path} {min} to {max}"),
            _ => path,
        });
    }
    Ok(Line {
        name: text::shown(&name).into_owned(),
        rows: shard.num_rows(),
        deleted: shard.num_deleted_rows(),
        stripes: shard.num_stripes(),
        bytes: std::fs::metadata(path)?.len(),
        spans,
    })
}
