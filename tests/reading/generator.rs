//! Tests the generators of random data, and the comparison, that other tests use.

use crate::common::arrays::{MAX_ROWS, random_array, random_batch, with_nulls};
use crate::common::equal::{arrays_equal, assert_equal, assert_values_equal, values_equal};
use crate::common::schemas::{Config, any_type, is_union, kinds, random_schema};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Int8Type, Int32Type,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, ListArray, RecordBatch, RunArray,
    StringArray, StructArray, UnionArray, make_array,
};
use arrow_buffer::NullBuffer;
use arrow_cast::display::array_value_to_string;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema, SchemaRef, UnionFields, UnionMode};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::sync::Arc;

const SEEDS: u64 = 60;

/// Returns a batch of a random schema, and the random generator.
fn batch(seed: u64) -> (RecordBatch, StdRng) {
    let mut rng = StdRng::seed_from_u64(seed);
    let schema: SchemaRef = Arc::new(random_schema(&mut rng, &Config::default()));
    let rows = if seed.is_multiple_of(9) {
        0
    } else {
        rng.random_range(1..120)
    };
    (random_batch(&mut rng, &schema, rows), rng)
}

#[test]
fn every_type_appears_within_a_few_hundred_seeds() {
    let mut seen = BTreeSet::new();
    let mut extensions = BTreeSet::new();
    let mut odd = [false; 5];
    for seed in 0..400 {
        let schema = random_schema(&mut StdRng::seed_from_u64(seed), &Config::default());
        seen.extend(kinds(&schema));
        let names: Vec<_> = schema.fields().iter().map(|f| f.name()).collect();
        let distinct: BTreeSet<_> = names.iter().collect();
        odd[0] |= names.iter().any(|name| name.is_empty());
        odd[1] |= distinct.len() < names.len();
        odd[2] |= schema.fields().is_empty();
        odd[3] |= !schema.metadata().is_empty();
        for field in schema.fields() {
            odd[4] |= !field.is_nullable();
            extensions.extend(field.metadata().get("ARROW:extension:name").cloned());
        }
    }
    assert_eq!(odd, [true; 5]);
    assert!(extensions.contains("arrow.uuid") && extensions.contains("arrow.json"));
    let mut expected: BTreeSet<String> = [
        "Null",
        "Boolean",
        "Int8",
        "Int16",
        "Int32",
        "Int64",
        "UInt8",
        "UInt16",
        "UInt32",
        "UInt64",
        "Float16",
        "Float32",
        "Float64",
        "Date32",
        "Date64",
        "Time32(s)",
        "Time32(ms)",
        "Time64(µs)",
        "Time64(ns)",
        "Duration(s)",
        "Duration(ms)",
        "Duration(µs)",
        "Duration(ns)",
        "Interval(YearMonth)",
        "Interval(DayTime)",
        "Interval(MonthDayNano)",
        "Binary",
        "LargeBinary",
        "BinaryView",
        "Utf8",
        "LargeUtf8",
        "Utf8View",
        "FixedSizeBinary",
        "FixedSizeBinary 0",
        "List",
        "LargeList",
        "ListView",
        "LargeListView",
        "FixedSizeList",
        "FixedSizeList 0",
        "Struct",
        "Struct empty",
        "Map true",
        "Map false",
        "Union Sparse",
        "Union Dense",
        "RunEndEncoded Int16",
        "RunEndEncoded Int32",
        "RunEndEncoded Int64",
    ]
    .map(str::to_owned)
    .into();
    for unit in ["s", "ms", "µs", "ns"] {
        expected.extend([true, false].map(|zone| format!("Timestamp {unit} {zone}")));
    }
    for bits in [32, 64, 128, 256] {
        expected.extend(["", " negative scale"].map(|sign| format!("Decimal{bits}{sign}")));
    }
    for bits in [8, 16, 32, 64] {
        expected.extend(["Int", "UInt"].map(|int| format!("Dictionary {int}{bits}")));
    }
    assert_eq!(seen, expected);
}

