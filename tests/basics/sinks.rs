//! Only `finish` creates a shard: after any earlier failure, no file has the final name.

use crate::support::{NAME, collect, opened};
use arrow_array::{Int32Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::io::{LocalFolder, MemoryFolder, Sink, SinkFactory, WriteSink};
use arrow_shard::write::{Layout, ShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Result, Shard};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const LAYOUTS: [Layout; 2] = [Layout::SingleFile, Layout::TwoLevel];

fn batch(rows: i32) -> RecordBatch {
    let numbers: Int32Array = (0..rows).map(|i| (i % 3 != 0).then_some(i)).collect();
    let texts: StringArray = (0..rows).map(|i| Some(format!("text {i}"))).collect();
    RecordBatch::try_from_iter([
        ("number", Arc::new(numbers) as _),
        ("text", Arc::new(texts) as _),
    ])
    .unwrap()
}

fn options(layout: Layout) -> WriterOptions {
    WriterOptions::default()
        .with_layout(layout)
        .with_stripe_rows(40)
        .with_creation_time(Some(638_000_000_000_000_000))
}

/// The calls and bytes that a folder accepts before it fails.
#[derive(Debug, Default)]
struct Budget {
    /// Calls that succeed.
    calls: u64,
    /// Bytes that fit.
    bytes: u64,
    calls_made: AtomicU64,
    bytes_made: AtomicU64,
    log: Mutex<Vec<String>>,
}

impl Budget {
    fn calls(calls: u64) -> Self {
        Self {
            calls,
            bytes: u64::MAX,
            ..Self::default()
        }
    }

    fn bytes(bytes: u64) -> Self {
        Self {
            calls: u64::MAX,
            bytes,
            ..Self::default()
        }
    }

    fn call(&self, what: &str, bytes: usize) -> Result<()> {
        self.log.lock().unwrap().push(what.to_owned());
        let call = self.calls_made.fetch_add(1, Ordering::Relaxed);
        let before = self.bytes_made.fetch_add(bytes as u64, Ordering::Relaxed);
        if call >= self.calls {
            return Err(Error::new(ErrorKind::Io, format!("injected at {what}")));
        }
        if before + bytes as u64 > self.bytes {
            let full =
                std::io::Error::new(std::io::ErrorKind::StorageFull, "no space left on device");
            return Err(full.into());
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.calls_made.load(Ordering::Relaxed) > self.calls
            || self.bytes_made.load(Ordering::Relaxed) > self.bytes
    }
}

/// A folder in memory with operations that fail after a budget.
struct Failing {
    folder: MemoryFolder,
    budget: Arc<Budget>,
}

struct FailingSink {
    name: String,
    sink: Box<dyn Sink>,
    budget: Arc<Budget>,
}

impl SinkFactory for Failing {
    fn create(&mut self, name: &str) -> Result<Box<dyn Sink>> {
        self.budget.call("create", 0)?;
        Ok(Box::new(FailingSink {
            name: name.to_owned(),
            sink: self.folder.create(name)?,
            budget: self.budget.clone(),
        }))
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        self.folder.remove(name)
    }
}

impl Sink for FailingSink {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.budget.call("write", bytes.len())?;
        self.sink.write_all(bytes)
    }

    fn commit(&mut self) -> Result<()> {
        self.budget.call(&format!("commit {}", self.name), 0)?;
        self.sink.commit()
    }
}

/// Writes three stripes. Returns the error of the first failing call, after checking that the writer rejects all later
/// calls.
fn write(folder: &MemoryFolder, budget: &Arc<Budget>, layout: Layout) -> Result<()> {
    let factory = Box::new(Failing {
        folder: folder.clone(),
        budget: budget.clone(),
    });
    let batch = batch(50);
    let mut writer = ShardWriter::create_in(factory, NAME, batch.schema(), options(layout))?;
    let mut steps = || {
        writer.write(&batch)?;
        writer.flush_stripe()?;
        writer.write(&batch.slice(0, 10))
    };
    if let Err(error) = steps() {
        for again in [
            writer.write(&batch),
            writer.flush_stripe(),
            writer.finish().map(|_| ()),
        ] {
            assert_eq!(again.unwrap_err().kind(), ErrorKind::Poisoned);
        }
        return Err(error);
    }
    let summary = writer.finish()?;
    assert_eq!((summary.num_rows(), summary.num_stripes()), (60, 3));
    Ok(())
}

#[test]
fn a_failure_of_any_call_leaves_no_shard_and_says_what_failed() {
    for layout in LAYOUTS {
        let mut failures = 0;
        for calls in 0.. {
            let folder = MemoryFolder::new();
            let budget = Arc::new(Budget::calls(calls));
            match write(&folder, &budget, layout) {
                Ok(()) => {
                    assert!(
                        !budget.has_failed(),
                        "{layout:?}: failure {calls} was swallowed"
                    );
                    assert_eq!(opened(&folder).unwrap().num_rows(), 60);
                    break;
                }
                Err(error) => {
                    failures += 1;
                    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                    assert!(error.to_string().contains("injected at"), "{error}");
                    assert_eq!(folder.names(), [""; 0], "{layout:?}, call {calls}: {error}");
                }
            }
        }
        assert!(failures > 20, "{layout:?}: only {failures} calls");
    }
}

#[test]
fn a_full_disk_leaves_no_shard_and_says_so() {
    for layout in LAYOUTS {
        let unlimited = Arc::new(Budget::bytes(u64::MAX));
        write(&MemoryFolder::new(), &unlimited, layout).unwrap();
        let size = unlimited.bytes_made.load(Ordering::Relaxed);
        // Names of stripe files are random, and some are shorter than others.
        let (least, most) = match layout {
            Layout::SingleFile => (size, size),
            Layout::TwoLevel => (size - 500, size + 500),
        };
        for bytes in (0..least).step_by(7).chain([least - 1]) {
            let folder = MemoryFolder::new();
            let error = write(&folder, &Arc::new(Budget::bytes(bytes)), layout).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(format!("{error:#}").contains("no space left"), "{error:#}");
            assert_eq!(folder.get(NAME), None);
        }
        let folder = MemoryFolder::new();
        write(&folder, &Arc::new(Budget::bytes(most)), layout).unwrap();
        assert!(folder.get(NAME).is_some());
    }
}

#[test]
fn the_directory_file_is_committed_last() {
    let budget = Arc::new(Budget::calls(u64::MAX));
    write(&MemoryFolder::new(), &budget, Layout::TwoLevel).unwrap();
    let log = budget.log.lock().unwrap();
    let commits: Vec<&String> = log
        .iter()
        .filter(|call| call.starts_with("commit"))
        .collect();
    assert_eq!(commits.len(), 4);
    assert_eq!(*commits[3], format!("commit {NAME}"));
    let first = log
        .iter()
        .position(|call| call.starts_with("commit"))
        .unwrap();
    assert!(
        log[first..].iter().all(|call| call.starts_with("commit")),
        "{log:?}"
    );
}

/// Returns the names of the files in a folder, including hidden and temporary ones.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_writer_that_is_dropped_leaves_no_file() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let batch = batch(100);
        let mut writer = ShardWriter::create_with(&path, batch.schema(), options(layout)).unwrap();
        drop(ShardWriter::create_with(&path, batch.schema(), options(layout)).unwrap());
        writer.write(&batch).unwrap();
        writer.flush_stripe().unwrap();
        assert!(!path.exists());
        assert!(
            !names(folder.path()).is_empty(),
            "nothing was written at all"
        );
        drop(writer);
        assert_eq!(names(folder.path()), [""; 0]);
    }
}

