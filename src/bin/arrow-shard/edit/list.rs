//! `arrow-shard ls`

use super::folder::{Found, Listed, list, list_files};
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::glob_matches;
use crate::location::{is_url, stored, wait};
use crate::output::Destination;
use crate::table;
use crate::text;
use crate::values::{self, Json};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_shard::ErrorKind;
use arrow_shard::io::RelativeUrl;
use arrow_shard::ops::{SHARD_FILE_SUFFIX, held_shards_async};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard ls
  arrow-shard ls --recursive --json tables
  arrow-shard ls s3://logs/tables 'days/*.shard'

A line for each shard: rows, deleted rows, stripes, size of the directory file, and the least and \
greatest values of the columns that it is sorted by. A shard whose rows another shard of \
the folder holds, such as a merged one, is not counted. A shard that lacks files is named, and the exit \
code is 1: `arrow-shard pack` makes one file of a shard, which can be moved alone.";

/// List shards, or the shards of folders
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folders, shards, globs in quotes, or URLs
    #[arg(default_value = ".", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// List the shards of subfolders, too, except for hidden ones
    #[arg(long, short)]
    recursive: bool,
    /// Print one JSON object per shard
    #[arg(long)]
    json: bool,
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
    /// The shard that contains its rows.
    held_by: Option<String>,
    json: Json,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (mut lines, mut shards) = (Vec::new(), Vec::new());
    let mut is_whole = true;
    for Listed {
        location,
        name,
        found,
    } in listed(args)?
    {
        match found {
            Ok(found) => {
                if let Some(incomplete) = found.incomplete() {
                    is_whole = false;
                    Failure::new(incomplete).within(&name).report();
                }
                lines.push(line(&name, &found)?);
                shards.push((location, found.shard));
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
    if is_whole
        && lines.iter().any(|line| line.has_files)
        && let Some((first, _)) = shards.first()
    {
        match wait(&first.clone(), held_shards_async(shards)) {
            Ok(held) => mark_held(&mut lines, &held),
            Err(error) => {
                is_whole = false;
                Failure::from(error).report();
            }
        }
    }
    if args.json {
        print_json(&lines)?;
    } else {
        print_table(&lines)?;
    }
    if is_whole {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// Opens the shards of all arguments. If there are several arguments, the names of shards in folders begin with the
/// folder.
fn listed(args: &Args) -> Result<Vec<Listed>, Failure> {
    let mut listed = Vec::new();
    for argument in &args.paths {
        let matches = glob_matches(argument)?;
        if matches.as_ref().is_some_and(Vec::is_empty) {
            let message = format!("no file matches `{}`", argument.display());
            return Err(Failure::new(message));
        }
        let paths = matches.unwrap_or_else(|| vec![argument.clone()]);
        let is_alone = args.paths.len() == 1 && paths.len() == 1;
        for some in paths.chunk_by(|a, b| is_folder(a) == is_folder(b)) {
            if !some.iter().any(|path| is_folder(path)) {
                listed.extend(list_files(some.to_vec())?);
                continue;
            }
            for path in some {
                let mut found = list(&stored(path)?, args.recursive)?;
                if !is_alone {
                    for Listed { name, .. } in &mut found {
                        *name = path.join(&*name).to_string_lossy().into_owned();
                    }
                }
                listed.extend(found);
            }
        }
    }
    Ok(listed)
}

/// Whether an argument is a folder. A URL is one if its name is not that of a file.
fn is_folder(path: &Path) -> bool {
    let name = path.to_string_lossy();
    if is_url(&name) {
        return name.ends_with('/') || FileFormat::by_name(path).is_none();
    }
    path.is_dir()
}

/// Prints an object for each shard.
fn print_json(lines: &[Line]) -> Result<(), Failure> {
    let mut out = Destination::standard();
    for line in lines {
        let held_by = Json::of(line.held_by.clone());
        let json = line.json.clone().with("held_by", held_by);
        writeln!(out, "{json}")?;
    }
    Ok(out.flush()?)
}

/// Prints a line for each shard, and one with sums.
fn print_table(lines: &[Line]) -> Result<(), Failure> {
    let mut out = Destination::standard();
    let widths = lines.iter().map(|line| line.name.chars().count());
    let width = widths.fold("shard".len(), usize::max);
    writeln!(
        out,
        "shard{} {:>12} {:>10} {:>8} {:>11}  sorted by",
        text::blanks(width - "shard".len()),
        "rows",
        "deleted",
        "stripes",
        "directory"
    )?;
    for line in lines {
        let Line {
            name,
            rows,
            deleted,
            stripes,
            bytes,
            spans,
            held_by,
            ..
        } = line;
        let held = held_by.iter().map(|name| format!("(in {name})"));
        let spans: Vec<String> = spans.iter().cloned().chain(held).collect();
        let (bytes, spans) = (text::bytes(*bytes), spans.join(", "));
        let blanks = text::blanks(width - name.chars().count());
        let row =
            format!("{name}{blanks} {rows:>12} {deleted:>10} {stripes:>8} {bytes:>11}  {spans}");
        writeln!(out, "{}", row.trim_end())?;
    }
    let counted: Vec<&Line> = lines.iter().filter(|line| line.held_by.is_none()).collect();
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
    Ok(out.flush()?)
}

/// Marks the shards that are contained in others, so that their rows count only once. `held` has pairs of ordinals.
fn mark_held(lines: &mut [Line], held: &[(usize, usize)]) {
    for &(shard, held_by) in held {
        let name = lines.get(held_by).map(|line| line.name.clone());
        if let Some(line) = lines.get_mut(shard) {
            line.held_by = name;
        }
    }
}

fn line(name: &str, found: &Found) -> Result<Line, Failure> {
    let (mut spans, mut sorted) = (Vec::new(), Vec::new());
    for (path, statistics) in &found.sorted {
        let known = statistics.column(1).as_struct();
        let bound = |name: &str| known.column_by_name(name).filter(|it| it.is_valid(0));
        let shown = text::shown(path);
        let (mut min, mut max) = (Json::of(Value::Null), Json::of(Value::Null));
        if let (Some(least), Some(greatest)) = (bound("min"), bound("max")) {
            let span = (table::value(least, 0)?, table::value(greatest, 0)?);
            spans.push(format!("{shown} {} to {}", span.0, span.1));
            (min, max) = (values::json(least, 0)?, values::json(greatest, 0)?);
        } else {
            spans.push(shown.into_owned());
        }
        let column = Json::of(path.as_str());
        sorted.push(Json::object([
            ("column", column),
            ("min", min),
            ("max", max),
        ]));
    }
    if !found.missing.is_empty() {
        let missing = text::count(found.missing.len() as u64, "file");
        spans.push(format!("({missing} missing)"));
    }
    let (rows, deleted) = (found.shard.num_rows(), found.shard.num_deleted_rows());
    let stripes = found.shard.num_stripes();
    let paths = |files: &[RelativeUrl]| -> Json {
        let paths = files.iter().map(|file| file.path());
        Json::of(paths.collect::<Vec<_>>())
    };
    let json = Json::object([
        ("shard", Json::of(name)),
        ("rows", Json::of(rows)),
        ("deleted_rows", Json::of(deleted)),
        ("stripes", Json::of(stripes)),
        ("directory_bytes", Json::of(found.bytes)),
        ("sorted_by", Json::List(sorted)),
        ("files", paths(&found.files)),
        ("missing_files", paths(&found.missing)),
    ]);
    Ok(Line {
        name: text::shown(name).into_owned(),
        rows,
        deleted,
        stripes,
        bytes: found.bytes,
        spans,
        has_files: !found.files.is_empty(),
        held_by: None,
        json,
    })
}
