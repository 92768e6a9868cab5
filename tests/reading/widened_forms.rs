//! Tables of shards with different types: what does not depend on the order of the shards, or on their profiles.

use crate::support::collect;
use crate::widened_tables::{of_type, one_column, opened, parsed, widened, widening, written};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float64Array, Int64Array, ListArray, MapArray,
    RecordBatch, Scalar, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Fields};
use arrow_shard::ErrorKind;
use arrow_shard::ops::{ShardSet, ShardSetOptions, merge};
use arrow_shard::read::{Literal, col};
use arrow_shard::write::{Profile, WriterOptions};
use std::path::PathBuf;
use std::sync::Arc;

#[test]
fn the_order_of_the_shards_does_not_matter() {
    let integers = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    for (types, wide) in [
        (["UInt64", "Utf8", "Float64"], None),
        (["UInt64", "Int8", "Float64"], Some("Float64")),
        (["Int64", "UInt64", "Int8"], Some("Decimal128(20, 0)")),
        (
            ["Int32", "UInt32", "Decimal128(5, 2)"],
            Some("Decimal128(12, 2)"),
        ),
        (["Int8", "UInt8", "Int64"], Some("Int64")),
        (["Date32", "Date64", "Timestamp(s)"], Some("Timestamp(ms)")),
        (["Null", "Float32", "Int64"], Some("Float64")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = |ty: &str| {
            let array = of_type(&integers.as_primitive().clone(), &parsed(ty));
            one_column(folder.path(), ty, array)
        };
        let files = types.map(file);
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            let files = order.map(|i| files[i].clone());
            let order = order.map(|i| types[i]);
            match (opened(&files), wide) {
                (Ok(table), Some(wide)) => {
                    let schema = table.shard().schema().unwrap();
                    assert_eq!(schema.field(0).data_type(), &parsed(wide), "{order:?}");
                    let rows = collect(table.scan().build().unwrap()).unwrap();
                    for (i, ty) in order.iter().enumerate() {
                        let own = of_type(&integers.as_primitive().clone(), &parsed(ty));
                        let expected = widened(&own, &parsed(wide));
                        assert_eq!(&rows.column(0).slice(2 * i, 2), &expected, "{order:?}");
                    }
                }
                (Err(error), None) => {
                    let text = error.to_string();
                    assert!(text.contains("Utf8"), "{order:?}: {text}");
                }
                (found, _) => panic!("{order:?}: {found:?}"),
            }
        }
    }
}

#[test]
fn integers_among_floats_keep_their_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..2_000));
    let integers = cast(&numbers, &DataType::Int32).unwrap();
    let integers = one_column(folder.path(), "integers", integers);
    let floats = cast(&numbers.slice(5, 10), &DataType::Float64).unwrap();
    let floats = one_column(folder.path(), "floats", floats);
    let nan = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
    let nan = one_column(folder.path(), "nan", nan);
    let bounds = |table: &ShardSet, is_stripe: bool| -> Vec<Option<(f64, f64)>> {
        let shard = table.shard();
        let found = if is_stripe {
            shard.stripe_statistics(["x"])
        } else {
            shard.statistics(["x"])
        };
        let found = found.unwrap();
        let known = found.column_by_name("x").unwrap().as_struct();
        let side = |name: &str| {
            known
                .column_by_name(name)
                .unwrap()
                .as_primitive::<Float64Type>()
        };
        side("min")
            .iter()
            .zip(side("max"))
            .map(|(a, b)| a.zip(b))
            .collect()
    };
    let table = opened(&[integers.clone(), floats.clone()]).unwrap();
    assert_eq!(bounds(&table, false), [Some((0.0, 1_999.0))]);
    let stripes = [
        (0.0, 699.0),
        (700.0, 1_399.0),
        (1_400.0, 1_999.0),
        (5.0, 14.0),
    ];
    assert_eq!(bounds(&table, true), stripes.map(Some));
    // NaN is above all other floats, and no bound.
    let table = opened(&[integers, floats.clone(), nan]).unwrap();
    assert_eq!(bounds(&table, false), [None]);
    assert_eq!(bounds(&table, true)[3..], [Some((5.0, 14.0)), None]);
    // A shard of equal integers is a constant, a shard of nulls has no value: neither is NaN.
    let sevens = Arc::new(Int64Array::from(vec![700; 9]));
    let sevens = one_column(folder.path(), "sevens", sevens);
    let nulls = Arc::new(Int64Array::from(vec![None::<i64>; 9]));
    let nulls = one_column(folder.path(), "nulls", nulls);
    let table = opened(&[floats.clone(), sevens.clone(), nulls]).unwrap();
    assert_eq!(bounds(&table, false), [Some((5.0, 700.0))]);
    let stripes = [Some((5.0, 14.0)), Some((700.0, 700.0)), None];
    assert_eq!(bounds(&table, true), stripes);
    let not_a_number = Arc::new(Float64Array::from(vec![f64::NAN; 9]));
    let not_a_number = one_column(folder.path(), "not_a_number", not_a_number);
    let table = opened(&[floats, sevens, not_a_number]).unwrap();
    assert_eq!(bounds(&table, false), [None]);
    assert_eq!(bounds(&table, true)[1..], [Some((700.0, 700.0)), None]);
}