#[test]
fn a_finished_shard_is_all_that_is_in_its_folder() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let batch = batch(100);
        let mut writer = ShardWriter::create_with(&path, batch.schema(), options(layout)).unwrap();
        writer.write(&batch).unwrap();
        let summary = writer.finish().unwrap();
        let mut expected = summary.stripe_files().to_vec();
        assert_eq!(
            expected.len(),
            if layout == Layout::TwoLevel { 3 } else { 0 }
        );
        expected.push(NAME.to_owned());
        expected.sort();
        assert_eq!(names(folder.path()), expected);
        let size = |name: &String| folder.path().join(name).metadata().unwrap().len();
        assert_eq!(summary.bytes(), expected.iter().map(size).sum::<u64>());
        let shard = Shard::open(&path).unwrap();
        assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), batch);
    }
}

#[test]
fn a_file_that_exists_is_left_alone_unless_it_may_be_replaced() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        std::fs::write(&path, "mine").unwrap();
        let batch = batch(10);
        let create = |options| ShardWriter::create_with(&path, batch.schema(), options);
        let Err(error) = create(options(layout)) else {
            panic!("{layout:?}: the file was accepted");
        };
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(error.to_string().contains(NAME), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        assert_eq!(names(folder.path()), [NAME]);

        let mut writer = create(options(layout).with_overwrite(true)).unwrap();
        writer.write(&batch).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        writer.finish().unwrap();
        assert_eq!(Shard::open(&path).unwrap().num_rows(), 10);
    }
}

#[test]
fn a_file_that_appears_while_a_shard_is_written_is_left_alone() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let batch = batch(10);
        let mut writer = ShardWriter::create_with(&path, batch.schema(), options(layout)).unwrap();
        writer.write(&batch).unwrap();
        std::fs::write(&path, "mine").unwrap();
        let error = writer.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }
}

