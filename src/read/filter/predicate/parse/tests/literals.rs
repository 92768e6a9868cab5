//! Literals in text: their places, and the forms of each type.

use super::*;

#[test]
fn a_literal_may_come_first() {
    assert_eq!(rows("3 = id"), [3]);
    assert_eq!(rows("3 <> id"), [0, 1, 2, 4, 5]);
    assert_eq!(rows("1 >= id AND -1 < id"), [0, 1]);
    assert_eq!(rows("4 <= id OR 1 > id"), [0, 4, 5]);
    assert_eq!(rows("'ab' = name OR FALSE < flag AND 1.0 <= size"), [1, 3]);
    assert_eq!(rows("NOT ('2024-03-01' >= day)"), [3, 4, 5]);
    for (filter, place, what) in [
        ("1 id", 3, "expected =, !=, <, <=, > or >=, found `id`"),
        (
            "1 = 1",
            5,
            "expected a column on one side of a comparison, found `1`",
        ),
        ("TRUE", 5, "expected =, !=, <, <=, > or >=, found the end"),
        (
            "NULL = id",
            1,
            "expected a value; IS NULL and IS NOT NULL test for nulls",
        ),
        ("1 < id < 3", 8, "expected AND, OR or the end, found `<`"),
    ] {
        assert_eq!(refused(filter), (true, place, what.to_owned()), "{filter}");
    }
    let (is_usage, place, what) = refused("id = 1 OR 'a' = id");
    assert!(!is_usage && place == 11 && what.contains("Int8"), "{what}");
}

#[test]
fn a_null_in_a_list_leaves_it_unknown_whether_other_values_are_in_it() {
    assert_eq!(rows("id IN (1, NULL)"), [1]);
    assert!(rows("id NOT IN (1, null)").is_empty());
    assert!(rows("id IN (NULL) OR NOT id IN (NULL)").is_empty());
    assert_eq!(rows("id IN (NULL) OR name IN (NULL, 'a')"), [0]);
    assert_eq!(rows("NOT (id NOT IN (1, NULL))"), [1]);
    assert_eq!(refused("point IN (NULL)").1, 11);
}

#[test]
fn dates_times_and_bytes_may_be_written_as_such() {
    assert_eq!(rows("day = DATE '2024-02-29'"), [1]);
    assert_eq!(
        rows("DATE '2024-02-29' < day and day<date '2024-03-02'"),
        [2]
    );
    assert_eq!(rows("time = TIMESTAMP '1970-01-01 02:00:00'"), [0]);
    assert_eq!(rows("time < timestamp '1970-01-01T01:30:00Z'"), [0, 1]);
    assert_eq!(rows("time >= DATE '1970-01-01'"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(rows("day IN (DATE '2024-02-28', NULL)"), [0]);
    for (filter, place, what) in [
        (
            "day = DATE 'soon'",
            12,
            "expected DATE '2024-02-29', found 'soon'",
        ),
        (
            "day = DATE '2024-02-29 12:00:00'",
            12,
            "expected DATE '2024-02-29', found '2024-02-29 12:00:00'",
        ),
        (
            "id = x'0'",
            6,
            "expected two hexadecimal digits for each byte, found x'0'",
        ),
        (
            "id = X'0g'",
            6,
            "expected two hexadecimal digits for each byte, found x'0g'",
        ),
    ] {
        assert_eq!(refused(filter), (true, place, what.to_owned()), "{filter}");
    }
    let (_, place, what) = refused("name > DATE '2024-02-29'");
    assert_eq!(place, 8);
    assert_eq!(what, "a column of type Utf8 cannot be compared with a DATE");
    // Columns may have the same names as the keywords.
    let days: ArrayRef = Arc::new(Date32Array::from(vec![19_781, 19_782]));
    let bytes: ArrayRef = Arc::new(arrow_array::BinaryArray::from(vec![&b"a\0"[..], b"b"]));
    let batch = RecordBatch::try_from_iter([("date", days.clone()), ("time", days), ("x", bytes)]);
    let shard = of(&batch.unwrap());
    for (filter, want) in [
        ("date = time AND date >= DATE '2024-02-29'", 1),
        ("date > '2024-02-28' OR time = date", 2),
        ("x = x'6100'", 1),
        ("X'61ff' > x", 1),
    ] {
        let filter = shard.parse_predicate(filter).unwrap();
        let again: Predicate = filter.to_string().parse().unwrap();
        assert_eq!(again.to_string(), filter.to_string());
        let scan = shard.scan().with_filter(again);
        let rows: usize = scan.build().unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(rows, want, "{filter}");
    }
}

#[test]
fn dates_and_times_without_quotes_are_told_to_have_some() {
    for (filter, place, written) in [
        ("day >= 2024-02-28", 8, "2024-02-28"),
        ("id = 1 AND 2024-02-28 < day", 12, "2024-02-28"),
        ("time > 2024-02-28T12:30:00Z", 8, "2024-02-28T12:30:00Z"),
        ("time > 2024-02-28 12:30:00", 8, "2024-02-28"),
        ("time > 12:30", 8, "12:30"),
        ("id IN (9:30:00.5)", 8, "9:30:00.5"),
    ] {
        let what = format!("expected dates and times in single quotes: write '{written}'");
        assert_eq!(refused(filter), (true, place, what), "{filter}");
    }
    for (filter, advice) in [
        ("day >= 20240228", "'2024-02-29'"),
        ("time >= 5", "'2024-02-29 12:30:00'"),
        ("name = 5", "in quotes"),
        ("id = '5'", "without quotes"),
        ("id = \"5\"", "put text in single quotes"),
        ("size = NaN", "put NaN and Infinity in single quotes"),
    ] {
        let (is_usage, _, message) = refused(filter);
        assert!(!is_usage && message.contains(advice), "{filter}: {message}");
    }
    // With its causes, an error does not name the filters that were made to check the parts of the text.
    for filter in ["nope = 1", "id = 'x'"] {
        let error = shard().parse_predicate(filter).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("character"), "{text}");
        assert!(
            !text.contains("IS NULL") && !text.contains("filter"),
            "{text}"
        );
    }
}

#[test]
fn nan_and_infinities_are_written_as_text() {
    let values = [
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
    ];
    let columns: [(&str, ArrayRef); 2] = [
        ("f", Arc::new(Float64Array::from(values.to_vec()))),
        (
            "h",
            Arc::new(
                arrow_cast::cast(&Float64Array::from(values.to_vec()), &DataType::Float16).unwrap(),
            ),
        ),
    ];
    let shard = of(&RecordBatch::try_from_iter(columns).unwrap());
    for column in ["f", "h"] {
        for (filter, want) in [
            (" = 'NaN'", 1),
            (" = '-nan'", 1),
            (" > 'Infinity'", 1),
            (" IN ('-INF', '+inf')", 2),
            (" BETWEEN '-Infinity' AND 'Infinity'", 4),
            (" >= 0", 3),
            (" = -0.0", 1),
        ] {
            let filter = shard.parse_predicate(&format!("{column}{filter}")).unwrap();
            let again: Predicate = filter.to_string().parse().unwrap();
            let scan = shard.scan().with_filter(again);
            let rows: usize = scan.build().unwrap().map(|b| b.unwrap().num_rows()).sum();
            assert_eq!(rows, want, "{filter}");
        }
        let error = shard
            .parse_predicate(&format!("{column} = 'none'"))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    }
}
