//! The file that keeps the history of the prompt.

use crate::prompt::complete::SqlHelper;
use rustyline::Editor;
use rustyline::history::FileHistory;
use std::env;
use std::path::{Path, PathBuf};

/// Returns the file in the user's folder for the state of programs.
pub(crate) fn file() -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let of = |variable: &str| env::var_os(variable).map(PathBuf::from).and_then(absolute);
    let folder = if cfg!(windows) {
        of("LOCALAPPDATA")
    } else {
        of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")))
    };
    Some(folder?.join("arrow-shard/sql_history"))
}

/// Appends new entries to the file. Only the user can read it, because statements may contain data.
pub(crate) fn append(
    editor: &mut Editor<SqlHelper, FileHistory>,
    file: &Path,
) -> rustyline::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // The crate creates the file with this mode.
    editor.append_history(file)
}
