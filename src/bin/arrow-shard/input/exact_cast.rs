//! Casts to the types that columns of the result have: those that change no value, and those that may.

use super::{exact_text, lossy_text};
use crate::failure::Failure;
use crate::leaves::{cast_array, change_leaves};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ListArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use std::sync::Arc;

/// Maximum number of characters of a value in an error.
const MAX_CHARS: usize = 80;

/// Parts of the errors about values that a type holds only after they are cut or rounded.
pub(super) const LOSSES: [&str; 2] = [INEXACT, exact_text::LOST];
const INEXACT: &str = "does not fit exactly into";

/// Casts a column to the type of a field. The first row of the column has the number `first_row` in its file.
///
/// # Errors
/// Fails with the column and the row if the type does not hold a value exactly, or if Arrow has no such cast.
pub(super) fn cast_exactly(
    column: &ArrayRef,
    field: &Field,
    first_row: u64,
) -> Result<ArrayRef, Failure> {
    if column.data_type() == field.data_type() {
        return Ok(column.clone());
    }
    if column.null_count() == column.len() {
        return Ok(new_null_array(field.data_type(), column.len()));
    }
    let to = field.data_type();
    let failure = match cast(column, to) {
        Ok(cast) => return Ok(cast),
        Err(failure) => failure,
    };
    // Rows are cast one by one to find the first that fails.
    let alone = |row: usize| Some((row, cast(&column.slice(row, 1), to).err()?));
    let (place, failure) = match (0..column.len()).find_map(alone) {
        Some((row, failure)) => {
            let text = array_value_to_string(&column.slice(row, 1), 0)?;
            let text: String = text.chars().take(MAX_CHARS).collect();
            let row = first_row + row as u64;
            (
                format!("column `{}`, row {row}, `{text}`", field.name()),
                failure,
            )
        }
        None => (format!("column `{}`", field.name()), failure),
    };
    Err(failure.within(place))
}

/// Casts a column to the type of a field. Values that the type does not hold are cut or rounded.
///
/// # Errors
/// Fails with the column if a value cannot be converted at all.
pub(super) fn cast_lossily(column: &ArrayRef, field: &Field) -> Result<ArrayRef, Failure> {
    let cast = cast_nested(column, field.data_type(), &|column, to| {
        if is_text(column.data_type()) {
            lossy_text::parsed(column, to)
        } else {
            cast_array(column, to)
        }
    });
    cast.map_err(|e| e.within(format!("column `{}`", field.name())))
}

fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Failure> {
    cast_nested(column, to, &|column, to| {
        let from = column.data_type();
        if is_text(from) {
            return exact_text::parsed(column, to);
        }
        // Arrow would make lists of one item.
        if to.is_nested() && !from.is_nested() {
            return Err(inexact(from, to));
        }
        let cast = cast_array(column, to)?;
        match cast_array(&cast, from) {
            Ok(back) if back.to_data() == column.to_data() => Ok(cast),
            _ => Err(inexact(from, to)),
        }
    })
}

/// Casts the items of lists and the members of structs one by one, and other values by `leaf`. Members belong together
/// by their names; a member that the column lacks is null.
fn cast_nested(
    column: &ArrayRef,
    to: &DataType,
    leaf: &dyn Fn(&ArrayRef, &DataType) -> Result<ArrayRef, Failure>,
) -> Result<ArrayRef, Failure> {
    if column.data_type() == to {
        return Ok(column.clone());
    }
    if column.logical_null_count() == column.len() {
        return Ok(new_null_array(to, column.len()));
    }
    match (column.data_type(), to, item_of(to)) {
        (DataType::List(_), _, Some(item)) => {
            let list = column.as_list::<i32>();
            let offsets = list.offsets();
            let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
                return leaf(column, to);
            };
            let (start, end) = (usize_of(first), usize_of(last));
            let items = list.values().slice(start, end - start);
            let items = cast_nested(&items, item.data_type(), leaf)?;
            let lengths = OffsetBuffer::from_lengths(offsets.lengths());
            let list = ListArray::try_new(item.clone(), lengths, items, list.nulls().cloned())?;
            cast_array(&(Arc::new(list) as ArrayRef), to)
        }
        (DataType::Struct(members), DataType::Struct(wanted), _) => {
            let known = |name: &str| wanted.iter().any(|it| it.name() == name);
            if let Some(other) = members.iter().find(|member| !known(member.name())) {
                return Err(Failure::new(format!(
                    "there is a member `{}`, which {to} does not have",
                    other.name()
                )));
            }
            let rows = column.as_struct();
            let columns = wanted.iter().map(|member| {
                let cast = match rows.column_by_name(member.name()) {
                    Some(column) => cast_nested(column, member.data_type(), leaf),
                    None => Ok(new_null_array(member.data_type(), rows.len())),
                };
                cast.map_err(|e| e.within(format!("member `{}`", member.name())))
            });
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let nulls = rows.nulls().cloned();
            let cast =
                StructArray::try_new_with_length(wanted.clone(), columns, nulls, rows.len())?;
            Ok(Arc::new(cast))
        }
        _ => leaf(column, to),
    }
}

