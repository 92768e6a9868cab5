//! Plans: encodings that a writer chooses for a block of byte strings.

use super::super::compress::Method;
use super::fsst::{Learned, Teaching};
use super::input::Clean;
use super::stats::Stats;
use super::{
    Estimate, Input, block_dictionary, compressed, delimited, digits, fsst, fsst_values, non_empty,
    number, plain, single_value, split128,
};
use crate::encoding::Trained;
use crate::error::Result;
use std::fmt;

/// How to encode byte strings. Parts that are `None` are stored raw.
///
/// A plan is an expectation. A block that violates it is encoded in another way, which is never
/// larger than [`Plain`](Plan::Plain).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Plan {
    /// Unencoded values.
    Plain,
    /// One value for all positions.
    SingleValue,
    /// Codes into the distinct values.
    BlockDictionary {
        /// Plan for the codes.
        codes: number::Plan,
        /// Plan for the lengths of the distinct values.
        lengths: Option<number::Plan>,
    },
    /// Codes for frequent stretches of up to 8 bytes.
    Fsst {
        /// Symbols that were learned before. Otherwise, every block has its own.
        symbols: Learned,
        /// Plan for the offsets of the values.
        offsets: Option<number::Plan>,
    },
    /// FSST for a few values at a time, so that single values can be read.
    FsstValues {
        /// Symbols that were learned before. Otherwise, every block has its own.
        symbols: Learned,
        /// Plan for the lengths of the values.
        lengths: number::Plan,
    },
    /// Zstandard; LZ4 in builds without it.
    Zstd {
        /// Compression level, 0 for the default of the library.
        level: i32,
        /// Plan for the offsets of the values.
        offsets: Option<number::Plan>,
    },
    /// Zstandard with a dictionary that several blocks share.
    Trained {
        /// The dictionary.
        dictionary: Trained,
        /// Plan for the offsets of the values.
        offsets: Option<number::Plan>,
    },
    /// LZ4.
    Lz4 {
        /// Plan for the offsets of the values.
        offsets: Option<number::Plan>,
    },
    /// Integers of 16 bytes, split in two. Only for values of that size.
    Split128 {
        /// Plan for the high halves.
        high: number::Plan,
        /// Plan for the low halves.
        low: number::Plan,
    },
    /// Texts of one template, with their digits as numbers. Only for values of variable size.
    Digits {
        /// Level of Pco, if it may encode the numbers.
        pco: Option<u8>,
        /// The plan for blocks in which too few texts fit one template.
        otherwise: Box<Plan>,
    },
    /// Only the texts that are not empty. Only for values of variable size.
    NonEmpty {
        /// The plan for the texts, and for blocks in which most values are texts.
        texts: Box<Plan>,
    },
    /// Every value after its length. This is not a region, but the delimited values of a whole block.
    Delimited {
        /// Plan for the bytes, including the lengths.
        bytes: number::Plan,
    },
}

impl Plan {
    /// Returns a plan for FSST with symbols per block, and this plan for the offsets.
    pub fn fsst(offsets: Option<number::Plan>) -> Self {
        Self::Fsst {
            symbols: Learned::default(),
            offsets,
        }
    }

    /// Returns a plan for FSST of a few values at a time, with symbols per block, and this plan for the lengths.
    pub fn fsst_values(lengths: number::Plan) -> Self {
        Self::FsstValues {
            symbols: Learned::default(),
            lengths,
        }
    }

    #[cfg(any(test, feature = "experimental"))]
    /// Returns a plan for texts of one template without Pco, and this plan for blocks of other texts.
    pub fn digits(otherwise: Self) -> Self {
        Self::Digits {
            pco: None,
            otherwise: Box::new(otherwise),
        }
    }

    /// Returns the plan with symbols that were learned before, if it has symbols.
    #[must_use]
    pub fn with_symbols(mut self, learned: &Learned) -> Self {
        if let Self::Fsst { symbols, .. } | Self::FsstValues { symbols, .. } = &mut self {
            *symbols = learned.clone();
        }
        self
    }

    /// Returns the symbols, if the plan has any.
    pub fn symbols(&self) -> Option<&Learned> {
        match self {
            Self::Fsst { symbols, .. } | Self::FsstValues { symbols, .. } => Some(symbols),
            Self::Digits {
                otherwise: inner, ..
            }
            | Self::NonEmpty { texts: inner } => inner.symbols(),
            _ => None,
        }
    }

