//! Compresses with a table of FSST symbols.

use super::fsst::{ESCAPE, MAX_SYMBOL};
use crate::error::{Error, Result};
use std::hint::select_unpredictable;
use std::ops::Range;

/// Slots of the hash table for symbols of three bytes or more. The hash covers their first three bytes.
const SLOTS: usize = 1 << 11;
/// Shortest symbol in the hash table, in bytes.
pub(super) const SHORTEST_HASHED: usize = 3;
/// Number of pairs of bytes.
const SHORTS: usize = 1 << 16;

/// Number of strings that are compressed side by side. The start of each symbol depends on the length of the
/// previous one, so a single string would leave the processor waiting.
const LANES: usize = 4;

/// Most bytes that a code takes: an escape and its literal byte.
const WIDEST: usize = 2;

/// Bit of a find result that marks an escape.
const ESCAPED: u16 = 1 << 8;
/// Lowest bit of the length in a find result. The low byte holds the code or the escape.
const LENGTH_SHIFT: u32 = 12;

/// A table that finds the symbol at the start of some bytes.
pub(crate) struct FsstEncoder {
    symbols: Vec<[u8; MAX_SYMBOL]>,
    lengths: Vec<u8>,
    /// For each pair of first bytes, the longest symbol of one or two bytes, or an escape.
    short: Box<[u16; SHORTS]>,
    /// For each hash of three bytes, a longer symbol. An empty slot holds a word with another hash.
    long: Box<[Slot; SLOTS]>,
}

#[derive(Clone, Copy)]
struct Slot {
    symbol: u64,
    found: u16,
    /// Bits of a word after the symbol.
    ignored: u8,
}

/// Returns the slot of a word. Training uses the same hash, so that no two symbols share a slot.
pub(super) fn slot_of(word: u64) -> usize {
    let prefix = word & 0xFF_FFFF;
    let hash = prefix.wrapping_mul(2_971_215_073) ^ (prefix >> 15);
    #[expect(clippy::cast_possible_truncation, reason = "low bits of a hash")]
    let hash = hash as usize;
    hash % SLOTS
}

/// Returns the find result for a symbol of `length` bytes.
fn found(code: u8, length: u8) -> u16 {
    u16::from(code) | u16::from(length) << LENGTH_SHIFT
}

/// Returns the code or escape, and the byte that follows an escape. After a code, the next one overwrites
/// that byte.
#[inline(always)]
fn codes(found: u16, word: u64) -> [u8; WIDEST] {
    [found.to_le_bytes()[0], word.to_le_bytes()[0]]
}

/// Returns the number of bytes of [`codes`] that count.
#[inline(always)]
fn width(found: u16) -> usize {
    1 + usize::from(found & ESCAPED != 0)
}

/// Returns the values of a vector of `N` values as an array. An array would be built on the stack, and copied.
fn boxed<T: Copy, const N: usize>(values: Vec<T>, other: T) -> Box<[T; N]> {
    let array = values.try_into();
    array.unwrap_or_else(|_| Box::new([other; N]))
}

/// A string that is being compressed.
#[derive(Clone, Copy)]
struct Lane {
    /// Position of the next byte to compress.
    at: usize,
    /// End of its piece.
    end: usize,
    /// Position of the next code.
    out: usize,
    /// The current piece.
    piece: usize,
    /// End of the pieces of the lane.
    stop: usize,
}

impl FsstEncoder {
    /// Makes an encoder for at most 255 symbols of 1 to 8 bytes with codes from 0 on. Symbols of other lengths are
    /// never found, nor are longer symbols than a byte that end with a zero.
    pub(crate) fn new(symbols: Vec<[u8; MAX_SYMBOL]>, lengths: Vec<u8>) -> Self {
        let escape = ESCAPED | found(ESCAPE, 1);
        let empty = |slot: usize| Slot {
            symbol: u64::from(slot == 0),
            found: 0,
            ignored: 0,
        };
        let mut long = boxed((0..SLOTS).map(empty).collect(), empty(0));
        // A symbol that ends with a zero would match beyond the end of a text.
        let is_legal = |symbol: &[u8; MAX_SYMBOL], length: u8| match usize::from(length) {
            0 => false,
            1 => true,
            length => symbol.get(length - 1).is_some_and(|last| *last != 0),
        };
        let all = || {
            let coded = (0..ESCAPE).zip(symbols.iter().zip(&lengths));
            coded.filter(|(_, (symbol, length))| is_legal(symbol, **length))
        };
        // By first byte alone; the second one is the high byte of the place.
        let mut singles = [escape; 1 << 8];
        for (code, (symbol, &length)) in all().filter(|(_, (_, length))| **length == 1) {
            singles[usize::from(symbol[0])] = found(code, length);
        }
        let mut short = Vec::with_capacity(SHORTS);
        while short.len() < SHORTS {
            short.extend_from_slice(&singles);
        }
        let mut short = boxed(short, escape);
        for (code, (symbol, &length)) in all() {
            let word = u64::from_le_bytes(*symbol);
            if length == 2 {
                short[usize::from(u16::from_le_bytes([symbol[0], symbol[1]]))] =
                    found(code, length);
            } else if usize::from(length) >= SHORTEST_HASHED {
                long[slot_of(word)] = Slot {
                    symbol: word,
                    found: found(code, length),
                    ignored: 64 - 8 * length,
                };
            }
        }
        Self {
            symbols,
            lengths,
            short,
            long,
        }
    }

