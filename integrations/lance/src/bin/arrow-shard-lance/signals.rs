//! Signals that end the process: no temporary file stays.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::{io, thread};

/// Deletes temporary files when the process is told to end, and lets it end by the signal, so that a shell sees it.
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
