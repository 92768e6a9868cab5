//! Removes files that no directory refers to.

mod other_format;

#[cfg(feature = "object_store")]
use super::members::AT_ONCE;
use super::opening_options::opening;
use super::progress::WorkProgress;
use super::source::node_ids;
use crate::Shard;
use crate::error::{ErrorKind, Result, Within};
use crate::format::MAGIC;
#[cfg(feature = "object_store")]
use crate::io::BoxFuture;
use crate::io::{
    ByteRange, DescriptorUse, FileRole, ListedFile, Location, OpenedFile, Place, Store,
    is_own_stripe_file,
};
use crate::progress::{Listener, with_progress};
use crate::read::{ShardOptions, ready_now};
use crate::settings::settings;
use bytes::Bytes;
#[cfg(feature = "object_store")]
use futures_util::{StreamExt, stream};
use other_format::{HEAD_BYTES, TAIL_BYTES, doubtful, is_other_format};
use std::collections::HashSet;
use std::time::{Duration, SystemTime};

/// A file that no directory refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedFile {
    /// The file.
    pub location: Location,
    /// The size in bytes.
    pub bytes: u64,
}

/// The result of a vacuum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VacuumReport {
    unused: Vec<UnusedFile>,
    young: Vec<UnusedFile>,
}

impl VacuumReport {
    /// Returns the files that no shard needs, sorted. They are removed unless it was a dry run.
    pub fn unused(&self) -> &[UnusedFile] {
        &self.unused
    }

    /// Returns the stripe files that no shard needs, sorted, which stay because they are younger than
    /// [`min_age`](VacuumOptions::min_age).
    pub fn young(&self) -> &[UnusedFile] {
        &self.young
    }
}

/// Removes the files that no shard needs from a folder and its subfolders, and returns them. With
/// [`with_dry_run`](VacuumOptions::with_dry_run), only returns them. These files are unused:
///
/// * Stripe files that are at least a day old ([`with_min_age`](VacuumOptions::with_min_age)) and that no directory
///   file in the folder or its subfolders refers to or lists. A stripe file begins with the header of the format, and
///   its name is a hexadecimal number and `.amudai.stripe`.
/// * Local temporary files (`.arrow-shard.….tmp`) of killed writers, if no process has them open and they are at least
///   an hour old. A temporary file that is a complete shard stays, and so do the files that it refers to.
///
/// All other files stay. In an object store, a killed writer leaves an incomplete multipart upload, which is not a file
/// yet. Set a lifecycle rule in the store that deletes such uploads.
///
/// Directory files outside of the folder are not read. So do not vacuum a subfolder of a shard's folder: the shard may
/// refer to files in it. A shard never refers to files outside of its own folder and its subfolders.
///
/// ```no_run
/// use arrow_shard::ops::{VacuumOptions, vacuum};
/// for file in vacuum("tables", VacuumOptions::default().with_dry_run(true))? {
///     println!("{}: {} bytes", file.location, file.bytes);
/// }
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Fails without removing anything if a directory file cannot be read, with the error of the read. If there are stripe
/// files to remove, returns [`NotAShard`](ErrorKind::NotAShard) for a file that may be a damaged directory file: one
/// that is empty, or is neither text nor in a known format. Otherwise returns errors of the store,
/// [`InvalidArgument`](ErrorKind::InvalidArgument) if the store is asynchronous (use [`vacuum_async`]), or
/// [`Stopped`](ErrorKind::Stopped) if the progress callback breaks.
pub fn vacuum(folder: impl Into<Location>, options: VacuumOptions) -> Result<Vec<UnusedFile>> {
    let folder = folder.into();
    folder.store().check_near("vacuum_async")?;
    ready_now(vacuum_async(folder, options))
}

/// Finds and removes files that no shard needs, in any store: the asynchronous form of [`vacuum`].
///
/// # Errors
/// Returns the errors of [`vacuum`], but accepts asynchronous stores.
pub async fn vacuum_async(
    folder: impl Into<Location>,
    options: VacuumOptions,
) -> Result<Vec<UnusedFile>> {
    Ok(vacuum_report_async(folder, options).await?.unused)
}

/// Finds and removes files that no shard needs, like [`vacuum`], and returns those that are too young as well.
///
/// # Errors
/// Returns the errors of [`vacuum`].
pub fn vacuum_report(folder: impl Into<Location>, options: VacuumOptions) -> Result<VacuumReport> {
    let folder = folder.into();
    folder.store().check_near("vacuum_report_async")?;
    ready_now(vacuum_report_async(folder, options))
}

