//! CSV and JSON as written by people.

use super::{Folder, Value, read_ipc};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampSecondType};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, DictionaryArray, Int32Array, RecordBatch, new_null_array,
};
use arrow_schema::{DataType, Field, TimeUnit};
use std::sync::Arc;

fn types(folder: &Folder, file: &str, options: &[&str]) -> Vec<String> {
    let arguments = [&["schema", file][..], options].concat();
    folder
        .run(&arguments)
        .ok()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn one_odd_date_makes_text_and_no_error() {
    let folder = Folder::new();
    let rows = "day,at\n2024-02-28,2024-02-28T10:00:00\n2024-02-30,2024-02-28T10:00:61\n";
    std::fs::write(folder.path("t.csv"), rows).unwrap();
    assert_eq!(types(&folder, "t.csv", &[]), ["day: Utf8", "at: Utf8"]);
    let text = folder.run(&["cat", "t.csv", "--format", "csv"]).ok();
    assert_eq!(text, rows);
}

#[test]
fn instants_with_offsets_are_read_as_instants() {
    let folder = Folder::new();
    std::fs::write(
        folder.path("t.csv"),
        "at\n1970-01-01T02:00:01+02:00\n1970-01-01T00:00:02Z\n",
    )
    .unwrap();
    folder.run(&["convert", "t.csv", "t.arrow"]).ok();
    let batch = read_ipc(&folder.path("t.arrow"));
    let utc = DataType::Timestamp(TimeUnit::Second, Some("UTC".into()));
    assert_eq!(batch.column(0).data_type(), &utc);
    let seconds = batch.column(0).as_primitive::<TimestampSecondType>();
    assert_eq!(seconds.values().to_vec(), [1, 2]);
}

#[test]
fn delimiters_headers_and_nulls_are_as_asked() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.csv"), "1;NA;x\n2;2.5;\n").unwrap();
    let options = ["--delimiter", ";", "--no-header", "--null-value", "NA"];
    let found = types(&folder, "t.csv", &options);
    assert_eq!(
        found,
        ["column_1: Int64", "column_2: Float64", "column_3: Utf8"]
    );
    folder
        .run(&[&["convert", "t.csv", "t.arrow"][..], &options].concat())
        .ok();
    let batch = read_ipc(&folder.path("t.arrow"));
    assert_eq!([1, 2].map(|i| batch.column(i).null_count()), [1, 1]);
    folder
        .run(&[&["convert", "t.arrow", "back.csv"][..], &options].concat())
        .ok();
    let back = std::fs::read_to_string(folder.path("back.csv")).unwrap();
    assert_eq!(back, "1;NA;x\n2;2.5;NA\n");
    folder.run(&["convert", "t.arrow", "t.tsv"]).ok();
    let tabs = std::fs::read_to_string(folder.path("t.tsv")).unwrap();
    assert!(
        tabs.starts_with("column_1\tcolumn_2\tcolumn_3\n1\t\tx\n"),
        "{tabs}"
    );
    assert_eq!(types(&folder, "t.tsv", &[]), found);
    for arguments in [
        ["head", "t.arrow", "--delimiter", ";"],
        ["convert", "t.arrow", "x.shard", "--no-header"],
    ] {
        assert!(folder.run(&arguments).error(2).contains("to CSV files"));
    }
    assert_eq!(folder.run(&["head", "t.csv", "--delimiter", "ab"]).code, 2);
}

#[test]
fn byte_order_marks_are_skipped_and_empty_files_refused() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.csv"), "\u{FEFF}a,b\n1,2\n").unwrap();
    assert_eq!(types(&folder, "t.csv", &[]), ["a: Int64", "b: Int64"]);
    std::fs::write(folder.path("t.json"), "\u{FEFF}{\"a\": 1}").unwrap();
    assert_eq!(types(&folder, "t.json", &[]), ["a: Int64"]);
    for (name, content) in [
        ("empty.csv", &b""[..]),
        ("empty.ndjson", b""),
        ("mark.csv", b"\xEF\xBB\xBF"),
        ("utf16.csv", b"\xFF\xFEa\0"),
    ] {
        std::fs::write(folder.path(name), content).unwrap();
        let error = folder.run(&["convert", name, "x.arrow"]).error(1);
        let why = if name.starts_with("utf16") {
            "UTF-16"
        } else {
            "empty"
        };
        assert!(error.contains(why) && error.contains(name), "{error}");
    }
}

