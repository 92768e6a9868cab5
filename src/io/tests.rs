//! One conformance suite per trait, run against every implementation, and tests for individual implementations.

mod containers;

use super::*;
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

fn content(len: usize) -> Vec<u8> {
    (0..=250_u8).cycle().step_by(31).take(len).collect()
}

fn range(start: u64, end: u64) -> ByteRange {
    ByteRange::try_new(start, end).unwrap()
}

/// Returns `content` as every kind of artifact. The folder lives as long as the result.
fn artifacts(content: &[u8]) -> (TempDir, Vec<Box<dyn ReadAt>>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("content");
    fs::write(&path, content).unwrap();
    let memory = MemoryFolder::new();
    memory.insert("content", content.to_vec());
    let url = RelativeUrl::from_file_name("content").unwrap();
    let all: Vec<Box<dyn ReadAt>> = vec![
        Box::new(Bytes::copy_from_slice(content)),
        Box::new(Arc::new(Bytes::copy_from_slice(content))),
        Box::new(LocalFile::open(&path).unwrap()),
        Box::new(PooledFile::open(&path).unwrap()),
        Box::new(memory.open(&url).unwrap()),
        Box::new(
            LocalFolder::open(folder.path())
                .unwrap()
                .open(&url)
                .unwrap(),
        ),
        #[cfg(feature = "mmap")]
        Box::new(map(&path).unwrap()),
    ];
    (folder, all)
}

#[cfg(feature = "mmap")]
#[expect(unsafe_code, reason = "the tests do not change the files they map")]
fn map(path: &Path) -> Result<MappedFile> {
    // SAFETY: no test changes a file that it has mapped.
    unsafe { MappedFile::open(path) }
}

#[test]
fn every_artifact_gives_exactly_the_bytes_of_a_range() {
    for len in [0, 1, 63, 64, 65, 1000] {
        let content = content(len);
        let size = len as u64;
        let (_folder, artifacts) = artifacts(&content);
        for artifact in &artifacts {
            assert_eq!(artifact.size().unwrap(), size, "{artifact:?}");
            for start in 0..=size.min(70) {
                for end in [start, start + 1, (start + size) / 2, size] {
                    if start <= end && end <= size {
                        let read = artifact.read_at(range(start, end)).unwrap();
                        assert_eq!(read, &content[range(start, end).to_usize().unwrap()]);
                    }
                }
            }
            if let Some(resident) = artifact.resident() {
                assert_eq!(resident, content);
            }
        }
    }
}

#[test]
fn every_artifact_reads_many_ranges_in_their_order() {
    let content = content(300);
    let (_folder, artifacts) = artifacts(&content);
    let ranges = [range(200, 300), range(0, 0), range(10, 20), range(15, 250)];
    for artifact in artifacts {
        let read = artifact.read_ranges(&ranges).unwrap();
        let expected: Vec<_> = ranges
            .iter()
            .map(|r| &content[r.to_usize().unwrap()])
            .collect();
        assert_eq!(read, expected, "{artifact:?}");
        assert!(artifact.read_ranges(&[range(0, 1), range(0, 301)]).is_err());
    }
}

#[test]
fn every_artifact_refuses_ranges_beyond_its_end() {
    let (_folder, artifacts) = artifacts(&content(100));
    for artifact in artifacts {
        for beyond in [
            range(0, 101),
            range(101, 101),
            range(100, u64::MAX),
            range(u64::MAX, u64::MAX),
            range(0, 1 << 62),
        ] {
            let error = artifact.read_at(beyond).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{artifact:?}");
            assert!(error.to_string().contains(&beyond.to_string()), "{error}");
        }
    }
}

#[test]
fn bytes_outlive_their_artifact() {
    let content = content(5000);
    let (folder, artifacts) = artifacts(&content);
    let read: Vec<_> = artifacts
        .iter()
        .map(|a| a.read_at(range(100, 5000)).unwrap())
        .collect();
    drop(artifacts);
    drop(folder);
    for bytes in read {
        assert_eq!(bytes, &content[100..]);
    }
}

#[test]
fn memory_and_maps_are_read_without_a_copy() {
    let (_folder, artifacts) = artifacts(&content(1000));
    let mut resident = 0;
    for artifact in artifacts {
        if let Some(whole) = artifact.resident() {
            let part = artifact.read_at(range(64, 200)).unwrap();
            assert_eq!(part.as_ptr(), whole[64..].as_ptr());
            resident += 1;
        }
    }
    assert_eq!(resident, if cfg!(feature = "mmap") { 4 } else { 3 });
}

