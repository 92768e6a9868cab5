//! A scan with a filter and requested types returns the same rows as a full scan in these types, filtered by arrow's
//! kernels.

use crate::support::{collect, remote, written_bytes};
use arrow_arith::boolean::{and_kleene, is_null, or_kleene};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Datum, Decimal128Array, DictionaryArray, Float64Array,
    Int64Array, ListArray, RecordBatch, Scalar, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::filter::filter;
use arrow_shard::Shard;
use arrow_shard::metadata::TypeMapping;
use arrow_shard::read::{Literal, Predicate, ShardOptions, col};
use arrow_shard::write::{Profile, WriterOptions};
use std::sync::Arc;

const ROWS: usize = 40_000;

/// Returns numbers below a thousand, in no order.
fn noise(row: usize) -> usize {
    row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 & 0x3FF
}

fn batch() -> RecordBatch {
    let rows = || 0..ROWS;
    let valid = |row: usize, of: usize| !row.is_multiple_of(of);
    let text = |row: usize| format!("text {} of many", noise(row));
    let texts: StringViewArray = rows().map(|r| valid(r, 7).then(|| text(r))).collect();
    let words: Vec<Option<String>> = rows()
        .map(|r| valid(r, 5).then(|| format!("w{}", noise(r) % 40)))
        .collect();
    let words: DictionaryArray<Int32Type> = words.iter().map(Option::as_deref).collect();
    let plain: StringArray = rows().map(|r| Some(format!("p{}", r / 100))).collect();
    let micros = |r: usize| 1_700_000_000_000_000 + i64::try_from(r).unwrap() * 60_000_000;
    let times: TimestampMicrosecondArray =
        rows().map(|r| valid(r, 11).then(|| micros(r))).collect();
    let prices: Decimal128Array = rows().map(|r| Some(noise(r) as i128 * 25)).collect();
    let doubles: Float64Array = rows().map(|r| Some(noise(r) as f64 / 4.0)).collect();
    let numbers: Int64Array = rows().map(|r| i64::try_from(noise(r)).ok()).collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        rows().map(|r| valid(r, 3).then(|| (0..3).take(r % 4).map(Some))),
    );
    RecordBatch::try_from_iter_with_nullable([
        ("text", Arc::new(texts) as ArrayRef, true),
        ("word", Arc::new(words), true),
        ("plain", Arc::new(plain), true),
        ("time", Arc::new(times.with_timezone("+02:00")), true),
        (
            "price",
            Arc::new(prices.with_precision_and_scale(12, 2).unwrap()),
            true,
        ),
        ("double", Arc::new(doubles), true),
        ("number", Arc::new(numbers), true),
        ("list", Arc::new(lists), true),
    ])
    .unwrap()
}

fn dictionary(values: DataType) -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(values))
}

