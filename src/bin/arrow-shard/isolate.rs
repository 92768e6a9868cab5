//! Code of other formats, some of which panics on damaged files and odd types, or takes all the memory
//! that a file asks for.

use crate::allocator::bounded;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::text;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process;

/// Bytes that a reader may take in one piece, however small the file is: compressed buffers become
/// large.
const ENOUGH: u64 = 4 << 30;

thread_local! {
    /// Whether a panic of this thread is caught and told as an error.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
    /// The file that is being read.
    static READ: RefCell<Option<Foreign>> = const { RefCell::new(None) };
}

/// Keeps panics that are caught from being printed.
pub(crate) fn silence_caught_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !IS_CAUGHT.get() {
            print(info);
        }
    }));
}

/// A file that somebody else's code reads.
#[derive(Debug, Clone)]
pub(crate) struct Foreign {
    name: String,
    format: FileFormat,
    /// Most bytes of an allocation.
    most: usize,
}

impl Foreign {
    /// The file that the user calls `name`, of so many bytes as far as that is known.
    pub(crate) fn new(name: &Path, format: FileFormat, bytes: u64) -> Self {
        Self {
            name: name.display().to_string(),
            format,
            most: usize::try_from(bytes.max(ENOUGH)).unwrap_or(usize::MAX),
        }
    }

    /// What the file is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What `read` gives; its errors begin with the name of the file. A panic in it is an error, and
    /// whatever it worked with is not to be used again then. If it takes more memory than a file can
    /// need, the process ends as after an error.
    pub(crate) fn isolate<T>(
        &self,
        read: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        READ.set(Some(self.clone()));
        let result = caught(|| bounded(self.most, refuse, read)).unwrap_or_else(|why| {
            Err(Failure::new(format!(
                "reading as {} failed, and the file may be damaged: {why}",
                self.format
            )))
        });
        result.map_err(|e| e.within(&self.name))
    }
}

impl Foreign {
    /// Explains why the file is not read if its reader wants a buffer of `bytes` bytes.
    fn too_large(&self, bytes: usize) -> Failure {
        let why = match self.format {
            // Text states no sizes: the buffer is one that its rows need.
            FileFormat::Csv | FileFormat::Ndjson => "a row has too many values or too long ones",
            _ => "the file may be damaged, or what is stored together is too large",
        };
        Failure::new(format!(
            "reading takes a buffer of {}, and the most is {}: {why}",
            text::bytes(bytes as u64),
            text::bytes(self.most as u64)
        ))
        .within(&self.name)
    }
}

/// What `work` gives, or the message of its panic. Whatever it worked with is not to be used again
/// then.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    IS_CAUGHT.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(false);
    result.map_err(|panic| message(&*panic).to_owned())
}

/// Ends the process, which leaves no file.
fn refuse(bytes: usize) -> ! {
    let _discarded = arrow_shard::io::discard_uncommitted();
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
