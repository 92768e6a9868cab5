//! Nested types, and conversions of their columns.

use crate::failure::Failure;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_schema::{
    ArrowError, DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef, Fields, Schema, SchemaRef,
};
use std::sync::Arc;

/// Returns the schema with changed leaves. Calls `change` once for each leaf, from the first column to the last; `None`
/// keeps the leaf. The values of dictionaries and runs are leaves.
pub(crate) fn change_leaves(
    schema: &Schema,
    change: &mut dyn FnMut(&DataType) -> Option<DataType>,
) -> SchemaRef {
    change_types(schema, &mut |ty| match ty {
        DataType::Dictionary(..) => None,
        nested if nested.is_nested() => None,
        leaf => change(leaf),
    })
}

/// Returns the schema of a table written as text: dictionaries are replaced by their values, and decimals with a
/// negative scale by whole numbers, because their zero would be written `000`.
pub(crate) fn as_text(schema: &Schema) -> SchemaRef {
    let whole = |ty: &DataType| match decimal(ty) {
        Some((_, scale)) if scale < 0 => Some(DataType::Decimal256(DECIMAL256_MAX_PRECISION, 0)),
        _ => None,
    };
    let changed = change_types(schema, &mut |ty| match ty {
        DataType::Dictionary(_, value) => Some(whole(value).unwrap_or(value.as_ref().clone())),
        other => whole(other),
    });
    // A dictionary without null keys may have null entries.
    let nullable = |field: &FieldRef| Field::clone(field).with_nullable(true);
    Arc::new(Schema::new(
        changed.fields().iter().map(nullable).collect::<Fields>(),
    ))
}

/// Returns a decimal type of the schema that may have more digits than [`as_text`] supports.
pub(crate) fn too_long_for_text(schema: &Schema) -> Option<DataType> {
    let mut found = None;
    change_leaves(schema, &mut |leaf| {
        let is_long = decimal(leaf).is_some_and(|(precision, scale)| {
            i16::from(precision) - i16::from(scale.min(0)) > i16::from(DECIMAL256_MAX_PRECISION)
        });
        found = found.take().or(is_long.then(|| leaf.clone()));
        None
    });
    found
}

/// Returns the precision and scale of a decimal.
fn decimal(ty: &DataType) -> Option<(u8, i8)> {
    match *ty {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some((precision, scale)),
        _ => None,
    }
}

/// Returns the schema with changed types. Calls `change` for each type before its children; `None` keeps the type.
pub(crate) fn change_types(
    schema: &Schema,
    change: &mut dyn FnMut(&DataType) -> Option<DataType>,
) -> SchemaRef {
    let fields = fields(schema.fields(), change);
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn fields(fields: &Fields, change: &mut dyn FnMut(&DataType) -> Option<DataType>) -> Fields {
    fields.iter().map(|f| field(f, change)).collect()
}

fn field(field: &FieldRef, change: &mut dyn FnMut(&DataType) -> Option<DataType>) -> FieldRef {
    let data_type = data_type(field.data_type(), change);
    if data_type == *field.data_type() {
        field.clone()
    } else {
        Arc::new(Field::clone(field).with_data_type(data_type))
    }
}

fn data_type(whole: &DataType, change: &mut dyn FnMut(&DataType) -> Option<DataType>) -> DataType {
    use DataType as T;
    if let Some(changed) = change(whole) {
        return changed;
    }
    match whole {
        T::List(item) => T::List(field(item, change)),
        T::LargeList(item) => T::LargeList(field(item, change)),
        T::ListView(item) => T::ListView(field(item, change)),
        T::LargeListView(item) => T::LargeListView(field(item, change)),
        T::FixedSizeList(item, size) => T::FixedSizeList(field(item, change), *size),
        T::Map(entries, sorted) => T::Map(field(entries, change), *sorted),
        T::Struct(members) => T::Struct(fields(members, change)),
        T::Dictionary(key, value) => T::Dictionary(key.clone(), Box::new(data_type(value, change))),
        T::RunEndEncoded(ends, values) => T::RunEndEncoded(ends.clone(), field(values, change)),
        other => other.clone(),
    }
}

/// Returns the fields of a type, in the order of the children of its arrays. Dictionaries have none.
pub(crate) fn children(data_type: &DataType) -> Vec<&FieldRef> {
    use DataType as T;
    match data_type {
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _)
        | T::Map(item, _) => vec![item],
        T::RunEndEncoded(ends, values) => vec![ends, values],
        T::Struct(members) => members.iter().collect(),
        T::Union(variants, _) => variants.iter().map(|(_, variant)| variant).collect(),
        _ => Vec::new(),
    }
}

/// Whether `data` or any of its descendants passes the test.
pub(crate) fn any_array(data: &ArrayData, test: &dyn Fn(&ArrayData) -> bool) -> bool {
    test(data) || data.child_data().iter().any(|child| any_array(child, test))
}

