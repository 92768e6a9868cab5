//! Compares Lance files with shards: size, time to write, to scan, and to take rows, of three tables.
//!
//! ```sh
//! cargo bench --bench formats
//! ```
//!
//! Every format reads and writes as its crate does by default: Lance through `lance-file`, with the threads that it starts
//! itself; shards on one thread. Files are local and in the page cache. Each figure is the median of seven runs, and the
//! formats take turns.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for people, who see what failed"
)]

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_shard::write::Profile;
use arrow_shard::{Projection, Shard, ShardWriter, WriterOptions};
use arrow_shard_lance::{LanceVersion, LanceWriteOptions, LanceWriter};
use futures::StreamExt;
use lance_core::cache::LanceCache;
use lance_encoding::decoder::FilterExpression;
use lance_file::reader::{FileReader, FileReaderOptions};
use lance_io::ReadBatchParams;
use lance_io::object_store::ObjectStore;
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

const RUNS: usize = 7;
const TAKEN: usize = 1000;
const BATCH_ROWS: usize = 8192;

#[derive(Debug, Clone, Copy)]
enum Format {
    Shard(Profile),
    Lance(LanceVersion),
}

const FORMATS: [(&str, Format); 5] = [
    ("shard, Balanced", Format::Shard(Profile::Balanced)),
    (
        "shard, HighCompression",
        Format::Shard(Profile::HighCompression),
    ),
    ("Lance 2.0", Format::Lance(LanceVersion::V2_0)),
    ("Lance 2.1", Format::Lance(LanceVersion::V2_1)),
    ("Lance 2.2", Format::Lance(LanceVersion::V2_2)),
];

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    for (name, batches) in [
        ("lineitem", lineitem()),
        ("log", log()),
        ("documents", documents()),
    ] {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        println!("\n{name}: {rows} rows\n");
        println!("| | bytes | write, ms | scan, ms | take {TAKEN} rows, ms |\n|-|-|-|-|-|");
        let mut random = StdRng::seed_from_u64(9);
        let taken: Vec<u64> = (0..TAKEN)
            .map(|_| random.random_range(0..rows as u64))
            .collect();
        let paths = FORMATS.map(|(format, _)| folder.path().join(format!("{name}, {format}")));
        let mut times = vec![[vec![], vec![], vec![]]; FORMATS.len()];
        for run in 0..=RUNS {
            for (i, (_, format)) in FORMATS.iter().enumerate() {
                let took = [
                    timed(|| format.write(&paths[i], &batches)),
                    timed(|| assert_eq!(format.scan(&paths[i], &runtime), rows)),
                    timed(|| assert_eq!(format.take(&paths[i], &taken, &runtime), TAKEN)),
                ];
                // The first run fills caches.
                if run > 0 {
                    times[i]
                        .iter_mut()
                        .zip(took)
                        .for_each(|(all, took)| all.push(took));
                }
            }
        }
        for (i, (format, _)) in FORMATS.iter().enumerate() {
            let [write, scan, take] = times[i].each_mut().map(|all| median(all));
            let bytes = std::fs::metadata(&paths[i]).unwrap().len();
            println!("| {format} | {bytes} | {write:.1} | {scan:.1} | {take:.2} |");
        }
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

impl Format {
    fn write(self, path: &Path, batches: &[RecordBatch]) {
        let schema = batches[0].schema();
        match self {
            Self::Shard(profile) => {
                let options = WriterOptions::default()
                    .with_profile(profile)
                    .with_overwrite(true);
                let mut writer = ShardWriter::create_with(path, schema, options).unwrap();
                batches
                    .iter()
                    .for_each(|batch| writer.write(batch).unwrap());
                writer.finish().unwrap();
            }
            Self::Lance(version) => {
                let options = LanceWriteOptions::default()
                    .with_version(version)
                    .with_overwrite(true);
                let mut writer = LanceWriter::create_with(path, schema, &options).unwrap();
                batches
                    .iter()
                    .for_each(|batch| writer.write(batch).unwrap());
                writer.finish().unwrap();
            }
        }
    }

    fn scan(self, path: &PathBuf, runtime: &Runtime) -> usize {
        match self {
            Self::Shard(_) => {
                let scan = Shard::open(path)
                    .unwrap()
                    .scan()
                    .with_batch_size(BATCH_ROWS);
                scan.build()
                    .unwrap()
                    .map(|batch| batch.unwrap().num_rows())
                    .sum()
            }
            Self::Lance(_) => runtime.block_on(read(path, ReadBatchParams::RangeFull)),
        }
    }

    fn take(self, path: &PathBuf, rows: &[u64], runtime: &Runtime) -> usize {
        match self {
            Self::Shard(_) => {
                let taken = Shard::open(path).unwrap().take(rows, Projection::All);
                taken.unwrap().num_rows()
            }
            Self::Lance(_) => {
                // Lance takes them in ascending order, each once.
                let mut sorted: Vec<u32> = rows
                    .iter()
                    .map(|&row| u32::try_from(row).unwrap())
                    .collect();
                sorted.sort_unstable();
                sorted.dedup();
                let repeated = rows.len() - sorted.len();
                let indices = lance_arrow_array::UInt32Array::from(sorted);
                repeated + runtime.block_on(read(path, ReadBatchParams::Indices(indices)))
            }
        }
    }
}

/// Reads rows of a Lance file, and returns their number.
async fn read(path: &Path, rows: ReadBatchParams) -> usize {
    let store = Arc::new(ObjectStore::local());
    let scheduler = ScanScheduler::new(store.clone(), SchedulerConfig::max_bandwidth(&store));
    let place = object_store::path::Path::from_absolute_path(path).unwrap();
    let file = scheduler
        .open_file(&place, &CachedFileSize::unknown())
        .await
        .unwrap();
    let cache = LanceCache::no_cache();
    let opening = FileReader::try_open(
        file,
        None,
        Arc::default(),
        &cache,
        FileReaderOptions::default(),
    );
    let reader = opening.await.unwrap();
    let batch_rows = u32::try_from(BATCH_ROWS).unwrap();
    let stream = reader.read_stream(rows, batch_rows, 16, FilterExpression::no_filter());
    let counts = stream.await.unwrap().map(|batch| batch.unwrap().num_rows());
    counts.fold(0, |all, rows| async move { all + rows }).await
}

/// TPC-H's lineitem at scale factor 0.1, with offsets in place of views, which Lance has not.
fn lineitem() -> Vec<RecordBatch> {
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
fn log() -> Vec<RecordBatch> {
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
fn documents() -> Vec<RecordBatch> {
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
