//! Spec: docs/format.md, "Range indexes": the places of range indexes. An index of values in buffers is a buffer
//! itself; an index of other values is listed among the indexes in the descriptor.

use super::RANGE_INDEX_HEADER;
#[cfg(any(feature = "experimental", feature = "parquet"))]
use super::RangeIndex;
use super::carried_checksums::CarriedChecksums;
use super::checksums::{ChecksumTable, Chunks, CoveredPart};
use super::stored_buffer::{StoredRange, place};
use crate::error::Result;
use crate::format::IndexDescriptor;
#[cfg(any(feature = "experimental", feature = "parquet"))]
use crate::format::{DataRef, IndexArtifact};

/// Type of range indexes in descriptors.
const RANGE_INDEX_TYPE: &str = "arrow_shard.range_index";

/// Place of a range index.
#[derive(Debug)]
pub struct StoredIndex {
    /// The bytes.
    pub place: StoredRange,
    /// Checksums of its header, if there are any.
    pub header_checksums: Option<Chunks>,
    /// The checksums that its parts must carry, if they are known.
    pub carried: Option<CarriedChecksums>,
}

impl StoredIndex {
    /// Finds the first range index among the indexes of a field. `artifact` returns the number of an artifact for its
    /// URL.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if its description contradicts itself.
    pub fn find(
        indexes: &[IndexDescriptor],
        artifact: &mut dyn FnMut(&str) -> Result<u32>,
    ) -> Result<Option<Self>> {
        let is_range = |index: &&IndexDescriptor| index.index_type == RANGE_INDEX_TYPE;
        let Some(index) = indexes.iter().find(is_range) else {
            return Ok(None);
        };
        let checksums = ChecksumTable::from_properties(&index.properties)?;
        let stored = index.artifacts.first();
        let reference = stored.and_then(|stored| stored.data_ref.as_ref());
        let (part, len) = (CoveredPart::RangeIndexHeader, RANGE_INDEX_HEADER as u64);
        Ok(Some(Self {
            place: place(reference, artifact)?,
            header_checksums: checksums.find(0, 0, part, len)?,
            carried: checksums.carried(0, 0),
        }))
    }

    /// Returns the description of a range index, given its bytes and the reference to them.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the bytes are not a range index.
    #[cfg(any(feature = "experimental", feature = "parquet"))]
    pub fn describe(bytes: &[u8], reference: DataRef) -> Result<IndexDescriptor> {
        let mut checksums = ChecksumTable::default();
        let header = bytes.get(..RANGE_INDEX_HEADER).unwrap_or(bytes);
        checksums.add(0, 0, CoveredPart::RangeIndexHeader, header);
        checksums.add_carried(0, 0, RangeIndex::carried_checksums(bytes)?);
        Ok(IndexDescriptor {
            index_type: RANGE_INDEX_TYPE.to_owned(),
            properties: vec![checksums.to_property()],
            indexed_fields: Vec::new(),
            artifacts: vec![IndexArtifact {
                data_ref: Some(reference),
                ..IndexArtifact::default()
            }],
            index_size: Some(bytes.len() as u64),
        })
    }
}
