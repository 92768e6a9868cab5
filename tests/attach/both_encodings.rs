//! Fields that are stored twice: in native buffers, and in column chunks of a Parquet file. The first encoding counts.

use super::descriptors::with_descriptors;
use super::files::{assert_sound, read_shard, table, write_parquet};
use arrow_array::RecordBatch;
use arrow_shard::format::{DataEncoding, StripeFieldDescriptor};
use arrow_shard::io::{ByteRange, RelativeUrl};
use arrow_shard::ops::{CompactOptions, ShardEditor, attach, compact};
use arrow_shard::read::col;
use arrow_shard::{Shard, ShardWriter};
use parquet::file::properties::WriterProperties;
use std::path::{Path, PathBuf};

const ROWS: i64 = 3_000;

/// Attaches a Parquet file with the rows, and adds the fields of a native shard. `order` gets the encodings of a field,
/// in the order native, Parquet.
fn stored_twice(
    folder: &Path,
    in_buffers: &RecordBatch,
    in_chunks: &RecordBatch,
    order: impl Fn(&mut Vec<DataEncoding>),
) -> PathBuf {
    let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.join(name));
    write_parquet(&source, in_chunks, WriterProperties::default());
    attach([&source], &target).unwrap();
    let mut writer =
        ShardWriter::try_new(Vec::new(), in_buffers.schema(), Default::default()).unwrap();
    writer.write(in_buffers).unwrap();
    let (native, _) = writer.finish_into().unwrap();
    let mut fields = Vec::new();
    with_descriptors(&native, |_, field, _| fields.push(field.clone()));
    let directory = std::fs::read(&target).unwrap();
    let directory = with_descriptors(&directory, |id, field, file| {
        let start = file.len() as u64;
        file.extend(&native);
        add_native(field, &fields[id], start);
        order(&mut field.encodings);
    });
    std::fs::write(&target, directory).unwrap();
    target
}

/// Adds the encoding of a native field before the others. Its file has been appended at `start`.
fn add_native(field: &mut StripeFieldDescriptor, native: &StripeFieldDescriptor, start: u64) {
    let [DataEncoding::Native(native_encoding)] = native.encodings.as_slice() else {
        unreachable!("the writer makes one encoding")
    };
    let mut moved = native_encoding.clone();
    for buffer in &mut moved.buffers {
        for reference in [&mut buffer.buffer, &mut buffer.block_map]
            .into_iter()
            .flatten()
        {
            let (from, to) = (
                reference.range.start() + start,
                reference.range.end() + start,
            );
            reference.range = ByteRange::try_new(from, to).unwrap();
        }
    }
    field.encodings.insert(0, DataEncoding::Native(moved));
    let properties = native.field.custom_properties.iter().cloned();
    field.field.custom_properties.extend(properties);
}

fn as_they_are(_: &mut Vec<DataEncoding>) {}

#[test]
fn the_native_encoding_is_read_if_it_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let all = table(2 * ROWS);
    let [first, second] = [0, ROWS].map(|row| {
        let [row, rows] = [row, ROWS].map(|n| usize::try_from(n).unwrap());
        all.slice(row, rows)
    });
    let target = stored_twice(folder.path(), &first, &second, as_they_are);
    assert_eq!(read_shard(&Shard::open(&target).unwrap()), first);
    std::fs::remove_file(folder.path().join("t.parquet")).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_eq!(read_shard(&shard), first);
    let taken = shard.take(&[2_999, 5], ["text"]).unwrap();
    assert_eq!(taken.num_rows(), 2);
}

#[test]
fn parquet_is_read_if_it_is_first_or_the_native_encoding_is_unknown() {
    let all = table(2 * ROWS);
    let rows = usize::try_from(ROWS).unwrap();
    let (first, second) = (all.slice(0, rows), all.slice(rows, rows));
    let orders: [fn(&mut Vec<DataEncoding>); 2] = [
        |encodings| encodings.reverse(),
        |encodings| encodings[0] = DataEncoding::Unknown,
    ];
    for order in orders {
        let folder = tempfile::tempdir().unwrap();
        let target = stored_twice(folder.path(), &first, &second, order);
        assert_eq!(read_shard(&Shard::open(&target).unwrap()), second);
        std::fs::remove_file(folder.path().join("t.parquet")).unwrap();
        let shard = Shard::open(&target).unwrap();
        let error = shard.take(&[5], ["text"]).unwrap_err();
        assert!(error.to_string().contains("t.parquet"), "{error}");
    }
}

#[test]
fn a_shard_that_is_stored_twice_is_verified_edited_and_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let rows = table(ROWS);
    let target = stored_twice(folder.path(), &rows, &rows, as_they_are);
    assert_sound(&Shard::open(&target).unwrap());
    let mut editor = ShardEditor::open(&target).unwrap();
    assert_eq!(editor.delete(&col("id").lt(1_000)).unwrap(), 1_000);
    editor.commit().unwrap();
    let expected = rows.slice(1_000, rows.num_rows() - 1_000);
    let shard = Shard::open(&target).unwrap();
    assert_sound(&shard);
    assert_eq!(read_shard(&shard), expected);
    let is_parquet = |file: &RelativeUrl| file.to_string().ends_with(".parquet");
    assert!(shard.referenced_files().unwrap().iter().any(is_parquet));
    let options = CompactOptions::default().with_external(true);
    compact(&target, options).unwrap().unwrap();
    let shard = Shard::open(&target).unwrap();
    assert!(!shard.referenced_files().unwrap().iter().any(is_parquet));
    std::fs::remove_file(folder.path().join("t.parquet")).unwrap();
    assert_eq!(read_shard(&shard), expected);
}
