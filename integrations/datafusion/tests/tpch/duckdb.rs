//! DuckDB's answers to the queries.

use crate::common;
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A folder of CSV files, one for each query.
pub(crate) struct Answers(TempDir);

/// Returns DuckDB's answers over the tables in `tables`. Without Python, prints a line and returns `None`, or panics
/// if `REQUIRE_DUCKDB` is set.
pub(crate) fn answers(tables: &Path, queries: &str) -> Option<Answers> {
    let answers = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tpch/duckdb.sh");
    let output = Command::new(script)
        .arg(tables)
        .arg(queries)
        .arg(answers.path())
        .output()
        .unwrap();
    if output.status.success() {
        return Some(Answers(answers));
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(std::env::var_os("REQUIRE_DUCKDB").is_none(), "{message}");
    eprintln!("SKIPPED: DuckDB cannot be run here, no answers are compared with its: {message}");
    None
}

impl Answers {
    /// Compares the answer to a query with DuckDB's answer, row by row.
    pub(crate) fn compare(&self, name: &str, answer: &[RecordBatch]) {
        let path = self.0.path().join(format!("{name}.csv"));
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_path(path)
            .unwrap();
        let expected: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let rows = common::rows(answer);
        assert_eq!(rows.len(), expected.len(), "rows of {name}");
        let schema = answer[0].schema();
        for (index, (row, expected)) in rows.iter().zip(&expected).enumerate() {
            let values: Vec<&str> = row.split('|').collect();
            assert_eq!(values.len(), expected.len(), "columns of {name}");
            for (column, (value, expected)) in values.into_iter().zip(expected).enumerate() {
                let field = schema.field(column);
                assert!(
                    equal(field.data_type(), value, expected),
                    "{name}, row {index}, {}: {value} instead of DuckDB's {expected}",
                    field.name()
                );
            }
        }
    }
}

/// Returns whether a value equals DuckDB's. To divide or average decimals, DuckDB uses doubles, while DataFusion
/// uses decimals and truncates after the last digit: the results may differ by one in that digit. A double has 15
/// digits, and the last one depends on the order of summation.
fn equal(data_type: &DataType, value: &str, expected: &str) -> bool {
    let last_digit = match data_type {
        DataType::Decimal128(_, scale) => 10f64.powi(-i32::from(*scale)),
        DataType::Float64 => 0.0,
        _ => return value == expected,
    };
    match (value.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= last_digit + 1e-12 * b.abs(),
        _ => value == expected,
    }
}
