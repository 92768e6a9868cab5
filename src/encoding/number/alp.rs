//! Spec: Chapter 7, "ALP".
//!
//! ```text
//! u16 code = 12 | u32 integers_size | u16 exceptions | u8 exponent e | u8 factor f | pad to 16
//!               | integers, i32 or i64, encoded | positions, u32 | values
//! ```
//! An integer d represents the float `(d * 10^f) * 10^-e`, computed in the type of the values.
//! Values that no integer represents bit by bit are exceptions.

use super::super::fields::{Fields, pad, split_at, write_sized, write_words};
use super::exceptions::Exceptions;
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Part, Plan, Request, Stats, View,
    Word,
};
use crate::error::{Error, Result};
use crate::kernels::{NEAR_INTEGERS, Slots, scaled_integers};

pub(super) struct Alp;

/// Largest exponents that the encoder tries. The tables go further.
const MAX_EXPONENT_32: u8 = 9;
const MAX_EXPONENT_64: u8 = 17;

const POWERS_32: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
const INVERSES_32: [f32; 11] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10,
];
const POWERS_64: [f64; 24] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23,
];
const INVERSES_64: [f64; 24] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22, 1e-23,
];

/// Conversions for one exponent and factor, on the bits of floats and integers of `W`'s size.
#[derive(Debug, Clone, Copy)]
enum Scale {
    F32 {
        up: f32,
        down: f32,
        factor: f32,
        inverse_factor: f32,
    },
    F64 {
        up: f64,
        down: f64,
        factor: f64,
        inverse_factor: f64,
    },
}

impl Scale {
    fn new(bytes: usize, exponent: u8, factor: u8) -> Option<Self> {
        let (e, f) = (usize::from(exponent), usize::from(factor));
        Some(if bytes == 4 {
            Self::F32 {
                up: *POWERS_32.get(e)?,
                down: *INVERSES_32.get(e)?,
                factor: *POWERS_32.get(f)?,
                inverse_factor: *INVERSES_32.get(f)?,
            }
        } else {
            Self::F64 {
                up: *POWERS_64.get(e)?,
                down: *INVERSES_64.get(e)?,
                factor: *POWERS_64.get(f)?,
                inverse_factor: *INVERSES_64.get(f)?,
            }
        })
    }

    /// Converts integers to floats, both as bits.
    fn decode<W: Word>(self, words: &mut [W]) {
        match self {
            Self::F32 { down, factor, .. } => {
                for w in words {
                    let integer = low32(*w).cast_signed();
                    let float = (integer as f32 * factor) * down;
                    *w = W::truncate(u64::from(float.to_bits()));
                }
            }
            Self::F64 { down, factor, .. } => {
                for w in words {
                    let integer = w.to_u64().cast_signed();
                    let float = (integer as f64 * factor) * down;
                    *w = W::truncate(float.to_bits());
                }
            }
        }
    }

    /// Converts a float to an integer, both as bits.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the format requires saturation"
    )]
    fn encode<W: Word>(self, word: W) -> W {
        match self {
            Self::F32 {
                up, inverse_factor, ..
            } => {
                /// 1.5 * 2^23, for `f32` what [`NEAR_INTEGERS`] is for `f64`.
                const ROUND: f32 = 12_582_912.0;
                let scaled = (f32::from_bits(low32(word)) * up) * inverse_factor;
                let integer = ((scaled + ROUND) - ROUND) as i32;
                W::truncate(u64::from(integer.cast_unsigned()))
            }
            Self::F64 {
                up, inverse_factor, ..
            } => {
                let scaled = (f64::from_bits(word.to_u64()) * up) * inverse_factor;
                let integer = (scaled + NEAR_INTEGERS) - NEAR_INTEGERS;
                W::truncate((integer as i64).cast_unsigned())
            }
        }
    }

    /// Converts floats to integers, if all of the integers restore their floats bit by bit and a fast loop can show
    /// it. Returns whether it did.
    fn encode_all<W: Word>(self, words: &[W], integers: &mut [W]) -> bool {
        match self {
            Self::F32 { .. } => false,
            Self::F64 {
                up,
                down,
                factor,
                inverse_factor,
            } => scaled_integers(words, [[up, inverse_factor], [factor, down]], integers),
        }
    }

    /// Converts a float to an integer. Returns also whether the integer restores the float bit by bit.
    fn try_encode<W: Word>(self, word: W) -> (W, bool) {
        let integer = self.encode(word);
        let mut back = [integer];
        self.decode(&mut back);
        (integer, back == [word])
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the caller needs only the low half"
)]
fn low32<W: Word>(word: W) -> u32 {
    word.to_u64() as u32
}

