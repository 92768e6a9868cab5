//! Memory of conversions: in proportion to the file, for any shape of rows.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use nix::sys::resource::{UsageWho, getrusage};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::fs::{self, File};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// Runs a command on a file, with at most `most` bytes of peak memory, and returns the peak. The system reports the
/// peak of all commands so far, so commands must run in the order of their bounds.
fn run(folder: &TempDir, arguments: &[&str], name: &str, most: u64) -> u64 {
    let done = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {error}");
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    let peak = u64::try_from(peak).unwrap() << 10;
    println!("{name}: {} MiB, at most {} MiB", peak / MIB, most / MIB);
    assert!(peak <= most, "{name}: {peak} bytes, at most {most}");
    peak
}

fn joined(cells: impl IntoIterator<Item = String>) -> String {
    cells.into_iter().collect::<Vec<_>>().join(",")
}

/// Returns rows of numbers as CSV, after a header.
fn wide_csv(columns: usize, rows: usize) -> String {
    let names = joined((0..columns).map(|i| format!("k{i}")));
    let row = joined((0..columns).map(|i| i.to_string()));
    [names, vec![row; rows].join("\n")].join("\n")
}

fn wide_object(keys: usize, value: &str) -> String {
    let members = (0..keys).map(|i| format!("\"k{i}\":{value}"));
    format!("{{{}}}\n", joined(members))
}

#[test]
fn peaks_are_in_proportion_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let nested = wide_object(200, &wide_object(200, "1").replace('\n', ""));
    let lists = wide_object(50, &wide_object(50, "[{\"x\":1}]").replace('\n', "")).repeat(100);
    let list = format!("{{\"l\":[{}]}}\n", wide_object(2_000, "1").repeat(20));
    let list = list.replace("}\n{", "},{");
    let mut texts = vec![
        ("wide.csv", wide_csv(20_000, 3)),
        ("many.csv", wide_csv(60_000, 3)),
        ("long.csv", wide_csv(500, 2_000)),
        ("wide.json", wide_object(60_000, "1")),
        ("few.ndjson", wide_object(20_000, "\"x\"").repeat(3)),
        ("nested.json", nested),
        ("lists.ndjson", lists),
        ("list.ndjson", list.repeat(40)),
    ];
    texts.sort_by_key(|(_, text)| text.len());
    texts.insert(0, ("small.csv", wide_csv(1, 1)));
    let mut program = 64 * MIB;
    for (name, text) in texts {
        fs::write(folder.path().join(name), &text).unwrap();
        // The writer of a shard takes additional memory for each column.
        let arguments = ["convert", "--force", "--quiet", name, "out.arrow"];
        let most = program + 20 * text.len() as u64 + 64 * MIB;
        let peak = run(&folder, &arguments, name, most);
        if name == "small.csv" {
            // The code of the program counts as memory, too.
            program = peak;
        }
    }
    // The Parquet writer takes some 20 KB for each of 20,000 columns, and five times as much with dictionaries.
    let arguments = ["convert", "--force", "--quiet", "wide.csv", "out.parquet"];
    run(&folder, &arguments, "wide.csv to Parquet", 700 * MIB);
    large_values(&folder);
}

/// Tests Parquet files with more than 2 GiB of values in a row group.
fn large_values(folder: &TempDir) {
    let value = "0".repeat(1 << 20);
    let plain = vec![value.as_str(); 125];
    let small: Vec<String> = (0..8_000).map(|i| i.to_string()).collect();
    let mixed: Vec<&str> = small.iter().map(String::as_str).chain([&*value]).collect();
    // A dictionary of one large value, and one with a large value among small ones.
    let coded = |entries: &[&str], key: i32| {
        let keys = Int32Array::from(vec![key; 3_000]);
        let entries = Arc::new(StringArray::from_iter_values(entries));
        Arc::new(DictionaryArray::new(keys, entries)) as ArrayRef
    };
    let files = [
        (
            "plain.parquet",
            Arc::new(StringArray::from(plain)) as ArrayRef,
            20,
        ),
        ("coded.parquet", coded(&[&value], 0), 1),
        ("mixed.parquet", coded(&mixed, 8_000), 1),
    ];
    for (name, column, times) in files {
        let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true);
        let options = options.with_properties(
            WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_statistics_enabled(EnabledStatistics::None)
                .set_dictionary_enabled(times == 1)
                .set_dictionary_page_size_limit(4 << 20)
                .build(),
        );
        let batch = RecordBatch::try_from_iter([("v", column)]).unwrap();
        let file = File::create(folder.path().join(name)).unwrap();
        let mut writer = ArrowWriter::try_new_with_options(file, batch.schema(), options).unwrap();
        for _ in 0..times {
            writer.write(&batch).unwrap();
        }
        writer.close().unwrap();
        // The first row needs one batch.
        let arguments = ["head", "-n", "1", "--format", "csv", name];
        run(folder, &arguments, name, 1 << 30);
    }
}
