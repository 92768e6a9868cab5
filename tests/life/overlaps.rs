//! Folders that contain a shard and its parts: no row is returned twice.

use crate::numbers::{ids, numbers, write};
use crate::support::collect;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use arrow_shard::io::Store;
use arrow_shard::ops::{LeftOut, ShardEditor, ShardSet, held_by_others, merge};
use arrow_shard::read::col;
use arrow_shard::write::{Layout, WriterOptions};
use arrow_shard::{ErrorKind, Result, Shard};
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn values(set: &ShardSet) -> Vec<i64> {
    let scan = set.scan().with_projection(["id"]);
    let rows = collect(scan.build().unwrap()).unwrap();
    rows.column(0).as_primitive::<Int64Type>().values().to_vec()
}

/// Returns the names of shards that are left out, each with the shard that contains it.
fn pairs(left_out: &[LeftOut]) -> Vec<(String, String)> {
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let pairs = left_out.iter();
    pairs
        .map(|left| (name(left.shard()), name(left.held_by())))
        .collect()
}

fn pair(shard: &str, held_by: &str) -> (String, String) {
    (shard.to_owned(), held_by.to_owned())
}

#[test]
fn a_table_of_a_folder_has_each_row_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    numbers(&path("a"), 0..30);
    let options = WriterOptions::default().with_layout(Layout::TwoLevel);
    write(
        &path("b"),
        vec![("id", ids(30..60))],
        options.with_stripe_rows(10),
    );
    numbers(&path("other"), 60..70);
    let alone = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!(values(&alone), (0..70).collect::<Vec<_>>());
    assert_eq!(alone.left_out(), []);

    let check = |expected: &[(String, String)]| {
        let set = ShardSet::open_folder(folder.path()).unwrap();
        let mut found = values(&set);
        found.sort_unstable();
        assert_eq!(found, (0..70).collect::<Vec<_>>());
        assert_eq!(pairs(set.left_out()), expected);
        let held = held_by_others(folder.path()).unwrap();
        assert_eq!(held, set.left_out());
    };
    merge(["a", "b"].map(path), path("m")).unwrap();
    check(&[pair("a", "m"), pair("b", "m")]);
    // A merge of a merge, and a hard link, are treated the same way.
    merge(["m", "other"].map(path), path("z")).unwrap();
    fs::hard_link(path("other"), path("same")).unwrap();
    let all = ["a", "b", "m", "other", "same"].map(|part| pair(part, "z"));
    let set = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!(values(&set), (0..70).collect::<Vec<_>>());
    let left: Vec<String> = pairs(set.left_out())
        .into_iter()
        .map(|(part, _)| part)
        .collect();
    let expected: Vec<String> = all.into_iter().map(|(part, _)| part).collect();
    assert_eq!(left, expected);
    let said = set.left_out()[0].to_string();
    assert!(said.contains("is left out, because"), "{said}");
    for name in ["z", "same"] {
        fs::remove_file(path(name)).unwrap();
    }
    // The same holds for an edited shard and the shard that was appended to it.
    fs::remove_file(path("m")).unwrap();
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.append(path("b")).unwrap();
    editor.commit().unwrap();
    check(&[pair("b", "a")]);
}

#[test]
fn shards_of_constants_are_recognized() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = |rows| Arc::new(StringArray::from(vec!["same"; rows])) as ArrayRef;
    let none = |rows| Arc::new(Int64Array::new_null(rows)) as ArrayRef;
    let same = |rows| Arc::new(Int64Array::from(vec![7; rows])) as ArrayRef;
    let options = WriterOptions::default;
    // A row; many equal rows; a number without nulls after a column of nulls.
    write(
        &path("a"),
        vec![("id", ids(1..2)), ("s", text(1))],
        options(),
    );
    write(
        &path("b"),
        vec![("id", same(1000)), ("s", text(1000))],
        options(),
    );
    write(
        &path("c"),
        vec![("n", none(10)), ("id", same(10))],
        options(),
    );
    numbers(&path("d"), 30..60);
    let rows = || ShardSet::open_folder(folder.path()).unwrap().num_rows();
    assert_eq!(rows(), 1041);
    merge(["a", "b", "c", "d"].map(path), path("m")).unwrap();
    let set = ShardSet::open_folder(folder.path()).unwrap();
    let parts = ["a", "b", "c", "d"].map(|part| pair(part, "m"));
    assert_eq!(
        (set.num_rows(), pairs(set.left_out())),
        (1041, parts.to_vec())
    );
    assert!(Shard::open(path("m")).unwrap().verify().unwrap().is_sound());
    fs::remove_file(path("m")).unwrap();
    // An edited shard holds the appended shards.
    let mut editor = ShardEditor::open(path("d")).unwrap();
    editor.append(path("a")).unwrap();
    editor.append(path("b")).unwrap();
    editor.commit().unwrap();
    assert_eq!(rows(), 1041);
    // Copies are other shards, and equal rows are other rows.
    fs::copy(path("c"), path("copy")).unwrap();
    write(
        &path("again"),
        vec![("id", ids(1..2)), ("s", text(1))],
        options(),
    );
    assert_eq!(rows(), 1052);
}

