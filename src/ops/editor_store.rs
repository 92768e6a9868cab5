//! Editors of shards in their stores.

use super::commit::{EditSummary, Naming};
use super::editor::ShardEditor;
use super::members::Opening;
use super::overlap::refuse;
use super::put::{check_needed, check_new, put};
use super::source::SourceShard;
use crate::Shard;
use crate::error::{Error, Result};
use crate::io::{DescriptorUse, ExistingFile, Location, NotWritten, Place, VersionedFile};
use crate::read::{ShardOptions, ready_now, ready_now_or};
use std::ffi::OsStr;

impl ShardEditor {
    /// Opens the shard with its directory file at a location: the path of a local file, or a file of a
    /// [`Store`](crate::io::Store).
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open`], and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the store
    /// is asynchronous: use [`open_async`](Self::open_async).
    pub fn open(shard: impl Into<Location>) -> Result<Self> {
        Self::open_with(shard, ShardOptions::default())
    }

    /// Opens a shard with options, such as limits for a shard that you do not trust. [`append`](Self::append) opens
    /// other shards with the same options.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn open_with(shard: impl Into<Location>, options: ShardOptions) -> Result<Self> {
        let shard = shard.into();
        shard
            .store()
            .check_near("ShardEditor::open_async or open_with_async")?;
        ready_now(Self::open_with_async(shard, options))
    }

    /// Opens the shard with its directory file at a location, in any store: the asynchronous form of
    /// [`open`](Self::open).
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open`].
    pub async fn open_async(shard: impl Into<Location>) -> Result<Self> {
        Self::open_with_async(shard, ShardOptions::default()).await
    }

    /// Opens a shard with options, in any store: the asynchronous form of [`open_with`](Self::open_with).
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open`].
    pub async fn open_with_async(
        shard: impl Into<Location>,
        options: ShardOptions,
    ) -> Result<Self> {
        let shard = shard.into();
        let home = shard.home();
        let place = home.find(shard.name())?;
        let open = home.open(&place, DescriptorUse::Open)?;
        let open = Shard::of_opened(open, options.clone()).await?;
        let source = SourceShard::load(open, shard.store().clone(), place).await?;
        Ok(Self::of_source(source).await?.with_options(options))
    }

    /// Appends the stripes of another shard of the same store, by its name: for a local shard, the path of its
    /// directory file. Its rows follow the rows of this one. Columns are united by name. If one of the shards lacks a
    /// column, its rows are null in that column.
    ///
    /// If the two shards use different [wires](crate::metadata::Wire), the new directory is `Wire::Spec`, and Bloom
    /// filters with another hash seed are left out.
    ///
    /// When the editor commits, the other shard must be in the folder of the new directory file or below.
    ///
    /// A column may have 32-bit integers in one shard and 64-bit integers in another. It then becomes 64-bit, which
    /// works only if each stripe of the 32-bit column is constant or null. Otherwise the commit fails with
    /// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch), because the values would have to be rewritten. The result
    /// no longer declares a sort order.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open), [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if the types of
    /// columns of the same name are stored in different ways, and [`Unsupported`](crate::ErrorKind::Unsupported) if
    /// fixed-size lists of `Wire::Reference` would be combined with stripes of `Wire::Spec`. After an error, the editor
    /// is unchanged.
    pub fn append(&mut self, name: impl AsRef<OsStr>) -> Result<()> {
        self.store().check_near("ShardEditor::append_async")?;
        ready_now(self.append_async(name))
    }

    /// Appends the stripes of another shard, in any store: the asynchronous form of [`append`](Self::append).
    ///
    /// # Errors
    /// Returns the errors of [`append`](Self::append).
    pub async fn append_async(&mut self, name: impl AsRef<OsStr>) -> Result<()> {
        let location = self.store().at(name);
        let source = Opening::edit(self.options().clone())
            .open(&location)
            .await?;
        self.append_source(source).await
    }

    /// Checks that no two shards of this editor refer to the same data, such as a merged shard and one that it was made
    /// from: their rows would appear twice. A shard that was deliberately appended several times under the same path is
    /// allowed.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names two of the shards, or errors of the
    /// metadata.
    pub fn check_distinct(&self) -> Result<()> {
        ready_now_or("`check_distinct_async`", self.check_distinct_async())
    }

    /// Checks that no two shards of this editor refer to the same data, in any store: the asynchronous form of
    /// [`check_distinct`](Self::check_distinct).
    ///
    /// # Errors
    /// Returns the errors of [`check_distinct`](Self::check_distinct).
    pub async fn check_distinct_async(&self) -> Result<()> {
        refuse(self.sources()).await
    }

    /// Checks whether a commit in place, or to a new file of this name, would already fail: worth a call before work
    /// that takes long. The commit checks it again.
    ///
    /// # Errors
    /// Returns [`Conflict`](crate::ErrorKind::Conflict) if the file has been replaced or removed since it was opened;
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) for the new name;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the shard cannot be replaced in its store; or errors of the
    /// store.
    pub fn check_commit(&self, name: Option<&OsStr>) -> Result<()> {
        self.store().check_near("ShardEditor::check_commit_async")?;
        ready_now(self.check_commit_async(name))
    }

    /// Checks whether a commit would already fail, in any store: the asynchronous form of
    /// [`check_commit`](Self::check_commit).
    ///
    /// # Errors
    /// Returns the errors of [`check_commit`](Self::check_commit).
    pub async fn check_commit_async(&self, name: Option<&OsStr>) -> Result<()> {
        let home = self.store().home();
        let file = VersionedFile {
            place: self.place().clone(),
            version: self.version(),
        };
        let found = home
            .look(&file.place)
            .await?
            .ok_or_else(|| file.conflict())?;
        if file.version.is_some() && found.version != file.version {
            return Err(file.conflict());
        }
        match name {
            Some(name) => check_new(self.store(), &home.find_new(name)?).await,
            None if !home.has_second_names() => {
                self.replaced_version()?;
                self.check_replaceable().await
            }
            None => Ok(()),
        }
    }

    /// Returns the version of the file, without which it cannot be replaced.
    fn replaced_version(&self) -> Result<String> {
        self.version().ok_or_else(|| {
            Error::unsupported("the store does not tell one file from another of the same name")
        })
    }

    /// Replaces the directory of the shard that was opened. Without [changes](Self::has_changes), the file is not
    /// touched.
    ///
    /// If a local shard was one file, its buffers stay next to the new directory under another name, and the directory
    /// refers to them. That takes no space if the file system supports clones or hard links; the summary says which was
    /// used. From then on, the shard consists of several files, which must be kept together. Open readers continue to
    /// read the old directory.
    ///
    /// Objects have no second names, so an object that holds rows is never replaced. Readers that have the shard open
    /// must open it again, because reads of the directory file require the old object. Reads of stripe files continue
    /// to work.
    ///
    /// # Errors
    /// Returns [`Conflict`](crate::ErrorKind::Conflict) if the file, or in an object store the file of an appended
    /// shard, has been replaced since it was opened; [`Unsupported`](crate::ErrorKind::Unsupported) if the object holds
    /// rows as well, so that other shards may refer to it, or if the store has no conditional writes;
    /// [`ForbiddenUrl`](crate::ErrorKind::ForbiddenUrl) for an appended shard outside of the folder;
    /// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) for 32-bit columns as in [`append`](Self::append);
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for metadata that readers refuse; errors of the metadata; or
    /// errors of the store. After an error, the shard is unchanged.
    pub fn commit(self) -> Result<EditSummary> {
        self.store().check_near("ShardEditor::commit_async")?;
        ready_now(self.commit_async())
    }

    /// Replaces the directory of the shard that was opened, in any store: the asynchronous form of
    /// [`commit`](Self::commit).
    ///
    /// # Errors
    /// Returns the errors of [`commit`](Self::commit).
    pub async fn commit_async(self) -> Result<EditSummary> {
        Ok(self.put(None).await?)
    }

    /// Writes a new directory file to the same store, under a name as in [`Store::at`](crate::io::Store::at): for a
    /// local shard, a path, relative to the current folder if it is not absolute. The shards that it refers to must be
    /// in its folder, or in subfolders.
    ///
    /// An object that holds rows as well as a directory must never be replaced afterwards. Shortly before it writes the
    /// directory, this method checks that no such object has been replaced, and every read compares the checksums of
    /// the bytes.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists), [`ForbiddenUrl`](crate::ErrorKind::ForbiddenUrl) for
    /// shards outside of the folder, [`Conflict`](crate::ErrorKind::Conflict) if one of the objects has been replaced
    /// since it was opened, errors of the metadata, or errors of the store. After an error, no new file exists.
    pub fn commit_to(self, name: impl AsRef<OsStr>) -> Result<EditSummary> {
        self.store().check_near("ShardEditor::commit_to_async")?;
        ready_now(self.commit_to_async(name))
    }

    /// Writes a new directory file to the same store, in any store: the asynchronous form of
    /// [`commit_to`](Self::commit_to).
    ///
    /// # Errors
    /// Returns the errors of [`commit_to`](Self::commit_to).
    pub async fn commit_to_async(self, name: impl AsRef<OsStr>) -> Result<EditSummary> {
        let place = self.store().home().find_new(name.as_ref())?;
        Ok(self.put(Some(place)).await?)
    }

    /// Writes the directory to `target`, or in place.
    pub(super) async fn put(self, target: Option<Place>) -> Result<EditSummary, NotWritten> {
        if let Some(place) = target {
            return self.put_at(place, ExistingFile::Kept).await;
        }
        if !self.has_changes() {
            return Ok(self.unchanged().await?);
        }
        let version = self.replaced_version()?;
        if !self.store().home().has_second_names() {
            self.check_replaceable().await?;
        }
        let place = self.place().clone();
        self.put_at(place, ExistingFile::ReplacedIf(version)).await
    }

    /// Writes the directory to a place, where a file may exist as given.
    pub(super) async fn put_at(
        self,
        place: Place,
        existing: ExistingFile,
    ) -> Result<EditSummary, NotWritten> {
        let (store, naming) = (self.store().clone(), self.naming());
        let files = self.files(&place, naming).await?;
        put(&store, &place, existing, files).await
    }

    /// Returns the summary of a directory at a place, after the checks of a commit, and writes no file.
    pub(super) async fn planned(self, place: &Place) -> Result<EditSummary> {
        let (store, naming) = (self.store().clone(), self.naming());
        let files = self.files(place, naming).await?;
        check_needed(&store, place, &files, false).await?;
        Ok(files.summary)
    }

    fn naming(&self) -> Naming {
        if self.store().home().has_second_names() {
            Naming::Kept
        } else {
            Naming::AsItIs
        }
    }
}
