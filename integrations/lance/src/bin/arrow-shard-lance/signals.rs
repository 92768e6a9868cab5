//! Deletes temporary files when a signal ends the process.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::{io, thread};

/// Deletes temporary files when a signal ends the process, and then lets the signal end it, so the shell sees the
/// signal.
pub(crate) fn clean_up() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                let _discarded = arrow_shard::io::discard_uncommitted();
                // Does not return for signals that end the process.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
    Ok(())
}
