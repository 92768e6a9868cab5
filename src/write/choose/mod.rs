//! Choice of encodings: policy on top of the estimates that the encodings provide.
//!
//! An encoding is chosen for a window of staged values, by its estimated size on some of the window's blocks and by its
//! decoding time. If it does not suit a block, the block's encoder falls back to another one.

pub(in crate::write) mod candidate;
mod nesting;
mod parts;
pub(in crate::write) mod profile;
pub(in crate::write) mod settings;
mod texts;

use crate::encoding::bytes;
use crate::encoding::number::{Plan, Stats};
use crate::encoding::{Estimate, NumberKind, Word, number};
use crate::error::Result;
use nesting::{takes_bytes, takes_numbers};
use parts::nested_candidates;
use profile::Profile;
use settings::Settings;
use texts::{weigh_digits, weigh_non_empty};

/// Blocks of a window that are sampled.
const SAMPLED_BLOCKS: usize = 3;
/// Values per sampled block.
const SAMPLED_VALUES: usize = 4096;

/// Consecutive values that general-purpose encodings are tried on. Scattered samples would not show their repetitions.
pub(in crate::write) const TRIED_VALUES: usize = 16_384;
/// Cost in bytes per value below which general-purpose encodings are not tried.
const CHEAP: f64 = 0.05;
/// Nanoseconds per byte of a copy in memory (`COPY_COST`), and the number of copies that decoding under `Fast` may
/// take.
const COPY_COST: f64 = 0.05;
const FAST_COPIES: f64 = 2.0;
/// Nanoseconds per byte of a number that `HighCompression` may take, to stay faster than Zstandard: just enough for Pco
/// on 4-byte numbers and on doubles.
const HIGH_COST: f64 = 0.75;
/// Nanoseconds to place the offset or view of a byte value.
pub(in crate::write) const PLACING: f64 = 2.5;

/// Share of the values' bytes that FSST hardly gets below, so FSST is not tried if another encoding is already below
/// it.
const FSST_CAN_SAVE: f64 = 0.25;
/// Factor on the cost of FSST. Above 1, because FSST compresses slower than LZ4 and must save something.
const FSST_MUST_SAVE: f64 = 1.05;
/// Factor on the cost of FsstValues. Below 1, because single values can be read from it.
const SINGLE_VALUES: f64 = 0.9;

/// Returns the most nanoseconds that decoding a value of `bytes` bytes may take. `place` is the time to place the
/// value, without copying it.
pub(in crate::write) fn most_nanoseconds(profile: Profile, bytes: f64, place: f64) -> f64 {
    match profile {
        Profile::Fast => FAST_COPIES * (COPY_COST * bytes + place),
        _ => f64::INFINITY,
    }
}

/// Returns the most nanoseconds that decoding a number of `bytes` bytes may take.
fn most_for_number(profile: Profile, bytes: f64) -> f64 {
    match profile {
        Profile::HighCompression => HIGH_COST * bytes,
        _ => most_nanoseconds(profile, bytes, 0.0),
    }
}

/// Returns the levels of Zstandard and Pco.
pub(in crate::write) fn levels(profile: Profile) -> (i32, u8) {
    match profile {
        Profile::MinimalSize => (15, 8),
        _ => (3, 4),
    }
}

/// Returns the levels of Zstandard to try. Of texts without repetitions, such as hashes, a high level makes more bytes
/// than a low one, because it takes chance matches.
fn zstd_levels(profile: Profile) -> impl Iterator<Item = i32> {
    let low = (profile == Profile::MinimalSize).then_some(levels(Profile::HighCompression).0);
    low.into_iter().chain([levels(profile).0])
}

/// The chosen encoding of the values of a window.
pub(in crate::write) struct Choice<P> {
    pub(in crate::write) plan: P,
    /// Estimated bytes per value, plus the decoding time converted to bytes.
    pub(in crate::write) cost: f64,
    /// Estimated decoding time per value.
    pub(in crate::write) nanoseconds: f64,
}

/// Estimates for a plan, per value.
#[derive(Debug, Clone)]
pub(in crate::write) struct Weighed<P> {
    pub(in crate::write) plan: P,
    pub(in crate::write) bytes: f64,
    pub(in crate::write) nanoseconds: f64,
    /// Bytes, plus the decoding time converted to bytes; infinite if decoding takes too long.
    pub(in crate::write) cost: f64,
}

