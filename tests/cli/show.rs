//! The output of `head`, `cat`, `schema` and `verify`.

use super::data::{nested, plain};
use super::{Folder, Value};
use arrow_array::{ArrayRef, RecordBatch, StringArray, StructArray, TimestampSecondArray};
use arrow_schema::{DataType, Field};
use std::sync::Arc;

#[test]
fn head_and_cat_print_rows_as_asked() {
    let folder = Folder::with(&plain(100));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    for file in ["t.shard", "t.arrow"] {
        let table = folder
            .run(&["head", file, "-n", "2", "--columns", "size,id"])
            .ok();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[1], "| size | id |");
        assert_eq!(lines.len(), 6, "{table}");
        let window = ["--offset", "98", "--limit", "5", "--columns", "id"];
        let csv = folder
            .run(&[&["cat", file, "--format", "csv"][..], &window].concat())
            .ok();
        assert_eq!(csv, "id\n683\n690\n");
        let json = folder
            .run(&["head", file, "--format", "json", "--rows", "1"])
            .ok();
        assert_eq!(
            json,
            "{\"id\":null,\"name\":null,\"size\":null,\"flag\":null}\n"
        );
        assert_eq!(
            folder
                .run(&["cat", file, "--format", "json"])
                .ok()
                .lines()
                .count(),
            100
        );
        assert_eq!(
            folder.run(&["head", file, "-n", "0"]).ok().lines().count(),
            4
        );
    }
}

#[test]
fn paths_lead_into_structs_and_unknown_columns_are_named() {
    let folder = Folder::with(&nested());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    let json = folder
        .run(&[
            "head",
            "t.shard",
            "--columns",
            "point.y",
            "--format",
            "json",
        ])
        .ok();
    assert!(
        json.starts_with("{\"point\":{\"y\":null}}\n{\"point\":{\"y\":\"u\"}}\n"),
        "{json}"
    );
    for file in ["t.shard", "t.arrow"] {
        let error = folder.run(&["head", file, "--columns", "prise"]).error(2);
        assert!(
            error.contains("`prise`") && error.contains("price"),
            "{error}"
        );
    }
    let error = folder
        .run(&["inspect", "t.shard", "--columns", "prise"])
        .error(2);
    assert!(error.contains("`prise`"), "{error}");
}

#[test]
fn schema_has_a_line_per_field() {
    let folder = Folder::with(&nested());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    let expected = "list: List\n  item: Int32\nmap: Map\n  entries: Struct not null\n    \
                    keys: Utf8 not null\n    values: Int32\npoint: Struct\n  x: Int64\n  y: Utf8\n\
                    key: Dictionary(Int32, Utf8)\ntime: Timestamp(µs, \"Europe/Oslo\")\n\
                    price: Decimal128(20, 2)\n";
    for file in ["t.shard", "t.arrow"] {
        assert_eq!(folder.run(&["schema", file]).ok(), expected);
    }
    let stored = folder.run(&["schema", "--shard", "t.shard"]).ok();
    assert!(stored.contains("time: Int64 [arrow.timestamp{"), "{stored}");
    let json: Value =
        serde_json::from_str(&folder.run(&["schema", "--json", "t.shard"]).ok()).unwrap();
    assert_eq!(json["fields"][0]["children"][0]["type"], "Int32");
    let json = folder.run(&["schema", "--json", "--shard", "t.shard"]).ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["fields"][4]["properties"]["timezone"], "Europe/Oslo");
    folder.run(&["schema", "--shard", "t.arrow"]).error(2);
}

#[test]
fn verify_says_what_is_broken_where() {
    let folder = Folder::with(&plain(10_000));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    assert!(
        folder
            .run(&["verify", "t.shard"])
            .ok()
            .contains("t.shard: sound; 10000 rows")
    );
    assert_eq!(folder.run(&["verify", "--quiet", "t.shard"]).ok(), "");
    let json: Value =
        serde_json::from_str(&folder.run(&["inspect", "--json", "t.shard"]).ok()).unwrap();
    let buffer = &json["stripes"][0]["fields"][2]["buffers"][0];
    assert_eq!(buffer["kind"], "Data");
    let at = usize::try_from(buffer["start"].as_u64().unwrap()).unwrap() + 20;
    let mut bytes = std::fs::read(folder.path("t.shard")).unwrap();
    bytes[at] ^= 1;
    std::fs::write(folder.path("bad.shard"), &bytes).unwrap();
    let done = folder.run(&["verify", "t.shard", "bad.shard"]);
    let threads = folder.run(&["verify", "--threads", "3", "t.shard", "bad.shard"]);
    assert_eq!((&threads.out, threads.code), (&done.out, done.code));
    let text = done.text();
    assert_eq!(done.code, 1);
    let place = "bad.shard, stripe 0, field `size`, Data buffer, block 0: checksum mismatch";
    assert!(
        text.contains(place) && text.contains("bad.shard: 1 problem"),
        "{text}"
    );
    assert!(text.contains("t.shard: sound"), "{text}");
    let error = folder.run(&["cat", "bad.shard"]).error(1);
    assert!(
        error.contains("`size`") && error.contains("block 0"),
        "{error}"
    );
    // A damaged shard can still be inspected.
    assert!(
        folder
            .run(&["inspect", "bad.shard"])
            .ok()
            .contains("└─ flag")
    );
    std::fs::write(folder.path("cut.shard"), &bytes[..100]).unwrap();
    assert_eq!(folder.run(&["verify", "cut.shard"]).code, 1);
    assert!(
        folder
            .run(&["verify", "none.shard"])
            .error(1)
            .contains("none.shard")
    );
}

