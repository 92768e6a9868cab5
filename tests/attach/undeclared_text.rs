//! Binary columns that are read as text.

use super::files::write_parquet;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::ops::attach;
use arrow_shard::read::col;
use arrow_shard::{Error, ErrorKind, Result, Shard};
use parquet::file::properties::WriterProperties;
use std::ops::Range;
use std::sync::Arc;

const ROWS: u64 = 30_000;
/// The row that is not text.
const OTHER: u64 = 20_017;

fn shard(folder: &std::path::Path, distinct: u64) -> Shard {
    let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.join(name));
    let values = (0..ROWS).map(|i| match i {
        OTHER => vec![0xff, b'a'],
        i => format!("é {}", i % distinct).into_bytes(),
    });
    let values: ArrayRef = Arc::new(BinaryArray::from_iter_values(values));
    let batch = RecordBatch::try_from_iter([("b", values)]).unwrap();
    write_parquet(&source, &batch, WriterProperties::default());
    attach([&source], &target).unwrap();
    Shard::open(&target).unwrap()
}

fn read(shard: &Shard, as_type: &DataType, rows: Range<u64>) -> Result<u64> {
    let schema = Schema::new(vec![Field::new("b", as_type.clone(), false)]);
    let scan = shard
        .scan()
        .with_schema(Arc::new(schema))
        .with_row_range(rows);
    let rows = scan.build()?.map(|batch| {
        let batch = batch?;
        assert_eq!(batch.column(0).data_type(), as_type);
        Ok(batch.num_rows() as u64)
    });
    rows.sum::<Result<u64, Error>>()
}

#[test]
fn bytes_that_are_not_text_are_an_error_of_their_own_row() {
    for distinct in [100, ROWS] {
        let folder = tempfile::tempdir().unwrap();
        let shard = shard(folder.path(), distinct);
        for as_type in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View] {
            for rows in [0..8_192, 19_000..OTHER, OTHER + 1..ROWS] {
                let count = rows.end - rows.start;
                assert_eq!(
                    read(&shard, &as_type, rows.clone()).unwrap(),
                    count,
                    "{rows:?}"
                );
            }
            for rows in [0..ROWS, OTHER..OTHER + 1, OTHER - 3..OTHER + 40] {
                let error = read(&shard, &as_type, rows.clone()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                let text = error.to_string();
                assert!(text.contains("UTF-8") && text.contains("20017"), "{text}");
            }
        }
        // As bytes, all rows are read.
        let scan = shard.scan().with_filter(col("b").eq(&[0xff, b'a'][..]));
        let found: Vec<RecordBatch> = scan.build().unwrap().map(Result::unwrap).collect();
        assert_eq!(found[0].column(0).as_binary::<i32>().value(0), [0xff, b'a']);
    }
}
