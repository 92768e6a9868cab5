//! Tables of files that differ in columns, in types, and in the order of columns.

use crate::common::{FileOptions, query, sorted_rows};
use crate::{Place, stripes_of};
use arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Fields, Schema};
use std::sync::Arc;

fn structs(members: Vec<(&str, ArrayRef)>, nulls: &[bool]) -> ArrayRef {
    let fields: Fields = members
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let members = members.into_iter().map(|(_, array)| array).collect();
    Arc::new(StructArray::new(
        fields,
        members,
        Some(NullBuffer::from(nulls)),
    ))
}

fn nullable(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<_> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let columns = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// Creates a table of files that each store the columns in different types, and a second table with the expected
/// values.
async fn place() -> Place {
    let place = Place::new();
    let files = [
        nullable(vec![
            ("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef),
            (
                "a",
                Arc::new(Int32Array::from(vec![Some(1), None, Some(7)])),
            ),
            (
                "b",
                Arc::new(StringArray::from(vec![Some("x"), Some("y"), None])),
            ),
            (
                "s",
                structs(
                    vec![
                        (
                            "x",
                            Arc::new(Int32Array::from(vec![Some(10), Some(20), None])),
                        ),
                        ("y", Arc::new(StringArray::from(vec!["p", "q", "r"]))),
                    ],
                    &[true, false, true],
                ),
            ),
        ]),
        nullable(vec![
            (
                "b",
                Arc::new(StringArray::from(vec!["x", "z", "y"])) as ArrayRef,
            ),
            (
                "a",
                Arc::new(Int64Array::from(vec![Some(7), Some(1 << 40), None])),
            ),
            ("id", Arc::new(Int64Array::from(vec![4, 5, 6]))),
        ]),
        nullable(vec![
            (
                "s",
                structs(
                    vec![
                        ("z", Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5]))),
                        (
                            "y",
                            Arc::new(StringArray::from(vec![None, Some("q"), Some("p")])),
                        ),
                    ],
                    &[true, true, false],
                ),
            ),
            ("id", Arc::new(Int32Array::from(vec![7, 8, 9]))),
            ("extra", Arc::new(Int32Array::from(vec![0, 0, 0]))),
            ("a", Arc::new(Int32Array::from(vec![7, 8, 9]))),
        ]),
    ];
    for (number, batch) in files.iter().enumerate() {
        let path = place.file("t", &number.to_string());
        place.write(&path, batch, &stripes_of(2));
    }
    let columns = "id BIGINT, a BIGINT, b VARCHAR, s STRUCT<x INT, y VARCHAR, z DOUBLE>";
    let create = format!(
        "CREATE EXTERNAL TABLE t ({columns}) STORED AS {} LOCATION '{}/'",
        place.format.name(),
        place.folder("t").display()
    );
    query(&place.context, &create).await.unwrap();
    let null = "CAST(NULL AS STRUCT<x INT, y VARCHAR, z DOUBLE>)";
    let row = |id: u32, a: &str, b: &str, s: &str| {
        let s = match s {
            "" => null.to_owned(),
            s => format!("CAST({{{s}}} AS STRUCT<x INT, y VARCHAR, z DOUBLE>)"),
        };
        format!(
            "SELECT CAST({id} AS BIGINT) AS id, CAST({a} AS BIGINT) AS a, CAST({b} AS VARCHAR) AS b, {s} AS s"
        )
    };
    let rows = [
        row(1, "1", "'x'", "x: 10, y: 'p', z: NULL"),
        row(2, "NULL", "'y'", ""),
        row(3, "7", "NULL", "x: NULL, y: 'r', z: NULL"),
        row(4, "7", "'x'", ""),
        row(5, "1099511627776", "'z'", ""),
        row(6, "NULL", "'y'", ""),
        row(7, "7", "NULL", "x: NULL, y: NULL, z: 0.5"),
        row(8, "8", "NULL", "x: NULL, y: 'q', z: 1.5"),
        row(9, "9", "NULL", ""),
    ];
    let create = format!("CREATE TABLE meant AS {}", rows.join(" UNION ALL "));
    query(&place.context, &create).await.unwrap();
    place
}

const FILTERS: [&str; 26] = [
    "TRUE",
    "a = 7",
    "a > 7",
    "a > 2147483648",
    "a IS NULL",
    "b IS NULL",
    "b = 'x'",
    "b <> 'x'",
    "b = 'x' OR a = 7",
    "b IS NULL AND a > 7",
    "NOT (b = 'x')",
    "b IS DISTINCT FROM 'x'",
    "coalesce(b, 'none') = 'none'",
    "s IS NULL",
    "s IS NOT NULL",
    "s['x'] IS NULL",
    "s['x'] = 10",
    "s['x'] > 5 OR s['z'] > 1",
    "s['y'] = 'q'",
    "s['y'] IN ('p', 'r')",
    "s['z'] IS NULL AND s['y'] IS NOT NULL",
    "s['z'] < 1",
    "length(s['y']) = 1",
    "a % 2 = 1",
    "id IN (2, 5, 8) AND b IS NOT NULL",
    "abs(a) = 7 AND coalesce(s['z'], 9) < 10",
];

