//! Packing a shard into one file: everything is unchanged, and no other file is needed.

use crate::numbers::{ids, names, read, write};
use crate::support::collect;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use arrow_shard::io::Store;
use arrow_shard::metadata::{NameValuePair, SortingColumn, Wire};
use arrow_shard::ops::{
    CompactOptions, PackOptions, ShardEditor, VacuumOptions, compact, merge, pack, vacuum,
};
use arrow_shard::read::col;
use arrow_shard::read::inspect::{BufferKind, InspectOptions};
use arrow_shard::write::{ColumnOptions, Layout, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn texts(rows: std::ops::Range<i64>) -> ArrayRef {
    let texts = rows.map(|i| (i % 7 > 0).then(|| format!("text {}", i % 100)));
    Arc::new(texts.collect::<StringArray>())
}

fn lists(rows: std::ops::Range<i64>) -> ArrayRef {
    let list = |i: i64| (i % 5 > 0).then(|| (0..i % 4).map(|v| Some(i32::try_from(v).unwrap())));
    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
        rows.map(list),
    ))
}

/// Writes shards of every layout, with columns of several kinds, properties and filters; one is edited.
fn shards(folder: &Path, profile: Profile, wire: Wire) {
    let options = |layout| {
        let column = ColumnOptions::default()
            .with_bloom_filter_enabled(wire == Wire::Spec)
            .with_property(NameValuePair::new("unit", "metres"));
        WriterOptions::default()
            .with_wire(wire)
            .with_profile(profile)
            .with_layout(layout)
            .with_stripe_rows(1000)
            .with_column("id", column)
            .with_property(NameValuePair::new("source", "tests"))
            .with_stripe_property(NameValuePair::new("day", 7i64))
            .with_sorting_columns(vec![SortingColumn {
                path: "id".to_owned(),
                descending: false,
                nulls_first: false,
            }])
    };
    let columns = |rows: std::ops::Range<i64>| {
        vec![
            ("id", ids(rows.clone())),
            ("text", texts(rows.clone())),
            ("list", lists(rows)),
        ]
    };
    write(
        &folder.join("one"),
        columns(0..2500),
        options(Layout::SingleFile),
    );
    write(
        &folder.join("two"),
        columns(2500..5000),
        options(Layout::TwoLevel),
    );
    let path = folder.join("edited");
    // The first shard is contained twice, but its buffers once.
    merge(["one", "two", "one"].map(|name| folder.join(name)), &path).unwrap();
    let mut editor = ShardEditor::open(&path).unwrap();
    editor.delete(&col("id").lt(100)).unwrap();
    editor.rename_column("list", "numbers").unwrap();
    let value = Arc::new(Int32Array::from(vec![5])) as ArrayRef;
    editor
        .add_column(Field::new("five", DataType::Int32, false), &value)
        .unwrap();
    let field = Field::new("other", DataType::Int64, false);
    let options = ColumnOptions::default();
    editor
        .add_column_values(field, [ids(0..7500)], options)
        .unwrap();
    editor.commit().unwrap();
}

/// Returns all rows, statistics and metadata of a shard.
fn told(path: &Path) -> (RecordBatch, RecordBatch, RecordBatch, String) {
    let shard = Shard::open(path).unwrap();
    assert!(shard.verify().unwrap().is_sound());
    let scan = shard.scan().with_row_number("row");
    let all = shard.scan().with_row_number("row").with_deleted_rows(true);
    let fields = shard.schema().unwrap();
    let names = fields.fields().iter().map(|field| field.name().as_str());
    let names: Vec<&str> = names
        .filter(|name| !["list", "numbers"].contains(name))
        .collect();
    let statistics = shard.statistics(&names);
    let stripes = shard.stripes().unwrap();
    let stripes: Vec<u64> = stripes.iter().map(|stripe| stripe.num_rows()).collect();
    let rest = format!(
        "{:?} {:?} {:?} {stripes:?} {}",
        shard.properties().unwrap(),
        shard.sorting_columns().unwrap(),
        shard.schema().unwrap(),
        shard.num_deleted_rows(),
    );
    (
        collect(scan.build().unwrap()).unwrap(),
        collect(all.build().unwrap()).unwrap(),
        statistics.unwrap(),
        rest,
    )
}

