//! Commands that write new directories over existing buffers.

pub(crate) mod add;
pub(crate) mod append;
pub(crate) mod attach;
pub(crate) mod compact;
pub(crate) mod dedupe;
pub(crate) mod delete;
mod editing;
mod folder;
mod kept_rows;
mod keys;
pub(crate) mod list;
mod live_values;
pub(crate) mod merge;
pub(crate) mod pack;
mod parquet_files;
mod part;
pub(crate) mod select;
pub(crate) mod set;
pub(crate) mod undelete;
pub(crate) mod upsert;
pub(crate) mod vacuum;

use crate::failure::{Failure, REPLACE};
use crate::file_format::FileFormat;
use crate::lance_names::is_lance;
use crate::output::Destination;
use crate::text;
use arrow_shard::ops::{EditSummary, SHARD_FILE_SUFFIX, ShardEditor};
use arrow_shard::{Error, ErrorKind};
use clap::builder::{PathBufValueParser, TypedValueParser};
use editing::Editing;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The destination of the changed shard.
#[derive(Debug, clap::Args)]
pub(crate) struct TargetArgs {
    /// Write the new directory here, and leave the shard unchanged; the file must not exist, and its folder must
    /// contain the shard, directly or in a subfolder [default: the directory of the shard is replaced]
    #[arg(long, short, value_name = "FILE", value_parser = shard_output())]
    output: Option<PathBuf>,
    /// Show the result, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Show neither progress nor the result
    #[arg(long, short, conflicts_with = "dry_run")]
    quiet: bool,
}

/// Returns a parser for the name of a shard to write. A name that shows another format is an error, because other
/// commands would read the file in that format.
fn shard_output() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path.as_os_str() == "-" {
            return Err("a shard is a file that others refer to; name one".to_owned());
        }
        let other = match FileFormat::by_name(&path) {
            Some(FileFormat::Shard) => None,
            Some(other) => Some(other.to_string()),
            None => is_lance(&path).then(|| "Lance".to_owned()),
        };
        match other {
            None => Ok(path),
            Some(other) => Err(format!(
                "this command writes a shard, and the name shows {other}; choose a name such as \
                 out{SHARD_FILE_SUFFIX}, or write {other} with `arrow-shard convert`"
            )),
        }
    })
}

/// Names the output in the error that it exists, and says how to proceed.
fn existing(error: Error, output: &Path, can_replace: bool) -> Failure {
    if error.kind() != ErrorKind::AlreadyExists {
        return error.into();
    }
    let advice = if can_replace {
        REPLACE
    } else {
        "choose another name, or delete it"
    };
    Failure::new(format!("{} exists; {advice}", output.display()))
}

impl TargetArgs {
    /// Commits the changes of the shard at `path`.
    fn commit(&self, mut editing: Editing, path: &Path) -> Result<(), Failure> {
        let target = self.output.as_deref().unwrap_or(path);
        let editor = editing.editor();
        let (rows, deleted) = (editor.num_rows(), editor.num_deleted_rows());
        if self.output.is_none() && !editor.has_changes() {
            if self.quiet {
                return Ok(());
            }
            return say(
                target,
                "stays as it is: nothing to do. It has",
                rows,
                deleted,
                "",
            );
        }
        if self.dry_run {
            editing.check_commit(self.output.as_deref())?;
            return say(target, "would have", rows, deleted, "");
        }
        let done = editing.commit(self.output.as_deref())?;
        if self.quiet {
            Ok(())
        } else {
            report(target, &done)
        }
    }
}

/// Renames columns, or members of structs, each by `OLD=NEW`.
fn rename(editor: &mut ShardEditor, renames: &[String]) -> Result<(), Failure> {
    for rename in renames {
        let (old, new) = pair(rename, "OLD=NEW after --rename")?;
        editor.rename_column(old, new)?;
    }
    Ok(())
}

/// Returns the two sides of the first equals sign. The left side must not be empty.
fn pair<'a>(text: &'a str, expected: &str) -> Result<(&'a str, &'a str), Failure> {
    text.split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| Failure::Usage(format!("expected {expected}, found `{text}`")))
}

/// Prints a note if the shard is in the same folder as shards that it was made from.
fn note_parts(target: &Path, parts: &[PathBuf]) {
    let folder = |path: &Path| {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // The path of a URL does not exist here, and stays as it is.
        folder
            .canonicalize()
            .unwrap_or_else(|_| folder.to_path_buf())
    };
    let beside = parts.iter().filter(|part| folder(part) == folder(target));
    let count = beside.count();
    if count > 0 {
        let place = target.display().to_string();
        eprintln!(
            "note: {} has the rows of {} in the same folder; a table of the folder reads them once, from {}",
            text::shown(&place),
            text::count(count as u64, "shard"),
            text::shown(&place),
        );
    }
}

/// Returns the name of a folder of the files that has the form `column=value`.
fn folder_values(files: &[PathBuf]) -> Option<String> {
    files.iter().find_map(|file| {
        let name = file.to_string_lossy();
        let (folders, _) = name.rsplit_once('/')?;
        let found = folders.split('/').find(|folder| {
            folder
                .split_once('=')
                .is_some_and(|(column, _)| !column.is_empty())
        });
        found.map(str::to_owned)
    })
}

/// Prints the contents of a shard after a commit.
fn report(target: &Path, done: &EditSummary) -> Result<(), Failure> {
    let stripes = text::count(done.num_stripes(), "stripe");
    let written = format!(" in {stripes}; {} were written", text::bytes(done.bytes()));
    say(
        target,
        "has",
        done.num_rows(),
        done.num_deleted_rows(),
        &written,
    )?;
    let mut out = Destination::standard();
    for (how, count) in [
        ("a hard link", done.linked()),
        ("a clone", done.cloned()),
        ("a copy", done.copied()),
    ] {
        let files = match count.num_files() {
            0 => continue,
            1 => "1 file with rows has".to_owned(),
            many => format!("{many} files with rows have"),
        };
        let bytes = text::bytes(count.bytes());
        writeln!(
            out,
            "{files} {how} as a second name ({bytes}), which the shard refers to"
        )?;
    }
    match done.num_other_files() {
        0 => {}
        1 => writeln!(out, "data are in 1 other file; keep both together")?,
        many => writeln!(out, "data are in {many} other files; keep them together")?,
    }
    out.flush()?;
    Ok(())
}

fn say(target: &Path, has: &str, rows: u64, deleted: u64, more: &str) -> Result<(), Failure> {
    let mut out = Destination::standard();
    let place = target.display().to_string();
    let (place, rows) = (text::shown(&place), text::count(rows, "row"));
    let deleted = match deleted {
        0 => String::new(),
        deleted => format!(", and {} deleted", text::count(deleted, "row")),
    };
    writeln!(out, "{place} {has} {rows}{deleted}{more}")?;
    out.flush()?;
    Ok(())
}
