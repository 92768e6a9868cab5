//! Translates pyarrow expressions to equivalent predicates.
//!
//! pyarrow compares floats like IEEE 754: nothing equals NaN or is above or below it, and -0.0 equals 0.0. A predicate
//! uses the total order. Both agree on all values from -infinity to infinity, except for zeros.

use super::decode::{Call, Node};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::read::{ColumnRef, Literal, Predicate, col};

/// Returns a predicate that is true, false or unknown for the same rows; `None` if no predicate is certain to be.
pub(super) fn predicate(node: &Node, schema: &Schema) -> Option<Predicate> {
    let call = match node {
        Node::Call(call) => call,
        Node::Field(_) => {
            let (path, data_type) = column(node, schema)?;
            return (*data_type == DataType::Boolean).then(|| col(path).eq(true));
        }
        Node::Literal(_) => return None,
    };
    match (call.name.as_str(), call.arguments.as_slice()) {
        ("and_kleene", [a, b]) => Some(predicate(a, schema)?.and(predicate(b, schema)?)),
        ("or_kleene", [a, b]) => Some(predicate(a, schema)?.or(predicate(b, schema)?)),
        ("invert", [part]) => Some(predicate(part, schema)?.not()),
        ("is_valid", [part]) => Some(col(column(part, schema)?.0).is_not_null()),
        ("is_null", [part]) => is_null(call, part, schema),
        ("is_nan", [part]) => {
            let (path, data_type) = column(part, schema)?;
            is_float(data_type).then(|| is_nan(&path))
        }
        ("is_in", [part]) => is_in(call, part, schema, Unknown::IsFalse),
        ("if_else", [test, part, Node::Literal(other)]) => is_in_or_null(test, part, other, schema),
        ("starts_with", [part]) => starts_with(call, part, schema),
        (name, [a, b]) => compare(Comparison::of(name)?, a, b, schema),
        _ => None,
    }
}

/// Returns the path and the type of a column, or of a member of structs; `None` if the path is ambiguous.
fn column<'a>(node: &Node, schema: &'a Schema) -> Option<(String, &'a DataType)> {
    let Node::Field(names) = node else {
        return None;
    };
    let (first, below) = names.split_first()?;
    let field = only(schema.fields().iter().map(AsRef::as_ref), first)?;
    let mut data_type = field.data_type();
    for name in below {
        let DataType::Struct(members) = data_type else {
            return None;
        };
        data_type = only(members.iter().map(AsRef::as_ref), name)?.data_type();
    }
    let path = names.join(".");
    // A column with the name `a.b` would take precedence over the member `b` of `a`.
    let is_member = !below.is_empty();
    if is_member
        && (names.iter().any(|name| name.contains('.')) || schema.field_with_name(&path).is_ok())
    {
        return None;
    }
    match data_type {
        DataType::Dictionary(_, values) => Some((path, values)),
        other => Some((path, other)),
    }
}

/// Returns the field with a name; `None` if several fields have it.
fn only<'a>(fields: impl Iterator<Item = &'a Field>, name: &str) -> Option<&'a Field> {
    let mut found = fields.filter(|field| field.name() == name);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

/// Returns a predicate for NaN: in total order, NaNs are above and below all other values.
pub(crate) fn is_nan(path: &str) -> Predicate {
    let above = col(path).gt(f64::INFINITY);
    above.or(col(path).lt(f64::NEG_INFINITY))
}

/// Returns an option of a call.
fn option<'a>(call: &'a Call, name: &str) -> Option<&'a ArrayRef> {
    let options: &StructArray = call.options.as_ref()?.as_struct_opt()?;
    options.column_by_name(name)
}

fn flag(call: &Call, name: &str) -> Option<bool> {
    let flag = option(call, name)?.as_boolean_opt()?;
    (flag.null_count() == 0).then(|| flag.value(0))
}

fn is_null(call: &Call, part: &Node, schema: &Schema) -> Option<Predicate> {
    let (path, data_type) = column(part, schema)?;
    let null = col(path.as_str()).is_null();
    if !(flag(call, "nan_is_null")? && data_type.is_floating()) {
        Some(null)
    } else if is_float(data_type) {
        Some(null.or(is_nan(&path)))
    } else {
        None
    }
}

fn starts_with(call: &Call, part: &Node, schema: &Schema) -> Option<Predicate> {
    let (path, data_type) = column(part, schema)?;
    let pattern = text(option(call, "pattern")?)?;
    let is_exact = !flag(call, "ignore_case")?;
    (is_exact && is_text(data_type)).then(|| col(path).starts_with(pattern))
}

fn text(array: &ArrayRef) -> Option<String> {
    let plain = cast(array, &DataType::Utf8).ok()?;
    let text = plain.as_string_opt::<i32>()?;
    (text.null_count() == 0).then(|| text.value(0).to_owned())
}

/// The result of a test of null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    IsFalse,
    IsNull,
}

/// Translates `is_in`. In pyarrow, null is in a set that contains null; otherwise the result for null is false, not
/// null.
fn is_in(call: &Call, part: &Node, schema: &Schema, unknown: Unknown) -> Option<Predicate> {
    const MATCH: u32 = 0;
    const SKIP: u32 = 1;
    let (path, data_type) = column(part, schema)?;
    let values = option(call, "value_set")?.as_list_opt::<i32>()?.value(0);
    let behavior = cast(option(call, "null_matching_behavior")?, &DataType::UInt32).ok()?;
    let nulls = behavior
        .as_primitive_opt::<arrow_array::types::UInt32Type>()?
        .value(0);
    if is_float(data_type) || !has_same_meaning(data_type, values.data_type()) {
        return None;
    }
    let has_null = values.logical_null_count() > 0;
    let valid = (0..values.len()).filter(|&i| !values.is_null(i));
    let literals: Option<Vec<Literal>> = valid
        .map(|i| Literal::try_new(&values.slice(i, 1)).ok())
        .collect();
    let found = col(path.as_str()).is_in(literals?);
    match (unknown, nulls) {
        (Unknown::IsNull, _) if has_null => None,
        (Unknown::IsNull, MATCH | SKIP) => Some(found),
        (Unknown::IsFalse, MATCH) if has_null => Some(found.or(col(path).is_null())),
        (Unknown::IsFalse, MATCH | SKIP) => Some(col(path).is_not_null().and(found)),
        _ => None,
    }
}

