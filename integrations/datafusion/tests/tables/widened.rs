//! Tables of shards with different types for a column, with the option `unify`.

use crate::common::{FileOptions, query};
use crate::{Place, stripes_of};
use arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int32Array, Int64Array, NullArray, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
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
