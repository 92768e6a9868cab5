//! Spec: Chapter 7, "FSST".
//!
//! ```text
//! u16 code = 15 | u8 symbols Y | u32 values_size | u8 offsets_nested | u8 offset_width | pad to 16
//!               | Y symbols, u64 | Y lengths, u8 | compressed values | pad to 8 | offsets
//! ```
//! A byte below Y stands for a symbol of 1 to 8 bytes, 255 for the byte that follows it. All values
//! of the block are compressed as one string.

use super::super::fields::{Fields, pad, set_size, split_at};
use super::input::Clean;
use super::number;
use super::spans::{OffsetsPart, estimate_offsets, write_offsets};
use super::stats::Stats;
use super::{
    BytesBuilder, Codec, Context, EncodingCode, EncodingTree, Estimate, NullsOut, Request,
};
use crate::error::{Error, Result};
use crate::kernels::{MAX_SYMBOL, Symbols};
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
    let (symbols, rest) = split_at(payload, MAX_SYMBOL * count, "symbols")?;
    let (lengths, rest) = split_at(rest, count, "symbol lengths")?;
    let (compressed, rest) = split_at(rest, size, "compressed values")?;
    // The offsets are aligned with the payload, not with what precedes them.
    let before = (MAX_SYMBOL + 1) * count + size;
    let bytes = rest
        .get(before.next_multiple_of(8) - before..)
        .unwrap_or_default();
    Ok(Parts {
        symbols: Symbols::try_new(symbols.as_chunks().0, lengths)?,
        compressed,
        offsets: OffsetsPart {
            width,
            nested,
            bytes,
        },
    })
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

    fn children(
        request: Request<'_>,
        cx: &mut Context<'_>,
    ) -> Result<Vec<(&'static str, EncodingTree)>> {
        parse(request.values)?.offsets.children(request.n, cx)
    }
}

/// Bytes that the library learns from in one piece.
const LESSON: usize = 512;

/// Learns symbols from pieces, not from values: symbols may span the borders of values.
fn learn(values: &[u8]) -> Compressor {
    Compressor::train(&values.chunks(LESSON).collect())
}

/// Symbols that several blocks share. Plans are equal whatever they have learned.
#[derive(Clone, Default)]
pub struct Learned(Option<Arc<Compressor>>);

impl Learned {
    pub(super) fn from_values(values: &[u8]) -> Self {
        Self(Some(Arc::new(learn(values))))
    }
}

impl fmt::Debug for Learned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbols = self.0.as_ref().map(|c| c.symbol_table().len());
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

/// A symbol table and the values compressed with it.
struct Compressed {
    symbols: Vec<[u8; MAX_SYMBOL]>,
    lengths: Vec<u8>,
    codes: Vec<u8>,
}

impl Compressed {
    /// Learns symbols from values bytes and compresses them as one string.
    fn of(values: &[u8]) -> Self {
        Self::with(&learn(values), values)
    }

    fn with(compressor: &Compressor, values: &[u8]) -> Self {
        let symbols = compressor.symbol_table().iter();
        Self {
            symbols: symbols
                .map(|symbol| symbol.to_u64().to_le_bytes())
                .collect(),
            lengths: compressor.symbol_lengths().to_vec(),
            codes: compressor.compress(values),
        }
    }

    /// Size of the symbol table, in bytes.
    fn table_len(&self) -> usize {
        self.symbols.as_flattened().len() + self.lengths.len()
    }
}

pub(super) fn encode(
    input: &Clean<'_>,
    symbols: &Learned,
    offsets: Option<&number::Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let compressed = match &symbols.0 {
        Some(compressor) => Compressed::with(compressor, &input.values),
        None => Compressed::of(&input.values),
    };
    let offsets = offsets.filter(|_| input.fixed.is_none());
    out.extend_from_slice(&EncodingCode::Fsst.to_u16().to_le_bytes());
    out.push(u8::try_from(compressed.symbols.len()).map_err(|_| {
        let found = compressed.symbols.len();
        Error::invalid(format!("expected up to 255 FSST symbols, found {found}"))
    })?);
    out.extend_from_slice(&[0; 4]);
    set_size(out, start + 3, compressed.codes.len())?;
    out.extend([u8::from(offsets.is_some()), input.offset_width()]);
    pad(out, start);
    out.extend_from_slice(compressed.symbols.as_flattened());
    out.extend_from_slice(&compressed.lengths);
    out.extend_from_slice(&compressed.codes);
    if input.fixed.is_some() {
        return Ok(());
    }
    pad(out, start);
    write_offsets(&input.offsets, offsets, out)
}

/// Nanoseconds to decompress a code or an escaped byte.
const COST_PER_CODE: f32 = 0.63;

/// Compresses the sample.
pub(super) fn estimate(stats: &Stats, offsets: Option<&number::Plan>) -> Option<Estimate> {
    let (table, codes) = sampled(stats);
    let offsets = estimate_offsets(stats, offsets)?;
    Some(Estimate {
        bytes: 16 + (table + codes).next_multiple_of(8) + offsets.bytes,
        decode_cost: super::PLACING
            + COST_PER_CODE * number::ratio(codes, stats.n)
            + offsets.decode_cost,
    })
}

/// Expected size of the symbol table and of the codes of all values. Symbols suit the bytes that
/// they were learned from better than others, so one half of a sample is to predict the other.
fn sampled(stats: &Stats) -> (usize, usize) {
    let sample = stats.sample_bytes();
    if sample.len() >= stats.total_bytes {
        let all = Compressed::of(sample);
        return (all.table_len(), all.codes.len());
    }
    let half = |first: usize| -> Vec<u8> {
        let pieces = sample.chunks(LESSON).skip(first).step_by(2);
        pieces.flatten().copied().collect()
    };
    let (lessons, others) = (half(0), half(1));
    let compressed = Compressed::with(&learn(&lessons), &others);
    let factor = stats.total_bytes as f64 / others.len().max(1) as f64;
    let codes = number::scaled(compressed.codes.len(), factor);
    (compressed.table_len(), codes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_buffer::MutableBuffer;

    fn decompressed(compressed: &Compressed, total: usize) -> Vec<u8> {
        let table = Symbols::try_new(&compressed.symbols, &compressed.lengths).unwrap();
        let mut out = MutableBuffer::new(0);
        table
            .decompress(&compressed.codes, total, &mut out)
            .unwrap();
        out.as_slice().to_vec()
    }

    #[test]
    fn values_that_end_with_zeros_or_before_them_keep_their_length() {
        for pattern in [b"a\0".as_slice(), b"ab\0\0\0", b"\0", b"\xff\0\0\0\0\0\0\0"] {
            for cut in 0..=pattern.len() {
                let mut values = pattern.repeat(300);
                values.truncate(values.len() - cut);
                let compressed = Compressed::of(&values);
                assert_eq!(decompressed(&compressed, values.len()), values);
            }
        }
    }

    #[test]
    fn nothing_needs_no_symbol() {
        let compressed = Compressed::of(&[]);
        assert_eq!(
            (compressed.codes.len(), decompressed(&compressed, 0)),
            (0, vec![])
        );
    }
}
