//! Times of tasks that take turns, and of a cycle of the core beside them.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Turns of everything.
const ROUNDS: usize = 1001;
/// What is short is repeated for that long within a turn.
const TURN: Duration = Duration::from_micros(60);

/// Nanoseconds of tasks, turn by turn.
pub(crate) struct Turns<const N: usize> {
    tasks: [Vec<f64>; N],
    cycles: Vec<f64>,
}

impl<const N: usize> Turns<N> {
    /// Does the tasks in turn. What they read and write stays in the caches of the core where it
    /// fits.
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

    /// Median nanoseconds of a task.
    pub(crate) fn time(&self, task: usize) -> f64 {
        median(self.tasks[task].clone())
    }

    /// How many times as fast as another task one is: the median over all turns.
    pub(crate) fn speed(&self, task: usize, other: usize) -> f64 {
        let pairs = self.tasks[task].iter().zip(&self.tasks[other]);
        median(pairs.map(|(time, other)| other / time).collect())
    }

    /// Median nanoseconds of a cycle of the core.
    pub(crate) fn cycle(&self) -> f64 {
        median(self.cycles.clone())
    }
}

/// How often a task is done in a turn.
fn fitting(task: &mut dyn FnMut()) -> u32 {
    let warm = (0..9).map(|_| time(1, task)).collect();
    let repeats = TURN.as_nanos() as f64 / median(warm);
    repeats.clamp(1.0, 1e6) as u32
}

/// Nanoseconds of doing it once, out of `repeats`.
fn time(repeats: u32, task: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeats {
        task();
    }
    start.elapsed().as_nanos() as f64 / f64::from(repeats)
}

/// Nanoseconds of a cycle now, whatever the clock rate is: additions and rotations that wait for
/// each other take one each.
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
