//! Compares what a record gives with what it should give.

use datafusion_sqllogictest::df_value_validator;
use sqllogictest::Normalizer;

/// As DataFusion compares, after the words have gone from plans that only plans of one format have.
pub(crate) fn validator(
    normalizer: Normalizer,
    actual: &[Vec<String>],
    expected: &[String],
) -> bool {
    let here = std::env::current_dir().unwrap();
    let here = here.to_str().unwrap().trim_start_matches('/');
    let actual: Vec<Vec<String>> = actual
        .iter()
        .map(|row| row.iter().map(|value| plain(value, here)).collect())
        .collect();
    let expected: Vec<String> = expected.iter().map(|row| plain(row, here)).collect();
    df_value_validator(normalizer, &actual, &expected)
}

/// What plans of Parquet say at the end about what it does inside of a file, and plans of shards in
/// other words.
const INSIDE: [&str; 6] = [
    ", dynamic_rg_pruning=",
    ", pruning_predicate=",
    ", reverse_row_groups=",
    ", sort_order_for_reorder=",
    ", stripes_by=",
    ", stripes_reversed=",
];

/// A line of a plan without what is said about the inside of files, and with the names of files as
/// they are shipped.
fn plain(text: &str, here: &str) -> String {
    let text = text.replace(here, "WORKSPACE_ROOT/datafusion/sqllogictest");
    if !text.contains("DataSourceExec: ") {
        return text;
    }
    // A filter that only leaves out files and stripes is no other predicate to Parquet.
    let text = text.replace(", pruning=", ", predicate=");
    let Some(end) = INSIDE.iter().filter_map(|word| text.find(word)).min() else {
        return text;
    };
    match text.find(", metrics=") {
        Some(metrics) if metrics > end => format!("{}{}", &text[..end], &text[metrics..]),
        _ => text[..end].to_owned(),
    }
}
