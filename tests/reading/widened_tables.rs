//! Tables of shards with different types: every way to read them returns the batches cast to the wider types.

use crate::random_predicates::{Oracle, paths};
use crate::support::collect;
use crate::widened_pairs::PAIRS;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampSecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, ListArray,
    RecordBatch, Scalar, StringArray, StructArray, UInt64Array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_schema::{DataType, Field, Fields, Schema};
use arrow_select::concat::concat;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use arrow_shard::ops::{ShardEditor, ShardSet, ShardSetOptions, Unify, merge, widened_type};
use arrow_shard::read::{Predicate, col};
use arrow_shard::write::{ColumnOptions, Profile, ShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn parsed(text: &str) -> DataType {
    text.parse().unwrap()
}

/// Returns values of a type, made from integers between -100 and 100.
pub(crate) fn of_type(values: &Int64Array, data_type: &DataType) -> ArrayRef {
    let scaled =
        |factor: i64| -> ArrayRef { Arc::new(values.unary::<_, Int64Type>(|v| v * factor)) };
    let integers: ArrayRef = Arc::new(values.clone());
    match data_type {
        DataType::Null => new_null_array(&DataType::Null, values.len()),
        DataType::Boolean => {
            let odd = values.iter().map(|v| v.map(|v| v % 2 == 0));
            Arc::new(odd.collect::<BooleanArray>())
        }
        DataType::Dictionary(_, inner) => cast(&of_type(values, inner), data_type).unwrap(),
        unsigned if unsigned.is_unsigned_integer() => {
            let absolute: ArrayRef = Arc::new(values.unary::<_, Int64Type>(i64::abs));
            cast(&absolute, unsigned).unwrap()
        }
        float if float.is_floating() => {
            #[expect(clippy::cast_precision_loss, reason = "the values are small")]
            let quarters: Float64Array = values.unary::<_, Float64Type>(|v| v as f64 / 4.0);
            cast(&quarters, float).unwrap()
        }
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => {
            let raw: Decimal128Array = values.iter().map(|v| v.map(i128::from)).collect();
            let raw = raw.with_precision_and_scale(37, *scale).unwrap();
            cast(&raw, data_type).unwrap()
        }
        DataType::Date32 => cast(&cast(&integers, &DataType::Int32).unwrap(), data_type).unwrap(),
        DataType::Date64 => cast(&scaled(86_400_000), data_type).unwrap(),
        DataType::Timestamp(_, zone) => {
            let seconds = parsed("Timestamp(s)");
            let seconds = cast(&scaled(7_201), &seconds).unwrap();
            let zoned = DataType::Timestamp(arrow_schema::TimeUnit::Second, zone.clone());
            // Not the same wall clock, but the same number of seconds.
            let zoned = cast(&cast(&seconds, &DataType::Int64).unwrap(), &zoned).unwrap();
            cast(&zoned, data_type).unwrap()
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let seconds: Int64Array = values.unary::<_, Int64Type>(|v| (v + 100) * 60);
            let seconds = cast(&seconds, &DataType::Int32).unwrap();
            let seconds = cast(&seconds, &parsed("Time32(s)")).unwrap();
            cast(&seconds, data_type).unwrap()
        }
        DataType::Duration(_) => {
            let seconds = cast(&integers, &parsed("Duration(s)")).unwrap();
            cast(&cast(&seconds, &DataType::Int64).unwrap(), data_type).unwrap()
        }
        text if text.is_string() || text.is_binary() => {
            let texts = values.iter().map(|v| v.map(|v| format!("text {v}")));
            cast(&texts.collect::<StringArray>(), text).unwrap()
        }
        other => cast(&integers, other).unwrap(),
    }
}

/// Returns numbers with nulls, in a random shape: few or many values, runs, one value, or none.
fn numbers(rng: &mut StdRng, rows: usize) -> Int64Array {
    let shape = rng.random_range(0..6);
    let mut last = 0;
    let values = (0..rows).map(|row| match shape {
        0 => None,
        1 => Some(7),
        2 => {
            if row % 97 == 0 {
                last = rng.random_range(-3..3);
            }
            Some(last)
        }
        3 => rng.random_bool(0.8).then(|| rng.random_range(-4..4)),
        4 => Some(rng.random_range(-100..=100)),
        _ => rng.random_bool(0.7).then(|| rng.random_range(-100..=100)),
    });
    values.collect()
}

/// Returns the columns of a shard: of each pair the first or the second type, a struct and a list.
fn columns(rng: &mut StdRng, rows: usize) -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for (a, b, _) in PAIRS {
        let data_type = parsed([a, b].choose(rng).unwrap());
        let array = of_type(&numbers(rng, rows), &data_type);
        columns.push((format!("{a} or {b}").replace('.', ""), array));
    }
    let members = [
        ("n", "Int32", "Float64"),
        ("t", "Utf8", "Null"),
        ("d", "Date32", "Timestamp(s)"),
    ];
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (name, a, b) in members {
        let data_type = parsed([a, b].choose(rng).unwrap());
        fields.push(Field::new(name, data_type.clone(), true));
        arrays.push(of_type(&numbers(rng, rows), &data_type));
    }
    let valid: NullBuffer = (0..rows).map(|_| rng.random_bool(0.9)).collect();
    let around = StructArray::new(Fields::from(fields), arrays, Some(valid));
    columns.push(("s".to_owned(), Arc::new(around)));
    let item = parsed(["Int16", "Int64", "Null"].choose(rng).unwrap());
    let lengths: Vec<usize> = (0..rows).map(|_| rng.random_range(0..4)).collect();
    let items = of_type(&numbers(rng, lengths.iter().sum()), &item);
    let field = Arc::new(Field::new_list_field(item, true));
    let lists = ListArray::new(field, OffsetBuffer::from_lengths(lengths), items, None);
    columns.push(("l".to_owned(), Arc::new(lists)));
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
        .unwrap()
}

