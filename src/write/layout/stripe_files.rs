//! The stripe files of a two-level shard.

use super::positioned_sink::PositionedSink;
use crate::error::Result;
use crate::format::HEADER;
use crate::io::{Sink, SinkFactory, random_stripe_file_name};

/// Stripe files that are written and sealed, but not visible yet.
pub(in crate::write) struct StripeFiles {
    factory: Box<dyn SinkFactory>,
    /// Sinks of the sealed files, by name.
    sealed: Vec<(String, Box<dyn Sink>)>,
    committed: Vec<String>,
    bytes: u64,
}

impl StripeFiles {
    pub(in crate::write) fn new(factory: Box<dyn SinkFactory>) -> Self {
        Self {
            factory,
            sealed: Vec::new(),
            committed: Vec::new(),
            bytes: 0,
        }
    }

    /// Returns the size of all files in bytes.
    pub(in crate::write) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the approximate memory size of the names and sinks of the files in bytes.
    pub(in crate::write) fn memory_size(&self) -> usize {
        // The sink of a local file holds its name twice, and the name of the temporary file.
        self.sealed.capacity() * size_of::<(String, Box<dyn Sink>)>() + 512 * self.sealed.len()
    }

    /// Writes one more file. `content` receives its name and writes everything between header and footer.
    pub(in crate::write) fn write<R>(
        &mut self,
        content: impl FnOnce(String, &mut PositionedSink<'_>) -> Result<R>,
    ) -> Result<R> {
        let name = random_stripe_file_name();
        let mut sink = self.factory.create(&name)?;
        let mut position = 0;
        let mut out = PositionedSink::new(&mut *sink, &mut position);
        out.begin()?;
        let written = content(name.clone(), &mut out)?;
        out.write(&HEADER)?;
        sink.seal()?;
        self.sealed.push((name, sink));
        self.bytes += position;
        Ok(written)
    }

    /// Makes all files visible.
    ///
    /// # Errors
    /// Returns the errors of the sinks; some files may be visible then.
    pub(in crate::write) fn commit(&mut self) -> Result<()> {
        for (name, mut sink) in self.sealed.drain(..) {
            sink.commit()?;
            self.committed.push(name);
        }
        Ok(())
    }

    /// Removes the committed files.
    pub(in crate::write) fn withdraw(&mut self) {
        for name in self.committed.drain(..) {
            // The caller already returns an error, and nothing refers to the file.
            let _ = self.factory.remove(&name);
        }
    }
}
