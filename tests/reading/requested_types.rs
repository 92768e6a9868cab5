//! Scans and takes in other types than the stored ones: errors on building, errors on reading, and no errors for values
//! that are not requested.

use crate::support::written_bytes;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type, UInt64Type};
use arrow_array::{
    ArrayRef, BinaryArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, Scalar,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_shard::format::{open, seal};
use arrow_shard::io::NoContainer;
use arrow_shard::metadata::{INGESTION_TIMESTAMP, TypeMapping};
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::read::{Literal, Predicate, Projection, ScanBuilder, ShardOptions, col};
use arrow_shard::write::{InternalValues, Profile, ShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Limits, Result, Shard};
use std::sync::Arc;

fn shard_with(
    columns: Vec<(&str, ArrayRef)>,
    options: WriterOptions,
    limits: Option<Limits>,
) -> Shard {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let options = limits.map_or_else(ShardOptions::default, |limits| {
        ShardOptions::default().with_limits(limits)
    });
    let bytes = bytes::Bytes::from(file);
    Shard::from_reader(Arc::new(bytes), Arc::new(NoContainer), options).unwrap()
}

fn shard(columns: Vec<(&str, ArrayRef)>) -> Shard {
    shard_with(columns, WriterOptions::default(), None)
}

fn schema(fields: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
    Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>()))
}

/// Returns the number of batches before the first error, and the error.
fn run(scan: ScanBuilder) -> (usize, Result<()>) {
    let mut rows = 0;
    for batch in scan.build().unwrap() {
        match batch {
            Ok(batch) => rows += batch.num_rows(),
            Err(e) => {
                return (rows, Err(Error::from(e)));
            }
        }
    }
    (rows, Ok(()))
}

/// Returns 20,000 rows; row 9,000 has no Int32 and no text value.
fn with_a_value_that_does_not_fit() -> Vec<(&'static str, ArrayRef)> {
    let large = |i: i64| if i == 9_000 { 1 << 40 } else { i % 1_000 };
    let bytes = |i: i64| match i {
        9_000 => vec![0xFF],
        i => format!("text {}", i % 50).into_bytes(),
    };
    vec![
        (
            "id",
            Arc::new(Int64Array::from_iter_values(0..20_000)) as ArrayRef,
        ),
        (
            "n",
            Arc::new(Int64Array::from_iter_values((0..20_000).map(large))),
        ),
        (
            "b",
            Arc::new(BinaryArray::from_iter_values((0..20_000).map(bytes))),
        ),
    ]
}

#[test]
fn a_scan_fails_on_no_value_that_it_does_not_give() {
    let wanted = schema(&[("n", DataType::Int32), ("b", DataType::Utf8)]);
    for profile in [Profile::Plain, Profile::Balanced, Profile::HighCompression] {
        for dictionaries in [false, true] {
            let options = WriterOptions::default()
                .with_profile(profile)
                .with_dictionary_enabled(dictionaries);
            let shard = shard_with(with_a_value_that_does_not_fit(), options, None);
            let scan = || shard.scan().with_schema(wanted.clone());
            for threads in [1, 3] {
                let scan = || scan().with_threads(threads);
                let before = run(scan().with_row_range(0..9_000));
                assert!(matches!(before, (9_000, Ok(()))), "{before:?}");
                let after = run(scan().with_row_range(9_001..20_000));
                assert!(matches!(after, (10_999, Ok(()))), "{after:?}");
                // Filters that remove one row, most rows, and all but a few.
                for (filter, rows) in [
                    (col("id").not_eq(9_000), 19_999),
                    (col("id").gt(9_000).and(col("id").lt(9_100)), 99),
                    (col("n").eq(7), 20),
                ] {
                    let found = run(scan().with_filter(filter.clone()));
                    assert!(found.0 == rows && found.1.is_ok(), "{filter}: {found:?}");
                }
                let first = scan().with_filter(col("id").gt_eq(8_990)).with_limit(10);
                let found = run(first);
                assert!(matches!(found, (10, Ok(()))), "{found:?}");
            }
            // All rows before the failing one are returned.
            let (rows, found) = run(scan());
            let e = found.unwrap_err();
            assert_eq!((rows, e.kind()), (9_000, ErrorKind::ValueOutOfRange), "{e}");
            assert!(e.element().contains("rows 9000..9001"), "{e}");
            assert!(e.element().contains("field `n`"), "{e}");
            let taken = |rows: &[u64]| shard.scan().with_schema(wanted.clone()).take(rows);
            assert_eq!(taken(&[9_001, 8_999]).unwrap().num_rows(), 2);
            assert_eq!(
                taken(&[9_000]).unwrap_err().kind(),
                ErrorKind::ValueOutOfRange
            );
        }
    }
}

