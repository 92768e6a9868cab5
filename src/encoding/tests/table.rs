//! Every code of the format, for every legal type, nested in every legal place.

use super::super::bytes::{self, Input};
use super::super::number::{self, Plan, decode, encode};
use super::super::{EncodingCode, EncodingTree, NumberKind, Word, envelope};
use super::examples::hex;
use super::{read_bytes, with_context};
use NumberKind::{Float, Signed, Unsigned};
use arrow_buffer::NullBuffer;
use std::collections::BTreeSet;

/// A row of the format's table of codes: code, name, the sizes in bytes of signed integers, unsigned
/// integers and floats that the code may encode, and whether it may encode byte strings.
type Row = (
    u16,
    &'static str,
    &'static [usize],
    &'static [usize],
    &'static [usize],
    bool,
);
const INTS: &[usize] = &[1, 2, 4, 8];
const FLOATS: &[usize] = &[4, 8];
const CODES: [Row; 27] = [
    (1, "Plain", INTS, INTS, FLOATS, true),
    (2, "FLBitPack", &[], INTS, &[], false),
    (3, "FOR", INTS, INTS, &[], false),
    (4, "FFOR", INTS, INTS, &[], false),
    (5, "Delta", INTS, INTS, &[], false),
    (6, "RunLength", INTS, INTS, FLOATS, false),
    (7, "SingleValue", INTS, INTS, FLOATS, true),
    (8, "TruncateU8", &[2, 4, 8], &[], &[], false),
    (9, "TruncateU16", &[2, 4, 8], &[], &[], false),
    (10, "TruncateU32", &[4, 8], &[], &[], false),
    (11, "TruncateU64", &[8], &[], &[], false),
    (12, "ALP", &[], &[], FLOATS, false),
    (13, "ALPRD", &[], &[], FLOATS, false),
    (14, "BlockDictionary", INTS, INTS, FLOATS, true),
    (15, "FSST", &[], &[], &[], true),
    (16, "ZSTD", INTS, INTS, FLOATS, true),
    (17, "LZ4", INTS, INTS, FLOATS, true),
    (18, "ZigZag", INTS, &[], &[], false),
    (19, "Sparse", INTS, INTS, FLOATS, false),
    (0x8001, "FsstValues", &[], &[], &[], true),
    (0x8002, "PatchedFFOR", INTS, INTS, &[], false),
    (0x8003, "Pco", &[2, 4, 8], &[2, 4, 8], FLOATS, false),
    (0x8004, "Split128", &[], &[], &[], true),
    (0x8005, "CompactFFOR", INTS, INTS, &[], false),
    (0x8006, "Digits", &[], &[], &[], true),
    (0x8007, "Multiples", &[2, 4, 8], &[2, 4, 8], &[], false),
    (0x8008, "NonEmpty", &[], &[], &[], true),
];

/// Returns the sizes of byte strings that a code may encode.
fn sizes(row: &Row) -> &'static [Option<usize>] {
    match row {
        (0x8004, ..) => &[Some(16)],
        (0x8006 | 0x8008, ..) => &[None],
        row if row.5 => &[None, Some(0), Some(3), Some(16)],
        _ => &[],
    }
}

fn widths(row: &Row, kind: NumberKind) -> &'static [usize] {
    match kind {
        Signed => row.2,
        Unsigned => row.3,
        Float => row.4,
    }
}

#[test]
fn types_may_use_the_codes_that_the_format_says() {
    for row in CODES {
        let code = EncodingCode::from_u16(row.0);
        assert_eq!(code.name(), row.1);
        for size in [None, Some(0), Some(3), Some(16)] {
            let legal = sizes(&row).contains(&size);
            assert_eq!(code.suits_bytes(size), legal, "{code} {size:?}");
        }
        for kind in [Signed, Unsigned, Float] {
            for width in [1, 2, 4, 8] {
                if kind != Float || width >= 4 {
                    let legal = widths(&row, kind).contains(&width);
                    assert_eq!(
                        code.suits_numbers(kind, width),
                        legal,
                        "{code} {kind} {width}"
                    );
                }
            }
        }
    }
}

