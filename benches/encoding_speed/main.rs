//! How fast does every encoding decode? Prints a Markdown table with the times for a block of a writer's default size,
//! for one value in ten and for single values of it, and the ratio to a copy of the decoded bytes.
//!
//! ```sh
//! cargo bench --features experimental --bench encoding_speed
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a bench that fails should stop; its numbers are small"
)]

mod cases;
mod meter;

use arrow_buffer::BooleanBufferBuilder;
use arrow_shard::Limits;
use arrow_shard::encoding::bytes::{self, BytesBuilder, BytesLayout, Input, NullsOut};
use arrow_shard::encoding::{Context, EncodingTree, Scratch, Word, number};
use cases::{Numbers, Strings, VALUES};
use meter::Turns;
use std::hint::black_box;
use std::ops::Range;

/// Distance of two positions at which single values are read.
const STRIDE: usize = 1237;
/// Distance of two values when one in ten is read.
const STEP: usize = 10;

/// Distance of the source from the target, within their pages. If both are at the same offset in a page, copies by the
/// C library may be many times slower.
const APART: usize = 2048;
const PAGE: usize = 4096;

/// The times of a row, in nanoseconds.
struct Times {
    /// Decoding all values of a block.
    decode: f64,
    /// Decoding one value in ten.
    selected: f64,
    /// Decoding one of its values.
    get: f64,
    /// Copying the decoded bytes.
    copy: f64,
    /// Speed of decoding, as a share of the speed of a copy.
    share: f64,
    /// A cycle of the core.
    cycle: f64,
}

impl Times {
    /// Measures `decode`, which decodes a block to `bytes` bytes, `select`, which decodes one value in ten, and `get`,
    /// which decodes one value.
    fn of(
        bytes: usize,
        mut decode: impl FnMut(),
        mut select: impl FnMut(),
        mut get: impl FnMut(),
    ) -> Self {
        let (source, mut target) = (vec![1u8; bytes], Vec::new());
        let target = apart(&mut target, bytes, &source);
        let mut copy = || black_box(&mut *target).copy_from_slice(black_box(&source));
        let turns = Turns::of([&mut decode, &mut select, &mut get, &mut copy]);
        Self {
            decode: turns.time(0),
            selected: turns.time(1),
            get: turns.time(2),
            copy: turns.time(3),
            share: turns.speed(0, 3),
            cycle: turns.cycle(),
        }
    }
}

/// Returns `n` words in `place`, at the distance [`APART`] from their source `from`.
fn apart<'a, W: Word>(place: &'a mut Vec<W>, n: usize, from: &[u8]) -> &'a mut [W] {
    place.resize(n + PAGE / W::BYTES, W::ZERO);
    let found = place.as_ptr().addr() % PAGE;
    let wanted = (from.as_ptr().addr() + APART) % PAGE;
    let start = (PAGE + wanted - found) % PAGE / W::BYTES;
    &mut place[start..start + n]
}

/// Returns the positions of one value in ten.
fn one_in_ten(count: usize) -> Vec<Range<usize>> {
    (0..count).step_by(STEP).map(|at| at..at + 1).collect()
}

/// A line of the table.
struct Row {
    name: String,
    about: String,
    /// Number of values.
    count: usize,
    /// Bytes of the encoded and of the decoded block.
    encoded: usize,
    decoded: usize,
    times: Times,
}

impl Row {
    fn print(&self) {
        let times = &self.times;
        let bytes = self.decoded as f64;
        println!(
            "| {} | {} | {:.1} | {:.0} | {:.1} | {:.2} | {:.2} | {:.1} | {:.0} |",
            self.name,
            self.about,
            8.0 * self.encoded as f64 / self.count as f64,
            1e3 * self.count as f64 / times.decode,
            bytes / times.decode,
            bytes * times.cycle / times.decode,
            times.share,
            times.selected / self.count.div_ceil(STEP) as f64,
            times.get,
        );
    }
}

/// Returns the name of a block's encoding, with its nested encodings.
fn name(tree: &EncodingTree) -> String {
    let own = tree.code.name();
    let children: Vec<String> = tree.children.iter().map(|(_, child)| name(child)).collect();
    if children.is_empty() {
        own.to_owned()
    } else {
        format!("{own} ({})", children.join(", "))
    }
}

/// Returns the name, after checking that the block has the planned encoding: data that do not suit it would be encoded,
/// and measured, as Plain.
fn checked_name(tree: &EncodingTree, plan: &str) -> String {
    let found = tree.code.name();
    let wanted = plan.split('(').next().unwrap_or_default();
    assert!(found.starts_with(wanted), "{plan} became {tree}");
    name(tree)
}

