//! `arrow-shard ls`

use crate::failure::Failure;
use crate::listed::{Found, Listed};
use crate::location::Location;
use crate::output::Destination;
use crate::progress::bar;
use crate::text;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_cast::display::array_value_to_string;
use arrow_shard::ops::{SHARD_FILE_SUFFIX, list_shards};
use arrow_shard::{ErrorKind, Result, Shard};
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard ls tables
  arrow-shard ls s3://logs/tables

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
pub(crate) fn run(args: &Args) -> std::result::Result<(), Failure> {
    let listed = match Location::of_folder(&args.folder)? {
        Location::Local(folder) => local(&folder)?,
        #[cfg(feature = "cloud")]
        Location::Object(folder) => folder.list_shards()?,
    };
    let mut lines = Vec::new();
    let mut is_whole = true;
    for Listed { name, bytes, found } in listed {
        match found {
            Ok(found) => lines.push(line(&name, bytes, &found)),
            Err(error)
                if error.kind() == ErrorKind::NotAShard && !name.ends_with(SHARD_FILE_SUFFIX) => {}
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
    // What damaged files say need not fit.
    let total = |of: fn(&Line) -> u64| lines.iter().map(of).fold(0, u64::saturating_add);
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

/// The shards of a folder of this machine.
fn local(folder: &Path) -> Result<Vec<Listed>> {
    let list = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Listed {
            name: name.into_owned(),
            // What cannot be looked at cannot be opened either.
            bytes: std::fs::metadata(&path).map_or(0, |found| found.len()),
            found: Shard::open(&path).and_then(Found::of),
        }
    };
    let shards = list_shards(folder)?;
    let bar = bar(shards.len() as u64, "shards");
    let listed = shards
        .into_iter()
        .map(list)
        .inspect(|_| bar.inc(1))
        .collect();
    bar.finish_and_clear();
    Ok(listed)
}

fn line(name: &str, bytes: u64, Found { shard, sorted }: &Found) -> Line {
    let span = |(path, statistics): &(String, RecordBatch)| {
        let known = statistics.column(1).as_struct();
        let bound = |name: &str| {
            let value = array_value_to_string(known.column_by_name(name)?, 0).ok()?;
            (!value.is_empty()).then(|| text::shown(&value).into_owned())
        };
        let path = text::shown(path).into_owned();
        match (bound("min"), bound("max")) {
            (Some(min), Some(max)) => format!("{path} {min} to {max}"),
            _ => path,
        }
    };
    Line {
        name: text::shown(name).into_owned(),
        rows: shard.num_rows(),
        deleted: shard.num_deleted_rows(),
        stripes: shard.num_stripes(),
        bytes,
        spans: sorted.iter().map(span).collect(),
    }
}
