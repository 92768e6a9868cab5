//! Random nested tables either come back equal or are refused by name, in every version. Lance has bugs of its own in
//! corners of nesting: a value that it would change must be refused.
#![expect(
    clippy::unwrap_used,
    reason = "a table that cannot be made is a failed test"
)]

mod common;

use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};
use arrow_shard_lance::LanceVersion;
use common::{read, table_of, write};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;

fn random_type(random: &mut StdRng, depth: usize) -> DataType {
    let kinds = if depth == 0 { 7 } else { 13 };
    let field = |random: &mut StdRng, name: &str| {
        let inner = random_type(random, depth - 1);
        let is_nullable = inner == DataType::Null || random.random_bool(0.7);
        Arc::new(Field::new(name, inner, is_nullable))
    };
    match random.random_range(0..kinds) {
        0 => DataType::Int32,
        1 => DataType::Utf8,
        2 => DataType::Boolean,
        3 => DataType::LargeBinary,
        4 => DataType::FixedSizeBinary(3),
        5 => DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()),
        6 => DataType::Null,
        7 => DataType::List(field(random, "item")),
        8 => DataType::LargeList(field(random, "element")),
        9 => DataType::FixedSizeList(field(random, "item"), random.random_range(1..4)),
        10 => {
            let keys = Arc::new(Field::new("keys", DataType::Utf8, false));
            let entries = DataType::Struct(Fields::from(vec![keys, field(random, "values")]));
            DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
        }
        _ => {
            let members = random.random_range(1..4);
            DataType::Struct(
                (0..members)
                    .map(|i| field(random, &format!("m{i}")))
                    .collect(),
            )
        }
    }
}

/// Nulls, if there may be some: none, a few, or nothing else.
fn random_nulls(random: &mut StdRng, rows: usize, is_nullable: bool) -> Option<NullBuffer> {
    let share = match random.random_range(0..4) {
        0 => return None,
        1 => 1.0,
        _ => 0.3,
    };
    is_nullable.then(|| {
        NullBuffer::new(BooleanBuffer::collect_bool(rows, |_| {
            !random.random_bool(share)
        }))
    })
}

fn random_offsets(random: &mut StdRng, rows: usize, nulls: Option<&NullBuffer>) -> Vec<usize> {
    let is_null = |row| nulls.is_some_and(|it: &NullBuffer| it.is_null(row));
    let lengths = (0..rows).map(|row| {
        if is_null(row) {
            0
        } else {
            random.random_range(0..4)
        }
    });
    lengths.collect()
}

fn random_array(random: &mut StdRng, ty: &DataType, rows: usize, is_nullable: bool) -> ArrayRef {
    let nulls = random_nulls(random, rows, is_nullable);
    let is_null = |row: usize| nulls.as_ref().is_some_and(|it| it.is_null(row));
    match ty {
        DataType::Null => Arc::new(NullArray::new(rows)),
        DataType::Int32 => {
            let values: ScalarBuffer<i32> = (0..rows).map(|_| random.random_range(-9..9)).collect();
            Arc::new(Int32Array::new(values, nulls))
        }
        DataType::Utf8 => {
            Arc::new(StringArray::from_iter((0..rows).map(|row| {
                (!is_null(row)).then(|| "t".repeat(random.random_range(0..5)))
            })))
        }
        DataType::Boolean => Arc::new(BooleanArray::new(
            BooleanBuffer::collect_bool(rows, |_| random.random()),
            nulls,
        )),
        DataType::LargeBinary => {
            Arc::new(LargeBinaryArray::from_iter((0..rows).map(|row| {
                (!is_null(row)).then(|| vec![7; random.random_range(0..5)])
            })))
        }
        DataType::FixedSizeBinary(n) => {
            let values: Vec<u8> = (0..rows * 3).map(|_| random.random()).collect();
            Arc::new(FixedSizeBinaryArray::new(*n, values.into(), nulls))
        }
        DataType::Dictionary(..) => {
            let texts = (0..rows)
                .map(|row| (!is_null(row)).then(|| ["a", "b", ""][random.random_range(0..3)]));
            Arc::new(texts.collect::<DictionaryArray<Int32Type>>())
        }
        DataType::List(item) => {
            let lengths = random_offsets(random, rows, nulls.as_ref());
            let items = random_array(
                random,
                item.data_type(),
                lengths.iter().sum(),
                item.is_nullable(),
            );
            Arc::new(ListArray::new(
                item.clone(),
                OffsetBuffer::from_lengths(lengths),
                items,
                nulls,
            ))
        }
        DataType::LargeList(item) => {
            let lengths = random_offsets(random, rows, nulls.as_ref());
            let items = random_array(
                random,
                item.data_type(),
                lengths.iter().sum(),
                item.is_nullable(),
            );
            Arc::new(LargeListArray::new(
                item.clone(),
                OffsetBuffer::from_lengths(lengths),
                items,
                nulls,
            ))
        }
        DataType::FixedSizeList(item, n) => {
            let items = rows * usize::try_from(*n).unwrap();
            let items = random_array(random, item.data_type(), items, item.is_nullable());
            Arc::new(FixedSizeListArray::new(item.clone(), *n, items, nulls))
        }
        DataType::Map(entries, _) => {
            let lengths = random_offsets(random, rows, nulls.as_ref());
            let DataType::Struct(members) = entries.data_type() else {
                unreachable!()
            };
            let count = lengths.iter().sum();
            let keys = StringArray::from_iter_values((0..count).map(|i| format!("k{i}")));
            let values = random_array(
                random,
                members[1].data_type(),
                count,
                members[1].is_nullable(),
            );
            let pairs = StructArray::new(members.clone(), vec![Arc::new(keys), values], None);
            Arc::new(MapArray::new(
                entries.clone(),
                OffsetBuffer::from_lengths(lengths),
                pairs,
                nulls,
                false,
            ))
        }
        DataType::Struct(members) => {
            let arrays = members
                .iter()
                .map(|it| random_array(random, it.data_type(), rows, it.is_nullable()));
            Arc::new(StructArray::new(members.clone(), arrays.collect(), nulls))
        }
        other => unreachable!("{other}"),
    }
}

