//! Removes files that no directory refers to.

#[cfg(not(target_family = "wasm"))]
mod local;
#[cfg(feature = "object_store")]
mod object;
mod other_format;

#[cfg(not(target_family = "wasm"))]
pub use local::{UnusedFile, vacuum};
#[cfg(feature = "object_store")]
pub use object::{UnusedObject, vacuum_objects};

use super::limited::limits;
use super::progress::{EditProgress, Listener, Work};
use crate::error::Result;
use crate::limits::Limits;
use crate::settings::settings;
use std::time::{Duration, SystemTime};

/// Which files a vacuum removes.
#[derive(Debug, Clone, PartialEq)]
pub struct VacuumOptions {
    min_age: Duration,
    dry_run: bool,
    limits: Limits,
    listener: Option<Listener>,
}

impl Default for VacuumOptions {
    fn default() -> Self {
        Self {
            min_age: Duration::from_secs(24 * 60 * 60),
            dry_run: false,
            limits: Limits::default(),
            listener: None,
        }
    }
}

settings! {
    VacuumOptions {
        /// Minimum age of the files to remove: a day by default. It must be longer than any writer takes from its first
        /// stripe to the directory. A reader or editor that has a replaced directory open loses the files that only
        /// that directory referred to. Temporary files stay for at least an hour.
        min_age, with_min_age: Duration;
        /// Whether files are only listed, and not removed: not by default.
        dry_run, with_dry_run: bool;
    }
}

limits!(VacuumOptions);

impl VacuumOptions {
    /// Calls `progress` after each directory file, or file of another format, that has been read. If it returns an
    /// error, the vacuum stops before it removes anything.
    #[must_use]
    pub fn with_progress(
        mut self,
        progress: impl Fn(EditProgress) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.listener = Some(Listener::new(progress));
        self
    }

    /// Returns the work of reading the directory files. Their number is not known yet.
    fn directories(&self) -> Work {
        Work::new(self.listener.clone(), 0)
    }

    /// Whether a file that was last changed at this time is old enough.
    fn is_old(&self, changed: SystemTime) -> bool {
        let age = SystemTime::now().duration_since(changed);
        age.is_ok_and(|age| age >= self.min_age)
    }
}