impl<P> Weighed<P> {
    /// Returns the estimate for values stored uncompressed, with `bytes` bytes per value.
    pub(in crate::write) fn plain(plan: P, bytes: f64) -> Self {
        Self {
            plan,
            bytes,
            nanoseconds: 0.0,
            cost: bytes,
        }
    }
}

/// Weighs plans by estimates for several blocks.
#[derive(Clone, Copy)]
struct Scales {
    /// Bytes per nanosecond.
    price: f64,
    /// Most nanoseconds per value.
    most: f64,
}

impl Scales {
    fn new(profile: Profile, most: f64) -> Self {
        Self {
            price: profile.bytes_per_nanosecond(),
            most,
        }
    }

    /// Returns a lower bound for the cost per value. `floors` has the number of values of each block, and the least
    /// bytes and nanoseconds per value.
    fn floor(self, floors: impl Iterator<Item = (usize, (f64, f64))>) -> f64 {
        let (mut cost, mut values) = (0.0, 0.0);
        for (n, (bytes, nanoseconds)) in floors {
            cost += (bytes + self.price * nanoseconds) * n as f64;
            values += n as f64;
        }
        cost / f64::max(values, 1.0)
    }

    /// Returns the estimate of a plan with these bytes and nanoseconds per value.
    fn weigh_one<P>(self, plan: P, bytes: f64, nanoseconds: f64) -> Weighed<P> {
        let is_slow = nanoseconds > self.most;
        Weighed {
            plan,
            bytes,
            nanoseconds,
            cost: if is_slow {
                f64::INFINITY
            } else {
                bytes + nanoseconds * self.price
            },
        }
    }

    /// Returns the estimate of a plan over all blocks, or `None` if the plan does not suit one of them.
    fn weigh<P>(
        self,
        plan: P,
        estimates: impl Iterator<Item = (usize, Option<Estimate>)>,
    ) -> Option<Weighed<P>> {
        let (mut bytes, mut nanoseconds, mut values) = (0.0, 0.0, 0.0);
        let mut cost: f64 = 0.0;
        for (n, estimate) in estimates {
            let (n, estimate) = (n as f64, estimate?);
            let time = f64::from(estimate.decode_cost);
            bytes += estimate.bytes as f64;
            nanoseconds += time * n;
            values += n;
            if time > self.most {
                cost = f64::INFINITY;
            }
        }
        let per_value = |total: f64| total / values.max(1.0);
        let (bytes, nanoseconds) = (per_value(bytes), per_value(nanoseconds));
        Some(Weighed {
            plan,
            bytes,
            nanoseconds,
            cost: cost + bytes + nanoseconds * self.price,
        })
    }
}

/// Returns the first plan of lowest cost.
fn cheapest<P>(weighed: Vec<Weighed<P>>, plain: P) -> Choice<P> {
    let none = Choice {
        plan: plain,
        cost: f64::INFINITY,
        nanoseconds: 0.0,
    };
    weighed.into_iter().fold(none, |best, next| {
        if next.cost < best.cost {
            return Choice {
                plan: next.plan,
                cost: next.cost,
                nanoseconds: next.nanoseconds,
            };
        }
        best
    })
}

/// Chooses how to encode the numbers of a window.
pub(in crate::write) fn numbers<W: Word>(
    values: &[W],
    kind: NumberKind,
    settings: &Settings,
) -> Choice<Plan> {
    cheapest(weigh_numbers(values, kind, settings), Plan::Plain)
}

