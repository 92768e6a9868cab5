//! Tests of rows whose values refer to dictionaries in files of another format: each entry is tested once.

use crate::error::{Result, to_usize};
use crate::read::scan::stripe_reader::StripeReader;
use crate::read::shard::column::Column;
use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use std::ops::Range;

/// The results of a conjunct for the dictionary and the page that were tested last.
#[derive(Debug, Default)]
pub(super) struct EntryTest {
    dictionary: Option<(Range<u64>, Option<TestedEntries>)>,
    /// The rows of the page, and which of them match; `None` if the page has values instead of codes.
    page: Option<(Range<u64>, Option<BooleanBuffer>)>,
}

/// The truth of a conjunct for entries.
#[derive(Debug)]
struct TestedEntries {
    are_true: BooleanBuffer,
    /// Whether the conjunct is true for a null.
    of_null: bool,
    /// Mean size of an entry in bytes.
    mean_bytes: usize,
}

/// The rows of a range for which a conjunct is true.
#[derive(Debug)]
pub(super) struct EntryMatches {
    pub(super) rows: BooleanBuffer,
    /// Mean size of the tested entries in bytes.
    pub(super) mean_bytes: usize,
}

impl EntryTest {
    /// Returns the matching rows of a range; `None` if its values have to be tested one by one. `evaluate` returns the
    /// truth of the conjunct for values of the column.
    ///
    /// # Errors
    /// Fails if the bytes are damaged.
    pub(super) fn matches(
        &mut self,
        reader: &mut StripeReader<'_>,
        column: &Column,
        rows: &Range<u64>,
        evaluate: impl Fn(ArrayRef) -> Result<BooleanArray>,
    ) -> Result<Option<EntryMatches>> {
        let (mut row, mut mean_bytes) = (rows.start, 0);
        let mut matches = BooleanBufferBuilder::new(0);
        while row < rows.end {
            if !holds(self.dictionary.as_ref(), row) {
                self.dictionary = Some(test_entries(reader, column, row, &evaluate)?);
                self.page = None;
            }
            let Some((_, Some(entries))) = &self.dictionary else {
                return Ok(None);
            };
            if !holds(self.page.as_ref(), row) {
                let (chosen, nulls) = (&entries.are_true, entries.of_null);
                self.page = Some(reader.rows_of_entries(column, row, chosen, nulls)?);
            }
            let Some((of_page, Some(bits))) = &self.page else {
                return Ok(None);
            };
            let end = of_page.end.min(rows.end);
            let (from, len) = (to_usize(row - of_page.start)?, to_usize(end - row)?);
            matches.append_buffer(&bits.slice(from, len));
            mean_bytes = mean_bytes.max(entries.mean_bytes);
            row = end;
        }
        Ok(Some(EntryMatches {
            rows: matches.finish(),
            mean_bytes,
        }))
    }
}

fn holds<T>(known: Option<&(Range<u64>, T)>, row: u64) -> bool {
    known.is_some_and(|(rows, _)| rows.contains(&row))
}

/// Returns the rows that share a dictionary with a row, and the truth of a conjunct for its entries.
fn test_entries(
    reader: &mut StripeReader<'_>,
    column: &Column,
    row: u64,
    evaluate: impl Fn(ArrayRef) -> Result<BooleanArray>,
) -> Result<(Range<u64>, Option<TestedEntries>)> {
    let test = |entries: ArrayRef| -> Result<TestedEntries> {
        let null = evaluate(new_null_array(entries.data_type(), 1))?;
        let mean_bytes = entries.get_array_memory_size() / entries.len().max(1);
        let truths = evaluate(entries)?;
        let (are_true, known) = truths.into_parts();
        Ok(TestedEntries {
            are_true: match known {
                Some(known) => &are_true & known.inner(),
                None => are_true,
            },
            of_null: null.iter().next().flatten() == Some(true),
            mean_bytes,
        })
    };
    let (rows, entries) = reader.entries(column, row)?;
    // An error of an entry matters only if a row in question has the entry; reading its value will return it.
    Ok((rows, entries.and_then(|entries| test(entries).ok())))
}
