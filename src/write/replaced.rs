//! Stripe files of a shard whose directory file is replaced.

use crate::error::{Error, Result};
use crate::format::{
    DirectoryTail, FormatVersion, HEADER_LEN, Message, ShardDirectory, UrlList, open,
};
use crate::io::{
    ByteRange, LocalFile, LocalFolder, ReadAt, Reference, RelativeUrl, STRIPE_FILE_SUFFIX,
    is_temporary, resolve,
};
use crate::{ErrorKind, Limits};
use std::collections::BTreeSet;
use std::fs::{DirEntry, symlink_metadata};
use std::path::{Path, PathBuf};

/// The directory file that a writer is to replace, if it is there.
#[derive(Debug)]
pub(super) struct Replaced {
    folder: LocalFolder,
    path: PathBuf,
}

/// Stripe files that a directory file referred to before it was replaced.
#[derive(Debug)]
pub(super) struct Abandoned {
    folder: PathBuf,
    names: BTreeSet<String>,
}

impl Replaced {
    pub(super) fn new(folder: LocalFolder, path: &Path) -> Self {
        Self {
            folder,
            path: path.to_path_buf(),
        }
    }

    /// The stripe files beside the directory file that it refers to. A link is replaced without the
    /// file that it leads to, and has none.
    pub(super) fn stripe_files(&self) -> Abandoned {
        let is_file = symlink_metadata(&self.path).is_ok_and(|metadata| metadata.is_file());
        let mut names = BTreeSet::new();
        if is_file && let Ok(Some(references)) = references(&self.path, self.folder.path()) {
            names.extend(references);
            names.retain(|name| name.ends_with(STRIPE_FILE_SUFFIX));
        }
        Abandoned {
            folder: self.folder.path().to_path_buf(),
            names,
        }
    }
}

impl Abandoned {
    /// Removes those that no directory file of the folder refers to. If that cannot be told of one
    /// of its files, or if one cannot be removed, files stay: no shard needs them to be gone.
    pub(super) fn remove_unused(mut self) {
        if self.names.is_empty() || self.forget_used().is_err() {
            return;
        }
        for name in &self.names {
            let path = self.folder.join(name);
            if is_stripe_file(&path).unwrap_or(false) {
                let _ = std::fs::remove_file(&path);
            }
        }
    }

    fn forget_used(&mut self) -> Result<()> {
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            if may_be_directory_file(&entry)?
                && let Some(used) = references(&entry.path(), &self.folder)?
            {
                used.iter().for_each(|name| {
                    self.names.remove(name);
                });
            }
        }
        Ok(())
    }
}

/// Whether a file may be the directory file of a shard: not a stripe file or what another writer is
/// at. References of one that a link leads to start from where it is.
fn may_be_directory_file(entry: &DirEntry) -> Result<bool> {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let is_other = name.ends_with(STRIPE_FILE_SUFFIX) || is_temporary(&name);
    Ok(!is_other && entry.file_type()?.is_file())
}

/// Whether a regular file begins as those of shards do.
fn is_stripe_file(path: &Path) -> Result<bool> {
    if !symlink_metadata(path)?.is_file() {
        return Ok(false);
    }
    let header = LocalFile::open(path)?.read_at(ByteRange::with_len(0, HEADER_LEN as u64)?)?;
    Ok(FormatVersion::parse(&header, "header").is_ok())
}

/// Names of the files in `folder` that a file in it refers to; `None` if it is no directory file.
fn references(path: &Path, folder: &Path) -> Result<Option<Vec<String>>> {
    let limits = Limits::default();
    let file = LocalFile::open(path)?;
    let size = file.size()?;
    let len = size.min(DirectoryTail::LEN as u64);
    let tail = file.read_at(ByteRange::with_len(size - len, len)?)?;
    let directory = match DirectoryTail::locate(&tail, size, &limits) {
        Ok(range) => file.read_at(range)?,
        Err(e) if e.kind() == ErrorKind::NotAShard => return Ok(None),
        Err(e) => return Err(e),
    };
    let payload = open(&directory)?;
    let wire = ShardDirectory::detect_wire(payload)?;
    let directory = ShardDirectory::decode(payload, wire, &limits)?;
    let list = match directory.url_list_ref {
        Some(list) if list.url.is_empty() => list,
        _ => return Err(Error::corrupt("the shard directory has no list of URLs")),
    };
    let frame = file.read_at(list.range.within_size(size)?)?;
    let UrlList(urls) = UrlList::decode(open(&frame)?, wire, &limits)?;
    let base = folder.to_str();
    let found = urls.iter().filter_map(|url| match resolve(url, base) {
        Ok(Reference::Relative(url)) => file_name(&url),
        // What leads elsewhere is no file of the folder.
        Ok(Reference::This) | Err(_) => None,
    });
    Ok(Some(found.collect()))
}

/// The name of a file that is in the folder itself.
fn file_name(url: &RelativeUrl) -> Option<String> {
    (url.segments().count() == 1).then(|| url.path().to_owned())
}
