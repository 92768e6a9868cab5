//! How fast do blocks decode, compared with a memcpy of the decoded values in the same run?
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "criterion defines undocumented items; a bench that fails should stop"
)]

use arrow_buffer::BooleanBufferBuilder;
use arrow_shard::Limits;
use arrow_shard::encoding::bytes::{self, BytesBuilder, BytesLayout, Input, NullsOut};
use arrow_shard::encoding::number::{self, Plan};
use arrow_shard::encoding::{Context, NumberKind, Scratch, Word};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::ops::Range;

const N: usize = 65_536;

fn values<W: Word>(width: u32) -> Vec<W> {
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        W::truncate(x >> (64 - width))
    };
    (0..N).map(|_| next()).collect()
}

fn unpack<W: Word>(c: &mut Criterion, name: &str, widths: &[u32]) {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(N as u64));
    let mut dst = vec![W::ZERO; N];
    let src = values::<W>(8);
    group.bench_function("memcpy", |b| {
        b.iter(|| black_box(&mut dst).copy_from_slice(black_box(&src)));
    });
    for &width in widths {
        let mut region = Vec::new();
        number::encode(
            &values::<W>(width),
            NumberKind::Unsigned,
            &Plan::Ffor,
            &mut region,
        )
        .unwrap();
        // A width that saves no bytes would be stored, and measured, as Plain.
        assert_eq!(region.first(), Some(&4), "width {width} is not FFOR");
        decode_number(
            &mut group,
            BenchmarkId::new("ffor", width),
            &region,
            &mut dst,
        );
    }
    group.finish();
}

/// Compares the format's checksum with a library that chooses vector instructions at compile time.
fn checksums(c: &mut Criterion) {
    let mut group = c.benchmark_group("checksum");
    let bytes: Vec<u8> = values::<u8>(8);
    for size in [64, 1024, N] {
        group.throughput(Throughput::Bytes(size as u64));
        let bytes = &bytes[..size];
        group.bench_function(BenchmarkId::new("checksum", size), |b| {
            b.iter(|| arrow_shard::format::checksum(black_box(bytes)));
        });
        group.bench_function(BenchmarkId::new("xxhash-rust", size), |b| {
            b.iter(|| xxhash_rust::xxh3::xxh3_64(black_box(bytes)));
        });
    }
    group.finish();
}

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn decode_number<W: Word>(group: &mut Group<'_>, id: BenchmarkId, region: &[u8], dst: &mut [W]) {
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    let mut cx = Context::new(&limits, &mut scratch);
    group.bench_function(id, |b| {
        b.iter(|| {
            number::decode(
                black_box(region),
                NumberKind::Unsigned,
                &mut cx,
                black_box(&mut *dst),
            )
            .unwrap();
        });
    });
}

fn nested(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode_u64");
    group.throughput(Throughput::Elements(N as u64));
    let few: Vec<u64> = values::<u64>(6)
        .iter()
        .map(|v| v.wrapping_mul(0x9e37_79b9_7f4a))
        .collect();
    let sorted: Vec<u64> = (0..N as u64).map(|i| 1_000_000 + 7 * i + i % 3).collect();
    let runs: Vec<u64> = (0..N as u64).map(|i| i / 11 * 3).collect();
    let plans: [(&str, &[u64], Plan); 4] = [
        (
            "dictionary",
            &few,
            Plan::BlockDictionary {
                codes: Box::new(Plan::FlBitPack),
                values: None,
            },
        ),
        (
            "delta",
            &sorted,
            Plan::Delta {
                differences: Box::new(Plan::Ffor),
            },
        ),
        (
            "run_length",
            &runs,
            Plan::RunLength {
                values: Some(Box::new(Plan::Ffor)),
                lengths: Some(Box::new(Plan::FlBitPack)),
            },
        ),
        ("lz4", &sorted, Plan::Lz4),
    ];
    let mut dst = vec![0u64; N];
    for (name, values, plan) in plans {
        let mut region = Vec::new();
        number::encode(values, NumberKind::Unsigned, &plan, &mut region).unwrap();
        decode_number(
            &mut group,
            BenchmarkId::from_parameter(name),
            &region,
            &mut dst,
        );
    }
    group.finish();
}

