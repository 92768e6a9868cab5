//! Writes and reads a shard in an object store, here in memory; S3, Azure, Google Cloud Storage and HTTP work the same.

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_shard::Shard;
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::write::{AsyncShardWriter, WriterOptions};
use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use std::error::Error;
use std::sync::Arc;

fn flights() -> Result<RecordBatch, Box<dyn Error>> {
    let delays: ArrayRef = Arc::new(Int64Array::from_iter_values((0..100_000).map(|i| i % 97)));
    let origins = (0..100_000).map(|i| ["OSL", "LIM", "CDG"][i % 3]);
    let origins: ArrayRef = Arc::new(StringArray::from_iter_values(origins));
    Ok(RecordBatch::try_from_iter([
        ("origin", origins),
        ("delay", delays),
    ])?)
}

fn main() -> Result<(), Box<dyn Error>> {
    // Any executor works.
    futures::executor::block_on(async {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = Path::from("tables/flights.amudai.shard");

        // Encoded data are uploaded while more batches are written; `finish` makes the object visible.
        let batch = flights()?;
        let (schema, options) = (batch.schema(), WriterOptions::default());
        let mut writer =
            AsyncShardWriter::create_object(store.clone(), &path, schema, options).await?;
        writer.write(&batch).await?;
        writer.finish().await?;

        // One request reads the end of the object, which contains the positions of all other parts.
        let shard = Shard::open_object(store, &path, ShardOptions::default()).await?;
        let scan = shard.scan().with_filter(col("delay").gt(90));
        let mut stream = scan.build_stream().await?;
        let mut late = 0;
        while let Some(batch) = stream.try_next().await? {
            late += batch.num_rows();
        }
        println!("{late} of {} flights are late", shard.num_rows());

        let rows = shard.take_async(&[7, 99_999], ["origin"]).await?;
        println!("{} of them picked by number", rows.num_rows());
        Ok(())
    })
}
