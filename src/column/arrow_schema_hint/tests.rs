//! Spec: docs/format.md, "Arrow types".

use super::*;
use arrow_schema::Fields;
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;

fn hint(bytes: Vec<u8>) -> Result<ArrowSchemaHint> {
    ArrowSchemaHint::try_new(Bytes::from(bytes), &Limits::default())
}

/// Reads the whole schema.
fn read(bytes: Vec<u8>) -> Result<Schema> {
    let hint = hint(bytes)?;
    let fields: Vec<Field> = (0..hint.len())
        .map(|i| hint.field(i))
        .collect::<Result<_>>()?;
    Ok(Schema::new_with_metadata(fields, hint.metadata()?))
}

fn unit() -> impl Strategy<Value = TimeUnit> {
    use TimeUnit::*;
    prop_oneof![
        Just(Second),
        Just(Millisecond),
        Just(Microsecond),
        Just(Nanosecond)
    ]
}

fn key() -> impl Strategy<Value = DataType> {
    use DataType::*;
    prop::sample::select(vec![
        Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
    ])
}

fn decimal_type() -> impl Strategy<Value = DataType> {
    (
        0..4usize,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(kind, p, s)| {
            let most = [9u8, 18, 38, 76][kind];
            let precision = u8::try_from(p.index(usize::from(most)) + 1).unwrap();
            let scale = i8::try_from(s.index(usize::from(precision) + 11)).unwrap() - 10;
            match kind {
                0 => DataType::Decimal32(precision, scale),
                1 => DataType::Decimal64(precision, scale),
                2 => DataType::Decimal128(precision, scale),
                _ => DataType::Decimal256(precision, scale),
            }
        })
}

fn leaf() -> impl Strategy<Value = DataType> {
    use DataType::*;
    let plain = vec![
        Null,
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        LargeBinary,
        BinaryView,
        Date32,
        Date64,
        Time32(TimeUnit::Second),
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Microsecond),
        Time64(TimeUnit::Nanosecond),
        Interval(IntervalUnit::YearMonth),
        Interval(IntervalUnit::DayTime),
        Interval(IntervalUnit::MonthDayNano),
    ];
    prop_oneof![
        4 => prop::sample::select(plain),
        1 => (unit(), prop::option::of("[A-Z/+:0-9]{1,6}"))
            .prop_map(|(unit, tz)| Timestamp(unit, tz.map(Into::into))),
        1 => unit().prop_map(Duration),
        1 => (0..=i32::MAX).prop_map(FixedSizeBinary),
        1 => decimal_type(),
    ]
}

fn field_of(data_type: impl Strategy<Value = DataType>) -> impl Strategy<Value = Field> {
    let metadata =
        prop_oneof![3 => Just(HashMap::new()), 1 => hash_map("[a-z:]{0,5}", "\\PC{0,5}", 0..3)];
    let flags = (any::<bool>(), any::<bool>());
    ("\\PC{0,5}", data_type, flags, metadata).prop_map(
        |(name, data_type, (nullable, ordered), metadata)| {
            Field::new(name, data_type, nullable)
                .with_dict_is_ordered(ordered)
                .with_metadata(metadata)
        },
    )
}

fn types() -> impl Strategy<Value = DataType> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        use DataType::*;
        let item = field_of(inner.clone()).prop_map(Arc::new).boxed();
        let members = vec(item.clone(), 0..4).prop_map(Fields::from).boxed();
        // A field of the message can have only one dictionary.
        let value = inner.prop_filter("dictionary of dictionaries", |t| {
            !matches!(t, Dictionary(..))
        });
        let ends = prop::sample::select(vec![Int16, Int32, Int64]);
        let ids = prop::sample::subsequence((0..=i8::MAX).collect::<Vec<_>>(), 4);
        prop_oneof![
            item.clone().prop_map(List),
            item.clone().prop_map(LargeList),
            item.clone().prop_map(ListView),
            item.clone().prop_map(LargeListView),
            (item.clone(), 0..=i32::MAX).prop_map(|(item, size)| FixedSizeList(item, size)),
            members.clone().prop_map(Struct),
            (item.clone(), item.clone(), any::<bool>()).prop_map(|(key, value, sorted)| {
                let entries = Field::new("entries", Struct(vec![key, value].into()), false);
                Map(Arc::new(entries), sorted)
            }),
            (members, ids, any::<bool>()).prop_map(|(members, ids, dense)| {
                let ids = ids.into_iter().take(members.len());
                let fields = UnionFields::try_new(ids, members.iter().cloned()).unwrap();
                Union(
                    fields,
                    if dense {
                        UnionMode::Dense
                    } else {
                        UnionMode::Sparse
                    },
                )
            }),
            (ends, item).prop_map(|(ends, values)| {
                RunEndEncoded(Arc::new(Field::new("run_ends", ends, false)), values)
            }),
            (key(), value).prop_map(|(key, value)| Dictionary(Box::new(key), Box::new(value))),
        ]
    })
}

