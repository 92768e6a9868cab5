//! Spec: Chapter 6, "Value Dictionary" (header bytes: docs/format.md).
//!
//! ```text
//! header | values section | offsets section (variable size only) | sorted ids section | padding
//!
//! spec header:      u32 length | fields | u32 checksum | zeros to a multiple of 16
//!                   with a further field, 1, the values section has encoded entries, and no section follows
//! reference header: fields with ranges instead of sizes | zeros to 124 | u32 checksum
//! section:          u64 length | payload | zeros: 64, then to 16 with the checksum | u32 checksum
//! ```

use super::carried_checksums::{CarriedChecksums, checksums_at_ends};
use super::encoded_dictionary;
use crate::encoding::Context;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::format::{BasicType, checksum};
use crate::io::ByteRange;
use arrow_buffer::ArrowNativeType;
use bytes::Bytes;
use std::ops::Range;

/// Bytes of the fields of a spec header.
pub(super) const SPEC_FIELDS: usize = 38;
/// Bytes of the fields if the entries are encoded.
pub(super) const ENCODED_FIELDS: usize = SPEC_FIELDS + 1;
/// Bytes of a spec header: length, fields, checksum, padding to 16.
pub(super) const SPEC_HEADER: usize = 48;
/// Bytes of a reference header.
pub(super) const REFERENCE_HEADER: usize = 128;

/// The distinct values of a stripe field, by code.
#[derive(Debug, Clone)]
pub struct ValueDictionary {
    /// Type of the values.
    pub value_type: BasicType,
    /// Number of entries, including the null entry.
    pub count: u32,
    /// Code of the null entry.
    pub null_id: Option<u32>,
    /// The entries, one after the other.
    pub values: Bytes,
    /// `count + 1` offsets of the entries in `values`, from 0 on. `None` if all entries have the same width.
    pub offsets: Option<Vec<u64>>,
}

/// A header of either kind, with the sections as ranges of the buffer.
struct Header {
    value_type: u8,
    count: u32,
    null_entry_present: u8,
    null_id: u32,
    fixed_value_size: u32,
    values: ByteRange,
    offsets: ByteRange,
    sorted_ids: ByteRange,
    /// Place of the checksum of the header.
    sum_at: usize,
    /// Whether the values section has encoded entries.
    is_encoded: bool,
}

impl ValueDictionary {
    /// Parses a dictionary buffer of a field with values of this type, and of this size in bytes unless sizes vary.
    /// Verifies its checksums, which must also be those that the directory carries, and decodes its entries.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) or [`Checksum`](ErrorKind::Checksum), naming the section;
    /// [`WrongFile`](ErrorKind::WrongFile) for other checksums than the directory carries;
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) for encoded entries, and the other errors of their encoding.
    pub fn parse(
        buffer: &Bytes,
        value_type: BasicType,
        size: Option<usize>,
        carried: Option<&CarriedChecksums>,
        cx: &mut Context<'_>,
    ) -> Result<Self> {
        let (header, stored) = Self::stored(buffer)?;
        if let Some(carried) = carried {
            carried.check_all(&Self::carried_checksums(buffer)?)?;
        }
        if stored.value_type != value_type {
            return Err(Error::corrupt(format!(
                "holds {:?} values, the field is {value_type:?}",
                stored.value_type
            )));
        }
        if !header.is_encoded {
            return Ok(stored);
        }
        if u64::from(header.fixed_value_size) != size.unwrap_or(0) as u64 {
            return Err(Error::corrupt(format!(
                "encoded entries of {} bytes, the field has {}",
                header.fixed_value_size,
                size.unwrap_or(0)
            )));
        }
        let count = to_usize(u64::from(header.count))?;
        let entries =
            encoded_dictionary::decode(&stored.values, value_type, count, size.unwrap_or(0), cx);
        let (values, offsets) = entries.within(|| "encoded entries".to_owned())?;
        Ok(Self {
            values,
            offsets,
            ..stored
        })
    }

    /// Verifies a dictionary buffer without decoding entries.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) or [`Checksum`](ErrorKind::Checksum), naming the section.
    pub fn check(buffer: &Bytes) -> Result<()> {
        Self::stored(buffer).map(drop)
    }

    /// Parses a dictionary buffer and verifies its checksums. The values of encoded entries are their region.
    fn stored(buffer: &Bytes) -> Result<(Header, Self)> {
        let header = Header::parse(buffer)?;
        let value_type = BasicType::from_u8(header.value_type).ok_or_else(|| {
            Error::corrupt(format!(
                "dictionary header: value type {}",
                header.value_type
            ))
        })?;
        let values = section(buffer, header.values).map_err(|e| e.within("values section"))?;
        let null_id = match header.null_entry_present {
            0 => None,
            1 if header.null_id < header.count => Some(header.null_id),
            other => {
                return Err(Error::corrupt(format!(
                    "dictionary header: null flag {other}, null id {} of {} entries",
                    header.null_id, header.count
                )));
            }
        };
        let offsets = if header.is_encoded {
            if null_id.is_some() || !header.offsets.is_empty() || !header.sorted_ids.is_empty() {
                return Err(Error::corrupt(
                    "encoded entries with a null entry, offsets or sorted ids",
                ));
            }
            None
        } else if header.offsets.is_empty() {
            let expected = u64::from(header.count) * u64::from(header.fixed_value_size);
            if values.len() as u64 != expected {
                return Err(Error::corrupt(format!(
                    "dictionary of {} values of {} bytes holds {} bytes",
                    header.count,
                    header.fixed_value_size,
                    values.len()
                )));
            }
            None
        } else {
            let payload =
                section(buffer, header.offsets).map_err(|e| e.within("offsets section"))?;
            Some(parse_offsets(&buffer[payload], header.count, values.len())?)
        };
        let stored = Self {
            value_type,
            count: header.count,
            null_id,
            values: buffer.slice(values),
            offsets,
        };
        Ok((header, stored))
    }
}

