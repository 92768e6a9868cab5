//! The type that the values of several types are widened to.

use arrow_schema::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION,
    DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef, Fields, TimeUnit,
};
use std::sync::Arc;

/// Returns the narrowest type that values of all these types can be cast to, or `None`. This rule widens the columns of
/// several files. The order of the types does not matter, and every two of them must have such a type.
///
/// Integers, decimals, texts, times and durations become a type that holds all their values. Two other casts can fail:
/// integers and floats become Float64, which lacks some integers above 2^53; dates and timestamps get the finer unit,
/// which does not reach far dates. The caller has to check these values. Timestamps of two time zones become timestamps
/// in UTC, the same instants.
///
/// ```
/// use arrow_shard::arrow_schema::DataType;
/// use arrow_shard::ops::widened_type;
/// let wide = widened_type([&DataType::Int64, &DataType::Float32]);
/// assert_eq!(wide, Some(DataType::Float64));
/// assert_eq!(widened_type([&DataType::Int64, &DataType::Utf8]), None);
/// ```
pub fn widened_type<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Option<DataType> {
    let mut distinct: Vec<&DataType> = Vec::new();
    for ty in types {
        if !distinct.contains(&ty) {
            distinct.push(ty);
        }
    }
    let has_values = |ty: &&DataType| **ty != DataType::Null;
    if distinct.iter().any(has_values) {
        distinct.retain(has_values);
    }
    match distinct.as_slice() {
        [] => None,
        [ty] => Some((*ty).clone()),
        types => dictionary(types)
            .or_else(|| structure(types))
            .or_else(|| list(types))
            .or_else(|| leaf(types)),
    }
}

/// Returns the type of dictionaries, or of dictionaries and plain values.
fn dictionary(types: &[&DataType]) -> Option<DataType> {
    let parts = types.iter().map(|ty| match ty {
        DataType::Dictionary(key, value) => (Some(key.as_ref()), value.as_ref()),
        plain => (None, *plain),
    });
    let (keys, values): (Vec<Option<&DataType>>, Vec<&DataType>) = parts.unzip();
    let known: Vec<&DataType> = keys.iter().copied().flatten().collect();
    if known.is_empty() {
        return None;
    }
    let value = widened_type(values)?;
    if known.len() < types.len() {
        return Some(value);
    }
    let key = widened_type(known).filter(DataType::is_dictionary_key_type);
    Some(match key {
        Some(key) => DataType::Dictionary(Box::new(key), Box::new(value)),
        None => value,
    })
}

/// Returns the type of structs with the same names of members.
fn structure(types: &[&DataType]) -> Option<DataType> {
    let members = types.iter().map(|ty| match ty {
        DataType::Struct(members) => Some(members),
        _ => None,
    });
    let all = members.collect::<Option<Vec<_>>>()?;
    let first = *all.first()?;
    let names = |fields: &Fields| -> Vec<String> {
        let names = fields.iter().map(|field| field.name());
        names.cloned().collect()
    };
    if all.iter().any(|members| names(members) != names(first)) {
        return None;
    }
    let member = |i: usize| field(all.iter().filter_map(|members| members.get(i)));
    let members: Option<Fields> = (0..first.len()).map(member).collect();
    Some(DataType::Struct(members?))
}

/// Returns the type of lists, with the wider offsets.
fn list(types: &[&DataType]) -> Option<DataType> {
    let mut is_large = false;
    let items = types.iter().map(|ty| match ty {
        DataType::List(item) => Some(item),
        DataType::LargeList(item) => {
            is_large = true;
            Some(item)
        }
        _ => None,
    });
    let items = items.collect::<Option<Vec<_>>>()?;
    let item = field(items)?;
    Some(if is_large {
        DataType::LargeList(item)
    } else {
        DataType::List(item)
    })
}

/// Returns a member or item with the type that holds all values, and the name and metadata of the first.
fn field<'a>(fields: impl IntoIterator<Item = &'a FieldRef>) -> Option<FieldRef> {
    let fields: Vec<&FieldRef> = fields.into_iter().collect();
    let data_type = widened_type(fields.iter().map(|field| field.data_type()))?;
    let is_nullable = fields.iter().any(|field| field.is_nullable());
    let first = Field::clone(fields.first()?);
    let field = first.with_data_type(data_type).with_nullable(is_nullable);
    Some(Arc::new(field))
}

/// Returns the type of values that are not nested.
fn leaf(types: &[&DataType]) -> Option<DataType> {
    let of_two = |a: &DataType, b: &DataType| -> Option<DataType> {
        if a == b {
            return Some(a.clone());
        }
        number(a, b).or_else(|| text(a, b)).or_else(|| time(a, b))
    };
    // A third type must not decide whether two others fit.
    for (i, a) in types.iter().enumerate() {
        for b in types.get(i + 1..)? {
            of_two(a, b)?;
        }
    }
    // Integers of several widths may become one that has more digits than each of them, so decimals come first.
    let mut sorted = types.to_vec();
    sorted.sort_by_key(|ty| ty.is_integer());
    let (first, rest) = sorted.split_first()?;
    rest.iter()
        .try_fold((*first).clone(), |wide, ty| of_two(&wide, ty))
}

