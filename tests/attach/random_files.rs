//! Random tables in files with random settings.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "any number will do"
)]

use super::files::{assert_sound, read_parquet, read_shard, write_parquet};
use arrow_arith::boolean::is_null;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    FixedSizeBinaryArray, FixedSizeListArray, Float32Array, Float64Array, GenericListArray,
    Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, ListArray, MapArray,
    OffsetSizeTrait, PrimitiveArray, RecordBatch, Scalar, StringArray, StringViewArray,
    StructArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_ord::cmp::{eq, gt, lt};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_shard::Shard;
use arrow_shard::ops::{AttachOptions, attach_with};
use arrow_shard::read::Projection;
use arrow_shard::read::col;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

fn table(rng: &mut StdRng, rows: usize) -> RecordBatch {
    let null_share = [0.0, 0.1, 0.9, 1.0][rng.random_range(0..4)];
    let range = [2, 50, i64::from(i32::MAX)][rng.random_range(0..3)];
    let mut numbers = || -> Vec<Option<i64>> {
        let number = |_| (!rng.random_bool(null_share)).then(|| rng.random_range(-range..range));
        (0..rows).map(number).collect()
    };
    macro_rules! narrow {
        ($array:ty, $native:ty) => {{
            let values = numbers().into_iter().map(|v| v.map(|v| v as $native));
            Arc::new(values.collect::<$array>()) as ArrayRef
        }};
    }
    let texts = |numbers: Vec<Option<i64>>| -> Vec<Option<String>> {
        let text = |v: i64| "x".repeat(usize::try_from(v.rem_euclid(20)).unwrap()) + &v.to_string();
        numbers.into_iter().map(|v| v.map(text)).collect()
    };
    let floats = numbers().into_iter().map(|v| {
        v.map(|v| match v % 11 {
            0 => f64::NAN,
            1 => -0.0,
            _ => v as f64 / 3.0,
        })
    });
    let floats: Float64Array = floats.collect();
    let text: StringArray = texts(numbers()).into_iter().collect();
    let large: LargeStringArray = texts(numbers()).into_iter().collect();
    let view: StringViewArray = texts(numbers()).into_iter().collect();
    let keys = texts(numbers());
    let dictionary: DictionaryArray<Int32Type> = keys.iter().map(Option::as_deref).collect();
    let binary = texts(numbers());
    let binary: BinaryArray = binary
        .iter()
        .map(|v| v.as_ref().map(String::as_bytes))
        .collect();
    let fixed = numbers().into_iter().map(|v| v.map(i64::to_be_bytes));
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 8).unwrap();
    let decimal: Decimal128Array = numbers().into_iter().map(|v| v.map(i128::from)).collect();
    let decimal = decimal.with_precision_and_scale(20, 3).unwrap();
    let short: Decimal128Array = numbers()
        .into_iter()
        .map(|v| v.map(|v| i128::from(v % 1000)))
        .collect();
    let short = short.with_precision_and_scale(5, 2).unwrap();
    let times: PrimitiveArray<TimestampMicrosecondType> = numbers().into_iter().collect();
    let bools: BooleanArray = numbers().into_iter().map(|v| v.map(|v| v > 0)).collect();
    let lists = numbers().into_iter().map(|v| {
        v.map(|v| (0..v.rem_euclid(4)).map(|i| (i != 1).then_some(i32::try_from(i).unwrap())))
    });
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let inner = narrow!(Int32Array, i32);
    let inner_text: ArrayRef = Arc::new(texts(numbers()).into_iter().collect::<StringArray>());
    let members = vec![
        (
            Arc::new(Field::new("a", DataType::Int32, true)),
            inner.clone(),
        ),
        (Arc::new(Field::new("b", DataType::Utf8, true)), inner_text),
    ];
    let required = StructArray::from(members);
    let present = NullBuffer::from_iter(numbers().into_iter().map(|v| v.is_some()));
    let nullable = StructArray::new(
        required.fields().clone(),
        required.columns().to_vec(),
        Some(present),
    );
    let mut columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("i8", narrow!(Int8Array, i8), true),
        ("i16", narrow!(Int16Array, i16), true),
        ("i32", inner, true),
        ("i64", narrow!(Int64Array, i64), true),
        ("u32", narrow!(UInt32Array, u32), true),
        ("u64", narrow!(UInt64Array, u64), true),
        ("f32", narrow!(Float32Array, f32), true),
        ("date", narrow!(Date32Array, i32), true),
        ("f64", Arc::new(floats), true),
        ("text", Arc::new(text), true),
        ("large", Arc::new(large), true),
        ("view", Arc::new(view), true),
        ("dictionary", Arc::new(dictionary), true),
        ("binary", Arc::new(binary), true),
        ("fixed", Arc::new(fixed), true),
        ("decimal", Arc::new(decimal), true),
        ("short", Arc::new(short), true),
        ("time", Arc::new(times.with_timezone("+02:00")), true),
        ("bool", Arc::new(bools), true),
        ("list", Arc::new(lists), true),
        ("required", Arc::new(required), false),
        ("nullable", Arc::new(nullable), true),
    ];
    if null_share == 0.0 {
        for (_, array, nullable) in &mut columns {
            *nullable &= array.data_type().is_nested();
        }
    }
    let columns = columns.into_iter();
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Random lists of some items, a part of them null or empty.
fn lists<O: OffsetSizeTrait>(
    rng: &mut StdRng,
    rows: usize,
    items: impl FnOnce(&mut StdRng, usize) -> ArrayRef,
) -> GenericListArray<O> {
    let present: Vec<bool> = (0..rows).map(|_| rng.random_bool(0.8)).collect();
    let lengths: Vec<usize> = (present.iter())
        .map(|present| if *present { rng.random_range(0..5) } else { 0 })
        .collect();
    let items = items(rng, lengths.iter().sum());
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    let nulls = rng.random_bool(0.7).then(|| NullBuffer::from(present));
    GenericListArray::new(field, OffsetBuffer::from_lengths(lengths), items, nulls)
}

