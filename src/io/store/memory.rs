//! A folder in memory as a store.

use super::now_sink::NowSink;
use super::{
    BoxFuture, DescriptorUse, ExistingFile, FileContainer, FileState, FileToKeep, Home, ListedFile,
    NewFiles, NotWritten, OpenedFile, SecondNames, ShardSinks, Sinks,
};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::names::check_output_name;
use crate::io::place::Place;
use crate::io::{AsyncSink, Container, MemoryFolder, RelativeUrl, Sink, SinkFactory};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::future::ready;
use std::sync::Arc;
use std::time::SystemTime;

/// The files of a folder in memory.
#[derive(Debug)]
pub(super) struct MemoryHome(pub(super) MemoryFolder);

impl MemoryHome {
    fn get(&self, file: &Place) -> Result<Bytes> {
        self.0.get(&file.to_string()).ok_or_else(|| missing(file))
    }
}

fn missing(file: &Place) -> Error {
    Error::new(ErrorKind::NotFound, "the file does not exist").within(file.element())
}

/// Changes the files of a folder as a write asks for: all of them, or none.
fn write(
    all: &mut BTreeMap<String, Bytes>,
    target: &Place,
    existing: &ExistingFile,
    files: NewFiles,
) -> Result<()> {
    let name = target.to_string();
    match (existing, all.get(&name)) {
        (ExistingFile::Kept, Some(_)) => {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                "the file exists; choose another name",
            ));
        }
        (ExistingFile::Kept, None) | (ExistingFile::Replaced, _) => {}
        (ExistingFile::ReplacedIf(version), Some(found)) if version_of(found) == *version => {}
        (ExistingFile::ReplacedIf(_), _) => {
            return Err(Error::new(
                ErrorKind::Conflict,
                "the file was replaced or removed meanwhile, and is left as it is; open it again and repeat the change",
            ));
        }
    }
    let mut added = Vec::new();
    for FileToKeep { file, name } in &files.kept {
        let found = all.get(&file.place.to_string());
        let content = found.ok_or_else(|| missing(&file.place))?.clone();
        let expected = file.version.as_ref();
        if expected.is_some_and(|it| version_of(&content) != *it) {
            return Err(file.conflict());
        }
        let url = RelativeUrl::from_file_name(name)?;
        added.push((file.place.beside(&url).to_string(), content));
    }
    for (name, content) in files.others {
        let url = RelativeUrl::from_file_name(&name)?;
        added.push((target.beside(&url).to_string(), content));
    }
    all.extend(added);
    all.insert(name, files.directory);
    Ok(())
}

/// Returns the identity of a content: its address, which no other content has while a reader holds this one.
fn version_of(content: &Bytes) -> String {
    format!("{:p} {}", content.as_ptr(), content.len())
}

fn place_of(name: &OsStr) -> Place {
    let name = name.to_string_lossy();
    let names = name.split('/').filter(|name| !name.is_empty());
    Place::memory(names.map(OsString::from))
}

impl Home for MemoryHome {
    fn is_near(&self) -> bool {
        true
    }

    fn has_second_names(&self) -> bool {
        true
    }

    fn id(&self) -> String {
        format!("memory at {:p}", self.0.address())
    }

    fn join(&self, folder: &OsStr, name: &OsStr) -> OsString {
        let mut joined = folder.to_owned();
        if !joined.is_empty() && !joined.as_encoded_bytes().ends_with(b"/") {
            joined.push("/");
        }
        joined.push(name);
        joined
    }

    fn folder(&self, names: &[OsString]) -> Place {
        Place::memory(names.iter().cloned())
    }

    fn name_of(&self, place: &Place) -> OsString {
        place.to_string().into()
    }

    fn find(&self, name: &OsStr) -> Result<Place> {
        let place = place_of(name);
        self.get(&place)?;
        Ok(place)
    }

    fn find_new(&self, name: &OsStr) -> Result<Place> {
        let place = place_of(name);
        let Some(last) = place.names().last() else {
            return Err(Error::invalid("the location names no file"));
        };
        check_output_name(&last.to_string_lossy()).within(|| place.element())?;
        Ok(place)
    }

    fn describe_folder(&self, name: &OsStr) -> String {
        format!("folder `{}`", name.display())
    }

    fn full_name(&self, name: &OsStr) -> OsString {
        place_of(name).to_string().into()
    }

    fn resolve(&self, place: Place) -> Option<Place> {
        self.get(&place).ok().map(|_| place)
    }

    fn open(&self, file: &Place, _held: DescriptorUse) -> Result<OpenedFile> {
        let content = Named {
            content: self.get(file)?,
            name: file.to_string(),
        };
        let folder = MemoryBelow {
            folder: self.0.clone(),
            names: file.folder().to_vec(),
        };
        Ok(OpenedFile::Blocking(Arc::new(content), Arc::new(folder)))
    }

    fn container(&self, folder: &[OsString]) -> Result<FileContainer> {
        Ok(FileContainer::Blocking(Arc::new(MemoryBelow {
            folder: self.0.clone(),
            names: folder.to_vec(),
        })))
    }

