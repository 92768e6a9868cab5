//! Spec: Chapter 7, "FSST". Read only.
//!
//! ```text
//! u16 code = 15 | u8 symbols Y | u32 values_size | u8 offsets_nested | u8 offset_width | pad to 16
//!               | Y symbols, u64 | Y lengths, u8 | compressed values | pad to 8 | offsets
//! ```
//! A byte below Y stands for a symbol of 1 to 8 bytes, 255 for the byte that follows it. All values
//! of the block are compressed as one string.

use super::super::fields::{Fields, split_at};
use super::spans::OffsetsPart;
use super::{BytesBuilder, Codec, Context, EncodingTree, NullsOut, Request};
use crate::error::{Error, Result};
use arrow_buffer::MutableBuffer;

pub(super) struct Fsst;

const ESCAPE: u8 = 255;
/// Longest symbol.
const SYMBOL: usize = 8;

struct Parts<'a> {
    table: Table,
    compressed: &'a [u8],
    offsets: OffsetsPart<'a>,
}

fn parse(values: &[u8]) -> Result<Parts<'_>> {
    let (mut fields, payload) = Fields::split(values, 7)?;
    let count = usize::from(fields.u8()?);
    let size = fields.size()?;
    let nested = fields.flag()?;
    let width = fields.u8()?;
    let (symbols, rest) = split_at(payload, SYMBOL * count, "symbols")?;
    let (lengths, rest) = split_at(rest, count, "symbol lengths")?;
    let (compressed, rest) = split_at(rest, size, "compressed values")?;
    // The offsets are aligned with the payload, not with what precedes them.
    let before = (SYMBOL + 1) * count + size;
    let bytes = rest
        .get(before.next_multiple_of(8) - before..)
        .unwrap_or_default();
    let table = Table::try_new(symbols, lengths)?;
    Ok(Parts {
        table,
        compressed,
        offsets: OffsetsPart {
            width,
            nested,
            bytes,
        },
    })
}

/// The symbols by code; unused codes have length 0.
struct Table {
    symbols: [[u8; SYMBOL]; 255],
    lengths: [u8; 255],
}

impl Table {
    fn try_new(symbols: &[u8], lengths: &[u8]) -> Result<Self> {
        let mut table = Self {
            symbols: [[0; SYMBOL]; 255],
            lengths: [0; 255],
        };
        if let Some(length) = lengths
            .iter()
            .find(|l| **l == 0 || usize::from(**l) > SYMBOL)
        {
            return Err(Error::corrupt(format!(
                "expected symbols of 1 to 8 bytes, found {length}"
            )));
        }
        let symbols = symbols.as_chunks::<SYMBOL>().0;
        for (slot, symbol) in table.symbols.iter_mut().zip(symbols) {
            *slot = *symbol;
        }
        for (slot, length) in table.lengths.iter_mut().zip(lengths) {
            *slot = *length;
        }
        Ok(table)
    }

    /// Appends exactly `total` decompressed bytes.
    fn decompress(&self, src: &[u8], total: usize, out: &mut MutableBuffer) -> Result<()> {
        if total > src.len().saturating_mul(SYMBOL) {
            let len = src.len();
            return Err(Error::corrupt(format!(
                "{len} bytes of FSST cannot hold {total} bytes"
            )));
        }
        let start = out.len();
        // Symbols are written whole; the slack takes what the last one writes too much.
        out.resize(start + total + SYMBOL, 0);
        let dst = out.as_slice_mut().get_mut(start..).unwrap_or_default();
        let mut at = 0;
        let mut codes = src.iter();
        while let Some(&code) = codes.next() {
            let (symbol, length) = match (
                self.symbols.get(usize::from(code)),
                self.lengths.get(usize::from(code)),
            ) {
                (Some(symbol), Some(&length)) if length > 0 => (*symbol, usize::from(length)),
                _ if code == ESCAPE => match codes.next() {
                    Some(&byte) => ([byte; SYMBOL], 1),
                    None => return Err(Error::corrupt("FSST data ends after an escape")),
                },
                _ => return Err(Error::corrupt(format!("FSST code {code} has no symbol"))),
            };
            match dst.get_mut(at..at + SYMBOL) {
                Some(place) => place.copy_from_slice(&symbol),
                None => return Err(Error::corrupt(format!("FSST data exceeds {total} bytes"))),
            }
            at += length;
        }
        if at != total {
            return Err(Error::corrupt(format!(
                "expected {total} decompressed bytes, found {at}"
            )));
        }
        out.truncate(start + total);
        Ok(())
    }
}

impl Codec for Fsst {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        _nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        let Parts {
            table,
            compressed,
            offsets,
        } = parse(request.values)?;
        offsets.with_spans(request, cx, |cx, spans, total| {
            cx.check_bytes(total as u64)?;
            out.push_decoded(spans, total, request.n, request.ranges, cx, |_, buffer| {
                table.decompress(compressed, total, buffer)
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
