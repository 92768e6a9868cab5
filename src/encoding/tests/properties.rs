//! Properties of random trees of encodings over random values. Failures are shrunk.

use super::super::bytes::{self, BytesBuilder, BytesLayout, Decoded, Input, NullsOut};
use super::super::number::{self, Plan};
use super::super::{Context, NumberKind, Scratch, Word};
use crate::{ErrorKind, Limits};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// Generates trees of up to four levels.
fn plan() -> impl Strategy<Value = Plan> {
    let leaf = prop_oneof![
        Just(Plan::Plain),
        Just(Plan::SingleValue),
        Just(Plan::FlBitPack),
        Just(Plan::Ffor),
        Just(Plan::PatchedFfor),
        Just(Plan::CompactFfor),
        Just(Plan::Lz4),
        (-1..3).prop_map(|level| Plan::Zstd { level }),
        (0..5u8).prop_map(|level| Plan::Pco { level }),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        let whole = || inner.clone().prop_map(Box::new);
        let part = || proptest::option::of(whole());
        prop_oneof![
            whole().prop_map(|deltas| Plan::For { deltas }),
            whole().prop_map(|quotients| Plan::Multiples { quotients }),
            whole().prop_map(|differences| Plan::Delta { differences }),
            (part(), part()).prop_map(|(values, lengths)| Plan::RunLength { values, lengths }),
            part().prop_map(|values| Plan::Truncate { values }),
            whole().prop_map(|values| Plan::ZigZag { values }),
            (whole(), part()).prop_map(|(codes, values)| Plan::BlockDictionary { codes, values }),
            (part(), part()).prop_map(|(positions, values)| Plan::Sparse { positions, values }),
            whole().prop_map(|integers| Plan::Alp { integers }),
            (whole(), whole()).prop_map(|(left, right)| Plan::AlpRd { left, right }),
        ]
    })
}

/// Generates bits of numbers: of any kind, near each other, equal, or floats with all special values.
fn words() -> impl Strategy<Value = Vec<u64>> {
    let doubles = prop_oneof![
        (-99_999i32..99_999).prop_map(|cents| (f64::from(cents) / 100.0).to_bits()),
        (0..=u64::from(u32::MAX)).prop_map(|payload| f64::NAN.to_bits() | payload),
        Just((-0.0f64).to_bits()),
        Just(f64::NEG_INFINITY.to_bits()),
        Just(5e-324f64.to_bits()),
    ];
    let floats = prop_oneof![
        (-9_999i16..9_999).prop_map(|cents| u64::from((f32::from(cents) / 100.0).to_bits())),
        (0..=0xffffu64).prop_map(|payload| u64::from(f32::NAN.to_bits()) | payload),
        Just(u64::from((-0.0f32).to_bits())),
    ];
    let base = any::<u64>().prop_flat_map(|base| {
        proptest::collection::vec((0u64..40).prop_map(move |d| base.wrapping_add(d)), 1..1300)
    });
    let runs = proptest::collection::vec((any::<u64>(), 1usize..200), 1..20)
        .prop_map(|runs| runs.into_iter().flat_map(|(v, n)| vec![v; n]).collect());
    prop_oneof![
        proptest::collection::vec(any::<u64>(), 1..400),
        proptest::collection::vec(0u64..4, 1..2100),
        proptest::collection::vec(doubles, 1..600),
        proptest::collection::vec(floats, 1..600),
        base,
        runs,
    ]
}

fn every_reading_agrees<W: Word>(
    words: &[u64],
    kind: NumberKind,
    plan: &Plan,
    at: usize,
) -> TestCaseResult {
    let values: Vec<W> = words.iter().map(|word| W::truncate(*word)).collect();
    let n = values.len();
    let mut region = Vec::new();
    number::encode(&values, kind, plan, &mut region).unwrap();
    let limits = Limits::default().with_max_block_bytes(1 << 20);
    let mut scratch = Scratch::default();
    let cx = &mut Context::new(&limits, &mut scratch);
    let mut all = vec![W::ONE; n];
    number::decode(&region, kind, cx, &mut all).unwrap();
    prop_assert!(all == values, "values are lost");
    let (start, end) = (at % n, at % n + (n - at % n).div_ceil(2));
    let ranges = [0..start / 2, start..end];
    let want = [&values[..start / 2], &values[start..end]].concat();
    let mut got = vec![W::ONE; want.len()];
    number::decode_selected(&region, kind, n, &ranges, cx, &mut got).unwrap();
    prop_assert!(got == want, "a selection differs");
    prop_assert_eq!(
        number::get::<W>(&region, kind, n, start, cx).unwrap(),
        values[start]
    );
    let view = number::view(&region, kind, n, cx).unwrap();
    match (number::run_count(&region, n).unwrap(), &view) {
        (Some(count), number::View::Runs { ends, .. }) => prop_assert_eq!(count, ends.len()),
        (Some(count), view) => {
            prop_assert!(
                count == 1 && matches!(view, number::View::Constant(_)),
                "{count}"
            );
        }
        (None, _) => {}
    }
    super::number::view_agrees(view, &values);
    // Lengths are exact: a missing or additional byte is an error, or the byte was not needed.
    for cut in (0..region.len()).rev().step_by(region.len() / 40 + 1) {
        let mut all = vec![W::ONE; n];
        if number::decode(&region[..cut], kind, cx, &mut all).is_ok() {
            prop_assert!(
                all == values,
                "{} of {} bytes give other values",
                cut,
                region.len()
            );
        }
    }
    Ok(())
}

