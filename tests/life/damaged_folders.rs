//! Folders with a truncated shard, or with a shard that changes while others are read.

use crate::numbers::{ids, names, numbers, read, write};
use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray};
use arrow_shard::ops::{
    CompactOptions, ShardEditor, ShardSet, VacuumOptions, compact, merge, vacuum,
};
use arrow_shard::write::{Layout, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn at_once() -> VacuumOptions {
    VacuumOptions::default().with_min_age(Duration::ZERO)
}

fn two_level() -> WriterOptions {
    let options = WriterOptions::default().with_layout(Layout::TwoLevel);
    options.with_stripe_rows(10)
}

/// Writes a shard that is too large to be read completely on opening.
fn large(path: &Path) {
    let options = WriterOptions::default().with_profile(Profile::Plain);
    write(path, vec![("id", ids(0..50_000))], options);
    assert!(std::fs::metadata(path).unwrap().len() > 128 << 10);
}

#[test]
fn a_shard_that_was_cut_is_damaged_and_no_file_of_another_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("whole"), vec![("id", ids(0..30))], two_level());
    std::fs::write(path("notes"), vec![b'x'; 128 << 10]).unwrap();
    std::fs::remove_file(path("whole")).unwrap();
    let stripes = names(folder.path()).len();
    // No directory refers to the stripes, so they are listed.
    let dry = at_once().with_dry_run(true);
    assert_eq!(vacuum(folder.path(), dry).unwrap().len(), stripes - 1);

    let check = |kind: ErrorKind| {
        let before = names(folder.path());
        let error = vacuum(folder.path(), at_once()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(names(folder.path()), before);
        let error = ShardSet::open_folder(folder.path()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    };
    large(&path("a"));
    let bytes = std::fs::read(path("a")).unwrap();
    for cut in [bytes.len() - 1, bytes.len() - 100, 70 << 10, 100, 27, 4] {
        std::fs::write(path("a"), &bytes[..cut]).unwrap();
        check(ErrorKind::Corrupt);
    }
    std::fs::remove_file(path("a")).unwrap();
    // By its name, the file was a shard, whatever its content is now.
    for left in [Vec::new(), vec![0; 128 << 10]] {
        std::fs::write(path("b.amudai.shard"), left).unwrap();
        check(ErrorKind::NotAShard);
    }
    std::fs::remove_file(path("b.amudai.shard")).unwrap();
    assert_eq!(vacuum(folder.path(), at_once()).unwrap().len(), stripes - 1);
}

#[test]
fn stripes_that_another_directory_takes_over_meanwhile_stay() {
    for among in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_path_buf();
        let path = |name: &str| folder.path().join(name);
        write(&path("old"), vec![("id", ids(0..30))], two_level());
        numbers(&path("taken"), 100..110);
        // The operating system determines which directory is read first.
        for i in 0..among {
            numbers(&path(&format!("other {i}")), 0..10);
        }
        let is_done = AtomicBool::new(false);
        let change = move || {
            let path = |name: &str| root.join(name);
            merge([path("taken"), path("old")], path("new")).unwrap();
            let mut editor = ShardEditor::open(path("taken")).unwrap();
            editor.append(path("old")).unwrap();
            editor.commit().unwrap();
            let options = CompactOptions::default();
            compact(path("old"), options).unwrap().unwrap();
        };
        let options = at_once().with_progress(move |_| {
            if !is_done.swap(true, Ordering::Relaxed) {
                change();
            }
            ControlFlow::Continue(())
        });
        vacuum(folder.path(), options).unwrap();
        let expected: Vec<i64> = (100..110).chain(0..30).collect();
        assert_eq!(read(&path("new")), expected);
        assert_eq!(read(&path("taken")), expected);
        assert_eq!(read(&path("old")), (0..30).collect::<Vec<_>>());
    }
}

#[test]
fn stripes_that_fit_together_into_none_are_left_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Keys of eight bits are too small for 200 texts.
    for (name, from) in [("a", 0), ("b", 100)] {
        let texts: Vec<String> = (from..from + 100).map(|i| format!("text {i}")).collect();
        let texts: DictionaryArray<Int8Type> = texts.iter().map(String::as_str).collect();
        let columns = vec![("text", Arc::new(texts) as ArrayRef)];
        write(&path(name), columns, WriterOptions::default());
    }
    merge(["a", "b"].map(path), path("both")).unwrap();
    let before = names(folder.path());
    let options = CompactOptions::default();
    assert_eq!(compact(path("both"), options.clone()).unwrap(), None);
    assert_eq!(names(folder.path()), before);
    // Compaction removes deleted rows.
    let mut editor = ShardEditor::open(path("both")).unwrap();
    editor.delete_rows(&[3, 150]).unwrap();
    editor.commit().unwrap();
    assert!(compact(path("both"), options.clone()).unwrap().is_some());
    let shard = Shard::open(path("both")).unwrap();
    assert_eq!((shard.num_rows(), shard.num_deleted_rows()), (198, 0));
    assert_eq!(compact(path("both"), options.clone()).unwrap(), None);
}
