//! Spec: Chapter 6, "External Parquet Encoding": what a reader of column chunks needs to know, from the footers of
//! their files. Only shards of writers without the property `arrow_shard.parquet` need it.

use super::description::{Codec, DescribedChunk, DescribedFile, ParquetDescription};
use super::footer_end::{TAIL_BYTES, footer_len, metadata_of_footer};
use super::leaf::{guarded, message_of, places_of_leaves};
use crate::buffer::StoredRange;
use crate::error::{Error, Result};
use crate::external::FileIdentity;
use crate::format::{ParquetColumnChunkRef, ParquetFileColumnRef, checksum};
use crate::io::ByteRange;
use bytes::Bytes;
use parquet::basic::Repetition;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The footers that have been read, by the numbers of their files. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Footers(Arc<Mutex<HashMap<u32, Arc<Footer>>>>);

/// The footer of a Parquet file.
#[derive(Debug)]
pub(super) struct Footer {
    metadata: ParquetMetaData,
    /// The groups around each leaf, from the outermost.
    groups: Vec<Vec<Repetition>>,
    identity: DescribedFile,
}

impl Footers {
    fn get(&self, artifact: u32) -> Option<Arc<Footer>> {
        let footers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        footers.get(&artifact).cloned()
    }

    /// Reads the footer of a file of `size` bytes, unless it has been read. `get` returns the bytes of a place if they
    /// have been fetched. Returns whether the footer has been read.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the file has no footer,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it is encrypted.
    pub(crate) fn load(
        &self,
        artifact: u32,
        size: u64,
        get: &mut dyn FnMut(StoredRange) -> Result<Option<Bytes>>,
    ) -> Result<bool> {
        if self.get(artifact).is_some() {
            return Ok(true);
        }
        let mut last = |len: u64| {
            let range = ByteRange::try_new(size.saturating_sub(len), size)?;
            get(StoredRange { artifact, range })
        };
        let Some(tail) = last(TAIL_BYTES)? else {
            return Ok(false);
        };
        let len = footer_len(&tail, size)?;
        let Some(footer) = (match usize::try_from(len).ok().filter(|len| *len <= tail.len()) {
            Some(len) => Some(tail.slice(tail.len() - len..)),
            None => last(len)?,
        }) else {
            return Ok(false);
        };
        let bytes = metadata_of_footer(&footer)?;
        let metadata = guarded(|| ParquetMetaDataReader::decode_metadata(bytes))?;
        let leaves = places_of_leaves(metadata.file_metadata().schema_descr().root_schema());
        let footer = Footer {
            metadata,
            groups: leaves.into_iter().map(|(_, groups)| groups).collect(),
            identity: DescribedFile {
                size,
                tail: u32::try_from(footer.len()).unwrap_or(u32::MAX),
                checksum: checksum(&footer),
            },
        };
        let mut footers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        footers.insert(artifact, Arc::new(footer));
        Ok(true)
    }

    /// Returns what a file with a footer that has been read is recognized by.
    pub(crate) fn identity(&self, artifact: u32) -> Option<FileIdentity> {
        let DescribedFile {
            size,
            tail,
            checksum,
        } = self.get(artifact)?.identity;
        let range = ByteRange::try_new(size.checked_sub(tail.into())?, size).ok()?;
        let place = StoredRange { artifact, range };
        Some(FileIdentity { place, checksum })
    }

