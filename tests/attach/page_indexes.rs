//! Page indexes of Parquet files, which become range indexes of attached shards.

use super::files::{assert_sound, write_parquet};
#[cfg(feature = "object_store")]
use super::measured;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, Scalar, StringArray};
use arrow_array::{BooleanArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_shard::ops::{AttachOptions, ShardEditor, attach, attach_with};
use arrow_shard::read::inspect::{BufferKind, InspectOptions};
use arrow_shard::read::{Literal, Predicate, ScanMetrics, col};
use arrow_shard::{ErrorKind, Shard};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use std::path::Path;
use std::sync::Arc;

const ROWS: i64 = 20_000;

/// Pages of 700 rows, which do not end where blocks of range indexes end.
fn small_pages() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_data_page_row_count_limit(700)
        .set_write_batch_size(100)
        .set_max_row_group_row_count(Some(8_000))
        .set_dictionary_enabled(false)
}

fn attached(folder: &Path, batch: &RecordBatch, properties: WriterPropertiesBuilder) -> Shard {
    let path = folder.join("t.parquet");
    write_parquet(&path, batch, properties.build());
    let target = folder.join("t.amudai.shard");
    if target.exists() {
        std::fs::remove_file(&target).unwrap();
    }
    attach([&path], &target).unwrap();
    Shard::open(&target).unwrap()
}

fn rows_of(shard: &Shard, predicate: Predicate) -> (usize, ScanMetrics) {
    let mut scan = shard.scan().with_filter(predicate).build().unwrap();
    let rows = scan.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    (rows, scan.metrics().unwrap())
}

/// Nearly ascending numbers of both signs, with single nulls and 2,000 nulls in a row.
fn numbers() -> Int64Array {
    (0..ROWS)
        .map(|i| {
            let is_null = i % 97 == 0 && i < 9_000 || (12_000..14_000).contains(&i);
            (!is_null).then_some(i - 10_000 + (i * 7) % 50)
        })
        .collect()
}

pub(crate) type Comparison = (
    fn(arrow_shard::read::ColumnRef, Literal) -> Predicate,
    fn(
        &dyn arrow_array::Datum,
        &dyn arrow_array::Datum,
    ) -> Result<BooleanArray, arrow_schema::ArrowError>,
);

pub(crate) const COMPARISONS: [Comparison; 6] = [
    (|column, value| column.eq(value), cmp::eq),
    (|column, value| column.not_eq(value), cmp::neq),
    (|column, value| column.lt(value), cmp::lt),
    (|column, value| column.lt_eq(value), cmp::lt_eq),
    (|column, value| column.gt(value), cmp::gt),
    (|column, value| column.gt_eq(value), cmp::gt_eq),
];

/// Compares filters with the kernels of arrow. Returns the number of rows that range indexes ruled out.
fn assert_filters(shard: &Shard, values: &ArrayRef) -> u64 {
    let mut skipped = 0;
    for row in [0, 1, 4_321, 7_999, 8_001, 13_000, 15_432, 19_999] {
        if values.is_null(row) {
            continue;
        }
        let value = Scalar::new(values.slice(row, 1));
        let literal = Literal::try_new(&value).unwrap();
        for (predicate, kernel) in COMPARISONS {
            let predicate = predicate(col("c"), literal.clone());
            let text = predicate.to_string();
            let expected = kernel(values, &value).unwrap().true_count();
            let (rows, metrics) = rows_of(shard, predicate);
            assert_eq!(rows, expected, "{text}");
            skipped += metrics.skipped_by_range_indexes.rows;
        }
    }
    let nulls = values.null_count();
    assert_eq!(rows_of(shard, col("c").is_null()).0, nulls);
    assert_eq!(
        rows_of(shard, col("c").is_not_null()).0,
        values.len() - nulls
    );
    skipped
}

