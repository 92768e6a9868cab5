//! The chunks of a stripe field, and their pages.

use super::description::{Codec, ParquetDescription};
use super::leaf::ParquetLeaf;
use super::page_checksums::PageChecksums;
use super::page_header::{PageHeader, PageKind};
use super::text::to_text;
use crate::buffer::{BlockMap, ByteSource, ReadContext, Selection, StoredRange};
use crate::error::{Error, ErrorKind, Result, to_usize};
use crate::external::{FileIdentity, VerifiedFiles};
use crate::format::{
    DataType, ParquetColumnChunkRef, ParquetFileColumnRef, StripeFieldDescriptor, checksum,
};
use crate::io::ByteRange;
use crate::limits::Limits;
use arrow_array::ArrayRef;
use arrow_schema::DataType as ArrowType;
use bytes::Bytes;
use parquet::basic::Type as PhysicalType;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The values of a stripe field in Parquet files.
#[derive(Debug)]
pub(super) struct ParquetColumn {
    pub(super) leaf: ParquetLeaf,
    pub(super) chunks: Vec<ParquetChunk>,
    pub(super) files: Vec<FileIdentity>,
    verified: Arc<VerifiedFiles>,
}

/// A column chunk.
#[derive(Debug)]
pub(super) struct ParquetChunk {
    /// Its positions in the stripe field.
    pub(super) positions: Range<u64>,
    pub(super) file: usize,
    artifact: u32,
    dictionary: Option<ByteRange>,
    data: ByteRange,
    pub(super) codec: Codec,
    /// Whether the values are items of lists. Pages then have more values than positions, because empty lists count as
    /// values.
    pub(super) is_repeated: bool,
    /// The encodings of its pages, a bit for each of Parquet's numbers.
    pub(super) encodings: u32,
    /// Place of the page map, if there is one, and its checksum, if it is known.
    map: Option<(StoredRange, Option<u32>)>,
    /// The pages, from the page map or, without one, from their headers.
    pages: OnceLock<BlockMap>,
    checksums: PageChecksums,
}

/// A data page of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataPage {
    /// Its positions in the stripe field.
    pub(super) positions: Range<u64>,
    pub(super) place: StoredRange,
    /// Its ordinal among the data pages of the chunk.
    pub(super) ordinal: usize,
}

impl ParquetColumn {
    pub(super) fn try_new(
        node: &DataType,
        descriptor: &StripeFieldDescriptor,
        files: &[ParquetFileColumnRef],
        verified: &Arc<VerifiedFiles>,
        artifact: &mut dyn FnMut(&str) -> Result<u32>,
        find_file: &mut dyn FnMut(&str) -> Result<u32>,
    ) -> Result<Self> {
        let field = &descriptor.field;
        let description = match ParquetDescription::from_properties(&field.custom_properties)? {
            Some(description) => description,
            None => {
                let footers = verified.footers();
                footers.describe(files, field.position_count, find_file)?
            }
        };
        if !node.children.is_empty() {
            return Err(Error::corrupt("a nested node with Parquet column chunks"));
        }
        let chunk_count: usize = files.iter().map(|file| file.column_chunks.len()).sum();
        if description.files.len() != files.len() || description.chunks.len() != chunk_count {
            return Err(Error::corrupt(format!(
                "{} Parquet files with {chunk_count} chunks, but {} and {} are described",
                files.len(),
                description.files.len(),
                description.chunks.len()
            )));
        }
        let leaf = ParquetLeaf::parse(&description.message)?;
        let mut described = description.chunks.iter();
        let mut checksums = description.checksums.into_iter();
        let (mut chunks, mut identities, mut position) = (Vec::new(), Vec::new(), 0u64);
        for (ordinal, (file, about)) in files.iter().zip(&description.files).enumerate() {
            let url = file
                .file_ref
                .as_ref()
                .map(|reference| reference.url.as_str());
            let url = url.ok_or_else(|| Error::corrupt("a Parquet file without a reference"))?;
            let of_file = find_file(url)?;
            let tail = about.size.checked_sub(u64::from(about.tail));
            let tail = tail.ok_or_else(|| Error::corrupt("the tail is longer than the file"))?;
            identities.push(FileIdentity {
                place: StoredRange {
                    artifact: of_file,
                    range: ByteRange::try_new(tail, about.size)?,
                },
                checksum: about.checksum,
            });
            for (reference, about) in file.column_chunks.iter().zip(&mut described) {
                check_type(reference, &leaf)?;
                let end = position.checked_add(about.num_values);
                let end = end.ok_or_else(|| Error::corrupt("too many values"))?;
                if reference
                    .file_url
                    .as_ref()
                    .is_some_and(|other| other != url)
                {
                    return Err(Error::unsupported(
                        "Parquet column chunks in another file than the one that is referred to",
                    ));
                }
                let data = reference.data_pages_range;
                let data = data.ok_or_else(|| Error::corrupt("a chunk without data pages"))?;
                let has_dictionary = reference.dictionary_range.is_some();
                let expected = checksums.next().unwrap_or_default();
                chunks.push(ParquetChunk {
                    positions: position..end,
                    file: ordinal,
                    artifact: of_file,
                    dictionary: reference.dictionary_range,
                    data,
                    codec: about.codec,
                    is_repeated: leaf.is_repeated(),
                    encodings: about.encodings,
                    map: page_map(reference, artifact)?.map(|map| (map, about.map_checksum)),
                    pages: OnceLock::new(),
                    checksums: PageChecksums::new(expected, has_dictionary),
                });
                position = end;
            }
        }
        if position != field.position_count {
            return Err(Error::corrupt(format!(
                "{position} values in Parquet column chunks, expected {}",
                field.position_count
            )));
        }
        Ok(Self {
            leaf,
            chunks,
            files: identities,
            verified: verified.clone(),
        })
    }

