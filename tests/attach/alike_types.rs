//! Files with columns that a shard stores alike: the texts of other writers are large, views or dictionaries.

use super::files::{assert_sound, read_shard, write_parquet};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_shard::ops::{AttachOptions, attach, attach_with, merge};
use arrow_shard::read::{Predicate, col};
use arrow_shard::{ErrorKind, Shard, ShardWriter};
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

fn texts(count: usize) -> StringArray {
    StringArray::from_iter((0..count).map(|i| (i % 5 > 0).then(|| format!("text {}", i % 40))))
}

fn batch(column: ArrayRef) -> RecordBatch {
    let ids = (0..).take(column.len());
    let ids = Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef;
    let columns = [("id", ids, true), ("x", column, true)];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Attaches files with these columns in this order.
fn attached(folder: &Path, columns: &[ArrayRef]) -> arrow_shard::Result<Shard> {
    let files = columns.iter().enumerate().map(|(i, column)| {
        let path = folder.join(format!("{i}.parquet"));
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(300))
            .set_data_page_row_count_limit(50)
            .set_write_batch_size(10)
            .set_bloom_filter_enabled(true);
        write_parquet(&path, &batch(column.clone()), properties.build());
        path
    });
    let target = folder.join("t.amudai.shard");
    let options = AttachOptions::default()
        .with_stripe_rows(1)
        .with_statistics(["x"]);
    attach_with(files, &target, options)?;
    Shard::open(target)
}

fn numbers(shard: &Shard, filter: Predicate) -> Vec<i64> {
    let scan = shard.scan().with_filter(filter).with_projection(["id"]);
    let batches = scan.build().unwrap().map(Result::unwrap);
    let numbers = batches.map(|batch| {
        batch
            .column(0)
            .as_primitive::<Int64Type>()
            .values()
            .to_vec()
    });
    numbers.collect::<Vec<_>>().concat()
}

#[test]
fn texts_and_bytes_of_other_writers_are_one_column() {
    let text = Arc::new(texts(1_000)) as ArrayRef;
    let key = || Box::new(DataType::Int32);
    let types = [
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::Dictionary(key(), Box::new(DataType::Utf8)),
        DataType::Dictionary(key(), Box::new(DataType::LargeUtf8)),
        DataType::Binary,
        DataType::LargeBinary,
        DataType::BinaryView,
    ];
    let mut united = 0;
    for a in &types {
        for b in &types {
            let folder = tempfile::tempdir().unwrap();
            let columns = [a, b].map(|ty| cast(&text, ty).unwrap());
            let is_text = |ty: &DataType| !ty.to_string().contains("Binary");
            let shard = match attached(folder.path(), &columns) {
                Ok(shard) => shard,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{a} {b}: {error}");
                    assert_ne!(is_text(a), is_text(b), "{a} {b}: {error}");
                    continue;
                }
            };
            united += 1;
            let read = read_shard(&shard);
            let wide = read.column(1).data_type();
            let wanted = columns.each_ref().map(|column| cast(column, wide).unwrap());
            assert_eq!(&read.column(1).slice(0, 1_000), &wanted[0], "{a} {b}");
            assert_eq!(&read.column(1).slice(1_000, 1_000), &wanted[1], "{a} {b}");
            let taken = shard.take(&[1_999, 3, 1_001], ["x"]).unwrap();
            assert_eq!(taken.num_rows(), 3);
            if is_text(a) && is_text(b) {
                let found = numbers(&shard, col("x").eq("text 7"));
                let once: Vec<i64> = (0..1_000).filter(|i| i % 40 == 7 && i % 5 > 0).collect();
                assert_eq!(found, [once.clone(), once].concat(), "{a} {b}");
                assert!(numbers(&shard, col("x").eq("none")).is_empty());
            }
            assert_sound(&shard);
        }
    }
    assert_eq!(united, 5 * 5 + 3 * 3);
}

