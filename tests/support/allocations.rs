//! Counts the memory that a thread holds, and catches panics quietly.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    static HUSHED: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, with counters of bytes per thread.
pub(crate) struct Counting;

fn count(bytes: isize) {
    // A thread that ends may free memory after its counters are gone.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: every call is forwarded to the system's allocator unchanged.
#[expect(unsafe_code, reason = "an allocator is unsafe to implement")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()));
        // SAFETY: the caller fulfils the contract of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(signed(new_size) - signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

/// Starts counting, from the bytes that this thread holds now.
pub(crate) fn start() {
    LIVE.set(0);
    PEAK.set(0);
}

/// Returns the peak number of bytes that this thread has allocated since [`start`].
pub(crate) fn peak() -> usize {
    usize::try_from(PEAK.get()).unwrap_or(0)
}

/// Runs `f`, and returns a panic with its place instead of printing it.
pub(crate) fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if HUSHED.get() {
                PANIC.set(Some(info.to_string()));
            } else {
                print(info);
            }
        }));
    });
    HUSHED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(f));
    HUSHED.set(false);
    outcome.map_err(|_| PANIC.take().unwrap_or_default())
}
