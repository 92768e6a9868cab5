//! The queue of encoding jobs of one stripe field, which any thread may run in order.

use crate::column::{Chunk, Values};
use crate::error::{Error, Result, Within};
use crate::write::choose::candidate::Candidate;
use crate::write::field::encoder::{EncodedField, FieldEncoder};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A stripe field and its queue of jobs. One thread at a time runs them; the writer adds jobs meanwhile.
#[derive(Debug)]
pub(super) struct Lane {
    path: Arc<str>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    jobs: VecDeque<Job>,
    /// Jobs that are not done yet, including the running one.
    open: usize,
    /// Whether a thread has been asked to run the jobs and has not started.
    is_asked: bool,
    /// Whether a thread is running the jobs.
    is_busy: bool,
    /// The encoder, unless a thread is using it or the field is finished.
    encoder: Option<Box<FieldEncoder>>,
    /// Memory of the encoder after each of the last append jobs.
    sizes: VecDeque<usize>,
    outcome: Option<LaneOutcome>,
}

#[derive(Debug)]
enum Job {
    Append(Vec<Chunk<Values>>),
    Finish,
}

/// The result of a job.
enum Done {
    /// The encoder, and the bytes of memory that it holds.
    Appended(Box<FieldEncoder>, usize),
    Finished(Box<EncodedField>),
}

impl Job {
    fn work(self, mut encoder: Box<FieldEncoder>) -> Result<Done> {
        match self {
            Self::Append(chunks) => {
                chunks.iter().try_for_each(|chunk| encoder.push(chunk))?;
                let size = encoder.memory_size();
                Ok(Done::Appended(encoder, size))
            }
            Self::Finish => Ok(Done::Finished(Box::new(encoder.finish()?))),
        }
    }
}

/// The final state of the lane.
#[derive(Debug)]
enum LaneOutcome {
    Encoded(Box<EncodedField>),
    Failed(Error),
    Panicked(Box<dyn Any + Send>),
}

impl State {
    fn is_behind(&self, most: usize) -> bool {
        let is_well = matches!(self.outcome, None | Some(LaneOutcome::Encoded(_)));
        is_well && self.open > most
    }
}