impl ValueDictionary {
    /// Returns the entries except the null entry, in the order of their codes.
    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        let width = match self.count {
            0 => 0,
            count => self.values.len() / count as usize,
        };
        let codes = (0..self.count).filter(|&code| Some(code) != self.null_id);
        codes.map(move |code| {
            let code = code as usize;
            let range = match &self.offsets {
                Some(ends) => ends[code].as_usize()..ends[code + 1].as_usize(),
                None => code * width..(code + 1) * width,
            };
            &self.values[range]
        })
    }

    /// Returns the stored checksums of the header and of each section of a
    /// dictionary.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) or [`Checksum`](ErrorKind::Checksum) if the header is damaged.
    pub fn carried_checksums(buffer: &[u8]) -> Result<Vec<u32>> {
        let header = Header::parse(buffer)?;
        let header_end = header.sum_at as u64 + 4;
        let parts = [
            ByteRange::try_new(0, header_end)?,
            header.values,
            header.offsets,
            header.sorted_ids,
        ];
        checksums_at_ends(buffer, parts)
    }

    /// Verifies the sorted codes, which [`parse`](Self::parse) does not read: no code may occur twice, and the code
    /// of a null entry must not occur.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) or [`Checksum`](ErrorKind::Checksum) if they are damaged.
    pub fn verify_sorted_ids(buffer: &Bytes) -> Result<()> {
        let header = Header::parse(buffer)?;
        if header.sorted_ids.is_empty() {
            return Ok(());
        }
        let place = "sorted ids section";
        let payload = section(buffer, header.sorted_ids).map_err(|e| e.within(place))?;
        let ids = buffer[payload].chunks_exact(4);
        let mut ids: Vec<u32> = ids
            .map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]]))
            .collect();
        ids.sort_unstable();
        let twice = ids
            .windows(2)
            .find(|pair| pair[0] == pair[1])
            .map(|pair| pair[0]);
        let beyond = ids.last().copied().filter(|&id| id >= header.count);
        match twice.or(beyond) {
            None => Ok(()),
            Some(id) => Err(Error::corrupt(format!(
                "code {id} of a dictionary of {} entries is there twice, or too large",
                header.count
            ))
            .within(place)),
        }
    }
}

fn parse_offsets(payload: &[u8], count: u32, values_len: usize) -> Result<Vec<u64>> {
    if payload.len() as u64 != (u64::from(count) + 1) * 8 {
        return Err(Error::corrupt(format!(
            "offsets section of {} bytes for {count} entries",
            payload.len()
        )));
    }
    let offsets: Vec<u64> = payload
        .chunks_exact(8)
        .map(|c| u64::from_le_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]]))
        .collect();
    let ascending = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    if !ascending || offsets[0] != 0 || offsets.last() != Some(&(values_len as u64)) {
        return Err(Error::corrupt(format!(
            "offsets do not divide the {values_len} bytes of the values section"
        )));
    }
    Ok(offsets)
}

