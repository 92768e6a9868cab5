//! Wide tables: few rows of many f64 columns, each of them a random walk in steps of a hundredth.

use super::table::Table;
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

const ROWS: usize = 1000;

pub(super) fn table(width: usize) -> Table {
    let field = |i| Field::new(format!("feature_{i:05}"), DataType::Float64, false);
    let schema = Arc::new(Schema::new((0..width).map(field).collect::<Vec<_>>()));
    let mut rng = StdRng::seed_from_u64(4);
    Table::of_rows(schema.clone(), ROWS, move |rows| {
        let columns = (0..width)
            .map(|_| {
                let mut hundredths: i32 = rng.random_range(-100_000..100_000);
                let values = (0..rows).map(|_| {
                    hundredths += rng.random_range(-50..=50);
                    f64::from(hundredths) / 100.0
                });
                Arc::new(Float64Array::from_iter_values(values)) as ArrayRef
            })
            .collect();
        RecordBatch::try_new(schema.clone(), columns)
    })
}
