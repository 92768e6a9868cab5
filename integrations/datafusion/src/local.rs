//! Local files without a handle each: a table may have more files than a process may have open.

use arrow_shard::bytes::Bytes;
use arrow_shard::error::ErrorKind;
use arrow_shard::io::{ByteRange, LocalFile, ReadAt};
use arrow_shard::{Error, Result};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Files that are open at a time, whatever the number of shards.
const MOST_OPEN: usize = 128;

/// The files that were read last, those of long ago first.
static OPEN: Mutex<VecDeque<Arc<LocalFile>>> = Mutex::new(VecDeque::new());

/// A local file that is opened when it is read, and shares its handle with all who read it.
#[derive(Debug)]
pub(crate) struct PooledFile {
    path: PathBuf,
    size: u64,
    version: Option<String>,
}

impl PooledFile {
    /// The regular file at `path`.
    ///
    /// # Errors
    /// Those of opening it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = LocalFile::open(path)?;
        let pooled = Self {
            path: path.to_path_buf(),
            size: file.size()?,
            version: file.version(),
        };
        keep(Arc::new(file));
        Ok(pooled)
    }

    /// The open file.
    fn file(&self) -> Result<Arc<LocalFile>> {
        let is_same = |file: &LocalFile| file.path() == self.path && file.version() == self.version;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = open.iter().rposition(|file| is_same(file)) {
            let file = open[at].clone();
            // Those that are read in turn would only change places.
            if at < open.len() / 2
                && let Some(file) = open.remove(at)
            {
                open.push_back(file);
            }
            return Ok(file);
        }
        drop(open);
        let file = LocalFile::open(&self.path)?;
        if !is_same(&file) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "file `{}` was replaced while it was read",
                    self.path.display()
                ),
            ));
        }
        let file = Arc::new(file);
        keep(file.clone());
        Ok(file)
    }
}

/// Keeps a file open, and closes one of long ago.
fn keep(file: Arc<LocalFile>) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if open.len() >= MOST_OPEN {
        open.pop_front();
    }
    open.push_back(file);
}

impl ReadAt for PooledFile {
    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        self.file()?.read_at(range)
    }

    fn name(&self) -> Option<String> {
        Some(self.path.display().to_string())
    }

    fn version(&self) -> Option<String> {
        self.version.clone()
    }

    fn is_near(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_are_read_than_are_open_and_one_that_was_replaced_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let name = |i: usize| folder.path().join(format!("{i}"));
        let files: Vec<PooledFile> = (0..2 * MOST_OPEN)
            .map(|i| {
                std::fs::write(name(i), format!("{i:>8}")).unwrap();
                PooledFile::open(&name(i)).unwrap()
            })
            .collect();
        let all = ByteRange::try_new(0, 8).unwrap();
        for _ in 0..2 {
            for (i, file) in files.iter().enumerate() {
                assert_eq!(file.read_at(all).unwrap(), format!("{i:>8}"));
                assert!(OPEN.lock().unwrap().len() <= MOST_OPEN);
            }
        }
        // It is not among those that are open.
        std::fs::write(folder.path().join("other"), "replaced").unwrap();
        std::fs::rename(folder.path().join("other"), name(0)).unwrap();
        let error = files[0].read_at(all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("was replaced"), "{error}");
    }
}
