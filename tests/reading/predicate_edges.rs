//! Edge cases of predicates that random cases hardly cover.

use crate::support::{collect, inner, remote, written_bytes};
use arrow_arith::numeric::div;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Int16Array, Int32Array, Int64Array,
    RecordBatch, RunArray, StringArray, StructArray,
};
use arrow_ord::cmp::{eq, gt_eq};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_shard::read::{Predicate, RowSelection, ShardOptions, col};
use arrow_shard::write::WriterOptions;
use arrow_shard::{ErrorKind, Shard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Returns numbers below a million, in no order.
fn noise(rows: i64) -> impl Iterator<Item = i64> {
    (0..rows).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()) >> 20 & 0xF_FFFF)
}

fn shard(columns: Vec<(&str, ArrayRef)>) -> Shard {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    Shard::from_bytes(written_bytes(&[batch], WriterOptions::default())).unwrap()
}

/// Returns the values of an Int64 column in the rows that match a filter.
fn found(shard: &Shard, filter: Predicate, column: &str) -> Result<Vec<i64>, ArrowError> {
    let scan = shard.scan().with_projection([column]).with_filter(filter);
    let batch = collect(scan.build().unwrap())?;
    Ok(batch[column].as_primitive::<Int64Type>().values().to_vec())
}

/// Returns the kind and message of a filter's error, on binding or testing it.
fn refused(shard: &Shard, filter: Predicate) -> (ErrorKind, String) {
    let error = match shard.scan().with_filter(filter).build() {
        Err(error) => error,
        Ok(mut reader) => {
            let error = reader.next().unwrap().unwrap_err();
            return (inner(&error).kind(), error.to_string());
        }
    };
    (error.kind(), error.to_string())
}

