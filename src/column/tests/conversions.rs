//! Types that differ from the stored one, and values that do not fit them.

use super::generate::{leaf_types, random_array};
use super::logical::{Value, values};
use super::source::{MemorySource, Style};
use super::{node_of, push, read_as, styles, to_arrow};
use crate::buffer::Selection;
use crate::column::{Chunk, Values, assemble, shred};
use crate::error::{Error, ErrorKind};
use crate::format::{BasicType, DataType};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int32Type, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, DictionaryArray, FixedSizeListArray, Int8Array, Int32Array,
    Int64Array, LargeStringArray, ListArray, NullArray, RunArray, StringArray, StructArray,
    TimestampSecondArray, UInt64Array,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType as ArrowType, Field, Fields, TimeUnit};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::sync::Arc;

fn dictionary_of(key: ArrowType, value: ArrowType) -> ArrowType {
    ArrowType::Dictionary(Box::new(key), Box::new(value))
}

fn runs_of(ends: ArrowType, values: ArrowType) -> ArrowType {
    ArrowType::RunEndEncoded(
        Arc::new(Field::new("run_ends", ends, false)),
        Arc::new(Field::new("values", values, true)),
    )
}

fn strings(texts: impl IntoIterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

fn error_of<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(e) => e,
    }
}

#[test]
fn every_leaf_can_be_read_as_itself_as_a_dictionary_and_as_runs() {
    let mut rng = StdRng::seed_from_u64(7);
    for leaf in leaf_types() {
        let array = random_array(&mut rng, &Field::new("c", leaf.clone(), true), 60);
        for style in styles() {
            for wanted in [
                leaf.clone(),
                dictionary_of(ArrowType::Int8, leaf.clone()),
                dictionary_of(ArrowType::UInt64, leaf.clone()),
                runs_of(ArrowType::Int16, leaf.clone()),
                dictionary_of(ArrowType::Int16, runs_of(ArrowType::Int64, leaf.clone())),
            ] {
                let read = read_as(&array, &wanted, style).unwrap();
                assert_eq!(values(&read), values(&array), "{leaf} as {wanted}");
            }
        }
    }
}

#[test]
fn strings_binaries_and_lists_change_their_layout() {
    let mut rng = StdRng::seed_from_u64(8);
    let item = Arc::new(Field::new("item", ArrowType::Utf8View, true));
    use ArrowType::*;
    let text = [Utf8, LargeUtf8, Utf8View, Binary, LargeBinary, BinaryView];
    let binary = [Binary, LargeBinary, BinaryView];
    let lists = [
        List(item.clone()),
        LargeList(item.clone()),
        ListView(item.clone()),
        LargeListView(item),
    ];
    let mut check = |from: &ArrowType, to: &ArrowType| {
        let array = random_array(&mut rng, &Field::new("c", from.clone(), true), 50);
        for style in styles() {
            let read = read_as(&array, to, style).unwrap();
            assert_eq!(values(&read), values(&array), "{from} as {to}");
        }
    };
    for group in [&text[..3], &binary, &lists] {
        for from in group {
            group.iter().for_each(|to| check(from, to));
        }
    }
    text.iter().for_each(|to| check(&Utf8, to));
}

#[test]
fn batches_of_a_stripe_share_the_values_of_its_dictionary() {
    let array = strings((0..100).map(|i| format!("value {}", i % 7)));
    let wanted = dictionary_of(ArrowType::Int16, ArrowType::Utf8);
    let field = Field::new("c", wanted, true);
    let node = node_of(&field, false);
    let style = Style {
        dictionaries: true,
        ..Style::default()
    };
    let mut source = MemorySource::new(style);
    let stored = Field::new("c", ArrowType::Utf8, true);
    push(&mut source, &stored, &node, &array).unwrap();
    let mut read = |rows| {
        let array = assemble(&field, &node, &Selection::range(rows), &mut source).unwrap();
        array
            .as_dictionary::<arrow_array::types::Int16Type>()
            .values()
            .clone()
    };
    assert!(Arc::ptr_eq(&read(0..50), &read(50..100)));
}

