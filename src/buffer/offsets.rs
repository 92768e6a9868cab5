//! Spec: Chapter 6, "List Encoding" and "Primitive Variable-Sized Encoding".
//!
//! Offsets of lists and of byte values that are stored apart from them.

use super::stored_buffer::{Body, StoredBuffer};
use super::stream::{BlockCache, Numbers, ReadContext, read_numbers};
use super::{Selection, words};
use crate::encoding::NumberKind;
use crate::error::{Error, Result, Within, to_usize};
use crate::kernels::is_ascending;

/// Where the items of lists are, or the bytes of values: what OFFSETS says of some positions.
#[derive(Debug, Clone)]
pub struct Spans {
    /// The items, or bytes.
    pub items: Selection,
    /// Where those of each position begin among these, and those of the last one end.
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

/// What was decoded of an OFFSETS buffer last.
#[derive(Debug, Default)]
pub struct OffsetsCache {
    blocks: BlockCache<Numbers>,
    /// Positions that were looked at to find out which items to fetch.
    ahead: Option<(Selection, Spans)>,
}

impl OffsetsCache {
    /// What was decoded ahead of some positions.
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
    /// What an OFFSETS buffer of a field with `positions` positions says of some of them.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if they do not ascend, or those of damaged bytes.
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

    /// The items of positions that are read next, or in parts one after the other. Blocks that are
    /// decoded for this are not decoded again then.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if they do not ascend, or those of damaged bytes.
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

/// The given elements of an OFFSETS buffer of a field with `positions` positions: raw u32 or u64,
/// or blocks of u64.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if they do not ascend, or those of damaged bytes.
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

/// Bytes of an element of an OFFSETS buffer.
pub fn offset_width(buffer: &StoredBuffer, positions: u64) -> usize {
    if is_narrow(buffer, positions) { 4 } else { 8 }
}

fn is_narrow(buffer: &StoredBuffer, positions: u64) -> bool {
    let narrow = positions.checked_add(1).and_then(|n| n.checked_mul(4));
    matches!(buffer.body, Body::Raw(_)) && narrow == Some(buffer.place.range.len())
}
