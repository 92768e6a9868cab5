//! The test of rows for one conjunct of a predicate.

use super::candidates::Candidates;
use super::entry_test::EntryTest;
use super::metrics::count;
use super::plan::Filter;
use super::predicate::{PredicateRows, member};
use super::runs::{RunValues, tests_values};
use super::stripe_plan::{Conjunct, StripePlan};
use crate::arrow::defeats_filter;
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::read::scan::row_limiter::RowLimiter;
use crate::read::scan::rows::ScanFormat;
use crate::read::scan::source::ReadState;
use crate::read::scan::stripe_reader::{StripeReader, is_blockwise};
use crate::read::shard::fetch::{FetchPolicy, Fetched, StepBytes, drive};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;

/// Most bytes of values that a test of runs reads ahead and keeps for the columns of the scan.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Tests rows of a stripe for one conjunct.
pub(super) struct ConjunctTest<'a> {
    pub(super) format: &'a ScanFormat,
    pub(super) filter: &'a Filter,
    pub(super) plan: &'a StripePlan,
    pub(super) conjunct: &'a Conjunct,
    /// Ordinals of the predicate's columns that are also columns of the scan, with their ordinals there.
    pub(super) same: &'a [(usize, usize)],
    pub(super) state: &'a mut ReadState,
    pub(super) fetched: &'a mut Fetched,
    pub(super) entry_test: &'a mut EntryTest,
}

/// The rows of a chunk for which a conjunct is true, found without reading every value.
struct FoundRows {
    matches: BooleanBuffer,
    /// Mean size of the tested values in bytes.
    mean_bytes: usize,
    /// Whether single values are read faster than all of them.
    reads_few: bool,
}

impl<'a> ConjunctTest<'a> {
    /// Whether to test a chunk. Optional functions count the calls, so each chunk is asked about once.
    pub(super) fn is_due(&self, chunk: &Candidates) -> bool {
        let (bound, matches) = (&self.filter.bound, chunk.matches());
        matches > 0 && bound.is_due(&self.conjunct.node, matches)
    }

    /// Fetches the bytes of the rows to read in the chunks.
    pub(super) async fn fetch(&mut self, chunks: &[&mut Candidates]) -> Result<()> {
        let (plan, conjunct) = (self.plan, self.conjunct);
        if plan.fields.are_resident() {
            return Ok(());
        }
        let mut rows = Selection::default();
        for chunk in chunks {
            for range in self.asked(chunk).ranges() {
                rows.push(range.clone());
            }
        }
        let metadata = &self.format.metadata;
        let state = &mut *self.state;
        let policy = FetchPolicy::default();
        drive(&metadata.artifacts, self.fetched, policy, |step| {
            let mut reader = StripeReader::new(metadata, step, &plan.fields, state, true);
            let mut complete = true;
            for &column in &conjunct.columns {
                if let Some(column) = &plan.columns[column] {
                    complete &= reader.fetch(std::slice::from_ref(column), &rows)?;
                }
            }
            Ok(complete.then_some(()))
        })
        .await
    }

