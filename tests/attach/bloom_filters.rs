//! Bloom filters of Parquet files in attached shards.

use super::files::{assert_sound, write_parquet};
#[cfg(feature = "object_store")]
use super::measured;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, Float64Array, Int64Array, RecordBatch,
    Scalar, StringArray,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_shard::Shard;
use arrow_shard::ops::{AttachOptions, attach_with};
use arrow_shard::read::{Literal, ScanMetrics, col};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use std::path::Path;
use std::sync::Arc;

const GROUP: u16 = 500;

/// Filters are the only statistics of these files.
fn filters_only() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_max_ndv(u64::from(GROUP))
        .set_max_row_group_row_count(Some(usize::from(GROUP)))
}

fn attached(folder: &Path, batch: &RecordBatch, properties: WriterPropertiesBuilder) -> Shard {
    let path = folder.join("t.parquet");
    write_parquet(&path, batch, properties.build());
    let target = folder.join("t.amudai.shard");
    if target.exists() {
        std::fs::remove_file(&target).unwrap();
    }
    let options = AttachOptions::default().with_stripe_rows(1);
    attach_with([&path], &target, options).unwrap();
    Shard::open(&target).unwrap()
}

/// Returns the number of rows that are equal to a value, and the counters of the scan.
fn rows_equal(shard: &Shard, value: &ArrayRef) -> (usize, ScanMetrics) {
    let literal = Literal::try_new(&Scalar::new(value.clone())).unwrap();
    let scan = shard.scan().with_filter(col("c").eq(literal));
    let mut scan = scan.build().unwrap();
    let rows = scan.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    (rows, scan.metrics().unwrap())
}

/// Scattered numbers of both signs, and nulls.
fn numbers(range: std::ops::Range<i64>) -> Int64Array {
    range
        .map(|i| {
            let scattered = (i * 7_919) % 100_000;
            (i % 10 > 0).then_some(if i % 2 == 0 { scattered } else { -scattered })
        })
        .collect()
}

fn converted(numbers: &Int64Array, to: &DataType) -> ArrayRef {
    let text = |i: Option<i64>| i.map(|i| format!("{i:016}"));
    let texts: StringArray = numbers.iter().map(text).collect();
    match to {
        DataType::Int64 => Arc::new(numbers.clone()),
        DataType::Date32 | DataType::Time32(_) => {
            let days = cast(numbers, &DataType::Int32).unwrap();
            cast(&days, to).unwrap()
        }
        DataType::FixedSizeBinary(16) => {
            let bytes = texts.iter().map(|text| text.map(str::as_bytes));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, 16).unwrap())
        }
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::Dictionary(..) => cast(&texts, to).unwrap(),
        // Negative numbers become null.
        _ => cast(numbers, to).unwrap(),
    }
}

fn types() -> Vec<(DataType, bool)> {
    use DataType as D;
    let same = [
        D::Int32,
        D::UInt32,
        D::Int64,
        D::UInt64,
        D::Float32,
        D::Float64,
        D::Date32,
        D::Time32(TimeUnit::Second),
        D::Time32(TimeUnit::Millisecond),
        D::Time64(TimeUnit::Microsecond),
        D::Time64(TimeUnit::Nanosecond),
        D::Timestamp(TimeUnit::Second, None),
        D::Timestamp(TimeUnit::Millisecond, None),
        D::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        D::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into())),
        D::Duration(TimeUnit::Microsecond),
        D::Decimal128(9, 2),
        D::Decimal128(18, 3),
        D::Decimal64(18, 0),
        D::Utf8,
        D::LargeUtf8,
        D::Utf8View,
        D::Binary,
        D::LargeBinary,
        D::FixedSizeBinary(16),
        D::Dictionary(Box::new(D::Int32), Box::new(D::Utf8)),
    ];
    // Parquet hashes other bytes of these.
    let other = [
        D::Int8,
        D::Int16,
        D::UInt8,
        D::UInt16,
        D::Float16,
        D::Boolean,
        D::Decimal128(38, 2),
        D::Decimal256(50, 2),
    ];
    let same = same.into_iter().map(|data_type| (data_type, true));
    same.chain(other.map(|data_type| (data_type, false)))
        .collect()
}