    fn sinks(&self, beside: &Place) -> Result<Sinks> {
        Ok(Sinks::Blocking(Box::new(MemoryBelow {
            folder: self.0.clone(),
            names: beside.folder().to_vec(),
        })))
    }

    fn sink<'a>(
        &'a self,
        name: &'a OsStr,
        existing: ExistingFile,
    ) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>> {
        let sink = self.find_new(name).and_then(|place| {
            let name = place.to_string();
            let sink = self.0.sink(&name, !matches!(existing, ExistingFile::Kept));
            let sink = sink.within(|| place.element())?;
            Ok(Box::new(NowSink(Some(sink))) as Box<dyn AsyncSink>)
        });
        Box::pin(ready(sink))
    }

    fn shard_sinks<'a>(
        &'a self,
        name: &'a OsStr,
        overwrite: bool,
    ) -> BoxFuture<'a, Result<ShardSinks>> {
        let existing = if overwrite {
            ExistingFile::Replaced
        } else {
            ExistingFile::Kept
        };
        Box::pin(async move {
            Ok(ShardSinks {
                data: self.sinks(&self.find_new(name)?)?.into_async(),
                directory: self.sink(name, existing).await?,
            })
        })
    }

    fn write<'a>(
        &'a self,
        target: &'a Place,
        existing: ExistingFile,
        files: NewFiles,
    ) -> BoxFuture<'a, Result<SecondNames, NotWritten>> {
        let written = self.0.change(|all| write(all, target, &existing, files));
        let written = written.within(|| target.element());
        // A second name shares the bytes, which never change.
        let names = written.map(|()| SecondNames::default());
        Box::pin(ready(names.map_err(NotWritten::from)))
    }

    fn look<'a>(&'a self, file: &'a Place) -> BoxFuture<'a, Result<Option<FileState>>> {
        let content = self.0.get(&file.to_string());
        let found = content.map(|content| FileState {
            bytes: content.len() as u64,
            version: Some(version_of(&content)),
        });
        Box::pin(ready(Ok(found)))
    }

    fn names<'a>(&'a self, folder: &'a OsStr) -> BoxFuture<'a, Result<Vec<OsString>>> {
        let folder = place_of(folder);
        let all = self.0.names();
        let places = all.iter().map(|name| place_of(OsStr::new(name)));
        let inside = places.filter(|place| place.folder() == folder.names());
        let names = inside.filter_map(|place| place.names().last().cloned());
        Box::pin(ready(Ok(names.collect())))
    }

    fn list<'a>(&'a self, folder: &'a OsStr) -> BoxFuture<'a, Result<Vec<ListedFile>>> {
        let folder = place_of(folder);
        let entries = self.0.names().into_iter().filter_map(|name| {
            let place = place_of(OsStr::new(&name));
            let content = self.0.get(&name)?;
            place
                .names()
                .starts_with(folder.names())
                .then(|| ListedFile {
                    place,
                    bytes: content.len() as u64,
                    // Memory keeps no times: every file counts as old.
                    changed: SystemTime::UNIX_EPOCH,
                    version: Some(version_of(&content)),
                    is_link: false,
                    is_abandoned: false,
                })
        });
        Box::pin(ready(Ok(entries.collect())))
    }

    fn remove<'a>(&'a self, file: &'a Place) -> BoxFuture<'a, Result<()>> {
        let removed = self.0.clone().remove(&file.to_string());
        Box::pin(ready(removed.within(|| file.element())))
    }
}

/// A folder of the folder in memory.
#[derive(Debug)]
struct MemoryBelow {
    folder: MemoryFolder,
    names: Vec<OsString>,
}

impl MemoryBelow {
    /// Returns the place of a file of this folder.
    fn place(&self, url: &RelativeUrl) -> Place {
        let names = self.names.iter().cloned();
        Place::memory(names.chain(url.segments().map(OsString::from)))
    }
}

impl Container for MemoryBelow {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn crate::io::ReadAt>> {
        let name = self.place(url).to_string();
        match self.folder.get(&name) {
            Some(content) => Ok(Arc::new(Named { content, name })),
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("no file `{name}` in the folder in memory"),
            )),
        }
    }
}

impl SinkFactory for MemoryBelow {
    fn create(&mut self, name: &str) -> Result<Box<dyn Sink>> {
        let name = self.place(&RelativeUrl::from_file_name(name)?).to_string();
        let sink = self.folder.sink(&name, false);
        Ok(Box::new(sink.within(|| format!("file `{name}`"))?))
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        let name = self.place(&RelativeUrl::from_file_name(name)?).to_string();
        self.folder.remove(&name)
    }
}

/// Bytes in memory with a name, and a version.
#[derive(Debug)]
struct Named {
    content: Bytes,
    name: String,
}

impl crate::io::ReadAt for Named {
    fn size(&self) -> Result<u64> {
        self.content.size()
    }

    fn read_at(&self, range: crate::io::ByteRange) -> Result<Bytes> {
        let read = self.content.read_at(range);
        read.within(|| format!("file `{}`", self.name))
    }

    fn resident(&self) -> Option<Bytes> {
        Some(self.content.clone())
    }

    fn name(&self) -> Option<String> {
        Some(self.name.clone())
    }

    fn version(&self) -> Option<String> {
        Some(version_of(&self.content))
    }
}
