//! Work on many columns, side by side if there are threads for it.

use crate::error::{Error, Result};
#[cfg(feature = "threads")]
use std::cmp::Reverse;
#[cfg(feature = "threads")]
use std::panic::resume_unwind;

/// The threads of a writer.
#[derive(Debug)]
pub(super) struct Workers {
    #[cfg(feature = "threads")]
    pool: Option<rayon::ThreadPool>,
}

impl Workers {
    /// That many threads; 1 is the one that calls.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if the system has no more threads.
    pub(super) fn try_new(threads: usize) -> Result<Self> {
        #[cfg(not(feature = "threads"))]
        return match threads {
            1 => Ok(Self {}),
            _ => Err(Error::invalid("there are no threads in this build")),
        };
        #[cfg(feature = "threads")]
        {
            if threads <= 1 {
                return Ok(Self { pool: None });
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().map_err(|e| {
                Error::new(crate::ErrorKind::Io, "no threads for the writer").caused_by(e)
            })?;
            Ok(Self { pool: Some(pool) })
        }
    }

    /// The results of `work` on every item, in order, or the first error.
    pub(super) fn map<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        work: impl Fn(T) -> Result<R> + Send + Sync,
    ) -> Result<Vec<R>> {
        self.map_heaviest_first(items, |_| 0, work)
    }

    /// As [`map`](Self::map). Threads take heavy items first, so that all of them end at about the
    /// same time.
    #[cfg_attr(
        not(feature = "threads"),
        expect(unused_variables, reason = "one thread has no choice")
    )]
    pub(super) fn map_heaviest_first<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        weight: impl Fn(&T) -> usize,
        work: impl Fn(T) -> Result<R> + Send + Sync,
    ) -> Result<Vec<R>> {
        #[cfg(feature = "threads")]
        if let Some(pool) = &self.pool
            && items.len() > 1
        {
            use rayon::prelude::*;
            let mut items: Vec<(usize, T)> = items.into_iter().enumerate().collect();
            items.sort_by_cached_key(|(_, item)| Reverse(weight(item)));
            let work = |(i, item)| (i, work(item));
            let bridge = items.into_iter().par_bridge();
            let mut results: Vec<(usize, Result<R>)> =
                wait_for(pool, || bridge.map(work).collect())?;
            results.sort_by_key(|(i, _)| *i);
            return results.into_iter().map(|(_, result)| result).collect();
        }
        items.into_iter().map(work).collect()
    }
}

/// What `work` comes to on the threads of the pool. Meanwhile the calling thread does nothing else:
/// one of another pool would work on that pool's tasks, which may want a lock that it holds, such
/// as the one around the writer.
#[cfg(feature = "threads")]
fn wait_for<R: Send>(pool: &rayon::ThreadPool, work: impl FnOnce() -> R + Send) -> Result<R> {
    let is_of_another_pool =
        rayon::current_thread_index().is_some() && pool.current_thread_index().is_none();
    if !is_of_another_pool {
        return Ok(pool.install(work));
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || pool.install(work));
        let thread = thread.map_err(|e| {
            Error::new(crate::ErrorKind::Io, "no thread to wait for the writer's").caused_by(e)
        })?;
        thread.join().map_err(|panic| resume_unwind(panic))
    })
}