#[test]
fn nothing_that_is_shown_reaches_the_terminal_as_a_command() {
    let texts = StringArray::from(vec!["a\u{1b}[2Jb", "c\nd"]);
    let texts: ArrayRef = Arc::new(texts);
    let member = Field::new("m\u{1b}n", DataType::Utf8, false);
    let member = StructArray::from(vec![(Arc::new(member), texts.clone())]);
    let columns = [("x\u{1b}y", texts), ("s", Arc::new(member) as ArrayRef)];
    let folder = Folder::with(&RecordBatch::try_from_iter(columns).unwrap());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    for arguments in [
        &["cat", "t.shard"][..],
        &["cat", "t.arrow"],
        &["schema", "t.shard"],
        &["schema", "--shard", "t.shard"],
        &["inspect", "t.shard"],
        &["inspect", "--verbose", "t.shard"],
        &["inspect", "--explain", "t.shard"],
    ] {
        let text = folder.run(arguments).ok();
        assert!(!text.contains('\u{1b}'), "{arguments:?}: {text}");
        assert!(text.contains("x\\u{1b}y"), "{arguments:?}: {text}");
    }
    let table = folder.run(&["cat", "t.shard"]).ok();
    assert!(
        table.contains("| a\\u{1b}[2Jb |") && table.contains("| c\\nd "),
        "{table}"
    );
    let error = folder
        .run(&["cat", "t.shard", "--columns", "z\u{1b}z"])
        .error(2);
    assert!(
        !error.contains('\u{1b}') && error.contains("z\\u{1b}z"),
        "{error}"
    );
    assert!(table.contains("m\\u{1b}n"), "{table}");
    // Data for other programs are not escaped.
    let options = ["cat", "t.shard", "--format", "csv", "--columns", "x\u{1b}y"];
    let csv = folder.run(&options).ok();
    assert!(csv.contains("a\u{1b}[2Jb"), "{csv}");
}

#[test]
fn verification_goes_on_after_a_file_that_is_missing() {
    let folder = Folder::with(&plain(10));
    folder.run(&["convert", "t.arrow", "a.shard"]).ok();
    folder.run(&["convert", "t.arrow", "b.shard"]).ok();
    let done = folder.run(&["verify", "a.shard", "missing.shard", "b.shard"]);
    let shown = done.text();
    assert!(
        shown.contains("a.shard: sound") && shown.contains("b.shard: sound"),
        "{shown}"
    );
    assert!(done.error(1).contains("missing.shard"));
}

#[test]
fn an_inspection_that_shows_a_problem_is_no_success() {
    let folder = Folder::with(&plain(1_000));
    let options = ["--layout", "two-level", "--stripe-rows", "500"];
    folder
        .run(&[&["convert", "t.arrow", "t.shard"][..], &options].concat())
        .ok();
    folder.run(&["inspect", "t.shard"]).ok();
    let stripe = folder
        .names()
        .into_iter()
        .find(|name| name.ends_with(".amudai.stripe"));
    std::fs::write(folder.path(&stripe.unwrap()), "no stripe").unwrap();
    for arguments in [
        &["inspect", "t.shard"][..],
        &["inspect", "--json", "t.shard"],
    ] {
        let done = folder.run(arguments);
        assert_eq!(done.code, 1, "{}", done.text());
        assert!(
            done.text().to_lowercase().contains("problem"),
            "{}",
            done.text()
        );
    }
}

