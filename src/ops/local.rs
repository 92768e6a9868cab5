//! Shards in local folders.

use super::commit::{EditSummary, Files, Kept, Naming};
use super::editor::ShardEditor;
use super::place::{FileRole, Place};
use super::sinks::create;
use crate::Shard;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::{ByteRange, LocalFile, LocalFolder, LocalSink, ReadAt, Sink, SinkFactory};
use crate::read::now;
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};

impl ShardEditor {
    /// Opens the shard whose directory file is `path`.
    ///
    /// # Errors
    /// Those of [`Shard::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = existing(path.as_ref())?;
        now(Self::of(Shard::open(&path)?, place_of(&path)?))
    }

    /// Appends the stripes of another shard, whose directory file is `path`: its rows follow those of
    /// this one. Columns are united by name; where a shard lacks one, its rows are null in it.
    ///
    /// Of shards of two [wires](crate::write::Wire), the directory is of `Wire::Spec`, and Bloom filters that
    /// this one has no place for are left out.
    ///
    /// 32-bit integers become 64-bit ones if all of them are the same in each stripe, or null: other
    /// values would have to be written anew. The rows are no more said to be sorted.
    ///
    /// # Errors
    /// Those of [`Shard::open`], [`SchemaMismatch`](ErrorKind::SchemaMismatch) for columns of one name
    /// whose types are not the same, and [`Unsupported`](ErrorKind::Unsupported) for fixed-size
    /// lists of `Wire::Reference` beside stripes of `Wire::Spec`. The editor is then as it was.
    pub fn append(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = existing(path.as_ref())?;
        now(self.append_at(Shard::open(&path)?, place_of(&path)?))
    }

    /// Replaces the directory of the shard that was opened. Whoever has it open can go on reading.
    ///
    /// If the shard was one file, its buffers stay beside the new directory under another name, because
    /// the directory refers to them. That takes no space where files can have two names.
    ///
    /// # Errors
    /// [`Conflict`](ErrorKind::Conflict) if the file has been replaced since it was opened, those of the
    /// metadata, or those of the operating system. The shard is then as it was.
    pub fn commit(self) -> Result<EditSummary> {
        let path = path_of(self.place());
        let version = self.version().ok_or_else(|| {
            Error::unsupported("this system does not tell one file from another of the same name")
        })?;
        let files = now(self.files(None, Naming::Kept))?;
        let sink = || LocalSink::replace(&path, version.clone());
        write(files, &path, sink).within(|| path.display().to_string())
    }

    /// Writes the directory file `path`, which must not exist. The shards that it refers to must be in
    /// its folder, or in folders below.
    ///
    /// # Errors
    /// [`AlreadyExists`](ErrorKind::AlreadyExists), [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) for shards
    /// elsewhere, those of the metadata, or those of the operating system. Nothing is then left behind.
    pub fn commit_to(self, path: impl AsRef<Path>) -> Result<EditSummary> {
        let path = path.as_ref();
        let name = path
            .file_name()
            .ok_or_else(|| Error::invalid("expected a path that ends in a file name"))?;
        let path = LocalFolder::of_file(path)?.path().join(name);
        let files = now(self.files(Some(&place_of(&path)?), Naming::Kept))?;
        write(files, &path, || LocalSink::create(&path)).within(|| path.display().to_string())
    }
}

/// Writes a shard that has the rows of several, one after the other, by referring to their buffers. The
/// new directory file is `target`; the shards must be in its folder, or in folders below.
///
/// ```no_run
/// use arrow_shard::ops::merge;
/// let merged = merge(["days/1.amudai.shard", "days/2.amudai.shard"], "week.amudai.shard")?;
/// println!("{} rows in {} stripes", merged.rows(), merged.stripes());
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Those of [`ShardEditor::append`] and [`ShardEditor::commit_to`], and
/// [`InvalidArgument`](ErrorKind::InvalidArgument) for no shard.
pub fn merge<P: AsRef<Path>>(
    shards: impl IntoIterator<Item = P>,
    target: impl AsRef<Path>,
) -> Result<EditSummary> {
    let mut shards = shards.into_iter();
    let first = shards.next();
    let first = first.ok_or_else(|| Error::invalid("there is no shard to merge"))?;
    let mut editor = ShardEditor::open(first)?;
    for shard in shards {
        editor.append(shard)?;
    }
    editor.commit_to(target)
}

