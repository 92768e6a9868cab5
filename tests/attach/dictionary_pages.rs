//! Filters on columns with dictionary pages.

use super::files::{read_shard, table, write_parquet};
use super::page_checksums::metadata_of;
#[cfg(feature = "experimental")]
use super::page_checksums::{chunks_of, with_page_checksums};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
    Int32Array, RecordBatch, StringArray, StringViewArray,
};
use arrow_select::concat::concat_batches;
use arrow_shard::ops::attach;
use arrow_shard::read::{Predicate, ScanMetrics, col};
use arrow_shard::{Error, Result, Shard, ShardWriter};
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
#[cfg(feature = "experimental")]
use rand::rngs::StdRng;
#[cfg(feature = "experimental")]
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::Arc;

/// Writes a table to a Parquet file in the folder, and attaches it.
fn attached(folder: &Path, batch: &RecordBatch, properties: WriterProperties) -> Shard {
    let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.join(name));
    write_parquet(&source, batch, properties);
    attach([&source], &target).unwrap();
    Shard::open(&target).unwrap()
}

/// Returns the matching rows.
fn filtered(shard: &Shard, predicate: Predicate) -> Result<(RecordBatch, ScanMetrics)> {
    let scan = shard.scan().with_batch_size(500);
    let mut scan = scan.with_filter(predicate).build()?;
    let batches = scan.by_ref().map(|batch| Ok(batch?));
    let batches = batches.collect::<Result<Vec<RecordBatch>, Error>>()?;
    let rows = concat_batches(&shard.schema()?, &batches).unwrap();
    Ok((rows, scan.metrics().unwrap()))
}

fn small_pages() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(1_500))
        .set_data_page_row_count_limit(400)
        .set_write_batch_size(50)
}

#[test]
fn entries_are_tested_instead_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let shard = attached(folder.path(), &table(5_000), small_pages().build());
    let texts = ["text 42", "text 7"];
    let (rows, metrics) = filtered(&shard, col("text").is_in(texts)).unwrap();
    let has = |i: &i64| i % 7 > 0 && [42, 7].contains(&(i % 100));
    assert_eq!(rows.num_rows(), (0..5_000).filter(has).count());
    assert_eq!(metrics.values_tested, 0);
    // Each number occurs once, so entries would not be fewer than rows.
    let (rows, metrics) = filtered(&shard, col("id").is_in([3, 4_000])).unwrap();
    assert_eq!(rows.num_rows(), 2);
    assert!(metrics.values_tested > 0);
}

#[test]
fn pages_without_a_matching_entry_are_not_decoded() {
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let folder = tempfile::tempdir().unwrap();
        let properties = small_pages()
            .set_writer_version(version)
            .set_compression(Compression::ZSTD(Default::default()));
        let shard = attached(folder.path(), &table(5_000), properties.build());
        let path = folder.path().join("t.parquet");
        let mut file = std::fs::read(&path).unwrap();
        let metadata = metadata_of(&file);
        for group in metadata.offset_index().unwrap() {
            for page in group[1].page_locations() {
                let [start, len] = [page.offset, page.compressed_page_size.into()]
                    .map(|n| usize::try_from(n).unwrap());
                // The second half is after the header.
                file[start + len / 2..start + len].fill(0xff);
            }
        }
        std::fs::write(&path, &file).unwrap();
        assert!(filtered(&shard, col("text").eq("text 42")).is_err());
        // The bounds of the row groups do not rule out this text.
        let (rows, _) = filtered(&shard, col("text").eq("text 42 and more")).unwrap();
        assert_eq!(rows.num_rows(), 0);
        let negated = col("text").eq("text 42 and more").not();
        assert!(filtered(&shard, negated).is_err());
    }
}