    /// Returns the plan with symbols that blocks similar to these values can share. Keeps the symbols that the plan
    /// has if they suit these values.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the parts of `input` contradict each other.
    pub fn learned_from(self, input: &Input<'_>) -> Result<Self> {
        let (symbols, teaching) = match &self {
            Self::Fsst { symbols, .. } => (symbols, Teaching::Pieces),
            Self::FsstValues { symbols, .. } => (symbols, Teaching::Texts),
            _ => return Ok(self),
        };
        let symbols = symbols.suited_to(&input.clean()?, teaching);
        Ok(self.with_symbols(&symbols))
    }

    /// Estimates the results of encoding values with these statistics. Returns `None` if the plan cannot pay off.
    pub fn estimate(&self, stats: &Stats) -> Option<Estimate> {
        match self {
            Self::Plain => Some(plain::estimate(stats)),
            Self::SingleValue => single_value::estimate(stats),
            Self::BlockDictionary { codes, lengths } => {
                block_dictionary::estimate(codes, lengths.as_ref(), stats)
            }
            Self::Fsst { symbols, offsets } => fsst::estimate(stats, symbols, offsets.as_ref()),
            Self::FsstValues { symbols, lengths } => fsst_values::estimate(stats, symbols, lengths),
            Self::Zstd { level, offsets } => {
                compressed::estimate(stats, Method::Zstd { level: *level }, offsets.as_ref())
            }
            // The writer tries these instead.
            Self::Trained { .. }
            | Self::Delimited { .. }
            | Self::Digits { .. }
            | Self::NonEmpty { .. } => None,
            Self::Lz4 { offsets } => compressed::estimate(stats, Method::Lz4, offsets.as_ref()),
            Self::Split128 { high, low } => split128::estimate(high, low, stats),
        }
    }
}

impl Plan {
    /// Encodes these values and returns the actual size. Only the decoding time is guessed from the statistics, as
    /// [`estimate`](Self::estimate) does.
    ///
    /// # Errors
    /// Returns the errors of [`encode`](super::encode()).
    pub fn trial(&self, input: &Input<'_>, stats: &Stats) -> Result<Estimate> {
        let mut out = Vec::new();
        encode(input, self, &mut out)?;
        let decode_cost = match self {
            Self::Zstd { level, offsets } => compressed::cost(
                stats,
                Method::Zstd { level: *level },
                offsets.as_ref(),
                out.len(),
            ),
            Self::Trained { offsets, .. } => compressed::cost(
                stats,
                Method::Zstd { level: 0 },
                offsets.as_ref(),
                out.len(),
            ),
            Self::Delimited { bytes } => Some(delimited::cost(bytes, stats)),
            Self::Digits { pco, .. } => try_digits(input, *pco)?.map(|tried| tried.decode_cost),
            Self::NonEmpty { texts } => non_empty::cost(input, |block| {
                let estimate = texts.trial(block, &Stats::collect(block)?)?;
                Ok(estimate.decode_cost)
            })?,
            other => other.estimate(stats).map(|e| e.decode_cost),
        };
        Ok(Estimate {
            bytes: out.len(),
            decode_cost: decode_cost.unwrap_or_default(),
        })
    }
}

/// Encodes values as [`Digits`](Plan::Digits) to measure the size. Returns `None` if too few texts fit one template.
///
/// # Errors
/// Returns the errors of [`encode`](super::encode()).
pub fn try_digits(input: &Input<'_>, pco: Option<u8>) -> Result<Option<Estimate>> {
    digits::trial(&input.clean()?, pco)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |plan: &Option<number::Plan>| {
            plan.as_ref()
                .map_or_else(|| "raw".to_owned(), number::Plan::to_string)
        };
        match self {
            Self::Plain => f.write_str("Plain"),
            Self::SingleValue => f.write_str("SingleValue"),
            Self::BlockDictionary { codes, lengths } => {
                write!(
                    f,
                    "BlockDictionary(codes: {codes}, lengths: {})",
                    part(lengths)
                )
            }
            Self::Fsst { offsets, .. } => write!(f, "FSST(offsets: {})", part(offsets)),
            Self::FsstValues { lengths, .. } => write!(f, "FsstValues(lengths: {lengths})"),
            Self::Zstd { level, offsets } => write!(f, "ZSTD({level}, offsets: {})", part(offsets)),
            Self::Trained {
                dictionary,
                offsets,
            } => {
                let (id, offsets) = (dictionary.id(), part(offsets));
                write!(f, "ZSTD(dictionary {id}, offsets: {offsets})")
            }
            Self::Lz4 { offsets } => write!(f, "LZ4(offsets: {})", part(offsets)),
            Self::Delimited { bytes } => write!(f, "delimited({bytes})"),
            Self::Digits {
                pco: None,
                otherwise,
            } => write!(f, "Digits(or {otherwise})"),
            Self::Digits {
                pco: Some(level),
                otherwise,
            } => write!(f, "Digits(Pco({level}), or {otherwise})"),
            Self::NonEmpty { texts } => write!(f, "NonEmpty({texts})"),
            Self::Split128 { high, low } => write!(f, "Split128(high: {high}, low: {low})"),
        }
    }
}

