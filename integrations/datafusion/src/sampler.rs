//! Tests that a scan may skip: joins, sorts and aggregates push down filters, but tolerate rows that do not match.

use arrow::array::BooleanArray;
use arrow::error::ArrowError;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// A test that more than this percentage of rows pass costs more than it saves.
const WORTHLESS_PERCENT: usize = 80;
/// Fewest tested rows from which the percentage is computed.
const SAMPLE: usize = 4096;
/// Number of batches that then skip the test, before it is tried again.
const UNTESTED: u32 = 31;

/// Skips a test for most batches as long as most rows pass it. Threads may share a sampler, and then test a few
/// batches more or fewer.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    /// Number of coming batches that skip the test.
    untested: AtomicU32,
    /// Rows tested since the last decision.
    tested: AtomicUsize,
    /// Tested rows that passed.
    passed: AtomicUsize,
}

impl Sampler {
    /// Returns the result of the test for `rows` rows, or true for all rows if this batch skips the test.
    ///
    /// # Errors
    /// Returns the error of the test.
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

    /// Returns which of `batches` batches are tested. Each has `rows` rows, and `share(batch)` of them pass.
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
        // The test is tried again in batch 64, and rules out rows from then on.
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
