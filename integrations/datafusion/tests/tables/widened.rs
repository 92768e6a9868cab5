//! Tables of shards with different types for a column, with the option `unify`.

use crate::common::{FileOptions, query};
use crate::{Place, stripes_of};
use arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, ListArray,
    NullArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Field;
use std::sync::Arc;

const WIDEN: &str = "OPTIONS ('format.unify' 'widen')";

fn batch(columns: [(&str, ArrayRef); 3]) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn write(place: &Place) {
    let batches = [
        batch([
            (
                "n",
                Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as ArrayRef,
            ),
            ("t", Arc::new(NullArray::new(3))),
            ("d", Arc::new(Date32Array::from(vec![0, 1, 2]))),
        ]),
        batch([
            (
                "n",
                Arc::new(Float64Array::from(vec![2.5, 3.0])) as ArrayRef,
            ),
            ("t", Arc::new(StringArray::from(vec![Some("x"), None]))),
            (
                "d",
                Arc::new(TimestampMicrosecondArray::from(vec![1, 86_400_000_000])),
            ),
        ]),
        batch([
            ("n", Arc::new(Int64Array::from(vec![4, 5])) as ArrayRef),
            ("t", Arc::new(StringArray::from(vec!["y", "xy"]))),
            ("d", Arc::new(NullArray::new(2))),
        ]),
    ];
    for (i, batch) in batches.iter().enumerate() {
        place.write(&place.file("t", &i.to_string()), batch, &stripes_of(2));
    }
}

#[tokio::test]
async fn columns_get_the_type_that_holds_the_values_of_all_files() {
    let place = Place::new();
    if place.format.extension() != "shard" {
        return;
    }
    write(&place);
    place.table("t", WIDEN).await;
    let types = "select distinct arrow_typeof(n), arrow_typeof(d) from t";
    let types = place.rows(types).await.join("\n");
    assert!(
        types.contains("Float64") && types.contains("Timestamp(µs)"),
        "{types}"
    );
    for (condition, expected) in [
        ("true", 7),
        ("n = 3", 2),
        ("n < 3", 2),
        ("n <> 3", 4),
        ("n is null", 1),
        ("n in (1, 2.5, 5)", 3),
        ("t like 'x%'", 2),
        ("t is null", 4),
        ("t = 'y' or n = 1", 2),
        ("d = timestamp '1970-01-02'", 2),
        ("d > timestamp '1970-01-01'", 4),
        // 2.5 is rounded to 3.
        ("round(n) = 3", 3),
    ] {
        for pushed in ["true", "false"] {
            let set = format!("set shard.pushdown_filters = {pushed}");
            query(&place.context, &set).await.unwrap();
            let sql = format!("select n, t, d from t where {condition}");
            assert_eq!(place.rows(&sql).await.len(), expected, "{condition}");
            let sql = format!("select count(*) as c from t where {condition}");
            let counted = place.rows(&sql).await.join("\n");
            assert!(
                counted.contains(&expected.to_string()),
                "{condition}: {counted}"
            );
        }
    }
    let bounds = place
        .rows("select min(n), max(n), min(d) from t")
        .await
        .join("\n");
    assert!(bounds.contains("1.0") && bounds.contains("5.0"), "{bounds}");
}

#[tokio::test]
async fn values_that_do_not_fit_and_types_without_a_wider_one_are_errors() {
    let place = Place::new();
    if place.format.extension() != "shard" {
        return;
    }
    write(&place);
    let folder = place.folder("t");
    // DataFusion keeps the list of files of a table.
    let create = |name: &'static str, rest: &'static str| {
        place
            .format
            .create_table(&place.context, name, &folder, rest)
    };
    let error = create("u", "").await.unwrap_err().to_string();
    assert!(error.contains("format.unify"), "{error}");
    let error = create("v", "OPTIONS ('format.unify' 'x')")
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("expected strict or widen"),
        "{error}"
    );

    let big = Int64Array::from(vec![1, (1 << 53) + 1]);
    let big = RecordBatch::try_from_iter([("n", Arc::new(big) as ArrayRef)]).unwrap();
    place.write(&place.file("t", "big"), &big, &FileOptions::default());
    place.table("t", WIDEN).await;
    let error = query(&place.context, "select n from t")
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("big") && error.contains("9007199254740993"),
        "{error}"
    );
    let text = StringArray::from(vec!["text"]);
    let text = RecordBatch::try_from_iter([("n", Arc::new(text) as ArrayRef)]).unwrap();
    place.write(&place.file("t", "text"), &text, &FileOptions::default());
    let error = create("w", WIDEN).await.unwrap_err().to_string();
    assert!(error.contains("text"), "{error}");
}

