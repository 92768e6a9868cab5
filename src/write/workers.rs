//! The threads of a writer.

use super::lane::Lane;
#[cfg(feature = "threads")]
use crate::error::Error;
use crate::error::Result;
use std::sync::Arc;

/// The threads of a writer. The one that calls is one of them: where it would wait, it encodes. It
/// does nothing of other pools meanwhile, which may want a lock that it holds, such as the one around
/// the writer.
#[derive(Debug)]
pub(super) struct Workers {
    #[cfg(feature = "threads")]
    pool: Option<rayon::ThreadPool>,
}

impl Workers {
    /// That many threads, the one that calls included.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if the system has no more threads.
    pub(super) fn try_new(threads: usize) -> Result<Self> {
        #[cfg(not(feature = "threads"))]
        {
            // Where there are no others, the one that calls does all the work.
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

    /// Has the jobs of a lane done, on a thread of these if there are any.
    pub(super) fn run(&self, lane: &Arc<Lane>) {
        #[cfg(feature = "threads")]
        if let Some(pool) = &self.pool {
            let lane = lane.clone();
            return pool.spawn(move || lane.run());
        }
        lane.run();
    }
}
