//! Internal fields: times of ingestion and identities of records. Readers see them on request, and every change of a
//! shard preserves them.

use crate::numbers::{ids, read, write};
use crate::support::collect;
use crate::support::replay::run_cases;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampSecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_shard::metadata::{
    INGESTION_TIMESTAMP, RECORD_IDENTITY, SortingColumn, TypeMapping, Wire,
};
use arrow_shard::ops::{CompactOptions, ShardEditor, ShardSet, compact, merge};
use arrow_shard::read::{Projection, ShardOptions, col};
use arrow_shard::write::{
    ColumnOptions, InternalValues, Layout, Profile, ShardWriter, WriterOptions,
};
use arrow_shard::{ErrorKind, Shard};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const WIRES: [Wire; 2] = [Wire::Spec, Wire::Reference];

/// A time in 2026, in microseconds.
const TIME: i64 = 1_790_000_000_000_000;

fn generated(wire: Wire) -> WriterOptions {
    WriterOptions::default()
        .with_wire(wire)
        .with_ingestion_timestamp(InternalValues::Generated)
        .with_record_identity(InternalValues::Generated)
}

fn from_columns(wire: Wire) -> WriterOptions {
    let column = |name: &str| InternalValues::Column(name.to_owned());
    WriterOptions::default()
        .with_wire(wire)
        .with_ingestion_timestamp(column("at"))
        .with_record_identity(column("uuid"))
}

type Uuid = [u8; 16];

fn uuids(values: &[Option<Uuid>]) -> ArrayRef {
    let values = values.iter().map(|value| value.as_ref());
    let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 16);
    Arc::new(array.unwrap())
}

/// Returns the time in microseconds and the identity of each row.
fn internal(rows: &RecordBatch) -> Vec<(Option<i64>, Option<Uuid>)> {
    let times = rows.column_by_name(INGESTION_TIMESTAMP).unwrap();
    let times = times.as_primitive::<TimestampNanosecondType>();
    let ids = rows.column_by_name(RECORD_IDENTITY).unwrap();
    let ids = ids.as_fixed_size_binary();
    let id = |i: usize| ids.is_valid(i).then(|| ids.value(i).try_into().unwrap());
    let times = times.iter().map(|time| time.map(|time| time / 1000));
    times.enumerate().map(|(i, t)| (t, id(i))).collect()
}