/// Returns the candidate plans for the numbers of a window.
pub(in crate::write) fn weigh_numbers<W: Word>(
    values: &[W],
    kind: NumberKind,
    settings: &Settings,
) -> Vec<Weighed<Plan>> {
    let profile = settings.profile;
    if profile == Profile::Plain {
        return vec![Weighed::plain(Plan::Plain, W::BYTES as f64)];
    }
    let blocks: Vec<Stats<W>> = sampled(values)
        .map(|block| Stats::collect(block, kind))
        .collect();
    let scales = Scales::new(profile, most_for_number(profile, W::BYTES as f64));
    let takes = |plan: &Plan| takes_numbers(plan, &settings.capabilities);
    let mut weighed: Vec<Weighed<Plan>> = Vec::new();
    let candidates = number_candidates(W::BYTES, kind, profile)
        .into_iter()
        .filter(takes);
    // Only this crate reads them.
    let nested = settings.capabilities.every_nesting;
    let nested = nested.then(|| nested_candidates(&blocks, kind, scales));
    let least = |weighed: &[Weighed<Plan>]| {
        let costs = weighed.iter().map(|w| w.cost);
        costs.fold(f64::INFINITY, f64::min)
    };
    for plan in candidates.chain(nested.into_iter().flatten()) {
        let floors = blocks.iter().map(|stats| (stats.n, plan.floor(stats)));
        if least(&weighed) < scales.floor(floors) {
            continue;
        }
        let estimates = blocks.iter().map(|stats| (stats.n, plan.estimate(stats)));
        let estimates: Vec<_> = estimates.collect();
        weighed.extend(scales.weigh(plan, estimates.into_iter()));
    }
    let middle = values.len().saturating_sub(TRIED_VALUES) / 2;
    let tried = &values[middle..values.len().min(middle + TRIED_VALUES)];
    let mut out = Vec::new();
    for plan in general_purpose(profile).into_iter().filter(takes) {
        // Trying them takes longer than all estimates before, so they are skipped if they cannot save enough.
        if least(&weighed) < CHEAP || tried.is_empty() {
            break;
        }
        let estimate = plan.trial(tried, kind, &mut out);
        weighed.extend(scales.weigh(plan, std::iter::once((tried.len(), estimate))));
    }
    weighed
}

/// Returns whether the profile tries general-purpose encodings, which cannot be estimated.
pub(in crate::write) fn tries(profile: Profile) -> bool {
    matches!(profile, Profile::HighCompression | Profile::MinimalSize)
}

/// Returns the encodings of numbers to try.
fn general_purpose(profile: Profile) -> Vec<Plan> {
    if !tries(profile) {
        return Vec::new();
    }
    let (zstd, pco) = levels(profile);
    vec![Plan::Pco { level: pco }, Plan::Zstd { level: zstd }]
}

/// Returns a few slices of the values, spread evenly.
fn sampled<W>(values: &[W]) -> impl Iterator<Item = &[W]> {
    let last = values.len().saturating_sub(SAMPLED_VALUES);
    let count = if last == 0 { 1 } else { SAMPLED_BLOCKS };
    (0..count).map(move |i| {
        let start = last * i / (count - 1).max(1);
        &values[start..values.len().min(start + SAMPLED_VALUES)]
    })
}

