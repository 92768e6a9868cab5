//! Literals: single values of any Arrow type.

use super::time_word::TimeWord;
use super::value::{bytes, double, hex};
use crate::error::{Error, Result};
use arrow_array::types::{
    ArrowPrimitiveType, ByteArrayType, ByteViewType, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Datum, GenericByteArray, GenericByteViewArray,
    NullArray, PrimitiveArray, Scalar, StringArray,
};
use arrow_buffer::i256;
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DECIMAL256_MAX_PRECISION, DataType};
use std::fmt;
use std::sync::Arc;

/// A value to compare a column with; created by [`lit`], [`Literal::parse`] and [`Literal::try_new`]. It keeps its type
/// and is compared by its value: `Int8 < 1000` is true, `Int32 = 1.5` false. Text compared with a time, date, decimal
/// or UUID is read as one, and the text `NaN` or `Infinity` as a float if the column has floats. An integer compared
/// with a duration counts the units of the column.
#[derive(Debug, Clone)]
pub struct Literal {
    /// An array of length 1, not of a dictionary or of runs.
    value: ArrayRef,
    written: LiteralForm,
}

/// The way a literal was written, which decides the types that it may be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LiteralForm {
    /// As an Arrow value, which has a type of its own.
    Typed,
    /// As the digits of a number, which takes the type of the column.
    Number,
    /// As text after a keyword. It takes the type of the column, which must be a type of dates or times.
    Time(TimeWord),
}

/// Creates the literal of a Rust value; `None` is null.
pub fn lit(value: impl Into<Literal>) -> Literal {
    value.into()
}

impl Literal {
    /// Creates the literal of an Arrow scalar, or of an array of length 1.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the array has another length.
    pub fn try_new(value: &dyn Datum) -> Result<Self> {
        let (array, _) = value.get();
        if array.len() != 1 {
            return Err(Error::invalid(format!(
                "a literal is one value, found {} of type {}",
                array.len(),
                array.data_type()
            )));
        }
        let value = match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values)?,
            DataType::RunEndEncoded(_, values) => cast(array, values.data_type())?,
            _ => array.slice(0, 1),
        };
        Ok(Self::array_of(value))
    }

    /// Returns the value as an array of length 1.
    pub fn array(&self) -> &ArrayRef {
        &self.value
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.logical_null_count() > 0
    }

    /// Returns the literal, marked as written in this way.
    pub(super) fn with_written(mut self, written: LiteralForm) -> Self {
        self.written = written;
        self
    }

    pub(super) fn written(&self) -> LiteralForm {
        self.written
    }

    fn of(value: impl Array + 'static) -> Self {
        Self::array_of(Arc::new(value))
    }

    pub(super) fn array_of(value: ArrayRef) -> Self {
        Self {
            value,
            written: LiteralForm::Typed,
        }
    }
}

/// Formats the literal as the text of a predicate. Durations and intervals are shown, but cannot be parsed.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DataType::{Date32, Date64, Time32, Time64, Timestamp};
        if self.is_null() {
            return f.write_str("NULL");
        }
        if let Some(bytes) = bytes(&self.value).filter(|_| !self.value.data_type().is_string()) {
            return write!(f, "x'{}'", hex(&bytes));
        }
        let data_type = self.value.data_type();
        let Ok(text) = array_value_to_string(&self.value, 0) else {
            // Showing a time in a named zone takes a time zone database.
            return write!(f, "a {data_type}");
        };
        let word = match (self.written, data_type) {
            (LiteralForm::Time(word), _) => Some(word),
            (_, Date32) => Some(TimeWord::Date),
            (_, Date64 | Timestamp(..)) => Some(TimeWord::Timestamp),
            (_, Time32(_) | Time64(_)) => Some(TimeWord::Time),
            _ => None,
        };
        match (word, double(&self.value)) {
            (Some(word), _) => write!(f, "{} {}", word.text(), quoted(&text)),
            (None, Some(nan)) if nan.is_nan() && nan.is_sign_negative() => f.write_str("'-NaN'"),
            (None, Some(float)) if !float.is_finite() => f.write_str(&quoted(&text)),
            (None, None) if data_type.is_string() => f.write_str(&quoted(&text)),
            (None, _) => f.write_str(&text),
        }
    }
}

/// Returns text in SQL quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

macro_rules! by_reference {
    ($($owned:ty),*) => {
        $(impl From<&$owned> for Literal {
            fn from(value: &$owned) -> Self {
                value.clone().into()
            }
        })*
    };
}

by_reference!(
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    usize,
    isize,
    i128,
    f32,
    f64,
    bool,
    &str,
    String,
    Vec<u8>
);

macro_rules! primitives {
    ($($native:ty => $ty:ty),*) => {
        $(impl From<$native> for Literal {
            fn from(value: $native) -> Self {
                Self::of(PrimitiveArray::<$ty>::from_value(value, 1))
            }
        })*
    };
}

primitives!(i8 => Int8Type, i16 => Int16Type, i32 => Int32Type, i64 => Int64Type, u8 => UInt8Type,
    u16 => UInt16Type, u32 => UInt32Type, u64 => UInt64Type, f32 => Float32Type, f64 => Float64Type);

impl From<usize> for Literal {
    fn from(value: usize) -> Self {
        (value as u64).into()
    }
}

impl From<isize> for Literal {
    fn from(value: isize) -> Self {
        (value as i64).into()
    }
}

impl From<i128> for Literal {
    fn from(value: i128) -> Self {
        // `Decimal128` has too few digits for the largest values.
        let data_type = DataType::Decimal256(DECIMAL256_MAX_PRECISION, 0);
        let value = PrimitiveArray::<Decimal256Type>::from_value(i256::from_i128(value), 1);
        Self::of(value.with_data_type(data_type))
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Self {
        Self::of(BooleanArray::from(vec![value]))
    }
}

impl From<&str> for Literal {
    fn from(value: &str) -> Self {
        Self::of(StringArray::from_iter_values([value]))
    }
}

impl From<String> for Literal {
    fn from(value: String) -> Self {
        value.as_str().into()
    }
}

impl From<&[u8]> for Literal {
    fn from(value: &[u8]) -> Self {
        Self::of(BinaryArray::from_iter_values([value]))
    }
}

impl<const N: usize> From<&[u8; N]> for Literal {
    fn from(value: &[u8; N]) -> Self {
        value.as_slice().into()
    }
}

impl From<Vec<u8>> for Literal {
    fn from(value: Vec<u8>) -> Self {
        value.as_slice().into()
    }
}

impl<T: ArrowPrimitiveType> From<Scalar<PrimitiveArray<T>>> for Literal {
    fn from(value: Scalar<PrimitiveArray<T>>) -> Self {
        Self::of(value.into_inner())
    }
}

impl<T: ByteArrayType> From<Scalar<GenericByteArray<T>>> for Literal {
    fn from(value: Scalar<GenericByteArray<T>>) -> Self {
        Self::of(value.into_inner())
    }
}

impl<T: ByteViewType> From<Scalar<GenericByteViewArray<T>>> for Literal {
    fn from(value: Scalar<GenericByteViewArray<T>>) -> Self {
        Self::of(value.into_inner())
    }
}

impl From<Scalar<BooleanArray>> for Literal {
    fn from(value: Scalar<BooleanArray>) -> Self {
        Self::of(value.into_inner())
    }
}

impl<T: Into<Literal>> From<Option<T>> for Literal {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Self::of(NullArray::new(1)), Into::into)
    }
}
