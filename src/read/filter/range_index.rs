//! Spec: docs/format.md, "Range indexes": which positions of a stripe may match.

use super::predicate::{BoundPredicate, Comparison, FilterColumn, PredicateNode, Test, Truth};
use super::prune::{Facts, is_nan, truths};
use super::statistics::outer_zeros;
use crate::buffer::{RangeIndex, Selection};
use crate::column::{Chunk, Values};
use crate::error::Result;
use crate::format::INDEX_BLOCK;
use crate::read::scan::constant::leaf_array;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use std::sync::Arc;

/// Sets of at least this many members are compared by their range only.
const MANY_MEMBERS: usize = 16;

/// The truth values that a predicate may have in each block of a stripe.
type Truths = Truth<BooleanBuffer>;

/// The blocks of the range indexes of a stripe; all indexes have the same blocks.
#[derive(Debug)]
pub(super) struct IndexedStripe {
    rows: u64,
    blocks: usize,
    /// By ordinal of the leaf.
    leaves: Vec<Truths>,
}

impl IndexedStripe {
    /// Evaluates the leaves on the range indexes, which are by ordinal of the column. `truths` are the truth values of
    /// the leaves over the whole stripe. `None` if no leaf can be narrowed.
    pub(super) fn try_new(
        bound: &BoundPredicate,
        rows: u64,
        facts: &[Facts],
        truths: &[Truth],
        indexes: &[Option<Arc<RangeIndex>>],
    ) -> Result<Option<Self>> {
        let fits = |index: &Arc<RangeIndex>| index.positions() == rows;
        let Some(first) = indexes.iter().flatten().find(|index| fits(index)) else {
            return Ok(None);
        };
        let blocks = first.len();
        let mut bounds: Vec<Option<Bounds>> = Vec::with_capacity(indexes.len());
        for (i, index) in indexes.iter().enumerate() {
            let index = index.as_ref();
            let index = index.filter(|i| fits(i));
            bounds.push(index.and_then(|index| Bounds::new(index, &bound.columns[i], &facts[i])));
        }
        let mut leaves = Vec::with_capacity(bound.leaves.len());
        let mut is_narrowed = false;
        for (leaf, truth) in bound.leaves.iter().zip(truths) {
            let narrowed = match &bounds[leaf.column] {
                Some(bounds) => bounds.truths(&leaf.test)?,
                None => None,
            };
            is_narrowed |= narrowed.is_some();
            leaves.push(narrowed.unwrap_or_else(|| in_all(*truth, blocks)));
        }
        Ok(is_narrowed.then_some(Self {
            rows,
            blocks,
            leaves,
        }))
    }

    /// Returns the rows for which all of the predicates may be true.
    pub(super) fn rows(&self, conjuncts: &[PredicateNode]) -> Result<Selection> {
        let mut may = BooleanBuffer::new_set(self.blocks);
        let leaf = |leaf: usize| self.leaves[leaf].clone();
        for node in conjuncts {
            let truths = truths(node, &leaf, &|truth| in_all(truth, self.blocks));
            may = &may & &truths.may_be_true;
        }
        let slices = may.set_slices();
        let rows = |block: usize| (block as u64).saturating_mul(INDEX_BLOCK).min(self.rows);
        Ok(slices.map(|(from, to)| rows(from)..rows(to)).collect())
    }
}

/// Returns the same truth values for all blocks.
fn in_all(truth: Truth, blocks: usize) -> Truths {
    let bits = |set| {
        if set {
            BooleanBuffer::new_set(blocks)
        } else {
            BooleanBuffer::new_unset(blocks)
        }
    };
    Truths {
        may_be_true: bits(truth.may_be_true),
        may_be_false: bits(truth.may_be_false),
        may_be_unknown: bits(truth.may_be_unknown),
    }
}

/// The facts about each block in the range index of a column.
pub(in crate::read) struct Bounds {
    pub(in crate::read) low: ArrayRef,
    pub(in crate::read) high: ArrayRef,
    /// Blocks that may have nulls.
    pub(in crate::read) nulls: BooleanBuffer,
    /// Blocks that may have values, NaN included.
    pub(in crate::read) present: BooleanBuffer,
    /// Blocks that may have NaN.
    pub(in crate::read) nan: BooleanBuffer,
}