/// Returns the items of a list type.
pub(super) fn item_of(list: &DataType) -> Option<&FieldRef> {
    use DataType as T;
    match list {
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// Returns an offset, which is never negative.
fn usize_of(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or_default()
}

/// Returns the error for a value that the other type does not hold.
fn inexact(from: &DataType, to: &DataType) -> Failure {
    Failure::new(format!("a value of {from} {INEXACT} {to}"))
}

/// Whether the type is text in any form.
fn is_text(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, value) => is_text(value),
        other => other.is_string(),
    }
}

/// Returns the columns with text in the place of numbers that the JSON reader would round: integers among floats, and
/// fractions among integers.
pub(super) fn with_numbers_as_text(schema: &SchemaRef) -> SchemaRef {
    change_leaves(schema, &mut |leaf| {
        let is_rounded = leaf.is_floating() || leaf.is_integer();
        is_rounded.then_some(DataType::Utf8)
    })
}

/// Casts the columns of a batch that has text in the place of numbers.
///
/// # Errors
/// Fails if the type does not hold a number exactly.
pub(super) fn exactly(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    let pairs = batch.columns().iter().zip(schema.fields());
    let columns = pairs.map(|(column, field)| cast_exactly(column, field, 0));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
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
    use arrow_array::{Date32Array, Float64Array, Int64Array, TimestampMicrosecondArray};
    use std::sync::Arc;

    fn cast_to(column: impl Array + 'static, to: &str) -> Result<ArrayRef, String> {
        let field = Field::new("x", to.parse().unwrap(), true);
        let column: ArrayRef = Arc::new(column);
        cast_exactly(&column, &field, 10).map_err(|failure| match failure {
            Failure::Error(message) => message,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn a_value_that_a_type_does_not_hold_is_an_error_with_its_row() {
        let numbers = |values: &[i64]| Int64Array::from_iter(values.iter().copied().map(Some));
        assert!(cast_to(numbers(&[1, -5, 1 << 53]), "Float64").is_ok());
        let error = cast_to(numbers(&[1, (1 << 53) + 1]), "Float64").unwrap_err();
        assert!(
            error.contains("`x`") && error.contains("row 11") && error.contains("9007199254740993"),
            "{error}"
        );
        assert!(cast_to(numbers(&[127]), "Int8").is_ok());
        assert!(cast_to(numbers(&[128]), "Int8").is_err());
        assert!(cast_to(numbers(&[1, 0]), "Boolean").is_ok());
        assert!(cast_to(numbers(&[2]), "Boolean").is_err());
        assert!(cast_to(numbers(&[2]), "List(Int64)").is_err());
        assert!(
            cast_to(
                Float64Array::from(vec![Some(0.5), None, Some(f64::NAN)]),
                "Float32"
            )
            .is_ok()
        );
        assert!(cast_to(Float64Array::from(vec![0.1]), "Float32").is_err());
        assert!(cast_to(Float64Array::from(vec![1.5]), "Int64").is_err());
        let times = TimestampMicrosecondArray::from(vec![86_400_000_000]);
        assert!(cast_to(times.clone(), "Date32").is_ok());
        assert!(cast_to(times, "Timestamp(s)").is_ok());
        assert!(cast_to(TimestampMicrosecondArray::from(vec![1]), "Timestamp(s)").is_err());
        // Days that nanoseconds do not reach.
        assert!(cast_to(Date32Array::from(vec![1_000_000]), "Timestamp(ns)").is_err());
        assert!(cast_to(Date32Array::from(vec![1_000_000]), "Timestamp(s)").is_ok());
    }
}
