//! Spec: Chapter 6, "Value Dictionary" (header bytes: docs/format.md).
//!
//! ```text
//! header | values section | offsets section (variable size only) | sorted ids section | padding
//!
//! spec header:      u32 length | fields | u32 checksum | zeros to a multiple of 16
//! reference header: fields with ranges instead of sizes | zeros to 124 | u32 checksum
//! section:          u64 length | payload | zeros: 64, then to 16 with the checksum | u32 checksum
//! ```

use super::BUFFER_ALIGNMENT;
use super::carried_checksums::checksums_at_ends;
use crate::error::{Error, ErrorKind, Result, to_usize};
use crate::format::{BasicType, checksum};
use crate::io::ByteRange;
use arrow_buffer::ArrowNativeType;
use bytes::Bytes;
use std::ops::Range;

/// Bytes of the fields of a spec header.
const SPEC_FIELDS: usize = 38;
/// Bytes of a spec header: length, fields, checksum, padding to 16.
const SPEC_HEADER: usize = 48;
/// Bytes of a reference header.
const REFERENCE_HEADER: usize = 128;
/// Zero bytes after the payload of a section, so that wide loads do not leave the buffer.
const SECTION_PADDING: usize = 64;

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

/// The entries of a dictionary to write.
#[derive(Debug, Clone, Copy)]
pub struct DictionaryInput<'a> {
    /// Type of the values.
    pub value_type: BasicType,
    /// Number of entries, including the null entry.
    pub count: u32,
    /// Code of the null entry.
    pub null_id: Option<u32>,
    /// Bytes of each value of a fixed-width type, else 0.
    pub fixed_value_size: u32,
    /// The entries, one after the other.
    pub values: &'a [u8],
    /// `count + 1` offsets of entries of variable size, from 0 on.
    pub offsets: Option<&'a [u64]>,
    /// Codes in the order of their values, without the code of the null entry.
    pub sorted_ids: &'a [u32],
}

impl DictionaryInput<'_> {
    /// Returns the buffer, with the header of Chapter 6, or else with the header and padding of the reference.
    pub fn encode(&self, spec_header: bool) -> Vec<u8> {
        let offsets: Option<Vec<u8>> = self
            .offsets
            .map(|o| o.iter().flat_map(|offset| offset.to_le_bytes()).collect());
        let sorted: Vec<u8> = self
            .sorted_ids
            .iter()
            .flat_map(|id| id.to_le_bytes())
            .collect();
        let sizes = [
            section_size(self.values.len()),
            offsets.as_ref().map_or(0, |o| section_size(o.len())),
            section_size(sorted.len()),
        ];
        let mut out = Vec::with_capacity(REFERENCE_HEADER + sizes.iter().sum::<usize>());
        if spec_header {
            self.write_spec_header(&sizes, &mut out)
        } else {
            self.write_reference_header(&sizes, &mut out)
        }
        write_section(self.values, &mut out);
        if let Some(offsets) = offsets {
            write_section(&offsets, &mut out);
        }
        write_section(&sorted, &mut out);
        if !spec_header {
            out.resize(out.len().next_multiple_of(BUFFER_ALIGNMENT), 0);
        }
        out
    }

    /// Writes the header of Chapter 6. `sizes` are the sizes of the sections: values, offsets and sorted ids.
    fn write_spec_header(&self, sizes: &[usize; 3], out: &mut Vec<u8>) {
        #[expect(clippy::cast_possible_truncation, reason = "38 fits")]
        out.extend_from_slice(&(SPEC_FIELDS as u32).to_le_bytes());
        self.write_common_fields(out);
        for size in sizes {
            out.extend_from_slice(&(*size as u64).to_le_bytes());
        }
        let sum = checksum(&out[4..]);
        out.extend_from_slice(&sum.to_le_bytes());
        out.resize(SPEC_HEADER, 0);
    }

    fn write_reference_header(&self, sizes: &[usize; 3], out: &mut Vec<u8>) {
        self.write_common_fields(out);
        let mut start = REFERENCE_HEADER as u64;
        for size in sizes {
            out.extend_from_slice(&start.to_le_bytes());
            start += *size as u64;
            out.extend_from_slice(&start.to_le_bytes());
        }
        out.resize(REFERENCE_HEADER - 4, 0);
        let sum = checksum(out);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    /// Writes the fields at the start of both headers.
    fn write_common_fields(&self, out: &mut Vec<u8>) {
        out.push(self.value_type as u8);
        out.extend_from_slice(&self.count.to_le_bytes());
        out.push(u8::from(self.null_id.is_some()));
        out.extend_from_slice(&self.null_id.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&self.fixed_value_size.to_le_bytes());
    }
}