    /// Returns the symbols, padded to 8 bytes.
    pub(crate) fn symbols(&self) -> &[[u8; MAX_SYMBOL]] {
        &self.symbols
    }

    /// Returns the lengths of the symbols, in bytes.
    pub(crate) fn lengths(&self) -> &[u8] {
        &self.lengths
    }

    /// Compresses values in pieces that end at `ends`, which ascend to the length of `values`, and appends the
    /// codes. Returns where the codes of each piece end, relative to the first appended code.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the ends do not ascend to that length.
    pub(crate) fn compress(
        &self,
        values: &[u8],
        ends: &[usize],
        out: &mut Vec<u8>,
    ) -> Result<Vec<usize>> {
        let last = ends.last().copied().unwrap_or(0);
        if last != values.len() || !ends.is_sorted() {
            return Err(Error::invalid(format!(
                "expected ends of pieces that ascend to {}, found {last} as the last of {}",
                values.len(),
                ends.len()
            )));
        }
        // SAFETY: the ends were just checked.
        Ok(unsafe { self.compress_pieces(values, ends, out) })
    }

    /// Does the work of [`compress`](Self::compress).
    ///
    /// # Safety
    /// The ends ascend to the length of the values.
    unsafe fn compress_pieces(
        &self,
        values: &[u8],
        ends: &[usize],
        out: &mut Vec<u8>,
    ) -> Vec<usize> {
        let base = out.len();
        out.resize(base + WIDEST * values.len(), 0);
        let region = &mut out[base..];
        let mut code_ends = vec![0; ends.len()];
        let mut lanes = lanes(ends);
        let starts = lanes.map(|lane| (lane.piece, lane.out));
        'together: loop {
            // A step takes at most the bytes of the longest symbol.
            let steps = lanes.map(|lane| (lane.end - lane.at) / MAX_SYMBOL);
            let steps = steps.into_iter().min().unwrap_or(0);
            // SAFETY: the pieces lie within the values, so that every lane has the bytes of `steps` longest
            // symbols left, and two bytes of the region for each of them.
            unsafe { self.stride(values, &mut lanes, steps, region) };
            for lane in &mut lanes {
                if !lane.settle(ends, &mut code_ends) {
                    break 'together;
                }
                self.step(values, lane, region);
            }
        }
        for lane in &mut lanes {
            while lane.settle(ends, &mut code_ends) {
                self.step(values, lane, region);
            }
        }
        // There are gaps between the codes of the lanes.
        let mut len = 0;
        for (lane, (piece, start)) in lanes.iter().zip(starts) {
            region.copy_within(start..lane.out, len);
            for end in &mut code_ends[piece..lane.stop] {
                *end = *end - start + len;
            }
            len += lane.out - start;
        }
        out.truncate(base + len);
        code_ends
    }

    /// Returns the compressed size of the values: the number of codes and escaped bytes.
    pub(crate) fn compressed_len(&self, values: &[u8]) -> usize {
        let mut codes = Vec::new();
        // SAFETY: the quarters ascend to the length.
        unsafe { self.compress_pieces(values, &quarters(values.len()), &mut codes) };
        codes.len()
    }

    /// Calls `f` with the code or escape of each symbol of the text, and the first byte that it stands for.
    pub(super) fn for_each_code(&self, text: &[u8], mut f: impl FnMut(u8, u8)) {
        let mut rest = text;
        while !rest.is_empty() {
            let word = match rest.first_chunk() {
                Some(bytes) => u64::from_le_bytes(*bytes),
                // Symbols do not match across the end: zeros follow it, and no symbol ends with a zero.
                None => last_word(rest),
            };
            let found = self.find(word);
            let [code, byte] = codes(found, word);
            f(code, byte);
            rest = rest
                .get(usize::from(found >> LENGTH_SHIFT)..)
                .unwrap_or_default();
        }
    }

    /// Writes the code for the next symbol of the lane.
    #[inline(always)]
    fn step(&self, values: &[u8], lane: &mut Lane, out: &mut [u8]) {
        let word = match values.get(lane.at..lane.at + MAX_SYMBOL) {
            Some(bytes) => bytes.try_into().map_or(0, u64::from_le_bytes),
            None => last_word(&values[lane.at..]),
        };
        // Symbols do not match across the end: zeros follow it, and no symbol ends with a zero.
        let left = (lane.end - lane.at).min(MAX_SYMBOL);
        let word = word & (u64::MAX >> (64 - 8 * left));
        let found = self.find(word);
        if let Some(place) = out.get_mut(lane.out..lane.out + WIDEST) {
            place.copy_from_slice(&codes(found, word));
        }
        lane.out += width(found);
        lane.at += usize::from(found >> LENGTH_SHIFT);
    }

    /// Takes `steps` steps in each lane.
    ///
    /// # Safety
    /// Every lane has `MAX_SYMBOL * steps` bytes of `values` left before its end, and `WIDEST` bytes of room
    /// in `out` for each of them.
    #[inline(always)]
    unsafe fn stride(
        &self,
        values: &[u8],
        lanes: &mut [Lane; LANES],
        steps: usize,
        out: &mut [u8],
    ) {
        let mut at = lanes.map(|lane| lane.at);
        let mut to = lanes.map(|lane| lane.out);
        for _ in 0..steps {
            for (at, to) in at.iter_mut().zip(&mut to) {
                debug_assert!(*at + MAX_SYMBOL <= values.len() && *to + WIDEST <= out.len());
                // SAFETY: the previous steps took at most `MAX_SYMBOL` bytes each.
                let word = unsafe { values.as_ptr().add(*at).cast::<u64>().read_unaligned() };
                let word = u64::from_le(word);
                let found = self.find(word);
                // SAFETY: `out` has `WIDEST` bytes left for each byte that is left to compress.
                unsafe {
                    let place = out.as_mut_ptr().add(*to).cast::<[u8; WIDEST]>();
                    place.write(codes(found, word));
                }
                *to += width(found);
                *at += usize::from(found >> LENGTH_SHIFT);
            }
        }
        for (lane, (at, to)) in lanes.iter_mut().zip(at.into_iter().zip(to)) {
            (lane.at, lane.out) = (at, to);
        }
    }

    /// Returns the find result for the first bytes of a word.
    #[inline(always)]
    fn find(&self, word: u64) -> u16 {
        let slot = &self.long[slot_of(word)];
        let [first, second, ..] = word.to_le_bytes();
        let short = self.short[usize::from(u16::from_le_bytes([first, second]))];
        let matches = (word ^ slot.symbol) << slot.ignored == 0;
        select_unpredictable(matches, slot.found, short)
    }
}

