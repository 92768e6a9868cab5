//! Makes a shard over two Parquet files, filters, takes and deletes rows, and rewrites it without the Parquet files.

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_cast::pretty::pretty_format_batches;
use arrow_shard::Shard;
use arrow_shard::ops::{CompactOptions, ShardEditor, attach, compact, list_parquet_files};
use arrow_shard::read::col;
use parquet::arrow::ArrowWriter;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Writes a Parquet file with the flights of a year.
fn write_year(path: &Path, year: i64) -> Result<(), Box<dyn Error>> {
    let airports = ["OSL", "LIM", "LNZ"].into_iter().cycle();
    let ids = Int64Array::from_iter_values((0..10_000).map(|i| year * 10_000 + i));
    let origins = StringArray::from_iter_values(airports.take(10_000));
    let delays = Int64Array::from_iter_values((0..10_000).map(|i| i * 7 % 120));
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as ArrayRef),
        ("origin", Arc::new(origins)),
        ("delay", Arc::new(delays)),
    ])?;
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let lake = folder.path().join("lake");
    std::fs::create_dir(&lake)?;
    for year in [2024, 2025] {
        write_year(&lake.join(format!("{year}.parquet")), year)?;
    }

    let path = folder.path().join("flights.amudai.shard");
    let attached = attach(list_parquet_files(&lake)?, &path)?;
    println!(
        "attached {} rows in {} stripes; {} bytes were written",
        attached.num_rows(),
        attached.num_stripes(),
        attached.bytes()
    );

    let shard = Shard::open(&path)?;
    let late = col("delay").gt(100).and(col("origin").eq("LIM"));
    let mut rows = 0;
    for batch in shard.scan().with_filter(late).build()? {
        rows += batch?.num_rows();
    }
    println!("{rows} flights from LIM were more than 100 minutes late");
    let taken = shard.take(&[0, 19_999], ["id", "delay"])?;
    println!("{}", pretty_format_batches(&[taken])?);

    let mut editor = ShardEditor::open(&path)?;
    let deleted = editor.delete(&col("delay").eq(0))?;
    editor.commit()?;
    println!("{deleted} rows deleted, the Parquet files are as they were");

    if let Some(done) = compact(&path, CompactOptions::default().with_external(true))? {
        println!("compacted: {} stripe now", done.num_stripes());
    }
    std::fs::remove_dir_all(&lake)?;
    let shard = Shard::open(&path)?;
    let last = shard.take(&[shard.num_rows() - 1], ["id", "delay"])?;
    println!(
        "{} rows without the Parquet files, the last one:\n{}",
        shard.num_rows(),
        pretty_format_batches(&[last])?
    );
    Ok(())
}
