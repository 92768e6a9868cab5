//! The tables.

use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float64Array, Int16Array, Int64Array, ListArray,
    RecordBatch, StringArray, TimestampSecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) contents: &'static str,
    /// Returns this number of rows, or fewer if rows are large.
    pub(crate) generate: fn(usize) -> Vec<RecordBatch>,
}

pub(crate) const TABLES: [Table; 5] = [
    Table {
        name: "texts",
        contents: "20 columns, mostly empty texts",
        generate: texts,
    },
    Table {
        name: "lineitem",
        contents: "16 columns of TPC-H",
        generate: lineitem,
    },
    Table {
        name: "lists",
        contents: "2 columns, of numbers and of texts",
        generate: lists,
    },
    Table {
        name: "vectors",
        contents: "a number and a vector of 768",
        generate: vectors,
    },
    Table {
        name: "wide",
        contents: "10000 columns of numbers",
        generate: wide,
    },
];

/// Rows of a batch.
const BATCH: usize = 65_536;

/// Returns a text that is empty in 85 % of the rows, as those of clicks and logs.
fn sparse_text(rng: &mut StdRng, distinct: u32, length: usize) -> String {
    if rng.random_bool(0.85) {
        return String::new();
    }
    // Small numbers are frequent.
    let word = (f64::from(distinct).powf(rng.random::<f64>())) as u32;
    let text = format!("phrase {word} of {distinct}, and some words ");
    text.chars().cycle().take(length).collect()
}

/// Twenty columns, most of them of texts that are mostly empty.
fn texts(rows: usize) -> Vec<RecordBatch> {
    let mut rng = StdRng::seed_from_u64(7);
    let starts = (0..rows).step_by(BATCH);
    let batches = starts.map(|start| {
        let len = BATCH.min(rows - start);
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for i in 0..12u32 {
            let distinct = 10u32.pow(1 + i / 2);
            let length = 10 + 6 * i as usize;
            let texts = (0..len).map(|_| sparse_text(&mut rng, distinct, length));
            columns.push((
                format!("text{i}"),
                Arc::new(StringArray::from_iter_values(texts)),
            ));
        }
        for i in 0..3 {
            let most = 10i64.pow(3 * i + 2);
            let ids = (0..len).map(|_| rng.random_range(0..most));
            columns.push((
                format!("id{i}"),
                Arc::new(Int64Array::from_iter_values(ids)),
            ));
        }
        let times = (start..start + len).map(|row| 1_700_000_000 + signed(row) / 3);
        let times = times.map(|time| time + rng.random_range(0..90));
        columns.push((
            "time".into(),
            Arc::new(TimestampSecondArray::from_iter_values(times)),
        ));
        let flags = (0..len).map(|_| Some(rng.random_bool(0.01)));
        columns.push(("flag".into(), Arc::new(flags.collect::<BooleanArray>())));
        let sizes = (0..len).map(|_| rng.random_range(0..2000i16));
        columns.push(("size".into(), Arc::new(Int16Array::from_iter_values(sizes))));
        let prices = (0..len).map(|_| (rng.random_range(0..1000) as f64) + 0.99);
        columns.push((
            "price".into(),
            Arc::new(Float64Array::from_iter_values(prices)),
        ));
        let counts = (0..len).map(|_| rng.random_bool(0.05).then(|| rng.random_range(0..9i64)));
        columns.push(("count".into(), Arc::new(counts.collect::<Int64Array>())));
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
            .expect("equal lengths")
    });
    batches.collect()
}

fn lineitem(rows: usize) -> Vec<RecordBatch> {
    let scale = rows as f64 / 6_000_000.0;
    let generator = LineItemGenerator::new(scale, 1, 1);
    let batches = LineItemArrow::new(generator).with_batch_size(BATCH);
    batches.collect::<Result<_, _>>().expect("rows")
}

/// Vectors of 768 numbers, with a number of their own.
fn vectors(rows: usize) -> Vec<RecordBatch> {
    let mut rng = StdRng::seed_from_u64(8);
    let rows = rows / 100;
    let starts = (0..rows).step_by(4096);
    let batches = starts.map(|start| {
        let len = 4096.min(rows - start);
        let vectors = (0..len).map(|_| {
            Some(
                (0..768)
                    .map(|_| Some(rng.random::<f32>()))
                    .collect::<Vec<_>>(),
            )
        });
        let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 768);
        let ids = signed(start)..signed(start + len);
        RecordBatch::try_from_iter([
            (
                "id",
                Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef,
            ),
            ("vector", Arc::new(vectors)),
        ])
        .expect("equal lengths")
    });
    batches.collect()
}

/// Lists of up to 20 numbers, and of up to 4 texts.
fn lists(rows: usize) -> Vec<RecordBatch> {
    let mut rng = StdRng::seed_from_u64(9);
    let rows = rows / 4;
    let starts = (0..rows).step_by(BATCH);
    let batches = starts.map(|start| {
        let len = BATCH.min(rows - start);
        let mut list = |most: usize, texts: bool| -> ArrayRef {
            let lengths: Vec<usize> = (0..len).map(|_| rng.random_range(0..=most)).collect();
            let count = lengths.iter().sum();
            let items: ArrayRef = if texts {
                let texts = (0..count).map(|_| format!("tag {}", rng.random_range(0..5000)));
                Arc::new(StringArray::from_iter_values(texts))
            } else {
                let numbers = (0..count).map(|_| rng.random_range(0..100_000i64));
                Arc::new(Int64Array::from_iter_values(numbers))
            };
            let field = Arc::new(Field::new("item", items.data_type().clone(), true));
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(ListArray::new(field, offsets, items, None))
        };
        RecordBatch::try_from_iter([("numbers", list(20, false)), ("tags", list(4, true))])
            .expect("equal lengths")
    });
    batches.collect()
}

/// Ten thousand columns of numbers.
fn wide(rows: usize) -> Vec<RecordBatch> {
    let mut rng = StdRng::seed_from_u64(10);
    let rows = rows / 500;
    let columns = (0..10_000).map(|i| {
        let numbers = (0..rows).map(|_| rng.random_range(0..1000 + i64::from(i)));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        (format!("column{i}"), numbers)
    });
    vec![RecordBatch::try_from_iter(columns).expect("equal lengths")]
}

fn signed(row: usize) -> i64 {
    i64::try_from(row).expect("few rows")
}
