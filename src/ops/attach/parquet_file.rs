//! The Parquet files of an attached shard: their footers, and how they are read.

use super::AttachOptions;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::external::parquet::{
    DescribedFile, TAIL_BYTES, footer_len, guarded, is_struct, metadata_of_footer,
};
use crate::format::checksum;
use crate::io::{
    ByteRange, DescriptorUse, Location, OpenedFile, Place, read_all, read_all_async, read_one,
    read_tail_async,
};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder,
    ParquetMetaDataReader, RowGroupMetaData,
};
use std::ops::Range;

/// Most bytes of row groups at the end of a footer by which a file is recognized.
const MAX_IDENTITY_BYTES: usize = 64 << 10;
/// A Parquet file with its metadata.
pub(super) struct ParquetFile {
    opened: OpenedFile,
    pub(super) place: Place,
    /// How the shard refers to it.
    pub(super) url: String,
    pub(super) size: u64,
    pub(super) arrow: ArrowReaderMetadata,
    pub(super) identity: DescribedFile,
    /// Whether to look for pages in the column chunks, in files without an index of pages.
    pub(super) walks_pages: bool,
    /// Whether to note the checksums of pages.
    pub(super) has_checksums: bool,
}

impl ParquetFile {
    /// Opens a file for a shard at `target`.
    pub(super) async fn open(
        file: &Location,
        target: &Location,
        directory: &Place,
        options: &AttachOptions,
    ) -> Result<Self> {
        let home = file.home();
        let place = home.find(file.name())?;
        let url = url_of(file, &place, (target, directory), options)?;
        let opened = home.open(&place, DescriptorUse::Pooled)?;
        let loaded = load(&opened).await.within(|| place.element());
        let (metadata, size, identity) = loaded?;
        let options_of_reader = ArrowReaderOptions::new();
        let arrow = guarded(|| ArrowReaderMetadata::try_new(metadata.into(), options_of_reader));
        Ok(Self {
            arrow: arrow.within(|| place.element())?,
            opened,
            place,
            url,
            size,
            identity,
            // The pages are read for their checksums anyway.
            walks_pages: options.page_map || options.checksums,
            has_checksums: options.checksums,
        })
    }

    pub(super) fn metadata(&self) -> &ParquetMetaData {
        self.arrow.metadata()
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        self.arrow.schema()
    }

    /// Returns the row groups with rows, combined into stripes of up to `stripe_rows` rows.
    pub(super) fn stripes(&self, stripe_rows: u64) -> Vec<Range<usize>> {
        let (mut stripes, mut rows) = (Vec::<Range<usize>>::new(), 0u64);
        for (ordinal, group) in self.metadata().row_groups().iter().enumerate() {
            let more = u64::try_from(group.num_rows()).unwrap_or(0);
            match stripes.last_mut() {
                Some(last) if rows.saturating_add(more) <= stripe_rows => {
                    last.end = ordinal + 1;
                    rows += more;
                }
                _ => {
                    stripes.push(ordinal..ordinal + 1);
                    rows = more;
                }
            }
        }
        stripes.retain(|groups| self.rows_of(groups).is_ok_and(|rows| rows > 0));
        stripes
    }

    pub(super) fn groups(&self, groups: &Range<usize>) -> &[RowGroupMetaData] {
        let all = self.metadata().row_groups();
        all.get(groups.clone()).unwrap_or_default()
    }

    /// Returns the number of rows of row groups.
    pub(super) fn rows_of(&self, groups: &Range<usize>) -> Result<u64> {
        let rows = self.groups(groups).iter().map(|group| {
            let rows = group.num_rows();
            u64::try_from(rows).map_err(|_| Error::corrupt(format!("a row group of {rows} rows")))
        });
        rows.sum()
    }

    /// Reads ranges of the file.
    pub(super) async fn read(&self, ranges: Vec<ByteRange>) -> Result<Vec<Bytes>> {
        for range in &ranges {
            range.within_size(self.size)?;
        }
        read(&self.opened, ranges).await
    }

    /// Reads one range of the file.
    pub(super) async fn read_one(&self, range: ByteRange) -> Result<Bytes> {
        let read = self.read(vec![range]).await?;
        Ok(read.into_iter().next().unwrap_or_default())
    }
}

/// Returns how a shard with its directory file at `target` refers to a file: by its path below the folder, or by an
/// absolute URL if the options allow its folder.
fn url_of(
    file: &Location,
    place: &Place,
    (target, directory): (&Location, &Place),
    options: &AttachOptions,
) -> Result<String> {
    let same_store = target.store().check_same(file);
    let below = same_store.and_then(|()| place.seen_from(directory));
    let Err(error) = below else {
        return below.map(|url| url.to_string());
    };
    let elsewhere = options.external_files.url_of(file.store(), place);
    elsewhere.ok_or_else(|| {
        let message = format!(
            "{}, or allow the folder of the file by `AttachOptions::with_external_files` \
             (`--external-files`), which readers must also do",
            error.message()
        );
        Error::new(error.kind(), message)
    })
}

/// Reads the footer of a file, and the index of its pages. Returns also the size and the identity of the file.
async fn load(file: &OpenedFile) -> Result<(ParquetMetaData, u64, DescribedFile)> {
    let (tail, size) = tail(file, TAIL_BYTES).await?;
    let footer = footer(file, &tail, size).await?;
    let metadata = match metadata(file, &footer, size, PageIndexPolicy::Optional).await {
        // Without its bounds of pages, the file can be read as well.
        Err(e) if e.kind() == ErrorKind::Corrupt => {
            metadata(file, &footer, size, PageIndexPolicy::Skip).await?
        }
        decoded => decoded?,
    };
    let identity = identity(&footer, size, &metadata);
    Ok((metadata, size, identity))
}

