//! Signals that end the statement that runs.

use std::io;

/// Number of SIGINT.
const INTERRUPT: u8 = 2;

/// The signals that this process has received.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Interrupts {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Interrupts {
    /// Starts to receive signals. Call it within a runtime.
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal, and returns its number.
    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPT,
            _ = self.terminate.recv() => 15,
            _ = self.hangup.recv() => 1,
        }
    }
}

/// Presses of Ctrl-C.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct Interrupts;

#[cfg(not(unix))]
impl Interrupts {
    /// Starts to receive presses.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for a press.
    pub(crate) async fn next(&mut self) -> u8 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => INTERRUPT,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Whether the signal ends the statement only, and not the prompt.
pub(crate) fn ends_statement(signal: u8) -> bool {
    signal == INTERRUPT
}
