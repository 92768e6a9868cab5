//! Rows that `convert` sorts, and files in folders of values.

use super::data::plain;
use super::{Folder, read_ipc, write_ipc};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, ListArray, RecordBatch, StringArray,
    StringViewArray,
};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::writer::StreamWriter;
use arrow_ord::sort::{SortColumn, SortOptions, lexsort_to_indices};
use arrow_select::take::take_record_batch;
use std::fs;
use std::sync::Arc;

fn csv(folder: &Folder, arguments: &[&str]) -> String {
    folder
        .run(&[&["cat", "--format", "csv"], arguments].concat())
        .ok()
}

#[test]
fn rows_are_in_the_order_that_is_asked_for() {
    let batch = plain(20_000);
    let folder = Folder::with(&batch);
    let order = |name: &str, descending: bool| SortColumn {
        values: batch.column_by_name(name).unwrap().clone(),
        options: Some(SortOptions {
            descending,
            nulls_first: false,
        }),
    };
    for (by, columns) in [
        ("size", vec![order("size", false)]),
        ("-id", vec![order("id", true)]),
        (
            "name,-flag,id,size",
            vec![
                order("name", false),
                order("flag", true),
                order("id", false),
                order("size", false),
            ],
        ),
    ] {
        let indices = lexsort_to_indices(&columns, None).unwrap();
        let want = take_record_batch(&batch, &indices).unwrap();
        for output in ["out.amudai.shard", "out.parquet", "out.arrow"] {
            folder
                .run(&["convert", "--force", "t.arrow", output, "--sort", by])
                .ok();
            folder
                .run(&["convert", "--force", output, "back.arrow"])
                .ok();
            let key = |batch: &RecordBatch| {
                let names = by.split(',').map(|name| name.trim_start_matches('-'));
                let columns = names.map(|name| batch.column_by_name(name).unwrap().clone());
                columns.collect::<Vec<_>>()
            };
            assert_eq!(
                key(&read_ipc(&folder.path("back.arrow"))),
                key(&want),
                "{by} {output}"
            );
        }
        // `verify` checks the declared order.
        folder.run(&["verify", "out.amudai.shard"]).ok();
        let info = folder.run(&["info", "out.amudai.shard"]).ok();
        assert!(info.contains("sorted by"), "{info}");
    }
}

#[test]
fn equal_rows_keep_their_order_and_the_limit_counts_sorted_rows() {
    let folder = Folder::new();
    fs::write(folder.path("a.csv"), "k,n\n2,0\n1,1\n2,2\n").unwrap();
    fs::write(
        folder.path("b.ndjson"),
        "{\"k\":1,\"n\":3}\n{\"k\":2,\"n\":4}\n",
    )
    .unwrap();
    let run = |options: &[&str]| {
        let inputs = ["convert", "--force", "a.csv", "b.ndjson", "out.csv"];
        folder.run(&[&inputs[..], options].concat())
    };
    let text = || fs::read_to_string(folder.path("out.csv")).unwrap();
    run(&["--sort", "k"]).ok();
    assert_eq!(text(), "k,n\n1,1\n1,3\n2,0\n2,2\n2,4\n");
    run(&["--sort", "-k", "--offset", "1", "--limit", "3"]).ok();
    assert_eq!(text(), "k,n\n2,2\n2,4\n1,1\n");
    run(&["--sort=-n", "--filter", "k = 2", "--columns", "n"]).ok();
    assert_eq!(text(), "n\n4\n2\n0\n");
    for dry in [&[][..], &["--dry-run"]] {
        let error = run(&[&["--sort", "kk"], dry].concat()).error(2);
        assert!(
            error.contains("--sort") && error.contains("did you mean `k`?"),
            "{error}"
        );
    }
}

#[test]
fn more_rows_than_fit_into_memory_are_sorted() {
    // About 20 MB in seven runs of some 4 MB, for a limit that is set for this test.
    let rows = 200_000_i64;
    let numbers: Int64Array = (0..rows).map(|i| Some(i * 7_919 % rows)).collect();
    let texts: StringArray = (0..rows).map(|i| Some(format!("{i:080}"))).collect();
    let batch =
        RecordBatch::try_from_iter([("n", Arc::new(numbers) as ArrayRef), ("t", Arc::new(texts))])
            .unwrap();
    let folder = Folder::new();
    write_ipc(&folder.path("t.arrow"), &batch);
    folder.run(&["convert", "t.arrow", "t.parquet"]).ok();
    for input in ["t.arrow", "t.parquet"] {
        for (by, first, last) in [("n", 0, rows - 1), ("-n", rows - 1, 0)] {
            let options = ["--sort", by, "--sort-memory", "1M"];
            folder
                .run(&[&["convert", "--force", input, "out.arrow"], &options[..]].concat())
                .ok();
            let sorted = read_ipc(&folder.path("out.arrow"));
            let found = sorted.column(0).as_primitive::<Int64Type>();
            assert_eq!(i64::try_from(found.len()).unwrap(), rows);
            assert_eq!(
                (found.value(0), found.value(found.len() - 1)),
                (first, last)
            );
            let step = if first == 0 { 1 } else { -1 };
            let values = found.values();
            assert!(
                values.windows(2).all(|pair| pair[1] == pair[0] + step),
                "{by}"
            );
            // The rows are whole.
            for row in (0..found.len()).step_by(997) {
                let text: i64 = sorted
                    .column(1)
                    .as_string::<i32>()
                    .value(row)
                    .parse()
                    .unwrap();
                assert_eq!(text * 7_919 % rows, found.value(row));
            }
        }
    }
}

