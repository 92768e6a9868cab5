//! The files of a shard.

use super::names::FileNames;
use super::options::ShardOptions;
use super::store::{ArtifactReader, join_all};
use super::waiting::check_may_wait;
use crate::buffer::StoredRange;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::external::VerifiedFiles;
use crate::io::FileContainer;
use crate::io::{
    ByteRange, ReadAt, Reference, RelativeUrl, read_all, read_all_async, resolve, with_advice,
};
use crate::limits::Limits;
use bytes::Bytes;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most artifacts that are kept open, not counting the directory file and those in memory: a shard may have thousands
/// of stripes, and some containers hold a file descriptor for each open file.
const MAX_OPEN_ARTIFACTS: usize = 64;

/// Most artifacts that are read at a time.
const MAX_CONCURRENT_READS: usize = 16;

/// Largest gap that an asynchronous reader fetches along: transferring it is faster than another request.
const DISTANT_GAP: u64 = 1 << 20;

/// Default number of bytes to fetch at a time from a near file.
const NEAR_FETCH_BYTES: u64 = 8 << 20;
/// Default number of bytes to fetch at a time from any other file.
const DISTANT_FETCH_BYTES: u64 = 32 << 20;

/// The artifacts of an open shard. Number 0 is the directory file; the others are numbered in the order in which
/// references to them are found.
#[derive(Debug)]
pub(in crate::read) struct Artifacts {
    names: FileNames,
    root: ArtifactReader,
    root_size: u64,
    root_resident: Option<Bytes>,
    /// The last bytes of the directory file.
    tail: Bytes,
    files: FileContainer,
    base: Option<String>,
    options: ShardOptions,
    others: Mutex<Others>,
    verified_files: Arc<VerifiedFiles>,
}

/// The artifacts other than the directory file.
#[derive(Debug, Default)]
struct Others {
    /// In the order of their numbers.
    artifacts: Vec<Artifact>,
    ordinals: HashMap<FilePlace, usize>,
    /// Open artifacts that are not in memory; the most recently used one is last.
    open: Vec<(usize, Arc<dyn ReadAt>)>,
}

/// The place of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FilePlace {
    /// The ordinal of the folder outside of the shard's folder, among those that the options allow.
    elsewhere: Option<usize>,
    /// The path below the folder.
    url: RelativeUrl,
}

impl From<(usize, RelativeUrl)> for FilePlace {
    fn from((folder, url): (usize, RelativeUrl)) -> Self {
        let elsewhere = Some(folder);
        Self { elsewhere, url }
    }
}

#[derive(Debug)]
struct Artifact {
    place: FilePlace,
    /// Whether it is a file of another format.
    is_external: bool,
    /// Size and version when it was first opened.
    identity: Option<Identity>,
    /// Its reader and bytes if it is in memory; it then stays open.
    resident: Option<(Arc<dyn ReadAt>, Bytes)>,
    /// Its reader if it is asynchronous; such a reader holds no open file.
    distant: Option<ArtifactReader>,
}

/// Properties that show whether a reopened artifact is still the same file.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    size: u64,
    version: Option<String>,
}

impl Others {
    fn get(&self, artifact: u32) -> Option<&Artifact> {
        self.artifacts.get((artifact as usize).checked_sub(1)?)
    }

    /// Returns the reader of an artifact, if it is open.
    fn reader(&mut self, ordinal: usize) -> Option<Arc<dyn ReadAt>> {
        if let Some((reader, _)) = &self.artifacts.get(ordinal)?.resident {
            return Some(reader.clone());
        }
        let place = self.open.iter().rposition(|(open, _)| *open == ordinal)?;
        if let Some(later) = self.open.get_mut(place..) {
            later.rotate_left(1);
        }
        self.open.last().map(|(_, reader)| reader.clone())
    }