#[test]
fn a_dictionary_with_more_entries_than_keys_is_cut_to_the_rows_or_refused() {
    let array = strings((0..300).map(|i| format!("{i}")));
    let field = Field::new("c", dictionary_of(ArrowType::Int8, ArrowType::Utf8), true);
    let stored = Field::new("c", ArrowType::Utf8, true);
    let node = node_of(&stored, false);
    for dictionaries in [false, true] {
        let mut source = MemorySource::new(Style {
            dictionaries,
            ..Style::default()
        });
        push(&mut source, &stored, &node, &array).unwrap();
        let rows = Selection::range(150..278);
        let read = assemble(&field, &node, &rows, &mut source).unwrap();
        assert_eq!(values(&read), values(&array.slice(150, 128)));
        let rows = Selection::range(150..279);
        let e = error_of(assemble(&field, &node, &rows, &mut source));
        assert_eq!(e.kind(), ErrorKind::OffsetOverflow, "{e}");
    }
}

#[test]
fn runs_beyond_the_range_of_their_ends_are_refused() {
    let array: ArrayRef = Arc::new(Int32Array::from_value(7, 32_768));
    let short = runs_of(ArrowType::Int16, ArrowType::Int32);
    let e = error_of(read_as(&array, &short, Style::default()));
    assert_eq!(e.kind(), ErrorKind::OffsetOverflow, "{e}");
    let read = read_as(&array.slice(0, 32_767), &short, Style::default()).unwrap();
    let runs = read
        .as_any()
        .downcast_ref::<arrow_array::RunArray<arrow_array::types::Int16Type>>();
    assert_eq!(runs.unwrap().run_ends().values(), [32_767]);
}

#[test]
fn numbers_and_times_are_cast_or_refused_with_the_name_of_the_column() {
    use ArrowType::*;
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(300)]));
    let read = read_as(&numbers, &Int32, Style::default()).unwrap();
    assert_eq!(
        read.as_ref(),
        &Int32Array::from(vec![Some(1), None, Some(300)]) as &dyn Array
    );
    let e = error_of(read_as(&numbers, &Int8, Style::default()));
    assert_eq!(
        (e.kind(), e.element().as_str()),
        (ErrorKind::ValueOutOfRange, "field `c`")
    );

    let utc = Some("UTC".into());
    let times: ArrayRef =
        Arc::new(TimestampSecondArray::from(vec![-5, 1 << 40]).with_timezone("UTC"));
    let micros = Timestamp(TimeUnit::Microsecond, Some("Asia/Tokyo".into()));
    let read = read_as(&times, &micros, Style::default()).unwrap();
    let read = read.as_primitive::<TimestampMicrosecondType>();
    assert_eq!(read.values()[..], [-5_000_000, 1_000_000 << 40]);
    let nanos = Timestamp(TimeUnit::Nanosecond, utc);
    let e = error_of(read_as(&times, &nanos, Style::default()));
    assert_eq!(e.kind(), ErrorKind::ValueOutOfRange, "{e}");
    let without_zone = Timestamp(TimeUnit::Second, None);
    let read = read_as(&times, &without_zone, Style::default()).unwrap();
    assert_eq!(values(&read), values(&times));
    let local: ArrayRef = Arc::new(TimestampSecondArray::from(vec![7, 8]));
    let east = Timestamp(TimeUnit::Second, Some("+05:00".into()));
    let read = read_as(&local, &east, Style::default()).unwrap();
    let moved: ArrayRef = Arc::new(TimestampSecondArray::from(vec![7 - 18_000, 8 - 18_000]));
    assert_eq!(
        values(&read),
        values(&moved),
        "local times keep their clock"
    );
}

#[test]
fn types_that_share_no_storage_are_refused_and_both_are_named() {
    use ArrowType::*;
    let item = Arc::new(Field::new("item", Int32, true));
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let texts = strings(["a".to_owned()]);
    for (array, wanted, names) in [
        (&numbers, List(item.clone()), ["List", "Int32"]),
        (
            &numbers,
            FixedSizeBinary(4),
            ["FixedSizeBinary(4)", "Int32"],
        ),
        (&numbers, Null, ["Null", "Int32"]),
        (
            &texts,
            Union(
                arrow_schema::UnionFields::empty(),
                arrow_schema::UnionMode::Sparse,
            ),
            ["Union", "String"],
        ),
        (&texts, FixedSizeBinary(1), ["FixedSizeBinary(1)", "String"]),
        (&texts, Struct(Fields::empty()), ["Struct", "String"]),
    ] {
        for style in styles() {
            let e = error_of(read_as(array, &wanted, style));
            assert_eq!(e.kind(), ErrorKind::SchemaMismatch, "{e}");
            assert!(names.iter().all(|n| e.message().contains(n)), "{e}");
        }
    }
}

