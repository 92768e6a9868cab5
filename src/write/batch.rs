//! Checks batches against the declared schema, and estimates their size.

use crate::column::declared_nulls;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch, RunArray};
use arrow_schema::{DataType, Field, SchemaRef};

/// Refuses a batch if its columns do not match the schema.
///
/// # Errors
/// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch), which names the column.
pub(super) fn check_batch(schema: &SchemaRef, batch: &RecordBatch) -> Result<()> {
    let mismatch = |message: String| Err(Error::new(ErrorKind::SchemaMismatch, message));
    if batch.num_columns() != schema.fields().len() {
        return mismatch(format!(
            "the batch has {} columns, the shard {}",
            batch.num_columns(),
            schema.fields().len()
        ));
    }
    let given = batch.schema_ref().fields().iter().zip(batch.columns());
    for (expected, (field, column)) in schema.fields().iter().zip(given) {
        if expected.name() != field.name() {
            return mismatch(format!(
                "the batch has column `{}` where the shard has `{}`",
                field.name(),
                expected.name()
            ));
        }
        if !fits(expected.data_type(), column.data_type()) {
            return mismatch(format!(
                "column `{}` of the batch is {}, that of the shard {}; cast it first",
                field.name(),
                column.data_type(),
                expected.data_type()
            ));
        }
        let nulls = declared_nulls(column);
        if !expected.is_nullable() && nulls > 0 {
            return mismatch(format!(
                "column `{}` is declared without nulls, but the batch has {nulls}",
                field.name(),
            ));
        }
    }
    Ok(())
}

/// Returns whether values of type `given` can be stored as `expected`: the types are equal, with the same members and
/// variants in the same order. Only the fields inside lists and maps may have other names.
fn fits(expected: &DataType, given: &DataType) -> bool {
    use DataType::{
        Dictionary, FixedSizeList, LargeList, LargeListView, List, ListView, Map, RunEndEncoded,
        Struct, Union,
    };
    let unnamed = |a: &Field, b: &Field| {
        a.is_nullable() == b.is_nullable() && fits(a.data_type(), b.data_type())
    };
    let named = |a: &Field, b: &Field| a.name() == b.name() && unnamed(a, b);
    match (expected, given) {
        (List(a), List(b))
        | (LargeList(a), LargeList(b))
        | (ListView(a), ListView(b))
        | (LargeListView(a), LargeListView(b)) => unnamed(a, b),
        (FixedSizeList(a, size), FixedSizeList(b, other)) => size == other && unnamed(a, b),
        (Map(a, sorted), Map(b, other)) => match (a.data_type(), b.data_type()) {
            (Struct(a), Struct(b)) => {
                sorted == other && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| unnamed(a, b))
            }
            _ => false,
        },
        (Struct(a), Struct(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| named(a, b)),
        (Union(a, mode), Union(b, other)) => {
            let mut pairs = a.iter().zip(b.iter());
            mode == other
                && a.len() == b.len()
                && pairs.all(|((id, a), (other, b))| id == other && named(a, b))
        }
        (Dictionary(key, a), Dictionary(other, b)) => key == other && fits(a, b),
        (RunEndEncoded(ends, a), RunEndEncoded(others, b)) => {
            ends.data_type() == others.data_type() && unnamed(a, b)
        }
        (a, b) => a.equals_datatype(b),
    }
}

/// Most views to look at to estimate the length of values.
const LOOKED_AT: usize = 1024;

/// Estimates the bytes of Arrow data that the rows of a batch take.
pub(super) fn batch_bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|array| bytes_of(array)).sum()
}

