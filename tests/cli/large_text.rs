//! CSV of more than one block, which several threads read, and columns of other formats that are not read.

use super::Folder;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

/// Number of rows of several megabytes of text.
const ROWS: usize = 60_000;

/// Returns CSV with values over several lines. The last row but one is `odd`.
fn large(odd: &str) -> String {
    let mut text = "id,\"two\nlines\",time,price\r\n".to_owned();
    for i in 0..ROWS {
        if i == ROWS - 2 {
            text.push_str(odd);
        }
        let (hour, minute) = (i / 60 % 24, i % 60);
        write!(
            text,
            "{i},\"a \"\"{i}\"\"\n, and more text to fill the blocks\n\",2024-03-01T{hour:02}:{minute:02}:00,{}.25\r\n",
            i % 97
        )
        .unwrap();
    }
    text
}

#[test]
fn threads_change_nothing_of_what_is_read() {
    let folder = Folder::new();
    let text = large("");
    assert!(text.len() > 4 << 20);
    fs::write(folder.path("t.csv"), &text).unwrap();
    for threads in ["1", "2", "5"] {
        let output = format!("{threads}.arrow");
        let options = ["convert", "-q", "--threads", threads, "t.csv", &output];
        folder.run(&options).ok();
        folder
            .run(&[
                "convert",
                "-q",
                &output,
                "out.csv",
                "--threads",
                threads,
                "--force",
            ])
            .ok();
        let written = fs::read_to_string(folder.path("out.csv")).unwrap();
        assert!(written == text.replace("\r\n", "\n"), "{threads}");
    }
    let first = fs::read(folder.path("1.arrow")).unwrap();
    assert!(first == fs::read(folder.path("5.arrow")).unwrap());
    let schema = folder.run(&["schema", "t.csv"]).ok();
    for expected in ["id: Int64", "time: Timestamp(s)", "price: Float64"] {
        assert!(schema.contains(expected), "{schema}");
    }
    let tail = folder.run(&[
        "tail",
        "-n",
        "1",
        "--columns",
        "id",
        "--format",
        "csv",
        "t.csv",
    ]);
    assert_eq!(tail.ok(), format!("id\n{}\n", ROWS - 1));
    let limited = folder.run(&[
        "cat",
        "t.csv",
        "--columns",
        "id",
        "--format",
        "csv",
        "--offset",
        "50000",
        "--limit",
        "1",
    ]);
    assert_eq!(limited.ok(), "id\n50000\n");
}

#[test]
fn an_odd_row_of_a_later_block_is_named_with_its_line() {
    let folder = Folder::new();
    let line = 3 + 3 * (ROWS - 2);
    for (odd, want) in [
        ("1,x\n", format!("line {line}: expected 4 values")),
        ("1,2,3,4,5\n", format!("line {line}: expected 4 values")),
        ("1,\"x\"y,3,4\n", format!("line {line}: a value goes on")),
    ] {
        fs::write(folder.path("t.csv"), large(odd)).unwrap();
        for threads in ["1", "4"] {
            let options = ["convert", "t.csv", "t.arrow", "--threads", threads];
            let error = folder.run(&options).error(1);
            assert!(error.contains(&want), "{error}");
        }
        let error = folder.run(&["count", "t.csv"]).error(1);
        assert!(error.contains(&want), "{error}");
        let error = folder.run(&["cat", "t.csv", "--schema-rows", "9"]).error(1);
        assert!(error.contains(&want), "{error}");
    }
    let mut bytes = large("1,X,,\n").into_bytes();
    let place = bytes.iter().rposition(|byte| *byte == b'X').unwrap();
    bytes[place] = 0xFF;
    fs::write(folder.path("t.csv"), bytes).unwrap();
    let error = folder
        .run(&["count", "--filter", "id = 1", "t.csv"])
        .error(1);
    let want = format!("line {line}, column `two lines`: the text is not UTF-8");
    assert!(error.contains(&want), "{error}");
    // One value of another type makes the column text.
    fs::write(folder.path("t.csv"), large("x,,,\n")).unwrap();
    let schema = folder.run(&["schema", "t.csv"]).ok();
    assert!(schema.contains("id: Utf8"), "{schema}");
    for (filter, count) in [("id = '17'", "1"), ("price >= 0", "60000")] {
        let counted = folder.run(&["count", "--filter", filter, "t.csv"]).ok();
        assert_eq!(counted.trim(), count, "{filter}");
    }
    let error = folder
        .run(&["count", "--filter", "id = 17", "t.csv"])
        .error(2);
    assert!(error.contains("Utf8"), "{error}");
    assert_eq!(folder.names(), ["t.csv"]);
}

