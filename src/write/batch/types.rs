//! Checks batches against the declared schema.

use crate::column::declared_nulls;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, SchemaRef};

/// Refuses a batch if its columns do not match the schema.
///
/// # Errors
/// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch), which names the column.
pub(in crate::write) fn check_batch(schema: &SchemaRef, batch: &RecordBatch) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{Int32Builder, ListBuilder};
    use arrow_array::{Array, ArrayRef, Int32Array, LargeStringArray, StructArray, UnionArray};
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
}