#[test]
fn file_reads_keep_the_alignment_of_the_position() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("content");
    fs::write(&path, content(4096)).unwrap();
    let artifacts: Vec<Box<dyn ReadAt>> = vec![
        Box::new(LocalFile::open(&path).unwrap()),
        #[cfg(feature = "mmap")]
        Box::new(map(&path).unwrap()),
    ];
    for artifact in artifacts {
        for start in 0..200 {
            let range = range(start, start + 100);
            let read = artifact.read_at(range).unwrap();
            let position = range.to_usize().unwrap().start;
            assert_eq!(read.as_ptr().addr() % 64, position % 64);
        }
    }
}

#[test]
fn a_file_is_read_by_many_threads_at_once() {
    let content = content(100_000);
    let (_folder, artifacts) = artifacts(&content);
    for artifact in &artifacts {
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let content = &content;
                scope.spawn(move || {
                    for i in 0..200 {
                        let start = (i * 487 + thread * 911) % 90_000;
                        let range = range(start, start + 5000);
                        let read = artifact.read_at(range).unwrap();
                        assert_eq!(read, &content[range.to_usize().unwrap()]);
                    }
                });
            }
        });
    }
}

type Opener = fn(&Path) -> Result<()>;

#[test]
fn only_regular_files_open_and_errors_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let openers: &[Opener] = &[
        |path| LocalFile::open(path).map(drop),
        |path| PooledFile::open(path).map(drop),
        #[cfg(feature = "mmap")]
        |path| map(path).map(drop),
    ];
    for open in openers {
        let error = open(&missing).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.element().contains("missing"), "{error}");
        let error = open(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAShard);
        assert!(error.message().contains("found a folder"), "{error}");
        if cfg!(unix) {
            let error = open(Path::new("/dev/zero")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotAShard);
        }
    }
}

#[test]
fn a_file_that_shrank_is_an_error_naming_file_and_range() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shrinking");
    fs::write(&path, content(100)).unwrap();
    let file = LocalFile::open(&path).unwrap();
    fs::write(&path, content(50)).unwrap();
    let error = file.read_at(range(40, 60)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.element().contains("shrinking"), "{error}");
    assert!(error.message().contains("40..60"), "{error}");
}

/// A sink, the visible content of its destination, and whether it discards uncommitted bytes.
struct Case {
    name: &'static str,
    sink: Box<dyn Sink>,
    shown: Box<dyn Fn() -> Option<Vec<u8>>>,
    atomic: bool,
    _folder: Option<TempDir>,
}

/// A writer that lets the test read its bytes.
#[derive(Clone, Default)]
struct Shared(Arc<std::sync::Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn cases() -> Vec<Case> {
    let shared = Shared::default();
    let memory = MemoryFolder::new();
    let on_disk = |name, make: fn(PathBuf) -> Box<dyn Sink>| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        Case {
            name,
            sink: make(path.clone()),
            shown: Box::new(move || fs::read(&path).ok()),
            atomic: true,
            _folder: Some(folder),
        }
    };
    vec![
        Case {
            name: "WriteSink",
            sink: Box::new(WriteSink::new(shared.clone())),
            shown: Box::new(move || Some(shared.0.lock().unwrap().clone())),
            atomic: false,
            _folder: None,
        },
        Case {
            name: "MemoryFolder",
            sink: memory.clone().create("new").unwrap(),
            shown: Box::new(move || memory.get("new").map(|b| b.to_vec())),
            atomic: true,
            _folder: None,
        },
        on_disk("LocalSink", |path| {
            Box::new(LocalSink::create(path).unwrap())
        }),
        on_disk("LocalSink that may replace", |path| {
            Box::new(LocalSink::create_or_replace(path).unwrap())
        }),
        on_disk("LocalFolder", |path| {
            let mut folder = LocalFolder::of_file(&path).unwrap();
            folder.create("new").unwrap()
        }),
    ]
}

#[test]
fn every_sink_shows_all_bytes_in_order_after_its_commit() {
    let unsealed = cases().into_iter().map(|case| (case, false));
    let sealed = cases().into_iter().map(|case| (case, true));
    for (case, is_sealed) in unsealed.chain(sealed) {
        let (mut sink, shown) = (case.sink, case.shown);
        let mut expected = Vec::new();
        for piece in [0, 1, 100, 70_000, 5, 300_000, 0, 3] {
            sink.write_all(&content(piece)).unwrap();
            expected.extend(content(piece));
        }
        if is_sealed {
            sink.seal().unwrap();
            assert!(!case.atomic || shown().is_none(), "{}", case.name);
        }
        sink.commit().unwrap();
        assert!(shown() == Some(expected), "{}", case.name);
    }
}

