//! Statistics of a shard match its values.

use crate::common::arrays::random_batch;
use crate::common::schemas::{Config, random_schema};
use crate::support::written_bytes;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Float64Array, Int64Array, RecordBatch,
    Scalar, StringArray, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_ord::cmp::{eq, gt, lt};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::concat::concat;
use arrow_shard::buffer::IndexedBlock;
use arrow_shard::format::{AnyValue, FieldDescriptor, Wire};
use arrow_shard::write::{ColumnOptions, Profile, ShardWriter, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashSet;
use std::sync::Arc;

/// Returns a shard with a stripe for every batch.
fn shard_of(schema: &SchemaRef, batches: &[RecordBatch], options: WriterOptions) -> Shard {
    let mut writer = ShardWriter::try_new(Vec::new(), schema.clone(), options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
        writer.flush_stripe().unwrap();
    }
    let (bytes, _) = writer.finish_into().unwrap();
    Shard::from_bytes(Bytes::from(bytes)).unwrap()
}

/// Returns the values without dictionaries and run-end encoding.
fn plain(array: &ArrayRef) -> ArrayRef {
    let values = match array.data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::RunEndEncoded(_, values) => values.data_type().clone(),
        _ => return array.clone(),
    };
    plain(&arrow_cast::cast(array, &values).unwrap())
}

/// Collects columns and members of structs, with their values where no outer struct is null.
fn targets(
    path: String,
    array: &ArrayRef,
    around: Option<NullBuffer>,
    all: &mut Vec<(String, ArrayRef, Option<NullBuffer>)>,
) {
    let array = plain(array);
    let nulls = NullBuffer::union(around.as_ref(), array.logical_nulls().as_ref());
    all.push((path.clone(), array.clone(), nulls.clone()));
    if let Some(members) = array.as_struct_opt() {
        for (field, member) in members.fields().iter().zip(members.columns()) {
            targets(
                format!("{path}.{}", field.name()),
                member,
                nulls.clone(),
                all,
            );
        }
    }
}

fn is_nested(data_type: &DataType) -> bool {
    data_type.is_nested() || *data_type == DataType::Null
}

/// Compares a row of statistics with the values.
fn check(
    row: &StructArray,
    i: usize,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
    seen: &mut Seen,
) {
    let known = |name: &str| row.column_by_name(name).filter(|c| c.is_valid(i)).cloned();
    let number = |name: &str| known(name).map(|c| c.as_primitive::<UInt64Type>().value(i));
    let flag = |name: &str| known(name).is_some_and(|c| c.as_boolean().value(i));
    let null_count = nulls.map_or(0, NullBuffer::null_count);
    if let Some(count) = number("null_count") {
        assert_eq!(count, null_count as u64, "null_count");
        seen.null_counts += 1;
    }
    if is_nested(array.data_type()) {
        return;
    }
    let valid: Vec<u32> = (0u32..)
        .take(array.len())
        .filter(|&i| nulls.is_none_or(|n| n.is_valid(i as usize)))
        .collect();
    let values =
        arrow_select::take::take(array, &arrow_array::UInt32Array::from(valid), None).unwrap();
    let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())]).unwrap();
    let rows = converter
        .convert_columns(std::slice::from_ref(&values))
        .unwrap();
    let distinct: HashSet<Vec<u8>> = rows.iter().map(|row| row.as_ref().to_vec()).collect();
    if flag("is_constant") {
        assert!(
            distinct.len() + usize::from(null_count > 0) <= 1,
            "is_constant"
        );
        seen.constants += 1;
    }
    let two_values =
        ["min", "max"].map(|name| known(name).filter(|_| flag(&format!("{name}_is_exact"))));
    let differ = match &two_values {
        [Some(min), Some(max)] => min.slice(i, 1) != max.slice(i, 1),
        _ => false,
    };
    // If the nulls around a field are unknown, the rows of its values are unknown, too.
    let differ = differ && known("null_count").is_some();
    let is_variable = known("is_constant").is_some() && !flag("is_constant");
    assert_eq!(
        is_variable, differ,
        "is_constant is false where two values differ"
    );
    assert!(!differ || distinct.len() > 1, "is_constant");
    seen.variables += usize::from(differ);
    if let Some(count) = number("distinct_count") {
        match flag("distinct_is_exact") {
            true => assert_eq!(count, distinct.len() as u64, "distinct_count"),
            false => assert!(
                count > 0 && count <= values.len() as u64,
                "{count} distinct"
            ),
        }
        seen.distinct += 1;
    }
    let any = |found: BooleanArray| found.true_count() > 0;
    for (name, beyond) in [
        (
            "min",
            lt as fn(&dyn arrow_array::Datum, &dyn arrow_array::Datum) -> _,
        ),
        ("max", gt),
    ] {
        let Some(bounds) = known(name) else { continue };
        seen.bounds += 1;
        let bound = Scalar::new(bounds.slice(i, 1));
        assert_eq!(bounds.data_type(), values.data_type());
        assert!(
            !any(beyond(&values, &bound).unwrap()),
            "a value lies beyond the {name}"
        );
        let is_value = any(eq(&values, &bound).unwrap());
        let exact = flag(&format!("{name}_is_exact"));
        assert!(is_value || !exact, "the {name} is no value");
        seen.exact += usize::from(exact);
    }
}

