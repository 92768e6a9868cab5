//! Filters of joins in several partitions: one test for the keys of each partition, and a hash that selects the test.

use arrow::array::{Array, BooleanArray, RecordBatch, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::take_record_batch;
use datafusion_common::cast::{as_boolean_array, as_uint64_array};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, CaseExpr, Literal};
use std::sync::Arc;

/// Most partitions of such a filter; queries have fewer.
const MAX_PARTITIONS: u64 = 1 << 16;

/// A faster form of `CASE hash % n WHEN 0 THEN test WHEN 1 THEN test ... ELSE false END`, which the same rows pass. It
/// groups the rows by remainder and runs each test once. A CASE compares all rows with one remainder after the other,
/// and merges the results.
#[derive(Debug)]
pub(crate) struct HashRouter {
    hash: Arc<dyn PhysicalExpr>,
    /// The test for each remainder.
    tests: Vec<Test>,
}

#[derive(Debug, Clone)]
enum Test {
    /// The same answer for all rows.
    Known(bool),
    Asked(Arc<dyn PhysicalExpr>),
}

impl Test {
    fn of(expr: &Arc<dyn PhysicalExpr>) -> Self {
        match expr.downcast_ref::<Literal>() {
            Some(literal) => Self::Known(*literal.value() == ScalarValue::Boolean(Some(true))),
            None => Self::Asked(expr.clone()),
        }
    }
}

impl HashRouter {
    /// Returns the routed form of `expr`, if it is a `CASE` of this kind.
    pub(crate) fn of(expr: &Arc<dyn PhysicalExpr>) -> Option<Self> {
        let case = expr.downcast_ref::<CaseExpr>()?;
        let remainder = case.expr()?.downcast_ref::<BinaryExpr>()?;
        let literal = |expr: &Arc<dyn PhysicalExpr>| match expr.downcast_ref::<Literal>()?.value() {
            ScalarValue::UInt64(Some(value)) => usize::try_from(*value).ok(),
            _ => None,
        };
        let count = literal(remainder.right())
            .filter(|count| (1..=MAX_PARTITIONS).contains(&(*count as u64)))?;
        if *remainder.op() != Operator::Modulo {
            return None;
        }
        let other = case.else_expr().map_or(Test::Known(false), Test::of);
        let Test::Known(_) = other else {
            return None;
        };
        let mut tests: Vec<Option<Test>> = vec![None; count];
        for (when, then) in case.when_then_expr() {
            // If two branches have the same remainder, the first counts.
            tests
                .get_mut(literal(when)?)?
                .get_or_insert_with(|| Test::of(then));
        }
        let tests = tests
            .into_iter()
            .map(|test| test.unwrap_or_else(|| other.clone()));
        Some(Self {
            hash: remainder.left().clone(),
            tests: tests.collect(),
        })
    }

