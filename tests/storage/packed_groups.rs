//! Packed groups: all ways of reading return the members of a struct as in other layouts, and one request reads a row
//! of all members.
#![expect(clippy::cast_possible_truncation, reason = "few rows")]
#![expect(clippy::cast_possible_wrap, reason = "few rows")]

use crate::logged::{Logged, bytes_of};
use crate::support::{collect, written_bytes};
use arrow_array::builder::{ListBuilder, StringDictionaryBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, StringViewArray, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields};
use arrow_select::concat::concat_batches;
use arrow_shard::io::NoContainer;
use arrow_shard::metadata::Wire;
use arrow_shard::ops::ShardEditor;
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::write::{ColumnOptions, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard, ShardWriter};
use bytes::Bytes;
use std::sync::Arc;

fn noise(i: i64) -> i64 {
    i.wrapping_mul(0x1E37_79B9_7F4A_7C15) >> 20
}

/// Returns a struct with members of every kind, including nested ones, and with some nulls.
fn structs(rows: i64) -> StructArray {
    let is_there = |i: i64, n: i64| noise(i) % n != 0;
    let ids: Int64Array = (0..rows).map(|i| Some(noise(i))).collect();
    let small: Int32Array = (0..rows)
        .map(|i| is_there(i, 5).then_some((noise(i) % 100) as i32))
        .collect();
    let flags: BooleanArray = (0..rows)
        .map(|i| is_there(i, 7).then_some(noise(i) & 4 == 0))
        .collect();
    let texts: StringArray = (0..rows)
        .map(|i| is_there(i, 3).then(|| "text ".repeat((noise(i) & 7) as usize)))
        .collect();
    let views: StringViewArray = (0..rows)
        .map(|i| Some(format!("a view of {}", noise(i))))
        .collect();
    let floats: Float64Array = (0..rows).map(|i| Some(noise(i) as f64 / 8.0)).collect();
    let fixed = (0..rows).map(|i| is_there(i, 4).then_some([i as u8; 5]));
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 5).unwrap();
    let decimals: Decimal128Array = (0..rows)
        .map(|i| Some(i128::from(noise(i)) << 30))
        .collect();
    let decimals = decimals.with_precision_and_scale(38, 4).unwrap();
    let same = Int64Array::from_iter_values((0..rows).map(|_| 7));
    let none = Int32Array::new_null(rows as usize);
    let mut words = StringDictionaryBuilder::<Int8Type>::new();
    let mut lists = ListBuilder::new(arrow_array::builder::Int16Builder::new());
    for i in 0..rows {
        words.append_option(is_there(i, 6).then(|| format!("word {}", noise(i) % 9)));
        lists.append_option(is_there(i, 4).then(|| (0..(i % 4) as i16).map(Some)));
    }
    let inner = StructArray::from(vec![(
        Arc::new(Field::new("deep", DataType::Int32, true)),
        Arc::new(small.clone()) as ArrayRef,
    )]);
    let members: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(ids)),
        ("small", Arc::new(small)),
        ("flag", Arc::new(flags)),
        ("text", Arc::new(texts)),
        ("view", Arc::new(views)),
        ("list", Arc::new(lists.finish())),
        ("float", Arc::new(floats)),
        ("fixed", Arc::new(fixed)),
        ("decimal", Arc::new(decimals)),
        ("same", Arc::new(same)),
        ("none", Arc::new(none)),
        ("word", Arc::new(words.finish())),
        ("inner", Arc::new(inner)),
    ];
    let fields: Fields = members
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrays = members.into_iter().map(|(_, array)| array).collect();
    let nulls = NullBuffer::from_iter((0..rows).map(|i| is_there(i, 10)));
    StructArray::new(fields, arrays, Some(nulls))
}

