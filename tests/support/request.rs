//! Other Arrow types that a reader may request.

use arrow_schema::{DataType, Field, FieldRef, Fields, UnionFields, UnionMode};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use std::sync::Arc;

/// Returns a random type for the same values: other offsets, views, keys, run ends, dense or sparse unions, and
/// dictionaries or run-end encoding instead of plain values, or the reverse, at every level.
pub(crate) fn other_type(rng: &mut StdRng, data_type: &DataType) -> DataType {
    use DataType::{
        Binary, BinaryView, Dictionary, FixedSizeList, LargeBinary, LargeList, LargeListView,
        LargeUtf8, List, ListView, Map, RunEndEncoded, Struct, Union, Utf8, Utf8View,
    };
    match data_type {
        List(item) | LargeList(item) | ListView(item) | LargeListView(item) => {
            let item = other_field(rng, item);
            let lists = [List, LargeList, ListView, LargeListView];
            lists.choose(rng).unwrap()(item)
        }
        FixedSizeList(item, size) => FixedSizeList(other_field(rng, item), *size),
        Struct(fields) => Struct(other_fields(rng, fields)),
        Map(entries, sorted) => Map(other_field(rng, entries), *sorted),
        Union(fields, mode) => {
            let fields = fields
                .iter()
                .map(|(id, field)| (id, other_field(rng, field)));
            let fields: UnionFields = fields.collect();
            // A dense union cannot always become a sparse one.
            let mode = match rng.random() {
                true => UnionMode::Dense,
                false => *mode,
            };
            Union(fields, mode)
        }
        Dictionary(_, _) | RunEndEncoded(_, _) if rng.random() => {
            let values = inner(data_type).unwrap();
            other_type(rng, values)
        }
        Dictionary(_, values) => {
            let keys = [
                DataType::Int32,
                DataType::UInt32,
                DataType::Int64,
                DataType::UInt64,
            ];
            let keys = keys.choose(rng).unwrap().clone();
            Dictionary(Box::new(keys), Box::new(other_type(rng, values)))
        }
        RunEndEncoded(_, values) => {
            let values = other_field(rng, values);
            runs(rng, values)
        }
        leaf => {
            let texts = [Utf8, LargeUtf8, Utf8View];
            let bytes = [Binary, LargeBinary, BinaryView];
            let leaf = [texts, bytes]
                .iter()
                .find(|kind| kind.contains(leaf))
                .map_or(leaf, |kind| kind.choose(rng).unwrap())
                .clone();
            match rng.random_range(0..6) {
                0 => Dictionary(Box::new(DataType::Int32), Box::new(leaf)),
                1 => runs(rng, Arc::new(Field::new("values", leaf, true))),
                _ => leaf,
            }
        }
    }
}

/// Returns a field of the same name, nullability and metadata with [another type](other_type).
pub(crate) fn other_field(rng: &mut StdRng, field: &FieldRef) -> FieldRef {
    let data_type = other_type(rng, field.data_type());
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

fn other_fields(rng: &mut StdRng, fields: &Fields) -> Fields {
    fields.iter().map(|field| other_field(rng, field)).collect()
}

fn runs(rng: &mut StdRng, values: FieldRef) -> DataType {
    let ends = [DataType::Int32, DataType::Int64]
        .choose(rng)
        .unwrap()
        .clone();
    DataType::RunEndEncoded(Arc::new(Field::new("run_ends", ends, false)), values)
}

/// Returns the type of the values of a dictionary or run-end encoding.
fn inner(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::Dictionary(_, values) => Some(values),
        DataType::RunEndEncoded(_, values) => Some(values.data_type()),
        _ => None,
    }
}
