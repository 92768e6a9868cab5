//! Converts from and to COLE files.

use super::{Folder, matrix, read_ipc, write_ipc};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use std::fmt::Write;
use std::sync::Arc;

const FLIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/flights.csv");

/// Returns 30,000 rows of types that COLE supports, which fill several pages.
fn table() -> RecordBatch {
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..30_000))),
        (
            "kind",
            Arc::new(Int32Array::from_iter_values((0..30_000).map(|i| i / 999))),
        ),
        (
            "name",
            Arc::new(StringArray::from_iter_values(
                (0..30_000).map(|i| format!("n{}", i % 7)),
            )),
        ),
    ];
    let fields = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), false));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let columns = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

#[test]
fn tables_go_to_cole_and_back_by_way_of_every_format() {
    let folder = Folder::with(&table());
    folder.run(&["convert", "t.arrow", "t.cole"]).ok();
    for file in ["t.amudai.shard", "t.parquet", "t.arrows"] {
        folder.run(&["convert", "t.cole", file]).ok();
        folder.run(&["convert", "--force", file, "back.cole"]).ok();
        folder
            .run(&["convert", "--force", "back.cole", "back.arrow"])
            .ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), table(), "{file}");
    }
    // The name of the file does not matter.
    std::fs::rename(folder.path("t.cole"), folder.path("renamed")).unwrap();
    folder
        .run(&["convert", "--force", "renamed", "back.arrow"])
        .ok();
    assert_eq!(read_ipc(&folder.path("back.arrow")), table());
}

#[test]
fn commands_read_the_columns_and_rows_that_they_are_asked_for() {
    let folder = Folder::with(&table());
    folder.run(&["convert", "t.arrow", "t.cole"]).ok();
    let csv = |arguments: &[&str]| {
        let arguments = [&["cat", "t.cole", "--format", "csv"], arguments].concat();
        folder.run(&arguments).ok()
    };
    assert_eq!(
        csv(&["--filter", "id > 29997", "--columns", "name,id"]),
        "name,id\nn3,29998\nn4,29999\n"
    );
    assert_eq!(
        csv(&[
            "--filter",
            "name = 'n3' AND kind = 30",
            "--limit",
            "1",
            "--offset",
            "1"
        ]),
        "id,kind,name\n29977,30,n3\n"
    );
    assert_eq!(
        csv(&["--offset", "20000", "--limit", "1"]),
        "id,kind,name\n20000,20,n1\n"
    );
    assert_eq!(csv(&["--limit", "1", "--columns", "id,id"]), "id,id\n0,0\n");
    let schema = folder.run(&["schema", "t.cole"]).ok();
    assert!(
        schema.contains("kind") && schema.contains("Int32"),
        "{schema}"
    );
    folder
        .run(&["convert", "t.cole", "some.csv", "--filter", "id < 3"])
        .ok();
    assert_eq!(
        std::fs::read_to_string(folder.path("some.csv"))
            .unwrap()
            .lines()
            .count(),
        4
    );
    let both = folder
        .run(&[
            "cat", "t.cole", "t.arrow", "--filter", "id = 7", "--format", "csv",
        ])
        .ok();
    assert_eq!(both, "id,kind,name\n7,0,n0\n7,0,n0\n");
    let error = folder
        .run(&["cat", "t.cole", "--filter", "id = 'x'"])
        .error(2);
    assert!(error.contains("--filter"), "{error}");
    let error = folder.run(&["cat", "t.cole", "--columns", "nme"]).error(2);
    assert!(
        error.contains("t.cole") && error.contains("`nme`"),
        "{error}"
    );
    let error = folder.run(&["cat", "-", "--from", "cole"]).error(2);
    assert!(error.contains("cannot have the format COLE"), "{error}");
}

