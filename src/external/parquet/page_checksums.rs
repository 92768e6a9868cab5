//! Spec: docs/format.md, "External Parquet" (property `arrow_shard.parquet`): checksums of the pages of a column chunk.

use crate::buffer::VerifiedSet;
use crate::error::{Error, ErrorKind, Result};
use crate::format::checksum;
use crate::io::ByteRange;

/// The checksums of the pages of a column chunk, and which pages have been verified. A reader of a few rows verifies
/// the pages that it reads, and reads no others.
#[derive(Debug)]
pub(super) struct PageChecksums {
    /// The checksum of the dictionary page if there is one, and of each data page; nothing if there are no checksums.
    expected: Vec<u32>,
    has_dictionary: bool,
    verified: VerifiedSet,
}

impl PageChecksums {
    pub(super) fn new(expected: Vec<u32>, has_dictionary: bool) -> Self {
        Self {
            verified: VerifiedSet::new(expected.len()),
            expected,
            has_dictionary,
        }
    }

    /// Fails unless there are no checksums, or one for each page.
    pub(super) fn check_count(&self, data_pages: usize) -> Result<()> {
        let pages = data_pages + usize::from(self.has_dictionary);
        if self.expected.is_empty() || self.expected.len() == pages {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "{} checksums of {pages} pages of a column chunk",
            self.expected.len()
        )))
    }

    /// Verifies the bytes of the dictionary page.
    ///
    /// # Errors
    /// [`Checksum`](ErrorKind::Checksum) if they are not the bytes that were attached.
    pub(super) fn verify_dictionary(&self, place: ByteRange, bytes: &[u8]) -> Result<()> {
        self.verify(0, place, bytes)
    }

    /// Verifies the bytes of the data page with this ordinal.
    ///
    /// # Errors
    /// [`Checksum`](ErrorKind::Checksum) if they are not the bytes that were attached.
    pub(super) fn verify_data(&self, ordinal: usize, place: ByteRange, bytes: &[u8]) -> Result<()> {
        self.verify(ordinal + usize::from(self.has_dictionary), place, bytes)
    }

    fn verify(&self, page: usize, place: ByteRange, bytes: &[u8]) -> Result<()> {
        let Some(&expected) = self.expected.get(page) else {
            return Ok(());
        };
        if self.verified.contains(page as u64) {
            return Ok(());
        }
        if checksum(bytes) != expected {
            return Err(Error::new(
                ErrorKind::Checksum,
                format!(
                    "bytes {place} of the Parquet file do not match the checksum that the shard has of them; \
                     restore the file, or attach it again"
                ),
            ));
        }
        self.verified.insert(page as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_has_its_checksum() {
        let place = ByteRange::try_new(4, 7).unwrap();
        let pages =
            PageChecksums::new([b"dic", b"one", b"two"].map(|p| checksum(p)).to_vec(), true);
        pages.check_count(2).unwrap();
        pages.check_count(3).unwrap_err();
        pages.verify_dictionary(place, b"dic").unwrap();
        pages.verify_data(1, place, b"two").unwrap();
        let error = pages.verify_data(0, place, b"two").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Checksum);
        assert!(error.message().contains("4..7"), "{error}");
        // It is remembered that this page was verified.
        pages.verify_data(1, place, b"one").unwrap();
        let none = PageChecksums::new(Vec::new(), true);
        none.check_count(7).unwrap();
        none.verify_data(6, place, b"any").unwrap();
    }
}
