//! Which encodings to use: policy over the estimates that the encodings give of themselves.
//!
//! An encoding is chosen for a window of staged values, by the size that it is expected to have on
//! some of the window's blocks and by the time that decoding takes. What a block does not allow is
//! left to the encoders, which fall back on their own.

use super::nesting::{takes_bytes, takes_numbers};
use super::number::Settings;
use super::options::Profile;
use crate::encoding::bytes;
use crate::encoding::number::{Plan, Stats};
use crate::encoding::{Estimate, NumberKind, Word, number};
use crate::error::Result;

/// Blocks of a window that are looked at.
const SAMPLED_BLOCKS: usize = 3;
/// Values of such a block.
const SAMPLED_VALUES: usize = 4096;

/// Share of the values' bytes that FSST hardly gets below, so that it is not tried for what takes no
/// more anyway.
const FSST_CAN_SAVE: f64 = 0.25;
/// What FSST must save of the next best: compressing takes several times as long as with LZ4.
const FSST_MUST_SAVE: f64 = 0.05;

/// Bytes per value that one nanosecond of decoding must save to be worth it.
pub(super) fn price_of_a_nanosecond(profile: Profile) -> f64 {
    match profile {
        Profile::Plain => f64::INFINITY,
        Profile::Balanced => 0.25,
        Profile::HighCompression => 0.02,
    }
}

/// How to encode the values of a window.
pub(super) struct Choice<P> {
    pub(super) plan: P,
    /// Bytes that a value should take, with the time of decoding it added at its price.
    pub(super) cost: f64,
}

/// Chooses how to encode the numbers of a window.
pub(super) fn numbers<W: Word>(
    values: &[W],
    kind: NumberKind,
    settings: &Settings,
) -> Choice<Plan> {
    let profile = settings.profile;
    if profile == Profile::Plain {
        return Choice {
            plan: Plan::Plain,
            cost: W::BYTES as f64,
        };
    }
    let blocks: Vec<Stats<W>> = sampled(values)
        .map(|block| Stats::collect(block, kind))
        .collect();
    let cost = |plan: &Plan| {
        let estimates = blocks.iter().map(|stats| (stats.n, plan.estimate(stats)));
        score(estimates, profile)
    };
    let mut candidates = number_candidates(W::BYTES, kind, profile);
    candidates.retain(|plan| takes_numbers(plan, &settings.capabilities));
    let sampled = blocks.iter().map(|stats| stats.n).sum();
    cheapest(candidates, Plan::Plain, sampled, cost)
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

/// The plan with the least cost for that many values.
fn cheapest<P>(
    candidates: Vec<P>,
    plain: P,
    values: usize,
    cost: impl Fn(&P) -> Option<f64>,
) -> Choice<P> {
    let mut best = (cost(&plain).unwrap_or(f64::INFINITY), plain);
    for candidate in candidates {
        if let Some(cost) = cost(&candidate)
            && cost < best.0
        {
            best = (cost, candidate);
        }
    }
    Choice {
        plan: best.1,
        cost: best.0 / values.max(1) as f64,
    }
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
pub(super) fn byte_strings(
    input: &bytes::Input<'_>,
    settings: &Settings,
) -> Result<Choice<bytes::Plan>> {
    let profile = settings.profile;
    let offsets = || Some(number::Plan::Ffor);
    let generic = match profile {
        Profile::Plain => {
            let size = input.values.len() as f64;
            return Ok(Choice {
                plan: bytes::Plan::Plain,
                cost: size / input.len.max(1) as f64,
            });
        }
        Profile::Balanced => bytes::Plan::Lz4 { offsets: offsets() },
        Profile::HighCompression => bytes::Plan::Zstd {
            level: 3,
            offsets: offsets(),
        },
    };
    let mut candidates = vec![
        bytes::Plan::SingleValue,
        bytes::Plan::BlockDictionary {
            codes: number::Plan::FlBitPack,
            lengths: Some(number::Plan::Ffor),
        },
        generic,
    ];
    let takes =
        |plan: &bytes::Plan| takes_bytes(plan, input.fixed.is_some(), &settings.capabilities);
    candidates.retain(takes);
    let stats = bytes::Stats::collect(input)?;
    let cost =
        |plan: &bytes::Plan| score(std::iter::once((stats.n, plan.estimate(&stats))), profile);
    let choice = cheapest(candidates, bytes::Plan::Plain, stats.n, cost);
    let fsst = bytes::Plan::fsst(offsets());
    let average = stats.total_bytes as f64 / stats.n.max(1) as f64;
    if profile != Profile::Balanced || !takes(&fsst) || choice.cost < average * FSST_CAN_SAVE {
        return Ok(choice);
    }
    match cost(&fsst).map(|cost| cost / stats.n.max(1) as f64) {
        Some(cost) if cost < choice.cost * (1.0 - FSST_MUST_SAVE) => Ok(Choice {
            plan: fsst.learned_from(input)?,
            cost,
        }),
        _ => Ok(choice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(profile: Profile) -> Settings {
        Settings {
            profile,
            embedded_presence: false,
            block_values: 8192,
            dictionaries: true,
            capabilities: crate::format::Wire::Spec.capabilities(),
        }
    }

    fn chosen(values: &[u64], profile: Profile) -> Plan {
        numbers(values, NumberKind::Unsigned, &settings(profile)).plan
    }

    fn chosen_for_text(lines: impl Iterator<Item = String>, profile: Profile) -> bytes::Plan {
        let (mut offsets, mut values) = (vec![0u64], Vec::new());
        for line in lines {
            values.extend_from_slice(line.as_bytes());
            offsets.push(values.len() as u64);
        }
        let input = bytes::Input::variable(&offsets, &values, None);
        byte_strings(&input, &settings(profile)).unwrap().plan
    }

    #[test]
    fn text_gets_the_encoding_that_suits_it() {
        let noise = |i: u64| u64::from(crate::format::checksum(&i.to_le_bytes()));
        let words: Vec<&str> =
            "furiously quickly carefully slyly blithely foxes ideas pinto beans \
            instructions packages requests accounts deposits sleep wake are cajole haggle nag use \
            boost affix detect integrate special pending unusual express regular final ironic even \
            bold silent about above according to across after against along among around"
                .split_whitespace()
                .collect();
        let comment = |i: u64| -> String {
            (0..5)
                .map(|k| {
                    words[usize::try_from(noise(5 * i + k)).unwrap() % words.len()].to_owned() + " "
                })
                .collect()
        };
        let hex = move |i: u64| format!("{:08x}-{:08x}", noise(2 * i), noise(2 * i + 1));
        let same = |_| "the same line, again and again".to_owned();
        // Text without long repetitions: LZ4 finds little.
        let fsst = |plan| matches!(plan, bytes::Plan::Fsst { .. });
        assert!(fsst(chosen_for_text(
            (0..4000).map(comment),
            Profile::Balanced
        )));
        assert!(fsst(chosen_for_text((0..4000).map(hex), Profile::Balanced)));
        let high = chosen_for_text((0..4000).map(comment), Profile::HighCompression);
        assert!(matches!(high, bytes::Plan::Zstd { .. }), "{high}");
        let lines =
            (0..4000).map(|i| format!("connection {i} closed by the remote host (timeout)"));
        let lines = chosen_for_text(lines, Profile::Balanced);
        assert!(matches!(lines, bytes::Plan::Lz4 { .. }), "{lines}");
        let same = chosen_for_text((0..4000).map(same), Profile::Balanced);
        assert_eq!(same, bytes::Plan::SingleValue);
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
