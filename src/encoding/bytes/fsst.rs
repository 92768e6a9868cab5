//! Spec: Chapter 7, "FSST".
//!
//! ```text
//! u16 code = 15 | u8 symbols Y | u32 values_size | u8 offsets_nested | u8 offset_width | pad to 16
//!               | Y symbols, u64 | Y lengths, u8 | compressed values | pad to 8 | offsets
//! ```
//! A byte below Y is the code of a symbol of 1 to 8 bytes, and 255 escapes the byte that follows. All values of
//! the block are compressed as one string. The writer writes the padding even if values of a fixed size
//! have no offsets, because the reference slices it. Readers accept blocks without it.

use super::super::fields::{Fields, pad, split_at, split_padded, write_sized};
use super::input::Clean;
use super::number;
use super::spans::{OffsetsPart, estimate_offsets, write_offsets};
use super::stats::Stats;
use super::{
    BytesBuilder, Children, Codec, Context, EncodingCode, Estimate, Input, NullsOut, Request,
};
use crate::error::{Error, Result};
use crate::kernels::{FsstEncoder, MAX_SYMBOL, Symbols, learn_symbols, quarters};
use fsst::Compressor;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub(super) struct Fsst;

struct Parts<'a> {
    symbols: Symbols,
    compressed: &'a [u8],
    offsets: OffsetsPart<'a>,
}

fn parse(values: &[u8]) -> Result<Parts<'_>> {
    let (mut fields, payload) = Fields::split(values, 7)?;
    let count = usize::from(fields.u8()?);
    let size = fields.size()?;
    let nested = fields.flag()?;
    let width = fields.u8()?;
    let (symbols, compressed, bytes) = split_compressed(payload, count, size)?;
    Ok(Parts {
        symbols,
        compressed,
        offsets: OffsetsPart {
            width,
            nested,
            bytes,
        },
    })
}

/// Splits a payload into `count` symbols, `size` bytes of compressed values, and the bytes after their
/// padding.
pub(super) fn split_compressed(
    payload: &[u8],
    count: usize,
    size: usize,
) -> Result<(Symbols, &[u8], &[u8])> {
    let (symbols, rest) = split_at(payload, MAX_SYMBOL * count, "symbols")?;
    let (lengths, rest) = split_at(rest, count, "symbol lengths")?;
    let (compressed, _) = split_at(rest, size, "compressed values")?;
    let (_, rest) = split_padded(payload, (MAX_SYMBOL + 1) * count + size, "values")?;
    let symbols = Symbols::try_new(symbols.as_chunks().0, lengths)?;
    Ok((symbols, compressed, rest))
}

impl Codec for Fsst {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        _nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        let Parts {
            symbols,
            compressed,
            offsets,
        } = parse(request.values)?;
        offsets.with_spans(request, cx, |cx, spans, total| {
            cx.check_bytes(total as u64)?;
            out.push_decoded(spans, total, request.n, request.ranges, cx, |_, buffer| {
                symbols.decompress(compressed, total, buffer)
            })
        })
    }

    fn children(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        parse(request.values)?.offsets.children(request.n, cx)
    }
}

/// Size of the pieces that the library learns from, in bytes.
const LESSON: usize = 512;

/// How symbols are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Teaching {
    /// From pieces of 512 bytes, by the library `fsst-rs`. Blocks for the reference implementation keep their bytes.
    Pieces,
    /// From whole texts.
    Texts,
}

/// Most bytes of texts to learn from: with half of them, lines of a log become 6 % larger, and half as many more save
/// nothing.
const MAX_TEXTS: usize = 1 << 16;
/// Least bytes of texts to learn from, if there are as many.
const MIN_TEXTS: usize = 1 << 13;
/// Share of the texts to learn from, 1 of this many: learning compresses them several times.
const LEARNED_SHARE: usize = 64;
/// Bytes of neighbors that are learned from together, like those of a group of FsstValues, so that symbols may span
/// short texts.
const STRETCH: usize = 180;

/// Returns the pieces of values to learn from. `end` returns the end of each of the `n` values.
fn pieces(teaching: Teaching, values: &[u8], n: usize, end: impl Fn(usize) -> usize) -> Vec<&[u8]> {
    if teaching == Teaching::Pieces {
        return values.chunks(LESSON).collect();
    }
    let start_of = |i: usize| i.checked_sub(1).map_or(0, &end);
    let most = (values.len() / LEARNED_SHARE).clamp(MIN_TEXTS, MAX_TEXTS);
    let skipped = values.len().div_ceil(most).max(1) - 1;
    let (mut pieces, mut at, mut value) = (Vec::new(), 0, 0);
    while at < values.len() {
        while value < n && start_of(value) < at {
            value += 1;
        }
        // A piece begins with a text, unless the text around it is long.
        let start = Some(start_of(value)).filter(|start| value < n && start - at <= LESSON);
        let (from, to) = match start {
            Some(start) => {
                let ends = (value..n).map(&end);
                let full = ends.clone().find(|end| end - start >= STRETCH);
                (start, full.unwrap_or(values.len()))
            }
            None => (at, values.len()),
        };
        let to = to.min(from + LESSON);
        pieces.extend(values.get(from..to).filter(|piece| !piece.is_empty()));
        at = to.max(at + 1) + (to - from) * skipped;
    }
    pieces
}

