//! Converts a Parquet file to a shard, and compares their rows.

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_select::concat::concat_batches;
use arrow_shard::Shard;
use arrow_shard::write::ShardWriter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

fn write_parquet(path: &Path) -> Result<(), Box<dyn Error>> {
    let words = ["amber", "birch", "cedar", "delta"];
    let texts = StringArray::from_iter_values((0..50_000).map(|i| words[i * i % 4]));
    let batch = RecordBatch::try_from_iter([
        (
            "id",
            Arc::new(UInt32Array::from_iter_values(0..50_000)) as ArrayRef,
        ),
        ("word", Arc::new(texts)),
    ])?;
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (parquet, path) = (
        folder.path().join("a.parquet"),
        folder.path().join("a.amudai.shard"),
    );
    write_parquet(&parquet)?;

    let open = || ParquetRecordBatchReaderBuilder::try_new(File::open(&parquet)?)?.build();
    let reader = open()?;
    let mut writer = ShardWriter::create(&path, arrow_array::RecordBatchReader::schema(&reader))?;
    for batch in reader {
        writer.write(&batch?)?;
    }
    let summary = writer.finish()?;
    let size = parquet.metadata()?.len();
    println!(
        "{} rows: Parquet {size} bytes, shard {} bytes",
        summary.num_rows(),
        summary.bytes()
    );

    let shard = Shard::open(&path)?;
    let schema = shard.schema()?;
    let expected = concat_batches(&schema, &open()?.collect::<Result<Vec<_>, _>>()?)?;
    let found = concat_batches(
        &schema,
        &shard.scan().build()?.collect::<Result<Vec<_>, _>>()?,
    )?;
    assert_eq!(expected, found);
    println!("both hold the same");
    Ok(())
}
