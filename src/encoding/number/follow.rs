//! Estimates the results of a plan, and encodes by it.

use super::super::compress::Method;
use super::plan::Plan;
use super::{
    EncodingCode, Estimate, NumberKind, Stats, Word, alp, alp_rd, block_dictionary, compact_ffor,
    compressed, delta, ffor, fl_bit_pack, frame, multiples, patched_ffor, pco, plain, ratio,
    run_length, single_value, sparse, truncate, zig_zag,
};
use crate::error::Result;
use crate::kernels::{count_runs, key_range};

/// Fewest repeated pairs of neighbors, of 256, for which copying pays off.
const MIN_PAIRS: usize = 16;

/// Nanoseconds per byte that a general-purpose encoding copies.
const COST_PER_BYTE: f32 = 0.15;

impl Plan {
    /// Estimates the results of encoding values with these statistics. Returns `None` if the plan cannot pay off,
    /// if it is not legal for the type, or if the writer does not choose it.
    pub fn estimate<W: Word>(&self, stats: &Stats<W>) -> Option<Estimate> {
        if stats.n == 0 {
            return (*self == Self::Plain).then(|| plain::estimate(stats));
        }
        match self {
            Self::Plain => Some(plain::estimate(stats)),
            Self::SingleValue => single_value::estimate(stats),
            Self::FlBitPack => fl_bit_pack::estimate(stats),
            Self::Ffor => ffor::estimate(stats),
            Self::Delta { differences } => delta::estimate(differences, stats),
            Self::RunLength { values, lengths } => {
                run_length::estimate(values.as_deref(), lengths.as_deref(), stats)
            }
            Self::BlockDictionary { codes, values } => {
                block_dictionary::estimate(codes, values.as_deref(), stats)
            }
            Self::Alp { integers } => alp::estimate(integers, stats),
            Self::AlpRd { left, right } => alp_rd::estimate(left, right, stats),
            Self::Zstd { level } => compressed::estimate(stats, Method::Zstd { level: *level }),
            Self::Lz4 => compressed::estimate(stats, Method::Lz4),
            Self::PatchedFfor => patched_ffor::estimate(stats),
            Self::CompactFfor => compact_ffor::estimate(stats),
            Self::For { deltas } => frame::estimate(deltas, stats),
            Self::Sparse { positions, values } => {
                sparse::estimate(positions.as_deref(), values.as_deref(), stats)
            }
            Self::Multiples { quotients } => multiples::estimate(quotients, stats),
            Self::Pco { level } => pco::estimate(stats, *level),
            Self::Truncate { .. } | Self::ZigZag { .. } => None,
        }
    }

    /// Returns lower bounds for the bytes and nanoseconds per value, for plans that take long to estimate.
    pub fn floor<W: Word>(&self, stats: &Stats<W>) -> (f64, f64) {
        let width = W::BYTES as f64;
        match self {
            // LZ4 saves space only by copying earlier bytes.
            Self::Lz4 if stats.alike().pairs < MIN_PAIRS => (width, 0.0),
            Self::Lz4 => (
                0.0,
                f64::from(Method::Lz4.available().cost_per_byte()) * width,
            ),
            Self::AlpRd { .. } => (width - f64::from(alp_rd::LEFT_BITS) / 8.0, 0.0),
            Self::BlockDictionary { .. } => {
                let entries = stats.least_distinct() as f64;
                (width * entries / stats.n.max(1) as f64, 0.0)
            }
            _ => (0.0, 0.0),
        }
    }

    /// Encodes these values and returns the actual size, where [`estimate`](Self::estimate) guesses. Returns
    /// `None` if the values do not allow the plan, or if the writer does not choose it. `out` is overwritten.
    pub fn trial<W: Word>(
        &self,
        values: &[W],
        kind: NumberKind,
        out: &mut Vec<u8>,
    ) -> Option<Estimate> {
        out.clear();
        let followed = try_encode(values, kind, self, out).ok()?;
        let width = f32::from(u8::try_from(W::BYTES).ok()?);
        let decode_cost = match self {
            Self::Zstd { level } => {
                let method = Method::Zstd { level: *level }.available();
                let compressed = ratio(out.len(), values.len());
                COST_PER_BYTE * width + method.cost_per_compressed_byte() * compressed
            }
            Self::Pco { .. } => pco::decode_cost(kind),
            other => other.estimate(&Stats::collect(values, kind))?.decode_cost,
        };
        followed.then_some(Estimate {
            bytes: out.len(),
            decode_cost,
        })
    }
}

