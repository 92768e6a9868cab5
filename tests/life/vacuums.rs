//! Vacuums of folders with damaged, forged, renamed, linked, copied and foreign files.

use crate::numbers::{ids, names, read, write};
use crate::support::collect;
use arrow_array::RecordBatch;
use arrow_shard::ops::{
    CompactOptions, MergeOptions, ShardEditor, UnusedFile, VacuumOptions, compact, merge,
    merge_with, vacuum, vacuum_report,
};
use arrow_shard::write::{Layout, ShardWriter, WriterOptions};
use arrow_shard::{ErrorKind, Result, Shard};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

fn at_once() -> VacuumOptions {
    VacuumOptions::default().with_min_age(Duration::ZERO)
}

fn two_level(path: &Path, rows: std::ops::Range<i64>) {
    let options = WriterOptions::default().with_layout(Layout::TwoLevel);
    write(path, vec![("id", ids(rows))], options.with_stripe_rows(10));
}

/// Creates a folder with a shard `t.shard`, and two stripe files that no directory refers to.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    two_level(&path.join("t.shard"), 0..30);
    two_level(&path.join("gone"), 0..20);
    fs::remove_file(path.join("gone")).unwrap();
    (folder, path)
}

/// Sets the age of a file.
fn age(path: &Path, age: Duration) {
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

/// Checks that a vacuum fails, names the file, and removes nothing.
fn stops(folder: &Path, file: &str, case: &str) {
    let before = names(folder);
    for options in [at_once().with_dry_run(true), at_once()] {
        let done = vacuum(folder, options);
        assert!(done.is_err(), "{case}");
        let error = done.unwrap_err().to_string();
        assert!(error.contains(file), "{case}: {error}");
        assert_eq!(names(folder), before, "{case}");
    }
}

#[test]
fn a_damaged_directory_file_of_any_name_stops_a_vacuum() {
    let (_folder, path) = folder();
    let file = path.join("t.shard");
    let sound = fs::read(&file).unwrap();
    let edges = (0..16).chain(sound.len() - 40..sound.len());
    for (byte, bit) in edges.flat_map(|byte| [(byte, 0), (byte, 3), (byte, 7)]) {
        // Readers accept any patch and minor version.
        if (4..7).contains(&byte) || (sound.len() - 4..sound.len() - 1).contains(&byte) {
            continue;
        }
        let mut damaged = sound.clone();
        damaged[byte] ^= 1 << bit;
        if Shard::from_bytes(damaged.clone().into()).is_err() {
            fs::write(&file, damaged).unwrap();
            stops(&path, "t.shard", &format!("bit {bit} of byte {byte}"));
        }
    }
    for len in (0..40).chain([sound.len() / 2, sound.len() - 1]) {
        fs::write(&file, &sound[..len]).unwrap();
        stops(&path, "t.shard", &format!("cut to {len} bytes"));
        let mut zeros = vec![0; len];
        zeros.resize(sound.len(), 0);
        zeros[len..].copy_from_slice(&sound[len..]);
        fs::write(&file, zeros).unwrap();
        if Shard::open(&file).is_err() {
            stops(&path, "t.shard", &format!("{len} zeros"));
        }
    }
    fs::write(&file, vec![0; sound.len()]).unwrap();
    stops(&path, "t.shard", "zeros alone");
    // Files of other formats do not stop a vacuum.
    fs::write(&file, &sound).unwrap();
    let gzip = [&b"\x1f\x8b\x08\0"[..], &[0; 100]].concat();
    let strangers: [(&str, &[u8]); 4] = [
        ("flights.parquet", b"PAR1\x15\0\x15 PAR1"),
        ("notes.txt", "Åse\n".as_bytes()),
        ("log.csv.gz", &gzip),
        ("a.arrow", b"ARROW1\0\0"),
    ];
    for (name, bytes) in strangers {
        fs::write(path.join(name), bytes).unwrap();
    }
    assert_eq!(vacuum(&path, at_once()).unwrap().len(), 2);
    assert_eq!(read(&file), (0..30).collect::<Vec<_>>());
    // With nothing to remove, a vacuum also accepts a file that may have been a shard.
    fs::write(path.join("_SUCCESS"), "").unwrap();
    assert_eq!(vacuum(&path, at_once()).unwrap(), []);
}

#[test]
fn only_files_that_were_written_here_are_removed() {
    let (_folder, path) = folder();
    let stripe = names(&path)
        .into_iter()
        .find(|name| name.ends_with(".amudai.stripe"))
        .unwrap();
    let bytes = fs::read(path.join(stripe)).unwrap();
    fs::write(path.join("mine.amudai.stripe"), "a text of mine").unwrap();
    fs::write(path.join("1234.amudai.stripe"), "a number").unwrap();
    fs::write(path.join("0.amudai.stripe"), "").unwrap();
    fs::write(path.join("copy.amudai.stripe"), &bytes).unwrap();
    fs::create_dir(path.join("abcd.amudai.stripe")).unwrap();
    assert_eq!(vacuum(&path, at_once()).unwrap().len(), 2);
    let left = names(&path);
    for name in ["mine", "1234", "0", "copy", "abcd"] {
        assert!(left.contains(&format!("{name}.amudai.stripe")), "{left:?}");
    }
    assert_eq!(read(&path.join("t.shard")), (0..30).collect::<Vec<_>>());
}

#[test]
fn directories_of_reserved_names_keep_stripes_and_are_not_written() {
    let (_folder, path) = folder();
    let file = path.join("t.shard");
    for name in ["z.amudai.stripe", ".arrow-shard.X.tmp"] {
        let taken = path.join(name);
        let refused = |result: Result<()>| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.to_string().contains(name), "{error}");
        };
        refused(merge([&file], &taken).map(drop));
        let editor = ShardEditor::open(&file).unwrap();
        refused(editor.commit_to(&taken).map(drop));
        let schema = Shard::open(&file).unwrap().schema().unwrap();
        for overwrite in [false, true] {
            let options = WriterOptions::default().with_overwrite(overwrite);
            refused(ShardWriter::create_with(&taken, schema.clone(), options).map(drop));
        }
        let in_memory = Box::new(arrow_shard::io::MemoryFolder::new());
        let options = WriterOptions::default();
        refused(ShardWriter::create_in(in_memory, name, schema, options).map(drop));

        fs::rename(&file, &taken).unwrap();
        age(&taken, Duration::from_secs(10_000));
        let dry = vacuum(&path, at_once().with_dry_run(true)).unwrap();
        assert_eq!(dry.len(), 2, "{dry:?}");
        vacuum(&path, at_once().with_dry_run(true)).unwrap();
        assert_eq!(read(&taken), (0..30).collect::<Vec<_>>());
        fs::rename(&taken, &file).unwrap();
    }
    assert_eq!(vacuum(&path, at_once()).unwrap().len(), 2);
}

