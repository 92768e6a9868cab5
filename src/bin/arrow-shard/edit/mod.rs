//! Commands that write new directories over buffers that stay where they are.

pub(crate) mod append;
pub(crate) mod compact;
pub(crate) mod delete;
mod editing;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod select;
pub(crate) mod undelete;
pub(crate) mod vacuum;

use crate::failure::Failure;
use crate::output::Destination;
use crate::text;
use arrow_shard::ops::EditSummary;
use editing::Editing;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the changed shard goes.
#[derive(Debug, clap::Args)]
pub(crate) struct TargetArgs {
    /// Write the new directory here, and leave the shard as it is; the file must not exist, and its
    /// folder must hold the shard or be above it [default: the directory of the shard is replaced]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Say what would become of the shard, and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl TargetArgs {
    /// Commits the changes of the shard at `path`.
    fn commit(&self, mut editing: Editing, path: &Path) -> Result<(), Failure> {
        let target = self.output.as_deref().unwrap_or(path);
        if self.dry_run {
            let editor = editing.editor();
            let (rows, deleted) = (editor.num_rows(), editor.num_deleted_rows());
            return say(target, "would have", rows, deleted, "");
        }
        let done = editing.commit(self.output.as_deref())?;
        report(target, &done)
    }
}

/// Says what a shard has now.
fn report(target: &Path, done: &EditSummary) -> Result<(), Failure> {
    let stripes = text::count(done.stripes(), "stripe");
    let written = format!(" in {stripes}; {} were written", text::bytes(done.bytes()));
    say(target, "has", done.rows(), done.deleted_rows(), &written)
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
