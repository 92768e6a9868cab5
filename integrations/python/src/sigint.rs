//! Keeps signal-hook's action for Ctrl-C in place.
//!
//! signal-hook sets its action once and calls the action that was there before. Python's `signal.signal` replaces it,
//! as `asyncio.run` and notebooks do again and again, even if they set the handler that Python has already.

use signal_hook::SigId;
use std::io;

/// Registers a hook for SIGINT, and sets signal-hook's action again if Python has replaced it.
#[cfg(unix)]
pub(crate) use unix::{hooked, remember};

#[cfg(not(unix))]
pub(crate) fn remember() {}

#[cfg(not(unix))]
pub(crate) fn hooked(register: impl FnOnce() -> io::Result<SigId>) -> io::Result<SigId> {
    register()
}

#[cfg(unix)]
mod unix {
    use super::{SigId, io};
    use libc::{SIGINT, sighandler_t};
    use std::mem::MaybeUninit;
    use std::ptr::{null, null_mut};
    use std::sync::{Mutex, OnceLock, PoisonError};

    /// Python's function for the signal, as this module was imported.
    static PYTHON: OnceLock<sighandler_t> = OnceLock::new();
    /// signal-hook's action, once it is set.
    static HOOK: Mutex<Option<libc::sigaction>> = Mutex::new(None);

    /// Remembers Python's action.
    pub(crate) fn remember() {
        if let Ok(action) = action() {
            PYTHON.get_or_init(|| action.sa_sigaction);
        }
    }

    pub(crate) fn hooked(register: impl FnOnce() -> io::Result<SigId>) -> io::Result<SigId> {
        let mut hook = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
        let before = action()?;
        let id = register()?;
        match &*hook {
            None => *hook = Some(action()?),
            // Another library's action calls signal-hook's, unless it was set before.
            Some(hook) if PYTHON.get() == Some(&before.sa_sigaction) => set(hook)?,
            Some(_) => (),
        }
        Ok(id)
    }

    #[expect(unsafe_code, reason = "the standard library has no signals")]
    fn action() -> io::Result<libc::sigaction> {
        let mut action = MaybeUninit::zeroed();
        // SAFETY: the pointer is valid for writes, and no action is set.
        if unsafe { libc::sigaction(SIGINT, null(), action.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has succeeded, so it has written the action.
        Ok(unsafe { action.assume_init() })
    }

    #[expect(unsafe_code, reason = "the standard library has no signals")]
    fn set(action: &libc::sigaction) -> io::Result<()> {
        // SAFETY: the action is signal-hook's, whose function lives as long as this module.
        if unsafe { libc::sigaction(SIGINT, action, null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}
