//! The tests that remain for the rows of a stripe.

use super::metrics::PruningLevel;
use super::predicate::PredicateNode;
use crate::buffer::Selection;
use crate::read::scan::source::StripeFields;
use crate::read::shard::column::Column;
use crate::read::shard::fetch::StepBytes;
use arrow_array::BooleanArray;
use std::collections::HashSet;
use std::sync::Arc;

/// The tests that remain for the rows of a stripe.
#[derive(Debug)]
pub(super) struct StripePlan {
    pub(super) matching: Matching<Conjunct>,
    /// The rows that may match, by number in the stripe; `None` if all may.
    pub(super) rows: Option<Selection>,
    /// The fields of the columns that statistics left to test; dictionaries may have decided some of them since.
    pub(super) fields: StripeFields,
    /// By ordinal of the column: the columns that are still tested, in the types that the tests read.
    pub(super) columns: Vec<Option<Column>>,
    pub(super) entries: EntryTests,
}

/// By ordinal of the leaf: the result of its test for every dictionary entry of its column.
pub(super) type EntryTests = Vec<Option<Arc<BooleanArray>>>;

impl StripePlan {
    /// Creates the plan of a stripe without tests: metadata decide that all or none of its rows match.
    pub(super) fn decided(
        stripe: u64,
        matching: Matching<PredicateNode>,
        step: &StepBytes<'_>,
    ) -> Self {
        Self {
            matching: matching.map(|_| Vec::new()),
            rows: None,
            fields: StripeFields::new(stripe, Vec::new(), step),
            columns: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Whether no row remains to be tested or read.
    pub(super) fn matches_none(&self) -> bool {
        let no_rows = self.rows.as_ref().is_some_and(Selection::is_empty);
        no_rows || matches!(self.matching, Matching::None(_))
    }

    /// Returns the ordinals of the columns with nodes that are still tested.
    pub(super) fn tested(&self, columns: &[Column]) -> Vec<usize> {
        let mut tested = HashSet::new();
        for column in self.columns.iter().flatten() {
            column.node.walk(&mut |node| {
                tested.insert(node.schema_id);
            });
        }
        let is_tested = |column: &Column| {
            let mut is_tested = false;
            column
                .node
                .walk(&mut |node| is_tested |= tested.contains(&node.schema_id));
            is_tested
        };
        let ordinals = 0..columns.len();
        ordinals.filter(|&i| is_tested(&columns[i])).collect()
    }
}

/// The matching rows of a stripe, as far as metadata determine them.
#[derive(Debug)]
pub(super) enum Matching<T> {
    /// No row matches, because of metadata of this level.
    None(PruningLevel),
    /// All rows match.
    All,
    /// The rows match for which all of these conjuncts are true.
    Some(Vec<T>),
}

impl<T> Matching<T> {
    /// Returns the rows for which all of these conjuncts are true.
    pub(super) fn of(conjuncts: Vec<T>) -> Self {
        if conjuncts.is_empty() {
            Self::All
        } else {
            Self::Some(conjuncts)
        }
    }

    /// Converts the conjuncts.
    pub(super) fn map<U>(self, convert: impl FnOnce(Vec<T>) -> Vec<U>) -> Matching<U> {
        match self {
            Self::None(level) => Matching::None(level),
            Self::All => Matching::All,
            Self::Some(conjuncts) => Matching::Some(convert(conjuncts)),
        }
    }
}

/// A part of a conjunction.
#[derive(Debug)]
pub(super) struct Conjunct {
    pub(super) node: PredicateNode,
    /// Ordinals of the columns that it uses.
    pub(super) columns: Vec<usize>,
    /// Cost of a test per row: the stored bytes of these columns, plus a constant.
    pub(super) cost: f64,
    /// Whether it calls functions, which see only the rows in question.
    pub(super) calls: bool,
}