impl Bounds {
    /// Collects the facts in the index of a column. Returns `None` if Arrow cannot represent the bounds; callers then
    /// ignore the index.
    pub(in crate::read) fn new(
        index: &RangeIndex,
        column: &FilterColumn,
        facts: &Facts,
    ) -> Option<Self> {
        let blocks = index.len();
        let rows = |i: usize| {
            let start = (i as u64).saturating_mul(INDEX_BLOCK);
            INDEX_BLOCK.min(index.positions() - start)
        };
        let is_empty = |i: usize| index.invalid(i) >= rows(i);
        let filled = NullBuffer::new(BooleanBuffer::collect_bool(blocks, |i| !is_empty(i)));
        let array = |bytes: &[u8]| {
            let chunk = Chunk {
                len: blocks,
                nulls: Some(filled.clone()),
                values: Values::Fixed {
                    width: bytes.len().checked_div(blocks)?,
                    data: Buffer::from(bytes),
                },
            };
            leaf_array(chunk, column.leaf(), &column.value_type).ok()
        };
        let is_float = column.value_type.is_floating();
        // For floats, invalid values may be null or NaN. Below structs, others may be null.
        let may_be_null = |i: usize| is_float || column.depth > 0 || index.invalid(i) > 0;
        let may_be_nan = |i: usize| is_float && facts.may_be_nan && index.invalid(i) > 0;
        let nan = BooleanBuffer::collect_bool(blocks, may_be_nan);
        Some(Self {
            low: outer_zeros(array(index.minimums())?, -0.0),
            high: outer_zeros(array(index.maximums())?, 0.0),
            nulls: BooleanBuffer::collect_bool(blocks, |i| facts.may_be_null && may_be_null(i)),
            present: filled.inner() | &nan,
            nan,
        })
    }

    /// Returns the truth values of a test in each block; `None` if ranges do not help the test.
    fn truths(&self, test: &Test) -> Result<Option<Truths>> {
        let (t, f) = match test {
            Test::IsNull => {
                return Ok(Some(Truths {
                    may_be_true: self.nulls.clone(),
                    may_be_false: self.present.clone(),
                    may_be_unknown: BooleanBuffer::new_unset(self.nulls.len()),
                }));
            }
            Test::Compare(comparison, value) => {
                // A NaN is beyond all numbers, on either side.
                let less = &self.orders(Comparison::Lt, &self.low, value)? | &self.nan;
                let greater = &self.orders(Comparison::Gt, &self.high, value)? | &self.nan;
                let equal = self.may_equal(value, value)?;
                let differs = &less | &greater;
                match comparison {
                    Comparison::Eq => (equal, differs),
                    Comparison::NotEq => (differs, equal),
                    Comparison::Lt => (less, &equal | &greater),
                    Comparison::LtEq => (&less | &equal, greater),
                    Comparison::Gt => (greater, &less | &equal),
                    Comparison::GtEq => (&greater | &equal, less),
                }
            }
            Test::In {
                values, has_null, ..
            } if !has_null => {
                let mut found = BooleanBuffer::new_unset(self.nulls.len());
                let last = values.len() - 1;
                if values.len() < MANY_MEMBERS {
                    for i in 0..values.len() {
                        let value = values.slice(i, 1);
                        found = &found | &self.may_equal(&value, &value)?;
                    }
                } else {
                    found = self.may_equal(&values.slice(0, 1), &values.slice(last, 1))?;
                }
                (found, self.present.clone())
            }
            _ => return Ok(None),
        };
        Ok(Some(Truths {
            may_be_true: &t & &self.present,
            may_be_false: &f & &self.present,
            may_be_unknown: self.nulls.clone(),
        }))
    }

    /// Returns the blocks with a bound in this order to a value.
    fn orders(
        &self,
        order: Comparison,
        bounds: &ArrayRef,
        value: &ArrayRef,
    ) -> Result<BooleanBuffer> {
        let (found, known) = Test::Compare(order, value.clone()).of(bounds)?.into_parts();
        Ok(match known {
            Some(known) => &found & known.inner(),
            None => found,
        })
    }

    /// Returns the blocks that may have a value from `first` to `last`.
    fn may_equal(&self, first: &ArrayRef, last: &ArrayRef) -> Result<BooleanBuffer> {
        let above = self.orders(Comparison::GtEq, &self.high, first)?;
        let below = self.orders(Comparison::LtEq, &self.low, last)?;
        let within = &above & &below;
        Ok(if is_nan(first, 0) || is_nan(last, 0) {
            &within | &self.nan
        } else {
            within
        })
    }
}

/// Whether a range index may narrow a test.
fn is_narrowed(test: &Test) -> bool {
    matches!(
        test,
        Test::IsNull
            | Test::Compare(..)
            | Test::In {
                has_null: false,
                ..
            }
    )
}

/// Returns the ordinals of the columns with range indexes that may narrow the leaves of the nodes.
pub(super) fn indexed_columns(bound: &BoundPredicate, nodes: &[PredicateNode]) -> Vec<usize> {
    let mut columns = Vec::new();
    let mut open: Vec<&PredicateNode> = nodes.iter().collect();
    while let Some(node) = open.pop() {
        match node {
            PredicateNode::Leaf(leaf) => {
                let leaf = &bound.leaves[*leaf];
                if is_narrowed(&leaf.test) && bound.columns[leaf.column].value_type.is_primitive() {
                    columns.push(leaf.column);
                }
            }
            PredicateNode::And(parts) | PredicateNode::Or(parts) => open.extend(parts),
            PredicateNode::Not(part) => open.push(part),
            PredicateNode::Known(_) | PredicateNode::Function(_) => {}
        }
    }
    columns.sort_unstable();
    columns.dedup();
    columns
}
