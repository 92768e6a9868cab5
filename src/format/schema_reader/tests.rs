//! Spec: Chapter 6, "Schema".

use super::*;
use crate::format::generated::reference_schema::amudai::reference;
use crate::format::generated::spec_schema::amudai::spec;
use crate::format::{NameValuePair, Schema, ValueKind};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use std::time::{Duration, Instant};

const WIRES: [Wire; 2] = [Wire::Spec, Wire::Reference];

fn reader(bytes: Vec<u8>) -> Result<SchemaReader> {
    SchemaReader::try_new(bytes.into(), &Limits::default())
}

/// Reads the whole schema.
fn read(bytes: Vec<u8>) -> Result<Schema> {
    let reader = reader(bytes)?;
    reader.node_count()?;
    let fields = (0..reader.len()).map(|i| {
        reader.name(i)?;
        reader.field(i)
    });
    Ok(Schema {
        fields: fields.collect::<Result<_>>()?,
    })
}

fn leaf() -> impl Strategy<Value = DataType> {
    let number = prop_oneof![0..=12u8];
    (number, any::<bool>(), 0..100u64).prop_map(|(number, signed, size)| {
        let basic_type = BasicType::from_u8(number).unwrap();
        let mut node = DataType::new(basic_type, "");
        node.signed = signed && basic_type.is_integer();
        node.fixed_size = match basic_type {
            BasicType::FixedSizeBinary => size,
            BasicType::Guid => 16,
            _ => 0,
        };
        node
    })
}

fn property() -> impl Strategy<Value = PropertyValue> {
    prop_oneof![
        Just(PropertyValue::Null),
        "\\PC{0,4}".prop_map(PropertyValue::String),
        Just(PropertyValue::Json("{}".into())),
        any::<i64>().prop_map(|v| PropertyValue::Any(v.into())),
        Just(PropertyValue::Any(
            ValueKind::Struct(vec![NameValuePair::new("a", 1u64)]).into()
        )),
        (4u8.., vec(any::<u8>(), 0..4)).prop_map(|(kind, data)| PropertyValue::Other(kind, data)),
    ]
}

fn node() -> impl Strategy<Value = DataType> {
    let extended = ("[a-z.]{1,8}", vec(("[a-z]{0,3}", property()), 0..3))
        .prop_map(|(label, properties)| ExtendedType { label, properties })
        .boxed();
    let decorate = move |node: BoxedStrategy<DataType>| {
        let aliases = prop_oneof![3 => Just(Vec::new()), 1 => vec("[a-z]{0,3}", 0..3)];
        (node, "\\PC{0,4}", aliases, of(extended.clone()))
            .prop_map(|(mut node, name, aliases, extended_type)| {
                node.name = name;
                node.aliases = aliases;
                node.extended_type = extended_type;
                node
            })
            .boxed()
    };
    decorate(leaf().boxed()).prop_recursive(4, 40, 12, move |inner| {
        let nested =
            (13..=17u8, vec(inner, 2..12), 0..5u64).prop_map(|(number, mut children, size)| {
                let mut node = DataType::new(BasicType::from_u8(number).unwrap(), "");
                match node.basic_type {
                    BasicType::List => children.truncate(1),
                    BasicType::FixedSizeList => {
                        children.truncate(1);
                        node.fixed_size = size;
                    }
                    BasicType::Map => children.truncate(2),
                    _ => {}
                }
                node.children = children;
                node
            });
        decorate(nested.boxed())
    })
}

