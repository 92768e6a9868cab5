//! Measures alternating tasks, and the length of a processor cycle.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Number of turns.
const ROUNDS: usize = 1001;
/// Length of a turn of one task; a short task is repeated within it.
const TURN: Duration = Duration::from_micros(60);

/// Nanoseconds of tasks, turn by turn.
pub(crate) struct Turns<const N: usize> {
    tasks: [Vec<f64>; N],
    cycles: Vec<f64>,
}

impl<const N: usize> Turns<N> {
    /// Runs the tasks in turn. Their inputs and outputs stay in the caches of the core if they fit.
    pub(crate) fn of(mut tasks: [&mut dyn FnMut(); N]) -> Self {
        let mut repeats = [0; N];
        for (repeats, task) in repeats.iter_mut().zip(&mut tasks) {
            *repeats = fitting(*task);
        }
        let mut turns = Self {
            tasks: std::array::from_fn(|_| Vec::new()),
            cycles: Vec::new(),
        };
        for _ in 0..ROUNDS {
            let tasks = tasks.iter_mut().zip(&repeats);
            for (times, (task, &repeats)) in turns.tasks.iter_mut().zip(tasks) {
                times.push(time(repeats, *task));
            }
            turns.cycles.push(cycle());
        }
        turns
    }

    /// Returns the median nanoseconds of a task.
    pub(crate) fn time(&self, task: usize) -> f64 {
        median(self.tasks[task].clone())
    }

    /// Returns the ratio of a task's speed to another one's: the median over all turns.
    pub(crate) fn speed(&self, task: usize, other: usize) -> f64 {
        let pairs = self.tasks[task].iter().zip(&self.tasks[other]);
        median(pairs.map(|(time, other)| other / time).collect())
    }

    /// Returns the median nanoseconds of a processor cycle.
    pub(crate) fn cycle(&self) -> f64 {
        median(self.cycles.clone())
    }
}

/// Returns the number of repetitions of a task in a turn.
fn fitting(task: &mut dyn FnMut()) -> u32 {
    let warm = (0..9).map(|_| time(1, task)).collect();
    let repeats = TURN.as_nanos() as f64 / median(warm);
    repeats.clamp(1.0, 1e6) as u32
}

/// Returns the mean nanoseconds of a task over `repeats` repetitions.
fn time(repeats: u32, task: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeats {
        task();
    }
    start.elapsed().as_nanos() as f64 / f64::from(repeats)
}

/// Returns the current nanoseconds of a processor cycle, at any clock rate: dependent additions and rotations take one
/// cycle each.
fn cycle() -> f64 {
    const STEPS: u32 = 50_000;
    let (mut value, summand) = (black_box(1u64), black_box(0x9e37_79b9_7f4a_7c15u64));
    let start = Instant::now();
    for _ in 0..STEPS {
        value = value.wrapping_add(summand).rotate_left(7);
    }
    black_box(value);
    start.elapsed().as_nanos() as f64 / f64::from(2 * STEPS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
