//! A reader accepts every code in every part of a suitable type. This includes nestings that this writer
//! never writes because they do not pay off. Tests assemble those parents by hand.

use super::super::number::{Plan, decode, encode};
use super::super::{EncodingCode, NumberKind, Word};
use super::with_context;
use NumberKind::{Float, Signed, Unsigned};

const N: usize = 2048;
const CODES: std::ops::RangeInclusive<u16> = 1..=19;

/// Returns a region of a code, and its values: ascending positions, or else 1 and 2 for integers, which
/// every parent accepts.
fn child<W: Word>(code: u16, kind: NumberKind, ascending: bool) -> Option<(Vec<u8>, Vec<W>)> {
    let known = EncodingCode::from_u16(code);
    if !known.suits_numbers(kind, W::BYTES) {
        return None;
    }
    let second = match (code, kind) {
        (7, _) => 1,
        (_, Float) => 2.25f64.to_bits(),
        (8, _) => 100,
        (9, _) => 1000,
        (10, _) if W::BYTES > 2 => 100_000,
        (11, _) => 1 << 40,
        _ => 2,
    };
    let first = match (code, kind) {
        // Raw values are smaller with zeros left out.
        (19, Float) => 0,
        (code, Float) if code != 7 => 1.5f64.to_bits(),
        _ => 1,
    };
    let mut values: Vec<W> = [
        vec![W::truncate(first); N / 2],
        vec![W::truncate(second); N / 2],
    ]
    .concat();
    if ascending {
        let n = if code == 7 { 1 } else { N };
        values = (0..n as u64).map(|i| W::truncate(3 * i)).collect();
    }
    let (pack, ffor) = (|| Box::new(Plan::FlBitPack), || Box::new(Plan::Ffor));
    let entries = (kind != Float).then(ffor);
    let plan = match code {
        1 => Plan::Plain,
        2 => Plan::FlBitPack,
        3 => Plan::For { deltas: pack() },
        4 => Plan::Ffor,
        5 => Plan::Delta {
            differences: ffor(),
        },
        6 => Plan::RunLength {
            values: entries,
            lengths: Some(pack()),
        },
        7 => Plan::SingleValue,
        8..=11 => Plan::Truncate {
            values: Some(pack()),
        },
        12 => Plan::Alp { integers: ffor() },
        13 => Plan::AlpRd {
            left: pack(),
            right: pack(),
        },
        14 => Plan::BlockDictionary {
            codes: pack(),
            values: entries,
        },
        16 => Plan::Zstd { level: 1 },
        18 => Plan::ZigZag { values: pack() },
        _ => Plan::Sparse {
            positions: Some(Box::new(Plan::Delta {
                differences: pack(),
            })),
            values: entries,
        },
    };
    let mut region = Vec::new();
    if code == 17 {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|v| v.to_le().as_ref().to_vec())
            .collect();
        region.extend([17, 0, 0, 0, 0, 0, 0, 0]);
        region.extend(lz4_flex::block::compress_prepend_size(&bytes));
    } else {
        encode(&values, kind, &plan, &mut region).unwrap();
    }
    assert_eq!(
        EncodingCode::read(&region).unwrap(),
        known,
        "{kind} {}",
        W::BITS
    );
    Some((region, values))
}

fn words<W: Word>(values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    values
        .into_iter()
        .flat_map(|v| W::truncate(v).to_le().as_ref().to_vec())
        .collect()
}

