//! Values of text in types that are asked for: exact, or cut with `--lossy`.

use super::Folder;
use super::data::nested;
use std::fs;

fn json(folder: &Folder, arguments: &[&str]) -> String {
    folder.run(&[&["cat", "--json"], arguments].concat()).ok()
}

/// Digits that no float holds.
const LONG: &str = "12345678901234567890.123456789";

#[test]
fn numbers_in_lists_and_objects_keep_all_digits() {
    let folder = Folder::new();
    let text = format!(
        "{{\"l\":[{LONG},1.50],\"s\":{{\"b\":{LONG},\"a\":[{{\"x\":1.50}}]}}}}\n{{\"l\":[],\"s\":null}}\n{{\"l\":null,\"s\":{{\"a\":[]}}}}\n"
    );
    fs::write(folder.path("t.ndjson"), &text).unwrap();
    let decimal = "decimal(38,9)";
    let schema =
        format!("l list({decimal}), s struct(a list(struct(x text, y int8)), b {decimal})");
    let want = format!(
        "{{\"l\":[{LONG},1.500000000],\"s\":{{\"a\":[{{\"x\":\"1.50\",\"y\":null}}],\"b\":{LONG}}}}}\n\
         {{\"l\":[],\"s\":null}}\n{{\"l\":null,\"s\":{{\"a\":[],\"b\":null}}}}\n"
    );
    assert_eq!(json(&folder, &["t.ndjson", "--schema", &schema]), want);
    let casts = [
        "--cast",
        &format!("l=large_list({decimal})"),
        "--columns",
        "l",
    ];
    let lists = json(&folder, &[&["t.ndjson"][..], &casts].concat());
    assert!(lists.contains(LONG), "{lists}");
    // The columns of a shard give the types of appended rows.
    for shard in ["t.amudai.shard", "two.amudai.shard"] {
        let layout = if shard.starts_with("two") {
            "two-level"
        } else {
            "single-file"
        };
        let options = ["--schema", &schema, "--layout", layout];
        folder
            .run(&[&["convert", "t.ndjson", shard], &options[..]].concat())
            .ok();
        folder.run(&["append", shard, "t.ndjson"]).ok();
        assert_eq!(json(&folder, &[shard]), want.repeat(2));
    }
}

#[test]
fn values_in_lists_and_objects_that_do_not_fit_are_errors() {
    let folder = Folder::new();
    fs::write(
        folder.path("t.ndjson"),
        "{\"l\":[1],\"s\":{\"a\":1}}\n{\"l\":[2,1.5],\"s\":{\"a\":2.5,\"c\":3}}\n",
    )
    .unwrap();
    for (cast, words) in [
        ("l=list(int64)", &["t.ndjson", "`l`, row 1"][..]),
        ("s=struct(a int8, c int8)", &["`s`, row 1", "`a`"]),
        // A member without a place would be lost.
        ("s=struct(a float64)", &["`s`", "`c`"]),
    ] {
        let error = folder.run(&["cat", "t.ndjson", "--cast", cast]).error(1);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        let cut = json(&folder, &["t.ndjson", "--lossy", "--cast", "l=list(int64)"]);
        assert!(cut.contains("\"l\":[2,1]"), "{cut}");
    }
    // Types that are not asked for are inferred as before.
    let whole = json(&folder, &["t.ndjson", "--cast", "l=list(float64)"]);
    assert!(
        whole.contains("\"l\":[2.0,1.5],\"s\":{\"a\":2.5,\"c\":3}"),
        "{whole}"
    );
}

#[test]
fn members_belong_together_by_name_in_all_formats() {
    let folder = Folder::with(&nested());
    for name in ["t.shard", "t.parquet"] {
        folder.run(&["convert", "t.arrow", name]).ok();
    }
    for name in ["t.arrow", "t.shard", "t.parquet"] {
        let cast = [
            "--columns",
            "point",
            "--cast",
            "point=struct(y text, x int8)",
        ];
        let found = json(&folder, &[&[name][..], &cast].concat());
        assert_eq!(
            found.lines().last(),
            Some("{\"point\":{\"y\":\"v\",\"x\":3}}"),
            "{name}"
        );
        let other = [
            "cat",
            name,
            "--columns",
            "point",
            "--cast",
            "point=struct(p int64, q text)",
        ];
        let error = folder.run(&other).error(1);
        assert!(
            error.contains("`point`") && error.contains("`x`"),
            "{error}"
        );
    }
}