/// Estimates the bytes of the values of an array, without other values in its buffers. Values that are selected from
/// another array in any order count with the average size there.
fn bytes_of(array: &dyn Array) -> u64 {
    let len = array.len();
    let nulls = array.nulls().map_or(0, |_| len.div_ceil(8)) as u64;
    nulls
        + match array.data_type() {
            DataType::Null => 0,
            DataType::Boolean => len.div_ceil(8) as u64,
            DataType::Utf8 => with_bytes(array.as_string::<i32>().value_offsets()),
            DataType::LargeUtf8 => with_bytes(array.as_string::<i64>().value_offsets()),
            DataType::Binary => with_bytes(array.as_binary::<i32>().value_offsets()),
            DataType::LargeBinary => with_bytes(array.as_binary::<i64>().value_offsets()),
            DataType::Utf8View => views(array.as_string_view().views(), LOOKED_AT),
            DataType::BinaryView => views(array.as_binary_view().views(), LOOKED_AT),
            DataType::FixedSizeBinary(_) => {
                let width = array.as_fixed_size_binary().value_length();
                len as u64 * u64::from(width.unsigned_abs())
            }
            DataType::List(_) => items(
                array.as_list::<i32>().value_offsets(),
                array.as_list::<i32>().values(),
            ),
            DataType::LargeList(_) => items(
                array.as_list::<i64>().value_offsets(),
                array.as_list::<i64>().values(),
            ),
            DataType::Map(..) => items(array.as_map().value_offsets(), array.as_map().entries()),
            DataType::ListView(_) => {
                let lists = array.as_list_view::<i32>();
                8 * len as u64 + share(sum(lists.value_sizes()), lists.values())
            }
            DataType::LargeListView(_) => {
                let lists = array.as_list_view::<i64>();
                16 * len as u64 + share(sum(lists.value_sizes()), lists.values())
            }
            DataType::FixedSizeList(..) => bytes_of(array.as_fixed_size_list().values()),
            DataType::Struct(_) => {
                let members = array.as_struct().columns().iter();
                members.map(|member| bytes_of(member)).sum()
            }
            DataType::Union(fields, _) => {
                let union = array.as_union();
                let variants = fields.iter().map(|(id, _)| match union.offsets() {
                    None => bytes_of(union.child(id)),
                    Some(_) => {
                        let ids = union.type_ids().iter();
                        let count = ids.filter(|other| **other == id).count();
                        4 * count as u64 + share(count as u64, union.child(id))
                    }
                });
                len as u64 + variants.sum::<u64>()
            }
            DataType::Dictionary(key, _) => {
                let keys = len * key.primitive_width().unwrap_or(0);
                // Count no more entries than keys: other arrays may share the dictionary.
                let values = array.as_any_dictionary().values();
                keys as u64 + share((len as u64).min(values.len() as u64), values)
            }
            DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                DataType::Int16 => runs(array.as_run::<Int16Type>()),
                DataType::Int32 => runs(array.as_run::<Int32Type>()),
                _ => runs(array.as_run::<Int64Type>()),
            },
            other => (len * other.primitive_width().unwrap_or(0)) as u64,
        }
}

/// Returns the size of contiguous values and of their offsets in bytes.
fn with_bytes<O: OffsetSizeTrait>(offsets: &[O]) -> u64 {
    let span = |offsets: &[O]| offsets[offsets.len() - 1].as_usize() - offsets[0].as_usize();
    match offsets {
        [] => 0,
        offsets => (size_of_val(offsets) + span(offsets)) as u64,
    }
}

/// Estimates the bytes of views and of the values that do not fit into them, from at most `looked_at` views.
pub(super) fn views(views: &[u128], looked_at: usize) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the length is in the low bits"
    )]
    let outside = |view: &u128| match *view as u32 {
        0..=12 => 0,
        len => u64::from(len),
    };
    let step = views.len().div_ceil(looked_at).max(1);
    let sum: u64 = views.iter().step_by(step).map(outside).sum();
    let count = views.len().div_ceil(step).max(1);
    size_of_val(views) as u64 + sum * views.len() as u64 / count as u64
}

/// Returns the size in bytes of the items between the first and last offset, and of the offsets.
fn items<O: OffsetSizeTrait>(offsets: &[O], values: &dyn Array) -> u64 {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return 0;
    };
    let (first, last) = (first.as_usize(), last.as_usize());
    size_of_val(offsets) as u64 + bytes_of(&values.slice(first, last - first))
}

