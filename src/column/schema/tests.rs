use super::*;
use crate::error::ErrorKind;
use crate::format::{self, BasicType, DataType, ExtendedType, PropertyValue};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{
    DataType as ArrowType, Field, Fields, IntervalUnit, Schema, TimeUnit, UnionFields, UnionMode,
};
use proptest::prelude::*;
use std::sync::Arc;

fn to_arrow(node: &DataType, hint: Option<&Field>) -> Result<Field> {
    super::to_arrow(node, hint, &NativeTypes::default())
}

fn shard(fields: Vec<Field>, arrow_width_decimals: bool) -> format::Schema {
    let options = SchemaOptions {
        arrow_width_decimals,
        ..SchemaOptions::default()
    };
    to_shard(&Schema::new(fields), &options).unwrap()
}

fn node(field: Field) -> DataType {
    shard(vec![field], false).fields.remove(0).data_type
}

fn extension(field: Field, name: &str) -> Field {
    let metadata = [(EXTENSION_TYPE_NAME_KEY.to_owned(), name.to_owned())];
    field.with_metadata(metadata.into())
}

/// Formats a node in one line: type, sign, size, label and its properties.
fn describe(node: &DataType) -> String {
    let mut text = format!("{:?}", node.basic_type);
    if node.signed {
        text += " signed";
    }
    if node.fixed_size > 0 {
        text += &format!(" {}", node.fixed_size);
    }
    if let Some(extended) = &node.extended_type {
        text += &format!(" {}", extended.label);
        for (name, _) in &extended.properties {
            text += &format!(" {name}={}", node.property(name).unwrap());
        }
    }
    text
}

#[test]
fn leaves_have_the_storage_and_the_label_of_the_format() {
    use ArrowType::*;
    let oslo = Some("Europe/Oslo".into());
    for (arrow, expected) in [
        (Null, "Unit"),
        (Boolean, "Boolean"),
        (Int8, "Int8 signed"),
        (UInt64, "Int64"),
        (Float16, "Int16 arrow.float16"),
        (Float64, "Float64"),
        (Utf8View, "String"),
        (LargeBinary, "Binary"),
        (FixedSizeBinary(0), "FixedSizeBinary"),
        (FixedSizeBinary(16), "FixedSizeBinary 16"),
        (
            Timestamp(TimeUnit::Microsecond, None),
            "Int64 signed arrow.timestamp unit=us",
        ),
        (
            Timestamp(TimeUnit::Second, oslo),
            "Int64 signed arrow.timestamp unit=s timezone=Europe/Oslo",
        ),
        (Date32, "Int32 signed arrow.date unit=day"),
        (Date64, "Int64 signed arrow.date unit=ms"),
        (
            Time32(TimeUnit::Millisecond),
            "Int32 signed arrow.time unit=ms",
        ),
        (
            Time64(TimeUnit::Nanosecond),
            "Int64 signed arrow.time unit=ns",
        ),
        (
            Duration(TimeUnit::Second),
            "Int64 signed arrow.duration unit=s",
        ),
        (
            Interval(IntervalUnit::YearMonth),
            "Int32 signed arrow.interval unit=month",
        ),
        (
            Interval(IntervalUnit::DayTime),
            "FixedSizeBinary 8 arrow.interval unit=day_time",
        ),
        (
            Interval(IntervalUnit::MonthDayNano),
            "FixedSizeBinary 16 arrow.interval unit=month_day_nano",
        ),
        (
            Decimal256(9, -2),
            "Int32 signed arrow.decimal precision=9 scale=-2 bits=256",
        ),
        (
            Decimal128(18, 2),
            "Int64 signed arrow.decimal precision=18 scale=2 bits=128",
        ),
        (
            Decimal256(38, 0),
            "FixedSizeBinary 16 arrow.decimal precision=38 scale=0 bits=256",
        ),
        (
            Decimal256(39, 0),
            "FixedSizeBinary 32 arrow.decimal precision=39 scale=0 bits=256",
        ),
        (Dictionary(Box::new(Int8), Box::new(Utf8)), "String"),
    ] {
        let field = Field::new("c", arrow, true);
        assert_eq!(describe(&node(field)), expected);
    }
    let decimal = Field::new("c", Decimal256(9, -2), true);
    let wide = shard(vec![decimal], true).fields.remove(0).data_type;
    assert_eq!(
        (wide.basic_type, wide.fixed_size),
        (BasicType::FixedSizeBinary, 32)
    );
    let uuid = extension(Field::new("c", FixedSizeBinary(16), true), "arrow.uuid");
    assert_eq!(describe(&node(uuid)), "Guid 16 arrow.uuid");
    let json = extension(Field::new("c", LargeUtf8, true), "arrow.json");
    assert_eq!(describe(&node(json)), "String arrow.json");
}

