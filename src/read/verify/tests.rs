//! What verification finds in shards that are sound, and in damaged ones.

use super::VerifyReport;
use crate::error::{Error, ErrorKind};
use crate::format::{BufferKind, Wire};
use crate::io::MemoryFolder;
use crate::read::{InspectOptions, Shard, ShardOptions};
use crate::write::{Layout, PresenceLayout, Profile, ShardWriter, WriterOptions};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int64Array, RecordBatch, StringArray,
};
use std::sync::Arc;

fn batch(rows: usize) -> RecordBatch {
    let ids: Int64Array = (0i64..)
        .take(rows)
        .map(|i| (i % 5 > 0).then_some(i * i % 1009))
        .collect();
    let texts: StringArray = (0..rows)
        .map(|i| Some(format!("text {}", i * 31 % 97)))
        .collect();
    let keys: DictionaryArray<Int32Type> = (0..rows).map(|i| ["a", "b", "c"][i * i % 3]).collect();
    let flags: BooleanArray = (0..rows).map(|i| Some(i * i % 7 < 3)).collect();
    let mut lists = ListBuilder::new(Int32Builder::new());
    for i in (0..).take(rows) {
        lists.append_option((i % 4 > 0).then_some([Some(i), None]));
    }
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(ids) as ArrayRef, true),
        ("text", Arc::new(texts), true),
        ("key", Arc::new(keys), true),
        ("flag", Arc::new(flags), true),
        ("list", Arc::new(lists.finish()), true),
    ])
    .unwrap()
}

fn written(batch: &RecordBatch, options: WriterOptions) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    file
}

fn all_options() -> Vec<WriterOptions> {
    let options = WriterOptions::default();
    vec![
        options.clone(),
        options.clone().with_presence(PresenceLayout::Embedded),
        options.clone().with_profile(Profile::Plain),
        options
            .with_profile(Profile::HighCompression)
            .with_stripe_rows(150),
    ]
}

fn verify(file: Vec<u8>) -> Result<VerifyReport, Error> {
    Shard::from_bytes(file.into())?.verify(|_| {})
}

fn rows(file: Vec<u8>) -> Vec<RecordBatch> {
    let shard = Shard::from_bytes(file.into()).unwrap();
    shard.scan().build().unwrap().map(Result::unwrap).collect()
}

#[test]
fn sound_shards_are_sound_and_everything_is_counted() {
    let batch = batch(20_000);
    for options in all_options() {
        let shard = Shard::from_bytes(written(&batch, options).into()).unwrap();
        let mut calls = Vec::new();
        let report = shard.verify(|p| calls.push((p.done, p.total))).unwrap();
        assert_eq!(report.problems, []);
        let info = shard.inspect(&InspectOptions::default()).unwrap();
        assert_eq!(report.stripes, info.stripes.len() as u64);
        assert_eq!(report.data_bytes, info.encoded_bytes);
        assert_eq!(
            (report.rows, report.files, report.fields),
            (20_000, 1, 6 * report.stripes)
        );
        let total = 5 * report.stripes;
        let expected: Vec<_> = (0..total).map(|done| (done, total)).collect();
        assert_eq!(calls, expected);
    }
}

#[test]
fn a_flipped_byte_is_reported_or_changes_nothing() {
    let batch = batch(300);
    for (start, options) in all_options().into_iter().enumerate() {
        let good = written(&batch, options.with_creation_time(Some(0)));
        let expected = rows(good.clone());
        for at in (start..good.len()).step_by(61) {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            // An error that keeps the shard from being opened is a report, too.
            if let Ok(report) = verify(bad.clone())
                && report.is_sound()
            {
                assert_eq!(rows(bad), expected, "byte {at}");
            }
        }
    }
}

#[test]
fn every_damaged_field_is_named_with_its_block() {
    let file = written(&batch(20_000), WriterOptions::default());
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let info = shard
        .inspect(&InspectOptions::default().with_blocks(true))
        .unwrap();
    let mut bad = file;
    let mut expected = Vec::new();
    for field in &info.stripes[0].fields {
        let Some(data) = field
            .buffers
            .iter()
            .find(|buffer| buffer.kind == BufferKind::Data)
        else {
            continue;
        };
        let blocks = data.blocks.as_ref().unwrap();
        let first = usize::try_from(data.range.start()).unwrap();
        let second = first + usize::try_from(blocks.trees[0].bytes).unwrap();
        bad[first + 16] ^= 1;
        expected.push((field.path.clone(), Some(0)));
        if blocks.count > 1 {
            bad[second + 16] ^= 1;
            expected.push((field.path.clone(), Some(1)));
        }
    }
    let report = verify(bad).unwrap();
    let found: Vec<_> = report
        .problems
        .iter()
        .map(|p| (p.field.clone().unwrap(), p.block))
        .collect();
    assert_eq!(found, expected);
    assert!(expected.len() > 5);
    for problem in &report.problems {
        assert_eq!(problem.kind, ErrorKind::Checksum, "{problem}");
        assert_eq!(
            (problem.stripe, problem.buffer),
            (Some(0), Some(BufferKind::Data))
        );
    }
}

