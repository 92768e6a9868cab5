//! Compares data that were read back: they must have the same schema, and the same logical values and nulls.
//!
//! Floats are equal if their bits are. Not compared: the order and unused entries of dictionaries,
//! run ends, the buffers of views, and values below nulls.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, RecordBatch, RunArray, UnionArray, downcast_dictionary_array,
    types::RunEndIndexType,
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use std::sync::Arc;

/// Panics with the column and row if two batches differ in schema or values.
#[track_caller]
pub(crate) fn assert_equal(expected: &RecordBatch, actual: &RecordBatch) {
    assert_eq!(expected.schema(), actual.schema(), "schema");
    assert_values_equal(expected, actual);
}

/// Panics if two batches differ in values, but ignores names, nullability, metadata, and the representation of values:
/// see [`values_equal`].
#[track_caller]
pub(crate) fn assert_values_equal(expected: &RecordBatch, actual: &RecordBatch) {
    assert_eq!(expected.num_rows(), actual.num_rows(), "number of rows");
    assert_eq!(expected.num_columns(), actual.num_columns(), "columns");
    for (i, (a, b)) in expected.columns().iter().zip(actual.columns()).enumerate() {
        if let Err(difference) = values_equal(a, b) {
            let schema = expected.schema();
            panic!("column {i} `{}`{difference}", schema.field(i).name());
        }
    }
}

/// Checks that two arrays have the same type and the same logical values. The error is the first difference: path, row,
/// expected and found value.
pub(crate) fn arrays_equal(expected: &ArrayRef, actual: &ArrayRef) -> Result<(), String> {
    if expected.data_type() != actual.data_type() {
        return Err(format!(
            ": expected type {}, found {}",
            expected.data_type(),
            actual.data_type()
        ));
    }
    values_equal(expected, actual)
}

/// Checks that two arrays have the same logical values in any representation: plain, dictionary or run-end encoded;
/// all kinds of strings, binaries and lists; sparse or dense unions.
pub(crate) fn values_equal(expected: &ArrayRef, actual: &ArrayRef) -> Result<(), String> {
    if expected.len() != actual.len() {
        return Err(format!(
            ": expected {} values, found {}",
            expected.len(),
            actual.len()
        ));
    }
    let slots = (0..expected.len()).map(|row| Slot {
        row,
        expected: row,
        actual: row,
    });
    compare(expected, actual, slots.collect(), "")
}

/// Checks that the values at pairs of positions, in `expected` and in `actual`, are equal as in [`values_equal`].
/// Differences name the position in `actual` as the row.
pub(crate) fn rows_equal(
    expected: &ArrayRef,
    actual: &ArrayRef,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> Result<(), String> {
    let slots = pairs.map(|(expected, actual)| Slot {
        row: actual,
        expected,
        actual,
    });
    compare(expected, actual, slots.collect(), "")
}

/// Two values that must be equal: their positions in two arrays, and the row they belong to.
#[derive(Clone, Copy)]
struct Slot {
    row: usize,
    expected: usize,
    actual: usize,
}

fn compare(a: &ArrayRef, b: &ArrayRef, slots: Vec<Slot>, path: &str) -> Result<(), String> {
    let (a, in_a) = resolve(a.clone(), slots.iter().map(|slot| Some(slot.expected)));
    let (b, in_b) = resolve(b.clone(), slots.iter().map(|slot| Some(slot.actual)));
    let mut valid = Vec::with_capacity(slots.len());
    for ((slot, i), j) in slots.into_iter().zip(in_a).zip(in_b) {
        match (i, j) {
            (None, None) => {}
            (Some(expected), Some(actual)) => valid.push(Slot {
                row: slot.row,
                expected,
                actual,
            }),
            (i, j) => {
                let (i, j) = (show(&a, i), show(&b, j));
                return Err(at(path, slot.row, &i, &j));
            }
        }
    }
    compare_valid(&a, &b, &valid, path)
}

fn at(path: &str, row: usize, expected: &str, actual: &str) -> String {
    format!("{path}, row {row}: expected {expected}, found {actual}")
}

fn show(array: &ArrayRef, position: Option<usize>) -> String {
    let Some(i) = position else {
        return "null".to_owned();
    };
    arrow_cast::display::array_value_to_string(array, i)
        .unwrap_or_else(|_| format!("{:?}", array.slice(i, 1)))
}

/// Resolves dictionaries and run-end encoding. Returns the array of the values, and the position of each value in it;
/// `None` for nulls.
fn resolve(
    array: ArrayRef,
    positions: impl Iterator<Item = Option<usize>>,
) -> (ArrayRef, Vec<Option<usize>>) {
    let (mut array, mut positions) = (array, positions.collect::<Vec<_>>());
    loop {
        for position in &mut positions {
            let is_null = |i| *array.data_type() == DataType::Null || array.is_null(i);
            *position = position.filter(|i| !is_null(*i));
        }
        let step: Box<dyn Fn(usize) -> usize> = match array.data_type() {
            DataType::Dictionary(_, _) => {
                let dictionary = array.clone();
                Box::new(move |i| {
                    let dictionary = dictionary.as_ref();
                    downcast_dictionary_array! {
                        dictionary => dictionary.keys().value(i).as_usize(),
                        other => panic!("{other} is no dictionary")
                    }
                })
            }
            DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                DataType::Int16 => physical::<Int16Type>(&array),
                DataType::Int32 => physical::<Int32Type>(&array),
                _ => physical::<Int64Type>(&array),
            },
            _ => return (array, positions),
        };
        for position in positions.iter_mut().flatten() {
            *position = step(*position);
        }
        array = match array.data_type() {
            DataType::Dictionary(_, _) => array.as_any_dictionary().values().clone(),
            _ => run_values(&array),
        };
    }
}

