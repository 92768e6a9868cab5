//! Measures how much of the processors other programs use during a measurement.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Instant;

/// Seconds of a unit of time in `/proc`: `USER_HZ` is 100 on x86-64 and on 64-bit Arm.
const TICK: f64 = 0.01;

/// Other programs may use this share of one processor.
const MAX_SHARE: f64 = 0.1;
/// They may use more during this share of the measurements.
const MAX_DISTURBED: f64 = 0.05;
/// Largest error of a measurement in seconds: ten counters are rounded down to ticks, and the system counts the whole
/// time between two of its interrupts for the program that runs at the second one.
const MAX_ERROR: f64 = 5.0 * TICK;

/// The work of other programs during a measurement, and of the system for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Load average of the minute before the measurement.
    average: f64,
    /// Wall time of the measurement in seconds.
    wall: f64,
    /// CPU time of other programs on all processors, in seconds. Rounding may make it negative.
    others: f64,
}

impl Load {
    /// Returns whether other programs worked so much that they may have slowed the measurement.
    pub fn is_disturbed(&self) -> bool {
        self.others > MAX_ERROR.max(MAX_SHARE * self.wall)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "other programs used {:.0} % of one processor; the load average was {} before",
            100.0 * self.others / self.wall,
            self.average
        )
    }
}

/// Measures the [`Load`] of other programs than the calling process and the children that it waits for.
pub struct LoadMeter {
    begun: Instant,
    average: f64,
    ticks: Ticks,
}

impl LoadMeter {
    /// Starts a measurement. Returns `None` on systems without `/proc`.
    pub fn start() -> Option<Self> {
        let averages = std::fs::read_to_string("/proc/loadavg").ok()?;
        Some(Self {
            average: averages.split_whitespace().next()?.parse().ok()?,
            ticks: Ticks::now()?,
            begun: Instant::now(),
        })
    }

    /// Returns the load since the start.
    pub fn stop(self) -> Option<Load> {
        let wall = self.begun.elapsed().as_secs_f64();
        let now = Ticks::now()?;
        let busy = now.busy.saturating_sub(self.ticks.busy) as f64;
        let own = now.own.saturating_sub(self.ticks.own) as f64;
        Some(Load {
            average: self.average,
            wall,
            others: TICK * (busy - own),
        })
    }
}

/// CPU times in ticks.
struct Ticks {
    /// Time of all processors since the system started.
    busy: u64,
    /// Time of this process and the children that it has waited for.
    own: u64,
}

impl Ticks {
    fn now() -> Option<Self> {
        let read = |path| std::fs::read_to_string(path).ok();
        Some(Self {
            busy: busy(&read("/proc/stat")?)?,
            own: own(&read("/proc/self/stat")?)?,
        })
    }
}

/// Returns the ticks in which a processor was not idle, from `/proc/stat`. Time that the host of a virtual machine gave
/// to another machine (steal) counts, because it slows programs, too.
fn busy(stat: &str) -> Option<u64> {
    let all = stat.lines().next()?.strip_prefix("cpu ")?;
    // The times of guests that follow are parts of `user` and `nice`.
    let times = numbers(all.split_whitespace().take(8))?;
    let &[user, nice, system, _idle, _iowait, irq, softirq, steal] = times.as_slice() else {
        return None;
    };
    Some(user + nice + system + irq + softirq + steal)
}

/// Returns the ticks of a process and its children, from its `/proc/PID/stat`.
fn own(stat: &str) -> Option<u64> {
    // The name of the program, in brackets, may contain spaces and brackets. Field 3 follows, the fields of times are
    // 14 to 17.
    let (_, fields) = stat.rsplit_once(')')?;
    let times = numbers(fields.split_whitespace().skip(14 - 3).take(4))?;
    let &[user, system, user_of_children, system_of_children] = times.as_slice() else {
        return None;
    };
    Some(user + system + user_of_children + system_of_children)
}

fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<u64>> {
    words.map(|word| word.parse().ok()).collect()
}

/// The loads of all measurements of a report.
#[derive(Debug, Default)]
pub struct Idleness {
    measurements: usize,
    /// Measurements without a load.
    unknown: usize,
    /// Measurements that other programs may have slowed.
    disturbed: usize,
    /// Sums over measurements with a load, in seconds.
    wall: f64,
    others: f64,
}

impl FromIterator<Option<Load>> for Idleness {
    fn from_iter<I: IntoIterator<Item = Option<Load>>>(loads: I) -> Self {
        let mut sums = Self::default();
        for load in loads {
            sums.measurements += 1;
            if let Some(load) = load {
                sums.disturbed += usize::from(load.is_disturbed());
                sums.wall += load.wall;
                sums.others += load.others;
            } else {
                sums.unknown += 1;
            }
        }
        sums
    }
}

impl Idleness {
    /// Returns whether the machine is known to have been idle otherwise. The sum counts, too, because single
    /// measurements may be too short to tell.
    fn is_idle(&self) -> bool {
        let disturbed = self.disturbed as f64;
        self.unknown == 0
            && disturbed <= MAX_DISTURBED * self.measurements as f64
            && self.others <= MAX_SHARE * self.wall
    }

