//! Reads rows of one stripe in a step, or notes the bytes that are missing for them.

use super::source::{ReadState, StripeFields, StripeSource, stored_rows};
use crate::buffer::{FieldLayout, Runs, Selection, Storage, StoredRange};
use crate::column::{NodeSource, assemble_as};
use crate::error::{Error, Result, Within, to_usize};
use crate::format::{BasicType, DataType};
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{MAX_GUESSED, StepBytes};
use crate::read::shard::metadata::Metadata;
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use std::ops::Range;
use std::sync::Arc;

/// Entries of a dictionary are tested instead of values if each is used at least this many times on average.
const MIN_USES: u64 = 2;

/// Reads rows of one stripe.
pub(in crate::read) struct StripeReader<'a> {
    metadata: &'a Metadata,
    step: &'a StepBytes<'a>,
    pub(super) fields: &'a StripeFields,
    state: &'a mut ReadState,
    /// Whether the rest of a block is likely to be read next, so that it is worth decoding and keeping.
    pub(in crate::read) sequential: bool,
}

impl<'a> StripeReader<'a> {
    /// Creates a reader of the bytes of a step. If it is `sequential`, it decodes whole blocks and keeps the last one.
    pub(in crate::read) fn new(
        metadata: &'a Metadata,
        step: &'a StepBytes<'a>,
        fields: &'a StripeFields,
        state: &'a mut ReadState,
        sequential: bool,
    ) -> Self {
        Self {
            metadata,
            step,
            fields,
            state,
            sequential,
        }
    }
}