#[test]
fn rows_of_another_length_and_other_encodings_name_their_line() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.csv"), "a,b\n1,\"x\ny\"\n3\n").unwrap();
    let error = folder
        .run(&["head", "t.csv", "--schema-rows", "9"])
        .error(1);
    assert!(
        error.contains("line 4") && error.contains("found 1"),
        "{error}"
    );
    std::fs::write(folder.path("t.csv"), b"a,b\n1,2\n3,\xE4\n").unwrap();
    let error = folder.run(&["head", "t.csv"]).error(1);
    assert!(
        error.contains("line 3") && error.contains("UTF-8"),
        "{error}"
    );
}

#[test]
fn json_is_read_as_lines_as_objects_and_as_an_array() {
    let folder = Folder::new();
    let rows = "{\"a\":1,\"b\":\"],[\"}\n{\"a\":2,\"b\":null}\n";
    let pretty = "{\n  \"a\": 1,\n  \"b\": \"],[\"\n}\n{\n  \"a\": 2,\n \"b\": null }";
    let array = "\n[ {\"a\":1,\"b\":\"],[\"},\n{\"a\":2,\"b\":null} ]\n";
    for text in [rows, pretty, array] {
        std::fs::write(folder.path("t.json"), text).unwrap();
        let done = folder.run(&["cat", "t.json", "--format", "json"]).ok();
        assert_eq!(done, rows, "{text}");
    }
    for (text, why) in [
        ("[1]", "object"),
        ("{\"a\":1}\n3", "line 2"),
        ("[{\"a\":1}", "does not end"),
    ] {
        std::fs::write(folder.path("t.json"), text).unwrap();
        let error = folder.run(&["head", "-n", "9", "t.json"]).error(1);
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_name_that_appears_twice_is_no_name_of_json() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.csv"), "a,b,a\n1,2,x\n").unwrap();
    let before = folder.names();
    let error = folder.run(&["convert", "t.csv", "t.ndjson"]).error(1);
    assert!(
        error.contains("column `a` appears twice") && error.contains("--columns"),
        "{error}"
    );
    assert_eq!(folder.names(), before);
    folder.run(&["convert", "t.csv", "t.parquet"]).ok();
    folder.run(&["convert", "t.parquet", "back.csv"]).ok();
    let back = std::fs::read_to_string(folder.path("back.csv")).unwrap();
    assert_eq!(back, "a,b,a\n1,2,x\n");
    for (text, line) in [
        ("{\"b\":0}\n{\"a\":1,\"a\":\"x\"}\n", "line 2"),
        ("{\"b\":{\"a\":1,\"a\":2}}", "line 1"),
        ("[{\"b\":[{\"a\":1},\n{\"a\":1,\"a\":2}]}]", "line 2"),
    ] {
        std::fs::write(folder.path("t.json"), text).unwrap();
        let error = folder.run(&["convert", "t.json", "x.arrow"]).error(1);
        assert!(
            error.contains("`a` appears twice in an object") && error.contains(line),
            "{error}"
        );
    }
    std::fs::write(
        folder.path("t.json"),
        "{\"b\":[{\"a\":1},{\"a\":2}],\"a\":{}}",
    )
    .unwrap();
    folder.run(&["convert", "t.json", "x.arrow"]).ok();

    let member = |ty| Arc::new(Field::new("m", ty, true));
    let members = [DataType::Int32, DataType::Utf8].map(member).to_vec();
    let twice = new_null_array(&DataType::Struct(members.into()), 1);
    let list = DataType::new_list(twice.data_type().clone(), true);
    for column in [twice, new_null_array(&list, 1)] {
        let folder = Folder::with(&RecordBatch::try_from_iter([("s", column)]).unwrap());
        let error = folder.run(&["convert", "t.arrow", "t.ndjson"]).error(1);
        assert!(
            error.contains("column `s`") && error.contains("`m` appears twice"),
            "{error}"
        );
        assert_eq!(folder.names(), ["t.arrow"]);
    }
}

#[test]
fn blank_lines_are_no_table() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.csv"), "\n\r\n\n").unwrap();
    for options in [&[][..], &["--no-header"]] {
        let arguments = [&["convert", "t.csv", "x.arrow"][..], options].concat();
        let error = folder.run(&arguments).error(1);
        assert!(error.contains("nothing but blank lines"), "{error}");
    }
}

