//! Spec: Chapter 6, "(Shard) Field Descriptor" (`hll_sketch`); docs/format.md, "Two wires, one model".
//!
//! Chapter 6 has an `AnyValue` without specifying its content: here, it is a struct annotated `hll-v1`. The
//! reference has a separate message, `HllSketchV1`.

use super::super::{AnyValue, HllSketch, NameValuePair, Sketch, ValueKind};
use super::conversion::{Cx, FromWire, ToWire};
use super::raw::{Raw, RawFields};
use super::{Wire, parse, reference, spec};
use crate::error::{Error, Result, Within};
use prost::Message;

const ANNOTATION: &str = "hll-v1";

pub(super) fn encode(sketch: &Sketch, wire: Wire, cx: Cx<'_>) -> Result<Vec<u8>> {
    let bytes = match (sketch, wire) {
        (Sketch::Hll(hll), Wire::Spec) => {
            let hll = check(hll.clone())?;
            ToWire::<spec::AnyValue>::to_wire(&to_value(hll), cx).map(|m| m.encode_to_vec())
        }
        (Sketch::Hll(hll), Wire::Reference) => {
            let hll = check(hll.clone())?;
            Ok(reference::HllSketchV1 {
                hash_algorithm: hll.hash_algorithm,
                hash_seed: hll.hash_seed,
                bits_per_index: hll.bits_per_index,
                counters: hll.counters,
            }
            .encode_to_vec())
        }
        (Sketch::Other(value), Wire::Spec) => {
            ToWire::<spec::AnyValue>::to_wire(value, cx).map(|m| m.encode_to_vec())
        }
        (Sketch::Other(_), Wire::Reference) => Err(Error::unsupported(
            "the reference has a place for HyperLogLog sketches only",
        )),
    };
    bytes.within(|| "hll_sketch".to_owned())
}

pub(super) fn decode(bytes: &[u8], wire: Wire, cx: Cx<'_>) -> Result<Sketch> {
    decode_either(bytes, wire, cx).within(|| "hll_sketch".to_owned())
}

fn decode_either(bytes: &[u8], wire: Wire, cx: Cx<'_>) -> Result<Sketch> {
    if is_hll_message(bytes)?.unwrap_or(wire == Wire::Reference) {
        let m: reference::HllSketchV1 = parse(bytes)?;
        return Ok(Sketch::Hll(check(HllSketch {
            hash_algorithm: m.hash_algorithm,
            hash_seed: m.hash_seed,
            bits_per_index: m.bits_per_index,
            counters: m.counters,
        })?));
    }
    let value = match wire {
        Wire::Spec => AnyValue::from_wire(parse::<spec::AnyValue>(bytes)?, cx)?,
        Wire::Reference => AnyValue::from_wire(parse::<reference::AnyValue>(bytes)?, cx)?,
    };
    Ok(match from_value(&value) {
        Some(hll) => Sketch::Hll(check(hll)?),
        None => Sketch::Other(value),
    })
}

/// Returns whether this is an `HllSketchV1` rather than an `AnyValue`, or `None` if it could be either.
fn is_hll_message(bytes: &[u8]) -> Result<Option<bool>> {
    let mut answer = None;
    for field in RawFields::new(bytes) {
        match field? {
            (1, Raw::Len([_, ..])) | (2, Raw::I64(_)) | (3, Raw::I32) | (4, Raw::Len(_)) => {
                return Ok(Some(true));
            }
            (1, Raw::Len([])) | (2..=4, Raw::Varint) | (5..=30, _) => answer = Some(false),
            _ => {}
        }
    }
    Ok(answer)
}

/// Checks that the number of counters fits the parameters of a sketch.
fn check(hll: HllSketch) -> Result<HllSketch> {
    let bits = hll.bits_per_index;
    if !(4..=18).contains(&bits) || hll.counters.len() != 1 << bits {
        return Err(Error::corrupt(format!(
            "a HyperLogLog sketch of {bits} bits per index (4 to 18 are valid) has {} counters",
            hll.counters.len()
        )));
    }
    Ok(hll)
}

fn to_value(hll: HllSketch) -> AnyValue {
    AnyValue::from(vec![
        NameValuePair::new("hash_algorithm", hll.hash_algorithm),
        NameValuePair::new("hash_seed", hll.hash_seed),
        NameValuePair::new("bits_per_index", hll.bits_per_index),
        NameValuePair::new("counters", hll.counters),
    ])
    .with_annotation(ANNOTATION)
}

/// Returns the sketch, if the value is exactly one.
fn from_value(value: &AnyValue) -> Option<HllSketch> {
    let Some(ValueKind::Struct(members)) = &value.kind else {
        return None;
    };
    if value.annotation.as_deref() != Some(ANNOTATION) {
        return None;
    }
    let mut hll = HllSketch::default();
    for member in members {
        match (member.name.as_str(), member.value.as_ref()?.kind.as_ref()?) {
            ("hash_algorithm", ValueKind::String(v)) => hll.hash_algorithm.clone_from(v),
            ("hash_seed", ValueKind::U64(v)) => hll.hash_seed = *v,
            ("bits_per_index", ValueKind::U64(v)) => hll.bits_per_index = u32::try_from(*v).ok()?,
            ("counters", ValueKind::Bytes(v)) => hll.counters = v.to_vec(),
            _ => return None,
        }
    }
    (members.len() == 4).then_some(hll)
}
