//! Arrays of raw byte strings in memory, which are made and checked once for many batches.

use super::StripeSource;
use crate::buffer::{Selection, Storage, offset_width};
use crate::column::{ByteLayout, NodeSource, byte_array};
use crate::error::{ErrorKind, Result, to_usize};
use crate::format::DataType;
use crate::read::shard::metadata::WINDOW_ROWS;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::ops::Range;

/// Approximate size of an array that consists of bytes of the file.
const ARRAY_BYTES: u64 = 512;

impl StripeSource<'_> {
    /// Returns rows of the array of their window, which is made for the first of them. Making it checks the offsets and
    /// that the text is UTF-8, so that later batches and scans need not check them.
    ///
    /// Returns `None` if arrays of the node are not kept, and if a binary value of the window is not text: it may be
    /// outside of the rows.
    pub(super) fn read_kept_bytes(
        &mut self,
        node: &DataType,
        wanted: &ArrowType,
        rows: &Selection,
    ) -> Result<Option<ArrayRef>> {
        let (Some(range), Some(layout)) = (rows.as_range(), ByteLayout::of(wanted)) else {
            return Ok(None);
        };
        let Some(window) = self.kept_window(node, layout, &range)? else {
            return Ok(None);
        };
        let field = (self.fields.stripe, node.schema_id);
        let key = (field, window.start / WINDOW_ROWS, wanted.is_string());
        let kept = &self.metadata.byte_arrays;
        let array = match kept.get(&key) {
            Some(array) => array,
            None => {
                let positions = Selection::range(window.clone());
                let values = self.bytes(node, layout, &positions)?;
                match byte_array(values, wanted, node) {
                    Ok(array) => kept.insert(key, array, ARRAY_BYTES),
                    Err(e) if e.kind() == ErrorKind::ValueOutOfRange => return Ok(None),
                    Err(e) => return Err(self.placed(e, node)),
                }
            }
        };
        let start = to_usize(range.start - window.start)?;
        Ok(Some(array.slice(start, to_usize(rows.len())?)))
    }

    /// Returns the positions of the window around some rows, if it has an array: raw values in memory that are read in
    /// order, with offsets of the array's width. It then consists of the file's own bytes, and costs no memory.
    fn kept_window(
        &mut self,
        node: &DataType,
        layout: ByteLayout,
        range: &Range<u64>,
    ) -> Result<Option<Range<u64>>> {
        let width = match layout {
            ByteLayout::Offsets32 => 4,
            ByteLayout::Offsets64 => 8,
            ByteLayout::Views => return Ok(None),
        };
        if !self.sequential {
            return Ok(None);
        }
        let step = self.step;
        let field = self.open(node, &Selection::range(range.clone()))?;
        let Storage::Buffers(buffers) = &field.layout.storage else {
            return Ok(None);
        };
        let positions = field.layout.positions;
        let start = range.start / WINDOW_ROWS * WINDOW_ROWS;
        let end = start.saturating_add(WINDOW_ROWS).min(positions);
        let offsets = buffers.offsets.as_ref();
        let is_kept = buffers.is_raw_bytes()
            && offsets.is_some_and(|o| offset_width(o, positions) == width)
            && range.end <= end
            && buffers
                .streams()
                .all(|buffer| step.is_resident(buffer.place.artifact));
        Ok(is_kept.then_some(start..end))
    }
}