#[test]
fn decimals_of_whole_hundreds_are_numbers_in_text() {
    let decimals = Decimal128Array::from(vec![Some(12), None, Some(-1), Some(0)]);
    let decimals = decimals.with_precision_and_scale(5, -2).unwrap();
    let keys: DictionaryArray<Int32Type> = DictionaryArray::new(
        Int32Array::from(vec![3, 1, 0, 2]),
        Arc::new(decimals.clone()),
    );
    let columns = [("d", Arc::new(decimals) as ArrayRef), ("k", Arc::new(keys))];
    let folder = Folder::with(&RecordBatch::try_from_iter(columns).unwrap());
    let text = |format: &str| folder.run(&["cat", "t.arrow", "--format", format]).ok();
    assert_eq!(text("csv"), "d,k\n1200,0\n,\n-100,1200\n0,-100\n");
    let json = "{\"d\":1200,\"k\":0}\n{\"d\":null,\"k\":null}\n{\"d\":-100,\"k\":1200}\n\
                {\"d\":0,\"k\":-100}\n";
    assert_eq!(text("json"), json);
}

#[test]
fn integers_that_a_float_cannot_hold_stay_as_they_are() {
    let folder = Folder::new();
    std::fs::write(
        folder.path("t.ndjson"),
        "{\"n\":9007199254740993}\n{\"n\":0.5}\n",
    )
    .unwrap();
    let done = folder.run(&["cat", "t.ndjson", "--format", "json"]).ok();
    let values: Vec<Value> = done
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(values[0]["n"], "9007199254740993");
    assert_eq!(values[1]["n"], "0.5");
}

#[test]
fn the_head_of_a_long_file_is_all_that_is_read() {
    let folder = Folder::new();
    let mut csv = "n\n1\n2\n3\n".to_owned();
    csv.push_str(&"x\n".repeat(100_000));
    std::fs::write(folder.path("t.csv"), &csv).unwrap();
    let head = folder
        .run(&["head", "-n", "2", "t.csv", "--format", "json"])
        .ok();
    assert_eq!(head, "{\"n\":1}\n{\"n\":2}\n");
    let all = folder
        .run(&["cat", "t.csv", "--format", "json", "--offset", "2"])
        .ok();
    assert!(all.starts_with("{\"n\":\"3\"}\n"));
    let end = ["--offset", "100001", "-n", "5"];
    let end = folder
        .run(&[&["cat", "t.csv", "--format", "csv"][..], &end].concat())
        .ok();
    assert_eq!(end, "n\nx\nx\n");
}

#[cfg(unix)]
#[test]
fn text_is_read_from_pipes() {
    let folder = Folder::new();
    let mut mkfifo = std::process::Command::new("mkfifo");
    assert!(mkfifo.arg(folder.path("pipe")).status().unwrap().success());
    for (format, text) in [("csv", "a,b\n1,x\n"), ("ndjson", "{\"a\":1,\"b\":\"x\"}\n")] {
        for from in [&["--from", format][..], &[]] {
            let pipe = folder.path("pipe");
            let writer = std::thread::spawn(move || std::fs::write(pipe, text).unwrap());
            let csv = folder.run(&[&["cat", "pipe", "--format", "csv"][..], from].concat());
            assert_eq!(csv.ok(), "a,b\n1,x\n");
            writer.join().unwrap();
        }
    }
    let pipe = folder.path("pipe");
    let writer = std::thread::spawn(move || std::fs::write(pipe, b"PAR1\x15\x04").unwrap());
    let error = folder.run(&["count", "pipe"]).error(2);
    assert!(
        error.contains("pipes cannot have the format Parquet"),
        "{error}"
    );
    writer.join().unwrap();
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let folder = Folder::with(&super::data::plain(3));
    for name in ["t.csv", "t.ndjson", "t.parquet", "t.arrows", "t.shard"] {
        folder.run(&["convert", "t.arrow", name]).ok();
    }
    let cole = ["convert", "--lossy", "t.arrow", "t.cole"];
    folder.run(&cole).ok();
    let names = [&super::NAMES[..], &["t.cole"]].concat();
    for (option, meant) in [
        (&["--schema-rows", "9"][..], &["t.csv", "t.ndjson"][..]),
        (&["--delimiter", ","], &["t.csv"]),
        (&["--time-unit", "us"], &["t.shard"]),
        (&["--decimal", "38,10"], &["t.shard"]),
        (&["--max-memory", "64M"], &["t.shard", "t.cole"]),
        (&["--strict"], &["t.shard", "t.cole"]),
    ] {
        for &file in &names {
            let done = folder.run(&[&["head", file], option].concat());
            if meant.contains(&file) {
                done.ok();
            } else {
                assert!(done.error(2).contains(option[0]), "{file} {option:?}");
            }
        }
    }
    // One input for which the option means something is enough.
    let both = ["cat", "t.arrow", "t.shard", "--strict"];
    folder.run(&both).ok();
    let error = folder
        .run(&["convert", "t.parquet", "u.shard", "--strict"])
        .error(2);
    assert!(
        error.contains("--strict applies only to shard and COLE inputs"),
        "{error}"
    );
}

