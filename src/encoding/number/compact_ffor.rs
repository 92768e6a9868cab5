//! Spec: docs/format.md, "CompactFFOR" (extension of Chapter 7).
//!
//! ```text
//! u16 code = 0x8005 | u8 bit width | u8 size of the reference | reference, its low bytes
//!                   | n differences to the reference of that many bits, one after the other, lowest bits first
//! ```
//! FFOR for few numbers: nothing is padded to 1,024 numbers or to 8 bytes. Unpacking is slower.

use super::super::fields::size32;
use super::packed::width_byte;
use super::{Codec, Context, EncodingCode, Estimate, NumberKind, Request, Stats, View, Word};
use crate::error::{Error, Result};
use crate::kernels::{Slots, key_range};

pub(super) struct CompactFfor;

/// Bytes before the reference.
const HEADER: usize = 4;
/// Nanoseconds to unpack a number: 8,192 numbers of 9 bits take 17 µs.
const COST: f32 = 2.0;

struct Parts<'a, W> {
    width: u32,
    reference: W,
    bits: &'a [u8],
}

fn packed_len(n: usize, width: u32) -> Option<usize> {
    Some(n.checked_mul(width as usize)?.div_ceil(8))
}

fn parse<W: Word>(request: Request<'_>) -> Result<Parts<'_, W>> {
    let Some(([_, _, width, size], rest)) = request.values.split_first_chunk::<HEADER>() else {
        return Err(Error::corrupt(format!(
            "expected {HEADER} bytes of metadata, found {}",
            request.values.len()
        )));
    };
    let (width, size) = (u32::from(*width), usize::from(*size));
    let parts = rest.split_at_checked(size);
    let (Some((low, bits)), true) = (parts, width <= W::BITS && size <= W::BYTES) else {
        return Err(Error::corrupt(format!(
            "expected a bit width of at most {} and a reference of at most {} bytes, found {width} and {size}",
            W::BITS,
            W::BYTES
        )));
    };
    if packed_len(request.n, width) != Some(bits.len()) {
        return Err(Error::corrupt(format!(
            "expected {} numbers of {width} bits, found {} bytes",
            request.n,
            bits.len()
        )));
    }
    let mut reference = [0; 8];
    for (to, byte) in reference.iter_mut().zip(low) {
        *to = *byte;
    }
    Ok(Parts {
        width,
        reference: W::truncate(u64::from_le_bytes(reference)),
        bits,
    })
}

impl<W: Word> Parts<'_, W> {
    /// Unpacks the numbers from `first` on.
    fn unpack(&self, first: usize, dst: &mut [W]) {
        if self.width == 0 {
            return dst.fill(self.reference);
        }
        let width = self.width as usize;
        let mask = u64::MAX >> (64 - self.width);
        for (i, to) in (first..).zip(dst) {
            let bit = i * width;
            let (byte, shift) = (bit / 8, bit % 8);
            let rest = self.bits.get(byte..).unwrap_or_default();
            let (word, next) = match rest.split_first_chunk() {
                Some((word, after)) => (u64::from_le_bytes(*word), after.first()),
                None => (last_word(rest), None),
            };
            let mut value = word >> shift;
            if shift + width > 64 {
                value |= u64::from(next.copied().unwrap_or(0)) << (64 - shift);
            }
            *to = W::truncate(value & mask).plus(self.reference);
        }
    }
}

/// Returns fewer than eight bytes as a word.
fn last_word(bytes: &[u8]) -> u64 {
    let next = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
    bytes.iter().rev().fold(0, next)
}

impl Codec for CompactFfor {
    fn decode<W: Word>(
        request: Request<'_>,
        _cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        parse(request)?.unpack(0, dst.values());
        Ok(())
    }

    fn select<W: Word>(request: Request<'_>, _cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        let parts = parse(request)?;
        let mut rest = dst;
        for range in request.ranges {
            let wanted = std::mem::take(&mut rest).split_at_mut_checked(range.len());
            let Some((now, later)) = wanted else {
                break;
            };
            parts.unpack(range.start, now);
            rest = later;
        }
        Ok(())
    }

    fn view<W: Word>(request: Request<'_>, _cx: &mut Context<'_>) -> Result<View<W>> {
        let parts = parse(request)?;
        Ok(match parts.width {
            0 => View::Constant(parts.reference),
            _ => View::None,
        })
    }
}

