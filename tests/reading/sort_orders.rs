//! Declared sort orders, which verification checks, and writers on request.

use crate::common::arrays::random_batch;
use crate::common::schemas::{Config, any_type, random_schema};
use crate::support::{NAME, opened, written};
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, StructArray, UInt32Array,
};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field, SchemaRef, SortOptions};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use arrow_shard::metadata::SortingColumn;
use arrow_shard::ops::ShardEditor;
use arrow_shard::read::Problem;
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

fn by(path: &str, descending: bool, nulls_first: bool) -> SortingColumn {
    SortingColumn {
        path: path.to_owned(),
        descending,
        nulls_first,
    }
}

fn one(column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("a", column, true)]).unwrap()
}

fn numbers(values: impl IntoIterator<Item = Option<i32>>) -> RecordBatch {
    one(Arc::new(values.into_iter().collect::<Int32Array>()))
}

fn declared(columns: &[SortingColumn]) -> WriterOptions {
    WriterOptions::default().with_sorting_columns(columns.to_vec())
}

/// Returns the problems that verification finds in a shard of these rows.
fn problems(batch: &RecordBatch, options: WriterOptions) -> Vec<Problem> {
    let folder = written(&batch.schema(), std::slice::from_ref(batch), options).unwrap();
    opened(&folder)
        .unwrap()
        .verify()
        .unwrap()
        .problems()
        .to_vec()
}

/// Returns the column and the row in the error of a writer of these batches.
fn refused(batches: &[RecordBatch], options: WriterOptions) -> Option<(String, String)> {
    let options = options.with_sorting_columns_checked(true);
    match written(&batches[0].schema(), batches, options) {
        Ok(_) => None,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            let row = error.message().split(" of the shard").next().unwrap();
            Some((error.element(), row.to_owned()))
        }
    }
}

/// Checks that verification and a writer report this row and column, or no problem.
fn check(batch: &RecordBatch, options: &WriterOptions, expected: Option<(&str, usize)>) {
    let found = problems(batch, options.clone());
    let context = format!("{found:?}, {options:?}");
    match expected {
        None => assert_eq!(found, [], "{context}"),
        Some((path, row)) => {
            let stripe = row as u64 / options.stripe_rows();
            let in_stripe = row as u64 % options.stripe_rows();
            let first = &found[0];
            assert_eq!(first.field.as_deref(), Some(path), "{context}");
            assert_eq!(first.stripe, Some(stripe), "{context}");
            assert_eq!(first.kind, ErrorKind::Corrupt, "{context}");
            let place = format!("row {in_stripe} of the stripe, row {row} of the shard");
            assert!(first.message.starts_with(&place), "{context}");
        }
    }
    let whole = refused(std::slice::from_ref(batch), options.clone());
    let named = expected.map(|(path, row)| (format!("column `{path}`"), format!("row {row}")));
    assert_eq!(whole, named, "{context}");
    let pieces: Vec<RecordBatch> = (0..batch.num_rows()).map(|i| batch.slice(i, 1)).collect();
    if !pieces.is_empty() {
        assert_eq!(refused(&pieces, options.clone()), named, "{context}");
    }
}

#[test]
fn a_false_order_is_found_where_it_breaks() {
    let rows = [Some(1), Some(1), Some(5), Some(4), Some(9), None];
    let batch = numbers(rows);
    for stripe_rows in [1, 2, 3, 4, 100] {
        let options = |column| declared(&[column]).with_stripe_rows(stripe_rows);
        check(&batch, &options(by("a", false, false)), Some(("a", 3)));
        check(&batch, &options(by("a", true, false)), Some(("a", 2)));
        check(&batch, &options(by("a", false, true)), Some(("a", 3)));
    }
    let sorted = numbers([Some(1), Some(1), Some(4), Some(5), None, None]);
    check(&sorted, &declared(&[by("a", false, false)]), None);
    check(&sorted, &declared(&[by("a", false, true)]), Some(("a", 4)));
    let descending = numbers([None, Some(3), Some(3), Some(i32::MIN)]);
    check(&descending, &declared(&[by("a", true, true)]), None);
    check(
        &descending,
        &declared(&[by("a", true, false)]),
        Some(("a", 1)),
    );
    check(&numbers([]), &declared(&[by("a", false, false)]), None);
    check(&numbers([None; 7]), &declared(&[by("a", true, true)]), None);
}