/// Returns whether two arrays are equal in every byte, also below nulls and outside of slices.
fn same_buffers(a: &ArrayData, b: &ArrayData) -> bool {
    let children = a.child_data().iter().zip(b.child_data());
    (a.len(), a.offset(), a.nulls()) == (b.len(), b.offset(), b.nulls())
        && a.data_type() == b.data_type()
        && a.buffers() == b.buffers()
        && children.fold(true, |same, (a, b)| same && same_buffers(a, b))
}

#[test]
fn a_seed_always_gives_the_same_batch() {
    for seed in 0..SEEDS {
        let (one, other) = (batch(seed).0, batch(seed).0);
        assert_eq!(one.schema(), other.schema());
        for (a, b) in one.columns().iter().zip(other.columns()) {
            assert!(same_buffers(&a.to_data(), &b.to_data()), "seed {seed}");
        }
    }
}

#[test]
fn every_batch_is_valid_arrow() {
    for seed in 0..SEEDS * 3 {
        let (batch, _) = batch(seed);
        for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
            column.to_data().validate_full().unwrap();
            if !field.is_nullable() {
                assert_eq!(column.logical_null_count(), 0, "seed {seed}: {field}");
            }
        }
    }
}

#[test]
fn the_largest_batches_can_be_made() {
    let mut rng = StdRng::seed_from_u64(5);
    let config = Config {
        max_depth: 2,
        max_columns: 3,
        ..Config::default()
    };
    for _ in 0..6 {
        let schema = Arc::new(random_schema(&mut rng, &config));
        let batch = random_batch(&mut rng, &schema, MAX_ROWS);
        assert_eq!(batch.num_rows(), MAX_ROWS);
    }
}

#[test]
fn only_allowed_types_are_made() {
    let config = Config {
        allow: |data_type| !matches!(data_type, DataType::Union(_, _) | DataType::Utf8),
        ..Config::default()
    };
    for seed in 0..200 {
        let schema = random_schema(&mut StdRng::seed_from_u64(seed), &config);
        for field in schema.fields() {
            let mut forbidden = |t: &DataType| matches!(t, DataType::Union(_, _) | DataType::Utf8);
            assert!(!any_type(field.data_type(), &mut forbidden), "{field}");
        }
    }
}

/// Counts features at all levels of the arrays of some batches.
#[derive(Default, Debug)]
struct Seen {
    nulls: usize,
    offsets: usize,
    bit_offsets: usize,
    garbage: usize,
    huge_lists: usize,
    long_views: usize,
}

impl Seen {
    fn look(&mut self, data: &ArrayData) {
        let array = make_array(data.clone());
        self.nulls += usize::from(data.null_count() > 0);
        self.offsets += usize::from(data.offset() > 0);
        self.bit_offsets += usize::from(data.nulls().is_some_and(|nulls| nulls.offset() % 8 > 0));
        if let Some(list) = array.as_list_opt::<i32>() {
            let nulls = list.nulls();
            let null = |i| nulls.is_some_and(|nulls| nulls.is_null(i));
            self.garbage += (0..list.len())
                .filter(|i| null(*i) && list.value_length(*i) > 0)
                .count();
            self.huge_lists += (0..list.len())
                .filter(|i| list.value_length(*i) > 30)
                .count();
        }
        if let Some(views) = array.as_string_view_opt() {
            self.long_views += usize::from(views.data_buffers().len() > 1);
        }
        for child in data.child_data() {
            self.look(child);
        }
    }
}

#[test]
fn nulls_slices_garbage_and_huge_lists_appear_at_every_level() {
    let mut top = Seen::default();
    let mut below = Seen::default();
    for seed in 0..SEEDS * 3 {
        for column in batch(seed).0.columns() {
            let data = column.to_data();
            top.look(&data);
            data.child_data().iter().for_each(|child| below.look(child));
        }
    }
    for seen in [&top, &below] {
        let Seen {
            nulls,
            offsets,
            bit_offsets,
            garbage,
            huge_lists,
            long_views,
        } = seen;
        for count in [nulls, offsets, bit_offsets, garbage, huge_lists, long_views] {
            assert!(*count > 0, "{seen:?}");
        }
    }
}

