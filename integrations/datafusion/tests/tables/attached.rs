//! Tables of shards over Parquet files.

use super::Place;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_shard::ops::attach;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::sync::Arc;

#[tokio::test]
async fn attached_files_answer_queries() {
    let place = Place::new();
    let folder = place.folder("t");
    let texts = (0..10_000).map(|i| format!("text {}", i % 10));
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..10_000))),
        ("text", Arc::new(StringArray::from_iter_values(texts))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let lake = folder.join("lake");
    std::fs::create_dir(&lake).unwrap();
    let path = lake.join("t.parquet");
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1_000));
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    attach([&path], folder.join("t.amudai.shard")).unwrap();
    let created = format!(
        "CREATE EXTERNAL TABLE t STORED AS SHARD LOCATION '{}'",
        folder.join("t.amudai.shard").display()
    );
    place.context.sql(&created).await.unwrap();
    for (query, expected) in [
        ("select count(*) from t", "10000"),
        ("select count(*) from t where text = 'text 3'", "1000"),
        ("select sum(id) from t where id between 500 and 501", "1001"),
        ("select max(id) from t", "9999"),
        ("select id from t order by id desc limit 1", "9999"),
    ] {
        assert_eq!(place.rows(query).await, [expected], "{query}");
    }
}
