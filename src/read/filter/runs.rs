//! Tests of rows that are stored as runs of equal values: each run is tested once.

use super::predicate::{BoundPredicate, PredicateNode};
use crate::buffer::Selection;
use crate::column::{Chunk, Values};
use crate::error::Result;
use crate::read::scan::constant::leaf_array;
use crate::read::scan::stripe_reader::StripeReader;
use crate::read::shard::column::Column;
use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer};
use arrow_select::concat::concat;
use std::ops::Range;

/// The values of a column at some rows.
#[derive(Debug)]
pub(super) struct RunValues {
    /// The value of each run, and a null after them if some rows are null.
    pub(super) values: ArrayRef,
    /// The end of each run; ascending.
    ends: Vec<usize>,
    /// The rows that are present; `None` if all are.
    nulls: Option<NullBuffer>,
}

impl RunValues {
    /// Reads the runs of a column; `None` if its values have to be read one by one.
    ///
    /// # Errors
    /// Fails if the bytes are damaged.
    pub(super) fn read(
        reader: &mut StripeReader<'_>,
        column: &Column,
        rows: &Range<u64>,
    ) -> Result<Option<Self>> {
        let Some((runs, nulls)) = reader.runs(column, rows)? else {
            return Self::read_equal(reader, column, rows);
        };
        let count = runs.ends.len();
        let width = runs.values.len() / count.max(1);
        let mut data = runs.values;
        let mut present = None;
        if nulls.is_some() {
            data.resize(data.len() + width, 0);
            let valid = BooleanBuffer::collect_bool(count + 1, |i| i < count);
            present = Some(NullBuffer::new(valid));
        }
        let chunk = Chunk {
            len: count + usize::from(nulls.is_some()),
            nulls: present,
            values: Values::Fixed {
                width,
                data: Buffer::from_vec(data),
            },
        };
        // The bytes under nulls need not be a value of the type.
        let values = leaf_array(chunk, &column.node, column.field.data_type()).ok();
        Ok(values.map(|values| Self {
            values,
            ends: runs.ends,
            nulls,
        }))
    }

    /// Reads one value of each block of equal byte strings.
    fn read_equal(
        reader: &mut StripeReader<'_>,
        column: &Column,
        rows: &Range<u64>,
    ) -> Result<Option<Self>> {
        let Some((ends, nulls)) = reader.equal_blocks(column, rows)? else {
            return Ok(None);
        };
        let mut chosen = Selection::default();
        let mut start = 0;
        for &end in &ends {
            let present = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
            let row = rows.start + (start..end).find(present).unwrap_or(start) as u64;
            chosen.push(row..row + 1);
            start = end;
        }
        // One value is read of each block, and the others are not decoded.
        reader.sequential = false;
        let mut read = reader.read(std::slice::from_ref(column), &chosen)?;
        let Some(mut values) = read.pop() else {
            return Ok(None);
        };
        if nulls.is_some() {
            let null = new_null_array(values.data_type(), 1);
            values = concat(&[&values, &null])?;
        }
        Ok(Some(Self {
            values,
            ends,
            nulls,
        }))
    }

    /// Returns the rows for which a predicate is true, given its truth for the values.
    pub(super) fn matches(&self, truths: &BooleanArray) -> BooleanBuffer {
        let is_true = |i: usize| truths.is_valid(i) && truths.value(i);
        let len = self.ends.last().copied().unwrap_or(0);
        let mut bits = BooleanBufferBuilder::new(len);
        let (mut start, mut last) = (0, false);
        for (i, &end) in self.ends.iter().enumerate() {
            if is_true(i) != last {
                bits.append_n(start - bits.len(), last);
                last = !last;
            }
            start = end;
        }
        bits.append_n(len - bits.len(), last);
        let bits = bits.finish();
        match &self.nulls {
            None => bits,
            Some(nulls) if is_true(self.ends.len()) => &bits | &!nulls.inner(),
            Some(nulls) => &bits & nulls.inner(),
        }
    }
}

/// Whether a predicate consists only of tests of values, so that equal values have equal truths. Functions of the
/// caller may have side effects, so they see every row.
pub(super) fn tests_values(node: &PredicateNode, bound: &BoundPredicate) -> bool {
    match node {
        PredicateNode::Known(_) | PredicateNode::Leaf(_) => true,
        PredicateNode::Function(f) => {
            let function = bound.functions.get(*f);
            function.is_some_and(|function| function.function.written.is_some())
        }
        PredicateNode::And(parts) | PredicateNode::Or(parts) => {
            parts.iter().all(|part| tests_values(part, bound))
        }
        PredicateNode::Not(part) => tests_values(part, bound),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int32Array;
    use std::sync::Arc;

    #[test]
    fn truths_of_runs_and_of_null_become_those_of_rows() {
        let valid = [true, false, true, true, false, true, true];
        let mut runs = RunValues {
            values: Arc::new(Int32Array::new_null(4)),
            ends: vec![2, 3, 6, 7],
            nulls: None,
        };
        let truths =
            |of_null| BooleanArray::from(vec![Some(true), Some(false), None, Some(true), of_null]);
        let bits = |matches: BooleanBuffer| matches.iter().map(u8::from).collect::<Vec<_>>();
        assert_eq!(bits(runs.matches(&truths(None))), [1, 1, 0, 0, 0, 0, 1]);
        runs.nulls = Some(NullBuffer::from(valid.to_vec()));
        assert_eq!(bits(runs.matches(&truths(None))), [1, 0, 0, 0, 0, 0, 1]);
        assert_eq!(
            bits(runs.matches(&truths(Some(true)))),
            [1, 1, 0, 0, 1, 0, 1]
        );
    }
}
