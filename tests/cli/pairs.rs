//! Converts between all pairs of formats, with every Arrow type: a direct conversion returns the same data, or the same
//! error, as a conversion through an Arrow IPC file.

use super::matrix::{columns, table};
use super::odd;
use super::{Folder, NAMES, read_ipc, write_ipc_batches};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use std::sync::Arc;

/// Returns the columns as `c0`, `c1` and so on, in batches that begin at different values.
fn batches(columns: Vec<ArrayRef>) -> Vec<RecordBatch> {
    let columns = columns.into_iter().enumerate();
    let columns = columns.map(|(i, column)| (format!("c{i}"), column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    vec![batch.clone(), batch.slice(1, 2), batch.slice(0, 1), batch]
}

fn names(batch: &RecordBatch) -> Vec<String> {
    let schema = batch.schema();
    let names = schema.fields().iter().map(|field| field.name().clone());
    names.collect()
}

/// Converts the columns that the output supports. Returns the names and errors of the other columns, in order.
fn convert(folder: &Folder, from: &str, to: &str, all: &[String]) -> Vec<(String, String)> {
    let mut left = all.to_vec();
    let mut refused = Vec::new();
    let before = folder.names();
    loop {
        let chosen = left.join(",");
        let mut arguments = vec!["convert", "--quiet", "--columns", &chosen, from, to];
        if to.ends_with(".shard") {
            arguments.extend(["--stripe-rows", "2"]);
        }
        let done = folder.run(&arguments);
        if done.code == 0 {
            return refused;
        }
        let error = done.error(1);
        let name = error.split('`').nth(1).unwrap_or_default().to_owned();
        let said = format!("column `{name}` is ");
        assert!(
            error.contains(&said) && error.contains(" cannot hold ("),
            "{from} to {to}: {error}"
        );
        assert_eq!(folder.names(), before, "{from} to {to}: {error}");
        let count = left.len();
        left.retain(|column| *column != name);
        assert!(
            left.len() < count && !left.is_empty(),
            "{from} to {to}: {error}"
        );
        refused.push((name, error));
    }
}

/// Converts a file to an IPC file, and returns its rows.
fn read(folder: &Folder, from: &str) -> RecordBatch {
    folder
        .run(&["convert", "--quiet", "--force", from, "read.arrow"])
        .ok();
    read_ipc(&folder.path("read.arrow"))
}

/// Returns whether columns have the same type and values. NaN does not equal itself in Arrow, and a null of a
/// dictionary may be a null key or a null entry, so both need special treatment.
fn are_same(found: &ArrayRef, want: &ArrayRef) -> bool {
    let plain = |column: &ArrayRef| match column.data_type() {
        DataType::Dictionary(_, value) => cast(column, value).unwrap(),
        _ => column.clone(),
    };
    let types = [found, want].map(Array::data_type);
    let [found, want] = [found, want].map(plain);
    types[0] == types[1] && (*found == *want || format!("{found:?}") == format!("{want:?}"))
}

#[track_caller]
fn assert_same(found: &RecordBatch, want: &RecordBatch, place: &str) {
    assert_eq!(found.schema(), want.schema(), "{place}");
    for (name, column) in names(want).iter().zip(want.columns()) {
        let found = found.column_by_name(name).unwrap();
        assert!(
            are_same(found, column),
            "{place}, {name}: {found:?} and not {column:?}"
        );
    }
    assert_eq!(found.num_rows(), want.num_rows(), "{place}");
}

/// Returns whether the format preserves all values that it accepts.
fn is_lossless(file: &str) -> bool {
    !file.ends_with(".csv") && !file.ends_with(".ndjson")
}

/// Returns the column as a lossless format returns it: Parquet has no run-end encoding.
fn kept(column: &ArrayRef, file: &str) -> ArrayRef {
    match column.data_type() {
        DataType::RunEndEncoded(_, values) if file.ends_with(".parquet") => {
            cast(column, values.data_type()).unwrap()
        }
        _ => column.clone(),
    }
}

/// Checks the columns of a file in a lossless format.
fn assert_kept(found: &RecordBatch, want: &RecordBatch, file: &str, place: &str) {
    for (name, column) in names(found).iter().zip(found.columns()) {
        let want = kept(want.column_by_name(name).unwrap(), file);
        assert!(
            are_same(column, &want),
            "{place}, {name}: {column:?} and not {want:?}"
        );
    }
    assert_eq!(found.num_rows(), want.num_rows(), "{place}");
}

/// Returns the entry of the docs for a column in the format of a file.
fn said(ordinal: usize, file: &str) -> String {
    let cells = table().lines().nth(ordinal + 2).unwrap().split(" | ");
    let cells: Vec<_> = cells.map(|cell| cell.trim_matches(['|', ' '])).collect();
    let place = match file {
        "t.shard" => 1,
        "t.parquet" => 2,
        "t.arrows" => 3,
        "t.csv" => 4,
        "t.ndjson" => 5,
        _ => 0,
    };
    match cells[place] {
        "same" => cells[0].to_owned(),
        other => other.to_owned(),
    }
}

/// Checks that the columns are the documented ones.
fn assert_documented(first: &RecordBatch, all: &RecordBatch, from: &str) {
    for (i, name) in names(all).iter().enumerate() {
        let found = match first.column_by_name(name) {
            Some(column) => column.data_type().to_string(),
            None => "–".to_owned(),
        };
        assert_eq!(found, said(i, from), "{from}, {name}");
    }
}

/// Checks that texts, numbers, dates and instants survive CSV and NDJSON, in any type, except for values that these
/// formats cannot represent.
fn assert_readable(first: &RecordBatch, all: &RecordBatch, from: &str) {
    let mut looked = 0;
    for (name, want) in names(all).iter().zip(all.columns()) {
        let Some(found) = first.column_by_name(name) else {
            continue;
        };
        let want: ArrayRef = match want.data_type() {
            DataType::Utf8 if from.ends_with(".csv") => {
                let texts = want.as_string::<i32>().iter();
                let texts = texts.map(|text| text.filter(|text| !text.is_empty()));
                Arc::new(texts.collect::<StringArray>())
            }
            DataType::Float64 if from.ends_with(".ndjson") => {
                let numbers = want.as_primitive::<Float64Type>().iter();
                let numbers = numbers.map(|number| number.filter(|number| number.is_finite()));
                Arc::new(numbers.collect::<Float64Array>())
            }
            DataType::Utf8 | DataType::Float64 | DataType::Int64 | DataType::UInt64 => want.clone(),
            DataType::Date32 | DataType::Timestamp(..) => want.clone(),
            _ => continue,
        };
        looked += 1;
        let found = cast(found, want.data_type()).unwrap();
        // The debug output distinguishes -0.0 from 0.0.
        assert_eq!(format!("{found:?}"), format!("{want:?}"), "{from}, {name}");
    }
    assert!(looked > 15, "{looked}");
}

/// Checks that a column alone in a file has the same values as among others, including rows of only nulls.
fn assert_alone(folder: &Folder, first: &RecordBatch, file: &str) {
    let alone = file.replace("t.", "alone.");
    for (name, want) in names(first).iter().zip(first.columns()) {
        let arguments = ["convert", "--force", "--columns", name, "all.arrow", &alone];
        folder.run(&arguments).ok();
        let found = read(folder, &alone);
        assert_eq!(found.num_columns(), 1);
        assert!(are_same(found.column(0), want), "{file}, {name}: {found:?}");
    }
    std::fs::remove_file(folder.path(&alone)).unwrap();
}

/// Converts from one format to each format, and checks the data of the first one with `look`.
fn from_format(batches: &[RecordBatch], from: &str, look: fn(&RecordBatch, &RecordBatch, &str)) {
    let folder = Folder::new();
    write_ipc_batches(&folder.path("all.arrow"), batches);
    let all = read_ipc(&folder.path("all.arrow"));
    let refused = convert(&folder, "all.arrow", from, &names(&all));
    let first = read(&folder, from);
    write_ipc_batches(&folder.path("first.arrow"), std::slice::from_ref(&first));
    assert_eq!(refused.len() + first.num_columns(), all.num_columns());
    look(&first, &all, from);
    if is_lossless(from) {
        assert_kept(&first, &all, from, from);
    }
    if !is_lossless(from) {
        assert_alone(&folder, &first, from);
    }
    for to in NAMES {
        let place = format!("{from} to {to}");
        let (direct, around) = (to.replace("t.", "direct."), to.replace("t.", "around."));
        let refused = convert(&folder, from, &direct, &names(&first));
        let refused_around = convert(&folder, "first.arrow", &around, &names(&first));
        for ((name, error), (want, around_error)) in refused.iter().zip(&refused_around) {
            assert_eq!(name, want, "{place}");
            assert_eq!(
                *error,
                around_error.replace("around.", "direct."),
                "{place}"
            );
        }
        assert_eq!(refused.len(), refused_around.len(), "{place}");
        let found = read(&folder, &direct);
        assert_eq!(found.num_columns() + refused.len(), first.num_columns());
        assert_same(&found, &read(&folder, &around), &place);
        if is_lossless(to) {
            assert_kept(&found, &first, to, &place);
        }
    }
}

fn each_to_each(columns: Vec<ArrayRef>, look: fn(&RecordBatch, &RecordBatch, &str)) {
    let batches = batches(columns);
    std::thread::scope(|scope| {
        for from in NAMES {
            let batches = &batches;
            scope.spawn(move || from_format(batches, from, look));
        }
    });
}

#[test]
fn every_type_goes_from_each_format_to_each_other_as_by_way_of_ipc() {
    each_to_each(columns(), assert_documented);
}

#[test]
fn odd_values_go_from_each_format_to_each_other_as_by_way_of_ipc() {
    each_to_each(odd::columns(), assert_readable);
}

#[test]
fn odd_names_go_from_each_format_to_each_other() {
    let names = [
        "", "a,b", "\"", "\"a\" b", "a\nb", "\r", " x ", "ä", "a", "A", "NULL", "\t", "a.b", "\\",
        "\0", "#", "`", "{}", "\u{feff}",
    ];
    let column = Arc::new(StringArray::from(vec![Some("x"), None])) as ArrayRef;
    let columns = names.map(|name| (name, column.clone(), true));
    let all = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let blank = RecordBatch::try_from_iter_with_nullable([("", column, true)]).unwrap();
    for batch in [all, blank] {
        let folder = Folder::with(&batch);
        for from in NAMES.iter().filter(|from| **from != "t.arrow") {
            folder.run(&["convert", "t.arrow", from]).ok();
        }
        for (from, to) in NAMES.iter().flat_map(|from| NAMES.map(|to| (from, to))) {
            let to = to.replace("t.", "out.");
            folder.run(&["convert", "--force", from, &to]).ok();
            assert_same(&read(&folder, &to), &batch, &format!("{from} to {to}"));
        }
    }
}
