//! Spec: Chapter 6, "AnyValue".

use super::{DataRef, decimal128};
use arrow_buffer::i256;
use bytes::Bytes;
use std::cmp::Ordering;

/// A dynamically typed scalar, list or structure, optionally with the name of its semantic type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AnyValue {
    /// The value, or `None` if the message has no kind.
    pub kind: Option<ValueKind>,
    /// Semantic type of the value, for example `hll-v1`.
    pub annotation: Option<String>,
}

/// The variants of an [`AnyValue`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ValueKind {
    /// The null value.
    Null,
    /// A truth value.
    Bool(bool),
    /// An unsigned integer. Also used for the ticks of a DateTime.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// A floating-point number.
    Double(f64),
    /// 100 ns ticks since 0001-01-01T00:00:00 UTC.
    DateTime(u64),
    /// Ticks of 100 ns, in two's complement.
    TimeSpan(u64),
    /// Text.
    String(String),
    /// Bytes.
    Bytes(Bytes),
    /// A decimal128 (DPD), little-endian.
    Decimal([u8; 16]),
    /// A list of values.
    List(Vec<AnyValue>),
    /// Named values.
    Struct(Vec<NameValuePair>),
    /// A reference to a frame that holds the value.
    DataRef(DataRef),
}

/// A named property.
#[derive(Debug, Clone, PartialEq)]
pub struct NameValuePair {
    /// Name of the property.
    pub name: String,
    /// Value of the property, or `None` if the message has none.
    pub value: Option<AnyValue>,
}

impl NameValuePair {
    /// Creates a property.
    pub fn new(name: impl Into<String>, value: impl Into<AnyValue>) -> Self {
        Self {
            name: name.into(),
            value: Some(value.into()),
        }
    }
}

/// Returns the value of the first property with this name.
pub fn find_property<'a>(properties: &'a [NameValuePair], name: &str) -> Option<&'a AnyValue> {
    properties
        .iter()
        .find(|p| p.name == name)
        .and_then(|p| p.value.as_ref())
}

impl AnyValue {
    /// Adds an annotation.
    #[must_use]
    pub fn with_annotation(mut self, annotation: impl Into<String>) -> Self {
        self.annotation = Some(annotation.into());
        self
    }

    /// Returns the null value.
    pub fn null() -> Self {
        ValueKind::Null.into()
    }

