//! Checks the bytes of a COLE file: reading terminates, and returns valid arrays or an error. A filter that matches all
//! rows returns the same rows as no filter.

use arrow_shard::arrow_array::{RecordBatch, RecordBatchReader};
use arrow_shard::interop::cole::ReaderBuilder;
use arrow_shard::read::col_at;
use bytes::Bytes;
use std::sync::Arc;

/// Most rows that are read.
const ROWS: u64 = 3000;
const BATCH_ROWS: usize = 1000;

pub fn run(data: &[u8]) {
    let file = Arc::new(Bytes::copy_from_slice(data));
    let open = || ReaderBuilder::try_new_with(file.clone(), super::limits());
    let Ok(builder) = open() else {
        return;
    };
    let columns = builder.schema().fields().len();
    let rows = read(builder);
    if columns > 0 {
        let all = open().expect("a file that was opened");
        let filtered = read(all.with_filter(col_at([0]).is_not_null()));
        assert_eq!(rows, filtered);
    }
    let last = open().expect("a file that was opened");
    let num_rows = last.num_rows();
    read(last.with_row_selection(num_rows.saturating_sub(5)..num_rows));
}

/// Returns the first rows; `None` after an error.
fn read(builder: ReaderBuilder) -> Option<Vec<RecordBatch>> {
    let reader = builder
        .with_limit(ROWS)
        .with_batch_size(BATCH_ROWS)
        .build()
        .ok()?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>().ok()?;
    for batch in &batches {
        assert_eq!(batch.schema(), schema);
        for column in batch.columns() {
            column.to_data().validate_full().expect("a sound array");
        }
    }
    Some(batches)
}