#[test]
fn a_copy_of_the_same_bytes_is_another_shard() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    numbers(&path("a"), 0..30);
    fs::copy(path("a"), path("copy")).unwrap();
    let set = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!((set.num_rows(), set.left_out()), (60, &[][..]));
}

/// Replaces hard links by copies, like on file systems with clones.
#[cfg(unix)]
fn unlink(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".amudai.stripe") {
            let (bytes, found) = (fs::read(&path).unwrap(), path.metadata().unwrap());
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
            let copy = fs::File::options().write(true).open(&path).unwrap();
            copy.set_modified(found.modified().unwrap()).unwrap();
        }
    }
}

#[cfg(unix)]
#[test]
fn clones_of_the_parts_are_noticed_and_copies_of_shards_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    numbers(&path("a"), 0..30);
    numbers(&path("b"), 30..60);
    merge(["a", "b"].map(path), path("m")).unwrap();
    unlink(folder.path());
    let set = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!(pairs(set.left_out()), [pair("a", "m"), pair("b", "m")]);
    assert_eq!(values(&set).len(), 60);
    // Another clone of the same file, which an edit refers to.
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.delete_rows(&[3]).unwrap();
    editor.commit().unwrap();
    unlink(folder.path());
    let error = ShardSet::open_folder(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    numbers(&path("a"), 0..30);
    fs::copy(path("a"), path("copy")).unwrap();
    let set = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!(values(&set).len(), 60);
}

#[test]
fn of_columns_and_deletes_by_reference_the_one_that_holds_more_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let columns = vec![("id", ids(0..30)), ("b", ids(0..30))];
    write(&path("a"), columns, WriterOptions::default());
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.drop_columns(["b"]).unwrap();
    editor.commit_to(path("narrow")).unwrap();
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.delete_rows(&[3]).unwrap();
    editor.commit_to(path("without")).unwrap();
    let set = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!(set.num_rows(), 29);
    let expected = [pair("a", "without"), pair("narrow", "a")];
    let found = pairs(set.left_out());
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0], expected[0]);
    assert_eq!(found[1].0, "narrow");
}

#[test]
fn an_edit_without_bytes_is_not_lost_to_a_merged_shard() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let fresh = || {
        for name in ["a", "b", "m"] {
            let _ = fs::remove_file(path(name));
        }
        numbers(&path("a"), 0..30);
        numbers(&path("b"), 30..60);
        merge(["a", "b"].map(path), path("m")).unwrap();
        let set = ShardSet::open_folder(folder.path()).unwrap();
        assert_eq!(set.num_rows(), 60);
    };
    let refused = || {
        let error = ShardSet::open_folder(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("in part"), "{error}");
    };
    // A stripe whose rows are all deleted has no list of them.
    fresh();
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.delete(&col("id").lt(30)).unwrap();
    editor.commit().unwrap();
    refused();
    // A constant has no buffer.
    fresh();
    let mut editor = ShardEditor::open(path("a")).unwrap();
    let same: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    let field = Field::new("same", DataType::Int64, false);
    editor.add_column(field, &same).unwrap();
    editor.commit().unwrap();
    refused();
    // A merge of the changed shard holds it.
    fs::remove_file(path("m")).unwrap();
    merge(["a", "b"].map(path), path("m")).unwrap();
    let set = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!(pairs(set.left_out()), [pair("a", "m"), pair("b", "m")]);
}

