//! Shards over Parquet files in S3.

use crate::moto::Moto;
use crate::watched::Watched;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use arrow_shard::io::Store;
use arrow_shard::ops::{
    CompactOptions, ShardEditor, attach_async, compact_to_async, list_parquet_files_async,
};
use arrow_shard::read::{ScanBuilder, col};
use arrow_shard::{ErrorKind, Shard};
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

const ROWS: i64 = 20_000;

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(future)
}

fn batch(first: i64) -> RecordBatch {
    let ids = first..first + ROWS;
    let texts = ids
        .clone()
        .map(|i| (i % 7 > 0).then(|| format!("text {}", i % 50)));
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(ids))),
        ("text", Arc::new(texts.collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(8_000))
        .set_data_page_row_count_limit(1_000)
        .set_write_batch_size(500)
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    file
}

async fn rows(scan: ScanBuilder) -> RecordBatch {
    let stream = scan.build_stream().await.unwrap();
    let schema = stream.schema();
    let batches: Vec<RecordBatch> = stream.try_collect().await.unwrap();
    concat_batches(&schema, &batches).unwrap()
}

#[test]
fn a_lake_in_s3_is_attached_read_edited_and_migrated() {
    let Some(moto) = Moto::start() else { return };
    let watched = Arc::new(Watched::new(Arc::new(moto.store())));
    let objects: Arc<dyn ObjectStore> = watched.clone();
    let store = Store::object(objects.clone());
    let target = store.at("a lake/all.amudai.shard");
    let files = ["a lake/day=1/a.parquet", "a lake/day=2/a.parquet"].map(Path::from);
    let parts = [batch(0), batch(ROWS)];
    let all = concat_batches(&parts[0].schema(), &parts).unwrap();
    wait(async {
        for (path, part) in files.iter().zip(&parts) {
            objects.put(path, parquet(part).into()).await.unwrap();
        }
        let found = list_parquet_files_async(store.at("a lake")).await.unwrap();
        assert_eq!(found.len(), 2);
        let summary = attach_async(found, target.clone()).await.unwrap();
        assert_eq!(summary.num_rows(), 2 * ROWS.cast_unsigned());

        let shard = Shard::open_async(target.clone()).await.unwrap();
        assert_eq!(rows(shard.scan()).await, all);
        assert!(shard.verify_async().await.unwrap().is_sound());
        let filtered = rows(shard.scan().with_filter(col("text").eq("text 43"))).await;
        let has = |i: &i64| i % 7 > 0 && i % 50 == 43;
        assert_eq!(filtered.num_rows(), (0..2 * ROWS).filter(has).count());

        // The first row of a file: its identity, a dictionary page and data pages.
        let shard = Shard::open_async(target.clone()).await.unwrap();
        watched.forget();
        let taken = shard.take_async(&[31_234], ["id", "text"]).await.unwrap();
        assert_eq!(taken, all.slice(31_234, 1));
        let (rounds, bytes) = {
            let calls = watched.calls();
            (calls.rounds, calls.reads.iter().sum::<u64>())
        };
        assert!(rounds <= 4, "{rounds} rounds");
        // A request spans the gap between a page and the footer of a file as small as this one.
        let size = parquet(&parts[1]).len() as u64;
        assert!(3 * bytes < 2 * size, "{bytes} bytes of {size}");

        let mut editor = ShardEditor::open_async(target.clone()).await.unwrap();
        let deleted = editor.delete_async(&col("id").lt(30_000)).await.unwrap();
        assert_eq!(deleted, 30_000);
        let [edited, native] =
            ["edited", "native"].map(|name| format!("a lake/{name}.amudai.shard"));
        editor.commit_to_async(&edited).await.unwrap();
        let edited = store.at(&edited);
        let shard = Shard::open_async(edited.clone()).await.unwrap();
        assert_eq!(rows(shard.scan()).await, all.slice(30_000, 10_000));
        let options = CompactOptions::default().with_external(true);
        compact_to_async(edited, &native, options).await.unwrap();
        for path in &files {
            objects.delete(path).await.unwrap();
        }
        let shard = Shard::open_async(store.at(&native)).await.unwrap();
        assert_eq!(rows(shard.scan()).await, all.slice(30_000, 10_000));
        let error = Shard::open_async(target).await.unwrap();
        let error = error.take_async(&[5], ["id"]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("day=1/a.parquet"), "{error}");
    });
}

#[test]
fn an_object_of_s3_that_was_replaced_is_refused() {
    let Some(moto) = Moto::start() else { return };
    let objects: Arc<dyn ObjectStore> = Arc::new(moto.store());
    let store = Store::object(objects.clone());
    let (path, target) = (Path::from("lake/a.parquet"), store.at("lake.amudai.shard"));
    wait(async {
        objects.put(&path, parquet(&batch(0)).into()).await.unwrap();
        attach_async([store.at("lake/a.parquet")], target.clone())
            .await
            .unwrap();
        // Of the same size, and with other rows.
        objects.put(&path, parquet(&batch(1)).into()).await.unwrap();
        let shard = Shard::open_async(target).await.unwrap();
        let error = shard.take_async(&[5], ["text"]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Replaced, "{error}");
        assert!(error.to_string().contains("lake/a.parquet"), "{error}");
    });
}