#[test]
fn filters_skip_pages_and_lose_no_rows() {
    use DataType as D;
    let folder = tempfile::tempdir().unwrap();
    for data_type in [
        D::Int16,
        D::Int32,
        D::Int64,
        D::UInt32,
        D::UInt64,
        D::Float32,
        D::Float64,
        D::Date32,
        D::Timestamp(TimeUnit::Millisecond, None),
        D::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        D::Decimal128(9, 1),
        D::Decimal128(38, 2),
        D::Decimal256(60, 3),
    ] {
        let numbers = numbers();
        let numbers: ArrayRef = match &data_type {
            D::Date32 => cast(&numbers, &D::Int32).unwrap(),
            _ => Arc::new(numbers),
        };
        // Negative numbers of unsigned types become null.
        let values = cast(&numbers, &data_type).unwrap();
        let fields = vec![Field::new("c", data_type.clone(), true)];
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![values.clone()]);
        let shard = attached(folder.path(), &batch.unwrap(), small_pages());
        assert_eq!(shard.num_stripes(), 1);
        let skipped = assert_filters(&shard, &values);
        assert!(skipped > 100_000, "{data_type}: {skipped} rows");
        assert_sound(&shard);
    }
}

#[test]
fn nan_and_zeros_are_in_pages_with_other_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let value = |i: i64| match i % 1_000 {
        7 => f64::NAN,
        8 => -f64::NAN,
        9 => -0.0,
        10 => 0.0,
        _ => i as f64,
    };
    let values: ArrayRef = Arc::new(Float64Array::from_iter_values((0..ROWS).map(value)));
    let batch = RecordBatch::try_from_iter([("c", values.clone())]).unwrap();
    let shard = attached(folder.path(), &batch, small_pages());
    assert!(assert_filters(&shard, &values) > 0);
    for row in [7, 8, 9, 10] {
        let one = Scalar::new(values.slice(row, 1));
        let literal = Literal::try_new(&one).unwrap();
        for (predicate, kernel) in COMPARISONS {
            let predicate = predicate(col("c"), literal.clone());
            let text = predicate.to_string();
            let expected = kernel(&values, &one).unwrap().true_count();
            assert_eq!(rows_of(&shard, predicate).0, expected, "{text}");
        }
    }
    assert_sound(&shard);
}

#[test]
fn members_of_structs_that_can_be_null_have_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let members = vec![Arc::new(Field::new("m", DataType::Int64, true))];
    let nulls = NullBuffer::from_iter((0..ROWS).map(|i| i % 50 > 0));
    let numbers: ArrayRef = Arc::new(numbers());
    let structs = StructArray::new(members.into(), vec![numbers.clone()], Some(nulls.clone()));
    let batch = RecordBatch::try_from_iter([("s", Arc::new(structs) as ArrayRef)]).unwrap();
    let shard = attached(folder.path(), &batch, small_pages());
    let (rows, metrics) = rows_of(&shard, col("s.m").lt(-9_000));
    let expected = (0..numbers.len()).filter(|&i| {
        let numbers = numbers.as_any().downcast_ref::<Int64Array>().unwrap();
        nulls.is_valid(i) && numbers.is_valid(i) && numbers.value(i) < -9_000
    });
    assert_eq!(rows, expected.count());
    assert!(metrics.skipped_by_range_indexes.rows > 15_000, "{metrics}");
    let all_null = (0..numbers.len()).filter(|&i| nulls.is_null(i) || numbers.is_null(i));
    assert_eq!(rows_of(&shard, col("s.m").is_null()).0, all_null.count());
    assert_sound(&shard);
}

#[test]
fn row_groups_of_a_stripe_are_told_apart_without_a_page_index() {
    let folder = tempfile::tempdir().unwrap();
    let values: ArrayRef = Arc::new(numbers());
    let batch = RecordBatch::try_from_iter([("c", values.clone())]).unwrap();
    let blind = small_pages().set_statistics_enabled(EnabledStatistics::Chunk);
    let shard = attached(folder.path(), &batch, blind);
    let (rows, metrics) = rows_of(&shard, col("c").lt(-9_000));
    assert!(rows > 0);
    // The second and the third row group begin at rows 8,000 and 16,000.
    assert_eq!(metrics.skipped_by_range_indexes.rows, 20_000 - 8_192);
    assert_filters(&shard, &values);
    assert_sound(&shard);
}

