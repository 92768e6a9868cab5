//! Values of leaf nodes.

use super::super::constant::{constant_bool, constant_bytes};
use super::{StripeSource, number_kind, pad_nulls, required};
use crate::buffer::{
    Physical, Runs, Selection, Storage, Strings, equal_blocks, read_bits, read_fixed, read_runs,
    read_strings, words,
};
use crate::column::{ByteLayout, ByteValues, Chunk, DecodedDictionary, NodeSource};
use crate::encoding::NumberKind;
use crate::encoding::bytes::{BytesLayout, Decoded};
use crate::error::{Error, Result, Within, to_usize};
use crate::format::DataType;
use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer};
use arrow_schema::DataType as ArrowType;
use std::ops::Range;

impl StripeSource<'_> {
    /// Returns values in another format, as an array of the type if they can be read as such.
    pub(super) fn read_external(
        &mut self,
        node: &DataType,
        wanted: &ArrowType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let entries_of = self.entries_of;
        let mut field = self.open(node, rows)?;
        let (decoder, cx) = field.external()?;
        match entries_of {
            Some(row) => decoder.entries(row, wanted, cx),
            None => decoder.read(rows, wanted, cx),
        }
    }

    /// Returns the rows that share a dictionary with a row, and the number of its entries; 0 if there is none, or if
    /// the values are in buffers.
    pub(in crate::read) fn dictionary_rows(
        &mut self,
        node: &DataType,
        row: u64,
    ) -> Result<(Range<u64>, u64)> {
        if !self.is_external(node) {
            return Ok((row..u64::MAX, 0));
        }
        let found = self.open(node, &Selection::range(row..row + 1));
        let found = found.and_then(|mut field| {
            let (decoder, cx) = field.external()?;
            decoder.dictionary(row, cx)
        });
        found.map_err(|e| self.placed(e, node))
    }

    /// Returns the rows of the page that holds a row, and which of them refer to one of the `chosen` entries of the
    /// dictionary, or are null if `nulls`. Returns no bits if the page has values.
    pub(in crate::read) fn rows_of_entries(
        &mut self,
        node: &DataType,
        row: u64,
        chosen: &BooleanBuffer,
        nulls: bool,
    ) -> Result<(Range<u64>, Option<BooleanBuffer>)> {
        let found = self.open(node, &Selection::range(row..row + 1));
        let found = found.and_then(|mut field| {
            let (decoder, cx) = field.external()?;
            decoder.positions_of_entries(row, chosen, nulls, cx)
        });
        found.map_err(|e| self.placed(e, node))
    }

    pub(super) fn read_padded_bits(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Chunk<BooleanBuffer>> {
        let (stored, missing) = self.stored(node, rows);
        let chunk = self.read_bits(node, &stored)?;
        if missing == 0 {
            return Ok(chunk);
        }
        let missing = to_usize(missing)?;
        let mut bits = BooleanBufferBuilder::new(chunk.len + missing);
        bits.append_buffer(&chunk.values);
        bits.append_n(missing, false);
        Ok(Chunk {
            len: chunk.len + missing,
            nulls: Some(pad_nulls(chunk.nulls.as_ref(), chunk.len, missing)),
            values: bits.finish(),
        })
    }

    fn read_bits(&mut self, node: &DataType, rows: &Selection) -> Result<Chunk<BooleanBuffer>> {
        let mut field = self.open(node, rows)?;
        let len = to_usize(rows.len())?;
        let buffers = match &field.layout.storage {
            Storage::Buffers(buffers) => buffers,
            Storage::External(_) => return Err(not_own()),
            Storage::Null => {
                let nulls = Some(field.all_null(rows)?);
                let values = BooleanBuffer::new_unset(len);
                return Ok(Chunk { len, nulls, values });
            }
            Storage::Constant(value) => {
                field.cx.check_batch_bytes(rows.len().div_ceil(8), 1)?;
                let values = if constant_bool(value)? {
                    BooleanBuffer::new_set(len)
                } else {
                    BooleanBuffer::new_unset(len)
                };
                return Ok(Chunk {
                    len,
                    nulls: None,
                    values,
                });
            }
        };
        let data = required(buffers.data.as_ref(), "DATA")?;
        if data.is_member() {
            // Each value takes a byte, together with its presence.
            let embedded = buffers.embedded_presence;
            let read = field
                .number(data, 1, NumberKind::Unsigned, embedded, rows)
                .within(|| "DATA buffer".to_owned())?;
            let nulls = field.leaf_nulls(buffers, read.nulls, rows)?;
            let values = BooleanBuffer::collect_bool(len, |i| read.data[i] != 0);
            return Ok(Chunk { len, nulls, values });
        }
        let values = read_bits(data, rows, &mut field.cx, &mut field.state.data)
            .within(|| "DATA buffer".to_owned())?;
        let nulls = field.presence(buffers, rows)?;
        Ok(Chunk { len, nulls, values })
    }

    pub(super) fn read_padded_fixed(
        &mut self,
        node: &DataType,
        width: usize,
        rows: &Selection,
    ) -> Result<Chunk<Buffer>> {
        let (stored, missing) = self.stored(node, rows);
        let chunk = self.read_fixed(node, width, &stored)?;
        if missing == 0 {
            return Ok(chunk);
        }
        self.open(node, &stored)?
            .cx
            .check_batch_bytes(rows.len(), width)?;
        let missing = to_usize(missing)?;
        let mut data = MutableBuffer::new((chunk.len + missing) * width);
        data.extend_from_slice(&chunk.values);
        data.extend_zeros(missing * width);
        Ok(Chunk {
            len: chunk.len + missing,
            nulls: Some(pad_nulls(chunk.nulls.as_ref(), chunk.len, missing)),
            values: data.into(),
        })
    }

    fn read_fixed(
        &mut self,
        node: &DataType,
        width: usize,
        rows: &Selection,
    ) -> Result<Chunk<Buffer>> {
        let mut field = self.open(node, rows)?;
        if field.layout.physical.width() != Some(width) {
            return Err(Error::corrupt(format!(
                "{:?} values are not {width} bytes",
                node.basic_type
            )));
        }
        let len = to_usize(rows.len())?;
        let buffers = match &field.layout.storage {
            Storage::Buffers(buffers) => buffers,
            Storage::External(_) => return Err(not_own()),
            Storage::Null => {
                field.cx.check_batch_bytes(rows.len(), width)?;
                let nulls = Some(field.all_null(rows)?);
                let values = MutableBuffer::from_len_zeroed(len * width).into();
                return Ok(Chunk { len, nulls, values });
            }
            Storage::Constant(value) => {
                field.cx.check_batch_bytes(rows.len(), width)?;
                let values = constant_bytes(value, node)?.repeat(len).into();
                return Ok(Chunk {
                    len,
                    nulls: None,
                    values,
                });
            }
        };
        let data = required(buffers.data.as_ref(), "DATA")?;
        let embedded = buffers.embedded_presence;
        let values = match field.layout.physical {
            Physical::Fixed(_) => {
                let (cx, cache) = (&mut field.cx, &mut field.state.strings);
                read_fixed(data, width, embedded, rows, cx, cache)
            }
            _ => field.number(data, width, number_kind(node), embedded, rows),
        }
        .within(|| "DATA buffer".to_owned())?;
        let nulls = field.leaf_nulls(buffers, values.nulls, rows)?;
        Ok(Chunk {
            len,
            nulls,
            values: values.data,
        })
    }

    /// Reads a leaf of numbers as runs of equal values, with the presence of the rows; `None` if the values have to be
    /// decoded one by one.
    pub(in crate::read) fn runs(
        &mut self,
        node: &DataType,
        rows: &Range<u64>,
    ) -> Result<Option<(Runs, Option<NullBuffer>)>> {
        let layout = self.fields.layout(node.schema_id);
        // Runs of values of another type are read as values.
        let is_cast = self.fields.stored_as(node.schema_id).is_some();
        let has_runs = layout.filter(|_| !is_cast).is_some_and(|layout| {
            match (&layout.storage, layout.physical) {
                (Storage::Buffers(buffers), Physical::Number(_)) => {
                    buffers.dictionary.is_none() && rows.end <= layout.positions
                }
                _ => false,
            }
        });
        if !has_runs {
            return Ok(None);
        }
        let selection = Selection::range(rows.clone());
        let mut field = self.open(node, &selection)?;
        let (Storage::Buffers(buffers), Some(width)) =
            (&field.layout.storage, field.layout.physical.width())
        else {
            return Ok(None);
        };
        let data = required(buffers.data.as_ref(), "DATA")?;
        let (cx, cache) = (&mut field.cx, &mut field.state.runs);
        let (kind, elements) = (number_kind(node), rows.clone());
        let runs = match width {
            1 => read_runs::<u8>(data, kind, elements, cx, cache),
            2 => read_runs::<u16>(data, kind, elements, cx, cache),
            4 => read_runs::<u32>(data, kind, elements, cx, cache),
            _ => read_runs::<u64>(data, kind, elements, cx, cache),
        };
        match runs.within(|| "DATA buffer".to_owned())? {
            // Blocks with embedded nulls are not read as runs.
            Some(runs) => Ok(Some((runs, field.leaf_nulls(buffers, None, &selection)?))),
            None => Ok(None),
        }
    }

    /// Finds the blocks of equal byte strings that hold some rows of a leaf. Returns the end of each, with the presence
    /// of the rows; `None` if the values have to be decoded one by one.
    pub(in crate::read) fn equal_blocks(
        &mut self,
        node: &DataType,
        rows: &Range<u64>,
    ) -> Result<Option<(Vec<usize>, Option<NullBuffer>)>> {
        let layout = self.fields.layout(node.schema_id);
        let may_be_equal = layout.is_some_and(|layout| match (&layout.storage, layout.physical) {
            (Storage::Buffers(buffers), Physical::Bytes | Physical::Fixed(_)) => {
                buffers.dictionary.is_none() && rows.end <= layout.positions
            }
            _ => false,
        });
        if !may_be_equal {
            return Ok(None);
        }
        let selection = Selection::range(rows.clone());
        let mut field = self.open(node, &selection)?;
        let Storage::Buffers(buffers) = &field.layout.storage else {
            return Ok(None);
        };
        let data = required(buffers.data.as_ref(), "DATA")?;
        let ends = equal_blocks(data, rows.clone(), &field.cx);
        match ends.within(|| "DATA buffer".to_owned())? {
            Some(ends) => Ok(Some((ends, field.leaf_nulls(buffers, None, &selection)?))),
            None => Ok(None),
        }
    }

    pub(super) fn read_bytes(
        &mut self,
        node: &DataType,
        layout: ByteLayout,
        rows: &Selection,
    ) -> Result<Chunk<ByteValues>> {
        let (rows, missing) = self.stored(node, rows);
        if missing > 0 {
            return Err(Error::unsupported(
                "strings of fixed-size lists whose trailing nulls are not stored",
            ));
        }
        let mut field = self.open(node, &rows)?;
        let len = to_usize(rows.len())?;
        let layout = bytes_layout(layout);
        let (values, nulls) = match &field.layout.storage {
            Storage::Buffers(buffers) => {
                let positions = field.layout.positions;
                let (cx, cache) = (&mut field.cx, &mut field.state.strings);
                let read = read_strings(buffers, positions, layout, &rows, cx, cache)?;
                let nulls = field.leaf_nulls(buffers, read.nulls, &rows)?;
                (read.values, nulls)
            }
            Storage::External(_) => return Err(not_own()),
            Storage::Null => {
                field.cx.check_batch_bytes(rows.len(), 16)?;
                let nulls = field.all_null(&rows)?;
                (
                    Strings::repeated(&[], len, layout, &mut field.cx)?,
                    Some(nulls),
                )
            }
            Storage::Constant(value) => {
                let value = constant_bytes(value, node)?;
                field
                    .cx
                    .check_batch_bytes(rows.len(), value.len().saturating_add(16))?;
                (Strings::repeated(&value, len, layout, &mut field.cx)?, None)
            }
        };
        Ok(Chunk {
            len,
            nulls,
            values: byte_values(values)?,
        })
    }

    pub(super) fn read_dictionary(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Option<DecodedDictionary>> {
        // This runs for every column of every batch, and few columns have a dictionary.
        let Some(entries) = self.fields.dictionary(node.schema_id).cloned() else {
            return Ok(None);
        };
        let mut field = self.open(node, rows)?;
        let Storage::Buffers(buffers) = &field.layout.storage else {
            return Ok(None);
        };
        let data = required(buffers.data.as_ref(), "DATA")?;
        let embedded = buffers.embedded_presence;
        let read = field
            .number(data, 4, NumberKind::Unsigned, embedded, rows)
            .within(|| "DATA buffer".to_owned())?;
        let codes = words::<u32>(&read.data);
        let mut present = field.leaf_nulls(buffers, read.nulls, rows)?;
        if let Some(null_id) = entries.null_id {
            let named = NullBuffer::from_iter(codes.iter().map(|&code| code != null_id));
            present = NullBuffer::union(present.as_ref(), Some(&named));
        }
        let present = present.filter(|nulls| nulls.null_count() > 0);
        Ok(Some(DecodedDictionary::try_new(codes, present, entries)?))
    }
}

/// Returns the error for values in another format where buffers of this format are expected.
fn not_own() -> Error {
    Error::corrupt("the values of the field are in a file of another format")
}

fn bytes_layout(layout: ByteLayout) -> BytesLayout {
    match layout {
        ByteLayout::Offsets32 => BytesLayout::Offsets32,
        ByteLayout::Offsets64 => BytesLayout::Offsets64,
        ByteLayout::Views => BytesLayout::Views,
    }
}

fn byte_values(decoded: Decoded) -> Result<ByteValues> {
    match decoded {
        Decoded::Offsets32(offsets, data) => Ok(ByteValues::Offsets32(offsets, data)),
        Decoded::Offsets64(offsets, data) => Ok(ByteValues::Offsets64(offsets, data)),
        Decoded::Views(views, buffers) => Ok(ByteValues::Views(views, buffers)),
        Decoded::Fixed(_) => Err(Error::corrupt("values of any size were expected")),
    }
}
