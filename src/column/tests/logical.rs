//! Arrays as plain values, so that equal values compare equal in any layout.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, downcast_run_array};
use arrow_schema::DataType as ArrowType;

/// One value; numbers by their bytes, to distinguish NaNs and zeros.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Struct(Vec<Value>),
    Variant(i8, Box<Value>),
}

pub(super) fn values(array: &dyn Array) -> Vec<Value> {
    (0..array.len()).map(|i| value(array, i)).collect()
}

fn list(array: &ArrayRef) -> Value {
    Value::List(values(array))
}

fn value(array: &dyn Array, i: usize) -> Value {
    use ArrowType::*;
    if array.is_null(i) {
        return null(array.data_type());
    }
    match array.data_type() {
        Null => Value::Null,
        Boolean => Value::Bool(array.as_boolean().value(i)),
        Utf8 => Value::Bytes(array.as_string::<i32>().value(i).into()),
        LargeUtf8 => Value::Bytes(array.as_string::<i64>().value(i).into()),
        Utf8View => Value::Bytes(array.as_string_view().value(i).into()),
        Binary => Value::Bytes(array.as_binary::<i32>().value(i).into()),
        LargeBinary => Value::Bytes(array.as_binary::<i64>().value(i).into()),
        BinaryView => Value::Bytes(array.as_binary_view().value(i).into()),
        FixedSizeBinary(0) => Value::Bytes(Vec::new()),
        FixedSizeBinary(_) => Value::Bytes(array.as_fixed_size_binary().value(i).into()),
        List(_) => list(&array.as_list::<i32>().value(i)),
        LargeList(_) => list(&array.as_list::<i64>().value(i)),
        ListView(_) => list(&array.as_list_view::<i32>().value(i)),
        LargeListView(_) => list(&array.as_list_view::<i64>().value(i)),
        FixedSizeList(..) => list(&array.as_fixed_size_list().value(i)),
        Map(..) => {
            let entries = array.as_map().value(i);
            Value::List((0..entries.len()).map(|i| value(&entries, i)).collect())
        }
        Struct(_) => {
            let columns = array.as_struct().columns();
            Value::Struct(columns.iter().map(|c| value(c, i)).collect())
        }
        Union(..) => {
            let union = array.as_union();
            let id = union.type_id(i);
            let of_child = value(union.child(id), union.value_offset(i));
            Value::Variant(id, Box::new(of_child))
        }
        Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            value(dictionary.values(), dictionary.normalized_keys()[i])
        }
        RunEndEncoded(..) => downcast_run_array!(
            array => value(array.values(), array.get_physical_index(i)),
            other => panic!("run-end type {other}")
        ),
        primitive => {
            let width = primitive.primitive_width().unwrap();
            let data = array.to_data();
            let start = (data.offset() + i) * width;
            Value::Bytes(data.buffers()[0][start..start + width].to_vec())
        }
    }
}

/// A null dictionary key or run of unions is the null of variant 0, because unions have no nulls.
fn null(data_type: &ArrowType) -> Value {
    match data_type {
        ArrowType::Union(variants, _) => match variants.iter().next() {
            Some((id, field)) => Value::Variant(id, Box::new(null(field.data_type()))),
            None => Value::Null,
        },
        ArrowType::Dictionary(_, values) => null(values),
        ArrowType::RunEndEncoded(_, values) => null(values.data_type()),
        _ => Value::Null,
    }
}