#[tokio::test]
async fn every_filter_holds_in_every_file() {
    let place = place().await;
    for pushdown in [true, false] {
        for option in ["pushdown_filters", "pruning"] {
            let set = format!("SET shard.{option} = {pushdown}");
            query(&place.context, &set).await.unwrap();
        }
        for filter in FILTERS {
            for columns in [
                "*",
                "id",
                "s['y'], b",
                "s['x'], s['z'], id",
                "count(*)",
                "sum(a), min(b)",
            ] {
                let of = |table: &str| format!("SELECT {columns} FROM {table} WHERE {filter}");
                let (rows, meant) = (place.rows(&of("t")).await, place.rows(&of("meant")).await);
                assert_eq!(rows, meant, "{columns} where {filter}, pushdown {pushdown}");
            }
        }
    }
}

#[tokio::test]
async fn columns_that_only_some_files_have_are_inferred() {
    let place = Place::new();
    let first = nullable(vec![(
        "id",
        Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef,
    )]);
    let second = nullable(vec![
        (
            "name",
            Arc::new(StringArray::from(vec!["x", "y"])) as ArrayRef,
        ),
        ("id", Arc::new(Int64Array::from(vec![3, 4]))),
    ]);
    place.write(&place.file("t", "1"), &first, &FileOptions::default());
    place.write(&place.file("t", "2"), &second, &FileOptions::default());
    place.table("t", "").await;
    assert_eq!(
        place.ordered("SELECT id, name FROM t ORDER BY id").await,
        ["1|NULL", "2|NULL", "3|x", "4|y"]
    );
    assert_eq!(
        place.rows("SELECT id FROM t WHERE name IS NULL").await,
        ["1", "2"]
    );
    assert_eq!(
        place
            .rows("SELECT count(name), count(*), min(name) FROM t")
            .await,
        ["2|4|x"]
    );
    assert_eq!(place.rows("SELECT id FROM t WHERE name > 'x'").await, ["4"]);
}

#[tokio::test]
async fn types_that_cannot_be_one_are_named() {
    let place = Place::new();
    let number = nullable(vec![("v", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    let text = nullable(vec![(
        "v",
        Arc::new(StringArray::from(vec!["x"])) as ArrayRef,
    )]);
    place.write(&place.file("t", "1"), &number, &FileOptions::default());
    place.write(&place.file("t", "2"), &text, &FileOptions::default());
    let folder = place.folder("t");
    let created = place
        .format
        .create_table(&place.context, "t", &folder, "")
        .await;
    let message = created.unwrap_err().to_string();
    assert!(
        message.contains("Int64") && message.contains("Utf8"),
        "{message}"
    );
}

#[tokio::test]
async fn a_column_is_compared_with_the_partition_of_its_file() {
    let place = Place::new();
    for (partition, names) in [("x", ["x", "y"]), ("y", ["x", "z"])] {
        let batch = nullable(vec![(
            "name",
            Arc::new(StringArray::from(names.to_vec())) as ArrayRef,
        )]);
        let folder = place.folder("t").join(format!("p={partition}"));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("1.{}", place.format.extension()));
        place.write(&path, &batch, &FileOptions::default());
    }
    place.table("t", "PARTITIONED BY (p)").await;
    assert_eq!(
        place.rows("SELECT p, name FROM t WHERE name = p").await,
        ["x|x"]
    );
    assert_eq!(
        place.rows("SELECT p, name FROM t WHERE name > p").await,
        ["x|y", "y|z"]
    );
    assert_eq!(
        place
            .rows("SELECT name FROM t WHERE p = 'y' AND name <> 'z'")
            .await,
        ["x"]
    );
    assert_eq!(
        place.rows("SELECT p, count(*) FROM t GROUP BY p").await,
        ["x|2", "y|2"]
    );
    assert_eq!(place.rows("SELECT DISTINCT p FROM t").await, ["x", "y"]);
    let batches = query(&place.context, "SELECT p || name AS both FROM t")
        .await
        .unwrap();
    assert_eq!(sorted_rows(&batches), ["xx", "xy", "yx", "yz"]);
}

#[tokio::test]
async fn a_column_that_is_never_null_is_where_a_file_lacks_it() {
    let place = Place::new();
    let ids = |ids: &[i64]| Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef;
    let names = |names: &[&str]| Arc::new(StringArray::from(names.to_vec())) as ArrayRef;
    let member = |name: &str| Field::new(name, arrow::datatypes::DataType::Int64, false);
    let of = |members: Vec<(&str, ArrayRef)>| {
        let members = members.into_iter();
        let members = members.map(|(name, array)| (Arc::new(member(name)), array));
        Arc::new(StructArray::from(members.collect::<Vec<_>>())) as ArrayRef
    };
    let files = [
        vec![
            ("id", ids(&[1, 2])),
            ("name", names(&["x", "y"])),
            ("s", of(vec![("a", ids(&[5, 6])), ("b", ids(&[7, 8]))])),
        ],
        vec![("id", ids(&[3])), ("s", of(vec![("b", ids(&[9]))]))],
        vec![
            ("name", names(&["z"])),
            ("id", ids(&[4])),
            ("s", of(vec![("b", ids(&[0]))])),
        ],
    ];
    for (i, columns) in files.into_iter().enumerate() {
        // Columns without nulls are not nullable.
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        place.write(&place.file("t", &i.to_string()), &batch, &stripes_of(10));
    }
    place.table("t", "").await;
    assert_eq!(
        place.rows("SELECT id, name FROM t").await,
        ["1|x", "2|y", "3|NULL", "4|z"]
    );
    assert_eq!(
        place.rows("SELECT id FROM t WHERE name IS NULL").await,
        ["3"]
    );
    assert_eq!(
        place.rows("SELECT id, s['a'], s['b'] FROM t").await,
        ["1|5|7", "2|6|8", "3|NULL|9", "4|NULL|0"]
    );
}
