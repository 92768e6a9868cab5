//! Shards in local folders.

use super::commit::{EditSummary, Files, Kept, Naming, Needed};
use super::editor::ShardEditor;
use super::local_path::{path_of, place_of};
use super::overlap::{local_id, refuse};
use super::place::FileRole;
use super::sinks::create;
use super::source::Source;
use crate::Shard;
use crate::error::{Error, Result, Within};
use crate::format::{FormatVersion, HEADER};
use crate::io::{
    ByteRange, Container, LocalFile, LocalFolder, LocalSink, ReadAt, Sink, SinkFactory, describe,
    describe_folder,
};
use crate::read::{ShardOptions, now};
#[cfg(feature = "threads")]
use rayon::prelude::*;
use std::path::{Path, PathBuf};

impl ShardEditor {
    /// Opens the shard with the directory file at `path`.
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, ShardOptions::default())
    }

    /// Opens the shard with the directory file at `path` with options, such as limits for a shard that you do not
    /// trust. [`append`](Self::append) opens other shards with the same options.
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open_with`].
    pub fn open_with(path: impl AsRef<Path>, options: ShardOptions) -> Result<Self> {
        let path = existing(path.as_ref())?;
        let shard = Shard::open_with(&path, options.clone())?;
        Ok(now(Self::of(shard, place_of(&path)?))?.with_options(options))
    }

    /// Appends the stripes of another shard, with its directory file at `path`: its rows follow the rows of this one.
    /// Columns are united by name. If one of the shards lacks a column, its rows are null in that column.
    ///
    /// If the two shards use different [wires](crate::write::Wire), the new directory is `Wire::Spec`, and Bloom
    /// filters with another hash seed are left out.
    ///
    /// A column may have 32-bit integers in one shard and 64-bit integers in another. It then becomes 64-bit, which
    /// works only if each stripe of the 32-bit column is constant or null. Otherwise the commit fails with
    /// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch), because the values would have to be rewritten. The result
    /// no longer declares a sort order.
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open`], [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if columns of the
    /// same name have different types, and [`Unsupported`](crate::ErrorKind::Unsupported) if fixed-size lists of
    /// `Wire::Reference` would be combined with stripes of `Wire::Spec`. After an error, the editor is unchanged.
    pub fn append(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let source = open_member(path.as_ref(), self.options().clone())?;
        now(self.append_source(source))
    }

    /// Checks that no two shards of this editor refer to the same data, such as a merged shard and one that it was made
    /// from: their rows would appear twice. A shard that was deliberately appended several times under the same path is
    /// allowed.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names two of the shards, or errors of the
    /// metadata.
    pub fn check_distinct(&self) -> Result<()> {
        now(refuse(self.sources(), local_id))
    }

    /// Replaces the directory of the shard that was opened. Open readers continue to read the old directory. Without
    /// [changes](Self::has_changes), the file is not touched.
    ///
    /// If the shard was one file, its buffers stay next to the new directory under another name, and the directory
    /// refers to them. That takes no space if the file system supports clones or hard links; the summary says which was
    /// used. From then on, the shard consists of several files, which must be kept together.
    ///
    /// # Errors
    /// Returns [`Conflict`](crate::ErrorKind::Conflict) if the file has been replaced since it was opened, errors of
    /// the metadata, or errors of the operating system. After an error, the shard is unchanged.
    pub fn commit(self) -> Result<EditSummary> {
        if !self.has_changes() {
            return now(self.unchanged());
        }
        let path = path_of(self.place());
        let version = self.version().ok_or_else(|| {
            Error::unsupported("this system does not tell one file from another of the same name")
        })?;
        let files = now(self.files(None, Naming::Kept))?;
        let sink = || LocalSink::replace(&path, version.clone());
        write(files, &path, sink).within(|| describe(&path))
    }

    /// Writes the directory file `path`, which must not exist. The shards that it refers to must be in its folder, or
    /// in subfolders.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists), [`ForbiddenUrl`](crate::ErrorKind::ForbiddenUrl) for
    /// shards outside of the folder, errors of the metadata, or errors of the operating system. After an error, no new
    /// file exists.
    pub fn commit_to(self, path: impl AsRef<Path>) -> Result<EditSummary> {
        let path = path.as_ref();
        let name = path
            .file_name()
            .ok_or_else(|| Error::invalid("expected a path that ends in a file name"))?;
        let path = LocalFolder::of_file(path)?.path().join(name);
        let files = now(self.files(Some(&place_of(&path)?), Naming::Kept))?;
        write(files, &path, || LocalSink::create(&path)).within(|| describe(&path))
    }
}

