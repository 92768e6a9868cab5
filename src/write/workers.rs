//! Work on many columns, side by side if there are threads for it.

use crate::error::{Error, Result};

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
        #[cfg(feature = "threads")]
        if let Some(pool) = &self.pool
            && items.len() > 1
        {
            use rayon::prelude::*;
            return pool.install(|| {
                // Columns differ much in what they cost.
                let results: Vec<Result<R>> =
                    items.into_par_iter().with_max_len(1).map(work).collect();
                results.into_iter().collect()
            });
        }
        items.into_iter().map(work).collect()
    }
}