impl StripeReader<'_> {
    /// Whether all bytes of the selected rows are available. If not, notes the places that are known to be missing.
    pub(in crate::read) fn fetch(&mut self, columns: &[Column], rows: &Selection) -> Result<bool> {
        if self.fields.are_resident() {
            return Ok(true);
        }
        let mut complete = true;
        for column in columns {
            let fetched = if column.described {
                self.fetch_described(&column.node, rows)
            } else {
                self.fetch_node(&column.node, rows)
            };
            complete &= fetched.within(|| {
                format!(
                    "stripe {}, field `{}`",
                    self.fields.stripe, column.node.name
                )
            })?;
        }
        Ok(complete)
    }

    pub(super) fn fetch_node(&mut self, node: &DataType, rows: &Selection) -> Result<bool> {
        let Some(layout) = self.fields.layout(node.schema_id).cloned() else {
            return Err(Error::corrupt(format!(
                "schema node {} is not open",
                node.schema_id
            )));
        };
        let rows = &*stored_rows(rows, &layout, self.metadata.wire);
        layout.check_rows(rows)?;
        if !self.fetch_own(node, &layout, rows)? {
            self.guess(node, rows);
            return Ok(false);
        }
        let mut complete = true;
        match node.basic_type {
            BasicType::Struct => {
                for child in &node.children {
                    complete &= self.fetch_node(child, rows)?;
                }
            }
            BasicType::FixedSizeList => {
                for child in &node.children {
                    complete &= self.fetch_node(child, &rows.scale(node.fixed_size))?;
                }
            }
            BasicType::List | BasicType::Map if !node.children.is_empty() => {
                let below = self.source().items_ahead(node, rows)?;
                for child in &node.children {
                    complete &= self.fetch_node(child, &below)?;
                }
            }
            BasicType::Union => {
                let below = self.source().unions(node, rows)?.children;
                for (child, rows) in node.children.iter().zip(&below) {
                    complete &= self.fetch_node(child, rows)?;
                }
            }
            _ => {}
        }
        Ok(complete)
    }

    /// Fetches the bytes of a field itself, but not of its children.
    fn fetch_own(
        &mut self,
        node: &DataType,
        layout: &FieldLayout,
        rows: &Selection,
    ) -> Result<bool> {
        let mut places = Vec::new();
        let goes_on = layout.places_of(rows, !node.children.is_empty(), &mut places)?;
        if !self.at_hand(&places)? {
            return Ok(false);
        }
        if goes_on {
            let (bytes, mut places) = (self.source().items_ahead(node, rows)?, Vec::new());
            if let Storage::Buffers(buffers) = &layout.storage
                && let Some(data) = &buffers.data
            {
                data.places_of(&bytes, 1, &mut places)?;
            }
            return self.at_hand(&places);
        }
        Ok(true)
    }

    /// Guesses the places that the children of a node need for some rows, if the step guesses.
    pub(super) fn guess(&self, node: &DataType, rows: &Selection) {
        if !self.step.guesses() {
            return;
        }
        let (mut most, mut places) = (MAX_GUESSED, Vec::new());
        let pushed = self.push_likely_places(node, rows, &mut most, &mut places);
        if pushed.is_some() {
            self.step.guess(places);
        }
    }

    /// Appends the places that the children of a node with missing offsets are likely to need for some rows, and
    /// subtracts their bytes from `most`. Stops with `None` as soon as they exceed it, or if the block map of a child
    /// is missing.
    fn push_likely_places(
        &self,
        node: &DataType,
        rows: &Selection,
        most: &mut u64,
        places: &mut Vec<StoredRange>,
    ) -> Option<()> {
        let layout = self.fields.layout(node.schema_id);
        for child in &node.children {
            let Some((layout, of_child)) = layout.zip(self.fields.layout(child.schema_id)) else {
                continue;
            };
            let guessed;
            let below = match node.basic_type {
                BasicType::List | BasicType::Map => {
                    guessed = likely_items(rows, layout.positions, of_child.positions);
                    &guessed
                }
                BasicType::FixedSizeList => {
                    guessed = rows.scale(node.fixed_size);
                    &guessed
                }
                BasicType::Struct => rows,
                _ => continue,
            };
            let before = places.len();
            let located = of_child.places_of(below, !child.children.is_empty(), places);
            located.ok()?;
            let mut added = places.iter().skip(before);
            *most = added.try_fold(*most, |most, place| most.checked_sub(place.range.len()))?;
            self.push_likely_places(child, below, most, places)?;
        }
        Some(())
    }

    fn at_hand(&self, places: &[StoredRange]) -> Result<bool> {
        let mut complete = true;
        for &place in places {
            complete &= self.step.get(place)?.is_some();
        }
        Ok(complete)
    }

    pub(super) fn source(&mut self) -> StripeSource<'_> {
        StripeSource {
            metadata: self.metadata,
            step: self.step,
            fields: self.fields,
            state: self.state,
            sequential: self.sequential,
            entries_of: None,
        }
    }

    /// Reads the columns in the selected rows.
    pub(in crate::read) fn read(
        &mut self,
        columns: &[Column],
        rows: &Selection,
    ) -> Result<Vec<ArrayRef>> {
        columns
            .iter()
            .map(|column| {
                let Column {
                    field, node, casts, ..
                } = column;
                if column.described {
                    self.read_described(column, rows)
                } else {
                    assemble_as(field, node, casts, rows, &mut self.source())
                }
                .within(|| format!("stripe {}", self.fields.stripe))
            })
            .collect()
    }

    /// Reads the values of a column of numbers as runs, see [`StripeSource::runs`].
    pub(in crate::read) fn runs(
        &mut self,
        column: &Column,
        rows: &Range<u64>,
    ) -> Result<Option<(Runs, Option<NullBuffer>)>> {
        let runs = self.source().runs(&column.node, rows);
        runs.within(|| format!("field `{}`", column.field.name()))
            .within(|| format!("stripe {}", self.fields.stripe))
    }

    /// Finds the blocks of equal byte strings that hold some rows of a column, as
    /// [`equal_blocks`](super::source::StripeSource::equal_blocks) does.
    pub(in crate::read) fn equal_blocks(
        &mut self,
        column: &Column,
        rows: &Range<u64>,
    ) -> Result<Option<(Vec<usize>, Option<NullBuffer>)>> {
        let found = self.source().equal_blocks(&column.node, rows);
        found
            .within(|| format!("field `{}`", column.field.name()))
            .within(|| format!("stripe {}", self.fields.stripe))
    }

    /// Returns the rows that share a dictionary with a row of a column in another format, and the entries of the
    /// dictionary in the type of the column. Returns no entries if they cannot be read, or are not much fewer than the
    /// rows.
    pub(in crate::read) fn entries(
        &mut self,
        column: &Column,
        row: u64,
    ) -> Result<(Range<u64>, Option<ArrayRef>)> {
        let (rows, count) = self.source().dictionary_rows(&column.node, row)?;
        if count == 0 || count.saturating_mul(MIN_USES) > rows.end - rows.start {
            return Ok((rows, None));
        }
        let mut source = self.source();
        source.entries_of = Some(row);
        let Column {
            field, node, casts, ..
        } = column;
        let entries = assemble_as(field, node, casts, &Selection::range(0..count), &mut source);
        // An error of an entry matters only if a row has the entry; reading its value will return it.
        Ok((rows, entries.ok()))
    }

    /// Returns the rows of the page that holds a row of a column in another format, and which of them refer to one of
    /// the `chosen` entries of the dictionary, or are null if `nulls`. Returns no bits if the page has values.
    pub(in crate::read) fn rows_of_entries(
        &mut self,
        column: &Column,
        row: u64,
        chosen: &BooleanBuffer,
        nulls: bool,
    ) -> Result<(Range<u64>, Option<BooleanBuffer>)> {
        let found = (self.source()).rows_of_entries(&column.node, row, chosen, nulls);
        found
            .within(|| format!("field `{}`", column.field.name()))
            .within(|| format!("stripe {}", self.fields.stripe))
    }

    /// Reads which rows of a node are present, given the structs around it and the node itself, outermost first.
    /// Returns an array without members that has only this presence.
    pub(in crate::read) fn presence<'a>(
        &mut self,
        nodes: impl Iterator<Item = &'a DataType>,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let stripe = self.fields.stripe;
        let mut nulls = None;
        for node in nodes {
            let own = self.source().presence(node, rows);
            let own = own.within(|| format!("stripe {stripe}, field `{}`", node.name))?;
            nulls = NullBuffer::union(nulls.as_ref(), own.as_ref());
        }
        let len = to_usize(rows.len())?;
        Ok(Arc::new(StructArray::new_empty_fields(len, nulls)))
    }
}

