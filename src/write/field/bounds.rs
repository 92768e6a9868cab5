//! Spec: Chapter 6, "(Shard) Field Descriptor": ranges of values that another format has computed.

use super::plan::{decimal_form, number_domain};
use crate::buffer::Physical;
use crate::column::{Chunk, Values};
use crate::encoding::Word;
use crate::error::Result;
use crate::format::{DataType, RangeStats, TypeStats};
use crate::stats::{ByteStats, DecimalStats, NumberStats};
use arrow_buffer::Buffer;

/// Returns the range of some values of a leaf, among which are the smallest and the largest. `None` if there is a null
/// or a NaN among them, which bound nothing, or if the format has no ranges of the type.
///
/// # Errors
/// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if a fixed size exceeds the limit of Arrow.
pub(crate) fn range_of(node: &DataType, values: &Chunk<Values>) -> Result<Option<RangeStats>> {
    if values
        .nulls
        .as_ref()
        .is_some_and(|nulls| nulls.null_count() > 0)
        || values.len == 0
    {
        return Ok(None);
    }
    let physical = Physical::of(node)?;
    Ok(match (&values.values, physical) {
        (Values::Fixed { data, .. }, Physical::Number(width)) => match width {
            1 => numbers::<u8>(node, data),
            2 => numbers::<u16>(node, data),
            4 => numbers::<u32>(node, data),
            _ => numbers::<u64>(node, data),
        },
        (Values::Fixed { width, data }, Physical::Fixed(_)) => {
            let all = || data.chunks_exact((*width).max(1));
            match decimal_form(node.label(), physical) {
                Some(form) => {
                    let mut stats = DecimalStats::new(form);
                    all().for_each(|value| stats.update_repeated(value, 1));
                    stats.range()
                }
                None => bytes(all(), false),
            }
        }
        (Values::Bytes(found), Physical::Bytes) => {
            let all = (0..values.len).map(|i| found.value(i));
            bytes(all, node.basic_type == crate::format::BasicType::String)
        }
        _ => None,
    })
}

fn numbers<W: Word>(node: &DataType, data: &Buffer) -> Option<RangeStats> {
    let mut stats = NumberStats::<W>::new(number_domain(node, node.label()), false);
    for &bytes in W::chunks(data) {
        stats.update_repeated(W::from_le(bytes), 1);
    }
    match stats.floating(true) {
        Some(TypeStats::Floating { signs, .. }) if signs.nan_count > 0 => None,
        _ => stats.range(),
    }
}

fn bytes<'a>(values: impl Iterator<Item = &'a [u8]>, is_text: bool) -> Option<RangeStats> {
    let mut stats = ByteStats::new(true);
    values.for_each(|value| stats.update_repeated(value, 1));
    stats.range(is_text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::BasicType;

    #[test]
    fn a_nan_or_a_null_bounds_nothing() {
        let node = DataType::new(BasicType::Float64, "x");
        let range = |values: [f64; 2], nulls: Option<Vec<bool>>| {
            let chunk = Chunk {
                len: 2,
                nulls: nulls.map(Into::into),
                values: Values::Fixed {
                    width: 8,
                    data: Buffer::from_slice_ref(values),
                },
            };
            range_of(&node, &chunk).unwrap()
        };
        assert!(range([1.0, 2.0], None).is_some());
        assert_eq!(range([1.0, f64::NAN], None), None);
        assert_eq!(range([1.0, 2.0], Some(vec![true, false])), None);
    }
}
