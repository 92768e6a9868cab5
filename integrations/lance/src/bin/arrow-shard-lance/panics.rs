//! Silences panics that the library returns as errors.

use std::panic;
use std::thread;

/// Names of the threads in which the Lance crates run: the threads of the library, and the encoder's own.
const CAUGHT: [&str; 2] = ["lance", "lance-cpu"];

/// Prevents panics of the Lance crates from being printed. They panic on some damaged files, and the library returns
/// these panics as errors. Panics of other threads are printed as before.
pub(crate) fn silence_caught_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_caught = thread::current()
            .name()
            .is_some_and(|name| CAUGHT.contains(&name));
        if !is_caught {
            print(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn only_panics_of_the_lance_crates_are_silent() {
        static PRINTED: AtomicUsize = AtomicUsize::new(0);
        let before = panic::take_hook();
        panic::set_hook(Box::new(|_| {
            PRINTED.fetch_add(1, Ordering::Relaxed);
        }));
        silence_caught_panics();
        let printed = ["lance", "lance-cpu", "main", "signals"].map(|name| {
            let before = PRINTED.load(Ordering::Relaxed);
            let thread = thread::Builder::new().name(name.to_owned());
            let done = thread.spawn(|| panic!("a test")).unwrap().join();
            assert!(done.is_err());
            PRINTED.load(Ordering::Relaxed) - before
        });
        panic::set_hook(before);
        assert_eq!(printed, [0, 0, 1, 1]);
    }
}
