//! Loops over words: extremes, runs, gathering, expansion, presence bits.

use super::fresh_memory::append_bytes;
use super::{NumberKind, Word, dispatch};
use arrow_buffer::MutableBuffer;
use std::mem::MaybeUninit;
use std::ops::BitOr;

#[inline(always)]
fn key_range_body<W: Word>(values: &[W], kind: NumberKind) -> (W, W) {
    let (mut min, mut max) = (W::MAX, W::ZERO);
    match kind {
        NumberKind::Unsigned => {
            for &v in values {
                min = min.min(v);
                max = max.max(v);
            }
        }
        NumberKind::Signed => {
            for &v in values {
                let key = v.order_key(NumberKind::Signed);
                min = min.min(key);
                max = max.max(key);
            }
        }
        NumberKind::Float => {
            for &v in values {
                let key = v.order_key(NumberKind::Float);
                min = min.min(key);
                max = max.max(key);
            }
        }
    }
    (min, max)
}

#[inline(always)]
fn step_range_body<W: Word>(values: &[W], kind: NumberKind) -> (W, W) {
    let (mut min, mut max) = (W::MAX, W::ZERO);
    for (next, v) in values.iter().skip(1).zip(values) {
        let key = next.minus(*v).order_key(kind);
        min = min.min(key);
        max = max.max(key);
    }
    (min, max)
}

/// 1.5 * 2^52. The floats next to it are integers, and their lowest bits are the distance to it.
pub(crate) const NEAR_INTEGERS: f64 = 6_755_399_441_055_744.0;
/// Bound of the absolute values that can be rounded with [`NEAR_INTEGERS`]: 2^51.
const FAR: f64 = 2_251_799_813_685_248.0;

#[inline(always)]
fn scaled_integers_body<W: Word>(values: &[W], scale: [[f64; 2]; 2], dst: &mut [W]) -> bool {
    let [up, down] = scale;
    let (mut differ, mut is_near) = (0, true);
    for (d, &v) in dst.iter_mut().zip(values) {
        let scaled = (f64::from_bits(v.to_u64()) * up[0]) * up[1];
        let moved = scaled + NEAR_INTEGERS;
        let back = ((moved - NEAR_INTEGERS) * down[0]) * down[1];
        differ |= back.to_bits() ^ v.to_u64();
        // An infinity or NaN may compare equal bit by bit, but is not near.
        is_near &= scaled.abs() < FAR;
        *d = W::truncate(moved.to_bits().wrapping_sub(NEAR_INTEGERS.to_bits()));
    }
    differ == 0 && is_near
}

#[inline(always)]
fn count_runs_body<W: Word>(values: &[W]) -> usize {
    let boundaries = values.windows(2).filter(|w| w[0] != w[1]).count();
    boundaries + usize::from(!values.is_empty())
}

#[inline(always)]
fn within_body<W: Word>(values: &[W], low: W, span: W, bits: &mut [u64]) {
    let bit = |(i, v): (usize, &W)| u64::from(v.minus(low) <= span) << i;
    let (chunks, rest) = values.as_chunks::<64>();
    let mut bits = bits.iter_mut();
    for (chunk, bits) in chunks.iter().zip(&mut bits) {
        *bits = chunk
            .iter()
            .enumerate()
            .map(bit)
            .fold(0, u64::bitor)
            .to_le();
    }
    if let Some(bits) = bits.next() {
        *bits = rest.iter().enumerate().map(bit).fold(0, u64::bitor).to_le();
    }
}

#[inline(always)]
fn within_pairs_body<W: Word>(values: &[[W; 2]], low: [W; 2], span: [W; 2], bits: &mut [u64]) {
    let bit = |(i, [l, h]): (usize, &[W; 2])| {
        let borrow = if *l < low[0] { W::ONE } else { W::ZERO };
        let (l, h) = (l.minus(low[0]), h.minus(low[1]).minus(borrow));
        u64::from((h < span[1]) | (h == span[1]) & (l <= span[0])) << i
    };
    for (chunk, bits) in values.chunks(64).zip(bits) {
        *bits = chunk
            .iter()
            .enumerate()
            .map(bit)
            .fold(0, u64::bitor)
            .to_le();
    }
}

#[inline(always)]
fn add_body<W: Word>(values: &mut [W], reference: W) {
    for v in values {
        *v = v.plus(reference);
    }
}

