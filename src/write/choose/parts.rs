//! Plans with nested parts: runs of equal values, exceptions among equal values, and multiples of a number.

use super::Scales;
use crate::encoding::number::{Plan, Stats};
use crate::encoding::{Estimate, NumberKind, Word};

/// Share of the values, 1 of this many, up to which runs and exceptions are considered: with more, bit-packing takes
/// less space and a tenth of the time.
const MOST: usize = 3;
/// Nanoseconds to copy a part that is stored raw.
const RAW: f32 = 0.05;

/// Returns plans for blocks with these statistics: runs, exceptions among equal values, and multiples of a number.
/// Their parts have the encodings of lowest cost.
pub(super) fn nested_candidates<W: Word>(
    blocks: &[Stats<W>],
    kind: NumberKind,
    scales: Scales,
) -> Vec<Plan> {
    let mut plans = Vec::new();
    let n: usize = blocks.iter().map(|stats| stats.n).sum();
    let runs: usize = blocks.iter().map(|stats| stats.runs).sum();
    if blocks.len() < runs && runs <= n / MOST {
        let heads: Vec<Stats<W>> = blocks.iter().map(Stats::run_heads).collect();
        let lengths: Vec<Stats<u32>> = blocks.iter().map(Stats::run_lengths).collect();
        plans.push(Plan::RunLength {
            values: cheapest_part(&heads, kind, scales),
            lengths: cheapest_part(&lengths, NumberKind::Unsigned, scales),
        });
    }
    plans.extend(sparse(blocks, kind, scales));
    plans.extend(multiples(blocks, scales));
    plans
}

/// Returns a plan for multiples of a number, if the values of every block are such.
fn multiples<W: Word>(blocks: &[Stats<W>], scales: Scales) -> Option<Plan> {
    let differ = blocks.iter().filter(|stats| !stats.all_equal());
    let quotients: Option<Vec<Stats<W>>> = differ.map(Stats::quotients).collect();
    let quotients = quotients?;
    let packed = || Box::new(Plan::Ffor);
    let many_runs = Plan::RunLength {
        values: Some(packed()),
        lengths: Some(Box::new(Plan::FlBitPack)),
    };
    let plans = [
        Plan::Ffor,
        Plan::PatchedFfor,
        Plan::Delta {
            differences: packed(),
        },
        Plan::Delta {
            differences: Box::new(many_runs),
        },
    ];
    let weighed = plans.into_iter().filter_map(|plan| {
        let estimates = quotients
            .iter()
            .map(|stats| (stats.n, plan.estimate(stats)));
        let estimates: Vec<_> = estimates.collect();
        scales.weigh(plan, estimates.into_iter())
    });
    let best = weighed.min_by(|a, b| a.cost.total_cmp(&b.cost));
    best.filter(|_| !quotients.is_empty())
        .map(|best| Plan::Multiples {
            quotients: Box::new(best.plan),
        })
}

/// Returns a plan for exceptions among equal values, if there are few in every block.
fn sparse<W: Word>(blocks: &[Stats<W>], kind: NumberKind, scales: Scales) -> Option<Plan> {
    let majorities: Option<Vec<(W, f32)>> = blocks.iter().map(Stats::majority).collect();
    let majorities = majorities?;
    if majorities.iter().all(|(_, others)| *others == 0.0) {
        return None;
    }
    let of_zeros = majorities.iter().all(|(value, _)| *value == W::ZERO);
    if !of_zeros && kind == NumberKind::Float {
        return None;
    }
    let differences = majorities.iter().zip(blocks).map(|((value, _), stats)| {
        let kind = if of_zeros { kind } else { NumberKind::Unsigned };
        stats.minus(*value, kind)
    });
    let listed = differences.map(|stats| stats.listed());
    let (positions, values): (Vec<Stats<u32>>, Vec<Stats<W>>) = listed.unzip();
    let listed: usize = values.iter().map(|stats| stats.n).sum();
    let n: usize = blocks.iter().map(|stats| stats.n).sum();
    if listed > n / MOST {
        return None;
    }
    let kind = if of_zeros { kind } else { NumberKind::Unsigned };
    let sparse = Plan::Sparse {
        positions: cheapest_part(&positions, NumberKind::Unsigned, scales),
        values: cheapest_part(&values, kind, scales),
    };
    Some(if of_zeros {
        sparse
    } else {
        Plan::For {
            deltas: Box::new(sparse),
        }
    })
}

/// Returns the plan of lowest cost for the parts of several blocks, or `None` if they are stored raw.
fn cheapest_part<W: Word>(
    parts: &[Stats<W>],
    kind: NumberKind,
    scales: Scales,
) -> Option<Box<Plan>> {
    let integers = || Box::new(Plan::CompactFfor);
    let plans = if kind == NumberKind::Float {
        vec![Plan::Alp {
            integers: integers(),
        }]
    } else {
        vec![
            Plan::CompactFfor,
            Plan::Ffor,
            Plan::Delta {
                differences: integers(),
            },
        ]
    };
    let parts = || parts.iter().filter(|stats| stats.n > 0);
    let raw = parts().map(|stats| {
        let raw = Estimate {
            bytes: stats.n * W::BYTES,
            decode_cost: RAW,
        };
        (stats.n, Some(raw))
    });
    let mut best = (
        None,
        scales.weigh((), raw).map_or(0.0, |weighed| weighed.cost),
    );
    for plan in plans {
        let estimates = parts().map(|stats| (stats.n, plan.estimate(stats)));
        let estimates: Vec<_> = estimates.collect();
        let cost = scales.weigh((), estimates.into_iter());
        if let Some(cost) = cost.map(|weighed| weighed.cost)
            && cost < best.1
        {
            best = (Some(Box::new(plan)), cost);
        }
    }
    best.0
}
