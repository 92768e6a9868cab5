//! Rows that are sorted in memory.

use super::order::Order;
use crate::failure::Failure;
use crate::temporary::TemporaryShard;
use arrow_array::{Array, RecordBatch};
use arrow_row::Rows;
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use arrow_shard::Shard;
use arrow_shard::write::WriterOptions;

/// Maximum number of rows in a sorted batch.
pub(super) const BATCH_ROWS: usize = 8192;
/// Number of bytes that sorted batches have about at most.
const BATCH_BYTES: usize = 4 << 20;

/// Number of bytes after which stripes of a temporary shard end.
const STRIPE_BYTES: u64 = 16 << 20;

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

    /// Adds the rows of a batch.
    pub(super) fn add(&mut self, batch: &RecordBatch, order: &Order) -> Result<(), Failure> {
        let keys = order.keys(batch)?;
        // A place takes two numbers for each row.
        let places = batch.num_rows() * size_of::<(usize, usize)>();
        self.bytes += bytes_of(batch)? + keys.size() + places;
        self.rows += batch.num_rows();
        self.batches.push(batch.clone());
        self.keys.push(keys);
        Ok(())
    }

    /// Returns the number of bytes that the rows and their keys take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sorts the rows.
    pub(super) fn sorted(self) -> SortedRun {
        let mut places = Vec::with_capacity(self.rows);
        for (batch, keys) in self.keys.iter().enumerate() {
            places.extend((0..keys.num_rows()).map(|row| (batch, row)));
        }
        places.sort_by(|a, b| self.keys[a.0].row(a.1).cmp(&self.keys[b.0].row(b.1)));
        SortedRun {
            batch_rows: batch_rows(self.bytes, self.rows),
            schema: self.schema,
            batches: self.batches,
            places,
            next: 0,
        }
    }
}

/// Sorted rows in memory.
pub(super) struct SortedRun {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// The batch and the row of each row.
    places: Vec<(usize, usize)>,
    next: usize,
    batch_rows: usize,
}

impl SortedRun {
    /// Writes the rows to a temporary shard.
    pub(super) fn spill(self) -> Result<Shard, Failure> {
        let schema = self.schema.clone();
        spill(schema, self)
    }
}

impl Iterator for SortedRun {
    type Item = Result<RecordBatch, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = self.places.len().min(self.next + self.batch_rows);
        let places = &self.places[self.next..end];
        if places.is_empty() {
            return None;
        }
        self.next = end;
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        Some(interleave_record_batch(&batches, places).map_err(Failure::from))
    }
}

/// Writes sorted rows to a temporary shard.
pub(super) fn spill(
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, Failure>>,
) -> Result<Shard, Failure> {
    let options = WriterOptions::default()
        .with_stripe_bytes(STRIPE_BYTES)
        .with_memory_limit(2 * STRIPE_BYTES);
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

/// Returns the number of rows of a sorted batch, if `rows` rows have `bytes` bytes.
pub(super) fn batch_rows(bytes: usize, rows: usize) -> usize {
    let row = bytes / rows.max(1);
    (BATCH_BYTES / row.max(1)).clamp(1, BATCH_ROWS)
}