#[test]
fn conditions_are_the_same_whatever_columns_are_read() {
    let folder = Folder::new();
    fs::write(
        folder.path("t.csv"),
        "id,Größe,\"a\"\"b\",select,text\n1,1.5,x,true,\n2,2.5,y,false,u\n3,,x,true,v\n",
    )
    .unwrap();
    folder.run(&["convert", "t.csv", "t.parquet"]).ok();
    folder.run(&["convert", "t.csv", "t.shard"]).ok();
    for file in ["t.csv", "t.parquet", "t.shard"] {
        for (filter, count) in [
            ("id >= 2", "2"),
            ("\"Größe\" > 1", "2"),
            ("\"a\"\"b\" = 'x' AND \"select\"", "2"),
            ("text IS NULL OR id = 3", "2"),
        ] {
            let counted = folder.run(&["count", "--filter", filter, file]).ok();
            assert_eq!(counted.trim(), count, "{file}: {filter}");
            let options = [
                "--filter",
                filter,
                "--format",
                "csv",
                "--columns",
                "text,id",
            ];
            let rows = folder.run(&[&["cat", file][..], &options].concat()).ok();
            assert_eq!(rows.lines().count(), count.parse::<usize>().unwrap() + 1);
            assert!(rows.starts_with("text,id\n"), "{rows}");
        }
        // The error lists columns that are not read, too.
        for options in [
            &["count", "--filter", "ids = 1 AND text = 'u'", file][..],
            &["cat", "--columns", "idd", file],
        ] {
            let error = folder.run(options).error(2);
            assert!(error.contains("id") && error.contains("Größe"), "{error}");
        }
    }
}

/// Threads still read the following rows when the error is found.
#[test]
fn an_odd_row_before_much_text_is_named_with_its_line() {
    let folder = Folder::new();
    let rows = "1,some text that fills the file\n".repeat(300_000);
    for (odd, name, want) in [
        ("1\n", "t.csv", "line 4: expected 2 values"),
        ("1\n", "t.csv.gz", "line 4: expected 2 values"),
        (
            "x,y\n",
            "t.csv",
            "line 4, column `a`: `x` does not fit Int64",
        ),
        (
            "x,y\n",
            "t.csv.gz",
            "line 4, column `a`: `x` does not fit Int64",
        ),
    ] {
        let text = format!("a,b\n1,2\n3,4\n{odd}{rows}");
        let mut bytes = text.into_bytes();
        if name.ends_with(".gz") {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&bytes).unwrap();
            bytes = encoder.finish().unwrap();
        }
        fs::write(folder.path(name), bytes).unwrap();
        let options = if odd == "1\n" {
            &["convert", name, "t.arrow", "--threads", "4"][..]
        } else {
            &[
                "convert",
                name,
                "t.arrow",
                "--threads",
                "4",
                "--schema-rows",
                "2",
            ]
        };
        let error = folder.run(options).error(1);
        assert!(error.contains(want), "{name}: {error}");
    }
    fs::write(folder.path("t.csv"), b"a,b\n1,\xFF\n").unwrap();
    let error = folder.run(&["cat", "t.csv"]).error(1);
    assert!(error.contains("line 2, column `b`"), "{error}");
}

#[test]
fn parts_of_a_name_may_be_quoted_in_a_condition() {
    let folder = Folder::new();
    let text = "id,geo.x y,geo\n1,5,\n2,6,\n";
    for file in ["t.csv", "u.csv"] {
        fs::write(folder.path(file), text).unwrap();
    }
    for filter in [
        "geo.\"x y\" > 5",
        "\"geo.x y\" > 5",
        "\"geo\" . \"x y\" > 5",
    ] {
        let counted = folder.run(&["count", "--filter", filter, "t.csv"]).ok();
        assert_eq!(counted.trim(), "1", "{filter}");
        let options = ["--filter", filter, "--columns", "id", "--format", "csv"];
        let one = folder.run(&[&["cat", "t.csv"][..], &options].concat());
        assert_eq!(one.ok(), "id\n2\n");
        let both = folder.run(&[&["cat", "t.csv", "u.csv"][..], &options].concat());
        assert_eq!(both.ok(), "id\n2\n2\n");
    }
    let options = ["--columns", "id", "--filter", "x = 1"];
    let error = folder.run(&[&["cat", "t.csv", "u.csv"][..], &options].concat());
    assert!(error.error(2).contains("geo.x y"));
}
