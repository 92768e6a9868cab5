//! Spec: docs/format.md, "Arrow types" (DateTime, `KustoTimeSpan`).

use super::super::convert::convert;
use super::super::{mismatch, ticks};
use super::raw_values;
use crate::error::Result;
use crate::format::DataType;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType as ArrowType;

/// Converts times, dates, or plain ticks to ticks.
///
/// # Errors
/// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange), which names the row, for a time that is not a whole
/// number of ticks, or before year 1.
pub(super) fn date_times(
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
    node: &DataType,
) -> Result<Buffer> {
    let arrow = array.data_type();
    let complaint = |value: i64| {
        format!(
            "the {arrow} value {value} does not fit a DateTime, which has ticks of 100 ns since \
             0001-01-01; round it, or write the column with the lossless mapping"
        )
    };
    match arrow {
        ArrowType::UInt64 => Ok(raw_values(array, 8)),
        ArrowType::Timestamp(unit, _) => {
            let times = ScalarBuffer::<i64>::from(raw_values(array, 8));
            let of_time = |time| ticks::of_time(time, *unit);
            convert(times.iter().copied(), nulls, of_time, complaint)
        }
        ArrowType::Date64 => {
            let times = ScalarBuffer::<i64>::from(raw_values(array, 8));
            let of_time = |time| ticks::of_time(time, arrow_schema::TimeUnit::Millisecond);
            convert(times.iter().copied(), nulls, of_time, complaint)
        }
        ArrowType::Date32 => {
            let days = ScalarBuffer::<i32>::from(raw_values(array, 4));
            let complaint = |day: i32| complaint(day.into());
            convert(days.iter().copied(), nulls, ticks::of_day, complaint)
        }
        other => Err(mismatch(other, node)),
    }
}

/// Converts durations or plain ticks to ticks.
///
/// # Errors
/// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange), which names the row, for a duration that is not a
/// whole number of ticks, or exceeds 64 bits.
pub(super) fn time_spans(
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
    node: &DataType,
) -> Result<Buffer> {
    match array.data_type() {
        ArrowType::Int64 => Ok(raw_values(array, 8)),
        arrow @ ArrowType::Duration(unit) => {
            let durations = ScalarBuffer::<i64>::from(raw_values(array, 8));
            let of_duration = |duration| ticks::of_duration(duration, *unit);
            convert(durations.iter().copied(), nulls, of_duration, |duration| {
                format!(
                    "the {arrow} value {duration} does not fit a KustoTimeSpan, which has 64 bits \
                     of ticks of 100 ns; round it, or write the column with the lossless mapping"
                )
            })
        }
        other => Err(mismatch(other, node)),
    }
}
