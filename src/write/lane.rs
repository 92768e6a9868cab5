//! What a stripe field has to do, in order, on whatever thread has time for it.

use super::candidate::Candidate;
use super::field::{EncodedField, FieldEncoder};
use crate::column::{Chunk, Values};
use crate::error::{Error, Result, Within};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A stripe field and its jobs. One thread at a time does them; the writer adds jobs meanwhile.
#[derive(Debug)]
pub(super) struct Lane {
    path: Arc<str>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    jobs: VecDeque<Job>,
    /// Jobs that are not done yet, the one that a thread is at included.
    open: usize,
    /// Whether a thread has been asked to do the jobs and has not come yet.
    is_asked: bool,
    /// Whether a thread does the jobs.
    is_busy: bool,
    /// The encoder, while no thread works with it, and until it is finished.
    encoder: Option<Box<FieldEncoder>>,
    /// Memory of the encoder after each of the last jobs that appended.
    sizes: VecDeque<usize>,
    outcome: Option<Outcome>,
}

#[derive(Debug)]
enum Job {
    Append(Vec<Chunk<Values>>),
    Finish,
}

/// What a job leaves.
enum Done {
    /// The encoder, and the memory that it holds.
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

/// How the jobs have ended.
#[derive(Debug)]
enum Outcome {
    Encoded(Box<EncodedField>),
    Failed(Error),
    Panicked(Box<dyn Any + Send>),
}

impl State {
    fn is_behind(&self, most: usize) -> bool {
        let is_well = matches!(self.outcome, None | Some(Outcome::Encoded(_)));
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

    /// Adds chunks to append. Gives whether somebody has to [`run`](Self::run) the lane.
    #[must_use]
    pub(super) fn append(&self, chunks: Vec<Chunk<Values>>) -> bool {
        self.add(Job::Append(chunks))
    }

    /// Adds that the field ends. Gives whether somebody has to [`run`](Self::run) the lane.
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

    /// Does all jobs, unless another thread is at them.
    pub(super) fn run(&self) {
        let mut state = self.lock();
        state.is_asked = false;
        if !state.is_busy {
            self.work(state, |_| true);
        }
    }

    /// Does a job that no thread is at, if there is one, and leaves others to the thread that has
    /// been asked.
    pub(super) fn help(&self) -> bool {
        let state = self.lock();
        let can_help = !state.is_busy && !state.jobs.is_empty();
        if can_help {
            self.work(state, |state| !state.is_asked);
        }
        can_help
    }

    /// Does a job, and others as long as it is to go on.
    fn work<'a>(&'a self, mut state: MutexGuard<'a, State>, goes_on: impl Fn(&State) -> bool) {
        state.is_busy = true;
        while let Some(job) = state.jobs.pop_front() {
            let encoder = state.encoder.take();
            drop(state);
            // After an error there is no encoder, and nothing to do.
            let done = encoder.map(|encoder| catch_unwind(AssertUnwindSafe(|| job.work(encoder))));
            state = self.lock();
            match done {
                None => {}
                Some(Ok(Ok(Done::Appended(encoder, size)))) => {
                    state.encoder = Some(encoder);
                    state.sizes.push_back(size);
                }
                Some(Ok(Ok(Done::Finished(field)))) => {
                    state.outcome = Some(Outcome::Encoded(field));
                }
                Some(Ok(Err(e))) => {
                    let e = e.within(format!("column `{}`", self.path));
                    state.outcome = Some(Outcome::Failed(e));
                }
                Some(Err(panic)) => state.outcome = Some(Outcome::Panicked(panic)),
            }
            state.open -= 1;
            self.changed.notify_all();
            if !goes_on(&state) {
                break;
            }
        }
        state.is_busy = false;
    }

    /// Forgets the jobs that no thread is at.
    pub(super) fn cancel(&self) {
        let mut state = self.lock();
        let forgotten = std::mem::take(&mut state.jobs);
        state.open -= forgotten.len();
        drop(state);
    }

    /// Whether more than `most` jobs are open, and none has failed.
    pub(super) fn is_behind(&self, most: usize) -> bool {
        self.lock().is_behind(most)
    }

    /// Waits until no more than `most` jobs are open, or one has failed.
    ///
    /// # Errors
    /// That of a job.
    fn wait(&self, most: usize) -> Result<MutexGuard<'_, State>> {
        let state = self.lock();
        let waited = self
            .changed
            .wait_while(state, |state| state.is_behind(most));
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        match state.outcome.take() {
            Some(Outcome::Failed(e)) => Err(e),
            Some(Outcome::Panicked(panic)) => {
                drop(state);
                resume_unwind(panic)
            }
            outcome => {
                state.outcome = outcome;
                Ok(state)
            }
        }
    }

    /// Waits until no more than `most` jobs are open. If more have been added, gives the memory that
    /// the encoder held when that many were; each time that of one job later.
    ///
    /// # Errors
    /// That of a job.
    pub(super) fn size_before(&self, most: usize) -> Result<Option<usize>> {
        let mut state = self.wait(most)?;
        let known = state.open + state.sizes.len();
        Ok(match known > most {
            true => state.sizes.pop_front(),
            false => None,
        })
    }

    /// Waits until all jobs are done and asks the encoder.
    ///
    /// # Errors
    /// That of a job.
    pub(super) fn ask<R>(&self, question: impl FnOnce(&FieldEncoder) -> R) -> Result<Option<R>> {
        Ok(self.wait(0)?.encoder.as_deref().map(question))
    }

    /// Waits for the field to be finished, and gives it.
    ///
    /// # Errors
    /// That of a job.
    pub(super) fn encoded(&self) -> Result<EncodedField> {
        match self.wait(0)?.outcome.take() {
            Some(Outcome::Encoded(field)) => Ok(*field),
            _ => Err(Error::invalid("the field has not been finished")),
        }
    }

    /// Waits until all jobs are done. How the values that are staged then might be encoded.
    ///
    /// # Errors
    /// That of a job.
    pub(super) fn candidates(&self) -> Result<Vec<Candidate>> {
        let encoder = self.wait(0)?.encoder.take();
        let candidates = encoder.map_or(Ok(Vec::new()), |encoder| encoder.into_candidates());
        candidates.within(|| format!("column `{}`", self.path))
    }
}
