//! Runs the functions of the fuzz targets on their corpus, and creates its seeds:
//! `cargo test --features experimental,parquet --test fuzz_corpus -- --ignored` rewrites `fuzz/corpus/*/seed-*`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a failed helper is a failed test"
)]

#[path = "support/allocations.rs"]
mod allocations;
#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use allocations::Counting;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use arrow_array::{ArrayRef, BooleanArray, Float32Array, Int64Array, StringArray};
use arrow_shard::buffer::{BlockMap, DictionaryInput};
use arrow_shard::encoding::bytes::{self, Input};
use arrow_shard::encoding::number::{self, Plan};
use arrow_shard::encoding::{NumberKind, Word};
use arrow_shard::format::BasicType;
use parquet::basic::Compression;
use parquet::file::properties::WriterVersion;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most bytes of the corpus, which is part of the repository.
const MAX_BYTES: usize = 700_000;
/// Bytes that a case may take in addition to a multiple of its input: several times the limits of the targets, because
/// targets compare several ways of reading.
const MAX_MEMORY: usize = 64 << 20;
/// Number of damaged copies of each file.
const CASES_PER_FILE: usize = 20;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn folder(target: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("fuzz/corpus").join(target)
}

/// Returns the files of a target's corpus, in the same order on all machines.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder(target)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 5, "{target} has {} files", files.len());
    let read = |path: PathBuf| {
        let data = fs::read(&path).unwrap();
        (path, data)
    };
    files.into_iter().map(read).collect()
}

/// Runs a case, which must neither panic nor take more memory than limits and input allow.
fn check(run: fn(&[u8]), data: &[u8], what: impl Fn() -> String) {
    allocations::start();
    if let Err(panic) = allocations::caught(|| run(data)) {
        panic!("{}: {panic}", what());
    }
    let peak = allocations::peak();
    let most = MAX_MEMORY + 64 * data.len();
    assert!(
        peak <= most,
        "{} takes {peak} bytes, {most} at most",
        what()
    );
}

#[test]
fn the_corpus_runs_through_every_target() {
    let mut bytes = 0;
    for (target, run) in fuzz::TARGETS {
        for (path, data) in corpus(target) {
            bytes += data.len();
            check(run, &data, || path.display().to_string());
        }
    }
    assert!(bytes < MAX_BYTES, "the corpus has {bytes} bytes");
}

#[test]
fn damage_to_the_corpus_runs_through_every_target() {
    let mut rng = StdRng::seed_from_u64(1);
    for (target, run) in fuzz::TARGETS {
        for (path, data) in corpus(target) {
            for _ in 0..CASES_PER_FILE {
                let mut damaged = data.clone();
                for _ in 0..rng.random_range(1..4) {
                    // Metadata come first.
                    let reach = if rng.random() { 40 } else { data.len() };
                    let at = rng.random_range(0..reach.clamp(1, data.len().max(1)));
                    match (damaged.get_mut(at), rng.random_range(0..4)) {
                        (None, _) => {}
                        (Some(byte), 0) => *byte ^= 1 << rng.random_range(0..8),
                        (Some(byte), 1) => *byte = *[0, 1, 0x7f, 0xff].choose(&mut rng).unwrap(),
                        (Some(byte), 2) => *byte = rng.random(),
                        (Some(_), _) => damaged.truncate(at),
                    }
                }
                check(run, &damaged, || {
                    format!("{}, damaged: {damaged:?}", path.display())
                });
            }
        }
    }
}

#[test]
#[ignore = "writes the seeds of the corpus"]
fn write_seeds() {
    let mut seeds: Vec<(&str, Vec<u8>)> = Vec::new();
    seeds.extend(number_blocks().into_iter().map(|s| ("number_blocks", s)));
    seeds.extend(bytes_blocks().into_iter().map(|s| ("bytes_blocks", s)));
    seeds.extend(block_maps().into_iter().map(|s| ("block_maps", s)));
    seeds.extend(dictionaries().into_iter().map(|s| ("dictionaries", s)));
    let shards = fuzz::mended_shards::shards();
    seeds.extend(shards.into_iter().map(|s| ("shards", s)));
    seeds.extend(mended_shards().into_iter().map(|s| ("mended_shards", s)));
    seeds.extend(cole_files().into_iter().map(|s| ("cole_files", s)));
    seeds.extend(parquet_chunks().into_iter().map(|s| ("parquet_chunks", s)));
    // Changes of shards over Parquet files have the form of changes of others.
    seeds.extend(mended_shards().into_iter().map(|s| ("parquet_files", s)));
    for (target, _) in fuzz::TARGETS {
        fs::create_dir_all(folder(target)).unwrap();
        for entry in fs::read_dir(folder(target)).unwrap() {
            let path = entry.unwrap().path();
            if path
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("seed-")
            {
                fs::remove_file(path).unwrap();
            }
        }
        let of_target = seeds.iter().filter(|(name, _)| *name == target);
        for (i, (_, data)) in of_target.enumerate() {
            fs::write(folder(target).join(format!("seed-{i:03}")), data).unwrap();
        }
    }
}

