//! How do writing, scanning, projecting, opening and random access compare with the `parquet` crate? Both sides run
//! in the same process, on one thread, over the same kind of memory map. They reopen the file every time, so every
//! checksum is verified; "verified" is a shard that is already open and has been read. Prints the ratios at the end.
//!
//! ```sh
//! cargo bench --bench vs_parquet            # everything
//! cargo bench --bench vs_parquet -- scan    # benches with `scan` in their names
//! ```
#![expect(clippy::expect_used, reason = "a bench that fails has nothing to tell")]
#![expect(clippy::cast_possible_truncation, reason = "rows of a bench are few")]

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use arrow_shard::{Projection, Shard};
use bytes::Bytes;
use criterion::{BatchSize, Criterion};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

const SHARD_PROFILES: [(&str, Profile); 3] = [
    ("plain", Profile::Plain),
    ("balanced", Profile::Balanced),
    ("high", Profile::HighCompression),
];

/// A table, and its files.
struct Table {
    name: &'static str,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    folder: PathBuf,
}

impl Table {
    fn new(name: &'static str, batches: Vec<RecordBatch>, folder: &Path) -> Self {
        let table = Self {
            name,
            schema: batches[0].schema(),
            batches,
            folder: folder.to_owned(),
        };
        for (profile, options) in SHARD_PROFILES {
            std::fs::write(table.shard(profile), table.write_shard(options)).expect("writable");
        }
        for (codec, compression) in parquet_codecs() {
            let file = table.write_parquet(compression);
            std::fs::write(table.parquet(codec), file).expect("writable");
        }
        table
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn shard(&self, profile: &str) -> PathBuf {
        self.folder
            .join(format!("{}.{profile}.amudai.shard", self.name))
    }

    fn parquet(&self, codec: &str) -> PathBuf {
        self.folder.join(format!("{}.{codec}.parquet", self.name))
    }

    fn write_shard(&self, profile: Profile) -> Vec<u8> {
        let mut file = Vec::new();
        let options = WriterOptions::default().with_profile(profile);
        let mut writer =
            ShardWriter::try_new(&mut file, self.schema.clone(), options).expect("a schema");
        for batch in &self.batches {
            writer.write(batch).expect("a batch");
        }
        writer.finish().expect("a shard");
        file
    }

    fn write_parquet(&self, compression: Compression) -> Vec<u8> {
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .build();
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, self.schema.clone(), Some(properties))
            .expect("a schema");
        for batch in &self.batches {
            writer.write(batch).expect("a batch");
        }
        writer.close().expect("a file");
        file
    }

    /// Returns the first, the middle and the last column.
    fn three(&self) -> Vec<usize> {
        let last = self.schema.fields().len() - 1;
        let mut columns = vec![0, last / 2, last];
        columns.dedup();
        columns
    }

    /// Returns rows spread over the table.
    fn some_rows(&self) -> Vec<u64> {
        let rows = self.rows() as u64;
        (0..10).map(|i| rows * i / 10 + i).collect()
    }
}

fn parquet_codecs() -> [(&'static str, Compression); 2] {
    let zstd = ZstdLevel::try_new(3).expect("a level");
    [
        ("none", Compression::UNCOMPRESSED),
        ("zstd", Compression::ZSTD(zstd)),
    ]
}

/// Opens a shard with empty caches, so no checksum has been verified.
fn open(file: &Bytes) -> Shard {
    Shard::from_bytes(file.clone()).expect("a shard")
}

fn scan_shard(shard: &Shard, projection: impl Into<Projection>) -> usize {
    let scan = shard
        .scan()
        .with_projection(projection)
        .build()
        .expect("a scan");
    scan.map(|batch| black_box(batch.expect("a batch")).num_rows())
        .sum()
}

fn mapped(path: &Path) -> Bytes {
    let file = File::open(path).expect("a file");
    // SAFETY: no other process uses the file.
    #[allow(unsafe_code)]
    let map = unsafe { memmap2::Mmap::map(&file) }.expect("a map");
    Bytes::from_owner(map)
}

fn scan_parquet(file: &Bytes, columns: Option<Vec<usize>>) -> usize {
    let mut builder = ParquetRecordBatchReaderBuilder::try_new(file.clone())
        .expect("a file")
        .with_batch_size(8192);
    if let Some(columns) = columns {
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
        builder = builder.with_projection(mask);
    }
    let reader = builder.build().expect("a reader");
    reader
        .map(|batch| black_box(batch.expect("a batch")).num_rows())
        .sum()
}

fn take_parquet(file: &Bytes, rows: &[u64]) -> usize {
    let mut selectors = Vec::new();
    let mut next = 0;
    for &row in rows {
        selectors.push(RowSelector::skip((row - next) as usize));
        selectors.push(RowSelector::select(1));
        next = row + 1;
    }
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone())
        .expect("a file")
        .with_row_selection(RowSelection::from(selectors))
        .build()
        .expect("a reader");
    reader
        .map(|batch| black_box(batch.expect("a batch")).num_rows())
        .sum()
}

