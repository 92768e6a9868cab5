//! Shards of writers that do not describe the column chunks: readers take what they need from the footers.

use super::allocations;
use super::descriptors::with_descriptors;
use super::files::{assert_sound, read_shard, write_parquet};
use super::page_checksums::metadata_of;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Decimal128Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field};
use arrow_shard::format::{DataEncoding, ParquetColumnChunkRef};
use arrow_shard::io::{ByteRange, Container, MemoryFolder, ReadAt, RelativeUrl};
use arrow_shard::ops::attach;
use arrow_shard::read::{Projection, ShardOptions, col};
use arrow_shard::{Error, ErrorKind, Limits, Result, Shard};
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: i64 = 900;
const PROPERTY: &str = "arrow_shard.parquet";

fn table(has_lists: bool) -> RecordBatch {
    let some = |i: i64| (i % 7 != 3).then_some(i);
    let texts =
        StringArray::from_iter((0..ROWS).map(|i| some(i).map(|i| format!("text {}", i % 50))));
    let decimals: Decimal128Array = (0..ROWS).map(|i| some(i).map(i128::from)).collect();
    let times = (0..ROWS).map(|i| i * 1_000_003).collect::<Vec<_>>();
    let members = Int64Array::from_iter((0..ROWS).map(some));
    let field = Arc::new(Field::new("m", DataType::Int64, true));
    let groups = (0..ROWS).map(|i| i % 5 > 0).collect::<Vec<_>>();
    let group = StructArray::new(
        vec![field].into(),
        vec![Arc::new(members)],
        Some(groups.into()),
    );
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..ROWS))),
        ("text", Arc::new(texts)),
        (
            "decimal",
            Arc::new(decimals.with_precision_and_scale(20, 3).unwrap()),
        ),
        (
            "time",
            Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC")),
        ),
        ("group", Arc::new(group)),
    ];
    if has_lists {
        let list = |row: i64| {
            let row = i32::try_from(row).unwrap();
            (row % 3 > 0).then(|| (0..row % 4).map(move |i| (i != 2).then_some(row + i)))
        };
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>((0..ROWS).map(list));
        columns.push(("list", Arc::new(lists)));
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The files of a shard.
struct Files {
    directory: Vec<u8>,
    parquet: Vec<u8>,
    /// The stripe file with levels.
    others: Vec<(String, Vec<u8>)>,
}

impl Files {
    /// Attaches a file with this many row groups, without the descriptions of its chunks.
    fn new(table: &RecordBatch, row_groups: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [path, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
        let rows = table.num_rows().div_ceil(row_groups);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(rows))
            .set_data_page_row_count_limit(100)
            .set_write_batch_size(50);
        write_parquet(&path, table, properties.build());
        attach([&path], &target).unwrap();
        let is_other = |name: &str| name.ends_with(".amudai.stripe");
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let others = entries.map(|entry| entry.unwrap()).filter_map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            is_other(&name).then(|| (name, std::fs::read(entry.path()).unwrap()))
        });
        let files = Self {
            directory: std::fs::read(&target).unwrap(),
            parquet: std::fs::read(&path).unwrap(),
            others: others.collect(),
        };
        files.edited(|_| {})
    }

    /// Returns the shard with changed references, and without the property.
    fn edited(&self, mut edit: impl FnMut(&mut ParquetColumnChunkRef)) -> Self {
        let directory = with_descriptors(&self.directory, |_, field, _| {
            if let Some(DataEncoding::Parquet(files)) = field.encodings.first_mut() {
                field
                    .field
                    .custom_properties
                    .retain(|property| property.name != PROPERTY);
                edit(&mut files[0].column_chunks[0]);
            }
        });
        Self {
            directory,
            parquet: self.parquet.clone(),
            others: self.others.clone(),
        }
    }

    /// Opens the shard. Returns also how often the end of the Parquet file has been read.
    fn open(&self, parquet: &[u8]) -> (Shard, Arc<AtomicUsize>) {
        let folder = MemoryFolder::new();
        folder.insert("t.parquet", Bytes::copy_from_slice(parquet));
        for (name, bytes) in &self.others {
            folder.insert(name.clone(), bytes.clone());
        }
        let ends = Arc::new(AtomicUsize::new(0));
        let counting = Counting {
            folder,
            ends: ends.clone(),
        };
        let limits = Limits::strict().with_max_batch_bytes(16 << 20);
        let options = ShardOptions::default().with_limits(limits.with_max_block_bytes(4 << 20));
        let directory = Arc::new(Bytes::from(self.directory.clone()));
        let shard = Shard::from_reader(directory, Arc::new(counting), options).unwrap();
        (shard, ends)
    }
}