fn physical<R: RunEndIndexType>(array: &ArrayRef) -> Box<dyn Fn(usize) -> usize> {
    let runs: RunArray<R> = array.as_run::<R>().clone();
    Box::new(move |i| runs.get_physical_index(i))
}

fn run_values(array: &ArrayRef) -> ArrayRef {
    if let Some(runs) = array.as_run_opt::<Int16Type>() {
        runs.values().clone()
    } else if let Some(runs) = array.as_run_opt::<Int32Type>() {
        runs.values().clone()
    } else {
        array.as_run::<Int64Type>().values().clone()
    }
}

/// Compares values that are valid in both arrays, which are neither dictionaries nor runs.
fn compare_valid(a: &ArrayRef, b: &ArrayRef, slots: &[Slot], path: &str) -> Result<(), String> {
    if slots.is_empty() {
        return Ok(());
    }
    if let (Some(left), Some(right)) = (lists(a), lists(b)) {
        return compare_lists(&left, &right, slots, path);
    }
    match (a.data_type(), b.data_type()) {
        (DataType::Struct(fields), DataType::Struct(others)) => {
            if fields.len() != others.len() {
                return Err(format!(
                    "{path}: expected {} children, found {}",
                    fields.len(),
                    others.len()
                ));
            }
            let columns = a.as_struct().columns().iter().zip(b.as_struct().columns());
            for ((a, b), field) in columns.zip(fields) {
                compare(a, b, slots.to_vec(), &format!("{path}.`{}`", field.name()))?;
            }
            Ok(())
        }
        (DataType::Union(_, _), DataType::Union(_, _)) => {
            compare_unions(a.as_union(), b.as_union(), slots, path)
        }
        _ => compare_leaves(a, b, slots, path),
    }
}

fn compare_unions(
    a: &UnionArray,
    b: &UnionArray,
    slots: &[Slot],
    path: &str,
) -> Result<(), String> {
    let mut by_id: Vec<Vec<Slot>> = vec![Vec::new(); 128];
    for slot in slots {
        let (id, other) = (a.type_id(slot.expected), b.type_id(slot.actual));
        if id != other {
            let [id, other] = [id, other].map(|id| format!("type id {id}"));
            return Err(at(path, slot.row, &id, &other));
        }
        by_id[usize::try_from(id).unwrap()].push(Slot {
            row: slot.row,
            expected: a.value_offset(slot.expected),
            actual: b.value_offset(slot.actual),
        });
    }
    for (id, slots) in (0..=i8::MAX).zip(by_id) {
        if !slots.is_empty() {
            compare(a.child(id), b.child(id), slots, &format!("{path}.<{id}>"))?;
        }
    }
    Ok(())
}

/// The values of any kind of list, and the start and length of each list.
struct Lists {
    values: ArrayRef,
    range: Box<dyn Fn(usize) -> (usize, usize)>,
}