#[test]
fn matches_that_overflow_the_requested_keys_come_in_several_batches() {
    let numbers = Int64Array::from_iter_values(noise(60_000));
    let texts = noise(60_000).map(|n| format!("text {}", n / 7 % 1000));
    let texts = StringArray::from_iter_values(texts);
    let columns: [(&str, ArrayRef); 2] = [
        ("number", Arc::new(numbers.clone())),
        ("text", Arc::new(texts.clone())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = written_bytes(&[batch], WriterOptions::default());
    let keys = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let schema = Arc::new(Schema::new(vec![
        Field::new("number", DataType::Int64, true),
        Field::new("text", keys, true),
    ]));
    // Few scattered rows, rows that are read with their neighbors, and a majority of the rows.
    for most in [0x10_0000 / 60, 0x10_0000 / 20, 0x10_0000 / 2] {
        let expected: Vec<(i64, &str)> = numbers
            .values()
            .iter()
            .zip(texts.iter().flatten())
            .filter(|(number, _)| **number < most)
            .map(|(number, text)| (*number, text))
            .collect();
        let options = || ShardOptions::default().with_tail_bytes(12);
        for shard in [
            Shard::from_bytes(file.clone()).unwrap(),
            remote(file.clone(), options()).unwrap(),
        ] {
            for batch_size in [8192, 1000] {
                let scan = shard.scan().with_schema(schema.clone());
                let scan = scan
                    .with_filter(col("number").lt(most))
                    .with_batch_size(batch_size);
                let mut at = 0;
                for batch in scan.build().unwrap() {
                    let batch = batch.unwrap();
                    let numbers = batch["number"].as_primitive::<Int64Type>();
                    let texts = arrow_cast::cast(&batch["text"], &DataType::Utf8).unwrap();
                    let texts = texts.as_string::<i32>();
                    assert!(batch.num_rows() > 0, "an empty batch");
                    for i in 0..batch.num_rows() {
                        assert_eq!((numbers.value(i), texts.value(i)), expected[at]);
                        at += 1;
                    }
                }
                assert_eq!(at, expected.len());
            }
        }
    }
}

#[test]
fn functions_get_fewer_rows_at_once_if_run_ends_would_overflow() {
    // Run ends of 16 bits suffice for the rows of one written batch, but not for a batch of the scan.
    let rows = 20_000;
    let batches: Vec<RecordBatch> = (0..3)
        .map(|i| {
            let ends = Int16Array::from_iter_values((1..=2000).map(|run| run * 10));
            let values = Int32Array::from_iter_values((0..2000).map(|run| run % 10));
            let runs = RunArray::try_new(&ends, &values).unwrap();
            let numbers = Int64Array::from_iter_values(i * rows..(i + 1) * rows);
            let columns: [(&str, ArrayRef); 2] =
                [("row", Arc::new(numbers)), ("run", Arc::new(runs))];
            RecordBatch::try_from_iter(columns).unwrap()
        })
        .collect();
    let shard = Shard::from_bytes(written_bytes(&batches, WriterOptions::default())).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = asked.clone();
    let is_seventh = Predicate::from_fn(["run"], move |batch| {
        seen.fetch_add(batch.num_rows(), Relaxed);
        let values = arrow_cast::cast(&batch["run"], &DataType::Int32)?;
        eq(&values, &Int32Array::new_scalar(7))
    });
    let scan = shard
        .scan()
        .with_projection(["row"])
        .with_filter(is_seventh);
    let found = collect(scan.with_batch_size(60_000).build().unwrap()).unwrap();
    let expected: Vec<i64> = (0..3 * rows).filter(|row| row / 10 % 10 == 7).collect();
    assert_eq!(
        found["row"].as_primitive::<Int64Type>().values(),
        &expected[..]
    );
    assert_eq!(asked.load(Relaxed), 60_000, "rows that were asked about");
}

#[test]
fn optional_functions_test_the_rows_that_are_due() {
    let rows = 50_000;
    let shard = shard(vec![
        ("row", Arc::new(Int64Array::from_iter_values(0..rows))),
        ("n", Arc::new(Int64Array::from_iter_values(noise(rows)))),
    ]);
    // Every second call is due. The function drops all rows that it tests.
    #[derive(Debug, Default)]
    struct Calls {
        all: AtomicUsize,
        left_out: AtomicUsize,
        tested: AtomicUsize,
    }
    let none_of_them = |calls: &Arc<Calls>| {
        let (asked, testing) = (calls.clone(), calls.clone());
        let is_due = move |rows: usize| {
            let is_due = asked.all.fetch_add(1, Relaxed) % 2 == 0;
            if !is_due {
                asked.left_out.fetch_add(rows, Relaxed);
            }
            is_due
        };
        Predicate::from_optional_fn(["n"], is_due, move |batch| {
            testing.tested.fetch_add(batch.num_rows(), Relaxed);
            Ok(BooleanArray::from(vec![false; batch.num_rows()]))
        })
    };
    let count = |filter: Predicate| -> usize {
        let scan = shard.scan().with_projection(["row"]).with_filter(filter);
        let batches = scan.with_batch_size(1000).build().unwrap();
        batches.map(|batch| batch.unwrap().num_rows()).sum()
    };
    for (filter, in_question) in [(None, 50_000), (Some(col("row").gt_eq(10_500)), 39_500)] {
        let calls = Arc::new(Calls::default());
        let optional = none_of_them(&calls);
        let found = count(filter.into_iter().fold(optional, |all, part| part.and(all)));
        let left_out = calls.left_out.load(Relaxed);
        assert_eq!(found, left_out);
        assert!(left_out >= 1000, "{left_out} rows");
        assert_eq!(calls.tested.load(Relaxed) + left_out, in_question);
    }
    // Inside of an OR or a NOT, all rows are tested.
    let calls = Arc::new(Calls::default());
    assert_eq!(count(none_of_them(&calls).or(col("row").lt(3))), 3);
    assert_eq!(count(!none_of_them(&calls)), 50_000);
    assert_eq!(calls.all.load(Relaxed), 0);
}

#[test]
fn functions_see_only_the_rows_that_the_rest_of_a_conjunction_leaves() {
    let rows = 10_000;
    let shard = shard(vec![
        ("row", Arc::new(Int64Array::from_iter_values(0..rows))),
        ("n", Arc::new(Int64Array::from_iter_values(noise(rows)))),
        (
            "d",
            Arc::new(Int64Array::from_iter_values((0..rows).map(|i| i % 2 * i))),
        ),
    ]);
    // Fails if a divisor is 0.
    let quotient_is_large = || {
        Predicate::from_fn(["n", "d"], |batch| {
            let quotient = div(&batch["n"], &batch["d"])?;
            gt_eq(&quotient, &Int64Array::new_scalar(100))
        })
    };
    let is_odd = || {
        Predicate::from_fn(["d"], |batch| {
            let divisors = batch["d"].as_primitive::<Int64Type>();
            Ok(BooleanArray::from_unary(divisors, |d| d % 2 == 1))
        })
    };
    let expected: Vec<i64> = noise(rows)
        .zip(0..)
        .filter(|(n, row)| row % 2 == 1 && n / row >= 100)
        .map(|(_, row)| row)
        .collect();
    assert!(expected.len() > 1000);
    for filter in [
        col("d").not_eq(0).and(quotient_is_large()),
        quotient_is_large().and(col("d").not_eq(0)),
        is_odd().and(quotient_is_large()),
        is_odd()
            .and(quotient_is_large())
            .and(col("row").gt_eq(0).or(is_odd())),
    ] {
        let shown = filter.to_string();
        assert_eq!(found(&shard, filter, "row").unwrap(), expected, "{shown}");
    }
    found(&shard, quotient_is_large(), "row").unwrap_err();
    let odd: RowSelection = (0..rows.cast_unsigned())
        .filter(|row| row % 2 == 1)
        .collect();
    let scan = shard.scan().with_filter(quotient_is_large());
    let batch = collect(scan.with_row_selection(odd).build().unwrap()).unwrap();
    let rows = batch["row"].as_primitive::<Int64Type>();
    assert_eq!(rows.values(), expected.as_slice());
}

#[test]
fn long_lists_are_asked_of_bloom_filters_in_time() {
    let numbers = (0..20_000).map(|i| format!("{:06}", 2 * i));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("row", Arc::new(Int64Array::from_iter_values(0..20_000))),
        ("text", Arc::new(StringArray::from_iter_values(numbers))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = WriterOptions::default().with_bloom_filter_enabled(true);
    let shard = Shard::from_bytes(written_bytes(&[batch], options)).unwrap();
    // All but one are odd.
    let literals = (0..20_000).map(|i| format!("{:06}", 2 * i + 1));
    let literals = literals.chain(["012346".to_owned()]);
    let start = Instant::now();
    let rows = found(&shard, col("text").is_in(literals), "row").unwrap();
    assert_eq!(rows, [6173]);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn text_is_a_uuid_for_columns_of_uuids_and_refused_for_other_bytes() {
    let text = "550e8400-e29b-41d4-a716-446655440000";
    let bytes = 0x550e_8400_e29b_41d4_a716_4466_5544_0000_u128.to_be_bytes();
    let ids = [[0; 16], bytes, [255; 16]];
    let ids: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(ids.iter()).unwrap());
    let label = [("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())];
    let id = Field::new("id", ids.data_type().clone(), true);
    let schema = Schema::new(vec![
        Field::new("row", DataType::Int64, true),
        id.clone().with_metadata(HashMap::from(label)),
        id.with_name("bytes"),
    ]);
    let rows = Arc::new(Int64Array::from_iter_values(0..3));
    let batch = RecordBatch::try_new(Arc::new(schema), vec![rows, ids.clone(), ids]).unwrap();
    let file = written_bytes(&[batch], WriterOptions::default());
    let shard = Shard::from_bytes(file).unwrap();
    let rows = |filter| found(&shard, filter, "row").unwrap();
    assert_eq!(rows(col("id").eq(text)), [1]);
    assert_eq!(rows(col("id").is_in([text.to_uppercase()])), [1]);
    assert_eq!(rows(col("id").gt(text)), [2]);
    assert_eq!(rows(col("bytes").eq(&bytes)), [1]);
    for (filter, words) in [
        (col("bytes").eq(text), ["`bytes`", "FixedSizeBinary"]),
        (col("id").eq("550e8400"), ["`id`", "`550e8400`"]),
        (
            col("id").eq(text.replace("0e8", "0é")),
            ["`id`", "arrow.uuid"],
        ),
    ] {
        let (kind, message) = refused(&shard, filter);
        assert_eq!(kind, ErrorKind::SchemaMismatch, "{message}");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}

#[test]
fn members_of_one_name_are_said_to_be_several() {
    let member = || Arc::new(Field::new("m", DataType::Int32, true));
    let values: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let members = StructArray::new(
        vec![member(), member()].into(),
        vec![values.clone(), values],
        None,
    );
    let shard = shard(vec![("s", Arc::new(members))]);
    let (kind, message) = refused(&shard, col("s.m").eq(1));
    assert_eq!(kind, ErrorKind::SchemaMismatch);
    assert!(message.contains("2 members"), "{message}");
}

#[test]
fn literals_are_made_of_borrowed_values() {
    let shard = shard(vec![("a", Arc::new(Int64Array::from_iter_values(0..9)))]);
    let (numbers, name) = ([3i64, 5], "x".to_owned());
    assert_eq!(
        found(&shard, col("a").is_in(numbers.iter()), "a").unwrap(),
        numbers
    );
    let filter = col("b")
        .eq(&name)
        .or(col("b").is_in(["y"].iter()))
        .or(col("c").is_in([true].iter()));
    assert_eq!(filter.to_string(), "b = 'x' OR b IN ('y') OR c IN (true)");
}

#[test]
fn text_is_shown_in_quotes() {
    let filter = col("a").eq("NULL").or(col("b").is_in(["x", "it's"]));
    let filter = filter.or(col("c").starts_with("y")).or(col("d").eq(5));
    let shown = "a = 'NULL' OR b IN ('x', 'it''s') OR c LIKE 'y%' OR d = 5";
    assert_eq!(filter.to_string(), shown);
}

#[test]
fn bitmaps_of_more_rows_than_there_is_memory_are_refused() {
    for rows in [u64::MAX, u64::MAX / 2] {
        let error = RowSelection::from(3..5).to_bitmap(rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}

#[test]
fn long_chains_and_deep_nests_of_predicates_end() {
    let shard = shard(vec![("a", Arc::new(Int64Array::from_iter_values(0..100)))]);
    let mut chain = col("a").eq(7);
    for i in 0..20_000 {
        chain = chain.or(col("a").eq(1000 + i));
    }
    assert_eq!(found(&shard, chain, "a").unwrap(), [7]);
    // Double negation cancels out.
    let mut twice = col("a").lt(2);
    for _ in 0..100_000 {
        twice = !!twice;
    }
    assert_eq!(found(&shard, twice, "a").unwrap(), [0, 1]);
    let nested = |depth: i64| {
        (0..depth).fold(col("a").eq(7), |filter, i| {
            filter.or(col("a").eq(8)).and(col("a").gt(-1 - i))
        })
    };
    assert_eq!(found(&shard, nested(50), "a").unwrap(), [7, 8]);
    let (kind, message) = refused(&shard, nested(100_000));
    assert_eq!(kind, ErrorKind::InvalidArgument);
    assert!(message.contains("nest"), "{message}");
}

#[test]
fn stripes_of_one_truth_value_and_nulls_are_skipped_by_their_counts() {
    let flags = (0..4000i64).map(|i| (i % 5 > 0).then_some(i >= 2000 && i % 2 == 0));
    let flags: BooleanArray = flags.collect();
    let batch = RecordBatch::try_from_iter([("flag", Arc::new(flags) as ArrayRef)]).unwrap();
    let options = WriterOptions::default().with_stripe_rows(1000);
    let shard = Shard::from_bytes(written_bytes(&[batch], options)).unwrap();
    for (filter, rows, skipped) in [
        (col("flag").eq(true), 800, 2),
        (col("flag").not_eq(false), 800, 2),
        (col("flag").gt(false), 800, 2),
        (col("flag").eq(false), 2400, 0),
    ] {
        let shown = filter.to_string();
        let mut reader = shard.scan().with_filter(filter).build().unwrap();
        let found: usize = reader.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
        let metrics = reader.metrics().unwrap();
        let stripes = metrics.skipped_by_statistics.stripes;
        assert_eq!((found, stripes), (rows, skipped), "{shown}");
    }
}