#[test]
fn a_folder_that_does_not_exist_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join(NAME);
    for layout in LAYOUTS {
        let Err(error) = ShardWriter::create_with(&path, batch(1).schema(), options(layout)) else {
            panic!("a writer without a folder");
        };
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("missing"), "{error}");
    }
}

/// Accepts a number of bytes, possibly part of a write, and then fails.
struct Short(usize);

impl std::io::Write for Short {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        match taken {
            0 if !bytes.is_empty() => Err(std::io::Error::other("the pipe is closed")),
            taken => Ok(taken),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_that_breaks_is_an_error_wherever_it_breaks() {
    let batch = batch(50);
    let size =
        crate::support::written_bytes(std::slice::from_ref(&batch), options(Layout::SingleFile))
            .len();
    for len in (0..=size).step_by(11).chain([size - 1, size]) {
        let sink = WriteSink::new(Short(len));
        let write = || {
            let mut writer =
                ShardWriter::try_new(sink, batch.schema(), options(Layout::SingleFile))?;
            writer.write(&batch)?;
            writer.finish()
        };
        match write() {
            Ok(_) => assert_eq!(len, size),
            Err(error) => assert!(
                format!("{error:#}").contains("the pipe is closed"),
                "{error:#}"
            ),
        }
    }
}

#[test]
fn a_batch_that_does_not_fit_leaves_the_writer_as_it_was() {
    let good = batch(10);
    let schema = Schema::new(vec![Field::new("number", DataType::Int64, true)]);
    let bad = RecordBatch::new_empty(Arc::new(schema));
    let mut file = Vec::new();
    let mut writer =
        ShardWriter::try_new(&mut file, good.schema(), options(Layout::SingleFile)).unwrap();
    writer.write(&good).unwrap();
    assert_eq!(
        writer.write(&bad).unwrap_err().kind(),
        ErrorKind::SchemaMismatch
    );
    writer.write(&good.slice(0, 3)).unwrap();
    assert_eq!(writer.finish().unwrap().num_rows(), 13);
    assert_eq!(Shard::from_bytes(file.into()).unwrap().num_rows(), 13);
}

#[test]
fn shards_without_rows_or_columns_are_shards() {
    let empty = Arc::new(Schema::empty());
    let rows = RecordBatchOptions::new().with_row_count(Some(5));
    let no_columns = RecordBatch::try_new_with_options(empty, vec![], &rows).unwrap();
    for (batch, rows) in [(batch(0), 0), (no_columns, 5)] {
        for layout in LAYOUTS {
            let folder = crate::support::written(
                &batch.schema(),
                std::slice::from_ref(&batch),
                options(layout),
            )
            .unwrap();
            let shard = opened(&folder).unwrap();
            assert_eq!(shard.num_rows(), rows);
            assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), batch);
        }
    }
}

/// Returns whether another handle cannot lock the file.
fn is_locked(path: &Path) -> bool {
    let file = std::fs::File::options().read(true).write(true).open(path);
    file.unwrap().try_lock().is_err()
}

#[test]
fn every_open_temporary_file_is_locked_and_belongs_to_one_that_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let temporaries = || {
        let names = names(folder.path()).into_iter();
        let mut names: Vec<_> = names.filter(|name| name.ends_with(".tmp")).collect();
        // The first file of a writer has the shortest name.
        names.sort_by_key(String::len);
        names
    };
    let all_locked = || {
        let all = temporaries();
        all.iter().all(|name| is_locked(&folder.path().join(name)))
    };
    let mut sinks = LocalFolder::open(folder.path()).unwrap();
    let mut first = sinks.create("first").unwrap();
    let mut second = sinks.create("second").unwrap();
    let names = temporaries();
    let writer = names[0].strip_suffix(".tmp").unwrap();
    assert!(names[1].starts_with(&format!("{writer}-")), "{names:?}");
    assert!(all_locked());
    // Sealing a file updates the modification time of the writer's first file, as a sign of life.
    let of_first = folder.path().join(&names[0]);
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(7_200);
    let file = std::fs::File::options().append(true).open(&of_first);
    file.unwrap().set_modified(then).unwrap();
    second.write_all(b"x").unwrap();
    second.seal().unwrap();
    let changed = of_first.metadata().unwrap().modified().unwrap();
    assert!(changed > then + std::time::Duration::from_secs(3_600));
    first.commit().unwrap();
    second.commit().unwrap();
    // A later writer is separate from the first ones.
    let _third = sinks.create("third").unwrap();
    let names = temporaries();
    assert_eq!(names.len(), 1);
    assert!(!names[0].starts_with(writer), "{names:?}");
    assert!(all_locked());
}
