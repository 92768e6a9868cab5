//! Shards in object stores.

use crate::support::{NAME, written};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use arrow_shard::io::Store;
use arrow_shard::ops::{
    CompactOptions, PackOptions, ShardEditor, ShardSet, VacuumOptions, compact_async,
    held_shards_async, pack_async, vacuum_async,
};
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::write::{Layout, WriterOptions};
use arrow_shard::{Error, ErrorKind, Shard};
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;

fn batch(rows: i64, plus: i64) -> RecordBatch {
    let texts = (0..rows).map(|i| (i % 5 > 0).then(|| format!("text {}", i * 7919 % 1009)));
    let columns: [(&str, ArrayRef, bool); 2] = [
        (
            "id",
            Arc::new(Int64Array::from_iter_values((0..rows).map(|i| i + plus))),
            false,
        ),
        ("text", Arc::new(texts.collect::<StringArray>()), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Puts the files of a shard below a prefix, and returns the path of the directory file.
async fn put(store: &dyn ObjectStore, batch: &RecordBatch, layout: Layout) -> Path {
    let options = WriterOptions::default()
        .with_layout(layout)
        .with_stripe_rows(30_000);
    let folder = written(&batch.schema(), std::slice::from_ref(batch), options).unwrap();
    for name in folder.names() {
        let path = Path::from("a/table of 1 %").join(name.as_str());
        store
            .put(&path, folder.get(&name).unwrap().into())
            .await
            .unwrap();
    }
    Path::from("a/table of 1 %").join(NAME)
}

/// Checks that shards are read back unchanged from a store.
async fn check(store: Arc<dyn ObjectStore>) {
    let batch = batch(100_000, 0);
    for layout in [Layout::SingleFile, Layout::TwoLevel] {
        let path = put(&*store, &batch, layout).await;
        let options = ShardOptions::default().with_fetch_bytes(100_000);
        let shard = Shard::open_object(store.clone(), &path, options)
            .await
            .unwrap();
        let stream = shard.scan().build_stream().await.unwrap();
        let read: Vec<RecordBatch> = stream.try_collect().await.unwrap();
        assert_eq!(concat_batches(&batch.schema(), &read).unwrap(), batch);
        let filter = col("id").between(29_990, 30_010);
        let stream = shard
            .scan()
            .with_filter(filter)
            .build_stream()
            .await
            .unwrap();
        let read: Vec<RecordBatch> = stream.try_collect().await.unwrap();
        let read = concat_batches(&batch.schema(), &read).unwrap();
        assert_eq!(read, batch.slice(29_990, 21));
        let rows = shard.take_async(&[99_999, 3], ["text"]).await.unwrap();
        assert_eq!(rows.num_rows(), 2);
    }
}

#[test]
fn shards_are_read_from_memory_and_from_files() {
    block_on(check(Arc::new(InMemory::new())));
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    block_on(check(Arc::new(files)));
}

#[test]
fn an_object_that_is_replaced_or_missing_is_an_error_that_says_so() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let path = put(&*store, &batch(100_000, 0), Layout::SingleFile).await;
        // Nearly all of the object is fetched after opening.
        let options = || {
            let options = ShardOptions::default().with_tail_bytes(10_000);
            options.with_fetch_bytes(50_000)
        };
        let shard = Shard::open_object(store.clone(), &path, options())
            .await
            .unwrap();
        let mut stream = shard.scan().with_prefetch(1).build_stream().await.unwrap();
        stream.try_next().await.unwrap().unwrap();
        put(&*store, &batch(100_000, 1), Layout::SingleFile).await;
        let error = stream.try_collect::<Vec<_>>().await.unwrap_err();
        let error = Error::from(error);
        assert_eq!(error.kind(), ErrorKind::Replaced);
        let shown = format!("{error:#}");
        assert!(
            shown.contains("opened first") && shown.contains(NAME),
            "{shown}"
        );

        let nowhere = Path::from("nowhere.shard");
        let error = Shard::open_object(store.clone(), &nowhere, options())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let shown = format!("{error:#}");
        assert!(
            shown.starts_with("not found: object `nowhere.shard`: "),
            "{shown}"
        );
        // Once as the place, and once in the store's own message.
        assert_eq!(shown.matches("nowhere.shard").count(), 2, "{shown}");
        assert_eq!(shown.matches("no such object").count(), 1, "{shown}");

        let path = put(&*store, &batch(100_000, 0), Layout::TwoLevel).await;
        let shard = Shard::open_object(store.clone(), &path, options())
            .await
            .unwrap();
        let all: Vec<_> = store.list(None).try_collect().await.unwrap();
        for object in all.iter().filter(|object| object.location != path) {
            store.delete(&object.location).await.unwrap();
        }
        let read = async {
            let stream = shard.scan().build_stream().await?;
            stream.try_collect::<Vec<_>>().await
        };
        let error = Error::from(read.await.unwrap_err());
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error:#}");
    });
}

#[test]
fn futures_of_edits_may_be_sent_to_other_threads() {
    fn sent<T: Send>(_future: T) {}
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let path = Path::from("t.amudai.shard");
    sent(ShardEditor::open_async(
        Store::object(store.clone()).at(path.to_string()),
    ));
    sent(async {
        let mut editor =
            ShardEditor::open_async(Store::object(store.clone()).at(path.to_string())).await?;
        editor.append_async(path.to_string()).await?;
        editor.delete_async(&col("id").gt(1)).await?;
        editor.check_distinct_async().await?;
        editor.commit_async().await
    });
    sent(compact_async(
        Store::object(store.clone()).at(path.to_string()),
        CompactOptions::default(),
    ));
    sent(pack_async(
        Store::object(store.clone()).at(path.to_string()),
        Store::object(store.clone()).at(path.to_string()),
        PackOptions::default(),
    ));
    sent(vacuum_async(
        Store::object(store.clone()).root(),
        VacuumOptions::default(),
    ));
    sent(ShardSet::open_folder_async(
        Store::object(store.clone()).root(),
    ));
    sent(held_shards_async::<arrow_shard::io::Location>([]));
}