    /// Returns the description of the chunks that a field with `positions` positions refers to. `file` returns the
    /// number of a file for its URL.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the footers have other chunks,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if a footer has not been read, or is not enough.
    pub(super) fn describe(
        &self,
        files: &[ParquetFileColumnRef],
        positions: u64,
        file: &mut dyn FnMut(&str) -> Result<u32>,
    ) -> Result<ParquetDescription> {
        let chunks: usize = files.iter().map(|file| file.column_chunks.len()).sum();
        let mut description = ParquetDescription::default();
        for reference in files {
            let url = reference.file_ref.as_ref().map(|file| file.url.as_str());
            let url = url.ok_or_else(|| Error::corrupt("a Parquet file without a reference"))?;
            let footer = self.get(file(url)?);
            let footer = footer.ok_or_else(|| {
                Error::unsupported("external Parquet column chunks without a description")
            })?;
            description.files.push(footer.identity);
            for chunk in &reference.column_chunks {
                let (message, mut described) = footer.describe(chunk)?;
                if message.is_repeated {
                    // Chunks also count lists without values, which have no positions.
                    if chunks != 1 {
                        return Err(Error::unsupported(
                            "Parquet column chunks below lists, of which only one is described",
                        ));
                    }
                    described.num_values = positions;
                }
                if description.chunks.is_empty() {
                    description.message = message.text;
                } else if description.message != message.text {
                    return Err(Error::corrupt("Parquet column chunks of several types"));
                }
                description.chunks.push(described);
            }
        }
        Ok(description)
    }
}

/// The type of a column.
struct ColumnMessage {
    text: String,
    /// Whether its values are items of lists.
    is_repeated: bool,
}

impl Footer {
    /// Returns the type and the description of a chunk.
    fn describe(
        &self,
        reference: &ParquetColumnChunkRef,
    ) -> Result<(ColumnMessage, DescribedChunk)> {
        let (group, column) = (reference.row_group_id, reference.column_chunk_id);
        let ordinal = |id: u32| usize::try_from(id).unwrap_or(usize::MAX);
        let found = self.metadata.row_groups().get(ordinal(group));
        let found = found.and_then(|found| found.columns().get(ordinal(column)));
        let chunk = found.ok_or_else(|| {
            Error::corrupt(format!(
                "row group {group} of the Parquet file has no column {column}"
            ))
        })?;
        check_places(reference, chunk)?;
        let schema = self.metadata.file_metadata().schema_descr();
        let is_known = ordinal(column) < schema.num_columns();
        let groups = self.groups.get(ordinal(column)).filter(|_| is_known);
        let groups = groups.ok_or_else(|| Error::corrupt("a column without a type"))?;
        let descriptor = schema.column(ordinal(column));
        let count = |number: i64| {
            let number = u64::try_from(number);
            number.map_err(|_| Error::corrupt("a column chunk with fewer than 0 values"))
        };
        let described = DescribedChunk {
            codec: Codec::of(chunk.compression())?,
            encodings: chunk.encodings_mask().as_i32().cast_unsigned(),
            num_values: count(chunk.num_values())?,
            null_count: None,
            uncompressed: count(chunk.uncompressed_size())?,
            map_checksum: None,
        };
        let message = ColumnMessage {
            text: message_of(groups, &descriptor)?,
            is_repeated: descriptor.max_rep_level() > 0,
        };
        Ok((message, described))
    }
}

/// Fails if a reference leads to other bytes than the chunk has.
fn check_places(reference: &ParquetColumnChunkRef, chunk: &ColumnChunkMetaData) -> Result<()> {
    if chunk.file_path().is_some() {
        return Err(Error::unsupported("Parquet column chunks in other files"));
    }
    let start = [
        chunk.dictionary_page_offset(),
        Some(chunk.data_page_offset()),
    ]
    .into_iter()
    .flatten()
    .filter_map(|offset| u64::try_from(offset).ok().filter(|offset| *offset > 0))
    .min();
    let len = u64::try_from(chunk.compressed_size()).ok();
    let end = start
        .zip(len)
        .and_then(|(start, len)| start.checked_add(len));
    let (Some(start), Some(end)) = (start, end) else {
        return Err(Error::corrupt("a column chunk outside of its Parquet file"));
    };
    let is_inside = |range: &ByteRange| start <= range.start() && range.end() <= end;
    let ranges = [reference.data_pages_range, reference.dictionary_range];
    if ranges.iter().flatten().all(is_inside) {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "the reference leads out of the column chunk, which has the bytes {start}..{end} of the Parquet file"
    )))
}