fn number(a: &DataType, b: &DataType) -> Option<DataType> {
    if a.is_integer() && b.is_integer() {
        return integer(a, b);
    }
    if a.is_floating() && b.is_floating() {
        let is_double = [a, b].contains(&&DataType::Float64);
        return Some(if is_double {
            DataType::Float64
        } else {
            DataType::Float32
        });
    }
    if (a.is_integer() || b.is_integer()) && (a.is_floating() || b.is_floating()) {
        return Some(DataType::Float64);
    }
    decimal(digits(a)?, digits(b)?)
}

fn integer(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let signed = [Int8, Int16, Int32, Int64];
    let unsigned = [UInt8, UInt16, UInt32, UInt64];
    let rank = |types: &[DataType; 4], ty: &DataType| types.iter().position(|it| it == ty);
    if let (Some(a), Some(b)) = (rank(&unsigned, a), rank(&unsigned, b)) {
        return unsigned.get(a.max(b)).cloned();
    }
    // A signed type holds the values of an unsigned one of half the width.
    let needed = |ty| rank(&signed, ty).or_else(|| Some(rank(&unsigned, ty)? + 1));
    let signed = signed.get(needed(a)?.max(needed(b)?)).cloned();
    // No integer holds the values of UInt64 and of a signed type.
    signed.or_else(|| decimal(digits(a)?, digits(b)?))
}

/// The digits of a decimal or of an integer.
struct Digits {
    /// Index into the widths of decimals, from 32 to 256 bits.
    width: usize,
    precision: i16,
    scale: i8,
}

fn digits(ty: &DataType) -> Option<Digits> {
    use DataType as T;
    let (width, precision, scale) = match *ty {
        T::Decimal32(precision, scale) => (0, precision, scale),
        T::Decimal64(precision, scale) => (1, precision, scale),
        T::Decimal128(precision, scale) => (2, precision, scale),
        T::Decimal256(precision, scale) => (3, precision, scale),
        T::Int8 | T::UInt8 => (0, 3, 0),
        T::Int16 | T::UInt16 => (0, 5, 0),
        T::Int32 | T::UInt32 => (0, 10, 0),
        T::Int64 => (0, 19, 0),
        T::UInt64 => (0, 20, 0),
        _ => return None,
    };
    Some(Digits {
        width,
        precision: i16::from(precision),
        scale,
    })
}

fn decimal(a: Digits, b: Digits) -> Option<DataType> {
    let scale = a.scale.max(b.scale);
    let whole = |it: &Digits| it.precision - i16::from(it.scale);
    let precision = u8::try_from(whole(&a).max(whole(&b)) + i16::from(scale)).ok()?;
    let widths = [
        (
            DECIMAL32_MAX_PRECISION,
            DataType::Decimal32(precision, scale),
        ),
        (
            DECIMAL64_MAX_PRECISION,
            DataType::Decimal64(precision, scale),
        ),
        (
            DECIMAL128_MAX_PRECISION,
            DataType::Decimal128(precision, scale),
        ),
        (
            DECIMAL256_MAX_PRECISION,
            DataType::Decimal256(precision, scale),
        ),
    ];
    let mut wide = widths.into_iter().skip(a.width.max(b.width));
    wide.find(|(most, _)| precision <= *most).map(|(_, ty)| ty)
}

fn text(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    for forms in [
        [Utf8, Utf8View, LargeUtf8],
        [Binary, BinaryView, LargeBinary],
    ] {
        let rank = |ty: &DataType| forms.iter().position(|form| form == ty);
        if let (Some(a), Some(b)) = (rank(a), rank(b)) {
            return forms.get(a.max(b)).cloned();
        }
    }
    None
}

