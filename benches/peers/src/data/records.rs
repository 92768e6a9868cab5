//! Records of sensors: one struct of 20 members, to look up whole rows.

use super::scale::Scale;
use super::table::Table;
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

const READINGS: usize = 12;
const COUNTERS: usize = 4;
const TIME: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

fn members() -> Fields {
    let of = |prefix: &'static str, count: usize, data_type: DataType| {
        (0..count).map(move |i| Field::new(format!("{prefix}_{i}"), data_type.clone(), false))
    };
    let named = ["at", "device", "site", "state"].into_iter();
    let types = [TIME, DataType::Int64, DataType::Utf8, DataType::Utf8];
    named
        .zip(types)
        .map(|(name, data_type)| Field::new(name, data_type, false))
        .chain(of("reading", READINGS, DataType::Float64))
        .chain(of("counter", COUNTERS, DataType::Int64))
        .collect()
}

pub(super) fn table(scale: Scale) -> Table {
    let members = members();
    let record = DataType::Struct(members.clone());
    let schema = Arc::new(Schema::new(vec![Field::new("record", record, false)]));
    let mut rng = StdRng::seed_from_u64(11);
    let mut time = 1_700_000_000_000_000;
    Table::of_rows(schema.clone(), scale.of(1_000_000), move |rows| {
        let times: Vec<i64> = (0..rows)
            .map(|_| {
                time += rng.random_range(0..2_000);
                time
            })
            .collect();
        let mut integers = |most: i64| {
            let values = (0..rows).map(|_| rng.random_range(0..most));
            Int64Array::from_iter_values(values)
        };
        let devices = integers(50_000);
        let text = |prefix: &str, values: &Int64Array| {
            let texts = values.values().iter().map(|n| format!("{prefix}-{n:03}"));
            StringArray::from_iter_values(texts)
        };
        let sites = text("site", &integers(500));
        let states = text("state", &integers(6));
        let counters: Vec<Int64Array> = (0..COUNTERS).map(|_| integers(1 << 40)).collect();
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(TimestampMicrosecondArray::from(times)),
            Arc::new(devices),
            Arc::new(sites),
            Arc::new(states),
        ];
        for i in 0..READINGS {
            let middle = 20.0 * i as f64;
            let values = (0..rows).map(|_| middle + rng.random::<f64>() * 10.0);
            arrays.push(Arc::new(Float64Array::from_iter_values(values)));
        }
        arrays.extend(
            counters
                .into_iter()
                .map(|counter| Arc::new(counter) as ArrayRef),
        );
        let records = StructArray::try_new(members.clone(), arrays, None)?;
        RecordBatch::try_new(schema.clone(), vec![Arc::new(records)])
    })
}