fn check_decimals<T: DecimalType>(new: fn(u8, i8) -> DataType) {
    let mut rng = StdRng::seed_from_u64(1);
    let mut beyond = 0;
    for precision in 1..=T::MAX_PRECISION {
        let field = Field::new("d", new(precision, -2), true);
        for _ in 0..5 {
            let array = random_array(&mut rng, &field, 30);
            let decimals = array.as_primitive::<T>();
            for (i, value) in decimals.values().iter().enumerate() {
                let fits = T::is_valid_decimal_precision(*value, precision);
                assert!(fits || decimals.is_null(i), "{value:?} in {field}");
                beyond += usize::from(!fits);
            }
        }
    }
    assert!(beyond > 0, "garbage under nulls");
}

#[test]
fn decimals_keep_their_precision_except_under_nulls() {
    check_decimals::<Decimal32Type>(DataType::Decimal32);
    check_decimals::<Decimal64Type>(DataType::Decimal64);
    check_decimals::<Decimal128Type>(DataType::Decimal128);
    check_decimals::<Decimal256Type>(DataType::Decimal256);
}

#[test]
fn json_columns_hold_json() {
    let metadata = [("ARROW:extension:name".to_owned(), "arrow.json".to_owned())];
    let field = Field::new("j", DataType::Utf8, true).with_metadata(metadata.into());
    let mut rng = StdRng::seed_from_u64(2);
    for _ in 0..30 {
        for text in random_array(&mut rng, &field, 50)
            .as_string::<i32>()
            .iter()
            .flatten()
        {
            serde_json::from_str::<serde_json::Value>(text).unwrap();
        }
    }
}

#[test]
fn every_schema_survives_an_arrow_schema_message() {
    for seed in 0..300 {
        let schema = random_schema(&mut StdRng::seed_from_u64(seed), &Config::default());
        let mut tracker = arrow_ipc::writer::DictionaryTracker::new(false);
        let message = arrow_ipc::convert::IpcSchemaEncoder::new()
            .with_dictionary_tracker(&mut tracker)
            .schema_to_fb(&schema);
        let read = arrow_ipc::root_as_schema(message.finished_data()).unwrap();
        assert_eq!(
            arrow_ipc::convert::fb_to_schema(read),
            schema,
            "seed {seed}"
        );
    }
}

/// Concatenates ranges of arrays.
fn join(parts: &[(&ArrayRef, std::ops::Range<usize>)]) -> ArrayRef {
    let parts: Vec<_> = parts
        .iter()
        .map(|(array, rows)| array.slice(rows.start, rows.len()))
        .collect();
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    arrow_select::concat::concat(&parts).unwrap()
}

#[test]
fn a_batch_equals_itself_and_its_copy_put_together_from_slices() {
    for seed in 0..SEEDS * 3 {
        let (batch, _) = batch(seed);
        assert_equal(&batch, &batch);
        for column in batch.columns() {
            let half = column.len() / 2;
            let copy = join(&[(column, 0..half), (column, half..column.len())]);
            arrays_equal(column, &copy).unwrap();
        }
    }
}

#[test]
fn one_changed_value_of_any_type_is_found_in_its_row() {
    let mut changed = BTreeSet::new();
    for seed in 0..SEEDS * 5 {
        let (batch, mut rng) = batch(seed);
        let rows = batch.num_rows();
        if rows == 0 {
            continue;
        }
        for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
            let other = random_array(&mut rng, field, rows);
            let row = rng.random_range(0..rows);
            // Values with different texts are different; the converse does not hold.
            let text = |array| array_value_to_string(array, row).ok();
            let (old, new) = (text(column), text(&other));
            if old.is_none() || old == new {
                continue;
            }
            let mutant = join(&[
                (column, 0..row),
                (&other, row..row + 1),
                (column, row + 1..rows),
            ]);
            let difference = arrays_equal(column, &mutant).unwrap_err();
            assert!(
                difference.contains(&format!("row {row}:")),
                "seed {seed}: {difference}"
            );
            let schema = Schema::new(vec![field.clone()]);
            changed.extend(kinds(&schema));
        }
    }
    assert!(changed.len() > 55, "only {changed:?}");
}