#[test]
fn times_and_identities_of_the_writer_are_hidden_until_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for wire in WIRES {
        for layout in [Layout::SingleFile, Layout::TwoLevel] {
            let path = folder.path().join(format!("{wire:?} {layout:?}"));
            let options = generated(wire).with_layout(layout).with_stripe_rows(70);
            let options = options.with_creation_time(Some(638_000_000_000_000_000));
            let batch = write(&path, vec![("id", ids(0..300))], options);
            let shard = Shard::open(&path).unwrap();
            assert_eq!(shard.schema().unwrap(), batch.schema());
            assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), batch);
            let error = shard.take(&[0], [1usize]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnknownColumn, "{error}");

            let all = shard.scan().with_internal_fields(true);
            let all = collect(all.build().unwrap()).unwrap();
            let names: Vec<_> = all
                .schema()
                .fields()
                .iter()
                .map(|f| f.name().clone())
                .collect();
            assert_eq!(names, ["id", INGESTION_TIMESTAMP, RECORD_IDENTITY]);
            let rows = internal(&all);
            // Ticks of the creation time, since 1970.
            let time = (638_000_000_000_000_000 - 621_355_968_000_000_000) / 10;
            assert!(rows.iter().all(|(at, _)| *at == Some(time)));
            let ids: Vec<Uuid> = rows.iter().map(|(_, id)| id.unwrap()).collect();
            assert!(ids.is_sorted() && ids.iter().collect::<HashSet<_>>().len() == 300);

            // By name, they can be selected like other columns.
            let named = shard.scan().with_projection([RECORD_IDENTITY, "id"]);
            let named = collect(named.build().unwrap()).unwrap();
            assert_eq!(named.column(0), all.column(2));
            let found = shard
                .scan()
                .with_filter(col(RECORD_IDENTITY).eq(&ids[123][..]));
            assert_eq!(
                collect(found.build().unwrap()).unwrap(),
                batch.slice(123, 1)
            );
            let later = shard
                .scan()
                .with_filter(col(INGESTION_TIMESTAMP).gt("2025-01-01"));
            assert_eq!(collect(later.build().unwrap()).unwrap().num_rows(), 0);
            let taken = shard.take(&[299, 0], [RECORD_IDENTITY, INGESTION_TIMESTAMP]);
            let taken = internal(&taken.unwrap());
            assert_eq!([taken[0], taken[1]], [rows[299], rows[0]]);
            // Two internal columns that scans do not return by default, requested with types in a schema.
            let ticks = Field::new(INGESTION_TIMESTAMP, DataType::UInt64, true);
            let seconds = DataType::Timestamp(TimeUnit::Second, None);
            let seconds = Field::new(INGESTION_TIMESTAMP, seconds, true);
            for field in [ticks, seconds] {
                let schema = Arc::new(Schema::new(vec![field]));
                let rows = shard.scan().with_schema(schema.clone()).build().unwrap();
                assert_eq!(collect(rows).unwrap().schema(), schema);
            }
            let statistics = shard.statistics([INGESTION_TIMESTAMP]).unwrap();
            let known = statistics.column(1).as_struct();
            let nulls = known.column_by_name("null_count").unwrap();
            assert_eq!(nulls.as_primitive::<UInt64Type>().value(0), 0);
            let report = shard.verify().unwrap();
            assert!(report.is_sound(), "{:?}", report.problems());
        }
    }
}

#[test]
fn made_fields_take_little_space() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let size = |name: &str, options| {
        write(&path(name), vec![("id", ids(0..500_000))], options);
        path(name).metadata().unwrap().len()
    };
    let without = size("without", WriterOptions::default());
    let with = size("with", generated(Wire::Spec));
    assert!(with < without + 5 * 500_000, "{with} and {without} bytes");
}

#[test]
fn columns_become_internal_fields_with_their_nulls_and_options() {
    let folder = tempfile::tempdir().unwrap();
    for wire in WIRES {
        for profile in [Profile::Plain, Profile::Balanced] {
            let path = folder.path().join(format!("{wire:?} {profile:?}"));
            let times: Vec<Option<i64>> =
                (0..200).map(|i| (i % 7 > 0).then_some(TIME + i)).collect();
            let keys: Vec<Option<Uuid>> =
                (0..200u8).map(|i| (i % 5 > 0).then_some([i; 16])).collect();
            let columns: Vec<(&str, ArrayRef)> = vec![
                ("uuid", uuids(&keys)),
                ("id", ids(0..200)),
                (
                    "at",
                    Arc::new(TimestampMicrosecondArray::from(times.clone())),
                ),
                ("n", ids(7..207)),
            ];
            let own = ColumnOptions::default().with_bloom_filter_enabled(true);
            let options = from_columns(wire)
                .with_profile(profile)
                .with_stripe_rows(64);
            let options = options
                .with_mapping(TypeMapping::Lossless)
                .with_column("uuid", own);
            let batch = write(&path, columns, options);
            let shard = Shard::open(&path).unwrap();
            let visible = batch.project(&[1, 3]).unwrap();
            assert_eq!(shard.schema().unwrap(), visible.schema());
            assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), visible);
            let all = shard.scan().with_internal_fields(true).build().unwrap();
            let all = collect(all).unwrap();
            let expected: Vec<_> = times.into_iter().zip(keys).collect();
            assert_eq!(internal(&all), expected);
            let filter = col(INGESTION_TIMESTAMP)
                .is_null()
                .and(col(RECORD_IDENTITY).is_null());
            let none = collect(shard.scan().with_filter(filter).build().unwrap()).unwrap();
            let expected: Vec<i64> = (0..200).filter(|i| i % 35 == 0).collect();
            let found = none.column(0).as_primitive::<Int64Type>();
            assert_eq!(found.values(), expected.as_slice());
            let info = shard.inspect(Default::default()).unwrap();
            let kinds = info.stripes[0]
                .fields
                .iter()
                .map(|f| f.internal_kind.as_deref());
            let kinds: Vec<_> = kinds.flatten().collect();
            assert_eq!(kinds, [INGESTION_TIMESTAMP, RECORD_IDENTITY]);
            let stored = info.stripes[0]
                .fields
                .iter()
                .map(|f| f.stored_type.as_str());
            assert_eq!(stored.collect::<Vec<_>>()[2..], ["DateTime", "Guid(16)"]);
            let has_filter = |i: usize| info.stripes[0].fields[i].bloom_filter.is_some();
            assert!(has_filter(3) && !has_filter(0));
        }
    }
}

