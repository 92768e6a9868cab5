//! Arbitrary messages that a wire can represent. Strategies are boxed, because nested ones would be too large for
//! the stack of a test.

use crate::format::*;
use crate::io::ByteRange;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

fn text() -> BoxedStrategy<String> {
    prop_oneof![Just(String::new()), "[a-z]{1,6}", "\\PC{0,4}"].boxed()
}

/// Generates the default, and numbers whose encodings differ in length.
fn number() -> BoxedStrategy<u64> {
    prop_oneof![Just(0), 1..200u64, any::<u64>()].boxed()
}

fn range() -> BoxedStrategy<ByteRange> {
    (number(), number())
        .prop_map(|(a, b)| ByteRange::try_new(a.min(b), a.max(b)).unwrap())
        .boxed()
}

pub(super) fn data_ref() -> BoxedStrategy<DataRef> {
    (text(), range())
        .prop_map(|(url, range)| DataRef { url, range })
        .boxed()
}

fn finite() -> BoxedStrategy<f64> {
    prop_oneof![Just(0.0), Just(f64::INFINITY), -1e9..1e9].boxed()
}

pub(super) fn any_value() -> BoxedStrategy<AnyValue> {
    use ValueKind::*;
    let leaf = prop_oneof![
        Just(None),
        Just(Some(Null)),
        any::<bool>().prop_map(|v| Some(Bool(v))),
        number().prop_map(|v| Some(U64(v))),
        any::<i64>().prop_map(|v| Some(I64(v))),
        finite().prop_map(|v| Some(Double(v))),
        number().prop_map(|v| Some(DateTime(v))),
        number().prop_map(|v| Some(TimeSpan(v))),
        text().prop_map(|v| Some(String(v))),
        vec(any::<u8>(), 0..20).prop_map(|v| Some(Bytes(v.into()))),
        any::<[u8; 16]>().prop_map(|v| Some(Decimal(v))),
        data_ref().prop_map(|v| Some(DataRef(v))),
    ];
    let value = |kind: Option<ValueKind>, annotation: Option<std::string::String>| {
        // Decimals of the specification have an annotation already.
        let annotation = annotation.filter(|_| !matches!(kind, Some(Decimal(_))));
        AnyValue { kind, annotation }
    };
    let leaf = (leaf, of(text())).prop_map(move |(kind, annotation)| value(kind, annotation));
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let pair =
            (text(), of(inner.clone())).prop_map(|(name, value)| NameValuePair { name, value });
        let kind = prop_oneof![
            vec(inner, 0..3).prop_map(List),
            vec(pair, 0..3).prop_map(Struct),
        ];
        (kind, of(text())).prop_map(move |(kind, annotation)| value(Some(kind), annotation))
    })
    .boxed()
}

fn properties() -> BoxedStrategy<Vec<NameValuePair>> {
    let pair = (text(), of(any_value())).prop_map(|(name, value)| NameValuePair { name, value });
    prop_oneof![3 => Just(Vec::new()), 1 => vec(pair, 0..3)].boxed()
}

/// Generates a total count and a partial count.
fn counts() -> BoxedStrategy<(u64, u64)> {
    (number(), number())
        .prop_map(|(a, b)| (a.max(b), a.min(b)))
        .boxed()
}

pub(super) fn shard_directory() -> BoxedStrategy<ShardDirectory> {
    let refs = vec(of(data_ref()), 6);
    let rest = (counts(), 0..1000u64, of(number()));
    (refs, rest)
        .prop_map(
            |(mut refs, ((total, deleted), stripe_count, raw_data_size))| ShardDirectory {
                indexes_ref: refs.pop().unwrap(),
                url_list_ref: refs.pop().unwrap(),
                stripe_list_ref: refs.pop().unwrap(),
                field_list_ref: refs.pop().unwrap(),
                properties_ref: refs.pop().unwrap(),
                schema_ref: refs.pop().unwrap(),
                total_record_count: total,
                deleted_record_count: deleted,
                stripe_count,
                raw_data_size,
            },
        )
        .boxed()
}

pub(super) fn shard_properties() -> BoxedStrategy<ShardProperties> {
    (of(number()), of(number()), properties(), properties())
        .prop_map(
            |(creation_min, creation_max, standard_properties, custom_properties)| {
                ShardProperties {
                    creation_min,
                    creation_max,
                    standard_properties,
                    custom_properties,
                }
            },
        )
        .boxed()
}