#[test]
fn forms_that_profiles_store_are_one_table() {
    let numbers: Int64Array = (0..2_000).map(|i| (i % 7 != 0).then_some(i)).collect();
    let number = |ty: &str| of_type(&numbers, &parsed(ty));
    let decimal = number("Decimal128(15, 2)");
    let pairs = Fields::from(vec![
        Field::new("keys", DataType::Int64, false),
        Field::new("values", decimal.data_type().clone(), true),
    ]);
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..2_000));
    let entries = StructArray::new(pairs.clone(), vec![keys, decimal.clone()], None);
    let field = Arc::new(Field::new("entries", DataType::Struct(pairs), false));
    let offsets = OffsetBuffer::from_lengths(vec![2; 1_000]);
    let map = MapArray::new(field, offsets.clone(), entries, None, false);
    let item = Arc::new(Field::new_list_field(decimal.data_type().clone(), true));
    let fixed = FixedSizeListArray::new(item.clone(), 2, decimal.clone(), None);
    let list = ListArray::new(item, offsets, decimal.clone(), None);
    let members = Fields::from(vec![Field::new("d", decimal.data_type().clone(), true)]);
    let halves = StructArray::new(members, vec![decimal.slice(0, 1_000)], None);
    let keyed = cast(&decimal, &parsed("Dictionary(Int32, Decimal128(15, 2))")).unwrap();
    let columns: [(&str, ArrayRef); 7] = [
        ("d", decimal.slice(0, 1_000)),
        ("wide", number("Decimal256(18, 3)").slice(0, 1_000)),
        ("map", Arc::new(map)),
        ("fixed", Arc::new(fixed)),
        ("list", Arc::new(list)),
        ("struct", Arc::new(halves)),
        ("keyed", keyed.slice(0, 1_000)),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let profiles = [
        Profile::Plain,
        Profile::Balanced,
        Profile::Fast,
        Profile::Plain,
    ];
    let files: Vec<PathBuf> = (0..)
        .zip(profiles)
        .map(|(i, profile)| {
            let path = folder.path().join(format!("{i}.amudai.shard"));
            written(
                &path,
                &batch,
                WriterOptions::default().with_profile(profile),
            );
            path
        })
        .collect();
    let plain = |batch: &RecordBatch| -> Vec<ArrayRef> {
        let values = |array: &ArrayRef| match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values).unwrap(),
            _ => array.clone(),
        };
        batch.columns().iter().map(values).collect()
    };
    for options in [ShardSetOptions::default(), widening()] {
        let table = ShardSet::open_with(&files, options).unwrap();
        let schema = table.shard().schema().unwrap();
        for (found, own) in schema.fields().iter().zip(batch.schema_ref().fields()) {
            let is_keyed = matches!(own.data_type(), DataType::Dictionary(..));
            assert!(is_keyed || found.data_type() == own.data_type(), "{found}");
        }
        let read = collect(table.scan().build().unwrap()).unwrap();
        for i in 0..4 {
            let part = read.slice(i * 1_000, 1_000);
            assert_eq!(plain(&part), plain(&batch), "shard {i}");
        }
        let above = col("d").gt_eq(Literal::try_new(&Scalar::new(decimal.slice(900, 1))).unwrap());
        let found = collect(table.scan().with_filter(above).build().unwrap()).unwrap();
        let expected = (900..1_000).filter(|i| i % 7 != 0).count();
        assert_eq!(found.num_rows(), 4 * expected);
    }
    // A file has one form.
    let out = folder.path().join("merged.amudai.shard");
    let error = merge(&files, &out).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    assert!(error.to_string().contains("rewrite"), "{error}");
}