#[test]
fn temporary_files_of_killed_writers_are_removed() {
    let (_folder, path) = folder();
    let hours = Duration::from_secs(2 * 60 * 60);
    let temporary = |name: &str| {
        let file = path.join(format!(".arrow-shard.{name}.tmp"));
        fs::write(&file, b"amud\0\x01\0\0 and no more").unwrap();
        age(&file, hours);
        file
    };
    let killed = ["killed", "killed-1", "gone-2"].map(temporary);
    let live = temporary("live");
    let live_too = temporary("live-1");
    let held = fs::File::options().append(true).open(&live).unwrap();
    held.lock().unwrap();
    let young = temporary("young");
    age(&young, hours / 4);
    let removed = vacuum(&path, at_once()).unwrap();
    let removed: Vec<PathBuf> = removed
        .into_iter()
        .map(|file| file.location.path().unwrap())
        .collect();
    for file in &killed {
        assert!(removed.contains(file) && !file.exists(), "{removed:?}");
    }
    assert_eq!(removed.len(), killed.len() + 2, "{removed:?}");
    assert!(live.exists() && live_too.exists() && young.exists());
}

#[cfg(unix)]
#[test]
fn a_shard_behind_a_link_keeps_its_stripes() {
    let (_folder, path) = folder();
    let inner = path.join("inner");
    fs::create_dir(&inner).unwrap();
    merge([path.join("t.shard")], path.join("m")).unwrap();
    std::os::unix::fs::symlink(path.join("m"), inner.join("m")).unwrap();
    // The link leads out of the vacuumed folder, to a shard that refers to a file in that folder.
    two_level(&inner.join("a"), 0..20);
    merge([inner.join("a")], path.join("all")).unwrap();
    std::os::unix::fs::symlink(path.join("all"), inner.join("all")).unwrap();
    fs::remove_file(inner.join("a")).unwrap();
    assert_eq!(vacuum(&inner, at_once()).unwrap(), []);
    assert_eq!(read(&path.join("all")), (0..20).collect::<Vec<_>>());
}

#[cfg(feature = "experimental")]
mod forged {
    use super::*;
    use arrow_shard::Limits;
    use arrow_shard::format::{DataRef, HEADER, Message, UrlList, open, seal};
    use arrow_shard::io::ByteRange;

