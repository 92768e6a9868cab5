//! Writes shards to object stores: completely or not at all, in parts, with bounded memory.

use crate::support::{NAME, written};
use crate::watched::Watched;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use arrow_shard::io::{AsyncSink, ObjectFolder};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{AsyncShardWriter, Layout, WriterOptions};
use arrow_shard::{Error, ErrorKind, Result, Shard};
use bytes::Bytes;
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;

/// Returns incompressible values, so few rows make many parts.
fn batch(rows: i64) -> RecordBatch {
    let mixed = |i: i64| {
        let i = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed());
        (i ^ (i >> 29)).wrapping_mul(i | 1)
    };
    let ids = Int64Array::from_iter_values((0..rows).map(mixed));
    let texts = (0..rows).map(|i| (i % 5 > 0).then(|| format!("{:x}", mixed(i + 1))));
    let columns: [(&str, ArrayRef, bool); 2] = [
        ("id", Arc::new(ids), false),
        ("text", Arc::new(texts.collect::<StringArray>()), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Returns enough columns for a directory file of several parts.
fn wide() -> RecordBatch {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    RecordBatch::try_from_iter((0..1_000).map(|i| (format!("c{i}"), values.clone()))).unwrap()
}

fn options(layout: Layout) -> WriterOptions {
    WriterOptions::default()
        .with_layout(layout)
        .with_stripe_rows(30_000)
        .with_creation_time(Some(1))
}

fn path() -> Path {
    Path::from("a/table of 1 %").join(NAME)
}

/// Returns a folder with small parts, so every stripe has several.
fn folder(store: &Arc<dyn ObjectStore>) -> ObjectFolder {
    let folder = ObjectFolder::of_object(store.clone(), &path());
    folder.with_part_bytes(50_000).with_parts_at_once(3)
}

async fn begin(
    folder: ObjectFolder,
    batch: &RecordBatch,
    layout: Layout,
) -> Result<AsyncShardWriter> {
    AsyncShardWriter::create_in(Box::new(folder), NAME, batch.schema(), options(layout)).await
}

async fn write(folder: ObjectFolder, batch: &RecordBatch, layout: Layout) -> Result<u64> {
    let mut writer = begin(folder, batch, layout).await?;
    for start in (0..batch.num_rows()).step_by(7_000) {
        let len = 7_000.min(batch.num_rows() - start);
        writer.write(&batch.slice(start, len)).await?;
    }
    Ok(writer.finish().await?.num_rows())
}

async fn names(store: &dyn ObjectStore) -> Vec<String> {
    let all: Vec<_> = store.list(None).try_collect().await.unwrap();
    all.iter()
        .map(|object| object.location.to_string())
        .collect()
}

async fn read(store: Arc<dyn ObjectStore>) -> Result<RecordBatch> {
    let shard = Shard::open_object(store, &path(), ShardOptions::default()).await?;
    let stream = shard.scan().build_stream().await?;
    let schema = stream.schema().clone();
    let read: Vec<RecordBatch> = stream.try_collect().await?;
    Ok(concat_batches(&schema, &read).unwrap())
}

#[test]
fn what_is_written_in_parts_is_read_from_any_store() {
    let below = tempfile::tempdir().unwrap();
    let files = LocalFileSystem::new_with_prefix(below.path()).unwrap();
    let stores: [Arc<dyn ObjectStore>; 2] = [Arc::new(InMemory::new()), Arc::new(files)];
    for store in stores {
        for layout in [Layout::SingleFile, Layout::TwoLevel] {
            for rows in [0, 100, 100_000] {
                let (store, batch) = (store.clone(), batch(rows));
                block_on(async {
                    let folder = folder(&store).with_overwrite(true);
                    let found = write(folder, &batch, layout).await.unwrap();
                    assert_eq!(found, rows.cast_unsigned());
                    assert_eq!(read(store).await.unwrap(), batch);
                });
            }
        }
    }
}

#[test]
fn bytes_are_those_of_the_blocking_writer() {
    let batch = batch(100_000);
    let folder_in_memory = written(
        &batch.schema(),
        std::slice::from_ref(&batch),
        options(Layout::SingleFile),
    );
    let expected = folder_in_memory.unwrap().get(NAME).unwrap();
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let found = block_on(async {
        let mut writer = begin(folder(&store), &batch, Layout::SingleFile)
            .await
            .unwrap();
        writer.write(&batch).await.unwrap();
        writer.finish().await.unwrap();
        store.get(&path()).await.unwrap().bytes().await.unwrap()
    });
    assert!(found == expected, "{} of {}", found.len(), expected.len());
}

#[test]
fn an_object_that_exists_is_replaced_on_request_only() {
    block_on(async {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let (first, second) = (batch(100), batch(100_000));
        let at = path();
        let create = |options: WriterOptions| {
            AsyncShardWriter::create_object(store.clone(), &at, first.schema(), options)
        };
        let mut early = create(WriterOptions::default()).await.unwrap();
        early.write(&first).await.unwrap();
        write(folder(&store), &first, Layout::SingleFile)
            .await
            .unwrap();
        // The object did not exist when the writer was created.
        let error = early.finish().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error:#}");
        let error = create(WriterOptions::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(format!("{error:#}").contains(NAME), "{error:#}");
        assert_eq!(read(store.clone()).await.unwrap(), first);

        let overwriting = WriterOptions::default().with_overwrite(true);
        let mut writer = create(overwriting).await.unwrap();
        writer.write(&second).await.unwrap();
        assert_eq!(read(store.clone()).await.unwrap(), first);
        writer.finish().await.unwrap();
        assert_eq!(read(store.clone()).await.unwrap(), second);

        // An upload in parts does not replace an object that was written in the meantime either.
        let watched = Arc::new(Watched::default());
        let store: Arc<dyn ObjectStore> = watched.clone();
        let mut writer = begin(folder(&store), &second, Layout::SingleFile)
            .await
            .unwrap();
        writer.write(&second).await.unwrap();
        assert_eq!(watched.calls().uploads, 1);
        let other = ObjectFolder::of_object(store.clone(), &path());
        write(other, &first, Layout::SingleFile).await.unwrap();
        let error = writer.finish().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error:#}");
        assert_eq!(read(store).await.unwrap(), first);
        assert_eq!(watched.calls().uploads, 0);
    });
}

#[test]
fn a_store_that_fails_at_any_call_keeps_nothing_or_all() {
    let batches = [batch(40_000), wide()];
    let cases = batches.iter().flat_map(|batch| {
        let layouts = [Layout::SingleFile, Layout::TwoLevel].into_iter();
        layouts.flat_map(move |layout| [false, true].map(|after| (batch, layout, after)))
    });
    for (batch, layout, fails_after) in cases {
        let mut kept = 0;
        let succeeded = (0..1_000).any(|fails_at| {
            let watched = Arc::new(Watched::default());
            {
                let mut calls = watched.calls();
                calls.fails_at = Some(fails_at);
                calls.fails_after = fails_after;
            }
            let store: Arc<dyn ObjectStore> = watched.clone();
            let done = block_on(write(folder(&store), batch, layout));
            let place = format!("{layout:?}, call {fails_at}, after: {fails_after}");
            let Err(error) = done else {
                let count = watched.calls().count;
                assert!(fails_at > 12 && count == fails_at, "{place}: {count}");
                return true;
            };
            let shown = format!("{error:#}");
            assert_eq!(error.kind(), ErrorKind::Io, "{place}: {shown}");
            assert!(shown.contains("object `a/table of 1 %"), "{shown}");
            assert!(shown.contains("network is gone"), "{shown}");
            let names = block_on(names(&*watched.store));
            if names.contains(&path().to_string()) {
                // The upload was completed, but the answer was lost.
                kept += 1;
                let read = block_on(read(watched.store.clone())).unwrap();
                assert_eq!(&read, batch, "{place}");
                return false;
            }
            assert_eq!(watched.calls().uploads, 0, "{place}");
            // Stripe files stay once the request to make the directory file visible was sent.
            let is_last = layout == Layout::TwoLevel && !names.is_empty();
            assert!(names.is_empty() || is_last, "{place}: {names:?}");
            kept += usize::from(is_last);
            false
        });
        assert!(succeeded);
        let most = usize::from(fails_after || layout == Layout::TwoLevel);
        assert_eq!(kept, most, "{layout:?}, after: {fails_after}");
    }
}

#[test]
fn a_writer_that_is_given_up_leaves_nothing() {
    let batch = batch(100_000);
    for layout in [Layout::SingleFile, Layout::TwoLevel] {
        let watched = Arc::new(Watched::default());
        let store: Arc<dyn ObjectStore> = watched.clone();
        block_on(async {
            let mut writer = begin(folder(&store), &batch, layout).await.unwrap();
            writer.write(&batch).await.unwrap();
            let had = watched.calls().count;
            assert!(had > 10, "{had}");
            writer.abort().await.unwrap();
            assert_eq!(names(&*store).await, [""; 0]);
        });
        assert_eq!(watched.calls().uploads, 0);
    }
    // After a drop, only the runtime can wait for the abort.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let watched = Arc::new(Watched::default());
    let store: Arc<dyn ObjectStore> = watched.clone();
    runtime.block_on(async {
        let mut writer = begin(folder(&store), &batch, Layout::SingleFile)
            .await
            .unwrap();
        writer.write(&batch).await.unwrap();
        assert_eq!(watched.calls().uploads, 1);
        drop(writer);
        // The parts of the upload end first.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(watched.calls().uploads, 0);
}

#[test]
fn what_could_not_be_taken_back_is_tried_again() {
    let batch = batch(100_000);
    for layout in [Layout::SingleFile, Layout::TwoLevel] {
        for comes_back in [false, true] {
            let watched = Arc::new(Watched::default());
            let store: Arc<dyn ObjectStore> = watched.clone();
            block_on(async {
                let mut writer = begin(folder(&store), &batch, layout).await.unwrap();
                {
                    let mut calls = watched.calls();
                    calls.fails_at = Some(calls.count + 25);
                    calls.fails_more = 1_000;
                }
                let error = writer.write(&batch).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io);
                let left = names(&*watched.store).await.len() + watched.calls().uploads;
                assert!(left > usize::from(layout == Layout::TwoLevel));
                if comes_back {
                    watched.calls().fails_at = None;
                    writer.abort().await.unwrap();
                    assert_eq!(names(&*store).await, [""; 0]);
                    assert_eq!(watched.calls().uploads, 0);
                } else {
                    let error = writer.abort().await.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Io, "{error:#}");
                }
            });
        }
    }
}

#[test]
fn an_upload_that_begins_while_its_writer_is_given_up_is_aborted() {
    async fn give_up(is_dropped: bool) {
        let watched = Arc::new(Watched::default().with_polls(5));
        let store: Arc<dyn ObjectStore> = watched.clone();
        let mut sink = folder(&store).create_object(&path()).await.unwrap();
        let mut write = sink.write_all(vec![7; 60_000].into());
        while watched.calls().uploads == 0 {
            assert!(futures::poll!(&mut write).is_pending());
            if tokio::runtime::Handle::try_current().is_ok() {
                tokio::task::yield_now().await;
            }
        }
        drop(write);
        match is_dropped {
            true => {
                drop(sink);
                for _ in 0..40 {
                    tokio::task::yield_now().await;
                }
            }
            false => sink.abort().await.unwrap(),
        }
        assert_eq!(watched.calls().uploads, 0, "dropped: {is_dropped}");
    }
    // Without a runtime, nothing can wait for the abort after a drop.
    block_on(give_up(false));
    for is_dropped in [false, true] {
        let runtime = tokio::runtime::Builder::new_current_thread();
        { runtime }.build().unwrap().block_on(give_up(is_dropped));
    }
}

#[test]
fn parts_on_their_way_end_before_an_upload_is_aborted() {
    let batch = batch(100_000);
    for is_dropped in [false, true] {
        let watched = Arc::new(Watched::default().with_polls(1_000));
        let store: Arc<dyn ObjectStore> = watched.clone();
        let runtime = tokio::runtime::Builder::new_current_thread();
        { runtime }.build().unwrap().block_on(async {
            let mut writer = begin(folder(&store), &batch, Layout::SingleFile)
                .await
                .unwrap();
            writer.write(&batch).await.unwrap();
            tokio::task::yield_now().await;
            assert!(watched.calls().parts > 0);
            match is_dropped {
                true => drop(writer),
                false => writer.abort().await.unwrap(),
            }
            for _ in 0..40 {
                tokio::task::yield_now().await;
            }
            // In this store, an abort with parts in flight panics.
            let calls = watched.calls();
            assert_eq!((calls.uploads, calls.parts), (0, 0));
        });
    }
}

#[test]
fn parts_that_no_runtime_drives_end_when_an_upload_is_aborted() {
    let watched = Arc::new(Watched::default().with_hanging_parts());
    let store: Arc<dyn ObjectStore> = watched.clone();
    block_on(async {
        let mut sink = folder(&store).create_object(&path()).await.unwrap();
        let mut write = sink.write_all(vec![7; 60_000].into());
        while watched.calls().parts == 0 {
            if futures::poll!(&mut write).is_ready() {
                break;
            }
        }
        drop(write);
        assert_eq!(watched.calls().parts, 1);
        let mut abort = sink.abort();
        let mut polls = 0;
        while futures::poll!(&mut abort).is_pending() {
            polls += 1;
            assert!(polls < 100, "the abort hangs");
        }
        drop(abort);
        assert_eq!(watched.calls().uploads, 0);
    });
}

#[test]
fn one_part_is_put_and_small_pieces_of_large_buffers_are_copied() {
    let watched = Arc::new(Watched::default());
    let store: Arc<dyn ObjectStore> = watched.clone();
    let large = Bytes::from(vec![7; 1 << 20]);
    let whole = large.clone();
    block_on(async {
        let mut sink = folder(&store).create_object(&path()).await.unwrap();
        for _ in 0..50 {
            sink.write_all(large.slice(..1_000)).await.unwrap();
        }
        // Only this test holds the large buffer.
        drop(large);
        assert!(whole.is_unique());
        assert_eq!((sink.memory_size(), watched.calls().uploads), (50_000, 0));
        sink.commit().await.unwrap();
        let calls = watched.calls().count;
        // A request to check for an existing object, and the put.
        assert_eq!(calls, 2);
        let found = store.get(&path()).await.unwrap().bytes().await.unwrap();
        assert_eq!(found, whole.slice(..50_000));
    });
}

#[test]
fn parts_are_sent_while_others_come_and_memory_is_bounded() {
    let watched = Arc::new(Watched::default().with_polls(40));
    let store: Arc<dyn ObjectStore> = watched.clone();
    let batch = batch(200_000);
    block_on(async {
        let mut writer = begin(folder(&store), &batch, Layout::SingleFile)
            .await
            .unwrap();
        let mut most = 0;
        for start in (0..batch.num_rows()).step_by(10_000) {
            writer.write(&batch.slice(start, 10_000)).await.unwrap();
            most = most.max(writer.memory_size());
        }
        assert!(writer.bytes_written() > 2_000_000);
        let calls = watched.calls().count;
        assert!(calls > 30, "{calls} parts before the end");
        writer.finish().await.unwrap();
        // A stripe of 30,000 rows, unencoded and encoded, and four parts.
        assert!(most < 4_000_000, "{most}");
    });
    assert_eq!(watched.calls().most_parts, 3);
    assert_eq!(block_on(read(store)).unwrap(), batch);
}

#[test]
fn a_call_that_nobody_waited_for_ends_the_writer() {
    let batch = batch(100_000);
    for (layout, is_finished) in [
        (Layout::SingleFile, false),
        (Layout::SingleFile, true),
        (Layout::TwoLevel, false),
        (Layout::TwoLevel, true),
    ] {
        let watched = Arc::new(Watched::default().with_polls(40));
        let store: Arc<dyn ObjectStore> = watched.clone();
        block_on(async {
            let mut writer = begin(folder(&store), &batch, layout).await.unwrap();
            let mut call = Box::pin(writer.write(&batch));
            // Enough polls to complete a stripe file.
            for _ in 0..400 {
                assert!(futures::poll!(&mut call).is_pending());
            }
            drop(call);
            assert!(watched.calls().uploads > 0);
            if layout == Layout::TwoLevel {
                assert!(!names(&*store).await.is_empty());
            }
            let error = writer.write(&batch).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Poisoned);
            match is_finished {
                true => {
                    let error = writer.finish().await.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Poisoned);
                }
                false => writer.abort().await.unwrap(),
            }
            assert_eq!(names(&*store).await, [""; 0]);
        });
        assert_eq!(watched.calls().uploads, 0, "{layout:?}");
    }
}

#[test]
fn a_runtime_sends_parts_while_the_caller_does_something_else() {
    let watched = Arc::new(Watched::default().with_polls(10));
    let store: Arc<dyn ObjectStore> = watched.clone();
    let batch = batch(100_000);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().unwrap();
    runtime.block_on(async {
        let mut writer = begin(folder(&store), &batch, Layout::SingleFile)
            .await
            .unwrap();
        writer.write(&batch).await.unwrap();
        let sent = watched.calls().count;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert!(watched.calls().count > sent);
        assert_eq!(watched.calls().parts, 0);
        writer.finish().await.unwrap();
        assert_eq!(read(store).await.unwrap(), batch);
    });
}

#[test]
fn a_stripe_that_is_flushed_is_given_to_the_sink() {
    let watched = Arc::new(Watched::default());
    let store: Arc<dyn ObjectStore> = watched.clone();
    let batch = batch(1_000);
    block_on(async {
        let mut writer = begin(
            folder(&store).with_part_bytes(1_000),
            &batch,
            Layout::SingleFile,
        )
        .await
        .unwrap();
        writer.write(&batch).await.unwrap();
        assert_eq!(
            (watched.calls().uploads, writer.in_progress_rows()),
            (0, 1_000)
        );
        writer.flush_stripe().await.unwrap();
        assert_eq!((watched.calls().uploads, writer.in_progress_rows()), (1, 0));
        assert!(writer.memory_size() < 200_000, "{}", writer.memory_size());
        writer.write(&batch).await.unwrap();
        writer.finish().await.unwrap();
        let expected = concat_batches(&batch.schema(), [&batch, &batch]).unwrap();
        assert_eq!(read(store).await.unwrap(), expected);
    });
}

#[test]
fn a_batch_of_another_schema_does_no_harm() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let batch = batch(100);
    block_on(async {
        let mut writer = begin(folder(&store), &batch, Layout::SingleFile)
            .await
            .unwrap();
        let other = batch.project(&[0]).unwrap();
        let error = writer.write(&other).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
        writer.write(&batch).await.unwrap();
        writer.finish().await.unwrap();
        assert_eq!(read(store).await.unwrap(), batch);
    });
}

#[test]
fn an_object_that_is_committed_takes_no_more() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    block_on(async {
        let mut sink = folder(&store).create_object(&path()).await.unwrap();
        sink.write_all(Bytes::from_static(b"abc")).await.unwrap();
        assert_eq!(sink.memory_size(), 3);
        sink.commit().await.unwrap();
        let error: Error = sink.write_all(Bytes::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        sink.abort().await.unwrap();
        let found = store.get(&path()).await.unwrap().bytes().await.unwrap();
        assert_eq!(found, &b"abc"[..]);
    });
}
