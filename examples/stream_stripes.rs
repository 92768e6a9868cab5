//! Writes many batches with a file per stripe, and reads each stripe on a thread of its own.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_shard::Shard;
use arrow_shard::read::Stripe;
use arrow_shard::write::{Layout, ShardWriter, WriterOptions};
use std::error::Error;
use std::sync::Arc;
use std::thread;

fn batch(start: i64) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let values = Int64Array::from_iter_values((start..start + 10_000).map(|n| n * n % 1_000));
    RecordBatch::try_from_iter([("n", Arc::new(values) as ArrayRef)])
}

fn sum(stripe: &Stripe) -> Result<i64, arrow_schema::ArrowError> {
    let mut sum = 0;
    for batch in stripe.scan().build()? {
        sum += batch?
            .column(0)
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .sum::<i64>();
    }
    Ok(sum)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("squares.amudai.shard");

    let options = WriterOptions::default()
        .with_layout(Layout::TwoLevel)
        .with_stripe_rows(25_000);
    let mut writer = ShardWriter::create_with(&path, batch(0)?.schema(), options)?;
    for start in (0..100_000).step_by(10_000) {
        writer.write(&batch(start)?)?;
    }
    let summary = writer.finish()?;
    println!(
        "{} stripes: {}",
        summary.num_stripes(),
        summary.stripe_files().join(" ")
    );

    let stripes = Shard::open(&path)?.stripes()?;
    let sums = thread::scope(|scope| {
        let threads: Vec<_> = stripes.iter().map(|s| scope.spawn(|| sum(s))).collect();
        threads
            .into_iter()
            .map(|t| t.join().map_err(|_| "a thread panicked"))
            .collect::<Result<Vec<_>, _>>()
    })?;
    for (stripe, sum) in stripes.iter().zip(sums) {
        println!("rows {:?}: sum {}", stripe.row_range(), sum?);
    }
    Ok(())
}