fn lists(array: &ArrayRef) -> Option<Lists> {
    macro_rules! offsets {
        ($list:expr, $values:expr) => {{
            let offsets = $list.offsets().clone();
            Some(Lists {
                values: $values,
                range: Box::new(move |i| {
                    let start = offsets[i].as_usize();
                    (start, offsets[i + 1].as_usize() - start)
                }),
            })
        }};
    }
    macro_rules! views {
        ($list:expr) => {{
            let (offsets, sizes) = ($list.offsets().clone(), $list.sizes().clone());
            Some(Lists {
                values: $list.values().clone(),
                range: Box::new(move |i| (offsets[i].as_usize(), sizes[i].as_usize())),
            })
        }};
    }
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            offsets!(list, list.values().clone())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            offsets!(list, list.values().clone())
        }
        DataType::Map(_, _) => {
            let map = array.as_map();
            offsets!(map, Arc::new(map.entries().clone()) as ArrayRef)
        }
        DataType::ListView(_) => views!(array.as_list_view::<i32>()),
        DataType::LargeListView(_) => views!(array.as_list_view::<i64>()),
        DataType::FixedSizeList(_, size) => {
            let size = size.as_usize();
            Some(Lists {
                values: array.as_fixed_size_list().values().clone(),
                range: Box::new(move |i| (i * size, size)),
            })
        }
        _ => None,
    }
}

fn compare_lists(a: &Lists, b: &Lists, slots: &[Slot], path: &str) -> Result<(), String> {
    let mut items = Vec::new();
    for slot in slots {
        let (in_a, len) = (a.range)(slot.expected);
        let (in_b, other) = (b.range)(slot.actual);
        if len != other {
            let [len, other] = [len, other].map(|len| format!("a list of {len}"));
            return Err(at(path, slot.row, &len, &other));
        }
        items.extend((0..len).map(|i| Slot {
            row: slot.row,
            expected: in_a + i,
            actual: in_b + i,
        }));
    }
    compare(&a.values, &b.values, items, &format!("{path}[]"))
}

fn compare_leaves(a: &ArrayRef, b: &ArrayRef, slots: &[Slot], path: &str) -> Result<(), String> {
    let (kind, of_a) = leaf(a);
    let (other, of_b) = leaf(b);
    if kind != other {
        return Err(format!("{path}: expected type {kind}, found {other}"));
    }
    for slot in slots {
        if of_a(slot.expected) != of_b(slot.actual) {
            let [x, y] = [(a, slot.expected), (b, slot.actual)].map(|(x, i)| show(x, Some(i)));
            return Err(at(path, slot.row, &x, &y));
        }
    }
    Ok(())
}

type Bytes<'a> = Box<dyn Fn(usize) -> &'a [u8] + 'a>;

/// Returns the type of a leaf, ignoring its representation, and the bytes of its value `i`.
fn leaf(array: &ArrayRef) -> (DataType, Bytes<'_>) {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    macro_rules! bytes {
        ($kind:expr, $array:expr) => {{
            let array = $array;
            ($kind, Box::new(move |i| AsRef::as_ref(array.value(i))))
        }};
    }
    match array.data_type() {
        Utf8 => bytes!(Utf8, array.as_string::<i32>()),
        LargeUtf8 => bytes!(Utf8, array.as_string::<i64>()),
        Utf8View => bytes!(Utf8, array.as_string_view()),
        Binary => bytes!(Binary, array.as_binary::<i32>()),
        LargeBinary => bytes!(Binary, array.as_binary::<i64>()),
        BinaryView => bytes!(Binary, array.as_binary_view()),
        DataType::FixedSizeBinary(size) => bytes!(
            DataType::FixedSizeBinary(*size),
            array.as_fixed_size_binary()
        ),
        DataType::Boolean => {
            let values = array.as_boolean();
            let byte: Bytes<'_> = Box::new(|i| if values.value(i) { &[1] } else { &[0] });
            (DataType::Boolean, byte)
        }
        DataType::Null => (DataType::Null, Box::new(|_| &[])),
        other => {
            // The values are not null, so the type has a buffer of values: compare the bits.
            let width = other.primitive_width();
            let width = width.unwrap_or_else(|| panic!("no comparison for {other}"));
            let values = fixed_width_values(array, width);
            let value: Bytes<'_> = Box::new(move |i| &values[i * width..(i + 1) * width]);
            (other.clone(), value)
        }
    }
}

fn fixed_width_values(array: &ArrayRef, width: usize) -> &[u8] {
    macro_rules! values {
        ($t:ty) => {
            array.as_primitive::<$t>().values().inner().as_slice()
        };
    }
    let bytes: &[u8] = arrow_array::downcast_primitive! {
        array.data_type() => (values),
        other => panic!("{other} is not primitive")
    };
    assert_eq!(
        bytes.len(),
        array.len() * width,
        "bytes of a primitive array"
    );
    bytes
}