/// Returns the range of the payload of a section, after verifying its checksum.
fn section(buffer: &[u8], range: ByteRange) -> Result<Range<usize>> {
    let range = range.within_size(buffer.len() as u64)?.to_usize()?;
    let bytes = &buffer[range.clone()];
    let (Some(len), Some(sum)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<4>()) else {
        return Err(Error::corrupt(format!(
            "a section of {} bytes",
            bytes.len()
        )));
    };
    let len = to_usize(u64::from_le_bytes(*len))?;
    let payload = len
        .checked_add(8)
        .filter(|&end| end <= bytes.len().saturating_sub(4))
        .map(|end| 8..end)
        .ok_or_else(|| {
            Error::corrupt(format!(
                "a payload of {len} bytes in a section of {}",
                bytes.len()
            ))
        })?;
    if checksum(&bytes[payload.clone()]) != u32::from_le_bytes(*sum) {
        return Err(Error::new(
            ErrorKind::Checksum,
            "the payload does not match its checksum",
        ));
    }
    Ok(range.start + payload.start..range.start + payload.end)
}

/// A reader of packed little-endian numbers from bytes that are long enough.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let (head, rest) = self.0.split_at(N);
        out.copy_from_slice(head);
        self.0 = rest;
        out
    }

    fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

impl Header {
    fn parse(buffer: &[u8]) -> Result<Self> {
        match Self::reference(buffer) {
            Some(header) => header,
            None => Self::spec(buffer),
        }
    }

    /// Parses the header of the reference. Returns `None` if the checksum shows that it is not one.
    fn reference(buffer: &[u8]) -> Option<Result<Self>> {
        let header = buffer.first_chunk::<REFERENCE_HEADER>()?;
        let (fields, sum) = header.split_at(REFERENCE_HEADER - 4);
        let bytes_like = (BasicType::Binary as u8..=BasicType::Guid as u8).contains(&fields[0]);
        if !bytes_like || checksum(fields).to_le_bytes() != *sum {
            return None;
        }
        let mut fields = Fields(fields);
        let (value_type, count) = (fields.u8(), fields.u32());
        let (null_entry_present, null_id) = (fields.u8(), fields.u32());
        let fixed_value_size = fields.u32();
        let mut range = || ByteRange::try_new(fields.u64(), fields.u64());
        Some(range().and_then(|values| {
            Ok(Self {
                value_type,
                count,
                null_entry_present,
                null_id,
                fixed_value_size,
                values,
                offsets: range()?,
                sorted_ids: range()?,
                sum_at: REFERENCE_HEADER - 4,
                is_encoded: false,
            })
        }))
    }

