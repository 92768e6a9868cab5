//! Conjuncts on columns with equal values in all rows of a stripe: the test of the first row decides for all.

use super::metrics::PruningLevel;
use super::plan::Filter;
use super::predicate::{FilterColumn, PredicateNode, PredicateRows, member};
use super::runs::tests_values;
use super::stripe_plan::{EntryTests, Matching};
use crate::buffer::{Physical, Selection, Storage};
use crate::error::Result;
use crate::read::scan::source::{ReadState, StripeFields};
use crate::read::scan::stripe_reader::StripeReader;
use crate::read::shard::fetch::StepBytes;
use crate::read::shard::metadata::Metadata;

impl Filter {
    /// Tests the conjuncts on columns with equal values, and returns the other conjuncts, or the result if these tests
    /// decide.
    pub(super) fn without_uniform(
        &self,
        metadata: &Metadata,
        step: &StepBytes<'_>,
        fields: &StripeFields,
        entries: &EntryTests,
        conjuncts: Vec<PredicateNode>,
    ) -> Matching<PredicateNode> {
        let mut rest = Vec::with_capacity(conjuncts.len());
        for node in conjuncts {
            let columns = self.columns_of([&node]);
            let mut bound = columns.iter().map(|&c| &self.bound.columns[c]);
            let are_uniform = !columns.is_empty()
                && tests_values(&node, &self.bound)
                && bound.all(|column| is_uniform(column, fields));
            if !are_uniform {
                rest.push(node);
                continue;
            }
            let mut state = ReadState::default();
            let mut reader = StripeReader::new(metadata, step, fields, &mut state, false);
            match self.of_first_row(&node, &columns, &mut reader, entries) {
                Ok(Some(true)) => {}
                Ok(Some(false) | None) => return Matching::None(PruningLevel::Statistics),
                // The error matters only if a row is in question; the test of that row will return it.
                Err(_) => rest.push(node),
            }
        }
        Matching::of(rest)
    }

    /// Returns the truth of a conjunct for the first row of a stripe.
    fn of_first_row(
        &self,
        node: &PredicateNode,
        ordinals: &[usize],
        reader: &mut StripeReader<'_>,
        entries: &EntryTests,
    ) -> Result<Option<bool>> {
        let first = Selection::range(0..1);
        let mut columns = vec![None; self.bound.columns.len()];
        for &ordinal in ordinals {
            let tested = &self.bound.columns[ordinal];
            columns[ordinal] = Some(if tested.is_presence() {
                reader.presence(tested.nodes(), &first)?
            } else {
                let read = reader.read(std::slice::from_ref(&tested.column), &first)?;
                member(&read[0], tested.depth)?
            });
        }
        let rows = PredicateRows {
            len: 1,
            columns: &columns,
            entries,
        };
        let truths = self.bound.evaluate(node, &rows)?;
        Ok(truths.iter().next().flatten())
    }
}

/// Whether a column has the same value in all rows and stores no bytes for them.
fn is_uniform(column: &FilterColumn, fields: &StripeFields) -> bool {
    let mut is_uniform = true;
    let mut look = |node: &crate::format::DataType| {
        is_uniform &= fields.layout(node.schema_id).is_some_and(|layout| {
            match (&layout.storage, layout.physical) {
                (Storage::Null | Storage::Constant(_), _) => true,
                (Storage::Buffers(buffers), Physical::Presence) => {
                    buffers.streams().next().is_none()
                }
                (Storage::Buffers(_) | Storage::External(_), _) => false,
            }
        });
    };
    if column.is_presence() {
        column.nodes().for_each(&mut look);
    } else {
        column.column.node.walk(&mut look);
    }
    is_uniform
}