/// Bytes that are copied at a time.
const COPIED: u64 = 1 << 20;

/// Writes the files of a shard, the directory last, or none.
fn write(files: Files, path: &Path, sink: impl Fn() -> Result<LocalSink>) -> Result<EditSummary> {
    let mut sink = sink()?;
    sink.write_all(&files.directory)?;
    let folder = LocalFolder::of_file(path)?;
    let mut folder = folder.with_permissions_of(path).with_writer_of(&sink);
    let mut written = Vec::new();
    let mut finish = || -> Result<()> {
        for (name, bytes) in &files.others {
            create(&mut folder, name, bytes)?;
            written.push(path.with_file_name(name));
        }
        for kept in &files.kept {
            let place = path_of(&kept.file.place);
            written.push(place.with_file_name(&kept.name));
            keep(kept, &place).within(|| place.display().to_string())?;
        }
        sink.commit()
    };
    if let Err(error) = finish() {
        for path in &written {
            // There is an error to tell already, and nothing refers to the file.
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    Ok(files.summary)
}

/// Gives a file a second name, or copies it where files have but one, or where one does not see when a
/// file got its name: a vacuum would take it for an old one.
fn keep(kept: &Kept, path: &Path) -> Result<()> {
    let other = path.with_file_name(&kept.name);
    // What was opened is what stays open: the name may lead to another file by now.
    let file = LocalFile::open(path)?;
    let expected = &kept.file.version;
    let check = |file: &LocalFile| match expected.is_some() && file.version() != *expected {
        true => Err(kept.file.conflict()),
        false => Ok(()),
    };
    check(&file)?;
    if cfg!(unix) && std::fs::hard_link(path, &other).is_ok() {
        return check(&LocalFile::open(&other)?);
    }
    let mut folder = LocalFolder::of_file(path)?.with_permissions_of(path);
    let mut copy = folder.create(&kept.name)?;
    let (mut start, size) = (0, file.size()?);
    while start < size {
        let len = (size - start).min(COPIED);
        copy.write_all(&file.read_at(ByteRange::with_len(start, len)?)?)?;
        start += len;
    }
    copy.commit()
}

/// The files of a folder that are shards by their names, sorted: all but stripe files, which end in
/// `.amudai.stripe`, and those that writers are at. Files of other kinds are among them; to open one is
/// [`NotAShard`](ErrorKind::NotAShard).
///
/// # Errors
/// Those of the operating system.
pub fn list_shards(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let folder = folder.as_ref();
    let list = || -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let is_shard = FileRole::of(&entry.file_name()) == FileRole::Shard;
            // What a link leads to counts.
            if is_shard && entry.path().metadata().is_ok_and(|found| found.is_file()) {
                paths.push(entry.path());
            }
        }
        paths.sort();
        Ok(paths)
    };
    list().within(|| format!("folder `{}`", folder.display()))
}

/// An existing file, absolute and free of symbolic links.
pub(super) fn existing(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| {
        let error = Error::from(e);
        error.within(format!("file `{}`", path.display()))
    })
}

pub(super) fn path_of(place: &Place) -> PathBuf {
    let mut names = place.names().iter();
    let root = match names.as_slice().first() {
        // A drive comes before the root.
        Some(drive) if cfg!(windows) => {
            names.next();
            format!("{drive}{MAIN_SEPARATOR}")
        }
        _ => MAIN_SEPARATOR.to_string(),
    };
    names.fold(PathBuf::from(root), |path, name| path.join(name))
}

pub(super) fn place_of(path: &Path) -> Result<Place> {
    let names = path.components().filter(|c| *c != Component::RootDir);
    let names = names.map(|name| {
        let name = name.as_os_str().to_str();
        name.map(str::to_owned).ok_or_else(|| {
            let path = path.display();
            Error::new(
                ErrorKind::Unsupported,
                format!("no shard can refer to `{path}`, whose name is not Unicode"),
            )
        })
    });
    Ok(Place::new(names.collect::<Result<Vec<_>>>()?))
}
