//! The folder for temporary files.

/// Returns the place of a temporary file, for errors: it may be on another file system than the output.
pub(crate) fn place() -> String {
    let folder = std::env::temp_dir();
    format!("a temporary file in `{}`", folder.display())
}
