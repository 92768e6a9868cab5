//! Scattered matching rows that wait until they make a batch.

use super::{LATITUDE, SCATTERED};
use crate::arrow::join;
use crate::buffer::Selection;
use crate::error::{Result, to_usize};
use crate::read::filter::candidates::{Candidates, push_matches};
use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;
use std::ops::Range;

/// Matching rows of parts with few matches, kept until there are enough of them for a batch.
#[derive(Debug)]
pub(in crate::read::filter) struct Pending {
    /// Rows of a batch that did not fit; they come before the matching rows of the parts.
    rest: Selection,
    parts: Vec<(Range<u64>, BooleanBuffer)>,
    len: u64,
    /// By column of the scan: its values in the rows, in pieces; `None` if they have to be read.
    pub(super) values: Vec<Option<Vec<ArrayRef>>>,
    /// Whether the parts were read, so that the values of every column are known.
    is_read: bool,
}

impl Pending {
    pub(in crate::read::filter) fn new(columns: usize) -> Self {
        Self {
            rest: Selection::default(),
            parts: Vec::new(),
            len: 0,
            values: vec![Some(Vec::new()); columns],
            is_read: false,
        }
    }

    pub(in crate::read::filter) fn len(&self) -> u64 {
        self.len
    }

    pub(in crate::read::filter) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the rows.
    pub(super) fn rows(&self) -> Selection {
        let mut rows = self.rest.clone();
        for (range, alive) in &self.parts {
            push_matches(range, alive, &mut rows);
        }
        rows
    }

    /// Returns the values of a column, if they are known.
    pub(in crate::read::filter) fn values(&self, column: usize) -> Option<&[ArrayRef]> {
        self.values.get(column)?.as_deref()
    }

    /// Whether the values of all columns are known.
    pub(super) fn is_complete(&self) -> bool {
        self.values.iter().all(Option::is_some)
    }

    /// Whether a part can be added to the pending rows.
    pub(in crate::read::filter) fn fits(
        &self,
        part: &Candidates,
        is_read: bool,
        most: u64,
    ) -> bool {
        self.is_empty() || self.is_read == is_read && self.len() + part.matches() as u64 <= most
    }

    /// Whether, among `columns`, the pending rows and the part have known values of the same ones. Values that only
    /// some rows have would have to be read again for all.
    pub(in crate::read::filter) fn is_alike(&self, part: &Candidates, columns: &[usize]) -> bool {
        let has_values = |column| part.values(column).is_some();
        let mut columns = columns.iter();
        self.is_empty() || columns.all(|&c| self.values(c).is_some() == has_values(c))
    }

    /// Whether to read the part now, because most of its rows have to be read anyway. Keeps to the way of the pending
    /// parts unless that is much worse.
    pub(in crate::read::filter) fn reads_now(&self, part: &Candidates) -> bool {
        let (matches, len) = (part.matches().saturating_mul(SCATTERED), part.len());
        match (self.is_empty(), self.is_read) {
            (true, _) => matches >= len,
            (false, true) => matches.saturating_mul(LATITUDE) >= len,
            (false, false) => matches >= len.saturating_mul(LATITUDE),
        }
    }

    /// Adds the matching rows of a part, to be read with the others.
    pub(in crate::read::filter) fn push(&mut self, part: &Candidates) -> Result<()> {
        self.push_rows(part);
        self.is_read = false;
        if part.all_values().is_empty() {
            self.values.fill(None);
            return Ok(());
        }
        let filter = part.filter(1);
        for (i, pieces) in self.values.iter_mut().enumerate() {
            match (&mut *pieces, part.values(i)) {
                (Some(pieces), Some(values)) => pieces.push(filter.filter(values)?),
                _ => *pieces = None,
            }
        }
        Ok(())
    }

    /// Adds the matching rows of a part, with their values in all columns.
    pub(super) fn push_read(&mut self, part: &Candidates, columns: Vec<ArrayRef>) {
        self.push_rows(part);
        self.is_read = true;
        for (pieces, values) in self.values.iter_mut().zip(columns) {
            if let Some(pieces) = pieces {
                pieces.push(values);
            }
        }
    }

    fn push_rows(&mut self, part: &Candidates) {
        self.parts.push((part.rows().clone(), part.alive().clone()));
        self.len += part.matches() as u64;
    }

    /// Joins the pieces of each column. Returns false if some do not fit in one array; their columns have to be read
    /// again.
    pub(super) fn join(&mut self) -> bool {
        let mut joined = true;
        for values in &mut self.values {
            if let Some(pieces) = values.as_mut().filter(|pieces| pieces.len() > 1) {
                *values = join(pieces).ok().map(|joined| vec![joined]);
                joined &= values.is_some();
            }
        }
        joined
    }

    /// Returns the joined values of each column.
    pub(super) fn joined(&self) -> Vec<Option<ArrayRef>> {
        let joined = |pieces: &Option<Vec<ArrayRef>>| pieces.as_ref()?.first().cloned();
        self.values.iter().map(joined).collect()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.values.len());
    }

    /// Drops the first `len` rows, after the values have been joined.
    pub(super) fn skip(&mut self, rows: &Selection, len: u64) -> Result<()> {
        self.rest = rows.slice(len..rows.len());
        self.len = self.rest.len();
        self.parts.clear();
        self.is_read = false;
        if self.is_empty() {
            self.clear();
            return Ok(());
        }
        let from = to_usize(len)?;
        for values in self.values.iter_mut().flatten().flatten() {
            *values = values.slice(from, values.len() - from);
        }
        Ok(())
    }
}
