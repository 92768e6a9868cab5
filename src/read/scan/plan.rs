//! The bytes that a step of a scan needs, and the rows read from them.
//!
//! A plan proceeds in rounds: stripe list; field list; field descriptors; block maps and dictionaries; then data, one
//! window of rows after the other, with one more round for every level of lists.

use super::source::{ReadState, Source, StripeFields, may_end_early, stored_rows};
use crate::buffer::{FieldLayout, Place, Runs, Selection, Storage};
use crate::column::{NodeSource, assemble_as, declared_nulls};
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::format::{BasicType, DataType, StripeDirectory, Wire};
use crate::read::shard::artifacts::Artifacts;
use crate::read::shard::column::Column;
use crate::read::shard::fetch::Bench;
use crate::read::shard::metadata::{Metadata, WINDOW};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::SchemaRef;
use std::ops::Range;
use std::sync::Arc;

/// Returns the stripe that contains a row, and its ordinal.
pub(in crate::read) fn stripe_of(
    stripes: &[StripeDirectory],
    row: u64,
) -> Option<(u64, &StripeDirectory)> {
    let after = stripes.partition_point(|stripe| stripe.record_offset <= row);
    // Empty stripes have the same offset as the next stripe with rows, which is the last of them.
    let ordinal = after.checked_sub(1)?;
    let stripe = stripes.get(ordinal)?;
    (row - stripe.record_offset < stripe.total_record_count).then_some((ordinal as u64, stripe))
}

/// Opens the fields of the columns in a stripe: descriptors, block maps, dictionaries.
pub(in crate::read) fn open_fields(
    metadata: &Metadata,
    bench: &Bench<'_>,
    stripe: u64,
    rows: u64,
    columns: &[Column],
) -> Result<Option<StripeFields>> {
    let mut opened = Vec::new();
    let mut complete = true;
    for column in columns {
        let mut error = Ok(());
        column.node.walk(&mut |node| {
            if error.is_err() {
                return;
            }
            match metadata.open_field(bench, (stripe, node.schema_id), node) {
                Ok(Some(field)) => opened.push((node.schema_id, field)),
                Ok(None) => complete = false,
                Err(e) => {
                    let name = if node.name.is_empty() {
                        &column.node.name
                    } else {
                        &node.name
                    };
                    error = Err(e.within(format!("stripe {stripe}, field `{name}`")));
                }
            }
        });
        error?;
    }
    if !complete {
        return Ok(None);
    }
    let fields = StripeFields::new(stripe, opened, bench);
    for column in columns {
        check_positions(metadata.wire, &fields, &column.node, Some(rows))
            .within(|| format!("stripe {stripe}, field `{}`", column.node.name))?;
    }
    Ok(Some(fields))
}

/// Notes the bytes of rows that have to be fetched, as far as their places are known before the dictionaries of the
/// columns have been loaded.
pub(in crate::read) fn ask_for_rows(
    metadata: &Metadata,
    bench: &Bench<'_>,
    stripe: u64,
    columns: &[Column],
    rows: &Selection,
) {
    for column in columns {
        let (mut opened, mut complete) = (Vec::new(), true);
        column.node.walk(&mut |node| {
            match metadata.open_codes(bench, (stripe, node.schema_id), node) {
                Ok(Some(field)) => opened.push((node.schema_id, field)),
                // The reader of the rows reports the error.
                Ok(None) | Err(_) => complete = false,
            }
        });
        if complete {
            let mut reader = StripeReader {
                metadata,
                bench,
                fields: &StripeFields::new(stripe, opened, bench),
                state: &mut ReadState::default(),
                sequential: false,
            };
            drop(reader.fetch(std::slice::from_ref(column), rows));
        }
    }
}

/// Checks the number of positions of a field, which follows from its parent's, except for list items.
fn check_positions(
    wire: Wire,
    fields: &StripeFields,
    node: &DataType,
    expected: Option<u64>,
) -> Result<()> {
    let Some(layout) = fields.layout(node.schema_id) else {
        return Ok(());
    };
    let absent = layout.is_absent();
    if let Some(expected) = expected
        && layout.positions != expected
        && !absent
        && !(may_end_early(wire) && layout.positions < expected)
    {
        return Err(Error::corrupt(format!(
            "{} positions, expected {expected}",
            layout.positions
        ))
        .within(format!("schema node {}", node.schema_id)));
    }
    let below = match (node.basic_type, &layout.storage) {
        (_, Storage::Null) if absent => None,
        (BasicType::Struct, _) => Some(layout.positions),
        (BasicType::FixedSizeList, _) => Some(layout.positions.saturating_mul(node.fixed_size)),
        (BasicType::Union, Storage::Buffers(buffers)) if buffers.offsets.is_none() => {
            Some(layout.positions)
        }
        _ => None,
    };
    for child in &node.children {
        check_positions(wire, fields, child, below)?;
    }
    Ok(())
}

