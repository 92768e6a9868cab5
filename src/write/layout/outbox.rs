//! Sinks that queue the writer's output until the asynchronous writer sends it.

use crate::error::Result;
use crate::io::{RelativeUrl, Sink, SinkFactory};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most bytes collected into one piece before it is queued.
const PIECE_BYTES: usize = 1 << 20;

/// A file operation of the writer. The number identifies the artifact (file).
pub(in crate::write) enum Event {
    /// The artifact was created, with this name.
    Create(u64, String),
    /// Bytes were appended.
    Append(u64, Bytes),
    /// The artifact is complete.
    Complete(u64),
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// The number of the artifact appended to last, and the piece that is still open.
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

/// The queue of the writer's file operations, in order. Clones share it.
#[derive(Clone, Default)]
pub(in crate::write) struct Outbox(Arc<Mutex<Waiting>>);

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Every change is complete before anything can panic, so a panic of another thread does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a new artifact's number and a sink for it.
    pub(in crate::write) fn sink(&self) -> (u64, Box<dyn Sink>) {
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

    /// Removes and returns the oldest event.
    pub(in crate::write) fn pop(&self) -> Option<Event> {
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

    /// Returns the size of the queued data in bytes.
    pub(in crate::write) fn memory_size(&self) -> usize {
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

    /// Does nothing: no file is visible before it is sent, and the sender removes the files that it sent.
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