fn table(rows: i64) -> RecordBatch {
    let ids = Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
    let columns = [("row", ids), ("s", Arc::new(structs(rows)) as ArrayRef)];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn packed(profile: Profile) -> WriterOptions {
    let column = ColumnOptions::default().with_packed_group(true);
    WriterOptions::default()
        .with_profile(profile)
        .with_column("s", column)
}

const PROFILES: [Profile; 5] = [
    Profile::Plain,
    Profile::Fast,
    Profile::Balanced,
    Profile::HighCompression,
    Profile::MinimalSize,
];

#[test]
fn every_profile_and_way_to_read_gives_what_was_written() {
    let rows = 12_000;
    let all = table(rows);
    for profile in PROFILES {
        let apart = WriterOptions::default().with_profile(profile);
        let bytes = |options: WriterOptions| {
            let parts = [all.slice(0, 5_333), all.slice(5_333, 6_667)];
            Shard::from_bytes(written_bytes(&parts, options.with_stripe_rows(7_000))).unwrap()
        };
        let (shard, apart) = (bytes(packed(profile)), bytes(apart));
        let report = shard.verify().unwrap();
        assert!(report.is_sound(), "{profile:?}: {report:?}");
        let read =
            |shard: &Shard| collect(shard.scan().with_batch_size(900).build().unwrap()).unwrap();
        assert_eq!(read(&shard), read(&apart), "{profile:?}");
        let members = ["s.flag", "s.text", "s.list", "s.none", "row"];
        let rows: Vec<u64> = (0..rows as u64).step_by(97).collect();
        assert_eq!(
            shard.take(&rows, members).unwrap(),
            apart.take(&rows, members).unwrap()
        );
        for predicate in [
            col("s.flag").eq(true),
            col("s.flag").is_null(),
            col("s.small").lt(3),
            col("s.text").eq("text text "),
            col("s.word").eq("word 4"),
            col("s").is_null(),
            col("s.same").eq(7i64),
        ] {
            let find = |shard: &Shard| {
                let scan = shard.scan().with_filter(predicate.clone()).with_threads(2);
                collect(scan.build().unwrap()).unwrap()
            };
            let found = find(&shard);
            assert_eq!(found, find(&apart), "{profile:?} {predicate:?}");
            assert!(found.num_rows() > 0, "{predicate:?}");
        }
        for stripe in 0..2 {
            let descriptors = [&shard, &apart].map(|shard| {
                let found = shard.stripe_field_descriptor(stripe, 3).unwrap().unwrap();
                (found.field.range_stats, found.field.null_count)
            });
            assert_eq!(descriptors[0], descriptors[1]);
        }
    }
}

#[test]
fn long_values_end_blocks_where_others_do() {
    let rows = 5_000;
    let texts: StringArray = (0..rows)
        .map(|i| Some("x".repeat(if i % 7 == 0 { 9_000 } else { i % 50 })))
        .collect();
    let ids = Int32Array::from_iter_values(0..rows as i32);
    let fields = vec![
        Field::new("text", DataType::Utf8, true),
        Field::new("id", DataType::Int32, true),
    ];
    let s = StructArray::new(fields.into(), vec![Arc::new(texts), Arc::new(ids)], None);
    let batch = RecordBatch::try_from_iter([("s", Arc::new(s) as ArrayRef)]).unwrap();
    for parts in [1, 3, 50] {
        let size = rows.div_ceil(parts);
        let batches: Vec<RecordBatch> = (0..rows)
            .step_by(size)
            .map(|at| batch.slice(at, size.min(rows - at)))
            .collect();
        let shard = Shard::from_bytes(written_bytes(&batches, packed(Profile::Balanced))).unwrap();
        let read = collect(shard.scan().build().unwrap()).unwrap();
        assert_eq!(read, batch);
        assert!(shard.verify().unwrap().is_sound());
    }
}

/// Returns a struct of `members` numbers, none of them constant.
fn wide(members: usize, rows: i64) -> RecordBatch {
    let column = |m: usize| {
        let of = move |i: i64| noise(i * 31 + m as i64);
        Arc::new(Int64Array::from_iter_values((0..rows).map(of))) as ArrayRef
    };
    let fields: Fields = (0..members)
        .map(|m| Field::new(format!("m{m}"), DataType::Int64, false))
        .collect();
    let s = StructArray::new(fields, (0..members).map(column).collect(), None);
    RecordBatch::try_from_iter([("s", Arc::new(s) as ArrayRef)]).unwrap()
}

#[test]
fn one_request_reads_a_row_of_all_members() {
    let batch = wide(20, 300_000);
    let requests = |options: WriterOptions| {
        let file = Logged::new(written_bytes(std::slice::from_ref(&batch), options));
        let shard =
            Shard::from_reader(file.clone(), Arc::new(NoContainer), ShardOptions::default());
        let shard = shard.unwrap();
        // The metadata are read once for all rows.
        shard.take(&[5], ["s"]).unwrap();
        file.requests();
        let taken = shard.take(&[150_000], ["s"]).unwrap();
        assert_eq!(taken, batch.slice(150_000, 1));
        let requests = file.requests();
        (requests.len(), bytes_of(&requests))
    };
    let apart = WriterOptions::default().with_profile(Profile::Balanced);
    let (count, bytes) = requests(packed(Profile::Balanced));
    assert_eq!(count, 1);
    // A super-block of 1,024 records.
    assert!(bytes < 20 * 8 * 1024 + 1024, "{bytes} bytes");
    assert!(requests(apart).0 >= 10);
}

#[test]
fn inspection_draws_the_group_and_its_members() {
    let bytes = written_bytes(&[table(3_000)], packed(Profile::Balanced));
    let shard = Shard::from_bytes(bytes).unwrap();
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let s = &info.stripes[0].fields[1];
    let group = s.buffers[0].blocks.as_ref().unwrap();
    assert_eq!((group.count, group.values), (3, 3_000));
    let indexes: Vec<Option<u32>> = s
        .children
        .iter()
        .map(|child| child.buffers.first().and_then(|b| b.packed_group_index))
        .collect();
    // Members without stored values have no part: only nulls, and nested members.
    let none = u32::MAX;
    let expected = [0, 1, 2, 3, 4, none, 5, 6, 7, 8, none, 9, none];
    let expected = expected.map(|i| (i != none).then_some(i));
    assert_eq!(indexes, expected);
    let text = &s.children[3];
    assert_eq!((text.encoded_bytes, text.problem.as_deref()), (0, None));
    let blocks = text.buffers[0].blocks.as_ref().unwrap();
    let counted: u64 = blocks.encodings.iter().map(|count| count.blocks).sum();
    assert_eq!(counted, 3);
}

#[test]
fn edits_keep_packed_groups() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(format!("{name}.amudai.shard")));
    let parts = [table(4_000), table(2_500)];
    for (path, part) in paths.iter().zip(&parts) {
        let options = packed(Profile::Balanced);
        let mut writer = ShardWriter::create_with(path, part.schema(), options).unwrap();
        writer.write(part).unwrap();
        writer.finish().unwrap();
    }
    let mut editor = ShardEditor::open(&paths[0]).unwrap();
    editor.append(&paths[1]).unwrap();
    editor.drop_columns(["row"]).unwrap();
    let target = folder.path().join("c.amudai.shard");
    editor.commit_to(&target).unwrap();
    let shard = Shard::open(&target).unwrap();
    let read = collect(shard.scan().build().unwrap()).unwrap();
    let expected = concat_batches(&parts[0].schema(), &parts).unwrap();
    let expected = expected.project(&[1]).unwrap();
    assert_eq!(read, expected);
    assert!(shard.verify().unwrap().is_sound());
}