/// Columns of several types, each with few values that are different.
fn columns_of_few_values(rows: i32, has_nulls: bool) -> RecordBatch {
    let numbers = || {
        let number = move |i: i32| (!has_nulls || i % 11 > 3).then_some(i * i % 61 % 23);
        (0..rows).map(number)
    };
    let words = || numbers().map(|number| number.map(|number| format!("word {number}")));
    let words: Vec<Option<String>> = words().collect();
    let word = || words.iter().map(Option::as_deref);
    let binary: BinaryArray = word().map(|word| word.map(str::as_bytes)).collect();
    let floats = numbers().map(|number| match number {
        Some(3) => Some(f64::NAN),
        Some(4) => Some(-0.0),
        number => number.map(f64::from),
    });
    let decimals: Decimal128Array = numbers().map(|number| number.map(i128::from)).collect();
    let decimals = decimals.with_precision_and_scale(20, 1).unwrap();
    let columns: [(&str, ArrayRef); 8] = [
        ("number", Arc::new(numbers().collect::<Int32Array>())),
        ("text", Arc::new(word().collect::<StringArray>())),
        ("view", Arc::new(word().collect::<StringViewArray>())),
        (
            "keys",
            Arc::new(word().collect::<DictionaryArray<Int32Type>>()),
        ),
        ("binary", Arc::new(binary)),
        ("date", Arc::new(numbers().collect::<Date32Array>())),
        ("float", Arc::new(floats.collect::<Float64Array>())),
        ("decimal", Arc::new(decimals)),
    ];
    let columns = columns.map(|(name, array)| (name, array, has_nulls));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn predicates() -> Vec<Predicate> {
    let mut all = vec![
        col("number").eq(7).or(col("number").is_null()),
        col("number").gt(4).and(col("text").not_eq("word 12")),
        col("text")
            .starts_with("word 1")
            .and(col("date").is_not_null()),
        col("binary").eq(&b"word 5"[..]),
        col("float").gt_eq(5.0),
        col("float").eq(0.0),
        col("decimal").eq(5),
    ];
    for name in ["text", "view", "keys"] {
        all.extend([
            col(name).eq("word 3"),
            col(name).eq("word 3").not(),
            col(name).is_in(["word 1", "word 19", "nowhere"]),
            col(name).gt("word 2").or(col(name).is_null()),
            col(name).is_null(),
            col(name).is_not_null(),
            col(name).eq("nowhere"),
        ]);
    }
    all
}

#[test]
fn filters_match_the_same_rows_as_in_a_native_shard() {
    for has_nulls in [false, true] {
        let batch = columns_of_few_values(5_000, has_nulls);
        let folder = tempfile::tempdir().unwrap();
        let native = folder.path().join("n.amudai.shard");
        let mut writer = ShardWriter::create(&native, batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let native = Shard::open(&native).unwrap();
        for (version, codec) in [
            (WriterVersion::PARQUET_1_0, Compression::UNCOMPRESSED),
            (WriterVersion::PARQUET_2_0, Compression::SNAPPY),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let properties = small_pages()
                .set_writer_version(version)
                .set_compression(codec);
            let shard = attached(folder.path(), &batch, properties.build());
            assert_eq!(read_shard(&shard), batch);
            for predicate in predicates() {
                let text = predicate.to_string();
                let (expected, _) = filtered(&native, predicate.clone()).unwrap();
                let (found, _) = filtered(&shard, predicate).unwrap();
                assert_eq!(found, expected, "{text}");
            }
        }
    }
}

#[test]
fn values_after_a_full_dictionary_are_tested_one_by_one() {
    // After 1,000 rows of few texts, each row has a text of its own until the dictionary is full.
    let text = |i: u32| match i % 5_000 {
        0..1_000 => format!("text {}", i % 10),
        _ => format!("text {i}"),
    };
    let texts = StringArray::from_iter_values((0..20_000).map(text));
    let batch = RecordBatch::try_from_iter([("text", Arc::new(texts) as ArrayRef)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let properties = small_pages()
        .set_max_row_group_row_count(Some(5_000))
        .set_dictionary_page_size_limit(1_000);
    let shard = attached(folder.path(), &batch, properties.build());
    let file = std::fs::read(folder.path().join("t.parquet")).unwrap();
    let metadata = metadata_of(&file);
    let pages = metadata
        .row_group(0)
        .column(0)
        .page_encoding_stats_mask()
        .unwrap();
    assert!(
        pages.is_set(Encoding::RLE_DICTIONARY) && pages.is_set(Encoding::PLAIN),
        "{pages:?}"
    );
    for (wanted, count) in [
        ("text 3", 400),
        ("text 4999", 1),
        ("text 17000", 1),
        ("text 0", 400),
    ] {
        let (rows, metrics) = filtered(&shard, col("text").eq(wanted)).unwrap();
        assert_eq!(rows.num_rows(), count, "{wanted}");
        assert!(metrics.values_tested < 20_000, "{}", metrics.values_tested);
    }
    let (rows, _) = filtered(&shard, col("text").gt("text 5")).unwrap();
    let values = batch.column(0);
    let values = values.as_any().downcast_ref::<StringArray>().unwrap();
    let expected = values.iter().filter(|text| text.unwrap() > "text 5");
    assert_eq!(rows.num_rows(), expected.count());
}

#[cfg(feature = "experimental")]
#[test]
fn filters_of_damaged_pages_fail_or_return_the_same_rows() {
    let batch = columns_of_few_values(2_000, true);
    let folder = tempfile::tempdir().unwrap();
    attached(folder.path(), &batch, small_pages().build());
    let [source, target] = ["t.parquet", "t.amudai.shard"].map(|name| folder.path().join(name));
    let file = with_page_checksums(&std::fs::read(&source).unwrap());
    std::fs::write(&source, &file).unwrap();
    std::fs::remove_file(&target).unwrap();
    attach([&source], &target).unwrap();
    let read = |predicate: Predicate| {
        let rows = filtered(&Shard::open(&target)?, predicate);
        rows.map(|(rows, _)| rows)
    };
    let predicates = [
        col("text").eq("word 3"),
        col("number").gt(20).or(col("number").is_null()),
    ];
    let expected = predicates
        .each_ref()
        .map(|predicate| read(predicate.clone()).unwrap());
    let metadata = metadata_of(&file);
    let last = chunks_of(&metadata).last().unwrap().byte_range();
    let end = usize::try_from(last.0 + last.1).unwrap();
    let mut rng = StdRng::seed_from_u64(3);
    let mut failed = 0;
    let cases = if std::env::var_os("FULL").is_some() {
        4_000
    } else {
        300
    };
    for _ in 0..cases {
        let mut damaged = file.clone();
        let at = rng.random_range(4..end);
        damaged[at] ^= rng.random_range(1..=255u8);
        std::fs::write(&source, &damaged).unwrap();
        for (predicate, expected) in predicates.iter().zip(&expected) {
            match read(predicate.clone()) {
                Ok(rows) => assert_eq!(rows, *expected, "byte {at}, {predicate}"),
                Err(_) => failed += 1,
            }
        }
    }
    assert!(failed > cases / 10, "{failed}");
}