#[test]
fn ids_go_depth_first_and_only_members_and_variants_are_named() {
    let int = |name: &str| Field::new(name, ArrowType::Int32, true);
    let list = |f: Field| ArrowType::List(Arc::new(f));
    let entries = ArrowType::Struct(Fields::from(vec![int("k"), int("v")]));
    let map = ArrowType::Map(Arc::new(Field::new("e", entries, false)), true);
    let union = UnionFields::try_new([3, 5], [int("x"), int("y")]).unwrap();
    let schema = shard(
        vec![
            Field::new("a", list(Field::new("item", map, true)), true),
            Field::new("b", ArrowType::Union(union, UnionMode::Dense), true),
            Field::new("c", ArrowType::Struct(Fields::from(vec![int("m")])), true),
        ],
        false,
    );
    let mut found = Vec::new();
    for field in &schema.fields {
        field
            .data_type
            .walk(&mut |n| found.push((n.schema_id, n.name.clone(), describe(n))));
    }
    let names: Vec<&str> = found.iter().map(|f| f.1.as_str()).collect();
    assert_eq!(names, ["a", "", "", "", "b", "x", "y", "c", "m"]);
    assert!(found.iter().map(|f| f.0).eq(0..9));
    assert_eq!(found[1].2, "Map arrow.map keys_sorted=true");
    assert_eq!(found[4].2, "Union arrow.union mode=dense type_ids=3,5");
}

#[test]
fn forbidden_and_too_deep_types_are_refused_with_their_field() {
    use ArrowType::*;
    let mut deep = Int32;
    for _ in 0..64 {
        deep = List(Arc::new(Field::new("item", deep, true)));
    }
    let not_entries = Arc::new(Field::new("entries", Int32, false));
    for (arrow, kind) in [
        (Decimal128(39, 0), ErrorKind::InvalidArgument),
        (Decimal32(0, 0), ErrorKind::InvalidArgument),
        (FixedSizeBinary(-1), ErrorKind::InvalidArgument),
        (Time32(TimeUnit::Nanosecond), ErrorKind::InvalidArgument),
        (Map(not_entries, false), ErrorKind::InvalidArgument),
        (
            Dictionary(Box::new(Utf8), Box::new(Utf8)),
            ErrorKind::InvalidArgument,
        ),
        (deep, ErrorKind::LimitExceeded),
    ] {
        let schema = Schema::new(vec![Field::new("here", arrow, true)]);
        let e = to_shard(&schema, &SchemaOptions::default()).unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        assert!(e.element().starts_with("field `here`"), "{e}");
    }
}

#[test]
fn a_node_without_a_hint_gets_wide_nullable_types() {
    use ArrowType::*;
    let field = |name: &str, t: ArrowType| Field::new(name, t, false);
    let item = |f: Field| Arc::new(f);
    let uuid = extension(field("u", FixedSizeBinary(16)), "arrow.uuid");
    let members = vec![field("t", Utf8View), uuid.clone()];
    let written = List(item(field("element", Struct(Fields::from(members)))));
    let members = vec![Field::new("t", LargeUtf8, true), uuid.with_nullable(true)];
    let natural = Field::new("item", Struct(Fields::from(members)), true);
    let read = to_arrow(&node(field("c", written)), None).unwrap();
    assert_eq!(read, Field::new("c", LargeList(item(natural)), true));

    let union = |ids: [i8; 2], mode| {
        let fields = [Field::new("x", Int8, true), Field::new("y", Int16, true)];
        Union(UnionFields::try_new(ids, fields).unwrap(), mode)
    };
    let written = union([9, 4], UnionMode::Sparse);
    let mut node = node(field("c", written.clone()));
    assert_eq!(to_arrow(&node, None).unwrap().data_type(), &written);
    node.extended_type = None;
    let unlabeled = union([0, 1], UnionMode::Dense);
    assert_eq!(to_arrow(&node, None).unwrap().data_type(), &unlabeled);
}

#[test]
fn labels_that_do_not_go_with_the_storage_are_ignored() {
    let labeled = |basic_type, signed, label: &str, unit: &str| DataType {
        signed,
        extended_type: Some(ExtendedType {
            label: label.into(),
            properties: vec![("unit".into(), PropertyValue::String(unit.into()))],
        }),
        ..DataType::new(basic_type, "c")
    };
    for (node, expected) in [
        (
            labeled(BasicType::Int64, false, "arrow.timestamp", "s"),
            ArrowType::UInt64,
        ),
        (
            labeled(BasicType::Int32, true, "arrow.timestamp", "s"),
            ArrowType::Int32,
        ),
        (
            labeled(BasicType::Int64, true, "arrow.timestamp", "h"),
            ArrowType::Int64,
        ),
        (
            labeled(BasicType::Int64, true, "arrow.time", "s"),
            ArrowType::Int64,
        ),
        (
            labeled(BasicType::Int64, false, "KustoTimeSpan", "s"),
            ArrowType::UInt64,
        ),
        (
            labeled(BasicType::Int32, true, "arrow.decimal", "s"),
            ArrowType::Int32,
        ),
        (
            labeled(BasicType::String, false, "unheard.of", "s"),
            ArrowType::LargeUtf8,
        ),
    ] {
        assert_eq!(to_arrow(&node, None).unwrap().data_type(), &expected);
    }
}