/// Counters of the comparisons.
#[derive(Debug, Default)]
struct Seen {
    null_counts: usize,
    constants: usize,
    variables: usize,
    distinct: usize,
    bounds: usize,
    exact: usize,
}

#[test]
fn statistics_are_true_of_random_data() {
    let mut seen = Seen::default();
    for seed in 0..400 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let config = Config {
            max_columns: 5,
            max_depth: 2,
            allow: |data_type| match data_type {
                DataType::Dictionary(_, values) => !is_nested(values),
                DataType::RunEndEncoded(_, values) => !is_nested(values.data_type()),
                // Arrow's kernels lose the number of values.
                DataType::FixedSizeBinary(0) => false,
                _ => true,
            },
            ..Config::default()
        };
        let schema = Arc::new(random_schema(rng, &config));
        let most = if rng.random_bool(0.2) { 3000 } else { 60 };
        let batches: Vec<RecordBatch> = (0..rng.random_range(1..4))
            .map(|_| {
                let rows = rng.random_range(1..most);
                random_batch(rng, &schema, rows)
            })
            .collect();
        let profiles = [
            Profile::Plain,
            Profile::Balanced,
            #[cfg(feature = "zstd")]
            Profile::HighCompression,
        ];
        let mut options =
            WriterOptions::default().with_profile(profiles[rng.random_range(0..profiles.len())]);
        if rng.random_bool(0.3) {
            options = options.with_bloom_filter_enabled(true);
        }
        let shard = shard_of(&schema, &batches, options);
        let report = shard.verify().unwrap();
        assert!(
            report.problems().is_empty(),
            "seed {seed}: {:?}",
            report.problems()
        );
        // Names may be duplicate.
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let stripes = shard.stripe_statistics(all.clone()).unwrap();
        let whole = shard.statistics(all).unwrap();
        let mut hold = |row: &RecordBatch, i: usize, columns: &[ArrayRef]| {
            let mut expected = Vec::new();
            for (field, column) in schema.fields().iter().zip(columns) {
                targets(field.name().clone(), column, None, &mut expected);
            }
            assert_eq!(row.num_columns(), expected.len() + 1);
            let rows = row.column(0).as_primitive::<UInt64Type>().value(i);
            assert_eq!(rows, columns.first().map_or(rows, |c| c.len() as u64));
            for (at, (path, values, nulls)) in expected.iter().enumerate() {
                let found = row.column(at + 1).as_struct();
                assert_eq!(row.schema().field(at + 1).name(), path, "seed {seed}");
                eprintln!("seed {seed}, `{path}`: {}", values.data_type());
                check(found, i, values, nulls.as_ref(), &mut seen);
            }
        };
        for (i, batch) in batches.iter().enumerate() {
            hold(&stripes, i, batch.columns());
        }
        let columns: Option<Vec<ArrayRef>> = (0..schema.fields().len())
            .map(|column| {
                let parts: Vec<ArrayRef> =
                    batches.iter().map(|b| plain(b.column(column))).collect();
                let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
                concat(&parts).ok()
            })
            .collect();
        if let Some(columns) = columns {
            hold(&whole, 0, &columns);
        }
    }
    let least = [
        seen.null_counts > 3000,
        seen.constants > 100,
        seen.variables > 400,
        seen.distinct > 1000,
        seen.bounds > 1000,
        seen.exact > 800,
    ];
    assert_eq!(least, [true; 6], "{seen:?}");
}

/// Returns the descriptor of a column in the only stripe.
fn descriptor(shard: &Shard, id: u32) -> FieldDescriptor {
    shard.stripe_field_descriptor(0, id).unwrap().unwrap().field
}

fn one_column(name: &str, array: ArrayRef, options: WriterOptions) -> FieldDescriptor {
    let batch = RecordBatch::try_from_iter([(name, array)]).unwrap();
    let shard = Shard::from_bytes(written_bytes(&[batch], options)).unwrap();
    descriptor(&shard, 0)
}

/// Returns values like random hashes.
fn uuids(n: u64) -> ArrayRef {
    let values = (0..n).map(|i| {
        let half = |k: u64| {
            (i + k)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(29)
                .wrapping_mul(0xBF58_476D_1CE4_E5B9)
        };
        [half(1).to_le_bytes(), half(1 << 40).to_le_bytes()].concat()
    });
    Arc::new(FixedSizeBinaryArray::try_from_iter(values).unwrap())
}

