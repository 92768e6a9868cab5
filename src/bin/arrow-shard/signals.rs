//! Deletes temporary files when a signal ends the process. The program `arrow-shard-lance` compiles this file, too.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::os::raw::c_int;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{io, thread};

/// Starts a thread that deletes temporary files and then calls `clean_more` when a signal asks the process to end.
/// Afterwards, the process ends by the default action of the signal, so that a shell sees the signal.
pub(crate) fn clean_up(clean_more: fn()) -> io::Result<()> {
    // With a handler, exceeding the file size limit is an error of the write instead of the end of the process.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let ignored = ignored();
    let ends = [SIGHUP, SIGINT, SIGTERM];
    let mut signals = Signals::new(ends.into_iter().filter(|&signal| !ignored.has(signal)))?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                let _discarded = arrow_shard::io::discard_uncommitted();
                clean_more();
                // Returns only for signals that do not end the process.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
    Ok(())
}

/// A set of signals as bits. The lowest bit is signal 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SignalSet(u64);

impl SignalSet {
    fn has(self, signal: c_int) -> bool {
        let bit = u32::try_from(signal - 1)
            .ok()
            .and_then(|n| 1u64.checked_shl(n));
        bit.is_some_and(|bit| self.0 & bit != 0)
    }
}

/// Returns the signals that the parent process wants ignored, as `nohup` does with hangups. Empty if the system does
/// not report them.
fn ignored() -> SignalSet {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    SignalSet(
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_bits_from_one_on() {
        let hangup = SignalSet(1);
        assert!(hangup.has(SIGHUP) && !hangup.has(SIGINT));
        assert!(SignalSet(1 << (SIGTERM - 1)).has(SIGTERM));
        assert!(!SignalSet(u64::MAX).has(0));
    }
}
