//! Pages of a few bytes that claim a lot, or contradict their headers. Reading takes memory in proportion to the
//! bytes of the file or within the limits, and fails.

use super::allocations;
use super::files::write_parquet;
use super::page_checksums::{metadata_of, with_footer};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampNanosecondType};
use arrow_shard::ops::attach;
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::{Error, ErrorKind, Limits, Result, Shard};
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;
use std::sync::Arc;

const MIB: usize = 1 << 20;

/// A file of one column chunk.
pub(crate) struct File {
    pub(crate) message: &'static str,
    pub(crate) codec: Compression,
    pub(crate) values: i64,
    /// A dictionary page, or nothing.
    pub(crate) dictionary: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

impl File {
    pub(crate) fn new(message: &'static str, values: i64, data: Vec<u8>) -> Self {
        let (codec, dictionary) = (Compression::UNCOMPRESSED, Vec::new());
        Self {
            message,
            codec,
            values,
            dictionary,
            data,
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let parsed = parse_message_type(self.message).unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(parsed)));
        let size = |len: usize| i64::try_from(len).unwrap();
        let (dictionary, data) = (self.dictionary.len(), self.data.len());
        let mut encodings = vec![Encoding::PLAIN];
        encodings.extend((dictionary > 0).then_some(Encoding::RLE_DICTIONARY));
        let chunk = ColumnChunkMetaData::builder(schema.column(0))
            .set_encodings(encodings)
            .set_num_values(self.values)
            .set_compression(self.codec)
            .set_total_compressed_size(size(dictionary + data))
            .set_total_uncompressed_size(size(dictionary + data))
            .set_dictionary_page_offset((dictionary > 0).then_some(4))
            .set_data_page_offset(size(4 + dictionary));
        let group = RowGroupMetaData::builder(schema.clone())
            .set_num_rows(self.values)
            .set_total_byte_size(size(dictionary + data))
            .set_column_metadata(vec![chunk.build().unwrap()]);
        let file = FileMetaData::new(2, self.values, None, None, schema, None);
        let metadata = ParquetMetaData::new(file, vec![group.build().unwrap()]);
        with_footer(
            [&b"PAR1"[..], &self.dictionary, &self.data].concat(),
            &metadata,
        )
    }

    /// Attaches the file and reads its rows. Returns also the peak memory.
    fn read(&self, limits: Limits) -> (Result<Vec<RecordBatch>>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
        std::fs::write(&source, self.bytes()).unwrap();
        attach([&source], &target).unwrap();
        let options = ShardOptions::default().with_limits(limits);
        let shard = Shard::open_with(&target, options).unwrap();
        let run = || {
            let scan = shard.scan().with_batch_size(100).build()?;
            scan.map(|batch| Ok(batch?))
                .collect::<Result<Vec<_>, Error>>()
        };
        allocations::start();
        let read = allocations::caught(run).unwrap();
        (read, allocations::peak())
    }

    #[track_caller]
    fn assert_refused(&self, kind: ErrorKind) {
        let (read, peak) = self.read(Limits::default());
        let error = read.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(peak < 16 * MIB, "{peak} bytes for {error}");
    }
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap());
}

/// Appends numbers as fields of 32 bits, from id 1 on.
fn numbers(numbers: &[i32], out: &mut Vec<u8>) {
    for number in numbers {
        out.push(0x15);
        varint(
            u64::from(((number << 1) ^ (number >> 31)).cast_unsigned()),
            out,
        );
    }
}

/// Returns a page with its header. `fields` are the fields for pages of its kind.
fn page(kind: i32, uncompressed: i32, fields: &[i32], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    numbers(&[kind, uncompressed, size_of_body(body)], &mut out);
    // The ids of the headers are 5, 7 and 8.
    out.push([0x2c, 0, 0x4c, 0x5c][usize::try_from(kind).unwrap()]);
    numbers(fields, &mut out);
    out.extend([0, 0]);
    out.extend(body);
    out
}

fn size_of_body(body: &[u8]) -> i32 {
    i32::try_from(body.len()).unwrap()
}

/// Returns a page of version 1 in an encoding.
fn data_page(values: i32, encoding: i32, body: &[u8]) -> Vec<u8> {
    page(0, size_of_body(body), &[values, encoding, 3, 3], body)
}

/// Returns numbers in the encoding DELTA_BINARY_PACKED, the same difference apart; `count` is only claimed.
fn deltas(count: u64, first: u64, difference: u64) -> Vec<u8> {
    let mut out = Vec::new();
    // A block of 2^20 values in one miniblock without bits.
    for number in [1 << 20, 1, count, first << 1] {
        varint(number, &mut out);
    }
    if count > 1 {
        varint(difference << 1, &mut out);
        out.push(0);
    }
    out
}