fn section_size(payload: usize) -> usize {
    (8 + payload + SECTION_PADDING + 4).next_multiple_of(16)
}

fn write_section(payload: &[u8], out: &mut Vec<u8>) {
    let end = out.len() + section_size(payload.len());
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    out.extend_from_slice(payload);
    out.resize(end - 4, 0);
    out.extend_from_slice(&checksum(payload).to_le_bytes());
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
}

impl ValueDictionary {
    /// Parses a dictionary buffer and verifies its checksums.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) or [`Checksum`](ErrorKind::Checksum), naming the section.
    pub fn parse(buffer: &Bytes) -> Result<Self> {
        let header = match Header::reference(buffer) {
            Some(header) => header?,
            None => Header::spec(buffer)?,
        };
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
        let offsets = if header.offsets.is_empty() {
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
        Ok(Self {
            value_type,
            count: header.count,
            null_id,
            values: buffer.slice(values),
            offsets,
        })
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
        let (header, sum_at) = match Header::reference(buffer) {
            Some(header) => (header?, REFERENCE_HEADER - 4),
            None => (Header::spec(buffer)?, 4 + SPEC_FIELDS),
        };
        let header_end = sum_at as u64 + 4;
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
        let header = match Header::reference(buffer) {
            Some(header) => header?,
            None => Header::spec(buffer)?,
        };
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
        let length = length.u32();
        if length as usize != SPEC_FIELDS {
            return Err(Error::corrupt(format!(
                "dictionary header of {length} bytes, expected {SPEC_FIELDS}"
            )));
        }
        let fields = &header[4..4 + SPEC_FIELDS];
        if checksum(fields).to_le_bytes() != header[4 + SPEC_FIELDS..8 + SPEC_FIELDS] {
            return Err(Error::new(
                ErrorKind::Checksum,
                "the dictionary header does not match its checksum",
            ));
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
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        DictionaryInput {
            value_type: BasicType::String,
            count: 3,
            fixed_value_size: 0,
            values: b"abcde",
            offsets: Some(&[0, 2, 5, 5]),
            null_id: None,
            sorted_ids: &[2, 0, 1],
        }
        .encode(true)
    }

    #[test]
    fn what_is_written_is_read() {
        let read = ValueDictionary::parse(&sample().into()).unwrap();
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
        };
        let read = ValueDictionary::parse(&fixed.encode(true).into()).unwrap();
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
        };
        assert_eq!(written.encode(false), bytes);
        let read = ValueDictionary::parse(&bytes.into()).unwrap();
        assert_eq!((read.count, read.null_id), (3, Some(2)));
        assert_eq!(&read.values[..], b"abcde");
    }

    #[test]
    fn every_flipped_byte_is_an_error_or_changes_nothing() {
        let good = sample();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x80;
            if let Ok(read) = ValueDictionary::parse(&bytes.into()) {
                assert_eq!(&read.values[..], b"abcde");
                assert_eq!(read.offsets.unwrap(), [0, 2, 5, 5]);
                assert_eq!((read.count, read.null_id), (3, None));
            }
        }
        for len in 0..SPEC_HEADER + section_size(5) {
            assert!(ValueDictionary::parse(&good[..len].to_vec().into()).is_err());
        }
    }
}
