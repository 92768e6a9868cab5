//! Conversion needs memory for a few batches and pages, whatever the number of rows.
#![expect(
    clippy::unwrap_used,
    reason = "a table that cannot be made is a failed test"
)]
#![cfg(target_os = "linux")]

mod common;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, RecordBatch};
use arrow_shard_lance::{LanceReader, LanceWriter};
use std::sync::Arc;

/// Bytes of the table, in Arrow: more than the memory that a conversion may take.
const TABLE_BYTES: usize = 1 << 30;
const VALUE_BYTES: usize = 2_000;
const BATCH_ROWS: usize = 8_192;
/// The most memory that reading may take.
const MAX_BYTES: u64 = 600 << 20;

/// The most memory that the process had.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes << 10
}

fn batch(first: usize) -> RecordBatch {
    let ids = first..first + BATCH_ROWS;
    let mut bytes = vec![0u8; VALUE_BYTES];
    let values = ids.clone().map(|id| {
        // Bytes that no encoding makes smaller.
        let mut state = (id as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for byte in &mut bytes {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        Some(bytes.clone())
    });
    let values: ArrayRef = Arc::new(LargeBinaryArray::from_iter(values));
    let ids = ids.map(|id| i64::try_from(id).unwrap());
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    RecordBatch::try_from_iter([("id", ids), ("value", values)]).unwrap()
}

#[test]
fn memory_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    let table: usize = std::env::var("TABLE_BYTES").map_or(TABLE_BYTES, |it| it.parse().unwrap());
    let batches = table / (BATCH_ROWS * VALUE_BYTES);
    let mut writer = LanceWriter::create(&path, batch(0).schema()).unwrap();
    for i in 0..batches {
        writer.write(&batch(i * BATCH_ROWS)).unwrap();
    }
    let rows = writer.finish().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > table as u64 * 9 / 10);
    let after_writing = peak();
    assert!(
        after_writing < MAX_BYTES,
        "writing takes {after_writing} bytes"
    );
    let reader = LanceReader::open(&path).unwrap();
    assert_eq!(reader.num_rows(), rows);
    let mut read = 0;
    for batch in reader {
        let batch = batch.unwrap();
        assert!(batch.num_rows() <= BATCH_ROWS);
        read += batch.num_rows() as u64;
    }
    assert_eq!(read, rows);
    let after_reading = peak();
    assert!(
        after_reading < MAX_BYTES,
        "reading takes {after_reading} bytes"
    );
    println!("{after_writing} {after_reading}");
}
