//! Places outside of the folders of shards.

use super::url::is_absolute;
use super::{Container, FileContainer, Location, Place, Reference, RelativeUrl, Store, resolve};
use crate::error::{Error, ErrorKind, Result, Within};
use std::sync::Arc;

/// Name of a file by which the folder that contains it is found.
const ANY_NAME: &str = "x";

/// Folders outside of a shard's own folder where its Parquet files may be: none by default. The folders are named when
/// files are attached, and again when the shard is read: otherwise, a shard from a stranger could make a reader open
/// any file. The other files of a shard, such as stripe files, are always in its folder or below.
///
/// ```no_run
/// use arrow_shard::Shard;
/// use arrow_shard::io::ExternalFiles;
/// use arrow_shard::ops::{AttachOptions, attach_with};
/// use arrow_shard::read::ShardOptions;
///
/// let lake = ExternalFiles::default().with_folder("/data/lake")?;
/// let options = AttachOptions::default().with_external_files(lake.clone());
/// attach_with(["/data/lake/2025.parquet"], "/home/me/lake.amudai.shard", options)?;
/// let options = ShardOptions::default().with_external_files(lake);
/// let shard = Shard::open_with("/home/me/lake.amudai.shard", options)?;
/// # Ok::<(), arrow_shard::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalFiles {
    folders: Vec<AllowedFolder>,
}

/// A folder whose files may be read.
#[derive(Debug, Clone)]
struct AllowedFolder {
    /// The absolute URL, without a slash at the end.
    url: String,
    /// The folder in errors and reports: a path or a URL.
    shown: String,
    files: FileContainer,
    /// The store, and the place of any file in the folder; `None` if only the container is known.
    home: Option<(Store, Place)>,
}

impl PartialEq for AllowedFolder {
    fn eq(&self, other: &Self) -> bool {
        let is_same_store = match (&self.home, &other.home) {
            (Some((own, _)), Some((theirs, _))) => own.is_same(theirs),
            (None, None) => self.files.is_same(&other.files),
            _ => false,
        };
        self.url == other.url && is_same_store
    }
}

impl Eq for AllowedFolder {}

impl ExternalFiles {
    /// Allows the files of a folder and its subfolders: a local folder, or a folder of an object store. The store must
    /// have a URL as its identity, which `Location::from_url` and [`Store::with_id`] set. Symbolic links are followed
    /// unless they lead out of the folder.
    ///
    /// # Errors
    /// Returns [`NotFound`](ErrorKind::NotFound) if a local folder does not exist, or
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the store has no URL.
    pub fn with_folder(mut self, folder: impl Into<Location>) -> Result<Self> {
        let folder = folder.into();
        let home = folder.home();
        let any = home.find_new(&home.join(folder.name(), ANY_NAME.as_ref()))?;
        let store = folder.store();
        let url = any.folder_url(&store.id());
        let url = url.within(|| home.describe_folder(folder.name()))?;
        let shown = if any.is_local() {
            let path = any.to_string();
            let end = path.len() - ANY_NAME.len() - 1;
            path.get(..end).unwrap_or_default().to_owned()
        } else {
            url.clone()
        };
        self.folders.push(AllowedFolder {
            url,
            shown,
            files: home.container(any.folder())?,
            home: Some((store.clone(), any)),
        });
        Ok(self)
    }