#[inline(always)]
fn un_zig_zag_body<W: Word>(values: &mut [W]) {
    for v in values {
        *v = (*v >> 1) ^ W::ZERO.minus(*v & W::ONE);
    }
}

dispatch! {
    /// Returns the smallest and largest [`order_key`](Word::order_key), `(MAX, 0)` for no values.
    pub(crate) fn key_range<W: Word>(values: &[W], kind: NumberKind) -> (W, W) = key_range_body;
}

dispatch! {
    /// Returns the smallest and largest [`order_key`](Word::order_key) of the differences of neighbors,
    /// modulo 2^`BITS`; `(MAX, 0)` for fewer than two values.
    pub(crate) fn step_range<W: Word>(values: &[W], kind: NumberKind) -> (W, W) = step_range_body;
}

dispatch! {
    /// Multiplies doubles, passed as bits, by both factors `scale[0]` and rounds them to integers. Returns
    /// whether the integers times both factors `scale[1]` are the same doubles bit by bit. If not, `dst` is
    /// meaningless.
    pub(crate) fn scaled_integers<W: Word>(values: &[W], scale: [[f64; 2]; 2], dst: &mut [W]) -> bool = scaled_integers_body;
}

dispatch! {
    /// Returns the number of maximal runs of equal values.
    pub(crate) fn count_runs<W: Word>(values: &[W]) -> usize = count_runs_body;
}

dispatch! {
    /// Tests which values less `low`, modulo 2^`BITS`, are at most `span`. Writes a bit for each, the first one
    /// lowest.
    pub(crate) fn within<W: Word>(values: &[W], low: W, span: W, bits: &mut [u64]) = within_body;
}

dispatch! {
    /// Tests which two-word integers less `low` are at most `span`, as [`within`] does. The lower word comes first.
    fn within_pairs<W: Word>(values: &[[W; 2]], low: [W; 2], span: [W; 2], bits: &mut [u64]) = within_pairs_body;
}

/// Tests which 128-bit integers less `low` are at most `span`. Returns a bit for each, the first one lowest.
pub(crate) fn within_wide(values: &[i128], low: i128, span: u128) -> Vec<u64> {
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    let halves = |wide: u128| [wide as u64, (wide >> 64) as u64];
    let mut bits = vec![0; values.len().div_ceil(64)];
    let mut pairs = [[0; 2]; 64];
    for (values, bits) in values.chunks(64).zip(bits.iter_mut()) {
        for (pair, value) in pairs.iter_mut().zip(values) {
            *pair = halves(value.cast_unsigned());
        }
        let pairs = pairs.get(..values.len()).unwrap_or_default();
        within_pairs(
            pairs,
            halves(low.cast_unsigned()),
            halves(span),
            std::slice::from_mut(bits),
        );
    }
    bits
}

#[inline(always)]
fn join_lefts_body<W: Word>(codes: &[u16], lefts: &[W; 8], dst: &mut [W]) -> (u16, W) {
    let (mut largest, mut rights) = (0, W::ZERO);
    for (d, &code) in dst.iter_mut().zip(codes) {
        largest = largest.max(code);
        rights = rights | *d;
        *d = *d | lefts[usize::from(code & 7)];
    }
    (largest, rights)
}

dispatch! {
    /// Sets the bits of `lefts[code % 8]` in each word. Returns the largest code, and all bits that were set
    /// in any word before.
    pub(crate) fn join_lefts<W: Word>(codes: &[u16], lefts: &[W; 8], dst: &mut [W]) -> (u16, W) = join_lefts_body;
}

dispatch! {
    /// Adds `reference` to every value, modulo 2^`BITS`.
    pub(crate) fn add<W: Word>(values: &mut [W], reference: W) = add_body;
}

dispatch! {
    /// Undoes ZigZag in place.
    pub(crate) fn un_zig_zag<W: Word>(values: &mut [W]) = un_zig_zag_body;
}

#[inline(always)]
fn join_halves_body<W: Word>(high: &[W], low: &[W], dst: &mut [MaybeUninit<[W::Bytes; 2]>]) {
    for ((pair, &h), &l) in dst.iter_mut().zip(high).zip(low) {
        pair.write([l.to_le(), h.minus(l >> (W::BITS - 1)).to_le()]);
    }
}

dispatch! {
    /// Writes pairs of halves, until one of the slices ends.
    fn join_halves<W: Word>(high: &[W], low: &[W], dst: &mut [MaybeUninit<[W::Bytes; 2]>]) = join_halves_body;
}

