//! Spec: docs/format.md, "Checksums of raw buffers and block maps" (property
//! `arrow_shard.checksums`).

use super::carried_checksums::CarriedChecksums;
use crate::error::{Error, ErrorKind, Result, to_usize};
use crate::format::{NameValuePair, ValueKind, checksum, find_property};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Name of the property of a stripe field that holds its [`ChecksumTable`].
pub const CHECKSUMS_PROPERTY: &str = "arrow_shard.checksums";

/// Bytes that one checksum covers.
pub const CHUNK_BYTES: u32 = 65_536;

/// The part of a buffer that the checksums of an entry cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoveredPart {
    /// All bytes of a raw buffer.
    Raw,
    /// The block map.
    BlockMap,
    /// The header of a range index.
    RangeIndexHeader,
    /// No bytes: the checksums repeat the ones that the buffer itself carries.
    Carried,
    /// The list of block checksums, which lies before the block map.
    BlockList,
}

impl CoveredPart {
    fn code(self) -> u16 {
        match self {
            Self::Raw => 1,
            Self::BlockMap => 2,
            Self::RangeIndexHeader => 3,
            Self::Carried => 4,
            Self::BlockList => 5,
        }
    }

    fn from_code(code: u16) -> Option<Self> {
        [
            Self::Raw,
            Self::BlockMap,
            Self::RangeIndexHeader,
            Self::Carried,
            Self::BlockList,
        ]
        .into_iter()
        .find(|part| part.code() == code)
    }
}

/// The checksums of one part of a buffer, a u32 for each chunk of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChecksumEntry {
    /// Ordinal of the encoding in the stripe field.
    pub encoding: u16,
    /// Ordinal of the buffer in the encoding.
    pub buffer: u16,
    /// The covered part.
    pub part: CoveredPart,
    /// Bytes per chunk.
    pub chunk_bytes: u32,
    /// One checksum per chunk. The last chunk may be short.
    pub checksums: Vec<u32>,
}

impl ChecksumEntry {
    /// Returns the sort key of the entries of a table: encoding, buffer, part.
    fn place(&self) -> (usize, usize, u16) {
        (self.encoding.into(), self.buffer.into(), self.part.code())
    }
}

/// Checksums of all parts of a stripe field that do not carry their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChecksumTable {
    /// Ordered by place. If a place has several entries, the first counts.
    entries: Vec<ChecksumEntry>,
}

impl ChecksumTable {
    /// Adds the checksums of `bytes`.
    pub fn add(&mut self, encoding: u16, buffer: u16, part: CoveredPart, bytes: &[u8]) {
        self.add_chunks(encoding, buffer, part, bytes.chunks(CHUNK_BYTES as usize));
    }

