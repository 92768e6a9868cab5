//! Tables of folders in which some shards refer to the data of others.

use crate::common::{self, Format};
use crate::{Place, stripes_of};
use arrow::array::{Int64Array, RecordBatch};
use arrow_shard::io::Store;
use arrow_shard::ops::{ShardEditor, merge};
use arrow_shard::write::{ShardWriter, WriterOptions};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::prelude::SessionConfig;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;

fn numbers(first: i64) -> RecordBatch {
    let numbers: Vec<i64> = (first..).take(1000).collect();
    RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(numbers)) as _)]).unwrap()
}

/// Creates a folder of three shards with 1,000 rows each, and its table `t`.
fn three(config: SessionConfig) -> Option<Place> {
    let place = Place::with(config);
    if place.format != Format::Shard {
        return None;
    }
    for (name, first) in [("1", 0), ("2", 1000), ("3", 2000)] {
        place.write(&place.file("t", name), &numbers(first), &stripes_of(300));
    }
    Some(place)
}

#[tokio::test]
async fn rows_of_a_merged_shard_beside_its_parts_come_once() {
    for statistics in [true, false] {
        let config = SessionConfig::new()
            .with_target_partitions(2)
            .with_collect_statistics(statistics);
        let Some(place) = three(config) else { return };
        let file = |name| place.file("t", name);
        merge([file("1"), file("2")], file("merged")).unwrap();
        place.table("t", "").await;
        for sql in [
            "SELECT count(*), max(n) FROM t",
            "SELECT count(n), max(n) FROM t WHERE n >= 0",
        ] {
            assert_eq!(place.rows(sql).await, ["3000|2999"], "{sql}");
        }
        let plan = place.plan("SELECT n FROM t WHERE n % 7 = 0").await;
        assert!(plan.contains("merged.shard"), "{plan}");
        assert!(!plan.contains("t/1.shard"), "{plan}");
        // A merge of all shards contains the first merge, too.
        merge([file("merged"), file("3")], file("all")).unwrap();
        let counted = place.rows("SELECT count(*), sum(n) FROM t").await;
        assert_eq!(counted, ["3000|4498500"]);
    }
}

#[tokio::test]
async fn shards_with_some_data_in_common_are_refused_by_name() {
    let Some(place) = three(SessionConfig::new()) else {
        return;
    };
    let file = |name| place.file("t", name);
    merge([file("1"), file("2")], file("a")).unwrap();
    merge([file("2"), file("3")], file("b")).unwrap();
    place.table("t", "").await;
    let query = common::query(&place.context, "SELECT n FROM t").await;
    let message = query.unwrap_err().to_string();
    for name in ["a.shard", "b.shard", "leave one of them out"] {
        assert!(message.contains(name), "{message}");
    }
}

#[tokio::test]
async fn rows_of_a_merged_object_come_once() {
    let Some(place) = three(SessionConfig::new()) else {
        return;
    };
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let path = |name: &str| object_store::path::Path::from(format!("t/{name}.shard"));
    for (name, first) in [("1", 0), ("2", 1000)] {
        let batch = numbers(first);
        let mut writer =
            ShardWriter::try_new(Vec::new(), batch.schema(), WriterOptions::default()).unwrap();
        writer.write(&batch).unwrap();
        let (bytes, _) = writer.finish_into().unwrap();
        let path = path(name);
        store.put(&path, bytes.into()).await.unwrap();
    }
    let mut editor =
        ShardEditor::open_async(Store::object(store.clone()).at(path("1").to_string()))
            .await
            .unwrap();
    editor.append_async(path("2").to_string()).await.unwrap();
    editor
        .commit_to_async(path("merged").to_string())
        .await
        .unwrap();
    let url = ObjectStoreUrl::parse("memory://").unwrap();
    place.context.register_object_store(url.as_ref(), store);
    let created = "CREATE EXTERNAL TABLE t STORED AS SHARD LOCATION 'memory:///t/'";
    common::query(&place.context, created).await.unwrap();
    let counted = place.rows("SELECT count(*), sum(n) FROM t").await;
    assert_eq!(counted, ["2000|1999000"]);
}
