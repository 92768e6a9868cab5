//! Signals that end the process: no temporary file stays.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::os::raw::c_int;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{io, thread};

/// Deletes temporary files when the process is told to end, and lets it end as if nobody had
/// listened, so that a shell sees the signal.
pub(crate) fn clean_up() -> io::Result<()> {
    // A file that must not grow further is an error of whoever writes it, and needs no signal.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let ignored = ignored();
    let heard = [SIGHUP, SIGINT, SIGTERM];
    let heard = heard.into_iter().filter(|&signal| !ignored.has(signal));
    let mut signals = Signals::new(heard)?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                let _discarded = arrow_shard::io::discard_uncommitted();
                // It does not come back, but for signals that end no process.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
    Ok(())
}

/// Signals as bits, the first one lowest.
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

/// Signals that whoever started the process wants ignored, as `nohup` does with hangups; none where
/// the system does not tell.
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