#[test]
fn an_array_of_another_type_than_its_node_is_refused() {
    let node = node_of(&Field::new("c", ArrowType::Date32, true), false);
    let array = Int32Array::from(vec![1]);
    let field = Field::new("c", ArrowType::Int32, true);
    let e = error_of(shred(&field, &array, &node, &mut |_, _| Ok(())));
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert!(
        e.message().contains("Int32") && e.message().contains("arrow.date"),
        "{e}"
    );
}

#[test]
fn a_decimal_beyond_its_precision_is_refused_with_its_row() {
    let decimals = |values: Vec<Option<i128>>| {
        Decimal128Array::from(values)
            .with_precision_and_scale(4, 2)
            .unwrap()
    };
    let good = decimals(vec![Some(9_999), None, Some(-9_999)]);
    let bad = decimals(vec![Some(0), None, Some(-10_000)]);
    let field = Field::new("price", good.data_type().clone(), true);
    for arrow_width in [false, true] {
        let node = node_of(&field, arrow_width);
        shred(&field, &good, &node, &mut |_, _| Ok(())).unwrap();
        let e = error_of(shred(&field, &bad, &node, &mut |_, _| Ok(())));
        assert_eq!(e.kind(), ErrorKind::ValueOutOfRange);
        assert_eq!(e.element(), "field `price`");
        assert!(e.message().contains("value 2 of these"), "{e}");
    }
    // Only used entries count.
    let keys = Int8Array::from(vec![Some(0), Some(0), None]);
    let dictionary = DictionaryArray::try_new(keys, Arc::new(bad.clone())).unwrap();
    let node = node_of(&field, false);
    shred(&field, &dictionary, &node, &mut |_, _| Ok(())).unwrap();
    let keys = Int8Array::from(vec![0, 2]);
    let dictionary = DictionaryArray::try_new(keys, Arc::new(bad)).unwrap();
    let e = error_of(shred(&field, &dictionary, &node, &mut |_, _| Ok(())));
    assert!(e.message().contains("value 1 of these"), "{e}");
}

#[test]
fn a_stored_decimal_takes_other_widths_and_scales() {
    let array = Decimal128Array::from(vec![12_345, -7])
        .with_precision_and_scale(5, 2)
        .unwrap();
    let array: ArrayRef = Arc::new(array);
    let read = read_as(&array, &ArrowType::Decimal128(9, 4), Style::default()).unwrap();
    assert_eq!(
        read.as_primitive::<Decimal128Type>().values()[..],
        [1_234_500, -700]
    );
    let read = read_as(&array, &ArrowType::Decimal256(5, 2), Style::default()).unwrap();
    assert_eq!(read.len(), 2);
}

/// Ticks as in a shard of native types.
fn date_times(ticks: Vec<Option<u64>>) -> (DataType, MemorySource, Selection) {
    let node = DataType::new(BasicType::DateTime, "t");
    let rows = Selection::range(0..ticks.len() as u64);
    let array = UInt64Array::from(ticks);
    let mut source = MemorySource::new(Style::default());
    let chunk = Chunk {
        len: array.len(),
        nulls: array.nulls().cloned(),
        values: Values::Fixed {
            width: 8,
            data: array.values().inner().clone(),
        },
    };
    source.push(&node, vec![(0, chunk)], array.len());
    (node, source, rows)
}