/// A folder that counts how often the ends of Parquet files are read.
#[derive(Debug)]
struct Counting {
    folder: MemoryFolder,
    ends: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct CountingFile {
    bytes: Bytes,
    ends: Arc<AtomicUsize>,
}

impl ReadAt for CountingFile {
    fn size(&self) -> Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        if range.end() == self.bytes.len() as u64 {
            self.ends.fetch_add(1, Ordering::Relaxed);
        }
        self.bytes.read_at(range)
    }
}

impl Container for Counting {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        let bytes = self
            .folder
            .get(url.path())
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no file {url}")))?;
        let ends = if url.path().ends_with(".parquet") {
            self.ends.clone()
        } else {
            Arc::default()
        };
        Ok(Arc::new(CountingFile { bytes, ends }))
    }
}

fn scan(shard: &Shard) -> Result<usize> {
    let mut rows = 0;
    for batch in shard.scan().build()? {
        rows += batch.map_err(Error::from)?.num_rows();
    }
    Ok(rows)
}

#[test]
fn chunks_without_a_description_are_read_by_the_footer() {
    for (has_lists, row_groups) in [(false, 1), (false, 3), (true, 1)] {
        let table = table(has_lists);
        let files = Files::new(&table, row_groups);
        let (shard, ends) = files.open(&files.parquet);
        assert_eq!(read_shard(&shard), table);
        assert_eq!(read_shard(&shard), table);
        assert_eq!(ends.load(Ordering::Relaxed), 1, "reads of the footer");
        let taken = shard.take(&[899, 3], Projection::All).unwrap();
        assert_eq!(taken.slice(0, 1), table.slice(899, 1));
        let late = shard
            .scan()
            .with_filter(col("id").gt_eq(890))
            .build()
            .unwrap();
        assert_eq!(
            late.map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
            10
        );
        assert_sound(&shard);
        let info = shard.inspect(Default::default()).unwrap();
        let chunks = &info.stripes[0].fields[0].parquet_chunks;
        assert_eq!((chunks.len(), &chunks[0].codec), (row_groups, &None));
    }
}

#[test]
fn several_chunks_below_lists_need_a_description() {
    let files = Files::new(&table(true), 2);
    let (shard, _) = files.open(&files.parquet);
    let rows = shard.take(&[1, 800], ["id"]).unwrap();
    assert_eq!(rows.num_rows(), 2);
    let error = shard.take(&[1], ["list"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("list"), "{error}");
}

#[test]
fn references_that_contradict_the_footer_are_errors() {
    let files = Files::new(&table(false), 2);
    type Edit = fn(&mut ParquetColumnChunkRef);
    let edits: [(&str, Edit); 4] = [
        ("has no column", |chunk| chunk.row_group_id = 7),
        ("has no column", |chunk| chunk.column_chunk_id = u32::MAX),
        ("leads out of the column chunk", |chunk| {
            chunk.row_group_id = 1 - chunk.row_group_id
        }),
        ("column chunk of Parquet's type", |chunk| {
            chunk.storage_type = 0
        }),
    ];
    for (text, edit) in edits {
        let edited = files.edited(edit);
        let (shard, _) = edited.open(&files.parquet);
        let error = scan(&shard).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(!shard.verify().unwrap().is_sound());
    }
}

#[test]
fn files_without_a_sound_footer_are_errors_that_name_them() {
    let files = Files::new(&table(false), 1);
    let metadata = metadata_of(&files.parquet);
    let end = metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns());
    let end = end
        .map(|chunk| chunk.byte_range())
        .map(|(at, len)| at + len)
        .max();
    let end = usize::try_from(end.unwrap()).unwrap();
    let mut rng = StdRng::seed_from_u64(7);
    let mut cases = vec![
        files.parquet[..files.parquet.len() - 1].to_vec(),
        Vec::new(),
    ];
    for _ in 0..300 {
        let mut changed = files.parquet.clone();
        let at = rng.random_range(end..changed.len());
        changed[at] = rng.random();
        cases.push(changed);
    }
    let mut refused = 0;
    for (number, parquet) in cases.iter().enumerate() {
        allocations::start();
        let read = allocations::caught(|| {
            let (shard, _) = files.open(parquet);
            (scan(&shard), shard.verify())
        });
        let peak = allocations::peak();
        let (read, _) = read.unwrap();
        assert!(peak < 32 << 20, "case {number}: {peak} bytes");
        if let Err(error) = read {
            refused += 1;
            assert!(error.to_string().contains("t.parquet"), "{error}");
        }
    }
    assert!(refused > 30, "{refused}");
}