impl Lane {
    pub(super) fn new(encoder: FieldEncoder) -> Self {
        Self {
            path: encoder.path(),
            state: Mutex::new(State {
                jobs: VecDeque::new(),
                open: 0,
                is_asked: false,
                is_busy: false,
                encoder: Some(Box::new(encoder)),
                sizes: VecDeque::new(),
                outcome: None,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds chunks to append. Returns whether the caller must have the lane [`run`](Self::run).
    #[must_use]
    pub(super) fn append(&self, chunks: Vec<Chunk<Values>>) -> bool {
        self.add(Job::Append(chunks))
    }

    /// Adds the job that finishes the field. Returns whether the caller must have the lane [`run`](Self::run).
    #[must_use]
    pub(super) fn finish(&self) -> bool {
        self.add(Job::Finish)
    }

    fn add(&self, job: Job) -> bool {
        let mut state = self.lock();
        state.jobs.push_back(job);
        state.open += 1;
        !state.is_busy && !std::mem::replace(&mut state.is_asked, true)
    }

    /// Runs all jobs, unless another thread is running them.
    pub(super) fn run(&self) {
        let mut state = self.lock();
        state.is_asked = false;
        if !state.is_busy {
            self.work(state, |_| true);
        }
    }

    /// Runs one job if no thread is running this lane's jobs. Continues with the other jobs unless a thread has been
    /// asked to run them. Returns whether it ran any.
    pub(super) fn help(&self) -> bool {
        let state = self.lock();
        let can_help = !state.is_busy && !state.jobs.is_empty();
        if can_help {
            self.work(state, |state| !state.is_asked);
        }
        can_help
    }

    /// Runs a job, and further ones while `goes_on` holds.
    fn work<'a>(&'a self, mut state: MutexGuard<'a, State>, goes_on: impl Fn(&State) -> bool) {
        state.is_busy = true;
        while let Some(job) = state.jobs.pop_front() {
            let encoder = state.encoder.take();
            drop(state);
            // After an error there is no encoder, and the remaining jobs do nothing.
            let done = encoder.map(|encoder| catch_unwind(AssertUnwindSafe(|| job.work(encoder))));
            state = self.lock();
            match done {
                None => {}
                Some(Ok(Ok(Done::Appended(encoder, size)))) => {
                    state.encoder = Some(encoder);
                    state.sizes.push_back(size);
                }
                Some(Ok(Ok(Done::Finished(field)))) => {
                    state.outcome = Some(LaneOutcome::Encoded(field));
                }
                Some(Ok(Err(e))) => {
                    let e = e.within(format!("column `{}`", self.path));
                    state.outcome = Some(LaneOutcome::Failed(e));
                }
                Some(Err(panic)) => state.outcome = Some(LaneOutcome::Panicked(panic)),
            }
            state.open -= 1;
            self.changed.notify_all();
            if !goes_on(&state) {
                break;
            }
        }
        state.is_busy = false;
    }

    /// Drops the jobs that have not begun.
    pub(super) fn cancel(&self) {
        let mut state = self.lock();
        let forgotten = std::mem::take(&mut state.jobs);
        state.open -= forgotten.len();
        drop(state);
    }

    /// Returns whether more than `most` jobs are open and none has failed.
    pub(super) fn is_behind(&self, most: usize) -> bool {
        self.lock().is_behind(most)
    }

    /// Waits until no more than `most` jobs are open, or one has failed.
    ///
    /// # Errors
    /// Returns the error of a failed job.
    fn wait(&self, most: usize) -> Result<MutexGuard<'_, State>> {
        let state = self.lock();
        let waited = self
            .changed
            .wait_while(state, |state| state.is_behind(most));
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        match state.outcome.take() {
            Some(LaneOutcome::Failed(e)) => Err(e),
            Some(LaneOutcome::Panicked(panic)) => {
                drop(state);
                resume_unwind(panic)
            }
            outcome => {
                state.outcome = outcome;
                Ok(state)
            }
        }
    }

    /// Waits until at most `most` jobs are open. Then returns the memory of the encoder after the job that is `most`
    /// jobs before the last one added, or `None` if too few have been added. Call it once per added job.
    ///
    /// # Errors
    /// Returns the error of a failed job.
    pub(super) fn size_before(&self, most: usize) -> Result<Option<usize>> {
        let mut state = self.wait(most)?;
        let known = state.open + state.sizes.len();
        Ok(if known > most {
            state.sizes.pop_front()
        } else {
            None
        })
    }

    /// Waits until all jobs are done, and passes the encoder to `question`.
    ///
    /// # Errors
    /// Returns the error of a failed job.
    pub(super) fn ask<R>(&self, question: impl FnOnce(&FieldEncoder) -> R) -> Result<Option<R>> {
        Ok(self.wait(0)?.encoder.as_deref().map(question))
    }

    /// Waits until the field is finished, and returns it.
    ///
    /// # Errors
    /// Returns the error of a failed job.
    pub(super) fn encoded(&self) -> Result<EncodedField> {
        match self.wait(0)?.outcome.take() {
            Some(LaneOutcome::Encoded(field)) => Ok(*field),
            _ => Err(Error::invalid("the field has not been finished")),
        }
    }

    /// Waits until all jobs are done, and returns the candidate encodings of the staged values.
    ///
    /// # Errors
    /// Returns the error of a failed job.
    pub(super) fn candidates(&self) -> Result<Vec<Candidate>> {
        let encoder = self.wait(0)?.encoder.take();
        let candidates = encoder.map_or(Ok(Vec::new()), |encoder| encoder.into_candidates());
        candidates.within(|| format!("column `{}`", self.path))
    }
}