#[test]
fn files_are_in_folders_of_values_and_come_back_with_hive() {
    let folder = Folder::new();
    let text = "n,year,city\n1,2023,Oslo\n2,2024,a/b=c\n3,2023,Oslo\n4,2024,\n5,,Lima\n";
    fs::write(folder.path("t.csv"), text).unwrap();
    for (suffix, count) in [
        ("csv", 4),
        ("parquet", 4),
        ("amudai.shard", 4),
        ("ndjson.gz", 4),
    ] {
        let output = format!("{suffix}/part.{suffix}");
        let options = ["--partition-by", "year,city", "--quiet"];
        folder
            .run(&[&["convert", "t.csv", &output], &options[..]].concat())
            .ok();
        let first = format!("{suffix}/year=2023/city=Oslo/part-00001.{suffix}");
        assert_eq!(csv(&folder, &[&first]), "n\n1\n3\n");
        let count_of = folder.run(&["count", "--by-file", suffix]).ok();
        assert_eq!(count_of.lines().count(), count, "{count_of}");
        let options = ["--hive", suffix];
        let mut lines: Vec<String> = csv(&folder, &options).lines().map(str::to_owned).collect();
        lines.sort();
        let mut want: Vec<&str> = text.lines().collect();
        want.sort_unstable();
        assert_eq!(lines, want, "{suffix}");
        let again = folder
            .run(&[
                "convert",
                "--force",
                "t.csv",
                &output,
                "--partition-by",
                "year",
            ])
            .error(1);
        assert!(
            again.contains("year=2023") || again.contains("year=2024") || again.contains("year=__"),
            "{again}"
        );
    }
    let run = |options: &[&str]| {
        folder.run(&[&["convert", "t.csv", "x/t.csv", "--partition-by"], options].concat())
    };
    for (options, word) in [
        (&["yer"][..], "did you mean `year`?"),
        (&["n,year,city"], "at least one"),
        (&["yer", "--dry-run"], "did you mean `year`?"),
    ] {
        let error = run(options).error(2);
        assert!(
            error.contains("--partition-by") && error.contains(word),
            "{error}"
        );
    }
    assert!(!folder.path("x").exists());
    let shown = run(&["year", "--dry-run"]).ok();
    assert!(shown.contains("writes x/year=.../t-00001.csv"), "{shown}");
}

#[test]
fn few_files_are_open_at_a_time() {
    let folder = Folder::new();
    let lines: String = (0..1_000).map(|i| format!("{},{i}\n", i % 100)).collect();
    fs::write(folder.path("t.csv"), format!("k,n\n{lines}")).unwrap();
    for suffix in ["csv", "amudai.shard"] {
        for options in [&[][..], &["--sort", "k"], &["--rows-per-file", "4"]] {
            let output = format!("out/t.{suffix}");
            let by = ["--partition-by", "k", "t.csv", &output];
            folder.run(&[&["convert"], &by[..], options].concat()).ok();
            for key in [0, 7, 8, 55, 99] {
                let filter = format!("k = {key}");
                let rows = ["--hive", "out", "--filter", &filter, "--columns", "n"];
                let rows = csv(&folder, &rows);
                let rows = rows.lines().skip(1).map(|it| it.parse::<i64>().unwrap());
                let want = (0..10).map(|i| i * 100 + key);
                assert!(rows.eq(want), "{key}, {options:?}");
            }
            let files = folder
                .run(&["count", "--by-file", "out"])
                .ok()
                .lines()
                .count();
            assert_eq!(files, if options.contains(&"4") { 300 } else { 100 });
            fs::remove_dir_all(folder.path("out")).unwrap();
        }
    }
}