fn bench_table(c: &mut Criterion, table: &Table) {
    let name = table.name;
    for (profile, options) in SHARD_PROFILES {
        let file = mapped(&table.shard(profile));
        c.bench_function(&format!("{name}/write/shard {profile}"), |b| {
            b.iter_batched(
                || (),
                |()| table.write_shard(options),
                BatchSize::PerIteration,
            );
        });
        c.bench_function(&format!("{name}/scan_all/shard {profile}"), |b| {
            b.iter(|| scan_shard(&open(&file), Projection::All));
        });
        let verified = open(&file);
        c.bench_function(&format!("{name}/scan_all/shard {profile}, verified"), |b| {
            b.iter(|| scan_shard(&verified, Projection::All));
        });
        c.bench_function(&format!("{name}/scan_1/shard {profile}"), |b| {
            b.iter(|| scan_shard(&open(&file), [0usize]));
        });
        c.bench_function(&format!("{name}/scan_3/shard {profile}"), |b| {
            b.iter(|| scan_shard(&open(&file), table.three()));
        });
        c.bench_function(&format!("{name}/open/shard {profile}"), |b| {
            b.iter(|| open(&file).schema().expect("a schema"));
        });
        let rows = table.some_rows();
        c.bench_function(&format!("{name}/take_10/shard {profile}"), |b| {
            b.iter(|| open(&file).take(&rows, Projection::All).expect("rows"));
        });
    }
    for (codec, compression) in parquet_codecs() {
        let file = mapped(&table.parquet(codec));
        c.bench_function(&format!("{name}/write/parquet {codec}"), |b| {
            b.iter_batched(
                || (),
                |()| table.write_parquet(compression),
                BatchSize::PerIteration,
            );
        });
        c.bench_function(&format!("{name}/scan_all/parquet {codec}"), |b| {
            b.iter(|| scan_parquet(&file, None));
        });
        c.bench_function(&format!("{name}/scan_1/parquet {codec}"), |b| {
            b.iter(|| scan_parquet(&file, Some(vec![0])));
        });
        c.bench_function(&format!("{name}/scan_3/parquet {codec}"), |b| {
            b.iter(|| scan_parquet(&file, Some(table.three())));
        });
        c.bench_function(&format!("{name}/open/parquet {codec}"), |b| {
            b.iter(|| {
                let builder =
                    ParquetRecordBatchReaderBuilder::try_new(file.clone()).expect("a file");
                builder.schema().clone()
            });
        });
        c.bench_function(&format!("{name}/take_10/parquet {codec}"), |b| {
            b.iter(|| take_parquet(&file, &table.some_rows()));
        });
    }
}

/// Returns TPC-H lineitem at scale factor 0.1, with strings of the given type.
fn lineitem(strings: &DataType) -> Vec<RecordBatch> {
    let generator = LineItemGenerator::new(0.1, 1, 1);
    let with_strings = |batch: Result<RecordBatch, _>| {
        let batch = batch.expect("a batch");
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            let is_text = matches!(field.data_type(), DataType::Utf8View | DataType::Utf8);
            let data_type = if is_text { strings } else { field.data_type() };
            fields.push(Field::new(
                field.name(),
                data_type.clone(),
                field.is_nullable(),
            ));
            columns.push(cast(column, data_type).expect("text"));
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("a batch")
    };
    LineItemArrow::new(generator).map(with_strings).collect()
}

/// Reads doubles from a file of little-endian values; they represent decimals.
fn doubles(path: &Path) -> Option<Vec<RecordBatch>> {
    let bytes = std::fs::read(path).ok()?;
    let values = bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|c| f64::from_le_bytes(*c));
    let column: arrow_array::Float64Array = values.map(Some).collect();
    Some(vec![
        RecordBatch::try_from_iter([("value", Arc::new(column) as _)]).expect("a batch"),
    ])
}

