//! Checks the bytes of a column chunk, below the sound footer of a Parquet file: attaching it walks the headers of its
//! pages or fails, and everything that `shards` does with the shard terminates.
//!
//! Input: u8 type | u8 codec | u8 values | u8 size of the dictionary page | the chunk

use arrow_shard::Shard;
use arrow_shard::io::{MemoryFolder, Store};
use arrow_shard::ops::{AttachOptions, attach_with};
use arrow_shard::read::ShardOptions;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::writer::TrackedWrite;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;
use std::io::Write;
use std::sync::Arc;

const TYPES: [&str; 12] = [
    "required boolean v",
    "optional boolean v",
    "required int32 v",
    "optional int64 v",
    "required int96 v",
    "optional float v",
    "required double v",
    "required binary v (STRING)",
    "optional binary v (JSON)",
    "optional binary v",
    "required fixed_len_byte_array(5) v (DECIMAL(9,2))",
    "optional fixed_len_byte_array(5) v",
];
const CODECS: usize = 7;

pub fn run(data: &[u8]) {
    let Some(([leaf, codec, values, dictionary], chunk)) = data.split_first_chunk::<4>() else {
        return;
    };
    let codec = match usize::from(*codec) % CODECS {
        0 => Compression::UNCOMPRESSED,
        1 => Compression::SNAPPY,
        2 => Compression::GZIP(Default::default()),
        3 => Compression::BROTLI(Default::default()),
        4 => Compression::LZ4,
        5 => Compression::ZSTD(Default::default()),
        _ => Compression::LZ4_RAW,
    };
    let leaf = TYPES[usize::from(*leaf) % TYPES.len()];
    let dictionary = usize::from(*dictionary).min(chunk.len());
    let file = file(leaf, codec, i64::from(*values), dictionary, chunk);
    for page_map in [false, true] {
        let folder = MemoryFolder::new();
        folder.insert("t.parquet", file.clone());
        let store = Store::memory(folder.clone());
        let options = AttachOptions::default().with_page_map(page_map);
        let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| store.at(name));
        if attach_with([source], target, options).is_err() {
            continue;
        }
        let directory = folder.get("t.amudai.shard").expect("a directory file");
        let options = ShardOptions::default().with_limits(super::limits());
        let shard = Shard::from_reader(Arc::new(directory), Arc::new(folder), options);
        super::shards::read(&shard.expect("a sound directory file"));
    }
}

/// Returns a file with one chunk, which begins with the dictionary page.
fn file(leaf: &str, codec: Compression, values: i64, dictionary: usize, chunk: &[u8]) -> Bytes {
    let message = parse_message_type(&format!("message m {{ {leaf}; }}")).expect("a type");
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(message)));
    let encodings = [
        Encoding::PLAIN,
        Encoding::RLE_DICTIONARY,
        Encoding::BYTE_STREAM_SPLIT,
    ];
    let column = ColumnChunkMetaData::builder(schema.column(0))
        .set_encodings(encodings.to_vec())
        .set_num_values(values)
        .set_compression(codec)
        .set_total_compressed_size(chunk.len() as i64)
        .set_total_uncompressed_size(chunk.len() as i64)
        .set_dictionary_page_offset((dictionary > 0).then_some(4))
        .set_data_page_offset(4 + dictionary as i64);
    let group = RowGroupMetaData::builder(schema.clone())
        .set_num_rows(values)
        .set_total_byte_size(chunk.len() as i64)
        .set_column_metadata(vec![column.build().expect("a chunk")]);
    let about = FileMetaData::new(2, values, None, None, schema, None);
    let metadata = ParquetMetaData::new(about, vec![group.build().expect("a row group")]);
    let mut bytes = Vec::new();
    let mut out = TrackedWrite::new(&mut bytes);
    out.write_all(b"PAR1").expect("memory");
    out.write_all(chunk).expect("memory");
    let writer = ParquetMetaDataWriter::new_with_tracked(out, &metadata);
    writer.finish().expect("a footer");
    bytes.into()
}

/// Returns an input with the only chunk of a file with one column, which has a number of `TYPES` and of a codec.
pub fn input(leaf: u8, codec: u8, file: &[u8]) -> Vec<u8> {
    let metadata = super::parquet_files::metadata_of(file);
    let chunk = metadata.row_group(0).column(0);
    let (start, len) = chunk.byte_range();
    let dictionary = chunk.data_page_offset() as u64 - start;
    let bytes = &file[start as usize..(start + len) as usize];
    let head = [leaf, codec, chunk.num_values() as u8, dictionary as u8];
    [&head[..], bytes].concat()
}
