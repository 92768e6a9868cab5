//! A program that ends without dropping its values can still delete its temporary files.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_shard::io::{LocalSink, Sink, discard_uncommitted};
use arrow_shard::write::{Layout, ShardWriter, WriterOptions};
use std::path::Path;
use std::sync::Arc;

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The only test in this program, because it affects the whole process.
#[test]
fn what_is_not_committed_is_discarded_and_what_is_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut committed = LocalSink::create(path("committed")).unwrap();
    committed.write_all(b"all").unwrap();
    committed.commit().unwrap();
    let mut sealed = LocalSink::create(path("sealed")).unwrap();
    sealed.write_all(b"some").unwrap();
    sealed.seal().unwrap();
    drop(LocalSink::create(path("dropped")).unwrap());

    let ids = Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let options = WriterOptions::default().with_layout(Layout::TwoLevel);
    let writer = |name: &str| {
        let mut writer =
            ShardWriter::create_with(path(name), batch.schema(), options.clone()).unwrap();
        writer.write(&batch).unwrap();
        writer.flush_stripe().unwrap();
        writer
    };
    writer("whole.shard").finish().unwrap();
    let unfinished = writer("unfinished.shard");
    let before = names(folder.path());
    assert_eq!(before.len(), 6, "{before:?}");

    let discarded = discard_uncommitted();
    let left = names(folder.path());
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left.contains(&"committed".to_owned()) && left.contains(&"whole.shard".to_owned()));
    // A thread that wants to create a file waits.
    let late = path("late");
    let other = std::thread::spawn(move || LocalSink::create(late).map(drop));
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!other.is_finished());
    drop(discarded);
    other.join().unwrap().unwrap();
    // Files in use fail, and leave nothing.
    assert!(sealed.commit().is_err());
    assert!(unfinished.finish().is_err());
    assert_eq!(names(folder.path()), left);
}