impl Lane {
    /// Moves on to the next piece if one ends. Returns false after the last one.
    #[inline(always)]
    fn settle(&mut self, ends: &[usize], code_ends: &mut [usize]) -> bool {
        while self.at == self.end {
            if self.piece == self.stop {
                return false;
            }
            code_ends[self.piece] = self.out;
            self.piece += 1;
            if self.piece == self.stop {
                return false;
            }
            self.end = ends[self.piece];
        }
        true
    }
}

/// Divides the pieces among the lanes. Each lane has room for its codes even if all bytes are escaped.
fn lanes(ends: &[usize]) -> [Lane; LANES] {
    let start_of = |piece: usize| piece.checked_sub(1).map_or(0, |before| ends[before]);
    std::array::from_fn(|i| {
        let pieces: Range<usize> = ends.len() * i / LANES..ends.len() * (i + 1) / LANES;
        let at = start_of(pieces.start);
        Lane {
            at,
            end: ends
                .get(pieces.start)
                .filter(|_| !pieces.is_empty())
                .map_or(at, |end| *end),
            out: WIDEST * at,
            piece: pieces.start,
            stop: pieces.end,
        }
    })
}

/// Returns the ends of equal pieces, one per lane, for a string that needs no particular pieces.
pub(crate) fn quarters(len: usize) -> [usize; LANES] {
    std::array::from_fn(|i| len * (i + 1) / LANES)
}

