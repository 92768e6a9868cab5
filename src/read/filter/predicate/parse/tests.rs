mod literals;

use super::*;
use crate::error::ErrorKind;
use crate::read::{Projection, Shard};
use crate::write::{ShardWriter, WriterOptions};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DurationMillisecondArray, Float32Array,
    Float64Array, Int8Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field};
use std::sync::Arc;

/// Returns a shard with six rows of every type that has its own literals.
fn shard() -> Shard {
    let y = Arc::new(StringArray::from(vec!["p", "q", "r", "s", "t", "u"])) as ArrayRef;
    let point = StructArray::from(vec![(Arc::new(Field::new("y", DataType::Utf8, false)), y)]);
    let names = [
        Some("a"),
        Some("it's"),
        None,
        Some("ab"),
        Some("b%"),
        Some("AND"),
    ];
    let prices = Decimal128Array::from(vec![100, 150, -150, 1_000, 0, 1]);
    // 2024-02-28 and the following days.
    let days = Date32Array::from_iter_values(19_781..19_787);
    let times = TimestampMicrosecondArray::from_iter_values((0..6).map(|i| i * 3_600_000_000));
    let columns: [(&str, ArrayRef); 10] = [
        ("id", Arc::new(Int8Array::from_iter_values(0..6))),
        ("name", Arc::new(StringArray::from_iter(names))),
        (
            "size",
            Arc::new(Float64Array::from(vec![0.5, 1.5, -2.0, 1e9, 0.0, 3.0])),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![
                true, true, false, false, true, false,
            ])),
        ),
        (
            "price",
            Arc::new(prices.with_precision_and_scale(9, 2).unwrap()),
        ),
        ("day", Arc::new(days)),
        ("time", Arc::new(times.with_timezone("+02:00"))),
        (
            "wait",
            Arc::new(DurationMillisecondArray::from_iter_values(0..6)),
        ),
        ("point", Arc::new(point)),
        ("a \"b\".c", Arc::new(Int8Array::from_iter_values(10..16))),
    ];
    of(&RecordBatch::try_from_iter(columns).unwrap())
}

