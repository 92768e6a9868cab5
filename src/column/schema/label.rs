//! Spec: docs/format.md, "Arrow types": the labels that say what stored values mean.

use crate::format::{ExtendedType, PropertyValue, decimal128};
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    validate_decimal_precision_and_scale,
};
use arrow_schema::{ArrowError, DataType as ArrowType, IntervalUnit, TimeUnit};

pub(super) const KUSTO_DATE_TIME: &str = "KustoDateTime";
pub(super) const KUSTO_TIME_SPAN: &str = "KustoTimeSpan";
pub(super) const KUSTO_DECIMAL: &str = decimal128::LABEL;
pub(super) const KUSTO_DYNAMIC: &str = "KustoDynamic";
pub(super) const FLOAT16: &str = "arrow.float16";
pub(super) const TIMESTAMP: &str = "arrow.timestamp";
pub(super) const DATE: &str = "arrow.date";
pub(super) const TIME: &str = "arrow.time";
pub(super) const DURATION: &str = "arrow.duration";
pub(super) const INTERVAL: &str = "arrow.interval";
pub(super) const DECIMAL: &str = "arrow.decimal";
pub(super) const MAP: &str = "arrow.map";
pub(super) const UNION: &str = "arrow.union";
pub(crate) const UUID: &str = "arrow.uuid";
pub(super) const JSON: &str = "arrow.json";

/// Returns a label with properties, all of them strings.
pub(super) fn label(label: &str, properties: &[(&str, String)]) -> ExtendedType {
    ExtendedType {
        label: label.to_owned(),
        properties: properties
            .iter()
            .map(|(n, v)| ((*n).to_owned(), PropertyValue::String(v.clone())))
            .collect(),
    }
}

/// Returns the name of a time unit in the property of a label.
pub(super) fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// Returns the name of an interval unit in the property of a label.
pub(super) fn interval_name(unit: IntervalUnit) -> &'static str {
    match unit {
        IntervalUnit::YearMonth => "month",
        IntervalUnit::DayTime => "day_time",
        IntervalUnit::MonthDayNano => "month_day_nano",
    }
}

/// Checks that Arrow allows a decimal type with its precision and scale.
pub(in crate::column) fn check_decimal(arrow: &ArrowType) -> Result<(), ArrowError> {
    match arrow {
        ArrowType::Decimal32(p, s) => validate_decimal_precision_and_scale::<Decimal32Type>(*p, *s),
        ArrowType::Decimal64(p, s) => validate_decimal_precision_and_scale::<Decimal64Type>(*p, *s),
        ArrowType::Decimal128(p, s) => {
            validate_decimal_precision_and_scale::<Decimal128Type>(*p, *s)
        }
        ArrowType::Decimal256(p, s) => {
            validate_decimal_precision_and_scale::<Decimal256Type>(*p, *s)
        }
        _ => Ok(()),
    }
}
