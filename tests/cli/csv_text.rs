//! CSV that is read as it is meant, or is an error with its line.

use super::Folder;

#[test]
fn quotes_that_mean_something_else_are_named_with_their_line() {
    let folder = Folder::new();
    for (text, why) in [
        ("a\n\"x\" y\n", "line 2: a value goes on after"),
        ("a,b\n1,2\n\"x\\\"y\",2\n", "line 3: a value goes on after"),
        ("a\n1\n\"x\n", "line 3: the quote of a value is not closed"),
        ("a,b\n1,\"x", "line 2: the quote of a value is not closed"),
    ] {
        std::fs::write(folder.path("t.csv"), text).unwrap();
        for options in [&[][..], &["--schema-rows", "0"], &["--no-header"]] {
            let arguments = [&["convert", "t.csv", "x.arrow"][..], options].concat();
            let error = folder.run(&arguments).error(1);
            assert!(error.contains("t.csv") && error.contains(why), "{error}");
        }
    }
    assert_eq!(folder.names(), ["t.csv"]);
    // Errors after the requested rows do not matter.
    std::fs::write(folder.path("t.csv"), "a\n1\n2\n3\n\"x\" y\n").unwrap();
    let head = folder.run(&["head", "-n", "2", "t.csv", "--format", "csv"]);
    assert_eq!(head.ok(), "a\n1\n2\n");
    std::fs::write(folder.path("t.csv"), "a;b\n\"x;\"\"\n\";y \"z\"\n").unwrap();
    let options = ["--delimiter", ";", "--format", "json"];
    let cat = folder.run(&[&["cat", "t.csv"][..], &options].concat()).ok();
    assert_eq!(cat, "{\"a\":\"x;\\\"\\n\",\"b\":\"y \\\"z\\\"\"}\n");
}

#[test]
fn values_that_the_type_of_the_first_rows_would_change_are_errors() {
    let folder = Folder::new();
    for (first, second) in [
        ("2016-12-31T23:59:58", "2016-12-31T23:59:60"),
        ("2024-01-01T00:00:00", "2024-01-01T00:00:00.5"),
        ("2024-01-01T00:00:00.5", "2024-01-01T00:00:00.1234"),
        ("2024-01-01T00:00:00", "2024-01-01T00:00:00.00000000099"),
        ("2024-01-01T00:00:00", "2024-01-01T00:00:00+02:00"),
        ("2024-01-01T00:00:00", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00"),
        ("2024-01-01", "2024-01-02 23:00:00-05:00"),
        ("2024-01-01", "20240102"),
        ("1", "007"),
        ("1", " +8"),
        ("1", "1.5"),
        ("1.5", "007"),
        ("1.5", "nan"),
        ("1.5", "9007199254740993"),
        ("18446744073709551615", "-1"),
        ("true", "yes"),
    ] {
        let text = format!("a,t\nx,{first}\n\"y\n\",\"{second}\"\n");
        std::fs::write(folder.path("t.csv"), text).unwrap();
        let error = folder.run(&["cat", "t.csv", "--schema-rows", "1"]).error(1);
        let why = format!("line 4, column `t`: `{second}` does not fit ");
        assert!(error.contains(&why), "{first}: {error}");
    }
    std::fs::write(
        folder.path("t.csv"),
        "a,b,c\n1,1.5,2024-01-01T00:00:00.5\n-2,3,2024-01-01T00:00:00\n",
    )
    .unwrap();
    let cat = folder.run(&["cat", "t.csv", "--schema-rows", "1", "--format", "csv"]);
    let rows = "a,b,c\n1,1.5,2024-01-01T00:00:00.500\n-2,3.0,2024-01-01T00:00:00\n";
    assert_eq!(cat.ok().replace("00:00:00.000", "00:00:00"), rows);
}

#[test]
fn digits_after_a_date_are_no_time() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.csv"), "a\n2024-01-01 000123\n").unwrap();
    assert_eq!(folder.run(&["schema", "t.csv"]).ok(), "a: Utf8\n");
}

#[test]
fn text_may_begin_as_another_format_does() {
    let folder = Folder::new();
    for magic in ["PAR1", "COLE", "amud"] {
        std::fs::write(folder.path("t.csv"), format!("{magic},b\n1,2\n3\n")).unwrap();
        let error = folder.run(&["count", "t.csv"]).error(1);
        assert!(error.contains("line 3: expected 2 values"), "{error}");
    }
}

#[test]
fn the_escape_character_is_not_the_delimiter() {
    let folder = Folder::new();
    std::fs::write(folder.path("t.tsv"), "a\tb\n1\t2\n").unwrap();
    let cat = folder.run(&["cat", "--escape", ",", "t.tsv", "--format", "csv"]);
    assert_eq!(cat.ok(), "a,b\n1,2\n");
    let error = folder.run(&["cat", "--escape", "\t", "t.tsv"]).error(2);
    assert!(error.contains("separates the values"), "{error}");
}

#[test]
fn names_and_values_are_utf_8_after_byte_order_marks() {
    let folder = Folder::new();
    std::fs::write(
        folder.path("t.csv"),
        b"\xEF\xBB\xBF\xEF\xBB\xBF\"a\",b\n1,2\n",
    )
    .unwrap();
    let cat = folder.run(&["cat", "t.csv", "--columns", "a", "--format", "csv"]);
    assert_eq!(cat.ok(), "a\n1\n");
    for (text, why) in [
        (
            &b"Gr\xF6\xDFe,b\n1,2\n"[..],
            "line 1: the names of columns are not UTF-8",
        ),
        (
            b"a,b\n1,2\n3,\xF6\n",
            "line 3, column `b`: the text is not UTF-8",
        ),
    ] {
        std::fs::write(folder.path("t.csv"), text).unwrap();
        for arguments in [
            &["cat"][..],
            &["count", "--filter", "b = '2'"],
            &["schema"],
            &["cat", "--columns", "a"],
        ] {
            let error = folder.run(&[arguments, &["t.csv"]].concat()).error(1);
            assert!(error.contains(why), "{arguments:?}: {error}");
        }
    }
}