/// Translates `if_else(is_valid(a), is_in(a, ...), null)`, which is DuckDB's form of IN.
fn is_in_or_null(test: &Node, part: &Node, other: &ArrayRef, schema: &Schema) -> Option<Predicate> {
    let (Node::Call(test), Node::Call(part)) = (test, part) else {
        return None;
    };
    let ([Node::Field(tested)], [field @ Node::Field(found)]) =
        (test.arguments.as_slice(), part.arguments.as_slice())
    else {
        return None;
    };
    let is_so = test.name == "is_valid"
        && part.name == "is_in"
        && tested == found
        && other.logical_null_count() == 1;
    if is_so {
        is_in(part, field, schema, Unknown::IsNull)
    } else {
        None
    }
}

#[derive(Debug, Clone, Copy)]
enum Comparison {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
}

impl Comparison {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "equal" => Self::Eq,
            "not_equal" => Self::NotEq,
            "less" => Self::Lt,
            "less_equal" => Self::LtEq,
            "greater" => Self::Gt,
            "greater_equal" => Self::GtEq,
            _ => return None,
        })
    }

    /// Returns the comparison with its sides exchanged.
    fn turned(self) -> Self {
        match self {
            Self::Eq | Self::NotEq => self,
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
        }
    }
}

fn compare(comparison: Comparison, a: &Node, b: &Node, schema: &Schema) -> Option<Predicate> {
    let (field, literal, comparison) = match (a, b) {
        (Node::Field(_), Node::Literal(literal)) => (a, literal, comparison),
        (Node::Literal(literal), Node::Field(_)) => (b, literal, comparison.turned()),
        _ => return None,
    };
    let (path, data_type) = column(field, schema)?;
    let literal = Literal::try_new(literal).ok()?;
    if literal.array().logical_null_count() > 0 {
        return None;
    }
    if is_float(data_type) {
        return compare_float(&path, comparison, float(&literal, data_type)?);
    }
    if !has_same_meaning(data_type, literal.array().data_type()) {
        return None;
    }
    let column = col(path);
    Some(match comparison {
        Comparison::Eq => column.eq(literal),
        Comparison::NotEq => column.not_eq(literal),
        Comparison::Lt => column.lt(literal),
        Comparison::LtEq => column.lt_eq(literal),
        Comparison::Gt => column.gt(literal),
        Comparison::GtEq => column.gt_eq(literal),
    })
}

/// Returns the literal as a float to compare with a column of that type; `None` if pyarrow might round it.
fn float(literal: &Literal, column: &DataType) -> Option<f64> {
    let array = literal.array();
    let data_type = array.data_type();
    let float = cast(array, &DataType::Float64).ok()?;
    let value = float
        .as_primitive_opt::<arrow_array::types::Float64Type>()?
        .value(0);
    let exact = match column {
        DataType::Float32 => 24,
        _ => 53,
    };
    let is_exact =
        is_float(data_type) || (data_type.is_integer() && value.abs() <= 2f64.powi(exact));
    is_exact.then_some(value)
}

fn compare_float(path: &str, comparison: Comparison, value: f64) -> Option<Predicate> {
    if value.is_nan() {
        return None;
    }
    let is_zero = value == 0.0;
    let (low, high) = if is_zero { (-0.0, 0.0) } else { (value, value) };
    let column = || -> ColumnRef { col(path) };
    let equal = || {
        if is_zero {
            column().between(low, high)
        } else {
            column().eq(value)
        }
    };
    // NaNs are beyond the infinities, and must not match.
    let below = |test: Predicate| test.and(column().gt_eq(f64::NEG_INFINITY));
    let above = |test: Predicate| test.and(column().lt_eq(f64::INFINITY));
    Some(match comparison {
        Comparison::Eq => equal(),
        Comparison::NotEq => equal().not(),
        Comparison::Lt => below(column().lt(low)),
        Comparison::LtEq => below(column().lt_eq(high)),
        Comparison::Gt => above(column().gt(high)),
        Comparison::GtEq => above(column().gt_eq(low)),
    })
}

/// Returns whether pyarrow compares the values of a column and of a literal exactly, like predicates do, whichever of
/// the two it casts.
fn has_same_meaning(column: &DataType, literal: &DataType) -> bool {
    use DataType::{Boolean, Date32, Date64, Duration, Time32, Time64, Timestamp};
    match (column, literal) {
        (Timestamp(_, a), Timestamp(_, b)) => a.is_some() == b.is_some(),
        (Boolean | Date32 | Date64 | Time32(_) | Time64(_) | Duration(_), _) => column == literal,
        _ => {
            let is_number = |t: &DataType| t.is_integer() || is_decimal(t);
            (is_number(column) && is_number(literal))
                || (is_text(column) && is_text(literal))
                || (is_bytes(column) && is_bytes(literal))
        }
    }
}

fn is_decimal(data_type: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    matches!(
        data_type,
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..)
    )
}

fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}