fn kind() -> impl Strategy<Value = NumberKind> {
    prop_oneof![
        Just(NumberKind::Unsigned),
        Just(NumberKind::Signed),
        Just(NumberKind::Float)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_tree_of_encodings_keeps_every_bit_of_any_numbers(
        words in words(),
        plan in plan(),
        kind in kind(),
        at in any::<usize>(),
    ) {
        let integer = if kind == NumberKind::Float { NumberKind::Signed } else { kind };
        every_reading_agrees::<u8>(&words, integer, &plan, at)?;
        every_reading_agrees::<u16>(&words, integer, &plan, at)?;
        every_reading_agrees::<u32>(&words, kind, &plan, at)?;
        every_reading_agrees::<u64>(&words, kind, &plan, at)?;
    }

    #[test]
    fn any_bytes_of_numbers_are_an_error_or_within_limits(
        code in 0u8..20,
        rest in proptest::collection::vec(any::<u8>(), 0..200),
        kind in kind(),
        n in 1usize..3000,
    ) {
        let region = [vec![code, 0], rest].concat();
        let limits = Limits::default().with_max_block_bytes(4096);
        let mut scratch = Scratch::default();
        let cx = &mut Context::new(&limits, &mut scratch);
        let mut all = vec![0u32; n];
        let whole = number::decode(&region, kind, cx, &mut all);
        let view = number::view::<u32>(&region, kind, n, cx);
        if let (Ok(()), Ok(view)) = (&whole, view) {
            super::number::view_agrees(view, &all);
        }
        prop_assert!(whole.is_err() || number::get::<u32>(&region, kind, n, n / 2, cx).unwrap() == all[n / 2]);
    }

    #[test]
    fn any_encoding_keeps_any_byte_strings(
        values in proptest::collection::vec(
            proptest::option::weighted(0.9, prop_oneof![
                Just(Vec::new()),
                "[a-d]{0,20}".prop_map(String::into_bytes),
                "(https://example\\.org/)?[a-z]{0,12}".prop_map(String::into_bytes),
                "[a-c]{1,2}[0-9]{1,5}: [0-9a-f]{7,8}".prop_map(String::into_bytes),
                proptest::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..40),
            ]),
            1..200,
        ),
        codes in plan(),
        part in proptest::option::of(plan()),
        which in 0..9,
    ) {
        let plan = match which {
            0 => bytes::Plan::Plain,
            1 => bytes::Plan::SingleValue,
            2 => bytes::Plan::BlockDictionary { codes, lengths: part },
            3 => bytes::Plan::Zstd { level: 1, offsets: part },
            4 => bytes::Plan::Lz4 { offsets: part },
            5 => bytes::Plan::fsst(part),
            6 => bytes::Plan::Digits { pco: Some(4), otherwise: Box::new(bytes::Plan::Plain) },
            7 => bytes::Plan::NonEmpty { texts: Box::new(bytes::Plan::Plain) },
            _ => bytes::Plan::fsst_values(codes),
        };
        let nulls: NullBuffer = values.iter().map(Option::is_some).collect::<Vec<_>>().into();
        let values: Vec<Vec<u8>> = values.into_iter().map(Option::unwrap_or_default).collect();
        let mut ends = vec![0u64];
        for value in &values {
            ends.push(ends.last().unwrap() + value.len() as u64);
        }
        let flat = values.concat();
        let mut region = Vec::new();
        bytes::encode(&Input::variable(&ends, &flat, Some(&nulls)), &plan, &mut region).unwrap();
        let n = values.len();
        prop_assert!(region.len() <= 3 + 8 * (n + 1) + flat.len());
        let limits = Limits::default().with_max_block_bytes(1 << 20);
        let mut scratch = Scratch::default();
        let cx = &mut Context::new(&limits, &mut scratch);
        let mut read = |region: &[u8]| {
            let mut bits = BooleanBufferBuilder::new(n);
            bits.append_buffer(nulls.inner());
            let mut out = BytesBuilder::new(BytesLayout::Offsets64, n);
            let mut null_bits = NullsOut::new(&mut bits, 0);
            bytes::decode(region, n, None, cx, &mut out, &mut null_bits).map(|()| {
                let Decoded::Offsets64(offsets, data) = out.finish() else {
                    panic!("another layout");
                };
                let value = |w: &[i64]| data[w[0] as usize..w[1] as usize].to_vec();
                offsets.windows(2).map(value).collect::<Vec<_>>()
            })
        };
        let found = read(&region).unwrap();
        for (i, (found, want)) in found.iter().zip(&values).enumerate() {
            prop_assert!(nulls.is_null(i) || found == want, "value {i}");
        }
        for cut in (0..region.len()).rev().step_by(region.len() / 60 + 1) {
            let shorter = read(&region[..cut]);
            // A SingleValue takes all of the remaining bytes as its value.
            let any_length = region[0] == 7;
            prop_assert!(any_length || shorter.is_err() || shorter.unwrap() == found, "cut to {cut}");
        }
    }

    #[test]
    fn halves_keep_any_integers_of_16_bytes(
        values in prop_oneof![
            proptest::collection::vec(any::<i128>(), 1..300),
            proptest::collection::vec((-1i128 << 40)..(1 << 40), 1..2100),
            proptest::collection::vec((i128::from(i64::MAX) - 9)..(i128::from(i64::MAX) + 9), 1..300),
            proptest::collection::vec((i128::from(i64::MIN) - 9)..(i128::from(i64::MIN) + 9), 1..300),
        ],
        high in plan(),
        low in plan(),
        at in any::<usize>(),
    ) {
        let n = values.len();
        let flat: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let plan = bytes::Plan::Split128 { high, low };
        let mut region = Vec::new();
        bytes::encode(&Input::fixed(16, n, &flat, None), &plan, &mut region).unwrap();
        prop_assert!(region.len() <= 3 + flat.len());
        let limits = Limits::default().with_max_block_bytes(1 << 20);
        let mut scratch = Scratch::default();
        let cx = &mut Context::new(&limits, &mut scratch);
        let mut read = |region: &[u8], ranges: &[std::ops::Range<usize>]| {
            let count = ranges.iter().map(ExactSizeIterator::len).sum();
            let mut bits = BooleanBufferBuilder::new(count);
            bits.append_n(count, true);
            let mut out = BytesBuilder::new(BytesLayout::Fixed(16), count);
            let mut nulls = NullsOut::new(&mut bits, 0);
            bytes::decode_selected(region, n, Some(16), ranges, cx, &mut out, &mut nulls).map(|()| {
                let Decoded::Fixed(data) = out.finish() else {
                    panic!("another layout");
                };
                data.to_vec()
            })
        };
        let whole = 0..n;
        prop_assert!(read(&region, std::slice::from_ref(&whole)).unwrap() == flat);
        let (start, end) = (at % n, at % n + (n - at % n).div_ceil(2));
        let want = [&flat[..start / 2 * 16], &flat[start * 16..end * 16]].concat();
        prop_assert!(read(&region, &[0..start / 2, start..end]).unwrap() == want);
        for cut in (0..region.len()).rev().step_by(region.len() / 60 + 1) {
            let shorter = read(&region[..cut], std::slice::from_ref(&whole));
            prop_assert!(shorter.is_err() || shorter.unwrap() == flat, "cut to {cut}");
        }
    }

    #[test]
    fn any_bytes_of_byte_strings_are_an_error_or_within_limits(
        code in prop_oneof![Just(1u16), Just(7), Just(14), Just(15), Just(16), Just(17), Just(0x8004)],
        rest in proptest::collection::vec(any::<u8>(), 0..200),
        fixed in proptest::option::of(prop_oneof![0usize..9, Just(16)]),
        n in 1usize..300,
    ) {
        let region = [code.to_le_bytes().to_vec(), rest].concat();
        let limits = Limits::default().with_max_block_bytes(4096);
        let mut scratch = Scratch::default();
        let cx = &mut Context::new(&limits, &mut scratch);
        let mut bits = BooleanBufferBuilder::new(n);
        bits.append_n(n, true);
        let mut nulls = NullsOut::new(&mut bits, 0);
        let layout = fixed.map_or(BytesLayout::Offsets32, BytesLayout::Fixed);
        let mut out = BytesBuilder::new(layout, 0);
        match bytes::decode(&region, n, fixed, cx, &mut out, &mut nulls) {
            Ok(()) => prop_assert_eq!(out.len(), n),
            Err(e) => prop_assert!(
                [ErrorKind::Corrupt, ErrorKind::LimitExceeded, ErrorKind::Unsupported].contains(&e.kind()),
                "{e}"
            ),
        }
        let _ = bytes::view(&region, n, fixed, cx);
    }
}
