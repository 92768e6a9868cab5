//! How many bytes do compressor dictionaries save in small blocks, and what do they cost readers? Compares lines of a
//! log and comments of TPC-H's lineitem in blocks of 256 values with the same blocks without dictionaries, and with
//! Zstandard alone. Runs a scan and reads 1,000 random rows, from memory and on one thread; prints medians.
//!
//! ```sh
//! cargo bench --bench compressors
//! ```
#![expect(clippy::expect_used, reason = "a bench that fails has nothing to tell")]

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_shard::Shard;
use arrow_shard::read::Projection;
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::write::{ColumnOptions, Profile, ShardWriter, WriterOptions};
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::time::Instant;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

const ROWS: usize = 500_000;
const BLOCK_VALUES: usize = 256;
const RUNS: usize = 9;

/// Returns log lines of several programs, with times, hosts, numbers of blocks, and requests.
fn log() -> StringArray {
    let mut rng = StdRng::seed_from_u64(7);
    let mut line = |i: usize| {
        let time = format!(
            "2024-03-{:02} {:02}:{:02}:{:02}.{:03}",
            1 + i * 28 / ROWS,
            i / 20_833 % 24,
            i / 347 % 60,
            i / 6 % 60,
            rng.random_range(0..1000)
        );
        let host = rng.random_range(0..40);
        match rng.random_range(0..6) {
            0 => format!(
                "{time} INFO dfs.DataNode$PacketResponder: PacketResponder {} for block blk_{} terminating",
                rng.random_range(0..3),
                rng.random::<i64>()
            ),
            1 => format!(
                "{time} INFO dfs.FSNamesystem: BLOCK* NameSystem.addStoredBlock: blockMap updated: \
                 10.250.{host}.{}:50010 is added to blk_{} size 67108864",
                rng.random::<u8>(),
                rng.random::<i64>()
            ),
            2 => format!(
                "{time} [notice] jk2_init() Found child {} in scoreboard slot {}",
                rng.random_range(1000..9999),
                rng.random_range(1..12)
            ),
            3 => format!(
                "{time} INFO nova.osapi_compute.wsgi.server [req-{:08x}-{:04x}] \"GET \
                 /v2/54fadb412c4e40cdbaed9335e4c35a9e/servers/detail HTTP/1.1\" status: 200 len: {} time: 0.{}",
                rng.random::<u32>(),
                rng.random::<u16>(),
                rng.random_range(1500..2000),
                rng.random_range(1_000_000..4_000_000)
            ),
            4 => format!(
                "{time} WARN sshd[{}]: Failed password for invalid user admin from 183.62.{host}.{} port {} ssh2",
                rng.random_range(10_000..30_000),
                rng.random::<u8>(),
                rng.random::<u16>()
            ),
            _ => format!(
                "{time} ERROR executor.Executor: Exception in task {}.0 in stage {}.0 (TID {})",
                rng.random_range(0..200),
                rng.random_range(0..30),
                rng.random_range(0..90_000)
            ),
        }
    };
    (0..ROWS).map(|i| Some(line(i))).collect()
}

fn comments() -> StringArray {
    let rows = LineItemArrow::new(LineItemGenerator::new(0.1, 1, 1)).with_batch_size(65_536);
    let columns = rows.map(|batch| {
        let batch = batch.expect("rows");
        let comments = batch.column_by_name("l_comment").expect("comments");
        comments
            .as_string_view()
            .iter()
            .flatten()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    columns.flatten().take(ROWS).map(Some).collect()
}

/// Returns a shard, and the milliseconds of writing it.
fn write(text: &StringArray, profile: Profile, shares: bool) -> (Bytes, f64) {
    let column: ArrayRef = Arc::new(text.clone());
    let batch = RecordBatch::try_from_iter([("text", column)]).expect("a batch");
    let options = ColumnOptions::default()
        .with_block_values(BLOCK_VALUES)
        .with_compressor_dictionary_enabled(shares);
    let options = WriterOptions::default()
        .with_profile(profile)
        .with_column("text", options);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shard");
    let start = Instant::now();
    let mut writer = ShardWriter::create_with(&path, batch.schema(), options).expect("a writer");
    writer.write(&batch).expect("rows are written");
    writer.finish().expect("the shard is finished");
    let took = milliseconds(start);
    (std::fs::read(path).expect("the shard").into(), took)
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

fn median<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(work());
            milliseconds(start)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

/// Returns the bytes of the column, including its dictionaries.
fn column_bytes(bytes: &Bytes) -> u64 {
    let shard = Shard::from_bytes(bytes.clone()).expect("a shard");
    let info = shard.inspect(InspectOptions::default()).expect("a report");
    let buffers = info
        .stripes
        .iter()
        .flat_map(|stripe| &stripe.fields[0].buffers);
    buffers.map(|buffer| buffer.range.len()).sum()
}

/// Returns the bytes of the blocks compressed by Zstandard alone, at a level.
fn zstandard(text: &StringArray, level: i32) -> usize {
    let offsets: Vec<usize> = text
        .value_offsets()
        .iter()
        .map(|&end| end as usize)
        .collect();
    let blocks = (0..text.iter().len()).step_by(BLOCK_VALUES);
    let sizes = blocks.map(|start| {
        let end = (start + BLOCK_VALUES).min(offsets.len() - 1);
        let block = &text.value_data()[offsets[start]..offsets[end]];
        zstd::bulk::compress(block, level).expect("a block").len()
    });
    sizes.sum()
}

fn main() {
    let rows: Vec<u64> = {
        let mut rng = StdRng::seed_from_u64(3);
        (0..1000)
            .map(|_| rng.random_range(0..ROWS as u64))
            .collect()
    };
    for (name, text) in [("log", log()), ("comments", comments())] {
        println!(
            "{name}: {} values, {:.1} MB",
            text.iter().len(),
            text.value_data().len() as f64 / 1e6
        );
        for level in [3, 15] {
            let bytes = zstandard(&text, level) as f64 / 1e6;
            println!("  Zstandard {level} alone, without lengths: {bytes:.2} MB");
        }
        for profile in [
            Profile::Balanced,
            Profile::HighCompression,
            Profile::MinimalSize,
        ] {
            for shares in [false, true] {
                let (bytes, writing) = write(&text, profile, shares);
                let shard = Shard::from_bytes(bytes.clone()).expect("a shard");
                let scan = median(|| {
                    let scan = shard.scan().build().expect("a scan");
                    scan.map(|batch| batch.expect("a batch").num_rows())
                        .sum::<usize>()
                });
                let take = median(|| shard.take(&rows, Projection::All).expect("rows"));
                println!(
                    "  {profile:?}, dictionaries {shares}: {:.2} MB, writing {writing:.0} ms, scan {scan:.1} ms, \
                     1,000 rows {take:.1} ms",
                    column_bytes(&bytes) as f64 / 1e6
                );
            }
        }
    }
}