fn schema() -> impl Strategy<Value = Schema> {
    let metadata = hash_map("[a-z:]{0,5}", "\\PC{0,5}", 0..3);
    (vec(field_of(types()), 0..5), metadata)
        .prop_map(|(fields, metadata)| Schema::new_with_metadata(fields, metadata))
}

/// Returns `dict_is_ordered` of all fields, which `Field`'s equality ignores.
fn ordered(data_type: &DataType, found: &mut Vec<Option<bool>>) {
    let mut visit = |field: &Field| {
        found.push(field.dict_is_ordered());
        ordered(field.data_type(), found);
    };
    match data_type {
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::ListView(f)
        | DataType::LargeListView(f)
        | DataType::FixedSizeList(f, _)
        | DataType::RunEndEncoded(_, f)
        | DataType::Map(f, _) => visit(f),
        DataType::Struct(fields) => fields.iter().for_each(|f| visit(f)),
        DataType::Union(fields, _) => fields.iter().for_each(|(_, f)| visit(f)),
        DataType::Dictionary(_, value) => ordered(value, found),
        _ => {}
    }
}

fn all_ordered(schema: &Schema) -> Vec<Option<bool>> {
    let mut found = Vec::new();
    ordered(&DataType::Struct(schema.fields().clone()), &mut found);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn schemas_of_every_type_come_back(schema in schema()) {
        let bytes = encode(&schema).unwrap();
        let again = read(bytes.clone()).unwrap();
        prop_assert_eq!(&again, &schema);
        // A message without prefix, at an odd address.
        let bare = ArrowSchemaHint::try_new(Bytes::from([&[0], &bytes[8..]].concat()).slice(1..), &Limits::default()).unwrap();
        for i in 0..bare.len() {
            prop_assert_eq!(&bare.field(i).unwrap(), schema.field(i));
        }
    }

    #[test]
    fn the_order_of_dictionaries_is_kept_wherever_a_message_allows(schema in schema()) {
        let again = read(encode(&schema).unwrap()).unwrap();
        prop_assert_eq!(all_ordered(&again), all_ordered(&schema));
    }

    #[test]
    fn mutated_bytes_never_panic(
        schema in schema(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encode(&schema).unwrap();
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

#[test]
fn every_byte_changed_to_every_border_value_never_panics() {
    let fields = vec![
        Field::new(
            "m",
            DataType::Struct(vec![Field::new("k", DataType::Utf8, false)].into()),
            true,
        ),
        Field::new("d", DataType::Decimal128(10, 2), true),
        Field::new("l", DataType::new_list(DataType::Int8, true), true),
    ];
    let bytes = encode(&Schema::new(fields)).unwrap();
    for i in 0..bytes.len() {
        for value in [0, 1, 3, 4, 0x7F, 0x80, 0xFF] {
            let mut bad = bytes.clone();
            bad[i] = value;
            let _ = read(bad);
        }
    }
}

#[test]
fn what_a_message_cannot_express_is_refused() {
    use DataType::*;
    let inner = Dictionary(Box::new(Int8), Box::new(Utf8));
    let bad = [
        Dictionary(Box::new(Int32), Box::new(inner)),
        Dictionary(Box::new(Utf8), Box::new(Utf8)),
        Timestamp(TimeUnit::Second, Some("".into())),
        Time32(TimeUnit::Nanosecond),
        Decimal128(39, 0),
        FixedSizeBinary(-1),
        RunEndEncoded(
            Arc::new(Field::new("run_ends", UInt8, false)),
            Arc::new(Field::new("values", Utf8, true)),
        ),
    ];
    for data_type in bad {
        let schema = Schema::new(vec![Field::new("here", data_type.clone(), true)]);
        let error = encode(&schema).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{data_type}");
        assert_eq!(error.element(), "field \"here\"");
    }
}

fn tower(levels: u32) -> Schema {
    let mut data_type = DataType::Int8;
    for _ in 1..levels {
        data_type = DataType::new_list(data_type, true);
    }
    Schema::new(vec![Field::new("tower", data_type, true)])
}

#[test]
fn depth_is_limited_when_writing_and_reading() {
    let most = Limits::default().max_schema_depth() * 2;
    let bytes = encode(&tower(most)).unwrap();
    assert_eq!(read(bytes.clone()).unwrap(), tower(most));
    let error = encode(&tower(most + 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    let limits = Limits::default().with_max_schema_depth(8);
    let hint = ArrowSchemaHint::try_new(bytes.into(), &limits).unwrap();
    assert_eq!(hint.field(0).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn a_field_past_the_end_is_unknown() {
    let hint = hint(encode(&tower(1)).unwrap()).unwrap();
    assert_eq!(hint.len(), 1);
    assert_eq!(hint.field(1).unwrap_err().kind(), ErrorKind::UnknownColumn);
}