/// Returns the type that holds the values of two types, without dictionaries.
fn wide(a: &DataType, b: &DataType) -> DataType {
    match (a, b) {
        (DataType::Null, other) | (other, DataType::Null) => other.clone(),
        (DataType::Dictionary(_, a), DataType::Dictionary(..)) => a.as_ref().clone(),
        (DataType::Struct(a), DataType::Struct(b)) => {
            let members = a.iter().zip(b).map(|(a, b)| {
                let data_type = wide(a.data_type(), b.data_type());
                Field::new(a.name(), data_type, true)
            });
            DataType::Struct(members.collect())
        }
        (DataType::List(a), DataType::List(b)) => {
            let item = wide(a.data_type(), b.data_type());
            DataType::List(Arc::new(Field::new_list_field(item, true)))
        }
        _ => widened_type([a, b]).unwrap(),
    }
}

/// Casts an array to a type, with members and items.
pub(crate) fn widened(array: &ArrayRef, data_type: &DataType) -> ArrayRef {
    match (array.data_type(), data_type) {
        (DataType::Null, _) => new_null_array(data_type, array.len()),
        (DataType::Struct(_), DataType::Struct(members)) => {
            let array = array.as_struct();
            let arrays = members.iter().zip(array.columns());
            let arrays = arrays.map(|(member, array)| widened(array, member.data_type()));
            let arrays = arrays.collect();
            Arc::new(StructArray::new(
                members.clone(),
                arrays,
                array.nulls().cloned(),
            ))
        }
        (DataType::List(_), DataType::List(item)) => {
            let array = array.as_list::<i32>();
            let items = widened(array.values(), item.data_type());
            let nulls = array.nulls().cloned();
            Arc::new(ListArray::new(
                item.clone(),
                array.offsets().clone(),
                items,
                nulls,
            ))
        }
        _ => cast(array, data_type).unwrap(),
    }
}

