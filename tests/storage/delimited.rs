//! Delimited strings: each value follows its length, without offsets. Reading returns the same as for other layouts.

use crate::logged::{Logged, bytes_of};
use crate::support::{collect, written_bytes};
use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int16Type;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Int64Array, LargeStringArray, RecordBatch, StringArray,
    StringViewArray, StructArray,
};
use arrow_schema::{DataType, Field};
use arrow_shard::format::BufferKind;
use arrow_shard::io::NoContainer;
use arrow_shard::metadata::Wire;
use arrow_shard::ops::ShardEditor;
use arrow_shard::read::inspect::{BufferInfo, FieldInfo, InspectOptions};
use arrow_shard::read::{Projection, ShardOptions, col};
use arrow_shard::write::{ColumnOptions, PresenceLayout, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard, ShardWriter};
use std::sync::Arc;

const ROWS: usize = 10_000;
const COLUMNS: [&str; 8] = [
    "text", "large", "view", "binary", "word", "lists", "s", "mixed",
];

fn noise(i: usize) -> usize {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

/// Returns a text of any length, sometimes null or empty.
fn text(i: usize) -> Option<String> {
    let n = noise(i);
    (n % 7 != 3).then(|| format!("text {} ", n % 1000).repeat(n % 5))
}

fn some_text() -> String {
    let mut texts = (100..).filter_map(text);
    texts.find(|text| !text.is_empty()).unwrap()
}

fn table() -> RecordBatch {
    let mut binary = BinaryBuilder::new();
    let mut words = StringDictionaryBuilder::<Int16Type>::new();
    let mut lists = ListBuilder::new(StringBuilder::new());
    for i in 0..ROWS {
        binary.append_option(text(i + 1));
        words.append_option(
            (!noise(i).is_multiple_of(5)).then(|| format!("word {}", noise(i) % 40)),
        );
        lists.append_option((i % 6 != 1).then(|| (0..i % 4).map(|k| text(4 * i + k))));
    }
    let texts: StringArray = (0..ROWS).map(text).collect();
    let numbers: Int64Array = (0..ROWS).map(|i| i64::try_from(noise(i)).ok()).collect();
    let member = |name: &str, array: ArrayRef| {
        let field = Field::new(name, array.data_type().clone(), true);
        (Arc::new(field), array)
    };
    let nulls = (0..ROWS).map(|i| i % 11 != 2).collect::<Vec<bool>>();
    let structs = StructArray::from((
        vec![
            member("text", Arc::new(texts.clone())),
            member("number", Arc::new(numbers)),
        ],
        arrow_buffer::NullBuffer::from(nulls)
            .into_inner()
            .into_inner(),
    ));
    let columns: [ArrayRef; 8] = [
        Arc::new(texts),
        Arc::new((0..ROWS).map(|i| text(i + 2)).collect::<LargeStringArray>()),
        Arc::new((0..ROWS).map(|i| text(i + 3)).collect::<StringViewArray>()),
        Arc::new(binary.finish()),
        Arc::new(words.finish()),
        Arc::new(lists.finish()),
        Arc::new(structs),
        Arc::new(
            (0..ROWS)
                .map(|i| text(i % 3000))
                .collect::<BinaryViewArray>(),
        ),
    ];
    let named = COLUMNS.iter().zip(columns);
    RecordBatch::try_from_iter_with_nullable(named.map(|(name, array)| (*name, array, true)))
        .unwrap()
}

fn delimited(profile: Profile) -> WriterOptions {
    let column = ColumnOptions::default().with_delimited_values(true);
    let options = WriterOptions::default()
        .with_profile(profile)
        .with_stripe_rows(6000);
    COLUMNS.iter().fold(options, |options, name| {
        options.with_column(*name, column.clone())
    })
}

const PROFILES: [Profile; 5] = [
    Profile::Plain,
    Profile::Fast,
    Profile::Balanced,
    Profile::HighCompression,
    Profile::MinimalSize,
];

fn shard(batch: &RecordBatch, options: WriterOptions) -> Shard {
    let parts = [batch.slice(0, 3333), batch.slice(3333, ROWS - 3333)];
    Shard::from_bytes(written_bytes(&parts, options)).unwrap()
}

/// Returns the DATA buffers of fields and all fields below them.
fn data_of(fields: &[FieldInfo]) -> Vec<(String, BufferInfo)> {
    let own = fields.iter().flat_map(|field| {
        let data = field.buffers.iter().filter(|b| b.kind == BufferKind::Data);
        data.map(|buffer| (field.path.clone(), buffer.clone()))
    });
    let below = fields.iter().flat_map(|field| data_of(&field.children));
    own.chain(below).collect()
}

#[test]
fn every_profile_and_way_to_read_gives_what_was_written() {
    let all = table();
    let rows: Vec<u64> = (0..ROWS as u64).step_by(61).collect();
    for profile in PROFILES
        .into_iter()
        .filter(|profile| profile.is_available())
    {
        let apart = shard(&all, WriterOptions::default().with_profile(profile));
        let shard = shard(&all, delimited(profile));
        let report = shard.verify().unwrap();
        assert!(report.is_sound(), "{profile:?}: {report:?}");
        for batch_size in [700, 100_000] {
            let scan = shard.scan().with_batch_size(batch_size).build().unwrap();
            assert_eq!(collect(scan).unwrap(), all, "{profile:?}");
        }
        let take = |shard: &Shard| shard.take(&rows, Projection::All).unwrap();
        assert_eq!(take(&shard), take(&apart), "{profile:?}");
        for predicate in [
            col("text").eq(some_text()),
            col("large").is_null(),
            col("s.text").gt("text 9"),
            col("word").eq("word 4"),
            col("view").lt("text 1").and(col("text").is_not_null()),
        ] {
            let find = |shard: &Shard| {
                let scan = shard.scan().with_filter(predicate.clone()).with_threads(2);
                collect(scan.build().unwrap()).unwrap()
            };
            let found = find(&shard);
            assert!(found.num_rows() > 0, "{predicate}");
            assert_eq!(found, find(&apart), "{profile:?} {predicate}");
        }
    }
}

#[test]
fn inspect_says_which_values_are_delimited() {
    let all = table();
    let options = InspectOptions::default().with_encodings(true);
    let info = shard(&all, delimited(Profile::Balanced))
        .inspect(options)
        .unwrap();
    for stripe in &info.stripes {
        let data = data_of(&stripe.fields);
        assert_eq!(data.len(), 9, "{data:?}");
        for (path, buffer) in data {
            assert_eq!(buffer.problem, None, "{path}");
            assert_eq!(buffer.delimited, path != "s.number", "{path}");
            assert!(!buffer.embedded_offsets || !buffer.delimited, "{path}");
            assert!(!buffer.embedded_presence, "{path}");
            let blocks = buffer.blocks.unwrap();
            assert!(!blocks.encodings.is_empty(), "{path}");
        }
    }
}

#[test]
fn embedded_presence_is_for_other_values() {
    let all = table();
    let column = ColumnOptions::default()
        .with_delimited_values(true)
        .with_presence(PresenceLayout::Embedded);
    let options = WriterOptions::default()
        .with_column("s", column.clone())
        .with_column("text", column);
    let shard = shard(&all, options);
    assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), all);
    let data = data_of(&shard.inspect(InspectOptions::default()).unwrap().stripes[0].fields);
    let of = |path: &str| data.iter().find(|(at, _)| at == path).unwrap().1.clone();
    assert!(of("text").delimited && of("s.text").delimited);
    assert!(of("s.number").embedded_presence);
}