const TEXT: &str = "message m { required binary v (STRING); }";
const NULLABLE: &str = "message m { optional int32 v; }";
const NUMBER: &str = "message m { required int32 v; }";

#[test]
fn crafted_pages_that_keep_their_promises_are_read() {
    let values = [1, 0, 0, 0, 2, 0, 0, 0];
    let file = File::new(NUMBER, 2, data_page(2, 0, &values));
    let (read, _) = file.read(Limits::default());
    assert_eq!(read.unwrap()[0].num_rows(), 2);
    let values = [deltas(3, 2, 0), b"aabbcc".to_vec()].concat();
    let file = File::new(TEXT, 3, data_page(3, 6, &values));
    let (read, _) = file.read(Limits::default());
    assert_eq!(read.unwrap()[0].column(0).as_string::<i32>().value(1), "bb");
}

/// Returns a page of version 2 with plain values after definition and repetition levels.
fn levels_page(values: i32, definition: &[u8], repetition: &[u8], body: &[u8]) -> Vec<u8> {
    let all = [repetition, definition, body].concat();
    let [definition, repetition] = [definition, repetition].map(size_of_body);
    let fields = [values, 0, values, 0, definition, repetition];
    page(3, size_of_body(&all), &fields, &all)
}

#[test]
fn levels_that_a_column_does_not_have_are_skipped_if_they_are_0() {
    let values = [1, 0, 0, 0, 2, 0, 0, 0];
    // A run of two, and eight packed ones.
    for zeros in [&[4][..], &[3]] {
        for (message, definition) in [(NUMBER, zeros), (NUMBER, &[]), (NULLABLE, &[4, 1])] {
            let file = File::new(message, 2, levels_page(2, definition, zeros, &values));
            let (read, _) = file.read(Limits::default());
            let read = read.unwrap();
            let numbers = read[0].column(0).as_primitive::<Int32Type>();
            assert_eq!(numbers.values(), &[1, 2], "{message}, {zeros:?}");
        }
    }
    for other in [&[2][..], &[4, 1], &[0]] {
        for (definition, repetition) in [(other, &[][..]), (&[], other)] {
            let page = levels_page(2, definition, repetition, &values);
            File::new(NUMBER, 2, page).assert_refused(ErrorKind::Corrupt);
        }
    }
}

#[test]
fn an_int96_beyond_the_nanoseconds_is_an_error() {
    let message = "message m { required int96 v; }";
    let instants = |days: [u32; 2], nanos: i64| {
        let days = days.map(|day| [&nanos.to_le_bytes()[..], &day.to_le_bytes()].concat());
        days.concat()
    };
    // 1970-01-01, and the first and the last whole day in nanoseconds.
    for days in [[2_440_588, 2_440_588], [2_333_838, 2_547_338]] {
        let file = File::new(message, 2, data_page(2, 0, &instants(days, 7)));
        let read = file.read(Limits::default()).0.unwrap();
        let first = read[0].column(0).as_primitive::<TimestampNanosecondType>();
        let expected = (i64::from(days[0]) - 2_440_588) * 86_400_000_000_000 + 7;
        assert_eq!(first.value(0), expected);
    }
    // 9999-12-31 as a value and as an entry, and one nanosecond too much.
    for (day, nanos) in [(5_373_484, 0), (2_547_339, 85_636_854_775_808), (0, 0)] {
        let bytes = instants([2_440_588, day], nanos);
        let file = File::new(message, 2, data_page(2, 0, &bytes));
        file.assert_refused(ErrorKind::ValueOutOfRange);
        let codes = [1, 4, 1];
        let file = File {
            dictionary: page(2, 24, &[2, 0], &bytes),
            ..File::new(message, 2, data_page(2, 8, &codes))
        };
        file.assert_refused(ErrorKind::ValueOutOfRange);
    }
}

#[test]
fn deltas_that_claim_many_values_are_refused() {
    for claim in [11, 1 << 30, 1 << 40, 1 << 62] {
        for encoding in [6, 7] {
            let file = File::new(TEXT, 10, data_page(10, encoding, &deltas(claim, 0, 0)));
            file.assert_refused(ErrorKind::Corrupt);
        }
        let file = File::new(NUMBER, 10, data_page(10, 5, &deltas(claim, 0, 0)));
        file.assert_refused(ErrorKind::Corrupt);
    }
}