#[test]
fn a_hint_is_used_where_it_agrees_and_replaced_where_not() {
    use ArrowType::*;
    let member = |name: &str, t: ArrowType| Field::new(name, t, false);
    let fields = |f: Vec<Field>| Struct(Fields::from(f));
    let encoded = Dictionary(Box::new(Int8), Box::new(Utf8));
    let stored = Field::new(
        "c",
        fields(vec![
            member("a", Utf8),
            member("b", Timestamp(TimeUnit::Second, None)),
            member("d", Int32),
            member("e", Decimal128(5, 0)),
        ]),
        true,
    );
    let decimal = member("e", Decimal128(5, 0));
    let hint = Field::new(
        "c",
        fields(vec![
            member("a", encoded.clone()),
            member("b", Timestamp(TimeUnit::Millisecond, None)),
            member("other", Int32),
            decimal.clone(),
        ]),
        false,
    )
    .with_metadata([("k".to_owned(), "v".to_owned())].into());
    let expected = hint.clone().with_data_type(fields(vec![
        member("a", encoded),
        Field::new("b", Timestamp(TimeUnit::Second, None), true),
        Field::new("d", Int32, true),
        decimal,
    ]));
    assert_eq!(
        to_arrow(&node(stored.clone()), Some(&hint)).unwrap(),
        expected
    );

    // A hint is ignored if it disagrees at the top level, or is for a column of another name.
    let natural = to_arrow(&node(stored.clone()), None).unwrap();
    let elsewhere = hint.clone().with_name("x");
    assert_eq!(
        to_arrow(&node(stored.clone()), Some(&elsewhere)).unwrap(),
        natural
    );
    let nothing = Field::new("c", Boolean, true);
    assert_eq!(to_arrow(&node(stored), Some(&nothing)).unwrap(), natural);
}

#[test]
fn malformed_nodes_are_errors() {
    let list = DataType::new(BasicType::List, "c");
    assert_eq!(
        to_arrow(&list, None).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    let huge = DataType {
        fixed_size: 1 << 31,
        ..DataType::new(BasicType::FixedSizeBinary, "c")
    };
    assert_eq!(
        to_arrow(&huge, None).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    let union = DataType {
        children: vec![DataType::new(BasicType::Int8, "v"); 129],
        ..DataType::new(BasicType::Union, "c")
    };
    assert_eq!(
        to_arrow(&union, None).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    let mut deep = DataType::new(BasicType::Int8, "");
    for _ in 0..64 {
        deep = DataType {
            children: vec![deep],
            ..DataType::new(BasicType::List, "")
        };
    }
    assert_eq!(
        to_arrow(&deep, None).unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
}

fn any_node() -> impl Strategy<Value = DataType> {
    const LABELS: &[&str] = &[
        "",
        "arrow.timestamp",
        "arrow.time",
        "arrow.decimal",
        "arrow.union",
        "arrow.map",
        "arrow.date",
        "arrow.interval",
        "arrow.duration",
        "arrow.float16",
        "arrow.uuid",
    ];
    const TEXTS: &[&str] = &[
        "s", "us", "day", "sparse", "dense", "0,1", "7", "-3,x", "128", "true", "39", "month", "0",
        "", "1,1",
    ];
    const NAMES: &[&str] = &[
        "unit",
        "mode",
        "type_ids",
        "precision",
        "scale",
        "bits",
        "timezone",
    ];
    let property = (prop::sample::select(NAMES), prop::sample::select(TEXTS));
    let properties = prop::collection::vec(property, 0..5);
    let label = (prop::sample::select(LABELS), properties).prop_map(|(label, properties)| {
        let text = |(n, v): (&str, &str)| (n.to_owned(), PropertyValue::String(v.into()));
        ExtendedType {
            label: label.into(),
            properties: properties.into_iter().map(text).collect(),
        }
    });
    let sizes = prop::sample::select(vec![0, 1, 8, 16, 32, u64::MAX]);
    let one = (0u8..18, any::<bool>(), sizes, label).prop_map(|(t, signed, fixed_size, label)| {
        DataType {
            signed,
            fixed_size,
            extended_type: Some(label),
            ..DataType::new(BasicType::from_u8(t).unwrap(), "c")
        }
    });
    one.prop_recursive(4, 20, 3, |child| {
        (child.clone(), prop::collection::vec(child, 0..4))
            .prop_map(|(node, children)| DataType { children, ..node })
    })
}

proptest! {
    #[test]
    fn any_node_has_a_type_that_is_its_own_hint_or_an_error(node in any_node(), other in any_node()) {
        if let Ok(natural) = to_arrow(&node, None) {
            prop_assert_eq!(&to_arrow(&node, Some(&natural)).unwrap(), &natural);
            // The type of another node may be a wrong hint, but must not fail.
            if let Ok(hint) = to_arrow(&other, None) {
                prop_assert!(to_arrow(&node, Some(&hint)).is_ok());
            }
        }
    }
}