#[test]
fn random_tables_come_back_or_are_refused() {
    let tables: u64 = std::env::var("TABLES").map_or(300, |it| it.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    let (mut kept, mut refused, mut wrong) = (0, BTreeMap::new(), Vec::new());
    for seed in 0..tables {
        let mut random = StdRng::seed_from_u64(seed);
        let ty = random_type(&mut random, 3);
        let rows = [1, 7, 100, 3000][random.random_range(0..4)];
        let column = random_array(&mut random, &ty, rows, true);
        let batch = table_of(Field::new("c", ty.clone(), true), column);
        let cut = random.random_range(0..=rows);
        let batches = [batch.slice(0, cut), batch.slice(cut, rows - cut)];
        for version in LanceVersion::ALL {
            match write(&path, &batches, version) {
                Err(error) => {
                    let message = format!("{error:#}");
                    if !message.contains("column `c`") {
                        wrong.push(format!("{seed} {version}: {message}"));
                    }
                    let whole = if message.contains("does not hold the values")
                        && !message.contains("struct validity")
                    {
                        format!("{seed} {version} {rows} rows {ty} {message}")
                    } else {
                        message
                    };
                    let mut why = whole.split(": ").last().unwrap().to_owned();
                    if whole.contains("hold the values") {
                        why += &whole;
                    }
                    why.retain(|c| !c.is_ascii_digit());
                    *refused.entry(why).or_insert(0) += 1;
                }
                Ok(_) => match read(&path) {
                    Ok(back) if is_same(&back, &batch) => kept += 1,
                    Ok(back) => wrong.push(format!(
                        "{seed} {version} {rows} rows {ty}: differs ({} rows)",
                        back.num_rows()
                    )),
                    Err(error) => wrong.push(format!("{seed} {version} {rows} rows {ty}: {error}")),
                },
            }
        }
    }
    println!("{kept} kept");
    for (why, count) in &refused {
        println!("{count} refused: {why}");
    }
    assert!(
        wrong.is_empty(),
        "{} of {kept}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Compares values, and types but for the items of lists of a fixed size, which all may be null in Lance.
fn is_same(back: &RecordBatch, batch: &RecordBatch) -> bool {
    let (back, wanted) = (back.column(0), batch.column(0));
    let ty = vectors_of_nullable(wanted.data_type());
    back.data_type() == &ty && *back == arrow_cast::cast(wanted, &ty).unwrap()
}

fn vectors_of_nullable(ty: &DataType) -> DataType {
    let field = |it: &Field| {
        Arc::new(
            it.clone()
                .with_data_type(vectors_of_nullable(it.data_type())),
        )
    };
    match ty {
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(
            Arc::new(field(item).as_ref().clone().with_nullable(true)),
            *n,
        ),
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        DataType::Struct(members) => DataType::Struct(members.iter().map(|it| field(it)).collect()),
        other => other.clone(),
    }
}
