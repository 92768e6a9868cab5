//! Shards of a directory file and a file per stripe, in local folders.
#![cfg(unix)]

use crate::child::is_child;
use crate::support::{NAME, collect, inner};
use arrow_array::{Int32Array, RecordBatch};
use arrow_shard::ops::{CompactOptions, ShardEditor, compact_to, merge};
use arrow_shard::write::{Layout, Profile, ShardWriter, WriterOptions};
use arrow_shard::{ErrorKind, Shard, ShardOptions};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

fn batch(rows: i32) -> RecordBatch {
    let numbers: Int32Array = (0..rows).map(|i| i * 77_777).collect();
    RecordBatch::try_from_iter([("number", Arc::new(numbers) as _)]).unwrap()
}

fn options(stripe_rows: u64) -> WriterOptions {
    WriterOptions::default()
        .with_layout(Layout::TwoLevel)
        .with_stripe_rows(stripe_rows)
        .with_profile(Profile::Plain)
}

/// Writes a shard, and returns the names of its stripe files.
fn write(path: &Path, batch: &RecordBatch, options: WriterOptions) -> Vec<String> {
    let mut writer = ShardWriter::create_with(path, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap().stripe_files().to_vec()
}

fn rows(shard: &Shard) -> RecordBatch {
    collect(shard.scan().build().unwrap()).unwrap()
}

/// Returns the sorted names of the files in a folder, including hidden and temporary ones.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn thousands_of_stripes_need_few_open_files() {
    let test = "two_level::thousands_of_stripes_need_few_open_files";
    if !is_child(test, "ulimit -n 256", None) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    // The data of a stripe with one value would be in the directory file.
    let batch = batch(6000);
    assert_eq!(write(&path, &batch, options(2)).len(), 3000);
    let shard = Shard::open(&path).unwrap();
    assert_eq!(shard.num_stripes(), 3000);
    assert_eq!(rows(&shard), batch);
    let back: Vec<u64> = (0..6000).rev().collect();
    let taken = shard.take(&back, ["number"]).unwrap();
    let expected: Int32Array = (0..6000).rev().map(|i| i * 77_777).collect();
    assert_eq!(taken.column(0).as_ref(), &expected);
    let threads = shard.scan().with_threads(4).build().unwrap();
    assert_eq!(collect(threads).unwrap(), batch);
}

#[test]
fn a_stripe_file_that_was_replaced_is_an_error_and_not_other_rows() {
    // All tests of a process share the pool of open files, so this test runs in its own process.
    let test = "two_level::a_stripe_file_that_was_replaced_is_an_error_and_not_other_rows";
    if !is_child(test, "true", None) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let files = write(&path, &batch(400), options(2));
    let shard = Shard::open(&path).unwrap();
    assert_eq!(rows(&shard).num_rows(), 400);
    // Replaces files by others of the same size: a file that the pool has closed, and an open one.
    for (file, is_open) in [(&files[0], false), (&files[199], true)] {
        let file = folder.path().join(file);
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::write(&file, bytes).unwrap();
        let row = if is_open { 399 } else { 0 };
        let read = shard.take(&[row], ["number"]);
        if is_open {
            assert_eq!(read.unwrap().num_rows(), 1);
            continue;
        }
        let error = read.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Replaced, "{error}");
        assert!(error.to_string().contains(&files[0]), "{error}");
        assert!(
            error.to_string().contains("open the shard again"),
            "{error}"
        );
    }
    assert_eq!(rows(&Shard::open(&path).unwrap()), batch(400));
}

#[test]
fn a_finish_that_fails_leaves_no_stripe_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let batch = batch(10);
    let mut writer = ShardWriter::create_with(&path, batch.schema(), options(3)).unwrap();
    writer.write(&batch).unwrap();
    fs::write(&path, "mine").unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    assert_eq!(names(folder.path()), [NAME]);
}

#[test]
fn a_shard_is_written_where_a_link_leads() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (path, link) = (folder.path().join(NAME), other.path().join("link"));
    write(&path, &batch(10), options(4));
    symlink(&path, &link).unwrap();
    write(&link, &batch(7), options(4).with_overwrite(true));
    assert_eq!(rows(&Shard::open(&path).unwrap()), batch(7));
    assert_eq!(rows(&Shard::open(&link).unwrap()), batch(7));
    // Stripe files are in the folder of the directory file, not of the link.
    assert_eq!(names(other.path()), ["link"]);
}

