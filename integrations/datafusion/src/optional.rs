//! Tests that may be left out: of filters that joins and sorts hand down, whose rows are tested again above.

use arrow::array::BooleanArray;
use arrow::error::ArrowError;
use std::sync::atomic::{AtomicU32, Ordering};

/// A test that lets more than so many of a hundred rows pass costs more than it saves.
const WORTHLESS_PERCENT: usize = 80;
/// How many batches then go untested, before one tells whether it has become worth its cost.
const UNTESTED: u32 = 31;

/// Leaves a test out of most batches for as long as most rows pass it.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    /// Batches still to come that go untested.
    untested: AtomicU32,
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
        let left = self.untested.load(Ordering::Relaxed);
        if left > 0 {
            // Threads that take turns here test a batch more or less.
            self.untested.store(left - 1, Ordering::Relaxed);
            return Ok(BooleanArray::from(vec![true; rows]));
        }
        let truths = test()?;
        if truths.true_count().saturating_mul(100) > truths.len().saturating_mul(WORTHLESS_PERCENT)
        {
            self.untested.store(UNTESTED, Ordering::Relaxed);
        }
        Ok(truths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of so many batches of ten rows are tested, where so many rows of each pass.
    fn tested(passing: impl Fn(usize) -> usize, batches: usize) -> Vec<usize> {
        let sampler = Sampler::default();
        let mut tested = Vec::new();
        for i in 0..batches {
            let truths = sampler.test(10, || {
                tested.push(i);
                Ok((0..10).map(|row| Some(row < passing(i))).collect())
            });
            let expected = if tested.last() == Some(&i) {
                passing(i)
            } else {
                10
            };
            assert_eq!(truths.unwrap().true_count(), expected, "batch {i}");
        }
        tested
    }

    #[test]
    fn what_most_rows_pass_is_tested_now_and_then() {
        assert_eq!(tested(|_| 8, 70), (0..70).collect::<Vec<_>>());
        assert_eq!(tested(|_| 9, 70), [0, 32, 64]);
        // It is asked again, and rules out rows from then on.
        let late = tested(|i| if i < 40 { 10 } else { 1 }, 70);
        assert_eq!(late[..3], [0, 32, 64]);
        assert_eq!(late[3..], [65, 66, 67, 68, 69]);
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
