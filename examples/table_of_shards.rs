//! Reads the shards of a folder as one table: one shard per day, and later shards have an additional column.
//!
//! ```sh
//! cargo run --example table_of_shards
//! ```

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_shard::ShardWriter;
use arrow_shard::ops::ShardSet;
use arrow_shard::read::col;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for day in 1..=3 {
        let mut columns = vec![
            (
                "day",
                Arc::new(Int64Array::from(vec![day; 1000])) as ArrayRef,
            ),
            (
                "delay",
                Arc::new((0..1000).map(|i| i * day % 97).collect::<Int64Array>()),
            ),
        ];
        if day == 3 {
            columns.push(("gate", Arc::new(StringArray::from(vec!["A7"; 1000]))));
        }
        let batch = RecordBatch::try_from_iter(columns)?;
        let path = folder.path().join(format!("{day}.amudai.shard"));
        let mut writer = ShardWriter::create(path, batch.schema())?;
        writer.write(&batch)?;
        writer.finish()?;
    }

    let table = ShardSet::open_folder(folder.path())?;
    println!(
        "{} rows of {} shards",
        table.num_rows(),
        table.row_ranges().len()
    );

    // Shards without a match are skipped by their statistics; a shard without the column `gate` returns nulls.
    let late = col("day").gt_eq(2).and(col("delay").gt(90));
    let mut rows = 0;
    for batch in table.scan().with_filter(late).with_threads(2).build()? {
        rows += batch?.num_rows();
    }
    println!("{rows} late flights since the second day");

    // Row 17 of the second shard, and the first row of the third one.
    let taken = table.take(&[(1, 17), (2, 0)], ["day", "gate"])?;
    assert_eq!((taken.num_rows(), taken.column(1).null_count()), (2, 1));
    Ok(())
}
