//! A log of services: four million lines of a few hundred concurrent traces.

use super::scale::Scale;
use super::table::Table;
use arrow_array::builder::{
    FixedSizeBinaryBuilder, Float64Builder, Int64Builder, ListBuilder, StringViewBuilder,
    TimestampMicrosecondBuilder, UInt16Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::extension::Uuid;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

const HOSTS: usize = 2000;
/// Number of concurrent traces.
const TRACES: usize = 200;

const SERVICES: [&str; 12] = [
    "gateway",
    "auth",
    "cart",
    "catalog",
    "search",
    "payment",
    "shipping",
    "inventory",
    "mailer",
    "recommender",
    "billing",
    "scheduler",
];
const LEVELS: [(&str, u32); 5] = [
    ("TRACE", 2),
    ("DEBUG", 20),
    ("INFO", 70),
    ("WARN", 6),
    ("ERROR", 2),
];
const STATUSES: [(u16, u32); 7] = [
    (200, 80),
    (201, 5),
    (204, 4),
    (304, 4),
    (400, 3),
    (404, 3),
    (500, 1),
];
const TAGS: [&str; 8] = [
    "canary",
    "retry",
    "cache-hit",
    "cache-miss",
    "eu-west",
    "us-east",
    "mobile",
    "beta",
];

pub(super) fn table(scale: Scale) -> Result<Table, ArrowError> {
    let schema = schema()?;
    let mut log = Log::new(schema.clone());
    Ok(Table::of_rows(schema, scale.of(4_000_000), move |rows| {
        log.batch(rows)
    }))
}

fn tag_field() -> FieldRef {
    Arc::new(Field::new("item", DataType::Utf8View, false))
}

fn schema() -> Result<SchemaRef, ArrowError> {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let mut trace = Field::new("trace_id", DataType::FixedSizeBinary(16), false);
    // Vortex supports fixed-size binary only of 16 bytes that are declared as UUIDs.
    trace.try_with_extension_type(Uuid)?;
    Ok(Arc::new(Schema::new(vec![
        Field::new("time", time, false),
        Field::new("level", DataType::Utf8View, false),
        Field::new("service", DataType::Utf8View, false),
        Field::new("host", DataType::Utf8View, false),
        trace,
        Field::new("message", DataType::Utf8View, false),
        Field::new("latency_ms", DataType::Float64, false),
        Field::new("status", DataType::UInt16, false),
        Field::new("bytes", DataType::Int64, false),
        Field::new("user_id", DataType::Int64, true),
        Field::new("tags", DataType::List(tag_field()), false),
    ])))
}

/// Values that all lines of a trace share.
struct Trace {
    id: [u8; 16],
    host: usize,
    service: usize,
    user: Option<i64>,
}

impl Trace {
    fn new(rng: &mut StdRng) -> Self {
        let skewed = |n: usize, rng: &mut StdRng| (rng.random::<f64>().powi(2) * n as f64) as usize;
        Self {
            id: rng.random(),
            host: rng.random_range(0..HOSTS),
            service: skewed(SERVICES.len(), rng),
            user: rng
                .random_bool(0.7)
                .then(|| skewed(500_000, rng) as i64 + 10_000),
        }
    }
}

struct Log {
    schema: SchemaRef,
    rng: StdRng,
    /// Microseconds since 1970.
    time: i64,
    traces: Vec<Trace>,
}

impl Log {
    fn new(schema: SchemaRef) -> Self {
        let mut rng = StdRng::seed_from_u64(2);
        let traces = (0..TRACES).map(|_| Trace::new(&mut rng)).collect();
        Self {
            schema,
            rng,
            time: 1_735_689_600_000_000,
            traces,
        }
    }

    fn batch(&mut self, rows: usize) -> Result<RecordBatch, ArrowError> {
        let mut time = TimestampMicrosecondBuilder::new().with_timezone("UTC");
        let mut level = StringViewBuilder::new();
        let mut service = StringViewBuilder::new();
        let mut host = StringViewBuilder::new();
        let mut trace_id = FixedSizeBinaryBuilder::new(16);
        let mut message = StringViewBuilder::new();
        let mut latency = Float64Builder::new();
        let mut status = UInt16Builder::new();
        let mut bytes = Int64Builder::new();
        let mut user_id = Int64Builder::new();
        let mut tags = ListBuilder::new(StringViewBuilder::new()).with_field(tag_field());
        let rng = &mut self.rng;
        for _ in 0..rows {
            let slot = rng.random_range(0..TRACES);
            if rng.random_bool(0.1) {
                self.traces[slot] = Trace::new(rng);
            }
            let trace = &self.traces[slot];
            self.time += rng.random_range(0..500);
            // Lines arrive up to two milliseconds late.
            time.append_value(self.time - rng.random_range(0..2000));
            let line_status = weighted(&STATUSES, rng);
            let microseconds = (rng.random::<f64>().powi(4) * 900_000.0) as i64 + 180;
            let size = (rng.random::<f64>().powi(3) * 60_000.0) as i64;
            level.append_value(weighted(&LEVELS, rng));
            service.append_value(SERVICES[trace.service]);
            host.append_value(format!(
                "node-{:04}.zone-{}.example.net",
                trace.host,
                trace.host % 6
            ));
            trace_id.append_value(trace.id)?;
            message.append_value(text(trace, line_status, microseconds, size, rng));
            latency.append_value(microseconds as f64 / 1000.0);
            status.append_value(line_status);
            bytes.append_value(size);
            user_id.append_option(trace.user);
            for _ in 0..[0, 0, 1, 1, 2, 3][rng.random_range(0..6)] {
                tags.values()
                    .append_value(TAGS[rng.random_range(0..TAGS.len())]);
            }
            tags.append(true);
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(time.finish()),
            Arc::new(level.finish()),
            Arc::new(service.finish()),
            Arc::new(host.finish()),
            Arc::new(trace_id.finish()),
            Arc::new(message.finish()),
            Arc::new(latency.finish()),
            Arc::new(status.finish()),
            Arc::new(bytes.finish()),
            Arc::new(user_id.finish()),
            Arc::new(tags.finish()),
        ];
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}

fn weighted<T: Copy>(choices: &[(T, u32)], rng: &mut StdRng) -> T {
    choices
        .choose_weighted(rng, |choice| choice.1)
        .expect("choices have weights")
        .0
}

/// Returns a text of about 80 bytes, from one of six templates.
fn text(trace: &Trace, status: u16, microseconds: i64, size: i64, rng: &mut StdRng) -> String {
    let service = SERVICES[trace.service];
    let number: u32 = rng.random_range(1..2_000_000);
    match rng.random_range(0..6) {
        0 => format!(
            "request GET /api/v2/{service}/items/{number} finished with {status} in {microseconds} us"
        ),
        1 => format!(
            "connection to node-{:04} accepted from 10.{}.{}.{}:{} by worker {}",
            trace.host,
            number % 251,
            number % 127,
            number % 253,
            1024 + number % 60_000,
            number % 16
        ),
        2 => format!(
            "cache lookup for key {service}:item:{number} took {microseconds} us, returned {size} bytes"
        ),
        3 => format!(
            "user session {number:08x} refreshed by {service}, expires in 3600 s, payload {size} bytes"
        ),
        4 => format!(
            "retrying upstream call to {service} after {microseconds} us, attempt 2 of 5, job {number}"
        ),
        _ => format!(
            "transaction {number} committed on shard {} with {size} bytes in {microseconds} us",
            number % 64
        ),
    }
}