pub(super) fn stripe_properties() -> BoxedStrategy<StripeProperties> {
    (properties(), properties())
        .prop_map(
            |(standard_properties, custom_properties)| StripeProperties {
                standard_properties,
                custom_properties,
            },
        )
        .boxed()
}

pub(super) fn stripe_list() -> BoxedStrategy<StripeList> {
    let refs = (of(data_ref()), of(data_ref()), of(data_ref()));
    let stripe = (refs, counts(), of(number()), number()).prop_map(
        |(refs, (total, deleted), raw, offset)| StripeDirectory {
            properties_ref: refs.0,
            field_list_ref: refs.1,
            indexes_ref: refs.2,
            total_record_count: total,
            deleted_record_count: deleted,
            raw_data_size: raw,
            record_offset: offset,
        },
    );
    vec(stripe, 0..4).prop_map(StripeList).boxed()
}

pub(super) fn data_ref_array() -> BoxedStrategy<DataRefArray> {
    vec(data_ref(), 0..6)
        .prop_map(|refs| {
            let mut array = DataRefArray::default();
            refs.into_iter().for_each(|r| array.push(r));
            array
        })
        .boxed()
}

pub(super) fn url_list() -> BoxedStrategy<UrlList> {
    vec(text(), 0..4).prop_map(UrlList).boxed()
}

pub(super) fn index_collection(wire: Wire) -> BoxedStrategy<IndexCollection> {
    let artifact = match wire {
        Wire::Spec => data_ref()
            .prop_map(|r| IndexArtifact {
                data_ref: Some(r),
                ..IndexArtifact::default()
            })
            .boxed(),
        Wire::Reference => (text(), properties(), of(data_ref()))
            .prop_map(|(name, properties, data_ref)| IndexArtifact {
                name,
                properties,
                data_ref,
            })
            .boxed(),
    };
    let fields = vec(vec(any::<u32>(), 0..4), 0..3);
    let index = (
        text(),
        properties(),
        fields,
        vec(artifact, 0..3),
        of(number()),
    )
        .prop_map(
            |(index_type, properties, indexed_fields, artifacts, index_size)| IndexDescriptor {
                index_type,
                properties,
                indexed_fields,
                artifacts,
                index_size,
            },
        );
    vec(index, 0..3).prop_map(IndexCollection).boxed()
}

fn lengths() -> BoxedStrategy<LengthStats> {
    (number(), of(number()), number())
        .prop_map(|(min, min_non_empty, max)| LengthStats {
            min,
            min_non_empty,
            max,
        })
        .boxed()
}

fn signs() -> BoxedStrategy<SignStats> {
    [number(), number(), number(), number()]
        .prop_map(|[zero, positive, negative, nan]| SignStats {
            zero_count: zero,
            positive_count: positive,
            negative_count: negative,
            nan_count: nan,
        })
        .boxed()
}

fn type_stats() -> BoxedStrategy<TypeStats> {
    prop_oneof![
        (lengths(), of(number())).prop_map(|(lengths, ascii_count)| TypeStats::String {
            lengths,
            ascii_count
        }),
        lengths().prop_map(TypeStats::List),
        lengths().prop_map(TypeStats::Binary),
        (number(), number()).prop_map(|(true_count, false_count)| TypeStats::Boolean {
            true_count,
            false_count
        }),
        signs().prop_map(TypeStats::Decimal),
        (signs(), number(), number()).prop_map(|(signs, positive, negative)| TypeStats::Floating {
            signs,
            positive_infinity_count: positive,
            negative_infinity_count: negative,
        }),
    ]
    .boxed()
}

fn hll() -> BoxedStrategy<HllSketch> {
    (text(), number(), 4..8u32, any::<u8>())
        .prop_map(|(hash_algorithm, hash_seed, bits, fill)| HllSketch {
            hash_algorithm,
            hash_seed,
            bits_per_index: bits,
            counters: vec![fill; 1 << bits],
        })
        .boxed()
}

fn cardinality(wire: Wire) -> BoxedStrategy<CardinalityInfo> {
    let sketch = match wire {
        Wire::Reference => hll().prop_map(Sketch::Hll).boxed(),
        Wire::Spec => prop_oneof![
            hll().prop_map(Sketch::Hll),
            any_value().prop_map(Sketch::Other),
        ]
        .boxed(),
    };
    (of(number()), any::<bool>(), of(sketch))
        .prop_map(|(count, is_estimate, sketch)| CardinalityInfo {
            count,
            is_estimate,
            sketch,
        })
        .boxed()
}

