//! Rows of a shard in order, decoded by several threads.

use super::batches::{BatchReader, RowPlan};
use super::scan::opening::{open_fields, stripe_of};
use super::scan::sizing::window_rows;
use super::scan::windows::Windows;
use super::shard::metadata::{WINDOW_ROWS, ready};
use super::shard::waiting::ready_now;
use crate::error::Result;
use arrow_array::RecordBatch;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The batches of a task, up to the first error; or a panic of the caller's code.
type TaskOutcome = std::thread::Result<Vec<Result<RecordBatch>>>;

/// Tasks that a thread of the pool reads before it returns to other work of the pool.
const TURN: usize = 8;

/// Reads windows of rows on rayon's threads and on the calling thread, and returns the batches in order.
#[derive(Debug)]
pub(super) struct ThreadedReader {
    /// Windows that have not become tasks yet.
    windows: Windows,
    tasks: Arc<Tasks>,
    /// Most threads at a time, including the calling thread.
    threads: usize,
    filtered: bool,
    /// Batches of the windows that have been read.
    ready: VecDeque<Result<RecordBatch>>,
    remaining: u64,
}

/// The tasks that threads have read, are reading or may read, in order.
#[derive(Debug)]
struct Tasks {
    plan: RowPlan,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Task>,
    /// Ordinal of the first task of the queue.
    first: u64,
    /// Threads of the pool that work on tasks, or have been asked to.
    helpers: usize,
    /// Readers without a task, which keep their state from batch to batch.
    idle: Vec<BatchReader>,
}

#[derive(Debug)]
struct Task {
    rows: Range<u64>,
    progress: TaskProgress,
}

#[derive(Debug)]
enum TaskProgress {
    Waits,
    Runs,
    Done(TaskOutcome),
}

impl Task {
    fn waits(&self) -> bool {
        matches!(self.progress, TaskProgress::Waits)
    }
}

/// A task that only one thread works on.
struct ClaimedTask {
    ordinal: u64,
    rows: Range<u64>,
    reader: Option<BatchReader>,
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a task on this thread.
    fn work(&self, claim: ClaimedTask) {
        let ClaimedTask {
            ordinal,
            rows,
            reader,
        } = claim;
        // On a thread of the pool, a panic would abort the process. It is passed on to the thread that asks for the
        // batches.
        let read = catch_unwind(AssertUnwindSafe(|| {
            let mut reader = match reader {
                Some(mut reader) => {
                    reader.restart(rows);
                    reader
                }
                None => self.plan.read(rows),
            };
            let batches: Vec<_> = reader.by_ref().collect();
            (batches, reader)
        }));
        let mut state = self.lock();
        let outcome = read.map(|(batches, reader)| {
            // The position of a failed reader is unknown, so it is not used again.
            if batches.iter().all(Result::is_ok) {
                state.idle.push(reader);
            }
            batches
        });
        state.finish(ordinal, outcome);
        drop(state);
        self.changed.notify_all();
    }

    /// Reads some tasks, and then returns the thread to the pool.
    fn help(&self) {
        for turn in 0.. {
            let mut state = self.lock();
            let claim = if turn < TURN { state.claim() } else { None };
            let Some(claim) = claim else {
                state.helpers -= 1;
                return;
            };
            drop(state);
            self.work(claim);
        }
    }

