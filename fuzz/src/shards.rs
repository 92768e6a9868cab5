//! Checks the bytes of a shard: all operations on it terminate, and a shard that verification finds sound can be read.

use arrow_array::{RecordBatchReader, Scalar};
use arrow_shard::io::NoContainer;
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::read::{Literal, Predicate, ScanBuilder, ShardOptions, col};
use arrow_shard::{Error, ErrorKind, Projection, Shard};
use bytes::Bytes;
use std::sync::Arc;

/// Most batches that are read from a scan, and most rows of a batch.
const BATCHES: usize = 4;
const BATCH_ROWS: usize = 1000;
/// Most columns that filters test, and most rows that they read, because no row may match.
const FILTERED_COLUMNS: usize = 8;
const FILTERED_ROWS: u64 = 4000;
/// Most rows that are verified, because a small file may claim many rows of one value.
const VERIFIED_ROWS: u64 = 1 << 17;

pub fn run(data: &[u8]) {
    let options = ShardOptions::default().with_limits(super::limits());
    let file = Arc::new(Bytes::copy_from_slice(data));
    if let Ok(shard) = Shard::from_reader(file, Arc::new(NoContainer), options) {
        read(&shard);
    }
}

/// Reads everything in a shard.
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
        errors.extend(shard.take(&[0, rows / 3, rows - 1], Projection::All).err());
    }
    for part in shard.scan().split(3).unwrap_or_default() {
        errors.extend(batches_of(part));
    }
    errors.extend(batches_of(shard.scan().with_threads(2)));
    for filter in filters(shard) {
        let rows = 0..rows.min(FILTERED_ROWS);
        let error = batches_of(shard.scan().with_filter(filter).with_row_range(rows));
        // Types without an order cannot be compared.
        errors.extend(error.filter(|error| error.kind() != ErrorKind::SchemaMismatch));
    }
    errors.extend(shard.statistics(Projection::All).err());
    errors.extend(shard.stripe_statistics(Projection::All).err());
    let schema = shard
        .shard_schema()
        .ok()
        .filter(|_| shard.num_stripes() > 0);
    for field in schema.iter().flat_map(|schema| &schema.fields) {
        errors.extend(shard.range_index(0, &field.data_type).err());
    }
    let _ = shard.inspect(InspectOptions::default().with_blocks(true));
    if rows > VERIFIED_ROWS {
        return;
    }
    let report = shard.verify().expect("a report");
    if report.is_sound() {
        // A sound shard may still exceed limits, or contain unsupported parts.
        let excused = [
            ErrorKind::LimitExceeded,
            ErrorKind::Unsupported,
            ErrorKind::OffsetOverflow,
        ];
        errors.retain(|error| !excused.contains(&error.kind()));
        assert!(errors.is_empty(), "sound, and yet: {errors:?}");
    }
}

/// Returns filters for a few columns with unique names: equal to the value of the first row, above it, or null.
fn filters(shard: &Shard) -> Vec<Predicate> {
    let Ok(row) = shard.take(&[0], Projection::All) else {
        return Vec::new();
    };
    let schema = row.schema();
    let mut filters = Vec::new();
    for (field, array) in schema
        .fields()
        .iter()
        .zip(row.columns())
        .take(FILTERED_COLUMNS)
    {
        let name = field.name();
        let same = schema.fields().iter().filter(|other| other.name() == name);
        if same.count() > 1 || name.contains('.') {
            continue;
        }
        filters.push(col(name).is_null());
        if let Ok(value) = Literal::try_new(&Scalar::new(array.clone())) {
            filters.push(col(name).eq(value.clone()));
            filters.push(col(name).gt(value));
        }
    }
    filters
}

/// Reads a few batches from a row.
fn scan(shard: &Shard, first: u64) -> Option<Error> {
    batches_of(shard.scan().with_offset(first))
}

/// Reads a few batches.
fn batches_of(scan: ScanBuilder) -> Option<Error> {
    let reader = scan.with_batch_size(BATCH_ROWS).build();
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