    /// Keeps a reader that was just opened, unless another thread was faster. Returns the kept reader.
    fn keep(&mut self, ordinal: usize, reader: Arc<dyn ReadAt>) -> Result<Arc<dyn ReadAt>> {
        let identity = Identity {
            size: reader.size()?,
            version: reader.version(),
        };
        let open = self.reader(ordinal);
        let Some(artifact) = self.artifacts.get_mut(ordinal) else {
            return Err(Error::corrupt(format!("no artifact {}", ordinal + 1)));
        };
        match &artifact.identity {
            Some(first) if *first != identity => {
                return Err(Error::new(
                    ErrorKind::Replaced,
                    "the file is not the one that was opened first; open the shard again",
                ));
            }
            Some(_) => {}
            None => artifact.identity = Some(identity),
        }
        if let Some(open) = open {
            return Ok(open);
        }
        match reader.resident() {
            Some(bytes) => artifact.resident = Some((reader.clone(), bytes)),
            None => {
                if self.open.len() >= MAX_OPEN_ARTIFACTS {
                    self.open.remove(0);
                }
                self.open.push((ordinal, reader.clone()));
            }
        }
        Ok(reader)
    }
}

impl Artifacts {
    pub(in crate::read) fn new(
        names: FileNames,
        root: ArtifactReader,
        root_size: u64,
        tail: Bytes,
        files: FileContainer,
        base: Option<String>,
        options: ShardOptions,
    ) -> Self {
        Self {
            names,
            root_size,
            tail,
            root_resident: root.resident(),
            root,
            files,
            base,
            options,
            others: Mutex::default(),
            verified_files: Arc::default(),
        }
    }

    pub(in crate::read) fn options(&self) -> &ShardOptions {
        &self.options
    }

    /// Returns the external files that have been found to be those that the shard was made for.
    pub(in crate::read) fn verified_files(&self) -> &Arc<VerifiedFiles> {
        &self.verified_files
    }

    pub(in crate::read) fn limits(&self) -> &Limits {
        self.options.limits()
    }

    /// Returns the version of the directory file when it was opened, if it is known.
    pub(in crate::read) fn version(&self) -> Option<String> {
        match &self.root {
            ArtifactReader::Blocking(reader) => reader.version(),
            ArtifactReader::Async(reader) => reader.version(),
        }
    }

    /// Returns the name of the directory file.
    pub(in crate::read) fn name(&self) -> &str {
        self.names.name()
    }