#[test]
fn a_schema_that_no_batch_could_have_is_refused_when_the_scan_is_built() {
    let point = StructArray::from(vec![(
        Arc::new(Field::new("x", DataType::Int32, true)),
        Arc::new(arrow_array::Int32Array::from(vec![1, 2])) as ArrayRef,
    )]);
    let shard = shard(vec![
        ("n", Arc::new(Int64Array::from(vec![1, 2]))),
        ("t", Arc::new(StringArray::from(vec!["1", "2"]))),
        ("p", Arc::new(point)),
    ]);
    let member =
        |name: &str, data_type| DataType::Struct(vec![Field::new(name, data_type, true)].into());
    use DataType::*;
    for (name, data_type, kind) in [
        ("n", Utf8, None),
        ("t", Int64, None),
        ("p", member("x", Utf8), None),
        ("t", Timestamp(arrow_schema::TimeUnit::Second, None), None),
        ("n", FixedSizeBinary(8), Some(ErrorKind::SchemaMismatch)),
        ("n", member("x", Int64), Some(ErrorKind::SchemaMismatch)),
        ("n", Decimal128(39, 0), Some(ErrorKind::SchemaMismatch)),
        ("p", Int32, Some(ErrorKind::SchemaMismatch)),
        ("p", member("y", Int32), Some(ErrorKind::SchemaMismatch)),
        ("p", member("x", Binary), None),
        (
            "p",
            member("x", BinaryView),
            Some(ErrorKind::SchemaMismatch),
        ),
        ("m", Int64, Some(ErrorKind::UnknownColumn)),
        ("p.x", Int32, Some(ErrorKind::UnknownColumn)),
    ] {
        let scan = shard
            .scan()
            .with_schema(schema(&[(name, data_type.clone())]));
        let found = scan.clone().build().map(drop).map_err(|e| {
            assert!(e.to_string().contains(&format!("`{name}`")), "{e}");
            e.kind()
        });
        assert_eq!(found.err(), kind, "{name} as {data_type}");
        if kind.is_some() {
            assert_eq!(scan.take(&[0]).map_err(|e| e.kind()).err(), kind);
        }
    }
    let numbers = shard
        .scan()
        .with_schema(schema(&[("n", Utf8), ("t", Int64)]));
    let batch = numbers.take(&[1, 0]).unwrap();
    assert_eq!(batch["n"].as_string::<i32>().value(0), "2");
    assert_eq!(batch["t"].as_primitive::<Int64Type>().values()[..], [2, 1]);
    let lossy = shard.scan().with_schema(schema(&[("n", Binary)]));
    assert!(lossy.clone().build().is_ok());
    let e = lossy.with_strict_casts(true).build().unwrap_err();
    assert!(e.message().contains("cast back"), "{e}");
}