    /// Returns the values at some positions, read as the column declares them, as text if they are wanted as text.
    pub(super) fn to_text(
        &self,
        values: ArrayRef,
        wanted: &ArrowType,
        positions: &Selection,
    ) -> Result<ArrayRef> {
        if self.leaf.is_text() {
            return Ok(values);
        }
        to_text(values, wanted, positions)
    }

    /// Returns the chunks that hold any of the positions.
    pub(super) fn chunks_of<'a>(
        &'a self,
        rows: &'a Selection,
    ) -> impl Iterator<Item = &'a ParquetChunk> {
        let wanted = |chunk: &&ParquetChunk| {
            let next = rows.next_from(chunk.positions.start);
            next.is_some_and(|next| next < chunk.positions.end)
        };
        self.chunks.iter().filter(wanted)
    }

    /// Returns the chunk that holds a position, with its ordinal.
    pub(super) fn chunk_at(&self, position: u64) -> Result<(usize, &ParquetChunk)> {
        let at = self
            .chunks
            .partition_point(|chunk| chunk.positions.end <= position);
        let chunk = self.chunks.get(at).map(|chunk| (at, chunk));
        chunk.ok_or_else(|| Error::corrupt(format!("position {position} is in no chunk")))
    }

    /// Returns what the file of a chunk is recognized by, unless it has been verified.
    pub(super) fn unverified_file(&self, chunk: &ParquetChunk) -> Option<&FileIdentity> {
        let file = self.files.get(chunk.file)?;
        (!self.verified.contains(file)).then_some(file)
    }

    /// Fails if the file of a chunk is not the one that the shard was made for. Looks once at each file.
    pub(super) fn verify_file(&self, chunk: &ParquetChunk, source: &dyn ByteSource) -> Result<()> {
        let Some(file) = self.unverified_file(chunk) else {
            return Ok(());
        };
        self.check_file(file, &source.bytes(file.place)?)
    }

    /// Fails if a file with these last bytes is not the one that the shard was made for.
    pub(super) fn check_file(&self, file: &FileIdentity, bytes: &Bytes) -> Result<()> {
        if !file.fits(bytes) {
            return Err(Error::new(
                ErrorKind::Replaced,
                "the Parquet file is not the one that the shard was made for; attach it again, or restore it",
            ));
        }
        self.verified.insert(file);
        Ok(())
    }
}

