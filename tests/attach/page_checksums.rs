//! Adds checksums to the pages of Parquet files. The crate `parquet` reads them, but does not write them.
#![cfg_attr(
    not(feature = "experimental"),
    expect(dead_code, reason = "other tests need only footers")
)]

use bytes::Bytes;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader,
    ParquetMetaDataWriter,
};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::writer::TrackedWrite;
use std::io::Write;

/// Returns the metadata of a file, with the places of its pages if it tells them.
pub(crate) fn metadata_of(file: &[u8]) -> ParquetMetaData {
    ParquetMetaDataReader::new()
        .with_column_index_policy(PageIndexPolicy::Skip)
        .with_offset_index_policy(PageIndexPolicy::Optional)
        .parse_and_finish(&Bytes::copy_from_slice(file))
        .unwrap()
}

/// Returns the column chunks of all row groups.
pub(crate) fn chunks_of(metadata: &ParquetMetaData) -> impl Iterator<Item = &ColumnChunkMetaData> {
    metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
}

/// Returns the file with a CRC-32 in the header of every page.
pub(crate) fn with_page_checksums(file: &[u8]) -> Vec<u8> {
    let metadata = metadata_of(file);
    let index = metadata.offset_index().cloned();
    let mut out = TrackedWrite::new(b"PAR1".to_vec());
    out.write_all(b"").unwrap();
    let start = |out: &TrackedWrite<Vec<u8>>| i64::try_from(out.inner().len()).unwrap();
    let (mut groups, mut indexes) = (Vec::new(), Vec::new());
    for (ordinal, group) in metadata.row_groups().iter().enumerate() {
        let (mut columns, mut places) = (Vec::new(), Vec::new());
        for (column, chunk) in group.columns().iter().enumerate() {
            let (at, len) = chunk.byte_range();
            let [at, len] = [at, len].map(|n| usize::try_from(n).unwrap());
            let first = start(&out);
            let (mut pages, mut data) = (Vec::new(), None);
            let mut rest = &file[at..at + len];
            while !rest.is_empty() {
                let (page, kind, after) = with_checksum(rest);
                if kind != 2 {
                    data.get_or_insert(start(&out));
                    pages.push((start(&out), i32::try_from(page.len()).unwrap()));
                }
                out.inner_mut().extend(page);
                rest = after;
            }
            let data = data.unwrap();
            let builder = chunk.clone().into_builder();
            let chunk = builder
                .set_data_page_offset(data)
                .set_dictionary_page_offset((first < data).then_some(first))
                .set_total_compressed_size(start(&out) - first)
                .set_column_index_offset(None)
                .set_column_index_length(None)
                .set_bloom_filter_offset(None);
            columns.push(chunk.build().unwrap());
            if let Some(index) = &index {
                let mut moved: OffsetIndexMetaData = index[ordinal][column].clone();
                for (location, (offset, size)) in moved.page_locations.iter_mut().zip(pages) {
                    location.offset = offset;
                    location.compressed_page_size = size;
                }
                places.push(moved);
            }
        }
        let group = group.clone().into_builder().set_column_metadata(columns);
        groups.push(group.build().unwrap());
        indexes.push(places);
    }
    let index = index.map(|_| indexes);
    let builder = metadata.into_builder().set_row_groups(groups);
    let changed = builder.set_column_index(None).set_offset_index(index);
    with_footer(out.into_inner().unwrap(), &changed.build())
}

/// Appends a footer to the start of a file.
pub(crate) fn with_footer(start: Vec<u8>, metadata: &ParquetMetaData) -> Vec<u8> {
    let mut file = Vec::new();
    let mut out = TrackedWrite::new(&mut file);
    out.write_all(&start).unwrap();
    let writer = ParquetMetaDataWriter::new_with_tracked(out, metadata);
    writer.finish().unwrap();
    file
}

/// Splits off the first page, and adds its checksum. Returns also its kind, and the bytes after it.
fn with_checksum(bytes: &[u8]) -> (Vec<u8>, i64, &[u8]) {
    let mut at = 0;
    let [kind, _, compressed] = [(); 3].map(|()| {
        assert_eq!(bytes[at], 0x15, "a field of 32 bits");
        at += 1;
        varint(bytes, &mut at)
    });
    let fields = at;
    skip_struct(bytes, &mut at);
    let end = at + usize::try_from(compressed).unwrap();
    let crc = i64::from(crc32(&bytes[at..end]).cast_signed());
    let mut page = bytes[..fields].to_vec();
    page.push(0x15);
    let mut zigzag = ((crc << 1) ^ (crc >> 63)).cast_unsigned();
    while zigzag >= 0x80 {
        page.push(u8::try_from(zigzag & 0x7f).unwrap() | 0x80);
        zigzag >>= 7;
    }
    page.push(u8::try_from(zigzag).unwrap());
    // The number of the next field is relative to the one before.
    page.push(bytes[fields] - 0x10);
    page.extend(&bytes[fields + 1..end]);
    (page, kind, &bytes[end..])
}

fn varint(bytes: &[u8], at: &mut usize) -> i64 {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return (value >> 1).cast_signed() ^ -(value & 1).cast_signed();
        }
    }
}

fn skip_struct(bytes: &[u8], at: &mut usize) {
    loop {
        let field = bytes[*at];
        *at += 1;
        match field & 0x0f {
            0 => return,
            1 | 2 => {}
            5 => _ = varint(bytes, at),
            12 => skip_struct(bytes, at),
            other => unreachable!("a field of type {other}"),
        }
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}
