//! Readers of other formats, some of which panic on damaged files.

use crate::failure::Failure;
use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    /// Whether a panic of this thread is caught and told as an error.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
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

/// What `read` gives; a panic in it is an error. Whatever it worked with is not to be used again then.
pub(crate) fn isolate<T>(read: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    IS_CAUGHT.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    IS_CAUGHT.set(false);
    result.unwrap_or_else(|panic| {
        let why = message(&*panic);
        Err(Failure::new(format!(
            "the file is damaged, its reader failed: {why}"
        )))
    })
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
        let failed: Result<(), _> = isolate(|| panic!("offset {}", 7));
        let Err(Failure::Error(message)) = failed else {
            unreachable!("{failed:?}");
        };
        assert!(
            message.contains("damaged") && message.contains("offset 7"),
            "{message}"
        );
        assert_eq!(isolate(|| Ok(7)).unwrap(), 7);
    }
}