fn ipc(path: &Path) -> Option<Vec<RecordBatch>> {
    let reader = arrow_ipc::reader::FileReader::try_new(File::open(path).ok()?, None).ok()?;
    reader.collect::<Result<_, _>>().ok()
}

fn csv(path: &Path) -> Option<Vec<RecordBatch>> {
    let format = arrow_csv::reader::Format::default().with_header(true);
    let (schema, _) = format.infer_schema(File::open(path).ok()?, None).ok()?;
    let reader = arrow_csv::ReaderBuilder::new(Arc::new(schema))
        .with_format(format)
        .build(File::open(path).ok()?)
        .ok()?;
    reader.collect::<Result<_, _>>().ok()
}

fn tables(folder: &Path) -> Vec<Table> {
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/real");
    let mut tables = vec![
        Table::new("lineitem", lineitem(&DataType::LargeUtf8), folder),
        Table::new("lineitem_utf8", lineitem(&DataType::Utf8), folder),
    ];
    let files = [
        ("flights", ipc(&real.join("flights-200k.arrow"))),
        (
            "temperature",
            doubles(&real.join("city_temperature_f_tw.bin")),
        ),
        ("food_prices", doubles(&real.join("food_prices_tw.bin"))),
        ("nyc29", doubles(&real.join("nyc29_tw.bin"))),
        ("birdstrikes", csv(&real.join("birdstrikes.csv"))),
        ("hdfs", csv(&real.join("HDFS.csv"))),
        ("bgl", csv(&real.join("BGL.csv"))),
        ("apache", csv(&real.join("Apache.csv"))),
        ("openstack", csv(&real.join("OpenStack.csv"))),
    ];
    for (name, batches) in files {
        match batches {
            Some(batches) => tables.push(Table::new(name, batches, folder)),
            None => println!("{name}: skipped, its file is not in ../shared/data/real"),
        }
    }
    tables
}

/// Returns the median of a bench in nanoseconds, from criterion's results.
fn median(results: &Path, id: &str) -> Option<f64> {
    // Criterion replaces characters that a file name cannot contain.
    let folder = results.join(id.replace(['/', '?', '"', '\\', ':', '*', '<', '>', '|', '^'], "_"));
    let text = std::fs::read_to_string(folder.join("new/estimates.json")).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    json["median"]["point_estimate"].as_f64()
}

fn print_ratios(tables: &[Table], results: &Path) {
    println!("\ntimes as fast as parquet of the same run (median; more is better)\n");
    println!("| table | question | shard | ms | vs none | vs zstd |");
    println!("|-|-|-|-:|-:|-:|");
    for table in tables {
        for question in ["write", "scan_all", "scan_1", "scan_3", "open", "take_10"] {
            for shard in [
                "plain",
                "plain, verified",
                "balanced",
                "balanced, verified",
                "high",
                "high, verified",
            ] {
                let of =
                    |file: String| median(results, &format!("{}/{question}/{file}", table.name));
                let Some(time) = of(format!("shard {shard}")) else {
                    continue;
                };
                let ratio = |codec: &str| {
                    of(format!("parquet {codec}"))
                        .map_or("-".to_owned(), |t| format!("{:.2}", t / time))
                };
                println!(
                    "| {} | {question} | {shard} | {:.3} | {} | {} |",
                    table.name,
                    time / 1e6,
                    ratio("none"),
                    ratio("zstd")
                );
            }
        }
    }
    println!("\nbytes\n");
    println!("| table | plain | balanced | high | parquet none | parquet zstd |");
    println!("|-|-:|-:|-:|-:|-:|");
    for table in tables {
        let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |m| m.len());
        let shards = SHARD_PROFILES.map(|(profile, _)| size(table.shard(profile)));
        let parquets = parquet_codecs().map(|(codec, _)| size(table.parquet(codec)));
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            table.name, shards[0], shards[1], shards[2], parquets[0], parquets[1]
        );
    }
}

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().join("criterion");
    let tables = tables(folder.path());
    let mut criterion = Criterion::default()
        .output_directory(&results)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .without_plots()
        .configure_from_args();
    for table in &tables {
        bench_table(&mut criterion, table);
    }
    criterion.final_summary();
    print_ratios(&tables, &results);
}
