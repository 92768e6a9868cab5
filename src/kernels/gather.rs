//! Looks up the values of a dictionary by code.

use super::bytes::{Offset, append_gathered};
use super::slots::{Growing, Slots};
use super::word::Word;
use crate::error::{Error, Result};
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, GenericByteArray};
use arrow_buffer::{
    ArrowNativeType, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};

/// Returns the entries of the codes, or `None` if a code has no entry.
pub(crate) fn gather_words<W: Word>(entries: &[W], codes: &[u32]) -> Option<Buffer> {
    let mut values = Growing::with_capacity(codes.len());
    let write = |slots: &mut Slots<'_, W>| slots.gather(codes, entries).then_some(()).ok_or(());
    values.append(codes.len(), write).ok()?;
    Some(values.into())
}

/// Returns the entries of the codes, one after the other. Null positions get an empty value, whatever
/// their code is. Returns `None` if the offsets of the type are too narrow for the total number of bytes.
/// Otherwise, `check` gets that number before memory is allocated, and can refuse it.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if a code has no entry, or if the number of null bits is not
/// the number of codes; also the errors of `check`.
pub(crate) fn gather_entries<T: ByteArrayType<Offset: Offset>>(
    entries: &GenericByteArray<T>,
    codes: &[u32],
    nulls: Option<NullBuffer>,
    check: impl FnOnce(u64) -> Result<()>,
) -> Result<Option<GenericByteArray<T>>> {
    let count = entries.len();
    let hidden;
    let (codes, largest) = match &nulls {
        None => (codes, codes.iter().copied().fold(0, u32::max)),
        Some(nulls) if nulls.len() == codes.len() => {
            // An additional empty entry, for null positions.
            let empty = u32::try_from(count).unwrap_or(u32::MAX);
            let mut largest = 0;
            let code = |(&code, valid): (&u32, bool)| {
                largest = u32::max(largest, if valid { code } else { 0 });
                if valid { code } else { empty }
            };
            hidden = codes.iter().zip(nulls).map(code).collect::<Vec<_>>();
            (hidden.as_slice(), largest)
        }
        Some(nulls) => {
            return Err(Error::corrupt(format!(
                "expected presence of {} values, found {}",
                codes.len(),
                nulls.len()
            )));
        }
    };
    let is_used = codes.len() > nulls.as_ref().map_or(0, NullBuffer::null_count);
    if is_used && largest.as_usize() >= count {
        return Err(Error::corrupt(format!(
            "code {largest} of a dictionary of {count} entries"
        )));
    }
    let mut table: Vec<u64> = entries
        .value_offsets()
        .iter()
        .map(|offset| offset.as_usize() as u64)
        .collect();
    table.extend(table.last().copied());
    let lengths: Vec<u64> = table.windows(2).map(|ends| ends[1] - ends[0]).collect();
    // If this product fits 64 bits, so does every sum of lengths.
    let longest = lengths.iter().copied().fold(0, u64::max);
    if longest.checked_mul(codes.len() as u64).is_none() {
        return Ok(None);
    }
    let mut end = 0u64;
    let mut offsets = Vec::with_capacity(codes.len() + 1);
    offsets.push(T::Offset::of(0));
    offsets.extend(codes.iter().map(|code| {
        end += lengths[code.as_usize()];
        T::Offset::of(end)
    }));
    let Some(total) = usize::try_from(end)
        .ok()
        .filter(|_| end <= T::Offset::LARGEST)
    else {
        return Ok(None);
    };
    check(end)?;
    let mut values = MutableBuffer::new(0);
    append_gathered(codes, &table, entries.value_data(), total, &mut values);
    let values = Buffer::from(values);
    // SAFETY: offsets ascend from 0 to `total`.
    let offsets = unsafe { OffsetBuffer::new_unchecked(ScalarBuffer::from(offsets)) };
    // SAFETY: the offsets ascend and end with the values, and the nulls fit. Every value is empty or a whole
    // entry of a valid array, so it is text if the type requires text.
    let array = unsafe { GenericByteArray::new_unchecked(offsets, values, nulls) };
    Ok(Some(array))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BinaryArray, LargeStringArray, StringArray};

    const TEXTS: [&str; 5] = [
        "",
        "é",
        "a text that is much longer than thirty-two bytes",
        "b",
        "ß",
    ];

    /// Accepts any number of bytes.
    fn any(_: u64) -> Result<()> {
        Ok(())
    }

    #[test]
    fn words_of_codes_are_gathered_unless_a_code_has_no_entry() {
        let gathered = |codes: &[u32]| gather_words(&[7u16, 8, 9], codes);
        let found = gathered(&[2, 0, 0, 1]).unwrap();
        assert_eq!(found.typed_data::<u16>(), [9, 7, 7, 8]);
        assert!(gathered(&[]).unwrap().is_empty());
        assert!(gathered(&[0, 3]).is_none() && gather_words::<u64>(&[], &[0]).is_none());
    }

    #[test]
    fn entries_follow_the_codes() {
        let entries = StringArray::from_iter_values(TEXTS).slice(1, 4);
        let codes = [3, 1, 1, 0, 2];
        let got = gather_entries(&entries, &codes, None, any)
            .unwrap()
            .unwrap();
        got.to_data().validate_full().unwrap();
        assert!(got.iter().eq(codes.map(|c| Some(TEXTS[c as usize + 1]))));
    }

    #[test]
    fn null_positions_are_empty_whatever_their_code() {
        let entries = LargeStringArray::from_iter_values(TEXTS);
        let nulls = NullBuffer::from(vec![true, false, true]);
        let got = gather_entries(&entries, &[4, 77, 1], Some(nulls), any)
            .unwrap()
            .unwrap();
        assert_eq!(
            got,
            LargeStringArray::from(vec![Some("ß"), None, Some("é")])
        );
        assert_eq!(got.value(1), "");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let entries = BinaryArray::from_iter_values([b"x"]);
        assert!(gather_entries(&entries, &[0, 1], None, any).is_err());
        assert!(gather_entries(&entries, &[0, 0], Some(NullBuffer::new_null(3)), any).is_err());
        for code in [1, 2, u32::MAX] {
            let nulls = NullBuffer::from(vec![false, true]);
            let error = gather_entries(&entries, &[0, code], Some(nulls), any).unwrap_err();
            assert_eq!(
                error.message(),
                format!("code {code} of a dictionary of 1 entries")
            );
        }
        let none = BinaryArray::from_iter_values(Vec::<&[u8]>::new());
        assert_eq!(
            gather_entries(&none, &[], None, any)
                .unwrap()
                .unwrap()
                .len(),
            0
        );
        assert!(gather_entries(&none, &[0], None, any).is_err());
        let null = NullBuffer::new_null(1);
        assert!(gather_entries(&none, &[0], Some(null), any).is_ok());
        let long = BinaryArray::from_iter_values([vec![0; 1 << 20]]);
        assert!(
            gather_entries(&long, &[0; 2048], None, any)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn all_bytes_are_counted_before_they_are_gathered() {
        let entries = LargeStringArray::from_iter_values(TEXTS);
        let nulls = NullBuffer::from(vec![true, false, true]);
        let got = gather_entries(&entries, &[1, 2, 4], Some(nulls), |bytes| {
            assert_eq!(bytes, 4);
            Err(Error::invalid("too many"))
        });
        assert_eq!(got.unwrap_err().message(), "too many");
    }
}
