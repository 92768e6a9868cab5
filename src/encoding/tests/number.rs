use super::super::number::{
    Plan, Stats, View, decode, decode_selected, describe, encode, get, view,
};
use super::super::{NumberKind, Word};
use super::{mutate, random_ranges, rng, shapes, with_context};
use rand::{Rng, rngs::StdRng};

const LENGTHS: [usize; 9] = [1, 2, 7, 100, 1023, 1024, 1025, 3000, 8192];

fn random_plan(rng: &mut StdRng, depth: u32) -> Plan {
    let leaf = depth == 0;
    let nested = |rng: &mut StdRng| Box::new(random_plan(rng, depth.saturating_sub(1)));
    let part = |rng: &mut StdRng| rng.random::<bool>().then(|| nested(rng));
    match rng.random_range(0..if leaf { 9 } else { 19 }) {
        0 => Plan::Plain,
        1 => Plan::SingleValue,
        2 => Plan::FlBitPack,
        3 => Plan::Ffor,
        4 => Plan::Zstd { level: 1 },
        5 => Plan::Lz4,
        6 => Plan::Pco { level: 2 },
        7 => Plan::PatchedFfor,
        8 => Plan::CompactFfor,
        9 => Plan::For {
            deltas: nested(rng),
        },
        10 => Plan::Delta {
            differences: nested(rng),
        },
        11 => Plan::RunLength {
            values: part(rng),
            lengths: part(rng),
        },
        12 => Plan::Truncate { values: part(rng) },
        13 => Plan::ZigZag {
            values: nested(rng),
        },
        14 => Plan::BlockDictionary {
            codes: nested(rng),
            values: part(rng),
        },
        15 => Plan::Sparse {
            positions: part(rng),
            values: part(rng),
        },
        16 => Plan::Alp {
            integers: nested(rng),
        },
        17 => Plan::Multiples {
            quotients: nested(rng),
        },
        _ => Plan::AlpRd {
            left: nested(rng),
            right: nested(rng),
        },
    }
}

/// Returns a plan for the kind. Encodings of floats are tried on floats.
fn fitting_plan(rng: &mut StdRng, kind: NumberKind) -> Plan {
    match kind {
        NumberKind::Float if rng.random() => match rng.random_range(0..3) {
            0 => Plan::Alp {
                integers: Box::new(random_plan(rng, 1)),
            },
            1 => Plan::Alp {
                integers: Box::new(Plan::Ffor),
            },
            _ => Plan::AlpRd {
                left: Box::new(Plan::FlBitPack),
                right: Box::new(Plan::FlBitPack),
            },
        },
        _ => random_plan(rng, 3),
    }
}

fn kinds<W: Word>() -> &'static [NumberKind] {
    if W::BYTES >= 4 {
        &[NumberKind::Unsigned, NumberKind::Signed, NumberKind::Float]
    } else {
        &[NumberKind::Unsigned, NumberKind::Signed]
    }
}

pub(super) fn view_agrees<W: Word>(view: View<W>, values: &[W]) {
    match view {
        View::Constant(v) => assert!(values.iter().all(|x| *x == v)),
        View::Runs {
            values: heads,
            ends,
        } => {
            assert_eq!(heads.len(), ends.len());
            let mut start = 0;
            for (head, end) in heads.iter().zip(ends) {
                assert!(values[start..end as usize].iter().all(|x| x == head));
                start = end as usize;
            }
            assert_eq!(start, values.len());
        }
        View::Codes { codes, dictionary } => {
            let got: Vec<W> = codes.iter().map(|c| dictionary[*c as usize]).collect();
            assert_eq!(got, values);
        }
        View::None => {}
    }
}

fn every_way_of_reading_agrees<W: Word>(seed: u64, cases: usize) {
    let mut rng = rng(seed);
    for case in 0..cases {
        let n = LENGTHS[rng.random_range(0..LENGTHS.len())];
        let kind = kinds::<W>()[case % kinds::<W>().len()];
        let values: Vec<W> = shapes::numbers(&mut rng, n);
        let plan = fitting_plan(&mut rng, kind);
        let mut out = vec![0xee; 8];
        encode(&values, kind, &plan, &mut out).unwrap();
        let bytes = &out[8..];
        let what = format!("{kind} {} x {n}, {plan}", W::BITS);
        assert!(bytes.len() <= 2 + n * W::BYTES, "{what}");
        with_context(|cx| {
            let mut dst = vec![W::ONE; n];
            decode(bytes, kind, cx, &mut dst).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(dst == values, "{what}");

            for _ in 0..3 {
                let ranges = random_ranges(&mut rng, n);
                let want: Vec<W> = ranges
                    .iter()
                    .flat_map(|r| values[r.clone()].to_vec())
                    .collect();
                let mut got = vec![W::ONE; want.len()];
                decode_selected(bytes, kind, n, &ranges, cx, &mut got).unwrap();
                assert!(got == want, "{what}, {ranges:?}");
            }
            let i = rng.random_range(0..n);
            assert_eq!(
                get::<W>(bytes, kind, n, i, cx).unwrap(),
                values[i],
                "{what}"
            );
            assert!(get::<W>(bytes, kind, n, n, cx).is_err());
            view_agrees(view(bytes, kind, n, cx).unwrap(), &values);

            // A block shows its number of values only by its layout. Another number is an error, or results in that
            // many values.
            let _ = decode(bytes, kind, cx, &mut vec![W::ONE; n + 1]);
            let _ = decode(bytes, kind, cx, &mut vec![W::ONE; n - 1]);
        });
        let tree = describe(bytes, kind, n, W::BYTES).unwrap();
        assert_eq!(tree.bytes, bytes.len());
    }
}

