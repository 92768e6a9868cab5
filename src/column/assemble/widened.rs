//! Values of shards with another type than their table, which unites the types of several shards.

use super::super::StoredAs;
use super::{Assembler, Casts};
use crate::buffer::Selection;
use crate::error::{Result, Within};
use crate::format::DataType;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;

impl Assembler<'_> {
    /// Returns the values of a leaf that is stored with another type, cast to the type of the table and then to the
    /// requested type.
    pub(super) fn widened(
        &mut self,
        wanted: &ArrowType,
        node: &DataType,
        stored: &StoredAs,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let casts = Casts::new(true, None, &stored.node);
        let mut inner = Assembler {
            source: &mut *self.source,
            casts: &casts,
            depth: self.depth,
        };
        let array = inner.own(&stored.own, &stored.node, rows)?;
        let width = stored.wide.primitive_width().unwrap_or(size_of::<u128>()) as u64;
        let bytes = width.saturating_mul(array.len() as u64);
        inner.source.check_bytes(bytes)?;
        let array = widen(array, stored).within(|| stored.place.clone())?;
        self.cast(array, wanted, node)
    }
}

/// Casts values of a leaf to the type of the table.
///
/// # Errors
/// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange) if the wider type does not hold a value exactly: an
/// integer above 2^53 as a float, or a date that a unit of time does not reach.
pub(crate) fn widen(array: ArrayRef, stored: &StoredAs) -> Result<ArrayRef> {
    let from = array.data_type();
    // All other casts to a wider type either fail or keep the value, so casting back would only cost time.
    let may_round =
        matches!(from, ArrowType::Int64 | ArrowType::UInt64) && stored.wide.is_floating();
    let casts = Casts::new(may_round, None, &stored.node);
    casts.leaf(array, &stored.wide, &stored.node)
}
