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
    /// Opens the shard whose directory file is `path`.
    ///
    /// # Errors
    /// Those of [`Shard::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, ShardOptions::default())
    }

    /// Opens the shard whose directory file is `path` with options, such as limits for a shard that you do not trust.
    /// [`append`](Self::append) opens other shards with the same options.
    ///
    /// # Errors
    /// Returns the same errors as [`Shard::open_with`].
    pub fn open_with(path: impl AsRef<Path>, options: ShardOptions) -> Result<Self> {
        let path = existing(path.as_ref())?;
        let shard = Shard::open_with(&path, options.clone())?;
        Ok(now(Self::of(shard, place_of(&path)?))?.with_options(options))
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
    /// Those of [`Shard::open`], [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) for columns of one name
    /// whose types are not the same, and [`Unsupported`](crate::ErrorKind::Unsupported) for fixed-size
    /// lists of `Wire::Reference` beside stripes of `Wire::Spec`. The editor is then as it was.
    pub fn append(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let source = open_member(path.as_ref(), self.options().clone())?;
        now(self.append_source(source))
    }

    /// Refuses shards that were appended and refer to the same data as the shard that was opened, or as each other,
    /// such as a merged shard and one that it was made of: the rows would come twice. A shard that was appended
    /// several times under one path is taken as it is.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), naming two of the shards, and errors of the metadata.
    pub fn check_distinct(&self) -> Result<()> {
        now(refuse(self.sources(), local_id))
    }

    /// Replaces the directory of the shard that was opened. Open readers go on reading the old directory. Without
    /// [changes](Self::has_changes), the file stays as it is.
    ///
    /// If the shard was one file, its buffers stay beside the new directory under another name, because
    /// the directory refers to them. That takes no space where files can be cloned or have two names; the
    /// summary says which. From then on the shard is more than one file, and they have to be kept together.
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) if the file has been replaced since it was opened, those of the
    /// metadata, or those of the operating system. The shard is then as it was.
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

    /// Writes the directory file `path`, which must not exist. The shards that it refers to must be in
    /// its folder, or in folders below.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), [`ForbiddenUrl`](crate::ErrorKind::ForbiddenUrl) for shards
    /// elsewhere, those of the metadata, or those of the operating system. Nothing is then left behind.
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

/// Writes a shard that has the rows of several, one after the other, by referring to their buffers. The
/// new directory file is `target`; the shards must be in its folder, or in folders below.
///
/// Each shard that is one file gets a second name in its folder, which the new directory refers to: a clone where the
/// file system has them, else a hard link ([`EditSummary::linked`]). Do not overwrite a linked file in place.
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
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for no shard.
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

/// Bytes that are copied at a time.
const COPIED: u64 = 1 << 20;

/// Writes the files of a shard, the directory last, or none.
fn write(files: Files, path: &Path, sink: impl Fn() -> Result<LocalSink>) -> Result<EditSummary> {
    let mut sink = sink()?;
    let folder = LocalFolder::of_file(path)?;
    for needed in &files.needed {
        check(needed, &folder).map_err(|error| needed.unfit(&error))?;
    }
    sink.write_all(&files.directory)?;
    let mut summary = files.summary;
    // Where one file cannot be cloned, no other is tried.
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
            // There is an error to tell already, and nothing refers to the file.
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    Ok(summary)
}

/// Refuses a file that a directory cannot refer to.
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

/// Gives the bytes of a file a second name, and counts how. A clone comes first, because it does not change when
/// the file is overwritten; then a hard link. Elsewhere, the file is copied. It is also copied on systems that do not
/// tell when a file got its name, because a vacuum would take the link for an old file.
fn keep(kept: &Kept, path: &Path, may_clone: &mut bool, summary: &mut EditSummary) -> Result<()> {
    let other = path.with_file_name(&kept.name);
    // What was opened is what stays open: the name may lead to another file by now.
    let file = LocalFile::open(path)?;
    let expected = &kept.file.version;
    let check = |file: &LocalFile| match expected.is_some() && file.version() != *expected {
        true => Err(kept.file.conflict()),
        false => Ok(()),
    };
    check(&file)?;
    let size = file.size()?;
    *may_clone = *may_clone && file.clone_to(&other).is_ok();
    if *may_clone {
        summary.cloned.add(size);
        // The bytes did not change before the clone was there.
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
        // As of a clone: `overlap` finds both by it. A vacuum goes by the time of the name here.
        let changed = std::fs::metadata(path).and_then(|found| found.modified());
        let copied = std::fs::File::options().write(true).open(&other);
        // Without it, a table of the folder may count rows twice; no other reader needs the time.
        let _ = changed.and_then(|changed| copied?.set_modified(changed));
    }
    Ok(())
}

/// The files of a folder that are shards by their names, sorted: all but stripe files, which end in
/// `.amudai.stripe`, and those that writers are at. Files of other kinds are among them; to open one is
/// [`NotAShard`](crate::ErrorKind::NotAShard).
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
    list().within(|| describe_folder(folder))
}

/// Bytes of the end of a member that are read first, and held while it is open: there may be thousands.
const MEMBER_TAIL_BYTES: u64 = 8 << 10;

/// Members that are opened at the same time, and held until they are taken.
const AT_ONCE: usize = 256;

/// Opens a shard that is one of many. Its file does not stay open.
fn open_member(path: &Path, options: ShardOptions) -> Result<Source> {
    let options = options.with_tail_bytes(MEMBER_TAIL_BYTES);
    let path = existing(path)?;
    let shard = Shard::open_pooled(&path, options)?;
    now(Source::load(shard, place_of(&path)?))
}

/// Opens shards on several threads, and gives them to `take` in their order, without those that cannot be
/// opened for a reason that `is_left_out` knows.
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

/// An existing file, absolute and free of symbolic links.
pub(super) fn existing(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| {
        let error = Error::from(e);
        error.within(describe(path))
    })
}
