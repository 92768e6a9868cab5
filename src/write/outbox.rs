//! Sinks that keep what they are given until somebody passes it on.

use crate::error::Result;
use crate::io::{RelativeUrl, Sink, SinkFactory};
use bytes::Bytes;
use std::collections::VecDeque;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are collected before they are passed on.
const PIECE_BYTES: usize = 1 << 20;

/// What happened to an artifact, which has a number of its own.
pub(super) enum Event {
    /// It was begun, with this name.
    Create(u64, String),
    /// It grew.
    Append(u64, Bytes),
    /// It is complete.
    Complete(u64),
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    bytes: usize,
    artifacts: u64,
}

/// What a writer has done, in its order. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Outbox(Arc<Mutex<Waiting>>);

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing is left half changed, so another thread's panic does it no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sink for the artifact of the next number, and that number.
    pub(super) fn sink(&self) -> (u64, Box<dyn Sink>) {
        let mut waiting = self.lock();
        let artifact = waiting.artifacts;
        waiting.artifacts += 1;
        let sink = OutboxSink {
            outbox: self.clone(),
            artifact,
            piece: Vec::new(),
            is_complete: false,
        };
        (artifact, Box::new(sink))
    }

    fn push(&self, event: Event) {
        let mut waiting = self.lock();
        if let Event::Append(_, bytes) = &event {
            waiting.bytes += bytes.len();
        }
        waiting.events.push_back(event);
    }

    /// What happened first of all that nobody has been told.
    pub(super) fn pop(&self) -> Option<Event> {
        let mut waiting = self.lock();
        let event = waiting.events.pop_front();
        if let Some(Event::Append(_, bytes)) = &event {
            waiting.bytes -= bytes.len();
        }
        event
    }

    /// Bytes that wait.
    pub(super) fn memory_size(&self) -> usize {
        self.lock().bytes
    }
}

impl SinkFactory for Outbox {
    fn create(&mut self, name: &str) -> Result<Box<dyn Sink>> {
        RelativeUrl::from_file_name(name)?;
        let (artifact, sink) = self.sink();
        self.push(Event::Create(artifact, name.to_owned()));
        Ok(sink)
    }

    /// Nothing is visible before it is passed on, and who passes it on takes it back.
    fn remove(&mut self, _: &str) -> Result<()> {
        Ok(())
    }
}

struct OutboxSink {
    outbox: Outbox,
    artifact: u64,
    piece: Vec<u8>,
    is_complete: bool,
}

impl OutboxSink {
    fn pass_on(&mut self) {
        let piece = Bytes::from(take(&mut self.piece));
        if !piece.is_empty() {
            self.outbox.push(Event::Append(self.artifact, piece));
        }
    }
}

impl Sink for OutboxSink {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        if self.piece.len() + bytes.len() > PIECE_BYTES {
            self.pass_on();
        }
        self.piece.write_all(bytes)
    }

    fn seal(&mut self) -> Result<()> {
        if !self.is_complete {
            self.pass_on();
            self.outbox.push(Event::Complete(self.artifact));
            self.is_complete = true;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.seal()
    }
}