/// Returns the golden files of COLE.
fn cole_files() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/golden");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "cole"));
    files.sort();
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Returns numbers of several distributions, in every encoding, with nested and raw parts.
fn number_blocks() -> Vec<Vec<u8>> {
    let pack = || Box::new(Plan::FlBitPack);
    let ffor = || Box::new(Plan::Ffor);
    let runs = |values, lengths| Plan::RunLength { values, lengths };
    let sparse = |positions, values| Plan::Sparse { positions, values };
    let dictionary = |values| Plan::BlockDictionary {
        codes: pack(),
        values,
    };
    let plans = [
        Plan::Plain,
        Plan::SingleValue,
        Plan::FlBitPack,
        Plan::Ffor,
        Plan::Zstd { level: 1 },
        Plan::Lz4,
        Plan::PatchedFfor,
        Plan::CompactFfor,
        Plan::Pco { level: 1 },
        Plan::For { deltas: pack() },
        Plan::Multiples { quotients: ffor() },
        Plan::Delta {
            differences: ffor(),
        },
        runs(None, None),
        runs(Some(ffor()), Some(pack())),
        Plan::Truncate { values: None },
        Plan::Truncate {
            values: Some(pack()),
        },
        Plan::ZigZag { values: pack() },
        dictionary(None),
        dictionary(Some(ffor())),
        sparse(None, None),
        sparse(
            Some(Box::new(Plan::Delta {
                differences: pack(),
            })),
            Some(ffor()),
        ),
        Plan::Alp { integers: ffor() },
        Plan::AlpRd {
            left: pack(),
            right: pack(),
        },
    ];
    let mut seeds = Vec::new();
    for plan in &plans {
        for kind in [NumberKind::Unsigned, NumberKind::Signed, NumberKind::Float] {
            seeds.extend(number_seeds::<u8>(kind, plan));
            seeds.extend(number_seeds::<u16>(kind, plan));
            seeds.extend(number_seeds::<u32>(kind, plan));
            seeds.extend(number_seeds::<u64>(kind, plan));
        }
    }
    seeds.sort();
    seeds.dedup();
    seeds
}

fn number_seeds<W: Word>(kind: NumberKind, plan: &Plan) -> Option<Vec<u8>> {
    let float = kind == NumberKind::Float;
    if float && W::BYTES < 4 {
        return None;
    }
    let value = |i: u64| match (plan, W::BYTES) {
        (Plan::SingleValue, _) => 7,
        (Plan::Alp { .. } | Plan::AlpRd { .. }, 4) => u64::from((i as f32 / 8.0).to_bits()),
        (Plan::Alp { .. } | Plan::AlpRd { .. }, _) => (i as f64 / 100.0).to_bits(),
        (Plan::Sparse { .. }, _) if !i.is_multiple_of(20) => 0,
        (Plan::RunLength { .. }, _) => i / 40,
        (Plan::BlockDictionary { .. }, _) => [5, u64::MAX, 1 << 62, 3 << 40][(i * i % 4) as usize],
        (Plan::Delta { .. }, _) => 1000 + 3 * i,
        (Plan::Multiples { .. }, _) => 100 + 40 * (i * i % 23),
        (Plan::Truncate { .. } | Plan::ZigZag { .. }, _) => (i % 100).wrapping_sub(50),
        _ => 100 + i * i % 23,
    };
    let values: Vec<W> = (0..1030).map(|i| W::truncate(value(i))).collect();
    let mut region = Vec::new();
    number::encode(&values, kind, plan, &mut region).unwrap();
    // Blocks that are not encoded as planned would be duplicates.
    let planned = *plan == Plan::Plain || region[0] != 1;
    planned.then(|| fuzz::number_blocks::input::<W>(kind, 1030, region.len() as u8, &region))
}

