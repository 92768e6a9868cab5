//! Spec: Chapter 6, "List Encoding" and "Primitive Variable-Sized Encoding".
//!
//! Offsets of lists, and of byte strings that are stored separately from their offsets.

use super::read_context::ReadContext;
use super::stored_buffer::{Body, StoredBuffer};
use super::stream::{BlockCache, Numbers, read_numbers};
use super::{Selection, words};
use crate::encoding::NumberKind;
use crate::error::{Error, Result, Within, to_usize};
use crate::kernels::is_ascending;

/// The items of lists, or the bytes of values, as OFFSETS determines them for some positions.
#[derive(Debug, Clone)]
pub struct Spans {
    /// Positions of the items, or of bytes.
    pub items: Selection,
    /// Where the items of each position start among the selected ones, followed by the end of the last one.
    pub ends: Vec<u64>,
}

impl Default for Spans {
    fn default() -> Self {
        Self {
            items: Selection::default(),
            ends: vec![0],
        }
    }
}

/// Recently decoded offsets.
#[derive(Debug, Default)]
pub struct OffsetsCache {
    blocks: BlockCache<Numbers>,
    /// Positions that were decoded ahead, to find out which items to fetch.
    ahead: Option<(Selection, Spans)>,
}

impl OffsetsCache {
    /// Returns the spans of some positions if they were decoded ahead.
    fn take(&mut self, rows: &Selection) -> Option<Spans> {
        let (decoded, spans) = self.ahead.as_ref()?;
        if decoded == rows {
            return self.ahead.take().map(|(_, spans)| spans);
        }
        let (decoded, rows) = (decoded.as_range()?, rows.as_range()?);
        let skipped = usize::try_from(rows.start.checked_sub(decoded.start)?).ok()?;
        let len = usize::try_from(rows.end - rows.start).ok()?;
        let ends = spans.ends.get(skipped..)?.get(..=len)?;
        let (&first, &last) = ends.first().zip(ends.last())?;
        Some(Spans {
            items: spans.items.slice(first..last),
            ends: ends.iter().map(|end| end - first).collect(),
        })
    }
}

impl Spans {
    /// Reads the spans of `rows` from the OFFSETS buffer of a field with `positions` positions.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if offsets do not ascend, and the errors of reading damaged bytes.
    pub fn read(
        buffer: &StoredBuffer,
        positions: u64,
        rows: &Selection,
        cx: &mut ReadContext<'_>,
        cache: &mut OffsetsCache,
    ) -> Result<Self> {
        if let Some(spans) = cache.take(rows) {
            return Ok(spans);
        }
        let stored = read_offsets(buffer, positions, &rows.with_ends(), cx, &mut cache.blocks)?;
        let mut rest = stored.as_slice();
        let Self {
            mut items,
            mut ends,
        } = Self::default();
        ends.reserve(to_usize(rows.len())?);
        for range in rows.ranges() {
            let len = to_usize(range.end - range.start)?;
            let (Some((&first, own)), Some(later)) = (rest.split_first(), rest.get(len + 1..))
            else {
                return Err(Error::corrupt(format!(
                    "expected {} offsets, found {}",
                    len + 1,
                    rest.len()
                )));
            };
            let own = own.get(..len).unwrap_or_default();
            let before = items.len();
            ends.extend(own.iter().map(|end| end - first + before));
            items.push(first..own.last().copied().unwrap_or(first));
            rest = later;
        }
        Ok(Self { items, ends })
    }

    /// Returns the items of positions that are read next, as a whole or in consecutive parts. Offsets from blocks
    /// are kept, so that they are decoded only once.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if offsets do not ascend, and the errors of reading damaged bytes.
    pub fn items_ahead(
        buffer: &StoredBuffer,
        positions: u64,
        rows: &Selection,
        cx: &mut ReadContext<'_>,
        cache: &mut OffsetsCache,
    ) -> Result<Selection> {
        if let Some((decoded, spans)) = &cache.ahead
            && decoded == rows
        {
            return Ok(spans.items.clone());
        }
        let spans = Self::read(buffer, positions, rows, cx, cache)?;
        let items = spans.items.clone();
        if let Body::Blocks(_) = &buffer.body {
            cache.ahead = Some((rows.clone(), spans));
        }
        Ok(items)
    }
}

/// Reads elements of the OFFSETS buffer of a field with `positions` positions: raw u32 or u64,
/// or blocks of u64.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if offsets do not ascend, and the errors of reading damaged bytes.
fn read_offsets(
    buffer: &StoredBuffer,
    positions: u64,
    elements: &Selection,
    cx: &mut ReadContext<'_>,
    cache: &mut BlockCache<Numbers>,
) -> Result<Vec<u64>> {
    let kind = NumberKind::Unsigned;
    let offsets = if is_narrow(buffer, positions) {
        let read = read_numbers::<u32>(buffer, kind, false, elements, cx, cache);
        let read = read.within(|| "OFFSETS buffer".to_owned())?;
        words::<u32>(&read.data)
            .iter()
            .map(|&o| u64::from(o))
            .collect()
    } else {
        let read = read_numbers::<u64>(buffer, kind, false, elements, cx, cache);
        let read = read.within(|| "OFFSETS buffer".to_owned())?;
        words::<u64>(&read.data).to_vec()
    };
    if !is_ascending(&offsets) {
        return Err(Error::corrupt("offsets do not ascend").within("OFFSETS buffer"));
    }
    Ok(offsets)
}

/// Returns the bytes per element of an OFFSETS buffer.
pub fn offset_width(buffer: &StoredBuffer, positions: u64) -> usize {
    if is_narrow(buffer, positions) { 4 } else { 8 }
}

fn is_narrow(buffer: &StoredBuffer, positions: u64) -> bool {
    let narrow = positions.checked_add(1).and_then(|n| n.checked_mul(4));
    matches!(buffer.body, Body::Raw(_)) && narrow == Some(buffer.place.range.len())
}