fn schema() -> impl Strategy<Value = Schema> {
    let field = (node(), of("[A-Za-z.]{0,8}")).prop_map(|(data_type, internal_kind)| Field {
        data_type,
        internal_kind,
    });
    vec(field, 0..6).prop_map(|fields| {
        let mut schema = Schema { fields };
        schema.assign_ids();
        schema
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn schemas_come_back_in_both_layouts(mut schema in schema()) {
        for wire in WIRES {
            let bytes = schema.encode(wire).unwrap();
            // The verifier of the flatbuffers crate also accepts the schema.
            match wire {
                Wire::Spec => drop(spec::root_as_schema(&bytes).unwrap()),
                Wire::Reference => drop(reference::root_as_schema(&bytes).unwrap()),
            }
            let reader = reader(bytes.clone()).unwrap();
            prop_assert_eq!(reader.wire(), wire);
            prop_assert_eq!(reader.node_count().unwrap(), schema.assign_ids());
            prop_assert_eq!(&read(bytes).unwrap(), &schema);
            let names = schema.fields.iter().map(|field| field.data_type.name.as_str());
            let absent = ["no such field", "no such field either"];
            let all = reader.find_all(names.clone().chain(absent)).unwrap();
            for name in names.chain(absent) {
                let expected: Vec<usize> = (0..schema.fields.len())
                    .filter(|i| schema.fields[*i].data_type.name == *name)
                    .collect();
                prop_assert_eq!(all.get(name), &expected);
                prop_assert_eq!(reader.find(name).unwrap(), expected);
            }
            prop_assert!(all.get("not asked for").is_empty());
        }
    }

    #[test]
    fn a_schema_may_start_at_any_address(schema in schema(), shift in 0..16usize) {
        let mut bytes = vec![0xAA; shift];
        bytes.extend_from_slice(&schema.encode(Wire::Spec).unwrap());
        let payload = Bytes::from(bytes).slice(shift..);
        let reader = SchemaReader::try_new(payload, &Limits::default()).unwrap();
        for i in 0..reader.len() {
            prop_assert_eq!(&reader.field(i).unwrap(), &schema.fields[i]);
        }
    }

    #[test]
    fn mutated_schemas_never_panic(
        schema in schema(), wire in prop_oneof![Just(Wire::Spec), Just(Wire::Reference)],
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = schema.encode(wire).unwrap();
        for (at, byte) in changes {
            let i = at.index(bytes.len());
            bytes[i] = byte;
        }
        let _ = read(bytes.clone());
        bytes.truncate(cut.index(bytes.len()));
        let _ = read(bytes);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = read(bytes);
    }
}

fn schema_of(data_type: DataType) -> Schema {
    let mut schema = Schema {
        fields: vec![Field {
            data_type,
            internal_kind: None,
        }],
    };
    schema.assign_ids();
    schema
}

fn nested(basic_type: BasicType, children: usize) -> DataType {
    let mut node = DataType::new(basic_type, "n");
    node.children = vec![DataType::new(BasicType::Unit, "c"); children];
    node
}

/// Returns the bytes of a node that [`Schema::encode`] rejects, written by the generated builders.
fn unchecked(change: impl Fn(&mut spec::DataTypeArgs<'_>)) -> Vec<u8> {
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let name = builder.create_string("bad");
    let mut args = spec::DataTypeArgs {
        field_name: Some(name),
        children: Some(builder.create_vector::<flatbuffers::WIPOffset<spec::DataType<'_>>>(&[])),
        ..Default::default()
    };
    change(&mut args);
    let data_type = Some(spec::DataType::create(&mut builder, &args));
    let args = spec::FieldArgs {
        data_type,
        internal_field_annotation: None,
    };
    let field = spec::Field::create(&mut builder, &args);
    let fields = Some(builder.create_vector(&[field]));
    let root = spec::Schema::create(&mut builder, &spec::SchemaArgs { fields });
    builder.finish(root, None);
    builder.finished_data().to_vec()
}

#[test]
fn child_counts_are_those_of_the_type() {
    use BasicType::*;
    for (basic_type, bad) in [
        (List, 0),
        (List, 2),
        (FixedSizeList, 2),
        (Map, 1),
        (Union, 257),
        (Int8, 1),
    ] {
        let error = schema_of(nested(basic_type, bad))
            .encode(Wire::Spec)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{basic_type:?}");
    }
    for (basic_type, good) in [
        (List, 1),
        (Map, 2),
        (Struct, 0),
        (Struct, 300),
        (Union, 0),
        (Union, 256),
    ] {
        let schema = schema_of(nested(basic_type, good));
        assert_eq!(read(schema.encode(Wire::Spec).unwrap()).unwrap(), schema);
    }
    let error = read(unchecked(|args| args.basic_type = spec::BasicType::Map)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.element(), "Schema, field 0, node \"bad\"");
    assert!(
        error.message().contains("0 child nodes instead of 2"),
        "{error}"
    );
}

#[test]
fn numbers_of_a_node_are_checked() {
    let kind = |change: &dyn Fn(&mut spec::DataTypeArgs<'_>)| {
        read(unchecked(change)).map_err(|e| e.kind())
    };
    let unknown_type = kind(&|a| a.basic_type = spec::BasicType(18));
    assert_eq!(unknown_type.unwrap_err(), ErrorKind::Unsupported);
    assert_eq!(
        kind(&|a| a.schema_id = 1_000_000).unwrap_err(),
        ErrorKind::Corrupt
    );
    let guid = kind(&|a| {
        a.basic_type = spec::BasicType::Guid;
        a.fixed_size = 15;
    });
    assert_eq!(guid.unwrap_err(), ErrorKind::Corrupt);
    let huge = kind(&|a| {
        a.basic_type = spec::BasicType::FixedSizeBinary;
        a.fixed_size = 1 << 31;
    });
    assert_eq!(huge.unwrap_err(), ErrorKind::Corrupt);
    // Fields without meaning are ignored.
    let float = kind(&|a| {
        a.basic_type = spec::BasicType::Float32;
        a.signed = true;
        a.fixed_size = 4;
    });
    let node = &float.unwrap().fields[0].data_type;
    assert_eq!((node.signed, node.fixed_size), (false, 0));
}

#[test]
fn depth_is_limited() {
    let most = Limits::default().max_schema_depth();
    let tower = |levels| {
        let mut node = DataType::new(BasicType::Unit, "");
        for _ in 1..levels {
            let mut list = DataType::new(BasicType::List, "");
            list.children.push(node);
            node = list;
        }
        schema_of(node)
    };
    let bytes = tower(most).encode(Wire::Spec).unwrap();
    assert_eq!(read(bytes.clone()).unwrap(), tower(most));
    let limits = Limits::default().with_max_schema_depth(most - 1);
    let reader = SchemaReader::try_new(bytes.into(), &limits).unwrap();
    assert_eq!(
        reader.field(0).unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
    assert_eq!(
        reader.node_count().unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
    let error = tower(most + 1).encode(Wire::Spec).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn shared_tables_do_not_multiply() {
    // On every level, all children of the struct are the same table of the level below.
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let name = Some(builder.create_string("n"));
    let none = builder.create_vector::<flatbuffers::WIPOffset<spec::DataType<'_>>>(&[]);
    let mut args = spec::DataTypeArgs {
        basic_type: spec::BasicType::Struct,
        field_name: name,
        children: Some(none),
        ..Default::default()
    };
    let mut level = spec::DataType::create(&mut builder, &args);
    for _ in 0..30 {
        args.children = Some(builder.create_vector(&[level; 100]));
        level = spec::DataType::create(&mut builder, &args);
    }
    let args = spec::FieldArgs {
        data_type: Some(level),
        internal_field_annotation: None,
    };
    let field = spec::Field::create(&mut builder, &args);
    let fields = Some(builder.create_vector(&[field; 100]));
    let root = spec::Schema::create(&mut builder, &spec::SchemaArgs { fields });
    builder.finish(root, None);

    let start = Instant::now();
    let reader = reader(builder.finished_data().to_vec()).unwrap();
    assert_eq!(
        reader.field(7).unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
    assert_eq!(
        reader.node_count().unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[test]
fn shared_texts_do_not_multiply() {
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let alias = builder.create_string(&"x".repeat(100_000));
    let name = Some(builder.create_string("n"));
    let args = spec::DataTypeArgs {
        field_name: name,
        field_aliases: Some(builder.create_vector(&vec![alias; 10_000])),
        children: Some(builder.create_vector::<flatbuffers::WIPOffset<spec::DataType<'_>>>(&[])),
        ..Default::default()
    };
    let data_type = Some(spec::DataType::create(&mut builder, &args));
    let args = spec::FieldArgs {
        data_type,
        internal_field_annotation: None,
    };
    let field = spec::Field::create(&mut builder, &args);
    let fields = Some(builder.create_vector(&[field]));
    let root = spec::Schema::create(&mut builder, &spec::SchemaArgs { fields });
    builder.finish(root, None);
    let error = read(builder.finished_data().to_vec()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

/// Returns a schema with a single table that all top-level fields refer to.
fn one_node_for_all(fields: usize, name: &str) -> Vec<u8> {
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let field_name = Some(builder.create_string(name));
    let args = spec::DataTypeArgs {
        field_name,
        children: Some(builder.create_vector::<flatbuffers::WIPOffset<spec::DataType<'_>>>(&[])),
        ..Default::default()
    };
    let data_type = Some(spec::DataType::create(&mut builder, &args));
    let args = spec::FieldArgs {
        data_type,
        internal_field_annotation: None,
    };
    let field = spec::Field::create(&mut builder, &args);
    let fields = Some(builder.create_vector(&vec![field; fields]));
    let root = spec::Schema::create(&mut builder, &spec::SchemaArgs { fields });
    builder.finish(root, None);
    builder.finished_data().to_vec()
}

#[test]
fn all_fields_together_share_one_budget_and_each_pays_once() {
    let reader = reader(one_node_for_all(5000, &"x".repeat(60_000))).unwrap();
    // About 80,000 bytes expand to at most 20 MB, which is about 340 fields.
    let readable = (0..reader.len()).take_while(|i| reader.field(*i).is_ok());
    let readable = readable.count();
    assert!((100..1000).contains(&readable), "{readable}");
    for _ in 0..2000 {
        reader.field(3).unwrap();
    }
}

#[test]
fn an_endless_name_is_refused() {
    let error = read(one_node_for_all(1, &"x".repeat(MAX_NAME_BYTES + 1))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    let longest = DataType::new(BasicType::Unit, "x".repeat(MAX_NAME_BYTES));
    let schema = schema_of(longest);
    assert_eq!(read(schema.encode(Wire::Spec).unwrap()).unwrap(), schema);
    let longer = DataType::new(BasicType::Unit, "x".repeat(MAX_NAME_BYTES + 1));
    let error = schema_of(longer).encode(Wire::Spec).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn a_reference_to_itself_is_refused() {
    // The root is at 8, its vtable at 4 with one slot, and the reference in the slot is 0.
    let bytes = vec![12, 0, 0, 0, 6, 0, 8, 0, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0];
    let error = reader(bytes).unwrap_err();
    assert!(error.message().contains("points 0 bytes ahead"), "{error}");
}

#[test]
fn a_layout_of_neither_wire_is_refused() {
    let schema = schema_of(DataType::new(BasicType::Int8, "a"));
    let spec = schema.encode(Wire::Spec).unwrap();
    assert_eq!(reader(spec).unwrap().wire(), Wire::Spec);

    // The root table of one layout with a node of the other, both ways.
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let name = Some(builder.create_string("a"));
    let children =
        Some(builder.create_vector::<flatbuffers::WIPOffset<reference::DataType<'_>>>(&[]));
    let args = reference::DataTypeArgs {
        field_name: name,
        children,
        // A top-level field has no parent.
        parent_schema_id: 5,
        ..Default::default()
    };
    let data_type = Some(reference::DataType::create(&mut builder, &args));
    let args = reference::FieldArgs {
        data_type,
        internal_field_annotation: None,
    };
    let field = reference::Field::create(&mut builder, &args);
    let fields = Some(builder.create_vector(&[field]));
    let numbers = Some(builder.create_vector(&[0u32]));
    let lookup = reference::HashLookupArgs {
        buckets: numbers,
        entries: numbers,
    };
    let lookup = reference::HashLookup::create(&mut builder, &lookup);
    let args = reference::SchemaArgs {
        fields,
        schema_id_count: 1,
        field_lookup: Some(lookup),
    };
    let root = reference::Schema::create(&mut builder, &args);
    builder.finish(root, None);
    let error = reader(builder.finished_data().to_vec()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(
        error.message().contains("the first field is not"),
        "{error}"
    );
}

#[test]
fn opening_a_wide_schema_reads_no_field() {
    let mut schema = Schema::default();
    for i in 0..50_000 {
        schema.fields.push(Field {
            data_type: DataType::new(BasicType::Int64, format!("column {i}")),
            internal_kind: None,
        });
    }
    schema.assign_ids();
    for wire in WIRES {
        let payload = Bytes::from(schema.encode(wire).unwrap());
        let start = Instant::now();
        for _ in 0..1000 {
            let reader = SchemaReader::try_new(payload.clone(), &Limits::default()).unwrap();
            assert_eq!(reader.name(49_999).unwrap(), "column 49999");
        }
        // Searching 50,000 fields for each of the thousand names would take longer.
        assert!(
            start.elapsed() < Duration::from_millis(500),
            "{:?}",
            start.elapsed()
        );
    }
}