struct Parts<'a> {
    scale: Scale,
    integers: Part<'a>,
    exceptions: Exceptions<'a>,
}

fn parse<W: Word>(request: Request<'_>) -> Result<Parts<'_>> {
    let Request { values, n, .. } = request;
    let (mut fields, payload) = Fields::split(values, 8)?;
    let size = fields.size()?;
    let count = usize::from(fields.u16()?);
    let (exponent, factor) = (fields.u8()?, fields.u8()?);
    let scale = Scale::new(W::BYTES, exponent, factor).ok_or_else(|| {
        Error::corrupt(format!(
            "exponent {exponent} or factor {factor} exceeds the tables"
        ))
    })?;
    if count > n {
        return Err(Error::corrupt(format!(
            "{count} exceptions in a block of {n} values"
        )));
    }
    let (integers, rest) = split_at(payload, size, "integers")?;
    Ok(Parts {
        scale,
        integers: Part::region(integers, NumberKind::Signed, n),
        exceptions: Exceptions::split::<W>(rest, count)?,
    })
}

impl Codec for Alp {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let parts = parse::<W>(request)?;
        parts.integers.fill(cx, dst)?;
        let dst = dst.values();
        parts.scale.decode(dst);
        parts.exceptions.patch(request, cx, dst)
    }

    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        let parts = parse::<W>(request)?;
        parts.integers.select(request.ranges, cx, dst)?;
        parts.scale.decode(dst);
        parts.exceptions.patch(request, cx, dst)
    }

    fn view<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<View<W>> {
        let parts = parse::<W>(request)?;
        if parts.exceptions.count > 0 {
            return Ok(View::None);
        }
        let integers = parts.integers.view::<W>(cx)?;
        Ok(integers.map(|values| parts.scale.decode(values)))
    }

    fn children<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        parse::<W>(request)?.integers.children::<W>("integers", cx)
    }
}

/// Number of values from which exponent and factor are chosen.
const TRIED: usize = 32;
/// Values that are tried at a time.
const AT_A_TIME: usize = 8;
/// Number of values that are converted together. Only groups with exceptions are converted one by one.
const GROUP: usize = 64;

/// Chooses the exponent and factor with the smallest expected size, judged by some of the values.
fn choose<W: Word>(values: &[W]) -> (u8, u8) {
    let step = values.len().div_ceil(TRIED).max(1);
    let some: Vec<W> = values.iter().step_by(step).copied().collect();
    let largest = if W::BYTES == 4 {
        MAX_EXPONENT_32
    } else {
        MAX_EXPONENT_64
    };
    let mut best = ScaleCost::NONE;
    let mut pair = (0, 0);
    // Fewer digits after the decimal point make narrower integers.
    for digits in 0..=largest {
        let scale = |exponent| Scale::new(W::BYTES, exponent, exponent - digits);
        // A large exponent may be too large for the values, and a small one may lose their last bits.
        let few = &some[..some.len().min(AT_A_TIME)];
        let suits =
            |exponent| scale(exponent).and_then(|scale| ScaleCost::of(few, scale, u64::MAX));
        let probes = [largest, digits.midpoint(largest), digits];
        if !probes.into_iter().any(|exponent| suits(exponent).is_some()) {
            continue;
        }
        for exponent in (digits..=largest).rev().filter(|&e| digits > 0 || e == 0) {
            if let Some(fit) =
                scale(exponent).and_then(|scale| ScaleCost::of(&some, scale, best.bits))
            {
                (best, pair) = (fit, (exponent, exponent - digits));
                // Other exponents result in the same integers.
                if fit.exceptions == 0 {
                    break;
                }
            }
        }
        if best.exceptions == 0 {
            break;
        }
    }
    pair
}