fn number_candidates(width: usize, kind: NumberKind, profile: Profile) -> Vec<Plan> {
    let ffor = || Box::new(Plan::Ffor);
    let few_runs = Plan::RunLength {
        values: None,
        lengths: None,
    };
    // Bit-packing works on 1,024 numbers at a time, so it pays only for many runs.
    let many_runs = |values| Plan::RunLength {
        values,
        lengths: Some(Box::new(Plan::FlBitPack)),
    };
    let mut plans = vec![Plan::Plain, Plan::SingleValue, few_runs];
    if kind == NumberKind::Float {
        plans.push(many_runs(None));
        plans.push(Plan::Alp { integers: ffor() });
        plans.push(Plan::AlpRd {
            left: Box::new(Plan::FlBitPack),
            right: Box::new(Plan::FlBitPack),
        });
    } else {
        plans.push(Plan::Ffor);
        plans.push(Plan::PatchedFfor);
        plans.push(many_runs(Some(ffor())));
        if width > 1 {
            let steps: [Box<Plan>; 2] = [ffor(), Box::new(many_runs(Some(ffor())))];
            plans.extend(steps.map(|differences| Plan::Delta { differences }));
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
    if profile == Profile::Balanced {
        plans.push(Plan::Lz4);
    }
    plans
}

/// Returns the plan for the offsets of byte values: their differences are the lengths, which vary less.
pub(in crate::write) fn offsets_plan(settings: &Settings) -> Plan {
    let differences = match settings.profile {
        Profile::HighCompression | Profile::MinimalSize => Plan::Pco {
            level: levels(settings.profile).1,
        },
        _ => Plan::Ffor,
    };
    let differences = if takes_numbers(&differences, &settings.capabilities) {
        differences
    } else {
        Plan::Ffor
    };
    Plan::Delta {
        differences: Box::new(differences),
    }
}

/// The byte values to choose an encoding by.
#[derive(Clone, Copy)]
pub(in crate::write) struct ByteSample<'a> {
    /// The values of the first block of a window.
    pub(in crate::write) block: bytes::Input<'a>,
    /// All values of the window, to learn symbols from.
    pub(in crate::write) window: bytes::Input<'a>,
}

/// Returns the plan for the lengths of byte values.
fn lengths_plan(input: &bytes::Input<'_>, settings: &Settings) -> Plan {
    let is_chosen = settings.profile == Profile::Balanced
        && settings.capabilities.every_nesting
        && input.fixed.is_none();
    let lengths: Option<Vec<u32>> = is_chosen
        .then(|| input.lengths())
        .and_then(|lengths| lengths.collect());
    match lengths {
        Some(lengths) => {
            let mut weighed = weigh_numbers(&lengths, NumberKind::Unsigned, settings);
            // Lengths are decoded before any value, also if a single one is read.
            weighed.retain(|weighed| !matches!(weighed.plan, Plan::Lz4 | Plan::Zstd { .. }));
            cheapest(weighed, Plan::Ffor).plan
        }
        None => Plan::Ffor,
    }
}

/// Chooses how to encode the byte values of a window. `learned` are symbols learned from earlier windows, and replaced
/// if they do not suit this one.
pub(in crate::write) fn byte_strings(
    sample: ByteSample<'_>,
    learned: &mut bytes::Learned,
    settings: &Settings,
) -> Result<Choice<bytes::Plan>> {
    let weighed = weigh_bytes(sample, learned, settings)?;
    let plain = if settings.delimited {
        bytes::Plan::Delimited { bytes: Plan::Plain }
    } else {
        bytes::Plan::Plain
    };
    let mut choice = cheapest(weighed, plain);
    if matches!(choice.plan, bytes::Plan::Fsst { .. }) {
        choice.plan = choice.plan.learned_from(&sample.block)?;
        *learned = choice.plan.symbols().cloned().unwrap_or_default();
    }
    Ok(choice)
}

/// Returns the candidate plans for the byte values of a window.
pub(in crate::write) fn weigh_bytes(
    sample: ByteSample<'_>,
    learned: &mut bytes::Learned,
    settings: &Settings,
) -> Result<Vec<Weighed<bytes::Plan>>> {
    let input = &sample.block;
    let profile = settings.profile;
    let average = input.average_length();
    if settings.delimited {
        return weigh_delimited(input, settings);
    }
    if profile == Profile::Plain {
        return Ok(vec![Weighed::plain(bytes::Plan::Plain, average)]);
    }
    let takes =
        |plan: &bytes::Plan| takes_bytes(plan, input.fixed.is_some(), &settings.capabilities);
    let stats = bytes::Stats::collect(input)?;
    let scales = Scales::new(profile, most_nanoseconds(profile, average, PLACING));
    let weigh = |plan, estimate| scales.weigh(plan, std::iter::once((stats.n, estimate)));
    let offsets = || Some(offsets_plan(settings));
    let mut candidates = vec![
        bytes::Plan::Plain,
        bytes::Plan::SingleValue,
        bytes::Plan::BlockDictionary {
            codes: number::Plan::FlBitPack,
            lengths: Some(number::Plan::Ffor),
        },
    ];
    if profile == Profile::Balanced {
        candidates.push(bytes::Plan::Lz4 { offsets: offsets() });
    }
    let mut weighed: Vec<Weighed<bytes::Plan>> = candidates
        .into_iter()
        .filter(takes)
        .filter_map(|plan| {
            let estimate = plan.estimate(&stats);
            weigh(plan, estimate)
        })
        .collect();
    if let Some(plan) = split128(input, settings)?.filter(takes) {
        let estimate = plan.trial(input, &stats)?;
        weighed.extend(weigh(plan, Some(estimate)));
    }
    let least = weighed.iter().map(|w| w.cost).fold(f64::INFINITY, f64::min);
    if tries(profile) && least >= CHEAP {
        for level in zstd_levels(profile) {
            let offsets = offsets();
            let plan = bytes::Plan::Zstd { level, offsets };
            if takes(&plan) {
                let estimate = plan.trial(input, &stats)?;
                weighed.extend(weigh(plan, Some(estimate)));
            }
        }
    } else if profile == Profile::Balanced && least >= average * FSST_CAN_SAVE {
        let lengths = lengths_plan(input, settings);
        let plans = [
            (bytes::Plan::fsst_values(lengths), SINGLE_VALUES),
            (bytes::Plan::fsst(offsets()), FSST_MUST_SAVE),
        ];
        if let Some((plan, factor)) = plans.into_iter().find(|(plan, _)| takes(plan)) {
            if matches!(plan, bytes::Plan::FsstValues { .. }) {
                *learned = learned.for_texts(&sample.window, stats.total_bytes)?;
            }
            let plan = plan.with_symbols(learned);
            let estimate = plan.estimate(&stats);
            let fsst = weigh(plan, estimate);
            weighed.extend(fsst.map(|fsst| Weighed {
                cost: fsst.cost * factor,
                ..fsst
            }));
        }
    }
    if profile != Profile::Fast && settings.capabilities.every_nesting {
        weighed.extend(weigh_digits(input, &weighed, profile, scales)?);
    }
    if settings.capabilities.every_nesting {
        weighed.extend(weigh_non_empty(input, settings, scales)?);
    }
    Ok(weighed)
}

/// Returns the candidate plans for the values of a window, each stored after its length.
fn weigh_delimited(
    input: &bytes::Input<'_>,
    settings: &Settings,
) -> Result<Vec<Weighed<bytes::Plan>>> {
    let profile = settings.profile;
    let compressed = match profile {
        Profile::Plain | Profile::Fast => None,
        Profile::Balanced => Some(Plan::Lz4),
        Profile::HighCompression | Profile::MinimalSize => Some(Plan::Zstd {
            level: levels(profile).0,
        }),
    };
    let stats = bytes::Stats::collect(input)?;
    let most = most_nanoseconds(profile, input.average_length(), PLACING);
    let mut weighed = Vec::new();
    for bytes in [Some(Plan::Plain), compressed].into_iter().flatten() {
        let plan = bytes::Plan::Delimited { bytes };
        let trial = plan.trial(input, &stats)?;
        let estimates = std::iter::once((stats.n, Some(trial)));
        weighed.extend(Scales::new(profile, most).weigh(plan, estimates));
    }
    Ok(weighed)
}

/// Returns the cost per value of a plan that encodes these blocks to measure it; with the factors of [`weigh_bytes`].
pub(in crate::write) fn tried_bytes(
    plan: &bytes::Plan,
    blocks: &[bytes::Input<'_>],
    settings: &Settings,
) -> Result<f64> {
    let (mut estimates, mut average) = (Vec::with_capacity(blocks.len()), 0.0);
    for block in blocks {
        let stats = bytes::Stats::collect(block)?;
        average += block.average_length() / blocks.len() as f64;
        estimates.push((stats.n, Some(plan.trial(block, &stats)?)));
    }
    let most = most_nanoseconds(settings.profile, average, PLACING);
    let weighed = Scales::new(settings.profile, most).weigh((), estimates.into_iter());
    let weight = match plan {
        bytes::Plan::FsstValues { .. } | bytes::Plan::Digits { .. } => SINGLE_VALUES,
        bytes::Plan::NonEmpty { .. } => texts::NON_EMPTY_MUST_SAVE,
        _ => 1.0,
    };
    Ok(weighed.map_or(f64::INFINITY, |weighed| weighed.cost * weight))
}

/// Returns the plan for integers of 16 bytes, split into two halves; `None` for other values.
fn split128(input: &bytes::Input<'_>, settings: &Settings) -> Result<Option<bytes::Plan>> {
    if !settings.wide_integers {
        return Ok(None);
    }
    let half = |values: &[u64]| {
        let mut weighed = weigh_numbers(values, NumberKind::Signed, settings);
        // Zstandard is tried on whole values instead, where it finds the same repetitions.
        weighed.retain(|weighed| !matches!(weighed.plan, Plan::Zstd { .. }));
        cheapest(weighed, Plan::Plain).plan
    };
    Ok(
        bytes::Halves::of(input)?.map(|halves| bytes::Plan::Split128 {
            high: half(&halves.high),
            low: half(&halves.low),
        }),
    )
}

#[cfg(test)]
mod tests;
