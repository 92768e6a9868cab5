//! The threads of a writer.

use super::lane::Lane;
#[cfg(feature = "threads")]
use crate::error::Error;
use crate::error::Result;
use std::sync::Arc;

/// The threads of a writer. The calling thread is one of them: it encodes instead of waiting. Meanwhile it runs no jobs
/// of other thread pools, because they might need a lock that the caller holds, such as one around the writer.
#[derive(Debug)]
pub(in crate::write) struct Workers {
    #[cfg(feature = "threads")]
    pool: Option<rayon::ThreadPool>,
}

impl Workers {
    /// Starts the threads; `threads` includes the calling thread.
    ///
    /// # Errors
    /// Returns [`Io`](crate::ErrorKind::Io) if the system cannot start more threads.
    pub(in crate::write) fn try_new(threads: usize) -> Result<Self> {
        #[cfg(not(feature = "threads"))]
        {
            // Without other threads, the calling thread does all the work.
            let _ = threads;
            Ok(Self {})
        }
        #[cfg(feature = "threads")]
        {
            if threads <= 1 {
                return Ok(Self { pool: None });
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads - 1);
            let pool = pool.build().map_err(|e| {
                Error::new(crate::ErrorKind::Io, "no threads for the writer").caused_by(e)
            })?;
            Ok(Self { pool: Some(pool) })
        }
    }

    /// Runs the jobs of a lane, on one of the pool's threads if there are any.
    pub(super) fn run(&self, lane: &Arc<Lane>) {
        #[cfg(feature = "threads")]
        if let Some(pool) = &self.pool {
            let lane = lane.clone();
            return pool.spawn(move || lane.run());
        }
        lane.run();
    }
}
