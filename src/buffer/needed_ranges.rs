//! Spec: Chapter 6, "Encoded Buffers": which bytes of its buffers some positions of a field need.

use super::Selection;
use super::field_layout::{FieldLayout, Storage};
use super::offsets::offset_width;
use super::physical::Physical;
use super::raw_part::raw_stretches;
use super::stored_buffer::{Body, StoredBuffer, StoredRange};
use crate::error::Result;
use std::ops::Range;

impl StoredBuffer {
    /// Appends the byte ranges that hold the given elements of `width` bytes each. The block map
    /// of a block-based buffer must be loaded.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if there are fewer elements.
    pub fn places_of(
        &self,
        elements: &Selection,
        width: usize,
        out: &mut Vec<StoredRange>,
    ) -> Result<()> {
        let mut push = |relative: Range<u64>| -> Result<()> {
            let range = self.place.range.slice(relative.start, relative.end)?;
            out.push(StoredRange {
                artifact: self.place.artifact,
                range,
            });
            Ok(())
        };
        match &self.body {
            Body::Raw(_) => {
                for stretch in raw_stretches(self, elements, width, true)? {
                    push(stretch.covered)?;
                }
            }
            Body::Blocks(blocks) => {
                let map = blocks.loaded_map()?;
                if elements.end() > map.value_count() {
                    return Err(self.too_few(elements.end(), map.value_count()));
                }
                let (mut next, mut covered) = (0, 0);
                let mut rest = elements.ranges();
                // Most ranges lie in the same block as the previous one.
                while let Some(range) = rest.first() {
                    for block in map.overlapping(range.clone()) {
                        covered = block.values.end;
                        if block.ordinal >= next {
                            next = block.ordinal + 1;
                            push(block.bytes)?;
                        }
                    }
                    let done = rest.partition_point(|range| range.end <= covered);
                    rest = rest.get(done.max(1)..).unwrap_or_default();
                }
            }
        }
        Ok(())
    }
}

impl FieldLayout {
    /// Appends the places that positions of the field need, without the places for its children. Returns
    /// whether more places are needed that only the content of OFFSETS determines: bytes of DATA.
    ///
    /// A list whose items are not wanted needs only its presence.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the field has fewer positions.
    pub fn places_of(
        &self,
        rows: &Selection,
        with_items: bool,
        out: &mut Vec<StoredRange>,
    ) -> Result<bool> {
        let buffers = match &self.storage {
            Storage::Buffers(buffers) => buffers,
            Storage::External(values) => {
                values.places_of(rows, out)?;
                return Ok(false);
            }
            Storage::Null | Storage::Constant(_) => return Ok(false),
        };
        if let Some(presence) = &buffers.presence {
            presence.places_of(&rows.bytes_of_bits(), 1, out)?;
        }
        if let Some(offsets) = &buffers.offsets {
            match self.physical {
                // One offset per position, always of 64 bits.
                Physical::Union => offsets.places_of(rows, 8, out)?,
                Physical::Lists if !with_items => {}
                _ => {
                    let width = offset_width(offsets, self.positions);
                    offsets.places_of(&rows.with_ends(), width, out)?;
                }
            }
        }
        let Some(data) = &buffers.data else {
            return Ok(false);
        };
        match self.physical {
            _ if buffers.dictionary.is_some() => data.places_of(rows, 4, out)?,
            Physical::Bytes if buffers.has_separate_offsets() => return Ok(true),
            Physical::Bits if !data.is_member() => data.places_of(&rows.bytes_of_bits(), 1, out)?,
            physical => data.places_of(rows, physical.width().unwrap_or(1), out)?,
        }
        Ok(false)
    }
}
