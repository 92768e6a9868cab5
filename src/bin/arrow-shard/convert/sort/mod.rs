//! Sorts the rows of an input: in memory, or by runs in temporary shards that are merged.

mod merge;
mod order;
mod run;

use crate::failure::Failure;
use crate::input::Input;
use crate::progress::Total;
use crate::threads::Results;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::Shard;
use merge::Merge;
pub(super) use order::Order;
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
    schema: SchemaRef,
    order: Order,
    memory: usize,
    threads: usize,
    run: Run,
    runs: Runs,
    rows: u64,
}

impl Sorter {
    /// Sorts about `memory` bytes at a time, in `threads` threads.
    pub(super) fn new(
        schema: SchemaRef,
        order: Order,
        memory: Option<usize>,
        threads: usize,
    ) -> Self {
        Self {
            run: Run::new(schema.clone()),
            runs: Runs::new(schema.clone()),
            memory: memory.unwrap_or(MEMORY),
            schema,
            order,
            threads,
            rows: 0,
        }
    }

    /// Adds the rows of a batch.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.run.add(batch, &self.order)?;
        self.rows += batch.num_rows() as u64;
        if self.run.bytes() >= self.memory {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Failure> {
        let full = std::mem::replace(&mut self.run, Run::new(self.schema.clone()));
        let run = full.sorted(self.threads).spill()?;
        self.runs.add(run, &self.order)
    }

    /// Returns all rows in their order. Equal rows are in the order in which they were added.
    pub(super) fn finish(mut self) -> Result<Input, Failure> {
        let batches: Results<RecordBatch> = if self.runs.is_empty() {
            self.run.sorted(self.threads).batches()
        } else {
            self.spill()?;
            let runs = self.runs.into_shards();
            Box::new(Merge::of(runs, self.schema.clone(), self.order)?)
        };
        Ok(Input {
            schema: self.schema,
            batches,
            total: Total::Rows(self.rows),
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

    /// Adds a run. Merges the runs of a level once there are enough of them.
    fn add(&mut self, mut run: Shard, order: &Order) -> Result<(), Failure> {
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
            let merged = Merge::of(std::mem::take(runs), self.schema.clone(), order.clone())?;
            run = merged.spill()?;
        }
        Ok(())
    }

    /// Returns all runs in the order of their rows.
    fn into_shards(self) -> Vec<Shard> {
        self.levels.into_iter().rev().flatten().collect()
    }
}
