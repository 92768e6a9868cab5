//! Rows of a shard in order, decoded by several threads.

use super::batches::{BatchReader, RowPlan};
use super::scan::plan::{open_fields, stripe_of, window_rows};
use super::scan::windows::Windows;
use super::shard::metadata::{WINDOW, ready};
use super::shard::waiting::now;
use crate::error::Result;
use arrow_array::RecordBatch;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The batches of a task, up to the first that cannot be read; or a panic of code that the user gave.
type Outcome = std::thread::Result<Vec<Result<RecordBatch>>>;

/// Tasks that a thread of the pool reads before it looks for other work of the pool.
const TURN: usize = 8;

/// Reads windows of rows on rayon's threads and on the one that asks for batches, and gives them in
/// order.
#[derive(Debug)]
pub(super) struct ThreadedReader {
    /// Windows that are no tasks yet.
    windows: Windows,
    tasks: Arc<Tasks>,
    /// Threads at a time, the one that asks included.
    threads: usize,
    filtered: bool,
    /// Batches of the windows that have been read.
    ready: VecDeque<Result<RecordBatch>>,
    remaining: u64,
}

/// What threads have read, are reading or may read, in order.
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
    /// Readers that wait for rows: with what they keep from batch to batch.
    idle: Vec<BatchReader>,
}

#[derive(Debug)]
struct Task {
    rows: Range<u64>,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    Waits,
    Runs,
    Done(Outcome),
}

impl Task {
    fn waits(&self) -> bool {
        matches!(self.progress, Progress::Waits)
    }
}

/// A task that nobody else works on.
struct Claim {
    ordinal: u64,
    rows: Range<u64>,
    reader: Option<BatchReader>,
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a task on this thread.
    fn work(&self, claim: Claim) {
        let Claim {
            ordinal,
            rows,
            reader,
        } = claim;
        // A panic would abort the process on a thread of the pool; it belongs to who asks for the
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
            // One that has failed is not where it was left.
            if batches.iter().all(Result::is_ok) {
                state.idle.push(reader);
            }
            batches
        });
        state.finish(ordinal, outcome);
        drop(state);
        self.changed.notify_all();
    }

    /// Reads some tasks, and lets others have the thread then.
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

    /// Takes the first task once it has been read. This thread reads tasks itself as long as it would
    /// wait; a thread of the pool may work for others then, so that a pool of one thread does not wait
    /// for itself.
    fn take_first(&self) -> Option<(Range<u64>, Outcome)> {
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
    fn claim(&mut self) -> Option<Claim> {
        let mut tasks = (self.first..).zip(&mut self.queue);
        let (ordinal, task) = tasks.find(|(_, task)| task.waits())?;
        task.progress = Progress::Runs;
        Some(Claim {
            ordinal,
            rows: task.rows.clone(),
            reader: self.idle.pop(),
        })
    }

    /// Keeps what has been read, unless nobody wants it any more.
    fn finish(&mut self, ordinal: u64, outcome: Outcome) {
        let place = usize::try_from(ordinal - self.first);
        if let Some(task) = place.ok().and_then(|place| self.queue.get_mut(place)) {
            task.progress = Progress::Done(outcome);
        }
    }

    /// The first task, if it has been read.
    fn take_first(&mut self) -> Option<(Range<u64>, Outcome)> {
        match self.queue.pop_front()? {
            Task {
                rows,
                progress: Progress::Done(outcome),
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
        // More than the pool has, and the one that asks, would only have more rows wait.
        let threads = threads.min(rayon::current_num_threads() + 1).max(2);
        let windows = now(Windows::try_new(
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

    /// Rows that have not been given yet; with a filter, those that may be.
    pub(super) fn remaining_rows(&self) -> u64 {
        self.remaining
    }

    /// Adds tasks, as many as threads may work on and one more for each to go on with, and has the
    /// pool help with them.
    fn add_tasks(&mut self) {
        let mut state = self.tasks.lock();
        while state.queue.len() < 2 * self.threads
            && let Some(rows) = self.windows.next()
        {
            let progress = Progress::Waits;
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

    /// Has no more rows read, and gives none any more.
    pub(super) fn stop(&mut self) {
        self.windows.clear();
        self.tasks.lock().queue.clear();
        self.ready.clear();
        self.remaining = 0;
    }
}

impl Drop for ThreadedReader {
    fn drop(&mut self) {
        // Whoever works on the rest need not go on.
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

/// Rows of a task at least: fewer are read in hardly less time.
const FEWEST_ROWS: u64 = 8192;

/// Windows of a task at most.
const MOST_WINDOWS: u64 = 4;

/// Rows of a task. What has been read waits for its turn, and the less waits, the more of it is still
/// in the caches of the processor; so tasks are as small as blocks and batches allow where small
/// reads cost no more than large ones. Elsewhere they are what is fetched at a time, unless that is
/// much, or leaves threads without work.
fn unit(plan: &RowPlan, wanted: &Range<u64>, threads: usize) -> u64 {
    let (format, inner) = (&plan.format, &plan.format.metadata);
    let (batch, artifacts) = (format.batch_size, &inner.artifacts);
    if plan.filter.is_some() || !WINDOW.is_multiple_of(batch) {
        return WINDOW;
    }
    let unit = inner.drive(|bench| {
        let stripes = ready!(inner.stripes(bench));
        let Some((ordinal, directory)) = stripe_of(stripes, wanted.start) else {
            return Ok(Some(WINDOW));
        };
        let rows = directory.total_record_count;
        let fields = ready!(open_fields(inner, bench, ordinal, rows, &format.columns));
        if !artifacts.are_near() {
            let fetched = window_rows(&fields, rows, artifacts.fetch_bytes());
            let share = (wanted.end - wanted.start)
                .min(rows)
                .div_ceil(threads as u64);
            let share = share.next_multiple_of(WINDOW).max(WINDOW);
            return Ok(Some(fetched.min(share).min(MOST_WINDOWS * WINDOW)));
        }
        let block_rows = fields.block_rows(rows).min(WINDOW);
        Ok(Some(
            block_rows.next_power_of_two().max(batch).max(FEWEST_ROWS),
        ))
    });
    // What is wrong with the stripe is told by who reads it.
    unit.unwrap_or(WINDOW)
}
