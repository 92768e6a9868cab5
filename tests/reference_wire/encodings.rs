//! Checks the encoded values of a block: the allowed encodings and nesting for a type, and the length of each region.

use super::bytes::{Check, at, is_zero, rule, size_at, u8_at, u16_at, words};

/// The content of a region.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Values {
    Number {
        width: usize,
        kind: Kind,
    },
    /// Byte strings, optionally of a fixed size.
    Bytes {
        fixed: Option<usize>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Signed,
    Unsigned,
    Float,
}

const U32: Values = Values::Number {
    width: 4,
    kind: Kind::Unsigned,
};
const U64: Values = Values::Number {
    width: 8,
    kind: Kind::Unsigned,
};

const DELTA: u16 = 5;
const BLOCK_DICTIONARY: u16 = 14;
const SPARSE: u16 = 19;

/// A region of encoded values.
#[derive(Clone, Copy)]
struct Region<'a> {
    bytes: &'a [u8],
    /// Start of the region in the block.
    place: usize,
    n: usize,
    /// Whether some of the block's values are null.
    has_nulls: bool,
}

/// Checks the values of a block, which begin at byte `place` and include `null` nulls.
pub(crate) fn values_are_encoded_as_the_type_allows(
    bytes: &[u8],
    values: Values,
    n: usize,
    null: &[bool],
    place: usize,
) -> Check {
    let region = Region {
        bytes,
        place,
        n,
        has_nulls: null.contains(&true),
    };
    match values {
        Values::Number { width, kind } => region.number(width, kind).map(|_| ()),
        Values::Bytes { fixed } => region.byte_strings(fixed, null),
    }
}

/// Returns whether numbers may have an encoding.
fn suits(code: u16, width: usize, kind: Kind) -> bool {
    let integer = kind != Kind::Float;
    match code {
        1 | 6 | 7 | 14 | 16 | 17 | 19 => true,
        2 => kind == Kind::Unsigned,
        3..=5 => integer,
        8 | 9 => kind == Kind::Signed && width > 1,
        10 => kind == Kind::Signed && width > 2,
        11 => kind == Kind::Signed && width == 8,
        12 | 13 => kind == Kind::Float,
        18 => kind == Kind::Signed,
        _ => false,
    }
}

