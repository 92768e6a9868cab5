//! Checks shards over Parquet files after changing a few bytes of the Parquet file, or of the directory file with the
//! checksums over them repaired.
//!
//! Input: u8 file | changes of 6 bytes: u16 region, 0 for the Parquet file | u16 place in it | u8 how | u8 operand

use super::covered::{Covered, covered};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int32Array, RecordBatch, StringArray,
};
use arrow_shard::Shard;
use arrow_shard::io::{MemoryFolder, Store};
use arrow_shard::ops::{AttachOptions, attach_with};
use arrow_shard::read::ShardOptions;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::sync::{Arc, OnceLock};

const DIRECTORY: &str = "t.amudai.shard";
const PARQUET: &str = "t.parquet";
const ROWS: i32 = 200;

struct Base {
    parquet: Vec<u8>,
    directory: Vec<(String, Vec<u8>)>,
    regions: Vec<Covered>,
}

pub fn run(data: &[u8]) {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    let bases = BASES.get_or_init(|| files().into_iter().map(Base::new).collect());
    let Some((which, changes)) = data.split_first() else {
        return;
    };
    let base = &bases[usize::from(*which) % bases.len()];
    let (mut parquet, mut directory) = (base.parquet.clone(), base.directory.clone());
    for change in changes.as_chunks::<6>().0.iter().take(16) {
        let [r0, r1, p0, p1, how, operand] = *change;
        let place = usize::from(u16::from_le_bytes([p0, p1]));
        let region = usize::from(u16::from_le_bytes([r0, r1])) % (base.regions.len() + 1);
        let region = region.checked_sub(1).map(|region| &base.regions[region]);
        let byte = match region {
            None => {
                let len = parquet.len();
                &mut parquet[place % len]
            }
            Some(region) if region.bytes.is_empty() => continue,
            Some(region) => {
                let at = region.bytes.start + place % region.bytes.len();
                &mut directory[region.file].1[at]
            }
        };
        *byte = match how % 3 {
            0 => operand,
            1 => *byte ^ operand,
            _ => byte.wrapping_add(operand),
        };
        if let Some(region) = region {
            Covered::mend(&base.regions, region, &mut directory);
        }
    }
    let folder = MemoryFolder::new();
    folder.insert(PARQUET, parquet);
    let options = ShardOptions::default().with_limits(super::limits());
    let directory = Arc::new(Bytes::from(directory.swap_remove(0).1));
    if let Ok(shard) = Shard::from_reader(directory, Arc::new(folder), options) {
        super::shards::read(&shard);
    }
}

impl Base {
    fn new(parquet: Vec<u8>) -> Self {
        let folder = MemoryFolder::new();
        folder.insert(PARQUET, parquet.clone());
        let store = Store::memory(folder.clone());
        let options = AttachOptions::default().with_page_map(true);
        let [source, target] = [PARQUET, DIRECTORY].map(|name| store.at(name));
        attach_with([source], target, options).expect("a sound file");
        let directory = folder.get(DIRECTORY).expect("a directory file").to_vec();
        let directory = vec![(DIRECTORY.to_owned(), directory)];
        let regions = covered(&directory);
        Self {
            parquet,
            directory,
            regions,
        }
    }
}

/// Returns the metadata of a file.
pub fn metadata_of(file: &[u8]) -> ParquetMetaData {
    let bytes = Bytes::copy_from_slice(file);
    let reader = ParquetMetaDataReader::new();
    reader.parse_and_finish(&bytes).expect("a sound file")
}

/// Returns the same rows in both versions of pages, without and with compression.
pub fn files() -> Vec<Vec<u8>> {
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let codecs = [Compression::UNCOMPRESSED, Compression::SNAPPY];
    let forms = versions
        .into_iter()
        .flat_map(|v| codecs.map(|codec| (v, codec)));
    forms
        .map(|(version, codec)| written(&table(), version, codec))
        .collect()
}

/// Returns a file of several row groups and pages.
pub fn written(batch: &RecordBatch, version: WriterVersion, codec: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(codec)
        .set_max_row_group_row_count(Some(120))
        .set_data_page_row_count_limit(50)
        .set_write_batch_size(10);
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties.build()))
        .expect("a schema");
    writer.write(batch).expect("a batch");
    writer.close().expect("a file");
    file
}

fn table() -> RecordBatch {
    let some = |i: &i32| i % 7 != 3;
    let decimals = (0..ROWS)
        .map(|i| i128::from(i) << 40)
        .collect::<Decimal128Array>();
    let columns: [(&str, ArrayRef); 5] = [
        (
            "number",
            Arc::new(
                (0..ROWS)
                    .map(|i| some(&i).then_some(i * i % 50))
                    .collect::<Int32Array>(),
            ),
        ),
        (
            "float",
            Arc::new((0..ROWS).map(f64::from).collect::<Float64Array>()),
        ),
        (
            "text",
            Arc::new(
                (0..ROWS)
                    .map(|i| some(&i).then(|| format!("text {}", i % 11)))
                    .collect::<StringArray>(),
            ),
        ),
        (
            "flag",
            Arc::new(
                (0..ROWS)
                    .map(|i| Some(i % 3 == 0))
                    .collect::<BooleanArray>(),
            ),
        ),
        (
            "decimal",
            Arc::new(decimals.with_precision_and_scale(30, 2).expect("a scale")),
        ),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

/// Returns a table of one column.
pub fn column(array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("v", array, true)]).expect("a column")
}
