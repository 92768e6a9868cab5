//! The same writer for shards in a local folder, in memory and in an object store.

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_shard::io::{Location, MemoryFolder, Store};
use arrow_shard::write::{AsyncShardWriter, Layout, WriterOptions};
use arrow_shard::{ErrorKind, Result, Shard};
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use std::sync::Arc;

async fn write(location: &Location, first: i64, options: WriterOptions) -> Result<u64> {
    let ids = Int64Array::from_iter_values(first..first + 50);
    let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as ArrayRef)]).unwrap();
    let options = options.with_stripe_rows(20);
    let mut writer = AsyncShardWriter::create_with(location, batch.schema(), options).await?;
    writer.write(&batch).await?;
    Ok(writer.finish().await?.num_rows())
}

async fn read(location: &Location) -> Result<Vec<RecordBatch>> {
    let shard = Shard::open_async(location).await?;
    Ok(shard.scan().build_stream().await?.try_collect().await?)
}

#[test]
fn shards_are_written_to_any_store_and_not_over_another() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    let stores = [
        Store::folder(folder.path()).unwrap(),
        Store::memory(MemoryFolder::new()),
        Store::object(Arc::new(InMemory::new())),
    ];
    for (store, layout) in stores.iter().flat_map(|store| {
        let layouts = [Layout::SingleFile, Layout::TwoLevel];
        layouts.map(|layout| (store, layout))
    }) {
        block_on(async {
            let location = store.at(format!("below/{layout:?}.amudai.shard"));
            let options = WriterOptions::default().with_layout(layout);
            let written = write(&location, 0, options.clone()).await;
            assert_eq!(written.unwrap(), 50, "{store:?}, {layout:?}");
            let first = read(&location).await.unwrap();
            let rows: usize = first.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, 50);

            let refused = write(&location, 9, options.clone()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::AlreadyExists, "{refused}");
            assert_eq!(read(&location).await.unwrap(), first);

            let options = options.with_overwrite(true);
            write(&location, 9, options.clone()).await.unwrap();
            assert_ne!(read(&location).await.unwrap(), first);

            let stripe = store.at("below/0000.amudai.stripe");
            let refused = write(&stripe, 0, options.clone()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{store:?}");
            // In a local store the root is a folder, which exists; other stores refuse the empty name.
            let root = write(&store.root(), 0, options).await.unwrap_err();
            let kinds = [ErrorKind::AlreadyExists, ErrorKind::InvalidArgument];
            assert!(kinds.contains(&root.kind()), "{store:?}: {root}");
        });
    }
}

#[test]
fn a_writer_of_a_local_file_that_is_dropped_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.amudai.shard");
    let ids = Arc::new(Int64Array::from_iter_values(0..50)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    block_on(async {
        let mut writer = AsyncShardWriter::create(&path, batch.schema())
            .await
            .unwrap();
        writer.write(&batch).await.unwrap();
        drop(writer);
        let mut writer = AsyncShardWriter::create(&path, batch.schema())
            .await
            .unwrap();
        writer.write(&batch).await.unwrap();
        writer.abort().await.unwrap();
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