/// Learns symbols. A table of them serves `served` bytes of values.
fn learn(teaching: Teaching, pieces: &[&[u8]], served: usize) -> FsstEncoder {
    match teaching {
        Teaching::Pieces => {
            let learned = Compressor::train(&pieces.to_vec());
            let symbols = learned.symbol_table().iter();
            let symbols = symbols.map(|symbol| symbol.to_u64().to_le_bytes());
            FsstEncoder::new(symbols.collect(), learned.symbol_lengths().to_vec())
        }
        Teaching::Texts => {
            let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
            learn_symbols(pieces, number::ratio(served, bytes))
        }
    }
}

/// Learns symbols for a block of these values.
fn learn_block(teaching: Teaching, values: &Clean<'_>) -> FsstEncoder {
    let bytes = &values.values;
    let pieces = pieces(teaching, bytes, values.len, |i| values.end_of(i));
    learn(teaching, &pieces, bytes.len())
}

/// Bytes that are compressed to judge how well symbols suit values.
const PROBE: usize = 1 << 15;
/// Symbols are kept for values that take at most this many times the codes per byte of the values that the
/// symbols were learned from.
const WORSE: f32 = 1.03;

/// Returns the codes per byte of values, judged by pieces of them.
fn codes_per_byte(encoder: &FsstEncoder, values: &[u8]) -> f32 {
    let step = LESSON * values.len().div_ceil(PROBE).max(1);
    let pieces = values
        .chunks(step)
        .filter_map(|piece| piece.chunks(LESSON).next());
    let probe: Vec<u8> = pieces.flatten().copied().collect();
    number::ratio(encoder.compressed_len(&probe), probe.len())
}

/// Symbols that several blocks share. All of them compare as equal, so that plans that only differ in their symbols
/// are equal, too.
#[derive(Clone, Default)]
pub struct Learned {
    /// The symbols, `None` if every block learns its own.
    lesson: Option<Arc<FsstLesson>>,
    /// Id of the compressor dictionary that holds the symbols.
    dictionary: Option<u32>,
}

struct FsstLesson {
    encoder: FsstEncoder,
    /// Codes per byte of the values that the symbols were learned from.
    codes: f32,
}

impl Learned {
    fn new(encoder: FsstEncoder, values: &[u8]) -> Self {
        let codes = codes_per_byte(&encoder, values);
        Self {
            lesson: Some(Arc::new(FsstLesson { encoder, codes })),
            dictionary: None,
        }
    }

    /// Returns the id of the compressor dictionary that holds the symbols. If `None`, every block holds them.
    pub fn dictionary(&self) -> Option<u32> {
        self.dictionary
    }

    /// Returns the same symbols as the content of the compressor dictionary with this id.
    #[must_use]
    pub fn in_dictionary(&self, id: u32) -> Self {
        Self {
            lesson: self.lesson.clone(),
            dictionary: Some(id),
        }
    }

    /// Returns the bytes of the dictionary: the symbols and their lengths.
    pub fn payload(&self) -> bytes::Bytes {
        let mut out = Vec::new();
        if let Some(lesson) = &self.lesson {
            write_symbols(&lesson.encoder, &mut out);
        }
        out.into()
    }

    /// Returns whether the symbols suit these values as well as those they were learned from.
    fn suits(&self, values: &[u8]) -> bool {
        self.lesson
            .as_ref()
            .is_some_and(|lesson| codes_per_byte(&lesson.encoder, values) <= lesson.codes * WORSE)
    }

    /// Returns the same symbols if they suit these values as well as those they were learned from. Otherwise,
    /// learns symbols from these values.
    pub(super) fn suited_to(&self, values: &Clean<'_>, teaching: Teaching) -> Self {
        if self.suits(&values.values) {
            return self.clone();
        }
        Self::new(learn_block(teaching, values), &values.values)
    }

    /// Returns symbols for [`FsstValues`](super::Plan::FsstValues): the same symbols if they suit these values, or
    /// symbols learned from a sample of them. `served` is the number of bytes that share a table of symbols.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the parts of `input` contradict each other.
    pub fn for_texts(&self, input: &Input<'_>, served: usize) -> Result<Self> {
        let values = input.clean()?;
        let bytes = &values.values;
        if self.suits(bytes) {
            return Ok(self.clone());
        }
        let pieces = pieces(Teaching::Texts, bytes, values.len, |i| values.end_of(i));
        Ok(Self::new(learn(Teaching::Texts, &pieces, served), bytes))
    }

