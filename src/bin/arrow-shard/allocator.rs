//! The allocator of the process: mimalloc, which keeps large buffers instead of returning each to the operating system.
//! While a reader of another format runs, single allocations are limited, because a size in a damaged file would
//! otherwise abort the process.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::c_long;

/// The allocator of the process.
#[derive(Debug)]
pub(crate) struct Allocator;

/// The number of `mi_option_purge_delay` in `mimalloc.h`, milliseconds until free pages return to the operating system.
const PURGE_DELAY: mi_option_t = 15;

/// Keeps free pages until the process ends, because a command needs them again soon: most of the time that it spends in
/// the operating system would go into clearing new ones.
pub(crate) fn keep_free_pages() {
    purge_after(-1);
}

/// Returns pages to the operating system that are free for a tenth of a second: a command that writes several files at
/// a time would keep ever more.
pub(crate) fn return_free_pages() {
    purge_after(100);
}

/// Sets the milliseconds until free pages are returned, unless the environment variable `MIMALLOC_PURGE_DELAY` does.
#[expect(unsafe_code, reason = "the function is written in C")]
fn purge_after(milliseconds: c_long) {
    // SAFETY: the function stores a number in a table, and ignores options that the table does not have. Commands call
    // it before they start threads.
    unsafe { mi_option_set_default(PURGE_DELAY, milliseconds) };
}

/// A function that ends the process instead of allocating this many bytes.
type Refuse = fn(usize) -> !;

thread_local! {
    /// The largest single allocation of this thread, and the function to call for a larger one.
    static BOUND: Cell<Option<(usize, Refuse)>> = const { Cell::new(None) };
}

/// Runs `work`. If it allocates more than `most` bytes at once, or if memory is exhausted, calls `refuse`, which may
/// itself allocate.
pub(crate) fn bounded<T>(most: usize, refuse: Refuse, work: impl FnOnce() -> T) -> T {
    /// Restores the limit before, even after a panic.
    struct Before(Option<(usize, Refuse)>);
    impl Drop for Before {
        fn drop(&mut self) {
            BOUND.set(self.0);
        }
    }
    let _before = Before(BOUND.replace(Some((most, refuse))));
    work()
}

/// Calls `allocate` if the size is within the limit. Otherwise, or if memory is exhausted, refuses.
#[inline]
fn within_bound(bytes: usize, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    // Up to 1 MiB is always allowed, so that small allocations need no look-up of the limit.
    if bytes <= 1 << 20 {
        return allocate();
    }
    // Threads that are terminating have no limit.
    let bound = BOUND.try_with(Cell::get).unwrap_or(None);
    let is_beyond = bound.is_some_and(|(most, _)| bytes > most);
    let memory = if is_beyond {
        std::ptr::null_mut()
    } else {
        allocate()
    };
    if memory.is_null()
        && let Some((_, refuse)) = bound
    {
        BOUND.set(None);
        refuse(bytes);
    }
    memory
}

#[expect(unsafe_code, reason = "an allocator is unsafe to implement")]
// SAFETY: every request is passed to mimalloc unchanged, or answered by null, which means that there is no memory;
// `refuse` does not return, and nothing here unwinds.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the ones that mimalloc requires.
        within_bound(layout.size(), || unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the ones that mimalloc requires.
        within_bound(layout.size(), || unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promises are the ones that mimalloc requires; the memory came from mimalloc.
        within_bound(bytes, || unsafe { MiMalloc.realloc(memory, layout, bytes) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the ones that mimalloc requires; the memory came from mimalloc.
        unsafe { MiMalloc.dealloc(memory, layout) }
    }
}
