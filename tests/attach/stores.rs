//! Attached files in asynchronous stores.

use super::files::{table, write_parquet};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_shard::io::{ExternalFiles, Store};
use arrow_shard::ops::{
    AttachOptions, attach, attach_async, attach_with_async, list_parquet_files_async,
};
use arrow_shard::read::{ScanBuilder, ShardOptions, col};
use arrow_shard::{ErrorKind, Shard};
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

#[test]
fn a_lake_in_an_object_store_is_attached_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join("t.parquet");
    let batch = table(5_000);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1_500));
    write_parquet(&local, &batch, properties.build());
    let objects = Arc::new(InMemory::new());
    let store = Store::object(objects.clone());
    let target = store.at("lake.amudai.shard");
    block_on(async {
        let bytes = std::fs::read(&local).unwrap();
        for name in ["lake/day=1/a.parquet", "lake/day=2/a.parquet"] {
            objects
                .put(&Path::from(name), bytes.clone().into())
                .await
                .unwrap();
        }
        let files = list_parquet_files_async(store.at("lake")).await.unwrap();
        assert_eq!(files.len(), 2);
        let error = attach(files.clone(), target.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let summary = attach_async(files, target.clone()).await.unwrap();
        assert_eq!(summary.num_rows(), 10_000);
        let shard = Shard::open_async(target).await.unwrap();
        let expected = concat_batches(&batch.schema(), [&batch, &batch]).unwrap();
        assert_eq!(all(shard.scan()).await, expected);
        let filtered = shard.scan().with_filter(col("id").eq(4_321));
        assert_eq!(all(filtered).await.num_rows(), 2);
        let taken = shard.take_async(&[9_999, 0], ["id", "text"]).await.unwrap();
        let ends = concat_batches(
            &batch.schema(),
            [&batch.slice(4_999, 1), &batch.slice(0, 1)],
        );
        assert_eq!(taken, ends.unwrap());
        assert!(shard.verify_async().await.unwrap().is_sound());
        let replaced = Path::from("lake/day=2/a.parquet");
        objects.put(&replaced, "PAR1".into()).await.unwrap();
        let shard = Shard::open_async(store.at("lake.amudai.shard"))
            .await
            .unwrap();
        let error = shard.take_async(&[9_999], ["id"]).await.unwrap_err();
        assert!(error.to_string().contains("day=2/a.parquet"), "{error}");
    });
}

#[test]
fn a_lake_in_another_store_is_read_if_it_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join("t.parquet");
    let batch = table(500);
    write_parquet(&local, &batch, WriterProperties::default());
    let objects = Arc::new(InMemory::new());
    let lake = Store::object(objects.clone()).with_id("s3://lake");
    let own = Store::object(Arc::new(InMemory::new())).with_id("s3://own");
    let targets = [
        own.at("mine/t.amudai.shard"),
        folder.path().join("t.amudai.shard").into(),
    ];
    block_on(async {
        let bytes = std::fs::read(&local).unwrap();
        objects
            .put(&Path::from("days/a b.parquet"), bytes.into())
            .await
            .unwrap();
        let file = lake.at("days/a b.parquet");
        let allowed = ExternalFiles::default()
            .with_folder(lake.at("days"))
            .unwrap();
        for target in targets {
            let error = attach_async([&file], target.clone()).await.unwrap_err();
            assert!(error.to_string().contains("with_external_files"), "{error}");
            let options = AttachOptions::default().with_external_files(allowed.clone());
            attach_with_async([&file], target.clone(), options)
                .await
                .unwrap();
            let shard = Shard::open_async(target.clone()).await.unwrap();
            let error = shard.take_async(&[1], ["id"]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ForbiddenUrl);
            let options = ShardOptions::default().with_external_files(allowed.clone());
            let shard = Shard::open_with_async(target, options).await.unwrap();
            assert_eq!(all(shard.scan()).await, batch);
            assert!(shard.verify_async().await.unwrap().is_sound());
            let files = shard.external_files_async().await.unwrap();
            assert_eq!(files, ["s3://lake/days/a%20b.parquet"]);
        }
    });
}

async fn all(scan: ScanBuilder) -> RecordBatch {
    let stream = scan.build_stream().await.unwrap();
    let schema: SchemaRef = stream.schema();
    let batches: Vec<RecordBatch> = stream.try_collect().await.unwrap();
    concat_batches(&schema, &batches).unwrap()
}