impl<'a> Region<'a> {
    fn rest(&self, start: usize) -> Result<&'a [u8], String> {
        let rest = self.bytes.get(start..);
        rest.ok_or_else(|| format!("{start} bytes of metadata are cut off"))
    }

    /// Returns a nested region.
    fn nested(&self, start: usize, len: usize, n: usize) -> Result<Self, String> {
        let bytes = self.bytes.get(start..start + len);
        Ok(Self {
            bytes: bytes.ok_or_else(|| format!("{len} nested bytes are cut off"))?,
            place: self.place + start,
            n,
            has_nulls: self.has_nulls,
        })
    }

    /// Returns the start of the payload: code and metadata of `k` bytes are padded with zeros to a multiple of 8.
    fn payload(&self, k: usize) -> Result<usize, String> {
        let start = (2 + k).next_multiple_of(8);
        let padding = self.bytes.get(2 + k..start);
        rule(
            padding.is_some_and(is_zero),
            "metadata is padded with zeros to 8",
            || format!("{k} bytes of metadata"),
        )?;
        Ok(start)
    }

    fn length_is(&self, expected: usize) -> Check {
        rule(
            self.bytes.len() == expected,
            "a region has its exact length",
            || format!("{} bytes instead of {expected}", self.bytes.len()),
        )
    }

    /// Checks the alignment of encodings with inner padding, which counts from the start of the block.
    fn is_aligned(&self) -> Check {
        rule(
            self.place.is_multiple_of(8),
            "RunLength and Sparse begin on a multiple of 8 of the block",
            || format!("byte {}", self.place),
        )
    }

    /// Checks a part that is nested if `flag` is 1, otherwise raw.
    fn part(&self, start: usize, len: usize, flag: u8, values: Values, n: usize) -> Check {
        let Values::Number { width, kind } = values else {
            return Err("parts are numbers".to_owned());
        };
        match flag {
            0 => self.nested(start, len, n)?.length_is(n * width),
            1 => self.nested(start, len, n)?.number(width, kind).map(|_| ()),
            other => Err(format!("a flag of {other}")),
        }
    }

    /// Checks the zeros from `end` to the next part, and returns its start.
    fn padded(&self, end: usize) -> Result<usize, String> {
        let next = end.next_multiple_of(8);
        let padding = self.bytes.get(end..next);
        rule(
            padding.is_some_and(is_zero),
            "parts are padded with zeros to 8",
            || format!("at {end}"),
        )?;
        Ok(next)
    }

    /// Checks numbers, and returns their code.
    fn number(&self, width: usize, kind: Kind) -> Result<u16, String> {
        let code = u16_at(self.bytes, 0)?;
        rule(
            suits(code, width, kind),
            "an encoding suits its type",
            || format!("code {code} of {kind:?} numbers of {width} bytes"),
        )?;
        rule(self.n > 0, "nothing is encoded without values", || {
            format!("code {code}")
        })?;
        at(self.coded_number(code, width, kind), || {
            format!("code {code}")
        })?;
        Ok(code)
    }

    fn coded_number(&self, code: u16, width: usize, kind: Kind) -> Check {
        let (bytes, n) = (self.bytes, self.n);
        let own = Values::Number { width, kind };
        match code {
            1 => self.length_is(2 + n * width),
            2 => self.packed(1, 2, width),
            3 => {
                let start = self.payload(width)?;
                let rest = bytes.len() - start;
                self.nested(start, rest, n)?
                    .number(width, Kind::Unsigned)
                    .map(|_| ())
            }
            4 => self.packed(width + 1, 2 + width, width),
            DELTA => {
                let start = self.payload(width)?;
                rule(n > 1, "differences need two values", || format!("{n}"))?;
                let below = self
                    .nested(start, bytes.len() - start, n - 1)?
                    .number(width, kind)?;
                self.differences_ignore_nulls(below)
            }
            6 => self.run_length(own),
            7 => self.length_is(2 + width),
            8..=11 => {
                let start = self.payload(1)?;
                let narrow = Values::Number {
                    width: 1 << (code - 8),
                    kind: Kind::Unsigned,
                };
                self.part(start, bytes.len() - start, u8_at(bytes, 2)?, narrow, n)
            }
            12 => self.alp(width),
            13 => self.alp_rd(width),
            BLOCK_DICTIONARY => {
                let start = self.payload(9)?;
                let (codes, unique) = (size_at(bytes, 2)?, size_at(bytes, 6)?);
                self.part(start, codes, 1, U32, n)?;
                let values = start + codes;
                let rest = self.rest(values)?.len();
                self.part(values, rest, u8_at(bytes, 10)?, own, unique)
            }
            16 | 17 => {
                let start = self.payload(0)?;
                compressed(code, self.rest(start)?, n * width)
            }
            18 => {
                let start = self.payload(1)?;
                rule(u8_at(bytes, 2)? == 1, "ZigZag is always nested", || {
                    "raw".to_owned()
                })?;
                let unsigned = Values::Number {
                    width,
                    kind: Kind::Unsigned,
                };
                self.part(start, bytes.len() - start, 1, unsigned, n)
            }
            _ => self.sparse(own),
        }
    }

    fn differences_ignore_nulls(&self, below: u16) -> Check {
        let loses = self.has_nulls && matches!(below, BLOCK_DICTIONARY | SPARSE);
        rule(
            !loses,
            "below differences of nullable values, encodings know nothing of nulls",
            || format!("code {below}"),
        )
    }

    /// Checks chunks of 1,024 packed values.
    fn packed(&self, metadata: usize, width_at: usize, width: usize) -> Check {
        let start = self.payload(metadata)?;
        rule(
            (self.place + start).is_multiple_of(width),
            "packed values are aligned to their width in the block",
            || format!("byte {}", self.place + start),
        )?;
        let bits = usize::from(u8_at(self.bytes, width_at)?);
        rule(
            (1..=8 * width).contains(&bits),
            "packed values have 1 bit to all",
            || format!("{bits} bits"),
        )?;
        self.length_is(start + self.n.div_ceil(1024) * 128 * bits)
    }

    fn run_length(&self, own: Values) -> Check {
        self.is_aligned()?;
        let start = self.payload(10)?;
        let (size, runs) = (size_at(self.bytes, 2)?, size_at(self.bytes, 6)?);
        self.part(start, size, u8_at(self.bytes, 10)?, own, runs)?;
        let lengths = self.padded(start + size)?;
        let rest = self.rest(lengths)?;
        let nested = u8_at(self.bytes, 11)?;
        if nested == 0 {
            let sum: u64 = words(rest, 4).iter().sum();
            rule(sum == self.n as u64, "runs add up to the values", || {
                format!("{sum} of {}", self.n)
            })?;
        }
        self.part(lengths, rest.len(), nested, U32, runs)
    }

    fn alp(&self, width: usize) -> Check {
        let start = self.payload(8)?;
        let size = size_at(self.bytes, 2)?;
        let exceptions = usize::from(u16_at(self.bytes, 6)?);
        let (exponent, factor) = (u8_at(self.bytes, 8)?, u8_at(self.bytes, 9)?);
        let most = if width == 4 { 10 } else { 23 };
        rule(
            exponent <= most && factor <= most,
            "exponents are in the tables",
            || format!("{exponent} and {factor}"),
        )?;
        let signed = Values::Number {
            width,
            kind: Kind::Signed,
        };
        self.part(start, size, 1, signed, self.n)?;
        self.exceptions(start + size, exceptions, width)
    }

    /// Checks ascending positions and their values, up to the end of the region.
    fn exceptions(&self, start: usize, count: usize, width: usize) -> Check {
        self.length_is(start + count * (4 + width))?;
        let positions = words(&self.bytes[start..start + 4 * count], 4);
        self.ascend(&positions)
    }

    fn ascend(&self, positions: &[u64]) -> Check {
        let ascend = positions.windows(2).all(|pair| pair[0] < pair[1]);
        let within = positions.last().is_none_or(|last| *last < self.n as u64);
        rule(
            ascend && within,
            "positions ascend within the block",
            || format!("{positions:?}"),
        )
    }

    fn alp_rd(&self, width: usize) -> Check {
        let start = self.payload(12)?;
        let (left, right) = (size_at(self.bytes, 2)?, size_at(self.bytes, 6)?);
        let exceptions = usize::from(u16_at(self.bytes, 10)?);
        let (bits, entries) = (u8_at(self.bytes, 12)?, usize::from(u8_at(self.bytes, 13)?));
        let within = (8 * width - 16..8 * width).contains(&usize::from(bits));
        rule(
            within && entries <= 8,
            "a float is cut into 16 bits and the rest",
            || format!("{bits} bits, {entries} entries"),
        )?;
        let codes = Values::Number {
            width: 2,
            kind: Kind::Unsigned,
        };
        let unsigned = Values::Number {
            width,
            kind: Kind::Unsigned,
        };
        let start = start + 2 * entries;
        self.part(start, left, 1, codes, self.n)?;
        self.part(start + left, right, 1, unsigned, self.n)?;
        self.exceptions(start + left + right, exceptions, 2)
    }

    fn sparse(&self, own: Values) -> Check {
        self.is_aligned()?;
        let start = self.payload(10)?;
        let (count, size) = (size_at(self.bytes, 2)?, size_at(self.bytes, 6)?);
        let (positions, values) = (u8_at(self.bytes, 10)?, u8_at(self.bytes, 11)?);
        if count == 0 && size == 0 {
            return self.length_is(start);
        }
        self.part(start, size, positions, U32, count)?;
        if positions == 0 {
            self.ascend(&words(&self.bytes[start..start + size], 4))?;
        }
        let at = self.padded(start + size)?;
        self.part(at, self.rest(at)?.len(), values, own, count)
    }

    fn byte_strings(&self, fixed: Option<usize>, null: &[bool]) -> Check {
        let code = u16_at(self.bytes, 0)?;
        let suits = match fixed {
            // The reference's reader takes distinct values of a fixed size from the wrong place. For a single value it
            // creates offsets, which it cannot combine with values without offsets.
            Some(_) => matches!(code, 1 | 15..=17),
            None => matches!(code, 1 | 7 | 14..=17),
        };
        rule(suits, "an encoding suits its type", || {
            format!("code {code} of byte strings, {fixed:?}")
        })?;
        at(self.coded_bytes(code, fixed, null), || {
            format!("code {code}")
        })
    }

    fn coded_bytes(&self, code: u16, fixed: Option<usize>, null: &[bool]) -> Check {
        let bytes = self.bytes;
        match code {
            1 => {
                offset_width_is_that_of_the_type(u8_at(bytes, 2)?, fixed)?;
                let Some(size) = fixed else {
                    let end = 3 + 8 * (self.n + 1);
                    let rest = self.rest(end)?;
                    return offsets_divide(&words(&bytes[3..end], 8), rest.len());
                };
                self.length_is(3 + self.n * size)
            }
            7 => Ok(()),
            BLOCK_DICTIONARY => self.block_dictionary(null),
            15 => {
                let start = self.payload(7)?;
                let (symbols, size) = (usize::from(u8_at(bytes, 2)?), size_at(bytes, 3)?);
                offset_width_is_that_of_the_type(u8_at(bytes, 8)?, fixed)?;
                rule(symbols > 0, "FSST has symbols", || "none".to_owned())?;
                let lengths = self.bytes.get(start + 8 * symbols..start + 9 * symbols);
                let lengths = lengths.ok_or("symbols are cut off")?;
                let sound = lengths.iter().all(|len| (1..=8).contains(len));
                rule(sound, "symbols have 1 to 8 bytes", || {
                    format!("{lengths:?}")
                })?;
                self.offsets(start + 9 * symbols + size, u8_at(bytes, 7)?, fixed)
            }
            _ => {
                let start = self.payload(6)?;
                let size = size_at(bytes, 2)?;
                offset_width_is_that_of_the_type(u8_at(bytes, 6)?, fixed)?;
                let part = self.nested(start, size, 0)?.bytes;
                match fixed {
                    Some(width) => compressed(code, part, self.n * width)?,
                    None => compressed_any(code, part).map(|_| ())?,
                }
                self.offsets(start + size, u8_at(bytes, 7)?, fixed)
            }
        }
    }

    /// Checks the offsets after `end` and its padding, up to the end of the region; values of fixed size have only the
    /// padding.
    fn offsets(&self, end: usize, nested: u8, fixed: Option<usize>) -> Check {
        let start = self.padded(end)?;
        let rest = self.rest(start)?.len();
        match fixed {
            Some(_) => rule(rest == 0, "fixed sizes have no offsets", || {
                format!("{rest} bytes")
            }),
            None => self.part(start, rest, nested, U64, self.n + 1),
        }
    }

    fn block_dictionary(&self, null: &[bool]) -> Check {
        let start = self.payload(13)?;
        let (codes, lengths) = (size_at(self.bytes, 2)?, size_at(self.bytes, 6)?);
        let (unique, nested) = (size_at(self.bytes, 10)?, u8_at(self.bytes, 14)?);
        self.part(start, codes, 1, U32, self.n)?;
        let region = self.nested(start, codes, self.n)?.bytes;
        if let Some(codes) = small_codes(region, self.n)? {
            let right = codes
                .iter()
                .zip(null)
                .all(|(code, null)| (*code == 0) == *null);
            rule(
                right,
                "code 0 is at null positions and nowhere else",
                || format!("{} zeros", codes.iter().filter(|c| **c == 0).count()),
            )?;
            let most = codes.iter().max().copied().unwrap_or(0);
            rule(most <= unique as u64, "codes name distinct values", || {
                format!("{most} of {unique}")
            })?;
        }
        let place = self.padded(start + codes)?;
        if unique > 0 || nested == 0 {
            self.part(place, lengths, nested, U32, unique)?;
        }
        let entries = self.rest(place + lengths)?.len();
        if nested == 0 {
            let sum: u64 = words(&self.bytes[place..place + lengths], 4).iter().sum();
            return rule(
                sum == entries as u64,
                "lengths add up to the distinct values",
                || format!("{sum} of {entries} bytes"),
            );
        }
        Ok(())
    }
}

