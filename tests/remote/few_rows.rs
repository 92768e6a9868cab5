//! Questions about few rows or columns of an object take few rounds of requests, and few bytes.

use crate::common::equal::assert_equal;
use crate::rounds::Rounds;
use crate::support::written_bytes;
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_shard::read::{ScanBuilder, ShardOptions, col};
use arrow_shard::write::WriterOptions;
use arrow_shard::{Projection, Shard};
use bytes::Bytes;
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

const STRIPE_ROWS: i64 = 65_536;

/// Returns four stripes of a log. Each text differs from all others, so most of the bytes of the metadata are Bloom
/// filters.
fn log() -> RecordBatch {
    let mut rng = StdRng::seed_from_u64(1);
    let rows = 4 * STRIPE_ROWS;
    let times = (0..rows).map(|i| 1_000 * i + rng.random_range(0..2_000));
    let times = Int64Array::from_iter_values(times);
    let services = (0..rows).map(|_| format!("service {}", rng.random_range(0..12)));
    let services = StringArray::from_iter_values(services.collect::<Vec<_>>());
    let mut message = |i| {
        let (number, bytes) = (rng.random::<u32>(), rng.random::<u32>());
        format!("request {i} with number {number} took 7 ms and returned {bytes} bytes")
    };
    let messages = StringArray::from_iter_values((0..rows).map(&mut message));
    let mut sizes = ListBuilder::new(Int64Builder::new());
    for _ in 0..rows {
        for _ in 0..rng.random_range(1..4) {
            sizes.values().append_value(rng.random());
        }
        sizes.append(true);
    }
    let columns: [(&str, ArrayRef); 4] = [
        ("time", Arc::new(times)),
        ("service", Arc::new(services)),
        ("message", Arc::new(messages)),
        ("sizes", Arc::new(sizes.finish())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Returns 1,000 rows of 2,000 columns, each of them a random walk in steps of a hundredth.
fn wide() -> RecordBatch {
    let mut rng = StdRng::seed_from_u64(2);
    let columns = (0..2_000).map(|i| {
        let mut hundredths = rng.random_range(-100_000..100_000);
        let values = (0..1_000).map(|_| {
            hundredths += rng.random_range(-50..=50);
            f64::from(hundredths) / 100.0
        });
        let values = Arc::new(Float64Array::from_iter_values(values)) as ArrayRef;
        (format!("feature_{i}"), values)
    });
    RecordBatch::try_from_iter(columns).unwrap()
}

fn shard_of(batch: &RecordBatch) -> Bytes {
    let rows = STRIPE_ROWS.cast_unsigned();
    let options = WriterOptions::default().with_stripe_rows(rows);
    written_bytes(std::slice::from_ref(batch), options)
}

/// Rounds and bytes that an answer took.
struct Cost {
    rounds: usize,
    bytes: u64,
}

/// Opens the object with a tail that contains the lists of descriptors, but not the descriptors, and asks a question.
fn answer<T>(file: &Bytes, tail_bytes: u64, question: impl AsyncFnOnce(Shard) -> T) -> (T, Cost) {
    let (objects, path) = (InMemory::new(), Path::from("t.amudai.shard"));
    block_on(objects.put(&path, file.clone().into())).unwrap();
    let store = Rounds::new(Arc::new(objects));
    let options = ShardOptions::default().with_tail_bytes(tail_bytes);
    let answer = store.run(async {
        let shard = Shard::open_object(store.clone(), &path, options);
        question(shard.await.unwrap()).await
    });
    let asked = store.take();
    assert!(asked.most_waiting <= 16, "{}", asked.most_waiting);
    let cost = Cost {
        rounds: asked.rounds,
        bytes: asked.reads.iter().map(|(_, bytes)| bytes).sum(),
    };
    println!("{} rounds, {} bytes", cost.rounds, cost.bytes);
    (answer, cost)
}

async fn all(scan: ScanBuilder) -> RecordBatch {
    let stream = scan.build_stream().await.unwrap();
    let schema: SchemaRef = stream.schema();
    let batches: Vec<RecordBatch> = stream.try_collect().await.unwrap();
    concat_batches(&schema, &batches).unwrap()
}

#[test]
fn one_row_takes_a_round_for_the_descriptors_and_one_for_the_values() {
    let batch = log();
    let file = shard_of(&batch);
    for row in [3, 70_000, 131_071] {
        let (found, cost) = answer(&file, 8 << 10, async |shard| {
            shard.take_async(&[row], Projection::All).await.unwrap()
        });
        assert!(!found["sizes"].as_list::<i32>().value(0).is_empty());
        assert_equal(&batch.slice(usize::try_from(row).unwrap(), 1), &found);
        assert_eq!(cost.rounds, 3);
        assert!(cost.bytes < 600_000, "{}", cost.bytes);
    }
}

#[test]
fn a_range_of_a_sorted_column_is_tested_and_read_in_one_round() {
    let batch = log();
    let file = shard_of(&batch);
    let (low, high) = (150_000_000, 152_600_000);
    let (found, cost) = answer(&file, 8 << 10, async |shard| {
        let filter = col("time").between(low, high);
        all(shard.scan().with_filter(filter)).await
    });
    let near = Shard::from_bytes(file).unwrap();
    let filter = col("time").between(low, high);
    let expected = near.scan().with_filter(filter).build().unwrap();
    assert_equal(&crate::support::collect(expected).unwrap(), &found);
    assert!(found.num_rows() > 2_500);
    assert_eq!(cost.rounds, 4);
    assert!(cost.bytes < 900_000, "{}", cost.bytes);
}

#[test]
fn three_of_many_columns_are_fetched_along_with_their_descriptors() {
    let batch = wide();
    let file = shard_of(&batch);
    let columns = [0usize, 1_000, 1_999];
    let (found, cost) = answer(&file, 64 << 10, async |shard| {
        all(shard.scan().with_projection(columns)).await
    });
    assert_equal(&batch.project(&columns).unwrap(), &found);
    assert_eq!(cost.rounds, 3);
    assert!(cost.bytes < 500_000, "{}", cost.bytes);
}