/// Estimates the bytes of `count` values of an array.
pub(super) fn share(count: u64, values: &dyn Array) -> u64 {
    if count == 0 || values.is_empty() {
        return 0;
    }
    let bytes = u128::from(bytes_of(values)) * u128::from(count) / values.len() as u128;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn sum<O: OffsetSizeTrait>(sizes: &[O]) -> u64 {
    sizes.iter().map(|size| size.as_usize() as u64).sum()
}

/// Returns the size in bytes of the runs of a slice, and of their ends.
fn runs<R: RunEndIndexType>(array: &RunArray<R>) -> u64 {
    let values = run_values(array);
    (values.len() * size_of::<R::Native>()) as u64 + bytes_of(&values)
}

/// Returns the values of the runs of a slice.
pub(super) fn run_values<R: RunEndIndexType>(array: &RunArray<R>) -> ArrayRef {
    if array.is_empty() {
        return array.values().slice(0, 0);
    }
    let ends = array.run_ends();
    let first = ends.get_start_physical_index();
    let count = ends.get_end_physical_index() + 1 - first;
    array.values().slice(first, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{Int32Builder, ListBuilder};
    use arrow_array::{
        ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, LargeStringArray,
        StringArray, StringViewArray, StructArray, UnionArray,
    };
    use arrow_schema::{Fields, Schema, UnionFields, UnionMode};
    use std::sync::Arc;

    fn schema_of(data_type: DataType) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("c", data_type, true)]))
    }

    fn accepts(expected: &DataType, array: ArrayRef) -> bool {
        let schema = schema_of(array.data_type().clone());
        let batch = RecordBatch::try_new(schema, vec![array]).unwrap();
        match check_batch(&schema_of(expected.clone()), &batch) {
            Ok(()) => true,
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
                false
            }
        }
    }

    #[test]
    fn members_have_their_names_and_places() {
        let fields = |names: [&str; 2]| -> Fields {
            let field = |name| Field::new(name, DataType::Int32, true);
            names.map(field).to_vec().into()
        };
        let expected = DataType::Struct(fields(["a", "b"]));
        for (names, fit) in [(["a", "b"], true), (["b", "a"], false), (["a", "c"], false)] {
            let array = StructArray::new_null(fields(names), 1);
            assert_eq!(accepts(&expected, Arc::new(array)), fit, "{names:?}");
        }
    }

    #[test]
    fn variants_have_their_ids_names_and_places() {
        let fields = |variants: [(i8, &str); 2]| {
            let field = |(id, name)| (id, Arc::new(Field::new(name, DataType::Int32, true)));
            variants.map(field).into_iter().collect::<UnionFields>()
        };
        let expected = DataType::Union(fields([(0, "x"), (1, "y")]), UnionMode::Sparse);
        for (variants, fit) in [
            ([(0, "x"), (1, "y")], true),
            ([(1, "y"), (0, "x")], false),
            ([(0, "y"), (1, "x")], false),
            ([(0, "x"), (2, "y")], false),
        ] {
            let children = [1, 2].map(|v| Arc::new(Int32Array::from(vec![v])) as ArrayRef);
            let ids = vec![variants[0].0].into();
            let array = UnionArray::try_new(fields(variants), ids, None, children.to_vec());
            assert_eq!(
                accepts(&expected, Arc::new(array.unwrap())),
                fit,
                "{variants:?}"
            );
        }
    }

    #[test]
    fn items_may_have_other_names() {
        let list = |name: &str| {
            let item = Field::new(name, DataType::Int32, true);
            let mut lists = ListBuilder::new(Int32Builder::new()).with_field(item);
            lists.append_value([Some(1)]);
            lists.finish()
        };
        let expected = list("item").data_type().clone();
        assert!(accepts(&expected, Arc::new(list("element"))));
        let large = LargeStringArray::from(vec!["a"]);
        assert!(!accepts(&DataType::Utf8, Arc::new(large)));
    }

    fn close(array: &dyn Array, expected: u64) {
        let found = bytes_of(array);
        assert!(
            found.abs_diff(expected) <= expected / 20,
            "{found} bytes, not {expected}: {}",
            array.data_type()
        );
    }

    #[test]
    fn slices_count_what_they_hold() {
        let text: Vec<String> = (0..1000).map(|i| format!("{i:0>100}")).collect();
        close(&StringArray::from(text.clone()).slice(100, 200), 200 * 104);
        close(
            &StringViewArray::from(text.clone()).slice(100, 200),
            200 * 116,
        );
        close(&Int64Array::from(vec![1; 1000]).slice(1, 300), 2400);

        let mut lists = ListBuilder::new(Int32Builder::new());
        for i in 0..1000 {
            lists.append_value((0..i % 20).map(Some));
        }
        close(&lists.finish().slice(500, 100), 100 * (4 + 4 * 19 / 2));

        // A slice of the rows counts only its part of a shared dictionary.
        let keys = Int8Array::from_iter_values((0..100).map(|i| i % 10));
        let entries: ArrayRef = Arc::new(StringArray::from(text));
        let codes = DictionaryArray::new(keys, entries);
        close(&codes, 100 + 100 * 104);

        let ends = Int32Array::from_iter_values((1..=1000).map(|i| 10 * i));
        let runs = RunArray::try_new(&ends, &Int64Array::from(vec![5; 1000])).unwrap();
        close(&runs.slice(5000, 500), 51 * 12);
    }
}