#[test]
fn tables_fit_a_width_and_rows_can_be_blocks() {
    let long = "x".repeat(60);
    let columns = [
        (
            "a",
            Arc::new(StringArray::from(vec![long.as_str(), "y"])) as ArrayRef,
        ),
        ("b", Arc::new(StringArray::from(vec!["1", "2"]))),
        ("c", Arc::new(StringArray::from(vec!["3", "4"]))),
    ];
    let folder = Folder::with(&RecordBatch::try_from_iter(columns).unwrap());
    // Without a terminal, everything is printed.
    for options in [&[][..], &["--full"]] {
        let whole = folder
            .run(&[&["cat", "t.arrow"][..], options].concat())
            .ok();
        assert!(whole.contains(&long) && whole.contains("| c |"), "{whole}");
    }
    let cut = folder.run(&["cat", "t.arrow", "--width", "40"]).ok();
    assert!(
        cut.contains("xxx…") && cut.contains("2 of 3 columns; --full"),
        "{cut}"
    );
    assert!(
        cut.lines().take(6).all(|line| line.chars().count() <= 40),
        "{cut}"
    );
    let blocks = folder
        .run(&["cat", "t.arrow", "--format", "vertical", "--offset", "1"])
        .ok();
    assert_eq!(blocks, "row 1\n  a  y\n  b  2\n  c  4\n");
    assert_eq!(
        folder
            .run(&["head", "t.arrow", "--full", "--width", "9"])
            .code,
        2
    );
    for format in ["vertical", "csv", "json"] {
        for option in [&["--width", "40"][..], &["--full"]] {
            let command = ["head", "t.arrow", "--format", format];
            let error = folder.run(&[&command, option].concat()).error(2);
            assert!(
                error.contains(option[0]) && error.contains(format),
                "{error}"
            );
        }
    }
    for option in [&["--width", "40"][..], &["--full"]] {
        let command = ["head", "t.arrow", "--format", "table"];
        folder.run(&[&command, option].concat()).ok();
    }
}

#[test]
fn cat_prints_one_file_after_the_other() {
    let folder = Folder::with(&plain(100));
    folder.run(&["convert", "t.arrow", "a.shard"]).ok();
    folder.run(&["convert", "t.arrow", "b.csv"]).ok();
    let files = ["a.shard", "b.csv", "t.arrow"];
    let cat = |options: &[&str]| {
        let options = [&["cat", "--format", "csv", "--columns", "id"], options].concat();
        folder.run(&[&options[..], &files].concat())
    };
    let one = folder.run(&["cat", "t.arrow", "--format", "csv", "--columns", "id"]);
    let one = one.ok();
    let rows = one.strip_prefix("id\n").unwrap();
    assert_eq!(cat(&[]).ok(), format!("id\n{rows}{rows}{rows}"));
    let lines: Vec<&str> = rows.lines().collect();
    let window = cat(&["--offset", "99", "--limit", "102"]).ok();
    let want = [&["id", lines[99]], &lines[..], &lines[..1]].concat();
    assert_eq!(window.lines().collect::<Vec<_>>(), want);
    assert_eq!(cat(&["--filter", "id = 4"]).ok(), "id\n4\n4\n4\n");
    let last = cat(&["--filter", "id = 4", "--offset", "2"]).ok();
    assert_eq!(last, "id\n4\n");

    std::fs::write(folder.path("c.csv"), "id,name\n1.5,x\n").unwrap();
    let error = folder.run(&["cat", "a.shard", "c.csv"]).error(1);
    assert!(
        error.contains("c.csv: column `id` is Float64, where a.shard has Int64"),
        "{error}"
    );
    let options = ["cat", "a.shard", "c.csv", "--columns", "name"];
    assert_eq!(folder.run(&options).ok().lines().count(), 105);
    let options = ["cat", "c.csv", "t.shard"];
    assert!(folder.run(&options).error(1).contains("t.shard"));
    std::fs::write(folder.path("d.csv"), "id\n1.5\n").unwrap();
    let united = folder.run(&["cat", "c.csv", "d.csv", "--format", "csv"]);
    assert_eq!(united.ok(), "id,name\n1.5,x\n1.5,\n");
}

#[test]
fn columns_of_odd_names_are_quoted_and_come_as_often_as_they_are_named() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.csv"), "\"a,b\",\"c\"\"d\",e.f\n1,2,3\n").unwrap();
    for file in ["t.csv", "t.shard", "t.parquet"] {
        if file != "t.csv" {
            folder.run(&["convert", "t.csv", file]).ok();
        }
        let shown = |columns: &str| {
            let arguments = ["cat", file, "--format", "csv", "--columns", columns];
            folder.run(&arguments).ok()
        };
        assert_eq!(
            shown("e.f,\"a,b\",e.f"),
            "e.f,\"a,b\",e.f\n3,1,3\n",
            "{file}"
        );
        assert_eq!(shown("\"c\"\"d\""), "\"c\"\"d\"\n2\n", "{file}");
        let error = folder.run(&["cat", file, "--columns", "a,b"]).error(2);
        assert!(error.contains("`a`") && error.contains("a,b"), "{error}");
    }
    let inspected = folder
        .run(&["inspect", "t.shard", "--columns", "\"a,b\""])
        .ok();
    assert!(
        inspected.contains("a,b") && !inspected.contains("e.f"),
        "{inspected}"
    );
}

