//! Runs the asynchronous code of the Lance crates for blocking callers.

use arrow_shard::{Error, ErrorKind, Result};
use std::any::Any;
use std::future::Future;
use std::sync::mpsc::{Receiver, sync_channel};
use tokio::runtime::{Builder, Runtime};

/// Threads that read and decode. The caller's own thread works at the same time, on the batch before.
const THREADS: usize = 2;

/// Threads that wait for the file system. Each thread keeps some freed memory, so few are better.
const READING_THREADS: usize = 4;

/// A runtime. It may be used and dropped inside of another one, because nothing in it blocks on a future.
#[derive(Debug)]
pub(crate) struct Engine {
    runtime: Option<Runtime>,
}

/// The result of work that runs meanwhile.
#[derive(Debug)]
pub(crate) struct Pending<T>(Receiver<Result<T>>);

impl Engine {
    pub(crate) fn new() -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(READING_THREADS)
            .thread_name("lance")
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
        })
    }

    /// Runs `work` and waits for it.
    ///
    /// # Errors
    /// Returns the errors of `work`; [`Corrupt`](ErrorKind::Corrupt) if it panics.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.start(work).wait()
    }

    /// Runs `work` while the caller does something else.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Pending<T> {
        let (sender, receiver) = sync_channel(1);
        if let Some(runtime) = &self.runtime {
            // The Lance crates panic on some damaged files: they unwrap, index and divide by values of the file. The
            // runtime catches a panic at the border of a task, as `catch_unwind` does, so that it ends as an error.
            // Nothing that the task owned is used again.
            let work = runtime.spawn(work);
            runtime.spawn(async move {
                let result = match work.await {
                    Ok(result) => result,
                    Err(error) => Err(match error.try_into_panic() {
                        Ok(panic) => panicked(&*panic),
                        Err(error) => Error::new(ErrorKind::Io, error.to_string()),
                    }),
                };
                // The caller may have stopped waiting.
                let _ = sender.send(result);
            });
        }
        Pending(receiver)
    }
}

impl<T> Pending<T> {
    /// Waits for the result.
    pub(crate) fn wait(self) -> Result<T> {
        self.0.recv().unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Io,
                "the threads that read Lance files have ended",
            ))
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Without waiting: a damaged file may have left a task that waits forever.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    Error::new(
        ErrorKind::Corrupt,
        format!(
            "the Lance decoder or encoder panicked, and the file may be damaged: {}",
            text.unwrap_or("no reason given")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors() {
        let engine = Engine::new().unwrap();
        let failed: Result<()> = engine.run(async { panic!("offset {}", 7) });
        let error = failed.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("offset 7"), "{error}");
        assert_eq!(engine.run(async { Ok(7) }).unwrap(), 7);
    }
}