#[test]
fn files_of_stripes_are_checked_and_missing_ones_reported() {
    let batch = batch(300);
    let folder = MemoryFolder::new();
    let options = WriterOptions::default()
        .with_layout(Layout::TwoLevel)
        .with_stripe_rows(100);
    let mut writer =
        ShardWriter::create_in(Box::new(folder.clone()), "d.shard", batch.schema(), options)
            .unwrap();
    writer.write(&batch).unwrap();
    let stripes = writer.finish().unwrap().stripe_files().to_vec();
    let report = |folder: &MemoryFolder| {
        let (root, options) = (folder.get("d.shard").unwrap(), ShardOptions::default());
        let shard = Shard::from_reader(Arc::new(root), Arc::new(folder.clone()), options).unwrap();
        shard.verify(|_| {}).unwrap()
    };
    let sound = report(&folder);
    assert_eq!((sound.problems.as_slice(), sound.files), ([].as_slice(), 4));

    let mut header = folder.get(&stripes[1]).unwrap().to_vec();
    header[0] = b'x';
    folder.insert(&stripes[1], header);
    let damaged = report(&folder);
    assert_eq!(damaged.problems.len(), 1);
    assert_eq!(damaged.problems[0].file, stripes[1]);
    assert_eq!(damaged.problems[0].kind, ErrorKind::NotAShard);

    let only = MemoryFolder::new();
    only.insert("d.shard", folder.get("d.shard").unwrap());
    only.insert(&stripes[0], folder.get(&stripes[0]).unwrap());
    let missing = report(&only);
    assert!(
        missing
            .problems
            .iter()
            .any(|p| p.file == stripes[2] && p.kind == ErrorKind::NotFound)
    );
    assert!(
        missing
            .problems
            .iter()
            .all(|p| p.file != stripes[0] && p.stripe != Some(0))
    );
}

#[test]
fn checksums_are_compared_again_and_whatever_the_options_say() {
    let file = written(
        &batch(300),
        WriterOptions::default().with_profile(Profile::Plain),
    );
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let info = shard.inspect(&InspectOptions::default()).unwrap();
    let at = usize::try_from(info.stripes[0].fields[0].buffers[0].range.start()).unwrap();
    let mut bad = file;
    bad[at] ^= 1;
    let options = ShardOptions::default().with_verify_checksums(false);
    let none = Arc::new(crate::io::NoContainer);
    let shard = Shard::from_reader(Arc::new(bytes::Bytes::from(bad)), none, options).unwrap();
    assert_eq!(shard.scan().build().unwrap().map(Result::unwrap).count(), 1);
    let report = shard.verify(|_| {}).unwrap();
    assert_eq!(report.problems.len(), 1);
    assert_eq!(report.problems[0].field.as_deref(), Some("id"));
}

#[test]
fn rows_of_nothing_but_nulls_cost_no_time() {
    let nulls = arrow_array::new_null_array(&arrow_schema::DataType::Int8, 10_000_000);
    let batch = RecordBatch::try_from_iter_with_nullable([("n", nulls, true)]).unwrap();
    assert_eq!(batch.column(0).null_count(), 10_000_000);
    let report = verify(written(&batch, WriterOptions::default())).unwrap();
    assert!(report.is_sound() && report.blocks == 0);
}

#[test]
fn golden_shards_are_sound() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/golden");
    let mut files = Vec::new();
    for part in ["shards", "encodings"] {
        let Ok(entries) = std::fs::read_dir(folder.join(part)) else {
            eprintln!("skipped: there is no {}", folder.join(part).display());
            return;
        };
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.retain(|file| file.to_string_lossy().ends_with(".amudai.shard"));
    assert!(!files.is_empty());
    let mut unsound = Vec::new();
    for file in &files {
        let report = Shard::open(file)
            .and_then(|shard| shard.verify(|_| {}))
            .unwrap();
        let severe = report
            .problems
            .iter()
            .filter(|p| p.kind != ErrorKind::Unsupported);
        unsound.extend(severe.map(ToString::to_string));
    }
    assert_eq!(unsound, Vec::<String>::new());
}

#[test]
fn half_precision_numbers_have_no_range_index_that_none_can_read() {
    let values = (1u16..=1000).map(half::f16::from_bits);
    let values = arrow_array::Float16Array::from_iter_values(values);
    let batch = RecordBatch::try_from_iter([("half", Arc::new(values) as ArrayRef)]).unwrap();
    for wire in [Wire::Spec, Wire::Reference] {
        let options = WriterOptions::default().with_wire(wire);
        let shard = Shard::from_bytes(written(&batch, options).into()).unwrap();
        assert_eq!(shard.verify(|_| {}).unwrap().problems, []);
        let node = &shard.shard_schema().unwrap().fields[0].data_type;
        assert_eq!(shard.range_index(0, node).unwrap(), None);
    }
}

#[test]
fn a_range_index_of_another_version_is_no_fault() {
    // On this wire the header of the index has no checksum.
    let options = WriterOptions::default().with_wire(Wire::Reference);
    let values = Int64Array::from_iter_values(0..10_000);
    let batch = RecordBatch::try_from_iter([("id", Arc::new(values) as ArrayRef)]).unwrap();
    let mut file = written(&batch, options);
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let node = &shard.shard_schema().unwrap().fields[0].data_type;
    let field = shard.stripe_field_descriptor(0, node.schema_id);
    let field = field.unwrap().unwrap();
    let mut buffers = super::data::native_buffers(&field);
    let index = buffers.find(|buffer| buffer.kind == BufferKind::RangeIndex);
    let range = index.unwrap().buffer.as_ref().unwrap().range;
    file[usize::try_from(range.start()).unwrap()] += 1;
    let shard = Shard::from_bytes(file.into()).unwrap();
    let error = shard.range_index(0, node).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(shard.verify(|_| {}).unwrap().problems, []);
}
