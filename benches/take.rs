//! What does it cost to take K rows? Takes 1, 10, 100, ... and all rows of several tables from open files, and compares
//! the time with the cheaper of two alternatives: K takes of one row, and a scan. Every profile, from a file and from
//! memory, rows in order and shuffled. Prints the ratios; a table of ten columns and few rows takes a second.
//!
//! ```sh
//! cargo bench --bench take                     # everything
//! cargo bench --bench take -- texts plain      # only lines that contain both words
//! ROWS=6000000 cargo bench --bench take        # larger tables
//! ```
#![expect(clippy::expect_used, reason = "a bench that fails has nothing to tell")]
#![expect(clippy::cast_possible_truncation, reason = "rows of a bench are few")]

use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float64Array, Int16Array, Int64Array, ListArray,
    RecordBatch, StringArray, TimestampSecondArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, OffsetBuffer};
use arrow_schema::Field;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use arrow_shard::Shard;
use arrow_shard::read::Projection;
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

const PROFILES: [(&str, Profile); 3] = [
    ("balanced", Profile::Balanced),
    ("plain", Profile::Plain),
    ("high", Profile::HighCompression),
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
        let times = (start..start + len).map(|row| 1_700_000_000 + row as i64 / 3);
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
        let ids = (start as i64)..(start + len) as i64;
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

/// Returns the median time in milliseconds of several runs, which take half a second in total, or of three runs.
fn median(mut run: impl FnMut()) -> f64 {
    run();
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < 3 || (begin.elapsed().as_millis() < 500 && times.len() < 50) {
        let begin = Instant::now();
        run();
        times.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn scan(shard: &Shard) {
    for batch in shard.scan().build().expect("a scan") {
        black_box(batch.expect("a batch"));
    }
}

/// Scans all rows, and picks some of them afterwards.
fn pick(shard: &Shard, rows: &[u64], is_sorted: bool) {
    let mut bits = vec![false; shard.num_rows() as usize];
    rows.iter().for_each(|row| bits[*row as usize] = true);
    let bits = BooleanBuffer::from(bits);
    let mut batches = Vec::new();
    let mut start = 0;
    for batch in shard.scan().build().expect("a scan") {
        let batch = batch.expect("a batch");
        let matches = BooleanArray::new(bits.slice(start, batch.num_rows()), None);
        start += batch.num_rows();
        batches.push(filter_record_batch(&batch, &matches).expect("rows"));
    }
    let schema = batches[0].schema();
    let batch = concat_batches(&schema, &batches).expect("rows that fit");
    if is_sorted {
        black_box(batch);
        return;
    }
    let mut ordinals = vec![0u64; bits.len()];
    for (ordinal, row) in bits.set_indices().enumerate() {
        ordinals[row] = ordinal as u64;
    }
    let indices = rows.iter().map(|row| ordinals[*row as usize]);
    let indices = UInt64Array::from_iter_values(indices);
    black_box(take_record_batch(&batch, &indices).expect("rows"));
}

fn sweep(name: &str, shard: &Shard, words: &[String]) {
    let rows = shard.num_rows();
    let mut rng = StdRng::seed_from_u64(11);
    let all = median(|| scan(shard));
    println!("{name:<32} {rows:>9} rows, scan {all:9.2} ms");
    for is_sorted in [true, false] {
        let order = if is_sorted { "sorted" } else { "shuffled" };
        let line = format!("{name} {order}");
        if !words.iter().all(|word| line.contains(word.as_str())) {
            continue;
        }
        let mut single = f64::INFINITY;
        let tens = (0..).map(|i| 10u64.pow(i)).take_while(|k| *k < rows);
        let only = std::env::var("K")
            .ok()
            .map(|k| k.parse::<u64>().expect("a number"));
        for k in tens
            .chain([rows / 2, rows])
            .filter(|k| only.is_none_or(|only| only == *k))
        {
            let mut all_rows: Vec<u64> = (0..rows).collect();
            let (taken, _) = all_rows.partial_shuffle(&mut rng, k as usize);
            let mut taken = taken.to_vec();
            if is_sorted {
                taken.sort_unstable();
            }
            let time = median(|| {
                black_box(shard.take(&taken, Projection::All).expect("rows"));
            });
            if k == 1 {
                single = time;
            }
            let picked = median(|| pick(shard, &taken, is_sorted));
            let best = picked.min(k as f64 * single);
            println!(
                "    {order:<8} {k:>9} {time:10.3} ms {picked:10.3} ms {:6.2}",
                time / best
            );
        }
    }
}

type Table = fn(usize) -> Vec<RecordBatch>;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let rows = std::env::var("ROWS").map_or(1_000_000, |rows| rows.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a folder");
    let tables: [(&str, Table); 5] = [
        ("texts", texts),
        ("lineitem", lineitem),
        ("lists", lists),
        ("vectors", vectors),
        ("wide", wide),
    ];
    for (table, generate) in tables {
        let mut batches = None;
        for (profile_name, profile) in PROFILES {
            for access in ["file", "memory"] {
                let name = format!("{table} {profile_name} {access}");
                let is_asked = |order| {
                    let line = format!("{name} {order}");
                    words.iter().all(|word| line.contains(word.as_str()))
                };
                if !is_asked("sorted") && !is_asked("shuffled") {
                    continue;
                }
                let batches = batches.get_or_insert_with(|| generate(rows));
                let path = folder
                    .path()
                    .join(format!("{table}-{profile_name}.amudai.shard"));
                if !path.exists() {
                    write(&path, batches, profile);
                }
                let shard = match access {
                    "file" => Shard::open(&path),
                    _ => Shard::from_bytes(std::fs::read(&path).expect("a file").into()),
                };
                sweep(&name, &shard.expect("a shard"), &words);
            }
        }
    }
}

fn write(path: &Path, batches: &[RecordBatch], profile: Profile) {
    let options = WriterOptions::default().with_profile(profile);
    let mut writer =
        ShardWriter::create_with(path, batches[0].schema(), options).expect("a schema");
    for batch in batches {
        writer.write(batch).expect("a batch");
    }
    writer.finish().expect("a shard");
}