#[test]
fn strict_casts_refuse_what_others_change() {
    let values = vec![0.5, 1e300, 0.1];
    let shard = shard(vec![(
        "f",
        Arc::new(Float64Array::from(values)) as ArrayRef,
    )]);
    let scan = || {
        shard
            .scan()
            .with_schema(schema(&[("f", DataType::Float32)]))
    };
    let batch = scan().take(&[0, 1, 2]).unwrap();
    let found = batch["f"].as_primitive::<Float32Type>();
    assert_eq!(found.values()[..], [0.5, f32::INFINITY, 0.1]);
    let strict = || scan().with_strict_casts(true);
    assert!(strict().take(&[0]).is_ok());
    for row in [1, 2] {
        let e = strict().take(&[row]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ValueOutOfRange, "{e}");
    }
    let (rows, found) = run(strict());
    assert!(rows == 1 && found.is_err(), "{found:?}");
    // The scans do not share cached values of different types.
    assert!(matches!(run(scan()), (3, Ok(()))));
}

#[test]
fn a_filter_of_a_column_leaves_its_casts_strict() {
    // Times in 2026; all but the first have fractions of a millisecond.
    let times = (0..100).map(|i| 1_790_000_000_000_000 + i * i * 60_000_001);
    let times = Arc::new(TimestampMicrosecondArray::from_iter_values(times)) as ArrayRef;
    let options =
        WriterOptions::default().with_ingestion_timestamp(InternalValues::Column("at".to_owned()));
    let ids = Arc::new(Int64Array::from_iter_values(0..100)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("at", times), ("id", ids)]).unwrap();
    let bytes = written_bytes(std::slice::from_ref(&batch), options);
    let millis = ShardOptions::default().with_default_time_unit(TimeUnit::Millisecond);
    let shard = Shard::from_reader(Arc::new(bytes), Arc::new(NoContainer), millis).unwrap();
    let scan = || shard.scan().with_projection([INGESTION_TIMESTAMP]);
    let filtered = scan().with_filter(col(INGESTION_TIMESTAMP).gt("2026-09-24"));
    for scan in [scan(), filtered] {
        let (rows, rounded) = run(scan.clone());
        assert!(rows > 10 && rounded.is_ok(), "{rows} rows, {rounded:?}");
        let e = run(scan.with_strict_casts(true)).1.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ValueOutOfRange, "{e}");
    }
}

#[test]
fn nulls_of_a_member_that_is_asked_for_without_are_no_damage() {
    let x = Arc::new(arrow_array::Int32Array::from(vec![Some(1), None])) as ArrayRef;
    let points = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int32, true)), x)]);
    let shard = shard(vec![("p", Arc::new(points) as ArrayRef)]);
    let member = Field::new("x", DataType::Int32, false);
    let scan = shard
        .scan()
        .with_schema(schema(&[("p", DataType::Struct(vec![member].into()))]));
    assert_eq!(scan.clone().take(&[0]).unwrap().num_rows(), 1);
    let e = scan.take(&[0, 1]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch, "{e}");
    assert!(e.element().contains("member `x`"), "{e}");
    assert!(e.message().contains("nullable"), "{e}");
}

#[test]
fn rows_are_taken_with_their_numbers_and_without_other_choices() {
    let numbers = Arc::new(Int64Array::from_iter_values(0..100)) as ArrayRef;
    let shard = shard(vec![("n", numbers)]);
    let scan = || shard.scan().with_row_number("row");
    let batch = scan().take(&[7, 3, 7]).unwrap();
    assert_eq!(
        batch["row"].as_primitive::<UInt64Type>().values()[..],
        [7, 3, 7]
    );
    assert_eq!(
        batch["n"].as_primitive::<Int64Type>().values()[..],
        [7, 3, 7]
    );
    for narrowed in [
        scan().with_row_range(0..9),
        scan().with_limit(1),
        scan().with_offset(1),
        scan().with_filter(col("n").eq(1)),
        scan().with_row_selection(0..3),
    ] {
        let e = narrowed.take(&[0]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    }
}

#[test]
fn row_numbers_of_the_name_of_a_column_are_refused() {
    let numbers = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let shard = shard(vec![("id", numbers()), ("n", numbers())]);
    let e = shard.scan().with_row_number("id").build().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.message().contains("`id`"), "{e}");
    let without = shard.scan().with_projection("n").with_row_number("id");
    assert!(without.build().is_ok());
    let renamed = shard.scan().with_schema(schema(&[("id", DataType::Int32)]));
    assert!(renamed.with_row_number("id").build().is_err());
}

