//! Compares implementations and dependencies of `arrow-shard` with alternatives: LZ4 in Rust with the C library, its
//! own unpacking with the crate `fastlanes`, its own FSST with the crate `fsst-rs`. Prints a table in Markdown.
//!
//! ```sh
//! cargo bench --bench choices
//! ```

#[path = "../../encoding_speed/meter.rs"]
#[expect(dead_code, reason = "the clock rate is of no interest here")]
mod meter;

use anyhow::{Result, ensure};
use arrow_buffer::BooleanBufferBuilder;
use arrow_shard::Limits;
use arrow_shard::encoding::bytes::{self, BytesBuilder, BytesLayout, Input, NullsOut};
use arrow_shard::encoding::number::{self, Plan};
use arrow_shard::encoding::{Context, NumberKind, Scratch, Word};
use fastlanes::BitPacking;
use fsst::Compressor;
use meter::Turns;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::hint::black_box;

/// Values of a block of numbers, and lines of a block of text.
const VALUES: usize = 8192;
const LINES: usize = 2048;
/// Values that FastLanes packs together.
const CHUNK: usize = 1024;

fn main() -> Result<()> {
    println!("| | data | this crate, GB/s | the other, GB/s | times as fast |");
    println!("|-|-|-:|-:|-:|");
    let lines = lines();
    lz4("lines of a log", lines.concat().as_bytes())?;
    let mut rng = StdRng::seed_from_u64(2);
    let integers = (0..VALUES).map(|_| rng.random::<u64>() >> rng.random_range(40..64));
    let skewed: Vec<u8> = integers.flat_map(u64::to_le_bytes).collect();
    lz4("integers of 64 bits", &skewed)?;
    for width in [5, 13, 24] {
        unpack::<u32>(width)?;
    }
    for width in [8, 21, 40] {
        unpack::<u64>(width)?;
    }
    fsst(&lines)
}

/// Prints the speeds of two tasks that each handle `bytes` decoded bytes.
fn compare(name: &str, data: &str, bytes: usize, mut own: impl FnMut(), mut other: impl FnMut()) {
    let turns = Turns::of([&mut own, &mut other]);
    let rate = |task| bytes as f64 / turns.time(task);
    println!(
        "| {name} | {data} | {:.2} | {:.2} | {:.2} |",
        rate(0),
        rate(1),
        turns.speed(0, 1)
    );
}

/// Compares the crate `lz4_flex`, which `arrow-shard` uses, with the C library.
fn lz4(data: &str, plain: &[u8]) -> Result<()> {
    use lz4::block::{compress_bound, compress_to_buffer, decompress_to_buffer};
    let mut own = vec![0; lz4_flex::block::get_maximum_output_size(plain.len())];
    let mut other = vec![0; compress_bound(plain.len())?];
    let own_size = lz4_flex::block::compress_into(plain, &mut own)?;
    let other_size = compress_to_buffer(plain, None, false, &mut other)?;
    let (mut left, mut right) = (vec![0; plain.len()], vec![0; plain.len()]);
    let length = Some(i32::try_from(plain.len())?);
    // Both read the output of the C library.
    let block = other[..other_size].to_vec();
    lz4_flex::block::decompress_into(&block, &mut left)?;
    decompress_to_buffer(&block, length, &mut right)?;
    ensure!(left == plain && right == plain, "LZ4 gives other bytes");
    compare(
        "LZ4, decompress: `lz4_flex`, C library",
        data,
        plain.len(),
        || {
            let size = lz4_flex::block::decompress_into(black_box(&block), black_box(&mut left));
            black_box(size.expect("decompressed before"));
        },
        || {
            let size = decompress_to_buffer(black_box(&block), length, black_box(&mut right));
            black_box(size.expect("decompressed before"));
        },
    );
    let sizes = format!("{data}, to {own_size} and {other_size} bytes");
    compare(
        "LZ4, compress: `lz4_flex`, C library",
        &sizes,
        plain.len(),
        || {
            let size = lz4_flex::block::compress_into(black_box(plain), black_box(&mut own));
            black_box(size.expect("compressed before"));
        },
        || {
            let size = compress_to_buffer(black_box(plain), None, false, black_box(&mut other));
            black_box(size.expect("compressed before"));
        },
    );
    Ok(())
}

