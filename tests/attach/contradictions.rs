//! Parquet files with an index of pages that contradicts the pages, and with members of one name.

use super::files::{assert_sound, read_shard, write_parquet};
use super::page_checksums::{chunks_of, metadata_of, with_footer};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Fields};
use arrow_shard::ops::attach;
use arrow_shard::read::Projection;
use arrow_shard::{Error, ErrorKind, Result, Shard};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::sync::Arc;

const ROWS: i32 = 800;

/// Lists of up to three numbers, some of them null or empty, and numbers.
fn table() -> RecordBatch {
    let list =
        |row: i32| (row % 5 > 0).then(|| (0..row % 4).map(move |i| (i < 2).then_some(row + i)));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>((0..ROWS).map(list));
    let numbers = Int64Array::from_iter_values(0..i64::from(ROWS));
    RecordBatch::try_from_iter([
        ("list", Arc::new(lists) as ArrayRef),
        ("number", Arc::new(numbers)),
    ])
    .unwrap()
}

fn parquet_file(rows: &RecordBatch, version: WriterVersion) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100);
    write_parquet(&path, rows, properties.build());
    std::fs::read(path).unwrap()
}

/// Returns the file with another first row of a page of a column in its index.
fn shifted(file: &[u8], column: usize, page: usize, rows: i64) -> Vec<u8> {
    let metadata = metadata_of(file);
    let ends = chunks_of(&metadata).map(|chunk| {
        let (start, len) = chunk.byte_range();
        usize::try_from(start + len).unwrap()
    });
    let end = ends.max().unwrap();
    let mut index = metadata.offset_index().unwrap().clone();
    index[0][column].page_locations[page].first_row_index += rows;
    let builder = metadata.into_builder().set_column_index(None);
    let changed = builder.set_offset_index(Some(index)).build();
    with_footer(file[..end].to_vec(), &changed)
}

fn scan(shard: &Shard) -> Result<Vec<RecordBatch>> {
    let scan = shard.scan().with_batch_size(70).build()?;
    scan.map(|batch| batch.map_err(Error::from)).collect()
}

#[test]
fn an_index_that_contradicts_the_pages_is_an_error_and_shifts_no_values() {
    let rows = table();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let file = parquet_file(&rows, version);
        let mut refused = 0;
        for column in [0, 1] {
            for (page, by) in [(1, 1), (1, -1), (3, 7), (3, -30), (6, 30), (4, 0)] {
                let folder = tempfile::tempdir().unwrap();
                let [path, target] =
                    ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
                std::fs::write(&path, shifted(&file, column, page, by)).unwrap();
                attach([&path], &target).unwrap();
                let shard = Shard::open(&target).unwrap();
                let what = format!("column {column}, page {page}, {by} rows");
                let taken = [99, 100, 299, 301, 305, 700, 755].map(|row| {
                    let taken = shard.take(&[row], Projection::All);
                    taken.is_ok_and(|taken| {
                        let row = usize::try_from(row).unwrap();
                        assert_eq!(taken, rows.slice(row, 1), "{what}");
                        true
                    })
                });
                let Err(error) = scan(&shard) else {
                    assert_eq!(read_shard(&shard), rows, "{what}");
                    assert_sound(&shard);
                    assert_eq!(taken, [true; 7], "{what}");
                    continue;
                };
                refused += 1;
                assert_ne!(by, 0);
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                for part in ["t.parquet", ["`list`", "`number`"][column], "page index"] {
                    assert!(error.to_string().contains(part), "{what}: {error}");
                }
                assert!(!shard.verify().unwrap().is_sound(), "{what}");
            }
        }
        // A page of lists without values may begin anywhere among them.
        assert!(refused >= 8, "{refused}");
    }
}

#[test]
fn members_of_one_name_have_their_own_values_or_are_refused() {
    let item = |name: &str| Arc::new(Field::new(name, DataType::Int32, true));
    let lists = |from: i32| {
        let list =
            |row: i32| (row % 3 > 0).then(|| (0..row % 4).map(move |i| Some(from * row + i)));
        ListArray::from_iter_primitive::<Int32Type, _, _>((0..50).map(list))
    };
    let numbers =
        |from: i64| Int64Array::from_iter((0..50).map(|i| (i % 4 > 0).then_some(i * from)));
    let list = DataType::List(item("item"));
    let fields = Fields::from(vec![
        Field::new("m", DataType::Int64, true),
        Field::new("m", list.clone(), true),
        Field::new("m", DataType::Int64, true),
        Field::new("m", list, true),
    ]);
    let children: Vec<ArrayRef> = vec![
        Arc::new(numbers(3)),
        Arc::new(lists(1)),
        Arc::new(numbers(-5)),
        Arc::new(lists(100)),
    ];
    let group = StructArray::new(fields, children, None);
    assert_eq!(group.len(), 50);
    let rows = RecordBatch::try_from_iter([("group", Arc::new(group) as ArrayRef)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [path, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
    write_parquet(&path, &rows, WriterProperties::default());
    match attach([&path], &target) {
        Ok(_) => {
            let shard = Shard::open(&target).unwrap();
            assert_eq!(read_shard(&shard), rows);
            assert_sound(&shard);
        }
        Err(error) => assert!(error.to_string().contains("group"), "{error}"),
    }
}
