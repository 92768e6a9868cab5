//! Isolates the readers of other formats, some of which panic on damaged files and unusual types, or allocate as much
//! memory as a file demands.

use crate::allocator::bounded;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::new_folders;
use crate::text;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::iter;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process;

/// Number of bytes that a reader may always allocate at once, even for a small file, because compressed buffers grow.
const ENOUGH: u64 = 4 << 30;

thread_local! {
    /// Whether a panic of this thread is caught and reported as an error.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
    /// The file that is being read.
    static READ: RefCell<Option<Foreign>> = const { RefCell::new(None) };
}

/// Prevents caught panics from being printed.
pub(crate) fn silence_caught_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !IS_CAUGHT.get() {
            print(info);
        }
    }));
}

/// A file that is read by code of another crate.
#[derive(Debug, Clone)]
pub(crate) struct Foreign {
    name: String,
    format: FileFormat,
    /// Maximum size of an allocation in bytes.
    most: usize,
}

impl Foreign {
    /// Returns the file that the user calls `name`. `bytes` is its size, or 0 if it is unknown.
    pub(crate) fn new(name: &Path, format: FileFormat, bytes: u64) -> Self {
        Self {
            name: name.display().to_string(),
            format,
            most: usize::try_from(bytes.max(ENOUGH)).unwrap_or(usize::MAX),
        }
    }

    /// Returns the name of the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs `read`, and puts the name of the file before its errors. A panic becomes an error; the values that `read`
    /// used must not be used again then. If it allocates more memory than a file can need, the process exits with an
    /// error.
    pub(crate) fn isolate<T>(
        &self,
        read: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.guard(read).map_err(|e| e.within(&self.name))
    }

    /// Guards each step of an iterator.
    pub(crate) fn guarded<T, I: Iterator<Item = Result<T, Failure>>>(
        &self,
        mut parts: I,
    ) -> impl Iterator<Item = Result<T, Failure>> + use<T, I> {
        let file = self.clone();
        iter::from_fn(move || file.guard(|| parts.next().transpose()).transpose())
    }

    /// Runs `read` like [`isolate`](Self::isolate) for a part of the file. Its errors do not name the file.
    pub(crate) fn guard<T>(&self, read: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        READ.set(Some(self.clone()));
        caught(|| bounded(self.most, refuse, read)).unwrap_or_else(|why| {
            Err(Failure::new(format!(
                "reading as {} failed, and the file may be damaged: {why}",
                self.format
            )))
        })
    }

    /// Returns the error for a reader that needs a buffer of `bytes` bytes.
    fn too_large(&self, bytes: usize) -> Failure {
        let why = match self.format {
            // Text declares no sizes, so its rows need the buffer.
            FileFormat::Csv | FileFormat::Ndjson => "a row has too many or too long values",
            _ => "the file may be damaged, or a part of it is too large to be read at once",
        };
        Failure::new(format!(
            "reading needs a buffer of {}, more than the maximum of {}: {why}",
            text::bytes(bytes as u64),
            text::bytes(self.most as u64)
        ))
        .within(&self.name)
    }
}

/// Runs `work`. Returns its result or the message of its panic; the values that `work` used must not be used again
/// after a panic.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = IS_CAUGHT.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(before);
    result.map_err(|panic| message(&*panic).to_owned())
}

/// Exits the process, after deleting unfinished files.
fn refuse(bytes: usize) -> ! {
    let _discarded = arrow_shard::io::discard_uncommitted();
    new_folders::discard_empty();
    if let Some(file) = READ.take() {
        file.too_large(bytes).report();
    }
    process::exit(1)
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("for no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        let file = Foreign::new(Path::new("some.arrow"), FileFormat::IpcFile, 0);
        let failed: Result<(), _> = file.isolate(|| panic!("offset {}", 7));
        let Err(Failure::Error(message)) = failed else {
            unreachable!("{failed:?}");
        };
        assert!(
            message.starts_with("some.arrow: reading as Arrow IPC file failed")
                && message.contains("offset 7"),
            "{message}"
        );
        assert_eq!(file.isolate(|| Ok(7)).unwrap(), 7);
    }
}
