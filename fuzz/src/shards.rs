//! The bytes of a shard: everything that can be asked of it comes to an end, and a shard that
//! verification calls sound can be read.

use arrow_array::RecordBatchReader;
use arrow_shard::io::NoContainer;
use arrow_shard::read::{InspectOptions, ShardOptions};
use arrow_shard::{Error, ErrorKind, Shard};
use bytes::Bytes;
use std::sync::Arc;

/// Batches and rows that are read of a scan.
const BATCHES: usize = 4;
const BATCH_ROWS: usize = 1000;
/// Most rows that are verified: rows that are all alike cost a file nothing.
const VERIFIED_ROWS: u64 = 1 << 17;

pub fn run(data: &[u8]) {
    let options = ShardOptions::default().with_limits(super::limits());
    let file = Arc::new(Bytes::copy_from_slice(data));
    if let Ok(shard) = Shard::from_reader(file, Arc::new(NoContainer), options) {
        read(&shard);
    }
}

/// Reads all that there is.
pub fn read(shard: &Shard) {
    let _ = (
        shard.schema(),
        shard.shard_schema(),
        shard.sorting_columns(),
        shard.indexes(),
    );
    let _ = shard.properties().map(|_| ());
    for id in 0..8 {
        let _ = (
            shard.field_descriptor(id),
            shard.stripe_field_descriptor(0, id),
        );
    }
    let rows = shard.num_rows();
    let mut errors: Vec<Error> = scan(shard, 0).into_iter().collect();
    if rows > 0 {
        errors.extend(scan(shard, rows / 2));
        errors.extend(
            shard
                .take(&[0, rows / 3, rows - 1], arrow_shard::Projection::All)
                .err(),
        );
    }
    let _ = shard.inspect(&InspectOptions::default().with_blocks(true));
    if rows > VERIFIED_ROWS {
        return;
    }
    let report = shard.verify(|_| {}).expect("a report");
    if report.is_sound() {
        // What is sound may still be too much, or nothing that this build knows.
        let excused = [
            ErrorKind::LimitExceeded,
            ErrorKind::Unsupported,
            ErrorKind::OffsetOverflow,
        ];
        errors.retain(|error| !excused.contains(&error.kind()));
        assert!(errors.is_empty(), "sound, and yet: {errors:?}");
    }
}

/// Reads a few batches from a row on.
fn scan(shard: &Shard, first: u64) -> Option<Error> {
    let reader = shard
        .scan()
        .with_offset(first)
        .with_batch_size(BATCH_ROWS)
        .build();
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => return Some(error),
    };
    let schema = reader.schema();
    for batch in reader.by_ref().take(BATCHES) {
        match batch {
            Ok(batch) => {
                assert_eq!(batch.schema(), schema);
                for column in batch.columns() {
                    column.to_data().validate_full().expect("a sound array");
                }
            }
            Err(error) => return Some(error.into()),
        }
    }
    None
}
