//! The filters of questions: a range of one column, in a form that every format can use.

use super::{open, rows};
use crate::question::Condition;
use anyhow::{Context, Result};
use arrow_array::{ArrayRef, BooleanArray, Date32Array, RecordBatch, Scalar};
use arrow_select::filter::filter_record_batch;
use std::path::Path;
use std::sync::Arc;

/// Rows with `low <= column <= high`.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(crate) name: String,
    pub(crate) column: usize,
    /// The bounds, as arrays of one value in the column's type.
    pub(crate) low: ArrayRef,
    pub(crate) high: ArrayRef,
}

impl Filter {
    /// Returns the filter of a condition on a table: March 1995 of `l_shipdate`, or all of its days, or most of them;
    /// the middle hundredth of the rows by `time`; the `host` of the middle row.
    pub(crate) fn of(data: &Path, table: &str, condition: Condition) -> Result<Self> {
        let mut source = open(data, table)?;
        let schema = source.schema();
        let column = condition
            .column(&schema)
            .context("the table is not asked that")?;
        let name = schema.field(column).name().clone();
        if name == "l_shipdate" {
            // Days since 1970.
            let day = |day: i32| Arc::new(Date32Array::from(vec![day])) as ArrayRef;
            let (low, high) = match condition {
                // 1992 to 1998.
                Condition::All => (day(8035), day(10_591)),
                // February 1992 to October 1998.
                Condition::Most => (day(8066), day(10_530)),
                Condition::Range | Condition::Equal => (day(9190), day(9220)),
            };
            return Ok(Self {
                name,
                column,
                low,
                high,
            });
        }
        let total = usize::try_from(rows(&source)?)?;
        let mut value = |row: usize| -> Result<ArrayRef> {
            let mut before = 0;
            source.set_index(0)?;
            for batch in source.by_ref() {
                let batch = batch?;
                if row < before + batch.num_rows() {
                    return Ok(batch.column(column).slice(row - before, 1));
                }
                before += batch.num_rows();
            }
            anyhow::bail!("the table has no row {row}")
        };
        let low = value(total / 2)?;
        let high = match condition {
            Condition::Range => value(total / 2 + total / 100)?,
            _ => low.clone(),
        };
        Ok(Self {
            name,
            column,
            low,
            high,
        })
    }

    /// Returns which values are in the range.
    pub(crate) fn matches(&self, values: &ArrayRef) -> Result<BooleanArray> {
        let above = arrow_ord::cmp::gt_eq(values, &Scalar::new(&self.low))?;
        let below = arrow_ord::cmp::lt_eq(values, &Scalar::new(&self.high))?;
        Ok(arrow_arith::boolean::and(&above, &below)?)
    }

    /// Returns the rows of a batch that match.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        Ok(filter_record_batch(
            batch,
            &self.matches(batch.column(self.column))?,
        )?)
    }
}