/// Returns lines as in the log of a cluster, or the lines of the file that `ARROW_SHARD_BENCH_TEXT` names.
fn log_lines() -> Vec<String> {
    if let Ok(path) = std::env::var("ARROW_SHARD_BENCH_TEXT") {
        let text = std::fs::read_to_string(path).unwrap();
        return text.lines().map(str::to_owned).collect();
    }
    let numbers = values::<u64>(63).into_iter().zip(values::<u32>(24));
    let line = |(i, (block, host)): (usize, (u64, u32))| match i % 3 {
        0 => format!(
            "PacketResponder {} for block blk_{block} terminating",
            host % 3
        ),
        1 => format!(
            "BLOCK* NameSystem.addStoredBlock: blockMap updated: 10.250.{}.{}:50010 is added to blk_{block} size 67108864",
            host & 255,
            host >> 16
        ),
        _ => format!(
            "Receiving block blk_-{block} src: /10.251.{}.{}:50010",
            host & 255,
            host >> 16
        ),
    };
    numbers.take(8192).enumerate().map(line).collect()
}

/// Compares FSST with LZ4: decoded bytes per second, and the sizes on standard error.
fn text(c: &mut Criterion) {
    let lines = log_lines();
    let n = lines.len();
    let (mut offsets, mut flat) = (vec![0u64], Vec::new());
    for line in &lines {
        flat.extend_from_slice(line.as_bytes());
        offsets.push(flat.len() as u64);
    }
    let input = Input::variable(&offsets, &flat, None);
    let ffor = || Some(Plan::Ffor);
    let plans = [
        ("fsst", bytes::Plan::fsst(ffor())),
        ("fsst_values", bytes::Plan::fsst_values(Plan::Ffor)),
        ("lz4", bytes::Plan::Lz4 { offsets: ffor() }),
        (
            "zstd",
            bytes::Plan::Zstd {
                level: 3,
                offsets: ffor(),
            },
        ),
        ("plain", bytes::Plan::Plain),
    ];
    let mut group = c.benchmark_group("log_lines");
    group.throughput(Throughput::Bytes(flat.len() as u64));
    let mut copy = vec![0u8; flat.len()];
    group.bench_function("memcpy", |b| {
        b.iter(|| black_box(&mut copy).copy_from_slice(black_box(&flat)));
    });
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    let mut cx = Context::new(&limits, &mut scratch);
    for (name, plan) in plans {
        let mut region = Vec::new();
        bytes::encode(&input, &plan, &mut region).unwrap();
        let stats = bytes::Stats::collect(&input).unwrap();
        eprintln!(
            "{name}: {} of {} bytes, estimated {:?}",
            region.len(),
            flat.len(),
            plan.estimate(&stats)
        );
        group.bench_function(BenchmarkId::new("decode", name), |b| {
            b.iter(|| decode_strings(black_box(&region), n, BytesLayout::Offsets32, &mut cx));
        });
        // One value in 64: FsstValues decompresses an eighth of its groups.
        let few: Vec<Range<usize>> = (0..n).step_by(64).map(|i| i..i + 1).collect();
        group.bench_function(BenchmarkId::new("decode_few", name), |b| {
            b.iter(|| decode_some(black_box(&region), n, &few, &mut cx));
        });
        let mut out = Vec::new();
        group.bench_function(BenchmarkId::new("encode", name), |b| {
            b.iter(|| {
                out.clear();
                bytes::encode(black_box(&input), &plan, &mut out).unwrap();
            });
        });
    }
    group.finish();
}

fn decode_strings(
    region: &[u8],
    n: usize,
    layout: BytesLayout,
    cx: &mut Context<'_>,
) -> bytes::Decoded {
    let mut bits = BooleanBufferBuilder::new(n);
    bits.append_n(n, true);
    let mut nulls = NullsOut::new(&mut bits, 0);
    let mut out = BytesBuilder::new(layout, n);
    bytes::decode(region, n, None, cx, &mut out, &mut nulls).unwrap();
    out.finish()
}

/// Decodes some of the `n` values of a region.
fn decode_some(
    region: &[u8],
    n: usize,
    ranges: &[Range<usize>],
    cx: &mut Context<'_>,
) -> bytes::Decoded {
    let count = ranges.iter().map(Range::len).sum();
    let mut bits = BooleanBufferBuilder::new(count);
    bits.append_n(count, true);
    let mut nulls = NullsOut::new(&mut bits, 0);
    let mut out = BytesBuilder::new(BytesLayout::Offsets32, count);
    bytes::decode_selected(region, n, None, ranges, cx, &mut out, &mut nulls).unwrap();
    out.finish()
}

