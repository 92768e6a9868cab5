//! Tests rows: reads the columns of a predicate in the rows that are still in question.

use super::candidates::Candidates;
use super::metrics::count;
use super::plan::{Conjunct, Filter, Outcome, StripePlan};
use super::predicate::{Rows, member};
use super::runs::{RunValues, tests_values};
use crate::arrow::defeats_filter;
use crate::buffer::{Physical, Selection, Storage};
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::read::scan::fit::Fit;
use crate::read::scan::plan::{StripeReader, is_blockwise};
use crate::read::scan::rows::RowFormat;
use crate::read::scan::source::ReadState;
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{Bench, Fetched, Span, drive};
use crate::read::shard::metadata::WINDOW;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

/// Tests the rows of a stripe.
#[derive(Debug)]
pub(super) struct Probe {
    state: ReadState,
    fetched: Fetched,
    /// By conjunct: rows tested, and rows that matched.
    passed: Vec<(u64, u64)>,
    /// Ordinals of the predicate's columns that are also columns of the scan, with their ordinals there.
    same: Vec<(usize, usize)>,
    may_grow: bool,
}

impl Probe {
    pub(super) fn new(filter: &Filter, plan: &StripePlan, format: &RowFormat) -> Self {
        let conjuncts = match &plan.outcome {
            Outcome::Some(conjuncts) => conjuncts.len(),
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
        Self {
            state: ReadState::default(),
            fetched: format.fetched(Span::Any),
            passed: vec![(0, 0); conjuncts],
            same,
            may_grow: limits.max_batch_bytes() >= WINDOW * 32
                && plan.columns.iter().flatten().all(is_narrow),
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

    /// Rules out the rows of the chunks that do not match. Drops bytes of rows tested before that these rows do not
    /// need, unless other rows wait for them.
    pub(super) async fn test(
        &mut self,
        format: &RowFormat,
        filter: &Filter,
        plan: &StripePlan,
        chunks: &mut [Candidates],
        are_awaited: bool,
    ) -> Result<()> {
        let Outcome::Some(conjuncts) = &plan.outcome else {
            return Ok(());
        };
        if !are_awaited {
            self.fetched.retire();
        }
        for i in self.order(conjuncts) {
            if chunks.iter().all(|chunk| chunk.matches() == 0) {
                break;
            }
            let conjunct = &conjuncts[i];
            self.fetch(format, plan, conjunct, chunks).await?;
            for chunk in &mut *chunks {
                let before = chunk.matches() as u64;
                if before > 0 {
                    self.narrow(format, filter, plan, conjunct, chunk)
                        .within(|| format.metadata.artifacts.place())?;
                    self.passed[i].0 += before;
                    self.passed[i].1 += chunk.matches() as u64;
                }
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

    async fn fetch(
        &mut self,
        format: &RowFormat,
        plan: &StripePlan,
        conjunct: &Conjunct,
        chunks: &[Candidates],
    ) -> Result<()> {
        if plan.fields.are_resident() {
            return Ok(());
        }
        let mut rows = Selection::default();
        for chunk in chunks.iter().filter(|chunk| chunk.matches() > 0) {
            for range in asked(conjunct, plan, chunk).ranges() {
                rows.push(range.clone());
            }
        }
        let inner = &format.metadata;
        let state = &mut self.state;
        drive(&inner.artifacts, &mut self.fetched, |bench| {
            let mut reader = StripeReader {
                metadata: inner,
                bench,
                fields: &plan.fields,
                state,
                sequential: true,
            };
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

    /// Rules out the rows of a chunk for which a conjunct is not true.
    fn narrow(
        &mut self,
        format: &RowFormat,
        filter: &Filter,
        plan: &StripePlan,
        conjunct: &Conjunct,
        chunk: &mut Candidates,
    ) -> Result<()> {
        let rows = asked(conjunct, plan, chunk);
        let is_whole = rows.as_range().as_ref() == Some(chunk.rows());
        if is_whole
            && let Some((matches, mean_bytes)) =
                self.test_runs(format, filter, plan, conjunct, &rows)?
        {
            chunk.keep_if(&matches)?;
            let is_kept = |(from, _): &(usize, usize)| conjunct.columns.contains(from);
            // Read the values now, so that they are not fetched again for the columns of the scan. Long values in many
            // rows are read later, a batch at a time.
            let bytes = mean_bytes.saturating_mul(chunk.len());
            if chunk.matches() > 0
                && bytes <= MAX_KEPT_BYTES
                && !plan.fields.are_resident()
                && self.same.iter().any(is_kept)
            {
                let columns = self.read(format, filter, plan, conjunct, &rows)?;
                self.keep_values(format, conjunct, &columns, chunk);
            }
            return Ok(());
        }
        // Only these rows have been fetched.
        let dense = if is_whole { usize::MAX } else { 0 };
        let (mut fit, mut pieces) = (Fit::default(), Vec::new());
        let mut from = 0;
        while from < chunk.len() {
            let (len, (mut piece, read)) = fit.read(chunk.len() - from, |len| {
                let piece = chunk.slice(from, len);
                if piece.matches() == 0 {
                    return Ok((piece, None));
                }
                let mut rows = piece.selection(dense);
                let columns = match self.read(format, filter, plan, conjunct, &rows) {
                    // The error may be about a value of another row, which the caller did not request in this type.
                    Err(e) if e.kind() == ErrorKind::ValueOutOfRange && is_whole => {
                        rows = piece.selection(0);
                        self.read(format, filter, plan, conjunct, &rows)?
                    }
                    columns => columns?,
                };
                Ok((piece, Some((rows, columns))))
            })?;
            if let Some((rows, columns)) = read {
                let is_whole = rows.len() == piece.len() as u64;
                // Functions must see only the rows in question.
                let filtered = if is_whole && conjunct.calls && piece.matches() < piece.len() {
                    Some(piece.filtered(&columns)?)
                } else {
                    None
                };
                let values = match filtered {
                    Some(_) => piece.matches(),
                    None => to_usize(rows.len())?,
                };
                let asked = filtered.as_ref().unwrap_or(&columns);
                let truths = evaluate(filter, plan, conjunct, &rows, values, asked)?;
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
                    self.keep_values(format, conjunct, &columns, &mut piece);
                }
            }
            pieces.push(piece);
            from += len;
        }
        chunk.join(pieces);
        Ok(())
    }

    /// Returns the rows for which a conjunct is true, and the mean size of the tested values in bytes; `None` if values
    /// have to be tested one by one.
    fn test_runs(
        &mut self,
        format: &RowFormat,
        filter: &Filter,
        plan: &StripePlan,
        conjunct: &Conjunct,
        rows: &Selection,
    ) -> Result<Option<(BooleanBuffer, usize)>> {
        let (&[ordinal], Some(range)) = (conjunct.columns.as_slice(), rows.as_range()) else {
            return Ok(None);
        };
        let column = plan.columns[ordinal].as_ref();
        let Some(column) = column.filter(|_| {
            filter.bound.columns[ordinal].depth == 0 && tests_values(&conjunct.node, &filter.bound)
        }) else {
            return Ok(None);
        };
        let runs = self.with_reader(format, plan, rows, |reader| {
            RunValues::read(reader, column, &range)
        })?;
        let Some(runs) = runs else {
            return Ok(None);
        };
        let mut columns = vec![None; plan.columns.len()];
        columns[ordinal] = Some(runs.values.clone());
        let truths = evaluate(filter, plan, conjunct, rows, runs.values.len(), &columns)?;
        let mean_bytes = runs.values.get_array_memory_size() / runs.values.len().max(1);
        Ok(Some((runs.matches(&truths), mean_bytes)))
    }

    /// Keeps the values of a conjunct's columns in all rows of a chunk for the scan, except for types that cannot be
    /// filtered.
    fn keep_values(
        &self,
        format: &RowFormat,
        conjunct: &Conjunct,
        columns: &[Option<ArrayRef>],
        chunk: &mut Candidates,
    ) {
        for &(from, to) in &self.same {
            if let (true, Some(array)) = (conjunct.columns.contains(&from), &columns[from])
                && !defeats_filter(array.data_type())
            {
                chunk.keep_values(to, format.columns.len(), array);
            }
        }
    }

    fn with_reader<T>(
        &mut self,
        format: &RowFormat,
        plan: &StripePlan,
        rows: &Selection,
        read: impl FnOnce(&mut StripeReader<'_>) -> Result<T>,
    ) -> Result<T> {
        let inner = &format.metadata;
        let bench = Bench::new(&inner.artifacts, &self.fetched);
        read(&mut StripeReader {
            metadata: inner,
            bench: &bench,
            fields: &plan.fields,
            state: &mut self.state,
            sequential: is_blockwise(rows),
        })
    }

    /// Reads the columns of a conjunct, by ordinal, in some rows.
    fn read(
        &mut self,
        format: &RowFormat,
        filter: &Filter,
        plan: &StripePlan,
        conjunct: &Conjunct,
        rows: &Selection,
    ) -> Result<Vec<Option<ArrayRef>>> {
        self.with_reader(format, plan, rows, |reader| {
            let mut columns = vec![None; plan.columns.len()];
            for &ordinal in &conjunct.columns {
                let column = plan.columns[ordinal].as_ref();
                let column = column.ok_or_else(|| Error::corrupt("a column is not open"))?;
                let tested = &filter.bound.columns[ordinal];
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
}

/// Size of values that a test keeps for the columns of the scan, at most, in bytes.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Evaluates a conjunct for `len` values of its columns, which are the values of `rows`.
fn evaluate(
    filter: &Filter,
    plan: &StripePlan,
    conjunct: &Conjunct,
    rows: &Selection,
    len: usize,
    columns: &[Option<ArrayRef>],
) -> Result<BooleanArray> {
    count(&filter.counters.values_tested, len as u64);
    let entries = &plan.entries;
    let values = Rows {
        len,
        columns,
        entries,
    };
    let first = rows.ranges().first().map_or(0, |range| range.start);
    let truths = filter.bound.evaluate(&conjunct.node, &values);
    truths.within(|| format!("rows of stripe {} from {first} on", plan.fields.stripe))
}

/// Returns the rows of a chunk to read for a conjunct. These are only the rows in question if a function must not see
/// others and they could not be filtered out after reading.
fn asked(conjunct: &Conjunct, plan: &StripePlan, chunk: &Candidates) -> Selection {
    let mut columns = conjunct.columns.iter();
    let defeats = |&column: &usize| {
        let column = plan.columns.get(column).and_then(Option::as_ref);
        column.is_none_or(|column| defeats_filter(column.field.data_type()))
    };
    if conjunct.calls && columns.any(defeats) {
        chunk.selection(0)
    } else {
        chunk.tested()
    }
}
