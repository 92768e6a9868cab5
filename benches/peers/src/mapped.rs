//! Files in memory maps.

use anyhow::Result;
use std::path::Path;

/// Maps a file into memory.
pub(crate) fn map(path: &Path) -> Result<bytes::Bytes> {
    let file = std::fs::File::open(path)?;
    // SAFETY: the file is complete, and no other process changes it.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(bytes::Bytes::from_owner(map))
}
