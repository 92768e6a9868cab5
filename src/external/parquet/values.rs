//! The values of a column as readers of shards request them.

use super::column::{ParquetChunk, ParquetColumn};
use super::decoder::ParquetDecoder;
use crate::buffer::{ExternalDecoder, ExternalValues, Selection, StoredRange};
use crate::error::Result;
use crate::external::VerifiedFiles;
use crate::format::{DataType, ParquetFileColumnRef, StripeFieldDescriptor};
use bytes::Bytes;
use std::sync::Arc;

/// The values of a stripe field in Parquet files.
#[derive(Debug)]
pub(crate) struct ParquetValues(Arc<ParquetColumn>);

impl ParquetValues {
    pub(crate) fn try_new(
        node: &DataType,
        descriptor: &StripeFieldDescriptor,
        files: &[ParquetFileColumnRef],
        verified: &Arc<VerifiedFiles>,
        artifact: &mut dyn FnMut(&str) -> Result<u32>,
        file: &mut dyn FnMut(&str) -> Result<u32>,
    ) -> Result<Self> {
        let column = ParquetColumn::try_new(node, descriptor, files, verified, artifact, file)?;
        Ok(Self(Arc::new(column)))
    }
}

impl ExternalValues for ParquetValues {
    fn missing_maps(&self, out: &mut Vec<StoredRange>) {
        out.extend(self.0.chunks.iter().filter_map(ParquetChunk::missing_map));
    }

    fn load_map(&self, place: StoredRange, bytes: &[u8]) -> Result<()> {
        let mut chunks = self.0.chunks.iter();
        chunks.try_for_each(|chunk| chunk.load_map(place, bytes))
    }

    fn places_of(&self, rows: &Selection, out: &mut Vec<StoredRange>) -> Result<()> {
        let mut last_file = None;
        for chunk in self.0.chunks_of(rows) {
            if last_file.replace(chunk.file) != Some(chunk.file) {
                out.extend(self.0.unverified_file(chunk).map(|file| file.place));
            }
            out.extend(chunk.dictionary_place());
            let Some(pages) = chunk.known_pages() else {
                out.push(chunk.data_place());
                continue;
            };
            let pages = chunk.pages_of(pages, rows)?;
            out.extend(pages.into_iter().map(|page| page.place));
        }
        Ok(())
    }

    fn file_ends(&self) -> Vec<StoredRange> {
        self.0.files.iter().map(|file| file.place).collect()
    }

    fn check_file(&self, end: StoredRange, bytes: &Bytes) -> Result<()> {
        let mut files = self.0.files.iter().filter(|file| file.place == end);
        files.try_for_each(|file| self.0.check_file(file, bytes))
    }

    fn places(&self) -> Vec<StoredRange> {
        let of_chunk = |chunk: &ParquetChunk| [chunk.dictionary_place(), Some(chunk.data_place())];
        self.0.chunks.iter().flat_map(of_chunk).flatten().collect()
    }

    fn page_rows(&self) -> u64 {
        let rows = self.0.chunks.iter().map(|chunk| match chunk.known_pages() {
            Some(pages) => chunk.len() / (pages.len() as u64).max(1),
            None => chunk.len(),
        });
        rows.max().unwrap_or(1).max(1)
    }

    fn decoder(self: Arc<Self>) -> Box<dyn ExternalDecoder> {
        Box::new(ParquetDecoder::new(self.0.clone()))
    }
}