#[test]
fn columns_that_are_no_internal_fields_are_refused_with_their_names() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("at", DataType::Int64, true),
        Field::new("text", DataType::Utf8, true),
        Field::new("twice", DataType::FixedSizeBinary(16), true),
        Field::new("twice", DataType::FixedSizeBinary(16), true),
        Field::new("time", DataType::Date32, true),
    ]));
    let column = |name: &str| InternalValues::Column(name.to_owned());
    let default = WriterOptions::default;
    let sorted = SortingColumn {
        path: "time".to_owned(),
        descending: false,
        nulls_first: false,
    };
    let by_time = default().with_ingestion_timestamp(column("time"));
    for (options, kind, named) in [
        (
            default().with_ingestion_timestamp(column("at")),
            ErrorKind::SchemaMismatch,
            "`at` is Int64",
        ),
        (
            default().with_record_identity(column("text")),
            ErrorKind::SchemaMismatch,
            "`text` is Utf8",
        ),
        (
            default().with_record_identity(column("none")),
            ErrorKind::UnknownColumn,
            "`none`",
        ),
        (
            default().with_record_identity(column("twice")),
            ErrorKind::AmbiguousColumn,
            "`twice`",
        ),
        (
            by_time.clone().with_record_identity(column("time")),
            ErrorKind::SchemaMismatch,
            "`time`",
        ),
        // Readers could not find such a field.
        (
            by_time.with_sorting_columns(vec![sorted]),
            ErrorKind::UnknownColumn,
            "`time`",
        ),
    ] {
        let error = ShardWriter::try_new(Vec::new(), schema.clone(), options).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[test]
fn a_column_of_the_same_name_comes_first() {
    let mut file = Vec::new();
    let column = Arc::new(StringArray::from(vec!["mine"])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([(RECORD_IDENTITY, column)]).unwrap();
    let mut writer =
        ShardWriter::try_new(&mut file, batch.schema(), generated(Wire::Spec)).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    // If fields are found only by name, two fields of one name cannot exist.
    let reference = generated(Wire::Reference);
    let error = ShardWriter::try_new(Vec::new(), batch.schema(), reference).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains(RECORD_IDENTITY), "{error}");
    let shard = Shard::from_bytes(file.into()).unwrap();
    assert_eq!(shard.take(&[0], [RECORD_IDENTITY]).unwrap(), batch);
    let all = shard.scan().with_internal_fields(true).take(&[0]).unwrap();
    assert_eq!(all.num_columns(), 3);
    let last = shard
        .scan()
        .with_internal_fields(true)
        .with_projection([2usize]);
    assert_eq!(last.take(&[0]).unwrap().column(0), all.column(2));
    let one = Projection::from(INGESTION_TIMESTAMP);
    assert_eq!(shard.take(&[0], one).unwrap().column(0), all.column(1));
}

#[test]
fn times_that_nanoseconds_do_not_hold_survive_a_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    // The years 1 and 9999.
    let times = vec![Some(-62_135_596_800), None, Some(253_402_300_799)];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("at", Arc::new(TimestampSecondArray::from(times.clone()))),
        ("id", ids(0..3)),
    ];
    let at = InternalValues::Column("at".to_owned());
    let options = WriterOptions::default()
        .with_ingestion_timestamp(at)
        .with_stripe_rows(1);
    write(&path, columns, options);
    assert!(compact(&path, CompactOptions::default()).unwrap().is_some());
    let seconds = ShardOptions::default().with_default_time_unit(TimeUnit::Second);
    let shard = Shard::open_with(&path, seconds).unwrap();
    assert_eq!(shard.num_stripes(), 1);
    let read = shard.take(&[0, 1, 2], [INGESTION_TIMESTAMP]).unwrap();
    let read = read
        .column(0)
        .as_primitive::<arrow_array::types::TimestampSecondType>();
    assert_eq!(read.iter().collect::<Vec<_>>(), times);
    let error = Shard::open(&path)
        .unwrap()
        .take(&[0], [INGESTION_TIMESTAMP])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ValueOutOfRange, "{error}");
    assert!(error.to_string().contains(INGESTION_TIMESTAMP), "{error}");
}