/// Returns the place of the page map of a chunk, if it has one.
fn page_map(
    reference: &ParquetColumnChunkRef,
    artifact: &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<Option<StoredRange>> {
    let Some(map) = &reference.data_page_map else {
        return Ok(None);
    };
    Ok(Some(StoredRange {
        artifact: artifact(&map.url)?,
        range: map.range,
    }))
}

/// Fails if a reference declares another physical type than the leaf has.
fn check_type(reference: &ParquetColumnChunkRef, leaf: &ParquetLeaf) -> Result<()> {
    let declared = leaf.column().physical_type();
    if physical_code(declared) == reference.storage_type {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "a column chunk of Parquet's type {}, expected {declared}",
        reference.storage_type
    )))
}

/// Returns the number of a physical type, which Chapter 6 and Parquet share.
pub(crate) fn physical_code(physical: PhysicalType) -> i32 {
    match physical {
        PhysicalType::BOOLEAN => 0,
        PhysicalType::INT32 => 1,
        PhysicalType::INT64 => 2,
        PhysicalType::INT96 => 3,
        PhysicalType::FLOAT => 4,
        PhysicalType::DOUBLE => 5,
        PhysicalType::BYTE_ARRAY => 6,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => 7,
    }
}

impl ParquetChunk {
    /// Returns the place of a page map that has to be loaded.
    pub(super) fn missing_map(&self) -> Option<StoredRange> {
        let (map, _) = self.map.filter(|_| self.pages.get().is_none())?;
        Some(map)
    }

    /// Parses the page map, if it is at `place`.
    pub(super) fn load_map(&self, place: StoredRange, bytes: &[u8]) -> Result<()> {
        let Some((_, expected)) = self.map.filter(|(map, _)| *map == place) else {
            return Ok(());
        };
        if expected.is_some_and(|expected| checksum(bytes) != expected) {
            return Err(Error::new(ErrorKind::Checksum, "checksum mismatch"));
        }
        let map = BlockMap::parse(bytes, self.data.len())?;
        self.check_pages(&map)?;
        self.checksums.check_count(map.len())?;
        self.pages.get_or_init(|| map);
        Ok(())
    }

    /// Returns the bytes of the dictionary page, if there is one.
    pub(super) fn dictionary(&self, cx: &ReadContext<'_>) -> Result<Option<Bytes>> {
        let Some(place) = self.dictionary_place() else {
            return Ok(None);
        };
        let bytes = cx.source.bytes(place)?;
        if cx.verify {
            self.checksums.verify_dictionary(place.range, &bytes)?;
        }
        Ok(Some(bytes))
    }

    /// Returns the bytes of a data page, and of the pages without values before it.
    pub(super) fn data(&self, page: &DataPage, cx: &ReadContext<'_>) -> Result<Bytes> {
        let bytes = cx.source.bytes(page.place)?;
        // Without a page map, all pages have been verified together.
        if cx.verify && self.map.is_some() {
            let range = page.place.range;
            self.checksums.verify_data(page.ordinal, range, &bytes)?;
        }
        Ok(bytes)
    }

    /// Returns the pages, if they are known.
    pub(super) fn known_pages(&self) -> Option<&BlockMap> {
        self.pages.get()
    }

    pub(super) fn len(&self) -> u64 {
        self.positions.end - self.positions.start
    }

    pub(super) fn data_place(&self) -> StoredRange {
        StoredRange {
            artifact: self.artifact,
            range: self.data,
        }
    }

    /// Returns the place of the dictionary page, if there is one.
    pub(super) fn dictionary_place(&self) -> Option<StoredRange> {
        let artifact = self.artifact;
        self.dictionary.map(|range| StoredRange { artifact, range })
    }