/// Decodes the metadata of a file, given its footer. `bounds` decides on the bounds of pages.
async fn metadata(
    file: &OpenedFile,
    footer: &Bytes,
    size: u64,
    bounds: PageIndexPolicy,
) -> Result<ParquetMetaData> {
    let bytes = metadata_of_footer(footer)?;
    let decoded = guarded(|| ParquetMetaDataReader::decode_metadata(bytes))?;
    let indexes = places_of_offset_indexes(&decoded);
    let decoder = || ParquetMetaDataPushDecoder::try_new_with_metadata(size, decoded);
    let mut decoder = guarded(decoder)?
        .with_column_index_policy(bounds)
        .with_offset_index_policy(PageIndexPolicy::Optional);
    loop {
        match guarded(|| decoder.try_decode())? {
            DecodeResult::Data(metadata) => return Ok(metadata),
            DecodeResult::NeedsData(ranges) => {
                let wanted: Result<Vec<ByteRange>> = (ranges.iter())
                    .map(|range| ByteRange::try_new(range.start, range.end)?.within_size(size))
                    .collect();
                let bytes = read(file, wanted?).await?;
                for (range, bytes) in ranges.iter().zip(&bytes) {
                    check_offset_indexes(&indexes, range, bytes)?;
                }
                guarded(|| decoder.push_ranges(ranges, bytes))?;
            }
            DecodeResult::Finished => return Err(Error::corrupt("the file has no footer")),
        }
    }
}

/// Returns the places of the offset indexes of all column chunks.
fn places_of_offset_indexes(metadata: &ParquetMetaData) -> Vec<Range<u64>> {
    let groups = metadata.row_groups().iter();
    let chunks = groups.flat_map(RowGroupMetaData::columns);
    let place = |chunk: &ColumnChunkMetaData| {
        let start = u64::try_from(chunk.offset_index_offset()?).ok()?;
        let len = u64::try_from(chunk.offset_index_length()?).ok()?;
        Some(start..start.checked_add(len)?)
    };
    chunks.filter_map(place).collect()
}

/// Fails unless the offset indexes in a range of the file are as long as they claim: the crate `parquet` reserves
/// memory for the pages before it reads them.
fn check_offset_indexes(indexes: &[Range<u64>], range: &Range<u64>, bytes: &[u8]) -> Result<()> {
    let inside = indexes
        .iter()
        .filter(|index| range.start <= index.start && index.end <= range.end);
    for index in inside {
        let from = to_usize(index.start - range.start)?;
        let to = to_usize(index.end - range.start)?;
        if !bytes.get(from..to).is_some_and(is_struct) {
            return Err(Error::corrupt(
                "the offset index of the Parquet file is damaged",
            ));
        }
    }
    Ok(())
}

/// Returns the footer of a file with its length and the magic number, given the last bytes of the file.
async fn footer(file: &OpenedFile, tail: &Bytes, size: u64) -> Result<Bytes> {
    let len = footer_len(tail, size)?;
    let known = to_usize(len)?;
    if let Some(skipped) = tail.len().checked_sub(known) {
        return Ok(tail.slice(skipped..));
    }
    let read = read(file, vec![ByteRange::try_new(size - len, size)?]).await?;
    Ok(read.into_iter().next().unwrap_or_default())
}

/// Returns what a file is recognized by: the checksum of its footer, or of the end of a long footer, with the last
/// places and statistics of column chunks.
fn identity(footer: &Bytes, size: u64, metadata: &ParquetMetaData) -> DescribedFile {
    let len = MAX_IDENTITY_BYTES.saturating_add(bytes_after_row_groups(metadata));
    let bytes = footer.slice(footer.len().saturating_sub(len)..);
    DescribedFile {
        size,
        tail: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        checksum: checksum(&bytes),
    }
}

/// Returns the bytes of the parts of a footer that follow the row groups, or more: properties, the name of the writer
/// and the orders of columns. Files of one schema and writer have them in common.
fn bytes_after_row_groups(metadata: &ParquetMetaData) -> usize {
    const PROPERTY_BYTES: usize = 16;
    const ORDER_BYTES: usize = 8;
    let file = metadata.file_metadata();
    let properties = file.key_value_metadata().into_iter().flatten();
    let properties = properties.map(|property| {
        let value = property.value.as_ref().map_or(0, String::len);
        property.key.len() + value + PROPERTY_BYTES
    });
    let writer = file.created_by().map_or(0, str::len);
    properties.sum::<usize>() + writer + ORDER_BYTES * file.schema_descr().num_columns()
}

async fn tail(file: &OpenedFile, len: u64) -> Result<(Bytes, u64)> {
    match file {
        OpenedFile::Blocking(reader, _) => {
            let size = reader.size()?;
            let range = ByteRange::try_new(size.saturating_sub(len), size)?;
            Ok((read_one(&**reader, range)?, size))
        }
        OpenedFile::Async(reader, _) => read_tail_async(&**reader, len).await,
    }
}

async fn read(file: &OpenedFile, ranges: Vec<ByteRange>) -> Result<Vec<Bytes>> {
    match file {
        OpenedFile::Blocking(reader, _) => read_all(&**reader, &ranges),
        OpenedFile::Async(reader, _) => read_all_async(&**reader, ranges).await,
    }
}