/// Finds and removes files that no shard needs, in any store: the asynchronous form of [`vacuum_report`].
///
/// # Errors
/// Returns the errors of [`vacuum`], but accepts asynchronous stores.
pub async fn vacuum_report_async(
    folder: impl Into<Location>,
    options: VacuumOptions,
) -> Result<VacuumReport> {
    let folder = folder.into();
    let store = folder.store();
    let home = store.home();
    // Listed before the directories are read: a stripe file that appears later is in use.
    let listed = home.list(folder.name()).await?;
    // The age of temporary files is part of `is_abandoned`.
    let is_old =
        |file: &ListedFile| role(file) == FileRole::Temporary || options.is_old(file.changed);
    let candidates = listed.iter().filter(|file| is_candidate(file)).cloned();
    let (candidates, young): (Vec<ListedFile>, Vec<ListedFile>) = candidates.partition(is_old);
    let mut directories = directories(listed);
    let (mut used, mut read) = (HashSet::new(), HashSet::new());
    let mut doubts = Vec::new();
    let mut work = options.directories();
    // Until a listing has no new directory: a directory that appeared during the reads may have taken over stripes.
    loop {
        directories.retain(|file| read.insert((file.place.clone(), state(file))));
        if directories.is_empty() {
            break;
        }
        work.expect(directories.len());
        for (place, found) in read_all(store, &directories, &options, &mut work).await? {
            match found {
                FileContent::Shard(files) => {
                    used.extend(files);
                    // The shard may be a temporary file, and itself a candidate.
                    used.insert(place);
                }
                FileContent::Other => {}
                FileContent::Doubt => doubts.push(place),
            }
        }
        directories = self::directories(home.list(folder.name()).await?);
    }
    doubts.sort_by_key(Place::to_string);
    let is_unused = |file: &&ListedFile| !used.contains(&file.place);
    let mut young = with_magic(store, young.iter().filter(is_unused).collect()).await?;
    young.sort_by_key(|file| file.place.to_string());
    let candidates = candidates.iter().filter(is_unused);
    let (temporary, stripes): (Vec<&ListedFile>, Vec<&ListedFile>) =
        candidates.partition(|file| role(file) == FileRole::Temporary);
    let stripes = with_magic(store, stripes).await?;
    if !stripes.is_empty() {
        // A file that no longer exists does not matter.
        for doubt in &doubts {
            if home.look(doubt).await?.is_some() {
                return Err(doubtful().within(doubt.element()));
            }
        }
    }
    let mut unused = [temporary, stripes].concat();
    unused.sort_by_key(|file| file.place.to_string());
    if !options.dry_run {
        for file in &unused {
            home.remove(&file.place).await?;
        }
    }
    let found = |files: Vec<&ListedFile>| {
        let found = files.into_iter().map(|file| UnusedFile {
            location: store.at(home.name_of(&file.place)),
            bytes: file.bytes,
        });
        found.collect()
    };
    Ok(VacuumReport {
        unused: found(unused),
        young: found(young),
    })
}

/// Returns the role of a file, by its name.
fn role(file: &ListedFile) -> FileRole {
    file.place
        .names()
        .last()
        .map_or(FileRole::Shard, |name| FileRole::of(name))
}

/// Whether this crate wrote the file, as far as its name tells, and no writer has it open.
fn is_candidate(file: &ListedFile) -> bool {
    match role(file) {
        _ if file.is_link => false,
        FileRole::Shard => false,
        FileRole::Stripes => is_own(file),
        FileRole::Temporary => file.is_abandoned,
    }
}

/// Whether the name of a stripe file is one that this crate generates.
fn is_own(file: &ListedFile) -> bool {
    let name = file.place.names().last().and_then(|name| name.to_str());
    name.is_some_and(is_own_stripe_file)
}

/// Returns the files that may refer to others. The target of a link is read under any name.
fn directories(mut files: Vec<ListedFile>) -> Vec<ListedFile> {
    files.retain(|file| file.is_link || role(file) != FileRole::Stripes || !is_own(file));
    files
}

/// Returns what differs for another file of the same name.
fn state(file: &ListedFile) -> (Option<String>, SystemTime, u64) {
    (file.version.clone(), file.changed, file.bytes)
}

/// The result of reading a file.
#[derive(Debug)]
enum FileContent {
    /// A shard that refers to these files.
    Shard(Vec<Place>),
    /// A file that refers to no others.
    Other,
    /// A file that may be a damaged shard.
    Doubt,
}

/// Reads directory files, several at a time if the store is asynchronous.
async fn read_all(
    store: &Store,
    files: &[ListedFile],
    options: &VacuumOptions,
    work: &mut WorkProgress,
) -> Result<Vec<(Place, FileContent)>> {
    let mut all = Vec::with_capacity(files.len());
    #[cfg(feature = "object_store")]
    if !store.is_near() {
        let read = |file: &ListedFile| {
            let (store, file) = (store.clone(), file.clone());
            async move {
                let found = used_by(&store, &file, options).await?;
                Ok((file.place, found))
            }
        };
        let reads: Vec<BoxFuture<'_, Result<(Place, FileContent)>>> =
            files.iter().map(|file| Box::pin(read(file)) as _).collect();
        let mut reads = stream::iter(reads).buffered(AT_ONCE);
        while let Some(found) = reads.next().await {
            all.push(found?);
            work.add(1)?;
        }
        return Ok(all);
    }
    for file in files {
        all.push((file.place.clone(), used_by(store, file, options).await?));
        work.add(1)?;
    }
    Ok(all)
}

