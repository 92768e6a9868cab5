//! Where the pages of a column chunk are, according to the footer.

use super::parquet_file::ParquetFile;
use crate::error::{Error, Result};
use crate::external::parquet::{PageHeader, PageKind};
use crate::io::ByteRange;
use parquet::basic::Encoding;
use parquet::file::metadata::ColumnChunkMetaData;

/// Bytes in which the header of a page is looked for: headers have up to a few hundred bytes.
const HEADER_BYTES: u64 = 4096;

/// Where the pages of a chunk are.
pub(super) struct ChunkPlaces {
    /// The dictionary page, if there is one.
    pub(super) dictionary: Option<ByteRange>,
    /// All data pages.
    pub(super) data: ByteRange,
}

impl ChunkPlaces {
    pub(super) fn of(file: &ParquetFile, chunk: &ColumnChunkMetaData) -> Result<Self> {
        let offset = |at: i64| {
            let at = u64::try_from(at);
            at.map_err(|_| Error::corrupt("a column chunk before the start of the file"))
        };
        let data = offset(chunk.data_page_offset())?;
        let dictionary = chunk.dictionary_page_offset().map(offset).transpose()?;
        // Some writers store 0 in chunks without a dictionary.
        let dictionary = dictionary.filter(|&at| at > 0 && at < data);
        let start = dictionary.unwrap_or(data);
        let end = start
            .checked_add(offset(chunk.compressed_size())?)
            .filter(|&end| end >= data && end <= file.size)
            .ok_or_else(|| Error::corrupt("a column chunk after the end of the file"))?;
        Ok(Self {
            dictionary: dictionary
                .map(|at| ByteRange::try_new(at, data))
                .transpose()?,
            data: ByteRange::try_new(data, end)?,
        })
    }

    /// Looks for a dictionary page at the start of the data pages, where old writers begin without saying so.
    pub(super) async fn find_dictionary(
        &mut self,
        file: &ParquetFile,
        chunk: &ColumnChunkMetaData,
    ) -> Result<()> {
        let is_encoded = |encoding| {
            encoding == Encoding::RLE_DICTIONARY || encoding == Encoding::PLAIN_DICTIONARY
        };
        if self.dictionary.is_some() || !chunk.encodings().any(is_encoded) {
            return Ok(());
        }
        let start = self.data.start();
        let end = start.saturating_add(HEADER_BYTES).min(self.data.end());
        let bytes = file.read_one(ByteRange::try_new(start, end)?).await?;
        let header = PageHeader::parse(&bytes)?;
        if header.kind == PageKind::Dictionary {
            let len = header.page_len() as u64;
            self.dictionary = Some(self.data.slice(0, len)?);
            self.data = self.data.slice(len, self.data.len())?;
        }
        Ok(())
    }
}
