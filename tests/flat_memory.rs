//! Memory stays constant for any amount of data: many concurrent shards, a slow reader, a large shard.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

#[path = "support/later.rs"]
mod later;
mod support;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_shard::io::{AsyncSink, BoxFuture, NoContainer};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{AsyncShardWriter, Profile, WriterOptions};
use arrow_shard::{Result, Shard};
use bytes::Bytes;
use futures::executor::block_on;
use futures::{StreamExt, TryStreamExt, stream};
use later::{Later, SharedLog};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::allocations::{self, Counting};
use support::polls::polls;
use support::written_bytes;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: usize = 1 << 20;

fn numbers(rows: i64, seed: i64) -> RecordBatch {
    let mixed = |i: i64| (i ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed());
    let column = |shift: u32| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(
            (0..rows).map(|i| mixed(i).rotate_left(shift)),
        ))
    };
    RecordBatch::try_from_iter([("a", column(0)), ("b", column(7)), ("c", column(31))]).unwrap()
}

fn plain() -> WriterOptions {
    WriterOptions::default().with_profile(Profile::Plain)
}

async fn distant(bytes: &Bytes, options: ShardOptions) -> Shard {
    let reader = Later::new(support::NAME, bytes.clone(), 3, &SharedLog::default());
    Shard::from_async_reader(reader, Arc::new(NoContainer), options)
        .await
        .unwrap()
}

/// Scans a number of shards, 64 at a time, and returns the peak memory.
fn scanned(bytes: &Bytes, rows: usize, shards: usize) -> usize {
    allocations::start();
    let found: usize = block_on(async {
        let scans = (0..shards).map(|_| async {
            let shard = distant(bytes, ShardOptions::default()).await;
            let mut stream = shard.scan().build_stream().await.unwrap();
            let mut rows = 0;
            while let Some(batch) = stream.try_next().await.unwrap() {
                rows += batch.num_rows();
                // Lets other tasks run.
                polls(3).await;
            }
            rows
        });
        stream::iter(scans)
            .buffer_unordered(64)
            .fold(0, |sum, rows| async move { sum + rows })
            .await
    });
    assert_eq!(found, rows * shards);
    allocations::peak()
}

#[test]
fn a_thousand_shards_are_scanned_by_64_tasks() {
    let batch = numbers(40_000, 1);
    let bytes = written_bytes(&[batch], plain());
    assert!(bytes.len() > 900_000);
    let few = scanned(&bytes, 40_000, 128);
    let many = scanned(&bytes, 40_000, 1_000);
    println!(
        "{} MiB for 128 shards, {} MiB for 1,000",
        few / MIB,
        many / MIB
    );
    // Each task holds about the size of its shard.
    assert!(few > 64 * MIB / 2 && many < 64 * 3 * MIB, "{few} {many}");
    assert!(many < few + few / 10, "{few} {many}");
}

#[test]
fn a_stream_that_is_read_slowly_fetches_no_more_than_it_may() {
    let batch = numbers(3_000_000, 2);
    let bytes = written_bytes(std::slice::from_ref(&batch), plain());
    drop(batch);
    assert!(bytes.len() > 65 * MIB);
    allocations::start();
    let rows = block_on(async {
        let options = ShardOptions::default().with_fetch_bytes(2 << 20);
        let shard = distant(&bytes, options).await;
        let mut stream = shard.scan().with_prefetch(3).build_stream().await.unwrap();
        let mut rows = 0;
        while let Some(batch) = stream.try_next().await.unwrap() {
            rows += batch.num_rows();
            // The other tasks have enough time.
            polls(20).await;
        }
        rows
    });
    assert_eq!(rows, 3_000_000);
    let peak = allocations::peak();
    println!("{} MiB", peak / MIB);
    assert!(peak < 24 * MIB, "{peak}");
}

/// A sink that counts bytes and drops them.
struct Nowhere(Arc<AtomicU64>);

impl AsyncSink for Nowhere {
    fn write_all(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<()>> {
        self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Box::pin(async { Ok(()) })
    }

    fn commit(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn abort(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn memory_size(&self) -> usize {
        0
    }
}

/// The environment variable `FLAT_MIB` sets the size: `FLAT_MIB=20480` writes 20 GiB.
#[test]
fn a_large_shard_takes_no_more_memory_than_a_small_one() {
    let most: u64 = std::env::var("FLAT_MIB").map_or(256, |mib| mib.parse().unwrap());
    let most = most << 20;
    let written = Arc::new(AtomicU64::new(0));
    let batch = numbers(65_536, 3);
    let options = plain().with_stripe_rows(500_000);
    allocations::start();
    let (rows, early) = block_on(async {
        let sink = Nowhere(written.clone());
        let mut writer = AsyncShardWriter::try_new(sink, batch.schema(), options).unwrap();
        let (mut rows, mut early) = (0, 0);
        while written.load(Ordering::Relaxed) < most {
            writer.write(&batch).await.unwrap();
            rows += batch.num_rows() as u64;
            if written.load(Ordering::Relaxed) < most / 4 {
                early = allocations::peak();
            }
        }
        assert_eq!(writer.finish().await.unwrap().num_rows(), rows);
        (rows, early)
    });
    let peak = allocations::peak();
    println!(
        "{rows} rows: {} MiB, {} MiB in the first quarter",
        peak / MIB,
        early / MIB
    );
    assert!(
        peak < early + early / 5 && peak < 64 * MIB,
        "{early} {peak}"
    );
}