/// Rows of more folders than are written at once are sorted by runs: nulls, dictionaries with narrow keys, views and
/// lists stay as they are.
#[test]
fn rows_of_many_folders_come_back_in_their_order() {
    const ROWS: i64 = 30_000;
    let folder = Folder::new();
    let key = |i: i64| (i % 11 != 0).then(|| format!("key {}", i * 7 % 100));
    // Each batch has a dictionary of its own.
    let batch = |rows: std::ops::Range<i64>| {
        let keys: DictionaryArray<Int8Type> = rows
            .clone()
            .map(key)
            .collect::<Vec<_>>()
            .iter()
            .map(Option::as_deref)
            .collect();
        let label = |i: i64| format!("label {} of a view that is not inline", i % 90);
        let labels: DictionaryArray<UInt8Type> = rows
            .clone()
            .map(|i| Some(label(i)))
            .collect::<Vec<_>>()
            .iter()
            .map(Option::as_deref)
            .collect();
        let views = StringViewArray::from_iter_values(
            rows.clone().map(|i| format!("{}{i}", "v".repeat(3_000))),
        );
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(
            rows.clone().map(|i| (i % 3 > 0).then_some([Some(i), None])),
        );
        RecordBatch::try_from_iter([
            ("k", Arc::new(keys) as ArrayRef),
            ("d", Arc::new(labels)),
            ("v", Arc::new(views)),
            ("l", Arc::new(lists)),
            ("i", Arc::new(Int64Array::from_iter_values(rows))),
        ])
        .unwrap()
    };
    let batches: Vec<RecordBatch> = (0..ROWS / 500)
        .map(|it| batch(500 * it..500 * (it + 1)))
        .collect();
    let file = fs::File::create(folder.path("t.arrows")).unwrap();
    let mut stream = StreamWriter::try_new(file, &batches[0].schema()).unwrap();
    batches
        .iter()
        .for_each(|batch| stream.write(batch).unwrap());
    stream.finish().unwrap();
    let from = ["--from", "ipc-stream", "t.arrows"];
    folder
        .run(
            &[
                &["convert"],
                &from[..],
                &["out/t.amudai.shard", "--partition-by", "k"],
            ]
            .concat(),
        )
        .ok();
    let files = folder.run(&["count", "--by-file", "out"]).ok();
    assert_eq!(files.lines().count(), 101, "{files}");
    let whole = batch(0..ROWS);
    for number in (0..100).step_by(9).map(Some).chain([None]) {
        let name = number.map_or("__HIVE_DEFAULT_PARTITION__".to_owned(), |it| {
            format!("key {it}")
        });
        let part = format!("out/k={name}/t-00001.amudai.shard");
        folder
            .run(&["convert", "--force", &part, "part.arrow"])
            .ok();
        let part = read_ipc(&folder.path("part.arrow"));
        let of_key = |i: &i64| key(*i) == number.map(|it| format!("key {it}"));
        let want: Int64Array = (0..ROWS).filter(of_key).collect();
        let want = take_record_batch(&whole, &want).unwrap();
        for column in ["d", "v", "l", "i"] {
            assert_eq!(
                texts(&part[column]),
                texts(&want[column]),
                "{name}, {column}"
            );
        }
    }
    // Equal rows keep their order over many runs, which are merged twice.
    let sort = ["sorted.arrow", "--sort", "k", "--sort-memory", "100K"];
    folder.run(&[&["convert"], &from[..], &sort].concat()).ok();
    let sorted = read_ipc(&folder.path("sorted.arrow"));
    let mut want: Vec<i64> = (0..ROWS).collect();
    want.sort_by_key(|i| (key(*i).is_none(), key(*i)));
    assert_eq!(
        sorted["i"].as_primitive::<Int64Type>().values()[..],
        want[..]
    );
}

fn texts(values: &ArrayRef) -> Vec<String> {
    let formatter = ArrayFormatter::try_new(values, &FormatOptions::new()).unwrap();
    (0..values.len())
        .map(|row| formatter.value(row).to_string())
        .collect()
}

/// Folders whose rows are neighbors have one file each, and a second one if more rows come much later.
#[test]
fn files_of_folders_without_rows_are_completed() {
    let folder = Folder::new();
    let key = |i: u32| if i < 260_000 { i / 20_000 } else { 0 };
    let lines: String = (0..260_010).map(|i| format!("{},{i}\n", key(i))).collect();
    fs::write(folder.path("t.csv"), format!("k,n\n{lines}")).unwrap();
    let by = ["--partition-by", "k", "t.csv", "out/t.parquet"];
    folder.run(&[&["convert"], &by[..]].concat()).ok();
    let files = folder.run(&["count", "--by-file", "out"]).ok();
    assert_eq!(files.lines().count(), 14, "{files}");
    for (name, count) in [
        ("k=0/t-00001", 20_000),
        ("k=0/t-00002", 10),
        ("k=12/t-00001", 20_000),
    ] {
        let count_of = folder.run(&["count", &format!("out/{name}.parquet")]);
        assert_eq!(count_of.ok(), format!("{count}\n"), "{name}");
    }
    let rows = csv(&folder, &["out/k=0"]);
    let rows = rows.lines().skip(1).map(|it| it.parse::<u32>().unwrap());
    assert!(rows.eq((0..20_000).chain(260_000..260_010)));
}
