//! Schemas that the reference cannot read are an error before anything is written.

use crate::support::written;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, UnionFields, UnionMode};
use arrow_shard::ErrorKind;
use arrow_shard::io::{MemoryFolder, SinkFactory};
use arrow_shard::metadata::Wire;
use arrow_shard::write::{ShardWriter, WriterOptions};
use std::sync::Arc;

/// Returns a column `c` of a type.
fn column(data_type: DataType) -> Vec<Field> {
    vec![Field::new("c", data_type, true)]
}

fn member(fields: Vec<Field>) -> Vec<Field> {
    column(DataType::Struct(fields.into()))
}

fn named(name: &str) -> Field {
    Field::new(name, DataType::Int32, true)
}

#[test]
fn types_and_names_that_it_cannot_read_are_named() {
    let list = |item| DataType::List(Arc::new(Field::new("item", item, true)));
    let fixed = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int8, true)), 2);
    let variants = UnionFields::try_new([0], [named("a")]).unwrap();
    let coded = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Null));
    let cases = [
        (column(DataType::Null), "`c`", "Unit"),
        (column(list(DataType::Null)), "`c`", "Unit"),
        (column(coded), "`c`", "Unit"),
        (column(fixed.clone()), "`c`", "FixedSizeList"),
        (
            member(vec![Field::new("m", fixed, true)]),
            "`m`",
            "FixedSizeList",
        ),
        (
            column(DataType::Union(variants, UnionMode::Dense)),
            "`c`",
            "Union",
        ),
        (
            column(DataType::FixedSizeBinary(0)),
            "`c`",
            "FixedSizeBinary of 0 bytes",
        ),
        (member(vec![]), "`c`", "Struct without members"),
        (
            member(vec![Field::new(
                "m",
                DataType::Struct(Fields::empty()),
                true,
            )]),
            "`m`",
            "Struct without members",
        ),
        (vec![named("x"), named("y"), named("x")], "field 2", "`x`"),
        (vec![named("x"), named("")], "field 1", "no name"),
        (member(vec![named("m"), named("m")]), "`c`", "`m`"),
        (member(vec![named("")]), "`c`", "no name"),
    ];
    for (fields, place, what) in cases {
        let schema: SchemaRef = Arc::new(Schema::new(Fields::from(fields)));
        let folder = MemoryFolder::new();
        let factory: Box<dyn SinkFactory> = Box::new(folder.clone());
        let options = WriterOptions::default().with_wire(Wire::Reference);
        let Err(error) = ShardWriter::create_in(factory, "t", schema.clone(), options) else {
            panic!("{schema} was taken");
        };
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let text = error.to_string();
        assert!(text.contains(place) && text.contains(what), "{text}");
        assert_eq!(folder.names(), [""; 0], "{text}");
        // The other wire supports all of them.
        written(&schema, &[], WriterOptions::default()).unwrap();
    }
}
