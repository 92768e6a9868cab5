//! Constant fields: their descriptor has the value instead of buffers.

use crate::buffer::Selection;
use crate::column::{
    ByteLayout, ByteValues, Chunk, DecodedDictionary, DecodedLists, DecodedUnions, NodeSource,
    OffsetWidth, Values, assemble,
};
use crate::error::{Error, Result};
use crate::format::{AnyValue, BasicType, DataType, ValueKind};
use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, Field};
use std::fmt::{self, Write};

/// Most bytes of a value that an error shows.
const SHOWN: usize = 80;

/// Shows a value in errors, but only the start of a long one: a few bytes of a file may expand to a long text.
struct Shown<'a>(&'a AnyValue);

/// Writes at most this many bytes, and then fails.
struct Start<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    left: usize,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut start = Start {
            out: f,
            left: SHOWN,
        };
        match write!(start, "{:?}", self.0.kind) {
            Err(_) if start.left == 0 => f.write_str("..."),
            written => written,
        }
    }
}

impl Write for Start<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let shown = text.floor_char_boundary(self.left);
        let (now, rest) = text.split_at_checked(shown).unwrap_or((text, ""));
        self.out.write_str(now)?;
        if rest.is_empty() {
            self.left -= now.len();
            Ok(())
        } else {
            self.left = 0;
            Err(fmt::Error)
        }
    }
}

/// Returns the bytes of a constant, in the form of a raw buffer.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the value does not have the node's type.
pub(in crate::read) fn constant_bytes(value: &AnyValue, node: &DataType) -> Result<Vec<u8>> {
    use BasicType as T;
    let misfit = || {
        Error::corrupt(format!(
            "the constant {} is no {:?} value",
            Shown(value),
            node.basic_type
        ))
    };
    let kind = value.kind.as_ref().ok_or_else(misfit)?;
    let bytes = match (node.basic_type, kind) {
        (T::Int8 | T::Int16 | T::Int32 | T::Int64, ValueKind::I64(v)) if node.signed => {
            integer(node.basic_type, *v)
        }
        (T::Int64, ValueKind::TimeSpan(ticks)) if node.signed => Some(ticks.to_le_bytes().to_vec()),
        (T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::DateTime, ValueKind::U64(v))
            if !node.signed =>
        {
            unsigned(node.basic_type, *v)
        }
        (T::DateTime, ValueKind::DateTime(ticks)) => Some(ticks.to_le_bytes().to_vec()),
        (T::Float64, ValueKind::Double(v)) => Some(v.to_le_bytes().to_vec()),
        (T::Float32, ValueKind::Double(v)) => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "compared with the double below"
            )]
            let narrow = *v as f32;
            let exact = f64::from(narrow).to_bits() == v.to_bits();
            exact.then(|| narrow.to_le_bytes().to_vec())
        }
        (T::String, ValueKind::String(text)) => Some(text.as_bytes().to_vec()),
        (T::Binary | T::String, ValueKind::Bytes(bytes)) => Some(bytes.to_vec()),
        (T::FixedSizeBinary | T::Guid, ValueKind::Bytes(bytes))
            if bytes.len() as u64
                == node
                    .fixed_size
                    .max(if node.basic_type == T::Guid { 16 } else { 0 }) =>
        {
            Some(bytes.to_vec())
        }
        (T::FixedSizeBinary, ValueKind::Decimal(bytes)) if node.fixed_size == 16 => {
            Some(bytes.to_vec())
        }
        _ => None,
    };
    bytes.ok_or_else(misfit)
}

fn integer(basic_type: BasicType, v: i64) -> Option<Vec<u8>> {
    match basic_type {
        BasicType::Int8 => Some(i8::try_from(v).ok()?.to_le_bytes().to_vec()),
        BasicType::Int16 => Some(i16::try_from(v).ok()?.to_le_bytes().to_vec()),
        BasicType::Int32 => Some(i32::try_from(v).ok()?.to_le_bytes().to_vec()),
        _ => Some(v.to_le_bytes().to_vec()),
    }
}

fn unsigned(basic_type: BasicType, v: u64) -> Option<Vec<u8>> {
    match basic_type {
        BasicType::Int8 => Some(u8::try_from(v).ok()?.to_le_bytes().to_vec()),
        BasicType::Int16 => Some(u16::try_from(v).ok()?.to_le_bytes().to_vec()),
        BasicType::Int32 => Some(u32::try_from(v).ok()?.to_le_bytes().to_vec()),
        _ => Some(v.to_le_bytes().to_vec()),
    }
}

