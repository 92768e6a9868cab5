//! Tables of many shards in a store: the number of consecutive requests, and the requests that are avoided.

use crate::moto::Moto;
use crate::rounds::Rounds;
use crate::support::written_bytes;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_shard::ErrorKind;
use arrow_shard::io::{Location, Store};
use arrow_shard::metadata::NameValuePair;
use arrow_shard::ops::{ShardEditor, ShardSet, list_shards_async};
use arrow_shard::read::{Predicate, col};
use arrow_shard::write::WriterOptions;
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Number of shards with concurrent requests for metadata.
const AT_ONCE: usize = 32;

fn name(shard: i64) -> Path {
    Path::from(format!("table/{shard:04}.amudai.shard"))
}

/// Returns a shard with the rows of a range, in stripes with a property each.
fn shard(rows: std::ops::Range<i64>, stripe_rows: u64) -> Vec<u8> {
    let ids = Arc::new(Int64Array::from_iter_values(rows.clone())) as ArrayRef;
    let mixed = rows.map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()));
    let mixed = Arc::new(Int64Array::from_iter_values(mixed)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", ids), ("n", mixed)]).unwrap();
    let options = WriterOptions::default()
        .with_stripe_rows(stripe_rows)
        .with_stripe_property(NameValuePair::new("source", "sensor"));
    written_bytes(&[batch], options).into()
}

/// Creates a store with a number of shards.
fn store(shards: i64, rows: i64, stripe_rows: u64) -> Arc<Rounds> {
    let store = InMemory::new();
    for i in 0..shards {
        let bytes = shard(i * rows..(i + 1) * rows, stripe_rows);
        block_on(store.put(&name(i), bytes.into())).unwrap();
    }
    Rounds::new(Arc::new(store))
}

async fn ids(table: &ShardSet, filter: Option<Predicate>) -> Vec<i64> {
    let mut scan = table.scan().with_projection(["id"]);
    if let Some(filter) = filter {
        scan = scan.with_filter(filter);
    }
    let stream = scan.build_stream().await.unwrap();
    let batches: Vec<RecordBatch> = stream.try_collect().await.unwrap();
    let ids = batches.iter().map(|batch| batch.column(0));
    let ids = ids.flat_map(|ids| ids.as_primitive::<Int64Type>().values().to_vec());
    ids.collect()
}

/// Returns the locations of objects.
fn all(store: &Arc<Rounds>, paths: impl IntoIterator<Item = Path>) -> Vec<Location> {
    let store = Store::object(store.clone());
    paths
        .into_iter()
        .map(|path| store.at(path.to_string()))
        .collect()
}

fn names(reads: &[(Path, u64)]) -> BTreeSet<&str> {
    reads.iter().map(|(path, _)| path.as_ref()).collect()
}

#[test]
fn a_thousand_shards_open_in_rounds_of_the_number_at_once() {
    let store = store(1000, 10, 10);
    let paths = (0..1000).map(name);
    let table = store.run(ShardSet::open_async(all(&store, paths))).unwrap();
    let asked = store.take();
    assert_eq!(table.num_rows(), 10_000);
    assert_eq!(asked.most_waiting, AT_ONCE);
    // One request for each shard.
    assert_eq!(asked.reads.len(), 1000);
    assert!(
        asked.rounds <= 1000usize.div_ceil(AT_ONCE) + 2,
        "{} rounds",
        asked.rounds
    );

    // Stripes that statistics rule out are not requested.
    for filter in [col("id").lt(0), col("id").gt(99_999), col("id").is_null()] {
        assert!(store.run(ids(&table, Some(filter))).is_empty());
        assert_eq!(store.take().reads, []);
    }
    let found = store.run(ids(&table, Some(col("id").between(4_567, 4_571))));
    assert_eq!(found, (4_567..=4_571).collect::<Vec<_>>());
    let asked = store.take();
    let expected = [name(456), name(457)];
    assert_eq!(
        names(&asked.reads),
        expected.iter().map(Path::as_ref).collect()
    );
    assert!(asked.reads.len() <= 4, "{:?}", asked.reads);
    let taken = store
        .run(table.take_async(&[(999, 9), (3, 0)], ["id"]))
        .unwrap();
    assert_eq!(
        taken.column(0).as_primitive::<Int64Type>().values(),
        &[9_999, 30]
    );
    let asked = store.take();
    assert_eq!(names(&asked.reads).len(), 2);
    assert!(asked.rounds <= 3, "{} rounds", asked.rounds);
}

