//! Spec: Chapter 6, "AnyValue".

use super::{DataRef, decimal128};
use arrow_buffer::i256;
use bytes::Bytes;
use std::cmp::Ordering;

/// A dynamically typed scalar, list or structure, with an optional name of its semantic type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AnyValue {
    /// The value; `None` if the message carries no kind.
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
    /// An unsigned integer; also ticks of a DateTime.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// A floating-point number.
    Double(f64),
    /// 100 ns ticks since 0001-01-01T00:00:00 UTC.
    DateTime(u64),
    /// 100 ns ticks, two's complement.
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
    /// Value of the property; `None` if the message carries none.
    pub value: Option<AnyValue>,
}

impl NameValuePair {
    /// A property.
    pub fn new(name: impl Into<String>, value: impl Into<AnyValue>) -> Self {
        Self {
            name: name.into(),
            value: Some(value.into()),
        }
    }
}

/// The value of the first property of that name.
pub fn find_property<'a>(properties: &'a [NameValuePair], name: &str) -> Option<&'a AnyValue> {
    properties
        .iter()
        .find(|p| p.name == name)
        .and_then(|p| p.value.as_ref())
}

impl AnyValue {
    /// A value with an annotation.
    #[must_use]
    pub fn with_annotation(mut self, annotation: impl Into<String>) -> Self {
        self.annotation = Some(annotation.into());
        self
    }

    /// The null value.
    pub fn null() -> Self {
        ValueKind::Null.into()
    }

    /// The order of two values of one kind, as bounds of a range: the zeros are equal, and bytes
    /// annotated `arrow.decimal` are integers. `None` for values of different kinds, of kinds
    /// without order, and for NaN.
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

    /// Whether this is the null value.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Some(ValueKind::Null))
    }
}

/// An integer of 16 or 32 bytes in two's complement.
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
