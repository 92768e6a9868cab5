//! Separate buffers for PRESENCE and OFFSETS, raw or in blocks, with raw values or blocks of values; and dense unions
//! over several stripes, with children of different lengths.

use crate::descriptors::with_descriptors;
use crate::support::{collect, remote, written_bytes};
use arrow_array::builder::{ListBuilder, UInt8Builder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray,
    Float64Array, Int8Array, Int64Array, LargeStringArray, RecordBatch, StringArray,
    StringViewArray, StructArray, UInt64Array, UnionArray,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, UnionFields};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use arrow_shard::Shard;
use arrow_shard::buffer::{BLOCK_MAPS_PROPERTY, CHECKSUMS_PROPERTY};
use arrow_shard::format::{
    BufferKind, DataEncoding, EncodedBuffer, NativeDataEncoding, StripeFieldDescriptor,
};
use arrow_shard::ops::ShardEditor;
use arrow_shard::read::inspect::{FieldInfo, InspectOptions};
use arrow_shard::read::{Projection, col};
use arrow_shard::write::{ColumnOptions, PresenceLayout, Profile, ShardWriter, WriterOptions};
use bytes::Bytes;
use std::sync::Arc;

const ROWS: usize = 9_000;

fn noise(i: usize) -> usize {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 42
}

fn is_there(i: usize) -> bool {
    !noise(i).is_multiple_of(6)
}

fn number(i: usize) -> Option<i64> {
    is_there(i).then(|| i64::try_from(noise(i + 1)).unwrap())
}

fn text(i: usize) -> Option<String> {
    is_there(i).then(|| format!("text {} ", noise(i + 2) % 500).repeat(noise(i) % 4))
}