/// Size of some values with a given scale.
#[derive(Debug, Clone, Copy)]
struct ScaleCost {
    bits: u64,
    exceptions: u64,
}

impl ScaleCost {
    const NONE: Self = Self {
        bits: u64::MAX,
        exceptions: u64::MAX,
    };

    /// Returns `None` if the values take `limit` bits or more, or if the first few are all exceptions.
    fn of<W: Word>(values: &[W], scale: Scale, limit: u64) -> Option<Self> {
        let (mut low, mut high, mut exceptions) = (W::MAX, W::ZERO, 0u64);
        let mut bits = 0;
        for (i, some) in values.chunks(AT_A_TIME).enumerate() {
            for &v in some {
                let (integer, exact) = scale.try_encode(v);
                if exact {
                    let key = integer.order_key(NumberKind::Signed);
                    low = low.min(key);
                    high = high.max(key);
                } else {
                    exceptions += 1;
                }
            }
            let width = if low > high {
                0
            } else {
                u64::from(high.minus(low).bit_length())
            };
            bits = width * values.len() as u64 + exceptions * (32 + u64::from(W::BITS));
            if bits >= limit || (i == 0 && exceptions == AT_A_TIME as u64) {
                return None;
            }
        }
        Some(Self { bits, exceptions })
    }
}

/// Returns integers for all values, and the positions and values of the exceptions. An exception gets the
/// integer of another value, so that it does not widen the range.
fn split<W: Word>(values: &[W], scale: Scale) -> (Vec<W>, Vec<u32>, Vec<W>) {
    let (mut positions, mut exceptions) = (Vec::new(), Vec::new());
    let mut integers = vec![W::ZERO; values.len()];
    let groups = values.chunks(GROUP).zip(integers.chunks_mut(GROUP));
    for (start, (values, integers)) in (0u32..).step_by(GROUP).zip(groups) {
        if scale.encode_all(values, integers) {
            continue;
        }
        for ((position, &v), integer) in (start..).zip(values).zip(integers) {
            let (encoded, exact) = scale.try_encode(v);
            *integer = encoded;
            if !exact {
                positions.push(position);
                exceptions.push(v);
            }
        }
    }
    if !positions.is_empty() {
        let first_exact = (0..).zip(&positions).find(|(i, position)| i != *position);
        let first_exact = first_exact.map_or(positions.len(), |(i, _)| i as usize);
        let filler = integers.get(first_exact).copied().unwrap_or(W::ZERO);
        for &position in &positions {
            integers[position as usize] = filler;
        }
    }
    (integers, positions, exceptions)
}

/// Appends encoded floats. Returns false and appends nothing if there are too many exceptions.
pub(super) fn encode<W: Word>(values: &[W], nested: &Plan, out: &mut Vec<u8>) -> Result<bool> {
    let (exponent, factor) = choose(values);
    let Some(scale) = Scale::new(W::BYTES, exponent, factor) else {
        return Ok(false);
    };
    let (integers, positions, exceptions) = split(values, scale);
    let Ok(count) = u16::try_from(positions.len()) else {
        return Ok(false);
    };
    let start = EncodingCode::Alp.begin(out);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&count.to_le_bytes());
    out.extend([exponent, factor]);
    pad(out, start);
    write_sized(out, start + 2, |out| {
        super::encode(&integers, NumberKind::Signed, nested, out)
    })?;
    write_words(&positions, out);
    write_words(&exceptions, out);
    Ok(true)
}

