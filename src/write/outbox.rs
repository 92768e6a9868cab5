//! Sinks that keep what they are given until somebody passes it on.

use crate::error::Result;
use crate::io::{RelativeUrl, Sink, SinkFactory};
use bytes::Bytes;
use std::collections::VecDeque;
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
    /// What was appended last, to the artifact of that number: more may come.
    last: Option<(u64, Vec<u8>)>,
    /// Bytes of all events.
    bytes: usize,
    artifacts: u64,
}

impl Waiting {
    fn push(&mut self, event: Event) {
        self.end_piece();
        self.events.push_back(event);
    }

    fn append(&mut self, artifact: u64, bytes: &[u8]) -> Result<()> {
        let goes_on = |(last, piece): &(u64, Vec<u8>)| {
            *last == artifact && piece.len() + bytes.len() <= PIECE_BYTES
        };
        if !self.last.as_ref().is_some_and(goes_on) {
            self.end_piece();
        }
        let (_, piece) = self.last.get_or_insert_with(|| (artifact, Vec::new()));
        piece.write_all(bytes)
    }

    fn end_piece(&mut self) {
        if let Some((artifact, piece)) = self.last.take() {
            self.bytes += piece.len();
            let event = Event::Append(artifact, piece.into());
            self.events.push_back(event);
        }
    }
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
            is_complete: false,
        };
        (artifact, Box::new(sink))
    }

    /// What happened first of all that nobody has been told.
    pub(super) fn pop(&self) -> Option<Event> {
        let mut waiting = self.lock();
        if waiting.events.is_empty() {
            waiting.end_piece();
        }
        let event = waiting.events.pop_front();
        if let Some(Event::Append(_, bytes)) = &event {
            waiting.bytes -= bytes.len();
        }
        event
    }

    /// Bytes that wait.
    pub(super) fn memory_size(&self) -> usize {
        let waiting = self.lock();
        waiting.bytes + waiting.last.as_ref().map_or(0, |(_, piece)| piece.len())
    }
}

impl SinkFactory for Outbox {
    fn create(&mut self, name: &str) -> Result<Box<dyn Sink>> {
        RelativeUrl::from_file_name(name)?;
        let (artifact, sink) = self.sink();
        self.lock().push(Event::Create(artifact, name.to_owned()));
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
    is_complete: bool,
}

impl Sink for OutboxSink {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.outbox.lock().append(self.artifact, bytes)
    }

    fn seal(&mut self) -> Result<()> {
        if !self.is_complete {
            self.outbox.lock().push(Event::Complete(self.artifact));
            self.is_complete = true;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.seal()
    }
}