#[test]
fn the_index_is_inspected_and_its_damage_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let values: ArrayRef = Arc::new(numbers());
    let texts = values.len();
    let texts = StringArray::from_iter_values((0..texts).map(|i| format!("{i:09}")));
    let batch = RecordBatch::try_from_iter([("c", values), ("text", Arc::new(texts) as ArrayRef)]);
    let shard = attached(folder.path(), &batch.unwrap(), small_pages());
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let [numbers, texts] = &info.stripes[0].fields[..] else {
        panic!("{info:?}")
    };
    assert!(texts.buffers.is_empty());
    let [index] = &numbers.buffers[..] else {
        panic!("{numbers:?}")
    };
    assert_eq!(
        (index.kind, &index.problem),
        (BufferKind::RangeIndex, &None)
    );
    assert_eq!(
        index.range_index.as_ref().unwrap().entries,
        20_000u64.div_ceil(256)
    );
    let target = folder.path().join("t.amudai.shard");
    let bytes = std::fs::read(&target).unwrap();
    let start = usize::try_from(index.range.start()).unwrap();
    for at in [start + 4, start + 20, start + 50, start + 100] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(&target, damaged).unwrap();
        let shard = Shard::open(&target).unwrap();
        let scan = shard.scan().with_filter(col("c").lt(0)).build().unwrap();
        let error = scan.map(|batch| batch.err()).find_map(|error| error);
        let error = arrow_shard::Error::from(error.unwrap());
        assert_eq!(error.kind(), ErrorKind::Checksum, "byte {at}: {error}");
        assert!(!shard.verify().unwrap().is_sound(), "byte {at}");
    }
}

#[test]
fn edited_shards_keep_the_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let values: ArrayRef = Arc::new(numbers());
    let batch = RecordBatch::try_from_iter([("c", values)]).unwrap();
    let shard = attached(folder.path(), &batch, small_pages());
    let (before, _) = rows_of(&shard, col("c").gt(9_000));
    let other = folder.path().join("more.amudai.shard");
    attach([folder.path().join("t.parquet")], &other).unwrap();
    let target = folder.path().join("t.amudai.shard");
    let mut editor = ShardEditor::open(&target).unwrap();
    editor.append(&other).unwrap();
    editor.delete(&col("c").lt(-9_900)).unwrap();
    editor.rename_column("c", "d").unwrap();
    editor.commit().unwrap();
    let shard = Shard::open(&target).unwrap();
    let (rows, metrics) = rows_of(&shard, col("d").gt(9_000));
    assert_eq!(rows, 2 * before);
    assert!(metrics.skipped_by_range_indexes.rows > 30_000, "{metrics}");
    assert_sound(&shard);
}

#[test]
fn stripes_of_few_rows_have_no_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let values: ArrayRef = Arc::new(numbers().slice(0, 8_000));
    let batch = RecordBatch::try_from_iter([("c", values)]).unwrap();
    let groups = small_pages().set_max_row_group_row_count(Some(4_000));
    write_parquet(&path, &batch, groups.build());
    let target = folder.path().join("t.amudai.shard");
    let options = AttachOptions::default().with_stripe_rows(1);
    attach_with([&path], &target, options).unwrap();
    let shard = Shard::open(&target).unwrap();
    let info = shard.inspect(InspectOptions::default()).unwrap();
    assert!(
        info.stripes
            .iter()
            .all(|stripe| stripe.fields[0].buffers.is_empty())
    );
}

#[cfg(feature = "object_store")]
#[test]
fn a_selective_filter_reads_few_pages() {
    let folder = tempfile::tempdir().unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..300_000));
    let scattered = (0..300_000i64).map(|i| i.wrapping_mul(0x1E37_79B9_7F4A_7C15));
    let other: ArrayRef = Arc::new(Int64Array::from_iter_values(scattered));
    let batch = RecordBatch::try_from_iter([("id", ids), ("other", other)]).unwrap();
    let pages = small_pages()
        .set_max_row_group_row_count(Some(300_000))
        .set_data_page_row_count_limit(2_000);
    let scan = |name: &str, properties: WriterPropertiesBuilder, predicate| {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        attached(&folder, &batch, properties);
        measured::scan(&folder, "t.amudai.shard", predicate)
    };
    let filter = || Some(col("id").between(50_100, 50_110));
    let all = scan("all", pages.clone(), None);
    let some = scan("some", pages.clone(), filter());
    assert_eq!((all.rows, some.rows), (300_000, 11));
    // Of 150 pages of each column: up to three. A request spans gaps of up to 1 MiB, and a column is larger.
    assert!(10 * some.bytes < all.bytes, "{some:?} of {all:?}");
    let blind = pages.set_statistics_enabled(EnabledStatistics::Chunk);
    let blind = scan("blind", blind, filter());
    assert_eq!(blind.rows, 11);
    assert!(4 * some.bytes < blind.bytes, "{some:?} and {blind:?}");
}
