//! Spec: docs/format.md, "Value dictionary": entries that are encoded like the values of a block.

use crate::encoding::bytes::{
    BytesBuilder, BytesLayout, Decoded, NullsOut, decode as decode_strings,
};
use crate::encoding::{Context, NumberKind, number};
use crate::error::{Error, Result};
use crate::format::BasicType;
use arrow_buffer::{BooleanBufferBuilder, Buffer};
use bytes::Bytes;

/// The decoded entries: their bytes, and `count + 1` offsets if they have no fixed size.
pub(super) type EntryBytes = (Bytes, Option<Vec<u64>>);

/// Returns the interpretation of the entries of a dictionary as numbers; `None` for byte strings.
pub(crate) fn number_kind(value_type: BasicType) -> Option<NumberKind> {
    use BasicType as T;
    match value_type {
        T::Float32 | T::Float64 => Some(NumberKind::Float),
        T::Int16 | T::Int32 | T::Int64 | T::DateTime => Some(NumberKind::Unsigned),
        _ => None,
    }
}

/// A buffer that [`Bytes`] keep alive.
struct Shared(Buffer);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Decodes the region of `count` entries; each has `size` bytes, or any number if `size` is 0.
pub(super) fn decode(
    region: &[u8],
    value_type: BasicType,
    count: usize,
    size: usize,
    cx: &mut Context<'_>,
) -> Result<EntryBytes> {
    // Few bytes can encode many entries.
    let most = cx
        .limits
        .max_block_bytes()
        .min(cx.limits.max_dictionary_bytes());
    let limits = cx.limits.clone().with_max_block_bytes(most);
    limits.check_block_values(count as u64)?;
    limits.check_block_bytes((count as u64).saturating_mul(size as u64))?;
    let cx = &mut Context {
        limits: &limits,
        scratch: &mut *cx.scratch,
        dictionaries: cx.dictionaries,
    };
    match (number_kind(value_type), size) {
        (Some(kind), 2) => numbers(number::decode_bytes::<u16>(region, kind, cx, count)),
        (Some(kind), 4) => numbers(number::decode_bytes::<u32>(region, kind, cx, count)),
        (Some(kind), 8) => numbers(number::decode_bytes::<u64>(region, kind, cx, count)),
        (Some(_), size) => Err(Error::corrupt(format!(
            "encoded entries of type {value_type:?} of {size} bytes"
        ))),
        (None, size) => strings(region, count, Some(size).filter(|size| *size > 0), cx),
    }
}

fn numbers(bytes: Result<Vec<u8>>) -> Result<EntryBytes> {
    Ok((bytes?.into(), None))
}