/// A row of the model.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    id: i64,
    internal: (Option<i64>, Option<Uuid>),
    deleted: bool,
}

fn random_shard(rng: &mut StdRng, wire: Wire, path: &Path, first: i64) -> Vec<Row> {
    let count = rng.random_range(0..60);
    let keys = first..first + count;
    let layouts = [Layout::SingleFile, Layout::TwoLevel];
    let kind = rng.random_range(0..4);
    let options = match kind {
        0 => WriterOptions::default().with_wire(wire),
        1 => generated(wire),
        2 => from_columns(wire),
        _ => WriterOptions::default()
            .with_wire(wire)
            .with_record_identity(InternalValues::Generated),
    };
    let options = options
        .with_layout(*layouts.choose(rng).unwrap())
        .with_stripe_rows(*[7, 20, 100].choose(rng).unwrap());
    let mut columns: Vec<(&str, ArrayRef)> = vec![("id", ids(keys.clone()))];
    let mut known = Vec::new();
    if kind == 2 {
        for i in keys.clone() {
            let time = rng.random_bool(0.8).then_some(TIME + i);
            known.push((time, rng.random_bool(0.8).then(|| rng.random())));
        }
        let times: Vec<_> = known.iter().map(|(time, _)| *time).collect();
        let values: Vec<Option<Uuid>> = known.iter().map(|(_, id)| *id).collect();
        columns.push(("at", Arc::new(TimestampMicrosecondArray::from(times))));
        columns.push(("uuid", uuids(&values)));
    }
    write(path, columns, options);
    if kind % 2 == 1 {
        // Generated values are not known in advance.
        let shard = Shard::open(path).unwrap();
        let rows = shard.scan().with_internal_fields(true).build().unwrap();
        let rows = collect(rows).unwrap();
        known = match kind {
            1 => internal(&rows),
            _ => {
                let ids = rows.column(1).as_fixed_size_binary();
                let ids = ids.iter().map(|id| id.map(|id| id.try_into().unwrap()));
                ids.map(|id| (None, id)).collect()
            }
        };
        assert!(known.iter().all(|(_, id)| id.is_some()));
    }
    known.resize(usize::try_from(count).unwrap(), (None, None));
    let rows = keys.zip(known);
    rows.map(|(id, internal)| Row {
        id,
        internal,
        deleted: false,
    })
    .collect()
}

