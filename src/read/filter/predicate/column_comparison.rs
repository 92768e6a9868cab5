//! Comparisons of two columns, which neither statistics nor dictionaries can answer.

use super::{CheckColumns, ColumnRef, Comparison, Predicate};
use crate::arrow::value_type;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType, Schema};

/// Whether the type is bytes of any length.
pub(super) fn is_bytes(data_type: &DataType) -> bool {
    data_type.is_binary() && !matches!(data_type, DataType::FixedSizeBinary(_))
}

/// Refuses columns that cannot be compared with each other.
fn check_same(columns: &Schema) -> Result<()> {
    let mut types = columns
        .fields()
        .iter()
        .map(|field| (field, value_type(field.data_type())));
    let (Some((left, first)), Some((right, second))) = (types.next(), types.next()) else {
        return Ok(());
    };
    let why = match common_type(first, second) {
        Some(_) if first.is_nested() => "such values are not compared",
        Some(_) => return Ok(()),
        None => "two columns are compared if both are of one type, integers, floats, text or bytes",
    };
    let message = format!(
        "`{}` is {first} and `{}` is {second}: {why}",
        left.name(),
        right.name()
    );
    Err(Error::new(ErrorKind::SchemaMismatch, message))
}

/// Returns a type that holds the values of both types and compares them in the same order.
fn common_type(first: &DataType, second: &DataType) -> Option<DataType> {
    let both = |is: fn(&DataType) -> bool| is(first) && is(second);
    if first == second {
        Some(first.clone())
    } else if both(DataType::is_signed_integer) {
        Some(DataType::Int64)
    } else if both(DataType::is_unsigned_integer) {
        Some(DataType::UInt64)
    } else if both(DataType::is_integer) {
        // The greatest integer has 20 digits.
        Some(DataType::Decimal128(20, 0))
    } else if both(DataType::is_floating) {
        Some(DataType::Float64)
    } else if both(DataType::is_string) {
        Some(DataType::Utf8View)
    } else if both(is_bytes) {
        Some(DataType::BinaryView)
    } else {
        None
    }
}

/// Compares two columns. Their types must be equal, or have a common type that holds the values of both; dictionaries
/// and runs count as the type of their values.
pub(super) fn columns_compared(
    left: ColumnRef,
    comparison: Comparison,
    right: ColumnRef,
) -> Predicate {
    let compare = match comparison {
        Comparison::Eq => cmp::eq,
        Comparison::NotEq => cmp::neq,
        Comparison::Lt => cmp::lt,
        Comparison::LtEq => cmp::lt_eq,
        Comparison::Gt => cmp::gt,
        Comparison::GtEq => cmp::gt_eq,
    };
    let (left, right) = (left.path, right.path);
    let written = format!("{left} {comparison} {right}");
    let written = Some((written, check_same as CheckColumns));
    Predicate::function(vec![left, right], written, move |batch| {
        let (left, right) = (batch.column(0), batch.column(1));
        let types = [left, right].map(|column| value_type(column.data_type()));
        let common = common_type(types[0], types[1]).unwrap_or_else(|| types[0].clone());
        compare(&plain(left, &common)?, &plain(right, &common)?)
    })
}

/// Returns a column in another type; dictionaries and runs become their values.
pub(super) fn plain(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == data_type {
        Ok(column.clone())
    } else {
        cast(column, data_type)
    }
}
