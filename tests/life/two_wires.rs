//! Shards of both wires in one directory: rows, statistics and filters stay the same.

use crate::support::collect;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray,
    FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use arrow_shard::metadata::{TypeMapping, Wire};
use arrow_shard::ops::{CompactOptions, ShardEditor, ShardSet, compact, merge};
use arrow_shard::read::col;
use arrow_shard::read::inspect::{InspectOptions, TypeStats};
use arrow_shard::write::{ShardWriter, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use std::path::Path;
use std::sync::Arc;

const WIRES: [Wire; 2] = [Wire::Spec, Wire::Reference];
const ROWS: i64 = 1000;
const STRIPE: u64 = 600;

/// Returns rows of all kinds of values that both wires support, numbered from `first`.
fn batch(first: i64) -> RecordBatch {
    let rows = first..first + ROWS;
    let some = |i: i64, every: i64| i % every != 0;
    let int = |i: i64| i32::try_from(i).unwrap();
    let floats = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -0.0];
    let float = |i: i64| match usize::try_from(i % 50).unwrap() {
        special @ 0..5 => floats[special],
        _ => (i - first) as f64 / 2.0 - 100.0,
    };
    let texts = || {
        rows.clone()
            .map(|i| some(i, 7).then(|| format!("text {i}")))
    };
    let lists = rows
        .clone()
        .map(|i| some(i, 9).then(|| (0..i % 4).map(|n| Some(int(n)))));
    let decimals = rows
        .clone()
        .map(|i| some(i, 5).then(|| i128::from(i) * 100 - 50_000));
    let decimals = Decimal128Array::from_iter(decimals).with_precision_and_scale(20, 2);
    let members: Vec<(Arc<Field>, ArrayRef)> = vec![
        (
            Arc::new(Field::new("x", DataType::Int64, false)),
            Arc::new(Int64Array::from_iter_values(rows.clone())),
        ),
        (
            Arc::new(Field::new("y", DataType::Utf8, true)),
            Arc::new(texts().collect::<StringArray>()),
        ),
    ];
    let uuids = rows
        .clone()
        .map(|i| (i128::from(i) * 0x1234_5678_9ABC).to_le_bytes());
    let words = rows
        .clone()
        .map(|i| some(i, 11).then_some(["low", "high", "middle"][usize::try_from(i % 3).unwrap()]));
    let words: DictionaryArray<Int32Type> = words.collect();
    let bytes = rows.clone().map(|i| some(i, 3).then(|| i.to_be_bytes()));
    let bools = rows.clone().map(|i| some(i, 4).then_some(i % 2 == 0));
    let times = rows
        .clone()
        .map(|i| some(i, 6).then_some(1_790_000_000_000_000 + i));
    let columns: Vec<(Field, ArrayRef)> = vec![
        (
            Field::new("id", DataType::Int64, false),
            Arc::new(Int64Array::from_iter_values(rows.clone())),
        ),
        (
            Field::new("n", DataType::Int32, true),
            Arc::new(
                rows.clone()
                    .map(|i| some(i, 8).then(|| int(i % 30)))
                    .collect::<Int32Array>(),
            ),
        ),
        (
            Field::new("f", DataType::Float64, true),
            Arc::new(
                rows.clone()
                    .map(|i| some(i, 13).then(|| float(i)))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            Field::new("b", DataType::Boolean, true),
            Arc::new(bools.collect::<BooleanArray>()),
        ),
        (
            Field::new("s", DataType::Utf8, true),
            Arc::new(texts().collect::<StringArray>()),
        ),
        (
            Field::new("bytes", DataType::Binary, true),
            Arc::new(BinaryArray::from_iter(bytes)),
        ),
        (
            Field::new("word", words.data_type().clone(), true),
            Arc::new(words),
        ),
        (
            Field::new("uuid", DataType::FixedSizeBinary(16), false).with_metadata(
                [(EXTENSION_TYPE_NAME_KEY.to_owned(), "arrow.uuid".to_owned())].into(),
            ),
            Arc::new(FixedSizeBinaryArray::try_from_iter(uuids).unwrap()),
        ),
        (
            Field::new("d", DataType::Decimal128(20, 2), true),
            Arc::new(decimals.unwrap()),
        ),
        (
            Field::new(
                "t",
                DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("UTC".into())),
                true,
            ),
            Arc::new(
                times
                    .collect::<TimestampMicrosecondArray>()
                    .with_timezone("UTC"),
            ),
        ),
        (
            Field::new("l", DataType::new_list(DataType::Int32, true), true),
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
        ),
        (
            Field::new(
                "st",
                DataType::Struct(members.iter().map(|(f, _)| f.clone()).collect()),
                false,
            ),
            Arc::new(StructArray::from(members)),
        ),
        (
            Field::new("one", DataType::Int64, false),
            Arc::new(Int64Array::from(vec![1; 1000])),
        ),
    ];
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let options = RecordBatchOptions::new();
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).unwrap()
}