#[test]
fn one_more_null_of_any_type_is_found_in_its_row() {
    let mut hidden = BTreeSet::new();
    for seed in 0..SEEDS * 5 {
        let (batch, mut rng) = batch(seed);
        for column in batch.columns() {
            let rows = column.len();
            let valid = column
                .logical_nulls()
                .unwrap_or_else(|| NullBuffer::new_valid(rows));
            let data_type = column.data_type();
            let no_validity = is_union(data_type)
                || matches!(data_type, DataType::Null | DataType::RunEndEncoded(_, _));
            if no_validity || valid.null_count() == rows {
                continue;
            }
            let row = valid
                .valid_indices()
                .nth(rng.random_range(0..rows - valid.null_count()))
                .unwrap();
            let nulls: NullBuffer = (0..rows).map(|i| valid.is_valid(i) && i != row).collect();
            let mutant = with_nulls(column, &nulls);
            for (expected, actual) in [(column, &mutant), (&mutant, column)] {
                let difference = arrays_equal(expected, actual).unwrap_err();
                assert!(
                    difference.starts_with(&format!(", row {row}:")),
                    "{difference}"
                );
                assert!(difference.contains("null"), "{difference}");
            }
            hidden.insert(column.data_type().to_string());
        }
    }
    assert!(hidden.len() > 100, "only {hidden:?}");
}

#[track_caller]
fn assert_differ(a: impl Array + 'static, b: impl Array + 'static, expected: &str) {
    let (a, b): (ArrayRef, ArrayRef) = (Arc::new(a), Arc::new(b));
    let difference = values_equal(&a, &b).unwrap_err();
    assert!(difference.contains(expected), "{difference}");
    assert!(arrays_equal(&a, &b).is_err());
}

#[test]
fn floats_are_equal_if_their_bits_are() {
    let nan = f64::from_bits(0x7ff8_0000_0000_0001);
    let of = |value| Float64Array::from(vec![1.0, value]);
    assert_differ(of(0.0), of(-0.0), ", row 1: expected 0.0, found -0.0");
    assert_differ(of(f64::NAN), of(nan), ", row 1: expected NaN, found NaN");
    let same: ArrayRef = Arc::new(of(nan));
    arrays_equal(&same, &same.clone()).unwrap();
}

#[test]
fn what_lies_under_a_null_does_not_count() {
    let of = |hidden| {
        let nulls = Some(NullBuffer::from(vec![true, false]));
        Arc::new(Int32Array::new(vec![1, hidden].into(), nulls)) as ArrayRef
    };
    arrays_equal(&of(2), &of(3)).unwrap();
    let inner: fn(i32) -> ArrayRef = |value| Arc::new(Int32Array::from(vec![7, value]));
    let field = Arc::new(Field::new("x", DataType::Int32, false));
    let of = |hidden| {
        let nulls = Some(NullBuffer::from(vec![true, false]));
        Arc::new(StructArray::new(
            vec![field.clone()].into(),
            vec![inner(hidden)],
            nulls,
        )) as ArrayRef
    };
    arrays_equal(&of(2), &of(3)).unwrap();
}

#[test]
fn dictionaries_and_runs_are_equal_to_their_values() {
    let plain: ArrayRef = Arc::new(StringArray::from(vec![
        Some("b"),
        Some("b"),
        None,
        Some("a"),
        None,
    ]));
    let dictionary = |keys: Vec<Option<i8>>, values: Vec<Option<&str>>| -> ArrayRef {
        let values = Arc::new(StringArray::from(values));
        Arc::new(DictionaryArray::<Int8Type>::new(keys.into(), values))
    };
    let one = dictionary(
        vec![Some(0), Some(0), None, Some(1), None],
        vec![Some("b"), Some("a")],
    );
    let other = dictionary(
        vec![Some(3), Some(2), Some(0), Some(1), None],
        vec![None, Some("a"), Some("b"), Some("b"), Some("unused")],
    );
    arrays_equal(&one, &other).unwrap();
    values_equal(&plain, &other).unwrap();
    assert!(arrays_equal(&plain, &other).is_err(), "types count");

    let nested: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(
        vec![Some(0), Some(1), Some(2), Some(4), None].into(),
        other.slice(0, 5).clone(),
    ));
    let mapped = dictionary(vec![Some(0), Some(0), None, None, None], vec![Some("b")]);
    values_equal(&mapped, &nested).unwrap();

    let run = |ends: Vec<i32>, values: Vec<Option<&str>>| -> ArrayRef {
        let values = StringArray::from(values);
        Arc::new(RunArray::<Int32Type>::try_new(&ends.into(), &values).unwrap())
    };
    let one = run(vec![2, 3, 4, 5], vec![Some("b"), None, Some("a"), None]);
    let other = run(
        vec![1, 2, 3, 4, 9],
        vec![Some("b"), Some("b"), None, Some("a"), None],
    );
    arrays_equal(&one, &other.slice(0, 5)).unwrap();
    values_equal(&plain, &one).unwrap();
    let difference = values_equal(&plain, &other.slice(1, 5)).unwrap_err();
    assert_eq!(difference, ", row 1: expected b, found null");
}

