//! Reads 2 of 2,000 columns, and counts the bytes that are read.

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_shard::io::{ByteRange, LocalFile, NoContainer, ReadAt};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::ShardWriter;
use arrow_shard::{Result, Shard};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that counts the bytes read.
#[derive(Debug)]
struct Counting {
    file: LocalFile,
    bytes: AtomicU64,
    requests: AtomicU64,
}

impl ReadAt for Counting {
    fn size(&self) -> Result<u64> {
        self.file.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        self.bytes.fetch_add(range.len(), Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.file.read_at(range)
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("wide.amudai.shard");
    let columns = (0..2_000).map(|column| {
        let values = Int32Array::from_iter_values((0..1_000).map(|row| row * 7919 % (column + 2)));
        (format!("c{column}"), Arc::new(values) as ArrayRef)
    });
    let batch = RecordBatch::try_from_iter(columns)?;
    let mut writer = ShardWriter::create(&path, batch.schema())?;
    writer.write(&batch)?;
    let size = writer.finish()?.bytes();

    let file = Arc::new(Counting {
        file: LocalFile::open(&path)?,
        bytes: AtomicU64::new(0),
        requests: AtomicU64::new(0),
    });
    let shard = Shard::from_reader(file.clone(), Arc::new(NoContainer), ShardOptions::default())?;
    let mut rows = 0;
    for batch in shard.scan().with_projection(["c1234", "c7"]).build()? {
        rows += batch?.num_rows();
    }
    let (bytes, requests) = (&file.bytes, &file.requests);
    println!(
        "{rows} rows of 2 columns: {} of {size} bytes in {} requests",
        bytes.load(Ordering::Relaxed),
        requests.load(Ordering::Relaxed)
    );
    Ok(())
}