/// Reads rows of one stripe.
pub(in crate::read) struct StripeReader<'a> {
    pub(in crate::read) metadata: &'a Metadata,
    pub(in crate::read) bench: &'a Bench<'a>,
    pub(in crate::read) fields: &'a StripeFields,
    pub(in crate::read) state: &'a mut ReadState,
    pub(in crate::read) sequential: bool,
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

    fn at_hand(&self, places: &[Place]) -> Result<bool> {
        let mut complete = true;
        for &place in places {
            complete &= self.bench.get(place)?.is_some();
        }
        Ok(complete)
    }

    pub(super) fn source(&mut self) -> Source<'_> {
        Source {
            metadata: self.metadata,
            bench: self.bench,
            fields: self.fields,
            state: self.state,
            sequential: self.sequential,
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
}

impl StripeReader<'_> {
    /// Reads the values of a column of numbers as runs, see [`Source::runs`].
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
    /// [`equal_blocks`](super::source::Source::equal_blocks) does.
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

/// If at least one value in this many is wanted, decode and keep whole blocks.
const BLOCKWISE: u64 = 32;

/// Whether enough of the rows between the first and the last are wanted to decode whole blocks.
pub(in crate::read) fn is_blockwise(rows: &Selection) -> bool {
    let span = rows.end() - rows.ranges().first().map_or(0, |range| range.start);
    rows.len().saturating_mul(BLOCKWISE) >= span
}

/// Returns the size of the fields' values in bytes.
fn stored_bytes(fields: &StripeFields) -> u64 {
    let bytes = fields.places().map(|place| place.range.len());
    bytes.fold(0, u64::saturating_add)
}

/// Returns the size of the columns' values in a stripe in bytes; needs only descriptors.
pub(in crate::read) fn described_bytes(
    metadata: &Metadata,
    bench: &Bench<'_>,
    stripe: u64,
    columns: &[Column],
) -> Result<Option<u64>> {
    let (mut bytes, mut complete) = (0u64, true);
    for column in columns {
        let mut error = Ok(());
        column.node.walk(&mut |node| match metadata.described_bytes(
            bench,
            (stripe, node.schema_id),
            node,
        ) {
            Ok(Some(of_field)) => bytes = bytes.saturating_add(of_field),
            Ok(None) => complete = false,
            Err(e) => error = Err(e),
        });
        error.within(|| format!("stripe {stripe}, field `{}`", column.node.name))?;
    }
    Ok(complete.then_some(bytes))
}

/// Returns the number of rows with about `fetch_bytes` bytes: a multiple of the window, at which blocks end.
pub(in crate::read) fn window_rows(fields: &StripeFields, rows: u64, fetch_bytes: u64) -> u64 {
    rows_of_bytes(stored_bytes(fields), rows, fetch_bytes)
}

/// Returns the number of rows with about `fetch_bytes` bytes, if `rows` rows have `bytes` bytes: a multiple of the
/// window.
pub(in crate::read) fn rows_of_bytes(bytes: u64, rows: u64, fetch_bytes: u64) -> u64 {
    let windows = rows.div_ceil(WINDOW).max(1);
    let per_window = (bytes / windows).max(1);
    let fetched = (fetch_bytes / per_window).clamp(1, windows);
    fetched.saturating_mul(WINDOW)
}

/// Most bytes to read at a time from a near file.
const NEAR_BYTES: u64 = 1 << 20;

/// Returns the number of rows to fetch at a time when rows are read in order. For near files it is as small as blocks
/// allow. Then bytes are decoded while the processor's caches still hold them, and wide rows, with windows of far more
/// than `fetch_bytes`, need no more memory than that. For other files it is the result of [`window_rows`].
pub(in crate::read) fn scanned_rows(
    fields: &StripeFields,
    rows: u64,
    artifacts: &Artifacts,
) -> u64 {
    let fetch_bytes = artifacts.fetch_bytes();
    if !artifacts.are_near() {
        return window_rows(fields, rows, fetch_bytes);
    }
    let unit = fields.block_rows(rows).min(WINDOW).next_power_of_two();
    let units = rows.div_ceil(unit).max(1);
    let per_unit = (stored_bytes(fields) / units).max(1);
    unit * (NEAR_BYTES.min(fetch_bytes) / per_unit).clamp(1, units)
}

/// Returns the number of rows to fetch at a time, see [`window_rows`]; `None` if all bytes are in memory.
pub(in crate::read) fn fetched_rows(
    fields: &StripeFields,
    rows: u64,
    artifacts: &Artifacts,
) -> Option<u64> {
    (!fields.are_resident()).then(|| window_rows(fields, rows, artifacts.fetch_bytes()))
}

/// Creates a batch of columns; a batch without columns has `rows` rows.
pub(in crate::read) fn record_batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    for (field, column) in schema.fields().iter().zip(&columns) {
        let nulls = declared_nulls(column);
        if !field.is_nullable() && nulls > 0 {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!(
                    "column `{}` is declared without nulls, but has {nulls}; ask for a nullable type",
                    field.name(),
                ),
            ));
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(|e| {
        Error::new(
            ErrorKind::SchemaMismatch,
            format!("the columns do not fit the schema: {e}"),
        )
    })
}
