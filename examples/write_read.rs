//! Writes a batch to a shard, and reads some of its columns and rows back.

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_shard::Shard;
use arrow_shard::write::ShardWriter;
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("cities.amudai.shard");

    let names = ["Oslo", "Lima", "Cairo", "Kyoto"];
    let batch = RecordBatch::try_from_iter([
        (
            "id",
            Arc::new(Int32Array::from_iter_values(0..4)) as ArrayRef,
        ),
        ("name", Arc::new(StringArray::from(names.to_vec()))),
        (
            "area",
            Arc::new(Float64Array::from(vec![
                Some(454.0),
                Some(2672.3),
                None,
                Some(827.8),
            ])),
        ),
    ])?;

    let mut writer = ShardWriter::create(&path, batch.schema())?;
    writer.write(&batch)?;
    let summary = writer.finish()?;
    println!("{} rows in {} bytes", summary.num_rows(), summary.bytes());

    let shard = Shard::open(&path)?;
    println!("{}", shard.schema()?);
    for batch in shard.scan().with_projection(["name", "area"]).build()? {
        println!("{}", arrow_cast::pretty::pretty_format_batches(&[batch?])?);
    }
    let two = shard.take(&[3, 0], ["name"])?;
    println!("{}", arrow_cast::pretty::pretty_format_batches(&[two])?);
    Ok(())
}
