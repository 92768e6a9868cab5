//! Breaks the rules of blocks, encodings and dictionaries.

use super::{breaks, node, seal};
use crate::blocks::{self, Stream};
use crate::bytes::{Check, checksum};
use crate::dictionary;
use crate::encodings::{Kind, Values, values_are_encoded_as_the_type_allows};
use crate::schema::STRING;

fn number(width: usize, kind: Kind) -> Values {
    Values::Number { width, kind }
}

const TEXT: Values = Values::Bytes { fixed: None };

#[test]
fn rules_of_encodings() {
    use Kind::{Float, Signed, Unsigned};
    let u32s = || number(4, Unsigned);
    let packed =
        |code: u8, place: &[u8], bytes: usize| [&[code, 0], place, &vec![0; bytes][..]].concat();
    let check = |bytes: &[u8], values, n, nulls: &[bool], place| -> Check {
        values_are_encoded_as_the_type_allows(bytes, values, n, nulls, place)
    };
    let all = [false; 4];
    // FLBitPack of one bit.
    let good = packed(2, &[1, 0, 0, 0, 0, 0], 128);
    check(&good, u32s(), 4, &all, 8).unwrap();
    breaks(
        check(&good, number(4, Signed), 4, &all, 8),
        "suits its type",
    );
    breaks(check(&good, u32s(), 4, &all, 10), "aligned to their width");
    breaks(check(&good, u32s(), 1025, &all, 8), "exact length");
    breaks(check(&good, u32s(), 0, &all, 8), "without values");
    breaks(
        check(&packed(2, &[0, 0, 0, 0, 0, 0], 0), u32s(), 4, &all, 8),
        "1 bit to all",
    );
    breaks(
        check(&packed(2, &[1, 0, 7, 0, 0, 0], 128), u32s(), 4, &all, 8),
        "padded with zeros to 8",
    );
    breaks(check(&[20, 0], u32s(), 4, &all, 8), "suits its type");
    // Two values as a delta encoding with a single difference.
    let delta = [&[5, 0, 1, 0, 0, 0, 0, 0], &[7, 0, 1, 0, 0, 0][..]].concat();
    check(&delta, u32s(), 2, &all, 8).unwrap();
    breaks(
        check(&delta, u32s(), 1, &all, 8),
        "differences need two values",
    );
    breaks(
        check(&delta, number(4, Float), 2, &all, 8),
        "suits its type",
    );
    let sparse = [
        &delta[..8],
        &[19, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
    ]
    .concat();
    check(&sparse, u32s(), 2, &all, 8).unwrap();
    breaks(
        check(&sparse, u32s(), 2, &[true, false], 8),
        "know nothing of nulls",
    );
    // Runs 5 5 5 9 9.
    let runs = [
        6u8, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 2, 0,
        0, 0,
    ];
    check(&runs, u32s(), 5, &all, 8).unwrap();
    breaks(check(&runs, u32s(), 6, &all, 8), "runs add up");
    breaks(
        check(&runs, u32s(), 5, &all, 12),
        "RunLength and Sparse begin",
    );
    let zig_zag = [18, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0];
    breaks(
        check(&zig_zag, number(4, Signed), 1, &all, 8),
        "ZigZag is always nested",
    );
    let alp = [
        &[12, 0, 10, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0],
        &[7, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
    ]
    .concat();
    breaks(
        check(&alp, number(8, Float), 1, &all, 8),
        "exponents are in the tables",
    );
    let zstd = [16, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0];
    breaks(check(&zstd, u32s(), 1, &all, 8), "a Zstandard frame");
    let named = [16, 0, 0, 0, 0, 0, 0, 0, 0x28, 0xb5, 0x2f, 0xfd, 1];
    breaks(check(&named, u32s(), 1, &all, 8), "name no dictionary");
    let lz4 = [17, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0];
    breaks(check(&lz4, u32s(), 1, &all, 8), "states the size");
    let positions = [
        19u8, 0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 7, 0, 9, 0,
    ];
    breaks(
        check(&positions, number(2, Unsigned), 900, &all, 8),
        "positions ascend",
    );
    let cut = [13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0];
    breaks(
        check(&cut, number(8, Float), 1, &all, 8),
        "cut into 16 bits",
    );
}

#[test]
fn rules_of_byte_strings() {
    let check = |bytes: &[u8], values, n, nulls: &[bool]| -> Check {
        values_are_encoded_as_the_type_allows(bytes, values, n, nulls, 8)
    };
    let fixed = |size| Values::Bytes { fixed: Some(size) };
    let offsets = |ends: &[u64]| {
        ends.iter()
            .flat_map(|end| end.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let plain = [&[1, 0, 8][..], &offsets(&[0, 1, 2]), b"ab"].concat();
    check(&plain, TEXT, 2, &[false; 2]).unwrap();
    breaks(check(&plain, fixed(1), 2, &[false; 2]), "fixed sizes none");
    let wrong = [&[1, 0, 8][..], &offsets(&[0, 2, 1]), b"ab"].concat();
    breaks(check(&wrong, TEXT, 2, &[false; 2]), "offsets ascend");
    check(&[7, 0, 1], TEXT, 2, &[false; 2]).unwrap();
    breaks(
        check(&[7, 0, 1], fixed(1), 2, &[false; 2]),
        "suits its type",
    );
    // "x", "yy", "x", null.
    let mut coded = vec![14, 0, 18, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0, 0];
    coded.extend([
        1, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    coded.extend([1, 0, 0, 0, 2, 0, 0, 0, b'x', b'y', b'y']);
    let nulls = [false, false, false, true];
    check(&coded, TEXT, 4, &nulls).unwrap();
    breaks(
        check(&coded, TEXT, 4, &[false; 4]),
        "code 0 is at null positions",
    );
    breaks(check(&coded, fixed(1), 4, &nulls), "suits its type");
    let with = |at: usize, byte: u8| {
        let mut bytes = coded.clone();
        bytes[at] = byte;
        bytes
    };
    breaks(
        check(&with(18, 3), TEXT, 4, &nulls),
        "codes name distinct values",
    );
    breaks(
        check(&with(34, 1), TEXT, 4, &nulls),
        "parts are padded with zeros",
    );
    breaks(check(&with(40, 2), TEXT, 4, &nulls), "lengths add up");
    let symbols = [&[15, 0, 1, 0, 0, 0, 0, 0, 8][..], &[0; 7], &[0; 8], &[9]].concat();
    breaks(
        check(&symbols, TEXT, 1, &[false]),
        "symbols have 1 to 8 bytes",
    );
    let no_symbols = [
        &[15, 0, 0, 0, 0, 0, 0, 0, 8][..],
        &[0; 7],
        &offsets(&[0, 0]),
    ]
    .concat();
    breaks(check(&no_symbols, TEXT, 1, &[false]), "FSST has symbols");
    // "abcde" as one value of fixed size, in LZ4, and as one symbol.
    let lz4 = [&[17, 0, 10, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0x50][..], b"abcde"].concat();
    let fsst = [
        &[15, 0, 1, 1, 0, 0, 0, 0, 0][..],
        &[0; 7],
        b"abcde\0\0\0",
        &[5, 0],
    ]
    .concat();
    for (bytes, padding) in [(lz4, 6), (fsst, 6)] {
        let padded = |zeros| [&bytes[..], &vec![0; zeros]].concat();
        check(&padded(padding), fixed(5), 1, &[false]).unwrap();
        breaks(
            check(&padded(0), fixed(5), 1, &[false]),
            "parts are padded with zeros",
        );
        breaks(
            check(&padded(padding + 8), fixed(5), 1, &[false]),
            "fixed sizes have no offsets",
        );
    }
}

/// Returns a buffer of one block: 1, 2, 3, -4 as plain i32.
fn stream() -> (Vec<u8>, usize, Stream) {
    let mut buffer = vec![0, 0, 0, 0, 18, 0, 0, 0, 1, 0];
    for number in [1i32, 2, 3, -4] {
        buffer.extend(number.to_le_bytes());
    }
    buffer.extend([0, 0]);
    seal(&mut buffer);
    let words = |map: &mut Vec<u8>, all: &[u64]| {
        all.iter().for_each(|word| map.extend(word.to_le_bytes()));
    };
    words(&mut buffer, &[0, 0]);
    buffer.extend([
        4, 0, 0, 0, 32, 0, 0, 0, 8, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    words(&mut buffer, &[0, 4, 0, 40, 4, 1, 1, 1024, 32]);
    let stream = Stream {
        values: number(4, Kind::Signed),
        count: 4,
        embedded_presence: true,
    };
    (buffer, 32, stream)
}

#[test]
fn rules_of_block_streams() {
    let (good, start, stream) = stream();
    assert_eq!(blocks::check(&good, start, 1, &stream), Ok(0));
    breaks(
        blocks::check(&good, start, 2, &stream),
        "block_count matches",
    );
    let fewer = Stream { count: 3, ..stream };
    breaks(
        blocks::check(&good, start, 1, &fewer),
        "counts the values of the field",
    );
    breaks(
        blocks::check(&good, start - 16, 1, &stream),
        "the place of its first block",
    );
    let cases = [
        (10, 9, "ends with its checksum"),
        (27, 1, "padding is zero"),
        (32, 1, "the place of its first block"),
        (48, 0, "no block is empty"),
        (52, 2, "a block is a multiple of 8 long"),
        (58, 2, "the footer has all values"),
        (56, 9, "8, 16 or 32 bits"),
        (60, 1, "beyond their minimum"),
        (61, 1, "padding is zero"),
        (72, 1, "segment list has the first value"),
        (88, 1, "records lie one after the other"),
        (96, 48, "segment list follows the records"),
        (104, 7, "the footer has all values"),
        (120, 2, "segments are full"),
        (129, 8, "segments have 1024 blocks"),
        (136, 31, "all bytes of the blocks"),
    ];
    for (at, byte, rule) in cases {
        let mut bytes = good.clone();
        bytes[at] = byte;
        if at == 27 {
            bytes.splice(28..32, checksum(&bytes[..28]).to_le_bytes());
        }
        breaks(blocks::check(&bytes, start, 1, &stream), rule);
    }
    // A block with presence of kind 2: one byte per value.
    let mut block = vec![
        5, 0, 0, 0, 6, 0, 0, 0, 2, 1, 0, 1, 1, 0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    seal(&mut block);
    let whole = [&block[..], &good[32..]].concat();
    assert_eq!(blocks::check(&whole, start, 1, &stream), Ok(1));
    let none = Stream {
        embedded_presence: false,
        ..stream
    };
    breaks(
        blocks::check(&whole, start, 1, &none),
        "presence only where the flag says so",
    );
    block.truncate(28);
    block[8] = 4;
    seal(&mut block);
    let whole = [&block[..], &good[32..]].concat();
    breaks(
        blocks::check(&whole, start, 1, &stream),
        "one of three kinds",
    );
}

/// Returns a dictionary of "ab", null, "c".
fn strings() -> Vec<u8> {
    let mut out = vec![STRING, 3, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0];
    for place in [128u64, 208, 208, 320, 320, 416] {
        out.extend(place.to_le_bytes());
    }
    out.resize(124, 0);
    seal(&mut out);
    let ends: Vec<u8> = [0u64, 2, 2, 3]
        .iter()
        .flat_map(|end| end.to_le_bytes())
        .collect();
    for (payload, len) in [
        (&b"abc"[..], 80),
        (&ends, 112),
        (&[0, 0, 0, 0, 2, 0, 0, 0], 96),
    ] {
        let end = out.len() + len;
        out.extend((payload.len() as u64).to_le_bytes());
        out.extend(payload);
        out.resize(end - 4, 0);
        out.extend(checksum(payload).to_le_bytes());
    }
    out.resize(448, 0);
    out
}

#[test]
fn rules_of_dictionaries() {
    let good = strings();
    let text = node(STRING);
    let entries = dictionary::check(&good, &text, 3).unwrap();
    assert_eq!(entries.null, Some(1));
    breaks(
        dictionary::check(&good, &text, 4),
        "dictionary_size counts the entries",
    );
    breaks(
        dictionary::check(&good[..100], &text, 3),
        "header of 128 bytes",
    );
    breaks(
        dictionary::check(&good[..447], &text, 3),
        "padded with zeros to 64",
    );
    let cases = [
        (0, 8, "value_type matches the field"),
        (5, 0, "null_id is 0 without a null entry"),
        (6, 3, "the null entry is an entry"),
        (6, 0, "the null entry is empty"),
        (10, 1, "fixed_value_size matches the schema"),
        (30, 0, "sections follow each other"),
        (62, 1, "bytes 62 to 124"),
        (124, 0, "the header ends with its checksum"),
        (128, 4, "checksum of its payload"),
        (140, 1, "padding is zero"),
        (447, 1, "padded with zeros to 64"),
    ];
    for (at, byte, rule) in cases {
        let mut bytes = good.clone();
        bytes[at] = byte;
        if at < 124 {
            bytes.splice(124..128, checksum(&bytes[..124]).to_le_bytes());
        }
        breaks(dictionary::check(&bytes, &text, 3), rule);
    }
    let mut bytes = good.clone();
    bytes[328] = 1;
    bytes.splice(412..416, checksum(&bytes[328..336]).to_le_bytes());
    breaks(dictionary::check(&bytes, &text, 3), "order of the values");
}