    /// Returns which rows pass, without nulls; `None` if the hashes are not `UInt64` without nulls, or the batch has no
    /// columns.
    ///
    /// # Errors
    /// Returns the errors of the expressions.
    pub(crate) fn evaluate(&self, batch: &RecordBatch) -> Result<Option<BooleanArray>> {
        // `take_record_batch` needs columns.
        if batch.num_columns() == 0 {
            return Ok(None);
        }
        let hashes = self.hash.evaluate(batch)?.into_array(batch.num_rows())?;
        let Ok(hashes) = as_uint64_array(&hashes) else {
            return Ok(None);
        };
        if hashes.null_count() > 0 || hashes.len() != batch.num_rows() {
            return Ok(None);
        }
        let count = self.tests.len() as u64;
        let remainder = |hash: u64| {
            if count.is_power_of_two() {
                hash & (count - 1)
            } else {
                hash % count
            }
        };
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); self.tests.len()];
        for (row, hash) in (0..).zip(hashes.values()) {
            rows[usize::try_from(remainder(*hash)).unwrap_or_default()].push(row);
        }
        let mut passed = vec![false; batch.num_rows()];
        for (test, rows) in self.tests.iter().zip(rows) {
            match test {
                Test::Known(false) => {}
                Test::Known(true) => {
                    for row in rows {
                        passed[row as usize] = true;
                    }
                }
                Test::Asked(_) if rows.is_empty() => {}
                Test::Asked(test) => {
                    let rows = UInt32Array::from(rows);
                    let part = take_record_batch(batch, &rows)?;
                    let answers = test.evaluate(&part)?.into_array(part.num_rows())?;
                    let truths = as_boolean_array(&answers)?;
                    let is_true = match truths.nulls() {
                        Some(known) => truths.values() & known.inner(),
                        None => truths.values().clone(),
                    };
                    for (row, is_true) in rows.values().iter().zip(&is_true) {
                        passed[*row as usize] = is_true;
                    }
                }
            }
        }
        let passed = BooleanBuffer::collect_bool(passed.len(), |row| passed[row]);
        Ok(Some(BooleanArray::new(passed, None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array, UInt64Array};
    use arrow::datatypes::Schema;
    use datafusion_physical_expr::expressions::{binary, case, col, lit};

    fn batch() -> RecordBatch {
        let keys = (0..1000).map(|i| (i % 7 > 0).then_some(i * 31 % 500));
        let keys: ArrayRef = Arc::new(keys.collect::<Int64Array>());
        let hashes = (0..1000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let hashes: ArrayRef = Arc::new(hashes.collect::<UInt64Array>());
        RecordBatch::try_from_iter([("key", keys), ("hash", hashes)]).unwrap()
    }

    /// Returns a CASE of the hash modulo `count`, with a test for each remainder but the last.
    fn routed(schema: &Schema, count: u64, other: Option<bool>) -> Arc<dyn PhysicalExpr> {
        let hash = col("hash", schema).unwrap();
        let remainder = binary(hash, Operator::Modulo, lit(count), schema).unwrap();
        let below = |i: u64| {
            let bound = lit(i64::try_from(i).unwrap() * 100);
            binary(col("key", schema).unwrap(), Operator::Lt, bound, schema).unwrap()
        };
        let branches = (0..count.max(2) - 1).map(|i| match i {
            2 => (lit(i), lit(true)),
            _ => (lit(i), below(i + 1)),
        });
        case(Some(remainder), branches.collect(), other.map(lit)).unwrap()
    }

    #[test]
    fn rows_pass_as_a_case_says() {
        let batch = batch();
        for count in [1, 2, 3, 8] {
            for other in [None, Some(false), Some(true)] {
                let expr = routed(&batch.schema(), count, other);
                let expected = expr.evaluate(&batch).unwrap().into_array(1000).unwrap();
                let expected = as_boolean_array(&expected).unwrap();
                let found = HashRouter::of(&expr)
                    .unwrap()
                    .evaluate(&batch)
                    .unwrap()
                    .unwrap();
                for row in 0..1000 {
                    let is_true = expected.is_valid(row) && expected.value(row);
                    assert_eq!(
                        found.value(row),
                        is_true,
                        "row {row} of {count}, else {other:?}"
                    );
                }
                assert!((1..1000).contains(&found.true_count()));
            }
        }
    }

    #[test]
    fn other_expressions_are_none_of_those() {
        let batch = batch();
        let schema = batch.schema();
        let column = |name| col(name, &schema).unwrap();
        let key = |bound: i64| binary(column("key"), Operator::Lt, lit(bound), &schema).unwrap();
        let searched = case(None, vec![(key(5), key(9))], None).unwrap();
        let sum = binary(column("hash"), Operator::Plus, lit(2u64), &schema).unwrap();
        let summed = case(Some(sum), vec![(lit(0u64), key(9))], None).unwrap();
        let remainder = binary(column("hash"), Operator::Modulo, lit(2u64), &schema).unwrap();
        let asked = case(Some(remainder), vec![(lit(0u64), key(9))], Some(key(5))).unwrap();
        for expr in [key(5), searched, summed, asked] {
            assert!(HashRouter::of(&expr).is_none(), "{expr}");
        }
        // The remainder of a signed number, which is not a hash, and rows without columns.
        let remainder = binary(column("key"), Operator::Modulo, lit(2u64), &schema).unwrap();
        let keys = case(Some(remainder), vec![(lit(0u64), key(9))], None).unwrap();
        let keys = HashRouter::of(&keys).unwrap();
        assert!(keys.evaluate(&batch).unwrap().is_none());
        assert!(
            keys.evaluate(&batch.project(&[]).unwrap())
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn the_first_of_two_branches_counts() {
        let batch = batch();
        let schema = batch.schema();
        let hash = col("hash", &schema).unwrap();
        let remainder = binary(hash, Operator::Modulo, lit(2u64), &schema).unwrap();
        let branch = |when: u64, passes: bool| (lit(when), lit(passes));
        let twice = vec![branch(1, true), branch(1, false)];
        let twice = case(Some(remainder.clone()), twice, None).unwrap();
        let passed = HashRouter::of(&twice)
            .unwrap()
            .evaluate(&batch)
            .unwrap()
            .unwrap();
        assert_eq!(passed.true_count(), 500);
        // No remainder is 2.
        let beyond = case(Some(remainder), vec![branch(2, true)], None).unwrap();
        assert!(HashRouter::of(&beyond).is_none());
    }
}