fn strings(c: &mut Criterion) {
    let words = [
        "GET",
        "POST",
        "a value of some length",
        "http://example.org/index.html",
        "x",
    ];
    let (mut offsets, mut flat) = (vec![0u64], Vec::new());
    for v in values::<u32>(16) {
        flat.extend_from_slice(words[v as usize % words.len()].as_bytes());
        offsets.push(flat.len() as u64);
    }
    let input = Input::variable(&offsets, &flat, None);
    let mut group = c.benchmark_group("decode_strings");
    group.throughput(Throughput::Elements(N as u64));
    let mut copy = vec![0u8; flat.len()];
    group.bench_function("memcpy", |b| {
        b.iter(|| black_box(&mut copy).copy_from_slice(black_box(&flat)));
    });
    let offsets_plan = Some(Plan::Delta {
        differences: Box::new(Plan::FlBitPack),
    });
    let plans = [
        (
            "dictionary",
            bytes::Plan::BlockDictionary {
                codes: Plan::FlBitPack,
                lengths: None,
            },
        ),
        (
            "lz4",
            bytes::Plan::Lz4 {
                offsets: offsets_plan.clone(),
            },
        ),
        ("fsst", bytes::Plan::fsst(offsets_plan)),
        ("plain", bytes::Plan::Plain),
    ];
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    let mut cx = Context::new(&limits, &mut scratch);
    for (name, plan) in plans {
        let mut region = Vec::new();
        bytes::encode(&input, &plan, &mut region).unwrap();
        for layout in [BytesLayout::Offsets32, BytesLayout::Views] {
            group.bench_function(BenchmarkId::new(name, format!("{layout:?}")), |b| {
                b.iter(|| decode_strings(black_box(&region), N, layout, &mut cx));
            });
        }
    }
    group.finish();
}

/// Measures splitting integers of 16 bytes into halves: decimals of up to 40 bits, one in ten negative.
fn decimals(c: &mut Criterion) {
    let number = |(i, v): (usize, u64)| match i % 10 {
        0 => -i128::from(v),
        _ => i128::from(v),
    };
    let integers = values::<u64>(40).into_iter().enumerate().map(number);
    let flat: Vec<u8> = integers.flat_map(i128::to_le_bytes).collect();
    let input = Input::fixed(16, N, &flat, None);
    let plans = [
        (
            "split128",
            bytes::Plan::Split128 {
                high: Plan::SingleValue,
                low: Plan::Ffor,
            },
        ),
        ("lz4", bytes::Plan::Lz4 { offsets: None }),
        (
            "zstd",
            bytes::Plan::Zstd {
                level: 3,
                offsets: None,
            },
        ),
        ("plain", bytes::Plan::Plain),
    ];
    let mut group = c.benchmark_group("decimals");
    group.throughput(Throughput::Elements(N as u64));
    let mut copy = vec![0u8; flat.len()];
    group.bench_function("memcpy", |b| {
        b.iter(|| black_box(&mut copy).copy_from_slice(black_box(&flat)));
    });
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    let mut cx = Context::new(&limits, &mut scratch);
    for (name, plan) in plans {
        let mut region = Vec::new();
        bytes::encode(&input, &plan, &mut region).unwrap();
        eprintln!("{name}: {} of {} bytes", region.len(), flat.len());
        group.bench_function(BenchmarkId::new("decode", name), |b| {
            b.iter(|| {
                let mut bits = BooleanBufferBuilder::new(N);
                bits.append_n(N, true);
                let mut nulls = NullsOut::new(&mut bits, 0);
                let mut out = BytesBuilder::new(BytesLayout::Fixed(16), N);
                bytes::decode(
                    black_box(&region),
                    N,
                    Some(16),
                    &mut cx,
                    &mut out,
                    &mut nulls,
                )
                .unwrap();
                out.finish()
            });
        });
    }
    group.finish();
}

fn all(c: &mut Criterion) {
    checksums(c);
    unpack::<u32>(c, "unpack_u32", &[1, 5, 8, 13, 24, 31]);
    unpack::<u64>(c, "unpack_u64", &[1, 8, 21, 40, 63]);
    nested(c);
    strings(c);
    text(c);
    decimals(c);
}

criterion_group!(benches, all);
criterion_main!(benches);