/// Returns schemas with other types, in another order, and with only some of the columns.
fn schemas() -> Vec<SchemaRef> {
    use DataType::{
        Decimal256, Float32, Int16, Int64, LargeList, LargeUtf8, List, Timestamp, Utf8, Utf8View,
    };
    let item = |data_type| Arc::new(Field::new("item", data_type, true));
    let zoned = |unit, zone: &str| Timestamp(unit, Some(zone.into()));
    let of = |types: Vec<(&str, DataType)>| {
        let fields = types
            .into_iter()
            .map(|(name, data_type)| Field::new(name, data_type, true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    };
    vec![
        of(vec![
            ("number", DataType::Int32),
            ("text", Utf8),
            ("word", Utf8View),
            ("plain", dictionary(Utf8)),
            ("time", zoned(TimeUnit::Microsecond, "-05:00")),
            ("price", Decimal256(40, 2)),
            ("double", Float32),
            ("list", LargeList(item(Int64))),
        ]),
        of(vec![
            ("time", zoned(TimeUnit::Second, "+00:00")),
            ("text", dictionary(LargeUtf8)),
            ("word", dictionary(Utf8View)),
        ]),
        of(vec![
            ("plain", Utf8View),
            ("list", List(item(Int16))),
            ("text", LargeUtf8),
            ("time", zoned(TimeUnit::Nanosecond, "+02:00")),
        ]),
        // All columns of the predicates may be missing.
        of(vec![("double", DataType::Float64)]),
    ]
}

type Kernel = fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, arrow_schema::ArrowError>;

/// Returns predicates, and their results by arrow's kernels for the rows of a batch.
fn filters(batch: &RecordBatch) -> Vec<(Predicate, BooleanArray)> {
    let compare = |name: &str, kernel: Kernel, literal: &Literal| {
        let column = &batch[name];
        let plain = match column.data_type() {
            DataType::Dictionary(_, values) => cast(column, values).unwrap(),
            _ => column.clone(),
        };
        let literal = cast(literal.array(), plain.data_type()).unwrap();
        kernel(&plain, &Scalar::new(literal)).unwrap()
    };
    let text = || Literal::from("text 500 of many");
    let time = || Literal::from("2023-12-01T00:00:00+02:00");
    let later = || compare("time", cmp::gt_eq, &time());
    vec![
        (col("text").eq(text()), compare("text", cmp::eq, &text())),
        (col("text").gt(text()), compare("text", cmp::gt, &text())),
        (col("word").eq("w7"), compare("word", cmp::eq, &"w7".into())),
        (
            col("word").not_eq("w7"),
            compare("word", cmp::neq, &"w7".into()),
        ),
        (
            col("plain").lt("p120"),
            compare("plain", cmp::lt, &"p120".into()),
        ),
        (col("time").gt_eq(time()), later()),
        (
            col("price").lt_eq("100.25"),
            compare("price", cmp::lt_eq, &"100.25".into()),
        ),
        (
            col("time").gt_eq(time()).and(col("word").eq("w3")),
            and_kleene(&later(), &compare("word", cmp::eq, &"w3".into())).unwrap(),
        ),
        (
            col("number").eq(5).or(col("list").is_null()),
            or_kleene(
                &compare("number", cmp::eq, &5.into()),
                &is_null(&batch["list"]).unwrap(),
            )
            .unwrap(),
        ),
        (
            col("number").gt(2000),
            compare("number", cmp::gt, &2000.into()),
        ),
    ]
}

/// Returns values without dictionaries, which may differ between batches.
fn plain(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values).unwrap(),
        _ => array.clone(),
    }
}

#[test]
fn a_filtered_scan_in_another_schema_is_the_full_one_filtered() {
    let batch = batch();
    let filters = filters(&batch);
    let options = WriterOptions::default().with_stripe_rows(17_001);
    for options in [
        options.clone(),
        options.clone().with_profile(Profile::Plain),
        options
            .with_mapping(TypeMapping::Amudai)
            .with_dictionary_enabled(false),
    ] {
        let file = written_bytes(std::slice::from_ref(&batch), options.clone());
        let resident = Shard::from_bytes(file.clone()).unwrap();
        let fetched = remote(file, ShardOptions::default().with_tail_bytes(12)).unwrap();
        for schema in schemas() {
            let full =
                collect(resident.scan().with_schema(schema.clone()).build().unwrap()).unwrap();
            assert_eq!(full.schema(), schema);
            for (i, (predicate, matches)) in filters.iter().enumerate() {
                // As in a filter, null is not a match.
                let expected: Vec<ArrayRef> = full
                    .columns()
                    .iter()
                    .map(|column| filter(&plain(column), matches).unwrap())
                    .collect();
                for (shard, batch_size, threads) in [
                    (&resident, 8192, 1),
                    (&fetched, 1000, 1),
                    (&fetched, 20_000, 2),
                ] {
                    let scan = shard.scan().with_schema(schema.clone());
                    let scan = scan
                        .with_filter(predicate.clone())
                        .with_batch_size(batch_size);
                    let found = collect(scan.with_threads(threads).build().unwrap()).unwrap();
                    assert_eq!(found.schema(), schema);
                    let found: Vec<ArrayRef> = found.columns().iter().map(plain).collect();
                    assert!(
                        found == expected,
                        "filter {i} `{predicate}`, {schema}, {options:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_filters_tell_rows_apart() {
    let filters = filters(&batch());
    let counts: Vec<usize> = filters
        .iter()
        .map(|(_, matches)| matches.true_count())
        .collect();
    let (last, some) = counts.split_last().unwrap();
    assert!(
        some.iter().all(|count| (1..ROWS).contains(count)),
        "{counts:?}"
    );
    assert_eq!(*last, 0);
}
