//! Spec: docs/format.md, "Range indexes": indexes from the ranges of pages, which another format has computed.

use crate::buffer::RangeIndexInput;
use crate::column::{Chunk, Values};
use crate::error::Result;
use crate::format::DataType;
use crate::stats::PageRanges;
use crate::write::choose::settings::Settings;

pub(crate) use crate::stats::PageNulls;

/// The pages of a leaf, in the order of their positions.
#[derive(Debug)]
pub(crate) struct IndexedPages {
    /// Number of positions of each page, and their nulls.
    pub(crate) positions: Vec<(u64, PageNulls)>,
    /// A value for each page that is the least one or below it; null if none is known.
    pub(crate) least: Chunk<Values>,
    /// A value for each page that is the greatest one or above it; null if none is known.
    pub(crate) greatest: Chunk<Values>,
}

/// Whether a leaf with this number of positions may have a range index.
pub(in crate::write) fn is_indexed(node: &DataType, positions: u64) -> bool {
    PageRanges::new(node, positions).is_some()
}

/// Returns the bytes of a range index of a leaf, or `None` if it gets none.
pub(in crate::write) fn encode(
    node: &DataType,
    pages: &IndexedPages,
    settings: &Settings,
) -> Result<Option<Vec<u8>>> {
    let lens = pages.positions.iter().map(|(len, _)| *len);
    let Some(mut ranges) = PageRanges::new(node, lens.fold(0, u64::saturating_add)) else {
        return Ok(None);
    };
    for (page, (len, nulls)) in pages.positions.iter().enumerate() {
        let bounds = value(&pages.least, page).zip(value(&pages.greatest, page));
        ranges.add(*len, *nulls, bounds);
    }
    let Some(index) = ranges.finish() else {
        return Ok(None);
    };
    let input = RangeIndexInput {
        basic_type: node.basic_type,
        signed: node.signed,
        as_numbers: settings.capabilities.every_nesting,
        positions: index.positions,
        minimums: &index.minimums,
        maximums: &index.maximums,
        invalid: &index.invalid,
    };
    input.encode(settings).map(Some)
}

/// Returns a stored value of a fixed size.
fn value(chunk: &Chunk<Values>, i: usize) -> Option<&[u8]> {
    let is_null = chunk.nulls.as_ref().is_some_and(|nulls| nulls.is_null(i));
    match &chunk.values {
        Values::Fixed { width, data } if !is_null => {
            let start = i.checked_mul(*width)?;
            data.get(start..start.checked_add(*width)?)
        }
        _ => None,
    }
}