/// Reads the references of a file.
async fn used_by(store: &Store, file: &ListedFile, options: &VacuumOptions) -> Result<FileContent> {
    use ErrorKind::{Corrupt, NotAShard, NotFound};
    let (home, place) = (store.home(), &file.place);
    let opened = match home.open(place, DescriptorUse::Open) {
        Ok(opened) => Shard::of_opened(opened, options.shard_options()).await,
        Err(error) => Err(error),
    };
    match opened {
        Ok(shard) => {
            let references = async { shard.references(&node_ids(&shard).await?).await };
            let urls = references.await.within(|| place.element())?;
            // A file that does not exist needs no protection.
            let files = urls
                .iter()
                .filter_map(|url| home.resolve(place.beside(url)));
            Ok(FileContent::Shard(files.collect()))
        }
        Err(error) => match (role(file), error.kind()) {
            // A writer may be writing the file, or may have renamed it.
            (FileRole::Temporary, Corrupt | NotAShard | NotFound) => Ok(FileContent::Other),
            // A data file of a stripe has no directory.
            (FileRole::Stripes, Corrupt | NotAShard) => Ok(FileContent::Other),
            _ if store.at(home.name_of(place)).is_of_another_kind(&error) => {
                let len = |bytes: usize| (bytes as u64).min(file.bytes);
                let head = bytes(store, place, 0, len(HEAD_BYTES)).await?;
                let tail = len(TAIL_BYTES);
                let tail = bytes(store, place, file.bytes - tail, tail).await?;
                if is_other_format(&head, &tail) {
                    Ok(FileContent::Other)
                } else {
                    Ok(FileContent::Doubt)
                }
            }
            // A missing object is an error: it may have another name now, which was not listed.
            _ => Err(error),
        },
    }
}

/// Returns the files that begin with the header of a shard, several at a time if the store is asynchronous.
async fn with_magic<'a>(store: &Store, files: Vec<&'a ListedFile>) -> Result<Vec<&'a ListedFile>> {
    let mut found = Vec::with_capacity(files.len());
    #[cfg(feature = "object_store")]
    if !store.is_near() {
        let look = |file: &'a ListedFile| {
            let store = store.clone();
            let looked: BoxFuture<'a, Result<Option<&'a ListedFile>>> =
                Box::pin(async move { Ok(begins_with_magic(&store, file).await?.then_some(file)) });
            looked
        };
        let looks: Vec<_> = files.into_iter().map(look).collect();
        let mut looks = stream::iter(looks).buffered(AT_ONCE);
        while let Some(looked) = looks.next().await {
            found.extend(looked?);
        }
        return Ok(found);
    }
    for file in files {
        if begins_with_magic(store, file).await? {
            found.push(file);
        }
    }
    Ok(found)
}

/// Whether a file begins with the header of a shard. False if it no longer exists.
async fn begins_with_magic(store: &Store, file: &ListedFile) -> Result<bool> {
    let len = (MAGIC.len() as u64).min(file.bytes);
    match bytes(store, &file.place, 0, len).await {
        Ok(head) => Ok(*head == MAGIC),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns `len` bytes of a file.
async fn bytes(store: &Store, file: &Place, start: u64, len: u64) -> Result<Bytes> {
    let range = ByteRange::with_len(start, len)?;
    if len == 0 {
        return Ok(Bytes::new());
    }
    match store.home().open(file, DescriptorUse::Open)? {
        OpenedFile::Blocking(reader, _) => reader.read_at(range),
        OpenedFile::Async(reader, _) => {
            let read = reader.read_ranges(vec![range]).await?;
            Ok(read.into_iter().next().unwrap_or_default())
        }
    }
}

/// Options of [`vacuum`]: which files it removes.
#[derive(Debug, Clone, PartialEq)]
pub struct VacuumOptions {
    min_age: Duration,
    dry_run: bool,
    opening: ShardOptions,
    listener: Listener,
}

impl Default for VacuumOptions {
    fn default() -> Self {
        Self {
            min_age: Duration::from_secs(24 * 60 * 60),
            dry_run: false,
            opening: ShardOptions::default(),
            listener: Listener::default(),
        }
    }
}

settings! {
    VacuumOptions {
        /// Minimum age of the stripe files to remove; a day by default. It must exceed the time that any writer needs
        /// from its first stripe to the directory file. It must also exceed the time for which readers and editors keep
        /// a replaced directory open: they lose the files to which only that directory refers. Temporary files stay for
        /// at least an hour.
        min_age, with_min_age: Duration;
        /// Whether to list the files without removing them. Off by default.
        dry_run, with_dry_run: bool;
    }
}

opening!(VacuumOptions);

with_progress! {
    VacuumOptions,
    /// Calls `progress` after each directory file, or file of another format, that has been read. If it breaks, the
    /// vacuum stops before it removes anything.
}

impl VacuumOptions {
    /// Returns the work of reading the directory files. Their number is not known yet.
    fn directories(&self) -> WorkProgress {
        WorkProgress::new(self.listener.clone(), 0)
    }

    /// Whether a file that was last changed at this time is old enough.
    fn is_old(&self, changed: SystemTime) -> bool {
        let age = SystemTime::now().duration_since(changed);
        age.is_ok_and(|age| age >= self.min_age)
    }
}