#[test]
fn an_integer_that_a_float_does_not_hold_is_an_error_in_text_as_elsewhere() {
    let folder = Folder::new();
    fs::write(folder.path("t.csv"), "a\n1\n9007199254740993\n").unwrap();
    fs::write(
        folder.path("t.ndjson"),
        "{\"a\":1}\n{\"a\":9007199254740993}\n",
    )
    .unwrap();
    for name in ["t.parquet", "t.shard"] {
        folder.run(&["convert", "t.csv", name]).ok();
    }
    for name in ["t.csv", "t.ndjson", "t.parquet", "t.shard"] {
        let error = folder.run(&["cat", name, "--cast", "a=float64"]).error(1);
        assert!(
            error.contains(name)
                && error.contains("`a`, row 1")
                && error.contains("9007199254740993"),
            "{error}"
        );
        let lossy = ["cat", name, "--cast", "a=float64", "--lossy", "--json"];
        let text = folder.run(&lossy).ok();
        assert_eq!(
            text, "{\"a\":1.0}\n{\"a\":9.007199254740992e15}\n",
            "{name}"
        );
    }
    // Later rows have the types of the sample.
    fs::write(folder.path("t.csv"), "a\n1.5\n9007199254740993\n").unwrap();
    fs::write(
        folder.path("t.ndjson"),
        "{\"a\":[1.5]}\n{\"a\":[9007199254740993]}\n",
    )
    .unwrap();
    for (name, line) in [
        ("t.csv", "line 3, column `a`"),
        ("t.ndjson", "line 2, column `a`"),
    ] {
        let error = folder.run(&["cat", name, "--schema-rows", "1"]).error(1);
        assert!(
            error.contains(name) && error.contains(line) && error.contains("does not fit"),
            "{error}"
        );
        folder.run(&["cat", name]).ok();
    }
}

#[test]
fn lossy_cuts_text_as_it_cuts_other_formats() {
    let folder = Folder::new();
    let text =
        "i,d,t,n\n1.5,1.25,2024-02-29T12:00:00.5,2.5\n-1.5,2.75,2024-03-01T00:00:01.25,0.0\n";
    fs::write(folder.path("t.csv"), text).unwrap();
    let types = "i float64, d decimal(5,2), t timestamp(ms), n float64";
    for name in ["t.parquet", "t.shard", "t.arrow"] {
        folder
            .run(&["convert", "t.csv", name, "--schema", types])
            .ok();
    }
    let lines = "{\"i\":1.5,\"d\":1.25,\"t\":\"2024-02-29T12:00:00.5\",\"n\":2.5}\n\
                 {\"i\":-1.5,\"d\":2.75,\"t\":\"2024-03-01T00:00:01.25\",\"n\":0.0}\n";
    fs::write(folder.path("t.ndjson"), lines).unwrap();
    let schema = "i int8, d decimal(4,1), t timestamp(s), n boolean";
    let want = "{\"i\":1,\"d\":1.3,\"t\":\"2024-02-29T12:00:00\",\"n\":true}\n\
                {\"i\":-1,\"d\":2.8,\"t\":\"2024-03-01T00:00:01\",\"n\":false}\n";
    for name in ["t.parquet", "t.shard", "t.arrow", "t.csv", "t.ndjson"] {
        assert_eq!(
            json(&folder, &[name, "--schema", schema, "--lossy"]),
            want,
            "{name}"
        );
        folder.run(&["cat", name, "--schema", schema]).error(1);
        // A value out of the range is an error in any case.
        fs::write(folder.path("big.csv"), "i\n300.5\n").unwrap();
    }
    let error = folder.run(&["cat", "big.csv", "--cast", "i=int8", "--lossy"]);
    assert!(error.error(1).contains("`i`"));
}