#[test]
fn date_times_become_times_that_round_down() {
    use ArrowType::{Date32, Timestamp, UInt64};
    // 2024-01-01, one tick before 1970, a null outside of every range.
    let year_2024 = 638_396_640_000_000_000;
    let before_1970 = 621_355_968_000_000_000 - 1;
    let mut ticks = vec![Some(year_2024), Some(before_1970), None];
    let (node, mut source, rows) = date_times(ticks.clone());
    let natural = to_arrow(&node, None).unwrap();
    assert_eq!(
        natural.data_type(),
        &Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
    );
    let mut read = |wanted| {
        let field = Field::new("t", wanted, true);
        assemble(&field, &node, &rows, &mut source).unwrap()
    };
    let nanos = read(natural.data_type().clone());
    let nanos = nanos.as_primitive::<TimestampNanosecondType>();
    assert_eq!(nanos.values()[..2], [1_704_067_200_000_000_000, -100]);
    assert!(nanos.is_null(2));
    let micros = read(Timestamp(TimeUnit::Microsecond, None));
    let micros = micros.as_primitive::<TimestampMicrosecondType>();
    assert_eq!(micros.values()[..2], [1_704_067_200_000_000, -1]);
    let days = read(Date32);
    assert_eq!(
        days.as_primitive::<Date32Type>().values()[..2],
        [19_723, -1]
    );
    assert_eq!(
        read(UInt64).as_ref(),
        &UInt64Array::from(ticks.clone()) as &dyn Array
    );

    ticks.push(Some(1));
    let (node, mut source, rows) = date_times(ticks);
    let e = error_of(assemble(&natural, &node, &rows, &mut source));
    assert_eq!(e.kind(), ErrorKind::ValueOutOfRange);
    assert!(
        e.message().contains("value 3 of these") && e.message().contains("coarser"),
        "{e}"
    );
    let micros = Field::new("t", Timestamp(TimeUnit::Microsecond, None), true);
    assert!(assemble(&micros, &node, &rows, &mut source).is_ok());
}

#[test]
fn struct_members_are_chosen_by_name() {
    let member = |name: &str| Arc::new(Field::new(name, ArrowType::Int32, true));
    let of = |v: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![v])) };
    let fields = Fields::from(vec![member("a"), member("b"), member("c"), member("c")]);
    let columns = vec![of(1), of(2), of(3), of(4)];
    let array: ArrayRef = Arc::new(StructArray::new(fields.clone(), columns, None));
    let wanted = |names: &[&str]| ArrowType::Struct(names.iter().map(|n| member(n)).collect());
    let read = read_as(&array, &wanted(&["b", "a"]), Style::default()).unwrap();
    let column = |i: usize| {
        read.as_struct()
            .column(i)
            .as_primitive::<Int32Type>()
            .value(0)
    };
    assert_eq!((column(0), column(1)), (2, 1));
    for (names, why) in [(&["c"], "more than one"), (&["d"], "no member `d`")] {
        let e = error_of(read_as(&array, &wanted(names), Style::default()));
        assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
        assert!(e.message().contains(why), "{e}");
    }
    let read = read_as(&array, &ArrowType::Struct(fields), Style::default()).unwrap();
    assert_eq!(values(&read), values(&array));
}

#[test]
fn fixed_width_values_are_handed_on_without_a_copy() {
    let array = Int64Array::from((0..100).collect::<Vec<i64>>()).slice(10, 50);
    let field = Field::new("c", ArrowType::Int64, true);
    let node = node_of(&field, false);
    let mut found = None;
    shred(&field, &array, &node, &mut |_, chunk| {
        found = Some(chunk.values);
        Ok(())
    })
    .unwrap();
    let Some(Values::Fixed { data, .. }) = found else {
        panic!("expected fixed-width values");
    };
    assert_eq!(data.as_ptr(), array.values().inner().as_ptr());
}

#[test]
fn a_null_list_drops_the_elements_that_it_hides() {
    let values = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
    let item = Arc::new(Field::new("item", ArrowType::Int32, true));
    let offsets = arrow_buffer::OffsetBuffer::new(vec![0, 1, 3, 4].into());
    let nulls = NullBuffer::from(vec![true, false, true]);
    let array = ListArray::new(item, offsets, values, Some(nulls));
    let field = Field::new("c", array.data_type().clone(), true);
    let mut chunks = Vec::new();
    shred(&field, &array, &node_of(&field, false), &mut |id, chunk| {
        chunks.push((id, chunk.values));
        Ok(())
    })
    .unwrap();
    let [
        (0, Values::Offsets(offsets)),
        (1, Values::Fixed { data, .. }),
    ] = chunks.as_slice()
    else {
        panic!("{chunks:?}");
    };
    assert_eq!(offsets, &[0, 1, 1, 2]);
    assert_eq!(data, &Buffer::from_vec(vec![1i32, 4]));
}

