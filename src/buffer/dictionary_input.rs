//! Spec: Chapter 6, "Value Dictionary": writing a dictionary.

use super::BUFFER_ALIGNMENT;
use super::value_dictionary::{ENCODED_FIELDS, REFERENCE_HEADER, SPEC_FIELDS, SPEC_HEADER};
use crate::format::{BasicType, checksum};

/// Zero bytes after the payload of a section, so that wide loads do not leave the buffer.
const SECTION_PADDING: usize = 64;

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
    /// Whether `values` is a region of encoded entries. Then there are neither offsets nor sorted codes, and the header
    /// is the one of Chapter 6.
    pub is_encoded: bool,
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
            if self.is_encoded {
                0
            } else {
                section_size(sorted.len())
            },
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
        if !self.is_encoded {
            write_section(&sorted, &mut out);
        }
        if !spec_header {
            out.resize(out.len().next_multiple_of(BUFFER_ALIGNMENT), 0);
        }
        out
    }

    /// Writes the header of Chapter 6. `sizes` are the sizes of the sections: values, offsets and sorted ids.
    fn write_spec_header(&self, sizes: &[usize; 3], out: &mut Vec<u8>) {
        let fields = if self.is_encoded {
            ENCODED_FIELDS
        } else {
            SPEC_FIELDS
        };
        #[expect(clippy::cast_possible_truncation, reason = "38 and 39 fit")]
        out.extend_from_slice(&(fields as u32).to_le_bytes());
        self.write_common_fields(out);
        for size in sizes {
            out.extend_from_slice(&(*size as u64).to_le_bytes());
        }
        out.resize(4 + fields, 1);
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

pub(super) fn section_size(payload: usize) -> usize {
    (8 + payload + SECTION_PADDING + 4).next_multiple_of(16)
}

pub(super) fn write_section(payload: &[u8], out: &mut Vec<u8>) {
    let end = out.len() + section_size(payload.len());
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    out.extend_from_slice(payload);
    out.resize(end - 4, 0);
    out.extend_from_slice(&checksum(payload).to_le_bytes());
}
