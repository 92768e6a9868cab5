//! Checks a region of numbers: all ways to read it agree, and its values can be encoded again.
//!
//! Input: u8 width and kind | u16 number of values | u8 selection | region

use super::ranges::{pick, ranges};
use arrow_shard::encoding::number::{self, Plan, View};
use arrow_shard::encoding::{Context, NumberKind, Scratch, Word};

pub fn run(data: &[u8]) {
    let Some(([head, low, high, seed], region)) = data.split_first_chunk::<4>() else {
        return;
    };
    let n = usize::from(u16::from_le_bytes([*low, *high]) % 5000) + 1;
    let kind =
        [NumberKind::Unsigned, NumberKind::Signed, NumberKind::Float][usize::from(head / 4 % 3)];
    match head % 4 {
        0 => check::<u8>(region, kind, n, *seed),
        1 => check::<u16>(region, kind, n, *seed),
        2 => check::<u32>(region, kind, n, *seed),
        _ => check::<u64>(region, kind, n, *seed),
    }
}

/// Returns the input for a region.
pub fn input<W: Word>(kind: NumberKind, n: u16, seed: u8, region: &[u8]) -> Vec<u8> {
    let kind = match kind {
        NumberKind::Unsigned => 0,
        NumberKind::Signed => 1,
        NumberKind::Float => 2,
    };
    let width = W::BYTES.ilog2() as u8;
    let [low, high] = (n - 1).to_le_bytes();
    [&[width + 4 * kind, low, high, seed], region].concat()
}

fn check<W: Word>(region: &[u8], kind: NumberKind, n: usize, seed: u8) {
    if kind == NumberKind::Float && W::BYTES < 4 {
        return;
    }
    let (limits, mut scratch) = (super::limits(), Scratch::default());
    let cx = &mut Context::new(&limits, &mut scratch);
    let mut all = vec![W::ONE; n];
    let whole = number::decode(region, kind, cx, &mut all);
    let ranges = ranges(seed, n);
    let want = pick(&all, &ranges);
    let mut got = vec![W::ZERO; want.len()];
    let part = number::decode_selected(region, kind, n, &ranges, cx, &mut got);
    let i = usize::from(seed) % n;
    let one = number::get::<W>(region, kind, n, i, cx);
    let view = number::view::<W>(region, kind, n, cx);
    let tree = number::describe(region, kind, n, W::BYTES);
    if whole.is_err() {
        return;
    }
    assert!(part.is_ok() && got == want, "a selection differs: {part:?}");
    assert_eq!(one.expect("a value of a sound region"), all[i]);
    assert_eq!(
        tree.expect("the tree of a sound region").bytes,
        region.len()
    );
    agrees(view.expect("the view of a sound region"), &all);
    let mut again = Vec::new();
    let plan = plan(seed);
    number::encode(&all, kind, &plan, &mut again).expect("a block");
    let mut decoded = vec![W::ZERO; n];
    number::decode(&again, kind, cx, &mut decoded).expect("what was just encoded");
    assert!(decoded == all, "{plan} loses values");
}

fn agrees<W: Word>(view: View<W>, all: &[W]) {
    match view {
        View::Constant(value) => assert!(all.iter().all(|v| *v == value)),
        View::Runs { values, ends } => {
            assert_eq!(ends.last().map_or(0, |end| *end as usize), all.len());
            let mut start = 0;
            for (value, end) in values.iter().zip(ends) {
                assert!(all[start..end as usize].iter().all(|v| v == value));
                start = end as usize;
            }
        }
        View::Codes { codes, dictionary } => {
            assert_eq!(codes.len(), all.len());
            let found = codes.iter().map(|code| dictionary[*code as usize]);
            assert!(found.eq(all.iter().copied()));
        }
        View::None => {}
    }
}

fn plan(seed: u8) -> Plan {
    let pack = || Box::new(Plan::FlBitPack);
    match seed % 15 {
        0 => Plan::SingleValue,
        1 => Plan::Ffor,
        2 => Plan::For { deltas: pack() },
        3 => Plan::Delta {
            differences: Box::new(Plan::ZigZag { values: pack() }),
        },
        4 => Plan::RunLength {
            values: Some(Box::new(Plan::Ffor)),
            lengths: Some(pack()),
        },
        5 => Plan::Truncate {
            values: Some(pack()),
        },
        6 => Plan::BlockDictionary {
            codes: pack(),
            values: Some(Box::new(Plan::Ffor)),
        },
        7 => Plan::Sparse {
            positions: Some(Box::new(Plan::Delta {
                differences: pack(),
            })),
            values: None,
        },
        8 => Plan::Alp {
            integers: Box::new(Plan::Ffor),
        },
        9 => Plan::AlpRd {
            left: pack(),
            right: pack(),
        },
        10 => Plan::Lz4,
        11 => Plan::PatchedFfor,
        12 => Plan::CompactFfor,
        13 => Plan::Multiples {
            quotients: Box::new(Plan::Ffor),
        },
        _ => Plan::Pco { level: 1 },
    }
}
