//! Shards on a real HTTP server that counts requests.

use crate::server::Server;
use crate::support::{NAME, written, written_bytes};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::write::{Layout, WriterOptions};
use arrow_shard::{Error, ErrorKind, Shard};
use futures::TryStreamExt;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use std::sync::Arc;

fn store(server: &Server) -> Arc<dyn ObjectStore> {
    let client = ClientOptions::new().with_allow_http(true);
    let retry = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let builder = HttpBuilder::new().with_url(server.url());
    let builder = builder.with_client_options(client).with_retry(retry);
    Arc::new(builder.build().unwrap())
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(future)
}

fn noise(i: i64) -> i64 {
    i.wrapping_mul(0x1E37_79B9_7F4A_7C15)
}

fn table(rows: i64) -> RecordBatch {
    let texts = (0..rows).map(|i| (i % 5 > 0).then(|| format!("text {}", noise(i) >> 40)));
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..rows)), false),
        (
            "number",
            Arc::new(Int64Array::from_iter_values((0..rows).map(noise))),
            false,
        ),
        ("text", Arc::new(texts.collect::<StringArray>()), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn shards_of_both_layouts_come_through_http() {
    let batch = table(200_000);
    for layout in [Layout::SingleFile, Layout::TwoLevel] {
        let options = WriterOptions::default()
            .with_layout(layout)
            .with_stripe_rows(70_000);
        let folder = written(&batch.schema(), std::slice::from_ref(&batch), options).unwrap();
        let server = Server::start();
        for name in folder.names() {
            server.put(&format!("/a b/{name}"), folder.get(&name).unwrap());
        }
        wait(async {
            let path = Path::from("a b").join(NAME);
            let options = ShardOptions::default().with_fetch_bytes(500_000);
            let shard = Shard::open_object(store(&server), &path, options)
                .await
                .unwrap();
            assert_eq!(server.requests().len(), 1);
            let stream = shard.scan().build_stream().await.unwrap();
            let read: Vec<RecordBatch> = stream.try_collect().await.unwrap();
            assert_eq!(concat_batches(&batch.schema(), &read).unwrap(), batch);
            let filter = col("id").between(69_990, 70_010).and(col("number").gt(0));
            let stream = shard
                .scan()
                .with_filter(filter)
                .build_stream()
                .await
                .unwrap();
            let rows: Vec<RecordBatch> = stream.try_collect().await.unwrap();
            let expected = (69_990..=70_010).filter(|i| noise(*i) > 0).count();
            assert_eq!(
                rows.iter().map(RecordBatch::num_rows).sum::<usize>(),
                expected
            );
        });
    }
}

#[test]
fn an_object_that_is_replaced_is_an_error() {
    for is_weak in [false, true] {
        let server = Server::start();
        if is_weak {
            server.weaken();
        }
        let bytes = written_bytes(&[table(200_000)], WriterOptions::default());
        server.put("/t.shard", bytes.clone());
        wait(async {
            let options = ShardOptions::default().with_tail_bytes(100);
            let path = Path::from("t.shard");
            let shard = Shard::open_object(store(&server), &path, options)
                .await
                .unwrap();
            server.put("/t.shard", bytes);
            let error = shard.schema_async().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Replaced);
            assert!(format!("{error:#}").contains("opened first"), "{error:#}");
            server.remove("/t.shard");
            let error = shard.take_async(&[1], ["id"]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error:#}");
        });
    }
}

#[test]
fn objects_with_weak_e_tags_are_read() {
    let server = Server::start();
    server.weaken();
    let batch = table(100_000);
    server.put(
        "/t.shard",
        written_bytes(std::slice::from_ref(&batch), WriterOptions::default()),
    );
    let rows = wait(read(&server)).unwrap();
    assert_eq!(concat_batches(&batch.schema(), &rows).unwrap(), batch);
}

#[test]
fn the_damaged_object_of_several_is_named() {
    let server = Server::start();
    let sound = written_bytes(&[table(50_000)], WriterOptions::default());
    let data = sound.len() / 3;
    let mut damaged = sound.to_vec();
    damaged[data] ^= 1;
    for name in ["a", "b", "c"] {
        let bytes = if name == "b" {
            damaged.clone()
        } else {
            sound.to_vec()
        };
        server.put(&format!("/days/{name}.amudai.shard"), bytes.into());
    }
    wait(async {
        for name in ["a", "b", "c"] {
            let path = Path::from(format!("days/{name}.amudai.shard"));
            let shard = Shard::open_object(store(&server), &path, ShardOptions::default());
            let shard = shard.await.unwrap();
            let error = shard.take_async(&[0], ["nothing"]).await.unwrap_err();
            assert_eq!(error.element(), format!("object `{path}`"));
            let stream = shard.scan().build_stream().await.unwrap();
            let read = stream.try_collect::<Vec<_>>().await.map_err(Error::from);
            assert_eq!(read.is_err(), name == "b");
            if let Err(error) = read {
                let place = "object `days/b.amudai.shard`, rows ";
                assert!(error.element().starts_with(place), "{error}");
            }
        }
    });
}

#[test]
fn a_server_that_fails_truncates_or_lies_gives_an_error_and_no_other_rows() {
    let bytes = written_bytes(&[table(100_000)], WriterOptions::default());
    let expected = wait(read(&Server::with("/t.shard", bytes.clone()))).unwrap();
    let server = Server::with("/t.shard", bytes.clone());
    wait(read(&server)).unwrap();
    let calls = server.requests().len();
    assert!(calls > 3, "{calls}");
    for fault in crate::server::FAULTS {
        for call in 0..calls {
            let server = Server::with("/t.shard", bytes.clone());
            server.fail_at(call, fault);
            match wait(read(&server)) {
                Ok(rows) => assert_eq!(rows, expected, "{fault:?} at {call}"),
                Err(error) => {
                    use ErrorKind::{Checksum, Corrupt, Io, NotAShard, UnsupportedVersion};
                    let told = [Checksum, Corrupt, Io, NotAShard, UnsupportedVersion];
                    let is_told = told.contains(&error.kind());
                    assert!(is_told, "{fault:?} at {call}: {error:#}");
                }
            }
        }
    }
}

async fn read(server: &Server) -> Result<Vec<RecordBatch>, Error> {
    let options = ShardOptions::default()
        .with_tail_bytes(100)
        .with_fetch_bytes(300_000);
    let path = Path::from("t.shard");
    let shard = Shard::open_object(store(server), &path, options).await?;
    let stream = shard.scan().with_prefetch(1).build_stream().await?;
    Ok(stream.try_collect().await?)
}

#[test]
fn few_requests_find_columns_of_many_and_rows_of_many() {
    let columns: Vec<(String, ArrayRef)> = (0..10_000i64)
        .map(|c| {
            let values = Float64Array::from_iter_values((0..50i64).map(|r| noise(c * r) as f64));
            (format!("c{c}"), Arc::new(values) as ArrayRef)
        })
        .collect();
    let wide = RecordBatch::try_from_iter(columns).unwrap();
    let server = Server::with("/t.shard", written_bytes(&[wide], WriterOptions::default()));
    wait(async {
        let path = Path::from("t.shard");
        let shard = Shard::open_object(store(&server), &path, ShardOptions::default())
            .await
            .unwrap();
        assert!(server.requests().len() <= 2, "{:?}", server.requests());
        let scan = shard.scan().with_projection(["c7", "c5000", "c9999"]);
        let read: Vec<RecordBatch> = scan
            .build_stream()
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(read[0].num_columns(), 3);
        assert!(server.rounds() <= 2 + 4, "{:?}", server.requests());
    });
    let options = WriterOptions::default().with_stripe_rows(100_000);
    let server = Server::with("/t.shard", written_bytes(&[table(1_000_000)], options));
    wait(async {
        let path = Path::from("t.shard");
        let shard = Shard::open_object(store(&server), &path, ShardOptions::default())
            .await
            .unwrap();
        let opened = server.rounds();
        let rows: Vec<u64> = (0..1_000u64).map(|i| i * 997).collect();
        let taken = shard.take_async(&rows, ["id", "text"]).await.unwrap();
        assert_eq!(taken.num_rows(), 1_000);
        assert!(server.rounds() - opened <= 4, "{}", server.rounds());
    });
}
