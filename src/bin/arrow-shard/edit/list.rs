//! `arrow-shard ls`

use super::folder::{Found, list};
use crate::failure::Failure;
use crate::location::{stored, wait};
use crate::output::Destination;
use crate::text;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_cast::display::array_value_to_string;
use arrow_shard::ErrorKind;
use arrow_shard::ops::{LeftOut, SHARD_FILE_SUFFIX, held_by_others_async};
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard ls tables
  arrow-shard ls s3://logs/tables

A line for each shard: rows, deleted rows, stripes, size of the directory file, and the least and \
greatest values of the columns that it is sorted by. A shard whose rows another shard of \
the folder holds, such as a merged one, is not counted. A shard that lacks files is named, and the exit \
code is 1: `arrow-shard pack` makes one file of a shard, which can be moved alone.";

/// List the shards of a folder
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder
    folder: PathBuf,
}

/// The line of the list for a shard.
struct Line {
    name: String,
    rows: u64,
    deleted: u64,
    stripes: u64,
    bytes: u64,
    spans: Vec<String>,
    /// Whether the shard refers to other files.
    has_files: bool,
    /// Whether another shard of the folder contains its rows.
    is_held: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let folder = stored(&args.folder)?;
    let mut lines = Vec::new();
    let mut is_whole = true;
    for (name, found) in list(&folder)? {
        match found {
            Ok(found) => {
                if let Some(incomplete) = found.incomplete() {
                    is_whole = false;
                    Failure::new(incomplete).within(&name).report();
                }
                lines.push(line(&name, &found));
            }
            Err(error)
                if error.kind() == ErrorKind::NotAShard && !name.ends_with(SHARD_FILE_SUFFIX) => {}
            Err(error) => {
                is_whole = false;
                Failure::from(error).report();
            }
        }
    }
    // Only a shard of several files can contain another. Damaged shards have been reported above, and prevent the
    // check.
    if is_whole && lines.iter().any(|line| line.has_files) {
        match wait(&folder, held_by_others_async(&folder)) {
            Ok(held) => mark_held(&mut lines, &held),
            Err(error) => {
                is_whole = false;
                Failure::from(error).report();
            }
        }
    }
    let mut out = Destination::standard();
    let widths = lines.iter().map(|line| line.name.chars().count());
    let width = widths.fold("shard".len(), usize::max);
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
            ..
        } = line;
        let (bytes, spans) = (text::bytes(*bytes), spans.join(", "));
        let row =
            format!("{name:width$} {rows:>12} {deleted:>10} {stripes:>8} {bytes:>11}  {spans}");
        writeln!(out, "{}", row.trim_end())?;
    }
    let counted: Vec<&Line> = lines.iter().filter(|line| !line.is_held).collect();
    // The sums saturate, because damaged files may declare any number of rows.
    let total = |of: fn(&Line) -> u64| {
        let values = counted.iter().map(|line| of(line));
        values.fold(0, u64::saturating_add)
    };
    writeln!(
        out,
        "{}: {} and {} deleted in {}",
        text::count(counted.len() as u64, "shard"),
        text::count(total(|line| line.rows), "row"),
        total(|line| line.deleted),
        text::count(total(|line| line.stripes), "stripe"),
    )?;
    out.flush()?;
    if is_whole {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// Marks the shards that are contained in others, so that their rows count only once.
fn mark_held(lines: &mut [Line], held: &[LeftOut]) {
    let name = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        text::shown(name).into_owned()
    };
    for line in lines {
        if let Some(held) = held.iter().find(|held| name(held.shard()) == line.name) {
            line.is_held = true;
            line.spans.push(format!("(in {})", name(held.held_by())));
        }
    }
}

fn line(name: &str, found: &Found) -> Line {
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
    let mut spans: Vec<String> = found.sorted.iter().map(span).collect();
    if !found.missing.is_empty() {
        let missing = text::count(found.missing.len() as u64, "file");
        spans.push(format!("({missing} missing)"));
    }
    Line {
        name: text::shown(name).into_owned(),
        rows: found.shard.num_rows(),
        deleted: found.shard.num_deleted_rows(),
        stripes: found.shard.num_stripes(),
        bytes: found.bytes,
        spans,
        has_files: !found.files.is_empty(),
        is_held: false,
    }
}