#[test]
fn native_times_and_decimals_are_read_in_the_types_that_are_asked_for() {
    let Some(golden) = super::support::shared("golden/shards") else {
        return;
    };
    let file = |name: &str| {
        let path = golden.join(format!("{name}.amudai.shard"));
        path.to_str().unwrap().to_owned()
    };
    let folder = Folder::new();
    let times = file("temporal");
    for (unit, type_name) in [("s", "s"), ("ms", "ms"), ("us", "µs"), ("ns", "ns")] {
        let schema = folder.run(&["schema", &times, "--time-unit", unit]).ok();
        let want = format!("ts_s: Timestamp({type_name}, \"UTC\")");
        assert!(schema.contains(&want), "{schema}");
    }
    let seconds = ["cat", &times, "--columns", "ts_s", "--time-unit"];
    let shown = |unit| folder.run(&[&seconds[..], &[unit]].concat()).ok();
    assert_eq!(shown("s"), shown("us"));
    for unit in ["s", "ms", "us"] {
        let ticks = ["cat", &times, "--columns", "ts_s,ts_ns100", "--time-unit"];
        let error = folder.run(&[&ticks[..], &[unit]].concat()).error(1);
        assert!(
            error.contains("`ts_ns100`")
                && error.contains("value 0 of these")
                && error.contains("--lossy"),
            "{error}"
        );
        folder.run(&[&ticks[..], &[unit, "--lossy"]].concat()).ok();
    }
    let error = folder.run(&["cat", &times, "--lossy"]);
    assert_eq!(error.code, 2, "{}", error.err);

    let decimals = file("decimal256");
    let options = ["head", "-n", "1", &decimals, "--format", "csv"];
    let cut = folder.run(&[&options[..], &["--decimal", "76,20"]].concat());
    assert_eq!(cut.ok(), "d\n7924994790.78000000000000000000\n");
    let small = folder.run(&[&options[..], &["--decimal", "9,1"]].concat());
    let error = small.error(1);
    assert!(
        error.contains("decimal256") && error.contains("Decimal128(9, 1)"),
        "{error}"
    );
}

#[test]
fn values_wider_than_65535_characters_are_shown() {
    let long = "x".repeat(70_000);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![long.as_str(), "y"]));
    let batch = |name: &str| RecordBatch::try_from_iter([(name, texts.clone()), ("b", numbers())]);
    let folder = Folder::with(&batch("a").unwrap());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    // The names of columns of a shard are shorter.
    super::write_ipc(
        &folder.path("n.arrow"),
        &batch(&"n".repeat(66_000)).unwrap(),
    );
    for file in ["t.arrow", "t.shard", "n.arrow"] {
        let table = folder.run(&["cat", file]).ok();
        assert!(table.lines().all(|line| line.len() == 70_008), "{file}");
        folder.run(&["info", file]).ok();
        folder.run(&["schema", file]).ok();
    }
    folder.run(&["stats", "t.shard"]).ok();
    let vertical = folder.run(&["cat", "n.arrow", "--format", "vertical"]).ok();
    let line = format!("\n  b{}  1\n", " ".repeat(65_999));
    assert!(vertical.contains(&line));
}

fn numbers() -> ArrayRef {
    Arc::new(arrow_array::Int32Array::from(vec![1, 2]))
}

#[test]
fn a_value_that_cannot_be_shown_is_an_error() {
    // Its year has more digits than the calendar.
    let times = TimestampSecondArray::from(vec![Some(0), None, Some(i64::MAX)]);
    let times: ArrayRef = Arc::new(times);
    let members = StructArray::from(RecordBatch::try_from_iter([("t", times.clone())]).unwrap());
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("a", times, true),
        ("s", Arc::new(members) as ArrayRef, true),
    ])
    .unwrap();
    let folder = Folder::with(&batch);
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    for file in ["t.arrow", "t.shard"] {
        for column in ["a", "s"] {
            for format in ["table", "vertical", "csv", "json"] {
                if (column, format) == ("s", "csv") {
                    continue;
                }
                let options = ["cat", file, "--columns", column, "--format", format];
                let done = folder.run(&options);
                assert!(!done.text().contains("ERROR"), "{}", done.text());
                let error = done.error(1);
                if matches!(format, "table" | "vertical") {
                    assert!(
                        error.contains(&format!("column `{column}`, row 2")),
                        "{error}"
                    );
                }
            }
            let rest = ["cat", file, "--columns", column, "--limit", "2"];
            assert!(folder.run(&rest).ok().contains("1970-01-01"));
        }
        // Bounds are shown as numbers of seconds.
        let bounds = folder.run(&["stats", file]).ok();
        assert!(bounds.contains("9223372036854775807"), "{bounds}");
        folder.run(&["diff", file, "t.arrow"]).ok();
    }
    folder.run(&["inspect", "t.shard"]).ok();
}
