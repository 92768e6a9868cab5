//! Checksums of pages, which a shard has beside Parquet files without any.

use super::files::{assert_sound, read_shard, write_parquet};
use super::page_checksums::{chunks_of, metadata_of};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch};
use arrow_shard::ops::{AttachOptions, attach_with};
use arrow_shard::read::{Projection, ShardOptions};
use arrow_shard::{Error, ErrorKind, Result, Shard};
use parquet::file::properties::WriterProperties;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

const ROWS: i32 = 4_000;

/// Numbers without a dictionary, few numbers with one, and lists of numbers.
fn table() -> RecordBatch {
    let numbers = Int64Array::from_iter_values((0..i64::from(ROWS)).map(|i| i * i));
    let few = Int64Array::from_iter_values((0..i64::from(ROWS)).map(|i| i % 9));
    let list = |row: i32| (row % 3 > 0).then(|| (0..row % 4).map(move |i| Some(row + i)));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>((0..ROWS).map(list));
    RecordBatch::try_from_iter([
        ("number", Arc::new(numbers) as ArrayRef),
        ("few", Arc::new(few) as ArrayRef),
        ("list", Arc::new(lists) as ArrayRef),
    ])
    .unwrap()
}

struct Lake {
    folder: TempDir,
    rows: RecordBatch,
    parquet: Vec<u8>,
}

impl Lake {
    /// Attaches a file with checksums of its pages. Its footer lists the pages if `has_index`.
    fn new(has_index: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let rows = table();
        let properties = WriterProperties::builder()
            .set_column_dictionary_enabled("number".into(), false)
            .set_offset_index_disabled(!has_index)
            .set_data_page_row_count_limit(500)
            .set_write_batch_size(100);
        write_parquet(&path, &rows, properties.build());
        let options = AttachOptions::default().with_checksums(true);
        attach_with([&path], folder.path().join("t.amudai.shard"), options).unwrap();
        let parquet = std::fs::read(path).unwrap();
        Self {
            folder,
            rows,
            parquet,
        }
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("t.amudai.shard")
    }

    /// Writes the Parquet file with some bits of a byte changed.
    fn flip(&self, at: usize, bits: u8) {
        let mut changed = self.parquet.clone();
        changed[at] ^= bits;
        std::fs::write(self.folder.path().join("t.parquet"), changed).unwrap();
    }

    /// Returns the bytes of the pages of each column.
    fn columns(&self) -> Vec<Range<usize>> {
        let metadata = metadata_of(&self.parquet);
        let ranges = chunks_of(&metadata).map(|chunk| {
            let (start, len) = chunk.byte_range();
            let [start, len] = [start, len].map(|n| usize::try_from(n).unwrap());
            start..start + len
        });
        ranges.collect()
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
fn a_flipped_bit_of_any_page_is_an_error_that_names_file_column_and_place() {
    for has_index in [false, true] {
        let lake = Lake::new(has_index);
        let shard = Shard::open(lake.target()).unwrap();
        assert_eq!(read_shard(&shard), lake.rows);
        assert_sound(&shard);
        for (name, bytes) in ["number", "few", "list"].into_iter().zip(lake.columns()) {
            for at in bytes.clone().step_by(bytes.len() / 50) {
                lake.flip(at, 1 << (at % 8));
                let shard = Shard::open(lake.target()).unwrap();
                let error = scan(&shard).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Checksum, "{name} {at}: {error}");
                let text = error.to_string();
                for part in [
                    "t.parquet",
                    &format!("`{name}`"),
                    "bytes ",
                    "attach it again",
                ] {
                    assert!(text.contains(part), "{text}");
                }
                let report = shard.verify().unwrap();
                let problems = report.problems();
                assert!(!problems.is_empty(), "{name} {at}");
                assert_eq!(problems[0].kind, ErrorKind::Checksum, "{problems:?}");
                assert!(problems[0].field.as_ref().unwrap().starts_with(name));
            }
        }
    }
}

#[test]
fn only_the_pages_that_are_read_are_verified() {
    let lake = Lake::new(true);
    let numbers = &lake.columns()[0];
    // Rows of the last page.
    lake.flip(numbers.end - 1, 1);
    let shard = Shard::open(lake.target()).unwrap();
    let taken = shard.take(&[7, 1_300], ["number"]).unwrap();
    assert_eq!(taken.num_rows(), 2);
    let error = shard.take(&[7, 3_900], ["number"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
    assert_eq!(shard.take(&[3_900], ["few"]).unwrap().num_rows(), 1);
}

#[test]
fn checksums_are_not_verified_if_the_reader_says_so() {
    let lake = Lake::new(true);
    let numbers = &lake.columns()[0];
    lake.flip(numbers.end - 1, 1);
    let options = ShardOptions::default().with_verify_checksums(false);
    let shard = Shard::open_with(lake.target(), options).unwrap();
    assert_eq!(scan(&shard).unwrap(), lake.rows.num_rows());
    let taken = shard.take(&[3_999], Projection::All).unwrap();
    assert_ne!(taken, lake.rows.slice(3_999, 1));
    // A verification compares all checksums.
    assert!(!shard.verify().unwrap().is_sound());
}

#[test]
fn a_shard_with_checksums_lists_its_pages() {
    let lake = Lake::new(false);
    let shard = Shard::open(lake.target()).unwrap();
    let options = arrow_shard::read::inspect::InspectOptions::default();
    let info = shard.inspect(options).unwrap();
    let chunk = &info.stripes[0].fields[0].parquet_chunks[0];
    assert!(chunk.has_page_map && chunk.num_pages.unwrap() > 5);
}

/// Other numbers of checksums than of pages do not go unnoticed.
#[cfg(feature = "experimental")]
#[test]
fn a_missing_checksum_is_an_error() {
    use super::descriptors::with_descriptors;
    use arrow_shard::format::{NameValuePair, ValueKind};
    const PROPERTY: &str = "arrow_shard.parquet";
    let lake = Lake::new(true);
    let directory = std::fs::read(lake.target()).unwrap();
    for removed in [1, -1] {
        let changed = with_descriptors(&directory, |id, field, _| {
            let properties = &mut field.field.custom_properties;
            let at = properties
                .iter()
                .position(|property| property.name == PROPERTY);
            let Some(at) = at.filter(|_| id == 0) else {
                return;
            };
            let Some(ValueKind::Bytes(bytes)) = properties.remove(at).value.unwrap().kind else {
                return;
            };
            let mut bytes = bytes.to_vec();
            let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            // The message, one file of 16 bytes and one chunk of 33.
            let count_at = 5 + usize::try_from(number(1)).unwrap() + 4 + 16 + 4 + 33;
            let count = number(count_at);
            assert_eq!(
                (bytes[0], bytes.len()),
                (2, count_at + 4 + 4 * usize::try_from(count).unwrap())
            );
            let count = count.checked_add_signed(-removed).unwrap();
            bytes[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
            bytes.resize(count_at + 4 + 4 * usize::try_from(count).unwrap(), 0);
            properties.push(NameValuePair::new(PROPERTY, bytes));
        });
        std::fs::write(lake.target(), changed).unwrap();
        let shard = Shard::open(lake.target()).unwrap();
        let error = scan(&shard).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("checksums of"), "{error}");
    }
}