fn strings(
    region: &[u8],
    count: usize,
    fixed: Option<usize>,
    cx: &mut Context<'_>,
) -> Result<EntryBytes> {
    let mut present = BooleanBufferBuilder::new(count);
    present.append_n(count, true);
    let mut nulls = NullsOut::new(&mut present, 0);
    let layout = fixed.map_or(BytesLayout::Offsets64, BytesLayout::Fixed);
    // Entries of one size may be large: their memory is reserved once the region shows that it has them.
    let capacity = if fixed.is_some() { 0 } else { count };
    let mut out = BytesBuilder::new(layout, capacity);
    decode_strings(region, count, fixed, cx, &mut out, &mut nulls)?;
    if present.finish().count_set_bits() < count {
        return Err(Error::corrupt("an encoded entry is null"));
    }
    match out.finish() {
        Decoded::Offsets64(offsets, values) => {
            let offsets = offsets.iter().map(|offset| offset.cast_unsigned());
            Ok((Bytes::from_owner(Shared(values)), Some(offsets.collect())))
        }
        Decoded::Fixed(values) => Ok((Bytes::from_owner(Shared(values)), None)),
        Decoded::Offsets32(..) | Decoded::Views(..) => {
            Err(Error::corrupt("entries of another layout"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dictionary_input::DictionaryInput;
    use super::super::value_dictionary::{ENCODED_FIELDS, SPEC_FIELDS, ValueDictionary};
    use super::*;
    use crate::encoding::{Scratch, bytes};
    use crate::format::checksum;
    use crate::{ErrorKind, Limits};

    /// Parses the dictionary of a field of this type.
    fn parse_of(
        buffer: Vec<u8>,
        value_type: BasicType,
        size: Option<usize>,
        limits: &Limits,
    ) -> Result<ValueDictionary> {
        let mut scratch = Scratch::default();
        let cx = &mut Context::new(limits, &mut scratch);
        ValueDictionary::parse(&buffer.into(), value_type, size, None, cx)
    }

    /// Parses a dictionary of texts.
    fn parse(buffer: Vec<u8>) -> Result<ValueDictionary> {
        parse_of(buffer, BasicType::String, None, &Limits::default())
    }

    /// Parses encoded entries of this type and size.
    fn parse_entries(value_type: BasicType, size: u32, region: &[u8]) -> Result<ValueDictionary> {
        let buffer = encoded(value_type, size, region);
        let size = Some(size as usize).filter(|size| *size > 0);
        parse_of(buffer, value_type, size, &Limits::default())
    }

    /// Returns a dictionary with these encoded entries, and their bytes and offsets.
    fn encoded(value_type: BasicType, size: u32, region: &[u8]) -> Vec<u8> {
        DictionaryInput {
            value_type,
            count: 100,
            fixed_value_size: size,
            values: region,
            offsets: None,
            null_id: None,
            sorted_ids: &[],
            is_encoded: true,
        }
        .encode(true)
    }

    #[test]
    fn encoded_entries_are_read() {
        let texts: Vec<String> = (0..100).map(|i| format!("entry {}", i * 7)).collect();
        let mut offsets = vec![0];
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len() as u64;
            Some(*end)
        });
        offsets.extend(ends);
        let flat = texts.concat();
        for plan in [
            bytes::Plan::Plain,
            bytes::Plan::fsst_values(number::Plan::Ffor),
            bytes::Plan::digits(bytes::Plan::Plain),
        ] {
            let mut region = Vec::new();
            let input = bytes::Input::variable(&offsets, flat.as_bytes(), None);
            bytes::encode(&input, &plan, &mut region).unwrap();
            let buffer = encoded(BasicType::String, 0, &region);
            let read = parse(buffer.clone()).unwrap();
            assert_eq!(read.values, flat.as_bytes(), "{plan}");
            assert_eq!(read.offsets.as_ref(), Some(&offsets));
            assert!(read.values().eq(texts.iter().map(String::as_bytes)));
            ValueDictionary::check(&buffer.clone().into()).unwrap();
            ValueDictionary::verify_sorted_ids(&buffer.clone().into()).unwrap();
            for at in 0..buffer.len() {
                let mut damaged = buffer.clone();
                damaged[at] ^= 0x80;
                if let Ok(read) = parse(damaged) {
                    assert_eq!(read.values, flat.as_bytes(), "byte {at}");
                }
            }
        }
        let words: Vec<u64> = (0..100).map(|i| i * i).collect();
        let mut region = Vec::new();
        let kind = crate::encoding::NumberKind::Unsigned;
        number::encode(&words, kind, &number::Plan::Ffor, &mut region).unwrap();
        let read = parse_entries(BasicType::Int64, 8, &region).unwrap();
        let flat: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(
            (read.values.as_ref(), read.offsets),
            (flat.as_slice(), None)
        );
        for (value_type, size) in [
            (BasicType::Int64, 3),
            (BasicType::Int32, 4),
            (BasicType::String, 0),
            (BasicType::Guid, 16),
        ] {
            let error = parse_entries(value_type, size, &region).unwrap_err();
            assert!(error.to_string().contains("encoded entries"), "{error}");
        }
    }

    #[test]
    fn entries_beyond_the_limits_and_of_other_forms_are_refused() {
        let mut region = Vec::new();
        let input = bytes::Input::variable(&[0; 101], b"", None);
        bytes::encode(&input, &bytes::Plan::SingleValue, &mut region).unwrap();
        let good = encoded(BasicType::String, 0, &region);
        parse(good.clone()).unwrap();
        let change = |at: usize, to: &[u8]| {
            let mut bytes = good.clone();
            bytes[at..at + to.len()].copy_from_slice(to);
            let sum = checksum(&bytes[4..4 + ENCODED_FIELDS]).to_le_bytes();
            bytes[4 + ENCODED_FIELDS..8 + ENCODED_FIELDS].copy_from_slice(&sum);
            parse(bytes).unwrap_err()
        };
        let many = change(5, &u32::MAX.to_le_bytes());
        assert_eq!(many.kind(), ErrorKind::LimitExceeded);
        let limits = Limits::default();
        let parse_of = |size, limits: &Limits| {
            parse_of(good.clone(), BasicType::String, size, limits).unwrap_err()
        };
        assert_eq!(parse_of(Some(8), &limits).kind(), ErrorKind::Corrupt);
        let few = limits.clone().with_max_block_values(99);
        assert_eq!(parse_of(None, &few).kind(), ErrorKind::LimitExceeded);
        let form = change(4 + SPEC_FIELDS, &[2]);
        assert_eq!(form.kind(), ErrorKind::Unsupported);
        let null = change(9, &[1]);
        assert_eq!(null.kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn few_bytes_do_not_become_more_than_a_dictionary_may_have() {
        let mut region = Vec::new();
        let values = vec![7; 100 * 4096];
        let input = bytes::Input::fixed(4096, 100, &values, None);
        bytes::encode(&input, &bytes::Plan::SingleValue, &mut region).unwrap();
        let buffer = encoded(BasicType::FixedSizeBinary, 4096, &region);
        assert!(buffer.len() < 10_000);
        let parse_of =
            |value_type, limits: &Limits| parse_of(buffer.clone(), value_type, Some(4096), limits);
        let of = |bytes| Limits::default().with_max_dictionary_bytes(bytes);
        let read = parse_of(BasicType::FixedSizeBinary, &of(409_600)).unwrap();
        assert_eq!(read.values, values);
        let error = parse_of(BasicType::FixedSizeBinary, &of(409_599)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        // Of another type than the field, it is not decoded.
        let error = parse_of(BasicType::String, &of(0)).unwrap_err();
        assert!(error.to_string().contains("the field is String"), "{error}");
    }
}
