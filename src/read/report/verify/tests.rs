//! Verification of sound and of damaged shards.

mod refused;
mod values;

use super::{VerifyOptions, VerifyReport};
use crate::error::{Error, ErrorKind};
use crate::format::{
    BufferKind, DataRef, DataRefArray, DataType, FieldDescriptor, Message, StripeFieldDescriptor,
    StripeList, TypeStats, Wire, open, seal,
};
use crate::io::MemoryFolder;
use crate::limits::Limits;
use crate::read::inspect::InspectOptions;
use crate::read::{Shard, ShardOptions};
use crate::write::{Layout, PresenceLayout, Profile, ShardWriter, WriterOptions};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int64Array, NullArray, RecordBatch,
    StringArray, StructArray, UnionArray,
};
use arrow_schema::{DataType as ArrowType, Field};
use std::ops::ControlFlow;
use std::sync::{Arc, mpsc};

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

#[test]
fn members_that_are_null_where_their_variant_is_are_sound() {
    let variants = [(0, Arc::new(Field::new("n", ArrowType::Int64, true)))];
    let values = Arc::new(Int64Array::from(vec![Some(1), None, None])) as ArrayRef;
    let union = UnionArray::try_new(
        variants.into_iter().collect(),
        vec![0; 3].into(),
        None,
        vec![values],
    );
    let union = Arc::new(union.unwrap()) as ArrayRef;
    let units = Arc::new(NullArray::new(3)) as ArrayRef;
    let members = [("u", union), ("none", units)].map(|(name, array)| {
        let field = Field::new(name, array.data_type().clone(), true);
        (Arc::new(field), array)
    });
    let column = Arc::new(StructArray::from(members.to_vec())) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
    let file = written(&batch, WriterOptions::default());
    let report = Shard::from_bytes(file.into()).unwrap().verify().unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
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
    let all = [
        options.clone(),
        options.clone().with_presence(PresenceLayout::Embedded),
        options.clone().with_profile(Profile::Plain),
        #[cfg(feature = "zstd")]
        options
            .with_profile(Profile::HighCompression)
            .with_stripe_rows(150),
    ];
    all.into()
}