#[test]
fn a_binary_that_is_no_text_is_refused_as_text() {
    let binary: ArrayRef = Arc::new(arrow_array::BinaryArray::from_vec(vec![b"\xFF"]));
    for wanted in [ArrowType::Utf8, ArrowType::LargeUtf8, ArrowType::Utf8View] {
        let e = error_of(read_as(&binary, &wanted, Style::default()));
        assert_eq!(e.kind(), ErrorKind::ValueOutOfRange, "{e}");
    }
    let good: ArrayRef = Arc::new(arrow_array::BinaryArray::from_vec(vec![b"ok"]));
    let read = read_as(&good, &ArrowType::LargeUtf8, Style::default()).unwrap();
    assert_eq!(
        read.as_ref(),
        &LargeStringArray::from(vec!["ok"]) as &dyn Array
    );
    assert_eq!(values(&read), [Value::Bytes(b"ok".to_vec())]);
}

#[test]
fn null_map_keys_are_corrupt() {
    let keys: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let key = Field::new("key", ArrowType::Int32, false);
    let value = Field::new("value", ArrowType::Int32, true);
    let entries = ArrowType::Struct(Fields::from(vec![key, value]));
    let entries = Arc::new(Field::new("entries", entries, false));
    let field = Field::new("c", ArrowType::Map(entries, false), true);
    let node = node_of(&field, false);
    let mut source = MemorySource::new(Style::default());
    let fixed = |id: u32| {
        let data = Buffer::from_vec(vec![1i32, 2]);
        let values = Values::Fixed { width: 4, data };
        let nulls = keys.nulls().cloned();
        (
            id,
            Chunk {
                len: 2,
                nulls,
                values,
            },
        )
    };
    let map = Chunk {
        len: 1,
        nulls: None,
        values: Values::Offsets(vec![0, 2]),
    };
    source.push(&node, vec![(0, map), fixed(1), fixed(2)], 1);
    let rows = Selection::range(0..1);
    let e = error_of(assemble(&field, &node, &rows, &mut source));
    assert_eq!(e.kind(), ErrorKind::Corrupt, "{e}");
}

#[test]
fn the_source_can_refuse_positions_that_only_the_schema_multiplies() {
    let size = i32::try_from(super::source::MAX_POSITIONS).unwrap();
    let item = Arc::new(Field::new("item", ArrowType::Null, true));
    let lists = |len: usize| -> ArrayRef {
        let values = Arc::new(NullArray::new(len * size as usize));
        let array = FixedSizeListArray::try_new_with_length(item.clone(), size, values, None, len);
        Arc::new(array.unwrap())
    };
    let wanted = lists(0).data_type().clone();
    assert!(read_as(&lists(1), &wanted, Style::default()).is_ok());
    let e = error_of(read_as(&lists(2), &wanted, Style::default()));
    assert_eq!(e.kind(), ErrorKind::LimitExceeded);
}

/// Runs with values that take more bytes than 32-bit offsets can address when expanded.
#[test]
fn runs_of_long_texts_are_not_laid_out() {
    let texts = StringArray::from(vec!["x".repeat(40_000), "y".repeat(40_000)]);
    let runs = RunArray::try_new(&Int32Array::from(vec![60_000, 65_536]), &texts).unwrap();
    let field = Field::new("c", runs.data_type().clone(), true);
    let mut rows = 0;
    shred(&field, &runs, &node_of(&field, false), &mut |_, chunk| {
        let Values::Bytes(bytes) = &chunk.values else {
            return Err(Error::invalid("texts are bytes"));
        };
        rows += chunk.len;
        assert!(bytes.value(59_999).starts_with(b"xx"));
        assert!(bytes.value(60_000).starts_with(b"yy"));
        Ok(())
    })
    .unwrap();
    assert_eq!(rows, 65_536);
}