fn check(rng: &mut StdRng, shard: &Shard, table: &[Row]) {
    let live: Vec<&Row> = table.iter().filter(|row| !row.deleted).collect();
    let schema = shard.schema().unwrap();
    assert!(
        schema
            .fields()
            .iter()
            .all(|f| !f.name().starts_with("Kusto"))
    );
    let scan = shard.scan().with_internal_fields(true).build().unwrap();
    let rows = collect(scan).unwrap();
    let names: Vec<_> = rows
        .schema()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect();
    let has = |name: &str| names.iter().any(|other| other == name);
    let is_known = |f: fn(&Row) -> bool| table.iter().any(f);
    assert!(has(INGESTION_TIMESTAMP) || !is_known(|row| row.internal.0.is_some()));
    assert!(has(RECORD_IDENTITY) || !is_known(|row| row.internal.1.is_some()));
    assert_eq!(rows.num_rows(), live.len());
    if has(RECORD_IDENTITY) {
        let ids = rows
            .column_by_name(RECORD_IDENTITY)
            .unwrap()
            .as_fixed_size_binary();
        let expected = live.iter().map(|row| row.internal.1);
        assert!(expected.eq(ids.iter().map(|id| id.map(|id| id.try_into().unwrap()))));
        if let Some(Row {
            id,
            internal: (_, Some(uuid)),
            ..
        }) = live.choose(rng)
        {
            let found = shard.scan().with_filter(col(RECORD_IDENTITY).eq(&uuid[..]));
            let found = collect(found.with_projection(["key"]).build().unwrap()).unwrap();
            let found = found.column(0).as_primitive::<Int64Type>();
            assert_eq!(found.values(), &[*id]);
        }
    }
    if has(INGESTION_TIMESTAMP) {
        let times = rows.column_by_name(INGESTION_TIMESTAMP).unwrap();
        let times = times.as_primitive::<TimestampNanosecondType>();
        let expected = live.iter().map(|row| row.internal.0);
        assert!(expected.eq(times.iter().map(|t| t.map(|t| t / 1000))));
        let nulls = shard.scan().with_filter(col(INGESTION_TIMESTAMP).is_null());
        let nulls = collect(nulls.with_projection(["key"]).build().unwrap()).unwrap();
        let expected = live.iter().filter(|row| row.internal.0.is_none());
        let expected: Vec<i64> = expected.map(|row| row.id).collect();
        let nulls = nulls.column(0).as_primitive::<Int64Type>();
        assert_eq!(nulls.values(), expected.as_slice());
    }
    let report = shard.verify().unwrap();
    assert!(report.is_sound(), "{:?}", report.problems());
}