/// Encodes values, for [`encode`](super::encode()).
pub(super) fn encode(input: &Input<'_>, plan: &Plan, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let input = input.clean()?;
    if let Plan::Delimited { bytes } = plan {
        return delimited::encode(&input, bytes, out);
    }
    if !try_encode(&input, plan, out)? {
        out.truncate(start);
    }
    let limit = plain::size(input.len, input.fixed, input.values.len());
    // A plan may also turn out to be worse than no encoding.
    if out.len() == start || out.len() - start > limit {
        out.truncate(start);
        plain::encode(&input, out);
    }
    Ok(())
}

/// Size from which a single value may be worth compressing, in bytes.
const LARGE_VALUE: usize = 128;

/// Follows the plan as far as the values allow. Returns false if they do not allow it at all.
fn try_encode(input: &Clean<'_>, plan: &Plan, out: &mut Vec<u8>) -> Result<bool> {
    let compresses = matches!(
        plan,
        Plan::Fsst { .. }
            | Plan::FsstValues { .. }
            | Plan::Zstd { .. }
            | Plan::Trained { .. }
            | Plan::Lz4 { .. }
            | Plan::Digits { .. }
            | Plan::NonEmpty { .. }
    );
    // Nulls and equal values need neither symbols nor a compressor, except a single large value.
    if compresses
        && let Some(value) = input.single_value()
        && (value.len() < LARGE_VALUE || input.present().nth(1).is_some())
    {
        single_value::encode(value, out);
        return Ok(true);
    }
    match plan {
        Plan::Plain | Plan::Delimited { .. } => return Ok(false),
        Plan::SingleValue => match input.single_value() {
            Some(value) => single_value::encode(value, out),
            None => block_dictionary::encode(input, &number::Plan::FlBitPack, None, out)?,
        },
        Plan::BlockDictionary { codes, lengths } => {
            block_dictionary::encode(input, codes, lengths.as_ref(), out)?;
        }
        Plan::Fsst { symbols, offsets } => symbols.with(input, Teaching::Pieces, |encoder| {
            let offsets = offsets.as_ref();
            if encoder.symbols().is_empty() {
                // Every byte would be escaped, and the reference panics on blocks without symbols.
                compressed::encode(input, Method::Lz4, offsets, out)
            } else {
                fsst::encode(input, encoder, offsets, out)
            }
        })?,
        Plan::FsstValues { symbols, lengths } => {
            symbols.with(input, Teaching::Texts, |encoder| {
                fsst_values::encode(input, encoder, symbols.dictionary(), lengths, out)
            })?
        }
        Plan::Zstd { level, offsets } => {
            compressed::encode(input, Method::Zstd { level: *level }, offsets.as_ref(), out)?;
        }
        Plan::Trained {
            dictionary,
            offsets,
        } => compressed::encode_trained(input, dictionary, offsets.as_ref(), out)?,
        Plan::Lz4 { offsets } => compressed::encode(input, Method::Lz4, offsets.as_ref(), out)?,
        Plan::Split128 { high, low } => return split128::encode(input, high, low, out),
        Plan::NonEmpty { texts } => {
            let write = |input: &Input<'_>, out: &mut Vec<u8>| encode(input, texts, out);
            return Ok(non_empty::encode(input, out, write)? || try_encode(input, texts, out)?);
        }
        Plan::Digits { pco, otherwise } => {
            return Ok(digits::encode(input, *pco, out)? || try_encode(input, otherwise, out)?);
        }
    }
    Ok(true)
}
