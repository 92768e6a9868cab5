//! Reads the columns of a scan in some rows of a stripe.

use crate::arrow::defeats_filter;
use crate::buffer::{Body, Selection, Storage};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::read::filter::candidates::Candidates;
use crate::read::scan::rows::ScanFormat;
use crate::read::scan::source::{ReadState, StripeFields};
use crate::read::scan::stripe_reader::{StripeReader, is_blockwise};
use crate::read::shard::column::Column;
use crate::read::shard::fetch::StepBytes;
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use std::cell::OnceCell;

/// Reads the columns of a scan from fetched bytes.
pub(super) struct ColumnsReader<'a> {
    pub(super) format: &'a ScanFormat,
    /// Number in the shard of the stripe's first row.
    pub(super) first: u64,
    pub(super) fields: &'a StripeFields,
    pub(super) state: &'a mut ReadState,
    pub(super) step: StepBytes<'a>,
}

impl ColumnsReader<'_> {
    /// Reads the columns in the matching rows of a part.
    pub(super) fn matching(&mut self, part: &Candidates) -> Result<Vec<ArrayRef>> {
        match self.filtered(part) {
            // The error may be about a value of another row, which the caller did not request in this type. Columns
            // that tests have read are kept, because their bytes may be gone.
            Err(e) if e.kind() == ErrorKind::ValueOutOfRange => {
                let kept = part.filtered(part.all_values())?;
                self.read(&part.selection(0), &kept)
            }
            columns => columns,
        }
    }

    /// Reads the columns in all rows of a part, and filters the matching rows.
    fn filtered(&mut self, part: &Candidates) -> Result<Vec<ArrayRef>> {
        let format = self.format;
        let rows = Selection::range(part.rows().clone());
        if part.matches() == part.len() {
            return self.read(&rows, part.all_values());
        }
        let filter = part.filter(format.columns.len());
        let matching = OnceCell::new();
        let has_runs = part.has_long_runs();
        let mut columns = Vec::with_capacity(format.columns.len());
        for (i, column) in format.columns.iter().enumerate() {
            let is_read = part.values(i).is_some();
            let is_cut = has_runs && !is_read && self.is_of_blocks(column);
            // Each column is filtered while it is in the processor's cache, and freed before the next is read.
            columns.push(if is_cut || defeats_filter(column.field.data_type()) {
                let matching = matching.get_or_init(|| part.selection(0));
                self.read_column(i, matching, &[])?
            } else {
                filter.filter(&self.read_column(i, &rows, part.all_values())?)?
            });
        }
        Ok(columns)
    }

    /// Whether a column is a leaf that copies its values, or their codes, out of decoded blocks, where they take fewer
    /// bytes than in arrays. Views do not: their values stay in the blocks.
    fn is_of_blocks(&self, column: &Column) -> bool {
        let layout = self.fields.layout(column.node.schema_id);
        layout.is_some_and(|layout| match &layout.storage {
            Storage::Buffers(buffers) => {
                let data = buffers.data.as_ref();
                let is_view = matches!(
                    column.field.data_type(),
                    DataType::Utf8View | DataType::BinaryView
                );
                column.node.children.is_empty()
                    && !buffers.has_separate_offsets()
                    && (buffers.dictionary.is_some() || !is_view)
                    && data.is_some_and(|data| matches!(data.body, Body::Blocks(_)))
            }
            Storage::External(_) => false,
            Storage::Null | Storage::Constant(_) => true,
        })
    }

    /// Reads the columns in some rows of the stripe, except for columns with known values.
    pub(super) fn read(
        &mut self,
        rows: &Selection,
        values: &[Option<ArrayRef>],
    ) -> Result<Vec<ArrayRef>> {
        let columns = 0..self.format.columns.len();
        columns.map(|i| self.read_column(i, rows, values)).collect()
    }

    /// Reads a column in some rows of the stripe, unless its values are known.
    fn read_column(
        &mut self,
        i: usize,
        rows: &Selection,
        values: &[Option<ArrayRef>],
    ) -> Result<ArrayRef> {
        if let Some(Some(values)) = values.get(i) {
            return Ok(values.clone());
        }
        let metadata = &*self.format.metadata;
        let start = rows.ranges().first().map_or(0, |range| range.start);
        let (step, sequential) = (&self.step, is_blockwise(rows));
        let mut reader = StripeReader::new(metadata, step, self.fields, self.state, sequential);
        let place = || format!("rows {}..{}", self.first + start, self.first + rows.end());
        let read = reader.read(std::slice::from_ref(&self.format.columns[i]), rows);
        let mut read = read.within(place).within(|| metadata.artifacts.place())?;
        read.pop()
            .ok_or_else(|| Error::corrupt("a column was not read"))
    }
}