/// Fails if a decimal of a batch has more digits than its type: it would be shown cut off.
pub(crate) fn check_decimals(batch: &RecordBatch) -> Result<(), Failure> {
    for (column, field) in batch.columns().iter().zip(batch.schema_ref().fields()) {
        let mut has_decimals = false;
        change_leaves(&Schema::new(vec![field.clone()]), &mut |leaf| {
            has_decimals |= decimal(leaf).is_some();
            None
        });
        if has_decimals || matches!(field.data_type(), DataType::Dictionary(..)) {
            let checked = check_digits(&column.to_data());
            checked.map_err(|e| Failure::from(e).within(format!("column `{}`", field.name())))?;
        }
    }
    Ok(())
}

fn check_digits(data: &ArrayData) -> Result<(), ArrowError> {
    match *data.data_type() {
        DataType::Decimal32(..) => check::<Decimal32Type>(data),
        DataType::Decimal64(..) => check::<Decimal64Type>(data),
        DataType::Decimal128(..) => check::<Decimal128Type>(data),
        DataType::Decimal256(..) => check::<Decimal256Type>(data),
        _ => data.child_data().iter().try_for_each(check_digits),
    }
}

fn check<T: DecimalType>(data: &ArrayData) -> Result<(), ArrowError> {
    let array = PrimitiveArray::<T>::from(data.clone());
    let precision = array.precision();
    let fits = |value: T::Native| T::is_valid_decimal_precision(value, precision);
    match array.iter().flatten().find(|value| !fits(*value)) {
        None => Ok(()),
        Some(value) => Err(ArrowError::InvalidArgumentError(format!(
            "the unscaled value {value:?} has more digits than {}",
            array.data_type()
        ))),
    }
}

/// Casts the column to the type of a field. If a value does not fit, returns an error that names the column.
pub(crate) fn cast_column(column: &ArrayRef, field: &Field) -> Result<ArrayRef, Failure> {
    let cast = cast_array(column, field.data_type());
    cast.map_err(|e| e.within(format!("column `{}`", field.name())))
}

/// Casts an array to a type. Returns an error if a value does not fit.
pub(crate) fn cast_array(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, Failure> {
    if array.data_type() == data_type {
        return Ok(array.clone());
    }
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let cast = |array: &ArrayRef, ty: &DataType| cast_with_options(array, ty, &strict);
    Ok(match (array.data_type(), data_type) {
        // A direct cast of times to dictionary entries of another unit would keep the numbers unchanged.
        (plain, whole @ DataType::Dictionary(_, entry)) if plain.is_temporal() => {
            cast(&cast(array, entry)?, whole)?
        }
        (_, wanted) => cast(array, wanted)?,
    })
}

/// Casts the columns to the types of a schema. If a value does not fit, returns an error that names the column.
pub(crate) fn cast_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    let columns = (batch.columns().iter().zip(schema.fields()))
        .map(|(column, field)| cast_column(column, field))
        .collect::<Result<Vec<_>, _>>()?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        schema.clone(),
        columns,
        &rows,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Decimal128Array;
    use arrow_schema::TimeUnit;

    #[test]
    fn decimals_with_more_digits_than_their_type_are_refused() {
        let numbers = |number| {
            let array = Decimal128Array::from(vec![None, Some(number)]);
            Arc::new(array.with_precision_and_scale(3, 2).unwrap()) as ArrayRef
        };
        for (number, fits) in [(999, true), (-11_697, false)] {
            let batch = RecordBatch::try_from_iter([("d", numbers(number))]).unwrap();
            assert_eq!(check_decimals(&batch).is_ok(), fits);
            let members: ArrayRef = Arc::new(arrow_array::StructArray::from(batch));
            let batch = RecordBatch::try_from_iter([("s", members)]).unwrap();
            assert_eq!(check_decimals(&batch).is_ok(), fits, "in a struct");
        }
    }

    #[test]
    fn leaves_are_met_once_and_in_order() {
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        let item = |ty: &DataType| Arc::new(Field::new("item", ty.clone(), true));
        let members = Fields::from(vec![
            Field::new("a", DataType::Int8, true),
            Field::new("b", DataType::List(item(&seconds)), true),
        ]);
        let key = Box::new(DataType::Int16);
        let schema = Schema::new(vec![
            Field::new("s", DataType::Struct(members), true),
            Field::new(
                "d",
                DataType::Dictionary(key.clone(), Box::new(seconds.clone())),
                true,
            ),
            Field::new("u", DataType::Utf8, false),
        ]);
        let mut met = Vec::new();
        let changed = change_leaves(&schema, &mut |leaf| {
            met.push(leaf.clone());
            (*leaf == seconds).then_some(DataType::Int64)
        });
        assert_eq!(
            met,
            [DataType::Int8, seconds.clone(), seconds, DataType::Utf8]
        );
        let members = Fields::from(vec![
            Field::new("a", DataType::Int8, true),
            Field::new("b", DataType::List(item(&DataType::Int64)), true),
        ]);
        assert_eq!(*changed.field(0).data_type(), DataType::Struct(members));
        assert_eq!(
            *changed.field(1).data_type(),
            DataType::Dictionary(key, Box::new(DataType::Int64))
        );
        assert_eq!(changed.field(2), schema.field(2));
    }
}