fn integers(rng: &mut StdRng, rows: usize) -> ArrayRef {
    let value = |_| rng.random_bool(0.7).then(|| rng.random_range(-9..9));
    Arc::new((0..rows).map(value).collect::<Int32Array>())
}

fn words(rng: &mut StdRng, rows: usize) -> ArrayRef {
    let value = |_| {
        rng.random_bool(0.7)
            .then(|| format!("word {}", rng.random_range(0..30)))
    };
    Arc::new((0..rows).map(value).collect::<StringArray>())
}

fn structs(rng: &mut StdRng, rows: usize, b: ArrayRef) -> ArrayRef {
    let a = integers(rng, rows);
    let nulls = rng
        .random_bool(0.7)
        .then(|| (0..rows).map(|_| rng.random_bool(0.7)).collect());
    let fields = vec![
        Field::new("a", a.data_type().clone(), true),
        Field::new("b", b.data_type().clone(), true),
    ];
    Arc::new(StructArray::new(fields.into(), vec![a, b], nulls))
}

fn maps(rng: &mut StdRng, rows: usize) -> ArrayRef {
    let list = lists::<i32>(rng, rows, |rng, len| {
        let keys: ArrayRef = Arc::new(
            (0..len)
                .map(|i| i32::try_from(i).ok())
                .collect::<Int32Array>(),
        );
        let values = lists::<i32>(rng, len, words);
        let fields = vec![
            Field::new("keys", DataType::Int32, false),
            Field::new("values", values.data_type().clone(), true),
        ];
        Arc::new(StructArray::new(
            fields.into(),
            vec![keys, Arc::new(values)],
            None,
        ))
    });
    let entries = list.values().as_struct().clone();
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Arc::new(MapArray::new(field, offsets, entries, nulls, false))
}

/// Columns of nested types.
fn nested(rng: &mut StdRng, rows: usize) -> RecordBatch {
    let of_lists = lists::<i64>(rng, rows, |rng, len| {
        Arc::new(lists::<i32>(rng, len, words))
    });
    let of_structs = lists::<i32>(rng, rows, |rng, len| {
        let b = Arc::new(lists::<i32>(rng, len, integers));
        structs(rng, len, b)
    });
    let words_below = words(rng, rows);
    let inner = structs(rng, rows, words_below);
    let map = maps(rng, rows);
    let deep = structs(rng, rows, map.clone());
    let outer = structs(rng, rows, inner);
    let items = integers(rng, rows * 2);
    let field = Arc::new(Field::new("item", DataType::Int32, true));
    let fixed = FixedSizeListArray::new(field, 2, items, None);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", integers(rng, rows)),
        ("of_lists", Arc::new(of_lists)),
        ("of_structs", Arc::new(of_structs)),
        ("outer", outer),
        ("map", map),
        ("deep", deep),
        ("fixed", Arc::new(fixed)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
        .unwrap()
}

fn settings(rng: &mut StdRng) -> WriterProperties {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
    ];
    let statistics = [
        EnabledStatistics::None,
        EnabledStatistics::Chunk,
        EnabledStatistics::Page,
    ];
    let page_rows = [1, 7, 100, 20_000][rng.random_range(0..4)];
    let mut builder = WriterProperties::builder()
        .set_compression(codecs[rng.random_range(0..codecs.len())])
        .set_max_row_group_row_count(Some([50, 333, 1 << 20][rng.random_range(0..3)]))
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows.min(64))
        .set_statistics_enabled(statistics[rng.random_range(0..3)])
        .set_offset_index_disabled(rng.random_bool(0.3))
        .set_statistics_truncate_length([None, Some(1), Some(64)][rng.random_range(0..3)])
        .set_bloom_filter_enabled(rng.random_bool(0.3))
        .set_dictionary_enabled(rng.random_bool(0.5))
        .set_dictionary_page_size_limit([100, 1 << 20][rng.random_range(0..2)])
        .set_writer_version(if rng.random_bool(0.5) {
            WriterVersion::PARQUET_1_0
        } else {
            WriterVersion::PARQUET_2_0
        });
    for (column, encodings) in [
        (
            "i32",
            &[
                Encoding::PLAIN,
                Encoding::DELTA_BINARY_PACKED,
                Encoding::BYTE_STREAM_SPLIT,
            ][..],
        ),
        (
            "i64",
            &[
                Encoding::PLAIN,
                Encoding::DELTA_BINARY_PACKED,
                Encoding::BYTE_STREAM_SPLIT,
            ],
        ),
        ("f64", &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT]),
        ("bool", &[Encoding::PLAIN, Encoding::RLE]),
        (
            "text",
            &[
                Encoding::PLAIN,
                Encoding::DELTA_LENGTH_BYTE_ARRAY,
                Encoding::DELTA_BYTE_ARRAY,
            ],
        ),
        (
            "binary",
            &[
                Encoding::PLAIN,
                Encoding::DELTA_LENGTH_BYTE_ARRAY,
                Encoding::DELTA_BYTE_ARRAY,
            ],
        ),
        (
            "fixed",
            &[
                Encoding::PLAIN,
                Encoding::DELTA_BYTE_ARRAY,
                Encoding::BYTE_STREAM_SPLIT,
            ],
        ),
    ] {
        builder = builder.set_column_encoding(
            column.into(),
            encodings[rng.random_range(0..encodings.len())],
        );
    }
    builder.build()
}

