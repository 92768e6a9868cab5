//! Files that cannot be attached, which is said by name, and files with nothing in them.

use super::crafted_pages::File;
use super::files::{assert_sound, read_shard, write_parquet};
use super::page_checksums::{metadata_of, with_footer};
use arrow_array::{ArrayRef, Int32Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::ops::{AttachOptions, attach, attach_with};
use arrow_shard::read::Projection;
use arrow_shard::{Error, ErrorKind, Shard};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// Bytes after the metadata of a file: their length, and the magic number.
const END: usize = 8;

fn numbers() -> ArrayRef {
    Arc::new(Int32Array::from(vec![1, 2, 3]))
}

fn written(batch: &RecordBatch) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write_parquet(&path, batch, WriterProperties::default());
    std::fs::read(path).unwrap()
}

fn refusal(file: &[u8]) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
    std::fs::write(&source, file).unwrap();
    let error = attach([&source], &target).unwrap_err();
    assert!(error.to_string().contains("t.parquet"), "{error}");
    assert!(!target.exists());
    error
}

/// Attaches a file without rows.
fn assert_empty(file: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
    std::fs::write(&source, file).unwrap();
    for page_map in [false, true] {
        let options = AttachOptions::default().with_page_map(page_map);
        let summary = attach_with([&source], &target, options).unwrap();
        assert_eq!((summary.num_rows(), summary.num_stripes()), (0, 0));
        let shard = Shard::open(&target).unwrap();
        assert_eq!(read_shard(&shard).num_rows(), 0);
        assert!(shard.take(&[0], Projection::All).is_err());
        assert_sound(&shard);
        std::fs::remove_file(&target).unwrap();
    }
}

/// Returns a file with metadata changed by `edit`.
fn with_metadata(file: &[u8], edit: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let end = file.len() - END;
    let len = u32::from_le_bytes(file[end..end + 4].try_into().unwrap());
    let start = end - usize::try_from(len).unwrap();
    let mut metadata = file[start..end].to_vec();
    edit(&mut metadata);
    let len = u32::try_from(metadata.len()).unwrap().to_le_bytes();
    [&file[..start], &metadata, &len, b"PAR1"].concat()
}

#[test]
fn files_with_an_encrypted_footer_are_refused_by_name() {
    let mut file = written(&RecordBatch::try_from_iter([("n", numbers())]).unwrap());
    let end = file.len() - 4;
    file[..4].copy_from_slice(b"PARE");
    file[end..].copy_from_slice(b"PARE");
    let error = refusal(&file);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("encrypted"), "{error}");
}

#[test]
fn files_with_encrypted_columns_are_refused_by_name() {
    let file = written(&RecordBatch::try_from_iter([("n", numbers())]).unwrap());
    // AES-GCM, and AES-GCM-CTR.
    for algorithm in [1, 2] {
        let signed = with_metadata(&file, |metadata| {
            assert_eq!(metadata.pop(), Some(0));
            // Field 8, after the column orders, with the unique part of the file; then the signature.
            metadata.extend([0x1c, algorithm << 4 | 0x0c, 0x28, 4, 1, 2, 3, 4, 0, 0, 0]);
            metadata.extend([7; 28]);
        });
        let error = refusal(&signed);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("encrypted"), "{error}");
    }
    // Other bytes after the metadata mean nothing.
    let longer = with_metadata(&file, |metadata| metadata.extend([7; 28]));
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("t.parquet");
    std::fs::write(&source, longer).unwrap();
    attach([&source], folder.path().join("t.amudai.shard")).unwrap();
}

#[test]
fn codecs_that_cannot_be_read_are_refused_by_name() {
    let mut file = File::new("message m { required int32 v; }", 1, vec![0; 40]);
    file.codec = Compression::LZO;
    let error = refusal(&file.bytes());
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("LZO"), "{error}");
    assert!(error.element().contains("column `v`"), "{error}");
    // A codec that does not exist yet, after the path of the column.
    file.codec = Compression::UNCOMPRESSED;
    let unknown = with_metadata(&file.bytes(), |metadata| {
        let codec = [0x19, 0x18, 1, b'v', 0x15, 0];
        let at = metadata
            .windows(6)
            .position(|bytes| bytes == codec)
            .unwrap();
        metadata[at + 5] = 40;
    });
    let error = refusal(&unknown);
    assert!(error.message().contains("20"), "{error}");
}

#[test]
fn files_with_columns_of_the_same_name_are_refused_by_name() {
    let field = || Field::new("n", DataType::Int32, false);
    let schema = Arc::new(Schema::new(vec![field(), field()]));
    let batch = RecordBatch::try_new(schema, vec![numbers(), numbers()]).unwrap();
    let error = refusal(&written(&batch));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("`n`"), "{error}");
}

#[test]
fn files_without_rows_are_attached() {
    let batch = RecordBatch::try_from_iter([("n", numbers())]).unwrap();
    // No row group.
    let none = written(&batch.slice(0, 0));
    assert_eq!(metadata_of(&none).num_row_groups(), 0);
    assert_empty(&none);
    // A row group of no rows.
    let parsed = parse_message_type("message m { required int32 n; }").unwrap();
    let mut file = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut file, Arc::new(parsed), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(column) = group.next_column().unwrap() {
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    assert_eq!(metadata_of(&file).num_row_groups(), 1);
    assert_empty(&file);
}

#[test]
fn row_groups_without_rows_are_left_out() {
    let file = written(&RecordBatch::try_from_iter([("n", numbers())]).unwrap());
    let metadata = metadata_of(&file);
    let full = metadata.row_group(0).clone();
    let columns = full.columns().iter().map(|chunk| {
        let builder = chunk.clone().into_builder().set_num_values(0);
        builder.set_total_compressed_size(0).build().unwrap()
    });
    let empty = full.clone().into_builder().set_num_rows(0);
    let empty = empty
        .set_column_metadata(columns.collect())
        .build()
        .unwrap();
    let builder = metadata.into_builder().set_offset_index(None);
    let changed = builder
        .set_row_groups(vec![empty.clone(), full, empty])
        .build();
    let folder = tempfile::tempdir().unwrap();
    let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
    std::fs::write(&source, with_footer(file, &changed)).unwrap();
    let options = AttachOptions::default().with_stripe_rows(1);
    let summary = attach_with([&source], &target, options).unwrap();
    assert_eq!((summary.num_rows(), summary.num_stripes()), (3, 1));
    let shard = Shard::open(&target).unwrap();
    assert_eq!(read_shard(&shard).column(0), &numbers());
    assert_sound(&shard);
}

#[test]
fn files_without_columns_are_attached_or_refused() {
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let schema = Arc::new(Schema::empty());
    let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options).unwrap();
    let file = written(&batch);
    let folder = tempfile::tempdir().unwrap();
    let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
    std::fs::write(&source, file).unwrap();
    let summary = attach([&source], &target).unwrap();
    assert_eq!(summary.num_rows(), metadata_rows(&source));
    let shard = Shard::open(&target).unwrap();
    assert_eq!(shard.num_rows(), summary.num_rows());
    assert_sound(&shard);
}

fn metadata_rows(path: &std::path::Path) -> u64 {
    let rows = metadata_of(&std::fs::read(path).unwrap())
        .file_metadata()
        .num_rows();
    rows.try_into().unwrap()
}