    /// Takes the first task once it has been read. Until then, this thread reads tasks itself. If none is left, a
    /// thread of the pool does other work of the pool, so that a pool of one thread does not wait for itself.
    fn take_first(&self) -> Option<(Range<u64>, TaskOutcome)> {
        let in_pool = rayon::current_thread_index().is_some();
        let mut state = self.lock();
        loop {
            state.queue.front()?;
            if let Some(first) = state.take_first() {
                return Some(first);
            }
            if let Some(claim) = state.claim() {
                drop(state);
                self.work(claim);
                state = self.lock();
            } else if in_pool {
                drop(state);
                if rayon::yield_now() == Some(rayon::Yield::Idle) {
                    std::thread::yield_now();
                }
                state = self.lock();
            } else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl State {
    fn claim(&mut self) -> Option<ClaimedTask> {
        let mut tasks = (self.first..).zip(&mut self.queue);
        let (ordinal, task) = tasks.find(|(_, task)| task.waits())?;
        task.progress = TaskProgress::Runs;
        Some(ClaimedTask {
            ordinal,
            rows: task.rows.clone(),
            reader: self.idle.pop(),
        })
    }

    /// Keeps the outcome, unless the task was cancelled.
    fn finish(&mut self, ordinal: u64, outcome: TaskOutcome) {
        let place = usize::try_from(ordinal - self.first);
        if let Some(task) = place.ok().and_then(|place| self.queue.get_mut(place)) {
            task.progress = TaskProgress::Done(outcome);
        }
    }

    /// Takes the first task, if it has been read.
    fn take_first(&mut self) -> Option<(Range<u64>, TaskOutcome)> {
        match self.queue.pop_front()? {
            Task {
                rows,
                progress: TaskProgress::Done(outcome),
            } => {
                self.first += 1;
                Some((rows, outcome))
            }
            open => {
                self.queue.push_front(open);
                None
            }
        }
    }
}

impl ThreadedReader {
    pub(super) fn try_new(plan: RowPlan, rows: Range<u64>, threads: usize) -> Result<Self> {
        // More threads than the pool has, plus the calling thread, would only let more rows wait.
        let threads = threads.min(rayon::current_num_threads() + 1).max(2);
        let windows = ready_now(Windows::try_new(
            &plan.format.metadata,
            &rows,
            unit(&plan, &rows, threads),
            plan.format.batch_size,
        ))?;
        let mut reader = Self {
            windows,
            threads,
            filtered: plan.filter.is_some(),
            tasks: Arc::new(Tasks {
                plan,
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
            ready: VecDeque::new(),
            remaining: rows.end - rows.start,
        };
        reader.add_tasks();
        Ok(reader)
    }

    /// Returns the number of rows that have not been returned yet; with a filter, of the rows that may still match.
    pub(super) fn remaining_rows(&self) -> u64 {
        self.remaining
    }

    /// Adds tasks until there are two per thread, one to work on and one to continue with, and asks the pool to help.
    fn add_tasks(&mut self) {
        let mut state = self.tasks.lock();
        while state.queue.len() < 2 * self.threads
            && let Some(rows) = self.windows.next()
        {
            let progress = TaskProgress::Waits;
            state.queue.push_back(Task { rows, progress });
        }
        let waiting = state.queue.iter().filter(|task| task.waits()).count();
        let wanted = waiting.min(self.threads - 1);
        let missing = wanted.saturating_sub(state.helpers);
        state.helpers += missing;
        drop(state);
        for _ in 0..missing {
            let tasks = self.tasks.clone();
            rayon::spawn(move || tasks.help());
        }
    }

    /// Cancels all tasks, and drops the batches that are ready.
    pub(super) fn stop(&mut self) {
        self.windows.clear();
        self.tasks.lock().queue.clear();
        self.ready.clear();
        self.remaining = 0;
    }
}

impl Drop for ThreadedReader {
    fn drop(&mut self) {
        // Threads that work on the remaining tasks need not continue.
        self.stop();
    }
}

impl Iterator for ThreadedReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            let (rows, outcome) = self.tasks.take_first()?;
            match outcome {
                Ok(batches) => self.ready.extend(batches),
                Err(panic) => {
                    self.stop();
                    resume_unwind(panic);
                }
            }
            if self.filtered {
                let matched = self.ready.iter().flatten().map(RecordBatch::num_rows);
                let matched = matched.sum::<usize>() as u64;
                let rows = rows.end - rows.start;
                self.remaining = (self.remaining + matched).saturating_sub(rows);
            }
            self.add_tasks();
        }
        let batch = self.ready.pop_front()?;
        match &batch {
            Ok(batch) => {
                self.remaining = self.remaining.saturating_sub(batch.num_rows() as u64);
            }
            Err(_) => self.stop(),
        }
        Some(batch)
    }
}

/// Fewest rows of a task; fewer would take hardly less time.
const MIN_TASK_ROWS: u64 = 8192;

/// Most windows of a task.
const MAX_TASK_WINDOWS: u64 = 4;

/// Returns the number of rows per task. Finished tasks wait for their turn; the less data wait, the more of them are
/// still in the processor's caches. If small reads are as fast as large ones, tasks are therefore as small as blocks
/// and batches allow. Otherwise a task is one fetch, but has at most [`MAX_TASK_WINDOWS`] windows and at most an equal
/// share of the rows per thread.
fn unit(plan: &RowPlan, wanted: &Range<u64>, threads: usize) -> u64 {
    let (format, metadata) = (&plan.format, &plan.format.metadata);
    let (batch, artifacts) = (format.batch_size, &metadata.artifacts);
    if plan.filter.is_some() || !WINDOW_ROWS.is_multiple_of(batch) {
        return WINDOW_ROWS;
    }
    let unit = metadata.drive(|step| {
        let stripes = ready!(metadata.stripes(step));
        let Some((ordinal, directory)) = stripe_of(stripes, wanted.start) else {
            return Ok(Some(WINDOW_ROWS));
        };
        let rows = directory.total_record_count;
        let fields = ready!(open_fields(metadata, step, ordinal, rows, &format.columns));
        if !artifacts.are_near() {
            let fetched = window_rows(&fields, rows, artifacts.fetch_bytes());
            let share = (wanted.end - wanted.start)
                .min(rows)
                .div_ceil(threads as u64);
            let share = share.next_multiple_of(WINDOW_ROWS).max(WINDOW_ROWS);
            return Ok(Some(fetched.min(share).min(MAX_TASK_WINDOWS * WINDOW_ROWS)));
        }
        let block_rows = fields.block_rows(rows).min(WINDOW_ROWS);
        Ok(Some(
            block_rows.next_power_of_two().max(batch).max(MIN_TASK_ROWS),
        ))
    });
    // The reader of the stripe reports its errors.
    unit.unwrap_or(WINDOW_ROWS)
}