#[tokio::test]
async fn columns_that_were_declared_are_cast_as_without_the_option() {
    let place = Place::new();
    if place.format.extension() != "shard" {
        return;
    }
    let batches: [[(&str, ArrayRef); 2]; 2] = [
        [
            ("n", Arc::new(StringArray::from(vec!["1", "2"]))),
            ("m", Arc::new(Int32Array::from(vec![1, 2]))),
        ],
        [
            ("n", Arc::new(Int64Array::from(vec![3, 4]))),
            ("m", Arc::new(Float64Array::from(vec![0.5, 1.5]))),
        ],
    ];
    for (i, batch) in batches.into_iter().enumerate() {
        let batch = RecordBatch::try_from_iter(batch).unwrap();
        place.write(&place.file("t", &i.to_string()), &batch, &stripes_of(2));
    }
    let folder = place.folder("t");
    let folder = folder.display();
    let declared = "create external table t (n bigint, m double) stored as shard location";
    let sql = format!("{declared} '{folder}' {WIDEN}");
    query(&place.context, &sql).await.unwrap();
    let sums = place.rows("select sum(n), sum(m) from t").await.join("\n");
    assert!(sums.contains("10") && sums.contains("5.0"), "{sums}");
}

#[tokio::test]
async fn the_order_of_the_files_does_not_matter_and_members_may_differ() {
    let place = Place::new();
    if place.format.extension() != "shard" {
        return;
    }
    let item = |fields: Vec<(&str, ArrayRef)>| -> ArrayRef {
        let members = fields.into_iter().map(|(name, array)| {
            let field = Field::new(name, array.data_type().clone(), true);
            (Arc::new(field), array)
        });
        let items = StructArray::from(members.collect::<Vec<_>>());
        let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(vec![1; items.len()]);
        Arc::new(ListArray::new(field, offsets, Arc::new(items), None))
    };
    let numbers = |numbers: Vec<i32>| Arc::new(Int32Array::from(numbers)) as ArrayRef;
    let decimal = Decimal128Array::from(vec![150]);
    let decimal = decimal.with_precision_and_scale(5, 2).unwrap();
    let columns: [[ArrayRef; 2]; 3] = [
        [numbers(vec![1, 2]), item(vec![("a", numbers(vec![1, 2]))])],
        [
            Arc::new(UInt32Array::from(vec![3])),
            item(vec![("b", numbers(vec![3]))]),
        ],
        [
            Arc::new(decimal),
            item(vec![("a", Arc::new(Float64Array::from(vec![0.5])))]),
        ],
    ];
    for (i, order) in [[0, 1, 2], [2, 1, 0], [1, 2, 0]].iter().enumerate() {
        let name = format!("t{i}");
        for (number, file) in order.iter().enumerate() {
            let [n, l] = columns[*file].clone();
            let batch = RecordBatch::try_from_iter([("n", n), ("l", l)]).unwrap();
            let path = place.file(&name, &number.to_string());
            place.write(&path, &batch, &stripes_of(2));
        }
        place.table(&name, WIDEN).await;
        let sql = format!("select arrow_typeof(n), sum(n), sum(l[1]['a']) from {name} group by 1");
        let found = place.rows(&sql).await.join("\n");
        for part in ["Decimal128(12, 2)", "7.50", "3.5"] {
            assert!(found.contains(part), "{order:?}: {part}: {found}");
        }
    }
}
