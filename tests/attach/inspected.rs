//! Column chunks in the reports of `Shard::inspect`.

use super::files::write_parquet;
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, types::Int32Type};
use arrow_shard::Shard;
use arrow_shard::ops::{AttachOptions, attach_with};
use arrow_shard::read::inspect::{InspectOptions, ParquetChunkInfo, ShardInfo};
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Numbers, texts with a dictionary and nulls, and lists.
fn table(rows: i32) -> RecordBatch {
    let ids = Int64Array::from_iter_values((0..rows).map(i64::from));
    let texts =
        StringArray::from_iter((0..rows).map(|i| (i % 7 > 0).then(|| format!("text {}", i % 50))));
    let lists = (0..rows).map(|i| Some(vec![Some(i); 2]));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as ArrayRef),
        ("text", Arc::new(texts)),
        ("list", Arc::new(lists)),
    ])
    .unwrap()
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(1000))
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(100)
        .set_column_dictionary_enabled("id".into(), false)
        .set_column_encoding("id".into(), Encoding::DELTA_BINARY_PACKED)
}

fn metadata(path: &Path) -> ParquetMetaData {
    let file = File::open(path).unwrap();
    ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .unwrap()
}

fn inspect(target: &Path) -> ShardInfo {
    let shard = Shard::open(target).unwrap();
    shard.inspect(InspectOptions::default()).unwrap()
}

/// Compares a reported chunk with the footer of its file.
fn assert_described(info: &ParquetChunkInfo, chunk: &ColumnChunkMetaData) {
    assert_eq!(info.physical_type, chunk.column_type().to_string());
    assert_eq!(info.codec.as_deref(), Some("SNAPPY"));
    let encodings: Vec<String> = chunk.encodings().map(|e| e.to_string()).collect();
    assert_eq!(info.page_encodings, encodings);
    let unsigned = |number: i64| u64::try_from(number).unwrap();
    assert_eq!(info.num_values, Some(unsigned(chunk.num_values())));
    assert_eq!(
        info.null_count,
        chunk.statistics().unwrap().null_count_opt()
    );
    assert_eq!(
        info.uncompressed_bytes,
        Some(unsigned(chunk.uncompressed_size()))
    );
    assert_eq!(info.encoded_bytes(), unsigned(chunk.compressed_size()));
    let data = info.data_pages.unwrap();
    assert_eq!(data.start(), unsigned(chunk.data_page_offset()));
    let dictionary = info.dictionary_page.map(|range| range.start());
    assert_eq!(dictionary, chunk.dictionary_page_offset().map(unsigned));
}

#[test]
fn column_chunks_are_described_as_in_the_footers_of_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.parquet", "b.parquet"].map(|name| folder.path().join(name));
    write_parquet(&paths[0], &table(2_500), properties().build());
    write_parquet(&paths[1], &table(500), properties().build());
    let target = folder.path().join("t.amudai.shard");
    let options = AttachOptions::default().with_stripe_rows(2_000);
    attach_with(&paths, &target, options).unwrap();
    let info = inspect(&target);
    assert_eq!((info.problem, info.stripes.len()), (None, 3));
    // Parquet files do not store the size of their values.
    assert_eq!(info.raw_data_size, None);
    let footers = paths.each_ref().map(|path| metadata(path));
    let groups = [(0, vec![0, 1]), (0, vec![2]), (1, vec![0])];
    for (stripe, (file, groups)) in info.stripes.iter().zip(groups) {
        assert_eq!(stripe.raw_data_size, None);
        for (column, field) in stripe.fields[..2].iter().enumerate() {
            assert_eq!((&field.problem, field.buffers.len()), (&None, 0));
            assert_eq!(field.parquet_chunks.len(), groups.len());
            for (chunk, &group) in field.parquet_chunks.iter().zip(&groups) {
                assert_eq!(chunk.file, ["a.parquet", "b.parquet"][file]);
                assert_eq!(chunk.row_group as usize, group);
                assert_eq!(chunk.column as usize, column);
                assert_described(chunk, footers[file].row_group(group).column(column));
                let pages = if chunk.num_values == Some(1000) { 4 } else { 2 };
                assert_eq!((chunk.num_pages, chunk.has_page_map), (Some(pages), true));
            }
            let bytes = field.parquet_chunks.iter().map(|c| c.encoded_bytes());
            assert_eq!(field.encoded_bytes, bytes.sum::<u64>());
        }
        let list = &stripe.fields[2];
        assert!(list.parquet_chunks.is_empty() && !list.buffers.is_empty());
        let items = &list.children[0].parquet_chunks;
        assert_eq!(items.len(), groups.len());
        let values = items.iter().filter_map(|chunk| chunk.num_values);
        assert_eq!(Some(values.sum()), list.children[0].positions);
        let bytes = stripe.fields.iter().map(|f| f.total_encoded_bytes());
        assert_eq!(stripe.encoded_bytes, bytes.sum::<u64>());
    }
    let names: Vec<&str> = info.files.iter().map(|file| file.name.as_str()).collect();
    assert!(names.contains(&"a.parquet") && names.contains(&"b.parquet"));
}

#[test]
fn pages_are_counted_where_they_are_listed_or_walked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let no_index = properties()
        .set_offset_index_disabled(true)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None);
    write_parquet(&path, &table(900), no_index.build());
    for (walk, pages) in [(false, None), (true, Some(3))] {
        let target = folder.path().join(format!("{walk}.amudai.shard"));
        let options = AttachOptions::default().with_page_map(walk);
        attach_with([&path], &target, options).unwrap();
        // A required column has no nulls, even without statistics.
        for (column, nulls) in [Some(0), None].into_iter().enumerate() {
            let chunk = &inspect(&target).stripes[0].fields[column].parquet_chunks[0];
            assert_eq!((chunk.num_pages, chunk.has_page_map), (pages, walk));
            assert_eq!(chunk.null_count, nulls);
        }
    }
}

#[test]
fn shards_are_inspected_without_their_parquet_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write_parquet(&path, &table(10), properties().build());
    let target = folder.path().join("t.amudai.shard");
    attach_with([&path], &target, AttachOptions::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let info = inspect(&target);
    let field = &info.stripes[0].fields[0];
    assert_eq!(field.problem, None);
    assert_eq!(field.parquet_chunks[0].num_pages, Some(1));
    let file = info.files.iter().find(|file| file.name == "t.parquet");
    assert_eq!(file.unwrap().bytes, None);
}