fn offset_width_is_that_of_the_type(width: u8, fixed: Option<usize>) -> Check {
    let expected = if fixed.is_some() { 0 } else { 8 };
    rule(
        width == expected,
        "offsets have 8 bytes, and fixed sizes none",
        || format!("{width}"),
    )
}

fn offsets_divide(offsets: &[u64], len: usize) -> Check {
    let holds =
        offsets.is_sorted() && offsets.first() == Some(&0) && offsets.last() == Some(&(len as u64));
    rule(
        holds,
        "offsets ascend from 0 to the end of the values",
        || format!("{len} bytes"),
    )
}

fn compressed(code: u16, bytes: &[u8], len: usize) -> Check {
    let Some(size) = compressed_any(code, bytes)? else {
        return Ok(());
    };
    rule(size == len, "LZ4 states the size of its values", || {
        format!("{size} of {len}")
    })
}

/// Checks compressed bytes, and returns the decompressed size if the bytes contain it.
fn compressed_any(code: u16, bytes: &[u8]) -> Result<Option<usize>, String> {
    if code == 17 {
        return size_at(bytes, 0).map(Some);
    }
    let magic = bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    rule(magic, "ZSTD is a Zstandard frame", || {
        format!("{:?}", bytes.first_chunk::<4>())
    })?;
    // Bits 0 and 1 of the frame header are the length of a dictionary id.
    let named = u8_at(bytes, 4)? & 3;
    rule(named == 0, "Zstandard frames name no dictionary", || {
        format!("{named}")
    })?;
    Ok(None)
}