    /// Adds the checksums of chunks of [`CHUNK_BYTES`].
    pub fn add_chunks<'a>(
        &mut self,
        encoding: u16,
        buffer: u16,
        part: CoveredPart,
        chunks: impl Iterator<Item = &'a [u8]>,
    ) {
        self.insert(ChecksumEntry {
            encoding,
            buffer,
            part,
            chunk_bytes: CHUNK_BYTES,
            checksums: chunks.map(checksum).collect(),
        });
    }

    /// Repeats the checksums that a buffer carries, if it carries any.
    pub fn add_carried(&mut self, encoding: u16, buffer: u16, checksums: Vec<u32>) {
        if !checksums.is_empty() {
            self.insert(ChecksumEntry {
                encoding,
                buffer,
                part: CoveredPart::Carried,
                // The number of bytes has no meaning here, but readers reject 0.
                chunk_bytes: 1,
                checksums,
            });
        }
    }

    pub(super) fn insert(&mut self, entry: ChecksumEntry) {
        let at = self.entries.partition_point(|e| e.place() <= entry.place());
        self.entries.insert(at, entry);
    }

    /// Returns whether the table has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the table as a property.
    pub fn to_property(&self) -> NameValuePair {
        let mut bytes = Vec::new();
        for entry in &self.entries {
            for field in [entry.encoding, entry.buffer, entry.part.code(), 0] {
                bytes.extend_from_slice(&field.to_le_bytes());
            }
            // A buffer has fewer than 2^32 chunks, because a length has at most 48 bits.
            let count = u32::try_from(entry.checksums.len()).unwrap_or(u32::MAX);
            for field in [entry.chunk_bytes, count].iter().chain(&entry.checksums) {
                bytes.extend_from_slice(&field.to_le_bytes());
            }
        }
        NameValuePair::new(CHECKSUMS_PROPERTY, bytes)
    }

    /// Finds the table in the properties of a stripe field. It is empty without such a property.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the property is malformed.
    pub fn from_properties(properties: &[NameValuePair]) -> Result<Self> {
        let Some(value) = find_property(properties, CHECKSUMS_PROPERTY) else {
            return Ok(Self::default());
        };
        let malformed = || Error::corrupt(format!("property {CHECKSUMS_PROPERTY} is malformed"));
        let Some(ValueKind::Bytes(bytes)) = &value.kind else {
            return Err(malformed());
        };
        let mut rest = bytes.as_ref();
        let mut entries = Vec::new();
        while !rest.is_empty() {
            let (entry, behind) = Self::parse_entry(rest).ok_or_else(malformed)?;
            // This reader does not read parts that it does not know.
            entries.extend(entry);
            rest = behind;
        }
        entries.sort_by_key(ChecksumEntry::place);
        Ok(Self { entries })
    }

    /// Splits off the first entry. Returns `None` if the bytes are malformed, and no entry if its part is
    /// unknown.
    fn parse_entry(bytes: &[u8]) -> Option<(Option<ChecksumEntry>, &[u8])> {
        let ([e0, e1, b0, b1, p0, p1, 0, 0], bytes) = bytes.split_first_chunk()? else {
            return None;
        };
        let (chunk_bytes, bytes) = bytes.split_first_chunk()?;
        let (count, bytes) = bytes.split_first_chunk()?;
        let size = (u32::from_le_bytes(*count) as usize).checked_mul(4)?;
        let (checksums, rest) = bytes.split_at_checked(size)?;
        let chunk_bytes = u32::from_le_bytes(*chunk_bytes);
        if chunk_bytes == 0 {
            return None;
        }
        let entry =
            CoveredPart::from_code(u16::from_le_bytes([*p0, *p1])).map(|part| ChecksumEntry {
                encoding: u16::from_le_bytes([*e0, *e1]),
                buffer: u16::from_le_bytes([*b0, *b1]),
                part,
                chunk_bytes,
                checksums: checksums
                    .chunks_exact(4)
                    .map(|sum| u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]]))
                    .collect(),
            });
        Some((entry, rest))
    }

    /// Returns the checksums of a part of `len` bytes, if it has any.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if their number does not fit the length.
    pub fn find(
        &self,
        encoding: usize,
        buffer: usize,
        part: CoveredPart,
        len: u64,
    ) -> Result<Option<Chunks>> {
        let Some(entry) = self.entry(encoding, buffer, part) else {
            return Ok(None);
        };
        let chunk_bytes = u64::from(entry.chunk_bytes);
        if entry.checksums.len() as u64 != len.div_ceil(chunk_bytes) {
            return Err(Error::corrupt(format!(
                "{} checksums for {len} bytes in chunks of {}",
                entry.checksums.len(),
                entry.chunk_bytes
            )));
        }
        Ok(Some(Chunks {
            len,
            chunk_bytes,
            verified: VerifiedSet::new(entry.checksums.len()),
            checksums: entry.checksums.clone(),
        }))
    }

    /// Returns the checksums that a buffer must carry, if they are known.
    pub fn carried(&self, encoding: usize, buffer: usize) -> Option<CarriedChecksums> {
        let entry = self.entry(encoding, buffer, CoveredPart::Carried)?;
        Some(CarriedChecksums::new(entry.checksums.clone()))
    }

    fn entry(&self, encoding: usize, buffer: usize, part: CoveredPart) -> Option<&ChecksumEntry> {
        let place = (encoding, buffer, part.code());
        let at = self.entries.partition_point(|e| e.place() < place);
        self.entries.get(at).filter(|e| e.place() == place)
    }
}

/// The checksums of a sequence of bytes, and which of them have been verified.
#[derive(Debug)]
pub struct Chunks {
    len: u64,
    chunk_bytes: u64,
    checksums: Vec<u32>,
    verified: VerifiedSet,
}

impl Chunks {
    /// Returns the smallest range of whole chunks around `range`, or `range` itself if it has been verified.
    pub fn cover(&self, range: Range<u64>) -> Range<u64> {
        if range.is_empty() || self.is_verified(&range) {
            return range;
        }
        let start = range.start / self.chunk_bytes * self.chunk_bytes;
        let end = range
            .end
            .div_ceil(self.chunk_bytes)
            .saturating_mul(self.chunk_bytes);
        start..end.min(self.len)
    }