/// Returns fewer than eight bytes as a word, padded with zeros.
#[cold]
fn last_word(bytes: &[u8]) -> u64 {
    let mut word = [0; MAX_SYMBOL];
    for (to, byte) in word.iter_mut().zip(bytes) {
        *to = *byte;
    }
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::super::cpu::tests::STEP;
    use super::super::fsst::Symbols;
    use super::*;
    use arrow_buffer::MutableBuffer;

    fn encoder(words: &[&[u8]]) -> FsstEncoder {
        let symbol = |word: &&[u8]| {
            let mut symbol = [0; MAX_SYMBOL];
            symbol[..word.len()].copy_from_slice(word);
            symbol
        };
        let lengths = words
            .iter()
            .map(|word| u8::try_from(word.len()).unwrap())
            .collect();
        FsstEncoder::new(words.iter().map(symbol).collect(), lengths)
    }

    /// Compresses pieces, and decompresses each of them alone.
    fn round_trip(encoder: &FsstEncoder, pieces: &[&[u8]]) -> usize {
        let mut out = b"before".to_vec();
        let ends: Vec<usize> = pieces
            .iter()
            .scan(0, |end, piece| {
                *end += piece.len();
                Some(*end)
            })
            .collect();
        let code_ends = encoder.compress(&pieces.concat(), &ends, &mut out).unwrap();
        let codes = out.strip_prefix(b"before").unwrap();
        assert_eq!(code_ends.last().copied().unwrap_or(0), codes.len());
        let table = Symbols::try_new(encoder.symbols(), encoder.lengths()).unwrap();
        let mut start = 0;
        for (piece, end) in pieces.iter().zip(code_ends) {
            let mut bytes = MutableBuffer::new(0);
            table
                .decompress(&codes[start..end], piece.len(), &mut bytes)
                .unwrap();
            assert_eq!(bytes.as_slice(), *piece);
            start = end;
        }
        codes.len()
    }

    #[test]
    fn the_longest_symbols_are_taken() {
        let encoder = encoder(&[b"a", b"ab", b"abcdefgh", b"\0", b"x\0y"]);
        for (text, codes) in [
            (&b"abcdefgh"[..], 1),
            (b"abcdefg", 1 + 5 * 2),
            (b"abab", 2),
            (b"aa\0", 3),
            (b"x\0y", 1),
            (b"x\0", 3),
            (b"", 0),
        ] {
            assert_eq!(round_trip(&encoder, &[text]), codes, "{text:?}");
        }
    }

    #[test]
    fn pieces_are_compressed_alone() {
        let encoder = encoder(&[b"ab", b"abcd", b"0", b"\0", b"zzz\0zzz"]);
        let mut seed = 7u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap() % below
        };
        for case in (0..400).step_by(STEP) {
            let pieces: Vec<Vec<u8>> = (0..case % 30)
                .map(|_| {
                    let len = random(20);
                    (0..len).map(|_| b"abcd0\0zq"[random(8)]).collect()
                })
                .collect();
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            round_trip(&encoder, &pieces);
        }
        // A symbol that spans two pieces is found in neither.
        assert_eq!(round_trip(&encoder, &[b"ab", b"cd"]), 1 + 4);
        assert_eq!(round_trip(&encoder, &[b"abcd"]), 1);
    }
    #[test]
    fn ends_that_do_not_ascend_to_the_end_of_the_values_are_refused() {
        let encoder = encoder(&[b"ab", b"abcdefgh"]);
        let values = b"abcdefgh".repeat(10);
        for ends in [
            &[][..],
            &[79],
            &[81],
            &[1 << 20, 80],
            &[40, 30, 80],
            &[usize::MAX, 80],
            &[10, 20, 30, 40, 50, 60, 70, 8_000, 80],
        ] {
            let mut out = b"before".to_vec();
            let error = encoder.compress(&values, ends, &mut out).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument, "{ends:?}");
            assert_eq!(out, b"before");
        }
    }

    #[test]
    fn symbols_of_illegal_lengths_are_never_found() {
        for length in [0, 9, 255] {
            let encoder = FsstEncoder::new(vec![*b"abcdefgh"], vec![length]);
            let mut out = Vec::new();
            let values = b"abcdefgh".repeat(9);
            encoder.compress(&values, &[72], &mut out).unwrap();
            assert_eq!(out.len(), 2 * 72);
        }
    }
}