    /// Returns the pages. Without a page map, they are found by their headers, for which the whole chunk must have been
    /// fetched. Headers do not tell the number of list items in a page, so such a chunk counts as one page.
    pub(super) fn pages(&self, cx: &ReadContext<'_>) -> Result<&BlockMap> {
        if let Some(pages) = self.pages.get() {
            return Ok(pages);
        }
        let bytes = cx.source.bytes(self.data_place())?;
        self.checksums.check_count(1)?;
        if cx.verify {
            self.checksums.verify_data(0, self.data, &bytes)?;
        }
        let pages = if self.is_repeated {
            let mut whole = BlockMap::default();
            let large = |_| Error::unsupported("a column chunk of lists of 4 GiB or more");
            let bytes = u32::try_from(self.data.len()).map_err(large)?;
            whole.push(u32::try_from(self.len()).map_err(large)?, bytes);
            whole
        } else {
            walk_pages(&bytes)?
        };
        self.check_pages(&pages)?;
        Ok(self.pages.get_or_init(|| pages))
    }

    fn check_pages(&self, pages: &BlockMap) -> Result<()> {
        if pages.value_count() != self.len() || pages.data_size() > self.data.len() {
            return Err(Error::corrupt(format!(
                "{} values and {} bytes in the pages of a column chunk, expected {} and up to {}",
                pages.value_count(),
                pages.data_size(),
                self.len(),
                self.data.len()
            )));
        }
        Ok(())
    }

    /// Returns the pages that hold some positions of the chunk.
    pub(super) fn pages_of(&self, pages: &BlockMap, rows: &Selection) -> Result<Vec<DataPage>> {
        let mut found = Vec::new();
        let mut next = rows.next_from(self.positions.start);
        while let Some(position) = next.filter(|&next| next < self.positions.end) {
            let page = self.page_at(pages, position)?;
            next = rows.next_from(page.positions.end);
            found.push(page);
        }
        Ok(found)
    }

    /// Returns the page that holds a position.
    pub(super) fn page_at(&self, pages: &BlockMap, position: u64) -> Result<DataPage> {
        let relative = position.saturating_sub(self.positions.start);
        let Some(block) = pages.overlapping(relative..relative + 1).next() else {
            return Err(Error::corrupt(format!("position {position} is in no page")));
        };
        Ok(DataPage {
            positions: self.positions.start + block.values.start
                ..self.positions.start + block.values.end,
            place: StoredRange {
                artifact: self.artifact,
                range: self.data.slice(block.bytes.start, block.bytes.end)?,
            },
            ordinal: block.ordinal,
        })
    }
}

/// Finds the pages of a column chunk by their headers, given the bytes of all data pages.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if they are not data pages, one after the other.
pub(crate) fn walk_pages(bytes: &[u8]) -> Result<BlockMap> {
    let mut pages = BlockMap::default();
    let (mut at, mut before) = (0usize, 0u64);
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let header = PageHeader::parse(rest)?;
        let len = header.page_len();
        if len > rest.len() {
            return Err(Error::corrupt("a Parquet page ends after its column chunk"));
        }
        if !matches!(header.kind, PageKind::Data | PageKind::DataV2) {
            return Err(Error::unsupported(format!(
                "a {:?} page among the data pages",
                header.kind
            )));
        }
        at += len;
        before += len as u64;
        // Pages without values are read together with the next page. The last ones are not read.
        if header.values > 0 {
            let large = |_| Error::unsupported("a Parquet page of 4 GiB or more");
            let len = u32::try_from(before).map_err(large)?;
            let values = u32::try_from(header.values).map_err(large)?;
            pages.push(values, len);
            before = 0;
        }
    }
    Ok(pages)
}

/// Splits off the next page of some bytes, after checking its header.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if it is damaged,
/// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if it is too large.
pub(super) fn split_page(bytes: &mut Bytes, limits: &Limits) -> Result<(PageHeader, Bytes)> {
    let header = PageHeader::parse(bytes)?;
    if header.page_len() > bytes.len() {
        return Err(Error::corrupt("a Parquet page ends after its bytes"));
    }
    limits.check_block_bytes(header.uncompressed as u64)?;
    limits.check_block_values(header.values)?;
    let page = bytes.split_to(header.page_len());
    Ok((header, page))
}

/// Returns the number of positions as a size.
pub(super) fn rows_between(start: u64, end: u64) -> Result<usize> {
    to_usize(end.saturating_sub(start))
}