/// Encodes values, for [`encode`](super::encode()).
pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    plan: &Plan,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    if !values.is_empty() && !try_encode(values, kind, plan, out)? {
        out.truncate(start);
    }
    // A plan may also turn out to be worse than no encoding.
    if out.len() == start || out.len() - start > 2 + size_of_val(values) {
        out.truncate(start);
        plain::encode(values, out);
    }
    Ok(())
}

/// Follows the plan as far as the values allow. Returns false if they do not allow it at all.
fn try_encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    plan: &Plan,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let signed = kind == NumberKind::Signed;
    let float = kind == NumberKind::Float;
    match plan {
        Plan::Plain => return Ok(false),
        Plan::SingleValue => return single_value_or_other(values, kind, out),
        Plan::FlBitPack if kind == NumberKind::Unsigned => {
            let (_, max) = key_range(values, kind);
            if max == W::ZERO {
                single_value::encode(W::ZERO, out);
            } else {
                fl_bit_pack::encode(values, max.bit_length(), out);
            }
        }
        Plan::FlBitPack | Plan::Ffor if float => return Ok(false),
        Plan::FlBitPack | Plan::Ffor => {
            let (min, max) = key_range(values, kind);
            let reference = W::from_order_key(min, kind);
            match max.minus(min).bit_length() {
                0 => single_value::encode(reference, out),
                width => ffor::encode(values, reference, width, out),
            }
        }
        Plan::For { deltas } if !float => frame::encode(values, kind, deltas, out)?,
        Plan::Delta { differences } if !float && values.len() > 1 => {
            delta::encode(values, kind, differences, out)?;
        }
        Plan::For { .. } | Plan::Delta { .. } => return Ok(false),
        Plan::RunLength {
            values: heads,
            lengths,
        } => {
            run_length::encode(values, kind, heads.as_deref(), lengths.as_deref(), out)?;
        }
        Plan::Truncate { values: narrow } => {
            return Ok(signed && truncate::encode(values, narrow.as_deref(), out)?);
        }
        Plan::ZigZag { values: folded } if signed => zig_zag::encode(values, folded, out)?,
        Plan::ZigZag { .. } => return Ok(false),
        Plan::BlockDictionary {
            codes,
            values: entries,
        } => {
            block_dictionary::encode(values, kind, codes, entries.as_deref(), out)?;
        }
        Plan::Sparse {
            positions,
            values: others,
        } => {
            sparse::encode(values, kind, positions.as_deref(), others.as_deref(), out)?;
        }
        Plan::Alp { integers } => {
            let legal = EncodingCode::Alp.suits_numbers(kind, W::BYTES);
            return Ok(legal && alp::encode(values, integers, out)?);
        }
        Plan::AlpRd { left, right } => {
            let legal = EncodingCode::AlpRd.suits_numbers(kind, W::BYTES);
            return Ok(legal && alp_rd::encode(values, left, right, out)?);
        }
        Plan::Zstd { level } => {
            compressed::encode(values, Method::Zstd { level: *level }, out)?;
        }
        Plan::Lz4 => compressed::encode(values, Method::Lz4, out)?,
        Plan::PatchedFfor if !float => patched_ffor::encode(values, kind, out)?,
        Plan::CompactFfor if !float => compact_ffor::encode(values, kind, out)?,
        Plan::Multiples { quotients } => {
            // Values without a common divisor may suit the plan of the quotients, too.
            return Ok(multiples::encode(values, kind, quotients, out)?
                || try_encode(values, kind, quotients, out)?);
        }
        Plan::PatchedFfor | Plan::CompactFfor => return Ok(false),
        Plan::Pco { level } => return pco::encode(values, kind, *level, out),
    }
    Ok(true)
}

/// Encodes a block that was expected to hold one value: as runs if there are few, else bit-packed. Returns
/// false for floats with many runs.
fn single_value_or_other<W: Word>(
    values: &[W],
    kind: NumberKind,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let runs = count_runs(values);
    match values.first() {
        Some(&value) if runs == 1 => {
            single_value::encode(value, out);
            Ok(true)
        }
        _ if runs <= values.len() / 4 => {
            run_length::encode(values, kind, None, Some(&Plan::FlBitPack), out)?;
            Ok(true)
        }
        _ if kind != NumberKind::Float => try_encode(values, kind, &Plan::Ffor, out),
        _ => Ok(false),
    }
}