#[test]
fn dense_and_sparse_unions_of_the_same_values_are_equal() {
    let fields = || {
        let fields = [
            Field::new("i", DataType::Int32, true),
            Field::new("f", DataType::Float64, true),
        ];
        UnionFields::try_new([5, 2], fields).unwrap()
    };
    let union = |ids: Vec<i8>, offsets: Option<Vec<i32>>, i: Vec<Option<i32>>, f: Vec<f64>| {
        let children: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(i)),
            Arc::new(Float64Array::from(f)),
        ];
        UnionArray::try_new(fields(), ids.into(), offsets.map(Into::into), children).unwrap()
    };
    let sparse = union(
        vec![5, 2, 5],
        None,
        vec![Some(1), Some(9), None],
        vec![0.0, 2.0, 7.0],
    );
    let dense = union(
        vec![5, 2, 5],
        Some(vec![1, 0, 2]),
        vec![None, Some(1), None],
        vec![2.0],
    );
    let (a, b): (ArrayRef, ArrayRef) = (Arc::new(sparse.clone()), Arc::new(dense));
    values_equal(&a, &b).unwrap();
    assert!(matches!(
        a.data_type(),
        DataType::Union(_, UnionMode::Sparse)
    ));
    assert!(arrays_equal(&a, &b).is_err(), "modes count");
    let other = union(
        vec![5, 2, 2],
        None,
        vec![Some(1), None, None],
        vec![0.0, 2.0, 7.0],
    );
    assert_differ(
        sparse.clone(),
        other,
        ", row 2: expected type id 5, found type id 2",
    );
    let other = union(
        vec![5, 2, 5],
        None,
        vec![Some(1), None, Some(4)],
        vec![0.0, 2.0, 7.0],
    );
    assert_differ(sparse, other, ".<5>, row 2: expected null, found 4");
}

#[test]
fn lists_differ_in_length_items_and_between_null_and_empty() {
    let list = |lists: Vec<Option<Vec<Option<i32>>>>| {
        ListArray::from_iter_primitive::<Int32Type, _, _>(lists)
    };
    let base = || list(vec![Some(vec![Some(1), Some(2)]), Some(vec![]), None]);
    let other = list(vec![Some(vec![Some(1), Some(3)]), Some(vec![]), None]);
    assert_differ(base(), other, "[], row 0: expected 2, found 3");
    let other = list(vec![Some(vec![Some(1), Some(2)]), None, None]);
    assert_differ(base(), other, ", row 1: expected [], found null");
    let other = list(vec![Some(vec![Some(1)]), Some(vec![]), None]);
    assert_differ(
        base(),
        other,
        ", row 0: expected a list of 2, found a list of 1",
    );
    assert_differ(base(), base().slice(0, 2), ": expected 3 values, found 2");
}

#[test]
#[should_panic(expected = "column 1 `x`, row 1: expected 2.0, found 3.0")]
fn unequal_batches_panic_with_column_and_row() {
    let of = |values: Vec<f64>| {
        let columns: [(_, ArrayRef); 2] = [
            ("x", Arc::new(Float64Array::from(vec![1.0; values.len()]))),
            ("x", Arc::new(Float64Array::from(values))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    assert_values_equal(&of(vec![1.0, 2.0]), &of(vec![1.0, 3.0]));
}

#[test]
#[should_panic(expected = "schema")]
fn batches_of_different_nullability_are_not_equal() {
    let of = |nullable| {
        let schema = Schema::new(vec![Field::new("x", DataType::Float64, nullable)]);
        let column: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
        RecordBatch::try_new(Arc::new(schema), vec![column]).unwrap()
    };
    assert_equal(&of(true), &of(false));
}