#[test]
fn broken_arrays_and_objects_name_their_line() {
    let folder = Folder::new();
    for (text, want) in [
        ("[{\"a\":1} {\"b\":2}]", "line 1: expected `,` or `]`"),
        ("[{\"a\":1},\n,{\"a\":2}]", "line 2: expected an object"),
        ("[{\"a\":1}]\n{\"a\":2}", "line 2: expected nothing"),
        ("{\"a\":1}\n7", "line 2"),
        ("{\"a\":1}\n7\n8\n", "end of line 2"),
        ("1\n2\n", "end of line 1"),
        ("{\"a\":1}\n\"x\"\n", "line 2"),
        ("{\"a\":1}\n{\"a\":\n", "end of line 2"),
    ] {
        std::fs::write(folder.path("t.json"), text).unwrap();
        let error = folder.run(&["convert", "t.json", "t.arrow"]).error(1);
        assert!(error.contains("t.json") && error.contains(want), "{error}");
    }
}

#[test]
fn a_single_column_with_a_delimiter_in_its_name_is_noted() {
    let folder = Folder::new();
    std::fs::write(folder.path("semicolons.csv"), "a;b\n1;2\n").unwrap();
    std::fs::write(folder.path("commas.csv"), "a,b\n1,2\n").unwrap();
    let note = "note: semicolons.csv has the single column `a;b`; if `;` separates the values, read the file with \
                --delimiter ';'";
    let convert = |options: &[&str]| {
        let run = [&["convert", "--force"], options, &["out.amudai.shard"]].concat();
        let done = folder.run(&run);
        assert_eq!(done.code, 0, "{}", done.err);
        done.err
    };
    assert!(convert(&["semicolons.csv"]).contains(note));
    for command in ["head", "tail", "cat"] {
        let run = folder.run(&[command, "semicolons.csv"]);
        assert_eq!(run.code, 0);
        assert!(run.err.contains(note), "{command}: {}", run.err);
    }
    for options in [
        &["semicolons.csv", "--quiet"][..],
        &["semicolons.csv", "--delimiter", ";"],
        &["semicolons.csv", "--delimiter", ";", "--columns", "a"],
        &["commas.csv"],
        &["commas.csv", "--delimiter", ";"],
    ] {
        let shown = convert(options);
        let is_noted = options.contains(&"commas.csv") && options.contains(&";");
        assert_eq!(shown.contains("note:"), is_noted, "{options:?}: {shown}");
    }
}

#[test]
fn a_delimiter_missing_in_the_file_is_an_error_that_names_another() {
    let folder = Folder::new();
    for (text, delimiter) in [
        ("a;b\n1,5;2\n", "';'"),
        ("a\tb\nx\ty,z\n", "'\\t'"),
        ("a|b\n1,2|3\n", "'|'"),
        ("\"a\";\"b\"\n1;2\n", "';'"),
        ("\"a\"\t\"b\"\n1\t2\n", "'\\t'"),
    ] {
        std::fs::write(folder.path("t.csv"), text).unwrap();
        let error = folder.run(&["head", "t.csv"]).error(1);
        let advice = format!("--delimiter {delimiter}");
        assert!(error.contains(&advice), "{text}: {error}");
        let option = delimiter.trim_matches('\'');
        folder.run(&["head", "t.csv", "--delimiter", option]).ok();
    }
    for (options, text, want) in [
        (
            &[][..],
            "a\n1,2\n",
            "line 2: expected 1 value as in the lines above, found 2",
        ),
        (&[], "a,b\n1\n", "line 2: expected 2 values"),
        (&["--no-header"], "1;2\n1,2;3\n", "--delimiter ';'"),
    ] {
        std::fs::write(folder.path("t.csv"), text).unwrap();
        let error = folder.run(&[&["head", "t.csv"], options].concat()).error(1);
        assert!(error.contains(want), "{error}");
        assert_eq!(
            want.contains("--delimiter"),
            error.contains("--delimiter"),
            "{error}"
        );
    }
}