#[test]
fn values_that_extend_each_other_do_not_exceed_the_limits() {
    // One value of 64 KiB, which 10,000 more repeat: prefixes are 0, then 65,536; suffixes 65,536, then 0. Blocks have
    // 128 values in 4 miniblocks, and only the first difference is not 0.
    let (rows, len) = (10_001, 1 << 16);
    let mut values = Vec::new();
    let mut lengths = |first: u64, least: u64, above: [u64; 2]| {
        for number in [128, 4, rows, first << 1] {
            varint(number, &mut values);
        }
        for block in 0..rows.div_ceil(128) {
            let is_first = block == 0;
            varint(if is_first { least } else { 0 }, &mut values);
            values.extend(if is_first { [17; 4] } else { [0; 4] });
            if is_first {
                // 128 differences of 17 bits.
                let mut bits = vec![0u8; 128 * 17 / 8];
                for at in 0..128 {
                    let difference = above[usize::from(at > 0)] << (at * 17 % 8);
                    for (to, from) in bits[at * 17 / 8..].iter_mut().zip(difference.to_le_bytes()) {
                        *to |= from;
                    }
                }
                values.extend(bits);
            }
        }
    };
    lengths(0, 0, [len, 0]);
    // The least difference is -65,536.
    lengths(len, 2 * len - 1, [0, len]);
    values.extend(vec![b'x'; 1 << 16]);
    let file = File::new(TEXT, 10_001, data_page(10_001, 7, &values));
    let limits = Limits::default().with_max_block_bytes(600 << 20);
    let (read, peak) = file.read(limits);
    assert_eq!(read.unwrap_err().kind(), ErrorKind::LimitExceeded);
    assert!(peak < 16 * MIB, "{peak}");
}

#[test]
fn sizes_that_a_page_does_not_have_are_refused() {
    let zstd = Compression::ZSTD(Default::default());
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        zstd,
    ] {
        for claim in [41, 1 << 20, i32::MAX] {
            let mut file = File::new(NUMBER, 10, page(0, claim, &[10, 0, 3, 3], &[0; 40]));
            file.codec = codec;
            file.assert_refused(ErrorKind::Corrupt);
        }
    }
}

#[test]
fn levels_longer_than_their_page_are_refused() {
    for (definition, repetition) in [
        (41, 0),
        (i32::MAX, 0),
        (0, 1),
        (i32::MAX, i32::MAX),
        (-1, 0),
    ] {
        let fields = [10, 0, 10, 0, definition, repetition];
        for message in [NUMBER, NULLABLE] {
            let file = File::new(message, 10, page(3, 40, &fields, &[0; 40]));
            file.assert_refused(ErrorKind::Corrupt);
        }
    }
    for len in [37u32, u32::MAX] {
        let body = [&len.to_le_bytes()[..], &[0; 36]].concat();
        let file = File::new(NULLABLE, 10, data_page(10, 0, &body));
        file.assert_refused(ErrorKind::Corrupt);
    }
}

#[test]
fn runs_that_claim_many_values_take_no_memory() {
    // 2^30 levels in a run, and values of 10 of them.
    let mut levels = Vec::new();
    varint(1 << 31, &mut levels);
    levels.push(1);
    let len = u32::try_from(levels.len()).unwrap().to_le_bytes();
    let body = [&len[..], &levels, &[0; 40]].concat();
    let (read, peak) = File::new(NULLABLE, 10, data_page(10, 0, &body)).read(Limits::default());
    assert_eq!(read.unwrap()[0].num_rows(), 10);
    assert!(peak < MIB, "{peak}");
}

#[test]
fn dictionaries_that_claim_many_entries_are_refused() {
    for entries in [4, 1 << 20] {
        for message in [TEXT, NUMBER] {
            let mut file = File::new(message, 10, data_page(10, 8, &[1, 20, 0]));
            file.dictionary = page(2, 12, &[entries, 0], &[0; 12]);
            file.assert_refused(ErrorKind::Corrupt);
        }
    }
}

#[test]
fn codes_of_no_entry_are_refused() {
    for code in [3, 255] {
        for message in [TEXT, NUMBER] {
            let mut file = File::new(message, 10, data_page(10, 8, &[8, 20, code]));
            file.dictionary = page(2, 12, &[3, 0], &[0; 12]);
            file.assert_refused(ErrorKind::Corrupt);
        }
    }
}

#[test]
fn codes_of_no_entry_are_refused_by_filters() {
    let texts = b"\x01\0\0\0a\x01\0\0\0b\x01\0\0\0c".to_vec();
    let numbers = [0, 1, 2].map(i32::to_le_bytes).concat();
    for (message, entries, filter) in [
        (TEXT, texts, col("v").eq("a")),
        (NUMBER, numbers, col("v").eq(0)),
    ] {
        for code in 0..=3 {
            let mut file = File::new(message, 10, data_page(10, 8, &[8, 20, code]));
            file.dictionary = page(2, size_of_body(&entries), &[3, 0], &entries);
            let folder = tempfile::tempdir().unwrap();
            let [source, target] =
                ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
            std::fs::write(&source, file.bytes()).unwrap();
            attach([&source], &target).unwrap();
            let shard = Shard::open(&target).unwrap();
            let scan = shard.scan().with_filter(filter.clone()).build().unwrap();
            let found = scan.map(|batch| Ok(batch?.num_rows()));
            match found.sum::<Result<usize, Error>>() {
                Ok(rows) => assert_eq!((rows, code < 3), (if code == 0 { 10 } else { 0 }, true)),
                Err(error) => assert_eq!((error.kind(), code), (ErrorKind::Corrupt, 3), "{error}"),
            }
        }
    }
}