#[test]
fn values_of_every_type_are_found_and_others_are_ruled_out() {
    let folder = tempfile::tempdir().unwrap();
    for (data_type, has_filter) in types() {
        let values = converted(&numbers(0..2 * i64::from(GROUP)), &data_type);
        let fields = vec![Field::new("c", data_type.clone(), true)];
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![values]).unwrap();
        let shard = attached(folder.path(), &batch, filters_only());
        let values = batch.column(0);
        let plain = match &data_type {
            DataType::Dictionary(_, plain) => cast(values, plain).unwrap(),
            _ => values.clone(),
        };
        for row in (0..plain.len()).filter(|row| row % 13 == 0 && plain.is_valid(*row)) {
            let value = plain.slice(row, 1);
            let expected = (0..plain.len()).filter(|i| *plain.slice(*i, 1) == *value);
            let (found, _) = rows_equal(&shard, &value);
            assert_eq!(found, expected.count(), "{data_type}: {value:?}");
        }
        let others: &[i64] = if has_filter {
            &[100_001, 100_003, 100_005]
        } else {
            &[1]
        };
        let mut skipped = 0;
        for &other in others {
            let value = converted(&Int64Array::from(vec![other]), &data_type);
            let (found, metrics) = rows_equal(&shard, &value);
            assert!(found == 0 || !has_filter, "{data_type}");
            skipped += metrics.skipped_by_bloom_filters.stripes;
        }
        // Of the six, one may be a false positive.
        let expected = if has_filter { 5..=6 } else { 0..=0 };
        assert!(
            expected.contains(&skipped),
            "{data_type}: {skipped} were ruled out"
        );
        assert_sound(&shard);
    }
}

#[test]
fn uuids_are_hashed_as_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let data_type = DataType::FixedSizeBinary(16);
    let field =
        Field::new("c", data_type.clone(), true).with_extension_type(arrow_schema::extension::Uuid);
    let values = converted(&numbers(0..i64::from(GROUP)), &data_type);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![values]).unwrap();
    let shard = attached(folder.path(), &batch, filters_only());
    for row in [1, 77, 498] {
        let value = batch.column(0).slice(row, 1);
        assert_eq!(rows_equal(&shard, &value).0, 1, "{row}");
    }
    let other = converted(&Int64Array::from(vec![100_001]), &data_type);
    let (rows, metrics) = rows_equal(&shard, &other);
    assert_eq!((rows, metrics.skipped_by_bloom_filters.stripes), (0, 1));
}

#[test]
fn zeros_and_nan_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let own = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, 1.5];
    let values: ArrayRef = Arc::new(Float64Array::from(own.to_vec()));
    let batch = RecordBatch::try_from_iter([("c", values.clone())]).unwrap();
    let shard = attached(folder.path(), &batch, filters_only());
    for (row, value) in own.into_iter().enumerate() {
        let (rows, _) = rows_equal(&shard, &values.slice(row, 1));
        assert!(rows > 0, "{value}");
    }
}

#[test]
fn row_groups_of_a_stripe_have_one_filter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let values: ArrayRef = Arc::new(numbers(0..4 * i64::from(GROUP)));
    let batch = RecordBatch::try_from_iter([("c", values.clone())]).unwrap();
    let precise = filters_only().set_bloom_filter_fpp(0.001);
    write_parquet(&path, &batch, precise.build());
    let target = folder.path().join("t.amudai.shard");
    let options = AttachOptions::default().with_stripe_rows(2 * u64::from(GROUP));
    attach_with([&path], &target, options).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_eq!(shard.num_stripes(), 2);
    for row in (0..values.len()).filter(|row| row % 17 == 1 && values.is_valid(*row)) {
        let (rows, _) = rows_equal(&shard, &values.slice(row, 1));
        assert!(rows > 0, "row {row}");
    }
    let others = (0..20).map(|i| 200_001 + i);
    let skipped = others.map(|other| {
        let other: ArrayRef = Arc::new(Int64Array::from(vec![other]));
        let (rows, metrics) = rows_equal(&shard, &other);
        assert_eq!(rows, 0);
        metrics.skipped_by_bloom_filters.stripes
    });
    assert!(skipped.sum::<u64>() > 30, "of 40");
    assert_sound(&shard);
}