/// Returns the rows of all batches in the wider types.
fn united(batches: &[RecordBatch], schema: &Schema) -> RecordBatch {
    let columns = schema.fields().iter().enumerate().map(|(i, field)| {
        let parts = batches
            .iter()
            .map(|batch| widened(batch.column(i), field.data_type()));
        let parts: Vec<ArrayRef> = parts.collect();
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        concat(&parts).unwrap()
    });
    RecordBatch::try_new(Arc::new(schema.clone()), columns.collect()).unwrap()
}

pub(crate) fn written(path: &Path, batch: &RecordBatch, options: WriterOptions) {
    let mut writer =
        ShardWriter::create_with(path, batch.schema(), options.with_stripe_rows(700)).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

fn options(rng: &mut StdRng) -> WriterOptions {
    let column = ColumnOptions::default().with_bloom_filter_enabled(true);
    let profiles = [Profile::Plain, Profile::Balanced, Profile::Fast];
    let mut options = WriterOptions::default()
        .with_profile(*profiles.choose(rng).unwrap())
        .with_dictionary_enabled(rng.random());
    for (a, b, _) in PAIRS.iter().filter(|_| rng.random_bool(0.5)) {
        if *a != "Null" {
            options = options.with_column(format!("{a} or {b}").replace('.', ""), column.clone());
        }
    }
    options
}

pub(crate) fn widening() -> ShardSetOptions {
    ShardSetOptions::default().with_unify(Unify::Widen)
}

pub(crate) fn opened(paths: &[PathBuf]) -> arrow_shard::Result<ShardSet> {
    ShardSet::open_with(paths, widening())
}

#[test]
fn the_pairs_are_those_of_the_rule() {
    for (a, b, wide) in PAIRS {
        let found = widened_type([&parsed(a), &parsed(b)]);
        assert_eq!(found, Some(parsed(wide)), "{a}, {b}");
    }
}

#[test]
fn all_reads_of_a_widened_table_equal_the_cast_batches() {
    let mut counted = 0;
    for seed in 0..8 {
        let mut rng = StdRng::seed_from_u64(seed);
        let folder = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        let mut batches = Vec::new();
        for i in 0..3 {
            let rows = rng.random_range(1..2_500);
            let batch = columns(&mut rng, rows);
            let path = folder.path().join(format!("{i}.amudai.shard"));
            written(&path, &batch, options(&mut rng));
            files.push(path);
            batches.push(batch);
        }
        let mut schema = batches[0].schema().as_ref().clone();
        for batch in &batches[1..] {
            let fields = schema.fields().iter().zip(batch.schema_ref().fields());
            let fields = fields.map(|(own, other)| {
                let data_type = if own.data_type() == other.data_type() {
                    own.data_type().clone()
                } else {
                    wide(own.data_type(), other.data_type())
                };
                Field::new(own.name(), data_type, true)
            });
            schema = Schema::new(fields.collect::<Fields>());
        }
        let all = united(&batches, &schema);
        let table = opened(&files).unwrap();
        let found = table.shard().schema().unwrap();
        for (found, expected) in found.fields().iter().zip(schema.fields()) {
            assert_eq!(found, expected, "seed {seed}");
        }
        let read = collect(table.scan().with_batch_size(611).build().unwrap()).unwrap();
        for (i, field) in schema.fields().iter().enumerate() {
            assert_eq!(
                read.column(i),
                all.column(i),
                "seed {seed}: {}",
                field.name()
            );
        }
        assert_eq!(
            collect(table.scan().with_threads(2).build().unwrap()).unwrap(),
            all
        );
        statistics_hold(&table, &all);
        // Rows by number.
        let ranges = table.row_ranges();
        let picked: Vec<u64> = (0..40)
            .map(|_| rng.random_range(0..table.num_rows()))
            .collect();
        let places: Vec<(usize, u64)> = picked
            .iter()
            .map(|&row| table.locate(row).unwrap())
            .collect();
        assert!(
            places
                .iter()
                .all(|(shard, row)| ranges[*shard].start + row < ranges[*shard].end)
        );
        let taken = table
            .take(&places, arrow_shard::read::Projection::All)
            .unwrap();
        let expected = take_record_batch(&all, &UInt64Array::from(picked)).unwrap();
        assert_eq!(taken, expected, "seed {seed}");
        // Filters, before and after rows are deleted.
        counted += filters_hold(&mut rng, &table, &all, seed);
        let mut editor = ShardEditor::open(&files[1]).unwrap();
        let start = ranges[1].start;
        let deleted: Vec<u64> = (0..ranges[1].end - start)
            .filter(|_| rng.random_bool(0.3))
            .collect();
        editor.delete_rows(&deleted).unwrap();
        editor.commit().unwrap();
        let kept = (0..all.num_rows() as u64)
            .map(|row| Some(!(row >= start && deleted.contains(&(row - start)))));
        let left = filter_record_batch(&all, &kept.collect()).unwrap();
        let table = opened(&files).unwrap();
        assert_eq!(table.num_rows(), left.num_rows() as u64);
        assert_eq!(
            collect(table.scan().build().unwrap()).unwrap(),
            left,
            "seed {seed}"
        );
        counted += filters_hold(&mut rng, &table, &left, seed);
    }
    assert!(counted > 800, "{counted} filters");
}

/// Compares the rows of random filters, and returns the number of filters.
fn filters_hold(rng: &mut StdRng, table: &ShardSet, all: &RecordBatch, seed: u64) -> usize {
    let paths = paths(all.schema_ref());
    let batches = [all.clone()];
    let mut counted = 0;
    for _ in 0..80 {
        let Some(oracle) = Oracle::random(rng, &paths, &batches, 2) else {
            continue;
        };
        let Ok(truths) = oracle.evaluate(all) else {
            continue;
        };
        let expected = filter_record_batch(all, &truths).unwrap();
        check(table, oracle.predicate(), &expected, seed);
        counted += 1;
    }
    for path in &paths {
        // LIKE is a filter of text.
        if path.data_type.is_string() && !path.name.contains(' ') || path.name.contains("Utf8 or") {
            let column = all.column_by_name(&path.name);
            let Some(column) = column.filter(|column| column.data_type().is_string()) else {
                continue;
            };
            let text = format!("\"{}\" LIKE '%t 1%'", path.name);
            let predicate = table.shard().parse_predicate(&text).unwrap();
            let texts = cast(column, &DataType::Utf8).unwrap();
            let texts = texts.as_string::<i32>().iter();
            let truths: BooleanArray = texts.map(|t| t.map(|t| t.contains("t 1"))).collect();
            let expected = filter_record_batch(all, &truths).unwrap();
            check(table, predicate, &expected, seed);
            counted += 1;
        }
    }
    counted
}

fn check(table: &ShardSet, predicate: Predicate, expected: &RecordBatch, seed: u64) {
    let shown = predicate.to_string();
    let scan = table.scan().with_filter(predicate);
    let found = collect(scan.clone().build().unwrap());
    let found = found.unwrap_or_else(|error| panic!("seed {seed}: {shown}: {error}"));
    assert!(&found == expected, "seed {seed}: {shown}");
    let counted = scan.with_projection(Vec::<String>::new()).build().unwrap();
    let rows = counted
        .map(|batch| batch.unwrap().num_rows())
        .sum::<usize>();
    assert_eq!(rows, expected.num_rows(), "seed {seed}: {shown}");
}

/// Checks that all values lie between the bounds that the statistics state, and that counts of nulls are right.
fn statistics_hold(table: &ShardSet, all: &RecordBatch) {
    let statistics = table
        .shard()
        .statistics(arrow_shard::read::Projection::All)
        .unwrap();
    for (i, column) in all.columns().iter().enumerate() {
        let name = all.schema_ref().field(i).name().clone();
        let found = statistics.column_by_name(&name).unwrap().as_struct();
        let nulls = found.column_by_name("null_count").unwrap();
        let nulls = nulls.as_primitive::<arrow_array::types::UInt64Type>();
        if nulls.is_valid(0) {
            assert_eq!(nulls.value(0), column.logical_null_count() as u64, "{name}");
        }
        for (bound, is_beyond) in [("min", cmp::lt as fn(&_, &_) -> _), ("max", cmp::gt)] {
            let Some(bound) = found.column_by_name(bound).filter(|b| b.is_valid(0)) else {
                continue;
            };
            let beyond: BooleanArray = is_beyond(column, &Scalar::new(bound.clone())).unwrap();
            assert_eq!(beyond.true_count(), 0, "{name}: {bound:?}");
        }
    }
}

pub(crate) fn one_column(folder: &Path, name: &str, array: ArrayRef) -> PathBuf {
    let path = folder.join(format!("{name}.amudai.shard"));
    let batch = RecordBatch::try_from_iter_with_nullable([("x", array, true)]).unwrap();
    written(&path, &batch, WriterOptions::default());
    path
}

#[test]
fn an_integer_that_a_float_does_not_hold_is_an_error_that_names_its_shard() {
    let folder = tempfile::tempdir().unwrap();
    let big: Vec<i64> = (0..2_000)
        .map(|i| if i == 1_500 { (1 << 53) + 1 } else { i })
        .collect();
    let files = [
        one_column(
            folder.path(),
            "floats",
            Arc::new(Float64Array::from(vec![0.5, 1e300])),
        ),
        one_column(folder.path(), "big", Arc::new(Int64Array::from(big))),
    ];
    let table = opened(&files).unwrap();
    let error = collect(table.scan().build().unwrap())
        .unwrap_err()
        .to_string();
    for part in [
        "big.amudai.shard",
        "stripe 2",
        "`x`",
        "9007199254740993",
        "Float64",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // The rows before it, and filters that do not need it, are answered.
    let rows = |filter: Predicate| {
        let scan = table.scan().with_filter(filter).build().unwrap();
        collect(scan).map(|batch| batch.num_rows())
    };
    assert_eq!(rows(col("x").lt(1_000.0)).unwrap(), 1_001);
    assert!(rows(col("x").gt(1e10)).is_err());
    let taken = table.take(&[(0, 1), (1, 7)], ["x"]).unwrap();
    assert_eq!(
        taken.column(0).as_primitive::<Float64Type>().values(),
        &[1e300, 7.0]
    );
    assert!(table.take(&[(1, 1_500)], ["x"]).is_err());
    // As a constant, it is an error of opening the table.
    let constant = Arc::new(Int64Array::from(vec![(1 << 53) + 1; 5])) as ArrayRef;
    let files = [
        files[0].clone(),
        one_column(folder.path(), "constant", constant),
    ];
    let error = opened(&files).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ValueOutOfRange);
    let text = error.to_string();
    assert!(
        text.contains("constant.amudai.shard") && text.contains("`x`"),
        "{text}"
    );
}

#[test]
fn dates_that_a_unit_does_not_reach_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let day = |day: i32| {
        let days = arrow_array::Date32Array::from(vec![0, day]);
        one_column(folder.path(), &format!("day {day}"), Arc::new(days))
    };
    let times = arrow_array::TimestampNanosecondArray::from(vec![1, 2]);
    let times = one_column(folder.path(), "times", Arc::new(times));
    let near = opened(&[times.clone(), day(100_000)]).unwrap();
    assert_eq!(collect(near.scan().build().unwrap()).unwrap().num_rows(), 4);
    // Seconds reach days that calendars of dates and times do not.
    let seconds = arrow_array::TimestampSecondArray::from(vec![1, 2]);
    let seconds = one_column(folder.path(), "seconds", Arc::new(seconds));
    let read = opened(&[seconds, day(100_000_000)]).unwrap();
    let read = collect(read.scan().build().unwrap()).unwrap();
    let read = read.column(0).as_primitive::<TimestampSecondType>();
    assert_eq!(read.values(), &[1, 2, 0, 8_640_000_000_000]);
    let far = opened(&[times, day(200_000_000)]).unwrap();
    let error = collect(far.scan().build().unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("day 200000000.amudai.shard"), "{error}");
}