    /// Returns the end of a chunk and its checksum.
    pub(super) fn chunk(&self, ordinal: usize) -> Option<(u64, u32)> {
        let checksum = *self.checksums.get(ordinal)?;
        let end = (ordinal as u64 + 1).saturating_mul(self.chunk_bytes);
        Some((end.min(self.len), checksum))
    }

    fn ordinals(&self, range: &Range<u64>) -> Range<u64> {
        range.start / self.chunk_bytes..range.end.div_ceil(self.chunk_bytes)
    }

    fn is_verified(&self, range: &Range<u64>) -> bool {
        self.ordinals(range)
            .all(|chunk| self.verified.contains(chunk))
    }

    /// Verifies the chunks of `bytes`. `range` is their range in the whole sequence, and comes from
    /// [`cover`](Self::cover).
    ///
    /// # Errors
    /// [`Checksum`](ErrorKind::Checksum) if a chunk does not match.
    pub fn verify(&self, range: &Range<u64>, bytes: &[u8]) -> Result<()> {
        if range.is_empty() || self.is_verified(range) {
            return Ok(());
        }
        for chunk in self.ordinals(range) {
            if self.verified.contains(chunk) {
                continue;
            }
            let start = chunk * self.chunk_bytes;
            let end = (start + self.chunk_bytes).min(self.len);
            let covered = start
                .checked_sub(range.start)
                .and_then(|from| Some(to_usize(from).ok()?..to_usize(end - range.start).ok()?))
                .and_then(|r| bytes.get(r));
            let stored = to_usize(chunk).ok().and_then(|i| self.checksums.get(i));
            match (covered, stored) {
                (Some(covered), Some(&stored)) if checksum(covered) == stored => {
                    self.verified.insert(chunk);
                }
                _ => {
                    return Err(Error::new(
                        ErrorKind::Checksum,
                        format!(
                            "bytes {start}..{end} of the buffer do not match their checksum; they were \
                             damaged, or are those of another file that has the name"
                        ),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A growing set of small numbers, shared between threads.
#[derive(Debug)]
pub struct VerifiedSet(Box<[AtomicU64]>);

impl VerifiedSet {
    /// Creates an empty set for numbers below `len`.
    pub fn new(len: usize) -> Self {
        Self((0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    fn word(&self, i: u64) -> Option<&AtomicU64> {
        self.0.get(usize::try_from(i / 64).ok()?)
    }

    /// Returns whether `i` is in the set.
    pub fn contains(&self, i: u64) -> bool {
        self.word(i)
            .is_some_and(|w| w.load(Ordering::Relaxed) >> (i % 64) & 1 == 1)
    }

    /// Adds `i`.
    pub fn insert(&self, i: u64) {
        if let Some(word) = self.word(i) {
            word.fetch_or(1 << (i % 64), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_survives_as_a_property_and_finds_its_entries() {
        let bytes: Vec<u8> = (0..150_000u32).map(|i| i.to_le_bytes()[0]).collect();
        let mut table = ChecksumTable::default();
        table.add(0, 1, CoveredPart::Raw, &bytes);
        table.add(0, 1, CoveredPart::BlockMap, b"map");
        let read = ChecksumTable::from_properties(&[table.to_property()]).unwrap();
        assert_eq!(read, table);
        let parse = |bytes: &[u8]| {
            ChecksumTable::from_properties(&[NameValuePair::new(
                CHECKSUMS_PROPERTY,
                bytes.to_vec(),
            )])
        };
        let Some(ValueKind::Bytes(packed)) = table.to_property().value.unwrap().kind else {
            panic!("bytes")
        };
        let mut packed = packed.to_vec();
        // An unknown part without chunks.
        packed.extend([0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(parse(&packed).unwrap(), table);
        packed.pop();
        assert!(parse(&packed).is_err());
        assert!(read.find(0, 0, CoveredPart::Raw, 3).unwrap().is_none());
        assert!(read.find(0, 1, CoveredPart::Raw, 3).is_err());
        let chunks = read.find(0, 1, CoveredPart::Raw, 150_000).unwrap().unwrap();
        assert_eq!(chunks.cover(70_000..70_001), 65_536..131_072);
        assert_eq!(chunks.cover(140_000..150_000), 131_072..150_000);
        chunks
            .verify(&(65_536..131_072), &bytes[65_536..131_072])
            .unwrap();
        assert_eq!(chunks.cover(70_000..70_001), 70_000..70_001);
        let mut damaged = bytes[131_072..].to_vec();
        damaged[100] ^= 1;
        let error = chunks.verify(&(131_072..150_000), &damaged).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Checksum);
    }
}
