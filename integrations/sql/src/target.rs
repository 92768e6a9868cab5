//! Local files that copies write. DataFusion completes a Parquet file even if its query fails, so files are written to a
//! hidden folder first.

use crate::failure::Failure;
use datafusion::sql::parser::CopyToStatement;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use url::Url;

/// The place where a copy writes, until it is complete. If dropped, nothing is left there.
#[derive(Debug)]
pub(crate) enum Target {
    /// The copy writes to its target itself: a folder, a store, or a shard, which appears when it is complete.
    Direct,
    /// The copy writes to a file in a hidden folder next to the target.
    Staged {
        folder: TempDir,
        file: PathBuf,
        target: PathBuf,
    },
}

impl Target {
    /// Sets the place where a statement writes.
    pub(crate) fn prepare(copy: &mut CopyToStatement) -> Result<Self, Failure> {
        let given = match Url::parse(&copy.target) {
            Ok(url) if copy.target.contains("://") => match url.to_file_path() {
                Ok(path) if url.scheme() == "file" => path,
                _ => return Ok(Self::Direct),
            },
            _ => PathBuf::from(&copy.target),
        };
        let ends_as_folder = copy.target.ends_with(['/', std::path::MAIN_SEPARATOR]);
        let is_folder = ends_as_folder || given.is_dir() || given.extension().is_none();
        let (Some(name), false) = (
            given.file_name(),
            is_folder || !copy.partitioned_by.is_empty(),
        ) else {
            return Ok(Self::Direct);
        };
        let parent = given.parent().filter(|it| !it.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        // A link stays one.
        let target = match fs::metadata(&given) {
            Ok(found) if found.is_file() => given.canonicalize()?,
            Ok(_) => {
                let message = format!("`{}` is not a regular file", copy.target);
                return Err(Failure::new(message));
            }
            Err(_) => parent.canonicalize()?.join(name),
        };
        let is_shard = copy.stored_as.as_deref();
        if is_shard.is_some_and(|format| format.eq_ignore_ascii_case("shard")) {
            copy.target = url_of(&target)?;
            return Ok(Self::Direct);
        }
        let beside = target.parent().unwrap_or(parent);
        let folder = tempfile::Builder::new()
            .prefix(".arrow-shard-sql-")
            .tempdir_in(beside)?;
        let file = folder.path().join(name);
        copy.target = url_of(&file)?;
        Ok(Self::Staged {
            folder,
            file,
            target,
        })
    }

    /// Gives a complete file its name.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        match self {
            Self::Direct => Ok(()),
            Self::Staged {
                folder,
                file,
                target,
            } => {
                if let Ok(replaced) = fs::metadata(&target) {
                    fs::set_permissions(&file, replaced.permissions())?;
                }
                fs::rename(&file, &target)?;
                Ok(folder.close()?)
            }
        }
    }
}

/// Returns the URL of a file, because characters of globs have no meaning there.
fn url_of(path: &Path) -> Result<String, Failure> {
    let url = Url::from_file_path(path);
    let url = url.map_err(|()| Failure::new(format!("`{}` is no path", path.display())))?;
    Ok(url.into())
}
