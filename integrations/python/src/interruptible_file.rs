//! Local files that stop reading on a signal such as Ctrl-C.

use crate::signals::hear;
use arrow_shard::bytes::Bytes;
use arrow_shard::io::{ByteRange, Container, LocalFile, LocalFolder, ReadAt, RelativeUrl};
use arrow_shard::{Error, Result, Shard, ShardOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that checks for signals at every read.
#[derive(Debug)]
struct Interruptible {
    file: Arc<dyn ReadAt>,
}

impl ReadAt for Interruptible {
    fn size(&self) -> Result<u64> {
        self.file.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        hear()?;
        self.file.read_at(range)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        hear()?;
        self.file.read_ranges(ranges)
    }

    fn resident(&self) -> Option<Bytes> {
        self.file.resident()
    }

    fn name(&self) -> Option<String> {
        self.file.name()
    }

    fn version(&self) -> Option<String> {
        self.file.version()
    }

    fn is_near(&self) -> bool {
        self.file.is_near()
    }
}

/// A folder of [`Interruptible`] files.
#[derive(Debug)]
struct InterruptibleFolder(Arc<dyn Container>);

impl Container for InterruptibleFolder {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        let file = self.0.open(url)?;
        Ok(Arc::new(Interruptible { file }))
    }

    fn base(&self) -> Option<String> {
        self.0.base()
    }
}

/// Opens a shard of this machine. Like [`Shard::open`], it follows symbolic links to the directory file.
pub(crate) fn open(path: &Path, options: ShardOptions) -> Result<Shard> {
    let target = existing(path)?;
    let folder = LocalFolder::of_file(&target)?;
    let file = LocalFile::open(target)?.with_name(path.display().to_string());
    let reader = Interruptible {
        file: Arc::new(file),
    };
    Shard::from_reader(Arc::new(reader), interruptible(Arc::new(folder)), options)
}

/// Returns the absolute path of an existing file, without symbolic links.
pub(crate) fn existing(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|error| {
        let error = Error::from(error);
        error.within(format!("file `{}`", path.display()))
    })
}

/// Wraps a folder, so that reading its files stops on a signal.
pub(crate) fn interruptible(folder: Arc<dyn Container>) -> Arc<dyn Container> {
    Arc::new(InterruptibleFolder(folder))
}