fn of(batch: &RecordBatch) -> Shard {
    let mut file = Vec::new();
    let mut writer =
        ShardWriter::try_new(&mut file, batch.schema(), WriterOptions::default()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    Shard::from_bytes(file.into()).unwrap()
}

/// Returns the numbers of the matching rows.
#[track_caller]
fn rows(filter: &str) -> Vec<u64> {
    let shard = shard();
    let checked = shard.parse_predicate(filter).unwrap();
    let filter: Predicate = filter.parse().unwrap();
    assert_eq!(checked.to_string(), filter.to_string());
    let nothing = Projection::Indices(Vec::new());
    let scan = shard.scan().with_projection(nothing).with_filter(filter);
    let mut rows = Vec::new();
    for batch in scan.with_row_number("row").build().unwrap() {
        let batch = batch.unwrap();
        let numbers = batch["row"]
            .as_any()
            .downcast_ref::<arrow_array::UInt64Array>();
        rows.extend(numbers.unwrap().values());
    }
    rows
}

/// Returns whether the text makes no sense at all, the place of the error, and its message.
#[track_caller]
fn refused(filter: &str) -> (bool, usize, String) {
    let error = shard().parse_predicate(filter).unwrap_err();
    let is_usage = error.kind() == ErrorKind::InvalidArgument;
    let element = error.element();
    let place = element.strip_prefix("character ").unwrap();
    (is_usage, place.parse().unwrap(), error.message().to_owned())
}

#[test]
fn comparisons_are_those_of_the_types() {
    assert_eq!(rows("id = 3"), [3]);
    assert_eq!(rows("id != 3"), [0, 1, 2, 4, 5]);
    assert_eq!(rows("id<>3"), [0, 1, 2, 4, 5]);
    assert_eq!(rows("id<2"), [0, 1]);
    assert_eq!(rows("id <= +2"), [0, 1, 2]);
    assert_eq!(rows("id > -1 AND id>=4"), [4, 5]);
    assert_eq!(rows("name = 'it''s'"), [1]);
    assert_eq!(rows("size > 1.25e0"), [1, 3, 5]);
    assert_eq!(rows("flag = true"), [0, 1, 4]);
    assert_eq!(rows("flag = False"), [2, 3, 5]);
    assert_eq!(rows("price = +1.5"), [1]);
    assert_eq!(rows("price <= 0.01"), [2, 4, 5]);
    assert_eq!(rows("day > '2024-03-01'"), [3, 4, 5]);
    assert_eq!(rows("time = '1970-01-01T02:00:00'"), [0]);
    assert_eq!(rows("time < '1970-01-01T01:30:00Z'"), [0, 1]);
    assert_eq!(rows("wait >= 4"), [4, 5]);
    assert_eq!(rows("point.y = 'q'"), [1]);
}

#[test]
fn functions_of_text_are_tested_like_columns() {
    assert_eq!(rows("lower(name) = 'and'"), [5]);
    assert_eq!(rows("'and' = LOWER(name)"), [5]);
    assert_eq!(rows("upper(name) IN ('AB', 'B%', 'x')"), [3, 4]);
    assert_eq!(rows("length(name) BETWEEN 2 AND 3"), [3, 4, 5]);
    assert_eq!(rows("length(name) > 3.5"), [1]);
    assert_eq!(rows("lower(name) LIKE 'a%'"), [0, 3, 5]);
    assert_eq!(rows("NOT lower(name) LIKE '%n%'"), [0, 1, 3, 4]);
    assert_eq!(rows("lower(name) = name"), [0, 1, 3, 4]);
    assert_eq!(rows("upper(point.y) = 'Q'"), [1]);
    assert_eq!(rows("length(upper(lower(name))) = 4"), [1]);
    assert_eq!(rows("lower(name) IS NULL"), [2]);
    assert_eq!(rows("length(name) IS DISTINCT FROM 4"), [0, 2, 3, 4, 5]);
    let text = "lower(name) = 'x' OR length(\"a \"\"b\"\"\".c) > 3";
    let shown = text.parse::<Predicate>().unwrap().to_string();
    assert_eq!(shown, text);
    let (is_usage, place, message) = refused("lower(id) = 'a'");
    assert!(!is_usage);
    assert_eq!(
        (place, message.as_str()),
        (1, "lower is for text, found Int8")
    );
    let (_, place, message) = refused("length(day) = 1");
    assert_eq!(place, 1);
    assert_eq!(
        message,
        "length is for text and bytes of any length, found Date32"
    );
    let (_, _, message) = refused("length(name) = 'a'");
    assert!(message.contains("Int64"), "{message}");
    assert!(refused("lower(name").0);
    assert!(refused("lower(name, 1) = 2").0);
    let deep = format!("{}name{} = 'a'", "lower(".repeat(5000), ")".repeat(5000));
    assert!(refused(&deep).2.contains("at most 200"));
}

#[test]
fn numbers_that_the_type_does_not_have_are_compared_by_what_they_are() {
    assert!(rows("id = 1.5").is_empty());
    assert_eq!(rows("id < 1.5"), [0, 1]);
    assert_eq!(rows("id < 1000"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(
        rows("id < 18446744073709551615 AND id > -99999999999999999999"),
        [0, 1, 2, 3, 4, 5]
    );
    assert_eq!(rows("price > 1.499999999999999999999"), [1, 3]);
}

#[test]
fn words_of_any_case_test_for_nulls_ranges_members_and_prefixes() {
    assert_eq!(rows("name IS NULL"), [2]);
    assert_eq!(rows("name is not null"), [0, 1, 3, 4, 5]);
    assert_eq!(rows("id IN (1, 4,9)"), [1, 4]);
    assert_eq!(rows("id NOT IN (1, 4)"), [0, 2, 3, 5]);
    assert_eq!(rows("name NOT IN ('a')"), [1, 3, 4, 5]);
    assert_eq!(rows("id between 2 and 3 or id = 5"), [2, 3, 5]);
    assert_eq!(rows("id NOT BETWEEN 2 AND 3"), [0, 1, 4, 5]);
    assert_eq!(rows("name LIKE 'a%'"), [0, 3]);
    assert_eq!(rows("name NOT LIKE 'a%'"), [1, 4, 5]);
    assert_eq!(rows("name LIKE '%'"), [0, 1, 3, 4, 5]);
}

#[test]
fn not_binds_closer_than_and_and_and_closer_than_or() {
    assert_eq!(rows("id = 0 OR id = 1 AND id = 2"), [0]);
    assert_eq!(rows("(id = 0 OR id = 1) AND id <= 1"), [0, 1]);
    assert_eq!(rows("NOT id = 0 AND id < 2"), [1]);
    assert_eq!(rows("NOT (id = 0 OR id > 2)"), [1, 2]);
    assert_eq!(rows("not not ((id = 0))"), [0]);
}

#[test]
fn names_in_quotes_may_be_any_text() {
    assert_eq!(rows("\"id\" = 3"), [3]);
    assert_eq!(rows("\"a \"\"b\"\".c\" > 13"), [4, 5]);
    assert_eq!(rows("\"point\".\"y\" = 'q'"), [1]);
}

#[test]
fn errors_say_where_and_what_was_expected() {
    for (filter, place, what) in [
        ("", 1, "expected a column, NOT or `(`, found the end"),
        (
            "id 5",
            4,
            "expected =, !=, <, <=, >, >=, IS, IN, BETWEEN, LIKE or ILIKE, found `5`",
        ),
        (
            "id = ",
            6,
            "expected a number, 'text', TRUE or FALSE, found the end",
        ),
        (
            "id = 1 AND AND",
            12,
            "expected a column, NOT or `(`, found `AND`",
        ),
        ("id = 1 id", 8, "expected AND, OR or the end, found `id`"),
        ("(id = 1", 8, "expected `)`, found the end"),
        ("id IN 1", 7, "expected `(`, found `1`"),
        ("id IN (1 2)", 10, "expected `,` or `)`, found `2`"),
        (
            "id NOT = 1",
            8,
            "expected IN, BETWEEN, LIKE or ILIKE, found `=`",
        ),
        ("id BETWEEN 1 OR 2", 14, "expected `AND`, found `OR`"),
        (
            "id IS 1",
            7,
            "expected NULL, TRUE, FALSE or DISTINCT FROM, found `1`",
        ),
        ("id IS DISTINCT 1", 16, "expected `FROM`, found `1`"),
        (
            "name = 'ä' OR name = 'x",
            22,
            "expected a ' that ends what begins here",
        ),
        ("id = 1..2", 6, "expected a number, found `1..2`"),
        ("id = 5x", 6, "expected a number, found `5x`"),
        ("id = 1e999", 6, "expected a number, found `1e999`"),
        (
            "id = NULL",
            6,
            "expected a value; IS NULL and IS NOT NULL test for nulls",
        ),
        ("point. = 1", 8, "expected the name of a member, found `=`"),
        ("name LIKE b", 11, "expected a 'text%', found `b`"),
        (
            "wait = 1.5",
            8,
            "expected a whole number of units of ms, found 1.5",
        ),
    ] {
        assert_eq!(refused(filter), (true, place, what.to_owned()), "{filter}");
    }
    let (is_usage, place, what) = refused("id = 1 ; id = 2");
    assert!(
        is_usage && place == 8 && what.ends_with("found `;`"),
        "{what}"
    );
}

#[test]
fn patterns_are_those_of_sql() {
    assert_eq!(rows("name LIKE 'ab'"), [3]);
    assert_eq!(rows("name LIKE '%b%'"), [3, 4]);
    assert_eq!(rows("name LIKE '_b'"), [3]);
    assert_eq!(rows("name NOT LIKE '%b%'"), [0, 1, 5]);
    assert_eq!(rows("name LIKE '%\\%'"), [4]);
    assert_eq!(
        rows("id < 4 AND (name LIKE '%s' OR name LIKE '%b')"),
        [1, 3]
    );
    assert_eq!(rows("name ILIKE 'AB'"), [3]);
    assert_eq!(rows("name ilike 'A%'"), [0, 3, 5]);
    assert_eq!(rows("name NOT ILIKE '%B%'"), [0, 1, 5]);
    let (is_usage, place, what) = refused("name LIKE 'a\\'");
    assert!(is_usage && place == 11 && what.contains('\\'), "{what}");
}

#[test]
fn nulls_are_distinct_from_values_only() {
    assert_eq!(rows("name IS DISTINCT FROM 'a'"), [1, 2, 3, 4, 5]);
    assert_eq!(rows("name IS NOT DISTINCT FROM 'a'"), [0]);
    assert_eq!(rows("name IS DISTINCT FROM NULL"), [0, 1, 3, 4, 5]);
    assert_eq!(rows("name IS NOT DISTINCT FROM null"), [2]);
    assert_eq!(rows("NOT name IS DISTINCT FROM 'a'"), [0]);
    assert_eq!(
        rows("id IS NOT DISTINCT FROM 3 OR id IS NOT DISTINCT FROM 300"),
        [3]
    );
    let columns = [
        ("a", Int8Array::from(vec![Some(1), Some(1), None, None])),
        ("b", Int8Array::from(vec![Some(1), Some(2), Some(1), None])),
    ];
    let columns = columns.map(|(name, values)| (name, Arc::new(values) as ArrayRef));
    let shard = of(&RecordBatch::try_from_iter(columns).unwrap());
    for (filter, want) in [
        ("a IS DISTINCT FROM b", 2),
        ("b IS DISTINCT FROM a", 2),
        ("a IS NOT DISTINCT FROM b", 2),
        ("NOT a IS NOT DISTINCT FROM b", 2),
    ] {
        let scan = shard.scan().with_filter(filter.parse().unwrap());
        let rows: usize = scan.build().unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(rows, want, "{filter}");
    }
    assert_eq!(refused("id IS DISTINCT FROM name").1, 21);
    assert_eq!(refused("id IS DISTINCT FROM 'x'").1, 21);
}

#[test]
fn booleans_stand_alone_and_are_tested_for_truth() {
    assert_eq!(rows("flag"), [0, 1, 4]);
    assert_eq!(rows("NOT flag AND id > 2"), [3, 5]);
    assert_eq!(rows("(flag) OR id = 2"), [0, 1, 2, 4]);
    assert_eq!(rows("flag IS TRUE"), [0, 1, 4]);
    assert_eq!(rows("flag IS NOT TRUE"), [2, 3, 5]);
    assert_eq!(rows("flag is false"), [2, 3, 5]);
    let (is_usage, place, what) = refused("id = 1 OR id");
    assert!(!is_usage && place == 11 && what.contains("Int8"), "{what}");
    let flags = BooleanArray::from(vec![Some(true), None, Some(false)]);
    let shard = of(&RecordBatch::try_from_iter([("flag", Arc::new(flags) as ArrayRef)]).unwrap());
    for (filter, want) in [
        ("flag", 1),
        ("NOT flag", 1),
        ("flag IS NOT TRUE", 2),
        ("flag IS NOT FALSE", 2),
    ] {
        let scan = shard.scan().with_filter(filter.parse().unwrap());
        let rows: usize = scan.build().unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(rows, want, "{filter}");
    }
}

#[test]
fn columns_of_one_kind_are_compared_by_their_values() {
    use arrow_array::{
        BinaryArray, BinaryViewArray, Int64Array, LargeStringArray, StringViewArray, UInt8Array,
        UInt64Array,
    };
    let columns: [(&str, ArrayRef); 10] = [
        (
            "i8",
            Arc::new(Int8Array::from(vec![Some(-1), Some(5), None, Some(7)])),
        ),
        (
            "i64",
            Arc::new(Int64Array::from(vec![i64::MIN, 5, 1, i64::MAX])),
        ),
        ("u8", Arc::new(UInt8Array::from(vec![255, 5, 1, 7]))),
        ("u64", Arc::new(UInt64Array::from(vec![u64::MAX, 5, 1, 0]))),
        (
            "f32",
            Arc::new(Float32Array::from(vec![0.5, -0.0, f32::NAN, 1.0])),
        ),
        (
            "f64",
            Arc::new(Float64Array::from(vec![0.5, 0.0, f64::NAN, 0.1])),
        ),
        (
            "text",
            Arc::new(StringViewArray::from(vec!["a", "b", "c", "d"])),
        ),
        (
            "long",
            Arc::new(LargeStringArray::from(vec!["a", "c", "b", "d"])),
        ),
        (
            "bytes",
            Arc::new(BinaryArray::from(vec![&b"a"[..], b"b", b"c", b"d"])),
        ),
        (
            "views",
            Arc::new(BinaryViewArray::from(vec![&b"a"[..], b"c", b"b", b"d"])),
        ),
    ];
    let shard = of(&RecordBatch::try_from_iter(columns).unwrap());
    for (filter, want) in [
        ("i8 = i64", 1),
        ("i8 > i64", 1),
        ("i64 < u64", 1),
        ("u64 > u8", 1),
        ("u8 = u64", 2),
        ("i8 <> u64", 2),
        ("f32 = f64", 2),
        ("f32 < f64", 1),
        ("text = long", 2),
        ("long > text", 1),
        ("bytes = views", 2),
    ] {
        let scan = shard
            .scan()
            .with_filter(shard.parse_predicate(filter).unwrap());
        let rows: usize = scan.build().unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(rows, want, "{filter}");
    }
    for filter in ["i8 = f64", "text = bytes", "i64 = text"] {
        let error = shard.parse_predicate(filter).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{filter}");
    }
}

#[test]
fn columns_of_one_type_are_compared_with_each_other() {
    assert_eq!(rows("id = id"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(rows("name < point.y"), [0, 1, 3, 4, 5]);
    assert_eq!(rows("id > 3 AND \"a \"\"b\"\".c\" != id"), [4, 5]);
    let filter: Predicate = "id = name".parse().unwrap();
    let error = shard().scan().with_filter(filter).build().unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("`id` is Int8 and `name` is Utf8"), "{error}");
    assert_eq!(refused("id = name").1, 6);
    assert_eq!(refused("point = point").1, 9);
    assert_eq!(refused("id = nam").1, 6);
}

#[test]
fn signs_and_numbers_of_other_languages_are_understood() {
    assert_eq!(rows("id == 3"), [3]);
    assert_eq!(rows("size = .5 OR size > +.9e9"), [0, 3]);
    assert_eq!(rows("size > -.5 AND size < .1"), [4]);
}

#[test]
fn columns_and_values_that_the_shard_has_not_are_named_with_their_place() {
    for (filter, place, what) in [
        ("id = 1 AND nam = 'a'", 12, "did you mean `name`?"),
        ("id = 1 AND point.z = 'a'", 12, "`z`"),
        ("point = 1", 9, "Struct"),
        ("id = 'a'", 6, "Int8"),
        ("name = 5", 8, "Utf8"),
        ("id IN (1, 'a')", 11, "Int8"),
        ("day BETWEEN '2024-02-28' AND 'soon'", 30, "`soon`"),
        ("id LIKE '1%'", 9, "LIKE is for text"),
        ("id ILIKE '1%'", 10, "ILIKE is for text"),
        ("wait = 'long'", 8, "Duration"),
    ] {
        let (is_usage, at, message) = refused(filter);
        assert!(
            !is_usage && at == place && message.contains(what),
            "{filter}: {at}, {message}"
        );
    }
}

#[test]
fn nesting_has_a_limit_and_length_has_none() {
    let nested = |levels| format!("{}id = 1{}", "(".repeat(levels), ")".repeat(levels));
    assert_eq!(rows(&nested(MAX_DEPTH - 1)), [1]);
    let (is_usage, place, what) = refused(&nested(100_000));
    assert!(
        is_usage && place == MAX_DEPTH + 1 && what.contains("200"),
        "{what}"
    );
    assert_eq!(refused(&"NOT ".repeat(100_000)).1, 4 * MAX_DEPTH + 1);
    let long = vec!["id = 1"; 500].join(" OR ");
    assert_eq!(rows(&long), [1]);
}

#[test]
fn numbers_compare_exactly_with_integers_and_as_nearest_with_floats() {
    let large = 9_007_199_254_740_992i64;
    let columns: [(&str, ArrayRef); 4] = [
        ("h", Arc::new(Float32Array::from(vec![0.1, f32::INFINITY]))),
        (
            "i",
            Arc::new(arrow_array::Int64Array::from(vec![large, large + 1])),
        ),
        ("f", Arc::new(Float64Array::from(vec![0.1, 1e300]))),
        (
            "d",
            Arc::new(DurationMillisecondArray::from(vec![i64::MAX, 5])),
        ),
    ];
    let shard = of(&RecordBatch::try_from_iter(columns).unwrap());
    for (filter, expected) in [
        ("i = 9007199254740993.0", 1),
        ("i = 9.007199254740992e15", 1),
        ("i = 9007199254740992.5", 0),
        ("i < 9007199254740992.5", 1),
        ("i < 1e300 AND i > -1e300", 2),
        ("i > 1e-300", 2),
        ("f = 0.1", 1),
        ("h = 0.1 AND h <= 0.1 AND h >= 0.1", 1),
        ("h IN (0.1)", 1),
        ("h <> 0.1", 1),
        ("h = 1e39", 0),
        ("h > 1e39", 1),
        ("f = 0.10", 1),
        ("f >= 1e300", 1),
        ("d = 5.0", 1),
        ("d < 99999999999999999999", 2),
    ] {
        let filter: Predicate = filter.parse().unwrap();
        let rows: usize = shard
            .scan()
            .with_filter(filter.clone())
            .build()
            .unwrap()
            .map(|batch| batch.unwrap().num_rows())
            .sum();
        assert_eq!(rows, expected, "{filter}");
    }
}

#[test]
fn text_says_what_it_means_of_a_literal() {
    use DataType::*;
    let wait = Duration(arrow_schema::TimeUnit::Second);
    let code = Dictionary(Box::new(Int8), Box::new(Utf8));
    for (text, data_type, shown) in [
        ("12", &Int8, "12"),
        ("1.50", &Decimal64(9, 2), "1.50"),
        ("1e2", &UInt16, "100"),
        ("0.1", &Float32, "0.1"),
        ("nan", &Float64, "'NaN'"),
        ("true", &Boolean, "true"),
        ("2024-02-29", &Date32, "DATE '2024-02-29'"),
        ("7", &wait, "PT7S"),
        ("it's", &code, "'it''s'"),
    ] {
        let literal = Literal::parse(text, data_type).unwrap();
        assert_eq!(literal.to_string(), shown, "{text} as {data_type}");
    }
    for (text, data_type) in [
        ("128", &Int8),
        ("1.5", &Int64),
        ("1.505", &Decimal64(9, 2)),
        ("yes", &Boolean),
        ("1", &Time64(arrow_schema::TimeUnit::Nanosecond)),
        ("2024-02-29T12:00:00", &Date32),
        ("1.5", &wait),
        ("x", &Struct(arrow_schema::Fields::empty())),
    ] {
        let error = Literal::parse(text, data_type).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let message = error.message();
        assert!(message.contains(text), "{message}");
        assert!(message.contains(&data_type.to_string()), "{message}");
    }
}
