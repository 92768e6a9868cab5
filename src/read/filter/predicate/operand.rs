//! Operands of tests: values of a column, or results of functions, and literals in their type.

use super::place::{LiteralPlace, place};
use super::text_function::TextFunction;
use super::value::text;
use super::{ColumnPath, Comparison, Literal};
use crate::column::IntegerSet;
use crate::error::{Error, ErrorKind, Result, Within};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use arrow_select::concat::concat;
use arrow_select::take::take;
use std::cmp::Ordering;
use std::sync::Arc;

/// A test of values. Its result for a null is unknown, except for `IsNull`.
#[derive(Debug, Clone)]
pub(in crate::read) enum Test {
    IsNull,
    /// Unknown for every value.
    Unknown,
    /// The same result for every value that is not null.
    Present(bool),
    /// Compares with one value of the column's type.
    Compare(Comparison, ArrayRef),
    /// Whether the value is in a list. The list is sorted, distinct and of the column's type. If the list has a null,
    /// the result for other values is unknown.
    In {
        values: ArrayRef,
        has_null: bool,
        /// The list as a set, if it has many integers.
        set: Option<Arc<IntegerSet>>,
    },
    StartsWith(Vec<u8>),
}

/// A list with at least this many values is searched instead of compared value by value.
pub(super) const MANY_VALUES: usize = 9;

impl Test {
    /// Tests whether a value is in a list, which is sorted, distinct and of the column's type.
    pub(in crate::read) fn among(values: ArrayRef, has_null: bool) -> Self {
        let set = if values.len() < MANY_VALUES {
            None
        } else {
            IntegerSet::new(&values).map(Arc::new)
        };
        Self::In {
            values,
            has_null,
            set,
        }
    }
}

/// Fails if values of the type cannot be compared.
fn check_comparable(data_type: &DataType) -> Result<()> {
    if data_type.is_nested() {
        return Err(Error::new(
            ErrorKind::SchemaMismatch,
            format!(
                "values of type {data_type} cannot be compared; test them for nulls, or a member \
                 of them"
            ),
        ));
    }
    Ok(())
}

/// The values of a column that a test compares, or the results of functions of them.
pub(super) struct Operand {
    pub(super) value_type: DataType,
    pub(super) is_uuid: bool,
}

/// Returns the type of the results of functions that are applied to a column one after the other.
pub(super) fn applied_type(
    functions: &[TextFunction],
    column: DataType,
    path: &ColumnPath,
) -> Result<DataType> {
    let mut results = functions.iter();
    let applied = results.try_fold(column, |of, function| function.result(&of));
    applied.within(|| format!("column `{}`", path.name()))
}

/// Returns the place of a literal that is not null among the values of an operand.
fn place_in(literal: &Literal, operand: &Operand) -> Result<LiteralPlace> {
    match text(literal.array()).filter(|_| operand.is_uuid) {
        Some(text) => {
            let uuid = uuid(&text).ok_or_else(|| {
                let message = format!("`{text}` cannot be read as a value of type arrow.uuid");
                Error::new(ErrorKind::SchemaMismatch, message)
            })?;
            let uuid = FixedSizeBinaryArray::try_from_iter([uuid].iter())?;
            Ok(LiteralPlace::At(Arc::new(uuid)))
        }
        None => place(literal, &operand.value_type),
    }
}

/// Parses a UUID in hexadecimal digits, with or without hyphens.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let is_hyphen = |i: &usize| text.as_bytes()[*i] == b'-';
    let digits = match text.len() {
        36 if [8, 13, 18, 23].iter().all(is_hyphen) => text.replace('-', ""),
        _ => text.to_owned(),
    };
    let is_uuid = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u128::from_str_radix(&digits, 16).ok();
    Some(number.filter(|_| is_uuid)?.to_be_bytes())
}

/// Returns the test of an operand against a literal.
pub(super) fn compare(
    comparison: Comparison,
    literal: &Literal,
    operand: &Operand,
) -> Result<Test> {
    let data_type = &operand.value_type;
    check_comparable(data_type)?;
    if literal.is_null() || data_type.is_null() {
        return Ok(Test::Unknown);
    }
    use Comparison::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let above = matches!(comparison, NotEq | Gt | GtEq);
    let below = matches!(comparison, NotEq | Lt | LtEq);
    Ok(match (place_in(literal, operand)?, comparison) {
        (LiteralPlace::At(value), comparison) => Test::Compare(comparison, value),
        (LiteralPlace::After(_), Eq) => Test::Present(false),
        (LiteralPlace::After(_), NotEq) => Test::Present(true),
        (LiteralPlace::After(value), Lt | LtEq) => Test::Compare(LtEq, value),
        (LiteralPlace::After(value), Gt | GtEq) => Test::Compare(Gt, value),
        (LiteralPlace::BelowAll, _) => Test::Present(above),
        (LiteralPlace::AboveAll, _) => Test::Present(below),
    })
}

/// Returns the test whether an operand is one of the literals.
pub(super) fn is_in(literals: &[Literal], operand: &Operand) -> Result<Test> {
    let data_type = &operand.value_type;
    check_comparable(data_type)?;
    if data_type.is_null() {
        return Ok(Test::Unknown);
    }
    let mut values: Vec<ArrayRef> = Vec::new();
    let mut has_null = false;
    for literal in literals {
        if literal.is_null() {
            has_null = true;
        } else if let LiteralPlace::At(value) = place_in(literal, operand)? {
            values.push(value);
        }
    }
    if values.is_empty() {
        return Ok(if has_null {
            Test::Unknown
        } else {
            Test::Present(false)
        });
    }
    let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    let all = concat(&values)?;
    let compare = make_comparator(&all, &all, SortOptions::default())?;
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order.dedup_by(|a, b| compare(*a, *b) == Ordering::Equal);
    let order = arrow_array::UInt64Array::from_iter_values(order.iter().map(|&i| i as u64));
    let values = take(&all, &order, None)?;
    Ok(Test::among(values, has_null))
}

/// Returns the test of the first bytes of text or bytes.
pub(super) fn starts_with(prefix: &[u8], data_type: &DataType) -> Result<Test> {
    check_comparable(data_type)?;
    let is_fixed = matches!(data_type, DataType::FixedSizeBinary(_));
    match data_type {
        DataType::Null => Ok(Test::Unknown),
        _ if is_fixed || data_type.is_string() || data_type.is_binary() => {
            Ok(Test::StartsWith(prefix.to_vec()))
        }
        _ => Err(Error::new(
            ErrorKind::SchemaMismatch,
            format!("values of type {data_type} have no prefix"),
        )),
    }
}
