//! Spec: docs/format.md, "Arrow types" (DateTime, `KustoTimeSpan`).

use super::super::convert::convert;
use super::super::{Chunk, mismatch, ticks};
use super::{Casts, from_values};
use crate::error::Result;
use crate::format::DataType;
use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_schema::{DataType as ArrowType, TimeUnit};

/// Returns an array of times or plain ticks. Ticks are rounded down to coarser units; strict casts refuse that.
///
/// # Errors
/// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange), which names a row that does not fit the type.
pub(super) fn date_times(
    chunk: Chunk<Buffer>,
    wanted: &ArrowType,
    node: &DataType,
    casts: &Casts,
) -> Result<ArrayRef> {
    let Chunk { len, nulls, values } = chunk;
    if *wanted == ArrowType::UInt64 {
        return from_values(wanted.clone(), len, values, nulls);
    }
    let stored = words(&values).map(u64::from_le_bytes);
    let present = nulls.as_ref();
    let is_held = |time: Option<i64>, ticks: u64, unit| {
        time.filter(|time| !casts.is_strict() || ticks::of_time(*time, unit) == Some(ticks))
    };
    let complaint = |ticks: u64, rounded: Option<i64>| match rounded {
        None => format!(
            "the DateTime of {ticks} ticks is outside the range of {wanted}; ask for a coarser \
             unit, such as Timestamp(Microsecond)"
        ),
        Some(_) => format!("the DateTime of {ticks} ticks would be rounded to become {wanted}"),
    };
    let out = match wanted {
        ArrowType::Int64 => convert(stored, present, ticks::since_unix_epoch, |ticks| {
            complaint(ticks, None)
        })?,
        ArrowType::Timestamp(unit, _) => {
            let time = |ticks| ticks::to_time(ticks, *unit);
            let exact = |ticks| is_held(time(ticks), ticks, *unit);
            convert(stored, present, exact, |ticks| {
                complaint(ticks, time(ticks))
            })?
        }
        ArrowType::Date32 => {
            let day = |ticks| {
                let day = ticks::to_day(ticks);
                day.filter(|day| !casts.is_strict() || ticks::of_day(*day) == Some(ticks))
            };
            convert(stored, present, day, |ticks| {
                complaint(ticks, ticks::to_day(ticks).map(i64::from))
            })?
        }
        ArrowType::Date64 => {
            let time = |ticks| ticks::to_time(ticks, TimeUnit::Millisecond);
            let exact = |ticks| is_held(time(ticks), ticks, TimeUnit::Millisecond);
            convert(stored, present, exact, |ticks| {
                complaint(ticks, time(ticks))
            })?
        }
        _ => return Err(mismatch(wanted, node)),
    };
    from_values(wanted.clone(), len, out, nulls)
}

/// Returns an array of durations or plain ticks. Fractions of coarser units are cut off; strict casts refuse that.
///
/// # Errors
/// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange), which names a row that does not fit the type.
pub(super) fn time_spans(
    chunk: Chunk<Buffer>,
    wanted: &ArrowType,
    node: &DataType,
    casts: &Casts,
) -> Result<ArrayRef> {
    let Chunk { len, nulls, values } = chunk;
    match wanted {
        ArrowType::Duration(unit) => {
            let spans = words(&values).map(i64::from_le_bytes);
            let duration = |ticks| ticks::to_duration(ticks, *unit);
            let is_held = |ticks, duration: &i64| {
                !casts.is_strict() || ticks::of_duration(*duration, *unit) == Some(ticks)
            };
            let exact = |ticks| duration(ticks).filter(|duration| is_held(ticks, duration));
            let out = convert(spans, nulls.as_ref(), exact, |ticks| {
                match duration(ticks) {
                    None => format!(
                        "the KustoTimeSpan of {ticks} ticks is outside the range of {wanted}; ask for \
                     a coarser unit, such as Duration(Microsecond)"
                    ),
                    Some(_) => format!(
                        "the KustoTimeSpan of {ticks} ticks would be rounded to become {wanted}"
                    ),
                }
            })?;
            from_values(wanted.clone(), len, out, nulls)
        }
        integer if integer.is_integer() => {
            let ticks = from_values(ArrowType::Int64, len, values, nulls)?;
            casts.leaf(ticks, wanted, node)
        }
        _ => Err(mismatch(wanted, node)),
    }
}

fn words(values: &[u8]) -> impl Iterator<Item = [u8; 8]> {
    values.as_chunks().0.iter().copied()
}