/// Merges shards: writes a directory file `target` that refers to the buffers of all shards, in order. The shards must
/// be in the folder of `target`, or in subfolders.
///
/// Each shard that is a single file gets a second name in its folder, to which the new directory refers: a clone if the
/// file system supports clones, otherwise a hard link ([`EditSummary::linked`]). Do not overwrite a hard-linked file in
/// place.
///
/// ```no_run
/// use arrow_shard::ops::merge;
/// let merged = merge(["days/1.amudai.shard", "days/2.amudai.shard"], "week.amudai.shard")?;
/// println!("{} rows in {} stripes", merged.rows(), merged.stripes());
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`ShardEditor::append`], [`ShardEditor::check_distinct`] and [`ShardEditor::commit_to`], and
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there are no shards.
pub fn merge<P: AsRef<Path>>(
    shards: impl IntoIterator<Item = P>,
    target: impl AsRef<Path>,
) -> Result<EditSummary> {
    let mut shards = shards.into_iter();
    let first = shards.next();
    let first = first.ok_or_else(|| Error::invalid("there is no shard to merge"))?;
    let mut editor = ShardEditor::open(first)?;
    let others: Vec<PathBuf> = shards.map(|path| path.as_ref().to_path_buf()).collect();
    open_members(
        &others,
        &ShardOptions::default(),
        |_, _| false,
        |source| now(editor.append_source(source)),
    )?;
    editor.check_distinct()?;
    editor.commit_to(target)
}

/// Number of bytes copied at a time.
const COPIED: u64 = 1 << 20;

