//! The machine of a run.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Time of a thread that only computes.
const SPIN: Duration = Duration::from_millis(500);

/// Least speed of each of two threads at once, as a share of the speed of one alone, for figures of two threads.
const MIN_SPEED_OF_TWO: f64 = 0.9;

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    memory_bytes: u64,
    /// The speed of the slower of two threads that compute at once, as a share of the speed of one alone. Processors
    /// of a virtual machine may share one of the host. Earlier runs did not measure it.
    speed_of_two: Option<f64>,
}

impl Machine {
    /// Returns this machine. Computes for a second, to compare two threads with one.
    ///
    /// # Errors
    /// Returns an error if the system does not describe the machine.
    pub fn here() -> Result<Self> {
        let text = |path: &str| std::fs::read_to_string(path).with_context(|| path.to_owned());
        let value = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let memory = value(&text("/proc/meminfo")?, "MemTotal")
            .and_then(|total| total.split_whitespace().next()?.parse::<u64>().ok());
        Ok(Self {
            cpu: value(&text("/proc/cpuinfo")?, "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism()?.get(),
            kernel: text("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            memory_bytes: memory.context("/proc/meminfo has no MemTotal")? * 1024,
            speed_of_two: Some(speed_of_two()),
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({} processors, {} GB, Linux {})",
            self.cpu,
            self.cores,
            self.memory_bytes >> 30,
            self.kernel
        )
    }
}

/// Returns the reason for a report without figures of two threads, unless the machine runs two threads at once as fast
/// as one.
pub fn reason_against_two_threads(machine: Option<&Machine>) -> Option<String> {
    let finding = match machine.and_then(|machine| machine.speed_of_two) {
        Some(speed) if speed >= MIN_SPEED_OF_TWO => return None,
        Some(speed) => format!(
            "each of two threads that only compute runs at {:.0} % of the speed of one alone",
            100.0 * speed
        ),
        None => "the results do not say whether the machine runs two threads as fast as one".into(),
    };
    Some(format!("Left out: {finding}."))
}

fn speed_of_two() -> f64 {
    let alone = spin();
    let slower = std::thread::scope(|scope| {
        let other = scope.spawn(spin);
        let own = spin();
        own.min(other.join().unwrap_or_default())
    });
    slower as f64 / alone as f64
}

/// Multiplies for a while, and returns the number of rounds. The products do not wait for each other, so two threads on
/// one core slow each other.
fn spin() -> u64 {
    let begun = Instant::now();
    let mut products = black_box([3_u64, 5, 7, 9, 11, 13, 15, 17]);
    let mut rounds = 0;
    while begun.elapsed() < SPIN {
        for _ in 0..10_000 {
            for product in &mut products {
                *product = product
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .rotate_left(29);
            }
        }
        products = black_box(products);
        rounds += 1;
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::{Machine, reason_against_two_threads};

    fn machine(speed_of_two: Option<f64>) -> Machine {
        Machine {
            cpu: "Abacus".to_owned(),
            cores: 2,
            kernel: "6.1".to_owned(),
            memory_bytes: 24 << 30,
            speed_of_two,
        }
    }

    #[test]
    fn two_threads_need_two_processors() {
        let reason = |speed| reason_against_two_threads(Some(&machine(speed)));
        assert_eq!(reason(Some(0.97)), None);
        assert!(reason(Some(0.52)).unwrap().contains("at 52 %"));
        assert!(reason(None).unwrap().contains("do not say"));
        assert!(
            reason_against_two_threads(None)
                .unwrap()
                .contains("do not say")
        );
    }

    #[test]
    fn a_machine_names_its_processor() {
        let name = machine(None).to_string();
        assert_eq!(name, "Abacus (2 processors, 24 GB, Linux 6.1)");
    }
}