#[test]
fn a_packed_shard_tells_the_same_alone() {
    for (profile, wire) in [
        (Profile::Balanced, Wire::Spec),
        (Profile::Plain, Wire::Spec),
        (Profile::Fast, Wire::Spec),
        (Profile::Balanced, Wire::Reference),
    ] {
        let (folder, alone) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        shards(folder.path(), profile, wire);
        for name in ["one", "two", "edited"] {
            let path = folder.path().join(name);
            let before = fs::read(&path).unwrap();
            let packed = alone.path().join(name);
            let done = pack(&path, &packed, PackOptions::default()).unwrap();
            assert_eq!(told(&packed), told(&path), "{name}, {profile:?}, {wire:?}");
            assert_eq!(fs::read(&path).unwrap(), before);
            let size = packed.metadata().unwrap().len();
            assert_eq!((done.bytes(), done.is_unchanged()), (size, false));
            let shard = Shard::open(&packed).unwrap();
            assert_eq!(shard.referenced_files().unwrap(), []);
            assert_eq!(done.num_rows(), shard.num_rows());
            assert_eq!(done.num_deleted_rows(), shard.num_deleted_rows());
            assert_eq!(done.num_stripes(), shard.num_stripes());
            // Packing again produces the same file.
            let again = alone.path().join("again");
            let options = PackOptions::default().with_overwrite(true);
            pack(&packed, &again, options).unwrap();
            assert!(
                fs::read(&again).unwrap() == fs::read(&packed).unwrap(),
                "{name}"
            );
        }
        // A single file keeps about its size, and shared buffers are copied once.
        let size = |file: std::path::PathBuf| file.metadata().unwrap().len();
        let one = size(folder.path().join("one"));
        assert!(size(alone.path().join("one")) <= one + one / 10);
        let edited = size(alone.path().join("edited"));
        assert!(edited < 5 * one, "{edited} of shards of {one} bytes");
    }
}

#[test]
fn bytes_of_dropped_columns_and_rewritten_stripes_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    shards(folder.path(), Profile::Plain, Wire::Spec);
    let mut editor = ShardEditor::open(path("one")).unwrap();
    editor.select_columns(["id"]).unwrap();
    editor.commit_to(path("small")).unwrap();
    let done = pack(path("small"), path("packed"), PackOptions::default()).unwrap();
    let whole = path("one").metadata().unwrap().len();
    assert!(done.bytes() < whole / 2, "{} of {whole}", done.bytes());
    // Replaces the shard itself.
    compact(path("edited"), CompactOptions::default())
        .unwrap()
        .unwrap();
    let before = told(&path("edited"));
    let options = PackOptions::default().with_overwrite(true);
    pack(path("edited"), path("edited"), options).unwrap();
    for name in ["one", "two", "small", "packed"] {
        fs::remove_file(path(name)).unwrap();
    }
    let at_once = VacuumOptions::default().with_min_age(Duration::ZERO);
    vacuum(folder.path(), at_once).unwrap();
    assert_eq!(names(folder.path()), ["edited"]);
    assert_eq!(told(&path("edited")), before);
}