#[test]
fn what_cannot_be_packed_is_refused() {
    let numbers = Arc::new(Int32Array::from(vec![1])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("s", numbers)]).unwrap();
    let refused = |options| {
        ShardWriter::try_new(Vec::new(), batch.schema(), options)
            .map(|_| ())
            .unwrap_err()
    };
    let error = refused(packed(Profile::Balanced));
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("column `s`"), "{error}");
    let error = refused(packed(Profile::Balanced).with_wire(Wire::Reference));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("packed groups"), "{error}");
}

#[test]
fn a_flipped_byte_of_a_group_is_found() {
    let batch = wide(3, 3_000);
    let bytes = written_bytes(std::slice::from_ref(&batch), packed(Profile::Balanced));
    let shard = Shard::from_bytes(bytes.clone()).unwrap();
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let group = info.stripes[0].fields[0].buffers[0].range;
    for at in (group.start()..group.end()).step_by(1_013) {
        let mut damaged = bytes.to_vec();
        damaged[at as usize] ^= 4;
        let shard = Shard::from_bytes(Bytes::from(damaged)).unwrap();
        let error = collect(shard.scan().build().unwrap()).unwrap_err();
        let ArrowError::ExternalError(error) = error else {
            unreachable!("{error}")
        };
        let error = error.downcast_ref::<arrow_shard::Error>().unwrap();
        assert_eq!(error.kind(), ErrorKind::Checksum, "byte {at}: {error}");
    }
}