#[test]
fn an_entry_that_many_rows_repeat_does_not_exceed_the_limits() {
    let len = 256 << 10;
    let entry = [&262_144u32.to_le_bytes()[..], &vec![b'x'; len]].concat();
    let mut codes = vec![1];
    varint(2 * 20_000, &mut codes);
    codes.push(0);
    let mut file = File::new(TEXT, 20_000, data_page(20_000, 8, &codes));
    file.dictionary = page(2, size_of_body(&entry), &[1, 0], &entry);
    let folder = tempfile::tempdir().unwrap();
    let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
    std::fs::write(&source, file.bytes()).unwrap();
    attach([&source], &target).unwrap();
    let limits = Limits::strict().with_max_batch_bytes(16 << 20);
    let options = ShardOptions::default().with_limits(limits);
    let shard = Shard::open_with(&target, options).unwrap();
    let scan = shard
        .scan()
        .with_batch_size(20)
        .with_row_range(0..200)
        .build();
    allocations::start();
    let rows: usize = scan.unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 200);
    let peak = allocations::peak();
    assert!(peak < 64 * MIB, "{peak}");
}

#[test]
fn wide_values_that_are_null_do_not_exceed_the_limits() {
    let message = "message m { optional fixed_len_byte_array(2000000000) v; }";
    let body = [&2u32.to_le_bytes()[..], &[20, 0]].concat();
    let file = File::new(message, 10, data_page(10, 0, &body));
    let (read, peak) = file.read(Limits::strict());
    assert_eq!(read.unwrap_err().kind(), ErrorKind::LimitExceeded);
    assert!(peak < 16 * MIB, "{peak}");
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    for message in [TEXT, "message m { required binary v (JSON); }"] {
        let body = [1, 0, 0, 0, 0xff];
        let file = File::new(message, 1, data_page(1, 0, &body));
        let error = file.read(Limits::default()).0.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Arrow),
            "{error}"
        );
    }
}

#[test]
fn headers_with_texts_of_many_bytes_are_refused() {
    // Statistics with a greatest value that claims 2^40 bytes.
    let mut header = Vec::new();
    numbers(&[0, 40, 40], &mut header);
    header.push(0x2c);
    numbers(&[10, 0, 3, 3], &mut header);
    header.extend([0x1c, 0x18]);
    varint(1 << 40, &mut header);
    header.extend([0; 48]);
    File::new(NUMBER, 10, header).assert_refused(ErrorKind::Corrupt);
}

#[test]
fn footers_and_page_indexes_cost_no_more_than_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let attached = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let target = folder.path().join("t.amudai.shard");
        allocations::start();
        let result = allocations::caught(|| attach([&path], &target).map(drop)).unwrap();
        (result, allocations::peak())
    };
    // Version 1, a schema of a group and a column, rows, and a list of 2^31 - 1 row groups.
    let mut footer = vec![
        0x15, 2, 0x19, 0x2c, 0x55, 2, 0, 0x15, 2, 0, 0x16, 0, 0x19, 0xfc,
    ];
    footer.extend([0xff, 0xff, 0xff, 0xff, 0x07, 0]);
    let mut file = b"PAR1".to_vec();
    file.extend(&footer);
    file.extend(u32::try_from(footer.len()).unwrap().to_le_bytes());
    file.extend(b"PAR1");
    let (result, peak) = attached(&file);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(peak < MIB, "{peak} bytes");

    // A list of 2^31 - 1 pages in an offset index.
    let values: Vec<i64> = (0..3).collect();
    let column = Arc::new(arrow_array::Int64Array::from(values)) as arrow_array::ArrayRef;
    let rows = RecordBatch::try_from_iter([("a", column)]).unwrap();
    write_parquet(&path, &rows, WriterProperties::builder().build());
    let mut file = std::fs::read(&path).unwrap();
    let metadata = metadata_of(&file);
    let chunk = metadata.row_group(0).column(0);
    let at = usize::try_from(chunk.offset_index_offset().unwrap()).unwrap();
    // A list of one struct becomes one of as many as five bytes say.
    assert_eq!(file[at..at + 2], [0x19, 0x1c]);
    file[at + 1..at + 7].copy_from_slice(&[0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]);
    let (result, peak) = attached(&file);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(peak < MIB, "{peak} bytes");
}
