//! Types of columns that several files share.

use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
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

/// Returns the type that holds the values of both types.
pub(crate) fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{
        Binary, BinaryView, Date32, Date64, Decimal128, Dictionary, Float64, Int64, LargeBinary,
        LargeUtf8, Null, Timestamp, UInt64, Utf8, Utf8View,
    };
    if a == b {
        return Some(a.clone());
    }
    let is_float = DataType::is_floating;
    Some(match (a, b) {
        (Null, other) | (other, Null) => other.clone(),
        (Dictionary(_, values), other) | (other, Dictionary(_, values)) => common(values, other)?,
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => Utf8View,
        (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => BinaryView,
        (Date32 | Date64, Date32 | Date64) => Date64,
        (Timestamp(one, zone), Timestamp(two, other)) if zone == other => {
            Timestamp(finer(*one, *two), zone.clone())
        }
        (Date32 | Date64, Timestamp(unit, None)) | (Timestamp(unit, None), Date32 | Date64) => {
            Timestamp(*unit, None)
        }
        (a, b) if a.is_integer() && b.is_integer() => match (a, b) {
            (a, b) if a.is_unsigned_integer() && b.is_unsigned_integer() => UInt64,
            (UInt64, _) | (_, UInt64) => Decimal128(20, 0),
            _ => Int64,
        },
        (a, b) if a.is_numeric() && b.is_numeric() && (is_float(a) || is_float(b)) => Float64,
        _ => return None,
    })
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    let fineness = |unit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    if fineness(a) < fineness(b) { b } else { a }
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
        use DataType::{Boolean, Date32, Float64, Int8, Int64, UInt8, UInt64};
        assert_eq!(common(&Int8, &UInt8), Some(Int64));
        assert_eq!(common(&Int64, &UInt64), Some(DataType::Decimal128(20, 0)));
        assert_eq!(common(&Int64, &Float64), Some(Float64));
        assert_eq!(common(&Boolean, &Int64), None);
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        assert_eq!(common(&Date32, &seconds), Some(seconds));
    }
}