#[test]
fn columns_count_in_the_order_in_which_they_are_declared() {
    let columns = |a: &[i32], b: &[&str]| {
        let a = Arc::new(Int32Array::from(a.to_vec())) as ArrayRef;
        let b = Arc::new(StringArray::from(b.to_vec())) as ArrayRef;
        RecordBatch::try_from_iter([("a", a), ("b", b)]).unwrap()
    };
    let batch = columns(&[1, 1, 2, 2, 3], &["x", "y", "a", "b", "a"]);
    let (a, b) = (by("a", false, false), by("b", false, false));
    check(&batch, &declared(&[a.clone(), b.clone()]), None);
    check(&batch, &declared(std::slice::from_ref(&a)), None);
    check(&batch, &declared(&[b.clone(), a.clone()]), Some(("b", 2)));
    let broken = columns(&[1, 1, 2, 2, 3], &["x", "y", "b", "a", "a"]);
    check(&broken, &declared(&[a.clone(), b]), Some(("b", 3)));
    let descending = by("b", true, false);
    check(&broken, &declared(&[a, descending]), Some(("b", 1)));
}

#[test]
fn floats_are_in_total_order_and_texts_by_their_bytes() {
    let floats = |values: &[f64]| one(Arc::new(Float64Array::from(values.to_vec())));
    let all = [
        -f64::NAN,
        f64::NEG_INFINITY,
        -1.5,
        -0.0,
        0.0,
        2.0,
        f64::INFINITY,
        f64::NAN,
    ];
    let ascending = declared(&[by("a", false, false)]);
    check(&floats(&all), &ascending, None);
    check(&floats(&[0.0, -0.0]), &ascending, Some(("a", 1)));
    check(&floats(&[f64::NAN, 1.0]), &ascending, Some(("a", 1)));
    let texts = |values: &[&str]| one(Arc::new(StringArray::from(values.to_vec())));
    check(&texts(&["", "Z", "a", "ab", "ä", "猫"]), &ascending, None);
    check(&texts(&["a", "Z"]), &ascending, Some(("a", 1)));
    // The keys of a dictionary are not in the order of its entries.
    let mut coded = StringDictionaryBuilder::<Int8Type>::new();
    ["z", "a"].iter().for_each(|entry| {
        coded.append(entry).unwrap();
    });
    let coded = Arc::new(coded.finish()) as ArrayRef;
    check(&one(coded.clone()), &ascending, Some(("a", 1)));
    check(&one(coded), &declared(&[by("a", true, false)]), None);
}

#[test]
fn members_of_structs_are_null_where_the_struct_is() {
    let member = Arc::new(Field::new("n", DataType::Int32, true));
    let values = Int32Array::from(vec![Some(1), Some(9), Some(2), None, Some(0)]);
    let nulls = NullBuffer::from(vec![true, false, true, true, false]);
    let column = StructArray::new(vec![member].into(), vec![Arc::new(values)], Some(nulls));
    let batch = one(Arc::new(column));
    let last = declared(&[by("a.n", false, false)]);
    check(&batch, &last, Some(("a.n", 2)));
    let order = UInt32Array::from(vec![0, 2, 1, 3, 4]);
    let sorted = take_record_batch(&batch, &order).unwrap();
    check(&sorted, &last, None);
    check(
        &sorted,
        &declared(&[by("a.n", false, true)]),
        Some(("a.n", 2)),
    );
}