#[test]
fn every_way_of_reading_bytes_agrees_with_what_was_encoded() {
    every_way_of_reading_agrees::<u8>(1, 150);
}

#[test]
fn every_way_of_reading_u16_agrees_with_what_was_encoded() {
    every_way_of_reading_agrees::<u16>(2, 150);
}

#[test]
fn every_way_of_reading_u32_agrees_with_what_was_encoded() {
    every_way_of_reading_agrees::<u32>(3, 200);
}

#[test]
fn every_way_of_reading_u64_agrees_with_what_was_encoded() {
    every_way_of_reading_agrees::<u64>(4, 200);
}

fn damage_is_survived<W: Word>(seed: u64, cases: usize) {
    let mut rng = rng(seed);
    for case in 0..cases {
        let n = LENGTHS[rng.random_range(0..6)];
        let kind = kinds::<W>()[case % kinds::<W>().len()];
        let values: Vec<W> = shapes::numbers(&mut rng, n);
        let mut bytes = Vec::new();
        encode(&values, kind, &fitting_plan(&mut rng, kind), &mut bytes).unwrap();
        for _ in 0..8 {
            let mut damaged = bytes.clone();
            mutate(&mut rng, &mut damaged);
            with_context(|cx| {
                let mut dst = vec![W::ZERO; n];
                let whole = decode(&damaged, kind, cx, &mut dst);
                let ranges = random_ranges(&mut rng, n);
                let want: Vec<W> = ranges
                    .iter()
                    .flat_map(|r| dst[r.clone()].to_vec())
                    .collect();
                let mut got = vec![W::ZERO; want.len()];
                let part = decode_selected(&damaged, kind, n, &ranges, cx, &mut got);
                if whole.is_ok() && part.is_ok() {
                    assert!(got == want, "damaged bytes read in two ways");
                }
                assert!(whole.is_err() || part.is_ok(), "{part:?}");
                if let Ok(view) = view(&damaged, kind, n, cx)
                    && whole.is_ok()
                {
                    view_agrees(view, &dst);
                }
            });
            let _ = describe(&damaged, kind, n, W::BYTES);
        }
    }
}

#[test]
fn damaged_regions_never_panic_and_never_read_in_two_ways() {
    damage_is_survived::<u8>(11, 60);
    damage_is_survived::<u16>(12, 60);
    damage_is_survived::<u32>(13, 100);
    damage_is_survived::<u64>(14, 100);
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut rng = rng(5);
    for _ in 0..5000 {
        let len = rng.random_range(0..80);
        let mut bytes: Vec<u8> = (0..len)
            .map(|_| if rng.random() { 0 } else { rng.random() })
            .collect();
        if let Some(first) = bytes.first_mut() {
            *first = rng.random_range(0..21);
        }
        let n = rng.random_range(1..20);
        with_context(|cx| {
            for kind in [NumberKind::Unsigned, NumberKind::Signed, NumberKind::Float] {
                let _ = decode(&bytes, kind, cx, &mut vec![0u32; n]);
                let _ = view::<u64>(&bytes, kind, n, cx);
                let _ = get::<u16>(&bytes, kind, n, 0, cx);
            }
        });
    }
}

#[test]
fn regions_nested_too_deep_are_refused() {
    let mut bytes = vec![7, 0, 1, 0, 0, 0];
    for _ in 0..1000 {
        let mut outer = vec![3, 0, 0, 0, 0, 0, 0, 0];
        outer.extend(bytes);
        bytes = outer;
    }
    let error = with_context(|cx| decode(&bytes, NumberKind::Unsigned, cx, &mut [0u32; 4]));
    assert_eq!(error.unwrap_err().kind(), crate::ErrorKind::LimitExceeded);
}

#[test]
fn estimates_are_within_a_factor_of_two_of_the_encoded_size() {
    let mut rng = rng(6);
    let (mut close, mut all) = (0, 0);
    for case in 0..400 {
        let kind = kinds::<u64>()[case % 3];
        let values: Vec<u64> = shapes::numbers(&mut rng, 8192);
        let plan = fitting_plan(&mut rng, kind);
        let stats = Stats::collect(&values, kind);
        let Some(estimate) = plan.estimate(&stats) else {
            continue;
        };
        let mut bytes = Vec::new();
        encode(&values, kind, &plan, &mut bytes).unwrap();
        // If the planned encoding is larger than plain, the block is plain.
        let plain = 2 + 8 * values.len();
        let (got, want) = (estimate.bytes.min(plain), bytes.len());
        all += 1;
        if got <= want * 2 + 100 && want <= got * 2 + 100 {
            close += 1;
        }
    }
    assert!(close * 100 >= all * 85, "{close} of {all}");
}

#[test]
fn a_plan_prints_as_a_tree() {
    let plan = Plan::RunLength {
        values: Some(Box::new(Plan::Ffor)),
        lengths: None,
    };
    assert_eq!(plan.to_string(), "RunLength(values: FFOR, lengths: raw)");
}
