//! Spec: docs/format.md, "PatchedFFOR" (extension of Chapter 7).
//!
//! ```text
//! u16 code = 0x8002 | u8 bit width | u8 0 | u32 exceptions | reference | pad to 8
//!                   | differences to the reference, bit-packed; nothing for width 0
//!                   | positions of the exceptions, u32 | their values
//! ```
//! Like FFOR, but values far from the others are stored separately and do not widen the rest.

use super::super::fields::{Fields, pad, size32, split_at, write_word, write_words};
use super::exceptions::Exceptions;
use super::packed::{Packed, packed_bytes, width_byte, write_chunks};
use super::{
    Codec, Context, EncodingCode, Estimate, NumberKind, Request, Stats, Word, single_value,
};
use crate::error::{Error, Result};
use crate::kernels::Slots;

pub(super) struct PatchedFfor;

struct Parts<'a, W> {
    width: u8,
    reference: W,
    chunks: &'a [u8],
    exceptions: Exceptions<'a>,
}

fn parse<W: Word>(request: Request<'_>) -> Result<Parts<'_, W>> {
    let Request { values, n, .. } = request;
    let (mut fields, payload) = Fields::split(values, 6 + W::BYTES)?;
    let width = fields.u8()?;
    let reserved = fields.u8()?;
    let count = fields.size()?;
    let reference = fields.word()?;
    if reserved != 0 || count > n {
        return Err(Error::corrupt(format!(
            "expected a byte of 0 and at most {n} exceptions, found {reserved} and {count}"
        )));
    }
    if u32::from(width) > W::BITS {
        return Err(Error::corrupt(format!(
            "expected a bit width of at most {}, found {width}",
            W::BITS
        )));
    }
    let size = packed_bytes(n, width.into());
    let (chunks, rest) = split_at(payload, size, "packed values")?;
    let (positions, values) = split_at(rest, count.saturating_mul(4), "positions")?;
    Ok(Parts {
        width,
        reference,
        chunks,
        exceptions: Exceptions {
            count,
            positions,
            values,
        },
    })
}

impl<'a, W: Word> Parts<'a, W> {
    /// Returns the packed differences, or `None` if all of them are 0.
    fn packed(&self, n: usize) -> Result<Option<Packed<'a, W>>> {
        match self.width {
            0 => Ok(None),
            width => Packed::try_new(self.chunks, width, self.reference, n).map(Some),
        }
    }
}

impl Codec for PatchedFfor {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let parts = parse(request)?;
        match parts.packed(request.n)? {
            None => dst.fill(parts.reference),
            Some(packed) => packed.decode(dst)?,
        }
        parts.exceptions.patch(request, cx, dst.values())
    }

    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        let parts = parse(request)?;
        match parts.packed(request.n)? {
            None => dst.fill(parts.reference),
            Some(packed) => packed.select(request.ranges, dst),
        }
        parts.exceptions.patch(request, cx, dst)
    }
}

/// Number of values from which reference and width are chosen.
const TRIED: usize = 512;

/// A range of values, and the number of values outside of it.
struct Frame<W> {
    reference: W,
    width: u32,
    /// Number of values outside.
    exceptions: usize,
}

/// Chooses the frame with the smallest size for `n` values like these.
fn choose<W: Word>(values: &[W], kind: NumberKind, n: usize) -> Frame<W> {
    let step = values.len().div_ceil(TRIED).max(1);
    let mut keys: Vec<W> = values
        .iter()
        .step_by(step)
        .map(|v| v.order_key(kind))
        .collect();
    keys.sort_unstable();
    let all = match (keys.first(), keys.last()) {
        (Some(least), Some(greatest)) => greatest.minus(*least).bit_length(),
        _ => 0,
    };
    let least = keys.first().copied().unwrap_or(W::ZERO);
    let mut best = Frame {
        reference: W::from_order_key(least, kind),
        width: all,
        exceptions: 0,
    };
    let mut best_size = packed_bytes(n, all);
    for width in (0..all).rev() {
        // The longest stretch of sorted keys that fits the width.
        let (mut low, mut most, mut from) = (0, 0, W::ZERO);
        for (high, key) in keys.iter().enumerate() {
            while keys
                .get(low)
                .is_some_and(|least| key.minus(*least).bit_length() > width)
            {
                low += 1;
            }
            if high + 1 - low > most {
                most = high + 1 - low;
                from = keys.get(low).copied().unwrap_or(W::ZERO);
            }
        }
        let outside = (keys.len() - most) * n / keys.len().max(1);
        let apart = outside.saturating_mul(4 + W::BYTES);
        // A narrower frame has at least as many exceptions.
        if apart >= best_size {
            break;
        }
        let size = packed_bytes(n, width) + apart;
        if size < best_size {
            best_size = size;
            best = Frame {
                reference: W::from_order_key(from, kind),
                width,
                exceptions: outside,
            };
        }
    }
    best
}

