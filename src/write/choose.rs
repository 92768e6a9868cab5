//! Which encodings to use: policy over the estimates that the encodings give of themselves.
//!
//! An encoding is chosen for a window of staged values, by the size that it is expected to have on
//! some of the window's blocks and by the time that decoding takes. What a block does not allow is
//! left to the encoders, which fall back on their own.

use super::options::Profile;
use crate::encoding::bytes;
use crate::encoding::number::{Plan, Stats};
use crate::encoding::{Estimate, NumberKind, Word, number};
use crate::error::Result;

/// Blocks of a window that are looked at.
const SAMPLED_BLOCKS: usize = 3;
/// Values of such a block.
const SAMPLED_VALUES: usize = 4096;

/// Bytes per value that one nanosecond of decoding must save to be worth it.
fn price_of_a_nanosecond(profile: Profile) -> f64 {
    match profile {
        Profile::Plain => f64::INFINITY,
        Profile::Balanced => 0.25,
        Profile::HighCompression => 0.02,
    }
}

/// Chooses how to encode the numbers of a window.
pub(super) fn number_plan<W: Word>(values: &[W], kind: NumberKind, profile: Profile) -> Plan {
    if profile == Profile::Plain {
        return Plan::Plain;
    }
    let blocks: Vec<Stats<W>> = sampled(values)
        .map(|block| Stats::collect(block, kind))
        .collect();
    let cost = |plan: &Plan| {
        let estimates = blocks.iter().map(|stats| (stats.n, plan.estimate(stats)));
        score(estimates, profile)
    };
    cheapest(
        number_candidates(W::BYTES, kind, profile),
        Plan::Plain,
        cost,
    )
}

/// A few stretches of the values, spread over all of them.
fn sampled<W>(values: &[W]) -> impl Iterator<Item = &[W]> {
    let last = values.len().saturating_sub(SAMPLED_VALUES);
    let count = if last == 0 { 1 } else { SAMPLED_BLOCKS };
    (0..count).map(move |i| {
        let start = last * i / (count - 1).max(1);
        &values[start..values.len().min(start + SAMPLED_VALUES)]
    })
}

/// Expected bytes, with the time of decoding added at its price; `None` if the encoding does not
/// suit every block.
fn score(
    estimates: impl Iterator<Item = (usize, Option<Estimate>)>,
    profile: Profile,
) -> Option<f64> {
    let price = price_of_a_nanosecond(profile);
    let mut total = 0.0;
    for (values, estimate) in estimates {
        let estimate = estimate?;
        total += estimate.bytes as f64 + f64::from(estimate.decode_cost) * price * values as f64;
    }
    Some(total)
}

fn cheapest<P>(candidates: Vec<P>, plain: P, cost: impl Fn(&P) -> Option<f64>) -> P {
    let mut best = (cost(&plain).unwrap_or(f64::INFINITY), plain);
    for candidate in candidates {
        if let Some(cost) = cost(&candidate)
            && cost < best.0
        {
            best = (cost, candidate);
        }
    }
    best.1
}

fn number_candidates(width: usize, kind: NumberKind, profile: Profile) -> Vec<Plan> {
    let ffor = || Box::new(Plan::Ffor);
    let few_runs = Plan::RunLength {
        values: None,
        lengths: None,
    };
    // Bit-packing works on 1,024 numbers at a time, and pays for many runs only.
    let many_runs = |values| Plan::RunLength {
        values,
        lengths: Some(Box::new(Plan::FlBitPack)),
    };
    let mut plans = vec![Plan::SingleValue, few_runs];
    if kind == NumberKind::Float {
        plans.push(many_runs(None));
        plans.push(Plan::Alp { integers: ffor() });
    } else {
        plans.push(Plan::Ffor);
        plans.push(many_runs(Some(ffor())));
        if width > 1 {
            plans.push(Plan::Delta {
                differences: ffor(),
            });
        }
    }
    if kind == NumberKind::Unsigned {
        plans.push(Plan::FlBitPack);
    }
    if width > 1 {
        plans.push(Plan::BlockDictionary {
            codes: Box::new(Plan::FlBitPack),
            values: None,
        });
    }
    match profile {
        Profile::HighCompression => plans.push(Plan::Zstd { level: 3 }),
        _ => plans.push(Plan::Lz4),
    }
    plans
}

/// Chooses how to encode the byte values of a window.
pub(super) fn bytes_plan(input: &bytes::Input<'_>, profile: Profile) -> Result<bytes::Plan> {
    let offsets = || Some(number::Plan::Ffor);
    let generic = match profile {
        Profile::Plain => return Ok(bytes::Plan::Plain),
        Profile::Balanced => bytes::Plan::Lz4 { offsets: offsets() },
        Profile::HighCompression => bytes::Plan::Zstd {
            level: 3,
            offsets: offsets(),
        },
    };
    let candidates = vec![
        bytes::Plan::SingleValue,
        bytes::Plan::BlockDictionary {
            codes: number::Plan::FlBitPack,
            lengths: Some(number::Plan::Ffor),
        },
        generic,
    ];
    let stats = bytes::Stats::collect(input)?;
    Ok(cheapest(candidates, bytes::Plan::Plain, |plan| {
        score(std::iter::once((stats.n, plan.estimate(&stats))), profile)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(values: &[u64], profile: Profile) -> Plan {
        number_plan(values, NumberKind::Unsigned, profile)
    }

    #[test]
    fn data_get_the_encoding_that_suits_them() {
        let narrow: Vec<u64> = (0..65_536).map(|i| 1_000_000 + i * 7919 % 1000).collect();
        assert_eq!(chosen(&narrow, Profile::Balanced), Plan::Ffor);
        let same = vec![7; 65_536];
        assert_eq!(chosen(&same, Profile::Balanced), Plan::SingleValue);
        let runs: Vec<u64> = (0..65_536u64)
            .map(|i| (i / 500).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .collect();
        assert!(matches!(
            chosen(&runs, Profile::Balanced),
            Plan::RunLength { .. }
        ));
        let noise: Vec<u64> = (0..65_536u64)
            .map(|i| crate::format::checksum(&i.to_le_bytes()).into())
            .map(|h: u64| h.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .collect();
        assert_eq!(chosen(&noise, Profile::Balanced), Plan::Plain);
        assert_eq!(chosen(&narrow, Profile::Plain), Plan::Plain);
    }
}
