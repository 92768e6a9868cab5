//! Checks a region of byte strings: all ways to read it agree, and its values can be encoded again.
//!
//! Input: u8 size of the values, by [`SIZES`] | u16 number of values | u8 selection | region

use super::ranges::{pick, ranges};
use arrow_array::{Array, BinaryViewArray};
use arrow_buffer::BooleanBufferBuilder;
use arrow_shard::Result;
use arrow_shard::encoding::bytes::{
    self, BytesBuilder, BytesLayout, Decoded, Input, NullsOut, Plan, View,
};
use arrow_shard::encoding::{Context, Scratch, number};
use std::ops::Range;

/// Sizes of values; `None` for variable sizes.
pub const SIZES: [Option<usize>; 6] = [None, None, Some(0), Some(1), Some(3), Some(16)];

/// Values, with `None` for nulls that the region itself stores.
type Values = Vec<Option<Vec<u8>>>;

pub fn run(data: &[u8]) {
    let Some(([head, low, high, seed], region)) = data.split_first_chunk::<4>() else {
        return;
    };
    let n = usize::from(u16::from_le_bytes([*low, *high]) % 5000) + 1;
    check(region, SIZES[usize::from(*head) % SIZES.len()], n, *seed);
}

/// Returns the input for a region.
pub fn input(size: Option<usize>, n: u16, seed: u8, region: &[u8]) -> Vec<u8> {
    let head = SIZES
        .iter()
        .position(|s| *s == size)
        .expect("a listed size") as u8;
    let [low, high] = (n - 1).to_le_bytes();
    [&[head, low, high, seed], region].concat()
}

fn read(
    region: &[u8],
    n: usize,
    layout: BytesLayout,
    ranges: &[Range<usize>],
    cx: &mut Context<'_>,
) -> Result<Values> {
    let count: usize = ranges.iter().map(Range::len).sum();
    let fixed = match layout {
        BytesLayout::Fixed(width) => Some(width),
        _ => None,
    };
    let mut bits = BooleanBufferBuilder::new(count);
    bits.append_n(count, true);
    let mut nulls = NullsOut::new(&mut bits, 0);
    let mut out = BytesBuilder::new(layout, 0);
    bytes::decode_selected(region, n, fixed, ranges, cx, &mut out, &mut nulls)?;
    assert_eq!(out.len(), count);
    let present = bits.finish();
    let values = split(out.finish(), layout, count);
    let values = values.into_iter().zip(present.iter());
    Ok(values
        .map(|(value, present)| present.then_some(value))
        .collect())
}

fn split(decoded: Decoded, layout: BytesLayout, count: usize) -> Vec<Vec<u8>> {
    let cut = |ends: Vec<usize>, bytes: &[u8]| -> Vec<Vec<u8>> {
        assert_eq!((ends.len(), ends[count]), (count + 1, bytes.len()));
        ends.windows(2)
            .map(|w| bytes[w[0]..w[1]].to_vec())
            .collect()
    };
    match decoded {
        Decoded::Offsets32(o, b) => cut(o.iter().map(|o| *o as usize).collect(), &b),
        Decoded::Offsets64(o, b) => cut(o.iter().map(|o| *o as usize).collect(), &b),
        Decoded::Views(views, buffers) => {
            let array = BinaryViewArray::try_new(views, buffers, None).expect("sound views");
            (0..array.len()).map(|i| array.value(i).to_vec()).collect()
        }
        Decoded::Fixed(b) => {
            let BytesLayout::Fixed(width) = layout else {
                panic!("values of one size from {layout:?}");
            };
            assert_eq!(b.len(), width * count);
            (0..count)
                .map(|i| b[i * width..(i + 1) * width].to_vec())
                .collect()
        }
    }
}

