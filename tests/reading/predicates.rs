//! Inputs of predicates, invalid predicates, and the rows that scans skip by predicates.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Int32Array, Int64Array, RecordBatch,
    StringArray, StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_shard::read::{Predicate, ShardOptions, col};
use arrow_shard::write::WriterOptions;
use arrow_shard::{Error, ErrorKind, Shard};
use std::sync::{Arc, Mutex};

/// Returns a shard of numbers, texts and lists of numbers.
fn readings() -> Shard {
    let mut lists = ListBuilder::new(Int32Builder::new());
    for row in 0..1000 {
        lists.append_value((0..row % 3).map(Some));
    }
    let columns: [(&str, ArrayRef); 3] = [
        ("number", Arc::new(Int32Array::from_iter_values(0..1000))),
        (
            "text",
            Arc::new(
                (0..1000)
                    .map(|i| Some(format!("t{}", i % 10)))
                    .collect::<StringArray>(),
            ),
        ),
        ("list", Arc::new(lists.finish())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = WriterOptions::default().with_stripe_rows(400);
    Shard::from_bytes(crate::support::written_bytes(&[batch], options)).unwrap()
}

#[test]
fn a_predicate_sees_the_types_of_the_shard_whatever_schema_is_asked_for() {
    let shard = readings();
    let wanted = Schema::new(vec![
        Field::new("text", DataType::Utf8View, true),
        Field::new("number", DataType::Float64, true),
    ]);
    let filter = col("number").between(5, 8).and(col("text").not_eq("t6"));
    let filter = filter.and(Predicate::from_fn(["number"], |batch| {
        let numbers = batch["number"].as_primitive::<arrow_array::types::Int32Type>();
        Ok(BooleanArray::from_unary(numbers, |n| n != 7))
    }));
    let scan = shard
        .scan()
        .with_schema(Arc::new(wanted))
        .with_filter(filter);
    let batch = crate::support::collect(scan.build().unwrap()).unwrap();
    let texts: Vec<_> = batch["text"].as_string_view().iter().flatten().collect();
    assert_eq!(texts, ["t5", "t8"]);
    let numbers = batch["number"].as_primitive::<arrow_array::types::Float64Type>();
    assert_eq!(numbers.values(), &[5.0, 8.0]);
}

#[test]
fn two_filters_and_two_selections_narrow_each_other() {
    let shard = readings();
    let scan = shard.scan().with_filter(col("number").gt_eq(100));
    let scan = scan
        .with_filter(col("text").eq("t3"))
        .with_row_selection(0..200);
    let scan = scan.with_row_selection(vec![150..160, 190..600]);
    let mut reader = scan.build().unwrap();
    let rows: usize = reader.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 2);
    let shown = reader.metrics().unwrap().to_string();
    assert!(shown.contains("matched"), "{shown}");
    assert!(shard.scan().build().unwrap().metrics().is_none());
}

/// A function never sees rows that earlier conditions rule out, whether whole blocks or single rows are read for it.
#[test]
fn functions_are_asked_about_no_row_that_others_have_ruled_out() {
    let shard = readings();
    for (few, texts) in [(1, 10), (13, 5), (31, 3), (200, 1)] {
        // One row in `few`, with some of the texts, reaches the function.
        let wanted = move |n: i32| n % few == 0 && n % 10 < texts;
        let numbers: Vec<i32> = (0..1000).filter(|&n| wanted(n)).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let function = Predicate::from_fn(["number", "list"], move |batch| {
            let numbers = batch["number"].as_primitive::<arrow_array::types::Int32Type>();
            seen.lock().unwrap().extend_from_slice(numbers.values());
            Ok(BooleanArray::from_unary(numbers, |n| n % 3 != 0))
        });
        let in_list = col("number").is_in(numbers.iter().copied());
        let filter = function.and(in_list);
        let batch = crate::support::collect(shard.scan().with_filter(filter).build().unwrap());
        assert_eq!(*asked.lock().unwrap(), numbers);
        let found = batch.unwrap();
        let found = found["number"].as_primitive::<arrow_array::types::Int32Type>();
        let expected: Vec<i32> = numbers.into_iter().filter(|n| n % 3 != 0).collect();
        assert_eq!(found.values(), &expected[..]);
    }
}

#[test]
fn mistakes_in_a_predicate_are_errors_that_name_it() {
    let shard = readings();
    let fails = |filter: Predicate, kind: ErrorKind, words: &[&str]| {
        let shown = filter.to_string();
        let error = match shard.scan().with_filter(filter).build() {
            Err(error) => error,
            Ok(mut reader) => Error::from(reader.next().unwrap().unwrap_err()),
        };
        assert_eq!(error.kind(), kind, "{shown}: {error:#}");
        let chain = format!("{error:#}");
        for word in words {
            assert!(chain.contains(word), "{shown}: {chain}");
        }
    };
    use ErrorKind::{External, InvalidArgument, SchemaMismatch, UnknownColumn};
    fails(
        col("nunber").eq(1),
        UnknownColumn,
        &["nunber = 1", "did you mean `number`"],
    );
    fails(
        col("number").eq("1"),
        SchemaMismatch,
        &["`number`", "Int32", "Utf8"],
    );
    fails(
        col("list").eq(1),
        SchemaMismatch,
        &["`list`", "test them for nulls", "List"],
    );
    fails(
        col("list.item").is_null(),
        SchemaMismatch,
        &["list.item", "no single value per row"],
    );
    fails(
        col("number").starts_with("1"),
        SchemaMismatch,
        &["`number`", "no prefix"],
    );
    let short = |_: &RecordBatch| Ok(BooleanArray::from(vec![true]));
    fails(
        Predicate::from_fn(["text"], short),
        InvalidArgument,
        &["text", "found 1"],
    );
    let failing = |_: &RecordBatch| Err(ArrowError::ComputeError("no luck".into()));
    fails(
        Predicate::from_fn(["text"], failing),
        External,
        &["text", "no luck"],
    );
    let scan = || shard.scan().with_filter(col("number").lt(5));
    assert_eq!(
        scan().with_limit(1).split(2).unwrap_err().kind(),
        InvalidArgument
    );
    let outside = scan().with_row_selection(990..1001).build().unwrap_err();
    assert_eq!(outside.kind(), ErrorKind::RowOutOfRange);
}

const RUN: i64 = 250;
const ROWS: i64 = 200_000;

/// Returns states that stay for `RUN` rows, optionally with some nulls, and the row numbers.
fn states(nulls: bool) -> RecordBatch {
    let state = |row: i64| (row / RUN).wrapping_mul(0x1E37_79B9_7F4A_7C15) >> 30;
    let present = |row: i64| !nulls || row % 7001 > 12 && row % 53_000 > 600;
    let states: Int64Array = (0..ROWS)
        .map(|row| present(row).then(|| state(row)))
        .collect();
    let rows = Int64Array::from_iter_values(0..ROWS);
    let columns = [
        ("state", Arc::new(states) as ArrayRef),
        ("row", Arc::new(rows)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn equal_neighbors_are_tested_once() {
    type Question = (Predicate, fn(Option<i64>, i64) -> bool);
    for nulls in [false, true] {
        let batch = states(nulls);
        let state = batch.column(0).as_primitive::<Int64Type>();
        let literal = state.value(13 * RUN as usize + 20);
        let questions: [Question; 6] = [
            (col("state").eq(literal), |v, l| v == Some(l)),
            (col("state").lt(literal), |v, l| v.is_some_and(|v| v < l)),
            (!col("state").lt(literal), |v, l| v.is_some_and(|v| v >= l)),
            (col("state").is_null(), |v, _| v.is_none()),
            (
                col("state").is_null().or(col("state").gt(literal)),
                |v, l| v.is_none_or(|v| v > l),
            ),
            (col("state").is_in([literal, 5]), |v, l| v == Some(l)),
        ];
        // Without range index and dictionary, which could decide without reading values.
        let options = WriterOptions::default()
            .with_statistics_enabled(false)
            .with_dictionary_enabled(false);
        let bytes = crate::support::written_bytes(std::slice::from_ref(&batch), options);
        let local = Shard::from_bytes(bytes.clone()).unwrap();
        let far = crate::support::remote(bytes, ShardOptions::default()).unwrap();
        for (filter, is_match) in questions {
            let matches = |row: &i64| is_match(state.iter().nth(*row as usize).unwrap(), literal);
            let expected: Vec<i64> = (0..ROWS).filter(matches).collect();
            for (shard, size) in [(&local, 1000), (&local, 70_000), (&far, 8192)] {
                let scan = shard.scan().with_filter(filter.clone());
                let mut reader = scan.with_batch_size(size).build().unwrap();
                let batches: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
                let rows = batches.iter().flat_map(|batch| {
                    let rows = batch.column(1).as_primitive::<Int64Type>();
                    rows.values().to_vec()
                });
                assert!(
                    rows.eq(expected.iter().copied()),
                    "{filter}, nulls: {nulls}"
                );
                let tested = reader.metrics().unwrap().values_tested;
                // A run is split where batches end.
                let most = if nulls || !expected.is_empty() {
                    2500
                } else {
                    0
                };
                assert!(tested <= most, "{filter}: {tested} of {ROWS} values");
            }
        }
    }
}

#[test]
fn functions_and_rows_apart_see_every_value() {
    let batch = states(false);
    let state = batch.column(0).as_primitive::<Int64Type>().value(20);
    let options = WriterOptions::default().with_dictionary_enabled(false);
    let shard = Shard::from_bytes(crate::support::written_bytes(&[batch], options)).unwrap();
    let same = move |batch: &RecordBatch| {
        let states = batch.column(0).as_primitive::<Int64Type>();
        Ok(BooleanArray::from_unary(states, |v| v == state))
    };
    let scan = shard
        .scan()
        .with_filter(Predicate::from_fn(["state"], same));
    let mut reader = scan.build().unwrap();
    let found: usize = reader.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    let tested = reader.metrics().unwrap().values_tested;
    assert_eq!((found as i64, tested as i64), (RUN, ROWS));
    let apart = shard.scan().with_filter(col("state").eq(state));
    let apart = apart.with_row_selection(vec![3..4, 100..101, 900..901, 60_000..60_001]);
    let batch = crate::support::collect(apart.build().unwrap()).unwrap();
    assert_eq!(
        batch.column(1).as_primitive::<Int64Type>().values(),
        &[3, 100]
    );
}

/// Bounds of long values are truncated, and padded when they are read.
#[test]
fn long_values_of_a_fixed_size_lie_in_their_bounds_and_are_found_by_them() {
    for (size, bounds) in [
        (64, [1, 1, 1, 1]),
        (65, [1, 1, 1, 0]),
        (100, [1, 1, 1, 0]),
        (2000, [0; 4]),
    ] {
        let value = |first: u8, last: u8| {
            let mut value = vec![first; size];
            value[size - 1] = last;
            value
        };
        // A lower bound of zeros is padded to values of the second stripe. No value is above one that begins with 64
        // bytes of ones, so the last stripe has no bounds after truncation.
        let stripes = [
            [value(9, 1), value(9, 0), value(9, 2)],
            [value(0, 0), value(0, 1), value(0, 0)],
            [value(5, 5), value(5, 5), value(5, 5)],
            [value(255, 255), value(7, 0), value(8, 0)],
        ];
        let values = FixedSizeBinaryArray::try_from_iter(stripes.iter().flatten()).unwrap();
        let values: ArrayRef = Arc::new(values);
        let field = Arc::new(Field::new("inside", values.data_type().clone(), false));
        let around = StructArray::from(vec![(field, values.clone())]);
        let columns: [(&str, ArrayRef); 2] = [("c", values), ("s", Arc::new(around))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let options = WriterOptions::default().with_stripe_rows(3);
        let shard = Shard::from_bytes(crate::support::written_bytes(&[batch], options)).unwrap();
        assert_eq!(shard.verify().unwrap().problems(), [], "{size}");

        shard.statistics(["c", "s.inside"]).unwrap();
        let known = shard.stripe_statistics(["c", "s.inside"]).unwrap();
        for path in ["c", "s.inside"] {
            let known = known[path].as_struct();
            let [min, max] = ["min", "max"].map(|name| {
                let bounds = known.column_by_name(name).unwrap();
                bounds.as_fixed_size_binary().clone()
            });
            for (i, values) in stripes.iter().enumerate() {
                assert_eq!(min.is_valid(i), bounds[i] == 1, "{path} {size}");
                assert_eq!(max.is_valid(i), bounds[i] == 1, "{path} {size}");
                for value in values.iter().filter(|_| bounds[i] == 1) {
                    assert!((min.value(i)..=max.value(i)).contains(&value.as_slice()));
                }
                let filter = col(path).eq(values[0].clone());
                let mut reader = shard.scan().with_filter(filter).build().unwrap();
                let rows: usize = reader.by_ref().map(|b| b.unwrap().num_rows()).sum();
                assert_eq!(rows, [1, 2, 3, 1][i], "{path} {size}");
                let skipped = reader.metrics().unwrap().skipped_by_statistics.stripes;
                assert_eq!(skipped > 0, size <= 1024, "{path} {size}");
            }
        }
    }
}