fn numbers<W: Word>(case: &Numbers<W>) -> Row {
    let mut region = Vec::new();
    number::encode(&case.values, case.kind, &case.plan, &mut region).unwrap();
    let count = case.values.len();
    let tree = number::describe(&region, case.kind, count, W::BYTES).unwrap();
    let mut place: Vec<W> = Vec::new();
    let decoded = apart(&mut place, count, &region);
    let limits = Limits::default();
    let (mut scratch, mut other) = (Scratch::default(), Scratch::default());
    let mut cx = Context::new(&limits, &mut scratch);
    number::decode(&region, case.kind, &mut cx, decoded).unwrap();
    assert!(*decoded == *case.values, "{tree} gives other values");
    let decode = || {
        let region = black_box(region.as_slice());
        number::decode(region, case.kind, &mut cx, black_box(&mut *decoded)).unwrap();
    };
    let ranges = one_in_ten(count);
    let mut few = vec![W::ZERO; ranges.len()];
    let mut scratch = Scratch::default();
    let mut several = Context::new(&limits, &mut scratch);
    let select = || {
        let region = black_box(region.as_slice());
        let few = black_box(few.as_mut_slice());
        number::decode_selected(region, case.kind, count, &ranges, &mut several, few).unwrap();
    };
    let mut single = Context::new(&limits, &mut other);
    let mut at = 0;
    let get = || {
        at = (at + STRIDE) % count;
        let region = black_box(region.as_slice());
        black_box(number::get::<W>(region, case.kind, count, at, &mut single).unwrap());
    };
    let bytes = count * W::BYTES;
    Row {
        name: checked_name(&tree, &case.plan.to_string()),
        about: case.about.clone(),
        count,
        encoded: region.len(),
        decoded: bytes,
        times: Times::of(bytes, decode, select, get),
    }
}

fn strings(case: &Strings) -> Row {
    let fixed = case.offsets.is_empty().then_some(16);
    let input = match fixed {
        Some(width) => Input::fixed(width, case.values.len() / width, &case.values, None),
        None => Input::variable(&case.offsets, &case.values, None),
    };
    let count = input.len;
    let mut region = Vec::new();
    bytes::encode(&input, &case.plan, &mut region).unwrap();
    let tree = bytes::describe(&region, count, fixed).unwrap();
    let limits = Limits::default();
    let (mut scratch, mut other) = (Scratch::default(), Scratch::default());
    let mut cx = Context::new(&limits, &mut scratch);
    let layout = fixed.map_or(BytesLayout::Offsets32, BytesLayout::Fixed);
    let mut all = || {
        let mut present = BooleanBufferBuilder::new(count);
        present.append_n(count, true);
        let mut nulls = NullsOut::new(&mut present, 0);
        let mut out = BytesBuilder::new(layout, count);
        let region = black_box(region.as_slice());
        bytes::decode(region, count, fixed, &mut cx, &mut out, &mut nulls).unwrap();
        out.finish()
    };
    let values = match all() {
        bytes::Decoded::Fixed(values) | bytes::Decoded::Offsets32(_, values) => values,
        other => unreachable!("not the layout that was asked for: {other:?}"),
    };
    assert!(*values == *case.values, "{tree} gives other values");
    let ranges = one_in_ten(count);
    let mut scratch = Scratch::default();
    let mut several = Context::new(&limits, &mut scratch);
    let select = || {
        let mut present = BooleanBufferBuilder::new(ranges.len());
        present.append_n(ranges.len(), true);
        let mut nulls = NullsOut::new(&mut present, 0);
        let mut out = BytesBuilder::new(layout, ranges.len());
        let (region, cx) = (black_box(region.as_slice()), &mut several);
        bytes::decode_selected(region, count, fixed, &ranges, cx, &mut out, &mut nulls).unwrap();
        black_box(out.finish());
    };
    let mut single = Context::new(&limits, &mut other);
    let mut at = 0;
    let get = || {
        at = (at + STRIDE) % count;
        let region = black_box(region.as_slice());
        black_box(bytes::get(region, count, fixed, at, &mut single).unwrap());
    };
    let decoded = case.values.len() + case.offsets.len() * size_of::<i32>();
    let decode = || {
        black_box(all());
    };
    Row {
        name: checked_name(&tree, &case.plan.to_string()),
        about: case.about.to_owned(),
        count,
        encoded: region.len(),
        decoded,
        times: Times::of(decoded, decode, select, get),
    }
}

/// Prints the rows below a title.
fn print(title: &str, rows: &[Row]) {
    let rate = |row: &Row| 1.0 / row.times.cycle;
    let rates = rows.iter().map(rate).fold((f64::MAX, 0.0), spread);
    let copy = |row: &Row| row.decoded as f64 * row.times.cycle / row.times.copy;
    let copies = rows.iter().map(copy).fold((f64::MAX, 0.0), spread);
    println!("## {title}\n");
    println!(
        "Clock rate: {:.2} to {:.2} GHz. A copy: {:.1} to {:.1} bytes per cycle.\n",
        rates.0, rates.1, copies.0, copies.1
    );
    println!(
        "| encoding | data | bits per value | million values/s | GB/s | bytes per cycle | of a copy | each of 1 in 10, ns | one value, ns |"
    );
    println!("|-|-|{}", "-:|".repeat(7));
    rows.iter().for_each(Row::print);
    println!();
}

fn spread((least, most): (f64, f64), value: f64) -> (f64, f64) {
    (least.min(value), most.max(value))
}

fn all_numbers<W: Word>(cases: &[Numbers<W>]) -> Vec<Row> {
    cases.iter().map(numbers).collect()
}

fn main() {
    let integers = [
        (
            "Integers of 32 bits",
            all_numbers::<u32>(&cases::integers()),
        ),
        (
            "Integers of 64 bits",
            all_numbers::<u64>(&cases::integers()),
        ),
    ];
    println!("Blocks of {VALUES} values, or of 2,048 lines of text; all values were compared.\n");
    for (title, rows) in &integers {
        print(title, rows);
    }
    let single = cases::floats::<u32>(|number| u64::from((number as f32).to_bits()));
    print("Floats of 32 bits", &all_numbers(&single));
    let double = cases::floats::<u64>(f64::to_bits);
    print("Floats of 64 bits", &all_numbers(&double));
    let texts: Vec<Row> = cases::strings().iter().map(strings).collect();
    print("Byte strings", &texts);
}