    /// Rules out the rows of a chunk for which the conjunct is not true.
    pub(super) fn narrow(&mut self, chunk: &mut Candidates) -> Result<()> {
        let conjunct = self.conjunct;
        let rows = self.asked(chunk);
        let is_whole = rows.as_range().as_ref() == Some(chunk.rows());
        if is_whole && let Some(found) = self.test_shared(&rows)? {
            chunk.keep_if(&found.matches)?;
            let is_kept = |(from, _): &(usize, usize)| conjunct.columns.contains(from);
            // Read the values now, so that they are not fetched again for the columns of the scan. Long values in many
            // rows are read later, a batch at a time.
            let bytes = found.mean_bytes.saturating_mul(chunk.len());
            if chunk.matches() > 0
                && bytes <= MAX_KEPT_BYTES
                && !self.plan.fields.are_resident()
                && (chunk.is_dense() || !found.reads_few)
                && self.same.iter().any(is_kept)
            {
                // If all values together are too large or damaged, the columns of the scan are read in smaller parts.
                if let Ok(columns) = self.read(&rows) {
                    self.keep_values(&columns, chunk);
                }
            }
            return Ok(());
        }
        // If the chunk is not read as a whole, only the rows in question have been fetched.
        let dense = if is_whole { usize::MAX } else { 0 };
        let (mut fit, mut pieces) = (RowLimiter::default(), Vec::new());
        let mut from = 0;
        while from < chunk.len() {
            let (len, (mut piece, read)) = fit.read(chunk.len() - from, |len| {
                let piece = chunk.slice(from, len);
                if piece.matches() == 0 {
                    return Ok((piece, None));
                }
                if let Some(columns) = self.known(&piece) {
                    let rows = Selection::range(piece.rows().clone());
                    return Ok((piece, Some((rows, columns))));
                }
                let mut rows = piece.selection(dense);
                let columns = match self.read(&rows) {
                    // The error may be about a value of another row, which the caller did not request in this type.
                    Err(e) if e.kind() == ErrorKind::ValueOutOfRange && is_whole => {
                        rows = piece.selection(0);
                        self.read(&rows)?
                    }
                    columns => columns?,
                };
                Ok((piece, Some((rows, columns))))
            })?;
            if let Some((rows, columns)) = read {
                let is_whole = rows.len() == piece.len() as u64;
                // Functions must see only the rows in question.
                let drops_first = conjunct.calls || piece.has_few() && are_bytes(&columns);
                let filtered = if is_whole && drops_first && piece.matches() < piece.len() {
                    Some(piece.filtered(&columns)?)
                } else {
                    None
                };
                let values = match filtered {
                    Some(_) => piece.matches(),
                    None => to_usize(rows.len())?,
                };
                let asked = filtered.as_ref().unwrap_or(&columns);
                count(&self.filter.counters.values_tested, values as u64);
                let truths = self.evaluation().evaluate(&rows, values, asked)?;
                let (values, known) = truths.into_parts();
                let matches: BooleanBuffer = match known {
                    Some(known) => &values & known.inner(),
                    None => values,
                };
                if is_whole && filtered.is_none() {
                    piece.keep_if(&matches)?
                } else {
                    piece.keep_selected(&matches)?
                }
                // The values of several pieces would not be kept when the pieces are joined.
                if is_whole && len == chunk.len() && piece.matches() > 0 {
                    self.keep_values(&columns, &mut piece);
                }
            }
            pieces.push(piece);
            from += len;
        }
        chunk.join(pieces);
        Ok(())
    }

    /// Returns the rows for which the conjunct is true, if rows share values that are stored once: in runs or in a
    /// dictionary. Returns `None` if values have to be tested one by one.
    fn test_shared(&mut self, rows: &Selection) -> Result<Option<FoundRows>> {
        let (conjunct, plan, bound) = (self.conjunct, self.plan, &self.filter.bound);
        let (&[ordinal], Some(range)) = (conjunct.columns.as_slice(), rows.as_range()) else {
            return Ok(None);
        };
        let column = plan.columns[ordinal].as_ref();
        let Some(column) = column
            .filter(|_| bound.columns[ordinal].depth == 0 && tests_values(&conjunct.node, bound))
        else {
            return Ok(None);
        };
        let evaluation = self.evaluation();
        let evaluate = |values: ArrayRef| {
            let len = values.len();
            let mut columns = vec![None; plan.columns.len()];
            columns[ordinal] = Some(values);
            evaluation.evaluate(rows, len, &columns)
        };
        let runs = self.with_reader(rows, |reader| RunValues::read(reader, column, &range))?;
        if let Some(runs) = runs {
            let counter = &self.filter.counters.values_tested;
            count(counter, runs.values.len() as u64);
            let truths = evaluate(runs.values.clone())?;
            return Ok(Some(FoundRows {
                matches: runs.matches(&truths),
                mean_bytes: runs.values.get_array_memory_size() / runs.values.len().max(1),
                reads_few: false,
            }));
        }
        let mut test = std::mem::take(self.entry_test);
        let found = self.with_reader(rows, |reader| {
            test.matches(reader, column, &range, evaluate)
        });
        *self.entry_test = test;
        Ok(found?.map(|found| FoundRows {
            matches: found.rows,
            mean_bytes: found.mean_bytes,
            reads_few: self.format.metadata.artifacts.are_near(),
        }))
    }

