//! Compares the results of records with the expected ones.

use datafusion_sqllogictest::df_value_validator;
use sqllogictest::Normalizer;

/// Compares like DataFusion, after removing words that only plans of one format contain.
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

/// Markers of the end of a scan's line in a plan, which describes the work inside of files differently for Parquet and
/// shards.
const INSIDE: [&str; 6] = [
    ", dynamic_rg_pruning=",
    ", pruning_predicate=",
    ", reverse_row_groups=",
    ", sort_order_for_reorder=",
    ", stripes_by=",
    ", stripes_reversed=",
];

/// Returns a line of a plan without the description of the work inside of files, and with the published names of files.
fn plain(text: &str, here: &str) -> String {
    let text = text.replace(here, "WORKSPACE_ROOT/datafusion/sqllogictest");
    if !text.contains("DataSourceExec: ") {
        return text;
    }
    // Plans of Parquet show the same predicate, whether the scan evaluates it or only skips by it.
    let text = text.replace(", pruning=", ", predicate=");
    let Some(end) = INSIDE.iter().filter_map(|word| text.find(word)).min() else {
        return text;
    };
    match text.find(", metrics=") {
        Some(metrics) if metrics > end => format!("{}{}", &text[..end], &text[metrics..]),
        _ => text[..end].to_owned(),
    }
}
