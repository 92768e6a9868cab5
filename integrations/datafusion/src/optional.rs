//! Tests that may be left out: of filters that joins, sorts and aggregates hand down, which want rows that match and
//! bear others.

use arrow::array::BooleanArray;
use arrow::error::ArrowError;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// A test that lets more than so many of a hundred rows pass costs more than it saves.
const WORTHLESS_PERCENT: usize = 80;
/// Of how many rows at least it must be known how many pass.
const SAMPLE: usize = 4096;
/// How many batches then go untested, before others tell whether it has become worth its cost.
const UNTESTED: u32 = 31;

/// Leaves a test out of most batches for as long as most rows pass it. Threads may share one: then they test some
/// batches more or fewer.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    /// Batches still to come that go untested.
    untested: AtomicU32,
    /// Rows that were tested since others were not, and how many passed.
    tested: AtomicUsize,
    passed: AtomicUsize,
}

impl Sampler {
    /// What a test says of so many rows, or that all pass.
    ///
    /// # Errors
    /// Those of the test.
    pub(crate) fn test(
        &self,
        rows: usize,
        test: impl FnOnce() -> Result<BooleanArray, ArrowError>,
    ) -> Result<BooleanArray, ArrowError> {
        let left = self.untested.load(Relaxed);
        if left > 0 {
            self.untested.store(left - 1, Relaxed);
            return Ok(BooleanArray::from(vec![true; rows]));
        }
        let truths = test()?;
        let tested = self.tested.load(Relaxed) + truths.len();
        let passed = self.passed.load(Relaxed) + truths.true_count();
        let is_known = tested >= SAMPLE;
        if is_known && passed.saturating_mul(100) > tested.saturating_mul(WORTHLESS_PERCENT) {
            self.untested.store(UNTESTED, Relaxed);
        }
        self.tested
            .store(if is_known { 0 } else { tested }, Relaxed);
        self.passed
            .store(if is_known { 0 } else { passed }, Relaxed);
        Ok(truths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of so many batches are tested, each of `rows`, of which a share passes.
    fn tested(rows: usize, share: impl Fn(usize) -> f64, batches: usize) -> Vec<usize> {
        let sampler = Sampler::default();
        let mut tested = Vec::new();
        for i in 0..batches {
            let passes = |row: usize| (row as f64) < share(i) * rows as f64;
            let truths = sampler.test(rows, || {
                tested.push(i);
                Ok((0..rows).map(|row| Some(passes(row))).collect())
            });
            let passed = (0..rows).filter(|row| passes(*row)).count();
            let expected = if tested.last() == Some(&i) {
                passed
            } else {
                rows
            };
            assert_eq!(truths.unwrap().true_count(), expected, "batch {i}");
        }
        tested
    }

    #[test]
    fn what_most_rows_pass_is_tested_now_and_then() {
        assert_eq!(tested(5000, |_| 0.8, 70), (0..70).collect::<Vec<_>>());
        assert_eq!(tested(5000, |_| 0.9, 70), [0, 32, 64]);
        // It is asked again, and rules out rows from then on.
        let late = tested(5000, |i| if i < 40 { 1.0 } else { 0.1 }, 70);
        assert_eq!(late, [0, 32, 64, 65, 66, 67, 68, 69]);
    }

    #[test]
    fn few_rows_do_not_tell() {
        // One row in ten passes, each in a batch of its own.
        let single = tested(1, |i| if i % 10 == 0 { 1.0 } else { 0.0 }, 5000);
        assert_eq!(single.len(), 5000);
        assert_eq!(tested(1024, |_| 1.0, 40), [0, 1, 2, 3, 35, 36, 37, 38]);
    }

    #[test]
    fn nulls_do_not_pass_and_errors_come_through() {
        let sampler = Sampler::default();
        for _ in 0..2 {
            let truths = sampler.test(2, || Ok(BooleanArray::new_null(2))).unwrap();
            assert_eq!(truths.true_count(), 0);
        }
        let error = || Err(ArrowError::DivideByZero);
        assert!(sampler.test(2, error).is_err());
    }
}