    /// Returns the owner of the columns in messages: "the shard" or "the file".
    pub(in crate::read) fn owner(&self) -> &'static str {
        self.names.owner()
    }

    /// Returns the directory file as a place in errors.
    pub(in crate::read) fn place(&self) -> String {
        self.names.place_of(None)
    }

    /// Returns an artifact as a place in errors.
    pub(in crate::read) fn place_of(&self, artifact: u32) -> String {
        match self.others().get(artifact) {
            Some(other) => self.describe(&other.place),
            None => self.place(),
        }
    }

    /// Adds the artifact to an error about its bytes, except for the directory file, which other steps add.
    pub(in crate::read) fn placed<T>(&self, artifact: u32, result: Result<T>) -> Result<T> {
        match artifact {
            0 => result,
            _ => result.within(|| self.place_of(artifact)),
        }
    }

    /// Returns the number of the artifact that a reference in artifact `from` names.
    pub(in crate::read) fn resolve(&self, url: &str, from: u32) -> Result<u32> {
        let url = match resolve(url, self.base.as_deref())? {
            Reference::This => return Ok(from),
            Reference::Relative(url) => url,
        };
        let elsewhere = None;
        self.number(FilePlace { elsewhere, url })
    }

    /// Returns the number of the artifact at a place.
    fn number(&self, place: FilePlace) -> Result<u32> {
        let mut others = self.others();
        let ordinal = match others.ordinals.get(&place) {
            Some(ordinal) => *ordinal,
            None => {
                let ordinal = others.artifacts.len();
                others.ordinals.insert(place.clone(), ordinal);
                others.artifacts.push(Artifact {
                    place,
                    is_external: false,
                    identity: None,
                    resident: None,
                    distant: None,
                });
                ordinal
            }
        };
        u32::try_from(ordinal + 1)
            .map_err(|_| Error::new(ErrorKind::LimitExceeded, "too many artifacts"))
    }

    /// Returns the number of the file of another format that a reference in artifact `from` names.
    pub(in crate::read) fn resolve_external(&self, url: &str, from: u32) -> Result<u32> {
        let artifact = match self.resolve(url, from) {
            Ok(artifact) => artifact,
            Err(error) => match self.options.external_files().find(url) {
                Some(found) => self.number(found.into())?,
                None => return Err(not_allowed(error)),
            },
        };
        let ordinal = (artifact as usize).checked_sub(1);
        let mut others = self.others();
        if let Some(found) = ordinal.and_then(|ordinal| others.artifacts.get_mut(ordinal)) {
            found.is_external = true;
        }
        Ok(artifact)
    }

    /// Returns the target of a reference, or `None` for a file outside of the shard's folder that the options allow.
    pub(in crate::read) fn target(&self, url: &str) -> Result<Option<Reference>> {
        match resolve(url, self.base.as_deref()) {
            Ok(target) => Ok(Some(target)),
            Err(_) if self.options.external_files().find(url).is_some() => Ok(None),
            Err(error) => Err(not_allowed(error)),
        }
    }

    /// Returns an artifact other than the directory file as a place in errors.
    fn describe(&self, place: &FilePlace) -> String {
        match place.elsewhere {
            None => self.names.place_of(Some(&place.url)),
            Some(folder) => {
                let files = self.options.external_files();
                self.names
                    .place_elsewhere(&files.name_of(folder, &place.url))
            }
        }
    }

    fn others(&self) -> MutexGuard<'_, Others> {
        // No operation leaves it half changed, so another thread's panic does no harm.
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the files are behind asynchronous readers.
    fn are_async(&self) -> bool {
        matches!(self.root, ArtifactReader::Async(_))
    }

    /// Fails if the files are behind asynchronous readers and a blocking method runs, even for bytes in memory.
    /// Otherwise, the size of the files would decide which blocking methods work.
    pub(in crate::read) fn check_may_wait(&self) -> Result<()> {
        if self.are_async() {
            check_may_wait()
        } else {
            Ok(())
        }
    }

    /// Whether small reads of the directory file are as efficient as large ones.
    pub(in crate::read) fn are_near(&self) -> bool {
        self.root.is_near()
    }

    /// Returns all bytes of an artifact, if they are in memory anyway.
    pub(in crate::read) fn resident(&self, artifact: u32) -> Option<Bytes> {
        if artifact == 0 {
            return self.root_resident.clone();
        }
        let others = self.others();
        let (_, bytes) = others.get(artifact)?.resident.as_ref()?;
        Some(bytes.clone())
    }

    /// Returns the end of the directory file, which was read when the shard was opened.
    pub(in crate::read) fn tail(&self) -> Result<(StoredRange, Bytes)> {
        let start = self.root_size - self.tail.len() as u64;
        let range = ByteRange::try_new(start, self.root_size)?;
        Ok((StoredRange { artifact: 0, range }, self.tail.clone()))
    }

    /// Returns the bytes of a place, if they were read when the shard was opened.
    pub(in crate::read) fn in_tail(&self, place: StoredRange) -> Option<Bytes> {
        let start = self.root_size - self.tail.len() as u64;
        if place.artifact != 0 || place.range.end() > self.root_size {
            return None;
        }
        let from = usize::try_from(place.range.start().checked_sub(start)?).ok()?;
        let to = usize::try_from(place.range.end() - start).ok()?;
        Some(self.tail.slice(from..to))
    }

    /// Returns the largest gap that a request spans.
    pub(in crate::read) fn coalesce_gap(&self) -> u64 {
        match &self.root {
            ArtifactReader::Blocking(_) => self.options.coalesce_gap(),
            ArtifactReader::Async(_) => self.options.coalesce_gap().max(DISTANT_GAP),
        }
    }

    /// Whether a round of requests takes longer than the transfer of many bytes that may not be needed.
    pub(in crate::read) fn have_latency(&self) -> bool {
        !self.are_near() && self.coalesce_gap() >= DISTANT_GAP
    }

    /// Returns the approximate number of bytes to fetch at a time.
    pub(in crate::read) fn fetch_bytes(&self) -> u64 {
        let default = if self.are_near() {
            NEAR_FETCH_BYTES
        } else {
            DISTANT_FETCH_BYTES
        };
        self.options.fetch_bytes().unwrap_or(default)
    }

    /// Returns the size of the directory file in bytes.
    pub(in crate::read) fn root_size(&self) -> u64 {
        self.root_size
    }

    /// Reads places of one or more artifacts. Asynchronous readers of several artifacts work at the same time.
    pub(in crate::read) async fn read(&self, places: &[StoredRange]) -> Result<Vec<Bytes>> {
        let mut out = Vec::with_capacity(places.len());
        let groups: Vec<&[StoredRange]> =
            places.chunk_by(|a, b| a.artifact == b.artifact).collect();
        for some in groups.chunks(MAX_CONCURRENT_READS) {
            let reads = some.iter().map(|group| self.read_group(group));
            for read in join_all(reads).await {
                out.extend(read?);
            }
        }
        Ok(out)
    }

    /// Reads places of one artifact.
    async fn read_group(&self, places: &[StoredRange]) -> Result<Vec<Bytes>> {
        let artifact = places.first().map_or(0, |place| place.artifact);
        let reader = self.reader(artifact)?;
        let size = match (artifact, &reader) {
            (0, _) => Ok(Some(self.root_size)),
            (_, ArtifactReader::Blocking(reader)) => reader.size().map(Some),
            (_, ArtifactReader::Async(reader)) => Ok(reader.known_size()),
        };
        let ranges = size.and_then(|size| {
            let ranges = places.iter().map(|place| match size {
                Some(size) => self.within_size(*place, size),
                None => Ok(place.range),
            });
            ranges.collect::<Result<Vec<_>>>()
        });
        let ranges = ranges.within(|| self.place_of(artifact))?;
        let read = match reader {
            ArtifactReader::Blocking(reader) => read_all(&*reader, &ranges),
            ArtifactReader::Async(reader) => match check_may_wait() {
                Ok(()) => read_all_async(&*reader, ranges).await,
                Err(error) => Err(error),
            },
        };
        let read = read.map_err(|error| match error.kind() {
            // Only the reader knew the size of the file.
            ErrorKind::Corrupt => self.too_short(error, artifact),
            _ => self.explained(error, artifact),
        });
        read.within(|| self.place_of(artifact))
    }

    fn reader(&self, artifact: u32) -> Result<ArtifactReader> {
        if artifact == 0 {
            return Ok(self.root.clone());
        }
        let ordinal = artifact as usize - 1;
        let place = {
            let mut others = self.others();
            if let Some(distant) = others.get(artifact).and_then(|other| other.distant.clone()) {
                return Ok(distant);
            }
            if let Some(reader) = others.reader(ordinal) {
                return Ok(ArtifactReader::Blocking(reader));
            }
            match others.get(artifact) {
                Some(other) => other.place.clone(),
                None => return Err(Error::corrupt(format!("no artifact {artifact}"))),
            }
        };
        let opened = self.open(ordinal, &place).or_else(|error| {
            // A symbolic link may lead to a place that the options allow.
            match self.link_target(&place) {
                Some(target) if error.kind() == ErrorKind::ForbiddenUrl => {
                    self.open(ordinal, &target)
                }
                _ => Err(error),
            }
        });
        let opened = opened.map_err(|error| self.explained(error, artifact));
        opened.within(|| self.place_of(artifact))
    }

    /// Returns the target of a symbolic link to a file of another format in a folder that the options allow.
    fn link_target(&self, place: &FilePlace) -> Option<FilePlace> {
        let others = self.others();
        let ordinal = *others.ordinals.get(place)?;
        let is_external = others.artifacts.get(ordinal)?.is_external;
        if !is_external || place.elsewhere.is_some() {
            return None;
        }
        let files = self.options.external_files();
        let target = files.find_target(self.base()?, &place.url)?;
        Some(target.into())
    }

    /// Opens the artifact with this ordinal at a place.
    fn open(&self, ordinal: usize, place: &FilePlace) -> Result<ArtifactReader> {
        let files = match place.elsewhere {
            None => Some(&self.files),
            Some(folder) => self.options.external_files().files(folder),
        };
        let files = files.ok_or_else(|| Error::corrupt("a file in no folder"))?;
        match files {
            FileContainer::Blocking(container) => container
                .open(&place.url)
                .and_then(|reader| self.others().keep(ordinal, reader))
                .map(ArtifactReader::Blocking),
            FileContainer::Async(container) => container.open(&place.url).map(|reader| {
                let mut others = self.others();
                let distant = others
                    .artifacts
                    .get_mut(ordinal)
                    .map(|other| &mut other.distant);
                // Another thread may have been faster.
                match distant {
                    Some(distant) => distant.get_or_insert(ArtifactReader::Async(reader)).clone(),
                    None => ArtifactReader::Async(reader),
                }
            }),
        }
    }

    /// Returns the number of artifacts that references have named so far, including the directory file.
    pub(in crate::read) fn count(&self) -> u32 {
        u32::try_from(self.others().artifacts.len()).map_or(u32::MAX, |n| n.saturating_add(1))
    }

    /// Returns the size of an artifact in bytes.
    pub(in crate::read) async fn size_of(&self, artifact: u32) -> Result<u64> {
        let size = match artifact {
            0 => return Ok(self.root_size),
            _ => self.reader(artifact)?.size().await,
        };
        let size = size.map_err(|error| self.explained(error, artifact));
        size.within(|| self.place_of(artifact))
    }

    /// Returns the path of an artifact in the folder of the shard; `None` for the directory file and for files
    /// elsewhere.
    pub(in crate::read) fn url_of(&self, artifact: u32) -> Option<RelativeUrl> {
        let others = self.others();
        let place = &others.get(artifact)?.place;
        place.elsewhere.is_none().then(|| place.url.clone())
    }

    /// Returns the folder of the shard as an absolute path, if it is known.
    pub(in crate::read) fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Returns the name of an artifact in reports: the one by which the shard refers to it.
    pub(in crate::read) fn name_of(&self, artifact: u32) -> String {
        match self.others().get(artifact) {
            Some(Artifact { place, .. }) => match place.elsewhere {
                None => place.url.path().to_owned(),
                Some(folder) => self.options.external_files().name_of(folder, &place.url),
            },
            None => self.name().to_owned(),
        }
    }

    /// Returns the range of a place if its file, of `size` bytes, contains it.
    pub(in crate::read) fn within_size(&self, place: StoredRange, size: u64) -> Result<ByteRange> {
        let range = place.range.within_size(size);
        range.map_err(|error| self.too_short(error, place.artifact))
    }

    /// Adds to the error of a range beyond the end of an artifact how that may have come about.
    fn too_short(&self, error: Error, artifact: u32) -> Error {
        let cause = if artifact == 0 {
            return error;
        } else if self.is_external(artifact) {
            "the Parquet file was cut off or written again; restore it, or attach it again"
        } else {
            "the file was cut off, or another one has replaced it"
        };
        Error::new(error.kind(), format!("{}; {cause}", error.message()))
    }

    /// Marks errors of a reader or a container that say nothing about the shard itself. If a file is missing, says
    /// which shard needs it and how to complete the shard. The directory file was there when the shard was opened, so
    /// its absence is an error of the reader.
    fn explained(&self, error: Error, artifact: u32) -> Error {
        match error.kind() {
            ErrorKind::Io | ErrorKind::Replaced | ErrorKind::InvalidArgument => error.of_reader(),
            ErrorKind::NotFound if artifact == 0 => error.of_reader(),
            // The error of the system says the same once more.
            ErrorKind::NotFound => Error::new(ErrorKind::NotFound, self.advice(artifact)),
            ErrorKind::ForbiddenUrl if self.is_external(artifact) => with_advice(error),
            _ => error,
        }
    }

    /// Whether an artifact is a file of another format.
    fn is_external(&self, artifact: u32) -> bool {
        self.others()
            .get(artifact)
            .is_some_and(|file| file.is_external)
    }

    /// Returns which shard needs a file that is missing, and how to complete the shard.
    fn advice(&self, artifact: u32) -> String {
        let name = self.name();
        if self.is_external(artifact) {
            return format!(
                "`{name}` refers to the rows of this Parquet file; put it back in its place, or attach the \
                 remaining files again"
            );
        }
        format!(
            "`{name}` needs this file besides its directory; copy it to the same place, or pack the shard where it \
             is complete: `arrow-shard pack` makes one file of it, after `arrow-shard compact --external` if it has \
             rows in Parquet files"
        )
    }
}

/// Adds to the error of a reference that leads out of the folder how to allow the place.
fn not_allowed(error: Error) -> Error {
    if error.kind() == ErrorKind::ForbiddenUrl {
        with_advice(error)
    } else {
        error
    }
}
