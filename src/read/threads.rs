//! Rows of a shard in order, decoded by several threads.

use super::batches::{BatchReader, RowPlan};
use super::metadata::{WINDOW, ready};
use super::plan::{open_fields, stripe_of};
use super::windows::Windows;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::RecordBatch;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The batches of a window, up to the first that cannot be read.
type Window = Vec<Result<RecordBatch>>;

/// What a task comes to: a window, or a panic of code that the user gave.
type Outcome = std::thread::Result<Window>;

/// A task, and the number of rows of its window.
type Task = (u64, Receiver<Outcome>);

/// Readers that wait for rows: with what they keep from batch to batch.
type Idle = Arc<Mutex<Vec<BatchReader>>>;

/// Reads windows of rows as tasks on rayon's threads, and gives their batches in order.
#[derive(Debug)]
pub(super) struct ThreadedReader {
    plan: RowPlan,
    /// Windows that no task reads yet.
    windows: Windows,
    idle: Idle,
    /// What tasks have read or are reading, in order.
    tasks: VecDeque<Task>,
    /// Tasks at a time.
    threads: usize,
    /// Batches of the windows that have been read.
    ready: VecDeque<Result<RecordBatch>>,
    remaining: u64,
}

impl ThreadedReader {
    pub(super) fn try_new(plan: RowPlan, rows: Range<u64>, threads: usize) -> Result<Self> {
        let remaining = rows.end - rows.start;
        let mut reader = Self {
            windows: Windows::try_new(
                &plan.format.shard,
                &rows,
                unit(&plan, rows.start),
                plan.format.batch_size,
            )?,
            plan,
            idle: Idle::default(),
            tasks: VecDeque::new(),
            threads,
            ready: VecDeque::new(),
            remaining,
        };
        reader.start_tasks();
        Ok(reader)
    }

    /// Rows that have not been given yet; with a filter, those that may be.
    pub(super) fn remaining_rows(&self) -> u64 {
        self.remaining
    }

    /// Starts as many tasks as may run, and one more for each thread to go on with.
    fn start_tasks(&mut self) {
        while self.tasks.len() < 2 * self.threads
            && let Some(rows) = self.windows.next()
        {
            let (sender, receiver) = sync_channel(1);
            let count = rows.end - rows.start;
            let (plan, idle) = (self.plan.clone(), self.idle.clone());
            rayon::spawn(move || {
                // A panic would abort the process here; it belongs to who asks for the batches.
                let read = catch_unwind(AssertUnwindSafe(|| read(&plan, rows, &idle)));
                // A reader that is gone wants no batches.
                drop(sender.send(read));
            });
            self.tasks.push_back((count, receiver));
        }
    }

    fn stop(&mut self) {
        self.windows.clear();
        self.tasks.clear();
        self.ready.clear();
        self.remaining = 0;
    }
}

impl Iterator for ThreadedReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            let (rows, task) = self.tasks.pop_front()?;
            match receive(&task) {
                Ok(window) => self.ready.extend(window),
                Err(panic) => {
                    self.stop();
                    resume_unwind(panic);
                }
            }
            if self.plan.filter.is_some() {
                let matched = self.ready.iter().flatten().map(RecordBatch::num_rows);
                let matched = matched.sum::<usize>() as u64;
                self.remaining = (self.remaining + matched).saturating_sub(rows);
            }
            self.start_tasks();
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

/// Rows of a task. What has been read waits for its turn, and the less waits, the more of it is still
/// in the caches of the processor; so tasks are as small as blocks and batches allow where small
/// reads cost no more than large ones.
fn unit(plan: &RowPlan, first: u64) -> u64 {
    let (format, inner) = (&plan.format, &plan.format.shard.inner);
    let batch = format.batch_size;
    if plan.filter.is_some() || !inner.artifacts.are_near() || !WINDOW.is_multiple_of(batch) {
        return WINDOW;
    }
    let block_rows = format.shard.drive(|bench| {
        let stripes = ready!(inner.stripes(bench));
        let Some((ordinal, directory)) = stripe_of(stripes, first) else {
            return Ok(Some(WINDOW));
        };
        let rows = directory.total_record_count;
        let fields = ready!(open_fields(inner, bench, ordinal, rows, &format.columns));
        Ok(Some(fields.block_rows(rows)))
    });
    // What is wrong with the stripe is told by who reads it.
    let block_rows = block_rows.unwrap_or(WINDOW).min(WINDOW);
    block_rows.next_power_of_two().max(batch).max(FEWEST_ROWS)
}

/// The batches of a window.
fn read(plan: &RowPlan, rows: Range<u64>, idle: &Idle) -> Window {
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = lock().pop();
    let mut reader = match kept {
        Some(mut reader) => {
            reader.restart(rows);
            reader
        }
        None => plan.read(rows),
    };
    let window = reader.by_ref().collect();
    lock().push(reader);
    window
}

/// Waits for a task. A thread of the pool works on other tasks meanwhile, so that a pool of one
/// thread does not wait for itself.
fn receive(task: &Receiver<Outcome>) -> Outcome {
    let lost = || {
        let error = Error::new(ErrorKind::Io, "a task of the scan has been dropped");
        Ok(vec![Err(error)])
    };
    if rayon::current_thread_index().is_none() {
        return task.recv().unwrap_or_else(|_| lost());
    }
    loop {
        match task.try_recv() {
            Ok(read) => return read,
            Err(TryRecvError::Disconnected) => return lost(),
            Err(TryRecvError::Empty) => {
                if rayon::yield_now() == Some(rayon::Yield::Idle) {
                    std::thread::yield_now();
                }
            }
        }
    }
}