/// Returns the items that the lists of some rows are likely to have, if `lists` lists have `items` items. Lists of
/// random lengths have proportional numbers of items, up to a deviation that grows with the root of their number.
fn likely_items(rows: &Selection, lists: u64, items: u64) -> Selection {
    let proportional = |row: u64| {
        let before = u128::from(row) * u128::from(items) / u128::from(lists.max(1));
        u64::try_from(before).unwrap_or(items)
    };
    let deviation = items / lists.isqrt().max(1);
    let mut likely = Selection::default();
    for range in rows.ranges() {
        let start = proportional(range.start).saturating_sub(deviation);
        let end = proportional(range.end).saturating_add(deviation).min(items);
        likely.push(start.max(likely.end())..end);
    }
    likely
}

/// Whole blocks are decoded and kept if at least one in this many values is wanted.
const BLOCKWISE: u64 = 32;

/// Whether enough of the rows between the first and the last are wanted to decode whole blocks.
pub(in crate::read) fn is_blockwise(rows: &Selection) -> bool {
    let span = rows.end() - rows.ranges().first().map_or(0, |range| range.start);
    rows.len().saturating_mul(BLOCKWISE) >= span
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_guessed_in_proportion_to_the_lists() {
        let rows: Selection = [0..10, 5_000..5_001, 5_020..5_021, 9_999..10_000]
            .into_iter()
            .collect();
        // 20,000 items of 10,000 lists deviate by 200.
        let likely = likely_items(&rows, 10_000, 20_000);
        assert_eq!(likely.ranges(), [0..220, 9_800..10_242, 19_798..20_000]);
        assert_eq!(likely_items(&rows, 10_000, 0), Selection::default());
        let most = u64::MAX;
        let all = likely_items(&Selection::range(0..most), most, most);
        assert_eq!(all, Selection::range(0..most));
    }
}
