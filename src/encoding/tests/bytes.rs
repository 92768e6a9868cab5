use super::super::bytes::{
    BytesBuilder, BytesLayout, Decoded, Input, NullsOut, Plan, Stats, View, decode,
    decode_selected, describe, encode, get, view,
};
use super::super::{Context, number};
use super::examples::hex;
use super::{mutate, random_ranges, rng, shapes, with_context};
use crate::{ErrorKind, Limits, Result};
use arrow_array::{Array, BinaryViewArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use rand::{Rng, rngs::StdRng};
use std::ops::Range;

const LENGTHS: [usize; 6] = [1, 2, 7, 100, 1025, 3000];

fn random_plan(rng: &mut StdRng) -> Plan {
    let number = |rng: &mut StdRng| match rng.random_range(0..5) {
        0 => number::Plan::Plain,
        1 => number::Plan::FlBitPack,
        2 => number::Plan::Delta {
            differences: Box::new(number::Plan::FlBitPack),
        },
        3 => number::Plan::RunLength {
            values: None,
            lengths: None,
        },
        _ => number::Plan::Ffor,
    };
    let part = |rng: &mut StdRng| rng.random::<bool>().then(|| number(rng));
    match rng.random_range(0..14) {
        0 => Plan::Plain,
        12 | 13 => Plan::NonEmpty {
            texts: Box::new(Plan::fsst_values(number(rng))),
        },
        10 | 11 => Plan::Digits {
            pco: rng.random_bool(0.5).then_some(4),
            otherwise: Box::new(Plan::fsst_values(number(rng))),
        },
        8 | 9 => Plan::Split128 {
            high: number(rng),
            low: number(rng),
        },
        1 => Plan::SingleValue,
        6 => Plan::fsst(part(rng)),
        7 => Plan::fsst_values(number(rng)),
        2 | 3 => Plan::BlockDictionary {
            codes: number(rng),
            lengths: part(rng),
        },
        4 => Plan::Zstd {
            level: 1,
            offsets: part(rng),
        },
        _ => Plan::Lz4 { offsets: part(rng) },
    }
}

/// Returns the values of a builder, one by one.
fn to_values(decoded: Decoded, len: usize) -> Vec<Vec<u8>> {
    let split = |ends: Vec<usize>, bytes: &[u8]| -> Vec<Vec<u8>> {
        assert_eq!(ends.len(), len + 1);
        assert_eq!((ends[0], ends[len]), (0, bytes.len()));
        ends.windows(2)
            .map(|w| bytes[w[0]..w[1]].to_vec())
            .collect()
    };
    match decoded {
        Decoded::Offsets32(o, b) => {
            split(o.iter().map(|o| usize::try_from(*o).unwrap()).collect(), &b)
        }
        Decoded::Offsets64(o, b) => {
            split(o.iter().map(|o| usize::try_from(*o).unwrap()).collect(), &b)
        }
        Decoded::Views(views, buffers) => {
            let array = BinaryViewArray::try_new(views, buffers, None).unwrap();
            assert_eq!(array.len(), len);
            (0..len).map(|i| array.value(i).to_vec()).collect()
        }
        Decoded::Fixed(b) if len == 0 || b.is_empty() => vec![Vec::new(); len],
        Decoded::Fixed(b) => b.chunks_exact(b.len() / len).map(<[u8]>::to_vec).collect(),
    }
}

struct Block {
    values: Vec<Vec<u8>>,
    present: Vec<bool>,
    fixed: Option<usize>,
    region: Vec<u8>,
    plan: Plan,
}

fn random_block(rng: &mut StdRng) -> Block {
    let n = LENGTHS[rng.random_range(0..LENGTHS.len())];
    let fixed = [None, None, Some(16), Some(0), Some(3)][rng.random_range(0..5)];
    let values = shapes::strings(rng, n, fixed);
    let nulls = rng.random_range(0..3);
    let present: Vec<bool> = (0..n)
        .map(|_| nulls == 0 || rng.random_range(0..nulls + 1) == 0)
        .collect();
    let flat: Vec<u8> = [vec![0xaa; 5], values.concat()].concat();
    let mut offsets = vec![5u64];
    offsets.extend(values.iter().scan(5, |end, v| {
        *end += v.len() as u64;
        Some(*end)
    }));
    let null_buffer = NullBuffer::new(BooleanBuffer::from(present.clone()));
    let nulls = (nulls > 0).then_some(&null_buffer);
    let input = match fixed {
        Some(width) => Input::fixed(width, n, &flat[5..], nulls),
        None => Input::variable(&offsets, &flat, nulls),
    };
    let plan = random_plan(rng);
    let mut region = vec![0xee; 16];
    encode(&input, &plan, &mut region).unwrap();
    region.drain(..16);
    Stats::collect(&input).unwrap();
    Block {
        values,
        present,
        fixed,
        region,
        plan,
    }
}

/// Decodes into the layout after three nulls, with the given presence bits.
fn read(
    block: &Block,
    region: &[u8],
    layout: BytesLayout,
    ranges: &[Range<usize>],
    known: bool,
    cx: &mut Context<'_>,
) -> Result<(Vec<Vec<u8>>, Vec<bool>)> {
    let n = block.values.len();
    let mut bits = BooleanBufferBuilder::new(0);
    bits.append(true);
    for i in ranges.iter().flat_map(Clone::clone) {
        bits.append(!known || block.present[i]);
    }
    let count = bits.len() - 1;
    let mut out = BytesBuilder::new(layout, 0);
    out.append_nulls(3);
    let mut nulls = NullsOut::new(&mut bits, 1);
    if matches!(ranges, [one] if one.len() == n) {
        decode(region, n, block.fixed, cx, &mut out, &mut nulls)?;
    } else {
        decode_selected(region, n, block.fixed, ranges, cx, &mut out, &mut nulls)?;
    }
    let cleared = nulls.cleared();
    let bits: Vec<bool> = bits.finish().iter().skip(1).collect();
    if !known {
        assert_eq!(cleared, bits.iter().filter(|b| !**b).count());
    }
    assert_eq!(out.len(), count + 3);
    let mut values = to_values(out.finish(), count + 3);
    Ok((values.split_off(3), bits))
}

fn layouts(fixed: Option<usize>) -> Vec<BytesLayout> {
    match fixed {
        Some(width) => vec![BytesLayout::Fixed(width)],
        None => vec![
            BytesLayout::Offsets32,
            BytesLayout::Offsets64,
            BytesLayout::Views,
        ],
    }
}

#[test]
fn every_way_of_reading_strings_agrees_with_what_was_encoded() {
    let mut rng = rng(21);
    for _ in 0..300 {
        let block = random_block(&mut rng);
        let n = block.values.len();
        let what = format!("{n} x {:?}, {}", block.fixed, block.plan);
        let whole = std::iter::once(0..n).collect::<Vec<_>>();
        with_context(|cx| {
            for layout in layouts(block.fixed) {
                for ranges in [whole.clone(), random_ranges(&mut rng, n)] {
                    let (got, bits) = read(&block, &block.region, layout, &ranges, true, cx)
                        .unwrap_or_else(|e| panic!("{what}: {e}"));
                    let wanted: Vec<usize> = ranges.iter().flat_map(Clone::clone).collect();
                    assert_eq!(got.len(), wanted.len());
                    for ((i, got), bit) in wanted.into_iter().zip(got).zip(bits) {
                        assert_eq!(bit, block.present[i], "{what}");
                        assert!(!bit || got == block.values[i], "{what}, value {i}");
                    }
                }
            }
            let i = rng.random_range(0..n);
            let got = get(&block.region, n, block.fixed, i, cx).unwrap();
            if block.present[i] {
                assert_eq!(got.unwrap(), block.values[i]);
            }
            match view(&block.region, n, block.fixed, cx).unwrap() {
                View::Constant(v) => {
                    assert!((0..n).all(|i| !block.present[i] || block.values[i] == v));
                }
                View::Codes { codes, entries } => {
                    for (i, code) in codes.iter().enumerate() {
                        let entry = (*code as usize).checked_sub(1).and_then(|k| entries.get(k));
                        let want = block.present[i].then_some(block.values[i].as_slice());
                        assert_eq!(entry, want, "{what}");
                    }
                }
                View::None => {}
            }
        });
        assert_eq!(
            describe(&block.region, n, block.fixed).unwrap().bytes,
            block.region.len()
        );
    }
}

#[test]
fn what_stands_under_nulls_is_not_written() {
    let offsets = [0u64, 6, 12, 18];
    let nulls = NullBuffer::from(vec![true, false, true]);
    let input = Input::variable(&offsets, b"publicsecretpublic", Some(&nulls));
    for plan in [Plan::Plain, Plan::SingleValue, Plan::Lz4 { offsets: None }] {
        let mut out = Vec::new();
        encode(&input, &plan, &mut out).unwrap();
        assert!(!out.windows(6).any(|w| w == b"secret"), "{plan}");
    }
    let fixed = Input::fixed(6, 3, b"publicsecretpublic", Some(&nulls));
    let mut out = Vec::new();
    encode(&fixed, &Plan::Plain, &mut out).unwrap();
    assert!(!out.windows(6).any(|w| w == b"secret"));
}

#[test]
fn damaged_string_regions_never_panic_and_never_read_in_two_ways() {
    let mut rng = rng(22);
    for _ in 0..150 {
        let block = random_block(&mut rng);
        let n = block.values.len();
        let whole = std::iter::once(0..n).collect::<Vec<_>>();
        for _ in 0..6 {
            let mut region = block.region.clone();
            mutate(&mut rng, &mut region);
            let limits = Limits::default().with_max_block_bytes(1 << 24);
            let mut scratch = super::Scratch::default();
            let cx = &mut Context::new(&limits, &mut scratch);
            let results: Vec<_> = layouts(block.fixed)
                .into_iter()
                .map(|layout| read(&block, &region, layout, &whole, false, cx).ok())
                .collect();
            if let [Some(a), Some(b), Some(c)] = results.as_slice() {
                assert!(a == b && b == c, "layouts disagree");
            }
            let ranges = random_ranges(&mut rng, n);
            let part = read(&block, &region, layouts(block.fixed)[0], &ranges, false, cx);
            if let (Some((whole, _)), Ok((part, _))) = (&results[0], part) {
                let want: Vec<_> = ranges
                    .iter()
                    .flat_map(|r| whole[r.clone()].to_vec())
                    .collect();
                assert!(want == part, "damaged bytes read in two ways");
            }
            let _ = view(&region, n, block.fixed, cx);
            let _ = get(&region, n, block.fixed, 0, cx);
            let _ = describe(&region, n, block.fixed);
        }
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut rng = rng(23);
    for _ in 0..4000 {
        let len = rng.random_range(0..90);
        let mut region: Vec<u8> = (0..len)
            .map(|_| if rng.random() { 0 } else { rng.random() })
            .collect();
        if let Some(first) = region.first_mut() {
            *first = [1, 4, 7, 14, 15, 16, 17][rng.random_range(0..7)];
        }
        if let [4, second, ..] = region.as_mut_slice() {
            *second = 0x80;
        }
        let n = rng.random_range(1..9);
        with_context(|cx| {
            for fixed in [None, Some(2), Some(16)] {
                let _ = get(&region, n, fixed, 0, cx);
                let _ = view(&region, n, fixed, cx);
            }
        });
    }
}

fn decode_text(region: &str, n: usize) -> (Vec<Vec<u8>>, Vec<bool>) {
    let block = Block {
        values: vec![Vec::new(); n],
        present: vec![true; n],
        fixed: None,
        region: hex(region),
        plan: Plan::Plain,
    };
    let whole = std::iter::once(0..n).collect::<Vec<_>>();
    with_context(|cx| read(&block, &block.region, BytesLayout::Views, &whole, true, cx)).unwrap()
}

#[test]
fn string_regions_of_the_format_decode() {
    let (values, _) = decode_text(
        "0100 08 0000000000000000 0200000000000000 0200000000000000 0500000000000000 6162636465",
        3,
    );
    assert_eq!(values, [b"ab".as_slice(), b"", b"cde"]);
    let (values, _) = decode_text("0700 68656c6c6f", 2);
    assert_eq!(values, [b"hello", b"hello"]);
    let (values, present) = decode_text(
        "0e00 12000000 08000000 02000000 00 00 \
         0100 01000000 02000000 01000000 00000000 000000000000 01000000 02000000 787979",
        4,
    );
    assert_eq!(values, [b"x".as_slice(), b"yy", b"x", b""]);
    assert_eq!(present, [true, true, true, false]);
    let (values, _) = decode_text(
        "0f00 02 05000000 00 08 00000000000000 6162000000000000 7468652000000000 0204 0000 01ff78 00 \
         0000000000000000 0400000000000000 0900000000000000",
        2,
    );
    assert_eq!(values, [b"abab".as_slice(), b"the x"]);
}

/// Returns 200 values of 5 bytes each that every compressor shrinks. They depend on `seed`.
fn five_bytes_each(seed: u64) -> Vec<u8> {
    let mut rng = rng(seed);
    let words = [b"north", b"south", b"-west", b"-east"];
    let value = |_| *words[rng.random_range(0..words.len())];
    (0..200).flat_map(value).collect()
}

#[test]
fn compressed_values_of_one_size_are_read_with_and_without_padding() {
    let mut cut = [0; 3];
    for seed in 0..20 {
        let values = five_bytes_each(seed);
        let plans = [
            Plan::Zstd {
                level: 1,
                offsets: None,
            },
            Plan::Lz4 { offsets: None },
            Plan::fsst(None),
        ];
        for (plan, cut) in plans.into_iter().zip(&mut cut) {
            let mut region = Vec::new();
            encode(&Input::fixed(5, 200, &values, None), &plan, &mut region).unwrap();
            let size = |at: usize| u32::from_le_bytes(*region[at..].first_chunk().unwrap());
            let end = match region[0] {
                15 => 16 + 9 * usize::from(region[2]) + size(3) as usize,
                16 | 17 => 8 + size(2) as usize,
                code => panic!("{plan} was written as {code}"),
            };
            assert_eq!(region.len(), end.next_multiple_of(8), "{plan}");
            *cut += region.len() - end;
            for region in [&region[..], &region[..end]] {
                let n = 200;
                let block = Block {
                    values: vec![Vec::new(); n],
                    present: vec![true; n],
                    fixed: Some(5),
                    region: Vec::new(),
                    plan: Plan::Plain,
                };
                let (whole, layout) = (0..n, BytesLayout::Fixed(5));
                let whole = std::slice::from_ref(&whole);
                let read = with_context(|cx| read(&block, region, layout, whole, true, cx));
                assert_eq!(read.unwrap().0.concat(), values, "{plan}");
            }
        }
    }
    assert!(cut.iter().all(|bytes| *bytes > 0), "{cut:?}");
}

#[test]
fn blocks_of_nulls_or_of_one_value_have_no_symbols_and_are_not_compressed() {
    let text = b"the quick brown fox jumps over the lazy dog".repeat(100);
    let ends: Vec<u64> = (0..=100).map(|i| 43 * i).collect();
    let taught = Input::variable(&ends, &text, None);
    let hidden = NullBuffer::new_null(100);
    let same = b"over".repeat(100);
    let ends_of_same: Vec<u64> = (0..=100).map(|i| 4 * i).collect();
    let offsets = Some(number::Plan::Ffor);
    let plans = [
        Plan::fsst(offsets.clone()),
        Plan::fsst_values(number::Plan::Ffor),
        Plan::digits(Plan::fsst_values(number::Plan::Ffor)),
        Plan::NonEmpty {
            texts: Box::new(Plan::fsst_values(number::Plan::Ffor)),
        },
        Plan::Zstd {
            level: 1,
            offsets: offsets.clone(),
        },
        Plan::Lz4 { offsets },
    ];
    for plan in plans {
        let plan = plan.learned_from(&taught).unwrap();
        for (input, value) in [
            (Input::variable(&ends, &text, Some(&hidden)), &b""[..]),
            (Input::variable(&[0; 101], b"", None), b""),
            (Input::variable(&ends_of_same, &same, None), b"over"),
            (Input::fixed(4, 100, &same, None), b"over"),
        ] {
            let mut region = Vec::new();
            encode(&input, &plan, &mut region).unwrap();
            assert_eq!(region, [&[7, 0], value].concat(), "{plan}");
        }
    }
}

#[test]
fn fixed_size_values_are_a_single_value_only_where_readers_have_one() {
    let same = b"over".repeat(100);
    let few = b"over";
    let plans = [
        Plan::fsst(None),
        Plan::Zstd {
            level: 1,
            offsets: None,
        },
        Plan::Lz4 { offsets: None },
    ];
    for plan in plans {
        for (values, n, codes) in [(&same[..], 100, 15..=17), (&few[..], 1, 1..=1)] {
            let input = Input {
                fixed_single_value: false,
                ..Input::fixed(4, n, values, None)
            };
            let mut region = Vec::new();
            encode(&input, &plan, &mut region).unwrap();
            assert!(codes.contains(&region[0]), "{plan}: {}", region[0]);
        }
    }
}

#[test]
fn fsst_that_learned_nothing_is_not_written() {
    let nothing = Input::variable(&[0], b"", None);
    let plan = Plan::fsst(None).learned_from(&nothing).unwrap();
    let text = b"the quick brown fox jumps over the lazy dog".repeat(100);
    let ends: Vec<u64> = (0..=100).map(|i| 41 * i).collect();
    let mut region = Vec::new();
    encode(&Input::variable(&ends, &text, None), &plan, &mut region).unwrap();
    assert_eq!(region[..2], [17, 0]);
}

#[test]
fn an_overflow_of_32_bit_offsets_leaves_the_builder_as_it_was() {
    let region = [vec![7, 0], vec![b'x'; 1 << 20]].concat();
    let n = 3000;
    with_context(|cx| {
        let mut out = BytesBuilder::new(BytesLayout::Offsets32, 0);
        let mut bits = BooleanBufferBuilder::new(n);
        bits.append_n(n, true);
        let mut nulls = NullsOut::new(&mut bits, 0);
        out.append_nulls(2);
        let error = decode(&region, n, None, cx, &mut out, &mut nulls).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OffsetOverflow);
        assert_eq!(to_values(out.finish(), 2), [b"", b""]);
        let mut out = BytesBuilder::new(BytesLayout::Views, 0);
        decode(&region, n, None, cx, &mut out, &mut nulls).unwrap();
        assert_eq!(out.len(), n);
    });
}

#[test]
fn estimates_of_strings_are_within_a_factor_of_two_of_the_encoded_size() {
    let mut rng = rng(24);
    let (mut close, mut all) = (0, 0);
    for _ in 0..300 {
        let values = shapes::strings(&mut rng, 3000, None);
        let mut offsets = vec![0u64];
        offsets.extend(values.iter().scan(0, |end, v| {
            *end += v.len() as u64;
            Some(*end)
        }));
        let flat = values.concat();
        let input = Input::variable(&offsets, &flat, None);
        let plan = random_plan(&mut rng);
        let Some(estimate) = plan.estimate(&Stats::collect(&input).unwrap()) else {
            continue;
        };
        let mut region = Vec::new();
        encode(&input, &plan, &mut region).unwrap();
        let (got, want) = (estimate.bytes.min(3 + 8 * 3001 + flat.len()), region.len());
        all += 1;
        close += usize::from(got <= want * 2 + 200 && want <= got * 2 + 200);
    }
    assert!(close * 100 >= all * 85, "{close} of {all}");
}

/// Decodes a selection of a region, of a block of at most `most` bytes.
fn selected(
    region: &[u8],
    n: usize,
    fixed: Option<usize>,
    range: Range<usize>,
    most: u64,
) -> Result<()> {
    let limits = Limits::default().with_max_block_bytes(most);
    let mut scratch = super::Scratch::default();
    let cx = &mut Context::new(&limits, &mut scratch);
    let mut bits = BooleanBufferBuilder::new(0);
    bits.append_n(range.len(), true);
    let mut out = BytesBuilder::new(fixed.map_or(BytesLayout::Views, BytesLayout::Fixed), 0);
    let mut nulls = NullsOut::new(&mut bits, 0);
    let ranges = std::slice::from_ref(&range);
    decode_selected(region, n, fixed, ranges, cx, &mut out, &mut nulls)
}

#[test]
fn null_entries_are_held_to_the_limits() {
    // All codes are 0, and the dictionary is empty.
    let region = hex("0e00 06000000 00000000 00000000 00 00 0700 00000000 0000");
    assert!(selected(&region, 9, Some(100), 0..9, 1 << 20).is_ok());
    let error = selected(&region, 9, Some(1 << 46), 0..9, 1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}

#[test]
fn offsets_of_groups_are_held_to_the_limits() {
    // Groups of 2^20 empty values.
    let region = hex("0180 00 14 00000000 06000000 00000000 0700 00000000 0000 0700 00000000");
    let groups = 4 << 20;
    assert!(selected(&region, groups, None, 0..1, 16 << 20).is_ok());
    let error = selected(&region, groups, None, 0..1, 6 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}
