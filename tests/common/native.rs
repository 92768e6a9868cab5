//! Restricts values to the ranges of Amudai's native types.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, i256};
use arrow_data::ArrayData;
use arrow_schema::{DataType, TimeUnit};

/// Days from 0001-01-01 to 1970-01-01, and to 10000-01-01.
const EPOCH_DAYS: i64 = 719_162;
const CALENDAR_DAYS: i64 = 3_652_059;

/// Returns the array with every value that a native type cannot store unchanged, at every level, replaced by one that
/// it can.
pub(crate) fn representable(array: &ArrayRef) -> ArrayRef {
    make_array(representable_data(array.to_data()))
}

fn representable_data(data: ArrayData) -> ArrayData {
    let buffers = match data.data_type() {
        DataType::Timestamp(unit, _) => {
            let unit = *unit;
            vec![mapped::<i64>(&data, |v| time(v, unit))]
        }
        DataType::Date64 => vec![mapped::<i64>(&data, |v| time(v, TimeUnit::Millisecond))],
        DataType::Date32 => vec![mapped::<i32>(&data, |v| {
            let day = in_calendar(v.into(), EPOCH_DAYS, CALENDAR_DAYS);
            i32::try_from(day).unwrap()
        })],
        DataType::Duration(unit) => {
            let unit = *unit;
            vec![mapped::<i64>(&data, |v| match unit {
                TimeUnit::Nanosecond => v - v % 100,
                coarser => v % (i64::MAX / (10_000_000 / per_second(coarser))),
            })]
        }
        DataType::Decimal128(_, _) => {
            vec![mapped::<i128>(&data, |v| v % 10i128.pow(34))]
        }
        DataType::Decimal256(_, _) => {
            let limit = i256::from_i128(10i128.pow(34));
            vec![mapped::<i256>(&data, |v| v.checked_rem(limit).unwrap())]
        }
        _ => data.buffers().to_vec(),
    };
    let children = data.child_data().iter().cloned();
    let children = children.map(representable_data).collect();
    let builder = data.into_builder().buffers(buffers).child_data(children);
    builder.align_buffers(true).build().unwrap()
}

/// Returns the first buffer of an array with its values replaced, including values before its offset.
fn mapped<T: ArrowNativeType>(data: &ArrayData, value: impl Fn(T) -> T) -> Buffer {
    let values = data.buffers()[0].typed_data::<T>();
    Buffer::from_vec(values.iter().map(|v| value(*v)).collect::<Vec<T>>())
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn time(v: i64, unit: TimeUnit) -> i64 {
    if unit == TimeUnit::Nanosecond {
        return v - v % 100;
    }
    let per_day = 86_400 * per_second(unit);
    in_calendar(v, EPOCH_DAYS * per_day, CALENDAR_DAYS * per_day)
}

/// Returns a time in the years 1 to 9999.
fn in_calendar(v: i64, epoch: i64, length: i64) -> i64 {
    match v >= -epoch && v < length - epoch {
        true => v,
        false => v.rem_euclid(length) - epoch,
    }
}