#[test]
fn files_of_random_settings_read_as_the_crate_reads_them() {
    check(0, table);
}

#[test]
fn nested_columns_of_random_settings_read_as_the_crate_reads_them() {
    check(1_000, nested);
}

fn check(first: u64, table: impl Fn(&mut StdRng, usize) -> RecordBatch) {
    let cases = if std::env::var_os("FULL").is_some() {
        400
    } else {
        60
    };
    for seed in first..first + cases {
        let mut rng = StdRng::seed_from_u64(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let rows = [0, 1, 64, 1_000, 3_000][rng.random_range(0..5)];
        let batch = table(&mut rng, rows);
        write_parquet(&path, &batch, settings(&mut rng));
        let target = folder.path().join("t.amudai.shard");
        let options = AttachOptions::default()
            .with_stripe_rows([1, 500, 1 << 20][rng.random_range(0..3)])
            .with_page_map(rng.random_bool(0.5))
            .with_statistics(some_columns(&mut rng, &batch))
            .with_index(some_columns(&mut rng, &batch));
        attach_with([&path], &target, options).unwrap();
        let shard = Shard::open(&target).unwrap();
        let expected = read_parquet(&path);
        let read = read_shard(&shard);
        for (found, expected) in read.columns().iter().zip(expected.columns()) {
            assert_eq!(found, expected, "seed {seed}");
        }
        assert_eq!(read, expected, "seed {seed}");
        if rows > 0 {
            let some: Vec<u64> = (0..50).map(|_| rng.random_range(0..rows as u64)).collect();
            let taken = shard.take(&some, Projection::default()).unwrap();
            let some = UInt64Array::from(some);
            let expected = arrow_select::take::take_record_batch(&expected, &some).unwrap();
            assert_eq!(taken, expected, "seed {seed}");
        }
        check_filters(&mut rng, &shard, &expected);
        assert_sound(&shard);
    }
}

fn some_columns(rng: &mut StdRng, batch: &RecordBatch) -> Vec<String> {
    let mut names: Vec<String> = (batch.schema().fields().iter())
        .map(|field| field.name().clone())
        .collect();
    names.retain(|_| rng.random_bool(0.2));
    names
}

/// Compares filters with Arrow's kernels, over values of the table and others.
fn check_filters(rng: &mut StdRng, shard: &Shard, table: &RecordBatch) {
    let predicates = |rng: &mut StdRng| {
        let number = rng.random_range(-60..60i64);
        let word = format!(
            "{}{number}",
            "x".repeat(usize::try_from(number.rem_euclid(20)).unwrap())
        );
        vec![
            ("i64", col("i64").gt(number), number.to_string()),
            ("i64", col("i64").eq(number), number.to_string()),
            ("text", col("text").eq(word.as_str()), word.clone()),
            ("text", col("text").lt(word.as_str()), word),
            ("i8", col("i8").is_null(), String::new()),
        ]
    };
    for (column, predicate, literal) in predicates(rng) {
        let Some(values) = table.column_by_name(column) else {
            continue;
        };
        let text = predicate.to_string();
        let literal: ArrayRef = Arc::new(StringArray::from(vec![literal]));
        let literal = arrow_cast::cast(&literal, values.data_type()).unwrap();
        let literal = Scalar::new(literal);
        let kept = match text.split_whitespace().nth(1).unwrap() {
            ">" => gt(values, &literal),
            "=" => eq(values, &literal),
            "<" => lt(values, &literal),
            _ => is_null(values),
        };
        let expected = filter_record_batch(table, &kept.unwrap()).unwrap();
        let scan = shard.scan().with_filter(predicate).build().unwrap();
        let found: Vec<RecordBatch> = scan.map(Result::unwrap).collect();
        let found = concat_batches(&shard.schema().unwrap(), &found).unwrap();
        assert_eq!(found, expected, "{text}");
    }
}
