//! Tests that a scan may skip: joins, sorts and aggregates push down filters, but tolerate rows that do not match.

use arrow::array::BooleanArray;
use arrow::datatypes::{DataType, Schema};
use arrow::error::ArrowError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Fewest tested rows from which the cost and the gain of a test are computed.
const SAMPLE: usize = 4096;
/// A test that costs more than it saves is tried again for one row in this many.
const TRIED: usize = 32;
/// Nanoseconds by which reading a row in two steps takes longer: its keys first, then its other columns.
const TWO_STEPS: f64 = 1.0;

/// Nanoseconds that a returned row costs, in addition to the test that the operator above repeats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RowCost(f64);

impl RowCost {
    /// Estimates the cost of a row with these columns. Numbers cost almost nothing, because a block of them is decoded
    /// whole if any row of it is returned. The figures fit the queries of TPC-H, on one thread of an AMD EPYC.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(crate) fn of(schema: &Schema) -> Self {
        let fields = schema.fields().iter();
        let others = fields
            .filter(|field| varies_in_size(field.data_type()))
            .count();
        Self(1.2 + 4.0 * others as f64)
    }
}

/// Whether the values of a type may have different sizes.
fn varies_in_size(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_binary() || data_type.is_nested()
}

/// Leaves out a test as long as it costs more than it saves. Threads may share a sampler, and then test a few rows more
/// or fewer.
#[derive(Debug)]
pub(crate) struct Sampler {
    row_cost: RowCost,
    /// Number of coming rows that are not tested.
    untested: AtomicUsize,
    /// Rows tested since the last decision.
    tested: AtomicUsize,
    /// Tested rows that passed.
    passed: AtomicUsize,
    /// Nanoseconds of these tests.
    time: AtomicU64,
}

impl Sampler {
    pub(crate) fn new(row_cost: RowCost) -> Self {
        Self {
            row_cost,
            untested: AtomicUsize::new(0),
            tested: AtomicUsize::new(0),
            passed: AtomicUsize::new(0),
            time: AtomicU64::new(0),
        }
    }

    /// Whether to test the next `rows` rows.
    pub(crate) fn is_due(&self, rows: usize) -> bool {
        let untested = self.untested.load(Relaxed);
        self.untested.store(untested.saturating_sub(rows), Relaxed);
        untested == 0
    }

    /// Returns the result of the test, and takes it into account.
    ///
    /// # Errors
    /// Returns the error of the test.
    pub(crate) fn test(
        &self,
        test: impl FnOnce() -> Result<BooleanArray, ArrowError>,
    ) -> Result<BooleanArray, ArrowError> {
        let start = Instant::now();
        let truths = test()?;
        self.count(truths.len(), truths.true_count(), start.elapsed());
        Ok(truths)
    }

    fn count(&self, rows: usize, passed: usize, time: Duration) {
        let tested = self.tested.load(Relaxed) + rows;
        let passed = self.passed.load(Relaxed) + passed;
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let time = self.time.load(Relaxed).saturating_add(nanoseconds);
        let is_known = tested >= SAMPLE;
        if is_known && !self.is_worthwhile(tested, passed, time) {
            let untested = tested.saturating_mul(TRIED - 1);
            self.untested.store(untested, Relaxed);
        }
        self.tested
            .store(if is_known { 0 } else { tested }, Relaxed);
        self.passed
            .store(if is_known { 0 } else { passed }, Relaxed);
        self.time.store(if is_known { 0 } else { time }, Relaxed);
    }

    /// Whether dropping the rows that did not pass saves more than the test costs. A join that receives a row looks its
    /// key up once more, which takes about as long as the test.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn is_worthwhile(&self, tested: usize, passed: usize, time: u64) -> bool {
        let cost = time as f64 / tested as f64;
        let dropped = 1.0 - passed as f64 / tested as f64;
        dropped * (cost + self.row_cost.0) > cost + TWO_STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Field;

    /// Returns which of `batches` batches are tested. Each has `rows` rows, of which `percent(batch)` percent pass, and
    /// a test takes five nanoseconds a row.
    fn tested(
        sampler: &Sampler,
        rows: usize,
        percent: impl Fn(usize) -> usize,
        batches: usize,
    ) -> Vec<usize> {
        let time = Duration::from_nanos(5 * rows as u64);
        let is_tested = |batch: &usize| {
            let is_due = sampler.is_due(rows);
            if is_due {
                sampler.count(rows, rows * percent(*batch) / 100, time);
            }
            is_due
        };
        (0..batches).filter(is_tested).collect()
    }

    fn numbers() -> Sampler {
        Sampler::new(RowCost(1.2))
    }

    #[test]
    fn a_test_that_drops_too_few_rows_is_tried_now_and_then() {
        let all: Vec<usize> = (0..70).collect();
        assert_eq!(tested(&numbers(), 5000, |_| 1, 70), all);
        assert_eq!(tested(&numbers(), 5000, |_| 10, 70), [0, 32, 64]);
        // Rows with texts cost more.
        let texts = Sampler::new(RowCost(1.2 + 2.0 * 4.0));
        assert_eq!(tested(&texts, 5000, |_| 10, 70), all);
        assert_eq!(tested(&texts, 5000, |_| 90, 70), [0, 32, 64]);
        // The test is tried again in batch 64, and rules out rows from then on.
        let late = tested(&numbers(), 5000, |i| if i < 40 { 100 } else { 0 }, 70);
        assert_eq!(late, [0, 32, 64, 65, 66, 67, 68, 69]);
    }

    #[test]
    fn few_rows_do_not_tell() {
        // The sample is full after 4,096 batches of one row, of which one in ten passes.
        let single = tested(&numbers(), 1, |i| if i % 10 == 0 { 100 } else { 0 }, 5000);
        assert_eq!(single.len(), SAMPLE);
        let fourth = tested(&numbers(), 1024, |_| 100, 132);
        assert_eq!(fourth, [0, 1, 2, 3, 128, 129, 130, 131]);
    }

    #[test]
    fn nulls_do_not_pass_and_errors_come_through() {
        let sampler = numbers();
        for _ in 0..2 {
            let truths = sampler.test(|| Ok(BooleanArray::new_null(SAMPLE)));
            assert_eq!(truths.unwrap().true_count(), 0);
        }
        assert_eq!(sampler.passed.load(Relaxed), 0);
        assert!(sampler.test(|| Err(ArrowError::DivideByZero)).is_err());
    }

    #[test]
    fn columns_of_varying_size_cost_more() {
        let columns = [DataType::Int64, DataType::Utf8View, DataType::Boolean];
        let fields = columns.map(|data_type| Field::new("a", data_type, true));
        assert_eq!(RowCost::of(&Schema::new(fields.to_vec())), RowCost(5.2));
        assert_eq!(RowCost::of(&Schema::empty()), RowCost(1.2));
    }
}
