//! Compares Lance files with shards: size, time to write, to scan, and to take rows, of three tables.
//!
//! ```sh
//! cargo bench --bench formats
//! ```
//!
//! Every format reads and writes as its crate does by default: Lance through `lance-file`, with the threads that it
//! starts itself; shards on one thread. Files are local and in the page cache. Each figure is the median of seven runs,
//! and the formats take turns.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for people, who see what failed"
)]

mod lance;
mod tables;

use arrow_array::RecordBatch;
use arrow_shard::write::Profile;
use arrow_shard::{Projection, Shard, ShardWriter, WriterOptions};
use arrow_shard_lance::{LanceVersion, LanceWriteOptions, LanceWriter};
use lance::LanceFile;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::iter::successors;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const RUNS: usize = 7;
const TAKEN: usize = 1000;
const BATCH_ROWS: usize = 8192;

#[derive(Debug, Clone, Copy)]
enum Format {
    Shard(Profile),
    Lance(LanceVersion),
}

const FORMATS: [(&str, Format); 6] = [
    ("shard, Balanced", Format::Shard(Profile::Balanced)),
    (
        "shard, HighCompression",
        Format::Shard(Profile::HighCompression),
    ),
    ("shard, Plain", Format::Shard(Profile::Plain)),
    ("Lance 2.0", Format::Lance(LanceVersion::V2_0)),
    ("Lance 2.1", Format::Lance(LanceVersion::V2_1)),
    ("Lance 2.2", Format::Lance(LanceVersion::V2_2)),
];

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    for (name, batches) in [
        ("lineitem", tables::lineitem()),
        ("log", tables::log()),
        ("documents", tables::documents()),
    ] {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let paths = FORMATS.map(|(format, _)| folder.path().join(format!("{name}, {format}")));
        println!("\n{name}: {rows} rows\n");
        print_files(&batches, &paths, &runtime);
        println!("\n{name}: milliseconds to take rows of an open file\n");
        print_takes(rows, &paths, &runtime);
    }
}

/// Writes the files, and prints a table of sizes and times. Every read opens the file.
fn print_files(batches: &[RecordBatch], paths: &[PathBuf], runtime: &Runtime) {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let mut random = StdRng::seed_from_u64(9);
    let taken: Vec<u64> = (0..TAKEN)
        .map(|_| random.random_range(0..rows as u64))
        .collect();
    let mut times = vec![[vec![], vec![], vec![]]; FORMATS.len()];
    for run in 0..=RUNS {
        for (i, (_, format)) in FORMATS.iter().enumerate() {
            let path = &paths[i];
            let took = [
                timed(|| format.write(path, batches)),
                timed(|| assert_eq!(format.open(path, runtime).scan(), rows)),
                timed(|| assert_eq!(format.open(path, runtime).take(&taken), TAKEN)),
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
    println!("| | bytes | write, ms | scan, ms | take {TAKEN} rows, ms |\n|-|-|-|-|-|");
    for (i, (format, _)) in FORMATS.iter().enumerate() {
        let [write, scan, take] = times[i].each_mut().map(|all| median(all));
        let bytes = std::fs::metadata(&paths[i]).unwrap().len();
        println!("| {format} | {bytes} | {write:.1} | {scan:.1} | {take:.2} |");
    }
}

/// Prints a table of the times to take 1, 10, 100, ... and all rows of open files, in ascending order.
fn print_takes(rows: usize, paths: &[PathBuf], runtime: &Runtime) {
    let mut order: Vec<u64> = (0..rows as u64).collect();
    order.shuffle(&mut StdRng::seed_from_u64(10));
    let tens = successors(Some(1), |count| Some(count * 10)).take_while(|count| *count < rows / 2);
    let counts: Vec<usize> = tens.chain([rows / 2, rows]).collect();
    let taken = counts.iter().map(|count| {
        let mut taken = order[..*count].to_vec();
        taken.sort_unstable();
        taken
    });
    let taken: Vec<Vec<u64>> = taken.collect();
    let formats = FORMATS.iter().zip(paths);
    let files: Vec<OpenFile<'_>> = formats
        .map(|((_, format), path)| format.open(path, runtime))
        .collect();
    let mut times = vec![vec![Vec::new(); taken.len()]; files.len()];
    for run in 0..=RUNS {
        for (file, times) in files.iter().zip(&mut times) {
            for (rows, times) in taken.iter().zip(times) {
                let took = timed(|| assert_eq!(file.take(rows), rows.len()));
                if run > 0 {
                    times.push(took);
                }
            }
        }
    }
    println!(
        "| rows |{}",
        counts
            .iter()
            .map(|count| format!(" {count} |"))
            .collect::<String>()
    );
    println!("|-|{}", "-:|".repeat(counts.len()));
    for ((format, _), times) in FORMATS.iter().zip(&mut times) {
        let medians = times
            .iter_mut()
            .map(|times| format!(" {:.3} |", median(times)));
        println!("| {format} |{}", medians.collect::<String>());
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

    fn open<'a>(self, path: &Path, runtime: &'a Runtime) -> OpenFile<'a> {
        match self {
            Self::Shard(_) => OpenFile::Shard(Shard::open(path).unwrap()),
            Self::Lance(_) => OpenFile::Lance(runtime.block_on(LanceFile::open(path)), runtime),
        }
    }
}

enum OpenFile<'a> {
    Shard(Shard),
    Lance(LanceFile, &'a Runtime),
}

impl OpenFile<'_> {
    /// Reads all rows, and returns their number.
    fn scan(&self) -> usize {
        match self {
            Self::Shard(shard) => {
                let scan = shard.scan().with_batch_size(BATCH_ROWS).build();
                scan.unwrap().map(|batch| batch.unwrap().num_rows()).sum()
            }
            Self::Lance(file, runtime) => runtime.block_on(file.scan()),
        }
    }

    /// Reads rows by their numbers, and returns how often they were asked for.
    fn take(&self, rows: &[u64]) -> usize {
        match self {
            Self::Shard(shard) => shard.take(rows, Projection::All).unwrap().num_rows(),
            Self::Lance(file, runtime) => runtime.block_on(file.take(rows)),
        }
    }
}
