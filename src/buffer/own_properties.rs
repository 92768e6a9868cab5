//! Spec: docs/format.md, "Properties": what this library notes of the buffers of a stripe field.

use super::blobs::BlobTable;
use super::checksums::ChecksumTable;
use super::encoding_codes::EncodingCodes;
use super::map_copies::MapCopies;
use crate::error::Result;
use crate::format::NameValuePair;

/// What properties of a stripe field say of its buffers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnProperties {
    /// Checksums of what carries none of its own.
    pub checksums: ChecksumTable,
    /// Copies of block maps.
    pub maps: MapCopies,
    /// Codes of the blocks of each encoding, which this crate does not write.
    pub codes: EncodingCodes,
    /// Which blocks of DATA are blobs, if some are.
    pub blobs: Option<BlobTable>,
}

impl OwnProperties {
    /// The properties that a writer notes; none where there is nothing to say.
    pub fn to_properties(&self) -> Vec<NameValuePair> {
        let checksums = (!self.checksums.is_empty()).then(|| self.checksums.to_property());
        let maps = (!self.maps.is_empty()).then(|| self.maps.to_property());
        let blobs = self.blobs.as_ref().map(BlobTable::to_property);
        [checksums, maps, blobs].into_iter().flatten().collect()
    }

    /// What the properties of a stripe field say.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if one has another shape.
    pub fn from_properties(properties: &[NameValuePair]) -> Result<Self> {
        Ok(Self {
            checksums: ChecksumTable::from_properties(properties)?,
            maps: MapCopies::from_properties(properties)?,
            codes: EncodingCodes::from_properties(properties)?,
            blobs: BlobTable::from_properties(properties)?,
        })
    }
}
