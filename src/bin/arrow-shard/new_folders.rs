//! Folders that this process creates for its outputs. If the command fails, the empty ones are deleted.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

/// The folders in the order in which they were created.
static CREATED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Creates a folder, and the folders above it, unless they exist.
pub(crate) fn create(folder: &Path) -> io::Result<()> {
    let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let new: Vec<&Path> = folder.ancestors().take_while(is_new).collect();
    // Before they exist, so that a signal in between leaves none.
    created().extend(new.into_iter().rev().map(Path::to_path_buf));
    fs::create_dir_all(folder)
}

/// Deletes the folders that are empty: their outputs have not been completed.
pub(crate) fn discard_empty() {
    for folder in created().drain(..).rev() {
        // Fails for a folder with files, which are complete or belong to others.
        let _ = fs::remove_dir(folder);
    }
}

fn created() -> MutexGuard<'static, Vec<PathBuf>> {
    CREATED.lock().unwrap_or_else(PoisonError::into_inner)
}