#[test]
fn rows_that_are_taken_again_and_again_are_held_against_the_limit() {
    let limits = Limits::default().with_max_batch_bytes(10 << 20);
    let text = "x".repeat(100_000);
    let items = StringArray::from(vec![text.as_str(), "y"]);
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    let ends = arrow_buffer::OffsetBuffer::from_lengths([1, 1]);
    let lists = arrow_array::ListArray::new(item, ends, Arc::new(items.clone()), None);
    let points = StructArray::from(vec![(
        Arc::new(Field::new("t", DataType::Utf8, true)),
        Arc::new(items.clone()) as ArrayRef,
    )]);
    let views = arrow_array::StringViewArray::from(vec![text.as_str(), "y"]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("text", Arc::new(items)),
        ("lists", Arc::new(lists)),
        ("points", Arc::new(points)),
        ("views", Arc::new(views)),
    ];
    let shard = shard_with(columns, WriterOptions::default(), Some(limits));
    for column in ["text", "lists", "points"] {
        assert_eq!(shard.take(&[0; 100], column).unwrap().num_rows(), 100);
        assert_eq!(shard.take(&[1; 5_000], column).unwrap().num_rows(), 5_000);
        let e = shard.take(&[0; 5_000], column).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::LimitExceeded, "{e}");
        assert!(e.message().contains("max_batch_bytes"), "{e}");
        assert!(e.element().contains(column), "{e}");
    }
    // Views can refer to the same bytes many times.
    assert_eq!(shard.take(&[0; 5_000], "views").unwrap().num_rows(), 5_000);
}

#[test]
fn a_name_missing_below_a_struct_is_reported_with_the_other_names() {
    let member = |name: &str| {
        let values = Arc::new(arrow_array::Int32Array::from(vec![1])) as ArrayRef;
        (Arc::new(Field::new(name, DataType::Int32, true)), values)
    };
    let names = ["north", "south", "east", "west", "up", "down", "height"];
    let points = StructArray::from(names.map(member).to_vec());
    let shard = shard(vec![("place", Arc::new(points) as ArrayRef)]);
    let e = shard
        .scan()
        .with_projection("place.eats")
        .build()
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::UnknownColumn);
    assert_eq!(
        e.message(),
        "there is no field `eats` in the struct `place`; did you mean `east`? \
         it has `east`, `west`, `north`, `south`, `up` and 2 more"
    );
}

#[test]
fn projections_come_from_single_names_and_from_lists_of_every_kind() {
    let owned = vec!["a".to_owned(), "b".to_owned()];
    let both = Projection::Paths(owned.clone());
    assert_eq!(Projection::from(["a", "b"]), both);
    assert_eq!(Projection::from(&["a", "b"]), both);
    assert_eq!(Projection::from(&["a", "b"][..]), both);
    assert_eq!(Projection::from(vec!["a", "b"]), both);
    assert_eq!(Projection::from(&owned), both);
    assert_eq!(Projection::from(owned.as_slice()), both);
    assert_eq!(Projection::from(owned.iter().collect::<Vec<_>>()), both);
    assert_eq!(Projection::from("a"), Projection::from(["a"]));
    assert_eq!(Projection::from("a".to_owned()), Projection::from(["a"]));
    assert_eq!(Projection::from(&[1usize]), Projection::Indices(vec![1]));
    let empty: [&str; 0] = [];
    assert_eq!(Projection::from(empty), Projection::Paths(Vec::new()));
}

