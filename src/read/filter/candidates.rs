//! Rows of a stripe that are still in question or match.

use crate::buffer::Selection;
use crate::column::{bit_runs, deposit};
use crate::error::{Error, Result, to_usize};
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use std::collections::VecDeque;
use std::ops::Range;

/// If at least one row in this many matches, read all rows and drop the others.
const READ_WHOLE: usize = 16;
/// If at least one row in this many is in question, and these rows are scattered, test all rows.
const TEST_WHOLE: usize = 32;
/// If at least one row in this many is in question, and these rows form long runs, test all rows.
const RUNS_WHOLE: usize = 4;
/// If at most one row in this many is in question, values that cost much to test are dropped before the test.
const TEST_FEW: usize = 4;
/// If runs of matches are at least this long on average, copy only the runs out of a block.
const LONG_RUN: usize = 16;

/// Adjacent rows of a stripe, each of them ruled out or still in question or a match.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    rows: Range<u64>,
    alive: BooleanBuffer,
    matches: usize,
    /// By column of the scan: its values in all of the rows, if they have been read; may be empty.
    values: Vec<Option<ArrayRef>>,
}

impl Candidates {
    /// Creates the candidates for the wanted rows of a range.
    pub(super) fn new(rows: Range<u64>, wanted: Option<&Selection>) -> Result<Self> {
        let alive = match wanted {
            None => BooleanBuffer::new_set(to_usize(rows.end - rows.start)?),
            Some(wanted) => wanted.to_bits(&rows)?,
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

    /// Returns a bit for each row, set if the row is in question or matches.
    pub(super) fn alive(&self) -> &BooleanBuffer {
        &self.alive
    }

    /// Returns the values of a column of the scan in all of the rows, if they have been read.
    pub(super) fn values(&self, column: usize) -> Option<&ArrayRef> {
        self.values.get(column)?.as_ref()
    }

    /// Returns the values of all columns in all of the rows; may be empty.
    pub(super) fn all_values(&self) -> &[Option<ArrayRef>] {
        &self.values
    }

    pub(super) fn len(&self) -> usize {
        self.alive.len()
    }

    /// Returns the number of rows that are in question or match.
    pub(super) fn matches(&self) -> usize {
        self.matches
    }

    /// Returns the number of first rows that have `matches` rows in question or matching, or of all rows.
    pub(super) fn len_with(&self, matches: u64) -> usize {
        let last = usize::try_from(matches)
            .ok()
            .and_then(|matches| matches.checked_sub(1));
        if self.matches as u64 <= matches {
            return self.len();
        }
        let found = last.and_then(|last| self.alive.set_indices().nth(last));
        found.map_or(0, |row| row + 1)
    }

    /// Whether reading all of the rows and dropping some is worth while.
    pub(super) fn is_dense(&self) -> bool {
        self.matches > 0 && self.matches.saturating_mul(READ_WHOLE) >= self.len()
    }

    /// Whether few rows are in question. If a test is expensive, dropping the values of the other rows then costs less
    /// than testing them.
    pub(super) fn has_few(&self) -> bool {
        self.matches.saturating_mul(TEST_FEW) <= self.len()
    }

    /// Returns the rows in question, or all rows if at least one in `dense` is in question.
    pub(super) fn selection(&self, dense: usize) -> Selection {
        if self.matches.saturating_mul(dense) >= self.len() {
            return Selection::range(self.rows.clone());
        }
        let mut rows = Selection::default();
        push_matches(&self.rows, &self.alive, &mut rows);
        rows
    }

    /// Rules out rows; `matches` has a bit for each row.
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

    /// Whether matching rows have many other matches next to them, so that they are read as ranges.
    pub(super) fn has_long_runs(&self) -> bool {
        bit_runs(&self.alive).saturating_mul(LONG_RUN) <= self.matches
    }

    /// Returns the rows to read in order to test the rows in question. These are all rows if blocks are decoded whole
    /// anyway and selecting rows would cost more than testing the others.
    pub(super) fn tested(&self) -> Selection {
        self.selection(if self.has_long_runs() {
            RUNS_WHOLE
        } else {
            TEST_WHOLE
        })
    }

    /// Returns a filter that drops the rows that do not match, for this many columns.
    pub(super) fn filter(&self, columns: usize) -> FilterPredicate {
        let matches = BooleanArray::new(self.alive.clone(), None);
        let filter = FilterBuilder::new(&matches);
        match columns {
            0 | 1 => filter.build(),
            _ => filter.optimize().build(),
        }
    }

    /// Filters values of columns in all of the rows, without the rows that are ruled out.
    pub(super) fn filtered(&self, columns: &[Option<ArrayRef>]) -> Result<Vec<Option<ArrayRef>>> {
        let filter = self.filter(columns.len());
        let of = |column: &Option<ArrayRef>| {
            let values = column.as_ref().map(|values| filter.filter(values));
            Ok(values.transpose()?)
        };
        columns.iter().map(of).collect()
    }

    /// Rules out rows; `matches` has a bit for each row in question.
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

    /// Keeps the values of a column of the scan in all of the rows.
    pub(super) fn keep_values(&mut self, column: usize, columns: usize, values: &ArrayRef) {
        if self.values.is_empty() {
            self.values = vec![None; columns];
        }
        self.values[column] = Some(values.clone());
    }

    /// Returns some of the rows.
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

    /// Takes over the state of the rows from the pieces, and the values if there is only one piece.
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

    /// Cuts the rows into parts of at most `most` rows, without parts that have no match.
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