#[test]
fn errors_of_types_name_both_shards_and_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let integers = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let a = one_column(folder.path(), "a", integers.clone());
    let floats = one_column(
        folder.path(),
        "floats",
        cast(&integers, &DataType::Float64).unwrap(),
    );
    let texts = one_column(
        folder.path(),
        "texts",
        cast(&integers, &DataType::Utf8).unwrap(),
    );
    let flags = one_column(
        folder.path(),
        "flags",
        cast(&integers, &DataType::Boolean).unwrap(),
    );
    let packed = folder.path().join("packed.amudai.shard");
    let batch = [("x", integers.clone()), ("y", integers.clone())];
    let batch = RecordBatch::try_from_iter(batch).unwrap();
    let options = WriterOptions::default().with_packed_columns(["x", "y"]);
    written(&packed, &batch, options);
    let check = |error: Error, parts: &[&str]| {
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
        for part in parts {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        error.to_string()
    };
    let floating = Schema::new(vec![Field::new("x", DataType::Float64, true)]);
    let error =
        ShardSet::open_with([&packed], widening().with_schema(floating.into())).unwrap_err();
    check(error, &["`x` is Int64", "Float64", "is packed"]);
    let strict = ShardSet::open([&a, &floats]).unwrap_err();
    check(
        strict,
        &[
            "a.amudai",
            "floats.amudai",
            "`x`",
            "Int64",
            "Float64",
            "`unify`",
        ],
    );
    for (other, name) in [(&texts, "Utf8"), (&flags, "Boolean")] {
        let strict = check(
            ShardSet::open([&a, other]).unwrap_err(),
            &["a.amudai", "rewrite"],
        );
        assert!(!strict.contains("`unify`"), "{strict}");
        let wide = opened(&[a.clone(), other.clone()]).unwrap_err();
        let file = other.file_name().unwrap().to_str().unwrap();
        check(
            wide,
            &["a.amudai", file, "`x`", "Int64", name, "no type holds"],
        );
    }
    // Files stay strict.
    let out = folder.path().join("merged.amudai.shard");
    let merged = check(
        merge([&a, &floats], &out).unwrap_err(),
        &["`x`", "rewrite one of them"],
    );
    assert!(!merged.contains("`unify`") && !out.exists(), "{merged}");
    let mut editor = ShardEditor::open(&a).unwrap();
    check(
        editor.append(&floats).unwrap_err(),
        &["`x`", "Int64", "Float64"],
    );
    let wide = one_column(
        folder.path(),
        "narrow",
        cast(&integers, &DataType::Int32).unwrap(),
    );
    let error = ShardSet::open([&a, &wide]).unwrap_err();
    check(error, &["32-bit", "`unify`"]);
    assert_eq!(opened(&[a, wide]).unwrap().num_rows(), 4);
}

#[test]
fn a_widened_table_is_read_in_types_of_the_caller() {
    let folder = tempfile::tempdir().unwrap();
    let integers = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])) as ArrayRef;
    let a = one_column(folder.path(), "a", integers.clone());
    let b = one_column(
        folder.path(),
        "b",
        cast(&integers, &DataType::Float32).unwrap(),
    );
    let table = opened(&[a, b]).unwrap();
    let both = concat(&[&integers, &integers]).unwrap();
    for wanted in ["Int64", "Utf8", "Dictionary(Int8, Float64)", "Float32"] {
        let wanted = parsed(wanted);
        let schema = Schema::new(vec![Field::new("x", wanted.clone(), true)]);
        let scan = table.scan().with_schema(Arc::new(schema)).build().unwrap();
        let read = collect(scan).unwrap();
        let expected = cast(&cast(&both, &DataType::Float64).unwrap(), &wanted).unwrap();
        let plain = |array: &ArrayRef| cast(array, &DataType::Utf8).unwrap();
        assert_eq!(read.column(0).data_type(), &wanted);
        assert_eq!(&plain(read.column(0)), &plain(&expected), "{wanted}");
    }
}
