//! The worked examples of the format, byte by byte.

use super::super::number::{Plan, decode, encode};
use super::super::{NumberKind, envelope};
use super::with_context;

/// Converts hexadecimal digits to bytes and skips other characters.
pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|c| c.to_digit(16))
        .map(|d| u8::try_from(d).unwrap())
        .collect();
    digits.chunks(2).map(|d| d[0] * 16 + d[1]).collect()
}

use NumberKind::{Signed, Unsigned};

fn signed(values: &[i64]) -> Vec<u64> {
    values.iter().map(|v| v.cast_unsigned()).collect()
}

#[test]
fn number_blocks_of_the_format_are_what_is_written_and_read() {
    let block = hex("00000000 12000000 0100 01000000 02000000 03000000 fcffffff 0000 9f6d51f6");
    let mut out = Vec::new();
    let values = [1i32, 2, 3, -4].map(i32::cast_unsigned);
    envelope::write(&[], true, &mut out, |o| {
        encode(&values, Signed, &Plan::Plain, o)
    })
    .unwrap();
    assert_eq!(out, block);

    let block = hex("00000000 0a000000 0700 2a00000000000000 0000 acf6e45b");
    let mut out = Vec::new();
    envelope::write(&[], true, &mut out, |o| {
        encode(&[42u64; 9], Signed, &Plan::SingleValue, o)
    })
    .unwrap();
    assert_eq!(out, block);

    let block = hex("04000000 05000000 02010001 00000000 0100 070009 00000000000000 5b147523");
    let mut out = Vec::new();
    envelope::write(&[2, 1, 0, 1], true, &mut out, |o| {
        encode(&[7u8, 0, 9], Unsigned, &Plan::Plain, o)
    })
    .unwrap();
    assert_eq!(out, block);
    let content = envelope::strip_checksum(&block, true).unwrap();
    let envelope = envelope::open(content).unwrap();
    assert_eq!(envelope.presence, [2, 1, 0, 1]);
    let mut dst = [0u8; 3];
    with_context(|cx| decode(envelope.values, Unsigned, cx, &mut dst)).unwrap();
    assert_eq!(dst, [7, 0, 9]);
}

#[test]
fn regions_of_the_format_decode() {
    let cases: [(&str, NumberKind, Vec<u64>); 4] = [
        (
            "05 00 e8 03 00 00 00 00 00 00 00 00 00 00 00 00 07 00 01 00 00 00 00 00 00 00",
            Signed,
            (1000..1010).collect(),
        ),
        ("07 00 fe ff ff ff ff ff ff ff", Signed, signed(&[-2; 5])),
        (
            "03 00 fe ff ff ff ff ff ff ff 00 00 00 00 00 00 07 00 03 00 00 00 00 00 00 00",
            Signed,
            signed(&[1; 3]),
        ),
        (
            "12 00 01 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00",
            Signed,
            signed(&[0, -1, 1, -2]),
        ),
    ];
    for (text, kind, want) in cases {
        let mut dst = vec![9u64; want.len()];
        with_context(|cx| decode(&hex(text), kind, cx, &mut dst)).unwrap();
        assert_eq!(dst, want, "{text}");
    }
    let delta = hex("0a00010000000000 0500e80300000000 070001000000");
    let mut dst = [0u64; 10];
    with_context(|cx| decode(&delta, Signed, cx, &mut dst)).unwrap();
    assert_eq!(dst.to_vec(), (1000..1010).collect::<Vec<u64>>());

    let runs = hex("0600 08000000 02000000 0000 00000000 0500000009000000 0300000002000000");
    let mut dst = [0u32; 5];
    with_context(|cx| decode(&runs, Unsigned, cx, &mut dst)).unwrap();
    assert_eq!(dst, [5, 5, 5, 9, 9]);
    let mut out = Vec::new();
    let plan = Plan::RunLength {
        values: None,
        lengths: None,
    };
    let long: Vec<u32> = [[5; 30], [9; 30]].concat();
    encode(&long, Unsigned, &plan, &mut out).unwrap();
    assert_eq!(
        out,
        hex("0600 08000000 02000000 0000 00000000 0500000009000000 1e0000001e000000")
    );

    let sparse = hex("1300 02000000 08000000 0000 00000000 0300000084030000 07000900");
    let mut dst = [1u16; 1000];
    with_context(|cx| decode(&sparse, Unsigned, cx, &mut dst)).unwrap();
    assert_eq!((dst[3], dst[900], dst[0]), (7, 9, 0));
    let mut out = Vec::new();
    encode(
        &dst,
        Unsigned,
        &Plan::Sparse {
            positions: None,
            values: None,
        },
        &mut out,
    )
    .unwrap();
    assert_eq!(out, sparse);

    let lz4 = hex("1100000000000000 00080000 1f410100 ffffffffffffffee 504141414141");
    let mut dst = [0u8; 2048];
    with_context(|cx| decode(&lz4, Unsigned, cx, &mut dst)).unwrap();
    assert_eq!(dst, [0x41; 2048]);
}

#[test]
fn headers_of_the_format_are_what_is_written() {
    let random: Vec<u64> = (0..2048u64).map(|i| i.wrapping_mul(i) % 31).collect();
    let head = |values: &[u64], kind, plan: &Plan, len: usize| {
        let mut out = Vec::new();
        encode(values, kind, plan, &mut out).unwrap();
        out[..len].to_vec()
    };
    assert_eq!(
        head(&random, Unsigned, &Plan::FlBitPack, 8),
        hex("0200050000000000")
    );
    let four: Vec<u64> = (0..1024).map(|i| 100 + i % 4).collect();
    assert_eq!(
        head(&four, Signed, &Plan::Ffor, 16),
        hex("04006400000000000000 02 0000000000")
    );
    let zig_zag = Plan::ZigZag {
        values: Box::new(Plan::FlBitPack),
    };
    assert_eq!(head(&random, Signed, &zig_zag, 8), hex("1200010000000000"));

    let values: Vec<u32> = (0..1024).map(|i| 101 + i % 4).collect();
    let mut out = Vec::new();
    encode(&values, Signed, &Plan::Ffor, &mut out).unwrap();
    assert_eq!(out[..8], hex("0400650000000200"));
    assert_eq!(out.len(), 264);

    let filled = hex("0400650000000200");
    let words = ["fcffffff", "fdffffff", "feffffff"].map(hex).concat();
    let filled = [filled, words, vec![0xff; 61 * 4]].concat();
    let mut dst = [0u32; 4];
    with_context(|cx| decode(&filled, Signed, cx, &mut dst)).unwrap();
    assert_eq!(dst, [101, 102, 103, 104]);
}

#[test]
fn encodings_that_a_type_may_not_use_are_refused() {
    let cases = [
        ("02 00 01 00 00 00 00 00", Signed),
        ("12 00 01 00 00 00 00 00", Unsigned),
        ("04 00 00 00 00 00 01 00", NumberKind::Float),
        ("0c 00 00 00 00 00 00 00", Signed),
        ("0f 00 00 00 00 00 00 00", Unsigned),
    ];
    for (text, kind) in cases {
        let error = with_context(|cx| decode(&hex(text), kind, cx, &mut [0u32; 4])).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Corrupt, "{error}");
    }
    let error = with_context(|cx| decode(&[0x14, 0], Signed, cx, &mut [0u32; 4])).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Unsupported, "{error}");
}