/// Writes all files of a shard, the directory last. After an error, no new file remains.
fn write(files: Files, path: &Path, sink: impl Fn() -> Result<LocalSink>) -> Result<EditSummary> {
    let mut sink = sink()?;
    let folder = LocalFolder::of_file(path)?;
    for needed in &files.needed {
        check(needed, &folder).map_err(|error| needed.unfit(&error))?;
    }
    sink.write_all(&files.directory)?;
    let mut summary = files.summary;
    // If one file cannot be cloned, no other is tried.
    let mut may_clone = true;
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
            let kept = keep(kept, &place, &mut may_clone, &mut summary);
            kept.within(|| describe(&place))?;
        }
        sink.commit()
    };
    if let Err(error) = finish() {
        for path in &written {
            // The first error is reported, and nothing refers to the file.
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    Ok(summary)
}

/// Checks that a directory can refer to a file: it exists, is long enough, and begins with the header of the format.
fn check(needed: &Needed, folder: &LocalFolder) -> Result<()> {
    let file = folder.open(&needed.url)?;
    let checked = || {
        needed.check_size(file.size()?)?;
        let header = file.read_at(ByteRange::with_len(0, HEADER.len() as u64)?)?;
        FormatVersion::parse(&header, "header")
    };
    checked()
        .map(|_| ())
        .within(|| format!("file `{}`", needed.url.path()))
}

/// Gives the bytes of a file a second name, and counts the way it was done. A clone is tried first, because it does not
/// change if the file is overwritten; then a hard link. If both fail, the file is copied. It is also copied on systems
/// that do not record when a file got its name: a vacuum would mistake a new link for an old file.
fn keep(kept: &Kept, path: &Path, may_clone: &mut bool, summary: &mut EditSummary) -> Result<()> {
    let other = path.with_file_name(&kept.name);
    // The opened file is the one to keep: the name may refer to another file by now.
    let file = LocalFile::open(path)?;
    let expected = &kept.file.version;
    let check = |file: &LocalFile| {
        if expected.is_some() && file.version() != *expected {
            Err(kept.file.conflict())
        } else {
            Ok(())
        }
    };
    check(&file)?;
    let size = file.size()?;
    *may_clone = *may_clone && file.clone_to(&other).is_ok();
    if *may_clone {
        summary.cloned.add(size);
        // If the path still names the same version, the clone has the expected bytes.
        return check(&LocalFile::open(path)?);
    }
    if cfg!(unix) && std::fs::hard_link(path, &other).is_ok() {
        summary.linked.add(size);
        return check(&LocalFile::open(&other)?);
    }
    summary.copied.add(size);
    let mut folder = LocalFolder::of_file(path)?.with_permissions_of(path);
    let mut copy = folder.create(&kept.name)?;
    let mut start = 0;
    while start < size {
        let len = (size - start).min(COPIED);
        copy.write_all(&file.read_at(ByteRange::with_len(start, len)?)?)?;
        start += len;
    }
    copy.commit()?;
    if cfg!(unix) {
        // Keeps the time of the original, as a clone does: `overlap` recognizes copies and clones by it. On Unix, a
        // vacuum uses the time of the name instead.
        let changed = std::fs::metadata(path).and_then(|found| found.modified());
        let copied = std::fs::File::options().write(true).open(&other);
        // If this fails, a table of the folder may count rows twice; no other reader needs the time.
        let _ = changed.and_then(|changed| copied?.set_modified(changed));
    }
    Ok(())
}

/// Lists the files of a folder that may be shards by their names, sorted. It skips stripe files (`*.amudai.stripe`) and
/// temporary files of writers. Files of other formats are included; opening one fails with
/// [`NotAShard`](crate::ErrorKind::NotAShard).
///
/// # Errors
/// Returns the errors of the operating system.
pub fn list_shards(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let folder = folder.as_ref();
    let list = || -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let is_shard = FileRole::of(&entry.file_name()) == FileRole::Shard;
            // Links are followed: the type of the target counts.
            if is_shard && entry.path().metadata().is_ok_and(|found| found.is_file()) {
                paths.push(entry.path());
            }
        }
        paths.sort();
        Ok(paths)
    };
    list().within(|| describe_folder(folder))
}

/// Bytes that the first read takes from the end of a member, and holds while it is open. Small, because a table may
/// have thousands of members.
const MEMBER_TAIL_BYTES: u64 = 8 << 10;

/// Number of members that are opened at the same time, and held until the caller takes them.
const AT_ONCE: usize = 256;

/// Opens a shard that is one of many, without keeping its file open.
fn open_member(path: &Path, options: ShardOptions) -> Result<Source> {
    let options = options.with_tail_bytes(MEMBER_TAIL_BYTES);
    let path = existing(path)?;
    let shard = Shard::open_pooled(&path, options)?;
    now(Source::load(shard, place_of(&path)?))
}

/// Opens shards on several threads, and passes them to `take` in their order. Skips a shard if `is_left_out` accepts
/// the error of opening it.
pub(super) fn open_members(
    paths: &[PathBuf],
    options: &ShardOptions,
    is_left_out: fn(&Path, &Error) -> bool,
    mut take: impl FnMut(Source) -> Result<()>,
) -> Result<()> {
    let open = |path: &PathBuf| match open_member(path, options.clone()) {
        Err(error) if is_left_out(path, &error) => None,
        opened => Some(opened),
    };
    for some in paths.chunks(AT_ONCE) {
        #[cfg(feature = "threads")]
        let opened: Vec<_> = some.par_iter().map(open).collect();
        #[cfg(not(feature = "threads"))]
        let opened: Vec<_> = some.iter().map(open).collect();
        for source in opened.into_iter().flatten() {
            take(source?)?;
        }
    }
    Ok(())
}

/// Returns the absolute path of an existing file, free of symbolic links.
pub(super) fn existing(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| {
        let error = Error::from(e);
        error.within(describe(path))
    })
}
