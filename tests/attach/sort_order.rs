//! Declared sort orders, and the key-value metadata of files.

use super::files::{assert_sound, write_parquet};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::Shard;
use arrow_shard::metadata::SortingColumn;
use arrow_shard::ops::{AttachOptions, attach, attach_with};
use arrow_shard::read::col;
use parquet::file::metadata::{KeyValue, SortingColumn as Declared};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn declared(column: i32, descending: bool, nulls_first: bool) -> Declared {
    Declared {
        column_idx: column,
        descending,
        nulls_first,
    }
}

fn sorted(columns: Vec<Declared>) -> WriterPropertiesBuilder {
    WriterProperties::builder().set_sorting_columns(Some(columns))
}

fn expected(path: &str, descending: bool, nulls_first: bool) -> SortingColumn {
    SortingColumn {
        path: path.into(),
        descending,
        nulls_first,
    }
}

fn numbers(name: &str, values: Vec<Option<i64>>) -> (String, ArrayRef) {
    (name.to_owned(), Arc::new(Int64Array::from(values)))
}

fn pairs(a: &[i64], b: &[i64]) -> RecordBatch {
    let some = |values: &[i64]| values.iter().copied().map(Some).collect();
    RecordBatch::try_from_iter([numbers("a", some(a)), numbers("b", some(b))]).unwrap()
}

/// Attaches files with these rows, in this order, each sorted by `a` and `b`.
fn order_of(folder: &Path, files: &[RecordBatch]) -> Vec<SortingColumn> {
    let paths: Vec<PathBuf> = (0..files.len())
        .map(|i| folder.join(format!("{i}.parquet")))
        .collect();
    for (path, batch) in paths.iter().zip(files) {
        let columns = vec![declared(0, false, false), declared(1, false, false)];
        write_parquet(path, batch, sorted(columns).build());
    }
    let target = folder.join("t.amudai.shard");
    if target.exists() {
        std::fs::remove_file(&target).unwrap();
    }
    attach(&paths, &target).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_sound(&shard);
    shard.sorting_columns().unwrap()
}

#[test]
fn the_order_of_a_row_group_is_the_order_of_the_shard() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let texts = StringArray::from(vec![None, Some("b"), Some("b"), Some("a")]);
    let members = [numbers("m", vec![Some(1), Some(2), Some(3), Some(0)]).1];
    let members = StructArray::new(
        vec![Field::new("m", DataType::Int64, true)].into(),
        members.to_vec(),
        None,
    );
    let batch = RecordBatch::try_from_iter([
        ("s", Arc::new(members) as ArrayRef),
        ("text", Arc::new(texts)),
    ]);
    let columns = vec![declared(1, true, true), declared(0, false, true)];
    write_parquet(&path, &batch.unwrap(), sorted(columns).build());
    let target = folder.path().join("t.amudai.shard");
    attach([&path], &target).unwrap();
    let shard = Shard::open(&target).unwrap();
    let order = [expected("text", true, true), expected("s.m", false, true)];
    assert_eq!(shard.sorting_columns().unwrap(), order);
    assert_sound(&shard);
}

#[test]
fn row_groups_have_one_order_if_their_bounds_do_not_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (expected("a", false, false), expected("b", false, false));
    let order = |files: &[RecordBatch]| order_of(folder.path(), files);
    let low = pairs(&[1, 2, 2], &[5, 1, 2]);
    let both = [a.clone(), b];
    assert_eq!(order(&[low.clone(), pairs(&[3, 4], &[0, 0])]), both);
    // The last and the first row have the same value of `a`.
    assert_eq!(order(&[low.clone(), pairs(&[2, 4], &[5, 0])]), [a]);
    assert_eq!(order(&[low.clone(), pairs(&[1, 4], &[7, 0])]), []);
    assert_eq!(order(&[pairs(&[3, 4], &[0, 0]), low]), []);
}

