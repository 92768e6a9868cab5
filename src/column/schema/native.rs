//! Spec: docs/format.md, "Arrow types": the native types of Amudai that no Arrow type stores alike.

use super::label::{self, check_decimal};
use crate::error::{Error, Result};
use crate::format::{BasicType, DataType, decimal128};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use std::sync::Arc;

/// The Arrow types for native types, if neither the shard nor the caller names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeTypes {
    /// Unit of DateTime and KustoTimeSpan.
    pub time_unit: TimeUnit,
    /// Decimal digits of KustoDecimal.
    pub decimal_precision: u8,
    /// Digits after the decimal point of KustoDecimal.
    pub decimal_scale: i8,
}

impl Default for NativeTypes {
    /// Returns nanoseconds, and `Decimal128(38, 16)`.
    fn default() -> Self {
        Self {
            time_unit: TimeUnit::Nanosecond,
            decimal_precision: 38,
            decimal_scale: 16,
        }
    }
}

/// A native type of Amudai. Arrow has a type with the same meaning, but stores its values differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::column) enum NativeType {
    /// u64 ticks of 100 ns since 0001-01-01.
    DateTime,
    /// i64 ticks of 100 ns.
    TimeSpan,
    /// A decimal128.
    Decimal,
    /// Bytes; JSON if Arrow's type says so.
    Dynamic,
}

impl NativeType {
    /// Returns the native type of a leaf, or `None` if it has none, or if its label does not match the storage.
    pub(in crate::column) fn of(node: &DataType) -> Option<Self> {
        match (node.basic_type, node.label()) {
            (BasicType::DateTime, _) => Some(Self::DateTime),
            (BasicType::Int64, label::KUSTO_TIME_SPAN) if node.signed => Some(Self::TimeSpan),
            (BasicType::FixedSizeBinary, label::KUSTO_DECIMAL) if node.fixed_size == 16 => {
                Some(Self::Decimal)
            }
            (BasicType::Binary, label::KUSTO_DYNAMIC) => Some(Self::Dynamic),
            _ => None,
        }
    }

    /// Returns whether a node, or one below it, has a native type.
    pub(in crate::column) fn is_within(node: &DataType) -> bool {
        let mut found = false;
        node.walk(&mut |node| found |= Self::of(node).is_some());
        found
    }

    /// Returns the native type that stores values of an Arrow type. Returns `None` if no native type does, or if the
    /// extension type alone determines the storage.
    ///
    /// # Errors
    /// Returns [`Unsupported`](crate::ErrorKind::Unsupported) for decimals that this build cannot convert, and
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for decimals that Arrow forbids.
    pub(super) fn for_arrow(arrow: &ArrowType, extension: Option<&str>) -> Result<Option<Self>> {
        let extension = extension.unwrap_or_default();
        Ok(match arrow {
            ArrowType::Timestamp(..) | ArrowType::Date32 | ArrowType::Date64 => {
                Some(Self::DateTime)
            }
            ArrowType::UInt64 if extension == label::KUSTO_DATE_TIME => Some(Self::DateTime),
            ArrowType::Duration(_) => Some(Self::TimeSpan),
            ArrowType::Int64 if extension == label::KUSTO_TIME_SPAN => Some(Self::TimeSpan),
            decimal if decimal.is_decimal() => {
                check_decimal(arrow).map_err(|e| Error::invalid(e.to_string()))?;
                decimal128::check_supported()?;
                Some(Self::Decimal)
            }
            ArrowType::FixedSizeBinary(16) if extension == label::KUSTO_DECIMAL => {
                Some(Self::Decimal)
            }
            text if text.is_string() && extension == label::JSON => Some(Self::Dynamic),
            ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView
                if extension == label::KUSTO_DYNAMIC =>
            {
                Some(Self::Dynamic)
            }
            _ => None,
        })
    }

    /// Returns the nameless node of the type.
    pub(super) fn node(self) -> DataType {
        let labeled = |basic_type, name| DataType {
            extended_type: Some(label::label(name, &[])),
            ..DataType::new(basic_type, "")
        };
        match self {
            Self::DateTime => DataType::new(BasicType::DateTime, ""),
            Self::TimeSpan => DataType {
                signed: true,
                ..labeled(BasicType::Int64, label::KUSTO_TIME_SPAN)
            },
            Self::Decimal => DataType {
                fixed_size: 16,
                ..labeled(BasicType::FixedSizeBinary, label::KUSTO_DECIMAL)
            },
            Self::Dynamic => labeled(BasicType::Binary, label::KUSTO_DYNAMIC),
        }
    }

    /// Returns the Arrow type that values are read as.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a decimal that Arrow forbids.
    pub(super) fn arrow_type(self, types: &NativeTypes) -> Result<ArrowType> {
        Ok(match self {
            Self::DateTime => ArrowType::Timestamp(types.time_unit, Some(Arc::from("UTC"))),
            Self::TimeSpan => ArrowType::Duration(types.time_unit),
            Self::Decimal => {
                let (precision, scale) = (types.decimal_precision, types.decimal_scale);
                let decimal = match precision {
                    0..=38 => ArrowType::Decimal128(precision, scale),
                    _ => ArrowType::Decimal256(precision, scale),
                };
                check_decimal(&decimal).map_err(|e| {
                    Error::invalid(format!("the type to read KustoDecimal as: {e}"))
                })?;
                decimal
            }
            // The bytes are not known to be text.
            Self::Dynamic => ArrowType::LargeBinary,
        })
    }
}