#[test]
fn an_escape_before_a_quote_is_read_where_the_option_names_it() {
    let folder = Folder::new();
    let text = "a,b\n1,\"x \\\"y\\\", \"\"z\\\\\"\n2,\\q\n";
    std::fs::write(folder.path("t.csv"), text).unwrap();
    let error = folder.run(&["head", "t.csv"]).error(1);
    assert!(
        error.contains("line 2") && error.contains("--escape '\\'"),
        "{error}"
    );
    let json = ["cat", "t.csv", "--escape", "\\", "--format", "json"];
    assert_eq!(
        folder.run(&json).ok(),
        "{\"a\":1,\"b\":\"x \\\"y\\\", \\\"z\\\\\"}\n{\"a\":2,\"b\":\"\\\\q\"}\n"
    );
    let written = folder.run(&["convert", "t.csv", "x.csv", "--escape", "\\"]);
    written.ok();
    let whole = std::fs::read_to_string(folder.path("x.csv")).unwrap();
    assert_eq!(whole, "a,b\n1,\"x \"\"y\"\", \"\"z\\\"\n2,\\q\n");
    for (arguments, want) in [
        (
            &["convert", "t.csv", "y.csv", "--escape", "\""][..],
            "neither a quote",
        ),
        (
            &["convert", "t.csv", "y.csv", "--escape", ","],
            "--delimiter",
        ),
    ] {
        let done = folder.run(arguments);
        assert_eq!(done.code, 2);
        assert!(done.err.contains(want), "{}", done.err);
    }
    folder.run(&["convert", "x.csv", "t.arrow"]).ok();
    let error = folder
        .run(&["convert", "t.arrow", "y.csv", "--escape", "\\"])
        .error(2);
    assert!(error.contains("--escape"), "{error}");
}

#[test]
fn the_rows_that_are_asked_for_are_read_and_no_others() {
    let folder = Folder::new();
    // Long rows make batches of two, and the fourth row has another type.
    let long = "y".repeat(7 << 20);
    let rows = |row: &dyn Fn(&str) -> String| ["1", "2", "3", "{}"].map(row).concat();
    let csv = rows(&|n| format!("{n},{long}\n"));
    std::fs::write(folder.path("t.csv"), format!("n,t\n{csv}")).unwrap();
    let json = rows(&|n| format!("{{\"n\":{n},\"t\":\"{long}\"}}\n"));
    std::fs::write(folder.path("t.ndjson"), json).unwrap();
    for file in ["t.csv", "t.ndjson"] {
        let arguments = ["head", "-n", "3", file, "--columns", "n", "--format", "csv"];
        assert_eq!(folder.run(&arguments).ok(), "n\n1\n2\n3\n", "{file}");
    }
}

#[test]
fn names_are_given_to_columns_without_a_header() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.csv"), "1,x\n2,y\n").unwrap();
    let named = ["--names", "id,\"a,b\""];
    let json = folder.run(&[&["cat", "t.csv", "--json"][..], &named].concat());
    assert_eq!(
        json.ok(),
        "{\"id\":1,\"a,b\":\"x\"}\n{\"id\":2,\"a,b\":\"y\"}\n"
    );
    // CSV output has the names, unless it is to have none.
    let convert = |options: &[&str]| {
        let arguments = ["convert", "--force", "t.csv", "out.csv"];
        folder.run(&[&arguments[..], &named, options].concat()).ok();
        std::fs::read_to_string(folder.path("out.csv")).unwrap()
    };
    assert_eq!(convert(&[]), "id,\"a,b\"\n1,x\n2,y\n");
    assert_eq!(convert(&["--no-header"]), "1,x\n2,y\n");
    // The names are those of --schema, --cast and --columns.
    let options = ["--cast", "id=int8", "--columns", "id"];
    let schema = folder.run(
        &[
            &["convert", "--force", "t.csv", "t.arrow"],
            &named[..],
            &options,
        ]
        .concat(),
    );
    schema.ok();
    assert_eq!(types(&folder, "t.arrow", &[]), ["id: Int8"]);
    for (names, why) in [("a", "1 name"), ("a,b,c", "3 names")] {
        let error = folder.run(&["head", "t.csv", "--names", names]).error(2);
        assert!(
            error.contains("t.csv") && error.contains(why) && error.contains("2 values"),
            "{error}"
        );
    }
    folder.run(&["convert", "t.csv", "t.ndjson"]).ok();
    let error = folder.run(&["head", "t.ndjson", "--names", "a,b"]).error(2);
    assert!(
        error.contains("--names applies only to CSV inputs"),
        "{error}"
    );
}
