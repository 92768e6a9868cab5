//! More shards than the process's limit of open files.

use crate::child::is_child;
use crate::numbers::{ids, numbers, read, write};
use crate::support::collect;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_shard::ops::{ShardEditor, ShardSet, merge};
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::write::{Layout, WriterOptions};
use arrow_shard::{Error, ErrorKind, Shard};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

const SHARDS: i64 = 250;

/// Writes shards of three rows each, in order; every fifth has a stripe file.
fn shards(folder: &tempfile::TempDir) -> Vec<PathBuf> {
    let path = |i: i64| folder.path().join(format!("{i:04}.amudai.shard"));
    for i in 0..SHARDS {
        let rows = 3 * i..3 * i + 3;
        match i % 5 {
            0 => {
                let options = WriterOptions::default().with_layout(Layout::TwoLevel);
                write(&path(i), vec![("id", ids(rows))], options);
            }
            _ => numbers(&path(i), rows),
        }
    }
    (0..SHARDS).map(path).collect()
}

fn ids_of(set: &ShardSet, threads: usize) -> Vec<i64> {
    let scan = set.scan().with_threads(threads).build().unwrap();
    let rows = collect(scan).unwrap();
    rows.column(0).as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn more_shards_than_open_files_are_one_table_merged_and_appended() {
    let test = "many_files::more_shards_than_open_files_are_one_table_merged_and_appended";
    if !is_child(test, "ulimit -n 64", None) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let paths = shards(&folder);
    let expected: Vec<i64> = (0..3 * SHARDS).collect();
    // The caller needs open files, too.
    let mut own: Vec<fs::File> = Vec::new();
    for _ in 0..16 {
        own.push(fs::File::open(&paths[0]).unwrap());
    }
    for set in [ShardSet::open(&paths), ShardSet::open_folder(folder.path())] {
        let set = set.unwrap();
        for threads in [1, 4] {
            assert_eq!(ids_of(&set, threads), expected);
        }
        let all: Vec<(usize, u64)> = (0..paths.len()).rev().map(|i| (i, 1)).collect();
        assert_eq!(set.take(&all, ["id"]).unwrap().num_rows(), paths.len());
    }
    let merged = folder.path().join("merged");
    assert_eq!(
        merge(&paths, &merged).unwrap().num_rows(),
        3 * SHARDS as u64
    );
    assert_eq!(read(&merged), expected);

    let mut editor = ShardEditor::open(&paths[0]).unwrap();
    for path in &paths[1..] {
        editor.append(path).unwrap();
    }
    assert_eq!(editor.delete(&col("id").gt_eq(700)).unwrap(), 50);
    let appended = folder.path().join("appended");
    editor.commit_to(&appended).unwrap();
    assert_eq!(read(&appended), expected[..700]);

    let open: Vec<Shard> = paths
        .iter()
        .map(|path| Shard::open_pooled(path, ShardOptions::default()).unwrap())
        .collect();
    for _ in 0..2 {
        for (i, shard) in (0..).zip(&open) {
            let rows = shard.take(&[2], ["id"]).unwrap();
            let ids = rows.column(0).as_primitive::<Int64Type>();
            assert_eq!(ids.values(), &[3 * i + 2]);
        }
    }
    own.clear();
}

#[test]
fn the_pool_gives_way_to_others_and_an_exhausted_process_is_told_so() {
    let test = "many_files::the_pool_gives_way_to_others_and_an_exhausted_process_is_told_so";
    if !is_child(test, "ulimit -n 64", None) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.amudai.shard");
    numbers(&path, 0..30);
    let mut own = Vec::new();
    while let Ok(file) = fs::File::open(&path) {
        own.push(file);
    }
    let error = Shard::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("ulimit -n"), "{error}");
    // The library can use a descriptor of the pool for any file.
    own.pop();
    let pooled = Shard::open_pooled(&path, ShardOptions::default()).unwrap();
    let opened = Shard::open(&path).unwrap();
    assert_eq!(opened.take(&[7], ["id"]).unwrap().num_rows(), 1);
    drop(opened);
    assert_eq!(pooled.take(&[7], ["id"]).unwrap().num_rows(), 1);
}

#[test]
fn a_shard_keeps_reading_its_file_and_reports_a_replaced_one_of_many() {
    let test = "many_files::a_shard_keeps_reading_its_file_and_reports_a_replaced_one_of_many";
    if !is_child(test, "ulimit -n 64", None) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let paths = shards(&folder);
    let options = || ShardOptions::default().with_tail_bytes(100);
    let single = Shard::open_with(&paths[1], options()).unwrap();
    let pooled = Shard::open_pooled(&paths[1], options()).unwrap();
    let set = ShardSet::open(&paths[1..3]).unwrap();
    assert_eq!(ids_of(&set, 1), [3, 4, 5, 6, 7, 8]);
    // Other shards use the descriptors of the pool.
    for path in &paths[3..] {
        Shard::open_pooled(path, options()).unwrap();
    }
    fs::remove_file(&paths[1]).unwrap();
    numbers(&paths[1], 3..6);
    assert_eq!(single.take(&[2], ["id"]).unwrap().num_rows(), 1);
    let error = pooled.take(&[2], ["id"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Replaced, "{error}");
    let place = format!("file `{}`", paths[1].display());
    assert!(error.element().contains(&place), "{error}");
    let error = set.scan().build().unwrap().find_map(Result::err).unwrap();
    let error = Error::from(error);
    assert_eq!(error.kind(), ErrorKind::Replaced, "{error}");
    assert!(error.element().contains(&place), "{error}");
    // Reports distinguish a lack of descriptors from damage.
    let verified = Shard::open_pooled(&paths[2], options()).unwrap();
    for path in &paths[3..] {
        Shard::open_pooled(path, options()).unwrap();
    }
    fs::remove_file(&paths[2]).unwrap();
    numbers(&paths[2], 6..9);
    let error = verified.verify().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Replaced, "{error}");
}

#[test]
fn an_append_takes_no_longer_after_many_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.amudai.shard");
    numbers(&path, 0..1);
    let mut editor = ShardEditor::open(&path).unwrap();
    let times = (0..24_000).map(|_| {
        let begin = Instant::now();
        editor.append(&path).unwrap();
        begin.elapsed()
    });
    let mut times: Vec<_> = times.collect();
    let mut median = |appends: std::ops::Range<usize>| {
        let times = &mut times[appends];
        times.sort_unstable();
        times[times.len() / 2]
    };
    let (first, last) = (median(0..2_000), median(22_000..24_000));
    assert!(last < first * 4, "{first:?} at first, {last:?} at last");
    assert_eq!(editor.num_rows(), 24_001);
}

#[test]
fn a_table_of_six_times_the_shards_takes_about_six_times_as_long() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..20).map(|i| format!("column {i}")).collect();
    let columns = names.iter().map(|name| (name.as_str(), ids(0..3)));
    let path = |i: usize| folder.path().join(format!("{i:04}.amudai.shard"));
    write(&path(0), columns.collect(), WriterOptions::default());
    let paths: Vec<PathBuf> = (0..6_000).map(path).collect();
    for copy in &paths[1..] {
        fs::copy(&paths[0], copy).unwrap();
    }
    let time = |shards: &[PathBuf]| {
        let begin = Instant::now();
        let table = ShardSet::open(shards).unwrap();
        assert_eq!(table.num_rows(), 3 * shards.len() as u64);
        begin.elapsed()
    };
    let few = time(&paths[..1_000]).min(time(&paths[..1_000]));
    let many = time(&paths).min(time(&paths));
    assert!(many < few * 12, "{few:?} and {many:?}");
}