fn bytes_blocks() -> Vec<Vec<u8>> {
    let pack = || number::Plan::FlBitPack;
    let plans = [
        bytes::Plan::Plain,
        bytes::Plan::SingleValue,
        bytes::Plan::BlockDictionary {
            codes: pack(),
            lengths: None,
        },
        bytes::Plan::BlockDictionary {
            codes: pack(),
            lengths: Some(pack()),
        },
        bytes::Plan::fsst(None),
        bytes::Plan::fsst(Some(number::Plan::Ffor)),
        bytes::Plan::fsst_values(number::Plan::Ffor),
        bytes::Plan::Zstd {
            level: 1,
            offsets: None,
        },
        bytes::Plan::Lz4 {
            offsets: Some(number::Plan::Delta {
                differences: Box::new(pack()),
            }),
        },
        bytes::Plan::digits(bytes::Plan::Plain),
        bytes::Plan::NonEmpty {
            texts: Box::new(bytes::Plan::Plain),
        },
        bytes::Plan::Split128 {
            high: number::Plan::Ffor,
            low: number::Plan::PatchedFfor,
        },
    ];
    let mut seeds = Vec::new();
    for plan in &plans {
        let suits = |size: &Option<usize>| match plan {
            bytes::Plan::Split128 { .. } => *size == Some(16),
            bytes::Plan::Digits { .. } | bytes::Plan::NonEmpty { .. } => size.is_none(),
            _ => true,
        };
        for size in fuzz::bytes_blocks::SIZES.into_iter().filter(suits) {
            let word = |i: usize| match (plan, size) {
                (bytes::Plan::SingleValue, None) => "one and the same".to_owned(),
                (bytes::Plan::BlockDictionary { .. }, _) => format!("{:016}", i % 3),
                (bytes::Plan::Digits { .. }, _) => {
                    let minute = i % 60;
                    format!(
                        "2024-02-29 12:{minute:02}:30.{i:03}, block {} of {}",
                        i % 50,
                        i * 7
                    )
                }
                (bytes::Plan::NonEmpty { .. }, _) if !i.is_multiple_of(7) => String::new(),
                _ => format!("block {} of {:010}", i % 50, i * 7),
            };
            let n = 70;
            let values: Vec<Vec<u8>> = (0..n)
                .map(|i| {
                    let mut value = word(i).into_bytes();
                    if matches!((plan, size), (bytes::Plan::SingleValue, Some(_))) {
                        value = vec![b'x'; 16];
                    }
                    if let Some(size) = size {
                        value.truncate(size);
                    }
                    value
                })
                .collect();
            let flat = values.concat();
            let mut offsets = vec![0u64];
            offsets.extend(values.iter().scan(0, |end, v| {
                *end += v.len() as u64;
                Some(*end)
            }));
            let nulls = (0..n)
                .map(|i| size.is_some() || i % 9 > 0)
                .collect::<Vec<_>>()
                .into();
            let input = match size {
                Some(width) => Input::fixed(width, n, &flat, Some(&nulls)),
                None => Input::variable(&offsets, &flat, Some(&nulls)),
            };
            let mut region = Vec::new();
            bytes::encode(&input, plan, &mut region).unwrap();
            let seed = region.len() as u8;
            seeds.push(fuzz::bytes_blocks::input(size, n as u16, seed, &region));
        }
    }
    // A full symbol table, and one with only escape codes.
    let noise: Vec<u8> = (0..2000u32)
        .map(|i| (i.wrapping_mul(0x9E37_79B9) >> 24) as u8)
        .collect();
    let mut escaped = vec![15, 0, 0, 140, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    escaped.extend(noise[..70].iter().flat_map(|byte| [255, *byte]));
    seeds.push(fuzz::bytes_blocks::input(Some(1), 70, 1, &escaped));
    let input = Input::fixed(1, 2000, &noise, None);
    let mut region = Vec::new();
    bytes::encode(&input, &bytes::Plan::fsst(None), &mut region).unwrap();
    seeds.push(fuzz::bytes_blocks::input(Some(1), 2000, 1, &region));
    seeds.sort();
    seeds.dedup();
    seeds
}

fn block_maps() -> Vec<Vec<u8>> {
    let shapes: [&[(u32, u32)]; 6] = [
        &[],
        &[(111, 7)],
        &[(2048, 8216), (2048, 8216), (904, 3648)],
        &[(1024, 300), (65_536, 70_000), (1, 8)],
        &[(1024, 64); 40],
        &[(u32::MAX - 1, 8), (1, u32::MAX - 1)],
    ];
    let map = |blocks: &[(u32, u32)], checked: bool| {
        let mut map = BlockMap::default();
        for (values, bytes) in blocks {
            map.push(*values, *bytes);
        }
        let size = if checked { map.data_size() } else { 1000 };
        let mut out = size.to_le_bytes().to_vec();
        let mut encoded = Vec::new();
        map.encode(&mut encoded).unwrap();
        out.extend(encoded);
        out
    };
    let mut seeds: Vec<_> = shapes.iter().map(|blocks| map(blocks, true)).collect();
    let many: Vec<(u32, u32)> = (0..1100).map(|i| (1024, 100 + i % 3)).collect();
    seeds.push(map(&many, true));
    seeds.push(map(shapes[2], false));
    seeds
}

/// Returns dictionaries of encoded entries.
fn encoded_dictionaries() -> Vec<Vec<u8>> {
    let texts: Vec<String> = (0..40).map(|i| format!("entry {}", i * 7)).collect();
    let mut offsets = vec![0];
    offsets.extend(texts.iter().scan(0, |end, text| {
        *end += text.len() as u64;
        Some(*end)
    }));
    let flat = texts.concat();
    let input = Input::variable(&offsets, flat.as_bytes(), None);
    let plans = [
        bytes::Plan::Plain,
        bytes::Plan::fsst_values(number::Plan::Ffor),
        bytes::Plan::digits(bytes::Plan::Plain),
    ];
    let dictionary = |value_type, fixed_value_size, region: &[u8]| {
        let dictionary = DictionaryInput {
            value_type,
            count: 40,
            fixed_value_size,
            values: region,
            offsets: None,
            null_id: None,
            sorted_ids: &[],
            is_encoded: true,
        };
        dictionary.encode(true)
    };
    let mut buffers = Vec::new();
    for plan in plans {
        let mut region = Vec::new();
        bytes::encode(&input, &plan, &mut region).unwrap();
        buffers.push(dictionary(BasicType::String, 0, &region));
    }
    let words: Vec<u64> = (0..40).map(|i| i * i).collect();
    let mut region = Vec::new();
    number::encode(&words, NumberKind::Unsigned, &Plan::Ffor, &mut region).unwrap();
    buffers.push(dictionary(BasicType::Int64, 8, &region));
    buffers
}

fn dictionaries() -> Vec<Vec<u8>> {
    let words = ["", "red", "green", "blue", "a colour without a name"];
    let values = words.concat();
    let mut offsets = vec![0u64];
    offsets.extend(words.iter().scan(0, |end, word| {
        *end += word.len() as u64;
        Some(*end)
    }));
    let variable = DictionaryInput {
        value_type: BasicType::String,
        count: 5,
        fixed_value_size: 0,
        values: values.as_bytes(),
        offsets: Some(&offsets),
        null_id: Some(0),
        sorted_ids: &[4, 3, 2, 1],
        is_encoded: false,
    };
    let fixed = DictionaryInput {
        value_type: BasicType::Int64,
        count: 3,
        fixed_value_size: 8,
        values: &[7; 24],
        offsets: None,
        null_id: None,
        sorted_ids: &[0, 1, 2],
        is_encoded: false,
    };
    let mut seeds = Vec::new();
    let buffers = [true, false].map(|spec| [variable.encode(spec), fixed.encode(spec)]);
    for buffer in buffers.concat().into_iter().chain(encoded_dictionaries()) {
        for mend in 0..3 {
            seeds.push([vec![mend], buffer.clone()].concat());
        }
    }
    seeds
}

fn mended_shards() -> Vec<Vec<u8>> {
    (0..30u8)
        .map(|i| {
            let change = |k: u8| {
                [
                    i.wrapping_mul(13).wrapping_add(k),
                    0,
                    i * 3,
                    0,
                    k,
                    1 << (i % 8),
                ]
            };
            [vec![i % 7], (0..i % 3).flat_map(change).collect()].concat()
        })
        .collect()
}

/// Returns chunks of every type and codec.
fn parquet_chunks() -> Vec<Vec<u8>> {
    let numbers = || (0..60).map(|i| (i % 7 > 0).then_some(i * i % 20));
    let texts: StringArray = numbers().map(|v| v.map(|v| format!("text {v}"))).collect();
    let columns: [(u8, ArrayRef); 4] = [
        (
            1,
            Arc::new(
                numbers()
                    .map(|v| v.map(|v| v > 9))
                    .collect::<BooleanArray>(),
            ),
        ),
        (3, Arc::new(numbers().collect::<Int64Array>())),
        (
            5,
            Arc::new(
                numbers()
                    .map(|v| v.map(|v| v as f32))
                    .collect::<Float32Array>(),
            ),
        ),
        (8, Arc::new(texts)),
    ];
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
    ];
    let mut seeds = Vec::new();
    for (leaf, column) in columns {
        let batch = fuzz::parquet_files::column(column);
        for (codec, compression) in codecs.into_iter().enumerate() {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                let file = fuzz::parquet_files::written(&batch, version, compression);
                seeds.push(fuzz::parquet_chunks::input(leaf, codec as u8, &file));
            }
        }
    }
    seeds
}
