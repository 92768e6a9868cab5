//! Embeddings: a key, and 256 normally distributed f32 that have length 1.

use super::scale::Scale;
use super::table::Table;
use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::f32::consts::TAU;
use std::sync::Arc;

const DIMENSIONS: usize = 256;

pub(super) fn table(scale: Scale) -> Table {
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new(
            "embedding",
            DataType::FixedSizeList(item.clone(), DIMENSIONS as i32),
            false,
        ),
    ]));
    let mut rng = StdRng::seed_from_u64(3);
    let mut next = 0;
    Table::of_rows(schema.clone(), scale.of(200_000), move |rows| {
        let ids = Int64Array::from_iter_values(next..next + rows as i64);
        next += rows as i64;
        let mut values = Vec::with_capacity(rows * DIMENSIONS);
        for _ in 0..rows {
            values.extend(unit_vector(&mut rng));
        }
        let values = Arc::new(Float32Array::from(values));
        let vectors = FixedSizeListArray::try_new(item.clone(), DIMENSIONS as i32, values, None)?;
        let columns: Vec<ArrayRef> = vec![Arc::new(ids), Arc::new(vectors)];
        RecordBatch::try_new(schema.clone(), columns)
    })
}

fn unit_vector(rng: &mut StdRng) -> impl Iterator<Item = f32> {
    let mut values = [0f32; DIMENSIONS];
    for value in &mut values {
        // Box and Muller: a normal variate of two uniform ones.
        let radius = (-2.0 * (1.0 - rng.random::<f32>()).ln()).sqrt();
        *value = radius * (TAU * rng.random::<f32>()).cos();
    }
    let length = values.iter().map(|v| v * v).sum::<f32>().sqrt();
    values.into_iter().map(move |v| v / length)
}
