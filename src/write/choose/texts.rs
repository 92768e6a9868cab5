//! Encodings of texts that no estimate covers: they are tried.

use super::profile::Profile;
use super::settings::Settings;
use super::{ByteSample, SINGLE_VALUES, Scales, Weighed, levels, tries, weigh_bytes};
use crate::encoding::bytes;
use crate::error::Result;

/// Values that [`Digits`](bytes::Plan::Digits) is tried on.
const TRIED_TEXTS: usize = 1024;
/// Cost in bytes per value below which Digits is not tried: the number alone takes as much.
const FEW_BYTES: f64 = 1.0;
/// Digits must be smaller than this share of the next best encoding, because it takes twice as long to write. In
/// profiles with Zstandard, which takes as long, it must only be smaller.
const DIGITS_MUST_BE: f64 = 0.9;
/// Factor on the bytes that a nanosecond of decoding must save in the profile: above 1, because writing takes longer
/// than in other encodings.
const DIGITS_MUST_SAVE: f64 = 1.6;

/// Returns the estimate of Digits for texts that fit one template. Blocks of other texts get the cheapest of the other
/// plans.
pub(super) fn weigh_digits(
    input: &bytes::Input<'_>,
    others: &[Weighed<bytes::Plan>],
    profile: Profile,
    scales: Scales,
) -> Result<Option<Weighed<bytes::Plan>>> {
    let cheapest = others.iter().min_by(|a, b| a.cost.total_cmp(&b.cost));
    let Some(cheapest) = cheapest.filter(|other| other.cost > FEW_BYTES) else {
        return Ok(None);
    };
    if input.fixed.is_some() {
        return Ok(None);
    }
    let len = input.len.min(TRIED_TEXTS);
    let tried = bytes::Input {
        len,
        offsets: input.offsets.get(..=len).unwrap_or_default(),
        nulls: None,
        ..*input
    };
    let nulls = input.nulls.map(|nulls| nulls.slice(0, len));
    let tried = bytes::Input {
        nulls: nulls.as_ref(),
        ..tried
    };
    let pco = tries(profile).then(|| levels(profile).1);
    let estimate = bytes::try_digits(&tried, pco)?;
    let plan = bytes::Plan::Digits {
        pco,
        otherwise: Box::new(cheapest.plan.clone()),
    };
    let digits = scales.weigh(plan, std::iter::once((len, estimate)));
    let must_be = if tries(profile) { 1.0 } else { DIGITS_MUST_BE };
    let saves = |digits: &Weighed<bytes::Plan>| {
        let saved = cheapest.bytes - digits.bytes;
        let slower = (digits.nanoseconds - cheapest.nanoseconds).max(0.0);
        digits.bytes < cheapest.bytes * must_be && saved > slower * scales.price * DIGITS_MUST_SAVE
    };
    Ok(digits.filter(saves).map(|digits| Weighed {
        cost: digits.cost * SINGLE_VALUES,
        ..digits
    }))
}

/// NonEmpty is considered if at most one value in this many is a text.
const FEWER_THAN: usize = 3;
/// NonEmpty must save something: a value dictionary also answers filters by its entries, and blocks of few texts take
/// more bytes than the sample shows.
pub(super) const NON_EMPTY_MUST_SAVE: f64 = 1.2;

/// Returns the estimate of NonEmpty for blocks in which few values are texts. The texts get the encoding of lowest
/// cost.
pub(super) fn weigh_non_empty(
    input: &bytes::Input<'_>,
    settings: &Settings,
    scales: Scales,
) -> Result<Option<Weighed<bytes::Plan>>> {
    let Some(texts) = bytes::Texts::of_block(input, FEWER_THAN)? else {
        return Ok(None);
    };
    let block = texts.input();
    let sample = ByteSample {
        block,
        window: block,
    };
    let of_texts = weigh_bytes(sample, &mut bytes::Learned::default(), settings)?;
    let cheapest = of_texts
        .into_iter()
        .min_by(|a, b| a.cost.total_cmp(&b.cost));
    let Some(cheapest) = cheapest else {
        return Ok(None);
    };
    let count = block.len as f64;
    let bytes = cheapest.bytes * count + texts.head_size()? as f64;
    let per_value = bytes / input.len as f64;
    let nanoseconds = f64::from(bytes::PLACE) + cheapest.nanoseconds * count / input.len as f64;
    let plan = bytes::Plan::NonEmpty {
        texts: Box::new(cheapest.plan),
    };
    let weighed = scales.weigh_one(plan, per_value, nanoseconds);
    Ok(Some(Weighed {
        cost: weighed.cost * NON_EMPTY_MUST_SAVE,
        ..weighed
    }))
}
