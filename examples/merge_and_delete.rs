//! Changes shards: merges them by reference, deletes rows, restores one, and compacts the remaining rows.
//!
//! ```sh
//! cargo run --example merge_and_delete
//! ```

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_shard::ops::{CompactOptions, ShardEditor, VacuumOptions, compact, merge, vacuum};
use arrow_shard::read::col;
use arrow_shard::{ErrorKind, Shard, ShardWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Writes a day of flights.
fn write_day(path: &Path, day: i64) -> Result<(), Box<dyn std::error::Error>> {
    let delays = (0..1000).map(|i| (i % 60 != 0).then_some((i * 7 + day) % 90));
    let batch = RecordBatch::try_from_iter([
        (
            "day",
            Arc::new(Int64Array::from(vec![day; 1000])) as ArrayRef,
        ),
        ("delay", Arc::new(delays.collect::<Int64Array>())),
        ("dest", Arc::new(StringArray::from(vec!["OSL"; 1000]))),
    ])?;
    let mut writer = ShardWriter::create(path, batch.schema())?;
    writer.write(&batch)?;
    writer.finish()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    for day in 1..=3 {
        write_day(&path(&format!("{day}.amudai.shard")), day)?;
    }

    // No row is copied: the new directory refers to the buffers of both shards.
    let week = path("week.amudai.shard");
    let merged = merge([path("1.amudai.shard"), path("2.amudai.shard")], &week)?;
    println!(
        "{} rows merged by writing {} bytes",
        merged.num_rows(),
        merged.bytes()
    );

    // A shard that is already open keeps its rows during the following changes.
    let before = Shard::open(&week)?;
    let mut late_editor = ShardEditor::open(&week)?;
    late_editor.delete_rows(&[1])?;

    let mut editor = ShardEditor::open(&week)?;
    let deleted = editor.delete(&col("delay").is_null())?;
    editor.undelete_rows(&[0])?;
    editor.append(path("3.amudai.shard"))?;
    editor.rename_column("dest", "destination")?;
    editor.commit()?;
    println!("{deleted} rows without a delay deleted, and one brought back");
    assert_eq!(before.num_rows(), 2000);

    // If another editor has changed the shard, a commit fails with a conflict.
    let late = late_editor.commit().map_err(|error| error.kind());
    assert_eq!(late, Err(ErrorKind::Conflict));

    let shard = Shard::open(&week)?;
    println!(
        "{} rows, {} deleted",
        shard.num_rows(),
        shard.num_deleted_rows()
    );
    for batch in shard.scan().with_filter(col("delay").gt(85)).build()? {
        println!("{} very late flights", batch?.num_rows());
    }

    // The remaining rows become one stripe; vacuum removes old files that no shard refers to.
    let options = CompactOptions::default();
    if let Some(done) = compact(&week, options)? {
        println!("{} rows in {} stripe", done.num_rows(), done.num_stripes());
    }
    let now = VacuumOptions::default().with_min_age(Duration::ZERO);
    println!("{} files removed", vacuum(folder.path(), now)?.len());
    assert_eq!(Shard::open(&week)?.num_rows(), shard.num_rows());
    Ok(())
}
