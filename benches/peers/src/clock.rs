//! Wall time, CPU time and peak memory of this process.

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The time of one run.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Wall time in nanoseconds.
    pub(crate) wall: u64,
    /// CPU time of all threads, user and system, in nanoseconds.
    pub(crate) cpu: u64,
}

/// A stopwatch that can be paused.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    total: Sample,
    started: Option<(Instant, Duration)>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let mut clock = Self::default();
        clock.resume();
        clock
    }

    pub(crate) fn pause(&mut self) {
        if let Some((wall, cpu)) = self.started.take() {
            self.total.wall += nanoseconds(wall.elapsed());
            self.total.cpu += nanoseconds(cpu_time().saturating_sub(cpu));
        }
    }

    pub(crate) fn resume(&mut self) {
        self.started = Some((Instant::now(), cpu_time()));
    }

    pub(crate) fn stop(mut self) -> Sample {
        self.pause();
        self.total
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Figures of this process from the operating system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Status {
    /// Peak memory in bytes: `VmHWM`, including pages of memory maps.
    pub(crate) peak: u64,
    pub(crate) threads: u64,
}

impl Status {
    pub(crate) fn now() -> Result<Self> {
        let text = std::fs::read_to_string("/proc/self/status")?;
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
                .with_context(|| format!("/proc/self/status has no number {name}"))
        };
        Ok(Self {
            peak: number("VmHWM:")? * 1024,
            threads: number("Threads:")?,
        })
    }
}