#[test]
fn every_sink_can_be_committed_empty() {
    for mut case in cases() {
        case.sink.commit().unwrap();
        assert_eq!((case.shown)(), Some(Vec::new()), "{}", case.name);
    }
}

#[test]
fn atomic_sinks_show_nothing_before_and_without_a_commit() {
    for mut case in cases().into_iter().filter(|case| case.atomic) {
        case.sink.write_all(&content(400_000)).unwrap();
        assert_eq!((case.shown)(), None, "{}", case.name);
        drop(case.sink);
        assert_eq!((case.shown)(), None, "{}", case.name);
        if let Some(folder) = case._folder {
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn no_sink_takes_more_after_its_commit() {
    for mut case in cases() {
        case.sink.write_all(b"abc").unwrap();
        case.sink.commit().unwrap();
        let error = case.sink.write_all(b"d").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{}", case.name);
        assert!(case.sink.commit().is_err(), "{}", case.name);
        assert_eq!((case.shown)(), Some(b"abc".to_vec()), "{}", case.name);
    }
}

#[test]
fn vectors_and_references_are_sinks() {
    fn write(mut sink: impl Sink) {
        sink.write_all(b"abc").unwrap();
        sink.commit().unwrap();
    }
    let mut bytes = Vec::new();
    write(&mut bytes);
    write(Box::new(&mut bytes) as Box<dyn Sink + '_>);
    assert_eq!(bytes, b"abcabc");
    let mut sink = WriteSink::new(Vec::new());
    write(&mut sink);
    assert_eq!(sink.into_inner(), b"abc");
}

/// Accepts `room` bytes, then fails; or fails to flush.
struct Failing {
    room: usize,
}

impl io::Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }
}

#[test]
fn a_failed_write_poisons_a_sink() {
    let mut sink = WriteSink::new(Failing { room: 10 });
    sink.write_all(&[0; 10]).unwrap();
    let error = sink.write_all(b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(sink.write_all(b"").unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(sink.commit().unwrap_err().kind(), ErrorKind::Poisoned);
}

#[test]
fn a_failed_commit_poisons_a_sink() {
    let mut sink = WriteSink::new(Failing { room: 10 });
    assert_eq!(sink.commit().unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(sink.commit().unwrap_err().kind(), ErrorKind::Poisoned);
}

/// Creates the sink for a path.
type Create = fn(&Path) -> Result<LocalSink>;

#[test]
fn an_existing_file_is_replaced_only_when_asked_and_only_by_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("there");
    fs::write(&path, b"old").unwrap();
    let error = LocalSink::create(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.message().contains("overwrite"), "{error}");
    assert!(error.element().contains("there"), "{error}");

    let mut sink = LocalSink::create_or_replace(&path).unwrap();
    sink.write_all(b"new").unwrap();
    drop(sink);
    assert_eq!(fs::read(&path).unwrap(), b"old");

    let mut sink = LocalSink::create_or_replace(&path).unwrap();
    sink.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    sink.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_file_that_appears_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("raced");
    let mut sink = LocalSink::create(&path).unwrap();
    sink.write_all(b"mine").unwrap();
    fs::write(&path, b"theirs").unwrap();
    assert_eq!(sink.commit().unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(sink.commit().unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_sink_needs_a_file_name_and_an_existing_folder() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [Create; 2] = [
        |path| LocalSink::create(path),
        |path| LocalSink::create_or_replace(path),
    ];
    for create in cases {
        let error = create(&folder.path().join("no/such")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let error = create(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
        let error = create(Path::new("..")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

#[test]
fn a_sink_whose_folder_vanished_fails_and_stays_failed() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let mut sink = LocalSink::create(inner.join("file")).unwrap();
    sink.write_all(b"abc").unwrap();
    fs::remove_dir_all(&inner).unwrap();
    assert!(sink.commit().is_err());
    assert_eq!(sink.write_all(b"").unwrap_err().kind(), ErrorKind::Poisoned);
}

#[cfg(unix)]
#[test]
fn a_new_file_has_the_permissions_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [plain, sunk] = ["plain", "sunk"].map(|name| folder.path().join(name));
    fs::write(&plain, b"").unwrap();
    LocalSink::create(&sunk).unwrap().commit().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&sunk), mode(&plain));
}