#[test]
fn columns_of_a_filter_are_read_once_even_if_other_columns_do_not_fit() {
    // Half of the rows match, and are scattered; one of the others does not fit.
    let a = |i: i64| match i {
        100_000 => 900,
        i => i * 7_919 % 100_003 % 1_000,
    };
    let n = |i: i64| {
        if i == 100_000 {
            1 << 40
        } else {
            i * 7_907 % 99_991
        }
    };
    let column = |of: &dyn Fn(i64) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..200_000).map(of)))
    };
    let batch = RecordBatch::try_from_iter([("a", column(&a)), ("n", column(&n))]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.amudai.shard");
    let options = WriterOptions::default().with_dictionary_enabled(false);
    let mut writer = ShardWriter::create_with(&path, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let wanted = schema(&[("a", DataType::Int64), ("n", DataType::Int32)]);
    for most in [500, 3] {
        let filter = col("a").lt(most);
        let expected: Vec<i64> = (0..200_000).filter(|&i| a(i) < most).map(n).collect();
        let shard = Shard::open(&path).unwrap();
        let scan = shard.scan().with_schema(wanted.clone()).with_filter(filter);
        let mut rows = Vec::new();
        for batch in scan.build().unwrap() {
            let batch = batch.unwrap();
            let n = batch
                .column(1)
                .as_primitive::<arrow_array::types::Int32Type>();
            rows.extend(n.values().iter().map(|&n| i64::from(n)));
            let found = batch.column(0).as_primitive::<Int64Type>().values();
            assert!(found.iter().all(|&a| a < most));
        }
        assert_eq!(rows, expected);
    }
}

/// Returns a shard without Arrow types, as other writers create it: decimals are read with 18 digits, two of them after
/// the point.
fn without_arrow_types(batch: &RecordBatch) -> Shard {
    let mut file = Vec::new();
    let options = WriterOptions::default().with_mapping(TypeMapping::Amudai);
    let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let properties = shard.directory().properties_ref.clone().unwrap();
    let range = properties.range.to_usize().unwrap();
    let mut payload = open(&file[range.clone()]).unwrap().to_vec();
    let at = payload
        .windows(12)
        .position(|name| name == b"ARROW:schema")
        .unwrap();
    payload[at..at + 12].copy_from_slice(b"arrow:nobody");
    file[range].copy_from_slice(&seal(&payload).unwrap());
    let options = ShardOptions::default().with_default_precision_and_scale(18, 2);
    let bytes = bytes::Bytes::from(file);
    Shard::from_reader(Arc::new(bytes), Arc::new(NoContainer), options).unwrap()
}

#[test]
fn an_entry_of_a_dictionary_that_does_not_fit_matters_where_a_row_has_it() {
    let price = |i: i64| match i {
        0..10 => Some(10_i128.pow(30)),
        i if i % 7 == 0 => None,
        i => Some(i128::from(i % 5) * 1_000),
    };
    let prices = Decimal128Array::from_iter((0..5_000).map(price));
    let prices: ArrayRef = Arc::new(prices.with_precision_and_scale(38, 2).unwrap());
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5_000));
    let columns = [("id", ids, false), ("price", prices, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let shard = without_arrow_types(&batch);
    let wanted = DataType::Decimal128(18, 2);
    assert_eq!(shard.schema().unwrap().field(1).data_type(), &wanted);
    let info = shard.inspect(InspectOptions::default()).unwrap();
    assert_eq!(info.stripes[0].fields[1].dictionary_size, Some(6));
    let above = |price: i128| {
        let value = Decimal128Array::from(vec![price]).with_data_type(wanted.clone());
        col("price").gt(Literal::try_new(&Scalar::new(value)).unwrap())
    };
    let scan = |filter: Predicate| run(shard.scan().with_projection(["id"]).with_filter(filter));
    let expected = (10..5_000).filter(|i| i % 7 != 0 && i % 5 > 2).count();
    let found = scan(col("id").gt_eq(10).and(above(2_000)));
    assert!(found.0 == expected && found.1.is_ok(), "{found:?}");
    let (_, error) = scan(above(2_000));
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ValueOutOfRange, "{error}");
    assert!(error.to_string().contains("`price`"), "{error}");
}
