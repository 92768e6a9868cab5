//! The tables.

use super::BATCH_ROWS;
use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};
use std::sync::Arc;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

/// TPC-H's lineitem at scale factor 0.1, with offsets in place of views, which Lance has not.
pub(super) fn lineitem() -> Vec<RecordBatch> {
    let generator =
        LineItemArrow::new(LineItemGenerator::new(0.1, 1, 1)).with_batch_size(BATCH_ROWS);
    let batches: Vec<RecordBatch> = generator.collect::<Result<_, _>>().unwrap();
    let schema = batches[0].schema();
    let whole = concat_batches(&schema, &batches).unwrap();
    let columns = schema
        .fields()
        .iter()
        .zip(whole.columns())
        .map(|(field, column)| {
            let column = match field.data_type() {
                DataType::Utf8View => arrow_cast::cast(column, &DataType::Utf8).unwrap(),
                _ => column.clone(),
            };
            (field.name().clone(), column)
        });
    pieces(&RecordBatch::try_from_iter(columns).unwrap())
}

/// Events of a service: times, hosts, texts of many lengths, numbers that are mostly 0 or null.
pub(super) fn log() -> Vec<RecordBatch> {
    const ROWS: usize = 500_000;
    let mut random = StdRng::seed_from_u64(3);
    let mut time = 1_700_000_000_000_000;
    let times: TimestampMicrosecondArray = (0..ROWS)
        .map(|_| {
            time += random.random_range(0..5_000);
            Some(time)
        })
        .collect();
    let hosts: StringArray = (0..ROWS)
        .map(|_| Some(format!("host-{:03}", random.random_range(0..300))))
        .collect();
    let messages: StringArray = (0..ROWS)
        .map(|_| {
            let id: u32 = random.random();
            let milliseconds = random.random_range(0..900);
            Some(match random.random_range(0..4) {
                0 => format!("request {id:08x} took {milliseconds} ms"),
                1 => format!("cache miss for key user:{}", id % 100_000),
                2 => format!("GET /api/v1/items/{} 200 {milliseconds}", id % 5_000),
                _ => "heartbeat".to_owned(),
            })
        })
        .collect();
    let errors: Int32Array = (0..ROWS)
        .map(|_| {
            Some(if random.random_ratio(1, 40) {
                random.random_range(1..600)
            } else {
                0
            })
        })
        .collect();
    let durations: Float64Array = (0..ROWS)
        .map(|_| {
            random
                .random_ratio(1, 3)
                .then(|| f64::from(random.random_range(0..1_000_000)) / 100.0)
        })
        .collect();
    let flags: BooleanArray = (0..ROWS)
        .map(|_| Some(random.random_ratio(1, 50)))
        .collect();
    let columns: [(&str, ArrayRef); 6] = [
        ("time", Arc::new(times)),
        ("host", Arc::new(hosts)),
        ("message", Arc::new(messages)),
        ("error", Arc::new(errors)),
        ("duration", Arc::new(durations)),
        ("slow", Arc::new(flags)),
    ];
    pieces(&RecordBatch::try_from_iter(columns).unwrap())
}

/// Returns a table as for a search over documents: texts, vectors, tags, and small images.
pub(super) fn documents() -> Vec<RecordBatch> {
    const ROWS: usize = 20_000;
    const WORDS: [&str; 12] = [
        "shard", "column", "stripe", "reader", "batch", "value", "offset", "null", "index",
        "query", "field", "block",
    ];
    let mut random = StdRng::seed_from_u64(4);
    let mut vectors = FixedSizeListBuilder::new(Float32Builder::new(), 256);
    let mut tags = ListBuilder::new(StringBuilder::new());
    let mut texts = StringBuilder::new();
    for _ in 0..ROWS {
        (0..256).for_each(|_| {
            vectors
                .values()
                .append_value(random.random_range(-1.0..1.0))
        });
        vectors.append(true);
        for _ in 0..random.random_range(0..6) {
            tags.values()
                .append_value(WORDS[random.random_range(0..WORDS.len())]);
        }
        tags.append(true);
        let words =
            (0..random.random_range(20..300)).map(|_| WORDS[random.random_range(0..WORDS.len())]);
        texts.append_value(words.collect::<Vec<_>>().join(" "));
    }
    let images: BinaryArray = (0..ROWS)
        .map(|_| {
            let mut image = vec![0; random.random_range(1_000..6_000)];
            random.fill_bytes(&mut image);
            Some(image)
        })
        .collect();
    let ids: Int64Array = (0..ROWS).map(|_| Some(random.random::<i64>())).collect();
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(ids)),
        ("text", Arc::new(texts.finish())),
        ("vector", Arc::new(vectors.finish())),
        ("tags", Arc::new(tags.finish())),
        ("image", Arc::new(images)),
    ];
    pieces(&RecordBatch::try_from_iter(columns).unwrap())
}

/// The rows in batches as a program would write them.
fn pieces(all: &RecordBatch) -> Vec<RecordBatch> {
    (0..all.num_rows())
        .step_by(BATCH_ROWS)
        .map(|start| all.slice(start, BATCH_ROWS.min(all.num_rows() - start)))
        .collect()
}
