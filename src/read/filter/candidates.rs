//! Rows of a stripe, and which of them are in question or match.

use crate::buffer::Selection;
use crate::column::{bit_runs, deposit};
use crate::error::{Error, Result, to_usize};
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use std::collections::VecDeque;
use std::ops::Range;

/// Read whole runs if one row in so many matches, and drop the others.
const READ_WHOLE: usize = 16;
/// Test all rows if one in so many is in question and they lie apart, or in long runs.
const TEST_WHOLE: usize = 32;
const RUNS_WHOLE: usize = 4;
/// Leave out the rows between runs of matches that have so many rows on average while blocks are read.
const LONG_RUN: usize = 16;

/// Neighbouring rows of a stripe, and which of them are still in question or match.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    rows: Range<u64>,
    alive: BooleanBuffer,
    matches: usize,
    /// By column of the scan: its values at all of the rows, if they have been read; may be empty.
    values: Vec<Option<ArrayRef>>,
}

impl Candidates {
    /// The wanted rows of a range.
    pub(super) fn new(rows: Range<u64>, wanted: Option<&Selection>) -> Result<Self> {
        let len = to_usize(rows.end - rows.start)?;
        let alive = match wanted {
            None => BooleanBuffer::new_set(len),
            Some(wanted) => {
                let mut bits = BooleanBufferBuilder::new(len);
                for range in wanted.within(&rows).ranges() {
                    bits.append_n(to_usize(range.start - rows.start)? - bits.len(), false);
                    bits.append_n(to_usize(range.end - range.start)?, true);
                }
                bits.append_n(len - bits.len(), false);
                bits.finish()
            }
        };
        let matches = alive.count_set_bits();
        Ok(Self {
            rows,
            alive,
            matches,
            values: Vec::new(),
        })
    }

    pub(super) fn rows(&self) -> &Range<u64> {
        &self.rows
    }

    /// Which of the rows are in question or match.
    pub(super) fn alive(&self) -> &BooleanBuffer {
        &self.alive
    }

    /// The values of a column of the scan at all of the rows, if they have been read.
    pub(super) fn values(&self, column: usize) -> Option<&ArrayRef> {
        self.values.get(column)?.as_ref()
    }

    /// Those of all columns; may be empty.
    pub(super) fn all_values(&self) -> &[Option<ArrayRef>] {
        &self.values
    }

    pub(super) fn len(&self) -> usize {
        self.alive.len()
    }

    /// Number of rows that are in question or match.
    pub(super) fn matches(&self) -> usize {
        self.matches
    }

    /// Whether it is worth while to read all of the rows and drop some.
    pub(super) fn is_dense(&self) -> bool {
        self.matches > 0 && self.matches.saturating_mul(READ_WHOLE) >= self.len()
    }

    /// The rows that are in question, or all if they are at least one in `dense`.
    pub(super) fn selection(&self, dense: usize) -> Selection {
        if self.matches.saturating_mul(dense) >= self.len() {
            return Selection::range(self.rows.clone());
        }
        let mut rows = Selection::default();
        push_matches(&self.rows, &self.alive, &mut rows);
        rows
    }

    /// Rules out rows; there is a bit for each row.
    pub(super) fn keep_if(&mut self, matches: &BooleanBuffer) -> Result<()> {
        if matches.len() != self.len() {
            return Err(Error::corrupt(format!(
                "{} truth values of {} rows",
                matches.len(),
                self.len()
            )));
        }
        self.alive = if self.matches == self.len() {
            matches.clone()
        } else {
            &self.alive & matches
        };
        self.matches = self.alive.count_set_bits();
        Ok(())
    }

    /// Whether rows that match have many of their kind beside them, so that they are read where they lie.
    pub(super) fn has_long_runs(&self) -> bool {
        bit_runs(&self.alive).saturating_mul(LONG_RUN) <= self.matches
    }

    /// The rows to read in order to test those in question: all where blocks are decoded whole anyway, and
    /// what is kept of them would cost more than to test the others.
    pub(super) fn tested(&self) -> Selection {
        self.selection(if self.has_long_runs() {
            RUNS_WHOLE
        } else {
            TEST_WHOLE
        })
    }

    /// What drops the rows that do not match of so many columns.
    pub(super) fn filter(&self, columns: usize) -> FilterPredicate {
        let matches = BooleanArray::new(self.alive.clone(), None);
        let filter = FilterBuilder::new(&matches);
        match columns {
            0 | 1 => filter.build(),
            _ => filter.optimize().build(),
        }
    }

    /// The values of columns at all of the rows, without those of rows that are ruled out.
    pub(super) fn filtered(&self, columns: &[Option<ArrayRef>]) -> Result<Vec<Option<ArrayRef>>> {
        let filter = self.filter(columns.len());
        let of = |column: &Option<ArrayRef>| {
            let values = column.as_ref().map(|values| filter.filter(values));
            Ok(values.transpose()?)
        };
        columns.iter().map(of).collect()
    }

    /// Rules out rows; there is a bit for each row that is in question.
    pub(super) fn keep_selected(&mut self, matches: &BooleanBuffer) -> Result<()> {
        if matches.len() != self.matches {
            return Err(Error::corrupt(format!(
                "{} truth values of {} rows",
                matches.len(),
                self.matches
            )));
        }
        self.alive = deposit(&self.alive, matches);
        self.matches = self.alive.count_set_bits();
        Ok(())
    }

    /// Keeps the values of a column of the scan at all of the rows.
    pub(super) fn keep_values(&mut self, column: usize, columns: usize, values: &ArrayRef) {
        if self.values.is_empty() {
            self.values = vec![None; columns];
        }
        self.values[column] = Some(values.clone());
    }

    /// Some of the rows.
    pub(super) fn slice(&self, from: usize, len: usize) -> Self {
        let alive = self.alive.slice(from, len);
        let start = self.rows.start + from as u64;
        let slice = |values: &Option<ArrayRef>| values.as_ref().map(|v| v.slice(from, len));
        Self {
            rows: start..start + len as u64,
            matches: alive.count_set_bits(),
            alive,
            values: self.values.iter().map(slice).collect(),
        }
    }

    /// Takes over which rows of its pieces are alive, and of a single piece its values.
    pub(super) fn join(&mut self, mut pieces: Vec<Self>) {
        if pieces.len() == 1
            && let Some(whole) = pieces.pop()
        {
            *self = whole;
            return;
        }
        let mut bits = BooleanBufferBuilder::new(self.len());
        for piece in &pieces {
            bits.append_buffer(&piece.alive);
        }
        self.alive = bits.finish();
        self.matches = self.alive.count_set_bits();
    }

    /// Cuts it into parts of so many rows at most, those without a match left out.
    pub(super) fn split(self, most: u64, parts: &mut VecDeque<Self>) {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        if self.len() <= most {
            if self.matches > 0 {
                parts.push_back(self);
            }
            return;
        }
        let starts = (0..self.len()).step_by(most);
        let cut = starts.map(|from| self.slice(from, most.min(self.len() - from)));
        parts.extend(cut.filter(|part| part.matches > 0));
    }
}

/// Appends the rows of a range that match.
pub(super) fn push_matches(range: &Range<u64>, alive: &BooleanBuffer, rows: &mut Selection) {
    let row = |i: usize| range.start + i as u64;
    for (from, to) in alive.set_slices() {
        rows.push(row(from)..row(to));
    }
}
