//! Tables for tests.

#![allow(dead_code, reason = "each test program uses some of it")]

#[path = "../../../../tests/support/columns.rs"]
mod every_type;

use arrow_array::builder::{
    FixedSizeListBuilder, Int32Builder, LargeListBuilder, ListBuilder, StringBuilder, StructBuilder,
};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_shard_lance::{LanceReader, LanceVersion, LanceWriteOptions, LanceWriter};
use std::path::Path;
use std::sync::Arc;

/// Rows of each column of [`columns`].
pub(crate) const ROWS: usize = 3;

/// A column of every Arrow type, with a null where the type has some.
pub(crate) fn columns() -> Vec<ArrayRef> {
    let mut columns = every_type::columns();
    // A zone that is an offset, besides the names of zones.
    let times = TimestampNanosecondArray::from(vec![Some(1), None, Some(3)]);
    let times = Arc::new(times.with_timezone("+02:00"));
    let is_duration = |column: &ArrayRef| matches!(column.data_type(), DataType::Duration(_));
    let at = columns.iter().position(is_duration);
    columns.insert(at.unwrap_or(columns.len()), times);
    columns
}

/// A table of nested columns of many rows, with nulls at every level.
pub(crate) fn nested(rows: usize) -> RecordBatch {
    let mut lists = ListBuilder::new(StringBuilder::new());
    let mut deep = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    let mut large = LargeListBuilder::new(Int32Builder::new());
    let mut fixed = FixedSizeListBuilder::new(Int32Builder::new(), 3);
    let inner = vec![
        Field::new("x", DataType::Int32, true),
        Field::new("y", DataType::Utf8, true),
    ];
    let mut structs = ListBuilder::new(StructBuilder::from_fields(inner, rows));
    for row in 0..rows {
        if row % 7 != 3 {
            for i in 0..row % 4 {
                lists
                    .values()
                    .append_option((i != 1).then(|| format!("text {row} {i}")));
                let numbers = deep.values();
                for j in 0..i {
                    let number = i32::try_from(row * j).unwrap();
                    numbers.values().append_option((j != 1).then_some(number));
                }
                numbers.append(i != 2);
                let members = structs.values();
                let x = members.field_builder::<Int32Builder>(0).unwrap();
                x.append_option((i != 0).then_some(i32::try_from(row).unwrap()));
                let y = members.field_builder::<StringBuilder>(1).unwrap();
                y.append_option((row % 5 != 0).then(|| format!("y{i}")));
                members.append(true);
            }
        }
        lists.append(row % 7 != 3);
        deep.append(row % 7 != 3);
        structs.append(row % 7 != 3);
        large.values().append_value(i32::try_from(row).unwrap());
        large.append(true);
        for i in 0..3 {
            fixed.values().append_value(i);
        }
        fixed.append(true);
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("lists", Arc::new(lists.finish())),
        ("deep", Arc::new(deep.finish())),
        ("structs", Arc::new(structs.finish())),
        ("large", Arc::new(large.finish())),
        ("fixed", Arc::new(fixed.finish())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .unwrap()
}

/// A struct of a number and a text, a third of them null.
pub(crate) fn null_structs(rows: usize) -> RecordBatch {
    let fields = vec![
        Field::new("x", DataType::Int32, true),
        Field::new("y", DataType::Utf8, true),
    ];
    let mut structs = StructBuilder::from_fields(fields, rows);
    for row in 0..rows {
        let x = structs.field_builder::<Int32Builder>(0).unwrap();
        x.append_option((row % 3 != 0).then_some(i32::try_from(row).unwrap()));
        let y = structs.field_builder::<StringBuilder>(1).unwrap();
        y.append_option((row % 3 != 0 && row % 2 == 0).then(|| format!("y{row}")));
        structs.append(row % 3 != 0);
    }
    RecordBatch::try_from_iter_with_nullable([("s", Arc::new(structs.finish()) as ArrayRef, true)])
        .unwrap()
}

/// Dictionaries of some kinds of keys and values, with nulls.
pub(crate) fn dictionaries(rows: usize) -> RecordBatch {
    let texts = (0..rows).map(|row| (row % 5 != 2).then_some(["red", "green", "blue"][row % 3]));
    let small: DictionaryArray<Int8Type> = texts.clone().collect();
    let plain: DictionaryArray<Int32Type> = texts.collect();
    let keys = (0..rows).map(|row| Some(u8::try_from(row % 3).unwrap()));
    let large = DictionaryArray::new(
        UInt8Array::from_iter(keys),
        Arc::new(LargeStringArray::from(vec!["one", "two", "three"])),
    );
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("small", Arc::new(small), true),
        ("plain", Arc::new(plain), true),
        ("large", Arc::new(large), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Plain columns of many rows.
pub(crate) fn flat(rows: usize) -> RecordBatch {
    let ids = Int64Array::from_iter_values((0..rows).map(|row| i64::try_from(row).unwrap()));
    let texts = (0..rows).map(|row| (row % 11 != 5).then(|| format!("value {}", row % 1000)));
    let floats = (0..rows).map(|row| (row % 4 != 1).then_some(row as f64 / 7.0));
    let bits = (0..rows).map(|row| (row % 6 != 2).then_some(row % 5 == 0));
    let columns: [(&str, ArrayRef, bool); 4] = [
        ("id", Arc::new(ids), false),
        ("text", Arc::new(StringArray::from_iter(texts)), true),
        ("number", Arc::new(Float64Array::from_iter(floats)), true),
        ("bit", Arc::new(BooleanArray::from_iter(bits)), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Writes a file of some batches.
pub(crate) fn write(
    path: &Path,
    batches: &[RecordBatch],
    version: LanceVersion,
) -> arrow_shard::Result<u64> {
    let options = LanceWriteOptions::default()
        .with_version(version)
        .with_overwrite(true);
    let mut writer = LanceWriter::create_with(path, batches[0].schema(), &options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()
}

/// Reads a file as one batch.
pub(crate) fn read(path: &Path) -> Result<RecordBatch, ArrowError> {
    let reader = LanceReader::open(path)?;
    let schema = RecordBatchReader::schema(&reader);
    let rows = reader.num_rows();
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    let batch = arrow_select::concat::concat_batches(&schema, &batches)?;
    assert_eq!(
        batch.num_rows() as u64,
        rows,
        "the rows that the file announces"
    );
    Ok(batch)
}

/// A table of one column.
pub(crate) fn table_of(field: Field, column: ArrayRef) -> RecordBatch {
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap()
}