pub(super) fn estimate<W: Word>(nested: &Plan, stats: &Stats<W>) -> Option<Estimate> {
    if !EncodingCode::Alp.suits_numbers(stats.kind, W::BYTES) {
        return None;
    }
    let (exponent, factor) = choose(stats.sample());
    let scale = Scale::new(W::BYTES, exponent, factor)?;
    let mut count = 0;
    let integers = stats.derive(NumberKind::Signed, stats.n, |sample| {
        let (integers, positions, _) = split(sample, scale);
        count = positions.len();
        integers
    });
    let nested = nested.estimate(&integers)?;
    let exceptions = stats.scale_up(count);
    u16::try_from(exceptions).ok()?;
    Some(Estimate {
        bytes: 16 + nested.bytes + exceptions * (4 + W::BYTES),
        decode_cost: nested.decode_cost + 0.4,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::encoding::Scratch;

    #[test]
    fn the_example_of_the_format_decodes() {
        let bytes = [
            vec![0x0c, 0, 0x22, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0],
            [0x96i64, 0xe1, 0x96, 0x12c]
                .iter()
                .flat_map(|v| v.to_le_bytes())
                .collect(),
            vec![2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
        ]
        .concat();
        assert_eq!(bytes.len(), 62);
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let mut cx = Context::new(&limits, &mut scratch);
        let mut dst = [0u64; 4];
        crate::encoding::number::decode(&bytes, NumberKind::Float, &mut cx, &mut dst).unwrap();
        let nan = f64::from_bits(0x7ff8_0000_0000_0000);
        assert_eq!(dst, [1.5, 2.25, nan, 3.0].map(f64::to_bits));
    }

    #[test]
    fn decimals_have_no_exceptions_and_odd_floats_are_all_exceptions() {
        let cents: Vec<u64> = (0..2000)
            .map(|i| (f64::from(i) / 100.0).to_bits())
            .collect();
        let (e, f) = choose(&cents);
        let (_, positions, _) = split(&cents, Scale::new(8, e, f).unwrap());
        assert!(
            positions.len() < 5,
            "{} exceptions with {e}, {f}",
            positions.len()
        );
        let odd = [f64::NAN, -0.0, f64::INFINITY, 1e300, 5e-324].map(f64::to_bits);
        for e in 0..24 {
            let scale = Scale::new(8, e, 0).unwrap();
            assert!(odd.iter().all(|v| !scale.try_encode(*v).1));
        }
    }

    #[test]
    fn splitting_in_groups_is_splitting_one_by_one() {
        let far = 2f64.powi(51);
        let odd = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            0.1 + 0.2,
            1e300,
            5e-324,
            far,
            -far,
            far - 0.5,
            far + 1.0,
            2f64.powi(53) + 2.0,
            -1e18,
        ];
        for exceptions in [0, 1, 40] {
            let values: Vec<u64> = (0..3 * GROUP + 5)
                .map(|i| match i * 31 % 97 {
                    near if near < exceptions => odd[i % odd.len()],
                    _ => (i as f64 - 70.0) / 100.0,
                })
                .map(f64::to_bits)
                .collect();
            for (exponent, factor) in [(0, 0), (2, 0), (14, 12), (18, 16), (23, 0)] {
                let scale = Scale::new(8, exponent, factor).unwrap();
                let (integers, positions, found) = split(&values, scale);
                let encoded: Vec<(u64, bool)> =
                    values.iter().map(|&v| scale.try_encode(v)).collect();
                let filler = encoded.iter().find(|(_, exact)| *exact);
                let filler = filler.map_or(0, |(integer, _)| *integer);
                let expected = encoded
                    .iter()
                    .map(|&(integer, exact)| if exact { integer } else { filler });
                assert!(expected.eq(integers), "{exceptions} {exponent} {factor}");
                let inexact: Vec<u32> = (0..)
                    .zip(&encoded)
                    .filter_map(|(i, (_, exact))| (!exact).then_some(i))
                    .collect();
                assert_eq!(positions, inexact);
                assert!(inexact.iter().map(|&i| values[i as usize]).eq(found));
            }
        }
    }
}
