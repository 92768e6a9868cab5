//! Sinks of stores that answer at once, as asynchronous ones.

use super::BoxFuture;
use crate::error::{Error, Result};
use crate::io::{AsyncSink, AsyncSinkFactory, Sink, SinkFactory};
use bytes::Bytes;
use std::future::ready;

/// A blocking sink, as an asynchronous one.
pub(super) struct NowSink<S>(pub(super) Option<S>);

impl<S: Sink> AsyncSink for NowSink<S> {
    fn write_all(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<()>> {
        let written = match &mut self.0 {
            Some(sink) => sink.write_all(&bytes),
            None => Err(discarded()),
        };
        Box::pin(ready(written))
    }

    fn commit(&mut self) -> BoxFuture<'_, Result<()>> {
        let done = match &mut self.0 {
            Some(sink) => sink.commit(),
            None => Err(discarded()),
        };
        Box::pin(ready(done))
    }

    fn may_be_visible(&self) -> bool {
        false
    }

    fn abort(&mut self) -> BoxFuture<'_, Result<()>> {
        self.0 = None;
        Box::pin(ready(Ok(())))
    }

    fn memory_size(&self) -> usize {
        0
    }
}

fn discarded() -> Error {
    Error::invalid("the file is discarded and takes no more")
}

/// A factory of blocking sinks, as one of asynchronous sinks.
pub(super) struct NowSinkFactory(pub(super) Box<dyn SinkFactory>);

impl AsyncSinkFactory for NowSinkFactory {
    fn create<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>> {
        let sink = self.0.create(name);
        let sink = sink.map(|sink| Box::new(NowSink(Some(sink))) as Box<dyn AsyncSink>);
        Box::pin(ready(sink))
    }

    fn remove<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(ready(self.0.remove(name)))
    }
}
