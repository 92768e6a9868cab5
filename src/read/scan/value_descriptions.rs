//! Positions and sizes of a column's values instead of the values.

use super::stripe_reader::StripeReader;
use crate::buffer::{Body, Selection, Storage};
use crate::column::assemble_as;
use crate::error::{Error, Result, Within, to_usize};
use crate::format::DataType;
use crate::read::shard::blob_form::description_fields;
use crate::read::shard::column::Column;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, Field};
use std::ops::Range;
use std::sync::Arc;

/// The blobs among the rows, and the other rows.
#[derive(Default)]
struct BlobRows {
    /// Ordinal of a blob's row among the rows, and the blob's byte range in the file.
    blobs: Vec<(usize, Range<u64>)>,
    others: Selection,
}

impl StripeReader<'_> {
    /// Fetches the values that have to be read to describe them: all values that are not blobs.
    pub(super) fn fetch_described(&mut self, node: &DataType, rows: &Selection) -> Result<bool> {
        let others = self.find_blobs(node, rows)?.others;
        self.fetch_node(node, &others)
    }

    /// Returns the positions and sizes of the column's values.
    pub(super) fn read_described(&mut self, column: &Column, rows: &Selection) -> Result<ArrayRef> {
        let found = self.find_blobs(&column.node, rows);
        let BlobRows { blobs, others } =
            found.within(|| format!("field `{}`", column.field.name()))?;
        let field = Field::new(column.field.name(), ArrowType::LargeBinary, true);
        let Column { node, casts, .. } = column;
        let values = assemble_as(&field, node, casts, &others, &mut self.source())?;
        let values = values.as_binary::<i64>();
        let len = to_usize(rows.len())?;
        let mut positions = Vec::with_capacity(len);
        let mut sizes = Vec::with_capacity(len);
        let mut present = Vec::with_capacity(len);
        let mut blobs = blobs.into_iter().peekable();
        let mut next_other = 0;
        for row in 0..len {
            match blobs.next_if(|(place, _)| *place == row) {
                Some((_, bytes)) => {
                    positions.push(Some(bytes.start));
                    sizes.push(bytes.end - bytes.start);
                    present.push(true);
                }
                None => {
                    let is_present = values.is_valid(next_other);
                    let size = if is_present {
                        values.value_length(next_other)
                    } else {
                        0
                    };
                    positions.push(None);
                    sizes.push(u64::try_from(size).unwrap_or_default());
                    present.push(is_present);
                    next_other += 1;
                }
            }
        }
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(positions)),
            Arc::new(UInt64Array::from(sizes)),
        ];
        let nulls = Some(NullBuffer::from(present)).filter(|nulls| nulls.null_count() > 0);
        StructArray::try_new(description_fields(), arrays, nulls)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(Error::from)
    }

    /// Separates the blobs among the rows from the other rows.
    fn find_blobs(&self, node: &DataType, rows: &Selection) -> Result<BlobRows> {
        let layout = self.fields.layout(node.schema_id);
        let all = || BlobRows {
            others: rows.clone(),
            ..BlobRows::default()
        };
        let Some(Storage::Buffers(buffers)) = layout.map(|layout| &layout.storage) else {
            return Ok(all());
        };
        let (Some(data), true) = (&buffers.data, buffers.blobs.is_some()) else {
            return Ok(all());
        };
        let Body::Blocks(blocks) = &data.body else {
            return Ok(all());
        };
        let map = blocks
            .map()
            .ok_or_else(|| Error::corrupt("block map not loaded"))?;
        let (mut found, mut before) = (BlobRows::default(), 0);
        for range in rows.ranges() {
            // A row that is in no block counts as one of the others; reading it fails.
            let mut read = range.start;
            for block in map.overlapping(range.clone()) {
                let end = block.values.end.min(range.end);
                match buffers.blob(&block)? {
                    Some(value) => {
                        let bytes = data.place.range.slice(value.start, value.end)?;
                        let place = to_usize(before + read - range.start)?;
                        found.blobs.push((place, bytes.start()..bytes.end()));
                    }
                    None => found.others.push(read..end),
                }
                read = end;
            }
            found.others.push(read..range.end);
            before += range.end - range.start;
        }
        Ok(found)
    }
}
