//! Spec: Chapter 7, "Null bitmap"; docs/format.md, "Presence".
//!
//! If the section is empty, all values are present. Else its first byte is the kind: 1, all are null;
//! 2, a byte per value, 0 for null; 3, a byte `negated` and a Roaring bitmap of the present
//! positions, or of the null ones if `negated` is 1.

use super::check_ranges;
use crate::error::{Error, Result};
use crate::kernels::bits_of_bytes;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use roaring::RoaringBitmap;
use std::ops::Range;

const ALL_NULLS: u8 = 1;
const PLAIN: u8 = 2;
const ROARING: u8 = 3;

enum Section<'a> {
    AllPresent,
    AllNull,
    Plain(&'a [u8]),
    Roaring {
        positions: RoaringBitmap,
        negated: bool,
    },
}

/// How a block stores the presence of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PresenceKind {
    /// All are present.
    AllPresent,
    /// All are null.
    AllNull,
    /// A byte per value.
    Plain,
    /// A Roaring bitmap of the present positions.
    RoaringPresent,
    /// A Roaring bitmap of the null positions.
    RoaringNull,
}

/// Returns how a section stores the presence of `n` values.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the section is malformed or has another number of values.
pub fn kind(section: &[u8], n: usize) -> Result<PresenceKind> {
    Ok(match parse(section, n)? {
        Section::AllPresent => PresenceKind::AllPresent,
        Section::AllNull => PresenceKind::AllNull,
        Section::Plain(_) => PresenceKind::Plain,
        Section::Roaring { negated: false, .. } => PresenceKind::RoaringPresent,
        Section::Roaring { negated: true, .. } => PresenceKind::RoaringNull,
    })
}

impl std::fmt::Display for PresenceKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AllPresent => "all present",
            Self::AllNull => "all null",
            Self::Plain => "a byte each",
            Self::RoaringPresent => "Roaring, of the present ones",
            Self::RoaringNull => "Roaring, of the nulls",
        })
    }
}

fn parse(section: &[u8], n: usize) -> Result<Section<'_>> {
    match section {
        [] => Ok(Section::AllPresent),
        [ALL_NULLS] => Ok(Section::AllNull),
        [PLAIN, bytes @ ..] if bytes.len() == n => Ok(Section::Plain(bytes)),
        [ROARING, negated @ (0 | 1), bytes @ ..] => {
            let mut rest = bytes;
            let positions = RoaringBitmap::deserialize_from(&mut rest)
                .map_err(|e| Error::corrupt(format!("a Roaring bitmap is malformed: {e}")))?;
            if !rest.is_empty() {
                return Err(Error::corrupt(format!(
                    "{} bytes follow a Roaring bitmap",
                    rest.len()
                )));
            }
            match positions.max() {
                Some(max) if max as usize >= n => Err(Error::corrupt(format!(
                    "presence names position {max} of a block of {n} values"
                ))),
                _ => Ok(Section::Roaring {
                    positions,
                    negated: *negated == 1,
                }),
            }
        }
        [kind @ (ALL_NULLS | PLAIN), bytes @ ..] => Err(Error::corrupt(format!(
            "expected presence of {n} values, found kind {kind} with {} bytes",
            bytes.len()
        ))),
        [kind, ..] => Err(Error::corrupt(format!("presence of unknown kind {kind}"))),
    }
    .map_err(|e| e.within("presence section"))
}

/// Appends `n` bits (1 = present) to `bits` and returns the number of nulls.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the section is malformed or has another number of values.
pub fn decode(section: &[u8], n: usize, bits: &mut BooleanBufferBuilder) -> Result<usize> {
    let whole = 0..n;
    decode_selected(section, n, std::slice::from_ref(&whole), bits)
}

/// Appends bits (1 = present) for the positions of ascending `ranges` and returns the number of nulls among
/// them.
///
/// # Errors
/// Returns the errors of [`decode`], and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for ranges
/// that do not ascend within `n`.
pub fn decode_selected(
    section: &[u8],
    n: usize,
    ranges: &[Range<usize>],
    bits: &mut BooleanBufferBuilder,
) -> Result<usize> {
    let count = check_ranges(ranges, n)?;
    match parse(section, n)? {
        Section::AllPresent => {
            bits.append_n(count, true);
            Ok(0)
        }
        Section::AllNull => {
            bits.append_n(count, false);
            Ok(count)
        }
        Section::Plain(bytes) => {
            let mut present = 0;
            for range in ranges {
                bits_of_bytes(bytes.get(range.clone()).unwrap_or_default(), |word, len| {
                    present += word.count_ones() as usize;
                    bits.append_word(word, len);
                });
            }
            Ok(count - present)
        }
        Section::Roaring { positions, negated } => {
            let mut listed = 0;
            for range in ranges {
                let base = bits.len();
                bits.append_n(range.len(), negated);
                let (Ok(start), Ok(end)) = (u32::try_from(range.start), u32::try_from(range.end))
                else {
                    return Err(Error::invalid("a block has more than 2^32 positions"));
                };
                for position in positions.range(start..end) {
                    bits.set_bit(base + (position - start) as usize, !negated);
                    listed += 1;
                }
            }
            Ok(if negated { listed } else { count - listed })
        }
    }
}

