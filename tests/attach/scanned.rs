//! Statistics and indexes from reading chosen columns.

use super::files::{assert_sound, write_parquet};
use super::page_indexes::COMPARISONS;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, Scalar, StringArray,
    StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use arrow_shard::ops::{AttachOptions, attach_with};
use arrow_shard::read::inspect::{FieldInfo, InspectOptions, TypeStats};
use arrow_shard::read::{Literal, Predicate, ScanMetrics, col};
use arrow_shard::{ErrorKind, Shard};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::path::Path;
use std::sync::Arc;

const ROWS: i64 = 10_000;

/// A file without statistics, with row groups of 5,000 rows.
fn write_blind(path: &Path, batch: &RecordBatch) {
    let properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_data_page_row_count_limit(500)
        .set_write_batch_size(100)
        .set_max_row_group_row_count(Some(5_000));
    write_parquet(path, batch, properties.build());
}

fn table() -> RecordBatch {
    let ids = Int64Array::from_iter((0..ROWS).map(|i| (i % 11 > 0).then_some(i)));
    let keys = (0..ROWS).map(|i| i.wrapping_mul(0x1E37_79B9_7F4A_7C15));
    let keys = StringArray::from_iter_values(keys.map(|key| format!("{key:x}")));
    let floats = (0..ROWS).map(|i| if i == 7 { f64::NAN } else { i as f64 });
    let lists = (0..ROWS).map(|i| (i % 5 > 0).then(|| vec![i32::try_from(i).ok(); 2]));
    let members = vec![Arc::new(Field::new("m", DataType::Int64, true))];
    let nulls = NullBuffer::from_iter((0..ROWS).map(|i| i % 3 > 0));
    let structs = StructArray::new(members.into(), vec![Arc::new(ids.clone())], Some(nulls));
    RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as ArrayRef),
        ("key", Arc::new(keys)),
        ("float", Arc::new(Float64Array::from_iter_values(floats))),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
        ),
        ("struct", Arc::new(structs)),
    ])
    .unwrap()
}

fn attached(folder: &Path, options: AttachOptions) -> Shard {
    let path = folder.join("t.parquet");
    write_blind(&path, &table());
    let target = folder.join("t.amudai.shard");
    attach_with([&path], &target, options.with_stripe_rows(1)).unwrap();
    Shard::open(&target).unwrap()
}

fn fields(shard: &Shard) -> Vec<FieldInfo> {
    let info = shard.inspect(InspectOptions::default()).unwrap();
    assert_eq!(info.stripes.len(), 2);
    info.stripes.into_iter().next().unwrap().fields
}

fn rows_of(shard: &Shard, predicate: Predicate) -> (usize, ScanMetrics) {
    let mut scan = shard.scan().with_filter(predicate).build().unwrap();
    let rows = scan.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    (rows, scan.metrics().unwrap())
}

#[test]
fn chosen_columns_have_statistics_that_the_file_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let options = AttachOptions::default().with_statistics(["id", "float", "list", "struct"]);
    let shard = attached(folder.path(), options);
    let fields = fields(&shard);
    let [id, key, float, list, members] = &fields[..] else {
        panic!("{fields:?}")
    };
    assert_eq!(id.null_count, Some(455));
    let bound = id.min_value.as_ref().unwrap();
    assert_eq!(
        bound
            .as_primitive::<arrow_array::types::Int64Type>()
            .value(0),
        1
    );
    let count = id.cardinality.as_ref().unwrap().count.unwrap();
    assert!((3_000..6_000).contains(&count), "{count}");
    assert!(id.bloom_filter.is_none() && key.range.is_none());
    let Some(TypeStats::Floating { signs, .. }) = &float.type_specific else {
        panic!("{float:?}")
    };
    assert_eq!((signs.nan_count, signs.zero_count), (1, 1));
    let items = &list.children[0];
    assert_eq!((items.positions, items.null_count), (Some(8_000), Some(0)));
    assert!(items.range.is_some());
    let member = &members.children[0];
    let (nulls, range) = (member.null_count, &member.range);
    assert!(nulls > Some(455) && range.is_some(), "{member:?}");
    assert_sound(&shard);
    let (rows, metrics) = rows_of(&shard, col("id").gt_eq(5_000));
    assert_eq!(rows, 4_545);
    assert_eq!(metrics.skipped_by_statistics.stripes, 1);
    let statistics = shard.statistics(["id"]).unwrap();
    let nulls = statistics
        .column(1)
        .as_struct()
        .column_by_name("null_count");
    assert_eq!(nulls.unwrap().as_primitive::<UInt64Type>().value(0), 910);
}

#[test]
fn chosen_columns_have_indexes_that_the_file_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let options = AttachOptions::default().with_index(["id", "key", "struct"]);
    let shard = attached(folder.path(), options);
    let batch = table();
    let values = batch.column(0);
    let mut skipped = 0;
    for row in [1, 77, 4_999, 5_001, 9_999] {
        let one = Scalar::new(values.slice(row, 1));
        for (predicate, kernel) in COMPARISONS {
            let literal = Literal::try_new(&one).unwrap();
            let predicate = predicate(col("id"), literal);
            let text = predicate.to_string();
            let expected = kernel(values, &one).unwrap().true_count();
            let (rows, metrics) = rows_of(&shard, predicate);
            assert_eq!(rows, expected, "{text}");
            skipped += metrics.skipped_by_range_indexes.rows;
        }
        let key = batch.column(1).as_string::<i32>().value(row);
        assert_eq!(rows_of(&shard, col("key").eq(key)).0, 1, "{key}");
    }
    assert!(skipped > 50_000, "{skipped}");
    let (rows, metrics) = rows_of(&shard, col("key").eq("none"));
    assert_eq!((rows, metrics.skipped_by_bloom_filters.stripes), (0, 2));
    let (_, metrics) = rows_of(&shard, col("struct.m").eq(1_234));
    assert!(metrics.skipped_by_bloom_filters.stripes > 0, "{metrics}");
    let fields = fields(&shard);
    assert!(fields[0].range.is_none() && fields[0].bloom_filter.is_some());
    assert!(fields[2].bloom_filter.is_none() && fields[2].buffers.is_empty());
    assert_sound(&shard);
}

#[test]
fn a_name_that_no_file_has_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write_blind(&path, &table());
    let target = folder.path().join("t.amudai.shard");
    for options in [
        AttachOptions::default().with_index(["id", "keys"]),
        AttachOptions::default().with_statistics(["keys"]),
    ] {
        let error = attach_with([&path], &target, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownColumn, "{error}");
        assert!(error.to_string().contains("`keys`"), "{error}");
        assert!(!target.exists());
    }
}

#[test]
fn a_file_that_lacks_a_chosen_column_is_attached() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.parquet", "b.parquet"].map(|name| folder.path().join(name));
    write_blind(&files[0], &table());
    write_blind(&files[1], &table().project(&[1]).unwrap());
    let target = folder.path().join("t.amudai.shard");
    let options = AttachOptions::default()
        .with_index(["id"])
        .with_statistics(["id"]);
    attach_with(&files, &target, options).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_eq!(rows_of(&shard, col("id").eq(4_321)).0, 1);
    assert_sound(&shard);
}