/// Appends `high * 2^BITS + low` for each pair of signed halves, little-endian and twice as wide as a half.
pub(crate) fn append_halves<W: Word>(high: &[W], low: &[W], values: &mut MutableBuffer) {
    let count = high.len().min(low.len());
    let write = |places: &mut [MaybeUninit<u8>]| {
        // SAFETY: the memory is `count` pairs of byte arrays, which need no alignment.
        let pairs = unsafe { std::slice::from_raw_parts_mut(places.as_mut_ptr().cast(), count) };
        join_halves::<W>(high, low, pairs);
        places.len()
    };
    // SAFETY: both slices have at least `count` halves, so that all pairs are written.
    unsafe { append_bytes(values, count * 2 * W::BYTES, write) };
}

#[inline(always)]
fn sign_extend_body<W: Word, U: Word>(narrow: &[U], dst: &mut [W]) {
    let up = W::BITS - U::BITS;
    let sign = W::SIGN >> up;
    for (d, &v) in dst.iter_mut().zip(narrow) {
        *d = (W::truncate(v.to_u64()) ^ sign).minus(sign);
    }
}

/// Widens values in two's complement.
pub(crate) fn sign_extend<W: Word, U: Word>(narrow: &[U], dst: &mut [W]) {
    sign_extend_body(narrow, dst);
}

/// Sets `dst[i]` to `entries[codes[i]]`. Returns false and writes nothing if a code has no entry, or if the
/// number of codes is not `dst.len()`.
#[must_use]
pub(super) fn gather_places<W: Word>(
    codes: &[u32],
    entries: &[W],
    dst: &mut [MaybeUninit<W>],
) -> bool {
    if !codes_below(codes, entries.len()) || codes.len() != dst.len() {
        return false;
    }
    for (d, &code) in dst.iter_mut().zip(codes) {
        // SAFETY: every code was just checked to be below the number of entries.
        d.write(unsafe { *entries.get_unchecked(code as usize) });
    }
    true
}

/// Returns whether every code is below `len`.
#[must_use]
pub(crate) fn codes_below(codes: &[u32], len: usize) -> bool {
    codes.is_empty() || (key_range(codes, NumberKind::Unsigned).1 as usize) < len
}

#[inline(always)]
fn expand_runs_body<W: Word>(values: &[W], lengths: &[u32], dst: &mut [W]) -> bool {
    // 64 bytes are one to four stores. More would cost short runs more than they save for long ones.
    if W::BYTES == 8 {
        expand_short_runs::<W, 8>(values, lengths, dst)
    } else {
        expand_short_runs::<W, 16>(values, lengths, dst)
    }
}

/// Writes runs of up to `SHORT` values with stores of a fixed size.
#[inline(always)]
fn expand_short_runs<W: Word, const SHORT: usize>(
    values: &[W],
    lengths: &[u32],
    dst: &mut [W],
) -> bool {
    let mut at = 0usize;
    for (&value, &length) in values.iter().zip(lengths) {
        let length = length as usize;
        if length == 0 || length > dst.len() - at {
            return false;
        }
        let rest = &mut dst[at..];
        match rest.first_chunk_mut::<SHORT>() {
            // The next runs overwrite the excess.
            Some(short) if length <= SHORT => *short = [value; SHORT],
            _ => rest[..length].fill(value),
        }
        at += length;
    }
    at == dst.len()
}

dispatch! {
    /// Repeats each value by its length. Returns false if the sum of the lengths is not the number of values of
    /// `dst`, or if a length is 0.
    #[must_use]
    pub(crate) fn expand_runs<W: Word>(values: &[W], lengths: &[u32], dst: &mut [W]) -> bool = expand_runs_body;
}

