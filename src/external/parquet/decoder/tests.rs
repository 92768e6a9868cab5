//! Decoders after errors.

use super::*;
use crate::buffer::{ByteSource, ExternalValues, StoredRange};
use crate::encoding::{Dictionaries, Scratch};
use crate::external::VerifiedFiles;
use crate::external::parquet::description::{
    Codec, DescribedChunk, DescribedFile, ParquetDescription,
};
use crate::external::parquet::values::ParquetValues;
use crate::format::{
    BasicType, DataRef, DataType, FieldDescriptor, ParquetColumnChunkRef, ParquetFileColumnRef,
    StripeFieldDescriptor, checksum,
};
use crate::io::ByteRange;
use crate::limits::Limits;
use arrow_array::cast::AsArray;
use bytes::Bytes;

/// A page of ten texts, and a page with one that is not UTF-8.
const PAGES: &[u8] = &[
    0x15, 0, 0x15, 100, 0x15, 100, 0x2c, 0x15, 20, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0, //
    1, 0, 0, 0, b'a', 1, 0, 0, 0, b'b', 1, 0, 0, 0, b'c', 1, 0, 0, 0, b'd', 1, 0, 0, 0, b'e', 1, 0,
    0, 0, b'f', 1, 0, 0, 0, b'g', 1, 0, 0, 0, b'h', 1, 0, 0, 0, b'i', 1, 0, 0, 0, b'j', 0x15, 0,
    0x15, 10, 0x15, 10, 0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0, //
    1, 0, 0, 0, 0xff,
];
const VALUES: u64 = 11;

#[derive(Debug)]
struct Memory;

impl ByteSource for Memory {
    fn bytes(&self, place: StoredRange) -> Result<Bytes> {
        let range = place.range.to_usize()?;
        Ok(Bytes::from_static(&PAGES[range]))
    }

    fn resident(&self, _: StoredRange) -> Result<Option<Bytes>> {
        Ok(None)
    }

    fn name(&self, _: u32) -> Option<String> {
        None
    }
}

fn values() -> ParquetValues {
    let size = PAGES.len() as u64;
    let description = ParquetDescription {
        message: "message m { required binary v (STRING); }".to_owned(),
        files: vec![DescribedFile {
            size,
            tail: 0,
            checksum: checksum(&[]),
        }],
        chunks: vec![DescribedChunk {
            codec: Codec::None,
            encodings: 1,
            num_values: VALUES,
            null_count: None,
            uncompressed: size,
            map_checksum: None,
        }],
        checksums: Vec::new(),
    };
    let descriptor = StripeFieldDescriptor {
        field: FieldDescriptor {
            position_count: VALUES,
            custom_properties: vec![description.to_property()],
            ..FieldDescriptor::default()
        },
        encodings: Vec::new(),
    };
    let range = ByteRange::try_new(0, size).unwrap();
    let file = ParquetFileColumnRef {
        file_ref: Some(DataRef {
            url: "t.parquet".to_owned(),
            range,
        }),
        column_chunks: vec![ParquetColumnChunkRef {
            storage_type: 6,
            schema_element_id: 1,
            row_group_id: 0,
            column_chunk_id: 0,
            file_url: None,
            data_pages_range: Some(range),
            data_page_count: 2,
            dictionary_range: None,
            data_page_map: None,
        }],
    };
    let verified = Arc::new(VerifiedFiles::default());
    let node = DataType::new(BasicType::String, "v");
    let artifact = || |_: &str| Ok(0);
    let (of_map, of_file) = (&mut artifact(), &mut artifact());
    ParquetValues::try_new(&node, &descriptor, &[file], &verified, of_map, of_file).unwrap()
}

fn read(decoder: &mut dyn ExternalDecoder, rows: Range<u64>, sequential: bool) -> Result<ArrayRef> {
    let limits = Limits::default();
    let mut scratch = Scratch::default();
    let cx = ReadContext {
        source: &Memory,
        limits: &limits,
        scratch: &mut scratch,
        dictionaries: Dictionaries::none(),
        verify: true,
        sequential,
    };
    decoder.read(&Selection::range(rows), &ArrowType::Utf8, &cx)
}

#[test]
fn a_page_with_few_wanted_values_is_opened_once() {
    let mut decoder = Arc::new(values()).decoder();
    for (position, expected) in [(3, "d"), (0, "a"), (9, "j")] {
        let found = read(decoder.as_mut(), position..position + 1, false).unwrap();
        assert_eq!(found.as_string::<i32>().value(0), expected);
        assert_eq!(found.len(), 1);
    }
    assert_eq!(decoder.num_pages(), 1);
}

#[test]
fn a_reader_that_failed_is_not_used_again() {
    let mut decoder = Arc::new(values()).decoder();
    let mut read = |rows| read(decoder.as_mut(), rows, true);
    let first = read(10..11).unwrap_err().to_string();
    assert!(first.contains("UTF-8"), "{first}");
    assert_eq!(read(10..11).unwrap_err().to_string(), first);
    assert_eq!(read(0..10).unwrap().len(), 10);
    assert_eq!(read(0..11).unwrap_err().to_string(), first);
}