#[test]
fn what_is_refused_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    shards(folder.path(), Profile::Balanced, Wire::Spec);
    let before = names(folder.path());
    let refused = |from: &str, to: &str, options: &PackOptions| {
        let error = pack(path(from), path(to), options.clone()).unwrap_err();
        assert_eq!(names(folder.path()), before, "{error}");
        error
    };
    let options = PackOptions::default();
    let exists = refused("two", "one", &options);
    assert_eq!(exists.kind(), ErrorKind::AlreadyExists);
    let reserved = refused("two", "1.amudai.stripe", &options);
    assert_eq!(reserved.kind(), ErrorKind::InvalidArgument);
    assert_eq!(refused("none", "new", &options).kind(), ErrorKind::NotFound);
    // The progress callback may stop the operation.
    let told: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
    let listed = told.clone();
    let listening = options.clone().with_progress(move |progress| {
        listed.lock().unwrap().push((progress.done, progress.total));
        match progress.done {
            0..2000 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    let stopped = refused("two", "new", &listening);
    assert_eq!(stopped.kind(), ErrorKind::Stopped);
    let told = told.lock().unwrap();
    assert!(told.len() > 2 && told.iter().all(|(_, total)| *total == 2500));

    let stripe = Shard::open(path("two"))
        .unwrap()
        .referenced_files()
        .unwrap();
    fs::remove_file(path(stripe[1].path())).unwrap();
    let error = pack(path("two"), path("new"), options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    assert!(
        text.contains("arrow-shard pack") && text.contains(stripe[1].path()),
        "{text}"
    );
    assert!(!path("new").exists());
    // The error of a scan names the command, too.
    let scan = Shard::open(path("two")).unwrap().scan().build().unwrap();
    let error = collect(scan).unwrap_err().to_string();
    assert!(error.contains("arrow-shard pack"), "{error}");
}

/// Writes a shard with a stripe file, and returns the paths of both files.
fn two_level(folder: &Path, seed: i64, profile: Profile) -> [PathBuf; 2] {
    let numbers = (0..5000).map(|i| (i * i * 7919 + seed) % 10_007);
    let columns = vec![
        (
            "number",
            Arc::new(Int64Array::from_iter_values(numbers)) as ArrayRef,
        ),
        ("text", texts(seed..5000 + seed)),
    ];
    let options = WriterOptions::default()
        .with_profile(profile)
        .with_layout(Layout::TwoLevel);
    let path = folder.join("t");
    write(&path, columns, options);
    let files = Shard::open(&path).unwrap().referenced_files().unwrap();
    assert_eq!(files.len(), 1);
    let stripe = folder.join(files[0].path());
    [path, stripe]
}

#[test]
fn damaged_and_swapped_files_are_not_packed() {
    for profile in [Profile::Plain, Profile::Fast, Profile::Balanced] {
        let folders = [0, 1].map(|_| tempfile::tempdir().unwrap());
        let [path, stripe] = two_level(folders[0].path(), 0, profile);
        let [_, other] = two_level(folders[1].path(), 1, profile);
        let (sound, other) = (fs::read(&stripe).unwrap(), fs::read(other).unwrap());
        let shard = Shard::open(&path).unwrap();
        let info = shard.inspect(InspectOptions::default()).unwrap();
        let mut fields = info.stripes[0].fields.iter();
        let number = fields.find(|field| field.path == "number").unwrap();
        let mut buffers = number.buffers.iter();
        let data = buffers.find(|b| b.kind == BufferKind::Data).unwrap();
        let mut flipped = sound.clone();
        flipped[usize::try_from(data.range.start()).unwrap() + 17] ^= 1;
        drop(shard);
        let packed = folders[0].path().join("packed");
        let options = PackOptions::default();
        let name = stripe.file_name().unwrap().to_str().unwrap();
        let refused = |bytes: &[u8]| {
            fs::write(&stripe, bytes).unwrap();
            let error = pack(&path, &packed, options.clone()).unwrap_err();
            assert!(!packed.exists());
            let text = error.to_string();
            assert!(text.contains(name), "{profile:?}: {text}");
            error
        };
        let error = refused(&flipped);
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Checksum, "{profile:?}: {text}");
        assert!(text.contains("stripe 0, field `number`"), "{text}");
        assert!(
            text.contains("block 0") || profile == Profile::Plain,
            "{text}"
        );
        let kinds = [
            ErrorKind::WrongFile,
            ErrorKind::Checksum,
            ErrorKind::Corrupt,
        ];
        for bytes in [vec![0; sound.len()], other] {
            let error = refused(&bytes);
            assert!(kinds.contains(&error.kind()), "{profile:?}: {error}");
        }
        fs::write(&stripe, &sound).unwrap();
        pack(&path, &packed, options.clone()).unwrap();
        assert_eq!(told(&packed), told(&path));
    }
}

#[test]
fn edits_without_effect_leave_the_file_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let columns = vec![("id", ids(0..25)), ("text", texts(0..25))];
    write(
        &path,
        columns,
        WriterOptions::default().with_stripe_rows(10),
    );
    type Edit = fn(&mut ShardEditor);
    let nothing: [Edit; 8] = [
        |_| {},
        |editor| assert_eq!(editor.undelete(), 0),
        |editor| assert_eq!(editor.undelete_rows(&[3]).unwrap(), 0),
        |editor| assert_eq!(editor.delete(&col("id").lt(0)).unwrap(), 0),
        |editor| assert_eq!(editor.delete_rows(&[]).unwrap(), 0),
        |editor| editor.select_columns(["id", "text"]).unwrap(),
        |editor| editor.drop_columns(Vec::<String>::new()).unwrap(),
        |editor| {
            editor.rename_column("id", "x").unwrap();
            editor.rename_column("x", "id").unwrap();
            editor.delete_rows(&[3]).unwrap();
            editor.undelete_rows(&[3]).unwrap();
        },
    ];
    let check = |rows: u64, deleted: u64| {
        let before = (names(folder.path()), fs::read(&path).unwrap());
        let version = path.metadata().unwrap().modified().unwrap();
        for (i, edit) in nothing
            .iter()
            .enumerate()
            .skip(usize::from(deleted > 0) * 3)
        {
            let mut editor = ShardEditor::open(&path).unwrap();
            if deleted == 0 || i != 7 {
                edit(&mut editor);
            }
            assert!(!editor.has_changes(), "edit {i}");
            let done = editor.commit().unwrap();
            assert!(done.is_unchanged());
            assert_eq!(
                (done.num_rows(), done.num_deleted_rows(), done.bytes()),
                (rows, deleted, 0)
            );
            let after = (names(folder.path()), fs::read(&path).unwrap());
            assert!(after == before, "edit {i}");
            assert_eq!(path.metadata().unwrap().modified().unwrap(), version);
        }
    };
    check(25, 0);
    // A new directory is written if the caller asks for one.
    let editor = ShardEditor::open(&path).unwrap();
    let done = editor.commit_to(folder.path().join("other")).unwrap();
    assert!(!done.is_unchanged() && done.bytes() > 0);
    let mut editor = ShardEditor::open(&path).unwrap();
    editor.delete_rows(&[3, 4]).unwrap();
    assert!(editor.has_changes());
    assert!(!editor.commit().unwrap().is_unchanged());
    check(23, 2);
    let changes: [Edit; 4] = [
        |editor| assert_eq!(editor.undelete(), 2),
        |editor| editor.select_columns(["text", "id"]).unwrap(),
        |editor| editor.drop_columns(["text"]).unwrap(),
        |editor| editor.rename_column("id", "x").unwrap(),
    ];
    for change in changes {
        let mut editor = ShardEditor::open(&path).unwrap();
        change(&mut editor);
        assert!(editor.has_changes());
    }
    assert_eq!(read(&path).len(), 23);
}

#[cfg(feature = "object_store")]
mod objects {
    use super::*;
    use arrow_shard::ops::pack_async;
    use arrow_shard::read::ShardOptions;
    use futures::TryStreamExt;
    use futures::executor::block_on;
    use object_store::local::LocalFileSystem;
    use object_store::path::Path as Location;
    use object_store::{ObjectStore, ObjectStoreExt};

    #[test]
    fn objects_are_packed_and_left_as_they_are_too() {
        let folder = tempfile::tempdir().unwrap();
        shards(folder.path(), Profile::Balanced, Wire::Spec);
        let store = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
        let store = store as Arc<dyn ObjectStore>;
        let (from, to) = (Location::from("edited"), Location::from("below/packed"));
        block_on(async {
            let options = PackOptions::default();
            pack_async(
                Store::object(store.clone()).at(from.to_string()),
                Store::object(store.clone()).at(to.to_string()),
                options.clone(),
            )
            .await
            .unwrap();
            let local = folder.path().join("local");
            pack(folder.path().join("edited"), &local, options.clone()).unwrap();
            let object = store.get(&to).await.unwrap().bytes().await.unwrap();
            assert!(object == fs::read(&local).unwrap());
            let shard = Shard::open_object(store.clone(), &to, ShardOptions::default());
            assert_eq!(
                shard.await.unwrap().referenced_files_async().await.unwrap(),
                []
            );
            let taken = pack_async(
                Store::object(store.clone()).at(from.to_string()),
                Store::object(store.clone()).at(to.to_string()),
                options.clone(),
            )
            .await;
            assert_eq!(taken.unwrap_err().kind(), ErrorKind::AlreadyExists);

            // An unchanged shard is not written, so this also works in a store without conditional writes.
            let editor = ShardEditor::open_async(Store::object(store.clone()).at(to.to_string()))
                .await
                .unwrap();
            let done = editor.commit_async().await.unwrap();
            assert!(done.is_unchanged());
            let after = store.get(&to).await.unwrap().bytes().await.unwrap();
            assert!(after == object);
            let all: Vec<_> = store.list(None).try_collect().await.unwrap();
            assert!(all.iter().any(|object| object.location == to));
        });
    }
}

/// The steps with which the guide erases data.
#[test]
fn deleted_values_are_in_no_file_after_compact_pack_and_vacuum() {
    const SECRET: &str = "a name to be forgotten";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.shard");
    let texts = (0..300).map(|i| if i == 150 { SECRET } else { "another name" });
    let column = Arc::new(StringArray::from_iter_values(texts)) as ArrayRef;
    let options = WriterOptions::default().with_profile(Profile::Plain);
    write(&path, vec![("name", column)], options.with_stripe_rows(100));
    let holds_secret = || {
        let files = names(folder.path()).into_iter();
        let mut bytes = files.map(|name| fs::read(folder.path().join(name)).unwrap());
        bytes.any(|bytes| {
            let mut windows = bytes.windows(SECRET.len());
            windows.any(|window| window == SECRET.as_bytes())
        })
    };
    let mut editor = ShardEditor::open(&path).unwrap();
    assert_eq!(editor.delete(&col("name").eq(SECRET)).unwrap(), 1);
    editor.commit().unwrap();
    let options = CompactOptions::default().with_min_rows(1);
    let done = compact(&path, options.with_max_deleted(0.0)).unwrap();
    assert!(done.is_some() && holds_secret());
    // The other two stripes are still read from the file with all three.
    let at_once = || VacuumOptions::default().with_min_age(Duration::ZERO);
    vacuum(folder.path(), at_once()).unwrap();
    assert!(holds_secret());

    pack(&path, &path, PackOptions::default().with_overwrite(true)).unwrap();
    vacuum(folder.path(), at_once()).unwrap();
    assert!(!holds_secret());
    assert_eq!(Shard::open(&path).unwrap().num_rows(), 299);
}
