//! Checks the table in docs/conversions.md: the result of every Arrow type in every format.

use super::{Folder, read_ipc, write_ipc};
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};
use std::fmt::Write;
use std::sync::Arc;

pub(super) use super::columns::columns;

const FORMATS: [(&str, &str); 5] = [
    ("shard", "x.shard"),
    ("Parquet", "x.parquet"),
    ("IPC stream", "x.arrows"),
    ("CSV", "x.csv"),
    ("NDJSON", "x.ndjson"),
];

/// Writes a column to a format and reads it back. Returns the result: the same column, another type, or an error that
/// names the column.
fn outcome(folder: &Folder, file: &str, column: &ArrayRef) -> String {
    let done = folder.run(&["convert", "--quiet", "--force", "t.arrow", file]);
    if done.code != 0 {
        let error = done.error(1);
        assert!(
            error.contains("`c`"),
            "{file}, {}: {error}",
            column.data_type()
        );
        assert!(!folder.names().contains(&file.to_owned()), "{file}");
        return "–".to_owned();
    }
    folder
        .run(&["convert", "--quiet", "--force", file, "back.arrow"])
        .ok();
    std::fs::remove_file(folder.path(file)).unwrap();
    let back = read_ipc(&folder.path("back.arrow"));
    let found = back.column_by_name("c").unwrap();
    assert_eq!(found.len(), column.len());
    match found == column {
        true => "same".to_owned(),
        false => {
            assert_ne!(found.data_type(), column.data_type(), "{file}: {found:?}");
            found.data_type().to_string().replace('|', "\\|")
        }
    }
}

/// Returns the table in docs/conversions.md.
pub(super) fn table() -> &'static str {
    let page = include_str!("../../docs/conversions.md");
    let shown = page.split("\n\n").find(|part| part.starts_with("| type |"));
    shown.unwrap_or_default().trim()
}

#[test]
fn every_type_in_every_format_is_as_the_docs_say() {
    let folder = Folder::new();
    let mut found = "| type |".to_owned();
    for (name, _) in FORMATS {
        write!(found, " {name} |").unwrap();
    }
    found.push_str("\n|-|-|-|-|-|-|\n");
    for column in columns() {
        let field = Field::new("c", column.data_type().clone(), true);
        let ids = Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef;
        let id = Field::new("id", DataType::Int32, true);
        let schema = Arc::new(Schema::new(vec![id, field]));
        let batch = RecordBatch::try_new(schema, vec![ids, column.clone()]).unwrap();
        write_ipc(&folder.path("t.arrow"), &batch);
        write!(
            found,
            "| {} |",
            column.data_type().to_string().replace('|', "\\|")
        )
        .unwrap();
        for (_, file) in FORMATS {
            write!(found, " {} |", outcome(&folder, file, &column)).unwrap();
        }
        found.push('\n');
    }
    if let Ok(path) = std::env::var("CONVERSIONS_TABLE") {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(table(), found.trim(), "the table in docs/conversions.md");
}

/// Files of other programs are converted to every format and back; for CSV and JSON, errors name unsupported types.
#[test]
fn files_of_other_programs_become_every_format() {
    let Some(data) = super::support::shared("data") else {
        return;
    };
    let folder = Folder::new();
    let mut files = 0;
    for below in ["parquet", "real"] {
        for entry in std::fs::read_dir(data.join(below)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            if name.ends_with(".bin") {
                continue;
            }
            files += 1;
            let convert =
                |from: &str, to: &str| folder.run(&["convert", "--quiet", "--force", from, to]);
            convert(name, "first.arrow").ok();
            let first = folder.run(&["cat", "--format", "json", "first.arrow"]);
            for to in ["t.shard", "t.parquet", "t.arrows"] {
                convert(name, to).ok();
                convert(to, "back.arrow").ok();
                let (want, back) = ("first.arrow", "back.arrow");
                let [want, back] = [want, back].map(|name| read_ipc(&folder.path(name)));
                assert_eq!(back.schema(), want.schema(), "{name} {to}");
                // NaN does not equal itself.
                if back != want {
                    let shown = folder.run(&["cat", "--format", "json", "back.arrow"]);
                    assert_eq!(shown.text(), first.text(), "{name} {to}");
                }
            }
            for to in ["t.csv", "t.ndjson"] {
                let done = convert(name, to);
                match done.code {
                    0 => drop(convert(to, "back.arrow").ok()),
                    _ => assert!(done.error(1).contains("column `"), "{name} {to}"),
                }
            }
        }
    }
    assert!(files > 25, "{files}");
}