#[test]
fn a_refused_batch_leaves_the_writer_as_it_was() {
    let options = declared(&[by("a", false, false)])
        .with_sorting_columns_checked(true)
        .with_stripe_rows(2);
    let first = numbers([Some(1), Some(2), Some(5)]);
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, first.schema(), options).unwrap();
    writer.write(&first).unwrap();
    for rows in [[Some(6), Some(5)], [Some(4), Some(9)]] {
        let error = writer.write(&numbers(rows)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    writer.write(&numbers([Some(5), None])).unwrap();
    let summary = writer.finish().unwrap();
    assert_eq!(summary.num_rows(), 5);
    let report = Shard::from_bytes(file.into()).unwrap().verify().unwrap();
    assert!(report.is_sound(), "{:?}", report.problems());
}

#[test]
fn deleted_rows_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let batch = numbers([9, 1, 2, 0, 3, 4, 0, 5].map(Some));
    let options = declared(&[by("a", false, false)]).with_stripe_rows(3);
    let mut writer = ShardWriter::create_with(&path, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let rows = || {
        let report = Shard::open(&path).unwrap().verify().unwrap();
        let rows = report.problems().iter().map(|problem| {
            let text = problem
                .message
                .split(" of the shard")
                .next()
                .unwrap()
                .to_owned();
            text.rsplit(' ').next().unwrap().to_owned()
        });
        rows.collect::<Vec<String>>()
    };
    // Each stripe reports only its first problem.
    assert_eq!(rows(), ["1", "3", "6"]);
    for (deleted, left) in [(0, vec!["3", "6"]), (3, vec!["6"]), (6, vec![])] {
        let mut editor = ShardEditor::open(&path).unwrap();
        editor.delete_rows(&[deleted]).unwrap();
        editor.commit().unwrap();
        assert_eq!(rows(), left, "row {deleted} is deleted");
    }
}

#[test]
fn constant_stripes_of_any_length_are_compared_by_one_row() {
    let values = [3, 3, 3, 3, 1, 1, 1, 1];
    let batch = numbers(values.map(Some));
    let options = declared(&[by("a", false, false)]).with_stripe_rows(4);
    check(&batch, &options, Some(("a", 4)));
    check(
        &batch,
        &declared(&[by("a", true, false)]).with_stripe_rows(4),
        None,
    );
}

/// Returns rows in arrow's row format, which compares bytes.
fn rows_in_order(batch: &RecordBatch, columns: &[(usize, SortOptions)]) -> Vec<Vec<u8>> {
    let fields = columns.iter().map(|(column, options)| {
        let data_type = batch.column(*column).data_type().clone();
        SortField::new_with_options(data_type, *options)
    });
    let converter = RowConverter::new(fields.collect()).unwrap();
    let arrays: Vec<ArrayRef> = columns
        .iter()
        .map(|(column, _)| batch.column(*column).clone())
        .collect();
    let rows = converter.convert_columns(&arrays).unwrap();
    rows.iter().map(|row| row.as_ref().to_vec()).collect()
}

#[test]
fn random_rows_break_their_order_where_the_row_format_says() {
    let config = Config {
        max_depth: 0,
        max_columns: 4,
        odd_names: false,
        metadata: false,
        allow: |data_type| {
            let field = SortField::new(data_type.clone());
            let odd = any_type(data_type, &mut |t| {
                matches!(
                    t,
                    DataType::Null | DataType::Interval(_) | DataType::FixedSizeBinary(0)
                )
            });
            !odd && RowConverter::supports_fields(&[field])
        },
    };
    let mut rng = StdRng::seed_from_u64(36);
    let mut broken = 0;
    for _ in 0..120 {
        let schema: SchemaRef = Arc::new(random_schema(&mut rng, &config));
        if schema.fields().is_empty() {
            continue;
        }
        let rows = rng.random_range(2..80);
        let batch = random_batch(&mut rng, &schema, rows);
        let mut columns: Vec<usize> = (0..batch.num_columns()).collect();
        columns.shuffle(&mut rng);
        columns.truncate(rng.random_range(1..=columns.len()));
        let columns = columns.into_iter().map(|column| {
            let (descending, nulls_first) = (rng.random(), rng.random());
            let options = SortOptions {
                descending,
                nulls_first,
            };
            (column, options)
        });
        let columns: Vec<(usize, SortOptions)> = columns.collect();
        let sorting = columns.iter().map(|(column, options)| {
            let name = schema.field(*column).name();
            by(name, options.descending, options.nulls_first)
        });
        let sorting: Vec<SortingColumn> = sorting.collect();
        let keys = rows_in_order(&batch, &columns);
        let mut order: Vec<u32> = (0..).take(rows).collect();
        order.sort_by_key(|i| &keys[*i as usize]);
        let options = declared(&sorting)
            .with_stripe_rows(rng.random_range(1..50))
            .with_profile(if rng.random() {
                Profile::Plain
            } else {
                Profile::Balanced
            });
        let taken = |order: &[u32]| {
            let taken = take_record_batch(&batch, &UInt32Array::from(order.to_vec())).unwrap();
            concat_batches(&schema, [&taken]).unwrap()
        };
        check(&taken(&order), &options, None);
        let (i, j) = (rng.random_range(0..rows), rng.random_range(0..rows));
        order.swap(i, j);
        let shuffled = taken(&order);
        let keys = rows_in_order(&shuffled, &columns);
        let Some(row) = (1..rows).find(|row| keys[row - 1] > keys[*row]) else {
            continue;
        };
        broken += 1;
        let differing = columns.iter().find(|column| {
            let keys = rows_in_order(&shuffled, std::slice::from_ref(*column));
            keys[row - 1] != keys[row]
        });
        let name = schema.field(differing.unwrap().0).name();
        check(&shuffled, &options, Some((name, row)));
    }
    assert!(broken > 40, "only {broken}");
}