    /// Keeps the values of the conjunct's columns in all rows of a chunk for the scan, except for types that cannot be
    /// filtered.
    fn keep_values(&self, columns: &[Option<ArrayRef>], chunk: &mut Candidates) {
        for &(from, to) in self.same {
            if let (true, Some(array)) = (self.conjunct.columns.contains(&from), &columns[from])
                && !defeats_filter(array.data_type())
            {
                chunk.keep_values(to, self.format.columns.len(), array);
            }
        }
    }

    fn with_reader<T>(
        &mut self,
        rows: &Selection,
        read: impl FnOnce(&mut StripeReader<'_>) -> Result<T>,
    ) -> Result<T> {
        let metadata = &self.format.metadata;
        let step = StepBytes::new(&metadata.artifacts, self.fetched);
        let (fields, sequential) = (&self.plan.fields, is_blockwise(rows));
        let mut reader = StripeReader::new(metadata, &step, fields, self.state, sequential);
        read(&mut reader)
    }

    /// Reads the columns of the conjunct, by ordinal, in some rows.
    fn read(&mut self, rows: &Selection) -> Result<Vec<Option<ArrayRef>>> {
        let (conjunct, plan, bound) = (self.conjunct, self.plan, &self.filter.bound);
        self.with_reader(rows, |reader| {
            let mut columns = vec![None; plan.columns.len()];
            for &ordinal in &conjunct.columns {
                let column = plan.columns[ordinal].as_ref();
                let column = column.ok_or_else(|| Error::corrupt("a column is not open"))?;
                let tested = &bound.columns[ordinal];
                columns[ordinal] = Some(if tested.is_presence() {
                    reader.presence(tested.nodes(), rows)?
                } else {
                    let read = reader.read(std::slice::from_ref(column), rows)?;
                    member(&read[0], tested.depth)?
                });
            }
            Ok(columns)
        })
    }

    /// Returns the columns of the conjunct, by ordinal, in all rows of a piece, if tests of other conjuncts have read
    /// them all.
    fn known(&self, piece: &Candidates) -> Option<Vec<Option<ArrayRef>>> {
        let mut columns = vec![None; self.plan.columns.len()];
        for &ordinal in &self.conjunct.columns {
            let (_, to) = self.same.iter().find(|(from, _)| *from == ordinal)?;
            columns[ordinal] = Some(piece.values(*to)?.clone());
        }
        Some(columns)
    }

    fn evaluation(&self) -> Evaluation<'a> {
        Evaluation {
            filter: self.filter,
            plan: self.plan,
            conjunct: self.conjunct,
        }
    }

    /// Returns the rows of a chunk to read. These are only the rows in question if a function must not see others and
    /// they could not be filtered out after reading.
    fn asked(&self, chunk: &Candidates) -> Selection {
        let mut columns = self.conjunct.columns.iter();
        let defeats = |&column: &usize| {
            let column = self.plan.columns.get(column).and_then(Option::as_ref);
            column.is_none_or(|column| defeats_filter(column.field.data_type()))
        };
        if self.conjunct.calls && columns.any(defeats) {
            chunk.selection(0)
        } else {
            chunk.tested()
        }
    }
}

/// A conjunct, and the state of a stripe in which it is evaluated.
#[derive(Clone, Copy)]
struct Evaluation<'a> {
    filter: &'a Filter,
    plan: &'a StripePlan,
    conjunct: &'a Conjunct,
}

impl Evaluation<'_> {
    /// Evaluates the conjunct for `len` values of its columns, which are the values of `rows`.
    fn evaluate(
        &self,
        rows: &Selection,
        len: usize,
        columns: &[Option<ArrayRef>],
    ) -> Result<BooleanArray> {
        let entries = &self.plan.entries;
        let values = PredicateRows {
            len,
            columns,
            entries,
        };
        let first = rows.ranges().first().map_or(0, |range| range.start);
        let truths = self.filter.bound.evaluate(&self.conjunct.node, &values);
        truths.within(|| format!("rows of stripe {} from {first} on", self.plan.fields.stripe))
    }
}

/// Whether all of the columns are byte strings, whose comparison takes longer than dropping values.
fn are_bytes(columns: &[Option<ArrayRef>]) -> bool {
    columns.iter().flatten().all(|column| {
        let data_type = column.data_type();
        data_type.is_string() || data_type.is_binary()
    })
}
