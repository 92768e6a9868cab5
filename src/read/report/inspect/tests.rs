//! Inspection of shards with known content.

use super::InspectOptions;
use crate::error::ErrorKind;
use crate::format::{BufferKind, ValueKind};
use crate::read::Shard;
use crate::write::{PresenceLayout, Profile, ShardWriter, WriterOptions};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

fn batch(rows: usize) -> RecordBatch {
    let ids = Int64Array::from_iter_values((0i64..).take(rows));
    let texts: StringArray = (0..rows)
        .map(|i| (i % 3 > 0).then(|| format!("text {}", i % 7)))
        .collect();
    let mut lists = ListBuilder::new(Int32Builder::new());
    for i in (0..).take(rows) {
        lists.append_value([Some(i), None, Some(i * 2)]);
    }
    let members = Fields::from(vec![Field::new("x", DataType::Int64, true)]);
    let x = Arc::new(Int64Array::from(vec![Some(7); rows])) as ArrayRef;
    RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as ArrayRef),
        ("text", Arc::new(texts)),
        ("list", Arc::new(lists.finish())),
        ("point", Arc::new(StructArray::new(members, vec![x], None))),
    ])
    .unwrap()
}

fn shard(options: WriterOptions) -> (Shard, usize) {
    let batch = batch(20_000);
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let len = file.len();
    (Shard::from_bytes(file.into()).unwrap(), len)
}

#[test]
fn sizes_counts_and_encodings_add_up() {
    let (shard, len) = shard(WriterOptions::default().with_stripe_rows(15_000));
    let info = shard
        .inspect(InspectOptions::default().with_blocks(true))
        .unwrap();
    assert_eq!((info.num_rows, info.stripes.len()), (20_000, 2));
    assert_eq!(info.files[0].bytes, Some(len as u64));
    assert!(info.encoded_bytes < len as u64 && info.problem.is_none());
    assert!(info.creation_min.is_some());
    let mut properties = info.properties.iter();
    assert!(properties.any(|property| property.name == "ARROW:schema" && property.value.is_some()));
    assert_eq!(info.stripes[1].row_range, 15_000..20_000);
    let encoded: u64 = info.stripes.iter().map(|stripe| stripe.encoded_bytes).sum();
    assert_eq!(encoded, info.encoded_bytes);
    for stripe in &info.stripes {
        let mut all: Vec<_> = stripe.fields.iter().collect();
        while let Some(field) = all.pop() {
            assert_eq!(field.problem, None, "{}", field.path);
            all.extend(&field.children);
            for buffer in &field.buffers {
                let Some(blocks) = &buffer.blocks else {
                    continue;
                };
                let counted: u64 = blocks.encodings.iter().map(|count| count.blocks).sum();
                assert_eq!(counted, blocks.count, "{} {:?}", field.path, buffer.kind);
                assert_eq!(blocks.trees.len() as u64, blocks.count);
                let values: u64 = blocks
                    .trees
                    .iter()
                    .map(|b| b.values.end - b.values.start)
                    .sum();
                assert_eq!(values, blocks.values);
                let bytes: u64 = blocks.trees.iter().map(|b| b.bytes).sum();
                assert!(bytes + blocks.map_bytes <= buffer.range.len());
            }
        }
    }
    let fields = &info.stripes[0].fields;
    assert_eq!(fields[0].raw_data_size, Some(15_000 * 8));
    let range = fields[0].range.as_ref().unwrap();
    assert_eq!(
        range.max_value.as_ref().unwrap().kind,
        Some(ValueKind::I64(14_999))
    );
    assert_eq!(fields[1].null_count, Some(5_000));
    assert_eq!(fields[2].children[0].path, "list.item");
    assert_eq!(fields[2].children[0].positions, Some(45_000));
    let constant = &fields[3].children[0];
    assert_eq!(constant.path, "point.x");
    assert_eq!(
        constant.constant.as_ref().unwrap().kind,
        Some(ValueKind::I64(7))
    );
}

#[test]
fn raw_buffers_have_no_blocks_and_flags_say_what_is_embedded() {
    let (plain, _) = shard(WriterOptions::default().with_profile(Profile::Plain));
    let info = plain.inspect(InspectOptions::default()).unwrap();
    let text = &info.stripes[0].fields[1];
    let kinds: Vec<BufferKind> = text.buffers.iter().map(|buffer| buffer.kind).collect();
    assert!(kinds.contains(&BufferKind::Presence) && kinds.contains(&BufferKind::Offsets));
    assert!(text.buffers.iter().all(|buffer| buffer.blocks.is_none()));
    // A dictionary's codes have a separate presence buffer.
    let options = WriterOptions::default().with_dictionary_enabled(false);
    let (embedded, _) = shard(options.with_presence(PresenceLayout::Embedded));
    let info = embedded.inspect(InspectOptions::default()).unwrap();
    let data = &info.stripes[0].fields[1].buffers[0];
    assert!(data.embedded_presence && data.embedded_offsets);
}

#[test]
fn damaged_shards_are_described_or_an_error_but_never_panic() {
    let batch = batch(300);
    for profile in [Profile::Plain, Profile::Balanced] {
        let mut file = Vec::new();
        let options = WriterOptions::default().with_profile(profile);
        let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let options = InspectOptions::default().with_blocks(true);
        let mut described = 0;
        for at in (0..file.len()).step_by(23) {
            let mut bad = file.clone();
            bad[at] = bad[at].wrapping_add(0x55);
            let info =
                Shard::from_bytes(bad.into()).and_then(|shard| shard.inspect(options.clone()));
            described += usize::from(info.is_ok());
        }
        // Damage to data leaves the metadata readable.
        assert!(described > 0);
    }
}

#[test]
fn without_encodings_blocks_are_counted_but_not_read() {
    let (shard, _) = shard(WriterOptions::default());
    let info = shard
        .inspect(InspectOptions::default().with_encodings(false))
        .unwrap();
    let blocks = info.stripes[0].fields[0].buffers[0]
        .blocks
        .as_ref()
        .unwrap();
    assert_eq!((blocks.values, blocks.max_values), (20_000, 8192));
    assert!(blocks.encodings.is_empty() && blocks.trees.is_empty());
}

#[test]
fn progress_counts_the_columns_of_all_stripes_and_may_stop() {
    let (shard, _) = shard(WriterOptions::default().with_stripe_rows(8192));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let options = InspectOptions::default().with_progress(move |progress| {
        let name = progress.field.unwrap().to_owned();
        log.lock()
            .unwrap()
            .push((progress.done, progress.total, name));
        ControlFlow::Continue(())
    });
    let info = shard.inspect(options).unwrap();
    assert_eq!(info, shard.inspect(InspectOptions::default()).unwrap());
    let names = ["id", "text", "list", "point"].iter().cycle();
    let expected = (1..=12)
        .zip(names)
        .map(|(done, name)| (done, 12, (*name).to_owned()));
    assert_eq!(*seen.lock().unwrap(), expected.collect::<Vec<_>>());

    let options = InspectOptions::default().with_progress(|progress| {
        assert!(progress.done <= 5, "it goes on");
        match progress.done {
            5 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let stopped = shard.inspect(options).unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Stopped);
}