#[test]
fn pipes_and_devices_are_no_places_for_shards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    write(&path, &batch(10), options(4));
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let before = names(folder.path());
    for overwrite in [false, true] {
        let options = options(4).with_overwrite(overwrite);
        let error = ShardWriter::create_with(&pipe, batch(1).schema(), options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("pipe"), "{error}");
    }
    let editor = || ShardEditor::open(&path).unwrap();
    for error in [
        editor().commit_to(&pipe).unwrap_err(),
        merge([&path], &pipe).unwrap_err(),
        compact_to(&path, &pipe, CompactOptions::default()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("pipe"), "{error}");
    }
    assert_eq!(names(folder.path()), before);
    assert!(!pipe.symlink_metadata().unwrap().is_file());
}

#[test]
fn an_edit_through_a_link_leaves_the_link() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (path, link) = (folder.path().join(NAME), other.path().join("link"));
    write(&path, &batch(10), options(4));
    symlink(&path, &link).unwrap();
    let mut editor = ShardEditor::open(&link).unwrap();
    editor.delete_rows(&[0, 1, 2]).unwrap();
    editor.commit().unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(rows(&Shard::open(&path).unwrap()).num_rows(), 7);
    assert_eq!(names(other.path()), ["link"]);
    let beside = folder.path().join("beside");
    symlink(&path, &beside).unwrap();
    let editor = ShardEditor::open(&path).unwrap();
    let error = editor.commit_to(&beside).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
}

#[test]
fn a_link_to_a_directory_file_opens() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join(NAME);
    write(&path, &batch(10), options(4));
    let (link, second) = (other.path().join("link"), folder.path().join("second"));
    symlink(&path, &link).unwrap();
    symlink(&link, &second).unwrap();
    for link in [link, second] {
        assert_eq!(rows(&Shard::open(&link).unwrap()), batch(10));
    }
}

#[test]
fn files_that_replace_others_keep_the_mode() {
    for mode in [0o600, 0o664, 0o444] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        write(&path, &batch(10), options(4));
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let batch = batch(10);
        let options = options(4).with_overwrite(true);
        let mut writer = ShardWriter::create_with(&path, batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        let mode_of = |name: &str| folder.path().join(name).metadata().unwrap().mode() & 0o777;
        let hidden = names(folder.path());
        let mut hidden = hidden.iter().filter(|name| name.starts_with('.'));
        assert!(
            hidden.all(|name| mode_of(name) == mode),
            "not from the start"
        );
        let summary = writer.finish().unwrap();
        for name in summary
            .stripe_files()
            .iter()
            .map(String::as_str)
            .chain([NAME])
        {
            assert_eq!(mode_of(name), mode, "{name}");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_synced_is_no_failure() {
    // The superuser may read every folder.
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let test = "two_level::a_folder_that_cannot_be_synced_is_no_failure";
    if is_root && !is_child(test, "true", Some(65_534)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    fs::set_permissions(folder.path(), Permissions::from_mode(0o300)).unwrap();
    assert!(fs::File::open(folder.path()).is_err(), "the folder opens");
    let files = write(&path, &batch(10), options(4));
    assert_eq!(rows(&Shard::open(&path).unwrap()), batch(10));
    // The files that other shards need are unknown, so all files stay.
    write(&path, &batch(7), options(4).with_overwrite(true));
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    assert!(files.iter().all(|file| folder.path().join(file).exists()));
}

#[cfg(feature = "mmap")]
#[test]
fn maps_hold_the_stripes_too() {
    use arrow_array::Array;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    write(&path, &batch(10_000), options(4000));
    #[expect(unsafe_code, reason = "the files are left alone")]
    // SAFETY: only this test uses the folder.
    let shard = unsafe { Shard::open_mmap(&path, ShardOptions::default()) }.unwrap();
    assert_eq!(rows(&shard), batch(10_000));
    let again = |row: u64| {
        let mut scan = shard
            .scan()
            .with_row_range(row..row + 1000)
            .build()
            .unwrap();
        let column = scan.next().unwrap().unwrap().column(0).clone();
        column.to_data().buffers()[0].as_ptr().addr()
    };
    // The same rows have the same addresses, because they are not copied.
    for row in [0, 4000, 8000] {
        assert_eq!(again(row), again(row));
        assert_eq!(again(row) + 4 * 500, again(row + 500));
    }
}

#[test]
fn a_stripe_file_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let files = write(&path, &batch(10), options(4));
    fs::remove_file(folder.path().join(&files[1])).unwrap();
    let shard = Shard::open(&path).unwrap();
    let error = collect(shard.scan().build().unwrap()).unwrap_err();
    let error = inner(&error);
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains(&files[1]), "{error}");
}