/// Returns the codes of a region of u32, if they are Plain, FLBitPack or a single value.
fn small_codes(region: &[u8], n: usize) -> Result<Option<Vec<u64>>, String> {
    Ok(match u16_at(region, 0)? {
        1 => Some(words(&region[2..2 + 4 * n], 4)),
        7 => Some(vec![words(&region[2..6], 4)[0]; n]),
        2 => {
            let bits = usize::from(u8_at(region, 2)?);
            let chunks = region[8..].chunks(128 * bits);
            Some(
                chunks
                    .flat_map(|chunk| unpack(chunk, bits))
                    .take(n)
                    .collect(),
            )
        }
        _ => None,
    })
}

/// Unpacks the 1,024 u32 of a chunk: every lane is a stream of bits, and the lanes are interleaved.
fn unpack(chunk: &[u8], bits: usize) -> Vec<u64> {
    const ORDER: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];
    let packed = words(chunk, 4);
    let mut values = vec![0; 1024];
    for row in 0..32 {
        for lane in 0..32 {
            let i = 16 * ORDER[row / 8] + 128 * (row % 8) + lane;
            for bit in 0..bits {
                let q = row * bits + bit;
                let set = packed[32 * (q / 32) + lane] >> (q % 32) & 1;
                values[i] |= set << bit;
            }
        }
    }
    values
}
