//! Finds the few readings out of range among a million, and prints how much the scan skipped.

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_shard::Shard;
use arrow_shard::read::col;
use arrow_shard::write::{ShardWriter, WriterOptions};
use std::sync::Arc;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut file = Vec::new();
    let batch = |hour: i64| {
        let seconds = hour * 3600..(hour + 1) * 3600;
        let times = Int64Array::from_iter_values(seconds.clone());
        let sensors = StringArray::from_iter_values(seconds.clone().map(|s| format!("s{}", s % 7)));
        let values = seconds.map(|s| {
            if s % 9973 == 0 {
                99.5
            } else {
                20.0 + (s % 50) as f64 / 10.0
            }
        });
        RecordBatch::try_from_iter([
            ("time", Arc::new(times) as ArrayRef),
            ("sensor", Arc::new(sensors)),
            ("value", Arc::new(Float64Array::from_iter_values(values))),
        ])
    };
    let options = WriterOptions::default().with_stripe_rows(250_000);
    let mut writer = ShardWriter::try_new(&mut file, batch(0)?.schema(), options)?;
    for hour in 0..280 {
        writer.write(&batch(hour)?)?;
    }
    writer.finish()?;

    let shard = Shard::from_bytes(file.into())?;
    let alarm = col("value")
        .gt(90)
        .and(col("time").between(300_000, 700_000));
    let mut scan = shard
        .scan()
        .with_projection(["time", "sensor"])
        .with_filter(alarm.and(col("sensor").is_in(["s1", "s2"])))
        .build()?;
    let mut rows = 0;
    for batch in scan.by_ref() {
        rows += batch?.num_rows();
    }
    println!("{rows} alarms");
    if let Some(metrics) = scan.metrics() {
        println!("{metrics}");
    }
    Ok(())
}
