//! Each format to each other, over every Arrow type: a conversion gives what one by way of an Arrow
//! IPC file gives, or is refused with the same error.

use super::matrix::{columns, table};
use super::{Folder, NAMES, read_ipc, write_ipc_batches};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;

/// A column of every type, `c0`, `c1` and so on, in batches that begin at different values.
fn every_type() -> Vec<RecordBatch> {
    let columns = columns().into_iter().enumerate();
    let columns = columns.map(|(i, column)| (format!("c{i}"), column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    vec![batch.clone(), batch.slice(1, 2), batch.slice(0, 1), batch]
}

fn names(batch: &RecordBatch) -> Vec<String> {
    let schema = batch.schema();
    let names = schema.fields().iter().map(|field| field.name().clone());
    names.collect()
}

/// Converts those of the columns that the output can hold. The errors for the others are given, by
/// their names, in order.
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

/// What an IPC file holds after a conversion to it.
fn read(folder: &Folder, from: &str) -> RecordBatch {
    folder
        .run(&["convert", "--quiet", "--force", from, "read.arrow"])
        .ok();
    read_ipc(&folder.path("read.arrow"))
}

#[track_caller]
fn assert_same(found: &RecordBatch, want: &RecordBatch, place: &str) {
    assert_eq!(found.schema(), want.schema(), "{place}");
    for (name, column) in names(want).iter().zip(want.columns()) {
        assert_eq!(found.column_by_name(name), Some(column), "{place}, {name}");
    }
    assert_eq!(found.num_rows(), want.num_rows(), "{place}");
}

/// Whether the format keeps values, if it takes them.
fn is_lossless(file: &str) -> bool {
    !file.ends_with(".csv") && !file.ends_with(".ndjson")
}

/// What a format gives back that keeps every value, but has no runs if it is Parquet.
fn kept(column: &ArrayRef, file: &str) -> ArrayRef {
    match column.data_type() {
        DataType::RunEndEncoded(_, values) if file.ends_with(".parquet") => {
            cast(column, values.data_type()).unwrap()
        }
        _ => column.clone(),
    }
}

/// The columns of a file that keeps every value of `want`.
fn assert_kept(found: &RecordBatch, want: &RecordBatch, file: &str, place: &str) {
    for (name, column) in names(found).iter().zip(found.columns()) {
        let want = want.column_by_name(name).unwrap();
        assert_eq!(column, &kept(want, file), "{place}, {name}");
    }
    assert_eq!(found.num_rows(), want.num_rows(), "{place}");
}

/// What the docs say of a column in the format of that file.
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

/// From one format to each.
fn from_format(batches: &[RecordBatch], from: &str) {
    let folder = Folder::new();
    write_ipc_batches(&folder.path("all.arrow"), batches);
    let all = read_ipc(&folder.path("all.arrow"));
    let refused = convert(&folder, "all.arrow", from, &names(&all));
    let first = read(&folder, from);
    write_ipc_batches(&folder.path("first.arrow"), std::slice::from_ref(&first));
    for (i, name) in names(&all).iter().enumerate() {
        let found = match first.column_by_name(name) {
            Some(column) => column.data_type().to_string(),
            None => "–".to_owned(),
        };
        assert_eq!(found, said(i, from), "{from}, {name}");
    }
    assert_eq!(refused.len() + first.num_columns(), all.num_columns());
    if is_lossless(from) {
        assert_kept(&first, &all, from, from);
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

#[test]
fn every_type_goes_from_each_format_to_each_other_as_by_way_of_ipc() {
    let batches = every_type();
    std::thread::scope(|scope| {
        for from in NAMES {
            let batches = &batches;
            scope.spawn(move || from_format(batches, from));
        }
    });
}
