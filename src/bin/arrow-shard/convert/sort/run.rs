//! Rows that are sorted in memory.

use super::order::Order;
use crate::failure::Failure;
use crate::temporary::TemporaryShard;
use crate::threads::{Results, in_order};
use arrow_array::{Array, RecordBatch};
use arrow_row::Rows;
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use arrow_shard::Shard;
use arrow_shard::write::WriterOptions;
use std::thread;

/// Maximum number of rows in a sorted batch.
const BATCH_ROWS: usize = 8192;
/// Number of bytes that sorted batches have about at most.
const BATCH_BYTES: usize = 4 << 20;

/// Minimum number of rows that are sorted in several threads.
const MIN_PARALLEL_ROWS: usize = 1 << 16;

/// Number of bytes after which stripes of a temporary shard end.
const STRIPE_BYTES: u64 = 8 << 20;

/// Rows that are collected to be sorted.
pub(super) struct Run {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    keys: Vec<Rows>,
    rows: usize,
    bytes: usize,
}

impl Run {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self {
            schema,
            batches: Vec::new(),
            keys: Vec::new(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Adds the rows of a batch. Returns the bytes that they and their keys take.
    pub(super) fn add(&mut self, batch: &RecordBatch, order: &Order) -> Result<usize, Failure> {
        let keys = order.keys(batch)?;
        let places = batch.num_rows() * size_of::<Place>();
        let bytes = bytes_of(batch)? + keys.size() + places;
        self.bytes += bytes;
        self.rows += batch.num_rows();
        self.batches.push(batch.clone());
        self.keys.push(keys);
        Ok(bytes)
    }

    /// Returns the number of bytes that the rows and their keys take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sorts the rows in `threads` threads.
    pub(super) fn sorted(self, threads: usize) -> SortedRun {
        let shared = shared_prefix(&self.keys);
        let mut places = Vec::with_capacity(self.rows);
        for (batch, keys) in (0..).zip(&self.keys) {
            places.extend((0..).zip(keys).map(|(row, key)| Place {
                start: start_of(key.as_ref(), shared),
                batch,
                row,
            }));
        }
        let key = |place: &Place| self.keys[place.batch as usize].row(place.row as usize);
        let order = |a: &Place, b: &Place| {
            let starts = a.start.cmp(&b.start);
            starts.then_with(|| key(a).cmp(&key(b)))
        };
        if threads > 1 && places.len() >= MIN_PARALLEL_ROWS {
            let part = places.len().div_ceil(threads);
            thread::scope(|scope| {
                for part in places.chunks_mut(part) {
                    // Parts that no thread sorts are sorted below.
                    let _started =
                        thread::Builder::new().spawn_scoped(scope, || part.sort_by(order));
                }
            });
        }
        // Merges parts that are sorted.
        places.sort_by(order);
        SortedRun {
            batch_rows: batch_rows(self.bytes / self.rows.max(1)),
            schema: self.schema,
            batches: self.batches,
            places,
            threads,
        }
    }
}

/// A row of a batch.
struct Place {
    /// The bytes of its key that follow those which all keys share: most comparisons end with them.
    start: u64,
    batch: u32,
    row: u32,
}

/// Returns the number of bytes at the beginning of the keys that are equal in all of them.
fn shared_prefix(keys: &[Rows]) -> usize {
    let mut keys = keys.iter().flatten();
    let Some(first) = keys.next() else {
        return 0;
    };
    keys.fold(first.as_ref().len(), |shared, key| {
        let pairs = first.as_ref().iter().zip(key.as_ref()).take(shared);
        pairs.take_while(|(a, b)| a == b).count()
    })
}

/// Returns the eight bytes of a key after the shared ones, as a number in the order of the keys.
pub(super) fn start_of(key: &[u8], shared: usize) -> u64 {
    let mut start = [0; 8];
    let rest = key.get(shared..).unwrap_or_default();
    start
        .iter_mut()
        .zip(rest)
        .for_each(|(to, byte)| *to = *byte);
    u64::from_be_bytes(start)
}

/// Sorted rows in memory.
pub(super) struct SortedRun {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    places: Vec<Place>,
    batch_rows: usize,
    threads: usize,
}

impl SortedRun {
    /// Writes the rows to a temporary shard.
    pub(super) fn spill(self) -> Result<Shard, Failure> {
        let threads = self.threads;
        spill(self.schema.clone(), self.batches(), threads)
    }

    /// Returns the rows.
    pub(super) fn batches(self) -> Results<RecordBatch> {
        let (places, rows) = (self.places, self.batch_rows);
        let parts = places.len().div_ceil(rows);
        let part = move |part: usize| {
            let places = places.iter().skip(part * rows).take(rows);
            let places = places.map(|place| (place.batch as usize, place.row as usize));
            Ok(places.collect::<Vec<_>>())
        };
        let batches = self.batches;
        in_order((0..parts).map(part), self.threads, move |places: Vec<_>| {
            let batches: Vec<&RecordBatch> = batches.iter().collect();
            Ok(interleave_record_batch(&batches, &places)?)
        })
    }
}

/// Writes sorted rows to a temporary shard.
pub(super) fn spill(
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, Failure>>,
    threads: usize,
) -> Result<Shard, Failure> {
    let options = WriterOptions::default()
        .with_stripe_bytes(STRIPE_BYTES)
        .with_memory_limit(2 * STRIPE_BYTES)
        .with_threads(threads);
    let mut shard = TemporaryShard::create(schema, options)?;
    for batch in batches {
        shard.write(&batch?)?;
    }
    shard.open("a temporary shard of sorted rows".to_owned())
}

/// Returns the number of bytes of the rows of a batch.
fn bytes_of(batch: &RecordBatch) -> Result<usize, Failure> {
    let sizes = batch.columns().iter();
    let sizes = sizes.map(|column| column.to_data().get_slice_memory_size());
    Ok(sizes.sum::<Result<usize, _>>()?)
}

/// Returns the number of rows in a sorted batch, if each has about `row_bytes` bytes.
pub(super) fn batch_rows(row_bytes: usize) -> usize {
    (BATCH_BYTES / row_bytes.max(1)).clamp(1, BATCH_ROWS)
}
