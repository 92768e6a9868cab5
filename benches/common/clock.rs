//! Times of runs, in milliseconds.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Two ways are measured until each has taken about this long, so that short times are medians of more runs.
const LEAST_TIME: Duration = Duration::from_millis(15);
const MOST_RUNS: usize = 25;

/// Returns the median times of two ways to do the same, which take turns.
pub(crate) fn medians_in_turns<T>(
    least_runs: usize,
    first: impl Fn() -> T,
    second: impl Fn() -> T,
) -> [f64; 2] {
    let mut times = [Vec::new(), Vec::new()];
    let start = Instant::now();
    let most_runs = MOST_RUNS.max(least_runs);
    while times[0].len() < least_runs
        || start.elapsed() < LEAST_TIME * 2 && times[0].len() < most_runs
    {
        times[0].push(milliseconds(&first));
        times[1].push(milliseconds(&second));
    }
    times.map(median)
}

pub(crate) fn milliseconds<T>(run: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(run());
    start.elapsed().as_secs_f64() * 1e3
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
