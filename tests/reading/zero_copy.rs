//! Buffers of the profile `Plain` become Arrow arrays without a copy, as pointers prove.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "small numbers"
)]

use crate::support::{collect, unaligned, written_bytes};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int32Array,
    Int64Array, LargeStringArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use arrow_shard::Shard;
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

const ROWS: usize = 5000;

/// Returns a column of each type with zero-copy arrays, with and without nulls.
fn batch() -> RecordBatch {
    let valid = |i: usize| !i.is_multiple_of(3);
    let texts: StringArray = (0..ROWS)
        .map(|i| valid(i).then(|| format!("text {i}")))
        .collect();
    let large: LargeStringArray = (0..ROWS).map(|i| Some("é".repeat(i % 9))).collect();
    let bytes: BinaryArray = (0..ROWS).map(|i| Some(vec![255; i % 4])).collect();
    let numbers: Int32Array = (0..ROWS).map(|i| valid(i).then_some(i as i32)).collect();
    let doubles: Float64Array = (0..ROWS).map(|i| Some(i as f64 / 3.0)).collect();
    let times: TimestampMicrosecondArray =
        (0..ROWS).map(|i| valid(i).then_some(i as i64)).collect();
    let fixed = FixedSizeBinaryArray::try_from_iter((0..ROWS).map(|i| [i as u8; 5])).unwrap();
    let decimals: Decimal128Array = (0..ROWS).map(|i| Some(i as i128)).collect();
    let mut lists = ListBuilder::new(Int32Builder::new());
    for i in 0..ROWS {
        match valid(i) {
            true => lists.append_value((0..i % 5).map(|n| Some(n as i32))),
            false => lists.append_null(),
        }
    }
    let inner: Int64Array = (0..ROWS)
        .map(|i| valid(i + 1).then_some(i as i64))
        .collect();
    let inner = (
        Arc::new(Field::new("inner", DataType::Int64, true)),
        Arc::new(inner) as ArrayRef,
    );
    let columns: [(&str, ArrayRef); 10] = [
        ("texts", Arc::new(texts)),
        ("large", Arc::new(large)),
        ("bytes", Arc::new(bytes)),
        ("numbers", Arc::new(numbers)),
        ("doubles", Arc::new(doubles)),
        ("times", Arc::new(times)),
        ("fixed", Arc::new(fixed)),
        ("decimals", Arc::new(decimals)),
        ("lists", Arc::new(lists.finish())),
        ("struct", Arc::new(StructArray::from(vec![inner]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Collects buffers outside of the memory, by the path of their array.
fn outside(path: &str, data: &ArrayData, memory: &Range<usize>, found: &mut Vec<String>) {
    let inside = |buffer: &Buffer| {
        let start = buffer.as_ptr() as usize;
        buffer.is_empty() || (memory.contains(&start) && start + buffer.len() <= memory.end)
    };
    for (i, buffer) in data.buffers().iter().enumerate() {
        if !inside(buffer) {
            found.push(format!("{path} buffer {i}"));
        }
    }
    if let Some(nulls) = data.nulls().filter(|nulls| nulls.null_count() > 0)
        && !inside(nulls.buffer())
    {
        found.push(format!("{path} validity"));
    }
    for child in data.child_data() {
        outside(
            &format!("{path}/{}", child.data_type()),
            child,
            memory,
            found,
        );
    }
}

fn copied(batch: &RecordBatch, memory: &Range<usize>) -> Vec<String> {
    let mut found = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        outside(field.name(), &column.to_data(), memory, &mut found);
    }
    found
}

fn plain() -> Bytes {
    let file = written_bytes(
        &[batch()],
        WriterOptions::default().with_profile(Profile::Plain),
    );
    // Buffers begin at multiples of 64 in the file, so the file must be aligned to 64, too.
    let mut padded = vec![0; file.len() + 64];
    let lead = padded.as_ptr().align_offset(64);
    padded[lead..lead + file.len()].copy_from_slice(&file);
    Bytes::from(padded).slice(lead..lead + file.len())
}

fn memory_of(bytes: &Bytes) -> Range<usize> {
    let start = bytes.as_ptr() as usize;
    start..start + bytes.len()
}

#[test]
fn arrays_of_a_plain_shard_in_memory_lie_in_its_bytes() {
    let bytes = plain();
    let shard = Shard::from_bytes(bytes.clone()).unwrap();
    let mut reader = shard.scan().with_batch_size(ROWS).build().unwrap();
    let read = reader.next().unwrap().unwrap();
    assert_eq!(read, batch());
    assert_eq!(copied(&read, &memory_of(&bytes)), [""; 0]);
}

#[test]
fn smaller_batches_of_fixed_width_and_text_lie_in_the_bytes_too() {
    let bytes = plain();
    let shard = Shard::from_bytes(bytes.clone()).unwrap();
    let names = [
        "texts", "large", "bytes", "numbers", "doubles", "times", "fixed", "struct",
    ];
    // Bitmaps may begin anywhere in a byte, values at any offset.
    let reader = shard
        .scan()
        .with_projection(names)
        .with_batch_size(777)
        .build()
        .unwrap();
    let mut rows = 0;
    for read in reader {
        let read = read.unwrap();
        assert_eq!(
            copied(&read, &memory_of(&bytes)),
            [""; 0],
            "from row {rows}"
        );
        rows += read.num_rows();
    }
    assert_eq!(rows, ROWS);
}

#[cfg(feature = "mmap")]
#[test]
#[expect(unsafe_code, reason = "a memory map of a file that does not change")]
fn arrays_of_a_mapped_plain_shard_lie_in_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.amudai.shard");
    let options = WriterOptions::default().with_profile(Profile::Plain);
    let mut writer = ShardWriter::create_with(&path, batch().schema(), options).unwrap();
    writer.write(&batch()).unwrap();
    writer.finish().unwrap();
    // SAFETY: the file is in a folder of this test, and does not change.
    let shard = unsafe { Shard::open_mmap(&path, arrow_shard::ShardOptions::default()) }.unwrap();
    let mut reader = shard.scan().with_batch_size(ROWS).build().unwrap();
    let read = reader.next().unwrap().unwrap();
    assert_eq!(read, batch());
    let maps = std::fs::read_to_string("/proc/self/maps");
    let Ok(maps) = maps else {
        eprintln!("SKIPPED: this system does not say where files are mapped");
        return;
    };
    let name = path.to_str().unwrap();
    let map = maps.lines().find(|line| line.ends_with(name)).unwrap();
    let (range, _) = map.split_once(' ').unwrap();
    let (start, end) = range.split_once('-').unwrap();
    let [start, end] = [start, end].map(|hex| usize::from_str_radix(hex, 16).unwrap());
    assert_eq!(copied(&read, &(start..end)), [""; 0]);
    // Arrays keep the map alive.
    drop((reader, shard));
    assert_eq!(read, batch());
}

#[test]
fn arrays_of_an_unaligned_shard_are_aligned_copies() {
    let bytes = unaligned(&plain());
    let shard = Shard::from_bytes(bytes.clone()).unwrap();
    let read = collect(shard.scan().with_batch_size(ROWS).build().unwrap()).unwrap();
    assert_eq!(read, batch());
    let numbers = read
        .column_by_name("doubles")
        .unwrap()
        .as_primitive::<arrow_array::types::Float64Type>();
    assert_eq!(numbers.values().as_ptr().align_offset(8), 0);
    let copied = copied(&read, &memory_of(&bytes));
    assert!(
        copied.contains(&"doubles buffer 0".to_owned()),
        "the test proves nothing: {copied:?}"
    );
}

#[test]
fn arrays_of_an_encoded_shard_lie_elsewhere() {
    let bytes = written_bytes(&[batch()], WriterOptions::default());
    let shard = Shard::from_bytes(bytes.clone()).unwrap();
    let read = collect(shard.scan().build().unwrap()).unwrap();
    let copied = copied(&read, &memory_of(&bytes));
    assert!(
        copied.len() > 10,
        "the test of pointers proves nothing: {copied:?}"
    );
}