/// Encodes presence. A bit of `nulls` is 1 if the value is present. The section is empty if all values are.
/// Otherwise it has the smallest kind, without the Roaring kinds if `plain_only`.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for more than 2^32 values.
pub fn encode(nulls: &BooleanBuffer, plain_only: bool) -> Result<Vec<u8>> {
    let n = nulls.len();
    let present = nulls.count_set_bits();
    if present == n {
        return Ok(Vec::new());
    }
    if present == 0 {
        return Ok(vec![ALL_NULLS]);
    }
    let negated = n - present < present;
    if !plain_only {
        let positions = positions(nulls, negated)?;
        if positions.serialized_size() < n - 1 {
            let mut section = Vec::with_capacity(2 + positions.serialized_size());
            section.extend([ROARING, u8::from(negated)]);
            positions.serialize_into(&mut section)?;
            return Ok(section);
        }
    }
    let mut section = Vec::with_capacity(1 + n);
    section.push(PLAIN);
    section.extend(nulls.iter().map(u8::from));
    Ok(section)
}

/// Returns the present positions, or the null ones if `negated`.
fn positions(nulls: &BooleanBuffer, negated: bool) -> Result<RoaringBitmap> {
    let flipped;
    let bits = if negated {
        flipped = !nulls;
        &flipped
    } else {
        nulls
    };
    if u32::try_from(bits.len()).is_err() {
        return Err(Error::invalid("a block has more than 2^32 positions"));
    }
    let sorted = bits.set_indices().filter_map(|i| u32::try_from(i).ok());
    RoaringBitmap::from_sorted_iter(sorted)
        .map_err(|e| Error::invalid(format!("positions do not ascend: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(bits: &[bool], plain_only: bool) {
        let section = encode(&BooleanBuffer::from(bits), plain_only).unwrap();
        let mut out = BooleanBufferBuilder::new(0);
        out.append(true);
        let nulls = decode(&section, bits.len(), &mut out).unwrap();
        assert_eq!(nulls, bits.iter().filter(|b| !**b).count());
        assert_eq!(out.finish().slice(1, bits.len()), BooleanBuffer::from(bits));

        let ranges: Vec<_> = (0..bits.len())
            .step_by(10)
            .map(|i| i..(i + 3).min(bits.len()))
            .collect();
        let want: Vec<bool> = ranges
            .iter()
            .flat_map(|r| bits[r.clone()].to_vec())
            .collect();
        let nulls = decode_selected(&section, bits.len(), &ranges, &mut out).unwrap();
        assert_eq!(nulls, want.iter().filter(|b| !**b).count());
        assert_eq!(out.finish(), BooleanBuffer::from(want));
    }

    proptest! {
        #[test]
        fn presence_survives(
            mut bits in prop::collection::vec(any::<bool>(), 1..300),
            longer in 0..3usize,
            rare: bool,
            plain_only: bool,
        ) {
            if longer > 0 {
                bits = (0..longer * 20_000).map(|i| (i % 997 < bits.len() / 40) ^ rare).collect();
            }
            round_trip(&bits, plain_only);
        }

        #[test]
        fn arbitrary_sections_never_panic(
            kind in 0..5u8,
            bytes in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let section = [vec![kind, 1, 0x3a, 0x30, 0, 0], bytes].concat();
            let _ = decode(&section, 200, &mut BooleanBufferBuilder::new(0));
        }
    }

    #[test]
    fn the_example_of_the_format_is_what_is_written() {
        let bits: Vec<bool> = (0..200).map(|i| i != 5).collect();
        let section = encode(&BooleanBuffer::from(bits), false).unwrap();
        let want = [
            3, 1, 0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 5, 0,
        ];
        assert_eq!(section, want);
    }

    #[test]
    fn run_containers_are_accepted() {
        let mut positions = RoaringBitmap::new();
        positions.insert_range(10..150);
        positions.optimize();
        let mut section = vec![ROARING, 0];
        positions.serialize_into(&mut section).unwrap();
        let mut out = BooleanBufferBuilder::new(0);
        assert_eq!(decode(&section, 200, &mut out).unwrap(), 60);
        assert!(decode(&section, 149, &mut out).is_err());
        section.push(0);
        assert!(decode(&section, 200, &mut out).is_err());
    }

    #[test]
    fn the_smallest_kind_is_taken() {
        assert_eq!(
            encode(&BooleanBuffer::new_set(70), false).unwrap(),
            Vec::<u8>::new()
        );
        assert_eq!(
            encode(&BooleanBuffer::new_unset(70), false).unwrap(),
            [ALL_NULLS]
        );
        let one: Vec<bool> = (0..100).map(|i| i == 7).collect();
        assert_eq!(
            encode(&BooleanBuffer::from(one.clone()), false)
                .unwrap()
                .len(),
            20
        );
        assert_eq!(encode(&BooleanBuffer::from(one), true).unwrap().len(), 101);
        let half: Vec<bool> = (0..100).map(|i| i % 2 == 0).collect();
        assert_eq!(encode(&BooleanBuffer::from(half), false).unwrap()[0], PLAIN);
    }
}