    /// Returns the bytes of a directory file with another list of URLs.
    fn with_urls(file: &[u8], change: impl FnOnce(&mut Vec<String>)) -> Vec<u8> {
        let shard = Shard::from_bytes(file.to_vec().into()).unwrap();
        let (wire, mut directory) = (shard.wire(), shard.directory().clone());
        let range = directory.url_list_ref.as_ref().unwrap().range;
        let list = open(&file[range.to_usize().unwrap()]).unwrap();
        let mut urls = UrlList::decode(list, wire, &Limits::default()).unwrap();
        change(&mut urls.0);
        // A list and a directory at the end of the file replace the earlier ones.
        let mut forged = file.to_vec();
        forged.extend(seal(&urls.encode(wire).unwrap()).unwrap());
        let range = ByteRange::try_new(file.len() as u64, forged.len() as u64).unwrap();
        directory.url_list_ref = Some(DataRef::this(range));
        let frame = seal(&directory.encode(wire).unwrap()).unwrap();
        forged.extend(&frame);
        forged.extend(&frame[..4]);
        forged.extend(HEADER);
        forged
    }

    #[test]
    fn a_false_list_of_urls_loses_no_file() {
        let (_folder, path) = folder();
        let file = path.join("t.shard");
        // A file of stripes, a shared file, and a file of deleted rows.
        write(
            &path.join("b"),
            vec![("id", ids(30..40))],
            WriterOptions::default(),
        );
        let mut editor = ShardEditor::open(&file).unwrap();
        editor.append(path.join("b")).unwrap();
        editor.delete_rows(&[3, 35]).unwrap();
        editor.commit().unwrap();
        let expected = read(&file);
        vacuum(&path, at_once()).unwrap();
        let before = names(&path);
        let sound = fs::read(&file).unwrap();
        type Change = fn(&mut Vec<String>);
        let changes: [Change; 3] = [
            Vec::clear,
            |urls| urls.truncate(1),
            |urls| urls.iter_mut().for_each(|url| url.insert(0, 'x')),
        ];
        for change in changes {
            fs::write(&file, with_urls(&sound, change)).unwrap();
            assert_eq!(vacuum(&path, at_once()).unwrap(), []);
            assert_eq!(names(&path), before);
            assert_eq!(read(&file), expected);
        }
    }
}

#[cfg(feature = "object_store")]
mod objects {
    use super::*;
    use arrow_shard::ops::vacuum_async;
    use arrow_shard::write::AsyncShardWriter;
    use futures::executor::block_on;
    use object_store::local::LocalFileSystem;
    use object_store::path::Path as Location;
    use std::sync::Arc;