#[test]
fn nested_types_are_alike_if_their_parts_are() {
    let folder = tempfile::tempdir().unwrap();
    let items = |ty: &DataType, is_nullable: bool, is_large: bool| {
        let texts = StringArray::from_iter_values((0..100).map(|i| format!("t{i}")));
        let values = cast(&texts, ty).unwrap();
        let field = Arc::new(Field::new_list_field(ty.clone(), is_nullable));
        let lengths = (0..50).map(|_| 2);
        let lists = ListArray::new(field, OffsetBuffer::from_lengths(lengths), values, None);
        let lists: ArrayRef = Arc::new(lists);
        let lists = match is_large {
            true => {
                let item = Field::new_list_field(ty.clone(), is_nullable);
                cast(&lists, &DataType::LargeList(Arc::new(item))).unwrap()
            }
            false => lists,
        };
        let member = Field::new("items", lists.data_type().clone(), is_nullable);
        let tags = vec![(Arc::new(member), lists)];
        Arc::new(StructArray::from(tags)) as ArrayRef
    };
    let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let columns = [
        items(&DataType::Utf8, false, false),
        items(&DataType::LargeUtf8, true, false),
        items(&words, true, true),
    ];
    let shard = attached(folder.path(), &columns).unwrap();
    let read = read_shard(&shard);
    let wide = read.column(1).data_type();
    for (start, column) in [(0, &columns[0]), (50, &columns[1]), (100, &columns[2])] {
        let want = cast(column, wide).unwrap();
        assert_eq!(&read.column(1).slice(start, 50), &want);
    }
    assert_sound(&shard);
    // A native shard with one of the types is merged.
    let native = folder.path().join("n.amudai.shard");
    let mut writer = ShardWriter::create(&native, read.schema()).unwrap();
    writer.write(&read).unwrap();
    writer.finish().unwrap();
    let all = folder.path().join("all.amudai.shard");
    merge([&folder.path().join("t.amudai.shard"), &native], &all).unwrap();
    let shard = Shard::open(&all).unwrap();
    assert_eq!(shard.num_rows(), 300);
    assert_eq!(&read_shard(&shard).slice(150, 150), &read);
}

#[test]
fn types_stored_in_different_ways_are_an_error_that_names_both_files() {
    let numbers = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    for (a, b) in [
        (DataType::Int64, DataType::Int32),
        (DataType::Int64, DataType::Float64),
        (DataType::Int64, DataType::Utf8),
        (
            DataType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Timestamp(TimeUnit::Millisecond, None),
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let columns = [&a, &b].map(|ty| cast(&numbers, ty).unwrap());
        let error = attached(folder.path(), &columns).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
        let text = error.to_string();
        for word in ["0.parquet", "1.parquet", "`x`", &a.to_string()] {
            assert!(text.contains(word), "{text}");
        }
        assert!(!folder.path().join("t.amudai.shard").exists());
        let one = folder.path().join("one.amudai.shard");
        attach([folder.path().join("0.parquet")], one).unwrap();
    }
}

#[test]
fn extension_types_are_neither_lost_nor_gained() {
    let folder = tempfile::tempdir().unwrap();
    let json = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.json".to_owned())]);
    let field = Field::new("x", DataType::Utf8, true).with_metadata(json);
    let schema = Arc::new(Schema::new(vec![field]));
    let text = Arc::new(texts(10)) as ArrayRef;
    let labeled = RecordBatch::try_new(schema, vec![text.clone()]).unwrap();
    let plain = cast(&text, &DataType::LargeUtf8).unwrap();
    let plain = RecordBatch::try_from_iter([("x", plain)]).unwrap();
    let files = [("a.parquet", labeled), ("b.parquet", plain)].map(|(name, batch)| {
        let path = folder.path().join(name);
        write_parquet(&path, &batch, WriterProperties::default());
        path
    });
    let error = attach(files, folder.path().join("t.amudai.shard")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
}
