//! Finds the files of test records.

use crate::common::Format;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Files of the crate `datafusion-sqllogictest` about Parquet or about tables of files.
pub(crate) const SHIPPED: &[&str] = &[
    "aggregate_repartition.slt",
    "copy.slt",
    "create_external_table.slt",
    "ddl.slt",
    "describe.slt",
    "dictionary.slt",
    "dynamic_file.slt",
    "dynamic_filter_pushdown_config.slt",
    "dynamic_row_group_pruning.slt",
    "explain.slt",
    "explain_analyze.slt",
    "file_row_index.slt",
    "filter_without_sort_exec.slt",
    "grouping.slt",
    "grouping_set_repartition.slt",
    "input_file_name.slt",
    "insert.slt",
    "insert_to_external.slt",
    "limit.slt",
    "limit_pruning.slt",
    "listing_table_partitions.slt",
    "listing_table_statistics.slt",
    "monotonic_projection_test.slt",
    "null_aware_anti_join.slt",
    "order.slt",
    "parquet.slt",
    "parquet_filter_pushdown.slt",
    "parquet_max_row_group_bytes.slt",
    "parquet_nested_schema_pruning.slt",
    "parquet_sorted_statistics.slt",
    "parquet_statistics.slt",
    "predicates.slt",
    "preserve_file_partitioning.slt",
    "projection.slt",
    "projection_pushdown.slt",
    "push_down_filter_parquet.slt",
    "push_down_filter_regression.slt",
    "repartition.slt",
    "repartition_scan.slt",
    "repartition_subset_satisfaction.slt",
    "schema_evolution.slt",
    "schema_evolution_nested.slt",
    "sort_pushdown.slt",
    "statistics_registry.slt",
    "topk.slt",
    "unnest.slt",
];

/// Files in the folder of this file.
pub(crate) const OWN: &[&str] = &["shards.slt"];

/// Returns the folder of the crate `datafusion-sqllogictest`.
pub(crate) fn shipped() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--offline", "--format-version", "1"])
            .args(["--filter-platform", &host()])
            .args([
                "--manifest-path",
                concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            ])
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let package = metadata["packages"]
            .as_array()
            .unwrap()
            .iter()
            .find(|package| package["name"] == "datafusion-sqllogictest")
            .unwrap();
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        manifest.parent().unwrap().to_owned()
    });
    &FOLDER
}

/// Returns the platform that tests are compiled for, because cargo may have downloaded the crates of this one only.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}

/// Returns the folder of this file.
pub(crate) fn own() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sqllogictest"))
}

/// Copies the data of the crate to `folder`, with Parquet files converted to the tested format, and makes it the
/// current folder, where records write.
pub(crate) fn enter(folder: &Path, format: Format) {
    std::fs::create_dir_all(folder.join("test_files")).unwrap();
    std::fs::create_dir_all(folder.join("data")).unwrap();
    for entry in std::fs::read_dir(shipped().join("data")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        std::fs::copy(&path, folder.join("data").join(name)).unwrap();
        if path.extension().is_some_and(|ending| ending == "parquet") && format == Format::Shard {
            let file = std::fs::File::open(&path).unwrap();
            let reader =
                parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(file, 8192)
                    .unwrap();
            let schema = arrow::array::RecordBatchReader::schema(&reader);
            let batches: Vec<_> = reader.map(Result::unwrap).collect();
            let target = folder.join("data").join(name).with_extension("shard");
            format.write(&target, &schema, &batches, &Default::default());
        }
    }
    std::env::set_current_dir(folder).unwrap();
}
