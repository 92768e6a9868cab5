//! Merges sorted runs.

use super::order::Order;
use super::run::{batch_rows, spill, start_of};
use crate::failure::Failure;
use arrow_array::RecordBatch;
use arrow_row::{Row, Rows};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use arrow_shard::Shard;
use arrow_shard::read::ShardReader;
use std::cmp::Ordering;

/// Each batch of a run has this fraction of the rows of a merged batch.
const RUN_SHARE: usize = 8;

/// The rows of sorted runs in order.
pub(super) struct Merge {
    schema: SchemaRef,
    order: Order,
    runs: Vec<Cursor>,
    /// The numbers of the runs with rows, as a binary heap: the next row of a run comes before the next rows of its two
    /// children, which are at twice its place plus one and plus two.
    heap: Vec<usize>,
    /// Maximum number of rows in a batch.
    batch_rows: usize,
}

/// The next rows of a run.
struct Cursor {
    reader: ShardReader,
    batch: RecordBatch,
    keys: Rows,
    row: usize,
    /// The first bytes of the key of the row: most comparisons end with them.
    start: u64,
}

impl Cursor {
    /// Returns the key of the next row.
    fn key(&self) -> Row<'_> {
        self.keys.row(self.row)
    }
}

impl Merge {
    /// Opens runs of rows with this schema, which have about `row_bytes` bytes each.
    pub(super) fn of(
        shards: Vec<Shard>,
        schema: SchemaRef,
        order: Order,
        row_bytes: usize,
    ) -> Result<Self, Failure> {
        let mut merge = Self {
            schema,
            runs: Vec::with_capacity(shards.len()),
            heap: Vec::with_capacity(shards.len()),
            order,
            batch_rows: batch_rows(row_bytes),
        };
        let run_rows = merge.batch_rows.div_ceil(RUN_SHARE);
        for shard in shards {
            let reader = shard.scan().with_batch_size(run_rows).build()?;
            let batch = RecordBatch::new_empty(merge.schema.clone());
            let keys = merge.order.keys(&batch)?;
            let run = merge.runs.len();
            merge.runs.push(Cursor {
                reader,
                batch,
                keys,
                row: 0,
                start: 0,
            });
            if merge.load(run)? {
                merge.heap.push(run);
            }
        }
        (0..merge.heap.len() / 2)
            .rev()
            .for_each(|place| merge.sink(place));
        Ok(merge)
    }

    /// Writes the rows to a temporary shard.
    pub(super) fn spill(self) -> Result<Shard, Failure> {
        let schema = self.schema.clone();
        spill(schema, self, 1)
    }

    /// Reads the next batch of a run if its rows have been used up. Returns whether it has a next row.
    fn load(&mut self, run: usize) -> Result<bool, Failure> {
        let Some(cursor) = self.runs.get_mut(run) else {
            return Ok(false);
        };
        while cursor.row == cursor.batch.num_rows() {
            let Some(batch) = cursor.reader.next() else {
                return Ok(false);
            };
            cursor.batch = batch?.with_schema(self.schema.clone())?;
            cursor.keys = self.order.keys(&cursor.batch)?;
            cursor.row = 0;
        }
        cursor.start = start_of(cursor.key().as_ref(), 0);
        Ok(true)
    }

    /// Compares the next rows of two runs. Equal rows of earlier runs come first.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let (first, second) = (&self.runs[a], &self.runs[b]);
        let starts = first.start.cmp(&second.start);
        let order = starts.then_with(|| first.key().cmp(&second.key()));
        order.then(a.cmp(&b))
    }

    /// Moves the run at a place of the heap down, until none of its children has an earlier row.
    fn sink(&mut self, mut place: usize) {
        loop {
            let mut first = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len()
                    && self.compare(self.heap[child], self.heap[first]) == Ordering::Less
                {
                    first = child;
                }
            }
            if first == place {
                return;
            }
            self.heap.swap(place, first);
            place = first;
        }
    }

    /// Returns the next rows. A batch ends where a run of more than a batch has been used up, so that few are held.
    fn rows(&mut self) -> Result<Option<RecordBatch>, Failure> {
        let mut batches: Vec<RecordBatch> = self.runs.iter().map(|run| run.batch.clone()).collect();
        // The place of the batch of each run in `batches`.
        let mut current: Vec<usize> = (0..batches.len()).collect();
        let mut places = Vec::with_capacity(self.batch_rows);
        while places.len() < self.batch_rows
            && batches.len() < 2 * self.runs.len()
            && let Some(&run) = self.heap.first()
        {
            let cursor = &mut self.runs[run];
            places.push((current[run], cursor.row));
            cursor.row += 1;
            let is_used_up = cursor.row == cursor.batch.num_rows();
            if !self.load(run)? {
                self.heap.swap_remove(0);
            } else if is_used_up {
                current[run] = batches.len();
                batches.push(self.runs[run].batch.clone());
            }
            self.sink(0);
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
