//! Byte strings that are stored contiguously.

use crate::error::{Error, ErrorKind, Result};
use crate::stats::{ByteRun, ByteStats, DistinctStats};
use arrow_buffer::BooleanBuffer;

/// Largest size of a value, in bytes.
pub(super) const MAX_VALUE_BYTES: usize = u32::MAX as usize;

/// Refuses a length above [`MAX_VALUE_BYTES`].
pub(super) fn check_length(len: usize) -> Result<()> {
    if len > MAX_VALUE_BYTES {
        return Err(Error::new(
            ErrorKind::ValueOutOfRange,
            format!("a value of {len} bytes exceeds 4 GiB"),
        ));
    }
    Ok(())
}

/// Adds the first `len` values, except nulls, to the statistics.
pub(super) fn note_run<E: Fn(usize) -> usize>(
    stats: &mut ByteStats,
    distinct: &mut Option<DistinctStats>,
    len: usize,
    nulls: Option<&BooleanBuffer>,
    run: &ByteRun<'_, E>,
) {
    stats.update(len, nulls, run);
    let Some(distinct) = distinct else {
        return;
    };
    match nulls {
        None => (0..len).for_each(|i| distinct.add(run.value(i))),
        Some(nulls) => nulls.set_indices().for_each(|i| distinct.add(run.value(i))),
    }
}
