//! Spec: docs/format.md, "Arrow types": the Arrow types of leaves.

use super::label::{DATE, DECIMAL, DURATION, FLOAT16, INTERVAL, TIME, TIMESTAMP, check_decimal};
use super::native::{NativeType, NativeTypes};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BasicType, DataType};
use arrow_schema::{DataType as ArrowType, IntervalUnit, TimeUnit};
use std::sync::Arc;

/// Returns the Arrow type of a leaf, according to its storage and its label. Native types of Amudai become the types in
/// `types`.
///
/// # Errors
/// Returns [`ErrorKind::InvalidArgument`] if `types` has a decimal type that Arrow forbids, [`ErrorKind::Unsupported`]
/// for sizes above Arrow's limit, and [`ErrorKind::SchemaMismatch`] for a nested node.
pub(in crate::column) fn natural_leaf(node: &DataType, types: &NativeTypes) -> Result<ArrowType> {
    if let Some(native) = NativeType::of(node) {
        return native.arrow_type(types);
    }
    if let Some(labeled) = labeled_leaf(node) {
        return Ok(labeled);
    }
    Ok(match (node.basic_type, node.signed) {
        (BasicType::Unit, _) => ArrowType::Null,
        (BasicType::Boolean, _) => ArrowType::Boolean,
        (BasicType::Int8, true) => ArrowType::Int8,
        (BasicType::Int8, false) => ArrowType::UInt8,
        (BasicType::Int16, true) => ArrowType::Int16,
        (BasicType::Int16, false) => ArrowType::UInt16,
        (BasicType::Int32, true) => ArrowType::Int32,
        (BasicType::Int32, false) => ArrowType::UInt32,
        (BasicType::Int64, true) => ArrowType::Int64,
        (BasicType::Int64, false) => ArrowType::UInt64,
        (BasicType::Float32, _) => ArrowType::Float32,
        (BasicType::Float64, _) => ArrowType::Float64,
        (BasicType::Binary, _) => ArrowType::LargeBinary,
        (BasicType::String, _) => ArrowType::LargeUtf8,
        (BasicType::FixedSizeBinary, _) => ArrowType::FixedSizeBinary(arrow_size(node)?),
        (BasicType::Guid, _) => ArrowType::FixedSizeBinary(16),
        _ => {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!("expected a leaf, found a {:?} node", node.basic_type),
            ));
        }
    })
}

/// Returns `fixed_size` as Arrow's type of sizes.
pub(super) fn arrow_size(node: &DataType) -> Result<i32> {
    i32::try_from(node.fixed_size).map_err(|_| {
        Error::unsupported(format!(
            "a {:?} node of size {} exceeds what Arrow can hold, {}",
            node.basic_type,
            node.fixed_size,
            i32::MAX
        ))
    })
}

/// Returns the type for the label of a leaf, or `None` if the leaf has no label, or if it is unknown or does not match
/// the storage.
fn labeled_leaf(node: &DataType) -> Option<ArrowType> {
    let int = |basic_type| node.basic_type == basic_type && node.signed;
    let (int32, int64) = (int(BasicType::Int32), int(BasicType::Int64));
    let fixed = |n| node.basic_type == BasicType::FixedSizeBinary && node.fixed_size == n;
    match node.label() {
        FLOAT16 if node.basic_type == BasicType::Int16 && !node.signed => Some(ArrowType::Float16),
        TIMESTAMP if int64 => Some(ArrowType::Timestamp(
            unit(node)?,
            node.property("timezone").map(Arc::from),
        )),
        DATE if int32 && node.property("unit") == Some("day") => Some(ArrowType::Date32),
        DATE if int64 && node.property("unit") == Some("ms") => Some(ArrowType::Date64),
        TIME => match unit(node)? {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) if int32 => {
                Some(ArrowType::Time32(unit))
            }
            unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond) if int64 => {
                Some(ArrowType::Time64(unit))
            }
            _ => None,
        },
        DURATION if int64 => Some(ArrowType::Duration(unit(node)?)),
        INTERVAL => match node.property("unit")? {
            "month" if int32 => Some(ArrowType::Interval(IntervalUnit::YearMonth)),
            "day_time" if fixed(8) => Some(ArrowType::Interval(IntervalUnit::DayTime)),
            "month_day_nano" if fixed(16) => Some(ArrowType::Interval(IntervalUnit::MonthDayNano)),
            _ => None,
        },
        DECIMAL => {
            let precision = node.property("precision")?.parse().ok()?;
            let scale = node.property("scale")?.parse().ok()?;
            let (arrow, bytes) = match node.property("bits")? {
                "32" => (ArrowType::Decimal32(precision, scale), 4),
                "64" => (ArrowType::Decimal64(precision, scale), 8),
                "128" => (ArrowType::Decimal128(precision, scale), 16),
                "256" => (ArrowType::Decimal256(precision, scale), 32),
                _ => return None,
            };
            let stored = match node.basic_type {
                _ if int32 => 4,
                _ if int64 => 8,
                _ if fixed(16) => 16,
                _ if fixed(32) => 32,
                _ => return None,
            };
            (stored <= bytes && check_decimal(&arrow).is_ok()).then_some(arrow)
        }
        _ => None,
    }
}

fn unit(node: &DataType) -> Option<TimeUnit> {
    match node.property("unit")? {
        "s" => Some(TimeUnit::Second),
        "ms" => Some(TimeUnit::Millisecond),
        "us" => Some(TimeUnit::Microsecond),
        "ns" => Some(TimeUnit::Nanosecond),
        _ => None,
    }
}