#[test]
fn every_change_of_a_shard_keeps_internal_fields() {
    let test = "every_change_of_a_shard_keeps_internal_fields";
    run_cases(module_path!(), test, 150, |seed| {
        let rng = &mut StdRng::seed_from_u64(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut tables: Vec<(PathBuf, Vec<Row>)> = Vec::new();
        for (i, first) in (0..rng.random_range(1..4)).zip((0..).step_by(1000)) {
            let path = path(&i.to_string());
            // Shards of both wires, or of one.
            let wire = *WIRES.choose(rng).unwrap();
            let table = random_shard(rng, wire, &path, first);
            tables.push((path, table));
        }
        let set = ShardSet::open(tables.iter().map(|(path, _)| path)).unwrap();
        let mut table: Vec<Row> = tables.iter().flat_map(|(_, rows)| rows.clone()).collect();
        let merged = path("merged");
        merge(tables.iter().map(|(path, _)| path), &merged).unwrap();
        let mut editor = ShardEditor::open(&merged).unwrap();
        // Projections do not change internal fields.
        editor.rename_column("id", "key").unwrap();
        let one = Arc::new(Int32Array::from(vec![1])) as ArrayRef;
        editor
            .add_column(Field::new("one", DataType::Int32, false), &one)
            .unwrap();
        editor.select_columns(["key"]).unwrap();
        editor.commit().unwrap();
        assert_eq!(set.num_rows(), table.len() as u64);
        check(rng, &Shard::open(&merged).unwrap(), &table);
        for step in 0..3 {
            let mut editor = ShardEditor::open(&merged).unwrap();
            let rows: Vec<u64> = (0..table.len() as u64)
                .filter(|_| rng.random_ratio(1, 3))
                .collect();
            let is_deleted = rng.random_bool(0.7);
            match is_deleted {
                true => editor.delete_rows(&rows).unwrap(),
                false => editor.undelete_rows(&rows).unwrap(),
            };
            for &row in &rows {
                table[usize::try_from(row).unwrap()].deleted = is_deleted;
            }
            if rng.random() {
                let (path, first) = (path(&format!("more {step}")), 10_000 + 1000 * step);
                let wire = *WIRES.choose(rng).unwrap();
                let more = random_shard(rng, wire, &path, first);
                let mut renamed = ShardEditor::open(&path).unwrap();
                renamed.rename_column("id", "key").unwrap();
                renamed.commit().unwrap();
                editor.append(&path).unwrap();
                table.extend(more);
            }
            editor.commit().unwrap();
            check(rng, &Shard::open(&merged).unwrap(), &table);
            let all = CompactOptions::default()
                .with_min_rows(u64::MAX)
                .with_max_deleted(0.0);
            if rng.random() && compact(&merged, all.clone()).unwrap().is_some() {
                table.retain(|row| !row.deleted);
            }
            let shard = Shard::open(&merged).unwrap();
            table.retain(|row| !row.deleted || shard.num_deleted_rows() > 0);
            check(rng, &shard, &table);
        }
    });
}

#[test]
fn rows_that_are_written_anew_keep_who_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(
        &path,
        vec![("id", ids(0..100))],
        generated(Wire::Spec).with_stripe_rows(10),
    );
    let shard = Shard::open(&path).unwrap();
    let scan = || {
        shard
            .scan()
            .with_internal_fields(true)
            .with_filter(col("id").gt_eq(40))
    };
    let before = collect(scan().build().unwrap()).unwrap();
    let mut editor = ShardEditor::open(&path).unwrap();
    editor.delete(&col("id").lt(40)).unwrap();
    editor.commit().unwrap();
    compact(&path, CompactOptions::default()).unwrap().unwrap();
    let after = Shard::open(&path).unwrap();
    assert_eq!((after.num_stripes(), after.num_deleted_rows()), (1, 0));
    assert_eq!(read(&path), (40..100).collect::<Vec<_>>());
    let after = collect(after.scan().with_internal_fields(true).build().unwrap()).unwrap();
    assert_eq!(internal(&after), internal(&before));
}

#[test]
fn identities_are_those_of_the_rows_with_any_threads_and_batches() {
    for threads in [1, 4] {
        let mut file = Vec::new();
        let options = generated(Wire::Spec)
            .with_threads(threads)
            .with_stripe_rows(30_000);
        let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, false)]));
        let mut writer = ShardWriter::try_new(&mut file, schema.clone(), options).unwrap();
        let mut first = 0;
        for len in [1, 70_000, 0, 29_999, 100] {
            let column = Arc::new(Int64Array::from_iter_values(first..first + len)) as ArrayRef;
            let batch = RecordBatch::try_new(schema.clone(), vec![column]).unwrap();
            writer.write(&batch).unwrap();
            first += len;
        }
        writer.finish().unwrap();
        let shard = Shard::from_bytes(file.into()).unwrap();
        let scan = shard
            .scan()
            .with_projection([RECORD_IDENTITY])
            .with_threads(threads);
        let rows = collect(scan.build().unwrap()).unwrap();
        let numbers = rows.column(0).as_fixed_size_binary().iter().map(|id| {
            let mut number = [0; 8];
            number[2..].copy_from_slice(&id.unwrap()[10..]);
            u64::from_be_bytes(number)
        });
        assert!(numbers.eq(0..first.cast_unsigned()));
    }
}
