//! Predicates over rows that are not stored in a shard, for readers of other formats.

use super::filter::predicate::{BoundPredicate, Predicate, PredicateRows, Truth};
use super::filter::prune::{Facts, ValueBound, truth};
use super::open_shard::Shard;
use super::shard::metadata::ready;
use super::shard::projection::Projection;
use super::shard::waiting::ready_now;
use crate::error::{Error, ErrorKind, Result};
use arrow_arith::boolean::and_kleene;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;

/// A predicate for rows of one schema without structs, dictionaries, floats and nulls.
#[derive(Debug)]
pub(crate) struct RowFilter {
    bound: BoundPredicate,
    /// Ordinals in the schema of the predicate's columns.
    ordinals: Vec<usize>,
}

/// The range of a column's values over some rows without nulls.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnRange {
    /// A lower bound of the values, as an array of length 1.
    pub(crate) low: Option<ArrayRef>,
    /// An upper bound of the values, as an array of length 1.
    pub(crate) high: Option<ArrayRef>,
}

impl RowFilter {
    /// Prepares a predicate for rows with the schema of a shard; the shard may be empty.
    ///
    /// # Errors
    /// [`UnknownColumn`](ErrorKind::UnknownColumn), [`AmbiguousColumn`](ErrorKind::AmbiguousColumn) or
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch).
    pub(crate) fn try_new(shard: &Shard, predicate: &Predicate) -> Result<Self> {
        let metadata = &shard.metadata;
        let (bound, columns) = ready_now(metadata.run(|step| {
            let bound = ready!(BoundPredicate::load(metadata, step, predicate));
            let columns = ready!(metadata.columns(step, &Projection::All));
            Ok(Some((bound, columns)))
        }))?;
        let ordinals = bound.columns.iter().map(|wanted| {
            let id = wanted.column.node.schema_id;
            let found = columns
                .iter()
                .position(|column| column.node.schema_id == id);
            found.ok_or_else(|| {
                let message = format!("`{}` is not a column", wanted.path());
                Error::new(ErrorKind::UnknownColumn, message)
            })
        });
        let ordinals = ordinals.collect::<Result<_>>()?;
        Ok(Self { bound, ordinals })
    }

    /// Returns the ordinals in the schema of the columns that [`evaluate`](Self::evaluate) needs, in its order. An
    /// ordinal may occur twice.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.ordinals
    }

    /// Whether a row may match; `range` returns the range of a column by its ordinal in the schema.
    pub(crate) fn may_match(&self, range: impl Fn(usize) -> ColumnRange) -> Result<bool> {
        let truths = self.bound.leaves.iter().map(|leaf| {
            let ColumnRange { low, high } = range(self.ordinals[leaf.column]);
            let end = |value: Option<ArrayRef>| {
                value.map(|value| ValueBound {
                    value,
                    inclusive: true,
                })
            };
            let facts = Facts {
                may_be_null: false,
                low: end(low),
                high: end(high),
                may_be_nan: false,
                ..Facts::NONE
            };
            facts.truth(&leaf.test, None)
        });
        let truths = truths.collect::<Result<Vec<Truth>>>()?;
        let may_match = |node| truth(node, &|leaf| truths[leaf]).may_be_true;
        Ok(self.bound.conjuncts.iter().all(may_match))
    }

    /// Tests `len` rows, given the columns of [`columns`](Self::columns). Returns true for rows that match.
    pub(crate) fn evaluate(&self, len: usize, columns: Vec<ArrayRef>) -> Result<BooleanArray> {
        let columns: Vec<_> = columns.into_iter().map(Some).collect();
        let entries = vec![None; self.bound.leaves.len()];
        let rows = PredicateRows {
            len,
            columns: &columns,
            entries: &entries,
        };
        let mut matches = BooleanArray::new(BooleanBuffer::new_set(len), None);
        for conjunct in &self.bound.conjuncts {
            matches = and_kleene(&matches, &self.bound.evaluate(conjunct, &rows)?)?;
        }
        Ok(matches)
    }
}