#[test]
fn what_cole_cannot_hold_is_an_error_or_converted_on_request() {
    let folder = Folder::new();
    let error = folder.run(&["convert", FLIGHTS, "flights.cole"]).error(1);
    assert!(
        error.contains("column `time` is Timestamp") && error.contains("--lossy"),
        "{error}"
    );
    assert!(folder.names().is_empty());
    folder
        .run(&["convert", FLIGHTS, "flights.cole", "--lossy"])
        .ok();
    let first = folder
        .run(&["head", "-n", "1", "flights.cole", "--format", "csv"])
        .ok();
    assert_eq!(
        first.lines().nth(1).unwrap(),
        "2001-01-01T00:47:00,66,1750,DTW,LAS"
    );
    // Nulls are found when rows are written, and no file appears.
    let nulls = Int32Array::from(vec![Some(1), None]);
    let names = StringArray::from(vec![None, Some("x")]);
    let columns: Vec<ArrayRef> = vec![Arc::new(nulls.clone()), Arc::new(names), Arc::new(nulls)];
    let fields = ["a", "b", "a"].iter().zip(&columns);
    let fields = fields.map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    write_ipc(
        &folder.path("nulls.arrow"),
        &RecordBatch::try_new(schema, columns).unwrap(),
    );
    let error = folder
        .run(&["convert", "nulls.arrow", "nulls.cole"])
        .error(1);
    assert!(
        error.contains("two columns are named `a`") && error.contains("--lossy"),
        "{error}"
    );
    let error = folder
        .run(&["convert", "nulls.arrow", "nulls.cole", "--columns", "b"])
        .error(1);
    assert!(
        error.contains("column `b`, row 0") && error.contains("--lossy"),
        "{error}"
    );
    assert!(!folder.names().contains(&"nulls.cole".to_owned()));
    folder
        .run(&["convert", "nulls.arrow", "nulls.cole", "--lossy"])
        .ok();
    let csv = folder.run(&["cat", "nulls.cole", "--format", "json"]).ok();
    assert_eq!(
        csv,
        "{\"a\":1,\"b\":\"\",\"a_2\":1}\n{\"a\":0,\"b\":\"x\",\"a_2\":0}\n"
    );
    // The option applies only to written COLE files, and to units of time.
    let error = folder
        .run(&["convert", FLIGHTS, "flights.arrow", "--lossy"])
        .error(2);
    assert!(error.contains("--lossy applies only to"), "{error}");
}

/// Returns the result of a column: the same column, another type, or an error that names it.
fn outcome(folder: &Folder, column: &ArrayRef, options: &[&str]) -> String {
    let field = Field::new("c", column.data_type().clone(), true);
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column.clone()]).unwrap();
    write_ipc(&folder.path("t.arrow"), &batch);
    let convert = ["convert", "--quiet", "--force", "t.arrow", "t.cole"];
    let done = folder.run(&[&convert, options].concat());
    if done.code != 0 {
        let error = done.error(1);
        assert!(error.contains("`c`"), "{error}");
        return "–".to_owned();
    }
    folder
        .run(&["convert", "--quiet", "--force", "t.cole", "back.arrow"])
        .ok();
    let back = read_ipc(&folder.path("back.arrow"));
    let found = back.column(0);
    assert_eq!(found.len(), column.len());
    match found == column {
        true => "same".to_owned(),
        false => found.data_type().to_string(),
    }
}

#[test]
fn every_type_in_cole_is_as_the_docs_say() {
    let folder = Folder::new();
    let mut found = "| type | COLE | COLE, `--lossy` |\n|-|-|-|\n".to_owned();
    for column in matrix::columns() {
        let without_nulls = column.slice(0, 1);
        let name = column.data_type().to_string().replace('|', "\\|");
        let strict = outcome(&folder, &without_nulls, &[]);
        let lossy = outcome(&folder, &column, &["--lossy"]);
        writeln!(found, "| {name} | {strict} | {lossy} |").unwrap();
    }
    if let Ok(path) = std::env::var("CONVERSIONS_TABLE") {
        std::fs::write(path, &found).unwrap();
    }
    let page = include_str!("../../docs/conversions.md");
    let shown = page
        .split("\n\n")
        .find(|part| part.starts_with("| type | COLE"));
    assert_eq!(
        shown.unwrap_or_default().trim(),
        found.trim(),
        "the table in docs/conversions.md"
    );
}
