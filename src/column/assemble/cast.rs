//! Casts from the natural type of a leaf to the requested type.

use super::super::mismatch;
use super::super::schema::NativeType;
use super::offsets::{byte_len, check_offsets32};
use crate::arrow::{child_fields, value_type};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BasicType, DataType};
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::array_value_to_string;
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{ArrowError, DataType as ArrowType, Field, TimeUnit};

/// Casts of a column's values to other types, as `arrow-cast` defines them. A value without a counterpart in the other
/// type is an error, not a null.
#[derive(Debug, Clone, Default)]
pub struct Casts {
    is_strict: bool,
    /// The Arrow types that native leaves were written in, by schema id. Other native leaves are converted from their
    /// storage to the requested type directly.
    natives: Vec<(u32, ArrowType)>,
}

impl Casts {
    /// Returns casts for a column. With `is_strict`, a value that does not survive a cast there and back is an error.
    /// `own` is the field of the writer, if known.
    pub fn new(is_strict: bool, own: Option<&Field>, node: &DataType) -> Self {
        let mut natives = Vec::new();
        if let Some(own) = own {
            find_natives(own.data_type(), node, &mut natives);
        }
        Self { is_strict, natives }
    }

    /// Returns whether a value that does not survive a cast there and back is an error.
    pub(crate) fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Returns the Arrow type that a native leaf was written in, if it differs from the requested type.
    pub(super) fn written(&self, node: &DataType, wanted: &ArrowType) -> Option<&ArrowType> {
        let (_, own) = self.natives.iter().find(|(id, _)| *id == node.schema_id)?;
        (own != wanted).then_some(own)
    }

    /// Returns the type from which values of a byte node are cast to a type that is not a byte type.
    pub(super) fn bytes_type(&self, node: &DataType, wanted: &ArrowType) -> ArrowType {
        match (self.written(node, wanted), node.basic_type) {
            (Some(own), _) => own.clone(),
            (None, BasicType::String) => ArrowType::LargeUtf8,
            (None, _) => ArrowType::LargeBinary,
        }
    }

    /// Casts an array of a leaf to the requested type.
    ///
    /// # Errors
    /// Returns [`ErrorKind::SchemaMismatch`] if the types cannot be cast, [`ErrorKind::ValueOutOfRange`] if a value has
    /// no counterpart in the other type, and [`ErrorKind::OffsetOverflow`] if text needs wider offsets.
    pub(super) fn leaf(
        &self,
        array: ArrayRef,
        wanted: &ArrowType,
        node: &DataType,
    ) -> Result<ArrayRef> {
        let from = array.data_type();
        if from == wanted {
            return Ok(array);
        }
        if from.is_nested() || wanted.is_nested() || !can_cast_types(from, wanted) {
            return Err(mismatch(wanted, node));
        }
        if !self.is_strict {
            return checked(&array, wanted);
        }
        if !can_cast_types(wanted, from) {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!("a strict cast of {from} to {wanted} needs a cast back, and there is none"),
            ));
        }
        let cast = checked(&array, wanted)?;
        check_unchanged(&array, &cast)?;
        Ok(cast)
    }
}

/// Collects the Arrow types of native leaves; `own` is the type of the node.
fn find_natives(own: &ArrowType, node: &DataType, natives: &mut Vec<(u32, ArrowType)>) {
    let own = value_type(own);
    for (field, child) in child_fields(own).zip(&node.children) {
        find_natives(field.data_type(), child, natives);
    }
    if !own.is_nested() && NativeType::of(node).is_some() {
        natives.push((node.schema_id, own.clone()));
    }
}

/// Casts an array, and refuses values that the other type cannot represent.
pub(super) fn checked(array: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef> {
    let wide = match wanted {
        ArrowType::Utf8 => Some(ArrowType::LargeUtf8),
        ArrowType::Binary => Some(ArrowType::LargeBinary),
        _ => None,
    };
    // `arrow-cast` panics if offsets overflow while it formats numbers as text.
    if let Some(wide) = wide
        && *array.data_type() != wide
        && array.len() > MAX_SHORT_TEXTS
    {
        let array = checked(array, &wide)?;
        check_offsets32(byte_len(&array))?;
        return checked(&array, wanted);
    }
    cast(array, wanted).map_err(|e| {
        let message = format!("{} cannot be cast to {wanted}: {e}", kind_of(array));
        Error::new(ErrorKind::ValueOutOfRange, message)
    })
}

/// Returns the name of an array's type for errors. Text and bytes may have another type than the column by the time
/// they are cast.
fn kind_of(array: &ArrayRef) -> String {
    match array.data_type() {
        text if text.is_string() => "text".to_owned(),
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => "bytes".to_owned(),
        other => other.to_string(),
    }
}

/// Most values to format as text with 32-bit offsets without a check: the offsets leave 512 bytes for each value, more
/// than the text of any number needs.
const MAX_SHORT_TEXTS: usize = 1 << 22;

/// Casts an array with `arrow-cast`. Where its arithmetic would wrap around, the cast goes through intermediate types
/// that avoid this.
fn cast(array: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef, ArrowError> {
    use ArrowType::{
        Date64, Decimal32, Decimal64, Decimal128, Duration, Int32, Int64, Time32, Time64, Timestamp,
    };
    let way = match (array.data_type(), wanted) {
        (Date64, Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _)) => {
            vec![Timestamp(TimeUnit::Millisecond, None)]
        }
        (Time64(from), Time64(to)) => vec![Int64, Duration(*from), Duration(*to), Int64],
        (Time64(from), Time32(to)) => vec![Int64, Duration(*from), Duration(*to), Int64, Int32],
        (from, Decimal32(_, scale) | Decimal64(_, scale))
            if from.is_integer() || matches!(from, Timestamp(..) | Duration(_)) =>
        {
            vec![Decimal128(38, *scale)]
        }
        _ => Vec::new(),
    };
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let mut array = array.clone();
    for step in way.iter().chain([wanted]) {
        array = cast_with_options(&array, step, &options)?;
    }
    Ok(array)
}

/// Refuses a cast that changed a value: casting back must give the original array.
fn check_unchanged(array: &ArrayRef, cast_array: &ArrayRef) -> Result<()> {
    match cast(cast_array, array.data_type()) {
        Ok(back) if &back == array => return Ok(()),
        Err(e) if array.is_empty() => return Err(e.into()),
        _ => {}
    }
    let differs = |row: &usize| {
        let one = |array: &ArrayRef| array.slice(*row, 1);
        let back = cast(&one(cast_array), array.data_type());
        !back.is_ok_and(|back| back == one(array))
    };
    let row = (0..array.len()).find(differs).unwrap_or_default();
    let shown = |array: &ArrayRef| match array_value_to_string(array, row) {
        Ok(text) => format!("`{text}`"),
        Err(_) => "what has no text".to_owned(),
    };
    Err(Error::new(
        ErrorKind::ValueOutOfRange,
        // The caller adds the range of rows, so this is not a row number.
        format!(
            "value {row} of these: a strict cast of {} to {} would change {} to {}",
            kind_of(array),
            cast_array.data_type(),
            shown(array),
            shown(cast_array)
        ),
    ))
}
