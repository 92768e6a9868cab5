//! Spec: docs/format.md, "Range indexes": indexes that `ops` writes without writing the field.

use super::field::page_index::{IndexedPages, encode, is_indexed};
use super::options::WriterOptions;
use crate::error::Result;
use crate::format::DataType;

/// Whether a leaf with this number of positions may have a range index.
pub(crate) fn may_have_index(node: &DataType, positions: u64) -> bool {
    is_indexed(node, positions)
}

/// Returns the bytes of a range index of a leaf from the ranges of pages, or `None` if it gets none.
pub(crate) fn page_index(node: &DataType, pages: &IndexedPages) -> Result<Option<Vec<u8>>> {
    encode(node, pages, &WriterOptions::default().of_all())
}