    fn spec(buffer: &[u8]) -> Result<Self> {
        let header = buffer.first_chunk::<SPEC_HEADER>().ok_or_else(|| {
            Error::corrupt(format!(
                "a dictionary of {} bytes has no header",
                buffer.len()
            ))
        })?;
        let mut length = Fields(&header[..4]);
        let length = length.u32() as usize;
        if length != SPEC_FIELDS && length != ENCODED_FIELDS {
            return Err(Error::corrupt(format!(
                "dictionary header of {length} bytes, expected {SPEC_FIELDS} or {ENCODED_FIELDS}"
            )));
        }
        let sum_at = 4 + length;
        let fields = &header[4..sum_at];
        if checksum(fields).to_le_bytes() != header[sum_at..sum_at + 4] {
            return Err(Error::new(
                ErrorKind::Checksum,
                "the dictionary header does not match its checksum",
            ));
        }
        if let Some(form) = fields.get(SPEC_FIELDS).filter(|form| **form != 1) {
            return Err(Error::unsupported(format!(
                "entries of form {form} in a dictionary, expected 1"
            )));
        }
        let mut fields = Fields(fields);
        let (value_type, count) = (fields.u8(), fields.u32());
        let (null_entry_present, null_id) = (fields.u8(), fields.u32());
        let fixed_value_size = fields.u32();
        let values = ByteRange::with_len(SPEC_HEADER as u64, fields.u64())?;
        let offsets = ByteRange::with_len(values.end(), fields.u64())?;
        Ok(Self {
            value_type,
            count,
            null_entry_present,
            null_id,
            fixed_value_size,
            values,
            offsets,
            sorted_ids: ByteRange::with_len(offsets.end(), fields.u64())?,
            sum_at,
            is_encoded: length == ENCODED_FIELDS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::dictionary_input::{DictionaryInput, section_size, write_section};
    use super::*;
    use crate::Limits;
    use crate::encoding::Scratch;

    /// Parses the dictionary of a field that its header fits.
    fn parse(buffer: Vec<u8>) -> Result<ValueDictionary> {
        let (mut value_type, mut size) = (None, 0);
        if let Ok(header) = Header::parse(&buffer) {
            value_type = BasicType::from_u8(header.value_type);
            size = header.fixed_value_size as usize;
        }
        let value_type = value_type.unwrap_or(BasicType::String);
        let size = Some(size).filter(|size| *size > 0);
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let cx = &mut Context::new(&limits, &mut scratch);
        ValueDictionary::parse(&buffer.into(), value_type, size, None, cx)
    }

    fn sample() -> Vec<u8> {
        DictionaryInput {
            value_type: BasicType::String,
            count: 3,
            fixed_value_size: 0,
            values: b"abcde",
            offsets: Some(&[0, 2, 5, 5]),
            null_id: None,
            sorted_ids: &[2, 0, 1],
            is_encoded: false,
        }
        .encode(true)
    }

    #[test]
    fn what_is_written_is_read() {
        let read = parse(sample()).unwrap();
        assert_eq!(read.value_type, BasicType::String);
        assert_eq!((read.count, read.null_id), (3, None));
        assert_eq!(&read.values[..], b"abcde");
        assert_eq!(read.offsets.unwrap(), [0, 2, 5, 5]);
        let fixed = DictionaryInput {
            value_type: BasicType::Int16,
            count: 2,
            fixed_value_size: 2,
            values: &[1, 0, 2, 0],
            offsets: None,
            null_id: None,
            sorted_ids: &[0, 1],
            is_encoded: false,
        };
        let read = parse(fixed.encode(true)).unwrap();
        assert_eq!(&read.values[..], [1, 0, 2, 0]);
    }

    #[test]
    fn the_header_of_the_reference_is_written_and_told_apart() {
        let mut bytes = vec![0; REFERENCE_HEADER];
        bytes[..14].copy_from_slice(&[10, 3, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0]);
        for (i, n) in [128u64, 224, 224, 336, 336, 432].iter().enumerate() {
            bytes[14 + 8 * i..22 + 8 * i].copy_from_slice(&n.to_le_bytes());
        }
        let sum = checksum(&bytes[..124]);
        assert_eq!(sum, 0x7c3e_87f8, "the example of the format description");
        bytes[124..].copy_from_slice(&sum.to_le_bytes());
        write_section(b"abcde", &mut bytes);
        let offsets: Vec<u8> = [0u64, 2, 5, 5]
            .iter()
            .flat_map(|o| o.to_le_bytes())
            .collect();
        write_section(&offsets, &mut bytes);
        write_section(&[0, 0, 0, 0, 1, 0, 0, 0], &mut bytes);
        bytes.resize(448, 0);
        let written = DictionaryInput {
            value_type: BasicType::String,
            count: 3,
            null_id: Some(2),
            fixed_value_size: 0,
            values: b"abcde",
            offsets: Some(&[0, 2, 5, 5]),
            sorted_ids: &[0, 1],
            is_encoded: false,
        };
        assert_eq!(written.encode(false), bytes);
        let read = parse(bytes).unwrap();
        assert_eq!((read.count, read.null_id), (3, Some(2)));
        assert_eq!(&read.values[..], b"abcde");
    }

    #[test]
    fn every_flipped_byte_is_an_error_or_changes_nothing() {
        let good = sample();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x80;
            if let Ok(read) = parse(bytes) {
                assert_eq!(&read.values[..], b"abcde");
                assert_eq!(read.offsets.unwrap(), [0, 2, 5, 5]);
                assert_eq!((read.count, read.null_id), (3, None));
            }
        }
        for len in 0..SPEC_HEADER + section_size(5) {
            assert!(parse(good[..len].to_vec()).is_err());
        }
    }
}