/// Returns a plan for each code, with `inner` in all its nested places.
fn plans(inner: &Plan) -> Vec<Plan> {
    let boxed = || Box::new(inner.clone());
    vec![
        Plan::Plain,
        Plan::SingleValue,
        Plan::FlBitPack,
        Plan::Ffor,
        Plan::Zstd { level: 1 },
        Plan::Lz4,
        Plan::PatchedFfor,
        Plan::CompactFfor,
        Plan::Pco { level: 1 },
        Plan::For { deltas: boxed() },
        Plan::Multiples { quotients: boxed() },
        Plan::Delta {
            differences: boxed(),
        },
        Plan::RunLength {
            values: Some(boxed()),
            lengths: Some(boxed()),
        },
        Plan::Truncate {
            values: Some(boxed()),
        },
        Plan::ZigZag { values: boxed() },
        Plan::BlockDictionary {
            codes: boxed(),
            values: Some(boxed()),
        },
        Plan::Sparse {
            positions: Some(boxed()),
            values: Some(boxed()),
        },
        Plan::Alp { integers: boxed() },
        Plan::AlpRd {
            left: boxed(),
            right: boxed(),
        },
    ]
}

/// Records each nested code, with the code around it and the part that it encodes.
fn note(tree: &EncodingTree, found: &mut BTreeSet<(u16, &'static str, u16)>) {
    for (part, child) in &tree.children {
        found.insert((tree.code.to_u16(), *part, child.code.to_u16()));
        note(child, found);
    }
}

/// Returns values for the parts of an encoding: constants, ranges of many widths, steps, runs, few
/// distinct values, mostly zeros, and noise.
fn part(shape: usize, n: usize) -> Vec<u64> {
    let noise = |i: u64| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let narrow = |i: u64, bits: u32| (noise(i) >> (64 - bits)).wrapping_sub(1 << (bits - 1));
    let value = |i: u64| match shape {
        0 => 77,
        1 => narrow(i, 7),
        2 => narrow(i, 15),
        3 => narrow(i, 31),
        4 => narrow(i, 40),
        5 => 5 + 3 * i,
        6 => i / 30,
        7 => [9, 1 << 40, 3 << 60, 1 << 20, 200][(noise(i) % 5) as usize],
        8 if i % 37 == 3 => i,
        8 => 0,
        9 => 1 + noise(i) % 3,
        10 => u64::from(i == 700),
        _ => noise(i),
    };
    (0..n as u64).map(value).collect()
}
const PART_SHAPES: usize = 12;

/// Returns numbers that the plan encodes into parts with these values.
fn whole(plan: &Plan, kind: NumberKind, width: usize, part: &[u64]) -> Vec<u64> {
    let wide = part.iter().enumerate();
    let decimal = |v: u64| {
        let value = v.cast_signed() as f64 / 100.0;
        match width {
            4 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        }
    };
    match plan {
        Plan::RunLength { .. } => wide
            .flat_map(|(i, v)| vec![*v; (part[(i * 7) % part.len()] % 4) as usize + 1])
            .collect(),
        Plan::BlockDictionary { .. } => [part, part, part].concat(),
        Plan::Sparse { .. } => wide
            .flat_map(|(i, v)| if i % 3 > 0 { [0, *v] } else { [*v, 0] })
            .collect(),
        Plan::Delta { .. } => wide
            .scan(0u64, |sum, (_, v)| {
                *sum = sum.wrapping_add(*v);
                Some(*sum)
            })
            .collect(),
        Plan::ZigZag { .. } => part
            .iter()
            .map(|v| (v >> 1) ^ (v & 1).wrapping_neg())
            .collect(),
        Plan::Alp { .. } => part.iter().map(|v| decimal(*v)).collect(),
        Plan::AlpRd { .. } if kind == Float => {
            let right = width * 8 - 14;
            let left = |i: usize| (0x3f0 + part[i * 7 % part.len()] % 5) << right;
            wide.map(|(i, v)| left(i) | (v & ((1 << right) - 1)))
                .collect()
        }
        _ => part.to_vec(),
    }
}

fn encodings<W: Word>(
    kind: NumberKind,
    top: &mut BTreeSet<(u16, usize, String)>,
    nested: &mut BTreeSet<(u16, &'static str, u16)>,
) {
    for shape in 0..PART_SHAPES {
        let part = part(shape, 1400);
        for inner in plans(&Plan::FlBitPack) {
            for plan in plans(&inner) {
                let values = whole(&plan, kind, W::BYTES, &part);
                let values: Vec<W> = values.into_iter().map(W::truncate).collect();
                let mut region = Vec::new();
                encode(&values, kind, &plan, &mut region).unwrap();
                let tree = number::describe(&region, kind, values.len(), W::BYTES).unwrap();
                note(&tree, nested);
                top.insert((tree.code.to_u16(), W::BYTES, kind.to_string()));
                let mut found = vec![W::ONE; values.len()];
                with_context(|cx| decode(&region, kind, cx, &mut found)).unwrap();
                assert!(found == values, "{kind} {} {plan}", W::BITS);
            }
        }
    }
}

/// Types of the nested numbers in each part of an encoding, according to the format.
const PARTS: [(u16, &str, &[NumberKind]); 17] = [
    (3, "deltas", &[Unsigned]),
    (5, "differences", &[Signed, Unsigned]),
    (6, "values", &[Signed, Unsigned, Float]),
    (6, "lengths", &[Unsigned]),
    (8, "values", &[Unsigned]),
    (9, "values", &[Unsigned]),
    (10, "values", &[Unsigned]),
    (11, "values", &[Unsigned]),
    (12, "integers", &[Signed]),
    (13, "left", &[Unsigned]),
    (13, "right", &[Unsigned]),
    (14, "codes", &[Unsigned]),
    (14, "values", &[Signed, Unsigned, Float]),
    (18, "values", &[Unsigned]),
    (19, "positions", &[Unsigned]),
    (19, "values", &[Signed, Unsigned, Float]),
    (0x8007, "quotients", &[Signed, Unsigned]),
];

/// Codes that the writer nests in no part here, mostly because they would not pay off: it then encodes the
/// whole block in another way.
const NOT_WRITTEN: &[(u16, &str, &[u16])] = &[
    (3, "deltas", &[1]),
    (5, "differences", &[1, 11]),
    (6, "lengths", &[5, 0x8007]),
    (6, "values", &[11]),
    (8, "values", &[0x8003, 0x8007]),
    (9, "values", &[7, 0x8007]),
    (10, "values", &[5, 7, 0x8007]),
    (11, "values", &[1, 2, 3, 4, 5, 7, 19, 0x8002, 0x8007]),
    (12, "integers", &[1, 11]),
    (13, "left", &[1, 5, 7, 16, 0x8003, 0x8005, 0x8007]),
    (13, "right", &[1]),
    (14, "codes", &[0x8007]),
    (14, "values", &[5, 8, 9, 10, 11, 12, 13, 17, 18, 0x8003]),
    (18, "values", &[1]),
    (19, "positions", &[17, 0x8007]),
    (19, "values", &[11, 12]),
    (0x8007, "quotients", &[1, 7, 8, 10, 11, 0x8007]),
];

#[test]
fn every_code_works_for_every_type_and_nests_wherever_it_may() {
    let (mut top, mut nested) = (BTreeSet::new(), BTreeSet::new());
    for kind in [Signed, Unsigned, Float] {
        if kind != Float {
            encodings::<u8>(kind, &mut top, &mut nested);
            encodings::<u16>(kind, &mut top, &mut nested);
        }
        encodings::<u32>(kind, &mut top, &mut nested);
        encodings::<u64>(kind, &mut top, &mut nested);
    }
    let mut missing = Vec::new();
    for row in CODES {
        for kind in [Signed, Unsigned, Float] {
            for width in widths(&row, kind) {
                if !top.contains(&(row.0, *width, kind.to_string())) {
                    missing.push(format!("{} {kind} {width}", row.1));
                }
            }
        }
    }
    assert!(missing.is_empty(), "never written: {missing:?}");
    let mut others = Vec::new();
    for (parent, part, kinds) in PARTS {
        let excused = NOT_WRITTEN
            .iter()
            .find(|row| (row.0, row.1) == (parent, part));
        let found = nested.iter().filter(|row| (row.0, row.1) == (parent, part));
        let found: BTreeSet<u16> = found.map(|row| row.2).collect();
        let legal = CODES
            .iter()
            .filter(|row| kinds.iter().any(|kind| !widths(row, *kind).is_empty()))
            .map(|row| row.0)
            .filter(|code| excused.is_none_or(|row| !row.2.contains(code)));
        let (name, legal) = (EncodingCode::from_u16(parent), legal.collect());
        if found != legal {
            let differ: Vec<_> = found.symmetric_difference(&legal).collect();
            others.push(format!("{differ:?} in the {part} of {name}"));
        }
    }
    assert!(others.is_empty(), "missing or unexpected: {others:?}");
}

#[test]
#[cfg_attr(not(feature = "zstd"), ignore = "needs the feature zstd")]
fn every_code_of_byte_strings_is_written_and_read_for_both_kinds_of_sizes() {
    let words: Vec<String> = (0..500)
        .map(|i| format!("words like {:05}", i % 37))
        .collect();
    let flat = words.concat().into_bytes();
    let offsets: Vec<u64> = (0..=500).map(|i| 16 * i).collect();
    // A text, and four empty ones.
    let few_offsets: Vec<u64> = (0..=500u64).map(|i| 16 * i.div_ceil(5)).collect();
    let same = b"one and the same".repeat(500);
    let mut written = BTreeSet::new();
    let offset_plans = || plans(&Plan::FlBitPack).into_iter().map(Some).chain([None]);
    let plain = || Box::new(bytes::Plan::Plain);
    let mut all = vec![
        bytes::Plan::Plain,
        bytes::Plan::SingleValue,
        bytes::Plan::digits(bytes::Plan::Plain),
        bytes::Plan::NonEmpty { texts: plain() },
    ];
    for plan in plans(&Plan::FlBitPack) {
        all.push(bytes::Plan::fsst_values(plan.clone()));
        all.push(bytes::Plan::Split128 {
            high: plan.clone(),
            low: plan,
        });
    }
    for part in offset_plans() {
        all.extend([
            bytes::Plan::fsst(part.clone()),
            bytes::Plan::Zstd {
                level: 1,
                offsets: part.clone(),
            },
            bytes::Plan::Lz4 {
                offsets: part.clone(),
            },
            bytes::Plan::BlockDictionary {
                codes: Plan::FlBitPack,
                lengths: part,
            },
        ]);
    }
    for plan in all {
        let values = if plan == bytes::Plan::SingleValue {
            &same
        } else {
            &flat
        };
        for fixed in [None, Some(16)] {
            let is_sparse = matches!(plan, bytes::Plan::NonEmpty { .. }) && fixed.is_none();
            let values = if is_sparse { &flat[..1600] } else { values };
            let input = match fixed {
                Some(width) => Input::fixed(width, 500, values, None),
                None if is_sparse => Input::variable(&few_offsets, values, None),
                None => Input::variable(&offsets, values, None),
            };
            let mut region = Vec::new();
            bytes::encode(&input, &plan, &mut region).unwrap();
            let (found, cleared) = read_bytes(&region, 500, fixed).unwrap();
            assert!(found == *values && cleared == 0, "{plan}");
            let code = EncodingCode::read(&region).unwrap();
            written.insert((code.to_u16(), fixed));
        }
    }
    for row in CODES {
        for fixed in [None, Some(16)] {
            let legal = sizes(&row).contains(&fixed);
            let found = written.contains(&(row.0, fixed));
            assert_eq!(found, legal, "{} {fixed:?}", row.1);
        }
    }
}

#[test]
fn regions_may_nest_as_deep_as_the_limit() {
    let nested = |levels: usize| {
        let outer = [3, 0, 0, 0, 0, 0, 0, 0].repeat(levels - 1);
        [outer, vec![7, 0, 5, 0, 0, 0]].concat()
    };
    let mut dst = [0u32; 4];
    with_context(|cx| {
        decode(&nested(8), Unsigned, cx, &mut dst).unwrap();
        assert_eq!(dst, [5; 4]);
        assert!(decode(&nested(9), Unsigned, cx, &mut dst).is_err());
    });
}

#[test]
fn blocks_of_the_format_are_what_is_written() {
    let number_block = |presence: &[u8], write: &dyn Fn(&mut Vec<u8>) -> crate::Result<()>| {
        let mut out = Vec::new();
        envelope::write(presence, true, &mut out, |o| write(o)).unwrap();
        out
    };
    // Booleans T F T T F F F T T F.
    assert_eq!(
        number_block(&[], &|o| encode(&[0x8du8, 0x01], Unsigned, &Plan::Plain, o)),
        hex("00000000 04000000 0100 8d01 b9f8630e")
    );
    // Offsets of lists of 2, 0 and 1 elements.
    assert_eq!(
        number_block(&[], &|o| encode(
            &[0u64, 2, 2, 3],
            Unsigned,
            &Plan::Plain,
            o
        )),
        hex("00000000 22000000 0100 0000000000000000 0200000000000000 \
             0200000000000000 0300000000000000 0000 408b24fd")
    );
    // Two values of 16 bits, both null.
    assert_eq!(
        number_block(&[1], &|o| encode(
            &[0u16; 2],
            Unsigned,
            &Plan::SingleValue,
            o
        )),
        hex("01000000 04000000 01 00000000000000 07000000 9bee07f5")
    );
    let nulls = NullBuffer::from(vec![true, false, true]);
    let strings = Input::variable(&[0, 2, 2, 5], b"abcde", Some(&nulls));
    assert_eq!(
        number_block(&[2, 1, 0, 1], &|o| bytes::encode(
            &strings,
            &bytes::Plan::Plain,
            o
        )),
        hex(
            "04000000 28000000 02010001 00000000 0100 08 0000000000000000 0200000000000000 \
             0200000000000000 0500000000000000 6162636465 00000000 dab2270e"
        )
    );
    let same = Input::variable(&[0, 5, 10], b"hellohello", None);
    assert_eq!(
        number_block(&[], &|o| bytes::encode(&same, &bytes::Plan::SingleValue, o)),
        hex("00000000 07000000 0700 68656c6c6f 0000000000 ad7f61b9")
    );
}

/// Checks that a region with this header decodes to the wanted values.
fn expect<W: Word>(kind: NumberKind, header: &str, rest: &[u8], want: &[W]) {
    let region = [hex(header), rest.to_vec()].concat();
    let mut found = vec![W::ONE; want.len()];
    with_context(|cx| decode(&region, kind, cx, &mut found)).unwrap();
    assert!(
        found == want,
        "{header}: {:?}",
        &found[..found.len().min(9)]
    );
}

/// Returns a bit-packed region of values of `width` bits, all of them 0.
fn packed(width: u8) -> Vec<u8> {
    [
        vec![2, 0, width, 0, 0, 0, 0, 0],
        vec![0; 128 * usize::from(width)],
    ]
    .concat()
}

#[test]
fn headers_of_numbers_of_the_format_are_read() {
    expect(
        Signed,
        "0300 feffffff 0000",
        &packed(1),
        &[(-2i32).cast_unsigned(); 1000],
    );
    expect::<u16>(
        Unsigned,
        "0500 0700 00000000",
        &[7, 0, 1, 0],
        &[7, 8, 9, 10],
    );
    let runs = [5u32, 9, 0x0003_0001, 0].map(u32::to_le_bytes).concat();
    let runs = [&runs[..10], &[0, 0, 2, 0, 0, 0]].concat();
    expect::<u32>(
        Unsigned,
        "0600 08000000 02000000 00 01 00000000",
        &[&runs[..8], &[1, 0, 3, 0, 0, 0, 2, 0, 0, 0]].concat(),
        &[5, 5, 5, 9, 9],
    );
    let negative = (-5i64).cast_unsigned();
    expect(
        Signed,
        "0a00 01 0000000000",
        &[7, 0, 0xfb, 0xff, 0xff, 0xff],
        &[negative; 3],
    );
    // ALP with e = 14, f = 11: integers of a byte each, two exceptions.
    let integers = [vec![8, 0, 0, 0, 0, 0, 0, 0], (0..128).collect()].concat();
    let exceptions = [
        &3u32.to_le_bytes()[..],
        &90u32.to_le_bytes(),
        &f64::NAN.to_le_bytes(),
        &(-0.0f64).to_le_bytes(),
    ]
    .concat();
    let want: Vec<u64> = (0..128)
        .map(|i| match i {
            3 => f64::NAN.to_bits(),
            90 => (-0.0f64).to_bits(),
            i => (f64::from(i as u8 as i8) * 1e11 * 1e-14).to_bits(),
        })
        .collect();
    expect(
        Float,
        "0c00 88000000 0200 0e 0b 000000000000",
        &[integers, exceptions].concat(),
        &want,
    );
    // ALPRD with left parts of 3 bits and right parts of 48.
    let left = 0x3ff8u16.to_le_bytes().repeat(8);
    let parts = [left, packed(3), packed(48)].concat();
    // 50 bits to the right leave 14 to the left.
    expect(
        Float,
        "0d00 88010000 08180000 0000 32 08 0000",
        &parts,
        &[0x3ff8u64 << 50; 1024],
    );
    let ones = [vec![2, 0, 1, 0, 0, 0, 0, 0], vec![0xff; 128]].concat();
    let dictionary = [vec![1, 0], [7u32, 8, 9].map(u32::to_le_bytes).concat()].concat();
    expect(
        Unsigned,
        "0e00 88000000 03000000 01 0000000000",
        &[ones, dictionary].concat(),
        &[7u32; 1024],
    );
}

#[test]
fn headers_of_byte_strings_of_the_format_are_read() {
    let ones = [vec![2, 0, 1, 0, 0, 0, 0, 0], vec![0xff; 128]].concat();
    let entries = [&2u32.to_le_bytes()[..], &3u32.to_le_bytes(), b"abcde"].concat();
    let region = [hex("0e00 88000000 08000000 02000000 00 00"), ones, entries].concat();
    assert_eq!(
        read_bytes(&region, 1024, None).unwrap(),
        (b"ab".repeat(1024), 0)
    );

    let symbols = [*b"abc\0\0\0\0\0", *b"de\0\0\0\0\0\0", *b"f\0\0\0\0\0\0\0"].concat();
    let codes = [0, 1, 2, 255, b'!', 0, 0, 0, 0, 2];
    let offsets = [&[1u8, 0][..], &[0u64, 9, 20].map(u64::to_le_bytes).concat()].concat();
    let data = [symbols, vec![3, 2, 1], codes.to_vec(), vec![0; 3], offsets].concat();
    let region = [hex("0f00 03 0a000000 01 08 00000000000000"), data].concat();
    assert_eq!(
        read_bytes(&region, 2, None).unwrap().0,
        b"abcdef!abcabcabcabcf"
    );

    // High halves 0 and -1, low halves -2 and 5: -2, and 5 - 2^64.
    let halves = [0, -1, -2, 5i64].map(i64::to_le_bytes);
    let part = |half: &[[u8; 8]]| [&[1u8, 0][..], half.as_flattened()].concat();
    let data = [part(&halves[..2]), vec![0; 6], part(&halves[2..])].concat();
    let region = [hex("0480 12000000 0000"), data].concat();
    let want = [-2, 5 - (1i128 << 64)].map(i128::to_le_bytes).concat();
    assert_eq!(read_bytes(&region, 2, Some(16)).unwrap().0, want);
    assert!(read_bytes(&region, 2, Some(15)).is_err());

    let literals: Vec<u8> = (0..94).collect();
    let block = [&94u32.to_le_bytes()[..], &[0xf0, 79], &literals].concat();
    let offsets = [&[1u8, 0][..], &[0u64, 4, 94].map(u64::to_le_bytes).concat()].concat();
    let region = [hex("1100 64000000 08 01"), block, vec![0; 4], offsets].concat();
    assert_eq!(read_bytes(&region, 2, None).unwrap().0, literals);
}
