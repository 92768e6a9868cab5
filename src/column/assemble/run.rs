//! Spec: docs/format.md, "Arrow types": run-end encoded arrays are stored as their values.

use super::super::mismatch;
use super::{Assembler, invalid, subset};
use crate::arrow::contains;
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result};
use crate::format::DataType;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, PrimitiveArray, make_array, new_empty_array};
use arrow_data::ArrayData;
use arrow_ord::partition::partition;
use arrow_schema::DataType as ArrowType;
use std::ops::Range;

impl Assembler<'_> {
    /// Returns a run-end encoded array, with a run for equal consecutive values.
    pub(super) fn runs(
        &mut self,
        wanted: &ArrowType,
        ends: &ArrowType,
        values: &ArrowType,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        if !ends.is_run_ends_type() {
            return Err(mismatch(wanted, node));
        }
        self.check_positions(rows)?;
        let values = self.node(values, node, rows)?;
        if values.is_empty() {
            return Ok(new_empty_array(wanted));
        }
        let runs = if contains(values.data_type(), &|inner| {
            matches!(inner, ArrowType::Union(..))
        }) {
            // Arrow's comparison treats the nulls of all variants as equal.
            let equality = self.comparable(&values, node, rows)?;
            let mut starts = vec![0];
            let rows: Vec<_> = equality.iter().collect();
            starts.extend((1..rows.len()).filter(|i| rows[i - 1] != rows[*i]));
            let ends = starts.iter().skip(1).copied().chain([rows.len()]);
            starts.iter().zip(ends).map(|(s, e)| *s..e).collect()
        } else {
            partition(std::slice::from_ref(&values))?.ranges()
        };
        let ends = match ends {
            ArrowType::Int16 => run_ends::<Int16Type>(&runs)?,
            ArrowType::Int32 => run_ends::<Int32Type>(&runs)?,
            _ => run_ends::<Int64Type>(&runs)?,
        };
        let starts: Vec<usize> = runs.iter().map(|r| r.start).collect();
        let data = ArrayData::builder(wanted.clone())
            .len(values.len())
            .add_child_data(ends)
            .add_child_data(subset(&values, &starts)?.to_data());
        Ok(make_array(data.build().map_err(invalid)?))
    }
}

fn run_ends<R: RunEndIndexType<Native: TryFrom<usize>>>(
    runs: &[Range<usize>],
) -> Result<ArrayData> {
    let ends = runs.iter().map(|run| {
        R::Native::try_from(run.end).map_err(|_| {
            Error::new(
                ErrorKind::OffsetOverflow,
                format!("row {} exceeds run ends of type {}", run.end, R::DATA_TYPE),
            )
        })
    });
    let ends: Vec<R::Native> = ends.collect::<Result<_>>()?;
    Ok(PrimitiveArray::<R>::try_new(ends.into(), None)?.to_data())
}