/// Returns the bytes of a reference without the zeros at its end.
fn reference_size<W: Word>(reference: W) -> u32 {
    reference.bit_length().div_ceil(8)
}

/// Appends encoded values.
pub(super) fn encode<W: Word>(values: &[W], kind: NumberKind, out: &mut Vec<u8>) -> Result<()> {
    size32(values.len())?;
    let (min, max) = key_range(values, kind);
    let reference = W::from_order_key(min, kind);
    let width = max.minus(min).bit_length();
    let size = reference_size(reference);
    EncodingCode::CompactFfor.begin(out);
    out.extend([width, size].map(width_byte));
    let low = reference.to_u64().to_le_bytes();
    out.extend(low.iter().take(size as usize));
    let (mut word, mut filled) = (0u128, 0);
    for value in values {
        word |= u128::from(value.minus(reference).to_u64()) << filled;
        filled += width;
        while filled >= 8 {
            out.extend(word.to_le_bytes().first());
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.extend(word.to_le_bytes().first());
    }
    Ok(())
}

pub(super) fn estimate<W: Word>(stats: &Stats<W>) -> Option<Estimate> {
    if stats.kind == NumberKind::Float {
        return None;
    }
    let width = stats.max.minus(stats.min).bit_length();
    let decode_cost = if width == 0 { 0.02 } else { COST };
    Some(Estimate {
        bytes: HEADER + reference_size(stats.min) as usize + packed_len(stats.n, width)?,
        decode_cost,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, decode, get, view};
    use super::*;
    use crate::Limits;
    use crate::encoding::Scratch;

    fn with_context<T>(f: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        f(&mut Context::new(&limits, &mut scratch))
    }

    fn encoded(values: &[u64], kind: NumberKind) -> Vec<u8> {
        let mut region = Vec::new();
        super::super::encode(values, kind, &Plan::CompactFfor, &mut region).unwrap();
        region
    }

    #[test]
    fn every_width_takes_its_bits_and_comes_back() {
        for width in 0..=64u32 {
            for n in [1, 7, 8, 9, 100] {
                let noise = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (i << 60);
                let mut values: Vec<u64> = (1..=n)
                    .map(|i| noise(i).checked_shr(64 - width).unwrap_or(0))
                    .collect();
                // The range is that of the width, if there are two values.
                values[0] = 0;
                if let Some(last) = values.get_mut(1) {
                    *last = u64::MAX.checked_shr(64 - width).unwrap_or(0);
                }
                let region = encoded(&values, NumberKind::Unsigned);
                let bits = values.len() * width as usize;
                if n > 9 && width < 60 {
                    assert_eq!(region.len(), 4 + bits.div_ceil(8), "{width}");
                }
                with_context(|cx| {
                    let mut found = vec![9; values.len()];
                    decode(&region, NumberKind::Unsigned, cx, &mut found).unwrap();
                    assert_eq!(found, values, "{width} bits");
                    let kind = NumberKind::Unsigned;
                    for (i, value) in values.iter().enumerate() {
                        let one: u64 = get(&region, kind, values.len(), i, cx).unwrap();
                        assert_eq!(one, *value);
                    }
                });
            }
        }
    }

    #[test]
    fn a_constant_takes_a_few_bytes_and_shows_itself() {
        let region = encoded(&[1000; 400], NumberKind::Signed);
        assert_eq!(region, [5, 0x80, 0, 2, 0xE8, 3]);
        let found = with_context(|cx| view::<u64>(&region, NumberKind::Signed, 400, cx).unwrap());
        assert_eq!(found, View::Constant(1000));
    }

    #[test]
    fn damage_is_an_error() {
        let sound = encoded(&[5, 6, 7, 900], NumberKind::Unsigned);
        assert_eq!(sound.len(), 4 + 1 + 5);
        let decoded = |region: &[u8], n: usize| {
            with_context(|cx| decode(region, NumberKind::Unsigned, cx, &mut vec![0u64; n]))
        };
        assert!(decoded(&sound, 4).is_ok());
        for n in [2, 5] {
            assert!(decoded(&sound, n).is_err(), "{n}");
        }
        for (at, byte) in [(2, 65), (2, 8), (3, 9), (3, 0)] {
            let mut region = sound.clone();
            region[at] = byte;
            assert!(decoded(&region, 4).is_err(), "byte {at}");
        }
        for len in 0..sound.len() {
            assert!(decoded(&sound[..len], 4).is_err(), "{len}");
        }
    }
}
