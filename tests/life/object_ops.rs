//! Changes of shards in an object store: in memory, and in S3 if there is a server.

use crate::support::{NAME, written};
use crate::watched::Watched;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field};
use arrow_shard::io::Store;
use arrow_shard::ops::{
    CompactOptions, MergeOptions, PackOptions, ShardEditor, ShardSet, VacuumOptions, compact_async,
    compact_to_async, list_files_async, list_shards_async, merge_with_async, pack_async,
    plan_compaction_async, vacuum_async,
};
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::write::{Layout, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;
use std::time::Duration;

/// Puts a shard with the numbers of a range, in stripes of 10 rows, below a prefix, and returns the path of the
/// directory file.
async fn put(
    store: &dyn ObjectStore,
    prefix: &str,
    range: std::ops::Range<i64>,
    layout: Layout,
) -> Path {
    let ids = Arc::new(Int64Array::from_iter_values(range)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let options = WriterOptions::default()
        .with_layout(layout)
        .with_stripe_rows(10);
    let folder = written(&batch.schema(), std::slice::from_ref(&batch), options).unwrap();
    let prefix = Path::from(prefix);
    for name in folder.names() {
        let path = prefix.clone().join(name.as_str());
        store
            .put(&path, folder.get(&name).unwrap().into())
            .await
            .unwrap();
    }
    prefix.join(NAME)
}

async fn open(store: &Arc<dyn ObjectStore>, path: &Path) -> Shard {
    let options = ShardOptions::default();
    Shard::open_object(store.clone(), path, options)
        .await
        .unwrap()
}

async fn read(shard: &Shard) -> Vec<i64> {
    let stream = shard.scan().build_stream().await.unwrap();
    let batches: Vec<RecordBatch> = stream.try_collect().await.unwrap();
    let columns = batches
        .iter()
        .map(|batch| batch.column(0).as_primitive::<Int64Type>());
    columns.flat_map(|ids| ids.values().to_vec()).collect()
}

async fn names(store: &dyn ObjectStore) -> Vec<String> {
    let objects: Vec<_> = store.list(None).try_collect().await.unwrap();
    let mut names: Vec<String> = objects.iter().map(|o| o.location.to_string()).collect();
    names.sort();
    names
}

#[test]
fn a_merged_shard_replaces_no_object_that_holds_its_rows() {
    block_on(async {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let mut paths = Vec::new();
        for (i, name) in (0..).zip(["a", "b", "c"]) {
            let path = put(&*store, name, 10 * i..10 * (i + 1), Layout::SingleFile).await;
            paths.push(path.to_string());
        }
        let [a, b, c] = [0, 1, 2].map(|i| paths[i].as_str());
        let place = |name: &str| Store::object(store.clone()).at(name);
        let merged = |shards: [&str; 2], target: &str, dry: bool| {
            let options = MergeOptions::default().with_overwrite(true);
            merge_with_async(shards.map(place), place(target), options.with_dry_run(dry))
        };
        merged([a, b], "ab", false).await.unwrap();
        for dry in [true, false] {
            // A store has no second names, so the merged shard refers to the object itself.
            let error = merged(["ab", c], a, dry).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.to_string().contains("holds rows of one"), "{error}");
        }
        merged([a, b], "all", true).await.unwrap();
        let before = names(&*store).await;
        assert_eq!(before.len(), 4);
        merged([a, b], "ab", true).await.unwrap();
        assert_eq!(read(&open(&store, &Path::from("ab")).await).await.len(), 20);
        merged([a, b], "ab", false).await.unwrap();
        merged(["ab", c], "abc", false).await.unwrap();
        let rows = read(&open(&store, &Path::from("abc")).await).await;
        assert_eq!(rows, (0..30).collect::<Vec<_>>());
    });
}

#[test]
fn objects_are_merged_changed_and_replaced_where_they_are() {
    block_on(async {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        // Names that must be escaped.
        let one = put(&*store, "t 1 %/a", 0..25, Layout::SingleFile).await;
        let two = put(&*store, "t 1 %/b", 25..40, Layout::TwoLevel).await;
        let all = Path::from("t 1 %").join("all.amudai.shard");
        let mut editor = ShardEditor::open_async(Store::object(store.clone()).at(one.to_string()))
            .await
            .unwrap();
        editor.append_async(two.to_string()).await.unwrap();
        let merged = editor.commit_to_async(all.to_string()).await.unwrap();
        assert_eq!((merged.num_rows(), merged.num_stripes()), (40, 5));
        let before = open(&store, &all).await;
        assert_eq!(read(&before).await, (0..40).collect::<Vec<_>>());

        let mut editor = ShardEditor::open_async(Store::object(store.clone()).at(all.to_string()))
            .await
            .unwrap();
        let mut late = ShardEditor::open_async(Store::object(store.clone()).at(all.to_string()))
            .await
            .unwrap();
        assert_eq!(editor.delete_async(&col("id").gt_eq(20)).await.unwrap(), 20);
        assert_eq!(editor.undelete_rows_async(&[39]).await.unwrap(), 1);
        late.delete_rows_async(&[0]).await.unwrap();
        editor.commit_async().await.unwrap();
        let expected: Vec<i64> = (0..20).chain([39]).collect();
        let shard = open(&store, &all).await;
        assert_eq!((shard.num_rows(), shard.num_deleted_rows()), (21, 19));
        assert_eq!(read(&shard).await, expected);
        let error = shard.scan().take_async(&[20]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RowOutOfRange, "{error}");
        assert!(shard.verify_async().await.unwrap().is_sound());

        // A merged shard and its parts have the same rows.
        let table = [two.clone(), all.clone()];
        let error = ShardSet::open_async(
            table.map(|path| Store::object(store.clone()).at(path.to_string())),
        )
        .await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
        let third = put(&*store, "t 1 %/c", 25..40, Layout::TwoLevel).await;
        let fourth = put(&*store, "t 1 %/d", 0..25, Layout::SingleFile).await;
        let table = [third, all.clone(), fourth];
        let table = ShardSet::open_async(
            table.map(|path| Store::object(store.clone()).at(path.to_string())),
        )
        .await
        .unwrap();
        assert_eq!(table.row_ranges(), [0..15, 15..55, 55..80]);
        let rows: Vec<i64> = (25..40).chain(expected.clone()).chain(0..25).collect();
        assert_eq!(read(table.shard()).await, rows);
        let taken = table.take_async(&[(2, 3), (1, 39)], ["id"]).await.unwrap();
        assert_eq!(
            taken.column(0).as_primitive::<Int64Type>().values(),
            &[3, 39]
        );

        let objects = names(&*store).await;
        let error = late.commit_async().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        let editor = ShardEditor::open_async(Store::object(store.clone()).at(all.to_string()))
            .await
            .unwrap();
        let error = editor.commit_to_async(two.to_string()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ForbiddenUrl, "{error}");
        let editor = ShardEditor::open_async(Store::object(store.clone()).at(two.to_string()))
            .await
            .unwrap();
        let error = editor.commit_to_async(all.to_string()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
        // Other shards may refer to the rows in this object.
        let mut editor = ShardEditor::open_async(Store::object(store.clone()).at(one.to_string()))
            .await
            .unwrap();
        editor.delete_rows_async(&[0]).await.unwrap();
        let error = editor.commit_async().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert_eq!(names(&*store).await, objects);
        assert_eq!(read(&open(&store, &all).await).await, expected);
    });
}

#[test]
fn an_object_that_was_replaced_is_a_conflict_whichever_it_is() {
    block_on(async {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let one = put(&*store, "t/a", 0..25, Layout::SingleFile).await;
        let two = put(&*store, "t/b", 25..40, Layout::SingleFile).await;
        let target = Path::from("t/all");
        let mut editor = ShardEditor::open_async(Store::object(store.clone()).at(one.to_string()))
            .await
            .unwrap();
        editor.append_async(two.to_string()).await.unwrap();
        editor.delete_rows_async(&[1]).await.unwrap();
        store.delete(&two).await.unwrap();
        put(&*store, "t/b", 70..90, Layout::SingleFile).await;
        let objects = names(&*store).await;
        let error = editor.commit_to_async(target.to_string()).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.to_string().contains("`t/b/"), "{error}");
        assert_eq!(names(&*store).await, objects);
    });
}

#[test]
fn small_stripes_of_objects_are_written_anew_and_unused_ones_removed() {
    block_on(async {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let one = put(&*store, "t/a", 0..25, Layout::SingleFile).await;
        let two = put(&*store, "t/b", 25..45, Layout::TwoLevel).await;
        let all = Path::from("t/all.amudai.shard");
        let mut editor = ShardEditor::open_async(Store::object(store.clone()).at(one.to_string()))
            .await
            .unwrap();
        editor.append_async(two.to_string()).await.unwrap();
        editor.delete_async(&col("id").lt(3)).await.unwrap();
        editor.commit_to_async(all.to_string()).await.unwrap();
        let options = CompactOptions::default();
        let runs = plan_compaction_async(
            Store::object(store.clone()).at(all.to_string()),
            options.clone(),
        )
        .await;
        assert_eq!(runs.unwrap().len(), 1);
        let expected: Vec<i64> = (3..45).collect();
        let before = open(&store, &all).await;
        let done = compact_async(
            Store::object(store.clone()).at(all.to_string()),
            options.clone(),
        )
        .await
        .unwrap();
        let done = done.unwrap();
        assert_eq!(
            (done.num_rows(), done.num_deleted_rows(), done.num_stripes()),
            (42, 0, 1)
        );
        assert_eq!(read(&open(&store, &all).await).await, expected);
        // A reader with the old directory keeps working: the directory is in memory, and its files stay.
        assert_eq!(read(&before).await, expected);
        let again = compact_async(
            Store::object(store.clone()).at(all.to_string()),
            options.clone(),
        )
        .await
        .unwrap();
        assert_eq!(again, None);

        // An object with rows stays, because other shards may refer to it, and no other object is left.
        let objects = names(&*store).await;
        let error = compact_async(
            Store::object(store.clone()).at(one.to_string()),
            options.clone(),
        )
        .await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
        let taken = compact_to_async(
            Store::object(store.clone()).at(one.to_string()),
            all.to_string(),
            options.clone(),
        )
        .await;
        assert_eq!(taken.unwrap_err().kind(), ErrorKind::AlreadyExists);
        let elsewhere = Path::from("t/b/x");
        let beside = compact_to_async(
            Store::object(store.clone()).at(one.to_string()),
            elsewhere.to_string(),
            options.clone(),
        )
        .await;
        assert_eq!(beside.unwrap_err().kind(), ErrorKind::ForbiddenUrl);
        assert_eq!(names(&*store).await, objects);
        let other = Path::from("t/a").join("one");
        let done = compact_to_async(
            Store::object(store.clone()).at(one.to_string()),
            other.to_string(),
            options.clone(),
        )
        .await;
        assert_eq!(done.unwrap().num_stripes(), 1);
        assert_eq!(
            read(&open(&store, &other).await).await,
            (0..25).collect::<Vec<_>>()
        );
        assert_eq!(
            read(&open(&store, &one).await).await,
            (0..25).collect::<Vec<_>>()
        );
        let taken = compact_to_async(
            Store::object(store.clone()).at(one.to_string()),
            other.to_string(),
            options.clone(),
        )
        .await;
        assert_eq!(taken.unwrap_err().kind(), ErrorKind::AlreadyExists);

        // With nothing to compact, the new directory refers to the stripes of the shard.
        let copy = Path::from("t/a/copy");
        let done = compact_to_async(
            Store::object(store.clone()).at(other.to_string()),
            copy.to_string(),
            options.clone(),
        )
        .await;
        assert_eq!(done.unwrap().num_stripes(), 1);
        assert_eq!(
            read(&open(&store, &copy).await).await,
            (0..25).collect::<Vec<_>>()
        );
        store.delete(&copy).await.unwrap();

        // Only the file of deleted rows is no longer needed.
        let young = VacuumOptions::default();
        let prefix = Path::from("t");
        let unused = vacuum_async(
            Store::object(store.clone()).at(prefix.to_string()),
            young.clone(),
        )
        .await;
        assert_eq!(unused.unwrap(), []);
        let options = young.with_min_age(Duration::ZERO);
        let dry = options.clone().with_dry_run(true);
        let listed = vacuum_async(Store::object(store.clone()).root(), dry.clone())
            .await
            .unwrap();
        assert_eq!(listed.len(), 1, "{listed:?}");
        store.delete(&two).await.unwrap();
        let removed = vacuum_async(
            Store::object(store.clone()).at(prefix.to_string()),
            options.clone(),
        )
        .await;
        // This also removes the two stripes of the deleted shard.
        assert_eq!(removed.unwrap().len(), 3);
        assert_eq!(read(&open(&store, &all).await).await, expected);
        // A damaged directory may need any of the files.
        store.delete(&all).await.unwrap();
        let mut bytes = store
            .get(&other)
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap()
            .to_vec();
        let last = bytes.len() - 20;
        bytes[last] ^= 1;
        store.put(&all, bytes.into()).await.unwrap();
        let error = vacuum_async(Store::object(store.clone()).root(), options.clone()).await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Checksum);
    });
}

