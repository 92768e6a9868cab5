//! `arrow-shard ls`

use super::folder::{Found, Listed, list, list_files};
use crate::bounds::Bound;
use crate::external_files::ExternalFileArgs;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{glob_matches, no_match};
use crate::location::{NamedFiles, stored, wait};
use crate::output::Destination;
use crate::text;
use crate::values::Json;
use arrow_array::cast::AsArray;
use arrow_shard::io::{Location, RelativeUrl, is_url};
use arrow_shard::ops::{SHARD_FILE_SUFFIX, held_shards_async};
use arrow_shard::{ErrorKind, Shard};
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard ls
  arrow-shard ls --recursive --json tables
  arrow-shard ls s3://logs/tables 'days/*.shard'

A line for each shard: rows, deleted rows, stripes, size of the directory file, and the least and \
greatest values of the columns that it is sorted by. After deletes, they may no longer be values, and >= or <= \
precedes them. A shard whose rows another shard of the folder holds, such as a merged one, is not counted. \
Files of folders and globs that are not shards are left out. \
A shard that lacks files, and a subfolder that cannot be read, are named, and the exit code is 1. `arrow-shard pack` \
makes one file of a shard, which can be moved alone.";

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
    #[command(flatten)]
    external_files: ExternalFileArgs,
}

/// The shards that are listed, each with the ordinal of its line.
type Shards = Vec<(usize, Location, Shard)>;

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
    let (mut lines, mut shards) = (Vec::new(), Shards::new());
    let (listed, failures) = listed(args)?;
    let mut is_whole = failures.is_empty();
    for failure in failures {
        failure.report();
    }
    for Listed {
        location,
        name,
        is_named,
        found,
    } in listed
    {
        match found {
            Ok(found) => {
                if let Some(incomplete) = found.incomplete() {
                    is_whole = false;
                    Failure::new(incomplete).within(&name).report();
                }
                shards.push((lines.len(), location, found.shard.clone()));
                lines.push(line(&name, &found)?);
            }
            Err(error)
                if error.kind() == ErrorKind::NotAShard
                    && !is_named
                    && !name.ends_with(SHARD_FILE_SUFFIX) => {}
            Err(error) => {
                is_whole = false;
                Failure::from(error).of_file(Path::new(&name)).report();
            }
        }
    }
    // Damaged shards have been reported above, and prevent the check.
    if is_whole {
        for shards in by_store(shards) {
            match held(&lines, &shards) {
                Ok(held) => mark_held(&mut lines, &held),
                Err(failure) => {
                    is_whole = false;
                    failure.report();
                }
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

/// Groups shards by their stores. A shard of one store contains none of another, whatever their names.
fn by_store(shards: Shards) -> Vec<Shards> {
    let mut groups: Vec<Shards> = Vec::new();
    for shard in shards {
        let is_of = |group: &&mut Shards| {
            let first = group.first();
            first.is_some_and(|(_, first, _)| first.store().is_same(shard.1.store()))
        };
        match groups.iter_mut().find(is_of) {
            Some(group) => group.push(shard),
            None => groups.push(vec![shard]),
        }
    }
    groups
}

/// Returns the lines of the shards of one store that are contained in others, each with the line of one that contains
/// it.
fn held(lines: &[Line], shards: &Shards) -> Result<Vec<(usize, usize)>, Failure> {
    // Only a shard of several files can contain another.
    let has_files = |(line, ..): &(usize, Location, Shard)| {
        let line = lines.get(*line);
        line.is_some_and(|line| line.has_files)
    };
    let Some((_, first, _)) = shards.first().filter(|_| shards.iter().any(has_files)) else {
        return Ok(Vec::new());
    };
    let open = shards.iter();
    let open = open.map(|(_, location, shard)| (location.clone(), shard.clone()));
    let held = wait(first, held_shards_async(open))?;
    let line = |shard: usize| shards.get(shard).map(|(line, ..)| *line);
    let lines = held.into_iter();
    Ok(lines
        .filter_map(|(shard, by)| Some((line(shard)?, line(by)?)))
        .collect())
}

/// Opens the shards of all arguments, each once, and returns the errors of subfolders as well. If there are several
/// arguments, the names of shards in folders begin with the folder.
fn listed(args: &Args) -> Result<(Vec<Listed>, Vec<Failure>), Failure> {
    let (mut listed, mut failures) = (Vec::new(), Vec::new());
    for argument in &args.paths {
        let matches = glob_matches(argument)?;
        if matches.as_ref().is_some_and(Vec::is_empty) {
            return Err(no_match(argument));
        }
        let is_named = matches.is_none();
        let paths = matches.unwrap_or_else(|| vec![argument.clone()]);
        let is_alone = args.paths.len() == 1 && paths.len() == 1;
        for some in paths.chunk_by(|a, b| is_folder(a) == is_folder(b)) {
            if !some.iter().any(|path| is_folder(path)) {
                listed.extend(list_files(some.to_vec(), is_named, &args.external_files)?);
                continue;
            }
            for path in some {
                let folder = stored(path)?;
                let (mut found, failed) = list(&folder, args.recursive, &args.external_files)?;
                failures.extend(failed);
                if !is_alone {
                    for Listed { name, .. } in &mut found {
                        *name = path.join(&*name).to_string_lossy().into_owned();
                    }
                }
                listed.extend(found);
            }
        }
    }
    let mut named = NamedFiles::default();
    listed.retain(|file| named.insert(&file.location));
    Ok((listed, failures))
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
        let bounds = Bound::both(statistics.column(1).as_struct());
        let (min, max) = match &bounds {
            (Some(min), Some(max)) => (Some(min), Some(max)),
            _ => (None, None),
        };
        let shown = text::shown(path);
        spans.push(match min.zip(max) {
            Some((min, max)) => format!("{shown} {} to {}", min.text(">= ")?, max.text("<= ")?),
            None => shown.into_owned(),
        });
        let members = [("column", Json::of(path.as_str()))];
        let members = members.into_iter().chain(Bound::json(min, max)?);
        sorted.push(Json::object(members));
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