#[test]
fn a_damaged_filter_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let values: ArrayRef = Arc::new(numbers(0..i64::from(GROUP)));
    let batch = RecordBatch::try_from_iter([("c", values.clone())]).unwrap();
    write_parquet(&path, &batch, filters_only().build());
    let file = std::fs::File::open(&path).unwrap();
    let footer = parquet::file::metadata::ParquetMetaDataReader::new().parse_and_finish(&file);
    let footer = footer.unwrap();
    let at = footer.row_group(0).column(0).bloom_filter_offset().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[usize::try_from(at).unwrap()] ^= 0xff;
    std::fs::write(&path, bytes).unwrap();
    let target = folder.path().join("t.amudai.shard");
    attach_with([&path], &target, AttachOptions::default()).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_eq!(rows_equal(&shard, &values.slice(1, 1)).0, 1);
    let other: ArrayRef = Arc::new(Int64Array::from(vec![-5]));
    let (_, metrics) = rows_equal(&shard, &other);
    assert_eq!(metrics.skipped_by_bloom_filters.stripes, 0);
}

#[test]
fn filters_have_no_more_values_than_have_been_counted() {
    let folder = tempfile::tempdir().unwrap();
    // The bits of a small filter tell the number of its values roughly.
    let keys =
        (0..60 * i64::from(GROUP)).map(|i| format!("{}", i / i64::from(GROUP) * 100 + i % 45));
    let keys: Vec<String> = keys.collect();
    let texts: DictionaryArray<Int32Type> = keys.iter().map(String::as_str).collect();
    let batch = RecordBatch::try_from_iter([("c", Arc::new(texts) as ArrayRef)]).unwrap();
    let path = folder.path().join("t.parquet");
    write_parquet(
        &path,
        &batch,
        filters_only().set_bloom_filter_max_ndv(45).build(),
    );
    let target = folder.path().join("t.amudai.shard");
    let options = AttachOptions::default()
        .with_stripe_rows(1)
        .with_statistics(["c"]);
    attach_with([&path], &target, options).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_eq!(shard.num_stripes(), 60);
    assert_sound(&shard);
    let (rows, metrics) = rows_equal(
        &shard,
        &(Arc::new(StringArray::from(vec!["4203"])) as ArrayRef),
    );
    assert_eq!(rows, keys.iter().filter(|key| *key == "4203").count());
    assert!(metrics.skipped_by_bloom_filters.stripes > 0, "{metrics:?}");
}

#[cfg(feature = "object_store")]
#[test]
fn a_lookup_reads_only_the_row_group_with_the_value() {
    let folder = tempfile::tempdir().unwrap();
    let texts = |range: std::ops::Range<u64>| {
        let keys = range.map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        StringArray::from_iter_values(keys.map(|key| format!("key {key:016x}")))
    };
    // A request spans gaps of up to 1 MiB, so the row groups behind the value are larger together.
    let (groups, rows) = (10u64, 16_000u64);
    let values = texts(0..groups * rows);
    let batch = RecordBatch::try_from_iter([("c", Arc::new(values) as ArrayRef)]).unwrap();
    let properties = filters_only()
        .set_bloom_filter_max_ndv(rows)
        .set_bloom_filter_fpp(0.0001)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(16_000));
    let shard = attached(folder.path(), &batch, properties);
    assert_eq!(shard.num_stripes(), groups);
    let scan = |predicate| measured::scan(folder.path(), "t.amudai.shard", predicate);
    let all = scan(None);
    assert_eq!(all.rows as u64, groups * rows);
    let value = texts(60_345..60_346);
    let found = scan(Some(col("c").eq(value.value(0))));
    assert_eq!(found.rows, 1);
    let none = scan(Some(col("c").eq("key")));
    // Filters of all row groups, and the pages of one.
    assert!(
        3 * found.bytes < all.bytes,
        "{found:?} and {none:?} of {all:?}"
    );
    assert_eq!(none.rows, 0);
    assert!(none.bytes + 90_000 < found.bytes, "{none:?} and {found:?}");
}
