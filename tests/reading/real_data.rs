//! Real files are read back equal to arrow-rs's rows of the originals: Parquet, Arrow IPC, CSV, and plain doubles.

use crate::common::equal::assert_equal;
use crate::support::shared;
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_shard::Shard;
use arrow_shard::write::{Layout, Profile, ShardWriter, WriterOptions};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rows of a file, read by arrow-rs.
struct Table {
    name: String,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    fn new(path: &Path, batches: Vec<RecordBatch>) -> Self {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(!batches.is_empty(), "{name} has no batch");
        Self {
            name,
            schema: batches[0].schema(),
            batches,
        }
    }

    fn parquet(path: &Path) -> Self {
        use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let schema = builder.schema().clone();
        let mut batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Self::new(path, batches)
    }

    fn ipc(path: &Path) -> Self {
        let reader = arrow_ipc::reader::FileReader::try_new(File::open(path).unwrap(), None);
        Self::new(path, reader.unwrap().map(Result::unwrap).collect())
    }

    fn csv(path: &Path) -> Self {
        let format = arrow_csv::reader::Format::default().with_header(true);
        let (schema, _) = format
            .infer_schema(File::open(path).unwrap(), None)
            .unwrap();
        let builder = arrow_csv::ReaderBuilder::new(Arc::new(schema)).with_format(format);
        let reader = builder.build(File::open(path).unwrap()).unwrap();
        Self::new(path, reader.map(Result::unwrap).collect())
    }

    /// Reads little-endian doubles.
    fn doubles(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let (doubles, rest) = bytes.as_chunks::<8>();
        assert!(rest.is_empty() && doubles.len() == 131_072);
        let array = Float64Array::from_iter_values(doubles.iter().map(|b| f64::from_le_bytes(*b)));
        let batch = RecordBatch::try_from_iter([("value", Arc::new(array) as ArrayRef)]).unwrap();
        Self::new(path, vec![batch])
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Returns rows of the file, which may be in several batches.
    fn slices(&self, start: usize, len: usize) -> Vec<RecordBatch> {
        let (mut at, end) = (0, start + len);
        let mut slices = Vec::new();
        for batch in &self.batches {
            let (from, to) = (start.max(at), end.min(at + batch.num_rows()));
            if from < to {
                slices.push(batch.slice(from - at, to - from));
            }
            at += batch.num_rows();
        }
        slices
    }

    /// Writes the table in every way, and returns the bytes of each profile.
    fn check(&self) -> [u64; 3] {
        let mut sizes = [0; 3];
        let profiles = [
            Profile::Plain,
            Profile::Balanced,
            #[cfg(feature = "zstd")]
            Profile::HighCompression,
        ];
        for (profile, size) in profiles.into_iter().zip(&mut sizes) {
            for layout in [Layout::SingleFile, Layout::TwoLevel] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("t.amudai.shard");
                let mut options = WriterOptions::default()
                    .with_profile(profile)
                    .with_layout(layout);
                if layout == Layout::TwoLevel {
                    options = options.with_stripe_rows((self.rows() as u64).div_ceil(3).max(1));
                }
                let mut writer =
                    ShardWriter::create_with(&path, self.schema.clone(), options).unwrap();
                for batch in &self.batches {
                    writer.write(batch).unwrap();
                }
                let summary = writer.finish().unwrap();
                assert_eq!(summary.num_rows(), self.rows() as u64);
                if layout == Layout::SingleFile {
                    *size = summary.bytes();
                }
                eprintln!(
                    "{}: {profile:?}, {layout:?}, {} bytes",
                    self.name,
                    summary.bytes()
                );
                self.compare(&Shard::open(&path).unwrap());
            }
        }
        sizes
    }

    fn compare(&self, shard: &Shard) {
        assert_eq!(shard.schema().unwrap(), self.schema, "{}", self.name);
        let mut at = 0;
        for batch in shard.scan().with_batch_size(20_000).build().unwrap() {
            let batch = batch.unwrap_or_else(|e| panic!("{}: {e}", self.name));
            let mut done = 0;
            for expected in self.slices(at, batch.num_rows()) {
                assert_equal(&expected, &batch.slice(done, expected.num_rows()));
                done += expected.num_rows();
            }
            assert_eq!(done, batch.num_rows());
            at += batch.num_rows();
        }
        assert_eq!(at, self.rows());
    }
}

fn files(folder: &str, extension: &str, count: usize) -> Vec<PathBuf> {
    let Some(folder) = shared(folder) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|e| e == extension));
    found.sort();
    assert_eq!(found.len(), count, "*.{extension}");
    found
}

#[test]
fn parquet_files_come_back() {
    for path in files("data/parquet", "parquet", 22) {
        Table::parquet(&path).check();
    }
}

#[test]
fn csv_files_come_back_smaller_than_plain() {
    let mut paths = files("data/real", "csv", 5);
    paths.extend(files("data/parquet", "csv", 2));
    for path in paths {
        let table = Table::csv(&path);
        let [plain, balanced, high] = table.check();
        assert!(
            balanced < plain && high < plain,
            "{}: {plain}, {balanced}, {high}",
            table.name
        );
    }
}

#[test]
fn an_arrow_file_comes_back_smaller_than_plain() {
    for path in files("data/real", "arrow", 1) {
        let [plain, balanced, high] = Table::ipc(&path).check();
        assert!(
            balanced < plain && high < plain,
            "{plain}, {balanced}, {high}"
        );
    }
}

#[test]
fn doubles_come_back_smaller_than_plain() {
    for path in files("data/real", "bin", 3) {
        let table = Table::doubles(&path);
        let [plain, balanced, high] = table.check();
        assert!(
            balanced < plain && high < plain,
            "{}: {plain}, {balanced}, {high}",
            table.name
        );
    }
}