/// Compares whole blocks of FLBitPack with the same chunks by the crate `fastlanes`.
fn unpack<W: Word + BitPacking>(width: u32) -> Result<()> {
    let mut rng = StdRng::seed_from_u64(1);
    let mask = (1u64 << width) - 1;
    let values: Vec<W> = (0..VALUES)
        .map(|_| W::truncate(rng.random::<u64>() & mask))
        .collect();
    let mut region = Vec::new();
    let kind = NumberKind::Unsigned;
    number::encode(&values, kind, &Plan::FlBitPack, &mut region)?;
    let width = width as usize;
    let words = CHUNK * width / (8 * size_of::<W>());
    let mut packed = vec![W::ZERO; words * VALUES / CHUNK];
    for (values, packed) in values.chunks(CHUNK).zip(packed.chunks_mut(words)) {
        // SAFETY: `values` is a chunk of values, and `packed` has the number of words for it.
        unsafe { BitPacking::unchecked_pack(width, values, packed) };
    }
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    let mut cx = Context::new(&limits, &mut scratch);
    let (mut left, mut right) = (vec![W::ZERO; VALUES], vec![W::ZERO; VALUES]);
    let mut own = || {
        number::decode(black_box(&region), kind, &mut cx, black_box(&mut left))
            .expect("a block of FLBitPack");
    };
    let mut other = || {
        let chunks = black_box(&mut right).chunks_mut(CHUNK);
        for (packed, values) in black_box(&packed).chunks(words).zip(chunks) {
            // SAFETY: `packed` has the number of words of a chunk, and `values` has room for it.
            unsafe { BitPacking::unchecked_unpack(width, packed, values) };
        }
    };
    own();
    other();
    let bytes = size_of_val(values.as_slice());
    let data = format!("{width} bits in {}", 8 * size_of::<W>());
    compare("unpack: own, `fastlanes`", &data, bytes, own, other);
    ensure!(left == values && right == values, "unpacked other values");
    Ok(())
}

/// Compares whole blocks of FSST with their offsets with the strings alone by the crate `fsst-rs`.
fn fsst(lines: &[String]) -> Result<()> {
    let (mut offsets, mut flat) = (vec![0u64], Vec::new());
    for line in lines {
        flat.extend_from_slice(line.as_bytes());
        offsets.push(flat.len() as u64);
    }
    let input = Input::variable(&offsets, &flat, None);
    let plan = bytes::Plan::fsst(Some(Plan::Ffor)).learned_from(&input)?;
    let mut region = Vec::new();
    bytes::encode(&input, &plan, &mut region)?;
    let strings: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let compressor = Compressor::train(&strings);
    let compressed = compressor.compress_bulk(&strings).concat();
    let decompressor = compressor.decompressor();
    let mut plain = Vec::with_capacity(decompressor.max_decompression_capacity(&compressed));
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    let mut cx = Context::new(&limits, &mut scratch);
    let mut decode = || {
        let mut present = BooleanBufferBuilder::new(lines.len());
        present.append_n(lines.len(), true);
        let mut nulls = NullsOut::new(&mut present, 0);
        let mut out = BytesBuilder::new(BytesLayout::Offsets32, lines.len());
        let region = black_box(&region);
        bytes::decode(region, lines.len(), None, &mut cx, &mut out, &mut nulls)
            .expect("a block of FSST");
        out.finish()
    };
    let bytes::Decoded::Offsets32(_, values) = decode() else {
        anyhow::bail!("not the layout that was asked for");
    };
    ensure!(*values == *flat, "FSST gives other bytes");
    ensure!(
        decompressor.decompress(&compressed) == flat,
        "the crate gives other bytes"
    );
    let data = "lines of a log";
    compare(
        "FSST, decompress: own, `fsst-rs`",
        data,
        flat.len(),
        || {
            black_box(decode());
        },
        || {
            let place = plain.spare_capacity_mut();
            black_box(decompressor.decompress_into(black_box(&compressed), place));
        },
    );
    let mut out = Vec::new();
    let sizes = format!("{data}, to {} and {} bytes", region.len(), compressed.len());
    compare(
        "FSST, compress: own, `fsst-rs`",
        &sizes,
        flat.len(),
        || {
            out.clear();
            bytes::encode(black_box(&input), &plan, &mut out).expect("encoded before");
        },
        || {
            black_box(compressor.compress_bulk(black_box(&strings)));
        },
    );
    Ok(())
}

/// Returns lines as in the log of a cluster.
fn lines() -> Vec<String> {
    let mut rng = StdRng::seed_from_u64(4);
    let line = |_| {
        let block = rng.random::<u64>() >> 1;
        let (subnet, host) = (rng.random_range(0..256), rng.random_range(0..256));
        match rng.random_range(0..3) {
            0 => format!(
                "PacketResponder {} for block blk_{block} terminating",
                host % 3
            ),
            1 => format!(
                "BLOCK* NameSystem.addStoredBlock: blockMap updated: 10.250.{subnet}.{host}:50010 \
                 is added to blk_{block} size 67108864"
            ),
            _ => format!("Receiving block blk_-{block} src: /10.251.{subnet}.{host}:50010"),
        }
    };
    (0..LINES).map(line).collect()
}