/// Metadata, zeros to a multiple of 8.
fn head(code: u16, sizes: &[usize], bytes: &[u8]) -> Vec<u8> {
    let mut out = code.to_le_bytes().to_vec();
    for size in sizes {
        out.extend((*size as u32).to_le_bytes());
    }
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

fn expect<W: Word>(what: &str, code: u16, kind: NumberKind, parts: &[&[u8]], want: &[W]) {
    let mut found = vec![W::MAX; want.len()];
    let result = with_context(|cx| decode(&parts.concat(), kind, cx, &mut found));
    assert!(
        result.is_ok() && found == want,
        "{code} in the {what}: {result:?}"
    );
}

#[test]
#[cfg_attr(not(feature = "zstd"), ignore = "needs the feature zstd")]
fn every_code_is_read_in_frames_differences_and_foldings() {
    let mut read = 0;
    for code in CODES {
        if let Some((region, values)) = child::<u32>(code, Unsigned, false) {
            expect(
                "deltas",
                code,
                Unsigned,
                &[&head(3, &[0], &[]), &region],
                &values,
            );
            let folded: Vec<u32> = values
                .iter()
                .map(|v| (v >> 1) ^ (v & 1).wrapping_neg())
                .collect();
            expect(
                "folded values",
                code,
                Signed,
                &[&head(18, &[], &[1]), &region],
                &folded,
            );
            read += 1;
        }
        for kind in [Signed, Unsigned] {
            if let Some((region, values)) = child::<u64>(code, kind, false) {
                let mut sums = vec![0u64];
                sums.extend(values.iter().scan(0u64, |sum, v| {
                    *sum = sum.wrapping_add(*v);
                    Some(*sum)
                }));
                expect(
                    "differences",
                    code,
                    kind,
                    &[&head(5, &[0, 0], &[]), &region],
                    &sums,
                );
                read += 1;
            }
        }
    }
    assert_eq!(read, 11 + 15 + 11);
}

fn truncated<U: Word>(parent: u16) {
    for code in CODES {
        if let Some((region, values)) = child::<U>(code, Unsigned, false) {
            let wide: Vec<u64> = values.iter().map(|v| v.to_u64()).collect();
            expect(
                "low bits",
                code,
                Signed,
                &[&head(parent, &[], &[1]), &region],
                &wide,
            );
        }
    }
}

#[test]
#[cfg_attr(not(feature = "zstd"), ignore = "needs the feature zstd")]
fn every_code_is_read_in_truncated_values() {
    truncated::<u8>(8);
    truncated::<u16>(9);
    truncated::<u32>(10);
    truncated::<u64>(11);
}

#[test]
#[cfg_attr(not(feature = "zstd"), ignore = "needs the feature zstd")]
fn every_code_is_read_in_runs_dictionaries_and_sparse_values() {
    for code in CODES {
        for kind in [Signed, Unsigned, Float] {
            let Some((region, values)) = child::<u64>(code, kind, false) else {
                continue;
            };
            let n = values.len();
            let ones = words::<u32>(vec![1; n]);
            let padding = vec![0; region.len().next_multiple_of(8) - region.len()];
            let runs = head(6, &[region.len(), n], &[1, 0]);
            expect(
                "values of runs",
                code,
                kind,
                &[&runs, &region, &padding, &ones],
                &values,
            );
            let codes = [vec![1, 0], words::<u32>(1..=n as u64)].concat();
            let dictionary = head(14, &[codes.len(), n], &[1]);
            expect(
                "dictionary",
                code,
                kind,
                &[&dictionary, &codes, &region],
                &values,
            );
            let positions = words::<u32>(0..n as u64);
            let sparse = head(19, &[n, positions.len()], &[0, 1]);
            expect(
                "sparse values",
                code,
                kind,
                &[&sparse, &positions, &region],
                &values,
            );
        }
        if let Some((region, values)) = child::<u32>(code, Unsigned, false) {
            let n = values.len();
            let runs = head(6, &[4 * n, n], &[0, 1]);
            let want: Vec<u32> = (0u32..)
                .zip(&values)
                .flat_map(|(i, len)| vec![i; *len as usize])
                .collect();
            expect(
                "lengths of runs",
                code,
                Unsigned,
                &[&runs, &words::<u32>(0..n as u64), &region],
                &want,
            );
            let dictionary = head(14, &[region.len(), 2], &[0]);
            let want: Vec<u32> = values.iter().map(|code| 60 + 10 * code).collect();
            expect(
                "codes",
                code,
                Unsigned,
                &[&dictionary, &region, &words::<u32>([70, 80])],
                &want,
            );
        }
        if let Some((region, positions)) = child::<u32>(code, Unsigned, true) {
            let padding = vec![0; region.len().next_multiple_of(8) - region.len()];
            let sparse = head(19, &[positions.len(), region.len()], &[1, 0]);
            let mut want = vec![0u32; 3 * N + 1];
            positions.iter().for_each(|at| want[*at as usize] = 9);
            let nines = words::<u32>(vec![9; positions.len()]);
            expect(
                "positions",
                code,
                Unsigned,
                &[&sparse, &region, &padding, &nines],
                &want,
            );
        }
    }
}

#[test]
#[cfg_attr(not(feature = "zstd"), ignore = "needs the feature zstd")]
fn every_code_is_read_in_the_parts_of_floats() {
    let table: Vec<u64> = (0..8).map(|i| 0x0ff0 + i).collect();
    for code in CODES {
        if let Some((region, values)) = child::<u64>(code, Signed, false) {
            let alp = head(12, &[region.len()], &[0; 4]);
            let alp = [alp, vec![0; 16]].concat();
            let want: Vec<u64> = values
                .iter()
                .map(|v| (v.cast_signed() as f64).to_bits())
                .collect();
            expect("integers", code, Float, &[&alp[..16], &region], &want);
        }
        if let Some((region, values)) = child::<u16>(code, Unsigned, false) {
            let right = head(7, &[0, 0], &[])[..10].to_vec();
            let parts = head(13, &[region.len(), right.len()], &[0, 0, 50, 8]);
            let want: Vec<u64> = values
                .iter()
                .map(|v| table[usize::from(*v)] << 50)
                .collect();
            let left = words::<u16>(table.clone());
            expect(
                "left parts",
                code,
                Float,
                &[&parts, &left, &region, &right],
                &want,
            );
        }
        if let Some((region, values)) = child::<u64>(code, Unsigned, false) {
            let parts = head(13, &[4, region.len()], &[0, 0, 50, 8]);
            let want: Vec<u64> = values.iter().map(|v| table[0] << 50 | v).collect();
            let left = words::<u16>(table.clone());
            expect(
                "right parts",
                code,
                Float,
                &[&parts, &left, &[7, 0, 0, 0], &region],
                &want,
            );
        }
    }
}
