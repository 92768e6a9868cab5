//! The machine of a run.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time of a process that only computes.
const SPIN: Duration = Duration::from_millis(500);

/// Least speed of each of two processes at once, as a share of the speed of one alone, for figures of two threads.
const MIN_SPEED_OF_TWO: f64 = 0.9;

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    memory_bytes: u64,
    /// The speed of the slower of two processes that compute at once, as a share of the speed of one alone. Processors
    /// of a virtual machine may share one of the host. Earlier runs did not measure it.
    speed_of_two: Option<f64>,
}

impl Machine {
    /// Returns this machine. Compares two processes with one, by a program that prints the result of [`spin`].
    ///
    /// # Errors
    /// Returns an error if the system does not describe the machine, or if the program fails.
    pub fn here(spinner: impl Fn(&mut Command) -> &mut Command) -> Result<Self> {
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
            speed_of_two: Some(speed_of_two(spinner)?),
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

/// Returns the reason for a report without figures of two threads, unless the machine runs two processes at once as
/// fast as one.
pub fn reason_against_two_threads(machine: Option<&Machine>) -> Option<String> {
    let finding = match machine.and_then(|machine| machine.speed_of_two) {
        Some(speed) if speed >= MIN_SPEED_OF_TWO => return None,
        Some(speed) => format!(
            "each of two processes that only compute runs at {:.0} % of the speed of one alone",
            100.0 * speed
        ),
        None => {
            "the results do not say whether the machine runs two processes as fast as one".into()
        }
    };
    Some(format!("Left out: {finding}."))
}

fn speed_of_two(spinner: impl Fn(&mut Command) -> &mut Command) -> Result<f64> {
    let start = || -> Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        Ok(spinner(&mut command).stdout(Stdio::piped()).spawn()?)
    };
    let rounds = |process: Child| -> Result<f64> {
        let output = process.wait_with_output()?;
        let text = String::from_utf8(output.stdout)?;
        text.trim().parse().context("a process that spins")
    };
    let alone = rounds(start()?)?;
    let (one, other) = (start()?, start()?);
    let slower = rounds(one)?.min(rounds(other)?);
    Ok(slower / alone)
}

/// Multiplies for a while, and returns the number of rounds. The products do not wait for each other, so two processes
/// on one core slow each other.
pub fn spin() -> u64 {
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
