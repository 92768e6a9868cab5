//! Shards in S3 and in Azure, with real servers.

use crate::azurite::Azurite;
use crate::moto::{Moto, SECRET};
use crate::support::NAME;
use crate::watched::Watched;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use arrow_shard::io::ObjectFolder;
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::write::{AsyncShardWriter, Layout, Profile, WriterOptions};
use arrow_shard::{Error, ErrorKind, Result, Shard};
use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::path::Path;
use std::sync::Arc;

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Returns incompressible values.
fn batch(rows: i64) -> RecordBatch {
    let mixed = |i: i64| {
        let i = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed());
        (i ^ (i >> 29)).wrapping_mul(i | 1)
    };
    let texts = (0..rows).map(|i| (i % 5 > 0).then(|| format!("{:x}", mixed(i))));
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..rows)), false),
        (
            "number",
            Arc::new(Int64Array::from_iter_values((0..rows).map(mixed))),
            false,
        ),
        ("text", Arc::new(texts.collect::<StringArray>()), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn path() -> Path {
    Path::from("a/table of 1 %").join(NAME)
}

async fn write(
    store: &Arc<dyn ObjectStore>,
    batch: &RecordBatch,
    options: WriterOptions,
) -> Result<()> {
    let store = store.clone();
    let mut writer =
        AsyncShardWriter::create_object(store, &path(), batch.schema(), options).await?;
    writer.write(batch).await?;
    writer.finish().await?;
    Ok(())
}

async fn open(store: &Arc<dyn ObjectStore>, options: ShardOptions) -> Result<Shard> {
    Shard::open_object(store.clone(), &path(), options).await
}

async fn read(store: &Arc<dyn ObjectStore>) -> Result<RecordBatch> {
    let shard = open(store, ShardOptions::default()).await?;
    let read: Vec<RecordBatch> = shard.scan().build_stream().await?.try_collect().await?;
    Ok(concat_batches(&batch(0).schema(), &read).unwrap())
}

/// Writes both layouts, in one put and in several parts, and reads them by scans, filters and row numbers.
fn round_trips(store: &Arc<dyn ObjectStore>) {
    // More than two parts of 8 MiB, and less than one part.
    for rows in [1_200_000, 1_000] {
        let batch = batch(rows);
        for layout in [Layout::SingleFile, Layout::TwoLevel] {
            let options = WriterOptions::default()
                .with_layout(layout)
                .with_overwrite(true)
                .with_stripe_rows(500_000);
            wait(async {
                write(store, &batch, options).await.unwrap();
                assert_eq!(read(store).await.unwrap(), batch);
                let shard = open(store, ShardOptions::default()).await.unwrap();
                let middle = rows / 2;
                let filter = col("id").between(middle - 5, middle + 5);
                let stream = shard
                    .scan()
                    .with_filter(filter)
                    .build_stream()
                    .await
                    .unwrap();
                let found: Vec<RecordBatch> = stream.try_collect().await.unwrap();
                let found = concat_batches(&batch.schema(), &found).unwrap();
                let first = usize::try_from(middle - 5).unwrap();
                assert_eq!(found, batch.slice(first, 11));
                let taken = shard.take_async(&[0, 999], ["id"]).await.unwrap();
                assert_eq!(taken.num_rows(), 2);
            });
        }
    }
}

/// An object is overwritten only on request, and readers of the old object get an error.
fn replaced_on_request(store: &Arc<dyn ObjectStore>) {
    let (first, second) = (batch(1_000), batch(1_200_000));
    wait(async {
        write(store, &first, WriterOptions::default())
            .await
            .unwrap();
        for other in [&first, &second] {
            let error = write(store, other, WriterOptions::default()).await;
            assert_eq!(error.unwrap_err().kind(), ErrorKind::AlreadyExists);
        }
        let options = ShardOptions::default().with_tail_bytes(100);
        let shard = open(store, options).await.unwrap();
        let overwriting = WriterOptions::default().with_overwrite(true);
        write(store, &second, overwriting).await.unwrap();
        let error = shard.take_async(&[1], ["id"]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Replaced);
        assert!(format!("{error:#}").contains("opened first"), "{error:#}");
        assert_eq!(read(store).await.unwrap(), second);
    });
}

#[test]
fn what_is_written_to_s3_is_read_from_it() {
    let Some(moto) = Moto::start() else { return };
    let store: Arc<dyn ObjectStore> = Arc::new(moto.store());
    round_trips(&store);
    assert!(!moto.request("GET /shards?uploads").contains("<Upload>"));
}

#[test]
fn what_is_written_to_azure_is_read_from_it() {
    let Some(azurite) = Azurite::start() else {
        return;
    };
    let store: Arc<dyn ObjectStore> = Arc::new(azurite.store());
    wait(async {
        let error = open(&store, ShardOptions::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let shown = format!("{error} {error:#} {error:?}");
        assert!(!shown.contains(crate::azurite::SECRET), "{shown}");
    });
    round_trips(&store);
}

#[test]
fn an_object_of_azure_is_replaced_on_request_only_and_readers_notice() {
    let Some(azurite) = Azurite::start() else {
        return;
    };
    let store: Arc<dyn ObjectStore> = Arc::new(azurite.store());
    replaced_on_request(&store);
}

#[test]
fn an_object_of_s3_is_replaced_on_request_only_and_readers_notice() {
    let Some(moto) = Moto::start() else { return };
    let store: Arc<dyn ObjectStore> = Arc::new(moto.store());
    replaced_on_request(&store);
}

#[test]
fn an_upload_that_is_given_up_is_gone() {
    let Some(moto) = Moto::start() else { return };
    let store: Arc<dyn ObjectStore> = Arc::new(moto.store());
    let batch = batch(1_200_000);
    let begin = || async {
        let folder = ObjectFolder::of_object(store.clone(), &path()).with_part_bytes(5 << 20);
        let options = WriterOptions::default().with_stripe_rows(500_000);
        let (folder, schema) = (Box::new(folder), batch.schema());
        let mut writer = AsyncShardWriter::create_in(folder, NAME, schema, options)
            .await
            .unwrap();
        writer.write(&batch).await.unwrap();
        assert!(moto.request("GET /shards?uploads").contains("<Upload>"));
        writer
    };
    wait(async {
        begin().await.abort().await.unwrap();
        assert!(!moto.request("GET /shards?uploads").contains("<Upload>"));
        drop(begin().await);
        // The runtime aborts the upload while the test waits for other requests.
        let start = std::time::Instant::now();
        while moto.request("GET /shards?uploads").contains("<Upload>") {
            assert!(start.elapsed().as_secs() < 20, "it was not aborted");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    assert!(!moto.request("GET /shards").contains("<Key>"));
}

/// Returns a store that counts requests.
fn watched(moto: &Moto) -> (Arc<Watched>, Arc<dyn ObjectStore>) {
    let watched = Arc::new(Watched::new(Arc::new(moto.store())));
    (watched.clone(), watched)
}

#[test]
fn wide_shards_are_opened_and_read_in_few_requests() {
    let Some(moto) = Moto::start() else { return };
    let (watched, store) = watched(&moto);
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000));
    let columns = (0..10_000).map(|i| (format!("c{i}"), values.clone()));
    let wide = RecordBatch::try_from_iter(columns).unwrap();
    wait(async {
        write(&store, &wide, WriterOptions::default())
            .await
            .unwrap();
        watched.forget();
        let shard = open(&store, ShardOptions::default()).await.unwrap();
        let opening = watched.calls().count;
        watched.forget();
        assert!(opening <= 2, "{opening} requests to open");
        let scan = shard.scan().with_projection(["c7", "c5000", "c9999"]);
        let stream = scan.build_stream().await.unwrap();
        let rows: Vec<RecordBatch> = stream.try_collect().await.unwrap();
        assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 1_000);
        let rounds = watched.calls().rounds;
        assert!(rounds <= 4, "{rounds} round trips for 3 columns");
    });
}

#[test]
fn scans_ask_for_much_at_a_time_and_rows_come_in_few_rounds() {
    let Some(moto) = Moto::start() else { return };
    let (watched, store) = watched(&moto);
    let batch = batch(3_000_000);
    let options = WriterOptions::default().with_profile(Profile::Plain);
    // A stripe is at most as large as one fetch.
    let options = options.with_stripe_rows(700_000);
    wait(async {
        write(&store, &batch, options).await.unwrap();
        let shard = open(&store, ShardOptions::default()).await.unwrap();
        watched.forget();
        let stream = shard.scan().build_stream().await.unwrap();
        let rows: Vec<RecordBatch> = stream.try_collect().await.unwrap();
        assert_eq!(
            rows.iter().map(RecordBatch::num_rows).sum::<usize>(),
            3_000_000
        );
        let mut reads = std::mem::take(&mut watched.calls().reads);
        reads.sort_unstable();
        let (total, count) = (reads.iter().sum::<u64>(), reads.len());
        assert!(total > 90 << 20, "{total}");
        assert!(count <= 14, "{reads:?}");
        let large = reads
            .iter()
            .filter(|bytes| (7 << 20..=16 << 20).contains(*bytes));
        assert!(large.count() + 2 >= count, "{reads:?}");
        assert!(*reads.last().unwrap() <= 16 << 20, "{reads:?}");

        watched.forget();
        let picked: Vec<u64> = (0..1_000).map(|i| i * 2_999).collect();
        let rows = shard.take_async(&picked, ["id", "text"]).await.unwrap();
        assert_eq!(rows.num_rows(), 1_000);
        let rounds = watched.calls().rounds;
        assert!(rounds <= 4, "{rounds} round trips for 1,000 rows");
    });
}

#[test]
fn credentials_are_in_no_error() {
    let Some(moto) = Moto::start() else { return };
    let store: Arc<dyn ObjectStore> = Arc::new(moto.store());
    let show = |error: Error| format!("{error} {error:#} {error:?}");
    let mut shown = String::new();
    wait(async {
        shown += &show(open(&store, ShardOptions::default()).await.unwrap_err());
        let small = batch(10);
        write(&store, &small, WriterOptions::default())
            .await
            .unwrap();
        let again = write(&store, &small, WriterOptions::default()).await;
        shown += &show(again.unwrap_err());
        let shard = open(&store, ShardOptions::default()).await.unwrap();
        shown += &format!("{shard:?}");
        drop(moto);
        shown += &show(open(&store, ShardOptions::default()).await.unwrap_err());
        shown += &show(
            write(&store, &small, WriterOptions::default())
                .await
                .unwrap_err(),
        );
    });
    assert!(shown.contains(NAME), "{shown}");
    assert!(
        !shown.contains(SECRET) && !shown.contains("a-key-that-nobody-sees"),
        "{shown}"
    );
}