    /// Allows the files below an absolute URL, and opens them by a blocking container: for stores that the caller
    /// implements. Files cannot be attached from there. Asynchronous stores are allowed by
    /// [`with_folder`](Self::with_folder).
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](ErrorKind::InvalidArgument) if the URL is not absolute.
    pub fn with_container(mut self, url: &str, files: Arc<dyn Container>) -> Result<Self> {
        if !is_absolute(url) {
            return Err(Error::invalid(format!(
                "expected the absolute URL of a folder, such as s3://bucket/lake, found `{}`",
                url.escape_debug()
            )));
        }
        let url = url.trim_end_matches('/').to_owned();
        self.folders.push(AllowedFolder {
            shown: url.clone(),
            url,
            files: FileContainer::Blocking(files),
            home: None,
        });
        Ok(self)
    }

    /// Returns whether no folder is allowed.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Returns the absolute URL by which a shard refers to a file of one of the folders.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(dead_code, reason = "only attaching makes references to such files")
    )]
    pub(crate) fn url_of(&self, store: &Store, file: &Place) -> Option<String> {
        self.folders.iter().find_map(|folder| {
            let (home, any) = folder.home.as_ref()?;
            let below = file.seen_from(any).ok().filter(|_| home.is_same(store))?;
            Some(format!("{}/{below}", folder.url))
        })
    }

    /// Returns the ordinal of the folder that an absolute reference leads into, and the path below it.
    pub(crate) fn find(&self, reference: &str) -> Option<(usize, RelativeUrl)> {
        if !is_absolute(reference) {
            return None;
        }
        let mut folders = self.folders.iter().enumerate();
        folders.find_map(
            |(ordinal, folder)| match resolve(reference, Some(&folder.url)) {
                Ok(Reference::Relative(url)) => Some((ordinal, url)),
                _ => None,
            },
        )
    }

    /// Returns the ordinal of the folder that contains the target of a symbolic link, and the path below it. `url` is
    /// the path of the link below the local folder `base`.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn find_target(
        &self,
        base: &str,
        url: &RelativeUrl,
    ) -> Option<(usize, RelativeUrl)> {
        let base = std::path::Path::new(base);
        if self.is_empty() || !base.is_absolute() {
            return None;
        }
        let link = url
            .segments()
            .fold(base.to_path_buf(), |path, name| path.join(name));
        let target = Store::local().home().find(link.as_os_str()).ok()?;
        let mut folders = self.folders.iter().enumerate();
        folders.find_map(|(ordinal, folder)| {
            let (_, any) = folder.home.as_ref().filter(|(_, any)| any.is_local())?;
            Some((ordinal, target.seen_from(any).ok()?))
        })
    }

    /// Returns `None`: this store has no symbolic links.
    #[cfg(target_family = "wasm")]
    pub(crate) fn find_target(&self, _: &str, _: &RelativeUrl) -> Option<(usize, RelativeUrl)> {
        None
    }

    /// Returns the container of the files of a folder, given by its ordinal.
    pub(crate) fn files(&self, folder: usize) -> Option<&FileContainer> {
        Some(&self.folders.get(folder)?.files)
    }

    /// Returns the name of a file in errors and reports.
    pub(crate) fn name_of(&self, folder: usize, url: &RelativeUrl) -> String {
        let folder = self.folders.get(folder).map_or("", |folder| &folder.shown);
        format!("{folder}/{}", url.path())
    }
}

/// Adds to an error about a place outside of the folder how to allow the place.
pub(crate) fn with_advice(error: Error) -> Error {
    let message = format!(
        "{}; if you trust the shard, allow the folder of its Parquet files by \
         `ShardOptions::with_external_files`, or `--external-files`",
        error.message()
    );
    Error::new(ErrorKind::ForbiddenUrl, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryFolder;

    #[test]
    fn references_lead_into_the_folders_that_are_allowed() {
        let store = Store::memory(MemoryFolder::new()).with_id("mem://host/bucket/");
        let allowed = ExternalFiles::default()
            .with_folder(store.at("lake x"))
            .unwrap();
        let found = |reference: &str| {
            let found = allowed.find(reference);
            found.map(|(_, url)| url.path().to_owned())
        };
        let inside = "mem://host/bucket/lake%20x/a/b%25.parquet";
        assert_eq!(found(inside).as_deref(), Some("a/b%.parquet"));
        for other in [
            "mem://host/bucket/lake%20xy/a.parquet",
            "mem://host/bucket/lake%20x",
            "mem://host/bucket/lake%20x/",
            "mem://host/bucket/lake%20x/../a.parquet",
            "mem://host/bucket/lake%20x/%2e%2e/a.parquet",
            "mem://host/bucket/lake%20x/a%2fb.parquet",
            "mem://other/bucket/lake%20x/a.parquet",
            "mem://user@host/bucket/lake%20x/a.parquet",
            "s3://host/bucket/lake%20x/a.parquet",
            "lake x/a.parquet",
            "../lake x/a.parquet",
            "/lake x/a.parquet",
            "",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
        let file = Place::memory(["lake x", "a", "b%.parquet"].map(Into::into));
        assert_eq!(allowed.url_of(&store, &file).as_deref(), Some(inside));
        let other = Place::memory(["lake xy", "a.parquet"].map(Into::into));
        assert_eq!(allowed.url_of(&store, &other), None);
        assert_eq!(
            allowed.url_of(&Store::memory(MemoryFolder::new()), &file),
            None
        );
    }

    #[test]
    fn a_store_without_a_url_is_not_allowed() {
        let store = Store::memory(MemoryFolder::new());
        let error = ExternalFiles::default()
            .with_folder(store.at("lake"))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("with_id"), "{error}");
        let files = Arc::new(MemoryFolder::new());
        assert!(
            ExternalFiles::default()
                .with_container("lake", files)
                .is_err()
        );
    }
}