fn time(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as T;
    match (a, b) {
        (T::Timestamp(a, zone), T::Timestamp(b, other)) if zone == other => {
            Some(T::Timestamp(*a.max(b), zone.clone()))
        }
        // A time without a zone is not an instant.
        (T::Timestamp(a, Some(_)), T::Timestamp(b, Some(_))) => {
            Some(T::Timestamp(*a.max(b), Some("UTC".into())))
        }
        // A date is not an instant, so it has no time in a zone.
        (T::Date32 | T::Date64, T::Timestamp(unit, None))
        | (T::Timestamp(unit, None), T::Date32 | T::Date64) => {
            let unit = if [a, b].contains(&&T::Date64) {
                *unit.max(&TimeUnit::Millisecond)
            } else {
                *unit
            };
            Some(T::Timestamp(unit, None))
        }
        (T::Date32, T::Date64) | (T::Date64, T::Date32) => Some(T::Date64),
        (T::Time32(a), T::Time32(b)) => Some(T::Time32(*a.max(b))),
        (T::Time64(a), T::Time64(b)) => Some(T::Time64(*a.max(b))),
        (T::Time32(_), T::Time64(unit)) | (T::Time64(unit), T::Time32(_)) => Some(T::Time64(*unit)),
        (T::Duration(a), T::Duration(b)) => Some(T::Duration(*a.max(b))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wider_type_holds_the_values_of_both() {
        for (a, b, want) in [
            ("Null", "Utf8", "Utf8"),
            ("Int8", "Int32", "Int32"),
            ("UInt8", "Int8", "Int16"),
            ("UInt32", "Int64", "Int64"),
            ("UInt64", "Int8", "Decimal128(20, 0)"),
            ("Int64", "UInt64", "Decimal128(20, 0)"),
            ("UInt16", "UInt64", "UInt64"),
            ("Int64", "Float32", "Float64"),
            ("Float16", "Float32", "Float32"),
            ("Float32", "Float64", "Float64"),
            ("Decimal32(9, 2)", "Decimal32(9, 4)", "Decimal64(11, 4)"),
            (
                "Decimal128(38, 0)",
                "Decimal128(38, 10)",
                "Decimal256(48, 10)",
            ),
            ("Decimal256(76, 0)", "Decimal256(76, 1)", ""),
            ("Int32", "Decimal128(5, 2)", "Decimal128(12, 2)"),
            ("Float64", "Decimal128(5, 2)", ""),
            ("Utf8", "LargeUtf8", "LargeUtf8"),
            ("Utf8View", "Utf8", "Utf8View"),
            ("Utf8", "Binary", ""),
            ("Int64", "Utf8", ""),
            ("Boolean", "Int8", ""),
            ("Date32", "Timestamp(s)", "Timestamp(s)"),
            ("Date64", "Timestamp(s)", "Timestamp(ms)"),
            ("Date32", "Timestamp(s, \"UTC\")", ""),
            ("Timestamp(ns)", "Timestamp(s)", "Timestamp(ns)"),
            ("Timestamp(s)", "Timestamp(s, \"UTC\")", ""),
            (
                "Timestamp(s, \"Europe/Berlin\")",
                "Timestamp(ms, \"Asia/Tokyo\")",
                "Timestamp(ms, \"UTC\")",
            ),
            ("Time32(s)", "Time64(µs)", "Time64(µs)"),
            ("Dictionary(Int8, Utf8)", "LargeUtf8", "LargeUtf8"),
            ("Dictionary(UInt64, Utf8)", "Dictionary(Int8, Utf8)", "Utf8"),
            (
                "Dictionary(Int8, Utf8)",
                "Dictionary(Int32, Utf8)",
                "Dictionary(Int32, Utf8)",
            ),
            ("List(Null)", "List(Int8)", "List(Int8)"),
            (
                "Struct(\"a\": Int8)",
                "Struct(\"a\": Int16)",
                "Struct(\"a\": Int16)",
            ),
            ("Struct(\"a\": Int8)", "Struct(\"b\": Int8)", ""),
        ] {
            let parsed = |text: &str| text.parse::<DataType>().unwrap();
            let want = (!want.is_empty()).then(|| parsed(want));
            assert_eq!(widened_type([&parsed(a), &parsed(b)]), want, "{a}, {b}");
            assert_eq!(widened_type([&parsed(b), &parsed(a)]), want, "{b}, {a}");
        }
    }

    #[test]
    fn the_order_of_the_types_does_not_matter() {
        let all = [
            "Null",
            "Int8",
            "Int32",
            "UInt32",
            "UInt64",
            "Float16",
            "Float32",
            "Decimal32(5, 2)",
            "Decimal128(5, 2)",
            "Decimal64(18, 0)",
            "Date32",
            "Date64",
            "Timestamp(s)",
            "Timestamp(ns)",
            "Timestamp(s, \"Europe/Berlin\")",
            "Timestamp(ms, \"Asia/Tokyo\")",
            "Utf8",
            "LargeUtf8",
            "Dictionary(Int8, Utf8)",
            "Dictionary(Int8, Int32)",
            "List(Int8)",
            "LargeList(Decimal128(5, 2))",
            "List(UInt32)",
            "Struct(\"a\": Int8)",
            "Struct(\"a\": Float32)",
            "Struct(\"a\": UInt64)",
        ];
        let all = all.map(|text| text.parse::<DataType>().unwrap());
        for a in &all {
            for b in &all {
                for c in &all {
                    let want = widened_type([a, b, c]);
                    for other in [[a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
                        assert_eq!(widened_type(other), want, "{a}, {b}, {c}");
                    }
                }
            }
        }
        let of = |types: [&str; 3]| widened_type(&types.map(|ty| ty.parse().unwrap()));
        assert_eq!(of(["UInt64", "Float64", "Int8"]), Some(DataType::Float64));
        let decimal = "Decimal128(12, 2)".parse().unwrap();
        assert_eq!(of(["Int32", "UInt32", "Decimal128(5, 2)"]), Some(decimal));
    }
}