/// Appends encoded values. There must be at least one.
pub(super) fn encode<W: Word>(values: &[W], kind: NumberKind, out: &mut Vec<u8>) -> Result<()> {
    let Frame {
        reference, width, ..
    } = choose(values, kind, values.len());
    let (mut positions, mut exceptions) = (Vec::new(), Vec::new());
    let mut inside = Vec::with_capacity(values.len());
    for (i, &v) in (0u32..).zip(values) {
        let fits = v.minus(reference).bit_length() <= width;
        if !fits {
            positions.push(i);
            exceptions.push(v);
        }
        inside.push(if fits { v } else { reference });
    }
    let start = EncodingCode::PatchedFfor.begin(out);
    out.extend([width_byte(width), 0]);
    out.extend_from_slice(&size32(positions.len())?.to_le_bytes());
    write_word(reference, out);
    pad(out, start);
    if width > 0 {
        write_chunks(&inside, width, reference, out);
    }
    write_words(&positions, out);
    write_words(&exceptions, out);
    Ok(())
}

pub(super) fn estimate<W: Word>(stats: &Stats<W>) -> Option<Estimate> {
    if stats.kind == NumberKind::Float {
        return None;
    }
    let frame = choose(stats.sample(), stats.kind, stats.n);
    if frame.exceptions == 0 {
        // FFOR does just as well.
        return single_value::estimate(stats);
    }
    let packed = packed_bytes(stats.n, frame.width);
    let share = super::ratio(frame.exceptions, stats.n);
    Some(Estimate {
        bytes: (8 + W::BYTES).next_multiple_of(8) + packed + frame.exceptions * (4 + W::BYTES),
        decode_cost: 0.12 + 1.5 * share,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, decode, decode_selected, encode};
    use super::*;
    use crate::Limits;
    use crate::encoding::Scratch;

    #[test]
    fn outliers_on_both_sides_do_not_widen_the_rest() {
        let mut values: Vec<u64> = (0..5000).map(|i| 1_000_000 + i * 37 % 200).collect();
        for (i, v) in [(7, 0), (1024, u64::MAX), (4999, 1 << 40)] {
            values[i] = v;
        }
        let mut region = Vec::new();
        encode(
            &values,
            NumberKind::Unsigned,
            &Plan::PatchedFfor,
            &mut region,
        )
        .unwrap();
        assert_eq!(region.len(), 16 + 5 * 1024 + 3 * 12);
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let mut cx = Context::new(&limits, &mut scratch);
        let mut found = vec![0; values.len()];
        decode(&region, NumberKind::Unsigned, &mut cx, &mut found).unwrap();
        assert_eq!(found, values);
        let mut some = [0u64; 4];
        let ranges = [6..8, 1024..1025, 4999..5000];
        decode_selected(
            &region,
            NumberKind::Unsigned,
            5000,
            &ranges,
            &mut cx,
            &mut some,
        )
        .unwrap();
        assert_eq!(some, [values[6], 0, u64::MAX, 1 << 40]);
    }

    #[test]
    fn damage_is_an_error() {
        let mut values = vec![9u32; 3000];
        values[2000] = 1;
        let mut sound = Vec::new();
        encode(
            &values,
            NumberKind::Unsigned,
            &Plan::PatchedFfor,
            &mut sound,
        )
        .unwrap();
        assert_eq!(sound.len(), 16 + 8, "width 0");
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let mut cx = Context::new(&limits, &mut scratch);
        for (at, byte) in [(2, 33), (2, 1), (3, 1), (4, 2), (18, 99)] {
            let mut region = sound.clone();
            region[at] = byte;
            let mut found = vec![0u32; 3000];
            assert!(
                decode(&region, NumberKind::Unsigned, &mut cx, &mut found).is_err(),
                "byte {at}"
            );
        }
    }
}