#[test]
fn row_groups_without_bounds_or_with_different_orders_have_none() {
    let folder = tempfile::tempdir().unwrap();
    let batch = pairs(&(0..100).collect::<Vec<_>>(), &[0; 100]);
    let path = folder.path().join("t.parquet");
    let order = |properties: WriterPropertiesBuilder, name: &str| {
        let properties = properties.set_max_row_group_row_count(Some(40)).build();
        write_parquet(&path, &batch, properties);
        let target = folder.path().join(name);
        let options = AttachOptions::default().with_stripe_rows(1);
        attach_with([&path], &target, options).unwrap();
        Shard::open(&target).unwrap().sorting_columns().unwrap()
    };
    let ascending = vec![declared(0, false, false)];
    let found = order(sorted(ascending.clone()), "a.amudai.shard");
    assert_eq!(found, [expected("a", false, false)]);
    let blind = sorted(ascending).set_statistics_enabled(EnabledStatistics::None);
    assert_eq!(order(blind, "b.amudai.shard"), []);
    let descending = sorted(vec![declared(0, true, false)]);
    assert_eq!(order(descending, "c.amudai.shard"), []);
}

#[test]
fn nulls_between_row_groups_break_the_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = |values: Vec<Option<i64>>| {
        let rest = values.iter().map(|_| Some(0)).collect();
        RecordBatch::try_from_iter([numbers("a", values), numbers("b", rest)]).unwrap()
    };
    let order = |files: &[RecordBatch]| order_of(folder.path(), files).len();
    let (full, end) = (file(vec![Some(1), Some(2)]), file(vec![Some(3), None]));
    assert_eq!(order(&[full.clone(), end.clone()]), 2);
    assert_eq!(order(&[end.clone(), file(vec![None, None])]), 2);
    assert_eq!(order(&[end, file(vec![Some(4), Some(5)])]), 0);
    assert_eq!(order(&[file(vec![None, None]), full]), 0);
}

#[test]
fn floats_end_the_order_because_writers_place_nan_differently() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let floats = Float64Array::from(vec![-0.0, 0.0, f64::NAN]);
    let batch = RecordBatch::try_from_iter([
        numbers("id", vec![Some(1), Some(1), Some(2)]),
        ("float".to_owned(), Arc::new(floats)),
    ]);
    let columns = vec![declared(0, false, false), declared(1, false, false)];
    write_parquet(&path, &batch.unwrap(), sorted(columns).build());
    let target = folder.path().join("t.amudai.shard");
    attach([&path], &target).unwrap();
    let found = Shard::open(&target).unwrap().sorting_columns().unwrap();
    assert_eq!(found, [expected("id", false, false)]);
}

#[test]
fn a_wrong_order_loses_no_rows_and_is_found_by_verification() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let batch = pairs(&[3, 1, 2], &[0, 0, 0]);
    let properties = sorted(vec![declared(0, false, false)]);
    write_parquet(&path, &batch, properties.build());
    let target = folder.path().join("t.amudai.shard");
    attach([&path], &target).unwrap();
    let shard = Shard::open(&target).unwrap();
    for value in 1..4i64 {
        let scan = shard.scan().with_filter(col("a").eq(value)).build();
        let rows: usize = scan.unwrap().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, 1, "{value}");
    }
    let report = shard.verify().unwrap();
    let problem = report.problems().first().unwrap();
    assert_eq!(problem.field.as_deref(), Some("a"), "{problem:?}");
}

#[test]
fn key_value_metadata_of_files_are_metadata_of_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let batch = pairs(&[1], &[2]);
    let own = [("from_schema".to_owned(), "s".to_owned())];
    let schema = Schema::new_with_metadata(batch.schema().fields().clone(), own.into());
    let batch = batch.with_schema(Arc::new(schema)).unwrap();
    let write = |name: &str, pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(k, v)| KeyValue::new((*k).into(), (*v).to_owned()));
        let properties = WriterProperties::builder().set_key_value_metadata(Some(pairs.collect()));
        let path = folder.path().join(name);
        write_parquet(&path, &batch, properties.build());
        path
    };
    let files = [
        write("a.parquet", &[("owner", "first"), ("unit", "m")]),
        write("b.parquet", &[("owner", "second"), ("more", "x")]),
    ];
    let target = folder.path().join("t.amudai.shard");
    attach(&files, &target).unwrap();
    let schema = Shard::open(&target).unwrap().schema().unwrap();
    let found = |key: &str| schema.metadata().get(key).map(String::as_str);
    // The first file with a key decides, as in a merge.
    assert_eq!(found("owner"), Some("first"));
    assert_eq!((found("unit"), found("more")), (Some("m"), Some("x")));
    assert_eq!(found("from_schema"), Some("s"));
    assert_eq!(found("ARROW:schema"), None);
}