#[test]
fn filters_are_made_where_they_pay_or_are_asked_for() {
    let default = WriterOptions::default;
    let filter = |array, options| one_column("c", array, options).bloom_filter;
    let found = filter(uuids(20_000), default()).expect("random values of 16 bytes");
    assert_eq!(
        (found.num_values, found.num_blocks, found.target_fpp),
        (20_000, 1024, 0.01)
    );
    let never = default().with_bloom_filter_enabled(false);
    assert!(filter(uuids(20_000), never).is_none());
    let words = |n: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            (0..20_000).map(|i| format!("word {}", i % n)),
        ))
    };
    assert!(filter(words(1), default()).is_none(), "a constant");
    assert!(
        filter(words(100), default()).is_none(),
        "the dictionary answers"
    );
    let numbers = || -> ArrayRef { Arc::new(Int64Array::from_iter_values(0..20_000)) };
    assert!(
        filter(numbers(), default()).is_none(),
        "numbers have ranges"
    );
    let asked = default()
        .with_bloom_filter_enabled(true)
        .with_bloom_filter_fpp(0.1);
    for (array, values) in [(words(100), 100), (numbers(), 20_000)] {
        let found = filter(array, asked.clone()).expect("asked for");
        assert_eq!((found.num_values, found.target_fpp), (values, 0.1));
    }
    let own = ColumnOptions::default()
        .with_bloom_filter_enabled(true)
        .with_bloom_filter_fpp(0.5);
    let found = filter(numbers(), default().with_column("c", own)).unwrap();
    assert_eq!(found.target_fpp, 0.5);
    // The reference implementation reads only filters of few values, and of bytes.
    let reference = || default().with_wire(Wire::Reference);
    assert!(filter(words(100), reference()).is_some());
    assert!(filter(words(2000), reference()).is_none());
    assert!(filter(numbers(), reference().with_bloom_filter_enabled(true)).is_none());
    for fpp in [0.0, 1.0, f64::NAN, -1.0] {
        let error = ShardWriter::try_new(
            Vec::new(),
            Arc::new(Schema::empty()),
            default().with_bloom_filter_fpp(fpp),
        );
        assert_eq!(error.err().unwrap().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn without_statistics_only_counts_and_constants_are_told() {
    let array: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(2.0)]));
    let off = WriterOptions::default().with_statistics_enabled(false);
    let own = ColumnOptions::default().with_statistics_enabled(false);
    let column = WriterOptions::default().with_column("c", own);
    for options in [off, column] {
        let expected = FieldDescriptor {
            position_count: 3,
            null_count: Some(1),
            raw_data_size: Some(16),
            ..FieldDescriptor::default()
        };
        let mut found = one_column("c", array.clone(), options.clone());
        found.custom_properties.clear();
        assert_eq!(found, expected);
        let same: ArrayRef = Arc::new(StringArray::from(vec!["x"; 5]));
        assert_eq!(
            one_column("c", same, options).constant_value,
            Some("x".into())
        );
    }
}

#[test]
fn stripes_of_either_zero_make_no_constant() {
    let stripe = |zero: f64| {
        let values: ArrayRef = Arc::new(Float64Array::from_value(zero, 10));
        RecordBatch::try_from_iter([("c", values)]).unwrap()
    };
    for (zeros, expected) in [([0.0, 0.0], Some(0.0)), ([-0.0, 0.0], None)] {
        let batches = zeros.map(stripe);
        let shard = shard_of(&batches[0].schema(), &batches, WriterOptions::default());
        let node = &shard.shard_schema().unwrap().fields[0].data_type;
        let field = shard.field_descriptor(node.schema_id).unwrap().unwrap();
        assert_eq!(field.constant_value, expected.map(AnyValue::from));
    }
}

#[test]
fn range_indexes_are_written_where_they_pay_and_tell_where_values_are() {
    let sorted: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_000));
    let mixed: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..10_000).map(|i| i * 7919 % 10_000),
    ));
    let batch = RecordBatch::try_from_iter([("sorted", sorted), ("mixed", mixed)]).unwrap();
    for wire in [Wire::Spec, Wire::Reference] {
        let options = WriterOptions::default().with_wire(wire);
        let shard =
            Shard::from_bytes(written_bytes(std::slice::from_ref(&batch), options)).unwrap();
        let schema = shard.shard_schema().unwrap();
        let node = |i: usize| &schema.fields[i].data_type;
        let index = shard.range_index(0, node(0)).unwrap().expect("it pays");
        let range = |block: IndexedBlock| (block.positions, block.range);
        let expected = (0..10_000i64).step_by(256).map(|first| {
            let end = (first + 256).min(10_000);
            let positions = first.cast_unsigned()..end.cast_unsigned();
            (positions, Some((first.into(), (end - 1).into())))
        });
        assert!(index.blocks().map(range).eq(expected));
        assert_eq!(shard.range_index(0, node(1)).unwrap(), None);
    }
}
