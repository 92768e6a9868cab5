//! Spec: Chapter 6, "Schema": DateTime, in ticks of 100 ns since 0001-01-01.

use super::super::{Chunk, mismatch};
use super::from_values;
use crate::error::{Error, ErrorKind, Result};
use crate::format::DataType;
use arrow_array::ArrayRef;
use arrow_buffer::{Buffer, MutableBuffer, ToByteSlice};
use arrow_schema::{DataType as ArrowType, TimeUnit};

/// Ticks at 1970-01-01: 719,162 days of 864,000,000,000 ticks.
const UNIX_EPOCH: i128 = 719_162 * TICKS_PER_DAY;
const TICKS_PER_DAY: i128 = 864_000_000_000;
const MILLISECONDS_PER_DAY: i128 = 86_400_000;

/// An array of times or plain ticks; units coarser than a tick round down.
///
/// # Errors
/// [`ErrorKind::ValueOutOfRange`] naming a row that the type cannot hold.
pub(super) fn date_time(
    chunk: Chunk<Buffer>,
    wanted: &ArrowType,
    node: &DataType,
) -> Result<ArrayRef> {
    let since_epoch = |ticks: u64| i128::from(ticks) - UNIX_EPOCH;
    let out: MutableBuffer = match wanted {
        ArrowType::UInt64 => {
            return from_values(wanted.clone(), chunk.len, chunk.values, chunk.nulls);
        }
        ArrowType::Int64 => convert(&chunk, wanted, |t| i64::try_from(t).ok())?,
        ArrowType::Timestamp(unit, _) => {
            let (multiply, divide) = match unit {
                TimeUnit::Second => (1, 10_000_000),
                TimeUnit::Millisecond => (1, 10_000),
                TimeUnit::Microsecond => (1, 10),
                TimeUnit::Nanosecond => (100, 1),
            };
            let time = |t| (since_epoch(t) * multiply).div_euclid(divide);
            convert(&chunk, wanted, |t| i64::try_from(time(t)).ok())?
        }
        ArrowType::Date32 => {
            let day = |t| since_epoch(t).div_euclid(TICKS_PER_DAY);
            convert(&chunk, wanted, |t| i32::try_from(day(t)).ok())?
        }
        ArrowType::Date64 => {
            let day = |t| since_epoch(t).div_euclid(TICKS_PER_DAY);
            let time = |t| day(t) * MILLISECONDS_PER_DAY;
            convert(&chunk, wanted, |t| i64::try_from(time(t)).ok())?
        }
        _ => return Err(mismatch(wanted, node)),
    };
    from_values(wanted.clone(), chunk.len, out.into(), chunk.nulls)
}

fn convert<T: ToByteSlice + Default>(
    chunk: &Chunk<Buffer>,
    wanted: &ArrowType,
    value: impl Fn(u64) -> Option<T>,
) -> Result<MutableBuffer> {
    let (ticks, _) = chunk.values.as_chunks::<8>();
    let mut out = MutableBuffer::with_capacity(ticks.len().saturating_mul(size_of::<T>()));
    for (row, ticks) in ticks.iter().enumerate() {
        let ticks = u64::from_le_bytes(*ticks);
        let present = chunk.nulls.as_ref().is_none_or(|n| n.is_valid(row));
        match value(ticks) {
            Some(value) => out.extend_from_slice(value.to_byte_slice()),
            None if !present => out.extend_from_slice(T::default().to_byte_slice()),
            None => {
                return Err(Error::new(
                    ErrorKind::ValueOutOfRange,
                    format!(
                        "row {row}: the DateTime of {ticks} ticks is outside the range of {wanted}; \
                         ask for a coarser unit, such as Timestamp(Microsecond)"
                    ),
                ));
            }
        }
    }
    Ok(out)
}