/// Creates a shard that refers to numbers in other objects, with deleted rows.
async fn prepared(store: &Arc<dyn ObjectStore>) -> Path {
    let one = put(&**store, "t/a", 0..25, Layout::SingleFile).await;
    let two = put(&**store, "t/b", 25..40, Layout::TwoLevel).await;
    let all = Path::from("t/all");
    let mut editor = ShardEditor::open_async(Store::object(store.clone()).at(one.to_string()))
        .await
        .unwrap();
    editor.append_async(two.to_string()).await.unwrap();
    editor.delete_rows_async(&[7]).await.unwrap();
    editor.commit_to_async(all.to_string()).await.unwrap();
    all
}

#[test]
fn a_store_that_fails_at_any_call_leaves_the_shard_before_or_after() {
    let before: Vec<i64> = (0..7).chain(8..40).collect();
    let after: Vec<i64> = (0..7).chain(8..30).collect();
    for compacts in [false, true] {
        for fault in ["before", "after", "again"] {
            for call in 0.. {
                let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
                let path = block_on(prepared(&memory));
                let watched = Arc::new(Watched::new(memory.clone()));
                let store: Arc<dyn ObjectStore> = watched.clone();
                {
                    let mut calls = watched.calls();
                    match fault {
                        "again" => calls.sent_again = Some(call),
                        _ => calls.fails_at = Some(call),
                    }
                    calls.fails_after = fault == "after";
                }
                let change = async {
                    if compacts {
                        return compact_async(
                            Store::object(store.clone()).at(path.to_string()),
                            CompactOptions::default(),
                        )
                        .await
                        .map(drop);
                    }
                    let mut editor =
                        ShardEditor::open_async(Store::object(store.clone()).at(path.to_string()))
                            .await?;
                    editor.delete_async(&col("id").gt_eq(30)).await?;
                    editor.commit_async().await.map(drop)
                };
                let done = block_on(change);
                let place = format!("{compacts} {fault} {call}: {done:?}");
                block_on(async {
                    let shard = open(&memory, &path).await;
                    let rows = read(&shard).await;
                    assert!(shard.verify_async().await.unwrap().is_sound(), "{place}");
                    assert!(rows == before || rows == after, "{place}");
                    if done.is_ok() {
                        assert_eq!(rows, if compacts { &before[..] } else { &after }, "{place}");
                    }
                    // A change that has happened is reported as successful. After an error, stripes may remain unused.
                    if fault == "again" && !compacts {
                        assert!(done.is_ok(), "{place}");
                    }
                });
                if watched.calls().count <= call {
                    assert!(done.is_ok(), "{place}");
                    break;
                }
            }
        }
    }
}

