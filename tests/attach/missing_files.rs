//! Shards with Parquet files that are missing, or not the files that were attached.

use super::files::{read_shard, table, write_parquet};
use arrow_shard::ops::{MergeOptions, ShardEditor, ShardSet, attach, merge, merge_with};
use arrow_shard::read::{VerifyReport, col};
use arrow_shard::{Error, ErrorKind, Shard, ShardWriter};
use parquet::file::properties::WriterProperties;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A shard over `lake/a.parquet` and `lake/b.parquet`, with two columns and two stripes each.
pub(crate) fn lake() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    std::fs::create_dir(&lake).unwrap();
    for name in ["a.parquet", "b.parquet"] {
        write_parquet(&lake.join(name), &table(20_000), small_groups());
    }
    let target = folder.path().join("t.amudai.shard");
    attach([lake.join("a.parquet"), lake.join("b.parquet")], &target).unwrap();
    (folder, target)
}

fn small_groups() -> WriterProperties {
    let properties = WriterProperties::builder();
    let properties = properties.set_max_row_group_row_count(Some(10_000));
    properties.set_data_page_row_count_limit(1_000).build()
}

fn verify(target: &Path) -> VerifyReport {
    Shard::open(target).unwrap().verify().unwrap()
}

#[test]
fn pages_of_attached_files_are_counted() {
    let (_folder, target) = lake();
    let report = verify(&target);
    assert!(report.is_sound(), "{:?}", report.problems());
    // A dictionary page and 10 data pages in each of 8 chunks.
    assert_eq!((report.num_blocks(), report.num_pages()), (0, 88));
}

#[test]
fn a_file_that_is_not_as_it_was_is_one_problem() {
    type Change = fn(&Path);
    let changes: [(ErrorKind, Change); 4] = [
        (ErrorKind::NotFound, |path| {
            std::fs::remove_file(path).unwrap()
        }),
        (ErrorKind::Replaced, |path| {
            write_parquet(path, &table(70), WriterProperties::default());
            let mut longer = std::fs::read(path).unwrap();
            longer.resize(10 << 20, 0);
            std::fs::write(path, longer).unwrap();
        }),
        (ErrorKind::Replaced, |path| {
            let mut bytes = std::fs::read(path).unwrap();
            let end = bytes.len() - 20;
            bytes[end] ^= 1;
            std::fs::write(path, bytes).unwrap();
        }),
        (ErrorKind::Corrupt, |path| {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
    ];
    for (kind, change) in changes {
        let (folder, target) = lake();
        change(&folder.path().join("lake/b.parquet"));
        if kind == ErrorKind::Corrupt {
            let mut scan = Shard::open(&target).unwrap().scan().build().unwrap();
            let error = scan.find_map(Result::err).unwrap().to_string();
            for part in [
                "b.parquet",
                "was cut off or written again",
                "attach it again",
            ] {
                assert!(error.contains(part), "{part}: {error}");
            }
        }
        let report = verify(&target);
        let problems = report.problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(
            (problems[0].kind, problems[0].file.as_str()),
            (kind, "lake/b.parquet")
        );
        assert_eq!((problems[0].stripe, &problems[0].field), (None, &None));
        assert_eq!(report.num_files(), 3);
        let many = arrow_shard::read::VerifyOptions::default().with_threads(3);
        let again = Shard::open(&target).unwrap().verify_with(many).unwrap();
        assert_eq!(again, report);
    }
}

#[test]
fn a_missing_file_is_named_once_with_the_shard_that_needs_it() {
    let (folder, target) = lake();
    let path = folder.path().join("lake/a.parquet");
    std::fs::remove_file(&path).unwrap();
    let shard = Shard::open(&target).unwrap();
    let error = shard.scan().build().unwrap().next().unwrap().unwrap_err();
    let error = Error::from(error);
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = format!("{error:#}");
    assert_eq!(text.matches("ot found").count(), 1, "{text}");
    assert_eq!(text.matches("lake/a.parquet").count(), 1, "{text}");
    assert!(!text.contains("os error"), "{text}");
    for part in [
        "t.amudai.shard` refers to",
        "attach the remaining files again",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_merge_of_attached_shards_holds_them() {
    let (folder, target) = lake();
    std::fs::remove_file(&target).unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["a", "b"] {
        let file = path(&format!("lake/{name}.parquet"));
        attach([file], path(&format!("{name}.amudai.shard"))).unwrap();
    }
    let merged = path("m.amudai.shard");
    let parts = ["a", "b"].map(|name| path(&format!("{name}.amudai.shard")));
    merge(&parts, &merged).unwrap();
    let table = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!((table.num_rows(), table.left_out().len()), (40_000, 2));
    let error = merge([&merged, &parts[0]], path("n.amudai.shard")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    // Another shard over the same file has the same rows.
    attach([path("lake/a.parquet")], path("again.amudai.shard")).unwrap();
    let table = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!((table.num_rows(), table.left_out().len()), (40_000, 3));
}

#[test]
fn a_shard_is_changed_and_merged_only_while_its_files_are_there() {
    let (folder, target) = lake();
    let native = folder.path().join("n.amudai.shard");
    let mut writer = ShardWriter::create(&native, table(1).schema()).unwrap();
    writer.write(&table(10)).unwrap();
    writer.finish().unwrap();
    let before = read_shard(&Shard::open(&target).unwrap());
    let [path, away] = ["lake/b.parquet", "away"].map(|name| folder.path().join(name));
    std::fs::rename(&path, &away).unwrap();
    let assert_named = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("lake/b.parquet"), "{error}");
    };
    // The rows that match are in both files.
    let mut editor = ShardEditor::open(&target).unwrap();
    assert_named(editor.delete(&col("id").eq(77)).unwrap_err());
    let mut editor = ShardEditor::open(&target).unwrap();
    editor.delete_rows(&[7]).unwrap();
    assert_named(editor.commit().unwrap_err());
    let mut editor = ShardEditor::open(&native).unwrap();
    editor.append(&target).unwrap();
    assert_named(editor.commit().unwrap_err());
    let merged = folder.path().join("m.amudai.shard");
    let dry = MergeOptions::default().with_dry_run(true);
    assert_named(merge_with([&target, &native], &merged, dry).unwrap_err());
    assert_named(merge([&target, &native], &merged).unwrap_err());
    assert!(!merged.exists());
    // A file that has been cut off is an error, too.
    let bytes = std::fs::read(&away).unwrap();
    std::fs::write(&path, &bytes[..1_000]).unwrap();
    let error = merge([&target, &native], &merged).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    std::fs::rename(&away, &path).unwrap();
    assert_eq!(read_shard(&Shard::open(&target).unwrap()), before);
    merge([&target, &native], &merged).unwrap();
    let mut editor = ShardEditor::open(&merged).unwrap();
    editor.delete_rows(&[7]).unwrap();
    editor.commit().unwrap();
    let rows = Shard::open(&merged).unwrap().num_rows();
    assert_eq!(rows, before.num_rows() as u64 + 9);
}
