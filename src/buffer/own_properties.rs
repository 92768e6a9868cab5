//! Spec: docs/format.md, "Properties": what this library notes of the buffers of a stripe field.

use super::blobs::BlobTable;
use super::checksums::ChecksumTable;
use super::encoding_codes::EncodingCodes;
use super::map_copies::MapCopies;
use crate::error::Result;
use crate::format::NameValuePair;

/// Information about buffers from the properties of a stripe field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnProperties {
    /// Checksums of parts that do not carry their own.
    pub checksums: ChecksumTable,
    /// Copies of block maps.
    pub maps: MapCopies,
    /// Codes of the blocks of each encoding. This crate does not write them.
    pub codes: EncodingCodes,
    /// Which blocks of DATA are blobs, if any are.
    pub blobs: Option<BlobTable>,
}

impl OwnProperties {
    /// Returns the properties to write. Empty ones are left out.
    pub fn to_properties(&self) -> Vec<NameValuePair> {
        let checksums = (!self.checksums.is_empty()).then(|| self.checksums.to_property());
        let maps = (!self.maps.is_empty()).then(|| self.maps.to_property());
        let blobs = self.blobs.as_ref().map(BlobTable::to_property);
        [checksums, maps, blobs].into_iter().flatten().collect()
    }

    /// Parses the properties of a stripe field.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if one of them is malformed.
    pub fn from_properties(properties: &[NameValuePair]) -> Result<Self> {
        Ok(Self {
            checksums: ChecksumTable::from_properties(properties)?,
            maps: MapCopies::from_properties(properties)?,
            codes: EncodingCodes::from_properties(properties)?,
            blobs: BlobTable::from_properties(properties)?,
        })
    }
}