fn write(path: &Path, batch: &RecordBatch, wire: Wire) {
    let options = WriterOptions::default()
        .with_wire(wire)
        .with_mapping(TypeMapping::Amudai)
        .with_bloom_filter_enabled(true)
        .with_stripe_rows(STRIPE);
    let mut writer = ShardWriter::create_with(path, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// Checks that all metadata of a shard match its rows.
fn check(shard: &Shard, expected: &RecordBatch) {
    assert_eq!(shard.wire(), Wire::Spec);
    let report = shard.verify().unwrap();
    assert!(report.is_sound(), "{:?}", report.problems());
    assert_eq!(&collect(shard.scan().build().unwrap()).unwrap(), expected);
    let found = |predicate| {
        let scan = shard.scan().with_projection(["id"]).with_filter(predicate);
        collect(scan.build().unwrap()).unwrap().num_rows()
    };
    let text = expected.column_by_name("s").unwrap().as_string::<i32>();
    let uuid = expected
        .column_by_name("uuid")
        .unwrap()
        .as_fixed_size_binary();
    for row in (1..expected.num_rows()).step_by(37) {
        if text.is_valid(row) {
            assert_eq!(
                found(col("s").eq(text.value(row))),
                1,
                "{}",
                text.value(row)
            );
        }
        assert_eq!(found(col("uuid").eq(uuid.value(row))), 1);
    }
    assert_eq!(found(col("s").eq("none")), 0);
    let float = expected.column_by_name("f").unwrap();
    let float = float.as_primitive::<arrow_array::types::Float64Type>();
    let infinite = float
        .iter()
        .flatten()
        .filter(|f| *f == f64::INFINITY)
        .count();
    assert_eq!(found(col("f").eq(f64::INFINITY)), infinite);
    let nulls = float.null_count();
    assert_eq!(found(col("f").is_null()), nulls);
}

#[test]
fn shards_of_two_wires_merge_into_one_that_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for wires in [WIRES, [Wire::Reference, Wire::Spec]] {
        let name = |i: usize| path(&format!("{:?}{i}", wires[i]));
        let batches = [batch(0), batch(ROWS)];
        for (i, batch) in batches.iter().enumerate() {
            write(&name(i), batch, wires[i]);
        }
        let merged = path(&format!("{wires:?}"));
        merge([name(0), name(1)], &merged).unwrap();
        let expected = concat_batches(&batches[0].schema(), &batches).unwrap();
        check(&Shard::open(&merged).unwrap(), &expected);
        check(
            ShardSet::open([name(0), name(1)]).unwrap().shard(),
            &expected,
        );
        // Filters with the same hash function are kept; other filters are dropped.
        let info = Shard::open(&merged).unwrap();
        let info = info.inspect(InspectOptions::default()).unwrap();
        for stripe in &info.stripes {
            let wire = wires[usize::from(stripe.row_range.start >= 1000)];
            let filtered = stripe.fields.iter().filter(|f| f.bloom_filter.is_some());
            assert_eq!(
                filtered.count() > 0,
                wire == Wire::Spec,
                "{:?}",
                stripe.row_range
            );
            let wrong = stripe.fields.iter().flat_map(|field| &field.contradictions);
            assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&String>::new());
        }
        // The merged shard can be changed again.
        let mut editor = ShardEditor::open(&merged).unwrap();
        editor.delete(&col("id").lt(700)).unwrap();
        editor.commit().unwrap();
        let left = expected.slice(700, expected.num_rows() - 700);
        check(&Shard::open(&merged).unwrap(), &left);
        compact(&merged, CompactOptions::default())
            .unwrap()
            .unwrap();
        check(&Shard::open(&merged).unwrap(), &left);
    }
}

#[test]
fn the_same_rows_have_the_same_statistics_whatever_wire_they_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let batch = batch(0).slice(0, 600);
    write(&path("spec"), &batch, Wire::Spec);
    write(&path("reference"), &batch, Wire::Reference);
    merge([path("reference"), path("spec")], path("merged")).unwrap();
    let shard = Shard::open(path("merged")).unwrap();
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let [reference, spec] = info.stripes.as_slice() else {
        unreachable!("there are two stripes");
    };
    for (a, b) in reference.fields.iter().zip(&spec.fields) {
        assert_eq!(
            (a.null_count, a.positions),
            (b.null_count, b.positions),
            "{}",
            a.path
        );
        if let (Some(a), Some(b)) = (&a.type_specific, &b.type_specific) {
            assert_eq!(a, b);
        }
        if let (Some(a), Some(b)) = (&a.range, &b.range) {
            assert_eq!(a, b);
        }
    }
    assert!(matches!(
        reference.fields[2].type_specific,
        Some(TypeStats::Floating { .. })
    ));
    let statistics = shard.stripe_statistics(["word"]).unwrap();
    let known = statistics.column(1).as_struct();
    let distinct = known.column_by_name("distinct_count").unwrap();
    // Null does not count as a distinct value, in either wire.
    assert_eq!(distinct.as_primitive::<UInt64Type>().values(), &[3, 3]);
}

#[test]
fn what_is_of_one_wire_stays_of_it_and_types_must_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for wire in WIRES {
        let names = ["a", "b"].map(|name| path(&format!("{name}{wire:?}")));
        for (name, first) in names.iter().zip([0, ROWS]) {
            write(name, &batch(first), wire);
        }
        merge(&names, path(&format!("{wire:?}"))).unwrap();
        let merged = Shard::open(path(&format!("{wire:?}"))).unwrap();
        assert_eq!(merged.wire(), wire);
    }
    let lossless = batch(0);
    let mut writer = ShardWriter::create(path("lossless"), lossless.schema()).unwrap();
    writer.write(&lossless).unwrap();
    writer.finish().unwrap();
    let error = merge([path("aReference"), path("lossless")], path("no")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    assert!(error.to_string().contains("column `"), "{error}");
    assert!(!path("no").exists());
}
