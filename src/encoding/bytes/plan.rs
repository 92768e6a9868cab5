//! What a writer decided for a block of byte strings.

use super::super::compress::Method;
use super::fsst::Learned;
use super::input::Clean;
use super::stats::Stats;
use super::{
    Estimate, Input, block_dictionary, compressed, delimited, fsst, fsst_values, number, plain,
    single_value, split128,
};
use crate::encoding::Trained;
use crate::error::Result;
use std::fmt;

/// How to encode byte strings. Parts that are `None` are stored raw.
///
/// A plan says what is hoped for. A block that violates it is encoded in another way, and never
/// larger than [`Plain`](Plan::Plain).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Plan {
    /// Values as they are.
    Plain,
    /// One value for all positions.
    SingleValue,
    /// Codes into the distinct values.
    BlockDictionary {
        /// For the codes.
        codes: number::Plan,
        /// For the lengths of the distinct values.
        lengths: Option<number::Plan>,
    },
    /// Codes for frequent stretches of up to 8 bytes.
    Fsst {
        /// The symbols, if they have been learned before; otherwise every block has its own.
        symbols: Learned,
        /// For the offsets of the values.
        offsets: Option<number::Plan>,
    },
    /// The same for a few values at a time, so that single values can be read.
    FsstValues {
        /// The symbols, if they have been learned before; otherwise every block has its own.
        symbols: Learned,
        /// For the lengths of the values.
        lengths: number::Plan,
    },
    /// Zstandard; LZ4 in builds without it.
    Zstd {
        /// Compression level, 0 for the default of the library.
        level: i32,
        /// For the offsets of the values.
        offsets: Option<number::Plan>,
    },
    /// Zstandard with a dictionary that several blocks share.
    Trained {
        /// The dictionary.
        dictionary: Trained,
        /// For the offsets of the values.
        offsets: Option<number::Plan>,
    },
    /// LZ4.
    Lz4 {
        /// For the offsets of the values.
        offsets: Option<number::Plan>,
    },
    /// Integers of 16 bytes cut in two; for values of that size only.
    Split128 {
        /// For the high halves.
        high: number::Plan,
        /// For the low halves.
        low: number::Plan,
    },
    /// Every value behind its length: not a region, but the delimited values of a whole block.
    Delimited {
        /// For the bytes, lengths among them.
        bytes: number::Plan,
    },
}

impl Plan {
    /// FSST with symbols of every block's own, and offsets encoded so.
    pub fn fsst(offsets: Option<number::Plan>) -> Self {
        Self::Fsst {
            symbols: Learned::default(),
            offsets,
        }
    }

    /// FSST, a few values at a time, with lengths encoded so.
    pub fn fsst_values(lengths: number::Plan) -> Self {
        Self::FsstValues {
            symbols: Learned::default(),
            lengths,
        }
    }

    /// The same plan with symbols learned before, if it is one that has symbols.
    #[must_use]
    pub fn with_symbols(mut self, learned: &Learned) -> Self {
        if let Self::Fsst { symbols, .. } | Self::FsstValues { symbols, .. } = &mut self {
            *symbols = learned.clone();
        }
        self
    }

    /// What has been learned of the values, for plans that have symbols.
    pub fn symbols(&self) -> Option<&Learned> {
        match self {
            Self::Fsst { symbols, .. } | Self::FsstValues { symbols, .. } => Some(symbols),
            _ => None,
        }
    }

    /// The same plan with everything learned from these values that blocks like theirs can share,
    /// unless what it has learned before suits them.
    ///
    /// # Errors
    /// Those of the input.
    pub fn learned_from(self, input: &Input<'_>) -> Result<Self> {
        match self.symbols() {
            Some(symbols) => {
                let symbols = symbols.suited_to(&input.clean()?.values);
                Ok(self.with_symbols(&symbols))
            }
            None => Ok(self),
        }
    }

    /// What encoding values with these statistics so should give; `None` if it cannot pay.
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
            // They are tried where they are weighed.
            Self::Trained { .. } | Self::Delimited { .. } => None,
            Self::Lz4 { offsets } => compressed::estimate(stats, Method::Lz4, offsets.as_ref()),
            Self::Split128 { high, low } => split128::estimate(high, low, stats),
        }
    }
}

impl Plan {
    /// What encoding these values so gives: tried, where [`estimate`](Self::estimate) guesses from
    /// the same statistics how long decoding takes.
    ///
    /// # Errors
    /// Those of the input.
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
            other => other.estimate(stats).map(|e| e.decode_cost),
        };
        Ok(Estimate {
            bytes: out.len(),
            decode_cost: decode_cost.unwrap_or_default(),
        })
    }
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
            Self::Split128 { high, low } => write!(f, "Split128(high: {high}, low: {low})"),
        }
    }
}

/// See [`encode`](super::encode()).
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
    // A plan may also turn out worse than none.
    if out.len() == start || out.len() - start > limit {
        out.truncate(start);
        plain::encode(&input, out);
    }
    Ok(())
}

/// Bytes from which on a value may become smaller by itself.
const LARGE_VALUE: usize = 128;

/// Follows the plan as far as the values allow; false if they do not allow it at all.
fn try_encode(input: &Clean<'_>, plan: &Plan, out: &mut Vec<u8>) -> Result<bool> {
    let compresses = matches!(
        plan,
        Plan::Fsst { .. }
            | Plan::FsstValues { .. }
            | Plan::Zstd { .. }
            | Plan::Trained { .. }
            | Plan::Lz4 { .. }
    );
    // Nulls and equal values need neither symbols nor a compressor, unless a large value is alone in its block.
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
        Plan::Fsst { symbols, offsets } => symbols.with(&input.values, |encoder| {
            let offsets = offsets.as_ref();
            if encoder.symbols().is_empty() {
                // The reference panics on blocks without symbols, which only escape anyway.
                compressed::encode(input, Method::Lz4, offsets, out)
            } else {
                fsst::encode(input, encoder, offsets, out)
            }
        })?,
        Plan::FsstValues { symbols, lengths } => symbols.with(&input.values, |encoder| {
            fsst_values::encode(input, encoder, symbols.dictionary(), lengths, out)
        })?,
        Plan::Zstd { level, offsets } => {
            compressed::encode(input, Method::Zstd { level: *level }, offsets.as_ref(), out)?;
        }
        Plan::Trained {
            dictionary,
            offsets,
        } => compressed::encode_trained(input, dictionary, offsets.as_ref(), out)?,
        Plan::Lz4 { offsets } => compressed::encode(input, Method::Lz4, offsets.as_ref(), out)?,
        Plan::Split128 { high, low } => return split128::encode(input, high, low, out),
    }
    Ok(true)
}
