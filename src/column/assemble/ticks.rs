//! Spec: docs/format.md, "Arrow types" (DateTime, `KustoTimeSpan`).

use super::super::convert::convert;
use super::super::{Chunk, mismatch, ticks};
use super::{Casts, from_values};
use crate::error::Result;
use crate::format::DataType;
use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_schema::{DataType as ArrowType, TimeUnit};

/// An array of times or plain ticks; units coarser than a tick round down.
///
/// # Errors
/// [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange) naming a row that the type cannot hold.
pub(super) fn date_times(
    chunk: Chunk<Buffer>,
    wanted: &ArrowType,
    node: &DataType,
) -> Result<ArrayRef> {
    let Chunk { len, nulls, values } = chunk;
    if *wanted == ArrowType::UInt64 {
        return from_values(wanted.clone(), len, values, nulls);
    }
    let stored = words(&values).map(u64::from_le_bytes);
    let present = nulls.as_ref();
    let complaint = |ticks: u64| {
        format!(
            "the DateTime of {ticks} ticks is outside the range of {wanted}; ask for a coarser \
             unit, such as Timestamp(Microsecond)"
        )
    };
    let out = match wanted {
        ArrowType::Int64 => convert(stored, present, ticks::since_unix_epoch, complaint)?,
        ArrowType::Timestamp(unit, _) => {
            convert(stored, present, |t| ticks::to_time(t, *unit), complaint)?
        }
        ArrowType::Date32 => convert(stored, present, ticks::to_day, complaint)?,
        ArrowType::Date64 => {
            let to_time = |t| ticks::to_time(t, TimeUnit::Millisecond);
            convert(stored, present, to_time, complaint)?
        }
        _ => return Err(mismatch(wanted, node)),
    };
    from_values(wanted.clone(), len, out, nulls)
}

/// An array of durations or plain ticks; units coarser than a tick cut fractions off.
///
/// # Errors
/// [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange) naming a row that the type cannot hold.
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
            let to_duration = |ticks| ticks::to_duration(ticks, *unit);
            let out = convert(spans, nulls.as_ref(), to_duration, |ticks| {
                format!(
                    "the KustoTimeSpan of {ticks} ticks is outside the range of {wanted}; ask for \
                     a coarser unit, such as Duration(Microsecond)"
                )
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
