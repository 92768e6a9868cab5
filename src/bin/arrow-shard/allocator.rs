//! Where memory comes from: mimalloc, which keeps large buffers instead of giving each back to the
//! operating system. What readers of other formats take in one piece ends somewhere, because sizes
//! that a damaged file states would end the process otherwise.

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

/// The allocator of the process.
#[derive(Debug)]
pub(crate) struct Allocator;

/// What happens instead of an allocation of that many bytes.
type Refuse = fn(usize) -> !;

thread_local! {
    /// Most bytes that this thread may take in one piece, and what happens if it wants more.
    static BOUND: Cell<Option<(usize, Refuse)>> = const { Cell::new(None) };
}

/// What `work` gives. If it takes more than `most` bytes in one piece, or more than there are,
/// `refuse` is called, which may allocate.
pub(crate) fn bounded<T>(most: usize, refuse: Refuse, work: impl FnOnce() -> T) -> T {
    /// Takes the bound back, after a panic too.
    struct Unbounded;
    impl Drop for Unbounded {
        fn drop(&mut self) {
            BOUND.set(None);
        }
    }
    BOUND.set(Some((most, refuse)));
    let _unbounded = Unbounded;
    work()
}

/// Gives what `allocate` does; refuses if the size is beyond the bound, or if there is no memory.
#[inline]
fn within_bound(bytes: usize, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    // A mebibyte is always allowed, so that small allocations look at nothing else.
    if bytes <= 1 << 20 {
        return allocate();
    }
    // Threads that are ending have no bound.
    let bound = BOUND.try_with(Cell::get).unwrap_or(None);
    let is_beyond = bound.is_some_and(|(most, _)| bytes > most);
    let memory = match is_beyond {
        true => std::ptr::null_mut(),
        false => allocate(),
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
// SAFETY: every request goes to mimalloc as it came, or is answered by null, which says that there is
// no memory; `refuse` does not return, and nothing here unwinds.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that mimalloc asks for.
        within_bound(layout.size(), || unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        within_bound(layout.size(), || unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above; whatever is here came from mimalloc.
        within_bound(bytes, || unsafe { MiMalloc.realloc(memory, layout, bytes) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(memory, layout) }
    }
}