/// Calls `word` with up to 64 presence bits at a time and their number. A byte other than 0 is a 1.
pub(crate) fn bits_of_bytes(bytes: &[u8], mut word: impl FnMut(u64, usize)) {
    /// Returns a bit for each byte of `x`, byte 0 lowest.
    #[inline(always)]
    fn bits(x: u64) -> u64 {
        const LOW7: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let ones = ((((x & LOW7) + LOW7) | x) & !LOW7) >> 7;
        ones.wrapping_mul(GATHER) >> 56
    }
    let (blocks, rest) = bytes.as_chunks::<64>();
    for block in blocks {
        let mut all = 0;
        for (i, eight) in block.as_chunks::<8>().0.iter().enumerate() {
            all |= bits(u64::from_le_bytes(*eight)) << (8 * i);
        }
        word(all, 64);
    }
    if !rest.is_empty() {
        let all = rest
            .iter()
            .enumerate()
            .fold(0, |all, (i, &b)| all | (u64::from(b != 0) << i));
        word(all, rest.len());
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpu::tests::{STEP, at_every_level};
    use super::super::slots::Slots;
    use super::*;
    use proptest::prelude::*;

    /// Compares the loops with their definitions, value by value.
    fn agrees_with_the_formulas<W: Word>(values: &[W], low: W, span: W) {
        let least_and_greatest = |keys: &mut dyn Iterator<Item = W>| {
            let keys: Vec<W> = keys.collect();
            let (min, max) = (keys.iter().min(), keys.iter().max());
            (*min.unwrap_or(&W::MAX), *max.unwrap_or(&W::ZERO))
        };
        let neighbors = || values.windows(2).map(|pair| (pair[0], pair[1]));
        for kind in [NumberKind::Unsigned, NumberKind::Signed, NumberKind::Float] {
            let mut keys = values.iter().map(|v| v.order_key(kind));
            assert_eq!(key_range(values, kind), least_and_greatest(&mut keys));
            let mut steps = neighbors().map(|(a, b)| b.minus(a).order_key(kind));
            assert_eq!(step_range(values, kind), least_and_greatest(&mut steps));
        }
        let borders = neighbors().filter(|(a, b)| a != b).count();
        assert_eq!(
            count_runs(values),
            borders + usize::from(!values.is_empty())
        );

        let mut bits = vec![7; values.len().div_ceil(64)];
        within(values, low, span, &mut bits);
        for (i, v) in values.iter().enumerate() {
            let bit = u64::from_le(bits[i / 64]) >> (i % 64) & 1;
            assert_eq!(bit == 1, v.minus(low) <= span, "value {i}");
        }

        let signed = |v: W| (i128::from(v.to_u64()) << (128 - W::BITS)) >> (128 - W::BITS);
        let mut done = values.to_vec();
        un_zig_zag(&mut done);
        for (d, v) in done.iter().zip(values) {
            let (half, odd) = (i128::from(v.to_u64() / 2), v.to_u64() % 2);
            assert_eq!(signed(*d), if odd == 1 { -half - 1 } else { half });
        }
        add(&mut done, low);
        let sums = done.iter().zip(values);
        sums.for_each(|(d, v)| {
            let mut one = [*v];
            un_zig_zag(&mut one);
            assert_eq!(*d, one[0].plus(low));
        });

        let before = done.clone();
        let codes: Vec<u16> = (0..9).cycle().take(values.len()).collect();
        let lefts = std::array::from_fn(|i| W::truncate(i as u64) << (W::BITS - 3));
        let (largest, rights) = join_lefts(&codes, &lefts, &mut done);
        assert_eq!(largest, codes.iter().copied().max().unwrap_or(0));
        assert_eq!(rights, before.iter().fold(W::ZERO, |all, v| all | *v));
        for ((d, b), code) in done.iter().zip(&before).zip(&codes) {
            assert_eq!(*d, *b | lefts[usize::from(code % 8)]);
        }

        let mut wide = MutableBuffer::new(0);
        append_halves(values, &done, &mut wide);
        for ((pair, high), low) in wide.chunks(2 * W::BYTES).zip(values).zip(&done) {
            let whole = (signed(*high) << W::BITS).wrapping_add(signed(*low));
            assert_eq!(*pair, whole.to_le_bytes()[..2 * W::BYTES]);
        }
    }

    /// Long enough for many vectors.
    const MAX_LEN: usize = 1500 / STEP;

    /// Generates vectors of up to that length.
    fn many<T: Arbitrary + 'static>() -> impl Strategy<Value = Vec<T>> {
        prop::collection::vec(any::<T>(), 0..MAX_LEN)
    }

    proptest! {
        #[test]
        fn every_level_computes_what_is_said(
            bytes in many::<u8>(),
            words in many::<u16>(),
            singles in many::<u32>(),
            doubles in many::<u64>(),
            decimals in prop::collection::vec(-1_000_000i64..1_000_000, 0..MAX_LEN),
            low: u64,
            span: u64,
        ) {
            at_every_level(|| {
                agrees_with_the_formulas(&bytes, Word::truncate(low), Word::truncate(span));
                agrees_with_the_formulas(&words, Word::truncate(low), Word::truncate(span));
                agrees_with_the_formulas(&singles, Word::truncate(low), Word::truncate(span));
                agrees_with_the_formulas(&doubles, low, span);

                // Doubles that are decimals.
                let cents: Vec<u64> = decimals.iter().map(|&v| (v as f64 / 100.0).to_bits()).collect();
                let mut found = vec![1; cents.len()];
                let exact = scaled_integers(&cents, [[1e3, 0.1], [10.0, 1e-3]], &mut found);
                let comes_back = |bits: &u64| {
                    let whole = (f64::from_bits(*bits) * 1e3 * 0.1).round_ties_even();
                    ((whole * 10.0) * 1e-3).to_bits() == *bits
                };
                assert_eq!(exact, cents.iter().all(comes_back));
                if exact {
                    let found: Vec<i64> = found.iter().map(|v| v.cast_signed()).collect();
                    assert_eq!(found, decimals);
                }
            });
        }
    }

    #[test]
    fn gather_refuses_codes_without_entry() {
        let mut dst = [0u16; 20];
        let mut codes = [1u32; 20];
        assert!(Slots::from(&mut dst[..]).gather(&codes, &[5, 6]));
        assert_eq!(dst, [6; 20]);
        codes[19] = 2;
        assert!(!Slots::from(&mut dst[..]).gather(&codes, &[5, 6]));
    }

    #[test]
    fn runs_must_fill_the_destination_exactly() {
        let mut dst = [0u32; 40];
        assert!(expand_runs(&[1, 2, 3, 4], &[1, 20, 2, 17], &mut dst));
        assert_eq!(
            dst[..24],
            [[1; 1].as_slice(), &[2; 20], &[3; 2], &[4; 1]].concat()
        );
        assert_eq!(dst[23..], [4; 17]);
        assert!(!expand_runs(&[1, 2], &[20, 19], &mut dst));
        assert!(!expand_runs(&[1, 2], &[20, 21], &mut dst));
        assert!(!expand_runs(&[1, 2, 3], &[20, 0, 20], &mut dst));
    }

    fn expands<W: Word>() {
        for first in (1..=20).step_by(STEP) {
            // Runs of all lengths up to 20, in two orders, and one that ends the destination.
            let lengths: Vec<u32> = (first..=20).chain((1..=20).rev()).chain([first]).collect();
            let values: Vec<W> = (1..=lengths.len() as u64).map(Word::truncate).collect();
            let run = |(&value, &length)| std::iter::repeat_n(value, length as usize);
            let want: Vec<W> = values.iter().zip(&lengths).flat_map(run).collect();
            let mut dst = vec![W::ZERO; want.len()];
            assert!(expand_runs(&values, &lengths, &mut dst) && dst == want);
            assert!(!expand_runs(&values, &lengths, &mut dst[1..]));
        }
    }

    #[test]
    fn runs_of_every_length_are_expanded() {
        at_every_level(|| {
            expands::<u8>();
            expands::<u16>();
            expands::<u32>();
            expands::<u64>();
        });
    }

    #[test]
    fn any_byte_but_zero_is_a_one() {
        let bytes: Vec<u8> = (0..200u8).map(|i| if i % 3 == 0 { 0 } else { i }).collect();
        let mut got = Vec::new();
        bits_of_bytes(&bytes, |w, n| got.extend((0..n).map(|i| (w >> i) & 1 == 1)));
        let want: Vec<bool> = bytes.iter().map(|&b| b != 0).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn halves_join_to_the_number_that_they_were_cut_from() {
        let numbers = [0i16, 1, -1, 127, 128, -128, -129, i16::MAX, i16::MIN];
        let low = numbers.map(|v| v.to_le_bytes()[0]);
        let high = numbers.map(|v| v.to_le_bytes()[1].wrapping_add(u8::from(v & 128 != 0)));
        assert_eq!(high[..6], [0, 0, 0, 0, 1, 0]);
        let mut dst = MutableBuffer::new(0);
        dst.push(0xeeu8);
        append_halves(&high, &low, &mut dst);
        let (first, joined) = dst.as_slice().split_first().unwrap();
        assert_eq!(*first, 0xee);
        assert_eq!(joined.as_chunks::<2>().0, numbers.map(i16::to_le_bytes));
    }

    #[test]
    fn sign_extension_keeps_the_number() {
        let mut dst = [0u32; 3];
        sign_extend(&[0xffu8, 0x7f, 0x80], &mut dst);
        assert_eq!(dst.map(u32::cast_signed), [-1, 127, -128]);
    }
}