#[test]
fn shards_of_many_stripes_take_no_more_rounds_than_kinds_of_metadata() {
    // Their metadata are larger than the first request.
    let store = store(40, 3_000, 10);
    let table = store.run(ShardSet::open_async(all(&store, (0..40).map(name))));
    let table = table.unwrap();
    let asked = store.take();
    assert_eq!(
        (table.num_rows(), table.shard().num_stripes()),
        (120_000, 12_000)
    );
    // The tail; directories of 300 stripes; lists of fields, with properties; descriptors.
    let kinds = 4;
    let rounds = kinds * 40usize.div_ceil(AT_ONCE);
    assert!(
        asked.rounds <= rounds,
        "{} rounds of {rounds}",
        asked.rounds
    );
    assert!(asked.reads.len() > 40, "all metadata are in the tails");
    assert!(asked.most_waiting <= 16 * AT_ONCE);
    let stripes = store.run(table.shard().stripes_async()).unwrap();
    let stripe = &stripes[11_999];
    let source = store.run(stripe.properties_async()).unwrap();
    assert_eq!(source.custom_properties[0].name, "source");
    // One stripe of 12,000.
    let found = store.run(ids(&table, Some(col("id").eq(77_777))));
    assert_eq!(found, [77_777]);
    let asked = store.take();
    assert_eq!(names(&asked.reads), BTreeSet::from([name(25).as_ref()]));
    assert!(asked.reads.iter().map(|(_, bytes)| bytes).sum::<u64>() < 10_000);
}

#[test]
fn a_folder_is_opened_without_what_is_no_shard_of_it() {
    let store = store(3, 10, 5);
    block_on(async {
        let below = Path::from("table/below/x.amudai.shard");
        store.put(&below, shard(0..10, 10).into()).await.unwrap();
        let notes = Path::from("table/notes.txt");
        store.put(&notes, "of another kind".into()).await.unwrap();
        let stripe = Path::from("table/5f.amudai.stripe");
        store.put(&stripe, shard(0..10, 10).into()).await.unwrap();
    });
    let folder = Path::from("table");
    let table = ShardSet::open_folder_async(Store::object(store.clone()).at(folder.to_string()));
    let table = store.run(table).unwrap();
    assert_eq!(table.row_ranges(), [0..10, 10..20, 20..30]);
    let listed = block_on(list_shards_async(
        Store::object(store.clone()).at(folder.to_string()),
    ))
    .unwrap();
    let listed: Vec<String> = listed
        .iter()
        .map(|shard| shard.object().unwrap().1.filename().unwrap().to_owned())
        .collect();
    assert_eq!(
        listed[..3],
        [
            "0000.amudai.shard",
            "0001.amudai.shard",
            "0002.amudai.shard"
        ]
    );
    assert_eq!(listed[3..], ["notes.txt"]);
    // If a file that is not a shard is named, it is an error; a damaged shard always is.
    let notes = [name(0), Path::from("table/notes.txt")];
    let error = store.run(ShardSet::open_async(all(&store, notes)));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotAShard);
    let none = Path::from("nowhere");
    let error = store.run(ShardSet::open_folder_async(
        Store::object(store.clone()).at(none.to_string()),
    ));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let mut damaged = shard(0..10, 10);
    let last = damaged.len() - 20;
    damaged[last] ^= 1;
    block_on(store.put(&name(1), damaged.into())).unwrap();
    let error = store.run(ShardSet::open_folder_async(
        Store::object(store.clone()).at(folder.to_string()),
    ));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Checksum);
}

#[test]
fn more_than_a_hundred_shards_in_s3_are_one_table() {
    let Some(moto) = Moto::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let store: Arc<dyn ObjectStore> = Arc::new(moto.store());
    runtime.block_on(async {
        for i in 0..120 {
            let bytes = shard(i * 10..(i + 1) * 10, 5);
            store.put(&name(i), bytes.into()).await.unwrap();
        }
        let folder = Path::from("table");
        let table =
            ShardSet::open_folder_async(Store::object(store.clone()).at(folder.to_string()));
        let table = table.await.unwrap();
        assert_eq!((table.num_rows(), table.shard().num_stripes()), (1200, 240));
        assert_eq!(ids(&table, None).await, (0..1200).collect::<Vec<_>>());
        let some = ids(&table, Some(col("id").between(595, 605))).await;
        assert_eq!(some, (595..=605).collect::<Vec<_>>());
        let taken = table
            .take_async(&[(119, 9), (60, 0)], ["id"])
            .await
            .unwrap();
        assert_eq!(
            taken.column(0).as_primitive::<Int64Type>().values(),
            &[1199, 600]
        );
        // A committed directory of all shards opens as a table, too.
        let all = Path::from("table/all.amudai.shard");
        let mut editor =
            ShardEditor::open_async(Store::object(store.clone()).at(name(0).to_string()))
                .await
                .unwrap();
        editor.append_async(name(119).to_string()).await.unwrap();
        editor.commit_to_async(all.to_string()).await.unwrap();
        let table = ShardSet::open_async([Store::object(store.clone()).at(all.to_string())])
            .await
            .unwrap();
        assert_eq!(table.num_rows(), 20);
    });
}