    /// Compares two values of the same kind as bounds of a range. -0.0 equals 0.0. Bytes annotated `arrow.decimal` are
    /// compared as little-endian integers. Returns `None` for values of different kinds or annotations, for kinds
    /// without an order, for NaN, and for decimal128 without the feature `decimal`.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        use ValueKind as K;
        match (self.kind.as_ref()?, other.kind.as_ref()?) {
            (K::U64(a), K::U64(b)) | (K::DateTime(a), K::DateTime(b)) => Some(a.cmp(b)),
            (K::I64(a), K::I64(b)) => Some(a.cmp(b)),
            (K::TimeSpan(a), K::TimeSpan(b)) => Some(a.cast_signed().cmp(&b.cast_signed())),
            (K::Double(a), K::Double(b)) => a.partial_cmp(b),
            (K::Bool(a), K::Bool(b)) => Some(a.cmp(b)),
            (K::String(a), K::String(b)) => Some(a.cmp(b)),
            (K::Decimal(a), K::Decimal(b)) => decimal128::compare(*a, *b),
            (K::Bytes(a), K::Bytes(b)) => {
                match (self.annotation.as_deref(), other.annotation.as_deref()) {
                    (None, None) => Some(a.cmp(b)),
                    (Some("arrow.decimal"), Some("arrow.decimal")) => {
                        Some(integer(a)?.cmp(&integer(b)?))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Some(ValueKind::Bool(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the integer, if this is one that fits an `i64`. The kind may be signed or unsigned.
    pub fn as_i64(&self) -> Option<i64> {
        match self.kind {
            Some(ValueKind::I64(value)) => Some(value),
            Some(ValueKind::U64(value)) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    /// Returns the integer, if this is one that fits a `u64`. The kind may be signed or unsigned.
    pub fn as_u64(&self) -> Option<u64> {
        match self.kind {
            Some(ValueKind::U64(value)) => Some(value),
            Some(ValueKind::I64(value)) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// Returns the decimal128 as text, such as `-1.50` or `1E+40`, if this is one. Without the feature `decimal`,
    /// returns its bytes in hexadecimal.
    pub fn to_decimal_text(&self) -> Option<String> {
        match self.kind {
            Some(ValueKind::Decimal(value)) => Some(decimal128::decimal128_text(value)),
            _ => None,
        }
    }

    /// Returns the floating-point number, if this is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self.kind {
            Some(ValueKind::Double(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Some(ValueKind::String(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the bytes, if this is a value of kind [`Bytes`](ValueKind::Bytes). A text is not.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.kind {
            Some(ValueKind::Bytes(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the values, if this is a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.kind {
            Some(ValueKind::List(values)) => Some(values),
            _ => None,
        }
    }

    /// Returns the members, if this is a structure.
    pub fn as_struct(&self) -> Option<&[NameValuePair]> {
        match &self.kind {
            Some(ValueKind::Struct(members)) => Some(members),
            _ => None,
        }
    }

    /// Returns whether this is the null value.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Some(ValueKind::Null))
    }
}

/// Converts 16 or 32 bytes in two's complement to an integer.
fn integer(bytes: &[u8]) -> Option<i256> {
    match bytes.len() {
        16 => Some(i256::from_i128(i128::from_le_bytes(bytes.try_into().ok()?))),
        32 => Some(i256::from_le_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

impl From<ValueKind> for AnyValue {
    fn from(kind: ValueKind) -> Self {
        Self {
            kind: Some(kind),
            annotation: None,
        }
    }
}

macro_rules! from {
    ($($ty:ty => $variant:ident),*) => {
        $(impl From<$ty> for AnyValue {
            fn from(value: $ty) -> Self {
                ValueKind::$variant(value.into()).into()
            }
        })*
    };
}

from!(bool => Bool, u64 => U64, u32 => U64, i64 => I64, i32 => I64, f64 => Double, &str => String,
    String => String, Bytes => Bytes, Vec<u8> => Bytes, Vec<AnyValue> => List,
    Vec<NameValuePair> => Struct);

impl From<&[u8]> for AnyValue {
    fn from(value: &[u8]) -> Self {
        Bytes::copy_from_slice(value).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_given_as_what_it_is_and_as_nothing_else() {
        let text = AnyValue::from("7");
        assert_eq!(text.as_str(), Some("7"));
        assert_eq!((text.as_bytes(), text.as_i64()), (None, None));
        let bytes = AnyValue::from(vec![7u8]);
        assert_eq!((bytes.as_bytes(), bytes.as_str()), (Some(&[7][..]), None));
        let truth = AnyValue::from(true);
        assert_eq!((truth.as_bool(), truth.as_u64()), (Some(true), None));
        let float = AnyValue::from(1.5);
        assert_eq!((float.as_f64(), float.as_i64()), (Some(1.5), None));
        let list = AnyValue::from(vec![text.clone()]);
        assert_eq!(list.as_list(), Some(&[text.clone()][..]));
        assert_eq!(list.as_struct(), None);
        let member = NameValuePair::new("a", 1);
        let structure = AnyValue::from(vec![member.clone()]);
        assert_eq!(structure.as_struct(), Some(&[member][..]));
        assert_eq!(AnyValue::null().as_str(), None);
        assert_eq!(AnyValue::default().as_bool(), None);
    }

    #[test]
    fn integers_are_given_in_each_type_that_holds_them() {
        assert_eq!(AnyValue::from(7u64).as_i64(), Some(7));
        assert_eq!(AnyValue::from(7i64).as_u64(), Some(7));
        assert_eq!(AnyValue::from(u64::MAX).as_i64(), None);
        assert_eq!(AnyValue::from(-1i64).as_u64(), None);
        assert_eq!(AnyValue::from(-1i64).as_i64(), Some(-1));
        assert_eq!(AnyValue::from(1i64).as_f64(), None);
    }
}
