//! Makes string arrays. Checks for UTF-8 only the bytes that the arrays refer to.

use super::bytes::INLINE;
use crate::error::{Error, Result};
use arrow_array::{GenericStringArray, OffsetSizeTrait, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ByteView;

/// Returns whether a character may start at this byte.
#[inline(always)]
fn is_boundary(byte: u8) -> bool {
    !(0x80..0xc0).contains(&byte)
}

fn not_utf8() -> Error {
    Error::corrupt("expected UTF-8 text, found other bytes")
}

fn check_nulls(nulls: Option<&NullBuffer>, len: usize) -> Result<()> {
    match nulls {
        Some(nulls) if nulls.len() != len => Err(Error::corrupt(format!(
            "expected presence of {len} values, found {}",
            nulls.len()
        ))),
        _ => Ok(()),
    }
}

/// Makes a string array, after checking that every value is UTF-8 text. Bytes of `values` before the
/// first offset and after the last one are not checked, with one exception: if all values are empty, their
/// offset must not lie inside a character.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if a value is not UTF-8, or the parts do not fit.
pub(crate) fn utf8_array<O: OffsetSizeTrait>(
    offsets: OffsetBuffer<O>,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<GenericStringArray<O>> {
    let first = offsets.first().map_or(0, |o| o.as_usize());
    let last = offsets.last().map_or(0, |o| o.as_usize());
    let Some(reachable) = values.get(first..last) else {
        return Err(Error::corrupt(format!(
            "offsets {first}..{last} exceed the {} bytes of values",
            values.len()
        )));
    };
    check_nulls(nulls.as_ref(), offsets.len() - 1)?;
    let splits = |at: usize| values.get(at).is_some_and(|&b| !is_boundary(b));
    let is_split = if reachable.is_empty() {
        splits(first)
    } else if reachable.is_ascii() {
        false
    } else {
        simdutf8::basic::from_utf8(reachable).map_err(|_| not_utf8())?;
        // The last value ends with a whole character, so the byte after it does not matter.
        offsets
            .iter()
            .any(|o| o.as_usize() < last && splits(o.as_usize()))
    };
    if is_split {
        return Err(Error::corrupt(
            "an offset points into the middle of a character",
        ));
    }
    // SAFETY: the offsets ascend, which OffsetBuffer guarantees, and end within the values. All
    // values together are UTF-8, and each starts at a character boundary. The nulls fit.
    Ok(unsafe { GenericStringArray::new_unchecked(offsets, values, nulls) })
}

/// Makes a string view array, after checking every view and that every value is UTF-8 text.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if a value is not UTF-8, or a view is malformed.
pub(crate) fn utf8_view_array(
    views: ScalarBuffer<u128>,
    buffers: Vec<Buffer>,
    nulls: Option<NullBuffer>,
) -> Result<StringViewArray> {
    check_nulls(nulls.as_ref(), views.len())?;
    let long_bytes: u64 = views
        .iter()
        .map(|&v| u64::from(ByteView::from(v).length))
        .filter(|&l| l > INLINE as u64)
        .sum();
    let held_bytes: u64 = buffers.iter().map(|b| b.len() as u64).sum();
    // If views refer to much of the buffers, each buffer is checked as a whole, which is faster.
    let whole: Vec<bool> = buffers
        .iter()
        .map(|b| long_bytes >= held_bytes / 4 && simdutf8::basic::from_utf8(b).is_ok())
        .collect();
    for &bits in views.iter() {
        check_view(bits, &buffers, &whole)?;
    }
    // SAFETY: every view was just checked: its length, its padding or prefix, its range in a
    // buffer, and that its bytes are UTF-8. The nulls fit.
    Ok(unsafe { StringViewArray::new_unchecked(views, buffers, nulls) })
}

fn check_view(bits: u128, buffers: &[Buffer], whole: &[bool]) -> Result<()> {
    let view = ByteView::from(bits);
    let len = view.length as usize;
    if len <= INLINE {
        // A shift by all bits overflows.
        if len < INLINE && bits >> (32 + 8 * len) != 0 {
            return Err(Error::corrupt("the padding of a short view is not zero"));
        }
        let bytes = bits.to_le_bytes();
        let value = bytes.get(4..4 + len).unwrap_or_default();
        return std::str::from_utf8(value)
            .map(|_| ())
            .map_err(|_| not_utf8());
    }
    let (index, start) = (view.buffer_index as usize, view.offset as usize);
    let place = buffers
        .get(index)
        .and_then(|b| Some((b, b.get(start..start.checked_add(len)?)?)));
    let Some((buffer, value)) = place else {
        return Err(Error::corrupt(format!(
            "a view of {len} bytes at {start} of buffer {index} exceeds its buffer"
        )));
    };
    if !value.starts_with(&view.prefix.to_le_bytes()) {
        return Err(Error::corrupt(
            "the prefix of a view differs from its value",
        ));
    }
    if whole.get(index) == Some(&true) {
        let ends_well = buffer.get(start + len).is_none_or(|&b| is_boundary(b));
        if ends_well && value.first().is_some_and(|&b| is_boundary(b)) {
            return Ok(());
        }
        return Err(Error::corrupt(
            "a view begins or ends in the middle of a character",
        ));
    }
    simdutf8::basic::from_utf8(value)
        .map(|_| ())
        .map_err(|_| not_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::StringViewBuilder;

    fn array(offsets: Vec<i32>, values: &[u8]) -> Result<GenericStringArray<i32>> {
        utf8_array(
            OffsetBuffer::new(offsets.into()),
            Buffer::from(values),
            None,
        )
    }

    #[test]
    fn only_the_reachable_bytes_must_be_text() {
        let a = array(vec![1, 3, 3, 5], b"\xffab\xc3\xa4\xfe").unwrap();
        assert_eq!(
            a.iter().collect::<Vec<_>>(),
            [Some("ab"), Some(""), Some("ä")]
        );
        assert!(array(vec![0, 3], b"\xffab").is_err());
    }

    #[test]
    fn offsets_must_not_split_characters_or_exceed_the_values() {
        assert!(array(vec![0, 1, 2], "ä".as_bytes()).is_err());
        assert!(array(vec![1, 1, 1], "ä".as_bytes()).is_err());
        assert!(array(vec![2, 2, 2], "ä".as_bytes()).is_ok());
        assert!(array(vec![0, 9], b"abc").is_err());
        let nulls = Some(NullBuffer::new_null(3));
        assert!(
            utf8_array(
                OffsetBuffer::new(vec![0, 1].into()),
                Buffer::from(b"a"),
                nulls
            )
            .is_err()
        );
    }

    #[test]
    fn sound_views_pass_and_damaged_ones_do_not() {
        let mut builder = StringViewBuilder::new();
        for s in [
            "",
            "short",
            "exactly 12 b",
            "ä thirteen or more",
            "another long value ö",
        ] {
            builder.append_value(s);
        }
        let (views, buffers, _) = builder.finish().into_parts();
        let buffers: Vec<Buffer> = buffers.iter().cloned().collect();
        assert_eq!(
            utf8_view_array(views.clone(), buffers.clone(), None)
                .unwrap()
                .value(1),
            "short"
        );
        for (index, flip) in [
            (1, 1u128 << 127),
            (1, 0x80 << 32),
            (3, 1 << 40),
            (3, 1 << 64),
            (3, 1 << 127),
            (3, 1 << 20),
            (3, 1 << 96),
            (4, 1),
        ] {
            let mut damaged = views.to_vec();
            damaged[index] ^= flip;
            assert!(
                utf8_view_array(damaged.into(), buffers.clone(), None).is_err(),
                "view {index} with {flip:x}"
            );
        }
    }

    #[test]
    fn text_beside_garbage_is_accepted_when_views_miss_the_garbage() {
        let mut data = b"a value of more than twelve".to_vec();
        data.push(0xff);
        let len = u128::try_from(data.len() - 1).unwrap();
        let view = len | (u128::from(u32::from_le_bytes(*b"a va")) << 32);
        let buffers = vec![Buffer::from_vec(data)];
        assert!(utf8_view_array(vec![view].into(), buffers.clone(), None).is_ok());
        assert!(utf8_view_array(vec![view + 1].into(), buffers, None).is_err());
    }
}