#[test]
fn shards_that_overlap_in_part_or_were_named_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, start) in [("a", 0), ("b", 10), ("c", 20)] {
        numbers(&path(name), start..start + 10);
    }
    merge(["a", "b"].map(path), path("ab")).unwrap();
    merge(["b", "c"].map(path), path("bc")).unwrap();
    let refused = |result: Result<()>, names: [&str; 2]| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let text = error.to_string();
        for name in names {
            let name = format!("{}`", Path::new(name).display());
            assert!(text.contains(&name), "{text}");
        }
    };
    refused(ShardSet::open_folder(folder.path()).map(drop), ["ab", "bc"]);
    refused(held_by_others(folder.path()).map(drop), ["ab", "bc"]);
    refused(
        ShardSet::open(["ab", "bc"].map(path)).map(drop),
        ["ab", "bc"],
    );
    refused(ShardSet::open(["a", "ab"].map(path)).map(drop), ["a", "ab"]);
    refused(
        merge(["a", "ab"].map(path), path("new")).map(drop),
        ["a", "ab"],
    );
    assert!(!path("new").exists());
    // A shard that contains all of them resolves the conflict.
    merge(["a", "b", "c"].map(path), path("abc")).unwrap();
    let set = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!((set.num_rows(), set.left_out().len()), (30, 5));
    // A file that is named twice is read twice.
    assert_eq!(
        ShardSet::open(["a", "b", "a"].map(path))
            .unwrap()
            .num_rows(),
        30
    );
    assert_eq!(
        merge(["a", "b", "a"].map(path), path("aba"))
            .unwrap()
            .num_rows(),
        30
    );
    // An editor accepts overlapping shards.
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.append(path("ab")).unwrap();
    refused(editor.check_distinct(), ["a", "ab"]);
    assert_eq!(editor.commit_to(path("more")).unwrap().num_rows(), 30);
}

#[cfg(feature = "object_store")]
#[test]
fn a_folder_of_objects_has_each_row_once() {
    use arrow_shard::ops::held_by_others_async;
    use futures::executor::block_on;
    use object_store::local::LocalFileSystem;
    use object_store::path::Path as Location;
    use std::sync::Arc;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, start) in [("a", 0), ("b", 10)] {
        numbers(&path(name), start..start + 10);
    }
    let store = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
    block_on(async {
        let (a, b) = (Location::from("a"), Location::from("b"));
        let mut editor = ShardEditor::open_async(Store::object(store.clone()).at(a.to_string()))
            .await
            .unwrap();
        editor.append_async(b.to_string()).await.unwrap();
        editor.check_distinct_async().await.unwrap();
        let merged = Location::from("m");
        editor.commit_to_async(merged.to_string()).await.unwrap();
        let set = ShardSet::open_folder_async(Store::object(store.clone()).root())
            .await
            .unwrap();
        assert_eq!(set.num_rows(), 20);
        assert_eq!(pairs(set.left_out()), [pair("a", "m"), pair("b", "m")]);
        let held = held_by_others_async(Store::object(store.clone()).root())
            .await
            .unwrap();
        assert_eq!(held, set.left_out());
        let named = ShardSet::open_async(
            [a.clone(), merged.clone()]
                .map(|path| Store::object(store.clone()).at(path.to_string())),
        )
        .await;
        assert_eq!(named.unwrap_err().kind(), ErrorKind::InvalidArgument);
        let twice = ShardSet::open_async(
            [a.clone(), a].map(|path| Store::object(store.clone()).at(path.to_string())),
        )
        .await;
        assert_eq!(twice.unwrap().num_rows(), 20);
    });
}

#[cfg(feature = "object_store")]
#[test]
fn shards_of_the_same_name_in_two_stores_hold_none_of_each_other() {
    use arrow_shard::Shard;
    use arrow_shard::ops::held_shards_async;
    use futures::executor::block_on;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    numbers(&path("a"), 0..10);
    merge([path("a")], path("m")).unwrap();
    let of = |store: &str, name: &str| {
        let location = Store::local().with_id(store).at(path(name));
        (location, Shard::open(path(name)).unwrap())
    };
    let held = |shards: Vec<_>| block_on(held_shards_async(shards)).unwrap();
    assert_eq!(held(vec![of("one", "a"), of("two", "a")]), []);
    assert_eq!(held(vec![of("one", "a"), of("two", "m")]), []);
    let shards = vec![
        of("one", "a"),
        of("two", "a"),
        of("two", "m"),
        of("one", "m"),
    ];
    assert_eq!(held(shards), [(2, 1), (3, 0)]);
}
