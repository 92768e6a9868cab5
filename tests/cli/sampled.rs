//! Rows that do not fit the types that `--schema-rows` infers.

use super::Folder;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;

/// Reads a file with the types of its first row, which must fail.
fn error(folder: &Folder, name: &str, text: &str) -> String {
    fs::write(folder.path(name), text).unwrap();
    folder.run(&["cat", name, "--schema-rows", "1"]).error(1)
}

#[test]
fn a_value_of_csv_that_does_not_fit_is_named_with_its_line() {
    let folder = Folder::new();
    let header = "i,u,f,b,d,t,n,s\n";
    let first =
        "1,18446744073709551615,0.5,true,2024-01-01,2024-01-01T00:00:00,2024-01-01T00:00:00.1Z,x\n";
    for (column, value, data_type) in [
        (0, "x", "Int64"),
        (0, "1.5", "Int64"),
        (1, "-1", "UInt64"),
        (2, "x", "Float64"),
        (2, "9007199254740993", "Float64"),
        (3, "1", "Boolean"),
        (4, "2024-02-30", "Date32"),
        (5, "now", "Timestamp(s)"),
        (6, "2024", "Timestamp(ms, \"UTC\")"),
    ] {
        let mut values: Vec<&str> = first.trim_end().split(',').collect();
        let name = header.split(',').nth(column).unwrap();
        values[column] = value;
        // A value over two lines, a blank line and a null come before.
        let before = "2,,,,,,,\"y\nz\"\n\n";
        let text = format!("{header}{first}{before}{}\n", values.join(","));
        let error = error(&folder, "t.csv", &text);
        let want =
            format!("t.csv: line 6, column `{name}`: `{value}` does not fit {data_type}, the type");
        assert!(error.starts_with(&want), "{error}");
        assert!(error.contains("raise --schema-rows"), "{error}");
    }
    for (text, want) in [
        ("a,b\n1,2\n3\n", "line 3: expected 2 values"),
        ("a,b\n1,2\n3,4,5\n", "line 3: expected 2 values"),
    ] {
        let error = error(&folder, "t.csv", text);
        assert!(error.contains(want), "{error}");
    }
    // The first line that does not fit is named, whatever its columns, and before lines that are wrong otherwise.
    let text = "a,b\n1,2\n3,x\ny,4\n5\n";
    let first = error(&folder, "t.csv", text);
    assert!(first.contains("line 3, column `b`: `x`"), "{first}");
    // Lines of Windows, and blank lines.
    for (text, line) in [
        ("a,b\r\n1,2\r\n\r\nx,5\r\n", "line 4, column `a`"),
        ("\r\na,b\r\n1,2\r\n3\r\n", "line 4: expected 2 values"),
        ("a,b\r1,2\rx,5\r", "line 3, column `a`"),
    ] {
        let error = error(&folder, "t.csv", text);
        assert!(error.contains(line), "{text:?}: {error}");
    }
    fs::write(folder.path("t.csv"), b"a,b\n1,x\n3,\xE4\n").unwrap();
    let error = folder.run(&["cat", "t.csv", "--schema-rows", "1"]).error(1);
    assert!(error.contains("line 3, column `b`: the text is not UTF-8"));
    fs::write(folder.path("t.csv"), "1\nx\n").unwrap();
    let options = ["--schema-rows", "1", "--no-header"];
    let error = folder.run(&[&["cat", "t.csv"][..], &options].concat());
    assert!(error.error(1).contains("line 2, column `column_1`"));
}

#[test]
fn a_value_of_json_that_does_not_fit_is_named_with_its_line() {
    let folder = Folder::new();
    let first = "{\"i\":1,\"f\":[0.5],\"o\":{\"s\":\"x\",\"b\":true}}\n";
    for (row, want) in [
        ("{\"i\":\"x\"}", "column `i`: `\"x\"` does not fit Int64"),
        ("{\"i\":1.5}", "column `i`: `1.5` does not fit Int64"),
        (
            "{\"f\":[1,9007199254740993]}",
            "column `f`: `[1,9007199254740993]`",
        ),
        ("{\"o\":{\"c\":1}}", "column `o`: `{\"c\":1}` does not fit"),
        ("{\"o\":{\"b\":[]}}", "column `o`"),
        (
            "{\"x\":1}",
            "no row that --schema-rows reads has the field `x`",
        ),
        ("{\"i\":}", "line 5"),
    ] {
        // An object over two lines and a blank line come before.
        let text = format!("{first}{{\"i\":2,\n\"f\":null}}\n\n{row}\n");
        let error = error(&folder, "t.ndjson", &text);
        assert!(
            error.starts_with("t.ndjson: ") && error.contains("line 5") && error.contains(want),
            "{row}: {error}"
        );
        let array = format!("[{},\n{row}]", first.trim_end());
        fs::write(folder.path("t.json"), array).unwrap();
        let sampled = ["cat", "t.json", "--schema-rows", "1"];
        let error = folder.run(&sampled).error(1);
        assert!(error.contains("line 2"), "{row}: {error}");
    }
}

#[test]
fn the_line_is_found_after_many_batches_and_in_a_pipe() {
    let folder = Folder::new();
    let rows = |row: &dyn Fn(u32) -> String| (1..=20_000).map(row).collect::<String>();
    let csv = format!("a\n{}x\n", rows(&|n| format!("{n}\n")));
    let json = format!("{}{{\"a\":\"x\"}}\n", rows(&|n| format!("{{\"a\":{n}}}\n")));
    for (format, text, line) in [("csv", csv, 20_002), ("ndjson", json, 20_001)] {
        let arguments = ["count", "--filter", "a > 0", "--schema-rows", "9"];
        let piped = [&arguments[..], &["--from", format, "-"]].concat();
        let error = folder.pipe(&piped, text.as_bytes()).error(1);
        let want = format!("line {line}, column `a`");
        assert!(error.contains(&want), "{format}: {error}");
        let name = format!("t.{format}.gz");
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        fs::write(folder.path(&name), gzip.finish().unwrap()).unwrap();
        let error = folder.run(&[&arguments[..], &[&name]].concat()).error(1);
        assert!(error.contains(&want), "{name}: {error}");
    }
}