fn table(columns: Vec<(String, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter();
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Returns an array of every kind of leaf, with nulls in the same rows.
fn leaves() -> Vec<(&'static str, ArrayRef)> {
    let rows = 0..ROWS;
    let decimals: Decimal128Array = rows.clone().map(|i| number(i).map(i128::from)).collect();
    let fixed = rows.clone().map(|i| number(i).map(|n| n.to_le_bytes()));
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 8).unwrap();
    let small = |i: usize| number(i).map(|n| i8::try_from(n % 100).unwrap());
    let floats = |i: usize| is_there(i).then(|| f64::from(u32::try_from(noise(i)).unwrap()) / 8.0);
    vec![
        (
            "flag",
            Arc::new(
                rows.clone()
                    .map(|i| number(i).map(|n| n % 2 == 0))
                    .collect::<BooleanArray>(),
            ),
        ),
        (
            "small",
            Arc::new(rows.clone().map(small).collect::<Int8Array>()),
        ),
        (
            "number",
            Arc::new(rows.clone().map(number).collect::<Int64Array>()),
        ),
        (
            "float",
            Arc::new(rows.clone().map(floats).collect::<Float64Array>()),
        ),
        ("decimal", Arc::new(decimals)),
        ("fixed", Arc::new(fixed)),
        (
            "text",
            Arc::new(rows.clone().map(text).collect::<StringArray>()),
        ),
        (
            "view",
            Arc::new(rows.clone().map(text).collect::<StringViewArray>()),
        ),
        (
            "binary",
            Arc::new(
                rows.map(|i| text(i).map(String::into_bytes))
                    .collect::<BinaryArray>(),
            ),
        ),
    ]
}

fn without_dictionary(profile: Profile) -> ColumnOptions {
    ColumnOptions::default()
        .with_profile(profile)
        .with_dictionary_enabled(false)
}

/// Returns the buffers of values, presence and offsets of every field.
fn buffers_of(file: &[u8]) -> Vec<Vec<EncodedBuffer>> {
    let mut fields = Vec::new();
    with_descriptors(file, |id, field, _| {
        fields.resize(id + 1, Vec::new());
        if let [DataEncoding::Native(native)] = field.encodings.as_slice() {
            fields[id].clone_from(&native.buffers);
        }
    });
    fields
}

fn one(buffers: &[EncodedBuffer], kind: BufferKind) -> EncodedBuffer {
    let mut found = buffers.iter().filter(|buffer| buffer.kind == kind);
    found.next().unwrap().clone()
}

/// Replaces the buffers of a field, and removes properties that refer to the old buffers.
fn describe(field: &mut StripeFieldDescriptor, buffers: Vec<EncodedBuffer>) {
    let own = [CHECKSUMS_PROPERTY, BLOCK_MAPS_PROPERTY];
    let properties = &mut field.field.custom_properties;
    properties.retain(|property| !own.contains(&property.name.as_str()));
    field.encodings = vec![DataEncoding::Native(NativeDataEncoding {
        buffers,
        packed_group: false,
    })];
}

/// Checks that the shard is sound, and that scans, single rows and filters return the rows of the table.
fn check(file: Vec<u8>, expected: &RecordBatch) {
    let bytes = Bytes::from(file);
    for shard in [
        Shard::from_bytes(bytes.clone()).unwrap(),
        remote(bytes, Default::default()).unwrap(),
    ] {
        let report = shard.verify().unwrap();
        assert!(report.is_sound(), "{report:?}");
        for batch_size in [700, 100_000] {
            let scan = shard.scan().with_batch_size(batch_size).build().unwrap();
            assert_eq!(&collect(scan).unwrap(), expected);
        }
        let rows: Vec<u64> = (0..ROWS as u64).step_by(37).collect();
        let taken = shard.take(&rows, Projection::All).unwrap();
        let rows = UInt64Array::from(rows);
        assert_eq!(taken, take_record_batch(expected, &rows).unwrap());
        for (i, field) in expected.schema().fields().iter().enumerate() {
            let predicate = col(field.name()).is_null();
            let scan = shard.scan().with_filter(predicate).build().unwrap();
            let nulls = expected.column(i).logical_nulls();
            let found: usize = scan.map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(
                found,
                nulls.map_or(0, |n| n.null_count()),
                "{}",
                field.name()
            );
        }
    }
}

#[test]
fn presence_lies_raw_beside_blocks_and_in_blocks_beside_raw_values() {
    let pairs = leaves().into_iter().flat_map(|(name, array)| {
        [
            (format!("plain {name}"), array.clone()),
            (format!("blocks {name}"), array),
        ]
    });
    let table = table(pairs.collect());
    let options =
        table
            .schema()
            .fields()
            .iter()
            .fold(WriterOptions::default(), |options, field| {
                match field.name().starts_with("plain") {
                    true => options.with_column(field.name(), without_dictionary(Profile::Plain)),
                    false => {
                        options.with_column(field.name(), without_dictionary(Profile::Balanced))
                    }
                }
            });
    let file = written_bytes(std::slice::from_ref(&table), options);
    let all = buffers_of(&file);
    assert_eq!(all.len(), 18);
    let mut storages = Vec::new();
    let swapped = with_descriptors(&file, |id, field, _| {
        let presence = one(&all[id ^ 1], BufferKind::Presence);
        let data = one(&all[id], BufferKind::Data);
        assert!(!data.embedded_presence);
        storages.push((data.block_map.is_some(), presence.block_map.is_some()));
        let own = all[id].iter().cloned();
        let values = [BufferKind::Data, BufferKind::Offsets];
        let values = own.filter(|buffer| values.contains(&buffer.kind));
        describe(field, values.chain([presence]).collect());
    });
    assert!(storages.contains(&(true, false)), "{storages:?}");
    assert!(storages.contains(&(false, true)), "{storages:?}");
    check(swapped, &table);
}

#[test]
fn offsets_lie_in_either_storage_whatever_that_of_the_bytes_is() {
    let mut lists = ListBuilder::new(UInt8Builder::new());
    for i in 0..ROWS {
        lists.append_option(text(i).map(|text| text.into_bytes().into_iter().map(Some)));
    }
    let lists: ArrayRef = Arc::new(lists.finish());
    let texts: ArrayRef = Arc::new((0..ROWS).map(text).collect::<StringArray>());
    let large: ArrayRef = Arc::new((0..ROWS).map(text).collect::<LargeStringArray>());
    let views: ArrayRef = Arc::new((0..ROWS).map(text).collect::<StringViewArray>());
    let bytes = (0..ROWS).map(|i| text(i).map(String::into_bytes));
    let member = Arc::new(Field::new("text", DataType::Utf8, true));
    let structs = StructArray::from(vec![(member, texts.clone())]);
    let sources = vec![
        ("plain list".to_owned(), lists.clone()),
        ("block list".to_owned(), lists),
    ];
    let targets = vec![
        ("text".to_owned(), texts),
        ("large".to_owned(), large),
        ("view".to_owned(), views),
        (
            "binary".to_owned(),
            Arc::new(bytes.collect::<BinaryArray>()) as ArrayRef,
        ),
        ("s".to_owned(), Arc::new(structs)),
    ];
    let table = table(sources.into_iter().chain(targets).collect());
    let options = WriterOptions::default()
        .with_column("plain list", without_dictionary(Profile::Plain))
        .with_column("block list", without_dictionary(Profile::Balanced));
    let file = written_bytes(std::slice::from_ref(&table), options);
    let all = buffers_of(&file);
    // The fields of a list are the list and its items.
    let (plain, blocks) = (0..2, 2..4);
    let kinds = [BufferKind::Offsets, BufferKind::Data, BufferKind::Presence];
    for choice in 0..8 {
        let of = |bit: usize| match choice >> bit & 1 {
            0 => plain.clone(),
            _ => blocks.clone(),
        };
        let mut described = 0;
        let file = with_descriptors(&file, |id, field, _| {
            // Four columns, and the member of the struct.
            if ![4, 5, 6, 7, 9].contains(&id) {
                return;
            }
            described += 1;
            let buffers = kinds.iter().enumerate().map(|(bit, &kind)| {
                let list = of(bit);
                let place = match kind {
                    BufferKind::Data => list.end - 1,
                    _ => list.start,
                };
                let buffer = one(&all[place], kind);
                assert_eq!(
                    buffer.block_map.is_some(),
                    choice >> bit & 1 == 1,
                    "{kind:?}"
                );
                buffer
            });
            describe(field, buffers.collect());
        });
        assert_eq!(described, 5);
        check(file, &table);
    }
}

#[test]
fn presence_in_the_blocks_of_values_comes_first() {
    let table = table(
        leaves()
            .into_iter()
            .map(|(name, array)| (name.to_owned(), array))
            .collect(),
    );
    let table = table.project(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let flags = Arc::new(
        (0..ROWS)
            .map(|i| (i % 3 == 0).then_some(true))
            .collect::<BooleanArray>(),
    );
    let mut columns: Vec<(String, ArrayRef)> = vec![("other".to_owned(), flags)];
    for (field, array) in table.schema().fields().iter().zip(table.columns()) {
        columns.push((field.name().clone(), array.clone()));
    }
    let table = self::table(columns);
    let options =
        table
            .schema()
            .fields()
            .iter()
            .skip(1)
            .fold(WriterOptions::default(), |options, field| {
                let column = without_dictionary(Profile::Balanced);
                options.with_column(field.name(), column.with_presence(PresenceLayout::Embedded))
            });
    let file = written_bytes(std::slice::from_ref(&table), options);
    let all = buffers_of(&file);
    let other = one(&all[0], BufferKind::Presence);
    let both = with_descriptors(&file, |id, field, _| {
        if id > 0 {
            let data = one(&all[id], BufferKind::Data);
            assert!(data.embedded_presence, "field {id}");
            describe(field, vec![other.clone(), data]);
        }
    });
    check(both, &table);
}

/// Returns unions of numbers, texts and structs, each of them with few rows.
fn unions() -> UnionArray {
    let fields = [
        Field::new("number", DataType::Int64, true),
        Field::new("text", DataType::Utf8, true),
        Field::new(
            "s",
            DataType::Struct(vec![Field::new("flag", DataType::Boolean, true)].into()),
            true,
        ),
    ];
    let fields = UnionFields::try_new([3, 7, 1], fields).unwrap();
    let ids = [3, 7, 1];
    let (mut types, mut offsets, mut counts) = (Vec::new(), Vec::new(), [0; 3]);
    for i in 0..ROWS {
        let child = noise(i) % 3;
        types.push(ids[child]);
        offsets.push(counts[child]);
        counts[child] += 1;
    }
    let count = |child: usize| usize::try_from(counts[child]).unwrap();
    let flags: BooleanArray = (0..count(2))
        .map(|i| number(i).map(|n| n % 2 == 0))
        .collect();
    let flag = Arc::new(Field::new("flag", DataType::Boolean, true));
    let structs = StructArray::from(vec![(flag, Arc::new(flags) as ArrayRef)]);
    let children: Vec<ArrayRef> = vec![
        Arc::new((0..count(0)).map(number).collect::<Int64Array>()),
        Arc::new((0..count(1)).map(text).collect::<StringArray>()),
        Arc::new(structs),
    ];
    let offsets = Some(ScalarBuffer::from(offsets));
    UnionArray::try_new(fields, ScalarBuffer::from(types), offsets, children).unwrap()
}

fn all_fields(fields: &[FieldInfo]) -> Vec<FieldInfo> {
    let below = fields.iter().flat_map(|field| all_fields(&field.children));
    fields.iter().cloned().chain(below).collect()
}

/// Returns the type id and value of each row of a union array.
fn meaning(batch: &RecordBatch) -> Vec<(i8, ArrayRef)> {
    let unions = batch["union"]
        .as_any()
        .downcast_ref::<UnionArray>()
        .unwrap();
    let row = |i: usize| (unions.type_id(i), unions.value(i));
    (0..unions.len()).map(row).collect()
}

#[test]
fn dense_unions_over_several_stripes_read_in_every_way() {
    let ids: Int64Array = (0..ROWS).map(|i| i64::try_from(i).ok()).collect();
    let named = [
        ("id", Arc::new(ids) as ArrayRef),
        ("union", Arc::new(unions()) as ArrayRef),
    ];
    let table = RecordBatch::try_from_iter(named).unwrap();
    let expected = meaning(&table);
    for profile in [Profile::Plain, Profile::Balanced] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.amudai.shard");
        let options = WriterOptions::default()
            .with_profile(profile)
            .with_stripe_rows(2_500);
        let mut writer = ShardWriter::create_with(&path, table.schema(), options).unwrap();
        for start in (0..ROWS).step_by(1_100) {
            writer
                .write(&table.slice(start, 1_100.min(ROWS - start)))
                .unwrap();
        }
        writer.finish().unwrap();
        let shard = Shard::open(&path).unwrap();
        assert_eq!(shard.num_stripes(), 4);
        for stripe in shard.inspect(InspectOptions::default()).unwrap().stripes {
            let fields = all_fields(&stripe.fields);
            let union = fields.iter().find(|field| field.path == "union").unwrap();
            let kinds: Vec<_> = union.buffers.iter().map(|buffer| buffer.kind).collect();
            assert!(kinds.contains(&BufferKind::Offsets), "{kinds:?}");
            assert!(kinds.contains(&BufferKind::Data), "{kinds:?}");
        }
        let read = |shard: &Shard, batch_size: usize| {
            let scan = shard.scan().with_batch_size(batch_size).build().unwrap();
            let batches: Vec<_> = scan.map(Result::unwrap).collect();
            batches.iter().flat_map(meaning).collect::<Vec<_>>()
        };
        for batch_size in [1, 333, 4_096] {
            assert_eq!(read(&shard, batch_size), expected, "{profile:?}");
        }
        let rows: Vec<u64> = (0..300).map(|i| (noise(i) % ROWS) as u64).collect();
        let taken = shard.take(&rows, Projection::All).unwrap();
        let at = |row: u64| expected[usize::try_from(row).unwrap()].clone();
        let wanted: Vec<_> = rows.iter().map(|&row| at(row)).collect();
        assert_eq!(meaning(&taken), wanted);
        let third = col("id").gt_eq(2_000i64).and(col("id").lt(7_100i64));
        let scan = shard.scan().with_filter(third).build().unwrap();
        let batches: Vec<_> = scan.map(Result::unwrap).collect();
        let found = concat_batches(&batches[0].schema(), &batches).unwrap();
        assert_eq!(meaning(&found), expected[2_000..7_100]);

        let mut editor = ShardEditor::open(&path).unwrap();
        let deleted: Vec<u64> = (0..ROWS as u64).filter(|row| row % 10 == 3).collect();
        editor.delete_rows(&deleted).unwrap();
        editor.commit().unwrap();
        let shard = Shard::open(&path).unwrap();
        let kept: Vec<_> = (0..ROWS as u64)
            .filter(|row| row % 10 != 3)
            .map(at)
            .collect();
        assert_eq!(read(&shard, 700), kept, "{profile:?}");
        assert!(shard.verify().unwrap().is_sound());
    }
}
