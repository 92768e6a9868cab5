//! Errors of the command line.

use std::error::Error;
use std::fmt;
use std::path::Path;

/// The command line is invalid; exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}

/// Refuses `--dataset-version` for an input that is a file. If the input does not exist, a later error says so.
pub(crate) fn check_dataset(input: &Path, version: Option<u64>) -> Result<(), Usage> {
    if version.is_some() && input.is_file() {
        return Err(Usage(format!(
            "--dataset-version is for datasets, which are folders, and `{}` is a file",
            input.display()
        )));
    }
    Ok(())
}