#[test]
fn an_object_that_holds_rows_stays_though_the_new_directory_needs_none() {
    block_on(async {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = put(&*store, "t/a", 0..25, Layout::SingleFile).await;
        let mut editor = ShardEditor::open_async(Store::object(store.clone()).at(path.to_string()))
            .await
            .unwrap();
        let one = Arc::new(Int64Array::from(vec![1])) as ArrayRef;
        let field = Field::new("one", DataType::Int64, false);
        editor.add_column(field, &one).unwrap();
        editor.drop_columns(["id"]).unwrap();
        let error = editor.commit_async().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert_eq!(read(&open(&store, &path).await).await.len(), 25);
    });
}

#[test]
fn objects_keep_their_names_whatever_the_characters() {
    block_on(async {
        let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let one = put(&*memory, "t", 0..25, Layout::SingleFile).await;
        let bytes = memory.get(&one).await.unwrap().bytes().await.unwrap();
        memory.delete(&one).await.unwrap();
        let path = |name: &str| Path::parse(format!("t/{name}")).unwrap();
        for (name, content) in [
            ("a~1.amudai.shard", bytes.clone()),
            ("x[1] y.amudai.shard", bytes),
            ("notes%20of.csv~", "id\n1\n".into()),
        ] {
            memory.put(&path(name), content.into()).await.unwrap();
        }
        let store = Store::object_below(memory.clone(), Path::from("t"));
        for name in ["a~1.amudai.shard", "x[1] y.amudai.shard"] {
            let shard = Shard::open_async(store.at(name));
            assert_eq!(shard.await.unwrap().num_rows(), 25, "{name}");
        }
        let listed = list_shards_async(store.root()).await.unwrap();
        assert_eq!(listed.len(), 3);
        assert_eq!(listed[0], store.at("a~1.amudai.shard"));
        assert_eq!(list_files_async(store.root()).await.unwrap(), listed);
        let none = vacuum_async(store.root(), VacuumOptions::default()).await;
        assert_eq!(none.unwrap(), []);
        let packed = store.at("out[1]%20.amudai.shard");
        let options = PackOptions::default();
        pack_async(&listed[0], &packed, options.clone())
            .await
            .unwrap();
        memory.head(&path("out[1]%20.amudai.shard")).await.unwrap();
        let again = pack_async(&listed[0], &packed, options.clone()).await;
        assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);

        // References encode such names in another way, so no shard can refer to these objects.
        let editor = ShardEditor::open_async(&listed[0]).await.unwrap();
        let error = editor.commit_to_async("m.amudai.shard").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        // The name of the whole store does not name an object.
        for target in ["", "/"] {
            let error = pack_async(&listed[0], store.at(target), options.clone()).await;
            assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
    });
}