    /// Runs `f` with the symbols. If there are none, learns some from `values` for this call alone.
    pub(super) fn with<T>(
        &self,
        values: &Clean<'_>,
        teaching: Teaching,
        f: impl FnOnce(&FsstEncoder) -> T,
    ) -> T {
        match &self.lesson {
            Some(lesson) => f(&lesson.encoder),
            None => f(&learn_block(teaching, values)),
        }
    }
}

impl fmt::Debug for Learned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbols = self.lesson.as_ref().map(|l| l.encoder.symbols().len());
        f.debug_tuple("Learned").field(&symbols).finish()
    }
}

impl PartialEq for Learned {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Learned {}

impl Hash for Learned {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Returns the size of the symbols and of their lengths, in bytes.
fn table_len(encoder: &FsstEncoder) -> usize {
    encoder.symbols().len() * (MAX_SYMBOL + 1)
}

/// Returns the number of symbols as the byte of the metadata.
pub(super) fn symbol_count(encoder: &FsstEncoder) -> Result<u8> {
    let count = encoder.symbols().len();
    u8::try_from(count)
        .map_err(|_| Error::invalid(format!("expected up to 255 FSST symbols, found {count}")))
}

/// Appends the symbols and their lengths.
pub(super) fn write_symbols(encoder: &FsstEncoder, out: &mut Vec<u8>) {
    out.extend_from_slice(encoder.symbols().as_flattened());
    out.extend_from_slice(encoder.lengths());
}

pub(super) fn encode(
    input: &Clean<'_>,
    encoder: &FsstEncoder,
    offsets: Option<&number::Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let offsets = offsets.filter(|_| input.fixed.is_none());
    let start = EncodingCode::Fsst.begin(out);
    out.push(symbol_count(encoder)?);
    out.extend_from_slice(&[0; 4]);
    out.extend([u8::from(offsets.is_some()), input.offset_width()]);
    pad(out, start);
    write_symbols(encoder, out);
    write_sized(out, start + 3, |out| {
        encoder.compress(&input.values, &quarters(input.values.len()), out)
    })?;
    pad(out, start);
    write_offsets(input, offsets, out)
}

/// Nanoseconds to decompress a code or an escaped byte.
const COST_PER_CODE: f32 = 0.63;

/// Estimates by compressing the sample, with symbols that were learned before or with its own.
pub(super) fn estimate(
    stats: &Stats,
    symbols: &Learned,
    offsets: Option<&number::Plan>,
) -> Option<Estimate> {
    let (codes, decode_cost) = estimate_codes(stats, symbols, Teaching::Pieces);
    let offsets = estimate_offsets(stats, offsets)?;
    Some(Estimate {
        bytes: 16 + codes + offsets.bytes,
        decode_cost: decode_cost + offsets.decode_cost,
    })
}

/// Estimates the bytes of symbols and codes, and the nanoseconds to decompress a value and to place
/// it.
pub(super) fn estimate_codes(stats: &Stats, symbols: &Learned, teaching: Teaching) -> (usize, f32) {
    let (table, codes) = sampled(stats, symbols, teaching);
    let decode_cost = super::PLACING + COST_PER_CODE * number::ratio(codes, stats.n);
    ((table + codes).next_multiple_of(8), decode_cost)
}

/// Estimates the size of the symbol table and of the codes of all values. Symbols suit the bytes that they
/// were learned from better than others, so symbols learned from one half of the sample compress the other.
fn sampled(stats: &Stats, symbols: &Learned, teaching: Teaching) -> (usize, usize) {
    let sample = stats.sample_bytes();
    let compressed = |encoder: &FsstEncoder, values: &[u8]| {
        let factor = stats.total_bytes as f64 / values.len().max(1) as f64;
        let codes = encoder.compressed_len(values);
        let own = symbols.dictionary().map_or(table_len(encoder), |_| 0);
        (own, number::scaled(codes, factor))
    };
    if let Some(lesson) = &symbols.lesson {
        return compressed(&lesson.encoder, sample);
    }
    let offsets = stats.sample_offsets();
    let end = |i: usize| {
        let end = offsets.get(i + 1).copied().unwrap_or_default();
        usize::try_from(end).unwrap_or(usize::MAX)
    };
    let pieces = pieces(teaching, sample, offsets.len() - 1, end);
    let learn = |pieces: &[&[u8]]| learn(teaching, pieces, stats.total_bytes);
    if sample.len() >= stats.total_bytes {
        return compressed(&learn(&pieces), sample);
    }
    let half = |first: usize| pieces.iter().skip(first).step_by(2).copied();
    let lesson: Vec<&[u8]> = half(0).collect();
    let rest: Vec<u8> = half(1).flatten().copied().collect();
    compressed(&learn(&lesson), &rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_buffer::MutableBuffer;

    /// Compresses and decompresses values.
    fn round_trip(values: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let [first, second] = [Teaching::Pieces, Teaching::Texts].map(|teaching| {
            let pieces = pieces(teaching, values, 1, |_| values.len());
            round_trip_with(&learn(teaching, &pieces, values.len()), values)
        });
        assert_eq!(first.1, second.1);
        second
    }

    fn round_trip_with(encoder: &FsstEncoder, values: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut table, mut codes) = (Vec::new(), Vec::new());
        write_symbols(encoder, &mut table);
        assert_eq!(table.len(), table_len(encoder));
        encoder
            .compress(values, &quarters(values.len()), &mut codes)
            .unwrap();
        let count = encoder.symbols().len();
        table.extend_from_slice(&codes);
        let (symbols, compressed, _) = split_compressed(&table, count, codes.len()).unwrap();
        let mut out = MutableBuffer::new(0);
        symbols
            .decompress(compressed, values.len(), &mut out)
            .unwrap();
        (codes, out.as_slice().to_vec())
    }

    #[test]
    fn values_that_end_with_zeros_or_before_them_keep_their_length() {
        for pattern in [b"a\0".as_slice(), b"ab\0\0\0", b"\0", b"\xff\0\0\0\0\0\0\0"] {
            for cut in 0..=pattern.len() {
                let mut values = pattern.repeat(300);
                values.truncate(values.len() - cut);
                assert_eq!(round_trip(&values).1, values);
            }
        }
    }

    #[test]
    fn symbols_are_kept_for_values_like_those_that_taught_them() {
        let text = |words: &[&str]| -> Vec<u8> {
            let noise = |i: usize| i.wrapping_mul(0x9E37_79B9) >> 7;
            let words = (0..20_000).map(|i| words[noise(i) % words.len()].as_bytes());
            words.collect::<Vec<_>>().concat()
        };
        let same = |a: &Learned, b: &Learned| match (&a.lesson, &b.lesson) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        let english = text(&["the ", "quick ", "brown ", "fox ", "jumps "]);
        let german = text(&["der ", "schnelle ", "braune ", "Fuchs ", "springt "]);
        let suited = |learned: &Learned, text: &[u8], teaching| {
            let offsets: Vec<u64> = (0..=text.len() as u64 / 8).map(|i| 8 * i).collect();
            let input = Input::variable(&offsets, text, None);
            learned.suited_to(&input.clean().unwrap(), teaching)
        };
        for teaching in [Teaching::Pieces, Teaching::Texts] {
            let suited = |learned: &Learned, text: &[u8]| suited(learned, text, teaching);
            let first = suited(&Learned::default(), &english);
            assert!(same(&first, &suited(&first, &english[20_000..])));
            let second = suited(&first, &german);
            assert!(!same(&first, &second));
            assert!(same(&second, &suited(&second, &german)));
        }
    }

    #[test]
    fn pieces_begin_with_texts_and_are_spread_over_all() {
        let ends: Vec<usize> = (1..=100_000).map(|i| i * 7).collect();
        let values: Vec<u8> = ends
            .iter()
            .flat_map(|end| format!("{:07}", end - 7).into_bytes())
            .collect();
        let found = pieces(Teaching::Texts, &values, ends.len(), |i| ends[i]);
        let bytes: usize = found.iter().map(|piece| piece.len()).sum();
        let most = values.len() / LEARNED_SHARE;
        assert!(
            most > MIN_TEXTS && (most / 2..=most).contains(&bytes),
            "{bytes}"
        );
        assert!(found.iter().all(|piece| piece.len() == 182));
        let start =
            |piece: &&[u8]| -> usize { std::str::from_utf8(&piece[..7]).unwrap().parse().unwrap() };
        let starts: Vec<usize> = found.iter().map(start).collect();
        assert!(starts.is_sorted() && starts.iter().all(|start| start % 7 == 0));
        assert!(starts[starts.len() - 1] > values.len() / 10 * 9);
        // Long texts are cut, and empty ones have no pieces.
        let long = pieces(Teaching::Texts, &values, 1, |_| values.len());
        assert!(long.len() > 20 && long.iter().all(|piece| piece.len() <= LESSON));
        assert!(pieces(Teaching::Texts, &[], 9, |_| 0).is_empty());
    }

    #[test]
    fn nothing_needs_no_symbol() {
        assert_eq!(round_trip(&[]), (vec![], vec![]));
    }
}