fn verify(file: Vec<u8>) -> Result<VerifyReport, Error> {
    Shard::from_bytes(file.into())?.verify()
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
        let (tell, calls) = mpsc::channel();
        let options = VerifyOptions::default().with_progress(move |p| {
            tell.send((p.done, p.total)).unwrap();
            ControlFlow::Continue(())
        });
        let report = shard.verify_with(options).unwrap();
        assert_eq!(report.problems, []);
        let info = shard.inspect(InspectOptions::default()).unwrap();
        assert_eq!(report.stripes, info.stripes.len() as u64);
        assert_eq!(report.data_bytes, info.encoded_bytes);
        assert_eq!(
            (report.rows, report.files, report.fields),
            (20_000, 1, 6 * report.stripes)
        );
        let total = 5 * report.stripes;
        let expected: Vec<_> = (1..=total).map(|done| (done, total)).collect();
        assert_eq!(calls.try_iter().collect::<Vec<_>>(), expected);
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
            // An error that prevents opening the shard reports the damage as well.
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
        .inspect(InspectOptions::default().with_blocks(true))
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
fn a_damaged_checksum_of_a_dictionary_is_damage_and_not_another_file() {
    let pick = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 500;
    let texts: StringArray = (0..150_000)
        .map(|i| Some(format!("https://example.org/{0}/{0}", pick(i))))
        .collect();
    let texts = RecordBatch::try_from_iter([("key", Arc::new(texts) as ArrayRef)]).unwrap();
    let mut file = written(&texts, WriterOptions::default());
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let mut buffers = info.stripes[0].fields.iter().flat_map(|f| &f.buffers);
    let dictionary = buffers
        .find(|buffer| buffer.kind == BufferKind::ValueDictionary)
        .unwrap();
    // The size of the values section, which follows the header.
    let start = usize::try_from(dictionary.range.start()).unwrap();
    let size = u64::from_le_bytes(file[start + 18..start + 26].try_into().unwrap());
    let end = start + 48 + usize::try_from(size).unwrap();
    file[end - 1] ^= 1;
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let error = shard.take(&[0], ["key"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
    let problems = verify(file).unwrap().problems;
    let found = problems.iter().map(|p| (p.kind, p.buffer));
    let expected = (ErrorKind::Checksum, Some(BufferKind::ValueDictionary));
    assert_eq!(found.collect::<Vec<_>>(), [expected], "{problems:?}");
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
        shard.verify().unwrap()
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

/// Returns a message of a file.
fn message<M: Message>(file: &[u8], reference: &DataRef) -> M {
    let frame = &file[reference.range.to_usize().unwrap()];
    M::decode(open(frame).unwrap(), Wire::Spec, &Limits::default()).unwrap()
}

/// Changes the descriptor of a field, in a stripe or in the shard, and its checksum.
fn patch<M: Message>(
    file: &mut [u8],
    stripe: Option<usize>,
    node: &DataType,
    change: impl FnOnce(&mut M),
) {
    let shard = Shard::from_bytes(file.to_vec().into()).unwrap();
    let directory = shard.directory();
    let list = match stripe {
        None => directory.field_list_ref.clone(),
        Some(stripe) => {
            let StripeList(stripes) = message(file, directory.stripe_list_ref.as_ref().unwrap());
            stripes[stripe].field_list_ref.clone()
        }
    };
    let list: DataRefArray = message(file, &list.unwrap());
    let reference = list.get(node.schema_id as usize).unwrap();
    let mut descriptor: M = message(file, &reference);
    change(&mut descriptor);
    let frame = seal(&descriptor.encode(Wire::Spec).unwrap()).unwrap();
    file[reference.range.to_usize().unwrap()].copy_from_slice(&frame);
}

#[test]
fn all_false_statistics_are_named_with_their_stripe_and_field() {
    let mut file = written(&batch(300), WriterOptions::default().with_stripe_rows(100));
    assert_eq!(verify(file.clone()).unwrap().problems, []);
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let schema = shard.shard_schema().unwrap();
    let [id, text, _, flag, list] = [0, 1, 2, 3, 4].map(|i| &schema.fields[i].data_type);
    let file = &mut file;
    patch(
        file,
        Some(0),
        &list.children[0],
        |d: &mut StripeFieldDescriptor| {
            let range = d.field.range_stats.as_mut().unwrap();
            range.min_value = Some(1u64.into());
        },
    );
    patch(file, Some(1), id, |d: &mut StripeFieldDescriptor| {
        assert_eq!(d.field.null_count.replace(21), Some(20));
    });
    patch(file, Some(2), text, |d: &mut StripeFieldDescriptor| {
        let range = d.field.range_stats.as_mut().unwrap();
        std::mem::swap(&mut range.min_value, &mut range.max_value);
    });
    patch(file, None, flag, |d: &mut FieldDescriptor| {
        let Some(TypeStats::Boolean { true_count, .. }) = &mut d.type_specific else {
            panic!("{d:?}");
        };
        *true_count += 1;
    });
    patch(file, None, list, |d: &mut FieldDescriptor| {
        assert_eq!(d.null_count.replace(76), Some(75));
    });
    let report = verify(file.clone()).unwrap();
    let found = report.problems.iter().map(|p| {
        assert_eq!(p.kind, ErrorKind::Corrupt, "{p}");
        let field = p.field.clone().unwrap();
        (p.stripe, field, p.message.as_str())
    });
    let flags = (0..300).filter(|i| i * i % 7 < 3).count();
    let flags = format!(
        "{} values are true and {} false, and 300 are not null",
        flags + 1,
        300 - flags
    );
    let expected = [
        (
            Some(0),
            "list.item",
            "min_value: the constant Some(U64(1)) is no Int32 value",
        ),
        (Some(1), "id", "21 rows are said to be null, and 20 are"),
        (Some(2), "text", "the least value is above the greatest"),
        (
            None,
            "id",
            "null_count is 60, and those of the stripes add up to 61",
        ),
        (None, "flag", &flags),
        (
            None,
            "list",
            "null_count is 76, and those of the stripes add up to 75",
        ),
    ];
    let expected = expected.map(|(stripe, field, text)| (stripe, field.to_owned(), text));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn checksums_are_compared_again_and_whatever_the_options_say() {
    let file = written(
        &batch(300),
        WriterOptions::default().with_profile(Profile::Plain),
    );
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let at = usize::try_from(info.stripes[0].fields[0].buffers[0].range.start()).unwrap();
    let mut bad = file;
    bad[at] ^= 1;
    let options = ShardOptions::default().with_verify_checksums(false);
    let none = Arc::new(crate::io::NoContainer);
    let shard = Shard::from_reader(Arc::new(bytes::Bytes::from(bad)), none, options).unwrap();
    assert_eq!(shard.scan().build().unwrap().map(Result::unwrap).count(), 1);
    let report = shard.verify().unwrap();
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
        let report = Shard::open(file).and_then(|shard| shard.verify()).unwrap();
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
    // Sorted, so that numbers of any other type would get an index.
    let bits = arrow_array::UInt16Array::from_iter_values(1..=10_000);
    let values = bits.values().iter().map(|v| half::f16::from_bits(*v));
    let values = arrow_array::Float16Array::from_iter_values(values);
    let columns: [(&str, ArrayRef); 2] = [("half", Arc::new(values)), ("bits", Arc::new(bits))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    for wire in [Wire::Spec, Wire::Reference] {
        let options = WriterOptions::default().with_wire(wire);
        let shard = Shard::from_bytes(written(&batch, options).into()).unwrap();
        assert_eq!(shard.verify().unwrap().problems, []);
        let fields = shard.shard_schema().unwrap().fields;
        let indexed = fields
            .iter()
            .map(|f| shard.range_index(0, &f.data_type).unwrap().is_some());
        assert_eq!(indexed.collect::<Vec<_>>(), [false, true], "{wire:?}");
    }
}

#[test]
fn a_range_index_of_another_version_is_no_fault() {
    // On this wire, the header of the index has no checksum.
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
    file[usize::try_from(range.start()).unwrap()] += 2;
    let shard = Shard::from_bytes(file.into()).unwrap();
    let error = shard.range_index(0, node).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(shard.verify().unwrap().problems, []);
}

#[test]
fn a_block_map_of_which_readers_have_a_copy_is_verified_too() {
    let noise = |i: i64| i.wrapping_mul(i).wrapping_mul(0x1E37_79B9_7F4A_7C15);
    let values: Int64Array = (0..50_000)
        .map(|i| Some(noise(i) ^ noise(i) >> 31))
        .collect();
    let batch = RecordBatch::try_from_iter([("id", Arc::new(values) as ArrayRef)]).unwrap();
    let mut file = written(&batch, WriterOptions::default());
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    assert!(shard.verify().unwrap().is_sound());
    let field = shard.stripe_field_descriptor(0, 0).unwrap().unwrap();
    let mut buffers = super::data::native_buffers(&field);
    let map = buffers.find_map(|buffer| buffer.block_map.clone()).unwrap();
    file[usize::try_from(map.range.start()).unwrap()] ^= 1;
    // Readers use the copy.
    assert_eq!(
        rows(file.clone()),
        rows(written(&batch, WriterOptions::default()))
    );
    let report = verify(file).unwrap();
    assert_eq!(report.problems.len(), 1);
    let problem = report.problems[0].to_string();
    assert!(
        problem.contains("`id`") && problem.contains("block map"),
        "{problem}"
    );
}

#[test]
fn reports_are_the_same_however_many_threads_there_are() {
    let sound = written(
        &batch(3000),
        WriterOptions::default().with_stripe_rows(1000),
    );
    let mut damaged = sound.clone();
    for at in (500..damaged.len() - 5000).step_by(997) {
        damaged[at] ^= 1;
    }
    for (file, is_sound) in [(sound, true), (damaged, false)] {
        let report = |threads: usize| {
            let shard = Shard::from_bytes(file.clone().into()).unwrap();
            let (tell, calls) = mpsc::channel();
            let options = VerifyOptions::default().with_threads(threads);
            let report = shard.verify_with(options.with_progress(move |progress| {
                let field = progress.field.unwrap().to_owned();
                tell.send((field, progress.done, progress.total)).unwrap();
                ControlFlow::Continue(())
            }));
            (report.unwrap(), calls.try_iter().collect::<Vec<_>>())
        };
        let expected = report(1);
        assert_eq!(expected.0.is_sound(), is_sound);
        assert_eq!(expected.1.last(), Some(&("list".to_owned(), 15, 15)));
        for threads in [2, 3, 40] {
            assert_eq!(report(threads), expected, "{threads} threads");
        }
    }
}

#[test]
fn a_verification_that_is_broken_off_is_not_complete() {
    let file = written(
        &batch(3000),
        WriterOptions::default().with_stripe_rows(1000),
    );
    let shard = Shard::from_bytes(file.into()).unwrap();
    for threads in [1, 3] {
        let (tell, calls) = mpsc::channel();
        let options = VerifyOptions::default().with_threads(threads);
        let report = shard.verify_with(options.with_progress(move |progress| {
            tell.send(progress.done).unwrap();
            if progress.done < 4 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        }));
        let report = report.unwrap();
        assert_eq!(calls.try_iter().count(), 4);
        assert!(!report.is_complete && !report.is_sound());
        assert_eq!((report.problems.as_slice(), report.fields), (&[][..], 4));
    }
}