fn filter(wire: Wire) -> BoxedStrategy<SplitBlockBloomFilter> {
    let seed = match wire {
        Wire::Spec => Just(0).boxed(),
        Wire::Reference => number().boxed(),
    };
    (0..4u8, finite(), number(), text(), seed, any::<u8>())
        .prop_map(
            |(blocks, target_fpp, num_values, hash_algorithm, hash_seed, fill)| {
                SplitBlockBloomFilter {
                    num_blocks: blocks.into(),
                    target_fpp,
                    num_values,
                    hash_algorithm,
                    hash_seed,
                    data: vec![fill; 32 * usize::from(blocks)].into(),
                }
            },
        )
        .boxed()
}

fn range_stats() -> BoxedStrategy<RangeStats> {
    (
        of(any_value()),
        any::<bool>(),
        of(any_value()),
        any::<bool>(),
    )
        .prop_map(
            |(min_value, min_inclusive, max_value, max_inclusive)| RangeStats {
                min_value,
                min_inclusive,
                max_value,
                max_inclusive,
            },
        )
        .boxed()
}

pub(super) fn field_descriptor(wire: Wire) -> BoxedStrategy<FieldDescriptor> {
    let numbers = (counts(), any::<bool>(), of(number()), of(number()));
    let stats = (
        of(range_stats()),
        of(cardinality(wire)),
        of(filter(wire)),
        of(type_stats()),
    );
    let rest = (
        of(any_value()),
        index_collection(wire),
        properties(),
        properties(),
    );
    (numbers, stats, rest)
        .prop_map(|(numbers, stats, rest)| FieldDescriptor {
            position_count: numbers.0.0,
            null_count: numbers.1.then_some(numbers.0.1),
            constant_value: rest.0,
            dictionary_size: numbers.2,
            range_stats: stats.0,
            cardinality: stats.1,
            bloom_filter: stats.2,
            indexes: rest.1.0,
            standard_properties: rest.2,
            type_specific: stats.3,
            custom_properties: rest.3,
            raw_data_size: numbers.3,
        })
        .boxed()
}

fn encoded_buffer() -> BoxedStrategy<EncodedBuffer> {
    let kind = prop_oneof![0..8i32, any::<i32>()].prop_map(BufferKind::from_i32);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let numbers = (of(number()), of(any::<u32>()), of(any::<u32>()));
    (kind, of(data_ref()), of(data_ref()), flags, numbers)
        .prop_map(|(kind, buffer, block_map, flags, numbers)| EncodedBuffer {
            kind,
            buffer,
            block_map,
            block_count: numbers.0,
            block_checksums: flags.0,
            embedded_presence: flags.1,
            embedded_offsets: flags.2,
            buffer_id: numbers.1,
            packed_group_index: numbers.2,
        })
        .boxed()
}

fn parquet_file() -> BoxedStrategy<ParquetFileColumnRef> {
    let ids = (any::<i32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let ranges = (of(range()), of(range()), of(data_ref()));
    let chunk =
        (ids, ranges, of(text()), number()).prop_map(|(ids, ranges, file_url, data_page_count)| {
            ParquetColumnChunkRef {
                storage_type: ids.0,
                schema_element_id: ids.1,
                row_group_id: ids.2,
                column_chunk_id: ids.3,
                file_url,
                data_pages_range: ranges.0,
                data_page_count,
                dictionary_range: ranges.1,
                data_page_map: ranges.2,
            }
        });
    (of(data_ref()), vec(chunk, 0..3))
        .prop_map(|(file_ref, column_chunks)| ParquetFileColumnRef {
            file_ref,
            column_chunks,
        })
        .boxed()
}

pub(super) fn stripe_field_descriptor(wire: Wire) -> BoxedStrategy<StripeFieldDescriptor> {
    let native =
        (vec(encoded_buffer(), 0..4), any::<bool>()).prop_map(|(buffers, packed_group)| {
            DataEncoding::Native(NativeDataEncoding {
                buffers,
                packed_group,
            })
        });
    let encoding = prop_oneof![
        native,
        vec(parquet_file(), 0..3).prop_map(DataEncoding::Parquet),
        Just(DataEncoding::Unknown),
    ];
    (field_descriptor(wire), vec(encoding, 0..3))
        .prop_map(|(field, encodings)| StripeFieldDescriptor { field, encodings })
        .boxed()
}
