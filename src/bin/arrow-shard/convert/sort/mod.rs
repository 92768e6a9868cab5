//! Sorts the rows of an input: in memory, or by runs in temporary shards that are merged.

mod merge;
mod order;
mod run;

use crate::failure::Failure;
use crate::input::Input;
use crate::progress::Total;
use arrow_schema::SchemaRef;
use arrow_shard::Shard;
use merge::Merge;
pub(super) use order::Order;
use run::Run;

/// Bytes of rows that are sorted in memory by default. More rows become runs in temporary files.
const MEMORY: usize = 112 << 20;
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
    let schema = input.schema.clone();
    let input = input.with_progress(quiet);
    let mut rows = 0;
    let mut runs = Runs::new(schema.clone());
    let mut run = Run::new(schema.clone());
    for batch in input.batches {
        let batch = batch?;
        run.add(&batch, &order)?;
        rows += batch.num_rows() as u64;
        if run.bytes() >= memory.unwrap_or(MEMORY) {
            let full = std::mem::replace(&mut run, Run::new(schema.clone()));
            runs.add(full.sorted(threads).spill()?, &order)?;
        }
    }
    if runs.is_empty() {
        let batches = run.sorted(threads).batches();
        return Ok(Input {
            schema,
            batches,
            total: Total::Rows(rows),
        });
    }
    runs.add(run.sorted(threads).spill()?, &order)?;
    let batches = Box::new(Merge::of(runs.into_shards(), schema.clone(), order)?);
    Ok(Input {
        schema,
        batches,
        total: Total::Rows(rows),
    })
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
