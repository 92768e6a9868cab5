//! Properties of the generated table.

use super::site::{RANK_OF_QUERIES, Site};
use super::skew::hash;
use super::visitor::user_id;
use super::words::Words;
use super::{BATCH_ROWS, DELAY, Hits};
use crate::queries;
use crate::tables::Tables;
use arrow::array::{AsArray, RecordBatch, RecordBatchReader};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Int64Type, TimeUnit, TimestampMicrosecondType};
use datafusion::prelude::SessionContext;
use std::collections::{HashMap, HashSet};

const ROWS: usize = 100_000;

fn table(rows: usize, seed: u64) -> RecordBatch {
    let hits = Hits::new(rows, seed);
    let schema = hits.schema();
    let batches: Vec<RecordBatch> = hits.map(Result::unwrap).collect();
    assert!(batches.iter().all(|batch| batch.num_rows() <= BATCH_ROWS));
    concat_batches(&schema, &batches).unwrap()
}

fn texts<'a>(table: &'a RecordBatch, name: &str) -> impl Iterator<Item = &'a str> {
    let column = table.column_by_name(name).unwrap().as_string_view();
    column.iter().map(Option::unwrap)
}

fn longs<'a>(table: &'a RecordBatch, name: &str) -> &'a [i64] {
    let column = table.column_by_name(name).unwrap();
    column.as_primitive::<Int64Type>().values()
}

#[test]
fn the_schema_has_the_published_columns() {
    let schema = Hits::new(1, 1).schema();
    let fields = schema.fields();
    assert_eq!(fields.len(), 105);
    let names: HashSet<&String> = fields.iter().map(|field| field.name()).collect();
    assert_eq!(names.len(), 105);
    assert!(fields.iter().all(|field| !field.is_nullable()));
    let count = |data_type: DataType| {
        let fields = fields.iter();
        fields.filter(|f| *f.data_type() == data_type).count()
    };
    assert_eq!(count(DataType::Int16), 48);
    assert_eq!(count(DataType::Int32), 19);
    assert_eq!(count(DataType::Int64), 6);
    assert_eq!(count(DataType::Utf8View), 28);
    assert_eq!(count(DataType::Timestamp(TimeUnit::Microsecond, None)), 3);
    assert_eq!(count(DataType::Date32), 1);
}

#[test]
fn equal_seeds_make_equal_rows() {
    let rows = 3 * BATCH_ROWS / 2;
    let first = table(rows, 7);
    assert_eq!(first.num_rows(), rows);
    assert_eq!(first, table(rows, 7));
    assert_ne!(first, table(rows, 8));
}

#[test]
fn shares_of_empty_texts_are_near_those_of_the_real_table() {
    let table = table(ROWS, 1);
    let shares = [
        ("SearchPhrase", 0.85..0.87),
        ("Title", 0.05..0.15),
        ("URL", 0.0..0.001),
        ("Referer", 0.1..0.2),
        ("MobilePhoneModel", 0.93..0.96),
        ("Params", 0.95..0.99),
        ("OriginalURL", 0.9..0.97),
        ("SocialNetwork", 0.998..1.0),
        ("UTMSource", 0.99..1.0),
        ("OpenstatServiceName", 0.998..1.0),
        ("ParamOrderID", 0.998..1.0),
    ];
    for (name, bounds) in shares {
        let empty = texts(&table, name).filter(|text| text.is_empty()).count();
        let share = empty as f64 / ROWS as f64;
        assert!(bounds.contains(&share), "{name}: {share}");
    }
}

#[test]
fn rows_of_a_user_are_close() {
    let table = table(ROWS, 1);
    let mut last = HashMap::new();
    let mut gaps = Vec::new();
    for (row, user) in longs(&table, "UserID").iter().enumerate() {
        gaps.extend(last.insert(user, row).map(|last| row - last));
    }
    let close = gaps.iter().filter(|gap| **gap <= 500).count();
    assert!(close as f64 > 0.85 * gaps.len() as f64);
    let adjacent = gaps.iter().filter(|gap| **gap == 1).count();
    assert!((adjacent as f64) < 0.5 * gaps.len() as f64);
    let users = last.len() as f64 / ROWS as f64;
    assert!((0.1..0.2).contains(&users), "{users}");
}

#[test]
fn times_are_nearly_sorted() {
    let table = table(ROWS, 1);
    let column = table.column_by_name("EventTime").unwrap();
    let times = column.as_primitive::<TimestampMicrosecondType>().values();
    let mut latest = 0;
    for time in times {
        latest = latest.max(*time);
        assert!(latest - time <= DELAY as i64 * 1_000_000);
    }
    assert!(!times.is_sorted());
}

#[test]
fn texts_and_hashes_are_skewed() {
    let table = table(ROWS, 1);
    for name in ["URL", "Title", "Referer"] {
        let mut counts = HashMap::new();
        for text in texts(&table, name) {
            *counts.entry(text).or_insert(0) += 1;
        }
        assert!(counts.values().max() > Some(&(ROWS / 100)), "{name}");
        assert!(counts.len() > ROWS / 20, "{name}: {}", counts.len());
        assert!(counts.len() < ROWS / 2, "{name}: {}", counts.len());
    }
    for (text, hashes) in [("URL", "URLHash"), ("Referer", "RefererHash")] {
        let hashes = longs(&table, hashes).iter();
        assert!(texts(&table, text).map(hash).eq(hashes.copied()));
    }
}

#[test]
fn queries_name_a_user_and_a_page_that_exist() {
    let words = Words::new();
    let home = Site::new(RANK_OF_QUERIES, 100, &words).url(0, &words);
    let home = format!("Hash\" = {}\n", hash(&home));
    let user = format!("\"UserID\" = {}", user_id(1000));
    let queries = queries::chosen(&[Tables::Hits], &[]);
    let count = |text: &str| {
        let queries = queries.iter();
        queries.filter(|query| query.sql.contains(text)).count()
    };
    assert_eq!((count(&home), count(&user)), (2, 1));
}

#[test]
fn all_queries_run() {
    let queries = queries::chosen(&[Tables::Hits], &[]);
    assert_eq!(queries.len(), 43);
    let session = SessionContext::new();
    session.register_batch("hits", table(20_000, 1)).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for query in queries {
        let answer = async { session.sql(query.sql).await?.collect().await };
        let answer = runtime.block_on(answer);
        assert!(answer.is_ok(), "{}: {answer:?}", query.name);
    }
}