    #[test]
    fn a_vacuum_of_objects_is_as_careful() {
        let (_folder, path) = folder();
        let store = Arc::new(LocalFileSystem::new_with_prefix(&path).unwrap());
        let run = || {
            block_on(vacuum_async(
                arrow_shard::io::Store::object(store.clone()).root(),
                at_once(),
            ))
        };
        let file = path.join("t.shard");
        let sound = fs::read(&file).unwrap();
        let mut flipped = sound.clone();
        flipped[1] ^= 1;
        let before = names(&path);
        for damaged in [Vec::new(), flipped, vec![0; 300], sound[..20].to_vec()] {
            fs::write(&file, damaged).unwrap();
            let error = run().unwrap_err().to_string();
            assert!(error.contains("t.shard"), "{error}");
            assert_eq!(names(&path), before);
        }
        fs::write(&file, &sound).unwrap();
        fs::write(path.join("mine.amudai.stripe"), "mine").unwrap();
        fs::write(path.join("12.amudai.stripe"), "mine too").unwrap();
        fs::write(path.join("notes"), "a text").unwrap();
        fs::rename(&file, path.join("z.amudai.stripe")).unwrap();
        let removed = run().unwrap();
        assert_eq!(removed.len(), 2, "{removed:?}");
        let left = read(&path.join("z.amudai.stripe"));
        assert_eq!(left, (0..30).collect::<Vec<_>>());
        assert_eq!(names(&path).len(), before.len() - 2 + 3);

        let taken = Location::from("y.amudai.stripe");
        let schema = Shard::open(path.join("z.amudai.stripe")).unwrap().schema();
        let options = WriterOptions::default();
        let created = AsyncShardWriter::create_object(store, &taken, schema.unwrap(), options);
        let error = block_on(created).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap().is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn rows(path: &Path) -> Option<RecordBatch> {
    let shard = Shard::open(path).ok()?;
    collect(shard.scan().build().ok()?).ok()
}

/// A folder with random operations.
struct World {
    rng: StdRng,
    root: PathBuf,
    count: usize,
    /// The original bytes of damaged shards.
    damaged: BTreeMap<PathBuf, Vec<u8>>,
}

impl World {
    fn new_name(&mut self) -> PathBuf {
        self.count += 1;
        let suffix = *["", ".shard", ".amudai.shard"]
            .choose(&mut self.rng)
            .unwrap();
        let folder = *["", "inner"].choose(&mut self.rng).unwrap();
        self.root
            .join(folder)
            .join(format!("{}{suffix}", self.count))
    }

    /// Returns a random shard, not a stripe file.
    fn any(&mut self) -> Option<PathBuf> {
        let mut shards = files(&self.root);
        shards.retain(|path| {
            let is_stripe = path.extension().is_some_and(|it| it == "stripe");
            let is_sound = !self.damaged.contains_key(path) && Shard::open(path).is_ok();
            !is_stripe && path.is_file() && is_sound
        });
        shards.choose(&mut self.rng).cloned()
    }

    /// Runs a random operation. Failing operations change nothing.
    fn step(&mut self) {
        let new = self.new_name();
        let Some(some) = self.any() else {
            return two_level(&new, 0..20);
        };
        match self.rng.random_range(0..16) {
            0 | 1 => two_level(&new, 0..self.rng.random_range(1..40)),
            2 => {
                let start = self.rng.random_range(0..100);
                let options = WriterOptions::default().with_stripe_rows(10);
                let columns = vec![("id", ids(start..start + 25)), ("b", ids(0..25))];
                write(&new, columns, options);
            }
            3 | 4 => {
                let others: Vec<PathBuf> = (0..self.rng.random_range(0..3))
                    .filter_map(|_| self.any())
                    .collect();
                let _ = merge([some].into_iter().chain(others), &new);
            }
            5 => {
                let mut editor = ShardEditor::open(&some).unwrap();
                let _ = editor.drop_columns(["b"]);
                let _ = editor.commit_to(&new);
            }
            6 | 7 => {
                let mut editor = ShardEditor::open(&some).unwrap();
                let _ = editor.delete_rows(&[0, 3]);
                let _ = editor.commit();
            }
            8 => {
                let _ = compact(&some, CompactOptions::default());
            }
            9 => fs::rename(&some, some.with_file_name(new.file_name().unwrap())).unwrap(),
            10 => fs::hard_link(&some, some.with_file_name(new.file_name().unwrap())).unwrap(),
            11 => {
                fs::copy(&some, some.with_file_name(new.file_name().unwrap())).unwrap();
            }
            12 => fs::remove_file(&some).unwrap(),
            13 => {
                let strangers: [&[u8]; 4] = [b"PAR1 PAR1", b"a text", b"", b"\x01\x02\x03"];
                let stranger = *strangers.choose(&mut self.rng).unwrap();
                if stranger.len() > 3 || self.rng.random_bool(0.2) {
                    fs::write(new, stranger).unwrap();
                }
            }
            14 => {
                let name = format!("{}.amudai.stripe", self.rng.random_range(0..1 << 20));
                fs::write(self.root.join(name), "a text").unwrap();
            }
            _ if self.rng.random_bool(0.5) => self.damage(&some),
            _ => {}
        }
    }

    fn damage(&mut self, path: &Path) {
        let sound = fs::read(path).unwrap();
        let mut bytes = sound.clone();
        match self.rng.random_range(0..3) {
            0 => {
                let at = self.rng.random_range(0..bytes.len());
                bytes[at] ^= 1 << self.rng.random_range(0..8);
            }
            1 => bytes.truncate(self.rng.random_range(0..bytes.len())),
            _ => {
                let len = self.rng.random_range(1..=bytes.len());
                bytes[..len].fill(0);
            }
        }
        // Writes a new file, so other names of the shard still lead to its old content.
        fs::remove_file(path).unwrap();
        fs::write(path, bytes).unwrap();
        self.damaged.insert(path.to_path_buf(), sound);
    }

    /// Returns the rows of each shard; for damaged shards, the original rows.
    fn all_rows(&self) -> BTreeMap<PathBuf, RecordBatch> {
        let all = files(&self.root).into_iter();
        let rows = all.filter_map(|path| {
            let now = match self.damaged.get(&path).zip(fs::read(&path).ok()) {
                None => rows(&path),
                Some((sound, damaged)) => {
                    fs::write(&path, sound).unwrap();
                    let now = rows(&path);
                    fs::write(&path, damaged).unwrap();
                    now
                }
            };
            Some((path, now?))
        });
        rows.collect()
    }
}

#[test]
fn every_shard_that_could_be_read_before_a_vacuum_can_be_read_after_it() {
    let (mut removed, mut stopped, mut shards) = (0, 0, 0);
    for seed in 0..60 {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("inner")).unwrap();
        let mut world = World {
            rng: StdRng::seed_from_u64(seed),
            root: root.clone(),
            count: 0,
            damaged: BTreeMap::new(),
        };
        for _ in 0..world.rng.random_range(5..25) {
            world.step();
        }
        let (before, rows) = (files(&root), world.all_rows());
        let listed = vacuum(&root, at_once().with_dry_run(true)).map_err(|e| e.to_string());
        assert_eq!(files(&root), before, "seed {seed}");
        let done = vacuum(&root, at_once()).map_err(|e| e.to_string());
        assert_eq!(done, listed, "seed {seed}");
        let mut expected = before;
        match done {
            Ok(unused) => {
                removed += unused.len();
                let is_unused = |path: &PathBuf| {
                    let mut unused = unused.iter();
                    unused.any(|file: &UnusedFile| file.location.path().as_ref() == Some(path))
                };
                expected.retain(|path| !is_unused(path));
                let name = |file: &UnusedFile| file.location.to_string();
                let mut names = unused.iter().map(name);
                assert!(names.all(|name| name.ends_with(".amudai.stripe")));
            }
            Err(error) => {
                stopped += 1;
                let mut names = expected.iter().map(|path| path.display().to_string());
                assert!(names.any(|name| error.contains(&name)), "{error}");
            }
        }
        assert_eq!(files(&root), expected, "seed {seed}");
        let now = world.all_rows();
        for (path, rows) in &rows {
            // A stripe file may also be a shard.
            if path.extension().is_none_or(|it| it != "stripe") {
                assert_eq!(now.get(path), Some(rows), "seed {seed}: {}", path.display());
            }
        }
        shards += rows.len();
    }
    assert!(
        removed > 30 && stopped > 5 && shards > 300,
        "{removed} {stopped} {shards}"
    );
}

#[test]
fn files_that_are_too_young_are_reported_and_stay() {
    let (_folder, path) = folder();
    let before = names(&path);
    let all = vacuum(&path, at_once().with_dry_run(true)).unwrap();
    assert_eq!(all.len(), 2);
    for dry in [true, false] {
        let options = VacuumOptions::default().with_dry_run(dry);
        let report = vacuum_report(&path, options).unwrap();
        assert_eq!((report.unused(), report.young()), (&[][..], all.as_slice()));
        assert_eq!(names(&path), before);
    }
    let report = vacuum_report(&path, at_once()).unwrap();
    assert_eq!((report.unused(), report.young()), (all.as_slice(), &[][..]));
    assert_eq!(names(&path).len(), before.len() - 2);
    assert_eq!(read(&path.join("t.shard")).len(), 30);
}

#[test]
fn a_merged_shard_replaces_another_if_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    two_level(&path("a.shard"), 0..30);
    two_level(&path("b.shard"), 30..50);
    two_level(&path("m.shard"), 50..55);
    let merged = |options: MergeOptions, target: &str| {
        let shards = [path("a.shard"), path("b.shard")];
        merge_with(shards, path(target), options)
    };
    let forced = || MergeOptions::default().with_overwrite(true);
    let error = merged(MergeOptions::default(), "m.shard").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(read(&path("m.shard")).len(), 5);
    let error = merged(forced(), "a.shard").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let before = names(folder.path());
    let planned = merged(forced().with_dry_run(true), "m.shard").unwrap();
    assert_eq!((planned.num_rows(), planned.num_other_files()), (50, 5));
    assert_eq!(read(&path("m.shard")).len(), 5);
    assert_eq!(names(folder.path()), before);
    let dry = MergeOptions::default().with_dry_run(true);
    let error = merged(dry.clone(), "m.shard").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(merged(dry, "new.shard").unwrap(), planned);
    assert_eq!(merged(forced(), "m.shard").unwrap(), planned);
    assert_eq!(read(&path("m.shard")).len(), 50);
    // The files of the replaced shard are not needed.
    assert_eq!(vacuum(folder.path(), at_once()).unwrap().len(), 1);
    assert_eq!(read(&path("m.shard")).len(), 50);
}
