//! The files that copies and inserts write. DataFusion completes a file even if its query fails, so files appear once
//! the statement has succeeded: a local one is written to a hidden folder first, others are kept back by their store.

use crate::failure::Failure;
use crate::withheld::{Withheld, is_same};
use arrow_shard::io::is_url;
use datafusion::common::{DataFusionError, TableReference};
use datafusion::datasource::listing::ListingTable;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::CopyToStatement;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use url::Url;

/// The place where a copy writes, until it is complete. If dropped, nothing is left there.
#[derive(Debug)]
pub(crate) enum Target {
    /// The statement writes to its target itself: shards, which appear once it has succeeded.
    Direct,
    /// A store keeps the files of a folder back, or an object.
    Withheld(WithheldStore),
    /// The copy writes to a file in a hidden folder next to the target.
    Staged {
        folder: TempDir,
        file: PathBuf,
        target: PathBuf,
    },
}

impl Target {
    /// Sets the place where a statement writes.
    pub(crate) fn prepare(
        ctx: &SessionContext,
        copy: &mut CopyToStatement,
    ) -> Result<Self, Failure> {
        let is_shard = copy.stored_as.as_deref();
        let is_shard = is_shard.is_some_and(|format| format.eq_ignore_ascii_case("shard"));
        let in_store = |url: &str| {
            if is_shard {
                Ok(Self::Direct)
            } else {
                Self::withheld(ctx, url)
            }
        };
        let given = match Url::parse(&copy.target) {
            Ok(url) if is_url(&copy.target) => match url.to_file_path() {
                Ok(path) if url.scheme() == "file" => path,
                _ => return in_store(url.as_str()),
            },
            _ => PathBuf::from(&copy.target),
        };
        let ends_as_folder = copy.target.ends_with(['/', std::path::MAIN_SEPARATOR]);
        let is_folder = ends_as_folder || given.is_dir() || given.extension().is_none();
        let (Some(name), false) = (
            given.file_name(),
            is_folder || !copy.partitioned_by.is_empty(),
        ) else {
            return in_store(LOCAL);
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
        if is_shard {
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

    /// Sets the place where an insert writes: rows of a table without files appear at once.
    pub(crate) async fn of_table(
        ctx: &SessionContext,
        table: &TableReference,
    ) -> Result<Self, Failure> {
        let table = ctx.table_provider(table.clone()).await?;
        let Some(table) = table.downcast_ref::<ListingTable>() else {
            return Ok(Self::Direct);
        };
        let is_shard = table.options().format.get_ext().ends_with("shard");
        match table.table_paths().first() {
            Some(folder) if !is_shard => Self::withheld(ctx, folder.object_store().as_str()),
            _ => Ok(Self::Direct),
        }
    }

    /// Keeps back the new files of the store that a URL names.
    fn withheld(ctx: &SessionContext, url: &str) -> Result<Self, Failure> {
        let url = Url::parse(url).map_err(|e| Failure::new(format!("`{url}`: {e}")))?;
        let registry = Arc::clone(&ctx.runtime_env().object_store_registry);
        let store = Withheld::over(registry.get_store(&url)?);
        registry.register_store(&url, Arc::clone(&store) as Arc<_>);
        Ok(Self::Withheld(WithheldStore {
            registry,
            url,
            store,
        }))
    }

    /// Removes what a failed statement has written.
    pub(crate) async fn discard(self) {
        if let Self::Withheld(place) = self {
            place.store.discard().await;
        }
    }

    /// Lets complete files appear under their names.
    pub(crate) async fn commit(self) -> Result<(), Failure> {
        match self {
            Self::Direct => Ok(()),
            Self::Withheld(place) => {
                Ok(place.store.publish().await.map_err(DataFusionError::from)?)
            }
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

/// The URL of all local files.
const LOCAL: &str = "file:///";

/// A store that keeps back new files while a statement runs. If dropped, the session has the store itself again.
pub(crate) struct WithheldStore {
    registry: Arc<dyn ObjectStoreRegistry>,
    url: Url,
    store: Arc<Withheld>,
}

impl fmt::Debug for WithheldStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WithheldStore").field(&self.store).finish()
    }
}

impl Drop for WithheldStore {
    fn drop(&mut self) {
        // A later statement may keep back files of the same store.
        let current = self.registry.get_store(&self.url);
        if current.is_ok_and(|current| is_same(&current, &self.store)) {
            let store = Arc::clone(self.store.store());
            self.registry.register_store(&self.url, store);
        }
    }
}

/// Returns the URL of a file, because characters of globs have no meaning there.
fn url_of(path: &Path) -> Result<String, Failure> {
    let url = Url::from_file_path(path);
    let url = url.map_err(|()| Failure::new(format!("`{}` is no path", path.display())))?;
    Ok(url.into())
}