    /// Refuses a report of measurements on a machine that was not idle.
    ///
    /// # Errors
    /// Returns an error if the machine is not known to have been idle, unless `although_busy`.
    pub fn check(&self, although_busy: bool) -> Result<()> {
        ensure!(
            although_busy || self.is_idle(),
            "{self} Measure again while the machine is idle, or write the report with --although-busy."
        );
        Ok(())
    }

    /// Returns a sentence for the report, in bold if the machine is not known to have been idle.
    pub fn note(&self) -> String {
        if self.is_idle() {
            self.to_string()
        } else {
            format!("**{self} These times are rough.**")
        }
    }
}

impl fmt::Display for Idleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.measurements;
        if self.unknown > 0 {
            return write!(
                f,
                "For {} of {all} measurements, it is not known whether other programs were running.",
                self.unknown
            );
        }
        // Without a measurement there is no time to divide by.
        let share = self.others.max(0.0) / self.wall.max(TICK);
        write!(
            f,
            "Other programs used {:.1} % of one processor during the measurements, and more than {:.0} % during {} \
             of {all}.",
            100.0 * share,
            100.0 * MAX_SHARE,
            self.disturbed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Idleness, Load, LoadMeter, busy, own};

    const STAT: &str = "\
cpu  1815534 506696 235007 248922 6167 5 2378 2117 70 30
cpu0 879124 257238 114470 153316 2666 0 230 1072 0 0
intr 227";

    #[test]
    fn idle_processors_and_guests_do_not_count_as_busy() {
        let expected = 1_815_534 + 506_696 + 235_007 + 5 + 2378 + 2117;
        assert_eq!(busy(STAT), Some(expected));
    }

    #[test]
    fn other_texts_have_no_busy_time() {
        for text in [
            "",
            "cpu0 1 2 3 4 5 6 7 8",
            "cpu  1 2 3 4 5 6 7",
            "cpu  1 2 x 4 5 6 7 8",
        ] {
            assert_eq!(busy(text), None, "{text}");
        }
    }

    #[test]
    fn the_time_of_a_process_includes_its_children() {
        let fields = "S 1 2 3 0 -1 4194560 11 12 13 14 1000 200 30 4 20 0 2 -1";
        for name in ["peers", "a program", "x) R 1 (y"] {
            let text = format!("77 ({name}) {fields}\n");
            assert_eq!(own(&text), Some(1234), "{text}");
        }
        assert_eq!(own("77 (peers) S 1 2 3"), None);
        assert_eq!(own("no process"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_has_a_load() {
        let load = LoadMeter::start().and_then(LoadMeter::stop).unwrap();
        assert!(load.average >= 0.0 && load.wall >= 0.0);
    }

    fn load(wall: f64, others: f64) -> Load {
        Load {
            average: 1.0,
            wall,
            others,
        }
    }

    #[test]
    fn a_tenth_of_a_processor_disturbs() {
        assert!(!load(10.0, 0.99).is_disturbed());
        assert!(load(10.0, 1.01).is_disturbed());
        assert!(!load(10.0, -0.04).is_disturbed());
    }

    #[test]
    fn rounding_does_not_disturb_short_measurements() {
        assert!(!load(0.02, 0.04).is_disturbed());
        assert!(load(0.02, 0.06).is_disturbed());
    }

    /// Returns the idleness of 100 measurements, `disturbed` of them beside another program.
    fn idleness(disturbed: usize) -> Idleness {
        let others = |i: usize| if i < disturbed { 0.5 } else { 0.0 };
        (0..100).map(|i| Some(load(1.0, others(i)))).collect()
    }

    #[test]
    fn a_report_needs_an_idle_machine() {
        assert!(idleness(5).check(false).is_ok());
        assert!(!idleness(5).note().contains("**"));
        let busy = idleness(6);
        assert!(busy.check(true).is_ok());
        let refusal = busy.check(false).unwrap_err().to_string();
        assert!(
            refusal.contains("more than 10 % during 6 of 100"),
            "{refusal}"
        );
        assert!(busy.note().starts_with("**Other programs used 3.0 %"));
    }

    #[test]
    fn a_measurement_without_a_load_is_not_known_to_be_idle() {
        let loads = [Some(load(1.0, 0.0)), None];
        let idleness: Idleness = loads.into_iter().collect();
        let refusal = idleness.check(false).unwrap_err().to_string();
        assert!(refusal.starts_with("For 1 of 2 measurements"), "{refusal}");
        assert!(idleness.check(true).is_ok());
    }

    #[test]
    fn many_short_measurements_show_a_busy_machine() {
        let idleness: Idleness = (0..100).map(|_| Some(load(0.02, 0.02))).collect();
        assert_eq!(idleness.disturbed, 0);
        assert!(idleness.check(false).is_err());
    }
}
