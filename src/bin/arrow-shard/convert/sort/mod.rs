//! Sorts the rows of an input: in memory, or by runs in temporary shards that are merged.

mod merge;
mod order;
mod plain;
mod run;

use crate::failure::Failure;
use crate::input::Input;
use crate::progress::Total;
use crate::threads::{Results, flattened};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::Shard;
use merge::Merge;
pub(super) use order::Order;
use plain::Types;
use run::Run;

/// Bytes of rows that are sorted in memory by default. More rows become runs in temporary files.
const MEMORY: usize = 96 << 20;
/// Number of runs that are merged at once: each has a batch in memory, and a window of its file.
const FAN_IN: usize = 16;

/// Reads all rows of an input, and returns them in an order. Equal rows keep their order. Sorts about `memory` bytes at
/// a time, in `threads` threads.
pub(super) fn sorted(
    input: Input,
    order: Order,
    memory: Option<usize>,
    threads: usize,
    quiet: bool,
) -> Result<Input, Failure> {
    let mut sorter = Sorter::new(input.schema.clone(), order, memory, threads);
    for batch in input.with_progress(quiet).batches {
        sorter.add(&batch?)?;
    }
    sorter.finish()
}

/// Rows to be sorted, which arrive batch by batch.
pub(super) struct Sorter {
    types: Types,
    order: Order,
    memory: usize,
    threads: usize,
    run: Run,
    runs: Runs,
    rows: usize,
    /// The bytes of the rows and their keys.
    bytes: usize,
}

impl Sorter {
    /// Sorts about `memory` bytes at a time, in `threads` threads.
    pub(super) fn new(
        schema: SchemaRef,
        order: Order,
        memory: Option<usize>,
        threads: usize,
    ) -> Self {
        let types = Types::of(&schema);
        Self {
            run: Run::new(types.plain().clone()),
            runs: Runs::new(types.plain().clone()),
            memory: memory.unwrap_or(MEMORY),
            types,
            order,
            threads,
            rows: 0,
            bytes: 0,
        }
    }

    /// Whether no rows were added.
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds the rows of a batch.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let batch = self.types.to_plain(batch)?;
        self.bytes += self.run.add(&batch, &self.order)?;
        self.rows += batch.num_rows();
        if self.run.bytes() >= self.memory {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Failure> {
        let next = Run::new(self.types.plain().clone());
        let full = std::mem::replace(&mut self.run, next);
        let run = full.sorted(self.threads).spill()?;
        self.runs.add(run, &self.order, self.row_bytes())
    }

    fn row_bytes(&self) -> usize {
        self.bytes / self.rows.max(1)
    }

    /// Returns all rows in their order. Equal rows are in the order in which they were added.
    pub(super) fn finish(mut self) -> Result<Input, Failure> {
        let batches: Results<RecordBatch> = if self.runs.is_empty() {
            self.run.sorted(self.threads).batches()
        } else {
            self.spill()?;
            let (row_bytes, schema) = (self.row_bytes(), self.types.plain().clone());
            let runs = self.runs.into_shards();
            Box::new(Merge::of(runs, schema, self.order, row_bytes)?)
        };
        let (schema, types) = (self.types.whole().clone(), self.types);
        let groups = Box::new(batches.map(move |batch| types.to_whole(batch?)));
        Ok(Input {
            schema,
            batches: flattened(groups),
            total: Total::Rows(self.rows as u64),
        })
    }
}

/// Sorted runs, by how often their rows have been merged. Rows of a higher level come before rows of a lower one.
struct Runs {
    schema: SchemaRef,
    levels: Vec<Vec<Shard>>,
}

impl Runs {
    fn new(schema: SchemaRef) -> Self {
        Self {
            schema,
            levels: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Adds a run. Merges the runs of a level once there are enough of them, with rows of about `row_bytes` bytes.
    fn add(&mut self, mut run: Shard, order: &Order, row_bytes: usize) -> Result<(), Failure> {
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::new());
            }
            let Some(runs) = self.levels.get_mut(level) else {
                break;
            };
            runs.push(run);
            if runs.len() < FAN_IN {
                break;
            }
            let (runs, schema) = (std::mem::take(runs), self.schema.clone());
            run = Merge::of(runs, schema, order.clone(), row_bytes)?.spill()?;
        }
        Ok(())
    }

    /// Returns all runs in the order of their rows.
    fn into_shards(self) -> Vec<Shard> {
        self.levels.into_iter().rev().flatten().collect()
    }
}
