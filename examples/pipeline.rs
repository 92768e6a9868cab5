//! Filters and sums with Arrow kernels, batch by batch, reading only the columns that it needs.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, Scalar, StringArray};
use arrow_shard::Shard;
use arrow_shard::write::ShardWriter;
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("orders.amudai.shard");

    let regions = ["north", "south", "east", "west"];
    let column = |f: fn(usize) -> f64| Arc::new((0..200_000).map(f).collect::<Float64Array>());
    let batch = RecordBatch::try_from_iter([
        (
            "region",
            Arc::new(StringArray::from_iter_values(
                (0..200_000).map(|i| regions[i % 4]),
            )) as ArrayRef,
        ),
        ("price", column(|i| (i % 1_000) as f64 / 100.0)),
        ("discount", column(|i| (i % 5) as f64 / 10.0)),
        (
            "note",
            Arc::new(StringArray::from_iter_values(
                (0..200_000).map(|i| format!("order {i}")),
            )),
        ),
    ])?;
    let mut writer = ShardWriter::create(&path, batch.schema())?;
    writer.write(&batch)?;
    writer.finish()?;

    let shard = Shard::open(&path)?;
    let south = Scalar::new(StringArray::from(vec!["south"]));
    let (mut rows, mut revenue) = (0, 0.0);
    for batch in shard
        .scan()
        .with_projection(["region", "price", "discount"])
        .build()?
    {
        let batch = batch?;
        let wanted = arrow_ord::cmp::eq(batch.column(0), &south)?;
        let batch = arrow_select::filter::filter_record_batch(&batch, &wanted)?;
        let off = arrow_arith::numeric::mul(batch.column(1), batch.column(2))?;
        let net = arrow_arith::numeric::sub(batch.column(1), &off)?;
        rows += batch.num_rows();
        revenue += arrow_arith::aggregate::sum(net.as_primitive::<Float64Type>()).unwrap_or(0.0);
    }
    println!(
        "{rows} of {} orders are from the south: {revenue:.2}",
        shard.num_rows()
    );
    Ok(())
}
