//! Files that are read and written at the same time, through standard output.

use crate::failure::Failure;
use crate::file_format::is_standard;
use crate::location::stored;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Fails if standard output goes to one of the files: `cat t.csv >>t.csv` would read the rows that it writes, without
/// end.
pub(super) fn check(files: &[PathBuf]) -> Result<(), Failure> {
    let Some(output) = stream(&io::stdout()) else {
        return Ok(());
    };
    for file in files {
        if named(file) == Some(output) {
            let why = "the file is also standard output; write to another file";
            return Err(Failure::new(why).within(file.display()));
        }
    }
    Ok(())
}

/// Device and number of a file.
type Identity = (u64, u64);

fn named(file: &Path) -> Option<Identity> {
    if is_standard(file) {
        return stream(&io::stdin());
    }
    let path = stored(file).ok()?.path()?;
    identity(&path.metadata().ok()?)
}

/// Returns the identity of the file that a stream is connected to.
fn stream(stream: &impl AsFd) -> Option<Identity> {
    let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
    identity(&file.metadata().ok()?)
}

fn identity(metadata: &Metadata) -> Option<Identity> {
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}
