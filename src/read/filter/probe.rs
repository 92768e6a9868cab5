//! Tests rows: reads the columns of a predicate in the rows that are still in question.

use super::candidates::Candidates;
use super::conjunct_test::ConjunctTest;
use super::entry_test::EntryTest;
use super::plan::Filter;
use super::stripe_plan::{Conjunct, Matching, StripePlan};
use crate::buffer::{Physical, Storage};
use crate::error::{Result, Within};
use crate::read::scan::rows::ScanFormat;
use crate::read::scan::source::ReadState;
use crate::read::shard::column::Column;
use crate::read::shard::fetch::Fetched;
use crate::read::shard::metadata::WINDOW_ROWS;
use arrow_schema::DataType;
use std::sync::Arc;

/// Tests the rows of a stripe.
#[derive(Debug)]
pub(super) struct Probe {
    format: Arc<ScanFormat>,
    filter: Arc<Filter>,
    plan: Arc<StripePlan>,
    state: ReadState,
    fetched: Fetched,
    /// By conjunct: rows tested, and rows that matched.
    passed: Vec<(u64, u64)>,
    /// By conjunct: the dictionary and the page that were tested last.
    entry_tests: Vec<EntryTest>,
    /// Ordinals of the predicate's columns that are also columns of the scan, with their ordinals there.
    same: Vec<(usize, usize)>,
    may_grow: bool,
}

impl Probe {
    pub(super) fn new(format: Arc<ScanFormat>, filter: Arc<Filter>, plan: Arc<StripePlan>) -> Self {
        let conjuncts = match &plan.matching {
            Matching::Some(conjuncts) => conjuncts.len(),
            _ => 0,
        };
        let mut same = Vec::new();
        for (i, read) in plan.columns.iter().enumerate() {
            let Some(read) = read.as_ref().filter(|_| filter.bound.columns[i].depth == 0) else {
                continue;
            };
            let data_type = read.field.data_type();
            let is_plain = data_type.is_primitive()
                || data_type.is_string()
                || matches!(
                    data_type,
                    DataType::Boolean | DataType::Binary | DataType::LargeBinary
                );
            for (j, column) in format.columns.iter().enumerate() {
                // The filter's values may be rounded, which the scan may have to refuse.
                let are_equal = column.casts.is_strict() == read.casts.is_strict()
                    && column.field.data_type() == data_type;
                if is_plain && are_equal && column.node.schema_id == read.node.schema_id {
                    same.push((i, j));
                }
            }
        }
        // Large pieces of values without a size limit would take too much memory.
        let is_narrow = |column: &Column| {
            let mut narrow = true;
            column.node.walk(&mut |node| {
                narrow &= plan.fields.layout(node.schema_id).is_some_and(|layout| {
                    match (&layout.storage, layout.physical) {
                        (Storage::Buffers(b), _) if b.dictionary.is_some() => true,
                        (_, Physical::Number(_) | Physical::Bits | Physical::Presence) => {
                            column.field.data_type().is_primitive()
                                || *column.field.data_type() == DataType::Boolean
                        }
                        _ => false,
                    }
                });
            });
            narrow
        };
        let limits = format.metadata.artifacts.limits();
        let may_grow = limits.max_batch_bytes() >= WINDOW_ROWS * 32
            && plan.columns.iter().flatten().all(is_narrow);
        Self {
            state: ReadState::default(),
            fetched: format.fetched(),
            passed: vec![(0, 0); conjuncts],
            entry_tests: (0..conjuncts).map(|_| EntryTest::default()).collect(),
            same,
            may_grow,
            format,
            filter,
            plan,
        }
    }

    /// Whether the values of a whole window may be read at once.
    pub(super) fn may_grow(&self) -> bool {
        self.may_grow
    }

    /// Also keeps the bytes in `fetched`, so that they are not fetched again.
    pub(super) fn adopt(&mut self, fetched: &Fetched) -> Result<()> {
        self.fetched.adopt(fetched)
    }

    /// Returns the bytes of the rows that were tested last.
    pub(super) fn fetched(&self) -> &Fetched {
        &self.fetched
    }

    /// Returns the columns that are tested.
    pub(super) fn columns(&self) -> Vec<Column> {
        self.plan.columns.iter().flatten().cloned().collect()
    }

    /// Returns the columns that the first test reads.
    pub(super) fn first_columns(&self) -> Vec<Column> {
        let Matching::Some(conjuncts) = &self.plan.matching else {
            return Vec::new();
        };
        let first = self.order(conjuncts).into_iter().take(1);
        let columns = first.flat_map(|i| &conjuncts[i].columns);
        columns
            .filter_map(|&column| self.plan.columns[column].clone())
            .collect()
    }

    /// Returns the store of the bytes of the rows that are tested.
    pub(super) fn fetched_mut(&mut self) -> &mut Fetched {
        &mut self.fetched
    }

    /// Rules out the rows of the chunks that do not match. Drops bytes of rows tested before that these rows do not
    /// need, unless other rows wait for them.
    pub(super) async fn test(
        &mut self,
        chunks: &mut [Candidates],
        are_awaited: bool,
    ) -> Result<()> {
        let Matching::Some(conjuncts) = &self.plan.matching else {
            return Ok(());
        };
        if !are_awaited {
            self.fetched.retire();
        }
        for i in self.order(conjuncts) {
            if chunks.iter().all(|chunk| chunk.matches() == 0) {
                break;
            }
            let mut test = ConjunctTest {
                format: &self.format,
                filter: &self.filter,
                plan: &self.plan,
                conjunct: &conjuncts[i],
                same: &self.same,
                state: &mut self.state,
                fetched: &mut self.fetched,
                entry_test: &mut self.entry_tests[i],
            };
            let mut due: Vec<&mut Candidates> = chunks
                .iter_mut()
                .filter(|chunk| test.is_due(chunk))
                .collect();
            if due.is_empty() {
                continue;
            }
            test.fetch(&due).await?;
            for chunk in &mut due {
                self.passed[i].0 += chunk.matches() as u64;
                test.narrow(chunk)
                    .within(|| self.format.metadata.artifacts.place())?;
                self.passed[i].1 += chunk.matches() as u64;
            }
        }
        if !are_awaited {
            self.fetched.drop_unused();
        }
        Ok(())
    }

    /// Returns the order of the conjuncts: first those that rule out the most rows for the least cost. Conjuncts that
    /// call functions come last, in their given order.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn order(&self, conjuncts: &[Conjunct]) -> Vec<usize> {
        let rank = |i: usize| {
            if conjuncts[i].calls {
                return f64::INFINITY;
            }
            let (tested, passed) = self.passed[i];
            // Assume that one in four passes, until more is known.
            let share = (passed + 64) as f64 / (tested + 256) as f64;
            conjuncts[i].cost / (1.001 - share)
        };
        let mut order: Vec<usize> = (0..conjuncts.len()).collect();
        order.sort_by(|&a, &b| rank(a).total_cmp(&rank(b)));
        order
    }
}
