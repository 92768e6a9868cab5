//! Spec: docs/format.md, "Two wires, one model"; vectors and files of the reference implementation.

mod golden;
mod strategies;

use super::*;
use crate::format::*;
use crate::io::ByteRange;
use proptest::prelude::*;

const WIRES: [Wire; 2] = [Wire::Spec, Wire::Reference];

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let pairs = digits
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

fn decode<M: Message>(bytes: &[u8], wire: Wire) -> Result<M> {
    M::decode(bytes, wire, &Limits::default())
}

fn this(start: u64, end: u64) -> Option<DataRef> {
    Some(DataRef::this(ByteRange::try_new(start, end).unwrap()))
}

#[test]
fn the_end_of_a_file_of_the_reference_decodes_and_encodes() {
    let bytes = hex("73000000
         0A14 1212 0949BA000000000000 1134BD000000000000
         1A14 1212 0979B7000000000000 1149BA000000000000
         2214 1212 09F6AF000000000000 115BB0000000000000
         2A14 1212 095BB0000000000000 1163B0000000000000
         39 D007000000000000 49 0200000000000000 51 F714020000000000
         20E45519 73000000 616D756400010000");
    // The vector lacks the start of the file. It ends just after its schema.
    let file_size = 48436 + u64::try_from(bytes.len()).unwrap();
    let range = DirectoryTail::locate(&bytes, file_size, &Limits::default()).unwrap();
    assert_eq!((range.start(), range.len()), (48436, 8 + 0x73));
    let payload = open(&bytes[..bytes.len() - 12]).unwrap();
    assert_eq!(
        ShardDirectory::detect_wire(payload).unwrap(),
        Wire::Reference
    );
    let directory: ShardDirectory = decode(payload, Wire::Reference).unwrap();
    let expected = ShardDirectory {
        schema_ref: this(47689, 48436),
        field_list_ref: this(46969, 47689),
        stripe_list_ref: this(45046, 45147),
        url_list_ref: this(45147, 45155),
        total_record_count: 2000,
        stripe_count: 2,
        raw_data_size: Some(136_439),
        ..ShardDirectory::default()
    };
    assert_eq!(directory, expected);
    assert_eq!(directory.encode(Wire::Reference).unwrap(), payload);
}

#[test]
fn vectors_of_single_messages_encode_to_their_bytes() {
    for wire in WIRES {
        let start_of_2024 = AnyValue::from(638_396_640_000_000_000u64);
        assert_eq!(
            start_of_2024.encode(wire).unwrap(),
            hex("18 80 80 83 C8 C9 CB 82 EE 08")
        );
        assert_eq!(UrlList::default().encode(wire).unwrap(), b"");

        let stats = RangeStats {
            min_value: Some(0i64.into()),
            min_inclusive: true,
            max_value: Some(1199i64.into()),
            max_inclusive: true,
        };
        let field = FieldDescriptor {
            range_stats: Some(stats),
            ..FieldDescriptor::default()
        };
        let expected = hex("32 0D 0A 02 20 00 10 01 1A 03 20 AF 09 20 01");
        assert_eq!(field.encode(wire).unwrap(), expected);

        let constant = StripeFieldDescriptor {
            encodings: vec![DataEncoding::Native(NativeDataEncoding::default())],
            ..StripeFieldDescriptor::default()
        };
        assert_eq!(constant.encode(wire).unwrap(), hex("0A 00 12 02 0A 00"));
    }
}

#[test]
fn references_have_the_tags_of_their_wire() {
    let directory = ShardDirectory {
        schema_ref: Some(DataRef {
            url: "a".into(),
            range: ByteRange::try_new(0, 1).unwrap(),
        }),
        ..ShardDirectory::default()
    };
    let spec = hex("0A 0E 12 01 61 1A 09 11 0100000000000000");
    let reference = hex("0A 0E 0A 01 61 12 09 11 0100000000000000");
    for (wire, bytes) in [(Wire::Spec, spec), (Wire::Reference, reference)] {
        assert_eq!(directory.encode(wire).unwrap(), bytes);
        assert_eq!(ShardDirectory::detect_wire(&bytes).unwrap(), wire);
    }
    // Only a URL.
    assert_eq!(
        ShardDirectory::detect_wire(&hex("0A 03 12 01 61")).unwrap(),
        Wire::Spec
    );
    for neither in ["", "0A 00", "0A 06 0A 01 61 1A 01 62", "08 01", "0A 05"] {
        let error = ShardDirectory::detect_wire(&hex(neither)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{neither}");
    }
}

#[test]
fn columns_of_references_must_have_one_length() {
    let mut array = DataRefArray::default();
    array.push(DataRef::this(ByteRange::try_new(3, 9).unwrap()));
    for wire in WIRES {
        let bytes = array.encode(wire).unwrap();
        assert_eq!(
            bytes,
            hex("12 00 1A 08 0300000000000000 22 08 0900000000000000")
        );
        let error = decode::<DataRefArray>(&bytes[2..], wire).unwrap_err();
        assert!(
            error.message().contains("0 URLs, 1 starts and 1 ends"),
            "{error}"
        );
        let stored = Bytes::from(bytes).slice(2..);
        let same = DataRefs::try_new(&stored, &Limits::default()).unwrap_err();
        assert_eq!(same.to_string(), error.to_string());
        // Numbers that are not packed, as other encoders may write them.
        let loose = hex("12 00 19 0300000000000000 21 0900000000000000");
        assert_eq!(decode::<DataRefArray>(&loose, wire).unwrap(), array);
    }
}

#[test]
fn a_range_that_ends_before_it_starts_is_named() {
    let bytes = hex("22 14 1A 12 09 0500000000000000 11 0400000000000000");
    let error = decode::<ShardDirectory>(&bytes, Wire::Spec).unwrap_err();
    assert_eq!(error.element(), "ShardDirectory, stripe_list_ref, range");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[test]
fn a_decimal_is_annotated_bytes_in_the_specification() {
    let value = AnyValue::from(ValueKind::Decimal([7; 16]));
    let spec = value.encode(Wire::Spec).unwrap();
    assert_eq!(spec[..2], hex("4A 10"));
    assert!(spec.ends_with(b"KustoDecimal"));
    assert_eq!(value.encode(Wire::Reference).unwrap()[..2], hex("52 10"));
    let annotated = value.clone().with_annotation("other").encode(Wire::Spec);
    assert_eq!(annotated.unwrap_err().kind(), ErrorKind::Unsupported);
    let short = decode::<AnyValue>(&hex("52 02 01 02"), Wire::Reference).unwrap_err();
    assert!(short.message().contains("2 bytes instead of 16"), "{short}");
}

fn with_sketch(sketch: &[u8]) -> Vec<u8> {
    let info = [&[0x1A, u8::try_from(sketch.len()).unwrap()], sketch].concat();
    [&[0x3A, u8::try_from(info.len()).unwrap()], &info[..]].concat()
}

#[test]
fn sketches_of_either_wire_are_read_on_both() {
    let hll = HllSketch {
        hash_algorithm: "xxh3_64".into(),
        hash_seed: 5,
        bits_per_index: 4,
        counters: vec![1; 16],
    };
    let of_reference = hex(
        "0A07 78786833 5F3634 11 0500000000000000 1D 04000000 22 10 01010101010101010101010101010101",
    );
    for wire in WIRES {
        let field: FieldDescriptor = decode(&with_sketch(&of_reference), wire).unwrap();
        let sketch = field.cardinality.clone().unwrap().sketch.unwrap();
        assert_eq!(sketch, Sketch::Hll(hll.clone()));
        let written = field.encode(wire).unwrap();
        assert_eq!(
            decode::<FieldDescriptor>(&written, Wire::Spec).unwrap(),
            field
        );
        assert_eq!(
            decode::<FieldDescriptor>(&written, Wire::Reference).unwrap(),
            field
        );

        let field: FieldDescriptor = decode(&with_sketch(&hex("42 01 61")), wire).unwrap();
        let sketch = field.cardinality.unwrap().sketch.unwrap();
        assert_eq!(sketch, Sketch::Other("a".into()));

        let bad = decode::<FieldDescriptor>(&with_sketch(&hex("1D 05000000 22 01 00")), wire);
        assert!(bad.unwrap_err().message().contains("1 counters"));
    }
}

fn with_filter(filter: &[u8]) -> Vec<u8> {
    let filters = [&[0x0A, u8::try_from(filter.len()).unwrap()], filter].concat();
    [&[0x42, u8::try_from(filters.len()).unwrap()], &filters[..]].concat()
}

#[test]
fn all_three_layouts_of_bloom_filters_are_read_on_both_wires() {
    let one_block = [7u8; 32];
    let blocks = hex("09 0100000000000000");
    let name = b"xxh3_64";
    let part = |tag: u8, bytes: &[u8]| [&[tag, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let layouts = [
        (
            0,
            [blocks.clone(), part(0x22, name), part(0x2A, &one_block)].concat(),
        ),
        (
            0,
            [blocks.clone(), part(0x22, &one_block), part(0x2A, name)].concat(),
        ),
        (
            9,
            [
                blocks.clone(),
                part(0x22, name),
                hex("29 0900000000000000"),
                part(0x32, &one_block),
            ]
            .concat(),
        ),
        (
            0,
            [blocks.clone(), part(0x22, name), part(0x32, &one_block)].concat(),
        ),
    ];
    for wire in WIRES {
        for (seed, bytes) in &layouts {
            let field: FieldDescriptor = decode(&with_filter(bytes), wire).unwrap();
            let filter = field.bloom_filter.unwrap();
            assert_eq!(filter.data[..], one_block);
            assert_eq!(filter.hash_algorithm, "xxh3_64");
            assert_eq!(filter.hash_seed, *seed);
        }
        let short = [
            blocks.clone(),
            part(0x22, name),
            part(0x2A, &one_block[1..]),
        ]
        .concat();
        let error = decode::<FieldDescriptor>(&with_filter(&short), wire).unwrap_err();
        assert!(error.message().contains("31 bytes"), "{error}");
    }
}

#[test]
fn a_seed_that_the_specification_cannot_carry_is_refused() {
    let filter = SplitBlockBloomFilter {
        hash_seed: 1,
        ..SplitBlockBloomFilter::default()
    };
    let field = FieldDescriptor {
        bloom_filter: Some(filter),
        ..FieldDescriptor::default()
    };
    assert!(field.encode(Wire::Reference).is_ok());
    let error = field.encode(Wire::Spec).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn artifacts_of_either_wire_are_read_on_both() {
    let collection = |artifact: &[u8]| {
        let descriptor = [&[0x22, u8::try_from(artifact.len()).unwrap()], artifact].concat();
        [
            &[0x0A, u8::try_from(descriptor.len()).unwrap()],
            &descriptor[..],
        ]
        .concat()
    };
    let expected = this(0, 1);
    for wire in WIRES {
        for artifact in [
            "1A 09 11 0100000000000000",
            "0A 01 78 1A 0B 12 09 11 0100000000000000",
            "1A 0B 12 09 11 0100000000000000",
        ] {
            let read: IndexCollection = decode(&collection(&hex(artifact)), wire).unwrap();
            assert_eq!(
                read.0[0].artifacts[0].data_ref, expected,
                "{artifact} on {wire:?}"
            );
        }
        let mixed = hex("0A 01 78 1A 0B 1A 09 11 0100000000000000");
        assert!(decode::<IndexCollection>(&collection(&mixed), wire).is_err());
    }
}

#[test]
fn contradictory_counts_are_refused() {
    let field = FieldDescriptor {
        position_count: 1,
        null_count: Some(2),
        ..FieldDescriptor::default()
    };
    let error = field.encode(Wire::Spec).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(decode::<FieldDescriptor>(&hex("11 0100000000000000"), Wire::Spec).is_err());
    let limits = Limits::default().with_max_stripes(1);
    let two = StripeList(vec![StripeDirectory::default(); 2]);
    for wire in WIRES {
        let error = StripeList::decode(&two.encode(wire).unwrap(), wire, &limits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        let limits = Limits::default().with_max_message_bytes(3);
        let error = StripeList::decode(&two.encode(wire).unwrap(), wire, &limits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}

/// Returns a value of `levels` levels.
fn nested(levels: u32) -> AnyValue {
    let mut value = AnyValue::null();
    for _ in 1..levels {
        value = AnyValue::from(vec![NameValuePair::new("m", value)]);
    }
    value
}

#[test]
fn values_nest_as_deep_as_the_limit_and_no_deeper() {
    let most = Limits::default().max_value_depth();
    for wire in WIRES {
        // The deepest place of a value in any message.
        let field = |levels| StripeFieldDescriptor {
            field: FieldDescriptor {
                indexes: vec![IndexDescriptor {
                    properties: vec![NameValuePair::new("p", nested(levels))],
                    ..IndexDescriptor::default()
                }],
                ..FieldDescriptor::default()
            },
            encodings: Vec::new(),
        };
        let bytes = field(most).encode(wire).unwrap();
        assert_eq!(
            decode::<StripeFieldDescriptor>(&bytes, wire).unwrap(),
            field(most)
        );
        let error = field(most + 1).encode(wire).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        let limits = Limits::default().with_max_value_depth(most - 1);
        let error = StripeFieldDescriptor::decode(&bytes, wire, &limits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}

#[test]
fn a_million_levels_are_an_error_and_no_stack_overflow() {
    // Lists of lists; each level is a length and two keys. The lengths are made up, but the
    // recursion ends before they matter.
    let bytes = [0xA2u8, 0x01, 0xFF, 0xFF, 0x3F, 0x0A, 0xFF, 0xFF, 0x3F].repeat(1 << 20);
    for wire in WIRES {
        let error = decode::<AnyValue>(&bytes, wire).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    }
}

/// Checks that decoding an encoded message restores it, on both wires.
macro_rules! round_trips {
    ($($name:ident: $strategy:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(64))]
            $(
                #[test]
                fn $name((wire, message) in prop_oneof![Just(Wire::Spec), Just(Wire::Reference)]
                    .prop_flat_map(|wire| (Just(wire), ($strategy)(wire))))
                {
                    let bytes = message.encode(wire).unwrap();
                    let again = Message::decode(&bytes, wire, &Limits::default()).unwrap();
                    prop_assert_eq!(&message, &again);
                    prop_assert_eq!(again.encode(wire).unwrap(), bytes);
                }
            )*
        }
    };
}

round_trips! {
    values_come_back: |_| strategies::any_value();
    directories_come_back: |_| strategies::shard_directory();
    shard_properties_come_back: |_| strategies::shard_properties();
    stripe_properties_come_back: |_| strategies::stripe_properties();
    stripe_lists_come_back: |_| strategies::stripe_list();
    reference_arrays_come_back: |_| strategies::data_ref_array();
    url_lists_come_back: |_| strategies::url_list();
    index_collections_come_back: strategies::index_collection;
    field_descriptors_come_back: strategies::field_descriptor;
    stripe_field_descriptors_come_back: strategies::stripe_field_descriptor;
}

/// Checks that stored references equal the references of the decoded message, if both can be read.
fn references_agree(bytes: &[u8], wire: Wire) {
    let stored = DataRefs::try_new(&Bytes::copy_from_slice(bytes), &Limits::default());
    if let (Ok(stored), Ok(array)) = (stored, decode::<DataRefArray>(bytes, wire)) {
        assert_eq!(stored.len(), array.len());
        for i in 0..=array.len() {
            assert_eq!(stored.get(i).unwrap(), array.get(i));
        }
    }
}

/// Decodes bytes as every message. Each decoded message must encode, or fail with a reason.
fn decode_as_everything(bytes: &[u8]) {
    fn one<M: Message>(bytes: &[u8], wire: Wire) {
        if let Ok(message) = M::decode(bytes, wire, &Limits::default()) {
            let _ = message.encode(wire);
        }
    }
    let _ = ShardDirectory::detect_wire(bytes);
    for wire in WIRES {
        one::<AnyValue>(bytes, wire);
        one::<DataRefArray>(bytes, wire);
        references_agree(bytes, wire);
        one::<FieldDescriptor>(bytes, wire);
        one::<IndexCollection>(bytes, wire);
        one::<ShardDirectory>(bytes, wire);
        one::<ShardProperties>(bytes, wire);
        one::<StripeFieldDescriptor>(bytes, wire);
        one::<StripeList>(bytes, wire);
        one::<StripeProperties>(bytes, wire);
        one::<UrlList>(bytes, wire);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_wire_is_told_from_the_schema_reference(
        schema_ref in strategies::data_ref(),
        wire in prop_oneof![Just(Wire::Spec), Just(Wire::Reference)],
    ) {
        let directory = ShardDirectory { schema_ref: Some(schema_ref), ..ShardDirectory::default() };
        let bytes = directory.encode(wire).unwrap();
        prop_assert_eq!(ShardDirectory::detect_wire(&bytes).unwrap(), wire);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        decode_as_everything(&bytes);
    }

    #[test]
    fn stored_references_are_those_of_the_message(
        arrays in proptest::collection::vec(strategies::data_ref_array(), 1..3),
        at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        // Concatenated messages are one message.
        let mut bytes = Vec::new();
        for array in &arrays {
            bytes.extend(array.encode(Wire::Spec).unwrap());
        }
        let stored = DataRefs::try_new(&bytes.clone().into(), &Limits::default()).unwrap();
        let expected: Vec<Option<DataRef>> = arrays
            .iter()
            .flat_map(|array| (0..array.len()).map(|i| array.get(i)))
            .collect();
        prop_assert_eq!(stored.len(), expected.len());
        for (i, reference) in expected.iter().enumerate() {
            prop_assert_eq!(&stored.get(i).unwrap(), reference);
        }
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            references_agree(&bytes, Wire::Spec);
        }
    }

    #[test]
    fn mutated_messages_never_panic(
        message in strategies::stripe_field_descriptor(Wire::Reference),
        at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = message.encode(Wire::Reference).unwrap();
        let i = at.index(bytes.len());
        bytes[i] = byte;
        decode_as_everything(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        decode_as_everything(&bytes);
    }
}