/// Returns the size of a constant of variable size in bytes; 0 for types of a fixed size.
pub(super) fn constant_len(value: &AnyValue) -> u64 {
    match &value.kind {
        Some(ValueKind::String(text)) => text.len() as u64,
        Some(ValueKind::Bytes(bytes)) => bytes.len() as u64,
        _ => 0,
    }
}

/// Returns the truth value of a constant.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a Boolean.
pub(in crate::read) fn constant_bool(value: &AnyValue) -> Result<bool> {
    match value.kind {
        Some(ValueKind::Bool(v)) => Ok(v),
        _ => Err(Error::corrupt(format!(
            "the constant {} is no Boolean value",
            Shown(value)
        ))),
    }
}

/// Checks that a value of a descriptor has the node's type, if the node is a leaf.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if it does not.
pub(in crate::read) fn check_value(value: &AnyValue, node: &DataType) -> Result<()> {
    use BasicType as T;
    match node.basic_type {
        T::Unit | T::Struct | T::List | T::FixedSizeList | T::Map | T::Union => Ok(()),
        T::Boolean => constant_bool(value).map(|_| ()),
        _ => {
            let bytes = constant_bytes(value, node)?;
            if node.basic_type == T::String && std::str::from_utf8(&bytes).is_err() {
                Err(Error::corrupt("the bytes of the constant are no UTF-8"))
            } else {
                Ok(())
            }
        }
    }
}

/// Largest fixed size, in bytes, to which a truncated bound is padded: a schema alone must not make a reader allocate
/// much memory.
const MAX_FILLED_BYTES: u64 = 1024;

/// Returns a bound of range statistics as a value of the node; `None` if the node has no such value. The bound is
/// itself one of the values if `inclusive` is true.
///
/// * Half-precision numbers are stored as integers. Only bounds that are numbers are in their order.
/// * A truncated bound of values with a fixed size is padded with zeros. A value above or below the truncated bytes
///   differs from them in one of these bytes, or begins with them. So it is not below a padded lower bound, but may
///   equal it, and it is below a padded upper bound.
pub(in crate::read) fn bound_value(
    bound: &AnyValue,
    inclusive: bool,
    node: &DataType,
) -> Option<AnyValue> {
    let is_fixed = node.basic_type == BasicType::FixedSizeBinary && node.label().is_empty();
    match &bound.kind {
        Some(ValueKind::Double(number)) if node.label() == "arrow.float16" => {
            Some(u64::from(half::f16::from_f64(*number).to_bits()).into())
        }
        _ if node.label() == "arrow.float16" => None,
        Some(ValueKind::Bytes(bytes))
            if is_fixed && !inclusive && (bytes.len() as u64) < node.fixed_size =>
        {
            if node.fixed_size > MAX_FILLED_BYTES {
                return None;
            }
            let mut filled = bytes.to_vec();
            filled.resize(usize::try_from(node.fixed_size).ok()?, 0);
            Some(filled.as_slice().into())
        }
        _ => Some(bound.clone()),
    }
}

/// Returns a value of a descriptor as an array of length 1.
///
/// # Errors
/// Returns the errors of [`constant_bytes`]. Also fails if the Arrow type cannot hold the value.
pub(in crate::read) fn constant_array(
    value: &AnyValue,
    node: &DataType,
    data_type: &ArrowType,
) -> Result<ArrayRef> {
    let values = match node.basic_type {
        BasicType::Boolean => {
            let bit = constant_bool(value)?;
            Values::Bits(BooleanBuffer::collect_bool(1, |_| bit))
        }
        BasicType::String | BasicType::Binary => {
            let bytes = constant_bytes(value, node)?;
            let offsets = OffsetBuffer::from_lengths([bytes.len()]);
            Values::Bytes(ByteValues::Offsets64(offsets, bytes.into()))
        }
        _ => {
            let data = Buffer::from(constant_bytes(value, node)?);
            let width = data.len();
            Values::Fixed { width, data }
        }
    };
    let (len, nulls) = (1, None);
    leaf_array(Chunk { len, nulls, values }, node, data_type)
}

/// Returns stored values of a leaf as an array.
///
/// # Errors
/// Fails if the values do not fit the node, or if the Arrow type cannot hold them.
pub(in crate::read) fn leaf_array(
    values: Chunk<Values>,
    node: &DataType,
    data_type: &ArrowType,
) -> Result<ArrayRef> {
    let field = Field::new(&node.name, data_type.clone(), true);
    let rows = Selection::range(0..values.len as u64);
    assemble(&field, node, &rows, &mut GivenValues(values))
}

