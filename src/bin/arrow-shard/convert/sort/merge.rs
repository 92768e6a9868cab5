//! Merges sorted runs.

use super::order::Order;
use super::run::{BATCH_ROWS, spill};
use crate::failure::Failure;
use arrow_array::RecordBatch;
use arrow_row::{OwnedRow, Rows};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use arrow_shard::Shard;
use arrow_shard::read::ShardReader;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of rows in a batch of a run.
const RUN_ROWS: usize = 1024;

/// The rows of sorted runs in order.
pub(super) struct Merge {
    schema: SchemaRef,
    order: Order,
    runs: Vec<Cursor>,
    /// The key of the next row of each run, and the number of the run: equal rows of earlier runs come first.
    next: BinaryHeap<Reverse<(OwnedRow, usize)>>,
}

/// The next rows of a run.
struct Cursor {
    reader: ShardReader,
    batch: RecordBatch,
    keys: Rows,
    row: usize,
}

impl Merge {
    /// Opens runs of rows with this schema.
    pub(super) fn of(shards: Vec<Shard>, schema: SchemaRef, order: Order) -> Result<Self, Failure> {
        let mut merge = Self {
            schema,
            runs: Vec::with_capacity(shards.len()),
            next: BinaryHeap::new(),
            order,
        };
        for shard in shards {
            let reader = shard.scan().with_batch_size(RUN_ROWS).build()?;
            let batch = RecordBatch::new_empty(merge.schema.clone());
            let keys = merge.order.keys(&batch)?;
            let run = merge.runs.len();
            merge.runs.push(Cursor {
                reader,
                batch,
                keys,
                row: 0,
            });
            merge.advance(run)?;
        }
        Ok(merge)
    }

    /// Writes the rows to a temporary shard.
    pub(super) fn spill(self) -> Result<Shard, Failure> {
        let schema = self.schema.clone();
        spill(schema, self, 1)
    }

    /// Announces the next row of a run. Returns whether it is the first one of another batch.
    fn advance(&mut self, run: usize) -> Result<bool, Failure> {
        let Some(cursor) = self.runs.get_mut(run) else {
            return Ok(false);
        };
        let mut is_other = false;
        while cursor.row == cursor.batch.num_rows() {
            let Some(batch) = cursor.reader.next() else {
                return Ok(is_other);
            };
            cursor.batch = batch?.with_schema(self.schema.clone())?;
            cursor.keys = self.order.keys(&cursor.batch)?;
            cursor.row = 0;
            is_other = true;
        }
        let key = cursor.keys.row(cursor.row).owned();
        self.next.push(Reverse((key, run)));
        Ok(is_other)
    }

    /// Returns the next rows. A batch ends where a run of more than a batch has been used up, so that few are held.
    fn rows(&mut self) -> Result<Option<RecordBatch>, Failure> {
        let mut batches: Vec<RecordBatch> = self.runs.iter().map(|run| run.batch.clone()).collect();
        // The place of the batch of each run in `batches`.
        let mut current: Vec<usize> = (0..batches.len()).collect();
        let mut places = Vec::with_capacity(BATCH_ROWS);
        while places.len() < BATCH_ROWS && batches.len() < 2 * self.runs.len() {
            let Some(Reverse((_, run))) = self.next.pop() else {
                break;
            };
            let Some(cursor) = self.runs.get_mut(run) else {
                break;
            };
            places.push((current[run], cursor.row));
            cursor.row += 1;
            if self.advance(run)? {
                current[run] = batches.len();
                batches.push(self.runs[run].batch.clone());
            }
        }
        if places.is_empty() {
            return Ok(None);
        }
        let batches: Vec<&RecordBatch> = batches.iter().collect();
        Ok(Some(interleave_record_batch(&batches, &places)?))
    }
}

impl Iterator for Merge {
    type Item = Result<RecordBatch, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows().transpose()
    }
}
