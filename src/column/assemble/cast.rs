//! From the natural type of a leaf to the one that was asked for.

use super::super::mismatch;
use crate::error::{Error, ErrorKind, Result};
use crate::format::DataType;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::DataType as ArrowType;

/// Gives an array of the natural type of a number or time the type that was asked for.
///
/// # Errors
/// [`ErrorKind::SchemaMismatch`] if there is no such conversion, [`ErrorKind::ValueOutOfRange`] if
/// a value is outside the range of the other type. Fractions are cut off.
pub(super) fn number(array: ArrayRef, wanted: &ArrowType, node: &DataType) -> Result<ArrayRef> {
    let from = array.data_type();
    if from == wanted {
        return Ok(array);
    }
    if let (ArrowType::Timestamp(unit, zone), ArrowType::Timestamp(_, wanted_zone)) = (from, wanted)
        && zone != wanted_zone
    {
        // An instant stays what it is in another time zone; a cast would shift local times.
        let relabelled = ArrowType::Timestamp(*unit, wanted_zone.clone());
        let data = array.to_data().into_builder().data_type(relabelled);
        return number(make_array(data.build()?), wanted, node);
    }
    let is_number = |t: &ArrowType| t.is_primitive() || *t == ArrowType::Boolean;
    if !is_number(from) || !is_number(wanted) || !can_cast_types(from, wanted) {
        return Err(mismatch(wanted, node));
    }
    checked(&array, wanted)
}

/// A cast that refuses values that the other type cannot hold.
pub(super) fn checked(array: &dyn Array, wanted: &ArrowType) -> Result<ArrayRef> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(array, wanted, &options).map_err(|e| {
        let message = format!("a {} cannot become a {wanted}: {e}", array.data_type());
        Error::new(ErrorKind::ValueOutOfRange, message)
    })
}