/// A leaf with given values; every read covers all of them.
struct GivenValues(Chunk<Values>);

impl GivenValues {
    fn chunk<V>(&self, values: V) -> Chunk<V> {
        Chunk {
            len: self.0.len,
            nulls: self.0.nulls.clone(),
            values,
        }
    }
}

fn misfit(node: &DataType) -> Error {
    Error::corrupt(format!(
        "the values are none of a {:?} node",
        node.basic_type
    ))
}

impl NodeSource for GivenValues {
    fn check_bytes(&self, _: u64) -> Result<()> {
        Ok(())
    }

    fn bits(&mut self, node: &DataType, _: &Selection) -> Result<Chunk<BooleanBuffer>> {
        match &self.0.values {
            Values::Bits(bits) => Ok(self.chunk(bits.clone())),
            _ => Err(misfit(node)),
        }
    }

    fn fixed(&mut self, node: &DataType, width: usize, _: &Selection) -> Result<Chunk<Buffer>> {
        match &self.0.values {
            Values::Fixed { width: given, data } if *given == width => Ok(self.chunk(data.clone())),
            _ => Err(misfit(node)),
        }
    }

    fn bytes(
        &mut self,
        node: &DataType,
        _: ByteLayout,
        _: &Selection,
    ) -> Result<Chunk<ByteValues>> {
        match &self.0.values {
            Values::Bytes(values) => Ok(self.chunk(values.clone())),
            _ => Err(misfit(node)),
        }
    }

    fn dictionary(&mut self, _: &DataType, _: &Selection) -> Result<Option<DecodedDictionary>> {
        Ok(None)
    }

    fn presence(&mut self, node: &DataType, _: &Selection) -> Result<Option<NullBuffer>> {
        Err(misfit(node))
    }

    fn lists(&mut self, node: &DataType, _: OffsetWidth, _: &Selection) -> Result<DecodedLists> {
        Err(misfit(node))
    }

    fn unions(&mut self, node: &DataType, _: &Selection) -> Result<DecodedUnions> {
        Err(misfit(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_has_the_bytes_of_its_type_or_is_an_error() {
        let mut node = DataType::new(BasicType::Int16, "a");
        node.signed = true;
        assert_eq!(
            constant_bytes(&AnyValue::from(-2i64), &node).unwrap(),
            [0xfe, 0xff]
        );
        assert!(constant_bytes(&AnyValue::from(70_000i64), &node).is_err());
        assert!(constant_bytes(&AnyValue::from(2u64), &node).is_err());
        let float = DataType::new(BasicType::Float32, "f");
        let minus_zero = constant_bytes(&AnyValue::from(-0.0), &float).unwrap();
        assert_eq!(minus_zero, (-0.0f32).to_le_bytes());
        assert!(
            constant_bytes(&AnyValue::from(0.1), &float).is_err(),
            "not a float32"
        );
        assert!(constant_bool(&AnyValue::from(1u64)).is_err());
    }

    #[test]
    fn errors_show_the_start_of_a_long_value() {
        let told = |value: &AnyValue| constant_bool(value).unwrap_err().to_string();
        let short = told(&AnyValue::from(1u64));
        assert!(short.contains("the constant Some(U64(1)) is no"), "{short}");
        let value = |kind| AnyValue {
            kind,
            annotation: None,
        };
        let text = ValueKind::String("ä".repeat(1000));
        let list = ValueKind::List(vec![value(None); 1000]);
        for kind in [text, list] {
            let long = told(&value(Some(kind)));
            assert!(long.contains("... is no"), "{long}");
            assert!(long.len() < SHOWN + 60, "{long}");
        }
    }

    #[test]
    fn a_cut_bound_is_filled_up_to_a_fixed_size_within_limits() {
        let mut node = DataType::new(BasicType::FixedSizeBinary, "f");
        let bound = AnyValue::from(&[7u8, 8][..]);
        for (size, filled) in [(4, Some(vec![7, 8, 0, 0])), (1 << 40, None)] {
            node.fixed_size = size;
            let expected = filled.map(|bytes| AnyValue::from(bytes.as_slice()));
            assert_eq!(bound_value(&bound, false, &node), expected);
            // If it claims to be a value, the bound is not padded and has no such value.
            let kept = bound_value(&bound, true, &node).unwrap();
            assert!(constant_bytes(&kept, &node).is_err());
        }
    }
}