#[test]
fn ordered_dictionaries_stay() {
    let mut words = StringDictionaryBuilder::<Int16Type>::new();
    for i in 0..500 {
        words.append_value(["b", "a", "c"][i % 3]);
    }
    let words = words.finish();
    let field = Field::new_dictionary("word", DataType::Int16, DataType::Utf8, true);
    let schema = arrow_schema::Schema::new(vec![field.with_dict_is_ordered(true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(words)]).unwrap();
    let bytes = written_bytes(std::slice::from_ref(&batch), delimited_word());
    let shard = Shard::from_bytes(bytes).unwrap();
    let read = collect(shard.scan().build().unwrap()).unwrap();
    assert_eq!(read, batch);
    let dictionary = |batch: &RecordBatch| {
        let column = batch.column(0).as_any();
        let words = column.downcast_ref::<arrow_array::DictionaryArray<Int16Type>>();
        words.unwrap().values().clone()
    };
    assert_eq!(&dictionary(&read), &dictionary(&batch));
}

fn delimited_word() -> WriterOptions {
    let column = ColumnOptions::default().with_delimited_values(true);
    WriterOptions::default().with_column("word", column)
}

#[test]
fn single_rows_need_the_blocks_that_hold_them() {
    let all = table();
    let bytes = written_bytes(
        std::slice::from_ref(&all),
        delimited(Profile::Balanced).with_block_values(1024),
    );
    let file = Logged::new(bytes.clone());
    let options = ShardOptions::default();
    let shard = Shard::from_reader(file.clone(), Arc::new(NoContainer), options).unwrap();
    // The metadata are read once for all rows.
    shard.take(&[5], ["text"]).unwrap();
    file.requests();
    let row = shard.take(&[4321], ["text"]).unwrap();
    assert_eq!(row, all.project(&[0]).unwrap().slice(4321, 1));
    let needed = bytes_of(&file.requests());
    assert!(needed < 70_000, "{needed} of {}", bytes.len());
}

#[test]
fn an_edited_shard_keeps_them() {
    let all = table();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.amudai.shard");
    let mut writer =
        ShardWriter::create_with(&path, all.schema(), delimited(Profile::Fast)).unwrap();
    writer.write(&all).unwrap();
    writer.finish().unwrap();
    let mut editor = ShardEditor::open(&path).unwrap();
    editor.delete_rows(&[0, 5, 9_999]).unwrap();
    editor.commit().unwrap();
    let shard = Shard::open(&path).unwrap();
    let kept = (0..ROWS as u64).filter(|row| ![0, 5, 9_999].contains(row));
    let kept = arrow_array::UInt64Array::from_iter_values(kept);
    let expected = arrow_select::take::take_record_batch(&all, &kept).unwrap();
    assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), expected);
}

#[test]
fn the_reference_has_none() {
    let all = table();
    let options = delimited(Profile::Balanced).with_wire(Wire::Reference);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.amudai.shard");
    let error = ShardWriter::create_with(path, all.schema(), options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let text = error.to_string();
    assert!(
        text.contains("delimited") && text.contains("Spec"),
        "{text}"
    );
}
