//! Types of columns that several files share.

use arrow_shard::ops::widened_type;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use std::sync::Arc;

/// Merges the columns of two schemas by name. If `text`, the values are text, which any two types have in common.
///
/// # Errors
/// Returns the beginning of a message about a column without a common type; the other files follow.
pub(crate) fn unite(a: &Schema, b: &Schema, text: bool) -> Result<Schema, String> {
    let mut fields: Vec<Arc<Field>> = Vec::with_capacity(a.fields().len());
    for field in a.fields() {
        let Ok(other) = b.field_with_name(field.name()) else {
            fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
            continue;
        };
        let (one, two) = (field.data_type(), other.data_type());
        let ty = match common(one, two) {
            Some(ty) => ty,
            None if text => DataType::Utf8View,
            None => return Err(format!("`{}` is {two} there and {one} in", field.name())),
        };
        let nullable = field.is_nullable() || other.is_nullable();
        fields.push(Arc::new(Field::new(field.name(), ty, nullable)));
    }
    let new = b
        .fields()
        .iter()
        .filter(|field| a.field_with_name(field.name()).is_err());
    fields.extend(new.map(|field| Arc::new(field.as_ref().clone().with_nullable(true))));
    Ok(Schema::new(fields))
}

/// Returns the type that holds the values of both types: the widened type of the library, with text and bytes as views.
fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{
        Binary, BinaryView, Dictionary, Float64, LargeBinary, LargeUtf8, Utf8, Utf8View,
    };
    if a == b {
        return Some(a.clone());
    }
    let widened = widened_type([a, b]).or_else(|| {
        // Float64 has the range of decimals, but not all of their digits.
        let is_float = a.is_floating() || b.is_floating();
        (is_float && a.is_numeric() && b.is_numeric()).then_some(Float64)
    });
    let plain = match widened? {
        Dictionary(_, values) => *values,
        other => other,
    };
    Some(match plain {
        Utf8 | LargeUtf8 => Utf8View,
        Binary | LargeBinary => BinaryView,
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_united_by_name() {
        let of = |fields: &[(&str, DataType)]| {
            let fields = fields
                .iter()
                .map(|(name, ty)| Field::new(*name, ty.clone(), false));
            Schema::new(fields.collect::<Vec<_>>())
        };
        let a = of(&[("id", DataType::Int32), ("name", DataType::Utf8)]);
        let b = of(&[
            ("name", DataType::Utf8View),
            ("id", DataType::Int64),
            ("x", DataType::Date32),
        ]);
        let united = unite(&a, &b, false).unwrap();
        let names: Vec<_> = united
            .fields()
            .iter()
            .map(|it| it.name().as_str())
            .collect();
        assert_eq!(names, ["id", "name", "x"]);
        assert_eq!(united.field(0).data_type(), &DataType::Int64);
        assert!(!united.field(0).is_nullable() && united.field(2).is_nullable());

        let text = of(&[("id", DataType::Utf8)]);
        assert!(unite(&a, &text, false).unwrap_err().contains("`id`"));
        assert_eq!(
            unite(&a, &text, true).unwrap().field(0).data_type(),
            &DataType::Utf8View
        );
    }

    #[test]
    fn a_common_type_holds_both() {
        for (a, b, want) in [
            ("Int8", "UInt8", "Int16"),
            ("Int64", "UInt64", "Decimal128(20, 0)"),
            ("Int64", "Float64", "Float64"),
            ("Float32", "Decimal128(5, 2)", "Float64"),
            ("Decimal128(5, 2)", "Decimal128(9, 4)", "Decimal128(9, 4)"),
            ("Boolean", "Int64", ""),
            ("Date32", "Timestamp(s)", "Timestamp(s)"),
            ("Date64", "Timestamp(s)", "Timestamp(ms)"),
            ("Utf8", "LargeUtf8", "Utf8View"),
            ("Dictionary(Int8, Utf8)", "Utf8", "Utf8View"),
            (
                "Dictionary(Int8, Utf8)",
                "Dictionary(Int16, Utf8)",
                "Utf8View",
            ),
            ("Binary", "LargeBinary", "BinaryView"),
            ("Null", "Utf8", "Utf8View"),
        ] {
            let parsed = |text: &str| text.parse::<DataType>().unwrap();
            let want = (!want.is_empty()).then(|| parsed(want));
            assert_eq!(common(&parsed(a), &parsed(b)), want, "{a}, {b}");
            assert_eq!(common(&parsed(b), &parsed(a)), want, "{b}, {a}");
        }
    }
}