fn check(region: &[u8], size: Option<usize>, n: usize, seed: u8) {
    let (limits, mut scratch) = (super::limits(), Scratch::default());
    let cx = &mut Context::new(&limits, &mut scratch);
    let whole = std::slice::from_ref(&(0..n)).to_vec();
    let layout = size.map_or(BytesLayout::Offsets64, BytesLayout::Fixed);
    let all = read(region, n, layout, &whole, cx);
    let ranges = ranges(seed, n);
    let part = read(region, n, layout, &ranges, cx);
    let i = usize::from(seed) % n;
    let one = bytes::get(region, n, size, i, cx);
    let view = bytes::view(region, n, size, cx);
    let tree = bytes::describe(region, n, size);
    if size.is_none() {
        let narrow = read(region, n, BytesLayout::Offsets32, &whole, cx).ok();
        assert_eq!(narrow, all.as_ref().ok().cloned(), "32 and 64 bits differ");
        // Views of repeated values need no copies, so they exceed limits later.
        let views = read_views(region, n, cx);
        assert!(
            all.is_err() || views.as_ref() == all.as_ref().ok(),
            "views differ"
        );
    }
    let Ok(all) = all else { return };
    assert_eq!(
        part.expect("a selection of a sound region"),
        pick(&all, &ranges)
    );
    assert_eq!(one.expect("a value of a sound region"), all[i]);
    assert_eq!(
        tree.expect("the tree of a sound region").bytes,
        region.len()
    );
    match view.expect("the view of a sound region") {
        View::Constant(value) => assert!(all.iter().all(|v| v.as_ref() == Some(&value))),
        View::Codes { codes, entries } => {
            for (code, value) in codes.iter().zip(&all) {
                let entry = (*code as usize).checked_sub(1).and_then(|k| entries.get(k));
                assert_eq!(entry, value.as_deref());
            }
        }
        View::None => {}
    }
    again(&all, size, seed, cx);
}

/// Reads values as views, unless copying them out would take too many bytes.
fn read_views(region: &[u8], n: usize, cx: &mut Context<'_>) -> Option<Values> {
    let most = cx.limits.max_block_bytes();
    let mut bits = BooleanBufferBuilder::new(n);
    bits.append_n(n, true);
    let mut nulls = NullsOut::new(&mut bits, 0);
    let mut out = BytesBuilder::new(BytesLayout::Views, 0);
    bytes::decode(region, n, None, cx, &mut out, &mut nulls).ok()?;
    let Decoded::Views(views, buffers) = out.finish() else {
        panic!("views become another layout");
    };
    let total: u64 = views.iter().map(|view| *view as u32 as u64).sum();
    let array = BinaryViewArray::try_new(views, buffers, None).expect("sound views");
    let present = bits.finish();
    (total <= most).then(|| {
        (0..n)
            .map(|i| present.value(i).then(|| array.value(i).to_vec()))
            .collect()
    })
}

fn again(all: &Values, size: Option<usize>, seed: u8, cx: &mut Context<'_>) {
    let n = all.len();
    let empty = vec![0; size.unwrap_or(0)];
    let values: Vec<&[u8]> = all.iter().map(|v| v.as_deref().unwrap_or(&empty)).collect();
    let flat = values.concat();
    let mut offsets = vec![0u64];
    for value in &values {
        offsets.push(offsets.last().copied().unwrap_or(0) + value.len() as u64);
    }
    let nulls = all
        .iter()
        .map(Option::is_some)
        .collect::<Vec<bool>>()
        .into();
    let input = match size {
        Some(width) => Input::fixed(width, n, &flat, Some(&nulls)),
        None => Input::variable(&offsets, &flat, Some(&nulls)),
    };
    let plan = match seed % 9 {
        0 => Plan::SingleValue,
        1 => Plan::BlockDictionary {
            codes: number::Plan::FlBitPack,
            lengths: Some(number::Plan::Ffor),
        },
        2 => Plan::fsst(Some(number::Plan::Ffor)),
        3 => Plan::Lz4 { offsets: None },
        4 => Plan::fsst_values(number::Plan::Ffor),
        5 => Plan::Split128 {
            high: number::Plan::Ffor,
            low: number::Plan::PatchedFfor,
        },
        6 => Plan::digits(Plan::Plain),
        7 => Plan::NonEmpty {
            texts: Box::new(Plan::fsst_values(number::Plan::Ffor)),
        },
        _ => Plan::Plain,
    };
    let mut region = Vec::new();
    bytes::encode(&input, &plan, &mut region).expect("a block");
    let layout = size.map_or(BytesLayout::Offsets64, BytesLayout::Fixed);
    let whole = std::slice::from_ref(&(0..n)).to_vec();
    let decoded = read(&region, n, layout, &whole, cx).expect("what was just encoded");
    for (found, want) in decoded.iter().zip(all) {
        assert!(want.is_none() || found == want, "{plan} loses values");
    }
}
